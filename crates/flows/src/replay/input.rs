//! Opens recordings: files, standard input or any reader, compressed or not.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// How many bytes tell what packed a file.
const MAGIC: usize = 4;

/// How much is read before that is looked at.
const BEGINNING: usize = 64 << 10;

/// Where flows are read from.
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Anything else that can be read.
    Reader {
        /// What messages call it.
        name: String,
        /// What is read.
        reader: Box<dyn Read + Send>,
    },
}

/// Counts the bytes that are read through it.
struct Counted<R> {
    reader: R,
    count: Arc<AtomicU64>,
}

// === impl Input ===

impl Input {
    /// What a command line means by `path`: standard input by `-`, else a file.
    pub fn from_argument(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path == Path::new("-") { Self::Stdin } else { Self::File(path) }
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
            Self::Reader { name, .. } => name.clone(),
        }
    }

    /// How many bytes there are to read, as far as that is known before.
    pub(super) fn size(&self) -> io::Result<Option<u64>> {
        let Self::File(path) = self else { return Ok(None) };
        let metadata = path.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(metadata.is_file().then_some(metadata.len()))
    }

    /// Opens it; bytes are counted as they stand in the file, and unpacked then.
    pub(super) fn open(self, count: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
        let reader: Box<dyn Read + Send> = match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Stdin => Box::new(io::stdin()),
            Self::Reader { reader, .. } => reader,
        };
        unpacked(Counted { reader, count: Arc::clone(count) })
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Input").field(&self.name()).finish()
    }
}

// === impl Counted ===

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.count.fetch_add(u64::try_from(length).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(length)
    }
}

/// Unpacks what begins like gzip or zstd, whatever its name.
fn unpacked(mut reader: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let beginning = beginning(&mut reader)?;
    let is_gzip = beginning.starts_with(&[0x1f, 0x8b]);
    let is_zstd =
        matches!(beginning[..], [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    let whole = Cursor::new(beginning).chain(reader);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    })
}

/// What can be read at once, but enough to tell by.
fn beginning(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; BEGINNING];
    let mut length = 0;
    while length < MAGIC {
        match reader.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(length);
    Ok(buffer)
}
