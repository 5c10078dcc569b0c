//! The bindings against bytes that were written down by hand, and against each other.

use std::fmt::Debug;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use netenf_proto::flow::{
    self, DropReason, Flow, Layer4, Layer7, Policy, Tcp, TcpFlags, Verdict, layer4::Protocol,
};
use netenf_proto::goldmane::flows_client::FlowsClient;
use netenf_proto::goldmane::flows_server::{self, Flows, FlowsServer};
use netenf_proto::goldmane::{
    Action, Filter, FlowListRequest, FlowListResult, FlowResult, FlowStreamRequest, PolicyHit,
    PolicyKind, Reporter,
};
use netenf_proto::netenf::v1::{controller_server, node_flows_server};
use netenf_proto::observer::{
    GetFlowsResponse, get_flows_response::ResponseTypes, observer_server,
};
use prost::Message;
use rstest::rstest;
use tonic::codegen::{BoxStream, tokio_stream};
use tonic::{Request, Response, Status};

/// Bytes of pairs of hexadecimal digits; everything else is for the reader.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two hexadecimal digits"))
        .collect()
}

fn check<M: Message + Default + PartialEq + Debug>(message: &M, hex: &str) {
    assert_eq!(message.encode_to_vec(), bytes(hex));
    assert_eq!(M::decode(bytes(hex).as_slice()).as_ref(), Ok(message));
}

fn denied() -> Flow {
    let flags = TcpFlags { syn: true, ..TcpFlags::default() };
    let tcp = Tcp { destination_port: 5432, flags: Some(flags), ..Tcp::default() };
    Flow {
        verdict: Verdict::Dropped.into(),
        l4: Some(Layer4 { protocol: Some(Protocol::Tcp(tcp)) }),
        drop_reason_desc: DropReason::PolicyDenied.into(),
        is_reply: Some(false),
        egress_denied_by: vec![Policy { name: "deny".into(), ..Policy::default() }],
        ..Flow::default()
    }
}

/// Verdict 2; l4 6 with TCP 1 to port 5432 with SYN; reason 25 is 133; reply 26 is told, and false;
/// denied 21004 by "deny".
const DENIED: &str = "10 02  32 09 0A 07 10 B8 2A 1A 02 10 01  C8 01 85 01  D2 01 00
                      E2 A0 0A 06 0A 04 64 65 6E 79";

#[test]
fn a_flow_of_hubble_is_the_expected_bytes() {
    let response = GetFlowsResponse {
        response_types: Some(ResponseTypes::Flow(denied())),
        node_name: "a".into(),
        time: None,
    };
    check(&response, &format!("0A 1E {DENIED}  C2 3E 01 61"));
}

#[test]
fn a_request_to_goldmane_is_the_expected_bytes() {
    let request = FlowStreamRequest {
        start_time_gte: -60,
        filter: Some(Filter {
            actions: vec![Action::Deny.into()],
            reporter: Reporter::Src.into(),
            ..Filter::default()
        }),
        aggregation_interval: 15,
    };
    check(&request, "08 C4 FF FF FF FF FF FF FF FF 01  12 05 3A 01 02 48 01  18 0F");
}

#[rstest]
#[case::a_field_we_leave_out("22 04 0A 02 6D 61")]
#[case::a_field_with_a_long_number("82 EA 30 01 78")]
#[case::a_field_of_the_future("E0 5D 2A")]
fn an_unknown_field_is_passed_over(#[case] unknown: &str) {
    let flow = bytes(&format!("{unknown} {DENIED} {unknown}"));
    assert_eq!(Flow::decode(flow.as_slice()).unwrap(), denied());
}

#[test]
fn an_unknown_member_of_a_oneof_is_none() {
    let http = Layer7::decode(bytes("08 01  AA 06 03 08 C8 01").as_slice()).unwrap();
    assert_eq!(http, Layer7 { r#type: flow::L7FlowType::Request.into(), record: None });
}

#[test]
fn an_unknown_value_of_an_enum_is_kept() {
    let hit = PolicyHit::decode(bytes("08 07").as_slice()).unwrap();
    assert_eq!(hit.kind, 7);
    assert!(PolicyKind::try_from(hit.kind).is_err());
    assert_eq!(hit.encode_to_vec(), bytes("08 07"));
}

#[test]
fn services_have_the_names_that_peers_call() {
    assert_eq!(observer_server::SERVICE_NAME, "observer.Observer");
    assert_eq!(flows_server::SERVICE_NAME, "goldmane.Flows");
    assert_eq!(node_flows_server::SERVICE_NAME, "netenf.v1.NodeFlows");
    assert_eq!(controller_server::SERVICE_NAME, "netenf.v1.Controller");
}

/// A server that sends two flows.
struct Goldmane;

#[tonic::async_trait]
impl Flows for Goldmane {
    type StreamStream = BoxStream<FlowResult>;

    async fn list(&self, _: Request<FlowListRequest>) -> Result<Response<FlowListResult>, Status> {
        Err(Status::unimplemented("only streams"))
    }

    async fn stream(
        &self,
        request: Request<FlowStreamRequest>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let first = request.into_inner().start_time_gte;
        let flows = [first, first + 1].map(|id| Ok(FlowResult { id, flow: None }));
        Ok(Response::new(Box::pin(tokio_stream::iter(flows))))
    }
}

/// Runs what waits for nothing but itself.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..1000)
        .find_map(|_| match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
        .expect("the future is done soon")
}

#[test]
fn a_client_reads_the_stream_of_a_server() {
    let request = FlowStreamRequest { start_time_gte: 40, ..FlowStreamRequest::default() };
    let ids = run(async {
        let mut client = FlowsClient::new(FlowsServer::new(Goldmane));
        let mut stream = client.stream(request).await.unwrap().into_inner();
        let mut ids = Vec::new();
        while let Some(result) = stream.message().await.unwrap() {
            ids.push(result.id);
        }
        ids
    });
    assert_eq!(ids, [40, 41]);
}
