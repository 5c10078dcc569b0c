package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/kube-network-policies/pkg/api"
	"sigs.k8s.io/kube-network-policies/pkg/network"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
	"sigs.k8s.io/kube-network-policies/pkg/podinfo"
	pluginv1alpha1 "sigs.k8s.io/kube-network-policies/plugins/npa-v1alpha1"
	pluginv1alpha2 "sigs.k8s.io/kube-network-policies/plugins/npa-v1alpha2"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	policyfake "sigs.k8s.io/network-policy-api/pkg/client/clientset/versioned/fake"
	policyinformers "sigs.k8s.io/network-policy-api/pkg/client/informers/externalversions"
)

// Clients that informers ask for and that nothing ever calls.
var (
	coreClient   = fake.NewSimpleClientset()
	policyClient = policyfake.NewSimpleClientset()
)

// cluster is the genuine engine with the stores that it reads.
type cluster struct {
	stores map[kind]store
	engine *networkpolicy.PolicyEngine
}

// kind is how an object says what it is.
type kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// store is where objects of a kind go.
type store struct {
	indexer cache.Indexer
	empty   func() any
}

// newCluster makes an engine over empty stores. kube-network-policies is built either with the plugin of v1alpha1 or with
// that of v1alpha2, so that no cluster has policies of both; here both are there and one of them has nothing to say.
func newCluster(domains domains) (*cluster, error) {
	core := informers.NewSharedInformerFactory(coreClient, 0)
	namespaces, pods, nodes := core.Core().V1().Namespaces(), core.Core().V1().Pods(), core.Core().V1().Nodes()
	policies := core.Networking().V1().NetworkPolicies()
	policy := policyinformers.NewSharedInformerFactory(policyClient, 0)
	admin, baseline := policy.Policy().V1alpha1().AdminNetworkPolicies(), policy.Policy().V1alpha1().BaselineAdminNetworkPolicies()
	clusterwide := policy.Policy().V1alpha2().ClusterNetworkPolicies()

	// The resolver adds an index by address, which only an empty store takes.
	resolver, err := podinfo.NewInformerResolver(pods.Informer())
	if err != nil {
		return nil, fmt.Errorf("cannot index pods by address: %w", err)
	}
	provider := podinfo.NewInformerProvider(pods, namespaces, nodes, []podinfo.IPResolver{resolver})
	evaluators := []api.PolicyEvaluator{
		pluginv1alpha1.NewAdminNetworkPolicy(admin, domains),
		pluginv1alpha2.NewClusterNetworkPolicy(v1alpha2.AdminTier, clusterwide, domains, nodes.Lister()),
		networkpolicy.NewStandardNetworkPolicy("", namespaces, pods, policies),
		pluginv1alpha2.NewClusterNetworkPolicy(v1alpha2.BaselineTier, clusterwide, domains, nodes.Lister()),
		pluginv1alpha1.NewBaselineAdminNetworkPolicy(baseline),
	}
	const group = "policy.networking.k8s.io/"
	return &cluster{
		stores: map[kind]store{
			{"v1", "Namespace"}: {namespaces.Informer().GetIndexer(), func() any { return &corev1.Namespace{} }},
			{"v1", "Pod"}:       {pods.Informer().GetIndexer(), func() any { return &corev1.Pod{} }},
			{"v1", "Node"}:      {nodes.Informer().GetIndexer(), func() any { return &corev1.Node{} }},
			{"networking.k8s.io/v1", "NetworkPolicy"}: {
				policies.Informer().GetIndexer(), func() any { return &networkingv1.NetworkPolicy{} }},
			{group + "v1alpha1", "AdminNetworkPolicy"}: {
				admin.Informer().GetIndexer(), func() any { return &v1alpha1.AdminNetworkPolicy{} }},
			{group + "v1alpha1", "BaselineAdminNetworkPolicy"}: {
				baseline.Informer().GetIndexer(), func() any { return &v1alpha1.BaselineAdminNetworkPolicy{} }},
			{group + "v1alpha2", "ClusterNetworkPolicy"}: {
				clusterwide.Informer().GetIndexer(), func() any { return &v1alpha2.ClusterNetworkPolicy{} }},
		},
		engine: networkpolicy.NewPolicyEngine(provider, evaluators),
	}, nil
}

// object is a decoded object and the store that it goes to.
type object struct {
	value any
	into  cache.Indexer
}

// read decodes an object. A field that its kind does not have is an error: it would be judged as if it were not there.
func (c *cluster) read(text []byte) (object, error) {
	var kind kind
	if err := json.Unmarshal(text, &kind); err != nil {
		return object{}, err
	}
	store, known := c.stores[kind]
	if !known {
		return object{}, fmt.Errorf("%s of %q is no kind that this engine reads", kind.Kind, kind.APIVersion)
	}
	value := store.empty()
	strict, err := strictjson.UnmarshalStrict(text, value)
	if err := errors.Join(append(strict, err)...); err != nil {
		return object{}, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	return object{value, store.indexer}, nil
}

// put takes an object in, in place of an older one of its name.
func (o object) put() error {
	return o.into.Update(o.value)
}

// verdict is what the engine says about a packet. It may panic on objects that lack their defaults.
func (c *cluster) verdict(packet *network.Packet) (answer string) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = fmt.Sprint("error: the engine panicked: ", cause)
		}
	}()
	allowed, err := c.engine.EvaluatePacket(context.Background(), packet)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case allowed:
		return "allow"
	default:
		return "deny"
	}
}

// domains stands for the engine's cache of DNS answers: what each name was resolved to. Names compare without case and
// without the final dot, "*.name" means everything below: how names compare is not what the oracle is asked about.
type domains map[string][]string

// ContainsIP tells whether a name that domain means was resolved to address.
func (d domains) ContainsIP(domain string, address net.IP) bool {
	domain = folded(domain)
	for name, addresses := range d {
		name = folded(name)
		below := strings.HasPrefix(domain, "*.") && strings.HasSuffix(name, domain[1:])
		if name != domain && !below {
			continue
		}
		for _, one := range addresses {
			if net.ParseIP(one).Equal(address) {
				return true
			}
		}
	}
	return false
}

func folded(name string) string {
	return strings.TrimSuffix(strings.ToLower(name), ".")
}
