//! Gemini CLI: Claude's format with names of its own, and milliseconds.
//!
//! A launch brings its hooks in the system settings, a file that a variable names. Gemini reads it only where root owns the file's
//! directory and all above it and nobody else may write to them; else it says so on stderr and runs without them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_limited;
use serde_json::Value;

use super::{DialectSpec, HookHost, HostLaunchHooks, LOADER, LaunchContext, has_any};
use crate::acting::ActingPlace;
use crate::dialect::{AnswerEffects, ToolKind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::HookRegistration;
use crate::settings::{EditError, SettingsEdit};
use crate::switches::{LIMIT, has_bool, has_item};

/// The name of a file of settings.
const SETTINGS: &str = "settings.json";
/// The variable that names the system settings.
const VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
/// The name of the list of trusted folders, and the variable that names another one.
const TRUSTED: &str = "trustedFolders.json";
const TRUSTED_BY: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";
/// The variable that makes the directory of a session a trusted one.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";
/// Path to the system settings without that variable.
const USUAL: &str = "/etc/gemini-cli/settings.json";
/// The setting that leaves out all hooks if it is false.
const ENABLED: &str = "hooksConfig.enabled";
/// The setting that leaves out hooks by their commands; what the machine, the user and the directory say of it adds up.
const DISABLED: &str = "hooksConfig.disabled";

pub(super) static HOST: HookHost = HookHost {
    event_name,
    second: 1000,
    longest: i32::MAX.unsigned_abs(),
    end_seconds: u32::MAX,
    end_is_stop: false,
    plain_json: false,
    reads: is_roots_alone,
    bring: launch_settings,
    switched_off,
    left_out,
    trusts: trusts_directory,
    asks_before_each: false,
    asks_by: Some(("ask.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 999\n")),
    trusted_by: Some((TRUST, "true")),
    acts: &[
        ActingPlace::Settings(".gemini/settings.json", &["$schema", "hooksConfig", "model", "ui"]),
        ActingPlace::Below(".gemini/extensions"),
        ActingPlace::Marked(".gemini/commands", &["!{"]),
        ActingPlace::File(".gemini/.env"),
    ],
    unheld: &[".gemini/commands", ".gemini/.env"],
    held_by_settings: true,
    starts: |_, _| true,
    instructions: |_, _, _| None,
    // A `.env` of the directory or of one above it sets what is not set.
    pinned: LOADER,
};

pub(super) static SPEECH: DialectSpec = DialectSpec {
    host: AgentBinary::Gemini,
    name: "gemini",
    sent: |payload| {
        let told = payload.get("hook_event_name").and_then(|name| name.as_str());
        let own = |event: &HookEvent| event_name(*event).filter(|name| event.claude_name() != Some(*name));
        let transcript = payload.get("transcript_path").and_then(|path| path.as_str());
        HookEvent::ALL.iter().filter_map(own).any(|name| told == Some(name))
            || has_any(payload, &["hook_event_name"])
                && transcript.is_some_and(|path| path.contains("/.gemini/"))
    },
    // It reads `decision` beside the nested object, and knows neither `ask` nor a nested `allow`.
    // What stands on stderr is its answer where stdout is empty, also that of a hook which was killed.
    // A deny with the code 2 counts as a hook that failed, three lines without the reason; with 0 the reason is one line.
    answers: AnswerEffects {
        nested: true,
        deny_code: 0,
        asks: false,
        allows: false,
        nested_context: true,
        stderr_counts: true,
    },
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
        HookEvent::PermissionRequest | HookEvent::SubagentStop | HookEvent::ErrorOccurred => return None,
    })
}

/// Reports whether everything of `place` that is there already is root's alone. A directory made below that is our own: root's too, or not.
fn is_roots_alone(place: &Path) -> bool {
    let safe = |path: &Path| {
        let is_roots =
            |meta: std::fs::Metadata| meta.uid() == 0 && (meta.is_symlink() || meta.mode() & 0o022 == 0);
        path.symlink_metadata().is_ok_and(is_roots) && path.metadata().is_ok_and(is_roots)
    };
    place.ancestors().filter(|path| path.exists()).all(safe)
}

/// A file of settings that is the machine's own with the hooks in it; the machine's is not what Gemini would not believe.
fn launch_settings(launch: &LaunchContext<'_>) -> Result<HostLaunchHooks, HookError> {
    let LaunchContext { hooks, directory, env, is_held, .. } = launch;
    let theirs = system_settings(env);
    let text = read_limited(&theirs, LIMIT).ok().filter(|_| is_roots_alone(&theirs));
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text =
        merge_hooks(text.as_deref(), hooks).map_err(|why| HookError::Settings { path: theirs, why })?;
    let mut brought = HostLaunchHooks {
        values: vec![directory.join(SETTINGS).into()],
        files: vec![(SETTINGS, text)],
        variables: Vec::new(),
    };
    if *is_held {
        hold_from_repository(&mut brought, directory)?;
    }
    Ok(brought)
}

/// Keeps Gemini from the settings of the directory: it reads them before the flag `--skip-trust` counts, by which it then works there and
/// calls hooks. Until then it trusts nothing.
fn hold_from_repository(brought: &mut HostLaunchHooks, directory: &Path) -> Result<(), HookError> {
    for (name, text) in &mut brought.files {
        let settings = crate::settings::parse_value(text);
        let mut settings =
            settings.map_err(|why| HookError::Settings { path: directory.join(*name), why })?;
        settings["security"]["folderTrust"]["enabled"] = true.into();
        settings["advanced"]["ignoreLocalEnv"] = true.into();
        *text = format!("{settings:#}\n");
    }
    brought.files.push((TRUSTED, "{}\n".to_owned()));
    let trusted = directory.join(TRUSTED).display().to_string();
    brought.variables = vec![(TRUSTED_BY.to_owned(), trusted), (TRUST.to_owned(), String::new())];
    Ok(())
}

fn merge_hooks(theirs: Option<&str>, hooks: &[HookRegistration]) -> Result<String, EditError> {
    SettingsEdit::Hooks { host: AgentBinary::Gemini, hooks: hooks.to_vec() }.apply_to(theirs)
}

fn system_settings(env: &Env) -> PathBuf {
    env.path(VARIABLE).unwrap_or_else(|| USUAL.into())
}

/// The defaults of an administrator, for users who say nothing else.
fn system_defaults(env: &Env) -> PathBuf {
    env.path("GEMINI_CLI_SYSTEM_DEFAULTS_PATH")
        .unwrap_or_else(|| "/etc/gemini-cli/system-defaults.json".into())
}

/// Reports whether Gemini trusts `cwd`: of the folders that its user decided on, the nearest counts. Else it leaves out hooks and asks, or,
/// headless, does not run at all.
fn trusts_directory(env: &Env, cwd: &Path) -> bool {
    let off = |file: &PathBuf| has_bool(file, "security.folderTrust.enabled", false);
    let user = gemini_directory(env).map(|own| own.join(SETTINGS));
    if env.text(TRUST) == Some("true") || [Some(system_settings(env)), user].iter().flatten().any(off) {
        return true;
    }
    let named = env.path(TRUSTED_BY);
    let file = named.or_else(|| gemini_directory(env).map(|own| own.join(TRUSTED)));
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
fn gemini_directory(env: &Env) -> Option<PathBuf> {
    let named = env.path("GEMINI_CLI_HOME").filter(|path| path.is_absolute());
    Some(named.or_else(|| env.home())?.join(".gemini"))
}

/// Files of the machine, the user and the directory. The hooks that a user switched off would run again if a launch overruled it.
fn switched_off(env: &Env, cwd: Option<&Path>) -> Option<(PathBuf, &'static str)> {
    let off = settings_files(env, cwd).find(|file| has_bool(file, ENABLED, false))?;
    Some((off, ENABLED))
}

/// A repository can do this to a hook whose command it guesses, as one that is installed; a launch's has a number of its own in it.
fn left_out(env: &Env, cwd: &Path, command: &str) -> Option<(PathBuf, &'static str)> {
    let off = settings_files(env, Some(cwd)).find(|file| has_item(file, DISABLED, command))?;
    Some((off, DISABLED))
}

fn settings_files(env: &Env, cwd: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let directory = cwd.map(|cwd| cwd.join(".gemini").join(SETTINGS));
    let own = gemini_directory(env).map(|own| own.join(SETTINGS));
    let files = [Some(system_settings(env)), Some(system_defaults(env)), own, directory];
    files.into_iter().flatten()
}

const TOOLS: &[(&str, ToolKind)] = &[
    ("run_shell_command", ToolKind::Shell),
    ("write_file", ToolKind::Write),
    ("replace", ToolKind::Edit),
    ("read_file", ToolKind::Read),
    ("read_many_files", ToolKind::Read),
    ("list_directory", ToolKind::Read),
    ("glob", ToolKind::Read),
    ("grep_search", ToolKind::Read),
    ("search_file_content", ToolKind::Read),
    ("web_fetch", ToolKind::Fetch),
    ("google_web_search", ToolKind::Other),
    ("list_background_processes", ToolKind::Other),
    ("read_background_output", ToolKind::Other),
    ("invoke_agent", ToolKind::Agent),
    ("activate_skill", ToolKind::Other),
    ("ask_user", ToolKind::Other),
    ("complete_task", ToolKind::Other),
    ("enter_plan_mode", ToolKind::Other),
    ("exit_plan_mode", ToolKind::Other),
    ("get_internal_docs", ToolKind::Other),
    ("list_mcp_resources", ToolKind::Other),
    ("read_mcp_resource", ToolKind::Other),
    ("save_memory", ToolKind::Other),
    ("update_topic", ToolKind::Other),
    ("write_todos", ToolKind::Other),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::{HookProgram, RegistrationFacts, build_hooks};

    fn ours() -> Vec<HookRegistration> {
        build_hooks(
            AgentBinary::Gemini,
            &HookProgram::from_binary("/b/amplihack-hooks"),
            RegistrationFacts::default(),
        )
        .unwrap()
    }

    #[test]
    fn the_machines_settings_stay_in_force_beside_the_hooks() {
        let theirs = "{ // theirs\n \"telemetry\": {\"enabled\": false}, \"hooks\": {\"BeforeTool\": [{\"hooks\": []}]} }";
        let settings = crate::settings::parse_value(&merge_hooks(Some(theirs), &ours()).unwrap()).unwrap();
        assert_eq!(settings["telemetry"]["enabled"], false);
        let guard = &settings["hooks"]["BeforeTool"][1]["hooks"][0];
        assert!(guard["command"].as_str().unwrap().ends_with("exit 2 ;; esac"));
        assert_eq!(guard["timeout"], 2_147_483_647);
        assert!(merge_hooks(Some("[]"), &ours()).is_err());
    }

    #[test]
    fn what_others_may_write_is_not_what_gemini_believes() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("system.json");
        std::fs::write(&theirs, "{\"telemetry\": {\"enabled\": false}}").unwrap();
        let env = Env::empty().with_variable(VARIABLE, &theirs);
        let (hooks, directory) = (ours(), Path::new("/run/x"));
        let launch = LaunchContext {
            hooks: &hooks,
            directory,
            env: &env,
            cwd: directory,
            theirs: None,
            asks_before_each: false,
            is_held: false,
        };
        let brought = launch_settings(&launch).unwrap();
        assert_eq!(brought.values, ["/run/x/settings.json"]);
        let settings = crate::settings::parse_value(&brought.files[0].1).unwrap();
        assert!(settings["telemetry"].is_null() && settings["hooks"].is_object());
        let held = launch_settings(&LaunchContext { is_held: true, ..launch }).unwrap();
        let settings = crate::settings::parse_value(&held.files[0].1).unwrap();
        assert!(settings["hooks"].is_object(), "{settings}");
        assert_eq!(settings["security"]["folderTrust"]["enabled"], true);
        assert_eq!(settings["advanced"]["ignoreLocalEnv"], true);
        let set =
            |name: &str| held.variables.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
        assert_eq!((set(TRUSTED_BY), set(TRUST)), (Some("/run/x/trustedFolders.json"), Some("")));
        assert!(!is_roots_alone(&theirs));
        assert!(is_roots_alone(Path::new("/usr/amplihack-is-not-here")));
    }

    #[test]
    fn hooks_that_are_switched_off_anywhere_are_seen() {
        let dir = tempfile::tempdir().unwrap();
        let (home, cwd) = (dir.path().join("home"), dir.path().join("work"));
        let env =
            Env::empty().with_variable("HOME", &home).with_variable(VARIABLE, dir.path().join("system.json"));
        assert_eq!(switched_off(&env, Some(&cwd)), None);
        for file in ["system.json", "home/.gemini/settings.json", "work/.gemini/settings.json"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "{\"hooksConfig\": {\"enabled\": false}}").unwrap();
            assert_eq!(switched_off(&env, Some(&cwd)), Some((file.clone(), ENABLED)));
            assert_eq!(switched_off(&env, None).is_some(), !file.starts_with(&cwd), "{}", file.display());
            std::fs::write(&file, "{\"hooksConfig\": {\"enabled\": true}}").unwrap();
        }
        assert_eq!(switched_off(&env, Some(&cwd)), None);
    }

    #[test]
    fn a_hook_that_is_left_out_by_its_command_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty()
            .with_variable("HOME", dir.path())
            .with_variable(VARIABLE, dir.path().join("system.json"));
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
        let env = Env::empty().with_variable("HOME", &base).with_variable(VARIABLE, base.join("system.json"));
        assert!(!trusts_directory(&env, &work), "nobody was asked");
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
            assert_eq!(trusts_directory(&env, &work), expected, "{rules:?}");
            assert!(trusts_directory(
                &env.clone().with_variable("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                &work
            ));
        }
        std::fs::write(
            base.join(".gemini/settings.json"),
            "{\"security\": {\"folderTrust\": {\"enabled\": false}}}",
        )
        .unwrap();
        assert!(trusts_directory(&env, &work));
    }

    #[test]
    fn a_worktree_is_trusted_as_its_repository_is() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (work, tree) = (base.join("work"), base.join("tree"));
        std::fs::create_dir_all(base.join(".gemini")).unwrap();
        let env = Env::empty().with_variable("HOME", &base).with_variable(VARIABLE, base.join("system.json"));
        let by = |agent, env: &Env| crate::switches::trust_like(agent, env, &work, &tree);
        assert_eq!(by(AgentBinary::Gemini, &env), None, "nobody trusts the repository");
        let text = format!("{{\"{}\": \"TRUST_FOLDER\"}}", work.display());
        std::fs::write(base.join(".gemini/trustedFolders.json"), text).unwrap();
        assert_eq!(by(AgentBinary::Gemini, &env), Some((TRUST, "true")));
        assert_eq!(by(AgentBinary::Gemini, &env.clone().with_variable(TRUST, "true")), None);
        assert_eq!(by(AgentBinary::Claude, &env), None);
    }
}
