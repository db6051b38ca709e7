//! Files that hold commands, when a tool writes or edits them: judged by the text that they would have.

use std::path::{Path, PathBuf};

use amplihack_policy::{CommandFileOccasion, Event, command_files};
use amplihack_sys::fs::read_regular;
use amplihack_verdict::Verdict;

use crate::dialect::HookCall;

/// Bytes of a file that is edited.
const LARGEST: u64 = 1 << 20;

/// Judges the commands that the files of a call would hold. No file is read that holds none.
pub(super) fn judge_written_files(
    call: &HookCall,
    cwd: &Path,
    judged: &dyn Fn(&Event<'_>) -> Verdict,
) -> Verdict {
    let mut verdict = Verdict::no_objection();
    for path in call.paths.iter().filter_map(|path| holds_commands(&cwd.join(path))) {
        let before = read_regular(&path, LARGEST).unwrap_or_default();
        for text in call.changes.possible_texts(&String::from_utf8_lossy(&before)) {
            let event =
                Event::CommandFile { path: &path, text: &text, cwd, occasion: CommandFileOccasion::Written };
            verdict = verdict.join_strictest(judged(&event));
        }
    }
    verdict
}

/// The file, by the name under which it holds commands: a link may lead to it.
fn holds_commands(path: &Path) -> Option<PathBuf> {
    if command_files::classify_file(path).is_some() {
        return Some(path.to_owned());
    }
    let real = std::fs::canonicalize(path).ok();
    let real = real.or_else(|| Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?)))?;
    command_files::classify_file(&real).map(|_| real)
}
