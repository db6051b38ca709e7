//! Skills and slash commands: what of their files a host runs when it loads them, before any tool is called.
//!
//! Claude Code puts the arguments of the call into the file's text, so that they are a part of its commands.

use std::path::{Path, PathBuf};

use amplihack_policy::{CommandFileOccasion, Event};
use amplihack_sys::fs::read_regular;
use amplihack_verdict::{RuleId, Verdict};

use crate::dialect::{HookCall, HookDialect, SkillCall};
use crate::hook_context::HookJudge;

/// The rule of a skill of which nobody can tell what it would run.
const UNREADABLE_SKILL: RuleId = RuleId::new("hook/unreadable-skill");
/// The most bytes of a file that is read.
const MAX_FILE: u64 = 256 * 1024;
/// The most entries of directories that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The most entries of a repository that are looked at for places that are not around the working directory.
const MAX_WALK: usize = 20_000;
/// Number of levels below a place at which files are looked for.
const MAX_DEPTH: usize = 8;
/// Directories of a repository that hold nobody's skills.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// The skill that a prompt of the user names, where the host takes such a prompt for one.
pub(super) fn prompted_skill(call: &HookCall) -> Option<SkillCall> {
    if call.dialect != HookDialect::Claude {
        return None;
    }
    parse_slash_command(call.prompt.as_deref()?)
}

/// The skill that a prompt begins with. A path is none.
fn parse_slash_command(prompt: &str) -> Option<SkillCall> {
    let prompt = prompt.trim_start().strip_prefix('/')?;
    let (name, arguments) = prompt.split_once(char::is_whitespace).unwrap_or((prompt, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
    (!name.is_empty() && name.chars().all(is_name))
        .then(|| SkillCall { name: name.to_owned(), arguments: arguments.trim().to_owned() })
}

/// Judges the commands in the files that `skill` may stand for. A skill that no file is found for is the host's own.
pub(super) fn judge_skill(skill: &SkillCall, cwd: &Path, judge: &dyn HookJudge) -> Verdict {
    let unreadable = |why: &str| {
        let shown: String = skill.name.chars().filter(|c| !c.is_control()).take(100).collect();
        Verdict::new(
            amplihack_verdict::Decision::Ask,
            UNREADABLE_SKILL,
            format!("the skill `{shown}` {why}"),
            Vec::new(),
        )
    };
    let mut search = SkillSearch::new(&skill.name);
    for directory in cwd.ancestors().map(|directory| directory.join(".claude")).chain(judge.user_places()) {
        search.search_place(&directory);
    }
    if search.found.is_empty() {
        search.search_repository(cwd, 0);
    }
    if search.left == 0 {
        return unreadable("is one of too many files to find out what it runs");
    }
    let mut verdict = Verdict::no_objection();
    for path in &search.found {
        let text = match read_regular(path, MAX_FILE) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => return unreadable("has a file that cannot be read"),
        };
        let filled = with_arguments(&text, &skill.arguments);
        // What the call itself puts into the text is as new as the call.
        let occasion = if filled == text { CommandFileOccasion::Run } else { CommandFileOccasion::Written };
        verdict =
            verdict.join_strictest(judge.judge(&Event::CommandFile { path, text: &filled, cwd, occasion }));
    }
    verdict
}

/// `text` with `arguments` in the places that name them.
fn with_arguments(text: &str, arguments: &str) -> String {
    if !text.contains('$') || arguments.is_empty() {
        return text.to_owned();
    }
    let mut filled = text.replace("$ARGUMENTS", arguments);
    for number in 0..10 {
        // Of the words only the host knows which is which: each place may hold all of them.
        filled = filled.replace(&format!("${number}"), arguments);
    }
    filled
}

/// A search for the files of one skill.
struct SkillSearch<'s> {
    name: &'s str,
    found: Vec<PathBuf>,
    /// Entries of places that may still be looked at.
    left: usize,
    /// Entries of a repository outside of its places that may still be looked at: a large one tells nothing of a skill.
    walk: usize,
}

impl<'s> SkillSearch<'s> {
    const fn new(name: &'s str) -> Self {
        Self { name, found: Vec::new(), left: MAX_ENTRIES, walk: MAX_WALK }
    }

    /// Looks in a directory of a host's settings.
    fn search_place(&mut self, directory: &Path) {
        for part in ["skills", "commands", "plugins"] {
            self.search_below(&directory.join(part), 0);
        }
    }

    fn search_below(&mut self, directory: &Path, depth: usize) {
        for (path, is_directory) in list_entries(directory, &mut self.left) {
            if is_directory && depth < MAX_DEPTH {
                self.search_below(&path, depth + 1);
            } else if !is_directory && self.is_skill_file(&path) && !self.found.contains(&path) {
                self.found.push(path);
            }
        }
    }

    /// Looks in every place below a repository's directory: those of its parts count too.
    fn search_repository(&mut self, directory: &Path, depth: usize) {
        for (path, is_directory) in list_entries(directory, &mut self.walk) {
            let name = path.file_name().unwrap_or_default();
            if !is_directory || PASSED_OVER.iter().any(|other| *other == name) {
                continue;
            }
            if name == ".claude" {
                self.search_place(&path);
            } else if depth < MAX_DEPTH {
                self.search_repository(&path, depth + 1);
            }
        }
    }

    /// Reports whether `path` is the file of the skill: by its directory, its own name, or the name that it gives itself.
    fn is_skill_file(&self, path: &Path) -> bool {
        let last = self.name.rsplit(':').next().unwrap_or(self.name);
        let own = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("md")) {
            return false;
        }
        if !own.eq_ignore_ascii_case("skill") {
            return own == last;
        }
        let directory = path.parent().and_then(Path::file_name);
        directory.is_some_and(|name| name == last) || self.names_itself(path, last)
    }

    fn names_itself(&self, path: &Path, last: &str) -> bool {
        let Ok(bytes) = read_regular(path, MAX_FILE) else { return true };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("name:"));
        names.map(|name| name.trim().trim_matches(['"', '\''])).any(|name| name == last || name == self.name)
    }
}

/// The entries of a directory, `left` of them at the most, with whether each leads to a directory.
fn list_entries(directory: &Path, left: &mut usize) -> Vec<(PathBuf, bool)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let entries: Vec<_> = entries.flatten().take(*left).collect();
    *left -= entries.len();
    let kind = |entry: std::fs::DirEntry| {
        let is_directory = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        };
        (entry.path(), is_directory)
    };
    entries.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(root: &Path, name: &str) -> Vec<String> {
        let mut search = SkillSearch::new(name);
        search.search_place(&root.join(".claude"));
        if search.found.is_empty() {
            search.search_repository(root, 0);
        }
        let mut found: Vec<String> = search
            .found
            .iter()
            .map(|path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        found
    }

    #[test]
    fn the_files_of_a_skill_are_found_by_each_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            (".claude/skills/fmt/SKILL.md", ""),
            (".claude/skills/fmt/notes.md", ""),
            (".claude/skills/other/SKILL.md", "---\nname: \"lint\"\n---\n"),
            (".claude/commands/sub/deep.md", ""),
            ("part/.claude/commands/inner.md", ""),
            (".git/x/.claude/commands/hidden.md", ""),
        ] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (name, files) in [
            ("fmt", &[".claude/skills/fmt/SKILL.md"][..]),
            ("lint", &[".claude/skills/other/SKILL.md"]),
            ("sub:deep", &[".claude/commands/sub/deep.md"]),
            ("inner", &["part/.claude/commands/inner.md"]),
            ("hidden", &[]),
            ("dataviz", &[]),
        ] {
            assert_eq!(found(dir.path(), name), files, "{name}");
        }
    }

    #[test]
    fn a_path_in_a_prompt_names_no_skill() {
        for (prompt, name) in [
            ("/fmt", Some("fmt")),
            (" /part:fmt_2-a it", Some("part:fmt_2-a")),
            ("/etc/hosts is wrong", None),
            ("/ is full", None),
            ("mend /fmt", None),
        ] {
            assert_eq!(parse_slash_command(prompt).map(|skill| skill.name).as_deref(), name, "{prompt}");
        }
    }

    #[test]
    fn a_large_repository_is_no_reason_to_stop_a_skill_of_the_hosts_own() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..6 {
            std::fs::create_dir_all(dir.path().join(format!("part{number}/inner"))).unwrap();
        }
        let mut search = SkillSearch { walk: 5, ..SkillSearch::new("dataviz") };
        search.search_repository(dir.path(), 0);
        assert_eq!((search.found.len(), search.left, search.walk), (0, MAX_ENTRIES, 0));
    }

    #[test]
    fn arguments_stand_where_the_file_names_them() {
        assert_eq!(with_arguments("!`echo $ARGUMENTS; id $1`", "a; b"), "!`echo a; b; id a; b`");
        assert_eq!(with_arguments("!`echo $HOME`", "a"), "!`echo $HOME`");
        assert_eq!(with_arguments("!`echo $ARGUMENTS`", ""), "!`echo $ARGUMENTS`");
    }
}
