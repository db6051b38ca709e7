//! The guard as hosts start it, in every state of the page cache: what a program costs depends on how its file came into memory.

use std::fs;
use std::path::{Path, PathBuf};

use super::measure::{Entry, Job};
use super::session::Session;
use super::stage::Stage;
use crate::{Failure, dist, shell};

/// A state of the hook binary's file, with the words of its rows.
struct State {
    name: &'static str,
    words: &'static str,
    prepare: fn(&Path, &Path) -> Result<(), Failure>,
}

/// The kernel maps sixteen pages at a fault: one step where a file lies in memory in large pieces, sixteen where in single pages. `/bin/true`
/// is in the last state, unless it was just installed.
const STATES: &[State] = &[
    State { name: "copied", words: "a copy just made", prepare: dist::place },
    State { name: "unpacked", words: "as `tar` unpacks it", prepare: unpack },
    State { name: "evicted", words: "read again, as after a reboot", prepare: evict },
];

/// What is judged, the name of its payload, and the goal of the whole process.
const CALLS: &[(&str, &str, &str)] = &[
    ("`ls -la`", "listing", "≤ 0.85 ×"),
    ("`cargo test` into `tail`", "plain", "≤ 1.3 ×"),
    ("`X=$(git rev-parse HEAD); …`, read by all parsers", "substitution", "≤ 1.2 ×"),
];

/// `page` with `table`'s rows of the guard in place of its own.
pub(crate) fn replace_rows(page: &str, table: &str) -> String {
    let is_ours = |line: &&str| line.starts_with("| guard, ") || line.starts_with(REGISTERED);
    let mut text = String::new();
    for line in page.lines().filter(|line| !is_ours(line)) {
        text.extend([line, "\n"]);
        if line.starts_with("| the floor: ") {
            table.lines().filter(is_ours).for_each(|row| text.extend([row, "\n"]));
        }
    }
    text
}

/// The beginning of the last row.
const REGISTERED: &str = "| the command that a launch registers";

/// Every state with every call, and the command that a launch registers, as the host runs it.
pub(crate) fn entries(stage: &Stage, session: &Session, runs: usize) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let against = |payload| Job::new("/bin/true", &[]).reading(stage.payload(payload));
    for State { name, words, prepare } in STATES {
        let guard = guard_in(stage, name)?;
        prepare(stage.guard(), &guard)?;
        for &(call, payload, goal) in CALLS {
            entries.push(Entry::to_end(
                &format!("guard, {words}: {call} against `/bin/true`"),
                goal,
                Job::new(&guard, &["pre-tool-use", "--host", "claude", "--policy", "standard"])
                    .reading(stage.payload(payload)),
                against(payload),
                runs,
            ));
        }
    }
    entries.push(Entry::to_end(
        "the command that a launch registers, run by `sh` as the host does: `ls -la` against `/bin/true`",
        "≤ 2.0 ×",
        Job::new("/bin/sh", &["-c", session.command()]).reading(stage.payload("listing")),
        against("listing"),
        runs,
    ));
    entries.push(Entry::to_end(
        "the command that a launch registers, what of it is the shell: `sh -c :` against `/bin/true`",
        "",
        Job::new("/bin/sh", &["-c", ":"]),
        Job::new("/bin/true", &[]),
        runs,
    ));
    Ok(entries)
}

/// Where the hook binary of a state lies.
fn guard_in(stage: &Stage, subdirectory: &str) -> Result<PathBuf, Failure> {
    let directory = stage.file(subdirectory);
    fs::create_dir_all(&directory)
        .map_err(|error| format!("failed to make {}: {error}", directory.display()))?;
    let name = stage.guard().file_name().unwrap_or_default();
    Ok(directory.join(name))
}

/// Packs `from`, and unpacks it as `to`, of the same name.
fn unpack(from: &Path, to: &Path) -> Result<(), Failure> {
    let (Some(origin), Some(place), Some(name)) = (from.parent(), to.parent(), from.file_name()) else {
        return Err(format!("{} is no file's path", from.display()));
    };
    let archive = place.join("archive.tar");
    let tar = |action: &str, directory: &Path| {
        let mut tar = shell::program("tar");
        tar.arg(action).arg("--file").arg(&archive).arg("--directory").arg(directory);
        tar
    };
    shell::run(tar("--create", origin).arg(name))?;
    shell::run(&mut tar("--extract", place))
}

/// Copies `from`, and has the kernel forget what it knows of the copy: the next reader has to bring it from the disk.
fn evict(from: &Path, to: &Path) -> Result<(), Failure> {
    dist::place(from, to)?;
    evict_file(to)
}

/// Has the kernel forget the contents of a file, once they are on the disk.
pub(crate) fn evict_file(path: &Path) -> Result<(), Failure> {
    let mut dd = shell::program("dd");
    dd.arg(format!("of={}", path.display()));
    shell::run(dd.args(["count=0", "conv=notrunc,fdatasync", "oflag=nocache", "status=none"]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn rows_of_the_guard_are_replaced_where_they_stand() {
        let page = "# B\n\n| the floor: x |\n| guard: old |\n| guard, old: x |\n| start |\n";
        let table = "| guard, new: x | 1 |\n| the command that a launch registers | 2 |\n";
        let expected = "# B\n\n| the floor: x |\n| guard, new: x | 1 |\n| the command that a launch registers | 2 |\n| guard: old |\n| start |\n";
        let once = super::replace_rows(page, table);
        assert_eq!(once, expected);
        assert_eq!(super::replace_rows(&once, table), expected);
    }
}
