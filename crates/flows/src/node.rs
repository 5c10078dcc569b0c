//! Our node agents as a source (`netenf.v1`, `NodeFlows`).
//!
//! ```text
//! agent of a node ─ReportEdges─► tls ─► service ─► intake (once, in order) ─► Delivery … Receipt
//!        ▲                                                                              │
//!        └───────────── acknowledged up to ◄──────── Receipt::confirm ◄── whoever learns
//! ```
//!
//! **Nothing is lost silently.** A report is acknowledged once whoever learns has taken all of it; until then the agent
//! keeps it, and sends it again after a broken stream. Reports that never came, edges that cannot be read and losses
//! that agents tell of are [`Record::Lost`]. **Nothing is counted twice** within one [`serve`]: a report is handed on as
//! a whole or not at all, and one that was handed on before is not handed on again ([`Receipt`]). The next one begins
//! without knowing which were: what was not acknowledged is taken once more.

use std::sync::Arc;
use std::time::Duration;

use netenf_proto::netenf::v1::node_flows_server::NodeFlowsServer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::Server;
use tonic::transport::server::Connected;

use crate::Record;
use service::Service;

mod convert;
mod intake;
mod presence;
#[cfg(test)]
mod sample;
mod service;
mod tls;

pub use convert::{EDGES, LOSSES, timestamp};
pub use intake::Receipt;
pub use tls::{Tls, TlsError};

/// As many deliveries have to fit into the channel: those of one report, with what never came before it, and its
/// receipt.
pub const CAPACITY: usize = 4_096;

const _: () = assert!(convert::RECORDS + 2 <= CAPACITY, "a report fits into the channel");

/// The longest report, in bytes.
pub const MAX_REPORT: usize = 2 << 20;

/// Streams of one connection: an agent needs one, and another while the first one breaks.
const MAX_STREAMS: u32 = 4;

/// How many clients show who they are at a time.
const HANDSHAKES: usize = 512;

/// How long that may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How often an agent of which nothing is heard is asked whether it lives, and how long it may take to answer.
const ALIVE: Duration = Duration::from_secs(30);

/// How long a connection lasts: certificates that are no longer valid end with it.
const AGE: Duration = Duration::from_hours(1);

/// How long its streams may go on after that.
const GRACE: Duration = Duration::from_secs(10);

/// What a source hands to whoever learns.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every delivery is a record")]
pub enum Delivery {
    /// A flow, a loss or a word about nodes.
    Record(Record),
    /// Everything before it that belongs together; to be confirmed once it was taken.
    Receipt(Receipt),
}

// === impl Delivery ===

impl From<Record> for Delivery {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}

/// Takes reports until nobody takes deliveries any more. Without `tls` whoever reaches the address may report, and for
/// any node.
///
/// # Errors
/// If serving ends for another reason.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    deliveries: mpsc::Sender<Delivery>,
) -> Result<(), tonic::transport::Error> {
    match tls {
        Some(tls) => {
            let (connections, secured) = mpsc::channel(HANDSHAKES);
            let accepting = tokio::spawn(accept(listener, tls, connections));
            let service = Service::new(deliveries);
            let served = run(ReceiverStream::new(secured).map(Ok), service).await;
            accepting.abort();
            served
        }
        None => run(TcpListenerStream::new(listener), Service::new(deliveries)).await,
    }
}

async fn run<C>(
    connections: impl Stream<Item = std::io::Result<C>>,
    service: Service,
) -> Result<(), tonic::transport::Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
{
    let watching = tokio::spawn(service.clone().watch());
    let over = service.over();
    let service = NodeFlowsServer::new(service).max_decoding_message_size(MAX_REPORT);
    let mut server = Server::builder()
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(ALIVE))
        .http2_keepalive_timeout(Some(ALIVE))
        .http2_max_pending_accept_reset_streams(Some(MAX_STREAMS as usize))
        .max_connection_age(AGE)
        .max_connection_age_grace(GRACE);
    let served = server.add_service(service).serve_with_incoming_shutdown(connections, over).await;
    watching.abort();
    served
}

type Secured = tokio_rustls::server::TlsStream<TcpStream>;

/// Has clients show who they are, many at a time: a slow one keeps nobody waiting.
async fn accept(listener: TcpListener, mut tls: Tls, connections: mpsc::Sender<Secured>) {
    let places = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((socket, address)) = listener.accept().await else {
            // Too many open files, or a client that is gone already: others may still come.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let acceptor = TlsAcceptor::from(tokio::task::block_in_place(|| tls.current()));
        let connections = connections.clone();
        tokio::spawn(async move {
            let _place = place;
            match timeout(HANDSHAKE, acceptor.accept(socket)).await {
                // Nobody takes connections any more where this fails.
                Ok(Ok(secured)) => drop(connections.send(secured).await),
                Ok(Err(error)) => tracing::warn!(%address, %error, "a client is refused"),
                Err(_) => tracing::warn!(%address, "a client is refused: it shows nothing"),
            }
        });
    }
}

#[cfg(test)]
mod tests;
