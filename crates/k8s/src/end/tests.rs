use netenf_api::PeerRef;
use serde_json::json;

use super::Pattern;
use crate::unclear::Fault;

fn read(text: &str, namespace: Option<&str>) -> String {
    Pattern::parse(text, namespace).unwrap().to_string()
}

#[test]
fn ends_are_written_as_design_d8_says() {
    for (text, expected) in [
        ("deploy/web", "shop/deployment/web"),
        ("prod/sts/db", "prod/statefulset/db"),
        ("pod/web-1", "shop/pod/web-1"),
        ("prod/po/web-1", "prod/pod/web-1"),
        ("node/n1", "node/n1"),
        ("ns/prod", "namespace/prod"),
        ("namespace/prod", "namespace/prod"),
        ("10.0.0.7", "10.0.0.7"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("API.Example.com.", "api.example.com"),
        ("world", "world"),
        ("apiserver", "apiserver"),
        ("host", "host"),
    ] {
        assert_eq!(read(text, Some("shop")), expected, "{text}");
    }
}

#[test]
fn without_a_namespace_a_workload_of_any_is_meant() {
    assert_eq!(read("deployment/web", None), "deployment/web");
    assert_eq!(read("pod/web-1", None), "pod/web-1");
}

#[test]
fn what_is_written_out_is_understood_the_same() {
    for text in ["shop/deployment/web", "shop/pod/web-1", "10.0.0.0/8", "api.example.com", "host"] {
        let pattern = Pattern::parse(text, None).unwrap();
        assert_eq!(Pattern::parse(&pattern.to_string(), None).unwrap(), pattern, "{text}");
    }
}

#[test]
fn what_names_no_end_is_an_error_of_usage() {
    for text in ["web", "", "thing/web", "a/b/c/d", "10.0.0.0/99"] {
        assert_eq!(Pattern::parse(text, None).unwrap_err().fault, Fault::Malformed, "{text}");
    }
}

#[test]
fn ends_of_objects_are_known_by_what_objects_tell() {
    let peer = |value: serde_json::Value| serde_json::from_value::<PeerRef>(value).unwrap();
    let web = peer(json!({"kind": "Deployment", "namespace": "shop", "name": "web"}));
    let pod = peer(json!({"kind": "Pod", "namespace": "shop", "name": "toolbox"}));
    let node = peer(json!({"kind": "Node", "name": "n1", "address": "10.0.0.4"}));
    let outside = peer(
        json!({"kind": "External", "address": "203.0.113.7", "addresses": ["203.0.113.8"], "names": ["API.example.com."]}),
    );
    let apiserver = peer(json!({"kind": "ApiServer"}));
    let all = [&web, &pod, &node, &outside, &apiserver];
    for (text, expected) in [
        ("deploy/web", [true, false, false, false, false]),
        ("prod/deploy/web", [false; 5]),
        ("sts/web", [false; 5]),
        ("pod/toolbox", [false, true, false, false, false]),
        ("ns/shop", [true, true, false, false, false]),
        ("node/n1", [false, false, true, false, false]),
        ("node/10.0.0.4", [false, false, true, false, false]),
        ("host", [false, false, true, false, false]),
        ("203.0.113.8", [false, false, false, true, false]),
        ("10.0.0.0/8", [false, false, true, false, false]),
        ("api.example.com", [false, false, false, true, false]),
        ("world", [false, false, false, true, false]),
        ("apiserver", [false, false, false, false, true]),
    ] {
        let pattern = Pattern::parse(text, None).unwrap();
        assert_eq!(all.map(|peer| pattern.is(peer)), expected, "{text}");
    }
}
