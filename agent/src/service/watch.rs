//! The stream of observations. Each is told of when it is about to be sent: by the objects and policies as they are
//! then, so that learning never waits for whoever watches.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use netenf_k8s::told::{self, Told};
use netenf_proto::netenf::v1;
use netenf_proto::netenf::v1::watch_flows_response::Event as Message;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::filter::{Candidate, Wanted};
use super::{Limited, convert};
use crate::tap::{Batch, Event, Reader};

/// How many events are told of at once: the index is held for as long.
const BATCH: usize = 256;

/// How many messages wait for a slow reader, beside those in the buffers of its connection.
const WAITING: usize = 64;

type Answer = Result<v1::WatchFlowsResponse, Status>;

/// What is sent.
type Sender = mpsc::Sender<Answer>;

/// Where one client watches.
struct Watch {
    service: Limited,
    wanted: Arc<Wanted>,
    sender: Sender,
    _place: OwnedSemaphorePermit,
}

/// The client is gone, or the service ends.
struct Gone;

/// Starts to send, and gives where it is read.
pub(super) fn start(
    service: Limited,
    wanted: Wanted,
    place: OwnedSemaphorePermit,
) -> ReceiverStream<Answer> {
    let (sender, receiver) = mpsc::channel(WAITING);
    // What comes from now on is sent: the client is answered when this returns.
    let (reader, end) = (service.service.tap.reader(), service.service.tap.end());
    let watch = Watch { service, wanted: Arc::new(wanted), sender, _place: place };
    tokio::spawn(async move {
        // A client that is gone needs no answer.
        let _ = watch.run(reader, end).await;
    });
    ReceiverStream::new(receiver)
}

// === impl Watch ===

impl Watch {
    async fn run(&self, mut reader: Reader, end: u64) -> Result<(), Gone> {
        if self.wanted.follow && self.wanted.last == 0 {
            reader.skip_to(end);
        } else {
            self.send_held(&mut reader, end).await?;
        }
        if !self.wanted.follow {
            return Ok(());
        }
        loop {
            tokio::select! {
                () = reader.more() => {}
                () = self.sender.closed() => return Err(Gone),
            }
            for message in self.told(reader.read(BATCH)).await? {
                self.send(message).await?;
            }
        }
    }

    /// Sends those of before `end`, or the last that are wanted.
    async fn send_held(&self, reader: &mut Reader, end: u64) -> Result<(), Gone> {
        let last = usize::try_from(self.wanted.last).unwrap_or(usize::MAX);
        let (mut kept, mut count) = (VecDeque::new(), 0);
        while reader.position() < end {
            let left = usize::try_from(end - reader.position()).unwrap_or(BATCH);
            for message in self.told(reader.read(BATCH.min(left))).await? {
                if last == 0 {
                    self.send(message).await?;
                    continue;
                }
                count += usize::from(matches!(message, Message::Observation(_)));
                kept.push_back(message);
                // Losses between those that are left out are left out with them.
                while count > last
                    && let Some(oldest) = kept.pop_front()
                {
                    count -= usize::from(matches!(oldest, Message::Observation(_)));
                }
            }
        }
        for message in kept {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn send(&self, event: Message) -> Result<(), Gone> {
        let message = v1::WatchFlowsResponse { event: Some(event) };
        self.sender.send(Ok(message)).await.map_err(|_| Gone)
    }

    /// What is sent of a batch: first what was missed of it.
    async fn told(&self, batch: Batch) -> Result<Vec<Message>, Gone> {
        let (service, wanted) = (self.service.clone(), self.wanted.clone());
        let told = tokio::task::spawn_blocking(move || {
            let missed = (batch.missed > 0).then(|| Message::Loss(missed(&service, batch.missed)));
            missed.into_iter().chain(messages(&service, &wanted, &batch.events)).collect()
        });
        told.await.map_err(|_| Gone)
    }
}

/// The reader was too slow: whether it wanted what went is not known.
fn missed(service: &Limited, count: u64) -> v1::Loss {
    v1::Loss {
        provider: provider(service).into(),
        reason: "the reader of this stream was too slow".to_owned(),
        count,
        ..v1::Loss::default()
    }
}

fn provider(service: &Limited) -> v1::Provider {
    service.service.board.provider()
}

/// What is wanted of the events, told by what is known now.
fn messages(service: &Limited, wanted: &Wanted, events: &[Arc<Event>]) -> Vec<Message> {
    let guards = service.guards();
    let config = &service.service.config;
    let index = service.service.index.read().unwrap_or_else(PoisonError::into_inner);
    let mut slots = Vec::new();
    let mut all = Vec::new();
    for event in events {
        match &**event {
            Event::Lost(lost) if wanted.matches_time(lost.time) => {
                slots.push(Err(convert::loss(lost, provider(service))));
            }
            Event::Lost(_) => {}
            Event::Seen(seen, skipped) => {
                let told = Told::new(&index, config, seen, *skipped);
                if wanted.may_match(Candidate { seen, told: &told, index: &index }) {
                    slots.push(Ok((seen, all.len())));
                    all.push(told);
                }
            }
        }
    }
    told::judge(&index, &guards, &mut all);
    let messages = slots.into_iter().filter_map(|slot| match slot {
        Err(loss) => Some(Message::Loss(loss)),
        Ok((seen, place)) => {
            let told = &all[place];
            let is_wanted = wanted.matches(Candidate { seen, told, index: &index });
            is_wanted.then(|| Message::Observation(convert::observation(seen, told, &guards)))
        }
    });
    messages.collect()
}
