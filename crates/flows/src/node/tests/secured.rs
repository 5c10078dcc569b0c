//! Only those report who show a certificate of the authority.

use std::path::Path;

use tempfile::TempDir;
use tonic::transport::Identity;

use super::authority::Authority;
use super::*;

/// A server with the certificates of a folder.
struct Secured {
    server: Server,
    folder: TempDir,
}

impl Secured {
    async fn start(authority: &Authority) -> Self {
        let folder = tempfile::tempdir().unwrap();
        authority.write_server(folder.path());
        let server = Server::start(Some(Tls::read(folder.path()).unwrap())).await;
        Self { server, folder }
    }

    /// Whether a report of the node n1 is taken.
    async fn takes(
        &mut self,
        authority: &Authority,
        identity: Option<Identity>,
    ) -> Result<(), Status> {
        let endpoint = authority.endpoint(&self.server.address.to_string(), identity);
        let mut agent = Agent::connect(endpoint).await?;
        agent.send(report(1, vec![edge()])).await;
        loop {
            tokio::select! {
                acknowledged = agent.acknowledged() => return acknowledged.map(|_| ()),
                delivery = self.server.deliveries.recv() => match delivery.unwrap() {
                    Delivery::Receipt(receipt) => receipt.confirm(),
                    Delivery::Record(_) => {}
                },
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_of_the_authority_report() {
    let authority = Authority::new();
    let mut secured = Secured::start(&authority).await;
    secured.takes(&authority, Some(authority.client(None))).await.unwrap();
    let stranger = Authority::new().client(None);
    for refused in [None, Some(stranger), Some(authority.not_a_client())] {
        // Which error a client sees depends on how far it came.
        assert!(secured.takes(&authority, refused).await.is_err());
    }
    // Nor does anybody without TLS.
    let plain = Endpoint::from_shared(format!("http://{}", secured.server.address)).unwrap();
    assert!(Agent::connect(plain).await.is_err());
    secured.takes(&authority, Some(authority.client(None))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_a_node_reports_for_no_other() {
    let authority = Authority::new();
    let mut secured = Secured::start(&authority).await;
    let status = secured.takes(&authority, Some(authority.client(Some("n2")))).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied, "{status}");
    assert!(status.message().contains("n2"), "{status}");
    secured.takes(&authority, Some(authority.client(Some("n1")))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_certificates_are_used_without_a_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let mut secured = Secured::start(&old).await;
    secured.takes(&old, Some(old.client(None))).await.unwrap();
    // Files that do not go together are as if they were not there.
    std::fs::write(secured.folder.path().join("tls.key"), "being written").unwrap();
    tokio::time::sleep(tls::LOOK).await;
    secured.takes(&old, Some(old.client(None))).await.unwrap();
    new.write_server(secured.folder.path());
    let rotated = async {
        while secured.takes(&new, Some(new.client(None))).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, rotated).await.unwrap();
    assert!(secured.takes(&old, Some(old.client(None))).await.is_err());
}

/// Whoever connects and says nothing keeps nobody from reporting.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_silent_keeps_nobody_waiting() {
    let authority = Authority::new();
    let mut secured = Secured::start(&authority).await;
    let mut silent = Vec::new();
    for _ in 0..HANDSHAKES / 2 {
        silent.push(TcpStream::connect(secured.server.address).await.unwrap());
    }
    secured.takes(&authority, Some(authority.client(None))).await.unwrap();
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = |folder: &Path| Tls::read(folder).err().unwrap().to_string();
    assert!(error(folder.path()).starts_with("cannot read "), "{}", error(folder.path()));
    let (one, other) = (Authority::new(), Authority::new());
    one.write_server(folder.path());
    assert!(Tls::read(folder.path()).is_ok());
    for (file, what) in
        [("tls.crt", "certificate"), ("tls.key", "private key"), ("ca.crt", "certificate")]
    {
        std::fs::write(folder.path().join(file), "nothing").unwrap();
        let told = error(folder.path());
        assert!(told.ends_with(&format!("{file} holds no {what}")), "{told}");
        one.write_server(folder.path());
    }
    let key = std::fs::read(folder.path().join("tls.key")).unwrap();
    other.write_server(folder.path());
    std::fs::write(folder.path().join("tls.key"), key).unwrap();
    assert!(error(folder.path()).contains("cannot be used"), "{}", error(folder.path()));
}
