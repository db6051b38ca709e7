//! The judges: after `install`, the bare real CLIs, started without amplihack, do not run what the policy forbids.

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};

use crate::world::{World, real};

/// A headless session of the agent alone, its own permissions as wide as they go.
fn arguments(agent: AgentBinary) -> &'static [&'static str] {
    match agent {
        AgentBinary::Claude => &["-p", "--dangerously-skip-permissions"],
        AgentBinary::Codex => &["exec", "--dangerously-bypass-approvals-and-sandbox", "-"],
        AgentBinary::Gemini => &["--yolo"],
        _ => &["--allow-all-tools"],
    }
}

fn bare(world: &World, agent: AgentBinary) -> Output {
    let mut command = world.sandbox.command(real(agent).unwrap());
    command.args(arguments(agent));
    Run::new(command).stdin("do it").output()
}

/// Whether the harmless and the forbidden call of one session ran.
fn ran(world: &World, agent: AgentBinary, round: &str) -> [bool; 2] {
    let file = |name: &str| format!("{round}-{name}");
    let tool = |command: String| ScriptedReply::Tool { command };
    world.server.set_script(
        "run",
        ModelScript::new([
            tool(format!("touch {}", file("harmless"))),
            tool(format!("touch {} && git commit --no-verify --allow-empty -m x", file("forbidden"))),
            ScriptedReply::Text(DONE.to_owned()),
        ]),
    );
    let output = bare(world, agent);
    output.assert_code(0).assert_stdout_has(DONE);
    ["harmless", "forbidden"].map(|name| world.sandbox.work().join(file(name)).exists())
}

fn holds(agent: AgentBinary, scopes: &[&str]) {
    World::with(agent, ModelScript::default(), |world| {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", world.sandbox.bin().display());
        world.sandbox.set("PATH", path);
        world.sandbox.link("amplihack", crate::world::amplihack());
        // Without a registration both run: what stops the call later is the registration.
        assert_eq!(ran(world, agent, "before"), [true, true], "{agent}");
        for scope in scopes {
            let args = ["install", "--agent", agent.name(), "--scope", scope];
            world.run(&[&args[..], &["--verify"]].concat()).assert_code(0);
            assert_eq!(ran(world, agent, scope), [true, false], "{agent} {scope}");
            let told = world.server.find_text("run", "[amplihack ");
            assert!(
                told.iter().any(|said| said.role == "tool"),
                "{agent} {scope}: the model was not told why"
            );
            world.run(&["doctor"]).assert_code(0).assert_stdout_has("nothing is broken");
            world.run(&["uninstall", "--agent", agent.name(), "--scope", scope]).assert_code(0);
            assert_eq!(ran(world, agent, &format!("after-{scope}")), [true, true], "{agent} {scope}");
        }
        assert!(world.server.stray_requests().is_empty());
    });
}

#[test]
fn claude_alone_is_held() {
    holds(AgentBinary::Claude, &["user", "repo"]);
}

#[test]
fn codex_alone_is_held() {
    holds(AgentBinary::Codex, &["user", "repo"]);
}

#[test]
fn copilot_alone_is_held() {
    holds(AgentBinary::Copilot, &["user", "repo"]);
}

#[test]
fn gemini_alone_is_held() {
    holds(AgentBinary::Gemini, &["user", "repo"]);
}

/// Gemini leaves out a hook whose command a repository names. A session of Gemini's own shows that, so `doctor` has to say it.
#[test]
fn a_repository_that_names_geminis_guard_switches_it_off_and_doctor_says_so() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        world.run(&["install", "--agent", "gemini"]).assert_code(0);
        let settings = std::fs::read_to_string(world.sandbox.home().join(".gemini/settings.json")).unwrap();
        let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
        let guard =
            settings["hooks"]["BeforeTool"].as_array().unwrap().last().unwrap()["hooks"][0]["command"]
                .clone();
        assert_eq!(ran(world, AgentBinary::Gemini, "held"), [true, false]);
        let theirs = serde_json::json!({"hooksConfig": {"disabled": [guard]}});
        world.sandbox.write("work/.gemini/settings.json", theirs.to_string());
        assert_eq!(ran(world, AgentBinary::Gemini, "named"), [true, true], "what Gemini does");
        let said = world.run(&["doctor"]).assert_code(1).stdout_text();
        assert!(
            said.contains("hooksConfig.disabled in ") && said.contains(".gemini/settings.json"),
            "{said}"
        );
    });
}

/// Wrappers that people commit reach machines without amplihack: there nothing runs, rather than everything.
#[test]
fn a_committed_wrapper_denies_where_amplihack_is_not_installed() {
    World::with(AgentBinary::Copilot, ModelScript::default(), |world| {
        world.run(&["install", "--agent", "copilot", "--scope", "repo"]).assert_code(0);
        assert_eq!(ran(world, AgentBinary::Copilot, "bare"), [false, false]);
        let told = world.server.find_text("run", "amplihack-hooks was not found");
        assert!(told.iter().any(|said| said.role == "tool"));
    });
}
