//! What a person is refused at once: a promotion that would not happen.

use netenf_testkit::control_plane::ControlPlane;
use serde_json::{Value, json};

use crate::person::{Person, policy, proposal};
use crate::{plane, refusal};

const RULES: &str = include_str!("../../agent/admission.yaml");
const PROMOTE: &str = "networkenforcer.kubewarden.io/promote";

/// Words that are no mode; the last one is none at all.
const WRONG: [&str; 5] = ["enforce", "Monitor", "monitor.protect", "true", ""];

fn labelled(name: &str, value: &str) -> Value {
    let mut proposal = proposal(name);
    proposal["metadata"]["labels"] = json!({PROMOTE: value});
    proposal
}

/// What is said of a wrong value.
fn told(value: &str) -> String {
    format!(
        "the label {PROMOTE} is \"{value}\" and takes monitor (what the policy does not allow is reported) or protect \
         (it is blocked); without the label the proposal learns on"
    )
}

/// The policy is in force, and the API server finds nothing wrong with its expressions.
fn admit(plane: &ControlPlane, person: Person<'_>) {
    plane.admin().kubectl_reading(RULES, &["apply", "--server-side", "-f", "-"]).unwrap();
    let policy = "validatingadmissionpolicy/netenf-promote-label";
    person.wait("its expressions are checked", |it| {
        it.get(policy).unwrap()["status"]["observedGeneration"] == 1
    });
    let status = &person.get(policy).unwrap()["status"];
    assert_eq!(status["typeChecking"], json!({}), "{status:#}");
    person.wait("it is in force", |it| {
        it.read(&labelled("probe", "probe"), "create --dry-run=server -f -").is_err()
    });
}

#[test]
fn a_promotion_that_is_none_is_refused_in_words_and_nothing_else_is() {
    let plane = plane();
    let shop = Person::moving_to(plane.admin(), "shop");
    // From before the policy.
    shop.apply(&labelled("old", "enforce"));
    admit(&plane, shop);

    shop.apply(&proposal("web"));
    for value in WRONG {
        let created = refusal(shop.try_apply(&labelled("new", value)));
        assert!(created.ends_with(&told(value)), "{created}");
        let label = format!("label --overwrite wnpp/web {PROMOTE}={value}");
        let labelled = refusal(shop.try_run(&label));
        assert!(labelled.ends_with(&told(value)), "{labelled}");
    }
    let replaced = refusal(shop.read(&labelled("web", "enforce"), "replace -f -"));
    assert!(replaced.ends_with(&told("enforce")), "{replaced}");
    let applied = refusal(shop.read(&labelled("web", "enforce"), "apply --server-side -f -"));
    assert!(applied.ends_with(&told("enforce")), "{applied}");
    assert_eq!(shop.get("wnpp/new"), None);
    assert_eq!(shop.get("wnpp/web").unwrap()["metadata"].get("labels"), None);

    for value in ["monitor", "protect"] {
        shop.run(&format!("label --overwrite wnpp/web {PROMOTE}={value}"));
        shop.apply(&labelled(value, value));
    }
    shop.run(&format!("label wnpp/web {PROMOTE}-"));
    shop.run("annotate wnpp/web note=enforce");

    // What was wrong before stays as it is until it is mended, and is in nobody's way.
    shop.run("annotate wnpp/old note=checked");
    shop.patch("wnpp/old", &json!({"spec": {"kubernetes": {"egress": null}}}));
    refusal(shop.try_run(&format!("label --overwrite wnpp/old {PROMOTE}=true")));
    shop.run(&format!("label --overwrite wnpp/old {PROMOTE}=protect"));

    // A reason is free text, and a policy may have any label.
    shop.apply(&policy("api", "monitor"));
    shop.run("annotate wnp/api networkenforcer.kubewarden.io/acknowledge-0a1b2c3d=enforce");
    shop.run(&format!("label wnp/api {PROMOTE}=enforce"));
}
