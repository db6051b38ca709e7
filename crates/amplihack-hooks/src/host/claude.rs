//! Claude Code.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_limited;
use serde_json::{Map, Value, json};

use super::{DialectSpec, HookHost, HostLaunchHooks, LOADER, LaunchContext};
use crate::acting::ActingPlace;
use crate::dialect::{AnswerEffects, ToolKind};
use crate::error::HookError;
use crate::event::HookEvent;
use crate::registration::{HookRegistration, in_claudes_format};
use crate::switches::{KEY, LIMIT, has_bool, has_item};

pub(super) static HOST: HookHost = HookHost {
    event_name: HookEvent::claude_name,
    second: 1,
    longest: super::DAYS_IN_SECONDS,
    end_seconds: u32::MAX,
    end_is_stop: false,
    plain_json: false,
    reads: |_| true,
    bring: launch_settings,
    switched_off,
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    asks_before_each: true,
    asks_by: None,
    trusted_by: None,
    acts: ACTS,
    unheld: &[],
    held_by_settings: false,
    starts: |_, _| true,
    instructions: |_, _, _| None,
    pinned: &[],
};

pub(super) static SPEECH: DialectSpec = DialectSpec {
    host: AgentBinary::Claude,
    name: "claude",
    sent: |_| true,
    answers: AnswerEffects {
        nested: true,
        deny_code: 2,
        asks: true,
        allows: true,
        nested_context: true,
        stderr_counts: false,
    },
    tools: TOOLS,
};

/// The settings of the launch, on its command line: neither a plugin directory nor a home can be taken away from them. Claude
/// counts the last `--settings` only, so the user's own are in them.
fn launch_settings(launch: &LaunchContext<'_>) -> Result<HostLaunchHooks, HookError> {
    let (theirs, variables) = match launch.theirs {
        Some(given) => given_settings(given, launch.cwd)?,
        None => Default::default(),
    };
    let own = |why| HookError::OwnSettings { why };
    let mut merged = merge_hooks(theirs, launch.hooks).map_err(own)?;
    pin_loader(&mut merged, &variables, launch.env).map_err(own)?;
    if launch.asks_before_each {
        ask_before_each(&mut merged).map_err(own)?;
    }
    Ok(HostLaunchHooks {
        values: vec![Value::Object(merged).to_string().into()],
        files: Vec::new(),
        variables,
    })
}

/// Makes Claude ask before each call, also where permissions are skipped; headless, what nobody permits is refused. A hook before the
/// call gives no such permission, one of its questions does: a call of which both were killed does not run.
fn ask_before_each(settings: &mut Map<String, Value>) -> Result<(), String> {
    let Value::Object(permissions) = settings.entry("permissions").or_insert_with(|| json!({})) else {
        return Err("their permissions are no JSON object".to_owned());
    };
    let Value::Array(rules) = permissions.entry("ask").or_insert_with(|| json!([])) else {
        return Err("their permissions have an ask that is no list".to_owned());
    };
    rules.push(json!("*"));
    Ok(())
}

/// Gives the variables of [`LOADER`] the values of the launch in `settings`, which count before those of a repository: with a library
/// of its own in it, the shell of a hook ends before it has started the guard. `variables` are the user's own, given beside.
fn pin_loader(
    settings: &mut Map<String, Value>,
    variables: &[(String, String)],
    env: &Env,
) -> Result<(), String> {
    let Value::Object(pinned) = settings.entry("env").or_insert_with(|| json!({})) else {
        return Err("their env is no JSON object".to_owned());
    };
    for name in LOADER.iter().copied() {
        let given = variables.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let value = given.or_else(|| env.get(name)?.to_str()).unwrap_or_default();
        pinned.entry(name).or_insert_with(|| value.into());
    }
    Ok(())
}

/// Settings without the variables that they set, and these.
type GivenSettings = (Map<String, Value>, Vec<(String, String)>);

/// The user's value of `--settings`: JSON, or a file. The variables of a file may be keys, and every user of a machine reads command lines.
fn given_settings(given: &OsStr, cwd: &Path) -> Result<GivenSettings, HookError> {
    let own = |why: String| HookError::OwnSettings { why };
    let parse = |text: &str| match crate::settings::parse_value(text) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(own("they are no JSON object".to_owned())),
        Err(error) => Err(own(error.to_string())),
    };
    if let Some(text) = given.to_str().filter(|text| text.trim_start().starts_with('{')) {
        return Ok((parse(text)?, Vec::new()));
    }
    let file = cwd.join(given);
    let bytes = read_limited(&file, LIMIT).map_err(|error| own(format!("{}: {error}", file.display())))?;
    let mut settings = parse(&String::from_utf8_lossy(&bytes))?;
    let variables = settings.remove("env").and_then(|env| env.as_object().cloned()).unwrap_or_default();
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok((settings, variables.into_iter().map(|(name, value)| (name, text(value))).collect()))
}

/// `theirs` with the guard's `hooks` in front of their own.
fn merge_hooks(
    mut theirs: Map<String, Value>,
    hooks: &[HookRegistration],
) -> Result<Map<String, Value>, String> {
    if theirs.get(KEY).is_some_and(|value| *value != json!(false)) {
        return Err(format!("they set {KEY}, by which claude leaves out all hooks"));
    }
    theirs.insert(KEY.to_owned(), json!(false));
    let Value::Object(events) = theirs.entry("hooks").or_insert_with(|| json!({})) else {
        return Err("their hooks are no JSON object".to_owned());
    };
    let Value::Object(ours) = in_claudes_format(hooks)["hooks"].take() else { return Ok(theirs) };
    for (name, groups) in ours {
        let (Value::Array(mut groups), Value::Array(old)) =
            (groups, events.get(&name).cloned().unwrap_or_else(|| json!([])))
        else {
            return Err(format!("their hooks for {name} are no list"));
        };
        groups.extend(old);
        events.insert(name, Value::Array(groups));
    }
    Ok(theirs)
}

/// The settings of a machine's administrator, which no flag overrules.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// More of them, a file each.
const MANAGED_MORE: &str = "/etc/claude-code/managed-settings.d";

/// The directory in which Claude has the user's settings, skills, commands and plugins.
pub(crate) fn claude_directory(env: &Env) -> Option<PathBuf> {
    env.path("CLAUDE_CONFIG_DIR").or_else(|| Some(env.home()?.join(".claude")))
}

/// The user's own switch is not lifted: the user's hooks would run again. A repository's is, by the launch's settings.
fn switched_off(env: &Env, _: Option<&Path>) -> Option<(PathBuf, &'static str)> {
    let more = std::fs::read_dir(MANAGED_MORE).into_iter().flatten().flatten().map(|entry| entry.path());
    managed_switch(std::iter::once(MANAGED.into()).chain(more)).or_else(|| {
        let own = claude_directory(env)?.join("settings.json");
        Some(own).filter(|file| has_bool(file, KEY, true)).map(|file| (file, KEY))
    })
}

/// Of `files`, the one by which Claude leaves out the hooks of a launch.
fn managed_switch(files: impl Iterator<Item = PathBuf>) -> Option<(PathBuf, &'static str)> {
    let said = |file: &PathBuf| {
        let switch =
            ["allowManagedHooksOnly", KEY, PLUGIN_ONLY].into_iter().find(|key| has_bool(file, key, true));
        switch.or_else(|| has_item(file, PLUGIN_ONLY, "hooks").then_some(PLUGIN_ONLY))
    };
    files
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .find_map(|file| said(&file).map(|setting| (file, setting)))
}

/// The managed setting by which hooks come from plugins only.
const PLUGIN_ONLY: &str = "strictPluginOnlyCustomization";

/// Keys of Claude's settings that start nothing. Whatever a later version adds counts until somebody looked at it.
pub(super) const HARMLESS: &[&str] = &[
    "$schema",
    "alwaysThinkingEnabled",
    "attribution",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "disableAllHooks",
    "effortLevel",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "language",
    "model",
    "outputStyle",
    "permissions",
    "plansDirectory",
    "respectGitignore",
    "showTurnDuration",
    "spinnerTipsEnabled",
];

/// The beginnings of a command inside of a skill or a slash command.
pub(crate) const INLINE_COMMANDS: [&str; 2] = ["!`", "```!"];

/// Texts that make a skill or a slash command start something.
const ACTING_TEXTS: &[&str] = &[INLINE_COMMANDS[0], INLINE_COMMANDS[1], "hooks:"];

const ACTS: &[ActingPlace] = &[
    ActingPlace::Settings(".claude/settings.json", HARMLESS),
    ActingPlace::Settings(".claude/settings.local.json", HARMLESS),
    ActingPlace::Servers(".mcp.json"),
    ActingPlace::Marked(".claude/skills", ACTING_TEXTS),
    ActingPlace::Marked(".claude/commands", ACTING_TEXTS),
    ActingPlace::Marked(".claude/agents", &["hooks:", "mcpServers:"]),
];

const TOOLS: &[(&str, ToolKind)] = &[
    ("bash", ToolKind::Shell),
    ("powershell", ToolKind::Shell),
    ("monitor", ToolKind::Shell),
    ("bashoutput", ToolKind::Other),
    ("taskoutput", ToolKind::Other),
    ("killshell", ToolKind::Other),
    ("taskstop", ToolKind::Other),
    ("write", ToolKind::Write),
    ("edit", ToolKind::Edit),
    ("multiedit", ToolKind::Edit),
    ("notebookedit", ToolKind::Edit),
    ("read", ToolKind::Read),
    ("glob", ToolKind::Read),
    ("grep", ToolKind::Read),
    ("ls", ToolKind::Read),
    ("webfetch", ToolKind::Fetch),
    ("websearch", ToolKind::Other),
    ("task", ToolKind::Agent),
    ("agent", ToolKind::Agent),
    ("skill", ToolKind::Skill),
    ("slashcommand", ToolKind::Skill),
    // Its script is JavaScript that can start agents and nothing else.
    ("workflow", ToolKind::Other),
    ("croncreate", ToolKind::Other),
    ("crondelete", ToolKind::Other),
    ("cronlist", ToolKind::Other),
    ("schedulewakeup", ToolKind::Other),
    ("sendmessage", ToolKind::Other),
    ("listagents", ToolKind::Other),
    ("reportfindings", ToolKind::Other),
    ("enterworktree", ToolKind::Other),
    ("exitworktree", ToolKind::Other),
    ("listmcpresourcestool", ToolKind::Other),
    ("todowrite", ToolKind::Other),
    ("askuserquestion", ToolKind::Other),
    ("exitplanmode", ToolKind::Other),
    ("enterplanmode", ToolKind::Other),
    ("toolsearch", ToolKind::Other),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switches_of_an_administrator_and_of_the_user_are_seen_and_a_repositorys_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("10.json");
        for (text, expected) in [
            (r#"{"allowManagedHooksOnly": true}"#, Some("allowManagedHooksOnly")),
            (r#"{"disableAllHooks": true}"#, Some(KEY)),
            (r#"{"strictPluginOnlyCustomization": true}"#, Some(PLUGIN_ONLY)),
            (r#"{"strictPluginOnlyCustomization": ["skills", "hooks"]}"#, Some(PLUGIN_ONLY)),
            (r#"{"strictPluginOnlyCustomization": ["skills"], "model": "x"}"#, None),
            ("", None),
        ] {
            std::fs::write(&file, text).unwrap();
            let found = managed_switch([dir.path().join("missing.json"), file.clone()].into_iter());
            assert_eq!(found, expected.map(|setting| (file.clone(), setting)), "{text}");
        }
        let own = dir.path().join(".claude/settings.json");
        std::fs::create_dir(own.parent().unwrap()).unwrap();
        std::fs::write(&own, r#"{"disableAllHooks": true}"#).unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        assert_eq!(switched_off(&env, None), Some((own, KEY)));
        assert_eq!(switched_off(&Env::empty().with_variable("HOME", "/nonexistent"), Some(dir.path())), None);
    }
}
