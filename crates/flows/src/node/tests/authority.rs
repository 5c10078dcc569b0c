//! Certificates for tests.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// What signs certificates.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes what a server shows that believes clients of this authority.
    pub(super) fn write_server(&self, folder: &Path) {
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let (certificate, key) = self.sign(params, ExtendedKeyUsagePurpose::ServerAuth);
        fs::write(folder.join("ca.crt"), self.0.pem()).unwrap();
        fs::write(folder.join("tls.key"), key).unwrap();
        fs::write(folder.join("tls.crt"), certificate).unwrap();
    }

    /// What a client shows, with a name for the node where it is of one.
    pub(super) fn client(&self, node: Option<&str>) -> Identity {
        let mut params = CertificateParams::default();
        let uri = node.map(|node| format!("spiffe://cluster.local/node/{node}"));
        params.subject_alt_names =
            uri.into_iter().map(|uri| SanType::URI(uri.try_into().unwrap())).collect();
        let (certificate, key) = self.sign(params, ExtendedKeyUsagePurpose::ClientAuth);
        Identity::from_pem(certificate, key)
    }

    /// The same without any right to be a client.
    pub(super) fn not_a_client(&self) -> Identity {
        let params = CertificateParams::default();
        let (certificate, key) = self.sign(params, ExtendedKeyUsagePurpose::ServerAuth);
        Identity::from_pem(certificate, key)
    }

    /// An endpoint that believes servers of this authority, and shows `identity`.
    pub(super) fn endpoint(&self, address: &str, identity: Option<Identity>) -> Endpoint {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(self.0.pem()))
            .domain_name("localhost");
        let tls = match identity {
            Some(identity) => tls.identity(identity),
            None => tls,
        };
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap();
        endpoint.tls_config(tls).unwrap()
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        purpose: ExtendedKeyUsagePurpose,
    ) -> (String, String) {
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}
