//! What the agent answers on loopback (`netenf.v1`).

use std::time::Duration;

use netenf_proto::netenf::v1;
use netenf_proto::netenf::v1::controller_client::ControllerClient;
use netenf_testkit::control_plane::{Client, ControlPlane};
use netenf_testkit::deadline::within;
use tonic::transport::{Channel, Endpoint};

use crate::agent::{Agent, account};
use crate::plane;

mod explain;
mod node;
mod status;
mod watch;

const SOON: Duration = Duration::from_mins(1);

/// A plane with the namespaces of the demo, and the agent's account.
fn shop() -> (ControlPlane, Client) {
    let plane = plane();
    for namespace in ["shop", "monitoring"] {
        plane.admin().kubectl(&["create", "namespace", namespace]).unwrap();
    }
    let account = account(&plane);
    (plane, account)
}

/// Has the agent learn the recording of the demo, and waits until it has.
fn learned(account: &Client) -> Agent {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo/flows.jsonl");
    let endpoint = format!("--provider-endpoint={recording}");
    let agent = Agent::start_with(account, "one", &["--provider-name=replay", &endpoint]);
    let ends = || Ok((agent.has_ended() && agent.has_learned()).then_some(()));
    within(SOON, "the recording is learned", ends).unwrap();
    agent
}

/// A client that takes little before it is read from.
fn client(agent: &Agent) -> ControllerClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", agent.address("grpc"))).unwrap();
    let endpoint =
        endpoint.initial_stream_window_size(1 << 16).initial_connection_window_size(1 << 16);
    ControllerClient::new(endpoint.connect_lazy())
}

/// Everything that a request without `follow` is answered with.
async fn held(
    agent: &Agent,
    request: v1::WatchFlowsRequest,
) -> Vec<v1::watch_flows_response::Event> {
    let mut stream = client(agent).watch_flows(request).await.unwrap().into_inner();
    let mut all = Vec::new();
    while let Some(message) = stream.message().await.unwrap() {
        all.extend(message.event);
    }
    all
}
