//! Whether one end may talk to another.

use netenf_policy::Protocol;

use super::{Inquiry, word};
use crate::end::Pattern;
use crate::reach::{Answer, Reach};
use crate::render;
use crate::unclear::{Hint, Unclear};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The end that opens.
    pub from: Pattern,
    /// The other end as a person wrote it, in full.
    pub to: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The port that was named: of a Service its own.
    pub port: u16,
    /// Where the other end is, and on which ports after translation.
    targets: Vec<(Pattern, u16)>,
    /// What a person should know of it.
    pub note: Option<String>,
}

// === impl Question ===

impl Question {
    /// Understands what is asked. The other end may be a Service: then the pods behind it are meant.
    pub fn new(
        inquiry: &Inquiry<'_>,
        from: &str,
        to: &str,
        (protocol, port): (Protocol, u16),
    ) -> Result<Self, Unclear> {
        let from = inquiry.pattern(from)?;
        let Some(service) = inquiry.service(to, (protocol, port))? else {
            let to = inquiry.pattern(to)?;
            let targets = vec![(to.clone(), port)];
            return Ok(Self { from, to: to.to_string(), protocol, port, targets, note: None });
        };
        let name = render::protocol(protocol);
        let words: Vec<String> = service
            .backends
            .iter()
            .map(|(own, port)| format!("{port}/{name} of {}", word(own)))
            .collect();
        if words.is_empty() {
            return Err(Unclear::unknown(format!(
                "no pod is behind Service {} {port}/{name}",
                service.service
            ))
            .hint(Hint::Objects(Some("pods"))));
        }
        let words = words.join(", ");
        let note = format!("Service {} {port}/{name} leads to {words}", service.service);
        let targets = service.backends.iter().map(|(own, port)| (Pattern::of(own), *port));
        let to = service.service.replacen('/', "/service/", 1);
        Ok(Self { from, to, protocol, port, targets: targets.collect(), note: Some(note) })
    }

    /// The answer for all targets: that of a denied one, if one is. Second, what a person should know of the ends.
    pub fn answer(
        &self,
        inquiry: &Inquiry<'_>,
        reach: &Reach<'_>,
    ) -> Result<(Answer, Vec<String>), Unclear> {
        let sources = inquiry.ends(&self.from, reach)?;
        let mut notes: Vec<String> = sources.note.into_iter().collect();
        let mut all: Option<Answer> = None;
        for (target, port) in &self.targets {
            let destinations = inquiry.ends(target, reach)?;
            notes.extend(destinations.note);
            let asked = (self.protocol, *port);
            let Some(answer) = reach.check(&sources.ends, &destinations.ends, asked) else {
                continue;
            };
            all = Some(match all {
                None => answer,
                Some(known) => both(known, answer),
            });
        }
        let answer = all.ok_or_else(|| {
            Unclear::unknown(format!(
                "no packet goes from {} to {}: they have no addresses of one family",
                self.from, self.to
            ))
        })?;
        Ok((answer, notes))
    }
}

/// The answer about the pairs of both.
fn both(one: Answer, other: Answer) -> Answer {
    let (pairs, denied) = (one.pairs + other.pairs, one.denied + other.denied);
    let told = if one.denied == 0 && other.denied > 0 { other } else { one };
    Answer { pairs, denied, ..told }
}
