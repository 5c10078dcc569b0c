//! The shared plane does what later tests suppose of it.

use std::time::Duration;

use netenf_testkit::control_plane::ControlPlane;
use netenf_testkit::deadline::within;

use crate::{admin, apply, create_namespace, refusal};

const SOON: Duration = Duration::from_mins(1);

#[test]
fn server_and_kubectl_know_their_versions() {
    let versions = admin().kubectl(&["version"]).unwrap();
    let versions: Vec<&str> = versions.lines().collect();
    let expected =
        ["Client Version: v1.36.4", "Kustomize Version: v5.8.1", "Server Version: v1.36.3"];
    assert_eq!(versions, expected);
}

#[test]
fn a_person_may_do_what_is_bound_to_them_or_their_group() {
    create_namespace("bound");
    let plane = ControlPlane::shared();
    let stranger = plane.user("jane", None).unwrap();
    let member = plane.user("joe", Some("watchers")).unwrap();
    let list = ["get", "wnp", "-n", "bound", "-o", "name"];
    apply(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watch, namespace: bound}
rules: [{apiGroups: [networkenforcer.kubewarden.io], resources: [workloadnetworkpolicies], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watch, namespace: bound}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watch}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: watchers}]
",
    );
    let allowed = within(SOON, "the role is bound", || Ok(member.kubectl(&list).ok())).unwrap();
    assert_eq!(allowed, "");
    assert_eq!(
        refusal(stranger.kubectl(&list)),
        "kubectl get wnp -n bound -o name: Error from server (Forbidden): \
         workloadnetworkpolicies.networkenforcer.kubewarden.io is forbidden: User \"jane\" cannot list \
         resource \"workloadnetworkpolicies\" in API group \"networkenforcer.kubewarden.io\" in the \
         namespace \"bound\""
    );
}

#[test]
fn a_service_account_is_known_by_its_token() {
    let account = ControlPlane::shared().service_account("default", "default").unwrap();
    let who = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    assert_eq!(account.kubectl(&who).unwrap(), "system:serviceaccount:default:default");
}

/// In less than the 30 seconds after which the garbage collector looks for new kinds: it knows ours
/// from its start.
#[test]
fn what_an_object_owned_is_deleted_after_it() {
    create_namespace("owner");
    apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: owner}}");
    let identity =
        admin().kubectl(&["get", "configmap/owner", "-n=owner", "-o=jsonpath={.metadata.uid}"]);
    apply(&format!(
        "apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata:
  name: owned
  namespace: owner
  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {}}}]
spec: {{backend: kubernetes, kubernetes: {{podSelector: {{matchLabels: {{app: web}}}}}}}}
",
        identity.unwrap()
    ));
    admin().kubectl(&["delete", "configmap/owner", "-n=owner"]).unwrap();
    admin().kubectl(&["wait", "--for=delete", "wnp/owned", "-n=owner", "--timeout=20s"]).unwrap();
}

#[test]
fn an_admission_policy_decides() {
    create_namespace("admission");
    apply(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-data}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  validations: [{expression: '!has(object.data)', message: no data here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-data}
spec:
  policyName: no-data
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: admission}}}
",
    );
    let create = ["create", "configmap", "full", "--from-literal=a=b", "-n=admission"];
    let create = [&create[..], &["--dry-run=server"]].concat();
    let refused =
        within(SOON, "the policy is in force", || Ok(admin().kubectl(&create).err())).unwrap();
    assert!(refused.to_string().ends_with("denied request: no data here"), "{refused}");
}

/// 503 is what the aggregation layer says of a server that is registered and does not answer; without
/// the layer it would be 404.
#[test]
fn requests_for_a_registered_group_go_to_its_server() {
    apply(
        "apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.absent.netenf.example}
spec:
  group: absent.netenf.example
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: default, name: absent}
",
    );
    let request = ["get", "--raw=/apis/absent.netenf.example/v1"];
    let answer = within(SOON, "the group is registered", || {
        let refused = refusal(admin().kubectl(&request));
        Ok((!refused.contains("(NotFound)")).then_some(refused))
    });
    admin().kubectl(&["delete", "apiservice/v1.absent.netenf.example"]).unwrap();
    assert_eq!(
        answer.unwrap(),
        "kubectl get --raw=/apis/absent.netenf.example/v1: Error from server (ServiceUnavailable): \
         the server is currently unable to handle the request"
    );
}
