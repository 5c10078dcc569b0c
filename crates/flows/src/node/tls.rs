//! Who may report: clients whose certificate our authorities signed.
//!
//! Certificates are read from files, and read again when they change, so that whoever rotates them needs to tell
//! nobody. Files that cannot be used while new ones are being written change nothing: the last that could are kept.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// The longest file that is read.
const MAX_FILE: u64 = 1 << 20;

/// How often files are looked at, at most.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no {what}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// Certificate, key and authorities do not go together.
    #[error("the certificates in {} cannot be used: {cause}", folder.display())]
    Unusable {
        /// Where they are.
        folder: PathBuf,
        /// Why.
        cause: String,
    },
}

/// What the three files hold.
#[derive(PartialEq, Eq)]
struct Contents([Vec<u8>; 3]);

/// Our certificate, and the authorities of those who may report.
pub struct Tls {
    folder: PathBuf,
    contents: Contents,
    config: Arc<ServerConfig>,
    looked: Instant,
}

// === impl Tls ===

impl Tls {
    /// Reads `tls.crt`, `tls.key` and `ca.crt` in `folder`.
    ///
    /// # Errors
    /// If they cannot be read or used.
    pub fn read(folder: &Path) -> Result<Self, TlsError> {
        let contents = Contents::read(folder)?;
        let config = contents.config(folder)?;
        Ok(Self { folder: folder.to_owned(), contents, config, looked: Instant::now() })
    }

    /// The certificates as they are now, or were when they last could be used.
    pub(super) fn current(&mut self) -> Arc<ServerConfig> {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            match self.reread() {
                Ok(true) => {
                    tracing::info!(folder = %self.folder.display(), "new certificates are in use");
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the certificates of before stay in use"),
            }
        }
        self.config.clone()
    }

    /// Whether there are new ones.
    fn reread(&mut self) -> Result<bool, TlsError> {
        let contents = Contents::read(&self.folder)?;
        if contents == self.contents {
            return Ok(false);
        }
        self.config = contents.config(&self.folder)?;
        self.contents = contents;
        Ok(true)
    }
}

// === impl Contents ===

impl Contents {
    fn read(folder: &Path) -> Result<Self, TlsError> {
        let file = |name: &str| {
            let path = folder.join(name);
            let mut content = Vec::new();
            let read = std::fs::File::open(&path)
                .and_then(|file| file.take(MAX_FILE).read_to_end(&mut content));
            read.map_err(|source| TlsError::File { path, source })?;
            Ok(content)
        };
        Ok(Self([file("tls.crt")?, file("tls.key")?, file("ca.crt")?]))
    }

    fn config(&self, folder: &Path) -> Result<Arc<ServerConfig>, TlsError> {
        let Self([chain, key, authorities]) = self;
        let unusable = |cause: String| TlsError::Unusable { folder: folder.to_owned(), cause };
        let chain = certificates(chain, &folder.join("tls.crt"))?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| TlsError::Content { path: folder.join("tls.key"), what: "private key" })?;
        let mut roots = RootCertStore::empty();
        for one in certificates(authorities, &folder.join("ca.crt"))? {
            roots.add(one).map_err(|error| unusable(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        let verifier = verifier.build().map_err(|error| unusable(error.to_string()))?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(error.to_string()))?;
        let config = config.with_client_cert_verifier(verifier).with_single_cert(chain, key);
        let mut config = config.map_err(|error| unusable(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificates(pem: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.ok().filter(|all| !all.is_empty());
    all.ok_or_else(|| TlsError::Content { path: path.to_owned(), what: "certificate" })
}

/// The node whose agent the certificate is of: one that has the name `spiffe://DOMAIN/node/NAME`. A certificate without
/// such a name, as all agents share where a Secret holds it, may report for any node.
pub(super) fn node(certificate: &CertificateDer<'_>) -> Option<String> {
    let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
    certificate.valid_uri_names().find_map(|uri| {
        let (domain, path) = uri.strip_prefix("spiffe://")?.split_once('/')?;
        let name = path.strip_prefix("node/")?;
        (!domain.is_empty() && !name.is_empty() && !name.contains('/')).then(|| name.to_owned())
    })
}
