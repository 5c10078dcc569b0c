//! Over TLS, with certificates that come later than the agent.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for that purpose, and its key.
fn sign(authority: &Authority, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
    let mut params = CertificateParams::new(["netenf-controller".to_owned()]).unwrap();
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

fn write(authority: &Authority, folder: &Path) {
    let (certificate, key) = sign(authority, ExtendedKeyUsagePurpose::ServerAuth);
    fs::write(folder.join("ca.crt"), authority.pem()).unwrap();
    fs::write(folder.join("tls.key"), key).unwrap();
    fs::write(folder.join("tls.crt"), certificate).unwrap();
}

/// Reports as the agent of n1, who shows a certificate of `own`.
async fn report(agent: &Agent, authority: &Authority, own: &Authority) -> Result<(), Status> {
    let (certificate, key) = sign(own, ExtendedKeyUsagePurpose::ClientAuth);
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .identity(Identity::from_pem(certificate, key))
        .domain_name("netenf-controller");
    let endpoint = Endpoint::from_shared(format!("https://{}", agent.address("node"))).unwrap();
    let channel = endpoint.tls_config(tls).unwrap().connect_lazy();
    let mut node = Node::through(channel).await?;
    node.send(vec![edge(5432)]).await;
    timeout(SOON, node.answers.message()).await.unwrap()?;
    Ok(())
}

/// Without certificates the agent is not ready and says why; with them it takes reports of whom the authority knows.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_takes_reports_once_it_has_certificates() {
    let (_plane, account) = shop();
    let folder = tempfile::tempdir().unwrap();
    let certificates = format!("--provider-tls-cert-dir={}", folder.path().display());
    let source = ["--provider-name=node", "--provider-endpoint=127.0.0.1:0", &certificates];
    let quick = [&source[..], &["--learning-flush-interval=200ms"]].concat();
    let agent = Agent::start_with(&account, "one", &quick);
    let fault = || Ok(agent.report()["faults"]["source"].as_str().map(str::to_owned));
    let fault = within(SOON, "the agent says what is missing", fault).unwrap();
    assert!(fault.starts_with("node agents cannot report: cannot read "), "{fault}");
    assert!(!agent.is_ready());

    let known = authority();
    write(&known, folder.path());
    within(SOON, "the agent is ready", || Ok(agent.is_ready().then_some(()))).unwrap();
    report(&agent, &known, &known).await.unwrap();
    assert!(report(&agent, &known, &authority()).await.is_err());
}
