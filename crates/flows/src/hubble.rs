//! Hubble: `GetFlowsResponse` and bare flows as proto JSON.
//!
//! Endpoints come again on nearly every line, so the text of one is looked up before it is read:
//! a flow costs the few fields that differ from flow to flow.

mod drop;
mod endpoint;
mod flow;
mod member;
mod short;
mod wire;

use std::sync::Arc;

use netenf_learn::{Endpoint, LostEvents, NodeState, NodeStatus, PolicyRef, ServiceRef};

use crate::cache::{Cache, Names};
use crate::value::Text;
use crate::{DecodeError, Format, Record, error};

use self::endpoint::Known;
use self::member::LostOrigin;
use self::short::{Line, Marks, Short};
use self::wire::{Lost, Response, Status};

/// Decodes Hubble's flows; endpoints, services and names that were seen before are shared.
#[derive(Debug, Default)]
pub struct Decoder {
    endpoints: Cache<Known>,
    services: Cache<Option<Arc<ServiceRef>>>,
    policies: Cache<Option<Arc<PolicyRef>>>,
    names: Names,
    nobody: Arc<Endpoint>,
    marks: Marks,
    short: Short,
}

// === impl Decoder ===

impl Decoder {
    /// Decodes one `GetFlowsResponse` or one bare flow. `None` is a blank line or an event of the
    /// agent, which says nothing about flows.
    pub fn decode(&mut self, line: &[u8]) -> Result<Option<Record>, DecodeError> {
        match line.trim_ascii_start() {
            [] => return Ok(None),
            [b'{', ..] => {}
            _ => return Err(DecodeError::foreign(Format::Hubble, line)),
        }
        if let Some(record) = self.decode_short(line) {
            return Ok(Some(record));
        }
        self.decode_line(Line::whole(error::text(line)?))
    }

    /// The record of a line with an endpoint that is known; `None` where there is none, or nothing else can be
    /// told of the line.
    fn decode_short(&mut self, line: &[u8]) -> Option<Record> {
        let mut short = std::mem::take(&mut self.short);
        let record = short
            .shorten(line, &self.marks, &self.endpoints)
            .and_then(|line| self.decode_line(line).ok().flatten());
        self.short = short;
        record
    }

    fn decode_line(&mut self, line: Line<'_>) -> Result<Option<Record>, DecodeError> {
        let response: Response<'_> = error::parse(line.text)?;
        if let Some(flow) = response.flow.as_ref().filter(|flow| flow.says_something()) {
            return self.flow(flow, Some(&response), line).map(Record::Flow).map(Some);
        }
        if let Some(lost) = &response.lost_events {
            return Ok(Some(Record::Lost(self.lost(lost, &response))));
        }
        if let Some(status) = &response.node_status {
            return Ok(Some(Record::NodeStatus(self.status(status, &response))));
        }
        if response.is_bare() {
            return self.flow(&error::parse(line.text)?, None, line).map(Record::Flow).map(Some);
        }
        if response.is_of_agent() {
            return Ok(None);
        }
        Err(DecodeError::foreign(Format::Hubble, line.text.as_bytes()))
    }

    fn lost(&mut self, lost: &Lost, response: &Response<'_>) -> LostEvents {
        LostEvents {
            count: lost.num_events_lost.map_or(0, |count| count.0),
            origin: self.names.share(lost.source.map_or(LostOrigin::UNKNOWN, |origin| origin.0).0),
            node: self.node(response.node_name.as_ref()),
            time: response.time.map(|time| time.0),
        }
    }

    fn status(&mut self, status: &Status<'_>, response: &Response<'_>) -> NodeStatus {
        let nodes = status.node_names.iter().flatten();
        NodeStatus {
            state: status.state_change.map_or(NodeState::Unknown, |state| state.0),
            nodes: nodes.map(|name| self.names.share(name.as_str())).collect(),
            message: Text::filled(status.message.as_ref()).map(Into::into),
            version: None,
            time: response.time.map(|time| time.0),
        }
    }

    fn node(&mut self, name: Option<&Text<'_>>) -> Option<Arc<str>> {
        Text::filled(name).map(|name| self.names.share(name))
    }
}

#[cfg(test)]
mod tests;
