//! Standard streams of a child, and the ends of its pipes that stay here.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};

/// Destination, or source, of one of a child's standard streams.
#[derive(Debug)]
pub(crate) enum ChildStream {
    /// The stream of this process.
    Inherit,
    /// `/dev/null`.
    Null,
    File(File),
    /// A pipe whose other end stays here.
    Pipe,
}

/// A child's ends of the pipes that it was given.
pub(crate) type ChildPipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// The ends that a child gets; `None`: this process's own streams.
pub(crate) type ChildEnds = [Option<OwnedFd>; 3];

impl ChildStream {
    pub(crate) fn into_stdio(self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::File(file) => Stdio::from(file),
            Self::Pipe => Stdio::piped(),
        }
    }

    /// Opens the stream: the child's end, and ours. `is_input`: the child reads from it.
    fn open_ends(self, is_input: bool) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
        match self {
            Self::Inherit => Ok((None, None)),
            Self::Null => {
                let null = File::options().read(is_input).write(!is_input).open("/dev/null")?;
                Ok((Some(above_standard(null.into())?), None))
            }
            Self::File(file) => Ok((Some(above_standard(file.into())?), None)),
            Self::Pipe => {
                let (read, write) = io::pipe()?;
                let (theirs, ours): (OwnedFd, OwnedFd) =
                    if is_input { (read.into(), write.into()) } else { (write.into(), read.into()) };
                Ok((Some(above_standard(theirs)?), Some(ours)))
            }
        }
    }
}

/// Opens a child's three streams.
pub(crate) fn open_streams(streams: [ChildStream; 3]) -> io::Result<(ChildEnds, ChildPipes)> {
    let [stdin, stdout, stderr] = streams;
    let (stdin, feed) = stdin.open_ends(true)?;
    let (stdout, output) = stdout.open_ends(false)?;
    let (stderr, errors) = stderr.open_ends(false)?;
    let pipes = (feed.map(ChildStdin::from), output.map(ChildStdout::from), errors.map(ChildStderr::from));
    Ok(([stdin, stdout, stderr], pipes))
}

/// `end` with a number above those of the standard streams, which the child's own take.
fn above_standard(end: OwnedFd) -> io::Result<OwnedFd> {
    match end.as_raw_fd() {
        0..=2 => end.try_clone(),
        _ => Ok(end),
    }
}
