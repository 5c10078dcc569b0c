use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use rstest::rstest;

use super::{Arguments, Backend, Command, Controller};
use crate::source::Source;

#[test]
fn every_flag_has_a_twin_in_the_environment() {
    Arguments::command().debug_assert();
    let command = Arguments::command();
    let controller = command.find_subcommand("controller").unwrap();
    let twins = controller.get_arguments().filter(|it| it.get_long() != Some("help")).map(|it| {
        let twin = it.get_env().map(|it| it.to_string_lossy().into_owned());
        (it.get_long().unwrap_or_default().to_owned(), twin.unwrap_or_default())
    });
    for (flag, twin) in twins {
        let words = flag.to_uppercase().replace('-', "_");
        let is_of_opentelemetry = twin.starts_with("OTEL_EXPORTER_OTLP_");
        let is_of_the_pod = ["POD_NAME", "POD_NAMESPACE"].contains(&twin.as_str());
        assert!(
            twin == format!("NETENF_{words}") || is_of_opentelemetry || is_of_the_pod,
            "--{flag} has the twin {twin:?}"
        );
    }
}

/// A provider enforces one of the two, unless told otherwise (DESIGN D10).
#[rstest]
#[case::nothing("", Backend::Kubernetes)]
#[case::istio("--provider-name istio", Backend::Istio)]
#[case::node("--provider-name node", Backend::Kubernetes)]
#[case::told("--provider-name replay --backend istio", Backend::Istio)]
fn the_backend_is_the_providers_unless_told(#[case] arguments: &str, #[case] expected: Backend) {
    let words = ["netenf-agent", "controller"].into_iter().chain(arguments.split_whitespace());
    let Command::Controller(controller) = Arguments::try_parse_from(words).unwrap().command;
    assert_eq!(controller.backend(), expected);
}

#[rstest]
#[case::nothing("", None)]
#[case::leader("--leader-elect --pod-name a", None)]
#[case::nameless_leader("--leader-elect", Some("--pod-name"))]
#[case::unknown_provider("--provider-name weave", Some("--provider-name"))]
#[case::unknown_backend("--backend calico", Some("--backend"))]
#[case::no_duration("--learning-flush-interval soon", Some("--learning-flush-interval"))]
#[case::no_level("--log-level a=b=c", Some("--log-level"))]
#[case::certificate_without_key("--otlp-log-client-cert a", Some("--otlp-log-client-key"))]
#[case::no_timeout("--otlp-log-timeout soon", Some("--otlp-log-timeout"))]
fn wrong_arguments_are_named(#[case] arguments: &str, #[case] expected: Option<&str>) {
    let words = ["netenf-agent", "controller"].into_iter().chain(arguments.split_whitespace());
    match (Arguments::try_parse_from(words), expected) {
        (Ok(_), None) => {}
        (Err(error), Some(flag)) => assert!(error.to_string().contains(flag), "{error}"),
        (read, expected) => panic!("{read:?} is not {expected:?}"),
    }
}

fn controller(arguments: &str) -> Controller {
    let words = ["netenf-agent", "controller"].into_iter().chain(arguments.split_whitespace());
    let Command::Controller(controller) = Arguments::parse_from(words).command;
    *controller
}

#[rstest]
#[case::default("", 10_000)]
#[case::opentelemetry("--otlp-log-timeout 2500", 2_500)]
#[case::with_unit("--otlp-log-timeout 30s", 30_000)]
fn a_number_alone_is_milliseconds(#[case] arguments: &str, #[case] expected: u64) {
    let expected = Duration::from_millis(expected);
    assert_eq!(controller(arguments).telemetry().timeout, expected);
}

#[test]
fn what_violations_are_sent_with_is_taken_over_and_tokens_are_not_shown() {
    let controller = controller(
        "--pod-name agent-0 --otlp-log-endpoint https://otel:4318 --otlp-log-protocol http/protobuf \
         --otlp-log-ca-cert ca --otlp-log-client-cert crt --otlp-log-client-key key --otlp-log-headers a=s3cret",
    );
    let expected = netenf_telemetry::Config {
        endpoint: Some("https://otel:4318".to_owned()),
        protocol: netenf_telemetry::Protocol::HttpProtobuf,
        authorities: Some("ca".into()),
        identity: Some(("crt".into(), "key".into())),
        headers: "a=s3cret".to_owned().into(),
        timeout: Duration::from_secs(10),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: Some("agent-0".to_owned()),
    };
    assert_eq!(controller.telemetry(), expected);
    assert!(!format!("{controller:?}").contains("s3cret"));
}

/// What node agents are known by is asked for; that anybody may report has to be said.
#[rstest]
#[case::folder("--provider-tls-cert-dir=/certs", Ok(Some("/certs")))]
#[case::folder_of_an_issuer(
    "--provider-tls-mode=issuer --provider-tls-cert-dir=/certs",
    Ok(Some("/certs"))
)]
#[case::insecure("--provider-tls-mode=insecure", Ok(None))]
#[case::nothing("", Err("--provider-tls-cert-dir"))]
#[case::no_folder("--provider-tls-mode=issuer", Err("--provider-tls-cert-dir"))]
#[case::both("--provider-tls-mode=insecure --provider-tls-cert-dir=/certs", Err("leave out"))]
#[case::secret("--provider-tls-cert-secret=a/b --provider-tls-cert-dir=/certs", Err("mount"))]
#[case::address(
    "--provider-endpoint=node --provider-tls-mode=insecure",
    Err("--provider-endpoint")
)]
fn who_reports_flows_of_nodes_is_known(
    #[case] arguments: &str,
    #[case] expected: Result<Option<&str>, &str>,
) {
    let controller = controller(&format!("--provider-name=node {arguments}"));
    match (controller.source(), expected) {
        (Ok(Some(Source::Node(address, folder))), Ok(expected)) => {
            assert_eq!(address.to_string(), ":9444");
            assert_eq!(folder, expected.map(Into::into));
        }
        (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
        (source, _) => panic!("{source:?}"),
    }
}

/// DESIGN §3: `kube-system` and the agent's own namespace are no subjects unless named.
#[rstest]
#[case::nothing("", Some("netenf"), &["kube-system", "netenf"])]
#[case::outside("", None, &["kube-system"])]
#[case::others("--learning-exclude-namespaces=a,b", Some("netenf"), &["a", "b", "netenf"])]
#[case::named("--learning-include-namespaces=netenf", Some("netenf"), &["kube-system"])]
fn the_agents_own_namespace_is_not_learned_unless_named(
    #[case] arguments: &str,
    #[case] own: Option<&str>,
    #[case] expected: &[&str],
) {
    let config = controller(arguments).config(own);
    let excluded: Vec<&str> = config.scope.exclude_namespaces.iter().map(AsRef::as_ref).collect();
    assert_eq!(excluded, expected);
}

#[rstest]
#[case::level("debug", true)]
#[case::modules("info,netenf_cluster=debug", true)]
#[case::no_level("loud", false)]
#[case::no_level_of_a_module("info,netenf_cluster=loud", false)]
fn a_level_is_one_of_five(#[case] level: &str, #[case] is_right: bool) {
    assert_eq!(level.parse::<crate::log::Level>().is_ok(), is_right);
}

#[test]
fn an_endpoint_without_a_provider_is_refused() {
    let error = controller("--provider-endpoint /tmp/flows").source().unwrap_err();
    assert!(error.to_string().contains("--provider-name"), "{error}");
    assert!(controller("").source().unwrap().is_none());
}

/// Both programs cut at the same.
#[test]
fn limits_are_those_of_the_command_line() {
    let (own, learner) = (controller("").config(None).caps, netenf_learn::Caps::default());
    assert_eq!((own.rules, own.ports), (learner.rules, learner.ports));
}
