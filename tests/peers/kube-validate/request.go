package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// etcdLimit is etcd's DefaultMaxRequestBytes (server/v3/embed/config.go), which kube-apiserver's own limit of 3 MiB does
// not lower: a larger object is answered with "etcdserver: request is too large".
const etcdLimit = 3 << 19

// request stands for the API request that would carry a document.
type request struct {
	document document
	warnings []string
}

// AddWarning keeps what an API server would tell the client.
func (r *request) AddWarning(_, text string) { r.warnings = append(r.warnings, text) }

func (r *request) context() context.Context {
	kind := r.document.kind
	info := &genericrequest.RequestInfo{
		IsResourceRequest: true,
		APIGroup:          kind.Group,
		APIVersion:        kind.Version,
		Namespace:         r.document.namespace,
		Name:              r.document.name,
	}
	ctx := genericrequest.WithNamespace(context.Background(), r.document.namespace)
	ctx = genericrequest.WithRequestInfo(ctx, info)
	return warning.WithWarningRecorder(ctx, r)
}

// create takes an object through all checks of a POST; the object becomes what would be stored.
func (r *request) create(strategy rest.RESTCreateStrategy, object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(accessor)
	if err := rest.BeforeCreate(strategy, r.context(), object); err != nil {
		return err
	}
	return fits(object)
}

// update takes an object through all checks of a PUT over what was stored.
func (r *request) update(strategy rest.RESTUpdateStrategy, object, old runtime.Object) error {
	before, err := meta.Accessor(old)
	if err != nil {
		return err
	}
	if before.GetUID() == "" {
		rest.FillObjectMetaSystemFields(before)
	}
	before.SetResourceVersion("1")
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion("1")
	if err := rest.BeforeUpdate(strategy, r.context(), object, old); err != nil {
		return err
	}
	return fits(object)
}

// fits tells whether etcd takes the object, whose stored form is about as long as this one.
func fits(object runtime.Object) error {
	encoded, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if len(encoded) > etcdLimit {
		return fmt.Errorf("is too large for etcd: %d bytes, at most %d", len(encoded), etcdLimit)
	}
	return nil
}
