//! Our trimmed definitions against the public ones.

use std::path::Path;

use crate::surface::Surface;

fn compile(root: &Path, file: &str) -> Surface {
    Surface::new(&protox::compile([file], [root]).expect("the definition compiles"))
}

/// Compares a definition of ours and its imports with the public one, and makes sure that `names`
/// were among what was compared.
fn compare(file: &str, public: (&str, &str), names: &[&str]) {
    let Some(shared) = netenf_testkit::shared() else { return };
    let ours = compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto"), file);
    let public = compile(&shared.join("proto").join(public.0), public.1);
    let missing: Vec<_> = names.iter().filter(|name| !ours.has(name)).collect();
    assert!(missing.is_empty(), "not compared: {missing:?}");
    let differences = ours.differences(&public);
    assert!(differences.is_empty(), "proto/{file} differs:\n{}", differences.join("\n"));
}

#[test]
fn hubble_finds_its_names_numbers_and_types() {
    let names = [
        "observer.Observer.GetFlows",
        "observer.Observer.ServerStatus",
        "observer.GetFlowsResponse.response_types",
        "relay.NodeState.NODE_ERROR",
        "flow.Flow.egress_denied_by",
        "flow.Tunnel.Protocol.VXLAN",
        "flow.DropReason.POLICY_DENIED",
    ];
    compare("observer/observer.proto", ("cilium", "observer/observer.proto"), &names);
}

#[test]
fn goldmane_finds_its_names_numbers_and_types() {
    let names = ["goldmane.Flows.List", "goldmane.Flows.Stream", "goldmane.PolicyHit.trigger"];
    compare("goldmane/goldmane.proto", ("goldmane", "api.proto"), &names);
}
