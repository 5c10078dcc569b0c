//! `check`: whether a connection would be allowed, and what decides.

use netenf_api::Tier as ApiTier;
use netenf_k8s::inquiry::Question;
use netenf_k8s::reach::Answer;
use netenf_policy::{Decider, End, Explanation, Finding, Object, Protocol, RuleId, Tier};
use serde_json::{Value, json};

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, count, escaped, painted, print};
use crate::wiring::policies::{PolicyInput, tell_note};

/// Check whether policies would allow a connection, and say why
///
/// Both directions must allow it: the way out of the source and the way into the destination. Native
/// policies of -f and --cluster-state count, and ours that protect; --assume-protect adds those that
/// monitor, and proposals. An end is [NAMESPACE/]KIND/NAME, [NAMESPACE/]pod/NAME, node/NAME,
/// namespace/NAME, an address, a range of addresses outside the cluster, a domain name, world, host or
/// apiserver; the other end may be [NAMESPACE/]svc/NAME too, or an address or name of a Service. Where an end is several pods, the connection must be allowed between all of them. Exits with
/// 0 if it is allowed and with 1 if it is denied.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Would a workload reach another by what protects now? --assume-protect counts the rest too
  kubectl netenf check --from deploy/web --to deploy/api:80 -n shop --dir policies

  # By what stands in the cluster, over UDP, from outside
  kubectl netenf check --from world --to deployment/web:53/UDP -n shop --cluster-state state.yaml

  # Before a policy is applied
  kubectl netenf check --from shop/sts/db --to 1.1.1.1:443 -f policy.yaml --cluster-state state.yaml")]
pub(crate) struct Args {
    /// The end that opens the connection
    #[arg(long, value_name = "END")]
    from: String,
    /// The other end, with its port after translation: END:PORT[/PROTOCOL], an IPv6 address in brackets
    #[arg(long, value_name = "END:PORT")]
    to: String,
    #[command(flatten)]
    input: PolicyInput,
    /// Output: json
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<JsonOnly>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let (end, port, protocol) = port(&args.to)?;
    let judged = args.input.read(global)?;
    let inquiry = judged.inquiry(global);
    let asked = Question::new(&inquiry, &args.from, end, (protocol, port))?;
    asked.note.iter().for_each(|note| tell_note(note));
    let (answer, notes) = asked.answer(&inquiry, &judged.reach())?;
    for note in &notes {
        tell_note(note);
    }
    print(&match args.output {
        None => text(&asked, &answer),
        Some(JsonOnly::Json) => output::json(&as_json(&asked, &answer, &judged.left_out()))?,
    })?;
    let exit = if answer.denied == 0 { Exit::Done } else { Exit::No };
    Ok(judged.exit(exit))
}

/// `END:PORT[/PROTOCOL]`.
fn port(text: &str) -> Result<(&str, u16, Protocol), CommandError> {
    let wrong = |what: &str| {
        CommandError::usage(format!("{text:?} {what}")).hint(
            "write END:PORT or END:PORT/PROTOCOL, for example deployment/web:8080/TCP or [2001:db8::1]:443",
        )
    };
    let (end, port) = text.rsplit_once(':').ok_or_else(|| wrong("names no port"))?;
    let bracketed = end.starts_with('[') && end.ends_with(']');
    if end.contains(':') && !bracketed {
        return Err(wrong("names no port: an IPv6 address stands in brackets"));
    }
    let (port, protocol) = port.split_once('/').unwrap_or((port, "TCP"));
    let protocol = match protocol.to_ascii_uppercase().as_str() {
        "TCP" => Protocol::Tcp,
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        _ => return Err(wrong("names no protocol that policies know: TCP, UDP or SCTP")),
    };
    let port = port.parse::<u16>().ok().filter(|port| *port > 0);
    Ok((end, port.ok_or_else(|| wrong("has no port between 1 and 65535"))?, protocol))
}

fn text(asked: &Question, answer: &Answer) -> String {
    let (verdict, colour) = if answer.denied == 0 { ("allowed", 32) } else { ("denied", 31) };
    let protocol = output::protocol_name(asked.protocol);
    let ends = format!("{} -> {} {}/{protocol}", asked.from, asked.to, asked.port);
    let mut text = format!("{}  {}", painted(colour, verdict), escaped(&ends));
    if answer.denied > 0 && answer.denied < answer.pairs {
        let (source, destination) = (end(&answer.ends.0), end(&answer.ends.1));
        let of = format!("{} of {}", answer.denied, count(answer.pairs, "pair"));
        text.push_str(&escaped(&format!(
            "\n  for {of} of ends, such as {source} -> {destination}"
        )));
    }
    let sides = [("egress", &answer.explanation.egress), ("ingress", &answer.explanation.ingress)];
    for (side, finding) in sides {
        let verdict = if finding.allowed { "allow" } else { "deny" };
        text.push_str(&format!(
            "\n  {side:<7}  {verdict:<5}  {}",
            escaped(&finding.by.to_string())
        ));
        if let Some(nearest) = &finding.nearest {
            let words = format!("nearest: {nearest}");
            text.push_str(&format!("\n                  {}", escaped(&words)));
        }
    }
    text + "\n"
}

fn end(end: &End) -> String {
    match end {
        End::Pod(pod) => match &pod.name {
            Some(name) => format!("{}/pod/{name}", pod.namespace),
            None => {
                let labels: Vec<String> =
                    pod.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("{}/pod{{{}}}", pod.namespace, labels.join(","))
            }
        },
        End::Node { name, .. } if name.is_empty() => "node".to_owned(),
        End::Node { name, .. } => format!("node/{name}"),
        End::Address(address) => address.to_string(),
        End::Name(name) => name.to_string(),
        End::Unknown => "unknown".to_owned(),
    }
}

fn as_json(asked: &Question, answer: &Answer, left_out: &[&str]) -> Value {
    let Explanation { egress, ingress } = &answer.explanation;
    json!({
        "from": asked.from.to_string(),
        "to": asked.to,
        "port": asked.port,
        "protocol": output::protocol_name(asked.protocol),
        "verdict": verdict(answer.denied == 0),
        "egress": finding_json(egress),
        "ingress": finding_json(ingress),
        "pairs": answer.pairs,
        "denied": answer.denied,
        "leftOut": left_out,
    })
}

fn verdict(allowed: bool) -> &'static str {
    if allowed { "allow" } else { "deny" }
}

fn finding_json(finding: &Finding) -> Value {
    let mut value = json!({"verdict": verdict(finding.allowed)});
    add(&mut value, decider_json(&finding.by));
    if let Some(nearest) = &finding.nearest {
        let mut rule = rule_json(&nearest.rule);
        rule["lacked"] = nearest.lacked.iter().map(|lack| format!("{lack:?}")).collect();
        value["nearest"] = rule;
    }
    value
}

/// What decided: `reason`, and the tier, policy and rule where it was one.
pub(crate) fn decider_json(by: &Decider) -> Value {
    match by {
        Decider::NoPod => json!({"reason": "NoPod"}),
        Decider::Itself => json!({"reason": "Itself"}),
        Decider::OwnNode => json!({"reason": "OwnNode"}),
        Decider::Default => json!({"reason": "Default"}),
        Decider::Rule(rule) => {
            let mut value = json!({"reason": "Rule"});
            add(&mut value, rule_json(rule));
            value
        }
        Decider::Isolated(policies) => json!({
            "reason": "NoRule",
            "tier": ApiTier::NetworkPolicy,
            "policy": policies.first().map(object_json),
            "policies": policies.iter().map(object_json).collect::<Vec<_>>(),
        }),
    }
}

fn rule_json(rule: &RuleId) -> Value {
    let mut value = json!({
        "tier": tier(rule.tier),
        "policy": object_json(&rule.object),
        "rule": rule.index,
    });
    if let Some(name) = &rule.name {
        value["ruleName"] = json!(&**name);
    }
    value
}

pub(crate) fn object_json(object: &Object) -> Value {
    let mut value = json!({"kind": &*object.kind, "name": &*object.name});
    if let Some(namespace) = &object.namespace {
        value["namespace"] = json!(&**namespace);
    }
    value
}

pub(crate) fn tier(tier: Tier) -> ApiTier {
    match tier {
        Tier::Admin => ApiTier::Admin,
        Tier::NetworkPolicy => ApiTier::NetworkPolicy,
        Tier::Baseline => ApiTier::Baseline,
    }
}

fn add(value: &mut Value, more: Value) {
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        fields.extend(more);
    }
}

#[cfg(test)]
mod tests;
