use std::process::Command;

use netenf_proto::netenf::v1;
use netenf_proto::netenf::v1::{Decision, ExplainRequest, Explanation, PolicyScope};
use netenf_testkit::peer::binary;
use serde_json::Value;
use tonic::Code;

use super::{Agent, SOON, client, shop, within};

const OBJECTS: &str = include_str!("explain/objects.yaml");

/// From, to, port.
type Question = (&'static str, &'static str, u32);

const QUESTIONS: [Question; 7] = [
    ("shop/deploy/web", "shop/deploy/api", 8080),
    ("shop/deploy/web", "shop/deploy/api", 9090),
    ("monitoring/deploy/prometheus", "shop/deploy/api", 8080),
    ("shop/deploy/api", "shop/deploy/db", 5432),
    ("shop/deploy/web", "shop/deploy/db", 5432),
    ("shop/deploy/web", "1.1.1.1", 443),
    ("world", "shop/deploy/web", 80),
];

/// What the command line answers by what stands in the cluster.
fn check(state: &str, (from, to, port): Question, assume_protect: bool) -> Value {
    let to = format!("{to}:{port}");
    let assumed = assume_protect.then_some("--assume-protect");
    let output = Command::new(binary("kubectl-netenf"))
        .args(["check", "--from", from, "--to", &to, "--cluster-state", state, "-o", "json"])
        .args(assumed)
        .env_clear()
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{from} {to}: {error}"))
}

fn verdict(verdict: v1::Verdict) -> &'static str {
    match verdict {
        v1::Verdict::Allow => "allow",
        v1::Verdict::Deny => "deny",
        v1::Verdict::Unspecified => "",
    }
}

fn tier(decision: &Decision) -> Option<&'static str> {
    match decision.tier() {
        v1::Tier::NetworkPolicy => Some("NetworkPolicy"),
        v1::Tier::Admin => Some("Admin"),
        v1::Tier::Baseline => Some("Baseline"),
        v1::Tier::None | v1::Tier::Unspecified => None,
    }
}

fn policy(policy: &v1::PolicyRef) -> [Option<&str>; 3] {
    let text = |text| Some(text).filter(|text: &&str| !text.is_empty());
    [text(&policy.kind), text(&policy.namespace), text(&policy.name)]
}

fn told_policy(value: &Value) -> Option<[Option<&str>; 3]> {
    let policy = value.get("policy")?;
    Some(["kind", "namespace", "name"].map(|field| policy[field].as_str()))
}

#[track_caller]
fn assert_same(answer: Option<&Explanation>, check: &Value) {
    let answer = answer.unwrap();
    let decision = answer.decision.as_ref().unwrap();
    assert_eq!(verdict(decision.verdict()), check["verdict"], "{answer:?} {check}");
    assert_eq!(tier(decision), check.get("tier").and_then(Value::as_str), "{answer:?} {check}");
    assert_eq!(decision.policy.as_ref().map(policy), told_policy(check), "{answer:?} {check}");
    let rule = check.get("rule").and_then(Value::as_u64);
    assert_eq!(decision.rule.map(u64::from), rule, "{answer:?} {check}");
    let nearest = check.get("nearest");
    assert_eq!(answer.nearest.is_some(), nearest.is_some(), "{answer:?} {check}");
    if let (Some(own), Some(told)) = (&answer.nearest, nearest) {
        assert_eq!(own.policy.as_ref().map(policy), told_policy(told), "{answer:?} {check}");
        assert_eq!(Some(u64::from(own.index)), told["rule"].as_u64(), "{answer:?} {check}");
    }
    assert!(!answer.text.is_empty());
}

/// The same by the cluster as by what kubectl prints of it, whichever policies count.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_explained_is_what_check_answers() {
    let (plane, account) = shop();
    plane.admin().kubectl_reading(OBJECTS, &["apply", "-f", "-"]).unwrap();
    let agent = Agent::start(&account, "one");
    let native =
        ["get", "netpol/deployment-api-ingress", "-n=shop", "-o=name", "--ignore-not-found"];
    let look = || Ok(plane.admin().kubectl(&native)?.contains('/').then_some(()));
    within(SOON, "ours is in force", look).unwrap();
    let get = ["get", "ns,deploy,netpol,wnp,wnpp", "-A", "-o=yaml"];
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.yaml");
    std::fs::write(&state, plane.admin().kubectl(&get).unwrap()).unwrap();
    let state = state.to_str().unwrap();
    let mut verdicts = Vec::new();
    for (scope, assume_protect) in
        [(PolicyScope::InForce, false), (PolicyScope::AssumeProtect, true)]
    {
        for question @ (from, to, port) in QUESTIONS {
            let check = check(state, question, assume_protect);
            let request = ExplainRequest {
                source: from.to_owned(),
                destination: to.to_owned(),
                port,
                scope: scope.into(),
                ..ExplainRequest::default()
            };
            let answer = client(&agent).explain(request).await.unwrap().into_inner();
            assert_eq!(verdict(answer.verdict()), check["verdict"], "{question:?} {answer:?}");
            assert_same(answer.egress.as_ref(), &check["egress"]);
            assert_same(answer.ingress.as_ref(), &check["ingress"]);
            verdicts.push(verdict(answer.verdict()));
        }
    }
    let expected = "allow deny deny allow allow allow allow allow deny deny allow deny allow allow";
    assert_eq!(verdicts.join(" "), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_nothing_is_refused_and_says_why() {
    let (plane, account) = shop();
    plane.admin().kubectl_reading(OBJECTS, &["apply", "-f", "-"]).unwrap();
    let agent = Agent::start(&account, "one");
    within(SOON, "the agent is ready", || Ok(agent.is_ready().then_some(()))).unwrap();
    let ask = async |source: &str, destination: &str, port: u32| {
        let (source, destination) = (source.to_owned(), destination.to_owned());
        let request = ExplainRequest { source, destination, port, ..ExplainRequest::default() };
        let status = client(&agent).explain(request).await.unwrap_err();
        (status.code(), status.message().to_owned())
    };
    let (code, message) = ask("shop/deploy/nobody", "shop/deploy/api", 80).await;
    assert_eq!(code, Code::NotFound, "{message}");
    assert!(message.contains("nobody"), "{message}");
    let (code, message) = ask("10.0.0.999", "shop/deploy/api", 80).await;
    assert_eq!(code, Code::InvalidArgument, "{message}");
    assert!(message.contains("10.0.0.999"), "{message}");
    for (source, port) in [("", 80), ("shop/deploy/web", 0), ("shop/deploy/web", 65_536)] {
        let (code, message) = ask(source, "shop/deploy/api", port).await;
        assert_eq!(code, Code::InvalidArgument, "{message}");
    }
    let (code, _) = ask(&"a".repeat(601), "shop/deploy/api", 80).await;
    assert_eq!(code, Code::InvalidArgument);
}
