//! Codex: Claude's shape, with a stricter reader of answers.

use std::path::{Path, PathBuf};

use amplihack_agent::command::toml_string;
use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_regular;
use toml_edit::{DocumentMut, Item};

use super::{DialectSpec, HookHost, HostLaunchHooks, has_any};
use crate::acting::ActingPlace;
use crate::dialect::{AnswerEffects, ToolKind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::{HookRegistration, in_claudes_format};
use crate::settings::trust_entries;
use crate::switches::LIMIT;

pub(super) static HOST: HookHost = HookHost {
    event_name: |event| match event {
        HookEvent::PermissionRequest | HookEvent::SubagentStop | HookEvent::PreCompact => None,
        event => event.claude_name(),
    },
    second: 1,
    longest: super::DAYS_IN_SECONDS,
    end_seconds: 3,
    end_is_stop: false,
    plain_json: true,
    reads: |_| true,
    bring: |launch| {
        Ok(HostLaunchHooks {
            values: vec![hooks_value(launch.hooks)?.into()],
            files: Vec::new(),
            variables: Vec::new(),
        })
    },
    // A repository's is overruled by the launch's row in the flag matrix; the user's hooks would run again if the user's own were.
    switched_off: |env, _| managed_switch(Path::new("/etc/codex")).or_else(|| user_switch(env)),
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    asks_before_each: false,
    asks_by: None,
    trusted_by: None,
    acts: &[
        ActingPlace::TomlSettings(".codex/config.toml", HARMLESS),
        ActingPlace::File(".codex/hooks.json"),
    ],
    unheld: &[],
    held_by_settings: false,
    starts: |_, _| true,
    instructions: held_instructions,
    pinned: &[],
};

pub(super) static SPEECH: DialectSpec = DialectSpec {
    host: AgentBinary::Codex,
    name: "codex",
    sent: |payload| {
        let transcript = payload.get("transcript_path").and_then(|path| path.as_str());
        has_any(payload, &["turn_id"]) || transcript.is_some_and(|path| path.contains("/.codex/"))
    },
    // `ask` and `allow` are unknown to Codex, and what it does not know lets the call run.
    answers: AnswerEffects {
        nested: true,
        deny_code: 2,
        asks: false,
        allows: false,
        nested_context: true,
        stderr_counts: false,
    },
    tools: TOOLS,
};

/// The file whose name Codex gives to hooks of its command line.
const OF_THE_COMMAND_LINE: &str = "/<session-flags>/config.toml";

/// The hooks as one value of its configuration, with its trust in them and in no others. Several values would do away with each
/// other; `enabled` stands there because a user's or a repository's file may deny it to a hook whose place it guesses.
fn hooks_value(hooks: &[HookRegistration]) -> Result<String, HookError> {
    let path = Path::new(OF_THE_COMMAND_LINE);
    let settings = in_claudes_format(hooks).to_string();
    let trusted =
        trust_entries(path, &settings).map_err(|why| HookError::Settings { path: path.to_owned(), why })?;
    let mut parts: Vec<String> = hooks.iter().map(event_value).collect();
    let trusted = trusted.iter().map(|(key, hash)| {
        format!("{}={{enabled=true,trusted_hash={}}}", toml_string(key), toml_string(hash))
    });
    parts.push(format!("state={{{}}}", trusted.collect::<Vec<_>>().join(",")));
    Ok(format!("hooks={{{}}}", parts.join(",")))
}

fn event_value(hook: &HookRegistration) -> String {
    let HookRegistration { name, command, timeout, .. } = hook;
    let command = toml_string(command);
    format!("{name}=[{{matcher=\"*\",hooks=[{{type=\"command\",command={command},timeout={timeout}}}]}}]")
}

/// The word of an administrator's files in `directory` against the hooks of a launch; no flag overrules it.
fn managed_switch(directory: &Path) -> Option<(PathBuf, &'static str)> {
    let file = |name: &str| read_table(directory.join(name));
    if let Some((path, table)) = file("requirements.toml")
        && table.get(MANAGED_ONLY).and_then(Item::as_bool) == Some(true)
    {
        return Some((path, MANAGED_ONLY));
    }
    ["requirements.toml", "managed_config.toml"].into_iter().filter_map(file).find_map(switched_off_feature)
}

/// Keys of Codex's settings that start nothing. Whatever a later version adds counts until somebody looked at it.
const HARMLESS: &[&str] = &[
    "file_opener",
    "hide_agent_reasoning",
    "model",
    "model_context_window",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "personality",
    "project_doc_fallback_filenames",
    "project_doc_max_bytes",
    "show_raw_agent_reasoning",
    "tool_output_token_limit",
];

/// Instructions of which Codex reads the first that a directory has.
const INSTRUCTIONS: &[&str] = &["AGENTS.override.md", "AGENTS.md"];
/// Bytes of a repository's instructions that Codex reads.
const MOST_INSTRUCTIONS: usize = 32 << 10;

/// The user's own text for the developer's role, whose place it takes, and the instructions from `root` down to `cwd`.
fn held_instructions(env: &Env, root: &Path, cwd: &Path) -> Option<String> {
    let mut directories: Vec<&Path> = cwd.ancestors().take_while(|path| path.starts_with(root)).collect();
    directories.reverse();
    let first = |directory: &Path| {
        let read = |name: &&str| read_regular(&repository_file(root, &directory.join(name))?, LIMIT).ok();
        INSTRUCTIONS.iter().find_map(read).map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let mut text = directories.into_iter().filter_map(first).collect::<Vec<_>>().join("\n\n");
    text.truncate(text.floor_char_boundary(MOST_INSTRUCTIONS));
    if text.trim().is_empty() {
        return None;
    }
    let settings = codex_directory(env).and_then(|own| read_table(own.join("config.toml")));
    let theirs =
        settings.and_then(|(_, table)| Some(table.get("developer_instructions")?.as_str()?.to_owned()));
    let begun = theirs.map(|theirs| format!("{theirs}\n\n")).unwrap_or_default();
    Some(format!(
        "{begun}# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>",
        root.display()
    ))
}

/// The file that `path` leads to, if it is one of the repository with the root `root`: what it links to elsewhere, or in git's own
/// directory, is no text for a command line.
fn repository_file(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let below = real.strip_prefix(root.canonicalize().ok()?).ok()?;
    (!below.iter().any(|name| name == ".git")).then_some(real)
}

/// The user's directory of Codex.
fn codex_directory(env: &Env) -> Option<PathBuf> {
    env.path("CODEX_HOME").or_else(|| Some(env.home()?.join(".codex")))
}

/// The user's own settings, if they switch all hooks off.
fn user_switch(env: &Env) -> Option<(PathBuf, &'static str)> {
    switched_off_feature(read_table(codex_directory(env)?.join("config.toml"))?)
}

fn read_table(path: PathBuf) -> Option<(PathBuf, DocumentMut)> {
    let text = read_regular(&path, LIMIT).ok()?;
    let table = String::from_utf8_lossy(&text).parse().ok()?;
    Some((path, table))
}

fn switched_off_feature((path, table): (PathBuf, DocumentMut)) -> Option<(PathBuf, &'static str)> {
    let feature = |name: &&str| table.get("features")?.get(name)?.as_bool();
    let off = ["hooks", "codex_hooks"].iter().any(|name| feature(name) == Some(false));
    off.then_some((path, "features.hooks"))
}

const MANAGED_ONLY: &str = "allow_managed_hooks_only";

const TOOLS: &[(&str, ToolKind)] = &[
    ("bash", ToolKind::Shell),
    ("shell", ToolKind::Shell),
    ("shell_command", ToolKind::Shell),
    ("local_shell", ToolKind::Shell),
    ("exec", ToolKind::Shell),
    ("exec_command", ToolKind::Shell),
    ("write_stdin", ToolKind::Shell),
    ("unified_exec", ToolKind::Shell),
    ("apply_patch", ToolKind::Edit),
    ("edit", ToolKind::Edit),
    ("write", ToolKind::Write),
    ("read_file", ToolKind::Read),
    ("view_image", ToolKind::Read),
    ("list_dir", ToolKind::Read),
    ("grep_files", ToolKind::Read),
    ("web_search", ToolKind::Other),
    ("update_plan", ToolKind::Other),
    ("spawn_agent", ToolKind::Agent),
    ("send_input", ToolKind::Agent),
    ("multi_agent_v1send_input", ToolKind::Agent),
    ("wait", ToolKind::Other),
    ("wait_agent", ToolKind::Other),
    ("multi_agent_v1wait_agent", ToolKind::Other),
    ("close_agent", ToolKind::Other),
    ("multi_agent_v1close_agent", ToolKind::Other),
    ("resume_agent", ToolKind::Other),
    ("multi_agent_v1resume_agent", ToolKind::Other),
    ("request_user_input", ToolKind::Other),
    ("get_goal", ToolKind::Other),
    ("create_goal", ToolKind::Other),
    ("update_goal", ToolKind::Other),
    ("list_mcp_resources", ToolKind::Other),
    ("list_mcp_resource_templates", ToolKind::Other),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_administrators_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text, expected) in [
            ("requirements.toml", "allow_managed_hooks_only = true\n", Some(MANAGED_ONLY)),
            ("requirements.toml", "allow_managed_hooks_only = false\n", None),
            ("requirements.toml", "[features]\nhooks = false\n", Some("features.hooks")),
            ("managed_config.toml", "[features]\nhooks = false\n", Some("features.hooks")),
            ("managed_config.toml", "features.codex_hooks = false\n", Some("features.hooks")),
            ("managed_config.toml", "[features]\nhooks = true\n", None),
            ("managed_config.toml", "allow_managed_hooks_only = true\n", None),
            ("config.toml", "[features]\nhooks = false\n", None),
            ("requirements.toml", "= no toml", None),
        ] {
            let file = dir.path().join(name);
            std::fs::write(&file, text).unwrap();
            assert_eq!(
                managed_switch(dir.path()),
                expected.map(|setting| (file.clone(), setting)),
                "{name}: {text}"
            );
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!(managed_switch(dir.path()), None);
        let env = Env::empty().with_variable("CODEX_HOME", dir.path());
        assert_eq!(user_switch(&env), None);
        let own = dir.path().join("config.toml");
        std::fs::write(&own, "[features]\nhooks = false\n").unwrap();
        assert_eq!(user_switch(&env), Some((own, "features.hooks")));
    }

    #[test]
    fn instructions_are_those_of_each_directory_behind_the_users_own_text() {
        let dir = tempfile::tempdir().unwrap();
        let (root, own) = (dir.path().join("work"), dir.path().join("own"));
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::create_dir_all(&own).unwrap();
        let env = Env::empty().with_variable("CODEX_HOME", &own);
        assert_eq!(held_instructions(&env, &root, &root), None);
        std::fs::write(dir.path().join("AGENTS.md"), "outer instructions").unwrap();
        std::fs::write(root.join("AGENTS.md"), "of the root").unwrap();
        std::fs::write(root.join("sub/AGENTS.md"), "hidden").unwrap();
        std::fs::write(root.join("sub/AGENTS.override.md"), "é".repeat(MOST_INSTRUCTIONS)).unwrap();
        std::fs::write(own.join("config.toml"), "developer_instructions = \"mine\"\n").unwrap();
        let text = held_instructions(&env, &root, &root.join("sub")).unwrap();
        assert!(text.starts_with("mine\n\n# AGENTS.md") && text.contains("of the root\n\né"), "{text:.200}");
        assert!(
            !text.contains("outer instructions")
                && !text.contains("hidden")
                && text.len() < MOST_INSTRUCTIONS + 400
        );
    }

    #[test]
    fn instructions_are_regular_files_of_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        for file in ["outside", "work/.git/config", "work/README.md"] {
            std::fs::write(dir.path().join(file), "text").unwrap();
        }
        let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
        assert!(pipe.success());
        let link = root.join("AGENTS.md");
        for (target, is_read) in [
            ("README.md", true),
            ("../work/README.md", true),
            ("../outside", false),
            (".git/config", false),
            ("pipe", false),
            ("/dev/tty", false),
            ("nothing", false),
        ] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(held_instructions(&Env::empty(), &root, &root).is_some(), is_read, "{target}");
            std::fs::remove_file(&link).unwrap();
        }
    }
}
