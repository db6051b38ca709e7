//! Situations of tools: each use of them, skills, servers' tools, what is typed into a running shell, workflows.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::ScriptedReply;
use serde_json::json;

use super::calls::{Call, Evidence, FORBIDDEN, HARMLESS, ToolUse, serve, served};
use super::stage::{Expected, Stage, nested_prompt};

/// In events, in which the launcher looks for the verdict of each call.
pub(super) fn usual(stage: &mut Stage<'_>) {
    stage.more.extend(["--output", "stream-json"].map(str::to_owned));
    serve(stage);
    stage.calls = ToolUse::ALL.iter().flat_map(|tool| tool.calls(stage)).collect();
}

pub(super) fn servers_tools(stage: &mut Stage<'_>) {
    serve(stage);
    stage.calls =
        [ToolUse::ServedName, ToolUse::ServedField].iter().flat_map(|tool| tool.calls(stage)).collect();
    // A name in which neither server nor tool tells anything, and fields as deep as one likes.
    for (name, command, is_forbidden) in
        [("deep-forbidden", FORBIDDEN, true), ("deep-harmless", HARMLESS, false)]
    {
        let sentinel = stage.sentinel(name);
        let text = command.replace("$S", &sentinel.display().to_string());
        let input = json!({"a": [{"b": {"c": text}}]});
        let reply = served(stage.agent, "evaluate", input);
        stage.calls.push(Call::of(name, reply, Evidence::File(sentinel), is_forbidden));
    }
    // Prose, SQL and code are nobody's commands, whatever they speak of.
    let prose = json!({
        "text": "Never use `git commit --no-verify` here.", "sql": "delete from t where x = 'a;",
        "code": "if (x) { rm(`-rf /`) }",
    });
    let reply = served(stage.agent, "note", prose);
    stage.calls.push(Call::of("prose-harmless", reply, Evidence::Told("noted"), false));
}

/// The text of a skill or a command that runs `command`.
fn skill(command: &str) -> String {
    format!("---\nname: x\ndescription: does something\n---\nBegin !`{command}` end\n")
}

pub(super) fn skill_with_commands(stage: &mut Stage<'_>) {
    stage.trusts_repository();
    let forbidden =
        |stage: &Stage<'_>, name: &str| FORBIDDEN.replace("$S", &stage.sentinel(name).display().to_string());
    let good = HARMLESS.replace("$S", &stage.sentinel("good").display().to_string());
    stage.put(".claude/skills/theirs/SKILL.md", &skill(&forbidden(stage, "theirs")));
    stage.put(".claude/skills/good/SKILL.md", &skill(&good));
    stage.put(".claude/skills/filled/SKILL.md", &skill("echo $ARGUMENTS"));
    let written = stage.work().join(".claude/skills/written/SKILL.md");
    let text = skill(&forbidden(stage, "written"));
    stage.before.push(ScriptedReply::Call {
        tool: "Write".to_owned(),
        input: json!({"file_path": written, "content": text}),
    });
    let call = |stage: &Stage<'_>, name: &str, arguments: &str, is_forbidden| {
        let input = json!({"skill": name, "args": arguments});
        let reply = ScriptedReply::Call { tool: "Skill".to_owned(), input };
        Call::of(name, reply, Evidence::File(stage.sentinel(name)), is_forbidden)
    };
    let filled = format!("a; {}", forbidden(stage, "filled"));
    stage.calls = vec![
        call(stage, "written", "", true),
        call(stage, "theirs", "", true),
        call(stage, "filled", &filled, true),
        call(stage, "good", "", false),
    ];
}

pub(super) fn slash_command(stage: &mut Stage<'_>) {
    let sentinel = stage.sentinel("command");
    let nothing = ScriptedReply::Text("nothing".to_owned());
    stage.calls = vec![Call::of("command", nothing, Evidence::File(sentinel.clone()), true)];
    let name = stage.agent.name();
    stage.arguments =
        Some([name, "-p", "--prompt", "/fmt", "--permissions", "full"].map(str::to_owned).to_vec());
    if stage.agent == AgentBinary::Gemini {
        // No hook is asked about it: it is looked at by a person, or the launch is refused.
        let command = FORBIDDEN.replace("$S", &sentinel.display().to_string());
        stage.put(".gemini/commands/fmt.toml", &format!("prompt = '''!{{{command}}}'''\n"));
        stage.said.push(".gemini/commands/fmt.toml".to_owned());
        stage.expected = Expected::StoppedAloud;
        return;
    }
    stage.put(".claude/commands/fmt.md", &skill(&FORBIDDEN.replace("$S", &sentinel.display().to_string())));
    stage.trusts_repository();
}

pub(super) fn typed_into_a_shell(stage: &mut Stage<'_>) {
    let begin = ScriptedReply::Call {
        tool: "exec_command".to_owned(),
        input: json!({"cmd": "bash", "tty": true, "yield_time_ms": 500}),
    };
    stage.before.push(begin);
    let sentinel = stage.sentinel("typed");
    let command = FORBIDDEN.replace("$S", &sentinel.display().to_string());
    let typed = ScriptedReply::Call {
        tool: "write_stdin".to_owned(),
        input: json!({"session_id": "$after:session ID ", "chars": format!("{command}\n"), "yield_time_ms": 500}),
    };
    let call = Call::of("typed", typed, Evidence::File(sentinel), true);
    stage.calls = vec![
        call,
        Call::shell(stage, "shell-forbidden", FORBIDDEN, true),
        Call::shell(stage, "shell-harmless", HARMLESS, false),
    ];
}

pub(super) fn workflow(stage: &mut Stage<'_>) {
    debug_assert_eq!(stage.agent, AgentBinary::Claude);
    let script = format!(
        "export const meta = {{ name: 'part', description: 'a part' }}\nconst said = await agent('{}');\nif (said) {{ return `it said ${{said}}` }}\nreturn 1",
        nested_prompt()
    );
    let reply = ScriptedReply::Call { tool: "Workflow".to_owned(), input: json!({"script": script}) };
    let forbidden = Call::shell(stage, "workflow-forbidden", FORBIDDEN, true);
    let harmless = Call::shell(stage, "workflow-harmless", HARMLESS, false);
    // The workflow runs in the background of the session.
    let waiting = ScriptedReply::Tool { command: "python3 -c 'import time; time.sleep(4)'".to_owned() };
    stage.calls = vec![
        Call { nested: forbidden.replies.clone(), replies: vec![reply], ..forbidden },
        Call { nested: harmless.replies.clone(), replies: vec![waiting], ..harmless },
    ];
}
