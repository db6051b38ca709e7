//! GitHub Copilot CLI, which speaks two dialects: it answers in that of the event's name by which a hook is registered.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::repository::project_root;
use amplihack_sys::fs::read_limited;
use serde_json::{Value, json};

use super::{DialectSpec, HookHost, HostLaunchHooks, LaunchContext, claude, has_any};
use crate::acting::ActingPlace;
use crate::dialect::{AnswerEffects, ToolKind};
use crate::event::HookEvent;
use crate::registration::in_claudes_format;
use crate::staging;
use crate::switches::{KEY, LIMIT, has_bool};

pub(super) static HOST: HookHost = HookHost {
    event_name: HookEvent::claude_name,
    second: 1,
    longest: super::DAYS_IN_SECONDS,
    end_seconds: u32::MAX,
    end_is_stop: true,
    plain_json: false,
    reads: |_| true,
    bring: |launch| Ok(plugin_directory(launch)),
    switched_off,
    left_out: |_, _, _| None,
    trusts: |_, _| true,
    asks_before_each: false,
    asks_by: None,
    trusted_by: None,
    acts: &[
        ActingPlace::OthersBelow(".github/hooks", staging::is_own_file),
        ActingPlace::Settings(".claude/settings.json", claude::HARMLESS),
        ActingPlace::Settings(".claude/settings.local.json", claude::HARMLESS),
        ActingPlace::Settings(".github/copilot/settings.json", claude::HARMLESS),
        ActingPlace::Settings(".github/copilot/settings.local.json", claude::HARMLESS),
        ActingPlace::Servers(".mcp.json"),
        ActingPlace::Below(".github/extensions"),
    ],
    unheld: &[],
    held_by_settings: false,
    starts: starts_repository_files,
    instructions: |_, _, _| None,
    pinned: &[],
};

/// A hook that is registered by one of Copilot's own event names.
pub(super) static OWN: DialectSpec = DialectSpec {
    host: AgentBinary::Copilot,
    name: "copilot",
    sent: |payload| {
        has_any(payload, &["sessionId", "toolName", "toolArgs", "hookName"])
            && !has_any(payload, &["hook_event_name", "session_id", "tool_name", "tool_input"])
    },
    answers: AnswerEffects {
        nested: false,
        deny_code: 0,
        asks: true,
        allows: true,
        nested_context: false,
        stderr_counts: false,
    },
    tools: TOOLS,
};

/// A hook that is registered by one of Claude's event names.
pub(super) static AS_CLAUDE: DialectSpec = DialectSpec {
    host: AgentBinary::Copilot,
    name: "copilot in Claude's dialect",
    // Copilot alone says the time in Claude's dialect.
    sent: |payload| {
        has_any(payload, &["hook_event_name", "session_id", "tool_name", "tool_input"])
            && payload.get("timestamp").is_some_and(Value::is_string)
    },
    // Copilot drops every reason when the code is not 0.
    answers: AnswerEffects {
        nested: true,
        deny_code: 0,
        asks: true,
        allows: true,
        nested_context: false,
        stderr_counts: false,
    },
    tools: TOOLS,
};

/// Files of a directory that Copilot takes the setting from, trusted or not. The same word in its own home was shown to switch
/// nothing off.
const IN_DIRECTORY: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
];

/// The settings of a machine's administrator.
const MANAGED: &str = "/etc/github-copilot/managed-settings.json";
/// The one of them by which the hooks of a launch are left out.
const MANAGED_ONLY: &str = "allowManagedHooksOnly";

/// A plugin directory, which Copilot reads once, when it starts.
fn plugin_directory(launch: &LaunchContext<'_>) -> HostLaunchHooks {
    let manifest = json!({
        "name": "amplihack",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "the guard of this amplihack launch",
    });
    HostLaunchHooks {
        values: vec![launch.directory.into()],
        files: vec![
            (".claude-plugin/plugin.json", format!("{manifest:#}\n")),
            ("hooks/hooks.json", format!("{:#}\n", in_claudes_format(launch.hooks))),
        ],
        variables: Vec::new(),
    }
}

/// Variables by which Copilot starts what a repository has in any folder, if they are exactly this.
const STARTS: (&[&str], &str) = (
    &[
        "COPILOT_ALLOW_ALL",
        "GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS",
        "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS",
        "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP",
    ],
    "true",
);

/// Reports whether Copilot starts files of a repository in `cwd`: where its user trusts the folder or one above, an editor may do so, or a
/// variable says so. Elsewhere it starts nothing of it, and no flag makes it distrust a folder.
fn starts_repository_files(env: &Env, cwd: &Path) -> bool {
    if STARTS.0.iter().any(|name| env.text(name) == Some(STARTS.1)) {
        return true;
    }
    let in_home = |below: &str| env.home().map(|home| home.join(below));
    let config = env.path("XDG_CONFIG_HOME").map(|config| config.join(".copilot"));
    let own = [env.path("COPILOT_HOME"), in_home(".copilot"), config, in_home(".config/.copilot")];
    own.into_iter().flatten().any(|own| {
        let has_editor = std::fs::read_dir(own.join("ide")).is_ok_and(|mut files| files.next().is_some());
        has_editor || trusts_folder(&own.join("config.json"), cwd)
    })
}

/// Reports whether the file of Copilot's state names `cwd` or a directory above it as trusted, or cannot be understood.
fn trusts_folder(file: &Path, cwd: &Path) -> bool {
    let Ok(text) = read_limited(file, LIMIT) else { return file.exists() };
    let Ok(state) = crate::settings::parse_value(&String::from_utf8_lossy(&text)) else { return true };
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let folders = ["trustedFolders", "trusted_folders"].map(|key| state[key].as_array().cloned());
    let is_above = |folder: &Path| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        real.starts_with(&folder) || cwd.starts_with(&folder)
    };
    folders
        .into_iter()
        .flatten()
        .flatten()
        .any(|folder| folder.as_str().is_some_and(|path| is_above(path.as_ref())))
}

fn switched_off(env: &Env, cwd: Option<&Path>) -> Option<(PathBuf, &'static str)> {
    if has_bool(Path::new(MANAGED), MANAGED_ONLY, true) {
        return Some((MANAGED.into(), MANAGED_ONLY));
    }
    Some((disabling_file(env, cwd?)?, KEY))
}

fn disabling_file(env: &Env, cwd: &Path) -> Option<PathBuf> {
    let root = project_root(cwd, env);
    let directories = cwd.ancestors().take_while(|directory| {
        // Beyond the repository's root nothing is its own; without a repository only the directory itself counts.
        *directory == cwd || root.as_ref().is_some_and(|root| directory.starts_with(root))
    });
    directories
        .flat_map(|directory| IN_DIRECTORY.iter().map(|file| directory.join(file)))
        .find(|file| has_bool(file, KEY, true))
}

const TOOLS: &[(&str, ToolKind)] = &[
    ("bash", ToolKind::Shell),
    ("shell", ToolKind::Shell),
    ("powershell", ToolKind::Shell),
    ("write_bash", ToolKind::Shell),
    ("write_powershell", ToolKind::Shell),
    ("read_bash", ToolKind::Other),
    ("read_powershell", ToolKind::Other),
    ("stop_bash", ToolKind::Other),
    ("stop_powershell", ToolKind::Other),
    ("list_bash", ToolKind::Other),
    ("create", ToolKind::Write),
    ("write", ToolKind::Write),
    ("edit", ToolKind::Edit),
    ("str_replace", ToolKind::Edit),
    ("str_replace_editor", ToolKind::Edit),
    ("insert", ToolKind::Edit),
    ("apply_patch", ToolKind::Edit),
    ("view", ToolKind::Read),
    ("read", ToolKind::Read),
    ("show_file", ToolKind::Read),
    ("grep", ToolKind::Read),
    ("rg", ToolKind::Read),
    ("glob", ToolKind::Read),
    ("web_fetch", ToolKind::Fetch),
    ("webfetch", ToolKind::Fetch),
    ("web_search", ToolKind::Other),
    ("task", ToolKind::Agent),
    ("agent", ToolKind::Agent),
    ("read_agent", ToolKind::Other),
    ("list_agents", ToolKind::Other),
    ("report_intent", ToolKind::Other),
    ("update_todo", ToolKind::Other),
    ("ask_user", ToolKind::Other),
    ("skill", ToolKind::Other),
    ("sql", ToolKind::Other),
    ("session_store_sql", ToolKind::Other),
    ("write_agent", ToolKind::Other),
    ("store_memory", ToolKind::Other),
    ("fetch_copilot_cli_documentation", ToolKind::Other),
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_anywhere_between_the_directory_and_the_root_counts() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (root, cwd) = (base.join("r"), base.join("r/a/b"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        for (file, counts) in [
            ("r/a/b/.claude/settings.json", true),
            ("r/a/.github/copilot/settings.json", true),
            ("r/.claude/settings.local.json", true),
            (".claude/settings.json", false),
            ("home/.copilot/settings.json", false),
            ("home/.copilot/config.json", false),
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{ // why\n \"disableAllHooks\": true,\n}").unwrap();
            let env = Env::empty().with_variable("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
            let found = disabling_file(&env, &cwd);
            assert_eq!(found, counts.then(|| file.clone()), "{}", file.display());
            fs::remove_file(&file).unwrap();
        }
    }
}
