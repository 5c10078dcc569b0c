use serde_json::json;

use super::*;

#[test]
fn counts_leave_out_what_a_person_decided() {
    let mut status: WorkloadNetworkPolicyProposalStatus = serde_json::from_value(json!({
        "rules": [
            {"peer": {"name": "a"}, "protocol": "TCP", "provenance": "observed"},
            {"peer": {"name": "b"}, "protocol": "TCP", "provenance": "observed", "refused": true},
            {"peer": {"name": "c"}, "protocol": "TCP", "provenance": "hint"},
        ],
        "uncovered": [
            {"id": "a", "peer": {}, "protocol": "TCP", "reason": "NoAddress"},
            {"id": "b", "peer": {}, "protocol": "TCP", "reason": "NoAddress", "accepted": true},
        ],
    }))
    .unwrap();
    status.recount();
    assert_eq!((status.rule_count, status.uncovered_count), (2, 1));
}
