//! Gemini CLI: Claude's format with names of its own, and milliseconds.
//!
//! A launch brings its hooks in the system settings, a file that a variable names. Gemini reads it only where root owns the file's
//! directory and all above it and nobody else may write to them; else it says so on stderr and runs without them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use amplihack_utils::fs::read_limited;
use serde_json::Value;

use super::{Brought, Host, Speech, has};
use crate::dialect::{Answers, Kind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::Hook;
use crate::settings::{Edit, EditError};
use crate::switches::{LIMIT, lists, says_so};

/// The name of a file of settings.
const SETTINGS: &str = "settings.json";
/// The variable that names the system settings.
const VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
/// The variable that makes the directory of a session a trusted one.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";
/// Where they are without it.
const USUAL: &str = "/etc/gemini-cli/settings.json";
/// The setting that leaves out all hooks if it is false.
const ENABLED: &str = "hooksConfig.enabled";
/// The setting that leaves out hooks by their commands; what the machine, the user and the directory say of it adds up.
const DISABLED: &str = "hooksConfig.disabled";

pub(super) static HOST: Host = Host {
    event_name,
    second: 1000,
    end_is_stop: false,
    plain_json: false,
    reads,
    bring,
    switched_off,
    left_out,
    trusts,
    trusted_by: Some((TRUST, "true")),
};

pub(super) static SPEECH: Speech = Speech {
    host: AgentBinary::Gemini,
    name: "gemini",
    sent: |payload| {
        let told = payload.get("hook_event_name").and_then(|name| name.as_str());
        let own = |event: &HookEvent| event_name(*event).filter(|name| event.claude_name() != Some(*name));
        let transcript = payload.get("transcript_path").and_then(|path| path.as_str());
        HookEvent::ALL.iter().filter_map(own).any(|name| told == Some(name))
            || has(payload, &["hook_event_name"]) && transcript.is_some_and(|path| path.contains("/.gemini/"))
    },
    // It reads `decision` beside the nested object, and knows neither `ask` nor a nested `allow`.
    answers: Answers { nested: true, deny_code: 2, asks: false, allows: false, nested_context: true },
    tools: TOOLS,
};

fn event_name(event: HookEvent) -> Option<&'static str> {
    Some(match event {
        HookEvent::SessionStart => "SessionStart",
        HookEvent::SessionStop => "SessionEnd",
        HookEvent::UserPromptSubmit | HookEvent::WorkflowClassificationReminder => "BeforeAgent",
        HookEvent::PreToolUse => "BeforeTool",
        HookEvent::PostToolUse => "AfterTool",
        HookEvent::Stop => "AfterAgent",
        HookEvent::PreCompact => "PreCompress",
        HookEvent::SubagentStop | HookEvent::ErrorOccurred => return None,
    })
}

/// Whether everything of `place` that is there already is root's alone. What is made below that is our own: root's too, or not.
fn reads(place: &Path) -> bool {
    let safe = |path: &Path| {
        let is_roots =
            |meta: std::fs::Metadata| meta.uid() == 0 && (meta.is_symlink() || meta.mode() & 0o022 == 0);
        path.symlink_metadata().is_ok_and(is_roots) && path.metadata().is_ok_and(is_roots)
    };
    place.ancestors().filter(|path| path.exists()).all(safe)
}

/// A file of settings that is the machine's own with the hooks in it; the machine's is not what Gemini would not believe.
fn bring(hooks: &[Hook], directory: &Path, env: &Env) -> Result<Brought, HookError> {
    let theirs = system_settings(env);
    let text = read_limited(&theirs, LIMIT).ok().filter(|_| reads(&theirs));
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = beside(text.as_deref(), hooks).map_err(|why| HookError::Settings { path: theirs, why })?;
    Ok(Brought { values: vec![directory.join(SETTINGS).into()], files: vec![(SETTINGS, text)] })
}

fn beside(theirs: Option<&str>, hooks: &[Hook]) -> Result<String, EditError> {
    Edit::Hooks { host: AgentBinary::Gemini, hooks: hooks.to_vec() }.apply(theirs)
}

fn system_settings(env: &Env) -> PathBuf {
    env.path(VARIABLE).unwrap_or_else(|| USUAL.into())
}

/// Whether Gemini trusts `cwd`: of the folders that its user decided on, the nearest counts. Elsewhere it leaves out hooks and asks, or,
/// headless, does not run at all.
fn trusts(env: &Env, cwd: &Path) -> bool {
    let off = |file: &PathBuf| says_so(file, "security.folderTrust.enabled", false);
    let user = own(env).map(|own| own.join(SETTINGS));
    if env.text(TRUST) == Some("true") || [Some(system_settings(env)), user].iter().flatten().any(off) {
        return true;
    }
    let named = env.path("GEMINI_CLI_TRUSTED_FOLDERS_PATH");
    let file = named.or_else(|| own(env).map(|own| own.join("trustedFolders.json")));
    let text = file.and_then(|file| read_limited(&file, LIMIT).ok()).unwrap_or_default();
    let Ok(Value::Object(folders)) = serde_json::from_slice(&text) else { return false };
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let about = |(folder, decided): (&String, &Value)| {
        let folder = PathBuf::from(folder);
        let (folder, trusted) = match decided.as_str()? {
            "TRUST_FOLDER" => (folder, true),
            "TRUST_PARENT" => (folder.parent()?.to_owned(), true),
            _ => (folder, false),
        };
        cwd.starts_with(&folder).then(|| (folder.components().count(), !trusted))
    };
    // Of two about the same folder the one without trust.
    folders.iter().filter_map(about).max().is_some_and(|(_, distrusted)| !distrusted)
}

/// The user's directory of Gemini's.
fn own(env: &Env) -> Option<PathBuf> {
    let named = env.path("GEMINI_CLI_HOME").filter(|path| path.is_absolute());
    Some(named.or_else(|| env.home())?.join(".gemini"))
}

/// Files of the machine, the user and the directory. The hooks that a user switched off would run again if a launch overruled it.
fn switched_off(env: &Env, cwd: &Path) -> Option<(PathBuf, &'static str)> {
    let off = settings_files(env, cwd).find(|file| says_so(file, ENABLED, false))?;
    Some((off, ENABLED))
}

/// A repository can do this to a hook whose command it guesses, as one that is installed; a launch's has a number of its own in it.
fn left_out(env: &Env, cwd: &Path, command: &str) -> Option<(PathBuf, &'static str)> {
    let off = settings_files(env, cwd).find(|file| lists(file, DISABLED, command))?;
    Some((off, DISABLED))
}

fn settings_files(env: &Env, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let directory = cwd.join(".gemini").join(SETTINGS);
    let files = [Some(system_settings(env)), own(env).map(|own| own.join(SETTINGS)), Some(directory)];
    files.into_iter().flatten()
}

const TOOLS: &[(&str, Kind)] = &[
    ("run_shell_command", Kind::Shell),
    ("write_file", Kind::Write),
    ("replace", Kind::Edit),
    ("read_file", Kind::Read),
    ("read_many_files", Kind::Read),
    ("list_directory", Kind::Read),
    ("glob", Kind::Read),
    ("grep_search", Kind::Read),
    ("search_file_content", Kind::Read),
    ("web_fetch", Kind::Fetch),
    ("google_web_search", Kind::Other),
    ("invoke_agent", Kind::Agent),
    ("activate_skill", Kind::Other),
    ("ask_user", Kind::Other),
    ("complete_task", Kind::Other),
    ("enter_plan_mode", Kind::Other),
    ("exit_plan_mode", Kind::Other),
    ("get_internal_docs", Kind::Other),
    ("list_mcp_resources", Kind::Other),
    ("read_mcp_resource", Kind::Other),
    ("save_memory", Kind::Other),
    ("update_topic", Kind::Other),
    ("write_todos", Kind::Other),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::{Facts, Program, hooks};

    fn ours() -> Vec<Hook> {
        hooks(AgentBinary::Gemini, &Program::binary("/b/amplihack-hooks"), Facts::default()).unwrap()
    }

    #[test]
    fn the_machines_settings_stay_in_force_beside_the_hooks() {
        let theirs = "{ // theirs\n \"telemetry\": {\"enabled\": false}, \"hooks\": {\"BeforeTool\": [{\"hooks\": []}]} }";
        let settings = crate::settings::value(&beside(Some(theirs), &ours()).unwrap()).unwrap();
        assert_eq!(settings["telemetry"]["enabled"], false);
        let guard = &settings["hooks"]["BeforeTool"][1]["hooks"][0];
        assert!(guard["command"].as_str().unwrap().ends_with("exit 2; }"));
        assert_eq!(guard["timeout"], 10_000);
        assert!(beside(Some("[]"), &ours()).is_err());
    }

    #[test]
    fn what_others_may_write_is_not_what_gemini_believes() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("system.json");
        std::fs::write(&theirs, "{\"telemetry\": {\"enabled\": false}}").unwrap();
        let brought = bring(&ours(), Path::new("/run/x"), &Env::empty().with(VARIABLE, &theirs)).unwrap();
        assert_eq!(brought.values, ["/run/x/settings.json"]);
        let settings = crate::settings::value(&brought.files[0].1).unwrap();
        assert!(settings["telemetry"].is_null() && settings["hooks"].is_object());
        assert!(!reads(&theirs));
        assert!(reads(Path::new("/usr/amplihack-is-not-here")));
    }

    #[test]
    fn hooks_that_are_switched_off_anywhere_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let (home, cwd) = (dir.path().join("home"), dir.path().join("work"));
        let env = Env::empty().with("HOME", &home).with(VARIABLE, dir.path().join("system.json"));
        assert_eq!(switched_off(&env, &cwd), None);
        for file in ["system.json", "home/.gemini/settings.json", "work/.gemini/settings.json"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "{\"hooksConfig\": {\"enabled\": false}}").unwrap();
            assert_eq!(switched_off(&env, &cwd), Some((file.clone(), ENABLED)));
            std::fs::write(&file, "{\"hooksConfig\": {\"enabled\": true}}").unwrap();
        }
        assert_eq!(switched_off(&env, &cwd), None);
    }

    #[test]
    fn a_hook_that_is_left_out_by_its_command_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("HOME", dir.path()).with(VARIABLE, dir.path().join("system.json"));
        let command = &ours()[0].command;
        let file = dir.path().join("work/.gemini/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let write = |disabled: &Value| {
            std::fs::write(&file, serde_json::json!({"hooksConfig": {"disabled": disabled}}).to_string())
                .unwrap();
        };
        for harmless in
            [serde_json::json!([]), serde_json::json!(command), serde_json::json!(["*", "amplihack", 5])]
        {
            write(&harmless);
            assert_eq!(left_out(&env, &dir.path().join("work"), command), None, "{harmless}");
        }
        write(&serde_json::json!(["x", command]));
        assert_eq!(left_out(&env, &dir.path().join("work"), command), Some((file.clone(), DISABLED)));
    }

    /// What Gemini was seen to do in a folder, by what its user decided.
    #[test]
    fn the_nearest_decision_says_whether_a_folder_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let work = base.join("a/work");
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(base.join(".gemini")).unwrap();
        let env = Env::empty().with("HOME", &base).with(VARIABLE, base.join("system.json"));
        assert!(!trusts(&env, &work), "nobody was asked");
        for (rules, expected) in [
            (&[("a", "TRUST_FOLDER")][..], true),
            (&[("a/other", "TRUST_PARENT")], true),
            (&[("a", "TRUST_FOLDER"), ("a/work", "DO_NOT_TRUST")], false),
            (&[("a", "DO_NOT_TRUST"), ("a/work", "TRUST_FOLDER")], true),
            (&[("b", "TRUST_FOLDER")], false),
            (&[("a/wor", "TRUST_FOLDER")], false),
        ] {
            let rules: serde_json::Map<String, Value> = rules
                .iter()
                .map(|(folder, rule)| (base.join(folder).display().to_string(), (*rule).into()))
                .collect();
            std::fs::write(
                base.join(".gemini/trustedFolders.json"),
                Value::Object(rules.clone()).to_string(),
            )
            .unwrap();
            assert_eq!(trusts(&env, &work), expected, "{rules:?}");
            assert!(trusts(&env.clone().with("GEMINI_CLI_TRUST_WORKSPACE", "true"), &work));
        }
        std::fs::write(
            base.join(".gemini/settings.json"),
            "{\"security\": {\"folderTrust\": {\"enabled\": false}}}",
        )
        .unwrap();
        assert!(trusts(&env, &work));
    }

    #[test]
    fn a_worktree_is_trusted_as_its_repository_is() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (work, tree) = (base.join("work"), base.join("tree"));
        std::fs::create_dir_all(base.join(".gemini")).unwrap();
        let env = Env::empty().with("HOME", &base).with(VARIABLE, base.join("system.json"));
        let by = |agent, env: &Env| crate::switches::trust_like(agent, env, &work, &tree);
        assert_eq!(by(AgentBinary::Gemini, &env), None, "nobody trusts the repository");
        let text = format!("{{\"{}\": \"TRUST_FOLDER\"}}", work.display());
        std::fs::write(base.join(".gemini/trustedFolders.json"), text).unwrap();
        assert_eq!(by(AgentBinary::Gemini, &env), Some((TRUST, "true")));
        assert_eq!(by(AgentBinary::Gemini, &env.clone().with(TRUST, "true")), None);
        assert_eq!(by(AgentBinary::Claude, &env), None);
    }
}
