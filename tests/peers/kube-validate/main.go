// Command kube-validate asks genuine Kubernetes code whether it would take our files.
//
// It does what an API server does between the request's body and etcd, and nothing else: strict decoding, defaulting and
// the registry strategies (rest.BeforeCreate, rest.BeforeUpdate) of k8s.io/kubernetes and k8s.io/apiextensions-apiserver.
// It has no server, no store, no admission plugins and no webhooks.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const usage = `usage: kube-validate [-crds PLACE]... [-old FILE] FILE...

Checks every YAML document of the files (or - for standard input) as a Kubernetes API server would:
CustomResourceDefinition, NetworkPolicy, and the kinds of the definitions in -crds and in the folder
"data" beside the program (Istio). Prints "ok KIND NAMESPACE/NAME" or "refused KIND NAMESPACE/NAME: reason"
for each document, and warnings on standard error.

  -crds PLACE  a file or a folder of custom resource definitions (repeatable)
  -old FILE    what the server has: a document of the same name is checked as an update of it

Exit code: 0 all accepted, 1 something refused, 2 usage or a file that cannot be read.
`

// places collects a flag that may be given more than once.
type places []string

func (p *places) String() string     { return strings.Join(*p, ",") }
func (p *places) Set(v string) error { *p = append(*p, v); return nil }

func main() {
	var crds places
	flags := flag.NewFlagSet("kube-validate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&crds, "crds", "")
	old := flags.String("old", "", "")
	if err := flags.Parse(os.Args[1:]); err != nil || flags.NArg() == 0 {
		if err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "error:", err)
		}
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	refused, err := run(crds, *old, flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	if refused {
		os.Exit(1)
	}
}

func run(crds []string, old string, files []string) (refused bool, err error) {
	kinds, err := loadKinds(crds)
	if err != nil {
		return false, err
	}
	stored := map[string]document{}
	if old != "" {
		documents, err := read(old)
		if err != nil {
			return false, err
		}
		for _, d := range documents {
			stored[d.key()] = d
		}
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, file := range files {
		documents, err := read(file)
		if err != nil {
			return false, err
		}
		if len(documents) == 0 {
			return false, fmt.Errorf("%s: holds no document", file)
		}
		for _, d := range documents {
			var before *document
			if found, ok := stored[d.key()]; ok {
				before = &found
			}
			warnings, err := kinds.check(d, before)
			for _, text := range warnings {
				fmt.Fprintf(os.Stderr, "warning %s: %s\n", d.key(), text)
			}
			if err != nil {
				refused = true
				fmt.Fprintf(out, "refused %s: %s\n", d.key(), oneLine(err))
			} else {
				fmt.Fprintf(out, "ok %s\n", d.key())
			}
		}
	}
	return refused, nil
}

// document is one YAML document, and what its head says.
type document struct {
	text            []byte
	kind            schema.GroupVersionKind
	namespace, name string
}

// key is how a document is named in the output: KIND NAMESPACE/NAME.
func (d document) key() string {
	if d.namespace == "" {
		return d.kind.Kind + " " + d.name
	}
	return d.kind.Kind + " " + d.namespace + "/" + d.name
}

// read splits a file at its document marks; documents of comments only are left out.
func read(file string) ([]document, error) {
	var source io.Reader = os.Stdin
	if file != "-" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		source = bytes.NewReader(text)
	}
	var found []document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(source))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var content any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if content == nil {
			continue
		}
		object, ok := content.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: a document is not an object", file)
		}
		u := unstructured.Unstructured{Object: object}
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
		found = append(found, document{text, u.GroupVersionKind(), namespace, name})
	}
}

// yamlFiles lists a file, or the YAML files of a folder.
func yamlFiles(place string) ([]string, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{place}, nil
	}
	found, err := filepath.Glob(filepath.Join(place, "*.yaml"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: holds no .yaml file", place)
	}
	return found, err
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
