//! What an installation stages for Copilot.

use amplihack_testkit::Sandbox;

use super::installed;
use crate::scene::json;
use crate::world::{amplihack, run};

/// A user whose `~/.amplihack/.claude` has what Claude Code is given, installed for Copilot.
fn staged() -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.link("amplihack", amplihack());
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    for (path, text) in [
        ("agents/amplihack/core/architect.md", "an agent\n"),
        ("commands/amplihack/plan.md", "a command\n"),
        ("skills/review/SKILL.md", "a skill\n"),
    ] {
        sandbox.write(format!("home/.amplihack/.claude/{path}"), text);
    }
    run(&sandbox, &["install", "--agent", "copilot"]).assert_code(0);
    sandbox
}

fn holds(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.home().join(".copilot").join(path);
    let found = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, text);
}

#[test]
fn agents_are_staged_where_copilot_finds_them() {
    holds(&staged(), "agents/amplihack/architect.md", "an agent\n");
}

#[test]
fn commands_are_staged_as_a_plugin() {
    let sandbox = staged();
    holds(&sandbox, "installed-plugins/amplihack@local/commands/plan.md", "a command\n");
    assert!(sandbox.home().join(".copilot/installed-plugins/amplihack@local/plugin.json").is_file());
}

#[test]
fn skills_are_staged_with_their_directories() {
    holds(&staged(), "skills/review/SKILL.md", "a skill\n");
}

#[test]
fn the_manifest_of_a_repository_registers_each_wrapper_with_its_event() {
    let sandbox = installed();
    let manifest = json(&sandbox, "work/.github/hooks/amplihack-hooks.json");
    for (event, wrapper) in [
        ("sessionStart", "session-start"),
        ("sessionEnd", "session-stop"),
        ("preToolUse", "pre-tool-use"),
        ("postToolUse", "post-tool-use"),
        ("userPromptSubmitted", "user-prompt-submit"),
    ] {
        let command = manifest["hooks"][event][0]["bash"].as_str().unwrap_or_default();
        let words = command.split(|c: char| " ();".contains(c));
        let file = words.into_iter().find(|word| word.starts_with(".github/")).unwrap_or_default();
        assert_eq!(file, format!(".github/hooks/{wrapper}"), "{manifest:#}");
        assert!(sandbox.work().join(file).is_file(), "{file}");
    }
}
