//! By what the collector is known, and what it knows us by: files that are read again, since whoever issues
//! certificates replaces them while the agent runs.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// The most bytes of a file of certificates; that of all public authorities has a quarter of it.
const LONGEST: u64 = 1 << 20;

/// The files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust {
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

/// What stands in the files. Not printed: one of them is a key.
#[derive(PartialEq, Eq)]
pub(crate) struct Content {
    authorities: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl Trust ===

impl Trust {
    /// What stands in the files now.
    pub(crate) fn read(&self) -> anyhow::Result<Content> {
        let authorities = self.authorities.as_deref().map(read).transpose()?;
        let identity = self.identity.as_ref();
        let identity = identity
            .map(|(certificate, key)| anyhow::Ok((read(certificate)?, read(key)?)))
            .transpose()?;
        Ok(Content { authorities, identity })
    }

    /// TLS 1.2 or 1.3 by what `content` says; errors name the files.
    pub(crate) fn client(&self, content: &Content) -> anyhow::Result<ClientConfig> {
        let roots = match (&self.authorities, &content.authorities) {
            (Some(path), Some(text)) => given(path, text)?,
            _ => native()?,
        };
        let builder = builder()?.with_root_certificates(roots);
        let (Some((certificate, key)), Some(texts)) = (&self.identity, &content.identity) else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(certificate, &texts.0)?;
        let pair = || format!("{} and {}", certificate.display(), key.display());
        let key = PrivateKeyDer::from_pem_slice(&texts.1)
            .with_context(|| format!("{} holds no key in PEM", key.display()))?;
        builder
            .with_client_auth_cert(chain, key)
            .with_context(|| format!("{} are no pair that can be used", pair()))
    }
}

/// For connections without TLS: it trusts nobody.
pub(crate) fn nobody() -> anyhow::Result<ClientConfig> {
    Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn builder() -> anyhow::Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("the cryptography has no version of TLS")
}

/// The authorities in the file.
fn given(path: &Path, text: &[u8]) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, text)? {
        roots.add(certificate).with_context(|| {
            format!("{} holds an authority that cannot be used", path.display())
        })?;
    }
    Ok(roots)
}

/// The authorities of the system. Some that cannot be used are common there; those that are left count.
fn native() -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    ensure!(
        !roots.is_empty(),
        "the system has no authorities to know the collector by; name a file of them"
    );
    Ok(roots)
}

fn certificates(path: &Path, text: &[u8]) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = certificates
        .with_context(|| format!("{} holds a certificate that is broken", path.display()))?;
    ensure!(!certificates.is_empty(), "{} holds no certificate in PEM", path.display());
    Ok(certificates)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let hint = || format!("cannot read {}", path.display());
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut text))
        .with_context(hint)?;
    ensure!(u64::try_from(text.len())? <= LONGEST, "{} is too long", path.display());
    Ok(text)
}
