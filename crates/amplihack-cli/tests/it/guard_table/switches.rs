//! Situations of switches: what a user passes, or has in the environment, that leaves hooks out.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::ScriptedReply;

use super::stage::{Expected, Stage};
use crate::real_lines::{FULL, first_session};

pub(super) fn settings_of_the_user(stage: &mut Stage<'_>) {
    stage.put(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    stage.trusts_repository();
    stage.behind(&["--settings", r#"{"includeCoAuthoredBy": false}"#]);
}

pub(super) fn switched_off_by_argument(stage: &mut Stage<'_>) {
    stage.expected = Expected::HeldOrAnnounced;
    match stage.agent {
        AgentBinary::Claude => stage.behind(&["--bare"]),
        _ => stage.behind(&["-c", "features.hooks=false"]),
    }
}

pub(super) fn switched_off_by_variable(stage: &mut Stage<'_>) {
    stage.expected = Expected::HeldOrAnnounced;
    stage.world.sandbox.set("CLAUDE_CODE_SIMPLE", "1");
}

pub(super) fn passed_through(stage: &mut Stage<'_>) {
    stage.expected = Expected::HeldOrAnnounced;
    let words: &[&str] = match stage.agent {
        AgentBinary::Claude => &["claude", "--raw", "--", "-p", "--dangerously-skip-permissions", "go"],
        AgentBinary::Codex => &["codex", "--raw", "--", "exec", FULL, "go"],
        AgentBinary::Copilot => &["copilot", "--raw", "--", "-p", "go", "--allow-all"],
        _ => &["gemini", "--raw", "--", "-p", "go", "--yolo"],
    };
    stage.arguments = Some(words.iter().map(|word| (*word).to_owned()).collect());
    stage.takes_no_server();
}

/// The words by which Codex resumes are the agent's own; the others are resumed by a flag of `amplihack`.
pub(super) fn resumed_session(stage: &mut Stage<'_>) {
    first_session(stage.world, stage.agent);
    let name = stage.agent.name();
    let words: &[&str] = match stage.agent {
        AgentBinary::Codex => &[name, "exec", "resume", "--last", "go", FULL],
        _ => &[name, "-p", "--continue", "--prompt", "go", "--permissions", "full"],
    };
    stage.arguments = Some(words.iter().map(|word| (*word).to_owned()).collect());
    stage.takes_no_server();
    // The answer of the first session.
    stage.before.push(ScriptedReply::Text("first".to_owned()));
}
