//! Agents that a session starts by themselves, without the guard of a launch, and changes to what hosts start by themselves.

use std::ffi::OsString;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_verdict::{Decision, RuleId};

use super::call::{CallArg, base_name};
use super::example::shell_example;
use super::{BuiltinRule, CommandCall, RuleContext, RuleHit, RulePack};

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("guard_disabling/nested-agent"),
        pack: RulePack::GuardDisabling,
        harm: "another agent is started without a guard or without permission prompts",
        decision: Decision::Ask,
        matches: &[
            shell_example("claude -p x"),
            shell_example("claude -p x --dangerously-skip-permissions"),
            shell_example("claude 'mend the tests'"),
            shell_example("claude --continue"),
            shell_example("claude"),
            shell_example("echo x | claude"),
            shell_example("env -i claude -p x"),
            shell_example("bash -c 'claude -p x'"),
            shell_example("nohup claude -p x &"),
            shell_example("/opt/claude/bin/claude -p x"),
            shell_example("npx @anthropic-ai/claude-code -p x"),
            shell_example("npx -y @openai/codex@latest exec x"),
            shell_example("npx -y @openai/codex"),
            shell_example("pnpm dlx @google/gemini-cli -p x"),
            shell_example("npm exec @github/copilot -- -p x"),
            shell_example("node node_modules/@anthropic-ai/claude-code/cli.js -p x"),
            shell_example("codex exec x"),
            shell_example("codex x"),
            shell_example("codex resume --last"),
            shell_example("codex exec --dangerously-bypass-approvals-and-sandbox x"),
            shell_example("codex exec --sandbox=danger-full-access x"),
            shell_example("copilot -p x --yolo"),
            shell_example("copilot -p x"),
            shell_example("gemini -p 'what is yolo'"),
            shell_example("gemini -y -p x"),
            shell_example("gemini --acp"),
            shell_example("amp -x hello"),
            shell_example("amplihack claude -p x -- --dangerously-skip-permissions"),
            shell_example("amplihack claude --raw -- -p x"),
            shell_example("opencode run x"),
            shell_example("claude get -p 'do x'"),
            shell_example("claude get 'do x'"),
            shell_example("claude list --print=x"),
            shell_example("echo evil | claude config -p"),
            shell_example("claude config -cp x"),
            shell_example("claude -p --append-system-prompt --help 'do x'"),
            shell_example("claude --append-system-prompt --help 'do x'"),
            shell_example("amplifier -v 'do x'"),
            shell_example("claude config get theme"),
            shell_example("claude \"$X\" mcp list"),
            shell_example("claude mcp \"$X\""),
            shell_example("claude \"$X\""),
            shell_example("claude -p \"$X\" mcp get x"),
            shell_example("opencode run x \"$X\""),
        ],
        not_matches: &[
            shell_example("amplihack claude -p x"),
            shell_example("amplihack claude -p x --permissions full"),
            shell_example("amplihack recipe run r.yaml"),
            shell_example("claude --version"),
            shell_example("claude --help"),
            shell_example("claude mcp list"),
            shell_example("claude mcp get x"),
            shell_example("claude mcp get \"$NAME\""),
            shell_example("for s in a b; do claude mcp get $s; done"),
            shell_example("claude doctor"),
            shell_example("codex --version"),
            shell_example("claude -v"),
            shell_example("claude mcp add --help"),
            shell_example("claude auth status"),
            shell_example("codex exec --help"),
            shell_example("codex login status"),
            shell_example("copilot help"),
            shell_example("gemini extensions list"),
            shell_example("opencode stats --models 5"),
            shell_example("command -v claude"),
            shell_example("which codex"),
            shell_example("npm view @openai/codex version"),
            shell_example("npm install -g @anthropic-ai/claude-code"),
            shell_example("grep -- --yolo README.md"),
            shell_example("echo claude -p x"),
            shell_example("ls ~/.claude"),
            shell_example("cat claude"),
        ],
        check: nested_agent,
    },
    BuiltinRule {
        id: RuleId::new("guard_disabling/host-change"),
        pack: RulePack::GuardDisabling,
        harm: "from then on the agent's CLI starts other programs or trusts other folders",
        decision: Decision::Ask,
        matches: &[
            shell_example("claude mcp add x -- npx -y x"),
            shell_example("claude mcp add-json x '{}'"),
            shell_example("claude mcp remove x"),
            shell_example("codex mcp add x -- ./x"),
            shell_example("gemini mcp add x ./x"),
            shell_example("copilot mcp add x ./x"),
            shell_example("gemini extensions install https://e.example/x"),
            shell_example("claude plugin install x@y"),
            shell_example("claude plugin marketplace add o/r"),
            shell_example("claude config set theme dark"),
            shell_example("codex features enable x"),
            shell_example("copilot plugin install o/r"),
            shell_example("npx @anthropic-ai/claude-code mcp add x ./x"),
        ],
        not_matches: &[
            shell_example("claude mcp list"),
            shell_example("claude config get theme"),
            shell_example("claude plugin list"),
            shell_example("gemini mcp list"),
            shell_example("claude mcp add --help"),
            shell_example("echo claude mcp add x"),
        ],
        check: host_change,
    },
];

/// Agents by the names of their programs and packages.
const AGENTS: [&str; 13] = [
    "claude",
    "claude-code",
    "codex",
    "codex-acp",
    "claude-agent-acp",
    "copilot",
    "amp",
    "gemini",
    "gemini-cli",
    "opencode",
    "opencode-ai",
    "cursor-agent",
    "amplifier",
];

/// Commands of agents under which hosts keep what they start and trust.
const SETTINGS: [&str; 10] = [
    "mcp",
    "plugin",
    "plugins",
    "config",
    "extensions",
    "extension",
    "features",
    "hooks",
    "skills",
    "marketplace",
];

/// Words that only show something.
const SHOWN: [&str; 21] = [
    "help",
    "version",
    "doctor",
    "list",
    "ls",
    "get",
    "show",
    "status",
    "auth",
    "login",
    "logout",
    "update",
    "upgrade",
    "completion",
    "validate",
    "search",
    "usage",
    "models",
    "stats",
    "export",
    "uninstall",
];

/// The agent's name, if a command starts an agent: by its program, its package, or the file that its package runs.
fn started_agent<'c>(call: &'c CommandCall<'_>) -> Option<(&'c str, &'c [CallArg])> {
    let named = |text: &'c str| {
        let name = base_name(text);
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        AGENTS.contains(&name).then_some(name)
    };
    if let Some(name) = named(&call.program) {
        return Some((name, &call.args));
    }
    // `node …/@openai/codex/bin/codex.js`
    let script = call.is_any_of(&["node", "bun", "deno"]).then(|| call.args.first()).flatten()?;
    let text = script.text();
    let file = base_name(text).trim_end_matches(".js").trim_end_matches(".mjs");
    let name = ["@anthropic-ai/claude-code", "@openai/codex", "@github/copilot", "@google/gemini-cli"]
        .iter()
        .find(|package| text.contains(*package))
        .and_then(|package| named(package))
        .or_else(|| named(file).filter(|_| text.contains("node_modules")))?;
    Some((name, &call.args[1..]))
}

/// Reports whether a command starts an agent's program.
pub(super) fn is_agent(call: &CommandCall<'_>) -> bool {
    started_agent(call).is_some()
}

/// Reports whether the words ask only for a version or help: first of all, or for help behind nothing but bare words. Elsewhere it may be
/// the value of an option.
fn only_informs(name: &str, args: &[CallArg]) -> bool {
    let bare = args.iter().take_while(|arg| !arg.text().starts_with('-') && !arg.dynamic).count();
    match args.get(bare).map_or("", CallArg::text) {
        "--help" | "-h" => true,
        "--version" | "-V" => bare == 0,
        "-v" => bare == 0 && name != "amplifier",
        _ => false,
    }
}

/// The agent whose own table of commands knows a name's command lines.
fn agent_by_name(name: &str) -> Option<AgentBinary> {
    let name = name.strip_suffix("-code").or_else(|| name.strip_suffix("-cli")).unwrap_or(name);
    AgentBinary::ALL.into_iter().find(|agent| agent.name() == name)
}

/// Reports whether an agent's command line is known to start no model. Words made at run time may be anything, but behind a command and
/// one below it they are no command.
fn reaches_no_model(ctx: &RuleContext<'_>, name: &str, args: &[CallArg]) -> bool {
    let open = args.iter().position(|arg| arg.dynamic);
    if let Some(open) = open
        && (open < 2 || args[..2].iter().any(|arg| arg.text().starts_with('-')))
    {
        return false;
    }
    match agent_by_name(name) {
        Some(agent) => {
            let texts =
                |args: &[CallArg]| -> Vec<OsString> { args.iter().map(|arg| arg.text().into()).collect() };
            let quiet = |args: &[CallArg]| ctx.script.world.reaches_no_model(agent, &texts(args));
            quiet(args) && open.is_none_or(|open| quiet(&args[..open]))
        }
        // Servers of other programs take no command.
        None if matches!(name, "codex-acp" | "claude-agent-acp") => only_informs(name, args),
        None => {
            let first = args.first().map_or("", CallArg::text);
            let prompts = args.iter().any(|arg| {
                arg.text().starts_with("-p") || matches!(arg.text(), "--prompt" | "--print" | "run")
            });
            only_informs(name, args)
                || !prompts && args.len() <= 3 && (SHOWN.contains(&first) || SETTINGS.contains(&first))
        }
    }
}

/// The words of a command that are no options, as far as a prompt can be told from them.
fn plain_words(args: &[CallArg]) -> impl Iterator<Item = &str> {
    args.iter().map(CallArg::text).filter(|text| !text.starts_with('-'))
}

fn nested_agent(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    if call.is_any_of(&["amplihack"]) {
        return asks_nobody(call).then(|| {
            ctx.ask("would start another agent without permission prompts; start it with its permission prompts on")
        })?;
    }
    let (name, args) = started_agent(call)?;
    if reaches_no_model(ctx, name, args) {
        return None;
    }
    let instead = match name.trim_end_matches("-code").trim_end_matches("-cli") {
        known @ ("claude" | "codex" | "copilot" | "gemini" | "amp" | "amplifier") => {
            format!("start it as `amplihack {known}`")
        }
        _ => "a person should do that".to_owned(),
    };
    ctx.ask(format!("would start {name} without the guard of this session; {instead}"))
}

/// Reports whether a launch of ours is told to leave permissions or the guard out.
fn asks_nobody(call: &CommandCall<'_>) -> bool {
    let texts: Vec<&str> = call.args.iter().map(CallArg::text).collect();
    let pair = |option: &str, value: &str| texts.windows(2).any(|pair| pair == [option, value]);
    let open = texts.iter().any(|text| {
        // A value stands beside its option, or after its `=`.
        let value =
            text.split_once('=').filter(|(option, _)| option.starts_with('-')).map_or(*text, |it| it.1);
        text.starts_with("--dangerously-")
            || text.starts_with("--allow-all")
            || matches!(*text, "--yolo" | "--approval-mode=yolo" | "--raw")
            || matches!(value, "bypassPermissions" | "danger-full-access")
    });
    open || pair("--approval-mode", "yolo") || texts.contains(&"gemini") && texts.contains(&"-y")
}

fn host_change(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let (name, args) = started_agent(ctx.call()?)?;
    let first = args.first().map_or("", CallArg::text);
    if !SETTINGS.contains(&first) || only_informs(name, args) {
        return None;
    }
    // `codex mcp` alone, or a word that only shows something.
    let does = plain_words(args).nth(1)?;
    let shows =
        SHOWN.contains(&does) || plain_words(args).nth(2).is_some_and(|word| matches!(word, "list" | "ls"));
    (!shows).then(|| {
        ctx.ask(format!(
            "would change what {name} starts or trusts by itself (`{first} {does}`); a person should do that"
        ))
    })?
}
