//! Journeys of one launch: headless, in a terminal, resumed.

use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::ScriptedReply;
use amplihack_testkit::Tmux;

use super::cell::{CHANGED, CONTENTS, Cell, TASK, assert_unchanged, printed};
use crate::real_terminal::leave_by;
use crate::world::amplihack;

/// What the agent says at the end of a launch.
const END: &str = "I have written the file.";

/// Without `--permissions` the agent's own default applies, as documented; with `full` the change is there, and only that.
pub(super) fn headless(cell: &Cell<'_>) {
    cell.play(cell.script(END));
    let launch = [cell.agent.name(), "-p", "--prompt", TASK];
    let changed = cell.checkout().join(CHANGED);
    if cell.agent == AgentBinary::Codex {
        // In a project that the user trusts it writes in the workspace.
        let output = cell.amplihack(&launch);
        output.assert_code(0);
        cell.assert_changed(&cell.checkout(), &output);
        std::fs::remove_file(&changed).unwrap();
        cell.trusts_nothing();
    }
    let output = cell.amplihack(&launch);
    output.assert_code(0);
    assert_unchanged(&cell.checkout(), &output);

    let full = [&launch[..], &["--permissions", "full"]].concat();
    let output = cell.amplihack(&full);
    output.assert_code(0).assert_stdout_has(END);
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
    let output = cell.amplihack(&[&full[..], &["--output", "json"]].concat());
    output.assert_code(0);
    let end = output.json();
    assert_eq!((&end["end"], end["denials"].as_array().unwrap().len()), (&"success".into(), 2), "{output}");
    // What is printed of the denied calls tells where more is.
    let output = cell.amplihack(&full);
    cell.typed(&printed(&output, "amplihack audit show")).assert_code(0).assert_stdout_has("deny");
}

/// A first prompt in a terminal; a person watches and leaves.
pub(super) fn terminal(cell: &Cell<'_>) {
    if !Tmux::is_installed() {
        return cell.is_skipped();
    }
    let mut replies = cell.script(END);
    // At `edit` these edit files by their own tool only.
    if matches!(cell.agent, AgentBinary::Copilot | AgentBinary::Gemini) {
        let path = cell.checkout().join(CHANGED).display().to_string();
        replies[0] = ScriptedReply::Write { path, text: CONTENTS.to_owned() };
    }
    cell.play(replies);
    let tmux = Tmux::new(&cell.world.sandbox);
    let (own, leave) = match cell.agent {
        // It would leave a server of its own running for later sessions.
        AgentBinary::Codex => ("-- --no-daemon", "/quit"),
        AgentBinary::Gemini => ("", "/quit"),
        _ => ("", "/exit"),
    };
    let script = format!(
        "'{}' {} --prompt '{TASK}' --permissions edit {own}; echo \"exit=$?\"; exec cat",
        amplihack().display(),
        cell.agent
    );
    tmux.new_session("c", "sh", ["-c", &script]);
    tmux.wait_for("c", END, Duration::from_mins(1));
    leave_by(&tmux, leave);
    tmux.wait_for("c", "exit=0", Duration::from_secs(10));
    drop(tmux);
    let output = cell.amplihack(&["sessions", "list"]);
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
}

/// A session that is resumed by its id goes on in its directory, with what was said before.
pub(super) fn resumed(cell: &Cell<'_>) {
    cell.play(vec![ScriptedReply::Text("What shall I write?".to_owned())]);
    let first = cell.amplihack(&[
        cell.agent.name(),
        "-p",
        "--prompt",
        "Remember the word heliotrope.",
        "--output",
        "json",
    ]);
    first.assert_code(0);
    cell.play(cell.script(END));
    let listed = cell.amplihack(&["sessions", "list", "--json"]);
    listed.assert_code(0);
    let id = listed.json()["sessions"][0]["id"].as_str().unwrap().to_owned();
    let output =
        cell.amplihack(&["sessions", "resume", &id, "-p", "--prompt", TASK, "--permissions", "full"]);
    output.assert_code(0).assert_stdout_has(END);
    cell.assert_changed(&cell.checkout(), &output);
    cell.assert_guarded(&output);
    let requests = cell.world.server.requests("run");
    let last =
        requests.iter().rev().map(|request| request.request_texts()).find(|said| !said.is_empty()).unwrap();
    assert!(last.iter().any(|said| said.text.contains("heliotrope")), "the session is another: {last:#?}");
}
