use rstest::rstest;

use super::*;

#[rstest]
#[case::workload("deployment/web:8080", "deployment/web 8080 Tcp")]
#[case::protocol("prod/sts/db:53/udp", "prod/sts/db 53 Udp")]
#[case::address("10.0.0.1:443/SCTP", "10.0.0.1 443 Sctp")]
#[case::block("10.0.0.0/8:443", "10.0.0.0/8 443 Tcp")]
#[case::v6("[2001:db8::1]:443", "[2001:db8::1] 443 Tcp")]
#[case::name("api.example.com:443", "api.example.com 443 Tcp")]
fn a_port_stands_behind_the_end(#[case] text: &str, #[case] expected: &str) {
    let (end, port, protocol) = port(text).unwrap();
    assert_eq!(format!("{end} {port} {protocol:?}"), expected);
}

#[rstest]
fn what_has_no_port_is_an_error_of_usage(
    #[values(
        "deployment/web",
        "web:",
        "web:http",
        "web:0",
        "web:65536",
        "web:80/ICMP",
        "2001:db8::1",
        "web:80/"
    )]
    text: &str,
) {
    assert_eq!(port(text).unwrap_err().code(), Exit::Usage);
}
