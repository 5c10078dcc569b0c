//! Recordings for the tests, and what a replay made of them.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use netenf_flows::{Decoder, Format, Input, Options, Record, Replay, ReplayError, Summary};
use netenf_learn::Observation;

/// A line of Hubble, Goldmane and ztunnel each.
pub(crate) const HUBBLE: &str =
    r#"{"flow":{"verdict":"FORWARDED","l4":{"TCP":{"destination_port":80}}},"node_name":"n1"}"#;
pub(crate) const GOLDMANE: &str = r#"{"id":"1","flow":{"Key":{"dest_port":"80","proto":"tcp"}}}"#;
pub(crate) const ZTUNNEL: &str =
    r#"{"scope":"access","message":"connection complete","dst.addr":"10.0.0.1:80"}"#;

/// A recording of the repository.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(name)
}

/// The lines of a recording of the repository.
pub(crate) fn lines(name: &str) -> Vec<String> {
    std::fs::read_to_string(fixture(name)).unwrap().lines().map(str::to_owned).collect()
}

/// An input that holds these bytes.
pub(crate) fn input(name: &str, bytes: impl Into<Vec<u8>>) -> Input {
    reader(name, Cursor::new(bytes.into()))
}

/// An input of this reader.
pub(crate) fn reader(name: &str, reader: impl Read + Send + 'static) -> Input {
    Input::Reader { name: name.to_owned(), reader: Box::new(reader) }
}

/// What a replay gave: records, their texts and places, and how it ended.
pub(crate) struct Outcome {
    pub(crate) records: Vec<Record>,
    pub(crate) texts: Vec<String>,
    pub(crate) places: Vec<String>,
    pub(crate) errors: Vec<ReplayError>,
    pub(crate) summary: Summary,
}

/// Replays inputs to the end.
pub(crate) fn replay(inputs: Vec<Input>, options: Options) -> Outcome {
    let mut replay = Replay::new(inputs, options).unwrap();
    let (mut records, mut texts, mut places, mut errors) = (vec![], vec![], vec![], vec![]);
    loop {
        match replay.next() {
            Ok(Some(item)) => {
                texts.push(String::from_utf8(item.raw.to_vec()).unwrap());
                places.push(item.location.to_string());
                records.push(item.record);
            }
            Ok(None) => break,
            Err(error) => errors.push(error),
        }
    }
    let summary = replay.summary().clone();
    let Summary { lines, records: count, blank, ignored, bad, .. } = summary;
    assert_eq!(lines, count + blank + ignored + bad, "{summary:?}");
    Outcome { records, texts, places, errors, summary }
}

/// Replays one text.
pub(crate) fn replay_text(text: impl Into<Vec<u8>>) -> Outcome {
    replay(vec![input("rec", text)], Options::default())
}

/// The observations of lines that are all flows.
pub(crate) fn observations(format: Format, lines: &[String]) -> Vec<Observation> {
    let mut decoder = Decoder::new(format);
    let records = lines.iter().map(|line| decoder.decode(line.as_bytes()).unwrap());
    records
        .flatten()
        .filter_map(|record| match record {
            Record::Flow(observation) => Some(observation),
            Record::Lost(_) | Record::NodeStatus(_) => None,
        })
        .collect()
}

/// A pipe that gives a byte at a time, and is interrupted before each.
pub(crate) struct Trickle {
    bytes: std::vec::IntoIter<u8>,
    is_interrupted: bool,
}

impl Trickle {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into().into_iter(), is_interrupted: false }
    }
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (Some(to), Some(byte)) = (buffer.first_mut(), self.bytes.next()) else { return Ok(0) };
        *to = byte;
        Ok(1)
    }
}
