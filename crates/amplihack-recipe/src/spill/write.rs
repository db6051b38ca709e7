//! Values into arguments and files.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

use super::{DIRECTORY_MODE, FILE_MODE, INLINE_LIMIT, PREFIX, SCHEME, SpillError};

/// The longest name that is made of a key; what is added to make it the only one fits into a name of 255 bytes.
const NAME: usize = 200;

/// A context on its way to the runner. Dropping it removes its files.
#[derive(Debug)]
pub struct SpilledContext {
    pairs: Vec<(String, String)>,
    directory: Option<TempDir>,
}

impl SpilledContext {
    /// Each key with its value or, where that was too large, its file's URI.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Path to the directory of the files, if there are any.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(TempDir::path)
    }
}

/// Writes the large values of `context` below `temporary`, an absolute directory.
///
/// `room` is how many bytes keys and values may have in arguments; where they would have more, the largest go into files
/// too, whatever their size. A value that [`read_back`](super::read_back) would take for a file goes into one as well, so that it comes back as it
/// is. No two keys share a file.
pub fn spill_context(
    context: &[(String, String)],
    temporary: &Path,
    room: usize,
) -> Result<SpilledContext, SpillError> {
    for (key, _) in context {
        check_key(key)?;
    }
    let large = choose_spilled_values(context, temporary, room);
    let mut spill = SpilledContext { pairs: Vec::with_capacity(context.len()), directory: None };
    let mut used = BTreeSet::new();
    for (index, (key, value)) in context.iter().enumerate() {
        if !large.contains(&index) {
            if value.contains('\0') {
                return Err(SpillError::NulInValue { key: key.clone() });
            }
            spill.pairs.push((key.clone(), value.clone()));
            continue;
        }
        let mut name = file_name(key);
        if name.starts_with('.') || name.is_empty() || !used.insert(name.clone()) {
            // No name that is made of a key has this character.
            name = format!("{name}~{index}");
        }
        let uri = write_spill_file(&mut spill.directory, temporary, &name, value).map_err(|source| {
            SpillError::Write { key: key.clone(), directory: temporary.to_owned(), source }
        })?;
        spill.pairs.push((key.clone(), uri));
    }
    Ok(spill)
}

fn check_key(key: &str) -> Result<(), SpillError> {
    let why = if key.is_empty() {
        "is empty; give it a name"
    } else if key.contains('=') {
        "holds a =, at which the runner would split it; rename it"
    } else if key.contains('\0') {
        "holds a NUL byte; rename it"
    } else {
        return Ok(());
    };
    Err(SpillError::BadKey { key: key.to_owned(), why })
}

/// Returns the indexes of the values that go into files.
fn choose_spilled_values(context: &[(String, String)], temporary: &Path, room: usize) -> BTreeSet<usize> {
    let like_a_file = format!("{SCHEME}{}", temporary.join(PREFIX).display());
    let (mut large, mut small) = (BTreeSet::new(), Vec::new());
    for (index, (_, value)) in context.iter().enumerate() {
        if is_large(value) || value.starts_with(&like_a_file) {
            large.insert(index);
        } else {
            small.push(index);
        }
    }
    let size = |index: &usize| context.get(*index).map_or(0, |(key, value)| key.len() + value.len());
    let uri = like_a_file.len() + NAME;
    small.sort_by_key(size);
    let mut needed: usize = small.iter().map(size).sum::<usize>() + large.len() * uri;
    while needed > room
        && let Some(largest) = small.pop()
        && size(&largest) > uri
    {
        needed = needed - size(&largest) + uri;
        large.insert(largest);
    }
    large
}

/// Reports whether a value's own size sends it into a file.
fn is_large(value: &str) -> bool {
    let limit = match () {
        () if amplihack_sys::sabotage::is_active("copilot-spill-inline") => INLINE_LIMIT - 1,
        () if amplihack_sys::sabotage::is_active("copilot-spill-large") => INLINE_LIMIT + 1,
        () => INLINE_LIMIT,
    };
    let size = if amplihack_sys::sabotage::is_active("copilot-spill-bytes") {
        value.chars().count()
    } else {
        value.len()
    };
    size >= limit
}

/// A key as the name of a file.
fn file_name(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    key.chars().map(plain).take(NAME).collect()
}

fn write_spill_file(
    directory: &mut Option<TempDir>,
    temporary: &Path,
    name: &str,
    value: &str,
) -> io::Result<String> {
    let directory = match directory {
        Some(directory) => directory,
        None => directory.insert(
            tempfile::Builder::new()
                .rand_bytes(if amplihack_sys::sabotage::is_active("copilot-spill-name") { 0 } else { 6 })
                .prefix(&format!("{PREFIX}{}-", std::process::id()))
                .permissions(std::fs::Permissions::from_mode(
                    if amplihack_sys::sabotage::is_active("copilot-spill-private") {
                        0o755
                    } else {
                        DIRECTORY_MODE
                    },
                ))
                .tempdir_in(temporary)?,
        ),
    };
    let path = directory.path().join(name);
    let text = path.to_str().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "its path is not UTF-8, and arguments for the runner are")
    })?;
    let uri = format!("{SCHEME}{text}");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
    // The umask may have taken bits away.
    file.set_permissions(std::fs::Permissions::from_mode(FILE_MODE))?;
    file.write_all(value.as_bytes())?;
    Ok(uri)
}
