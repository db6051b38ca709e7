//! A run's pipes: bytes to the child, and what is kept of the bytes from it.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use crate::outcome::Captured;
use crate::spec::Output;

/// As much as a pipe of the usual size holds.
const CHUNK: usize = 64 * 1024;
/// As much as the largest pipe holds that an ordinary user can make.
const LARGEST_PIPE: usize = 1024 * 1024;

/// Bytes on their way to the child's stdin. Closed when all are written, or when the child has closed it.
pub(crate) struct Feed {
    open: Option<(pipe::Sender, Vec<u8>)>,
    written: usize,
    error: Option<io::Error>,
}

impl Feed {
    /// A feed of nothing.
    pub(crate) fn closed() -> Self {
        Self { open: None, written: 0, error: None }
    }

    pub(crate) fn new(stdin: impl Into<OwnedFd>, bytes: Vec<u8>) -> io::Result<Self> {
        let pipe = pipe::Sender::from_owned_fd(stdin.into())?;
        Ok(Self { open: (!bytes.is_empty()).then_some((pipe, bytes)), written: 0, error: None })
    }

    /// Writes some bytes as soon as there is room. Cancel-safe. Never returns when closed.
    pub(crate) async fn turn(&mut self) {
        let Some((pipe, bytes)) = &self.open else { return std::future::pending().await };
        let rest = bytes.get(self.written..).unwrap_or_default();
        let result = match pipe.writable().await {
            Ok(()) => pipe.try_write(rest),
            Err(error) => Err(error),
        };
        match result {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => {
                self.error = Some(error);
                self.open = None;
                return;
            }
        }
        if self.written >= bytes.len() {
            self.open = None;
        }
    }

    /// Why not all bytes were written, if the run is over.
    pub(crate) fn into_error(self) -> Option<io::Error> {
        self.error.or_else(|| {
            let left = self.open.map(|(_, bytes)| bytes.len().saturating_sub(self.written))?;
            Some(io::Error::new(
                io::ErrorKind::BrokenPipe,
                format!("the child ended with {left} bytes unread"),
            ))
        })
    }
}

/// One captured output.
pub(crate) struct Tap {
    pipe: Option<pipe::Receiver>,
    buffer: Vec<u8>,
    kept: Kept,
}

impl Tap {
    /// The tap of an output that is not captured.
    pub(crate) fn closed() -> Self {
        Self { pipe: None, buffer: Vec::new(), kept: Kept::new(Output::Null) }
    }

    pub(crate) fn new(pipe: impl Into<OwnedFd>, output: Output) -> io::Result<Self> {
        let pipe = Some(pipe::Receiver::from_owned_fd(pipe.into())?);
        Ok(Self { pipe, buffer: vec![0; CHUNK], kept: Kept::new(output) })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Takes what there is as soon as there is something; says whether there was. Cancel-safe. Never returns when closed.
    pub(crate) async fn turn(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return std::future::pending().await };
        let ready = pipe.readable().await;
        match ready.and_then(|()| pipe.try_read(&mut self.buffer)) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.kept.take(self.buffer.get(..count).unwrap_or_default());
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::warn!(%error, "an output of the run cannot be read any further");
                self.pipe = None;
            }
        }
        false
    }

    /// Gives what was read and not given yet. For a streamed output.
    pub(crate) fn give(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept.bytes)
    }

    /// Takes what there is, if there is something, whether or not the runtime knows of it by now. False: nothing, or closed.
    pub(crate) fn peek(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        match rustix::io::read(pipe, &mut *self.buffer) {
            Ok(count @ 1..) => {
                self.kept.take(self.buffer.get(..count).unwrap_or_default());
                true
            }
            // The end of the pipe, and errors, are for the turn that waits for them.
            _ => false,
        }
    }

    /// Takes what is in the pipe without waiting, and closes it: somebody else may hold its other end for ever.
    pub(crate) fn finish(mut self) -> Captured {
        if let Some(pipe) = self.pipe.take().and_then(|pipe| pipe.into_nonblocking_fd().ok()) {
            let mut taken = 0;
            while taken < LARGEST_PIPE {
                let Ok(count @ 1..) = rustix::io::read(&pipe, &mut *self.buffer) else { break };
                self.kept.take(self.buffer.get(..count).unwrap_or_default());
                taken += count;
            }
        }
        self.kept.finish()
    }
}

/// The part of an output that is kept.
struct Kept {
    output: Output,
    bytes: Vec<u8>,
    dropped: u64,
}

impl Kept {
    fn new(output: Output) -> Self {
        Self { output, bytes: Vec::new(), dropped: 0 }
    }

    fn take(&mut self, new: &[u8]) {
        match self.output {
            Output::Head(limit) => {
                let room = limit.saturating_sub(self.bytes.len()).min(new.len());
                let (kept, rest) = new.split_at(room);
                self.bytes.extend_from_slice(kept);
                self.dropped += rest.len() as u64;
            }
            Output::Tail(limit) => {
                self.bytes.extend_from_slice(new);
                // Cut only when there is twice as much, so that each byte is moved once.
                if self.bytes.len() > limit.saturating_mul(2).max(CHUNK) {
                    self.cut(limit);
                }
            }
            Output::Stream => self.bytes.extend_from_slice(new),
            Output::Inherit | Output::Null => self.dropped += new.len() as u64,
        }
    }

    fn cut(&mut self, limit: usize) {
        let excess = self.bytes.len().saturating_sub(limit);
        self.bytes.drain(..excess);
        self.dropped += excess as u64;
    }

    fn finish(mut self) -> Captured {
        if let Output::Tail(limit) = self.output {
            self.cut(limit);
        }
        Captured { bytes: self.bytes, dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Kept, Output};

    proptest! {
        #[test]
        fn what_is_kept_is_the_head_or_the_tail(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50_000), 0..6),
            limit in 0..60_000usize,
        ) {
            let all: Vec<u8> = chunks.concat();
            let limit_or_all = limit.min(all.len());
            let dropped = (all.len() - limit_or_all) as u64;
            for (output, expected) in [
                (Output::Head(limit), &all[..limit_or_all]),
                (Output::Tail(limit), &all[all.len() - limit_or_all..]),
            ] {
                let mut kept = Kept::new(output);
                for chunk in &chunks {
                    kept.take(chunk);
                }
                let captured = kept.finish();
                prop_assert!(captured.bytes == expected, "{:?}", output);
                prop_assert_eq!(captured.dropped, dropped);
            }
        }
    }
}
