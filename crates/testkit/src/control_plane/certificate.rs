//! Certificates of a plane: two authorities, and what they sign. They are valid for as long as
//! there are tests: a plane lives for minutes, and no test asks for an expired one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, as files.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Who a client certificate says its holder is: common name and organisation are user and group
/// (Kubernetes' documentation, "Authenticating", X.509 client certificates).
pub(crate) struct Subject<'a> {
    pub(crate) user: &'a str,
    pub(crate) group: Option<&'a str>,
}

/// An authority that a plane trusts.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
    pub(crate) certificate: PathBuf,
}

// === impl Subject ===

impl Subject<'_> {
    fn distinguished_name(&self) -> DistinguishedName {
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, self.user);
        if let Some(group) = self.group {
            name.push(DnType::OrganizationName, group);
        }
        name
    }
}

// === impl Authority ===

impl Authority {
    /// A new authority whose files stand in `folder`.
    pub(crate) fn create(folder: &Path, name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = Subject { user: name, group: None }.distinguished_name();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let certificate = folder.join(format!("{name}.crt"));
        write(&certificate, &issuer.pem())?;
        Ok(Self { issuer, folder: folder.to_owned(), certificate })
    }

    /// What a server at `names` shows, names of hosts or addresses.
    pub(crate) fn server(&self, file: &str, names: &[&str]) -> anyhow::Result<Pair> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names)?;
        self.sign(file, params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// What a client shows.
    pub(crate) fn client(&self, file: &str, subject: &Subject<'_>) -> anyhow::Result<Pair> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject.distinguished_name();
        self.sign(file, params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        file: &str,
        mut params: CertificateParams,
        purpose: ExtendedKeyUsagePurpose,
    ) -> anyhow::Result<Pair> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate()?;
        let pair = Pair {
            certificate: self.folder.join(format!("{file}.crt")),
            key: self.folder.join(format!("{file}.key")),
        };
        write(&pair.certificate, &params.signed_by(&key, &self.issuer)?.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }
}

/// The key that signs the tokens of service accounts, and its public half in place of a certificate.
pub(crate) fn signing_pair(folder: &Path) -> anyhow::Result<Pair> {
    let key = KeyPair::generate()?;
    let pair = Pair {
        certificate: folder.join("service-account.pub"),
        key: folder.join("service-account.key"),
    };
    write(&pair.certificate, &key.public_key_pem())?;
    write(&pair.key, &key.serialize_pem())?;
    Ok(pair)
}

/// The folder is its owner's alone, so files need no mode of their own.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
