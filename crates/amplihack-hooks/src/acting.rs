//! Files by which a repository starts something through an agent, before the guard or beside it: hooks, variables, MCP servers, texts with
//! commands in them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_regular;
use amplihack_sys::hex::to_hex;
use jsonc_parser::{JsonValue, ParseOptions};
use sha2::{Digest as _, Sha256};
use toml_edit::DocumentMut;

use self::significant::{significant_json, significant_toml};
use crate::host::hook_host;
use crate::switches::LIMIT;

mod significant;

/// Directories below one that are followed, and files that are looked at there.
const DEEPEST: usize = 8;
const MOST_FILES: usize = 4096;

/// A place from which an agent takes something that it starts by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ActingPlace {
    /// A JSON file of settings, of which only these keys start nothing.
    Settings(&'static str, &'static [&'static str]),
    /// A TOML file of settings, of which only these keys start nothing.
    TomlSettings(&'static str, &'static [&'static str]),
    /// A JSON file that names MCP servers.
    Servers(&'static str),
    /// A file, whatever is in it.
    File(&'static str),
    /// Every file below a directory.
    Below(&'static str),
    /// Every file below a directory but those that amplihack itself puts there, by path and content.
    OthersBelow(&'static str, fn(&Path, &[u8]) -> bool),
    /// The files below a directory in which one of these texts stands.
    Marked(&'static str, &'static [&'static str]),
}

impl ActingPlace {
    /// The file or directory.
    fn name(self) -> &'static str {
        match self {
            Self::Settings(name, _)
            | Self::TomlSettings(name, _)
            | Self::Servers(name)
            | Self::File(name)
            | Self::Below(name)
            | Self::OthersBelow(name, _)
            | Self::Marked(name, _) => name,
        }
    }
}

/// A file of a repository by which an agent would start something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActingFile {
    /// The file, from the repository's root.
    pub path: PathBuf,
    /// The contents of the file, in a few words: keys, server names, or a reason why the file counts.
    pub what: String,
    /// The hash of its content, in settings of what may start something; empty if it cannot be read, which is no content that anybody
    /// could trust.
    pub hash: String,
    /// `true` if the agent starts it even where the agent is kept from the repository.
    pub is_unheld: bool,
}

/// The files in the repository with the root `root` by which `agent`, started in `cwd`, would start something.
///
/// The user's own directory is no repository's, wherever it lies.
pub fn acting_files(agent: AgentBinary, root: &Path, cwd: &Path, env: &Env) -> Vec<ActingFile> {
    let Ok(host) = hook_host(agent) else { return Vec::new() };
    let home = env.home().map(|home| home.canonicalize().unwrap_or(home));
    let mut found = Vec::new();
    for directory in cwd.ancestors() {
        if home.as_deref() != Some(directory) {
            for place in host.acts {
                let before = found.len();
                collect_acting_files(*place, directory, root, &mut found);
                let is_unheld = host.unheld.contains(&place.name());
                found[before..].iter_mut().for_each(|file| file.is_unheld = is_unheld);
            }
        }
        if directory == root {
            break;
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Reports whether `agent`, started in `cwd`, would start by itself something that a repository there has.
pub fn starts_repository_files(agent: AgentBinary, env: &Env, cwd: &Path) -> bool {
    hook_host(agent).is_ok_and(|host| (host.starts)(env, cwd))
}

/// Reports whether only the settings of a launch keep `agent` from a repository.
pub fn held_by_settings(agent: AgentBinary) -> bool {
    hook_host(agent).is_ok_and(|host| host.held_by_settings)
}

/// The instructions between `root` and `cwd` that `agent` does not read where it is kept from the repository.
pub fn held_instructions(agent: AgentBinary, env: &Env, root: &Path, cwd: &Path) -> Option<String> {
    (hook_host(agent).ok()?.instructions)(env, root, cwd)
}

/// Variables, with the values of `env`, that `agent` must be given, lest a file of the directory sets them: with a library of a
/// repository in it, the shell of a hook ends before it has started the guard.
pub fn pinned_variables(agent: AgentBinary, env: &Env) -> Vec<(&'static str, OsString)> {
    let pinned = hook_host(agent).map_or(&[][..], |host| host.pinned);
    let unset = |name: &&&str| env.get(name).is_none();
    pinned.iter().filter(unset).map(|name| (*name, OsString::new())).collect()
}

fn collect_acting_files(place: ActingPlace, directory: &Path, root: &Path, found: &mut Vec<ActingFile>) {
    match place {
        ActingPlace::Settings(name, harmless) => {
            let acts = |content: &[u8]| json_settings(content, harmless);
            let significant = |content: &[u8]| significant_json(content, harmless);
            found.extend(acting_file(&directory.join(name), root, acts, significant));
        }
        ActingPlace::TomlSettings(name, harmless) => {
            let acts = |content: &[u8]| toml_settings(content, harmless);
            let significant = |content: &[u8]| significant_toml(content, harmless);
            found.extend(acting_file(&directory.join(name), root, acts, significant));
        }
        ActingPlace::Servers(name) => {
            found.extend(acting_file(&directory.join(name), root, server_names, whole_content));
        }
        ActingPlace::File(name) => {
            found.extend(acting_file(
                &directory.join(name),
                root,
                |_| Some("settings".to_owned()),
                whole_content,
            ));
        }
        ActingPlace::Below(name) => {
            collect_files_below(
                &directory.join(name),
                root,
                |_, _| Some("started by the agent".to_owned()),
                found,
            );
        }
        ActingPlace::OthersBelow(name, is_own) => {
            let acts = |path: &Path, content: &[u8]| {
                (!is_own(path, content)).then(|| "started by the agent".to_owned())
            };
            collect_files_below(&directory.join(name), root, acts, found);
        }
        ActingPlace::Marked(name, marks) => {
            let acts = |_: &Path, content: &[u8]| {
                let text = String::from_utf8_lossy(content);
                marks.iter().any(|mark| text.contains(mark)).then(|| "commands".to_owned())
            };
            collect_files_below(&directory.join(name), root, acts, found);
        }
    }
}

/// The content of a file of which every byte counts.
fn whole_content(content: &[u8]) -> Vec<u8> {
    content.to_vec()
}

/// The file at `path`, if it is there and `acts` finds something in it. A person trusts what is `significant` of its content.
fn acting_file(
    path: &Path,
    root: &Path,
    acts: impl Fn(&[u8]) -> Option<String>,
    significant: impl Fn(&[u8]) -> Vec<u8>,
) -> Option<ActingFile> {
    fs::symlink_metadata(path).ok()?;
    let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
    match read_regular(path, LIMIT) {
        Ok(content) => Some(ActingFile {
            what: acts(&content)?,
            hash: to_hex(Sha256::digest(significant(&content))),
            path: relative,
            is_unheld: false,
        }),
        Err(_) => Some(ActingFile {
            path: relative,
            what: "cannot be read".to_owned(),
            hash: String::new(),
            is_unheld: false,
        }),
    }
}

/// The files below `directory` in which `acts` finds something. Where not all of them are looked at, the directory counts as a file that
/// cannot be read: nobody can trust what nobody looked at.
fn collect_files_below(
    directory: &Path,
    root: &Path,
    acts: impl Fn(&Path, &[u8]) -> Option<String>,
    found: &mut Vec<ActingFile>,
) {
    let mut left = MOST_FILES;
    let is_whole = walk_files(directory, DEEPEST, &mut left, &mut |path| {
        found.extend(acting_file(path, root, |content| acts(path, content), whole_content));
    });
    if !is_whole {
        let path = directory.strip_prefix(root).unwrap_or(directory).to_owned();
        let what = "holds more than can be looked at".to_owned();
        found.push(ActingFile { path, what, hash: String::new(), is_unheld: false });
    }
}

/// Calls `each` with the files below `directory`; reports whether with all of them.
fn walk_files(directory: &Path, depth: usize, left: &mut usize, each: &mut dyn FnMut(&Path)) -> bool {
    let mut is_whole = true;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let path = entry.path();
        if !path.is_dir() {
            each(&path);
        } else if depth > 0 {
            is_whole &= walk_files(&path, depth - 1, left, each);
        } else {
            is_whole = false;
        }
    }
    is_whole
}

/// The keys of settings that may start something.
fn json_settings(content: &[u8], harmless: &[&str]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    match jsonc_parser::parse_to_value(&text, &ParseOptions::default()) {
        Ok(Some(JsonValue::Object(object))) => {
            let keys: Vec<String> = object
                .into_iter()
                .map(|(key, _)| key.to_string())
                .filter(|key| !harmless.contains(&key.as_str()))
                .collect();
            (!keys.is_empty()).then(|| keys.join(", "))
        }
        Ok(_) => None,
        // What this reader does not understand, the agent may.
        Err(_) => Some("settings".to_owned()),
    }
}

/// The keys of TOML settings that may start something.
fn toml_settings(content: &[u8], harmless: &[&str]) -> Option<String> {
    let Ok(table) = String::from_utf8_lossy(content).parse::<DocumentMut>() else {
        return Some("settings".to_owned());
    };
    let keys: Vec<&str> = table.iter().map(|(key, _)| key).filter(|key| !harmless.contains(key)).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

fn server_names(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    match jsonc_parser::parse_to_value(&text, &ParseOptions::default()) {
        Ok(Some(JsonValue::Object(mut object))) => match object.take("mcpServers") {
            Some(JsonValue::Object(servers)) => {
                let names: Vec<String> = servers.into_iter().map(|(name, _)| name.to_string()).collect();
                (!names.is_empty()).then(|| format!("MCP servers {}", names.join(", ")))
            }
            _ => None,
        },
        Ok(_) => None,
        Err(_) => Some("MCP servers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(agent: AgentBinary, files: &[(&str, &str)], cwd: &str) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(root.join(cwd)).unwrap();
        let all = acting_files(agent, &root, &root.join(cwd), &Env::empty());
        all.into_iter().map(|file| (file.path.display().to_string(), file.what)).collect()
    }

    #[test]
    fn claude_starts_what_settings_servers_and_texts_name() {
        let files = [
            (".claude/settings.json", r#"{"hooks": {}, "env": {}, "model": "m"}"#),
            (".claude/settings.local.json", r#"{"permissions": {"allow": []}}"#),
            (".mcp.json", r#"{"mcpServers": {"evil": {"command": "x"}}}"#),
            (".claude/skills/a/SKILL.md", "---\nname: a\n---\nplain text"),
            (".claude/skills/b/deep/SKILL.md", "now: !`touch x`"),
            (".claude/agents/c.md", "---\nhooks:\n  PreToolUse: []\n---\n"),
            ("sub/.claude/settings.json", "no json"),
            ("other/.claude/settings.json", r#"{"hooks": {}}"#),
            ("CLAUDE.md", "!`only text here`"),
        ];
        let expected = [
            (".claude/agents/c.md", "commands"),
            (".claude/settings.json", "hooks, env"),
            (".claude/skills/b/deep/SKILL.md", "commands"),
            (".mcp.json", "MCP servers evil"),
        ];
        let own = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(path, what)| ((*path).to_owned(), (*what).to_owned())).collect()
        };
        let mut at_root = found(AgentBinary::Claude, &files, "");
        for (_, what) in &mut at_root {
            // The keys of a JSON object come in no order.
            if what == "env, hooks" {
                "hooks, env".clone_into(what);
            }
        }
        assert_eq!(at_root, own(&expected));
        let below = found(AgentBinary::Claude, &files, "sub");
        assert_eq!(below.len(), 5, "{below:?}");
        assert_eq!(found(AgentBinary::Claude, &files[3..4], ""), []);
        assert_eq!(found(AgentBinary::Amp, &files, ""), []);
    }

    #[test]
    fn the_others_have_places_of_their_own() {
        let manifest = crate::staging::repository_manifest(|_| false);
        let wrapper = crate::staging::wrapper_text(crate::event::HookEvent::Stop, false);
        let own = [
            (".github/hooks/amplihack-hooks.json", manifest.as_str()),
            (".github/hooks/stop", wrapper.as_str()),
            (".github/hooks/post-tool-use", wrapper.as_str()),
        ];
        let all = found(AgentBinary::Copilot, &own, "");
        assert_eq!(all.len(), 1, "what `amplihack install` puts there, in its place: {all:?}");
        for (agent, name, text) in [
            (AgentBinary::Codex, ".codex/config.toml", "[mcp_servers.x]\n"),
            (AgentBinary::Codex, ".codex/config.toml", "no toml"),
            (AgentBinary::Codex, ".codex/hooks.json", "{}"),
            (AgentBinary::Copilot, ".github/hooks/h.json", "{}"),
            (AgentBinary::Copilot, ".claude/settings.json", r#"{"hooks": {}}"#),
            (AgentBinary::Gemini, ".gemini/settings.json", r#"{"mcpServers": {}}"#),
            (AgentBinary::Gemini, ".gemini/extensions/e/gemini-extension.json", "{}"),
            (AgentBinary::Gemini, ".gemini/commands/x.toml", "prompt = \"!{touch x}\""),
        ] {
            assert_eq!(found(agent, &[(name, text)], "").len(), 1, "{agent} {name}");
        }
        let harmless = (".codex/config.toml", "# only this\nmodel = \"m\"\n");
        assert_eq!(found(AgentBinary::Codex, &[harmless], ""), []);
    }

    #[test]
    fn what_nobody_looked_at_is_named_and_has_no_content_to_trust() {
        let deep = format!(".claude/skills/{}SKILL.md", "d/".repeat(DEEPEST + 2));
        let at_root = (".claude/settings.json", r#"{"hooks": {}}"#);
        let far = "x/".repeat(60);
        assert_eq!(found(AgentBinary::Claude, &[at_root], &far).len(), 1, "the root, however far");
        let more = [(".claude/skills".to_owned(), "holds more than can be looked at".to_owned())];
        assert_eq!(found(AgentBinary::Claude, &[(&deep, "!`touch x`")], ""), more);
        let names: Vec<_> = (0..=MOST_FILES).map(|number| format!(".claude/skills/{number}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), "text")).collect();
        assert_eq!(found(AgentBinary::Claude, &many, ""), more);
        assert_eq!(found(AgentBinary::Claude, &many[1..], ""), []);
    }

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join(".claude")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
        assert!(pipe.success());
        for target in [root.join("pipe"), "/dev/zero".into(), "/dev/tty".into(), root.clone()] {
            let link = root.join(".claude/settings.json");
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let all = acting_files(AgentBinary::Claude, &root, &root, &Env::empty());
            let found: Vec<_> = all.iter().map(|file| (file.what.as_str(), file.hash.as_str())).collect();
            assert_eq!(found, [("cannot be read", "")], "{}", target.display());
            fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn a_hash_is_of_what_may_start_something() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let hash = |agent, name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let all = acting_files(agent, &root, &root, &Env::empty());
            fs::remove_file(path).unwrap();
            all.into_iter().map(|file| file.hash).collect::<Vec<_>>()
        };
        for (agent, name, text, harmless, acting) in [
            (
                AgentBinary::Claude,
                ".claude/settings.local.json",
                r#"{"hooks": {"Stop": []}}"#,
                r#"{"hooks": {"Stop": []}, "permissions": {"allow": ["Bash(ls)"]}}"#,
                r#"{"hooks": {"Stop": [1]}}"#,
            ),
            (
                AgentBinary::Codex,
                ".codex/config.toml",
                "[mcp_servers.x]\ncommand = \"c\"\n",
                "model = \"m\"\n\n[mcp_servers.x]\ncommand = \"c\"\n",
                "[mcp_servers.x]\ncommand = \"d\"\n",
            ),
        ] {
            let first = hash(agent, name, text);
            assert_eq!(first.len(), 1);
            assert_eq!(hash(agent, name, harmless), first);
            assert_ne!(hash(agent, name, acting), first);
        }
    }

    #[test]
    fn a_users_own_directory_is_no_repositorys() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        fs::write(home.join(".claude/settings.json"), r#"{"hooks": {}}"#).unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        assert_eq!(acting_files(AgentBinary::Claude, &home, &home, &env), []);
    }
}
