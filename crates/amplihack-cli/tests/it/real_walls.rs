//! The exported permission rules, on the real CLIs and without hooks: what they name does not run, the rest does.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};

use crate::world::World;

/// Which of `commands`, each followed by a `touch` of its number, ran under the agent's own arguments `own`.
fn ran(
    agent: AgentBinary,
    commands: &[&str],
    prepare: impl Fn(&World) -> Vec<String> + Sync,
) -> Option<Vec<bool>> {
    let mut ran = None;
    World::with(agent, ModelScript::default(), |world| {
        let work = world.sandbox.work();
        let mark = |number: usize| work.join(format!("ran-{number}"));
        let mut replies: Vec<ScriptedReply> = commands
            .iter()
            .enumerate()
            .map(|(number, command)| ScriptedReply::Tool {
                command: format!("{command}; touch '{}'", mark(number).display()),
            })
            .collect();
        replies.push(ScriptedReply::Text(HELLO.to_owned()));
        world.server.set_script("run", ModelScript::new(replies));
        let own = prepare(world);
        let mut args =
            vec![agent.name(), "-p", "--prompt", "go", "--permissions", "full", "--no-hooks", "--"];
        args.extend(own.iter().map(String::as_str));
        world.run(&args).assert_code(0).assert_stdout_has(HELLO);
        ran = Some((0..commands.len()).map(|number| mark(number).exists()).collect());
    });
    ran
}

/// Both agents split scripts, and hold each command's text against the rules.
const COMMANDS: [(&str, bool); 6] = [
    ("git commit --no-verify -m x", false),
    ("true && git commit --no-verify -m x", false),
    ("amplihack policy allow-once 01234567-89ab", false),
    ("git log --oneline -1", true),
    ("echo git commit --no-verify", true),
    ("amplihack policy check ls", true),
];

fn assert_stopped(agent: AgentBinary, prepare: impl Fn(&World) -> Vec<String> + Sync) {
    let (commands, expected): (Vec<&str>, Vec<bool>) = COMMANDS.into_iter().unzip();
    if let Some(got) = ran(agent, &commands, prepare) {
        assert_eq!(got, expected, "{agent}: {commands:?}");
    }
}

#[test]
fn copilot_keeps_to_its_export() {
    assert_stopped(AgentBinary::Copilot, |world| {
        let output = world.run(&["policy", "export", "--for", "copilot"]);
        output.assert_code(0).stdout_text().lines().map(str::to_owned).collect()
    });
}

#[test]
fn claude_keeps_to_its_export() {
    assert_stopped(AgentBinary::Claude, |world| {
        let output = world.run(&["policy", "export", "--for", "claude"]);
        let file = world.sandbox.write("home/wall.json", &output.assert_code(0).stdout);
        vec!["--settings".to_owned(), file.display().to_string()]
    });
}
