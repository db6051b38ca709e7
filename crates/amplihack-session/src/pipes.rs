//! A run's pipes: bytes to the child, and what is kept of the bytes from it.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use tokio::net::unix::pipe;

use crate::output::CapturedOutput;
use crate::spec::ChildOutput;

/// As much as a pipe of the usual size holds.
const CHUNK: usize = 64 * 1024;
/// As much as the pipe of an output holds that fills one of the usual size. Not more: the kernel counts a user's pipes by their size.
const WIDE: usize = 512 * 1024;
/// As much as the largest pipe holds that an ordinary user can make.
const LARGEST_PIPE: usize = 1024 * 1024;

/// Bytes on their way to the child's stdin. Closed when all are written, or when the child has closed it.
pub(crate) struct StdinFeed {
    open: Option<(pipe::Sender, Vec<u8>)>,
    written: usize,
    /// More may come: the pipe stays open when all is written.
    more: bool,
    /// Bytes that were never read, once that is known.
    unread: u64,
    /// The other end of a pipe that holds all bytes by now. It keeps the pipe, so that what the child leaves in it can be counted.
    held: Option<OwnedFd>,
}

impl StdinFeed {
    /// A feed of nothing.
    pub(crate) fn new_closed() -> Self {
        Self { open: None, written: 0, more: false, unread: 0, held: None }
    }

    /// A feed of `bytes`; with `more` also of those that are added until it is closed.
    pub(crate) fn new(stdin: impl Into<OwnedFd>, mut bytes: Vec<u8>, more: bool) -> io::Result<Self> {
        if amplihack_sys::sabotage::is_active("delivery-stdin-complete") {
            bytes.truncate(CHUNK);
        }
        let pipe = pipe::Sender::from_owned_fd(stdin.into())?;
        let open = (more || !bytes.is_empty()).then_some((pipe, bytes));
        Ok(Self { open, more, ..Self::new_closed() })
    }

    /// Adds bytes behind those that wait. A child that has closed its stdin leaves them unread.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        match &mut self.open {
            Some((_, waiting)) => waiting.extend_from_slice(bytes),
            None => self.unread += bytes.len() as u64,
        }
    }

    /// Closes the feed once all is written.
    pub(crate) fn close_when_written(&mut self) {
        self.more = false;
        self.finish_written();
    }

    /// Reports whether nothing waits to be written.
    pub(crate) fn is_written(&self) -> bool {
        self.open.as_ref().is_none_or(|(_, bytes)| self.written >= bytes.len())
    }

    /// Reports whether the child may still be given bytes.
    pub(crate) fn is_open(&self) -> bool {
        self.more && self.open.is_some()
    }

    /// Makes room for more when all is written, or closes the pipe.
    fn finish_written(&mut self) {
        let Some((pipe, bytes)) = &mut self.open else { return };
        if self.written < bytes.len() {
            return;
        }
        if self.more {
            bytes.clear();
            self.written = 0;
            return;
        }
        self.held = reader_of(pipe);
        if amplihack_sys::sabotage::is_active("delivery-stdin-closed") {
            std::mem::forget(self.open.take());
        }
        self.open = None;
    }

    /// Writes some bytes as soon as there is room. Cancel-safe. Never returns when closed.
    pub(crate) async fn write_some(&mut self) {
        let Some((pipe, bytes)) = &self.open else { return std::future::pending().await };
        let rest = bytes.get(self.written..).unwrap_or_default();
        if rest.is_empty() {
            return std::future::pending().await;
        }
        let result = match pipe.writable().await {
            Ok(()) => pipe.try_write(rest),
            Err(error) => Err(error),
        };
        match result {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) => {
                tracing::debug!(%error, "the child closed its stdin");
                self.unread = left_bytes(pipe, rest);
                self.open = None;
                return;
            }
        }
        self.finish_written();
    }

    /// Bytes that nobody read, of a run that has ended.
    pub(crate) fn unread_bytes(self) -> Option<u64> {
        let waiting =
            self.open.map(|(pipe, bytes)| left_bytes(&pipe, bytes.get(self.written..).unwrap_or_default()));
        let held = self.held.map_or(0, |held| in_pipe(&held));
        Some(self.unread + waiting.unwrap_or_default() + held).filter(|unread| *unread > 0)
    }
}

/// Bytes in `pipe`, and those that were not written to it.
fn left_bytes(pipe: &pipe::Sender, rest: &[u8]) -> u64 {
    in_pipe(pipe) + rest.len() as u64
}

/// Bytes in a pipe, seen from either end.
fn in_pipe(end: impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(end).unwrap_or_default()
}

/// A reading end of the pipe that `pipe` writes to. The child sees the end of its input all the same, as that depends on writers.
fn reader_of(pipe: &pipe::Sender) -> Option<OwnedFd> {
    let path = format!("/proc/self/fd/{}", pipe.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // Without /proc a short prompt that nobody reads cannot be told from one that was read.
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// Tap of a single captured output.
pub(crate) struct OutputTap {
    pipe: Option<Arc<pipe::Receiver>>,
    /// Buffer for bytes that are not kept as they come.
    buffer: Vec<u8>,
    kept: KeptOutput,
    /// True if the kept bytes were given away, and make room for the next read.
    given: bool,
    /// As much as is read at once.
    room: usize,
}

impl OutputTap {
    /// The tap of an output that is not captured.
    pub(crate) fn new_closed() -> Self {
        Self {
            pipe: None,
            buffer: Vec::new(),
            kept: KeptOutput::new(ChildOutput::Null),
            given: false,
            room: CHUNK,
        }
    }

    pub(crate) fn new(pipe: impl Into<OwnedFd>, output: ChildOutput) -> io::Result<Self> {
        let pipe = Some(Arc::new(pipe::Receiver::from_owned_fd(pipe.into())?));
        Ok(Self { pipe, kept: KeptOutput::new(output), ..Self::new_closed() })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// The pipe, for whoever looks whether something waits in it.
    pub(crate) fn watch_pipe(&self) -> Weak<pipe::Receiver> {
        self.pipe.as_ref().map_or_else(Weak::new, Arc::downgrade)
    }

    /// Takes what there is as soon as there is something; says whether there was. Cancel-safe. Never returns when closed.
    pub(crate) async fn read_some(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return std::future::pending().await };
        let ready = pipe.readable().await;
        match ready.and_then(|()| self.read(pipe::Receiver::try_read_buf)) {
            Ok(0) => self.pipe = None,
            Ok(_) => return true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::warn!(%error, "an output of the run cannot be read any further");
                self.pipe = None;
            }
        }
        false
    }

    /// Reads once, from an open pipe.
    fn read(
        &mut self,
        read: impl FnOnce(&pipe::Receiver, &mut Vec<u8>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        if std::mem::take(&mut self.given) {
            self.kept.bytes.clear();
        }
        let streams = self.kept.output == ChildOutput::Stream;
        let to = if streams { &mut self.kept.bytes } else { &mut self.buffer };
        to.reserve(self.room);
        let count = read(pipe, to)?;
        if !streams {
            self.kept.keep_bytes(&self.buffer);
            self.buffer.clear();
        } else if count >= self.room && self.room < WIDE {
            // Who writes faster than this process reads waits for it less often, and wakes it less often.
            self.room = rustix::pipe::fcntl_setpipe_size(pipe, WIDE).map_or(self.room, |_| WIDE);
        }
        Ok(count)
    }

    /// Reports whether there are bytes that were not given yet. For a streamed output.
    pub(crate) fn has_bytes(&self) -> bool {
        !self.given && !self.kept.bytes.is_empty()
    }

    /// Gives what was read and not given yet; it is gone with the next read. For a streamed output.
    pub(crate) fn give_bytes(&mut self) -> &[u8] {
        self.given = true;
        &self.kept.bytes
    }

    /// Takes what there is, if there is something, whether or not the runtime knows of it by now. False: nothing, or closed.
    pub(crate) fn read_ready(&mut self) -> bool {
        // The end of the pipe, and errors, are for the turn that waits for them.
        matches!(self.read(|pipe, to| Ok(rustix::io::read(pipe, spare_capacity(to))?)), Ok(1..))
    }

    /// Takes what is in the pipe without waiting, and closes it: somebody else may hold its other end for ever.
    pub(crate) fn take_rest(mut self) -> CapturedOutput {
        let mut taken = 0;
        while taken < LARGEST_PIPE {
            let Ok(count @ 1..) = self.read(|pipe, to| Ok(rustix::io::read(pipe, spare_capacity(to))?))
            else {
                break;
            };
            taken += count;
        }
        if self.given {
            self.kept.bytes.clear();
        }
        self.kept.into_captured()
    }
}

/// The part of an output that is kept.
struct KeptOutput {
    output: ChildOutput,
    bytes: Vec<u8>,
    dropped: u64,
}

impl KeptOutput {
    fn new(output: ChildOutput) -> Self {
        Self { output, bytes: Vec::new(), dropped: 0 }
    }

    fn keep_bytes(&mut self, new: &[u8]) {
        match self.output {
            ChildOutput::Head(limit) => {
                let room = limit.saturating_sub(self.bytes.len()).min(new.len());
                let (kept, rest) = new.split_at(room);
                self.bytes.extend_from_slice(kept);
                self.dropped += rest.len() as u64;
            }
            ChildOutput::Tail(limit) | ChildOutput::Forward(limit) => {
                if matches!(self.output, ChildOutput::Forward(_)) {
                    // A closed stderr must not end the run.
                    let _ = io::stderr().lock().write_all(new);
                }
                self.bytes.extend_from_slice(new);
                // Cut only when there is twice as much, so that each byte is moved once.
                if self.bytes.len() > limit.saturating_mul(2).max(CHUNK) {
                    self.cut_to(limit);
                }
            }
            ChildOutput::Stream => self.bytes.extend_from_slice(new),
            ChildOutput::Inherit | ChildOutput::Null => self.dropped += new.len() as u64,
        }
    }

    fn cut_to(&mut self, limit: usize) {
        let excess = self.bytes.len().saturating_sub(limit);
        self.bytes.drain(..excess);
        self.dropped += excess as u64;
    }

    fn into_captured(mut self) -> CapturedOutput {
        if let ChildOutput::Tail(limit) | ChildOutput::Forward(limit) = self.output {
            self.cut_to(limit);
        }
        CapturedOutput { bytes: self.bytes, dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CHUNK, ChildOutput, KeptOutput, OutputTap, WIDE};

    #[tokio::test]
    async fn a_stream_gives_each_byte_once_and_widens_the_pipe_of_a_fast_writer() {
        use std::io::Write as _;

        let sent: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).take(5 * WIDE + 7).collect();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut tap = OutputTap::new(reader, ChildOutput::Stream).unwrap();
        let size = |tap: &OutputTap| rustix::pipe::fcntl_getpipe_size(tap.pipe.as_ref().unwrap()).unwrap();
        let bytes = sent.clone();
        let thread = std::thread::spawn(move || {
            writer.write_all(&bytes).unwrap();
            writer
        });
        let mut given = Vec::new();
        while given.len() < sent.len() {
            // Until the pipe is full, so that the first read shows it.
            while given.is_empty()
                && rustix::io::ioctl_fionread(tap.pipe.as_ref().unwrap()).unwrap() < CHUNK as u64
            {
                std::thread::yield_now();
            }
            tap.read_some().await;
            if tap.has_bytes() {
                given.extend_from_slice(tap.give_bytes());
            }
        }
        assert!(given == sent && !tap.has_bytes());
        assert_eq!(size(&tap), WIDE);
        let mut writer = thread.join().unwrap();
        writer.write_all(b"the end").unwrap();
        assert_eq!(tap.take_rest().bytes, b"the end");
    }

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
                (ChildOutput::Head(limit), &all[..limit_or_all]),
                (ChildOutput::Tail(limit), &all[all.len() - limit_or_all..]),
            ] {
                let mut kept = KeptOutput::new(output);
                for chunk in &chunks {
                    kept.keep_bytes(chunk);
                }
                let captured = kept.into_captured();
                prop_assert!(captured.bytes == expected, "{:?}", output);
                prop_assert_eq!(captured.dropped, dropped);
            }
        }
    }
}
