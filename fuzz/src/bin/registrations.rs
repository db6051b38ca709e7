//! Settings of users that an installation edits in place: what is theirs stays, to the byte where nothing was ours.

use std::fs;
use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use amplihack_hooks::registration::{HookProgram, RegistrationFacts, build_hooks, verify_registration};
use amplihack_hooks::settings::{
    RegisteredCommand, SettingsEdit, SettingsUndo, find_hooks, parse_value, trust_entries, trust_state,
};
use amplihack_hooks::staging::copilot_commands;
use amplihack_setup::install::{InstallRequest, InstallScope, install_hooks, uninstall_hooks};
use serde_json::{Value, json};

const SEEDS: &[&str] = &[
    "// mine\n{\n  \"model\": \"x\", // first\n  /* many\n     lines */\n  \"hooks\": {\n    \"PreToolUse\": [\n      // keep\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"their-guard\"}]},\n    ],\n    \"Notification\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]\n  },\n  \"env\": {\"A\": \"1\"}\n}\n",
    "{\"hooks\": {\"Stop\": [{\"matcher\":\"*\",\"hooks\": [{\"type\":\"command\",\"command\":\"/old/amplihack-hooks stop --host claude\",\"timeout\":120}]}]}}",
    "{\n  // mine\n  \"amp.permissions\": [{\"tool\": \"Bash\", \"action\": \"allow\"}],\n  \"amp.mcpServers\": {}\n}\n",
    "// head\n{\"installed_plugins\": [{\"name\": \"theirs\", \"source\": {\"a\": 1}}], \"x\": 1}\n",
    "# mine\nmodel = \"x\" # why\n\n[hooks.state.\"/t:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
    "[hooks]\nstate = { \"/t:stop:0:0\" = { trusted_hash = \"sha256:1\", enabled = false } }\n[features]\nhooks = true\n",
    "# Copilot\n\nwords\n\n<!-- AMPLIHACK_INSTRUCTIONS_START -->\nold\n<!-- AMPLIHACK_INSTRUCTIONS_END -->\n",
    "",
    "\n",
    "{}",
];

const DICTIONARY: &[&str] = &[
    "\"hooks\": {",
    "\"PreToolUse\": [",
    "\"Stop\":",
    "{\"matcher\": \"*\", \"hooks\": [",
    "{\"type\": \"command\", \"command\": \"",
    "/b/amplihack-hooks pre-tool-use",
    "amplihack hook stop",
    " --host claude",
    " || true",
    "\"timeout\": 10",
    "\"amp.permissions\": [",
    "\"installed_plugins\": [",
    "{\"name\":\"amplihack\",\"marketplace\":\"local\"}",
    "[hooks.state]",
    "[hooks.state.\"k\"]",
    "trusted_hash = ",
    "\"sha256:0\"",
    "[[hooks]]",
    "hooks = []",
    "state = {}",
    "<!-- AMPLIHACK_INSTRUCTIONS_START -->",
    "<!-- AMPLIHACK_INSTRUCTIONS_END -->",
    "// c\n",
    "/* c */",
    "\r\n",
    "\n\n",
    "\u{feff}",
];

const PROGRAM: &str = "/b/amplihack-hooks";

/// Every edit that is made in files of users, and what takes it back.
fn edits() -> Vec<SettingsEdit> {
    let ours = |host| SettingsEdit::Hooks {
        host,
        hooks: build_hooks(host, &HookProgram::from_binary(PROGRAM), RegistrationFacts::default())
            .expect("it has hooks"),
    };
    let codex = ours(AgentBinary::Codex);
    let text = codex.apply_to(None).expect("a new file");
    let entries = trust_entries(Path::new("/h/.codex/hooks.json"), &text).expect("of a file of ours");
    vec![
        ours(AgentBinary::Claude),
        codex,
        SettingsEdit::Trust { entries },
        SettingsEdit::Rules {
            rules: vec![json!({"tool": "Bash", "action": "reject", "matches": {"cmd": "rm *"}})],
        },
        SettingsEdit::Block { text: "words".to_owned() },
        SettingsEdit::Plugin {
            entry: json!({"name": "amplihack", "marketplace": "local", "installed_at": "now"}),
        },
    ]
}

/// What a text says, as its reader sees it; `None` where it is a text for people.
fn meaning(edit: &SettingsEdit, text: &str) -> Option<String> {
    match edit {
        // Within a line, a table without anything in it may be theirs or ours.
        SettingsEdit::Trust { .. } => {
            let text: String = text.split_whitespace().collect();
            Some(text.replace("hooks={state={}}", "hooks={}"))
        }
        SettingsEdit::Block { .. } => Some(text.trim_end().to_owned()),
        // An event without a hook says nothing.
        _ => parse_value(text).ok().map(|mut value| {
            if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) {
                hooks.retain(|_, groups| *groups != json!([]));
                if hooks.is_empty() {
                    value.as_object_mut().map(|all| all.remove("hooks"));
                }
            }
            value.to_string()
        }),
    }
}

fn main() -> std::process::ExitCode {
    let target = Target {
        name: "registrations",
        seeds: seeds::texts(SEEDS),
        dictionary: words::json_and(DICTIONARY),
        longest: 32 << 10,
        most: |len| linear(200, 60, len),
    };
    let (edits, scratch) = (edits(), Scratch::new());
    run(target, |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            edits.iter().for_each(|edit| one(edit, text));
            let _ = RegisteredCommand::parse(text);
            if let Ok(value) = parse_value(text) {
                let _ = copilot_commands(&value);
                let _ = verify_registration(&value, AgentBinary::Claude, Path::new("/s"));
            }
            let _ = (find_hooks(text), trust_state(text, "k", "sha256:0"));
        }
        whole(&scratch, bytes);
    })
}

/// An edit as text: it holds, making it again changes nothing, and without it the text says what it said.
fn one(edit: &SettingsEdit, text: &str) {
    let mark = edit.undo_record();
    let Ok(changed) = edit.apply_to(Some(text)) else { return };
    assert_eq!(edit.apply_to(Some(&changed)).as_ref(), Ok(&changed), "making it twice changes it");
    let before = mark.strip_from(text).expect("what takes it in gives it back");
    let after = mark.strip_from(&changed).expect("what was changed can be changed back");
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    if let SettingsUndo::Hooks = mark {
        assert!(find_hooks(&after).expect("it is read").is_empty(), "a command of ours is left");
    }
    let (before, after) = (meaning(edit, &before), meaning(edit, &after));
    // A mark before nothing says nothing.
    let empty = |meaning: &Option<String>| {
        meaning.as_deref().is_none_or(|text| ["", "{}", "\u{feff}"].contains(&text))
    };
    assert!(before == after || (empty(&before) && empty(&after)), "{before:?} has become {after:?}");
}

/// An installation and its end: files have the bytes that they had, those that were not there are gone.
fn whole(scratch: &Scratch, bytes: &[u8]) {
    const FILES: [&str; 4] = [
        "home/.claude/settings.json",
        "home/.codex/hooks.json",
        "home/.codex/config.toml",
        "home/.config/amp/settings.json",
    ];
    let home = scratch.path().join("home");
    let env = Env::empty().with_variable("HOME", &home).with_variable("PATH", "/nowhere");
    let _ = fs::remove_dir_all(&home);
    let file = FILES[bytes.len() % FILES.len()];
    let path = scratch.write(file, bytes);
    let agents = [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Amp];
    let request = InstallRequest {
        scope: InstallScope::User,
        program: HookProgram::from_binary(PROGRAM),
        policy: None,
        rules: vec![json!({"tool": "Bash", "action": "reject"})],
    };
    let installed = install_hooks(&agents, &request, &env).is_ok();
    if installed {
        assert!(install_hooks(&agents, &request, &env).is_ok(), "it cannot be made twice");
    }
    let back = uninstall_hooks(&agents, &request.scope, &env);
    // What an older installation had left goes too.
    if std::str::from_utf8(bytes).is_ok_and(|text| text.contains("amplihack")) {
        return;
    }
    assert!(!installed || back.is_ok(), "it cannot be taken back: {back:?}");
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "it does not have its bytes");
    let left: Vec<&str> =
        FILES.into_iter().filter(|other| *other != file && scratch.path().join(other).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}
