package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/registry/rest"
)

// kinds finds who checks a document.
type kinds struct {
	definitions map[schema.GroupKind]document
	served      map[schema.GroupVersionKind]*resource
	dataLoaded  bool
}

// resource is a served version of a custom resource, made as the API server makes it
// (apiextensions-apiserver's getOrCreateServingInfoFor).
type resource struct {
	schema *structuralschema.Structural
	object interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
	// Absent if the version has no status subresource.
	status rest.RESTUpdateStrategy
}

func loadKinds(places []string) (*kinds, error) {
	k := &kinds{map[schema.GroupKind]document{}, map[schema.GroupVersionKind]*resource{}, false}
	for _, place := range places {
		if err := k.load(place); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// load notes the definitions in a file or a folder; which of them are sound is asked when one is used.
func (k *kinds) load(place string) error {
	files, err := yamlFiles(place)
	if err != nil {
		return err
	}
	for _, file := range files {
		documents, err := read(file)
		if err != nil {
			return err
		}
		for _, d := range documents {
			if d.kind.Kind != "CustomResourceDefinition" {
				return fmt.Errorf("%s: %s is not a CustomResourceDefinition", file, d.key())
			}
			versioned, _, err := decodeDefinition(d)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", file, d.key(), err)
			}
			kind := schema.GroupKind{Group: versioned.Spec.Group, Kind: versioned.Spec.Names.Kind}
			if _, ok := k.definitions[kind]; !ok {
				k.definitions[kind] = d
			}
		}
	}
	return nil
}

// check asks whether a document would be created, or would replace what is there before.
func (k *kinds) check(d document, before *document) (warnings []string, err error) {
	request := &request{document: d}
	switch d.kind.GroupKind() {
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		err = checkDefinition(d, before, request)
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:
		err = checkNetworkPolicy(d, before, request)
	default:
		var found *resource
		if found, err = k.resource(d.kind); err == nil {
			err = found.check(d, before, request)
		}
	}
	return request.warnings, err
}

func (k *kinds) resource(kind schema.GroupVersionKind) (*resource, error) {
	if found, ok := k.served[kind]; ok {
		return found, nil
	}
	definition, ok := k.definitions[kind.GroupKind()]
	if !ok && !k.dataLoaded {
		k.dataLoaded = true
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		if err := k.load(filepath.Join(filepath.Dir(program), "data")); err != nil {
			return nil, err
		}
		definition, ok = k.definitions[kind.GroupKind()]
	}
	if !ok {
		return nil, fmt.Errorf("nothing here checks the kind %s", kind)
	}
	made, err := newResource(definition, kind)
	if err != nil {
		return nil, fmt.Errorf("the definition %s: %w", definition.name, err)
	}
	k.served[kind] = made
	return made, nil
}

func newResource(definition document, kind schema.GroupVersionKind) (*resource, error) {
	versioned, internal, err := decodeDefinition(definition)
	if err != nil {
		return nil, err
	}
	request := &request{document: definition}
	if err := request.create(customresourcedefinition.NewStrategy(definitions), internal); err != nil {
		return nil, err
	}
	for _, version := range versioned.Spec.Versions {
		if version.Name == kind.Version && version.Served {
			return newVersion(versioned, version, kind)
		}
	}
	return nil, fmt.Errorf("version %s is not served", kind.Version)
}

func newVersion(definition *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion, kind schema.GroupVersionKind) (*resource, error) {
	if definition.Spec.PreserveUnknownFields || version.Schema == nil {
		return nil, errors.New("has no structural schema")
	}
	validation := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, validation, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(validation.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	structural = structural.DeepCopy()
	if err := structuraldefaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(validation.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var statusValidator apiservervalidation.SchemaValidator
	if version.Subresources != nil && version.Subresources.Status != nil {
		status = &apiextensions.CustomResourceSubresourceStatus{}
		if statusSchema, ok := validation.OpenAPIV3Schema.Properties["status"]; ok {
			if statusValidator, _, err = apiservervalidation.NewSchemaValidator(&statusSchema); err != nil {
				return nil, err
			}
		}
	}
	strategy := customresource.NewStrategy(
		crdserverscheme.NewUnstructuredObjectTyper(),
		definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		kind, validator, statusValidator, structural, status, nil, version.SelectableFields,
	)
	made := &resource{schema: structural, object: strategy}
	if status != nil {
		made.status = customresource.NewStatusStrategy(strategy)
	}
	return made, nil
}

// check creates or updates the object, then writes its status as a controller does, through the subresource.
func (r *resource) check(d document, before *document, request *request) error {
	object, err := r.decode(d)
	if err != nil {
		return err
	}
	stored := object.DeepCopy()
	if before == nil {
		err = request.create(r.object, stored)
	} else {
		var old *unstructured.Unstructured
		if old, err = r.decode(*before); err != nil {
			return fmt.Errorf("the old document: %w", err)
		}
		err = request.update(r.object, stored, old)
	}
	if err != nil {
		return err
	}
	if _, ok := object.Object["status"]; ok && r.status != nil {
		return request.update(r.status, object, stored)
	}
	return nil
}

// decode does what apiextensions-apiserver's schemaCoercingDecoder does with fieldValidation=Strict.
func (r *resource) decode(d document) (*unstructured.Unstructured, error) {
	decoder := serializerjson.NewSerializerWithOptions(
		serializerjson.DefaultMetaFactory,
		unstructuredscheme.NewUnstructuredCreator(),
		crdserverscheme.NewUnstructuredObjectTyper(),
		serializerjson.SerializerOptions{Yaml: true, Strict: true},
	)
	decoded, _, err := decoder.Decode(d.text, nil, &unstructured.Unstructured{})
	if err != nil {
		return nil, err
	}
	u := decoded.(*unstructured.Unstructured)
	objectMeta, found, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	pruned := structuralpruning.PruneWithOptions(u.Object, r.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	unknown = append(unknown, pruned...)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, r.schema)
	fault, paths := schemaobjectmeta.CoerceWithOptions(nil, u.Object, r.schema, false, schemaobjectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fault != nil {
		return nil, fault
	}
	unknown = append(unknown, paths...)
	u.SetGroupVersionKind(d.kind)
	if found {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, objectMeta); err != nil {
			return nil, err
		}
	}
	if len(unknown) > 0 {
		var strict []error
		for _, path := range unknown {
			strict = append(strict, fmt.Errorf("unknown field %q", path))
		}
		return nil, runtime.NewStrictDecodingError(strict)
	}
	structuraldefaulting.Default(u.Object, r.schema)
	return u, nil
}
