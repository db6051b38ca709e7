//! This plane's own files, variables and programs: what an agent must not switch off.

use super::call::base;
use super::example::{sh, write};
use super::place;
use super::{Ctx, Hit, Pack, Rule, code};
use crate::decision::{Decision, RuleId};
use crate::shell::RedirectKind;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("guard_disabling/own-files"),
        pack: Pack::GuardDisabling,
        harm: "hooks are no longer asked, the policy is another one, or the audit is gone",
        decision: Decision::Deny,
        matches: &[
            sh("rm -rf ~/.amplihack"),
            sh("echo '{}' > .claude/settings.json"),
            sh("sed -i s/hooks/x/ ~/.claude/settings.json"),
            sh("rm -rf ~/.claude"),
            sh("cd ~/.claude && rm settings.json"),
            sh("cp x .github/hooks/pre-tool-use"),
            sh("truncate -s 0 ~/.claude/logs/xpia/rust_security_20260101.log"),
            sh("chmod -x /usr/local/bin/amplihack-hooks"),
            sh("mv ~/.codex/hooks.json /tmp"),
            sh("rm -f ~/.claude/settings*.json"),
            sh("tee ~/.config/amplihack/config.toml < x"),
            sh("python3 -c \"open('.claude/settings.json','w').write('{}')\""),
            sh(
                "apply_patch <<'E'\n*** Begin Patch\n*** Update File: .claude/settings.json\n+x\n*** End Patch\nE",
            ),
            sh("git apply <<'E'\n--- a/.claude/settings.json\n+++ b/.claude/settings.json\nE"),
            sh("git checkout HEAD~3 -- .claude/settings.json"),
            sh("vim -es -c 'w! ~/.claude/settings.json' -c q"),
            sh("unzip -o x.zip -d ~/.claude"),
            sh("echo {} > .CLAUDE/settings.json"),
            sh("echo '{\"hooksConfig\":{\"enabled\":false}}' > .gemini/settings.json"),
            sh("rm -f ~/.gemini/settings.json"),
            sh("rm -rf ~/.gemini"),
            sh("tar xf x.tar -C ~/.gemini"),
            sh("cp t ~/.gemini/trustedFolders.json"),
            sh("echo {} > ~/.config/amp/settings.jsonc"),
            write(".claude/settings.json"),
            write(".gemini/settings.json"),
            write(".amp/settings.json"),
            write("/home/u/.amplihack/bin/amplihack-hooks"),
            write(".github/hooks/hooks.json"),
            sh("rm -rf /srv/ah/state/sessions"),
            sh("echo x > /srv/ah/state/sessions/s/hooks/hooks.json"),
            sh("rm -rf /srv/ah"),
            sh("mv /srv/ah /tmp/x"),
            sh("chmod -R 777 /srv/ah"),
            write("/srv/ah/state/audit/x.log"),
        ],
        not_matches: &[
            sh("cat .claude/settings.json"),
            sh("cat .gemini/settings.json"),
            sh("mkdir -p .gemini/commands && touch .gemini/commands/x.toml"),
            sh("ls ~/.amplihack"),
            sh("mkdir -p .claude/agents && touch .claude/agents/x.md"),
            sh("rm target/debug/amplihack-hooks"),
            sh("touch .github/workflows/ci.yml"),
            sh("git apply <<'E'\n--- a/src/a.rs\n+++ b/src/a.rs\nE"),
            sh("git checkout HEAD -- src/main.rs"),
            sh("unzip x.zip -d vendor"),
            sh("touch /srv/ah/other && rm -rf /srv/ah/other"),
            sh("cp ~/.local/share/amplihack/worktrees/proj/x/a ~/.local/share/amplihack/worktrees/proj/x/b"),
            write("src/settings.json"),
            write(".github/workflows/ci.yml"),
            write("/home/u/.local/share/amplihack/worktrees/proj/x/src/main.rs"),
        ],
        check: own_files,
    },
    Rule {
        id: RuleId::new("guard_disabling/own-commands"),
        pack: Pack::GuardDisabling,
        harm: "an agent gives itself the yes that only a person may give",
        decision: Decision::Deny,
        matches: &[
            sh("amplihack uninstall"),
            sh("amplihack install --agent claude"),
            sh("amplihack policy allow-once 7f"),
            sh("~/.amplihack/bin/amplihack config trust ."),
            sh("echo y | amplihack uninstall"),
        ],
        not_matches: &[
            sh("amplihack policy check 'ls'"),
            sh("amplihack doctor"),
            sh("echo amplihack uninstall"),
            sh("amplihack config show"),
        ],
        check: own_commands,
    },
    Rule {
        id: RuleId::new("guard_disabling/variables"),
        pack: Pack::GuardDisabling,
        harm: "a later session runs without this policy",
        decision: Decision::Deny,
        matches: &[
            sh("AMPLIHACK_POLICY=observe claude"),
            sh("export XPIA_ENABLED=0"),
            sh("env XPIA_BLOCK_HIGH_RISK=false x"),
            sh("claude --settings '{\"disableAllHooks\": true}'"),
            sh("codex -c features.hooks=false exec x"),
            sh("codex --disable hooks exec x"),
            sh("amplihack --config policy=observe claude -p x"),
            sh("amplihack claude --no-hooks -p x"),
            sh("GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x gemini -p x"),
        ],
        not_matches: &[
            sh("AMPLIHACK_POLICY=strict claude"),
            sh("XPIA_ENABLED=true x"),
            sh("echo XPIA_ENABLED=0"),
            sh("XPIA_VERBOSE_FEEDBACK=1 x"),
        ],
        check: variables,
    },
    Rule {
        id: RuleId::new("guard_disabling/killed"),
        pack: Pack::GuardDisabling,
        harm: "the guard or the launcher is ended from inside the session",
        decision: Decision::Deny,
        matches: &[
            sh("pkill -f amplihack-hooks"),
            sh("killall amplihack"),
            sh("kill $(pgrep amplihack)"),
            sh("kill -9 $PPID"),
            sh("pgrep amplihack | xargs kill"),
            sh("pkill -f 'hooks.*amplihack'"),
            sh("setenforce 0"),
            sh("ufw disable"),
        ],
        not_matches: &[sh("pkill -f my-server"), sh("kill 1234"), sh("pgrep amplihack")],
        check: killed,
    },
    Rule {
        id: RuleId::new("guard_disabling/nested-agent"),
        pack: Pack::GuardDisabling,
        harm: "another agent is started that asks nobody",
        decision: Decision::Ask,
        matches: &[
            sh("claude -p x --dangerously-skip-permissions"),
            sh("codex exec --dangerously-bypass-approvals-and-sandbox x"),
            sh("copilot -p x --yolo"),
            sh("claude -p x --permission-mode=bypassPermissions"),
            sh("codex exec --sandbox=danger-full-access x"),
            sh("gemini -y -p x"),
            sh("gemini --approval-mode=yolo -p x"),
            sh("gemini -p x --approval-mode yolo"),
        ],
        not_matches: &[
            sh("claude -p x"),
            sh("grep -- --yolo README.md"),
            sh("codex exec x"),
            sh("gemini -p 'what is yolo'"),
            sh("gemini --approval-mode=auto_edit -p yolo"),
        ],
        check: nested_agent,
    },
];

/// Whether a command changes one of this plane's programs, wherever a look-up finds it.
fn own_program(ctx: &Ctx<'_>) -> bool {
    const CHANGE: [&str; 12] =
        ["cp", "mv", "rm", "ln", "install", "tee", "dd", "chmod", "truncate", "unlink", "shred", "sed"];
    let Some(call) = ctx.call() else { return false };
    let arguments = call.args.iter().filter(|_| call.is(&CHANGE));
    let written = call
        .redirects
        .iter()
        .filter(|(kind, _)| matches!(kind, RedirectKind::Write | RedirectKind::Append))
        .map(|(_, arg)| arg);
    arguments.chain(written).filter(|arg| arg.dynamic).any(|arg| {
        ctx.script.inside(arg).any(|inner| {
            inner.is(&["command", "which", "type", "whereis", "readlink", "realpath"])
                && inner.args.iter().any(|arg| names_guard(arg.text()))
        })
    })
}

fn own_files(ctx: &Ctx<'_>) -> Option<Hit> {
    if own_program(ctx) {
        return ctx.deny("would change this plane's own program; only a person may, outside of a session");
    }
    ctx.changes().find_map(|change| {
        // Asked only where something changes: each part of a path costs a system call.
        let state = ctx.script.state();
        // A link leads elsewhere: both places count.
        let behind = || place::plane(&ctx.script.behind_links(change)?, state);
        let what = place::plane(change, state).or_else(behind)?;
        ctx.deny(format!(
            "would change {what} (`{}`); only a person may, outside of a session",
            change.target.shown()
        ))
        .map(|hit| hit.at(change.span))
    })
}

fn own_commands(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    if !call.is(&["amplihack"]) {
        return None;
    }
    let words: Vec<&str> = call.operands().map(super::Arg::text).collect();
    let has = |word: &str| words.contains(&word);
    let refused = matches!(words.first(), Some(&("install" | "uninstall")))
        || has("policy") && has("allow-once")
        || has("config") && (has("trust") || has("set") || has("untrust"));
    refused.then(|| ctx.deny("may only be run by a person, outside of a session"))?
}

fn variables(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let set = call.sets().find(|(name, value)| {
        let value = value.text();
        match *name {
            "AMPLIHACK_POLICY" => value != "strict",
            "XPIA_ENABLED" | "XPIA_BLOCK_HIGH_RISK" => {
                !matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on")
            }
            "XPIA_SECURITY_LEVEL" => !matches!(value.to_lowercase().as_str(), "strict" | "high"),
            // The guard of a launch of Gemini comes in the file that the last one names.
            "XPIA_WHITELIST_DOMAINS"
            | "XPIA_LOG_FILE"
            | "AMPLIHACK_HOME"
            | "AMPLIHACK_HOOK_ENGINE"
            | "GEMINI_CLI_SYSTEM_SETTINGS_PATH" => true,
            _ => false,
        }
    });
    if let Some((name, value)) = set {
        return ctx
            .deny(format!(
                "would weaken the policy of later sessions by {name}; only a person may, outside of a session"
            ))
            .map(|hit| hit.at(value.span));
    }
    let words: Vec<&str> = call.args.iter().map(super::Arg::text).collect();
    let asked = call.is(&AGENTS)
        && (words.windows(2).any(|pair| pair == ["--disable", "hooks"])
            || words.starts_with(&["config", "set"]) && words.iter().any(|word| word.contains("ooks"))
            || call.is(&["amplihack"]) && words.iter().any(|word| word.ends_with("policy=observe")));
    if asked {
        return ctx.deny("would start an agent whose hooks are switched off");
    }
    let agent = call.is(&AGENTS)
        && call.args.iter().any(|arg| {
            let text: String = arg.text().chars().filter(|ch| !ch.is_whitespace()).collect();
            text.contains("disableAllHooks")
                || text.contains("features.hooks=false")
                || text == "--no-hooks"
                || text == "--disable=hooks"
        });
    agent.then(|| ctx.deny("would start an agent whose hooks are switched off"))?
}

fn killed(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let hit = || ctx.deny("would end a guard of this machine; leave it running");
    match call.program.as_str() {
        "pkill" | "killall" => call.args.iter().any(|arg| names_guard(arg.text())).then(hit)?,
        "kill"
            if ctx.script.upstream(call).into_iter().any(|source| {
                source.is(&["pgrep", "pidof", "ps", "grep"])
                    && source.args.iter().any(|arg| names_guard(arg.text()))
            }) =>
        {
            hit()
        }
        "fuser" => {
            (call.has(&["-k", "--kill"]) && call.args.iter().any(|arg| names_guard(arg.text()))).then(hit)?
        }
        "kill" if call.command.words.iter().any(is_parent) => {
            ctx.deny("would end the process that this session belongs to; leave it running")
        }
        "kill" => call
            .args
            .iter()
            .any(|arg| {
                ctx.script.inside(arg).any(|inner| {
                    arg.dynamic
                        && inner.is(&["pgrep", "pidof"])
                        && inner.args.iter().any(|arg| names_guard(arg.text()))
                })
            })
            .then(hit)?,
        "setenforce" => call.has(&["0", "Permissive"]).then(hit)?,
        "ufw" => call.has(&["disable", "reset"]).then(hit)?,
        "iptables" | "nft" | "ip6tables" => call.has(&["-F", "--flush", "flush", "-X"]).then(hit)?,
        "systemctl" | "service" => (call.has(&["stop", "disable", "mask"])
            && call.args.iter().any(|arg| {
                ["auditd", "firewalld", "apparmor", "ufw", "fail2ban"]
                    .contains(&arg.text().trim_end_matches(".service"))
            }))
        .then(hit)?,
        _ => code::code(ctx.script, call)
            .filter(|code| code::says(code, "kill") && code.contains("amplihack"))
            .and_then(|_| hit()),
    }
}

/// `$PPID`: the agent, or what stands between it and this script.
fn is_parent(word: &crate::shell::Word) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, crate::shell::Piece::Variable(name) if name == "PPID"))
}

fn names_guard(text: &str) -> bool {
    let name = base(text);
    name.contains("amplihack") || name.starts_with("xpia")
}

const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "amp", "amplihack", "gemini"];

fn nested_agent(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let open = call.args.iter().any(|arg| {
        let text = arg.text();
        // A value stands beside its option, or after its `=`.
        let value =
            text.split_once('=').filter(|(option, _)| option.starts_with('-')).map_or(text, |it| it.1);
        text.starts_with("--dangerously-")
            || text.starts_with("--allow-all")
            || matches!(text, "--yolo" | "--approval-mode=yolo")
            || matches!(value, "bypassPermissions" | "danger-full-access")
    });
    let words: Vec<&str> = call.args.iter().map(super::Arg::text).collect();
    let open = open
        || call.is(&["gemini"])
            && (words.contains(&"-y") || words.windows(2).any(|pair| pair == ["--approval-mode", "yolo"]));
    (call.is(&AGENTS) && open)
        .then(|| ctx.ask("would start another agent that asks nobody; start it with its permissions on"))?
}
