//! The archive with what git does not carry. The same content makes the same bytes: sorted, without times and owners.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::changes::{ExtraFiles, PackageFileKind, PackageRoot};
use super::digest::PackageArtifact;
use super::scan::PackageSecrets;

/// The member that lists, each ended by a NUL, what is to be removed from the work tree before the rest is unpacked. Git has no file of such a name.
pub(super) const REMOVED: &str = ".git/amplihack-removed";

/// Files up to this are read once, looked at and packed; larger ones are read twice.
const IN_MEMORY: u64 = 32 * 1024 * 1024;
/// Length of a name field in a tar header.
const FIELD: usize = 100;

/// The reason that there is no archive.
pub(super) enum PackageArchiveError {
    /// The archive would be longer than it may be.
    TooLong,
    /// A file that could not be read, or the archive that could not be written, with the error.
    Io(PathBuf, io::Error),
}

/// Writes the archive into `directory`, and looks at each file for secrets on the way. `None`: there is nothing to pack.
pub(super) fn write_archive(
    extra: &ExtraFiles,
    top: &Path,
    directory: &Path,
    most: u64,
    mut findings: Option<&mut PackageSecrets<'_>>,
) -> Result<Option<PackageArtifact>, PackageArchiveError> {
    if extra.files.is_empty() && extra.deleted.is_empty() {
        return Ok(None);
    }
    let here = |error: io::Error| archive_error(directory)(error);
    let root = PackageRoot::open(top).map_err(archive_error(top))?;
    let new =
        tempfile::Builder::new().prefix(".new-").suffix(".tar.gz").tempfile_in(directory).map_err(here)?;
    let capped = CappedArchiveFile { file: new.as_file(), left: most };
    let gzip =
        GzBuilder::new().mtime(0).operating_system(255).write(BufWriter::new(capped), Compression::default());
    let mut tar = Builder::new(gzip);
    if !extra.deleted.is_empty() {
        let list: Vec<u8> = extra
            .deleted
            .iter()
            .flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0]))
            .collect();
        let member =
            ArchiveMember { path: REMOVED.as_bytes(), link: b"", kind: EntryType::Regular, mode: 0o600 };
        member.append_to(&mut tar, list.len() as u64, &list[..]).map_err(here)?;
    }
    for (path, kind) in &extra.files {
        append_file(&mut tar, &root, path, kind, findings.as_deref_mut()).map_err(archive_error(path))?;
    }
    let finish = || tar.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error);
    finish().map_err(here)?;
    let made = PackageArtifact::from_file(new.path()).map_err(here)?;
    let path = directory.join(format!("{}.tar.gz", made.sha256));
    new.persist(&path).map_err(|error| here(error.error))?;
    Ok(Some(PackageArtifact { path, ..made }))
}

fn archive_error(path: &Path) -> impl FnOnce(io::Error) -> PackageArchiveError {
    move |error| match error.kind() {
        io::ErrorKind::QuotaExceeded
            if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<TooLong>) =>
        {
            PackageArchiveError::TooLong
        }
        _ => PackageArchiveError::Io(path.to_owned(), error),
    }
}

fn append_file<W: Write>(
    tar: &mut Builder<W>,
    root: &PackageRoot,
    path: &Path,
    kind: &PackageFileKind,
    findings: Option<&mut PackageSecrets<'_>>,
) -> io::Result<()> {
    let name = path.as_os_str().as_bytes();
    match kind {
        PackageFileKind::Link(target) => {
            let member =
                ArchiveMember { path: name, link: target.as_bytes(), kind: EntryType::Symlink, mode: 0o777 };
            if let Some(findings) = findings {
                findings.scan_file(path, target.as_bytes(), None);
            }
            member.append_to(tar, 0, io::empty())
        }
        PackageFileKind::File(mode) => {
            let member = ArchiveMember { path: name, link: b"", kind: EntryType::Regular, mode: *mode };
            let mut file = root.read(path)?;
            let size = file.metadata()?.len();
            if size <= IN_MEMORY {
                let mut bytes = Vec::new();
                file.take(IN_MEMORY + 1).read_to_end(&mut bytes)?;
                if let Some(findings) = findings {
                    findings.scan_file(path, &bytes, None);
                }
                return member.append_to(tar, bytes.len() as u64, &bytes[..]);
            }
            if let Some(findings) = findings {
                findings.scan_large_file(path, &file, None)?;
                file = root.read(path)?;
            }
            member.append_to(tar, size, file)
        }
        PackageFileKind::Directory | PackageFileKind::Special => Ok(()),
    }
}

struct ArchiveMember<'a> {
    path: &'a [u8],
    link: &'a [u8],
    kind: EntryType,
    mode: u32,
}

impl ArchiveMember<'_> {
    /// Names go in as they are: none is made shorter, or other, than it is on the disk.
    fn append_to<W: Write>(&self, tar: &mut Builder<W>, size: u64, content: impl Read) -> io::Result<()> {
        let mut header = file_header(self.kind, self.mode, size);
        for (kind, name) in [(EntryType::GNULongName, self.path), (EntryType::GNULongLink, self.link)] {
            if name.len() >= FIELD {
                let mut long = long_name_header(kind, name.len() as u64 + 1);
                long.set_cksum();
                tar.append(&long, name.chain(&[0][..]))?;
            }
        }
        let old = header.as_old_mut();
        let fits = |name: &[u8]| name.len().min(FIELD - 1);
        old.name[..fits(self.path)].copy_from_slice(&self.path[..fits(self.path)]);
        old.linkname[..fits(self.link)].copy_from_slice(&self.link[..fits(self.link)]);
        header.set_cksum();
        let mut content = MemberReader { content: content.take(size), left: size };
        tar.append(&header, &mut content)?;
        if content.left == 0 {
            Ok(())
        } else {
            Err(io::Error::other("it changed while it was read; try again"))
        }
    }
}

fn file_header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn long_name_header(kind: EntryType, size: u64) -> Header {
    let mut header = file_header(kind, 0o644, size);
    let name = b"././@LongLink";
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header
}

/// Knows how much of a file is still to come.
struct MemberReader<R> {
    content: R,
    left: u64,
}

impl<R: Read> Read for MemberReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

/// A file that takes so many bytes.
struct CappedArchiveFile<'a> {
    file: &'a File,
    left: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("the archive is too large")]
struct TooLong;

impl Write for CappedArchiveFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.left = self
            .left
            .checked_sub(written as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::QuotaExceeded, TooLong))?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
