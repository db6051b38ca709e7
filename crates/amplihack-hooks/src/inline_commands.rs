//! Commands inside of skills and slash commands, which Claude Code runs while it loads the text: `` !`…` ``.
//!
//! Claude asks nobody about them. Where it is made to ask before each call, they fail, harmless ones too.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use amplihack_config::repository::project_root;
use amplihack_sys::fs::read_regular;
use serde_json::Value;

use crate::host::{INLINE_COMMANDS, claude_directory};
use crate::injection::StartContext;
use crate::switches::LIMIT;

/// Directories below one that are followed, and entries that are looked at in all.
const DEEPEST: usize = 8;
const MOST_ENTRIES: usize = 2048;

/// Flags of Claude that name a further directory with such texts.
const DIRECTORY_FLAGS: &[&str] = &["--plugin-dir", "--add-dir"];

/// The first text of a session that has commands in it, or that cannot be looked at.
pub(crate) fn text_with_commands(started: &StartContext<'_>) -> Option<PathBuf> {
    let mut left = MOST_ENTRIES;
    text_directories(started).iter().find_map(|directory| first_marked(directory, DEEPEST, &mut left))
}

/// The directories from which the session takes skills and commands.
fn text_directories(started: &StartContext<'_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut below = |place: &Path| found.extend([place.join("skills"), place.join("commands")]);
    if let Some(user) = claude_directory(started.env) {
        below(&user);
        for plugin in installed_plugins(&user) {
            below(&plugin);
        }
    }
    for directory in named_directories(started.words) {
        let directory = started.cwd.join(directory);
        below(&directory);
        below(&directory.join(".claude"));
    }
    if !started.is_held {
        let root = project_root(started.cwd, started.env).unwrap_or_else(|| started.cwd.to_owned());
        let directories = started.cwd.ancestors().take_while(|directory| directory.starts_with(&root));
        for directory in directories {
            below(&directory.join(".claude"));
        }
    }
    found
}

/// The directories of the plugins that Claude has installed; marketplaces of which nothing is installed are not loaded.
fn installed_plugins(user: &Path) -> Vec<PathBuf> {
    let record = read_regular(&user.join("plugins/installed_plugins.json"), LIMIT);
    let record = record.ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let mut left: Vec<&Value> = record.iter().collect();
    let mut found = Vec::new();
    while let Some(value) = left.pop() {
        match value {
            Value::Array(values) => left.extend(values),
            Value::Object(values) => {
                found.extend(values.get("installPath").and_then(Value::as_str).map(PathBuf::from));
                left.extend(values.values());
            }
            _ => {}
        }
    }
    found
}

/// The values of the user's own flags that name directories.
fn named_directories(words: &[OsString]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut takes_values = false;
    for word in words.iter().filter_map(|word| word.to_str()) {
        let (flag, value) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        if word.starts_with('-') {
            takes_values = DIRECTORY_FLAGS.contains(&flag);
            found.extend(value.filter(|_| takes_values).map(PathBuf::from));
        } else if takes_values {
            found.push(PathBuf::from(word));
        }
    }
    found
}

/// The first text below `directory` with a command in it; the directory itself, if there is more in it than can be looked at.
fn first_marked(directory: &Path, depth: usize, left: &mut usize) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return Some(directory.to_owned());
        }
        *left -= 1;
        let path = entry.path();
        let found = if path.is_dir() {
            match entry.file_name().to_str() {
                Some(".git" | "node_modules") => None,
                _ if depth == 0 => Some(path),
                _ => first_marked(&path, depth - 1, left),
            }
        } else {
            (path.extension().is_some_and(|end| end == "md") && has_mark(&path)).then_some(path)
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Reports whether a command stands in the text at `path`, or may: a text that cannot be read is not known.
fn has_mark(path: &Path) -> bool {
    read_regular(path, LIMIT).map_or(true, |text| {
        let text = String::from_utf8_lossy(&text);
        INLINE_COMMANDS.iter().any(|mark| text.contains(mark))
    })
}

#[cfg(test)]
mod tests {
    use amplihack_config::env::Env;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn texts_with_commands_are_found_where_a_session_loads_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work/below"));
        fs::create_dir_all(&work).unwrap();
        fs::create_dir_all(root.join("work/.git")).unwrap();
        let env = Env::empty().with_variable("HOME", &home);
        let words = ["--plugin-dir", "../theirs", "--add-dir=../added"].map(OsString::from);
        let found = |is_held| {
            text_with_commands(&StartContext { env: &env, cwd: &work, theirs: None, is_held, words: &words })
        };
        assert_eq!(found(false), None);
        put(&home.join(".claude/skills/plain/SKILL.md"), "Say `hello`!");
        put(&home.join(".claude/skills/plain/run.sh"), "!`ls`");
        put(&home.join(".claude/skills/plain/.git/x.md"), "!`ls`");
        put(&home.join(".claude/plugins/marketplaces/m/plugins/p/skills/d/SKILL.md"), "!`ls`");
        assert_eq!(found(false), None, "no command stands in a text that is loaded");
        let plugin = home.join(".claude/plugins/cache/m/p");
        let record = serde_json::json!({"version": 2, "plugins": {"p@m": [{"installPath": plugin}]}});
        put(&home.join(".claude/plugins/installed_plugins.json"), &record.to_string());
        let theirs = [
            (root.join("work/.claude/skills/a/SKILL.md"), false),
            (work.join(".claude/commands/b.md"), false),
            (home.join(".claude/commands/c.md"), true),
            (plugin.join("skills/d/SKILL.md"), true),
            (root.join("work/theirs/commands/e.md"), true),
            (root.join("work/added/.claude/skills/f/SKILL.md"), true),
        ];
        for (path, is_the_users) in theirs {
            put(&path, "Begin !`ls` end");
            let name = |found: Option<PathBuf>| found.map(|path| path.canonicalize().unwrap());
            assert_eq!(name(found(false)).as_deref(), Some(&*path));
            assert_eq!(found(true).is_some(), is_the_users, "{}", path.display());
            fs::remove_file(&path).unwrap();
        }
        for number in 0..=MOST_ENTRIES {
            fs::write(home.join(format!(".claude/skills/plain/{number}.txt")), "").unwrap();
        }
        assert!(found(false).is_some(), "more than can be looked at");
    }

    #[test]
    fn a_text_that_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join(".claude/skills/a/x"), "");
        std::os::unix::fs::symlink("/dev/tty", dir.path().join(".claude/skills/a/SKILL.md")).unwrap();
        let env = Env::empty();
        let started = StartContext { env: &env, cwd: dir.path(), theirs: None, is_held: false, words: &[] };
        assert!(text_with_commands(&started).is_some());
    }
}
