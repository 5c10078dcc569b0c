//! A proxy before a plane's API server, in which requests fail as they do in the field. It is a server of
//! its own with the API server's certificate; the client's token goes through, and so do watches.
//!
//! A test decides on each request twice: when it was asked, and when the API server answered. At both times
//! it may also do something else, such as kill who asked.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::runtime::{Builder, Runtime};

use super::client::{Client, Server};
use super::{Base, ControlPlane};
use upstream::Upstream;

mod serve;
mod upstream;

/// A proxy that runs. It ends with this value.
pub struct Proxy {
    runtime: Option<Runtime>,
    port: u16,
    authority: PathBuf,
    shared: Arc<Shared>,
}

/// A request, as the client wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path with its query.
    pub path: String,
}

/// When it is decided on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The API server has not seen it.
    Asked,
    /// The API server answered, with this status. The client has not seen it.
    Answered(u16),
}

/// What becomes of a request, or of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Pass,
    /// The connection to the client is cut.
    Cut,
    /// The client gets this status, in the form in which an API server says it.
    Answer {
        /// The status.
        status: u16,
        /// `Retry-After`.
        retry_after: Option<Duration>,
    },
}

/// A request that came in, and what was answered.
#[derive(Debug, Clone)]
pub struct Record {
    /// The request.
    pub request: Request,
    /// When it came.
    pub at: Instant,
    /// The status that the client got; `None` if it got none, or not yet.
    pub status: Option<u16>,
}

type Decide = dyn Fn(&Request, Stage) -> Fate + Send + Sync;

/// What connections share with the test.
struct Shared {
    decide: RwLock<Arc<Decide>>,
    records: Mutex<Vec<Record>>,
    /// The only namespace that lists and watches of the whole cluster see.
    view: Option<String>,
    upstream: Upstream,
}

// === impl Proxy ===

impl Proxy {
    /// A proxy that lets everything pass.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn start(plane: &ControlPlane) -> anyhow::Result<Self> {
        Self::start_with(&plane.base, None)
    }

    /// The same one, through which the whole cluster seems to be that namespace: several programs that act
    /// on everything that they see can run on one plane then. Objects without a namespace are seen as they are.
    ///
    /// # Errors
    /// As there.
    pub fn start_for_namespace(plane: &ControlPlane, namespace: &str) -> anyhow::Result<Self> {
        Self::start_with(&plane.base, Some(namespace.to_owned()))
    }

    fn start_with(base: &Base, view: Option<String>) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).context("cannot listen for the proxy")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let authority = base.secrets.cluster.certificate.clone();
        let shared = Arc::new(Shared {
            decide: RwLock::new(Arc::new(|_, _| Fate::Pass)),
            records: Mutex::default(),
            view,
            upstream: Upstream::new(base.port, &authority)?,
        });
        let acceptor = serve::acceptor(&base.secrets.serving)?;
        runtime.spawn(serve::run(listener, acceptor, Arc::clone(&shared)));
        Ok(Self { runtime: Some(runtime), port, authority, shared })
    }

    /// The client, who asks through this proxy.
    ///
    /// # Errors
    /// If the client is known by a certificate: the API server would not see it.
    pub fn client(&self, client: &Client) -> anyhow::Result<Client> {
        ensure!(client.has_token(), "a proxy passes tokens on and no client certificates");
        client.at(&Server { port: self.port, authority: &self.authority })
    }

    /// From now on `decide` decides. It may take its time: only the request waits for it.
    pub fn decide(&self, decide: impl Fn(&Request, Stage) -> Fate + Send + Sync + 'static) {
        *self.shared.decide.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(decide);
    }

    /// What was asked so far, in the order in which it came.
    pub fn records(&self) -> Vec<Record> {
        self.shared.records().clone()
    }
}

impl Drop for Proxy {
    /// A runtime that is dropped waits, which a test that is asynchronous itself may not.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

// === impl Request ===

impl Request {
    /// Whether it may change something.
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// Whether it follows changes.
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=true") || self.path.contains("watch=1")
    }

    /// Whether it is about objects of that plural.
    pub fn is_about(&self, plural: &str) -> bool {
        let (path, _) = self.path.split_once('?').unwrap_or((&self.path, ""));
        path.split('/').any(|part| part == plural)
    }
}

// === impl Shared ===

impl Shared {
    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request; gives its number.
    fn note(&self, request: &Request) -> usize {
        let mut records = self.records();
        records.push(Record { request: request.clone(), at: Instant::now(), status: None });
        records.len() - 1
    }

    fn fate(&self, request: &Request, stage: Stage) -> Fate {
        let decide = Arc::clone(&*self.decide.read().unwrap_or_else(PoisonError::into_inner));
        tokio::task::block_in_place(|| decide(request, stage))
    }
}
