//! Whether the API server answers. A watch of a server that hangs just stays silent, so that nothing but a
//! question of its own finds it out.

use std::time::Duration;

use kube::Client;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

const PERIOD: Duration = Duration::from_secs(2);

/// Many times what an answer takes.
const LIMIT: Duration = Duration::from_secs(3);

/// What the server did last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulse {
    /// It was not asked yet.
    Unknown,
    /// It answered.
    Answers,
    /// It did not answer, or said that it cannot.
    Silent(String),
}

/// Asks the server every two seconds, for as long as somebody wants to know.
pub fn start(client: Client, registry: &mut Registry) -> watch::Receiver<Pulse> {
    let answers = Gauge::<i64>::default();
    registry.register("api_server_answers", "1 while the API server answers", answers.clone());
    let (sender, receiver) = watch::channel(Pulse::Unknown);
    tokio::spawn(async move {
        let mut period = interval(PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !sender.is_closed() {
            period.tick().await;
            let pulse = ask(&client).await;
            answers.set(i64::from(pulse == Pulse::Answers));
            sender.send_if_modified(|known| {
                let is_new = *known != pulse;
                *known = pulse;
                is_new
            });
        }
    });
    receiver
}

/// Everybody may ask for the version (Kubernetes' ClusterRole `system:public-info-viewer`).
async fn ask(client: &Client) -> Pulse {
    match timeout(LIMIT, client.apiserver_version()).await {
        Ok(Ok(_)) => Pulse::Answers,
        Ok(Err(error)) => Pulse::Silent(error.to_string()),
        Err(_) => Pulse::Silent(format!("no answer in {} s", LIMIT.as_secs())),
    }
}
