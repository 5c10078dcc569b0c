//! `check`: whether a connection would be allowed, and what decides.

use netenf_api::Tier as ApiTier;
use netenf_k8s::reach::Answer;
use netenf_policy::{
    Decider, End, Explanation, Finding, Lack, Nearest, Object, Protocol, RuleId, Tier,
};
use serde_json::{Value, json};

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, count, escaped, painted, print, protocol_name, tell};
use crate::wiring::end::Pattern;
use crate::wiring::place::word;
use crate::wiring::policies::{Judged, PolicyInput};

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

/// What is asked.
struct Asked {
    from: Pattern,
    /// The other end as a person wrote it, in full.
    to: String,
    protocol: Protocol,
    port: u16,
    /// Where it is, and on which ports after translation.
    targets: Vec<(Pattern, u16)>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let (end, port, protocol) = port(&args.to)?;
    let judged = args.input.read(global)?;
    let asked = Asked::new(&judged, global, args, (end, port, protocol))?;
    let answer = asked.answer(&judged)?;
    print(&match args.output {
        None => text(&asked, &answer),
        Some(JsonOnly::Json) => output::json(&as_json(&asked, &answer, &judged.left_out()))?,
    })?;
    let exit = if answer.denied == 0 { Exit::Done } else { Exit::No };
    Ok(judged.exit(exit))
}

// === impl Asked ===

impl Asked {
    fn new(
        judged: &Judged,
        global: &Global,
        args: &Args,
        (end, port, protocol): (&str, u16, Protocol),
    ) -> Result<Self, CommandError> {
        let from = judged.pattern(&args.from, global)?;
        let Some(service) = judged.service(end, global, (protocol, port))? else {
            let to = judged.pattern(end, global)?;
            let targets = vec![(to.clone(), port)];
            return Ok(Self { from, to: to.to_string(), protocol, port, targets });
        };
        let name = protocol_name(protocol);
        let words: Vec<String> = service
            .backends
            .iter()
            .map(|(own, port)| format!("{port}/{name} of {}", word(own)))
            .collect();
        if words.is_empty() {
            return Err(CommandError::no(format!(
                "no pod is behind Service {} {port}/{name}",
                service.service
            ))
            .hint("policies judge pods: give their objects with --cluster-state"));
        }
        tell(&escaped(&format!(
            "note: Service {} {port}/{name} leads to {}",
            service.service,
            words.join(", ")
        )));
        let targets = service.backends.iter().map(|(own, port)| (Pattern::of(own), *port));
        let to = service.service.replacen('/', "/service/", 1);
        Ok(Self { from, to, protocol, port, targets: targets.collect() })
    }

    /// The answer for all targets: that of a denied one, if one is.
    fn answer(&self, judged: &Judged) -> Result<Answer, CommandError> {
        let reach = judged.reach();
        let sources = judged.ends(&self.from, &reach)?;
        let mut all: Option<Answer> = None;
        for (target, port) in &self.targets {
            let destinations = judged.ends(target, &reach)?;
            let Some(answer) = reach.check(&sources, &destinations, (self.protocol, *port)) else {
                continue;
            };
            all = Some(match all {
                None => answer,
                Some(known) => both(known, answer),
            });
        }
        all.ok_or_else(|| {
            CommandError::no(format!(
                "no packet goes from {} to {}: they have no addresses of one family",
                self.from, self.to
            ))
        })
    }
}

/// The answer about the pairs of both.
fn both(one: Answer, other: Answer) -> Answer {
    let (pairs, denied) = (one.pairs + other.pairs, one.denied + other.denied);
    let told = if one.denied == 0 && other.denied > 0 { other } else { one };
    Answer { pairs, denied, ..told }
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

fn text(asked: &Asked, answer: &Answer) -> String {
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
        text.push_str(&format!("\n  {side:<7}  {verdict:<5}  {}", escaped(&decider(&finding.by))));
        if let Some(nearest) = &finding.nearest {
            let words = format!("nearest: {}", nearest_words(nearest));
            text.push_str(&format!("\n                  {}", escaped(&words)));
        }
    }
    text + "\n"
}

/// What decided, in words.
pub(crate) fn decider(by: &Decider) -> String {
    match by {
        Decider::NoPod => "no pod: no policy applies to it".to_owned(),
        Decider::Itself => "a pod may always reach itself".to_owned(),
        Decider::OwnNode => "a node may always reach its own pods".to_owned(),
        Decider::Rule(rule) => rule_words(rule),
        Decider::Isolated(policies) => {
            let all: Vec<String> = policies.iter().map(object).collect();
            format!("no rule of {} allows it", all.join(", "))
        }
        Decider::Default => "no rule decides: allowed by default".to_owned(),
    }
}

/// A rule with its policy and tier.
pub(crate) fn rule_words(rule: &RuleId) -> String {
    let name = rule.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    let tier = match rule.tier {
        Tier::Admin => ", Admin tier",
        Tier::NetworkPolicy => "",
        Tier::Baseline => ", Baseline tier",
    };
    format!("{} rule {}{name}{tier}", object(&rule.object), rule.index)
}

pub(crate) fn object(object: &Object) -> String {
    let namespace = object.namespace.as_ref().map(|own| format!("{own}/")).unwrap_or_default();
    format!("{} {namespace}{}", object.kind, object.name)
}

fn nearest_words(nearest: &Nearest) -> String {
    let lacked: Vec<&str> = nearest.lacked.iter().map(|lack| lack_words(*lack)).collect();
    format!("{}, but {}", rule_words(&nearest.rule), lacked.join(" and "))
}

fn lack_words(lack: Lack) -> &'static str {
    match lack {
        Lack::Precedence => "a rule before it denies",
        Lack::Port => "not this port",
        Lack::Protocol => "not this protocol",
        Lack::Namespace => "not from or to this namespace",
        Lack::Excepted => "its address is excepted",
        Lack::Peer => "not this peer",
        Lack::Understanding => "something in it is not understood",
    }
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

fn as_json(asked: &Asked, answer: &Answer, left_out: &[&str]) -> Value {
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
