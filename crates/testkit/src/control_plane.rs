//! A genuine Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager
//! on loopback, with RBAC, admission, garbage collection and the aggregation layer. It has no nodes,
//! so pods are objects that nothing runs.
//!
//! A plane belongs to the process that started it and ends with it, whatever way that goes
//! (`keeper`): no process and no file is left. Any number of planes run at once.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::Signal;

use crate::deadline::within;
use crate::peer::peer;
use certificate::Subject;
use client::{Credential, Server};
use keeper::Keeper;
use program::Program;
use secrets::Secrets;

pub use client::Client;

mod argument;
pub(crate) mod certificate;
mod client;
pub(crate) mod keeper;
pub(crate) mod program;
pub mod proxy;
mod secrets;

/// As often a plane is started on ports that were free a moment ago, before another process took one.
pub(crate) const ATTEMPTS: usize = 5;

/// What a program logs that comes too late for its port.
pub(crate) const TAKEN: &str = "address already in use";

/// Many times what any step of the start needs on a quiet machine.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// What a plane starts with.
#[derive(Default)]
pub struct Options {
    /// Files or folders of custom resource definitions. They are there before the garbage collector
    /// starts: it looks for new kinds only every 30 seconds, and until then leaves their objects.
    pub definitions: Vec<PathBuf>,
    /// Admission plugins that are off by default.
    pub admission: Vec<&'static str>,
    /// Whether what service accounts ask is recorded, for [`ControlPlane::audited`].
    pub audit: bool,
}

/// A running control plane. Dropping it ends it.
pub struct ControlPlane {
    // Fields are dropped in this order: clients of a program end before it, and the folder last.
    _controller_manager: Program,
    api_server: Program,
    _etcd: Program,
    admin: Client,
    base: Base,
}

/// What is there before any program runs.
struct Base {
    /// Of the API server.
    port: u16,
    /// Of etcd.
    store: u16,
    secrets: Secrets,
    clients: AtomicUsize,
    keeper: Keeper,
}

/// An API server that answers nobody, until this is dropped.
#[must_use = "the API server goes on when this is dropped"]
pub struct Paused<'a> {
    api_server: &'a Program,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// The plane with our custom resources that all tests of a process share. It ends with the
    /// process.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<ControlPlane> = LazyLock::new(|| {
            let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
            let definitions = vec![definitions];
            ControlPlane::start(&Options { definitions, ..Options::default() })
                .expect("the shared control plane starts")
        });
        &SHARED
    }

    /// Starts a plane and returns when it serves: the API server is ready, the definitions are
    /// served, and a controller has made the `ServiceAccount` of the namespace `default`.
    ///
    /// # Errors
    /// If a program does not start or is not ready in time; the error holds the end of its log.
    ///
    /// # Panics
    /// If a program cannot be built.
    pub fn start(options: &Options) -> anyhow::Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::start_on(free_ports()?, options) {
                Err(error) if error.to_string().contains(TAKEN) => {}
                decided => return decided,
            }
        }
        Self::start_on(free_ports()?, options)
    }

    fn start_on([store, peers, port]: [u16; 3], options: &Options) -> anyhow::Result<Self> {
        let programs = peer("control-plane");
        let keeper = Keeper::start()?;
        let secrets = Secrets::create(keeper.folder())?;
        let base = Base { port, store, secrets, clients: AtomicUsize::new(0), keeper };
        let admin = base.client(&Subject { user: "admin", group: Some("system:masters") })?;

        // The API server comes later: on a port that another plane took it would write into its etcd.
        let mut etcd = base.run(&peer("etcd"), &argument::etcd(base.folder(), [store, peers]))?;
        etcd.await_ready(|etcd| etcd.logged("ready to serve client requests"))?;
        let mut arguments = argument::api_server(&base.secrets, store, port);
        arguments.extend(options.admission.iter().map(|it| argument::admission(it)));
        if options.audit {
            arguments.extend(argument::audit(base.folder())?);
        }
        let mut api_server = base.run(&programs.join("kube-apiserver"), &arguments)?;
        api_server.await_ready(|it| serves(it, &admin))?;
        define(&admin, &options.definitions)?;

        let controller = Subject { user: "system:kube-controller-manager", group: None };
        let controller = base.client(&controller)?;
        let arguments = argument::controller_manager(&base.secrets, controller.kubeconfig());
        let controller_manager = base.run(&programs.join("kube-controller-manager"), &arguments)?;
        let account = ["wait", "--for=create", "-n=default", "serviceaccount/default"];
        let limit = format!("--timeout={}s", LIMIT.as_secs());
        admin
            .kubectl(&[&account[..], &[&limit]].concat())
            .map_err(|error| controller_manager.explained(&error))?;
        Ok(Self { _controller_manager: controller_manager, api_server, _etcd: etcd, admin, base })
    }

    /// The client that may do everything.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// A person who may do what is bound to them or to their group, known by a client certificate.
    ///
    /// # Errors
    /// If the files of the client cannot be written.
    pub fn user(&self, name: &str, group: Option<&str>) -> anyhow::Result<Client> {
        self.base.client(&Subject { user: name, group })
    }

    /// A service account as a program in a pod is it: by a token that the API server made.
    ///
    /// # Errors
    /// If there is no such account.
    pub fn service_account(&self, namespace: &str, name: &str) -> anyhow::Result<Client> {
        let token = self.admin.kubectl(&["create", "token", "-n", namespace, name])?;
        self.base.client_with(Credential::Token(token))
    }

    /// Stops the API server in the middle of whatever it does: connections stay open and nothing is
    /// answered, as when its machine hangs.
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause_api_server(&self) -> anyhow::Result<Paused<'_>> {
        self.api_server.signal(Signal::STOP)?;
        Ok(Paused { api_server: &self.api_server })
    }

    /// Kills the API server, and returns when it serves again on the same port and data.
    ///
    /// # Errors
    /// If it is not ready in time.
    pub fn restart_api_server(&mut self) -> anyhow::Result<()> {
        self.api_server.restart()?;
        self.api_server.await_ready(|it| serves(it, &self.admin))
    }

    /// Has etcd forget everything but what is there now, and the API server too: who resumes a watch from
    /// before is told that it is too old.
    ///
    /// # Errors
    /// If etcd does not do it, or the API server is not ready in time.
    pub fn forget_history(&mut self) -> anyhow::Result<()> {
        let status = self.base.ask_etcd("/v3/maintenance/status", "{}")?;
        let revision = status.split_once(r#""revision":"#).and_then(|it| it.1.split('"').nth(1));
        let revision = revision.with_context(|| format!("etcd told no revision: {status}"))?;
        let compaction = format!(r#"{{"revision":"{revision}","physical":true}}"#);
        self.base.ask_etcd("/v3/kv/compaction", &compaction)?;
        // What it has in memory it would go on to tell.
        self.restart_api_server()
    }

    /// What service accounts asked so far, in the order in which it was answered: an Event of
    /// `audit.k8s.io` each, as JSON.
    ///
    /// # Errors
    /// If the plane does not record it.
    pub fn audited(&self) -> anyhow::Result<Vec<String>> {
        let log = self.folder().join(argument::AUDIT_LOG);
        let text = fs::read_to_string(log).context("the plane was started without audit")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The folder of all files of the plane. It ends with the plane.
    pub fn folder(&self) -> &Path {
        self.base.keeper.folder()
    }
}

// === impl Base ===

impl Base {
    fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    fn run(&self, program: &Path, arguments: &[String]) -> anyhow::Result<Program> {
        Program::start(program, arguments, self.folder(), self.keeper.group())
    }

    fn client(&self, subject: &Subject<'_>) -> anyhow::Result<Client> {
        let pair = self.secrets.cluster.client(&self.next(), subject)?;
        self.client_with(Credential::Certificate(pair))
    }

    fn client_with(&self, credential: Credential) -> anyhow::Result<Client> {
        let kubeconfig = self.folder().join(format!("{}.kubeconfig", self.next()));
        Client::create(kubeconfig, &self.server(self.port), credential)
    }

    /// The API server, or whoever shows its certificate at another port.
    fn server(&self, port: u16) -> Server<'_> {
        Server { port, authority: &self.secrets.cluster.certificate }
    }

    /// An answer of etcd's JSON gateway (etcd's documentation, "gRPC gateway").
    fn ask_etcd(&self, path: &str, body: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.store))?;
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "etcd refuses {path}: {answer}");
        Ok(answer)
    }

    /// A name for files of a client. Those of users may hold any character.
    fn next(&self) -> String {
        format!("client-{}", self.clients.fetch_add(1, Ordering::Relaxed))
    }
}

// === impl Paused ===

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let _ = self.api_server.signal(Signal::CONT);
    }
}

/// Ports that nothing listens on. The listeners are held until all are found, so that they differ.
pub(crate) fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot find a free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// The log is looked at first: it costs less than kubectl. kubectl knows the server by its certificate,
/// so that no other one on the port is taken for it.
fn serves(api_server: &Program, admin: &Client) -> bool {
    api_server.logged("Serving securely") && admin.kubectl(&["get", "--raw=/readyz"]).is_ok()
}

/// Returns when the objects of the definitions can be asked for. An established definition is not
/// yet among the kinds that the API server tells, which both kubectl and the garbage collector go by.
fn define(admin: &Client, definitions: &[PathBuf]) -> anyhow::Result<()> {
    for path in definitions {
        let path = path.to_string_lossy();
        admin.kubectl(&["apply", "--server-side", "-f", &path])?;
        let names = admin.kubectl(&["get", "-o=name", "-f", &path])?;
        for name in names.lines().filter_map(|name| Some(name.rsplit_once('/')?.1)) {
            let list = ["get", name, "--all-namespaces"];
            within(LIMIT, &format!("{name} is served"), || Ok(admin.kubectl(&list).ok()))?;
        }
    }
    Ok(())
}
