package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"sigs.k8s.io/yaml"
)

// definitions is the scheme of an extension API server: CustomResourceDefinitions.
var definitions = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

// decode reads a document of a built-in kind as fieldValidation=Strict does, and fills in defaults.
func decode(scheme *runtime.Scheme, d document) (versioned runtime.Object, err error) {
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	versioned, _, err = codecs.UniversalDeserializer().Decode(d.text, nil, nil)
	if err != nil {
		return nil, err
	}
	scheme.Default(versioned)
	return versioned, nil
}

// decodeDefinition reads a CustomResourceDefinition in both forms that the API server's code wants.
func decodeDefinition(d document) (*apiextensionsv1.CustomResourceDefinition, *apiextensions.CustomResourceDefinition, error) {
	object, err := decode(definitions, d)
	if err != nil {
		return nil, nil, err
	}
	versioned, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not served", d.kind)
	}
	internal := &apiextensions.CustomResourceDefinition{}
	return versioned, internal, definitions.Convert(versioned, internal, nil)
}

// checkDefinition validates a CustomResourceDefinition: structural schema, CEL rules and their cost.
func checkDefinition(d document, before *document, request *request) error {
	strategy := customresourcedefinition.NewStrategy(definitions)
	_, object, err := decodeDefinition(d)
	if err != nil {
		return err
	}
	if before == nil {
		return request.create(strategy, object)
	}
	_, old, err := decodeDefinition(*before)
	if err != nil {
		return fmt.Errorf("the old document: %w", err)
	}
	return request.update(strategy, object, old)
}

// checkNetworkPolicy validates a NetworkPolicy, and that the document is what the API server would store.
func checkNetworkPolicy(d document, before *document, request *request) error {
	object, err := networkPolicy(d)
	if err != nil {
		return err
	}
	if before == nil {
		err = request.create(networkpolicy.Strategy, object)
	} else {
		var old *networking.NetworkPolicy
		if old, err = networkPolicy(*before); err != nil {
			return fmt.Errorf("the old document: %w", err)
		}
		err = request.update(networkpolicy.Strategy, object, old)
	}
	if err != nil {
		return err
	}
	return isStoredForm(d, object)
}

func networkPolicy(d document) (*networking.NetworkPolicy, error) {
	versioned, err := decode(legacyscheme.Scheme, d)
	if err != nil {
		return nil, err
	}
	internal := &networking.NetworkPolicy{}
	return internal, legacyscheme.Scheme.Convert(versioned, internal, nil)
}

// isStoredForm compares a document with what a server would hand back for it, without what only a server writes.
func isStoredForm(d document, object *networking.NetworkPolicy) error {
	object = object.DeepCopy()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	rest.WipeObjectMetaSystemFields(accessor)
	accessor.SetGeneration(0)
	accessor.SetResourceVersion("")
	encoded, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(networkingv1.SchemeGroupVersion), object)
	if err != nil {
		return err
	}
	var stored, written any
	if err := json.Unmarshal(encoded, &stored); err != nil {
		return err
	}
	if err := yaml.Unmarshal(d.text, &written); err != nil {
		return err
	}
	if found := differences("", written, stored); len(found) > 0 {
		return fmt.Errorf("differs from its stored form: %s", strings.Join(found, "; "))
	}
	return nil
}

// differences names every field in which a document is not what is stored.
func differences(path string, written, stored any) []string {
	switch w := written.(type) {
	case map[string]any:
		if s, ok := stored.(map[string]any); ok {
			var found []string
			for _, name := range slices.Sorted(maps.Keys(w)) {
				if value, ok := s[name]; ok {
					found = append(found, differences(path+"."+name, w[name], value)...)
				} else {
					found = append(found, fmt.Sprintf("%s.%s is not stored", path, name))
				}
			}
			for _, name := range slices.Sorted(maps.Keys(s)) {
				if _, ok := w[name]; !ok {
					found = append(found, fmt.Sprintf("%s.%s is stored as %s", path, name, text(s[name])))
				}
			}
			return found
		}
	case []any:
		if s, ok := stored.([]any); ok && len(s) == len(w) {
			var found []string
			for i := range w {
				found = append(found, differences(fmt.Sprintf("%s[%d]", path, i), w[i], s[i])...)
			}
			return found
		}
	}
	if reflect.DeepEqual(written, stored) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s and stored as %s", path, text(written), text(stored))}
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
