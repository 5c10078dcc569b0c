//! Somebody who talks to a plane: a kubeconfig, and kubectl with it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context as _, bail};

use super::certificate::Pair;
use crate::peer::peer;

static KUBECTL: LazyLock<PathBuf> = LazyLock::new(|| peer("kubectl"));

/// A person, component or service account with a kubeconfig of their own.
pub struct Client {
    kubeconfig: PathBuf,
    credential: Credential,
}

/// What a client shows for who it is.
#[derive(Clone)]
pub(super) enum Credential {
    Certificate(Pair),
    Token(String),
}

/// Where the API server is, and by whose certificate a client knows it.
pub(super) struct Server<'a> {
    pub(super) port: u16,
    pub(super) authority: &'a Path,
}

// === impl Client ===

impl Client {
    pub(super) fn create(
        kubeconfig: PathBuf,
        server: &Server<'_>,
        credential: Credential,
    ) -> anyhow::Result<Self> {
        fs::write(&kubeconfig, document(server, &credential))
            .with_context(|| format!("cannot write {}", kubeconfig.display()))?;
        Ok(Self { kubeconfig, credential })
    }

    /// The same one, who asks another server.
    pub(super) fn at(&self, server: &Server<'_>) -> anyhow::Result<Self> {
        let kubeconfig = self.kubeconfig.with_extension(format!("{}.kubeconfig", server.port));
        Self::create(kubeconfig, server, self.credential.clone())
    }

    /// Whether it is known by what it sends, and not by the connection that it sends it on.
    pub(super) fn has_token(&self) -> bool {
        matches!(self.credential, Credential::Token(_))
    }

    /// The file that makes any client this one.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// What kubectl prints, run as this client.
    ///
    /// # Errors
    /// If kubectl fails; the error holds what it said.
    pub fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.kubectl_reading("", arguments)
    }

    /// [`Self::kubectl`] with `input` on standard input, for `-f -`.
    ///
    /// # Errors
    /// As there.
    pub fn kubectl_reading(&self, input: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let mut child = self
            .command(arguments)
            .spawn()
            .with_context(|| format!("cannot start {}", KUBECTL.display()))?;
        let pipe = child.stdin.take();
        // kubectl that fails early does not read; what it says of that tells more than the pipe.
        let _ = pipe.map(|mut pipe| pipe.write_all(input.as_bytes()));
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {}: {}", arguments.join(" "), said.trim_end());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Nothing of the machine's own configuration reaches kubectl; it caches beside its kubeconfig.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&*KUBECTL);
        command.args(arguments).env_clear().env("KUBECONFIG", &self.kubeconfig);
        command.env("KUBECACHEDIR", self.kubeconfig.with_extension("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn document(server: &Server<'_>, credential: &Credential) -> String {
    let Server { port, authority } = server;
    let user = match credential {
        Credential::Certificate(Pair { certificate, key }) => {
            format!("client-certificate: {}, client-key: {}", certificate.display(), key.display())
        }
        Credential::Token(token) => format!("token: {token}"),
    };
    format!(
        "apiVersion: v1
kind: Config
current-context: plane
clusters:
- name: plane
  cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: {authority}}}
contexts:
- name: plane
  context: {{cluster: plane, user: client}}
users:
- name: client
  user: {{{user}}}
",
        authority = authority.display()
    )
}
