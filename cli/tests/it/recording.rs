//! Recordings made from the demo's first flow, a connection of web to api.

use serde_json::Value;

use crate::environment::{Environment, repository};

/// The demo's recording.
pub(crate) fn demo() -> String {
    std::fs::read_to_string(repository().join("docs/demo/flows.jsonl")).unwrap()
}

/// Its first flow.
pub(crate) fn flow() -> Value {
    serde_json::from_str(demo().lines().next().unwrap()).unwrap()
}

/// The demo, and connections to so many ports in a row that a range is suggested.
pub(crate) fn with_many_ports() -> String {
    let mut text = demo();
    for port in 20_000..20_025 {
        let mut flow = flow();
        flow["flow"]["l4"]["TCP"]["destination_port"] = port.into();
        flow["flow"]["l4"]["TCP"]["source_port"] = (port + 20_000).into();
        flow["flow"]["uuid"] = port.to_string().into();
        text += &format!("{flow}\n");
        let mut answer = flow.clone();
        let (source, destination) =
            (flow["flow"]["source"].clone(), flow["flow"]["destination"].clone());
        answer["flow"]["source"] = destination;
        answer["flow"]["destination"] = source;
        answer["flow"]["IP"]["source"] = flow["flow"]["IP"]["destination"].clone();
        answer["flow"]["IP"]["destination"] = flow["flow"]["IP"]["source"].clone();
        answer["flow"]["l4"]["TCP"]["destination_port"] = (port + 20_000).into();
        answer["flow"]["l4"]["TCP"]["source_port"] = port.into();
        answer["flow"]["l4"]["TCP"]["flags"] = serde_json::json!({"SYN": true, "ACK": true});
        answer["flow"]["trace_reason"] = "REPLY".into();
        answer["flow"]["is_reply"] = true.into();
        answer["flow"]["traffic_direction"] = "EGRESS".into();
        text += &format!("{answer}\n");
    }
    text
}

/// The id of the range that is suggested to web's egress then.
pub(crate) fn suggestion(environment: &Environment) -> String {
    let list = environment.good("get deployment-web-egress --dir policies -o json");
    let list: Value = serde_json::from_str(&list).unwrap();
    list["items"][0]["status"]["suggestions"][0]["id"].as_str().unwrap().to_owned()
}

/// A pod without a workload that talks to api.
pub(crate) fn of_a_bare_pod() -> String {
    let mut open = flow();
    open["flow"]["uuid"] = "toolbox".into();
    open["flow"]["time"] = "2026-09-02T12:00:00Z".into();
    open["flow"]["IP"]["source"] = "10.244.1.61".into();
    open["flow"]["l4"]["TCP"]["source_port"] = 40_961.into();
    let pod = serde_json::json!({"namespace": "shop", "labels": ["k8s:run=toolbox"], "pod_name": "toolbox"});
    open["flow"]["source"] = pod.clone();
    let mut answer = open.clone();
    answer["flow"]["source"] = open["flow"]["destination"].clone();
    answer["flow"]["destination"] = pod;
    answer["flow"]["IP"] = serde_json::json!({
        "source": open["flow"]["IP"]["destination"], "destination": "10.244.1.61", "ipVersion": "IPv4",
    });
    answer["flow"]["l4"]["TCP"] = serde_json::json!({
        "source_port": open["flow"]["l4"]["TCP"]["destination_port"], "destination_port": 40_961,
        "flags": {"SYN": true, "ACK": true},
    });
    answer["flow"]["is_reply"] = true.into();
    format!("{open}\n{answer}\n")
}
