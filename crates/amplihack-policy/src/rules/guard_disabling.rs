//! The guard's own files, variables and programs, which an agent must not switch off.

use amplihack_shell::RedirectKind;
use amplihack_verdict::{Decision, RuleId};

use super::call::base_name;
use super::example::{shell_example, write_example};
use super::raw_agent::is_agent;
use super::target::TargetCoverage;
use super::{BuiltinRule, RuleContext, RuleHit, RulePack, code};

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("guard_disabling/own-files"),
        pack: RulePack::GuardDisabling,
        harm: "the guard is bypassed, the policy replaced, or the audit log deleted",
        decision: Decision::Deny,
        matches: &[
            shell_example("rm -rf ~/.amplihack"),
            shell_example("echo '{}' > .claude/settings.json"),
            shell_example("sed -i s/hooks/x/ ~/.claude/settings.json"),
            shell_example("rm -rf ~/.claude"),
            shell_example("cd ~/.claude && rm settings.json"),
            shell_example("cp x .github/hooks/pre-tool-use"),
            shell_example("truncate -s 0 ~/.claude/logs/xpia/rust_security_20260101.log"),
            shell_example("chmod -x /usr/local/bin/amplihack-hooks"),
            shell_example("mv ~/.codex/hooks.json /tmp"),
            shell_example("rm -f ~/.claude/settings*.json"),
            shell_example("tee ~/.config/amplihack/config.toml < x"),
            shell_example("python3 -c \"open('.claude/settings.json','w').write('{}')\""),
            shell_example(
                "apply_patch <<'E'\n*** Begin Patch\n*** Update File: .claude/settings.json\n+x\n*** End Patch\nE",
            ),
            shell_example("git apply <<'E'\n--- a/.claude/settings.json\n+++ b/.claude/settings.json\nE"),
            shell_example("git checkout HEAD~3 -- .claude/settings.json"),
            shell_example("vim -es -c 'w! ~/.claude/settings.json' -c q"),
            shell_example("unzip -o x.zip -d ~/.claude"),
            shell_example("echo {} > .CLAUDE/settings.json"),
            shell_example("echo '{\"hooksConfig\":{\"enabled\":false}}' > .gemini/settings.json"),
            shell_example("rm -f ~/.gemini/settings.json"),
            shell_example("rm -rf ~/.gemini"),
            shell_example("tar xf x.tar -C ~/.gemini"),
            shell_example("cp t ~/.gemini/trustedFolders.json"),
            shell_example("echo {} > ~/.config/amp/settings.jsonc"),
            write_example(".claude/settings.json"),
            write_example(".gemini/settings.json"),
            write_example(".amp/settings.json"),
            write_example("/home/u/.amplihack/bin/amplihack-hooks"),
            write_example(".github/hooks/hooks.json"),
            write_example(".github/copilot/settings.json"),
            write_example(".github/copilot/settings.local.json"),
            shell_example("rm -rf /srv/ah/state/sessions"),
            shell_example("echo x > /srv/ah/state/sessions/s/hooks/hooks.json"),
            shell_example("rm -rf /srv/ah"),
            shell_example("mv /srv/ah /tmp/x"),
            shell_example("chmod -R 777 /srv/ah"),
            write_example("/srv/ah/state/audit/x.log"),
            shell_example("rm -rf $AMPLIHACK_HOME/sessions"),
            shell_example("rm -rf ~/.claude/plugins; touch ~/.claude/plugins"),
            shell_example("mv ~/.claude/plugins x"),
            shell_example("find ~ -name hooks -type d -exec rm -rf {} +"),
            shell_example("find ~ -name '*.json' -delete"),
            write_example("/srv/claude/settings.json"),
            shell_example("echo {} > \"$CLAUDE_CONFIG_DIR/settings.json\""),
            shell_example("echo {} > ${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"),
            shell_example("rm -rf /srv/claude"),
            shell_example("find /srv -name claude -exec rm -rf {} +"),
            shell_example("ln -s ~/.config/amplihack cfg; echo 'disable=[]' > cfg/policy.toml"),
            shell_example("ln -s ~/.config; cd .config/amplihack && touch policy.toml"),
            shell_example("mount --bind ~/.config/amplihack m; cp x m/policy.toml"),
            shell_example("ln ~/.config/amplihack/policy.toml p"),
            shell_example("cp -r d/. ~/.config/"),
            shell_example("cp -a .claude ~/"),
            shell_example("rsync -a d/ ~/.config/"),
            shell_example("rm -rf ~/.config"),
            shell_example("tar xf a.tar -C ~"),
            shell_example("tar -xzf a.tgz --directory=$HOME"),
            shell_example("cd && tar xf a.tar"),
            shell_example("unzip a.zip -d ~"),
            shell_example("git clone https://e.example/x ~/.config/amplihack"),
            shell_example("cd ~/.config && git clone https://e.example/amplihack.git"),
            shell_example("git -C ~/.config/amplihack checkout HEAD~1"),
            shell_example("mount -t tmpfs none ~/.claude"),
            shell_example("mv x ~/.local/bin/amplihack"),
            shell_example("ln -sf /bin/true ~/.local/bin/amplihack"),
            write_example("/home/u/.local/bin/amplihack"),
        ],
        not_matches: &[
            shell_example("cat .claude/settings.json"),
            shell_example("cat .gemini/settings.json"),
            shell_example("mkdir -p .gemini/commands && touch .gemini/commands/x.toml"),
            shell_example("ls ~/.amplihack"),
            shell_example("mkdir -p .claude/agents && touch .claude/agents/x.md"),
            shell_example("rm target/debug/amplihack-hooks"),
            shell_example("touch .github/workflows/ci.yml"),
            shell_example("git apply <<'E'\n--- a/src/a.rs\n+++ b/src/a.rs\nE"),
            shell_example("git checkout HEAD -- src/main.rs"),
            shell_example("unzip x.zip -d vendor"),
            shell_example("touch /srv/ah/other && rm -rf /srv/ah/other"),
            shell_example(
                "cp ~/.local/share/amplihack/worktrees/proj/x/a ~/.local/share/amplihack/worktrees/proj/x/b",
            ),
            shell_example("ln -s ~/.config/amplihack cfg; cat cfg/policy.toml; rm cfg"),
            shell_example("find ~ -name node_modules -type d -exec rm -rf {} +"),
            shell_example("find . -name '*.json' -delete"),
            shell_example("cp -r d ~/.config/"),
            shell_example("cp -r src/. build/"),
            shell_example("rsync -a src/ /srv/www/"),
            shell_example("tar czf b.tgz -C ~ notes"),
            shell_example("tar xf a.tar -C vendor"),
            shell_example("tar xf a.tar"),
            shell_example("sudo tar -C /usr/local -xzf go.tgz"),
            shell_example("git clone https://e.example/amplihack"),
            shell_example("git clone https://e.example/x ~/src/x"),
            shell_example("mkdir -p ~/src/amplihack && touch ~/src/amplihack/x"),
            shell_example("cp target/release/amplihack dist/"),
            shell_example("mkdir -p ~/.claude/skills/x"),
            write_example("src/settings.json"),
            write_example(".github/workflows/ci.yml"),
            write_example("/home/u/.local/share/amplihack/worktrees/proj/x/src/main.rs"),
        ],
        check: own_files,
    },
    BuiltinRule {
        id: RuleId::new("guard_disabling/own-commands"),
        pack: RulePack::GuardDisabling,
        harm: "an agent approves its own stopped call",
        decision: Decision::Deny,
        matches: &[
            shell_example("amplihack uninstall"),
            shell_example("amplihack install --agent claude"),
            shell_example("amplihack policy allow-once 7f"),
            shell_example("~/.amplihack/bin/amplihack config trust ."),
            shell_example("echo y | amplihack uninstall"),
        ],
        not_matches: &[
            shell_example("amplihack policy check 'ls'"),
            shell_example("amplihack doctor"),
            shell_example("echo amplihack uninstall"),
            shell_example("amplihack config show"),
        ],
        check: own_commands,
    },
    BuiltinRule {
        id: RuleId::new("guard_disabling/variables"),
        pack: RulePack::GuardDisabling,
        harm: "a later session runs without this policy",
        decision: Decision::Deny,
        matches: &[
            shell_example("AMPLIHACK_POLICY=observe claude"),
            shell_example("export XPIA_ENABLED=0"),
            shell_example("env XPIA_BLOCK_HIGH_RISK=false x"),
            shell_example("claude --settings '{\"disableAllHooks\": true}'"),
            shell_example("codex -c features.hooks=false exec x"),
            shell_example("codex --disable hooks exec x"),
            shell_example("amplihack --config policy=observe claude -p x"),
            shell_example("amplihack claude --no-hooks -p x"),
            shell_example("GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x gemini -p x"),
        ],
        not_matches: &[
            shell_example("AMPLIHACK_POLICY=strict claude"),
            shell_example("XPIA_ENABLED=true x"),
            shell_example("echo XPIA_ENABLED=0"),
            shell_example("XPIA_VERBOSE_FEEDBACK=1 x"),
        ],
        check: check_variables,
    },
    BuiltinRule {
        id: RuleId::new("guard_disabling/killed"),
        pack: RulePack::GuardDisabling,
        harm: "the guard or the launcher is ended from inside the session",
        decision: Decision::Deny,
        matches: &[
            shell_example("pkill -f amplihack-hooks"),
            shell_example("killall amplihack"),
            shell_example("kill $(pgrep amplihack)"),
            shell_example("kill -9 $PPID"),
            shell_example("pgrep amplihack | xargs kill"),
            shell_example("pkill -f 'hooks.*amplihack'"),
            shell_example("setenforce 0"),
            shell_example("ufw disable"),
        ],
        not_matches: &[
            shell_example("pkill -f my-server"),
            shell_example("kill 1234"),
            shell_example("pgrep amplihack"),
        ],
        check: check_killed,
    },
];

/// Reports whether a command changes one of the guard's programs, wherever a look-up finds it.
fn own_program(ctx: &RuleContext<'_>) -> bool {
    const CHANGE: [&str; 12] =
        ["cp", "mv", "rm", "ln", "install", "tee", "dd", "chmod", "truncate", "unlink", "shred", "sed"];
    let Some(call) = ctx.call() else { return false };
    let arguments = call.args.iter().filter(|_| call.is_any_of(&CHANGE));
    let written = call
        .redirects
        .iter()
        .filter(|(kind, _)| matches!(kind, RedirectKind::Write | RedirectKind::Append))
        .map(|(_, arg)| arg);
    arguments.chain(written).filter(|arg| arg.dynamic).any(|arg| {
        ctx.script.substituted_calls(arg).any(|inner| {
            inner.is_any_of(&["command", "which", "type", "whereis", "readlink", "realpath"])
                && inner.args.iter().any(|arg| names_guard(arg.text()))
        })
    })
}

fn own_files(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    if own_program(ctx) {
        return ctx
            .deny("would change amplihack's own program; only you can do that, outside an agent session");
    }
    let hits = ctx.changes().filter_map(|change| {
        // Asked only where something changes: each part of a path costs a system call.
        let (what, covers) = ctx.script.guard_files().find_reached(ctx.script, ctx.call(), change)?;
        let shown = change.target.display_text();
        let hit = if covers == TargetCoverage::Yes {
            ctx.deny(format!("would change {what} (`{shown}`); only you can do that, outside an agent session"))
        } else {
            ctx.ask(format!(
                "may change {what}, since what comes to `{shown}` is not known; unpack or copy it into a directory of its own first"
            ))
        };
        hit.map(|hit| hit.with_span(change.span))
    });
    strictest_hit(hits)
}

/// The first of the strictest hits; looks no further than the first deny.
fn strictest_hit(hits: impl Iterator<Item = RuleHit>) -> Option<RuleHit> {
    let mut found: Option<RuleHit> = None;
    for hit in hits {
        if hit.decision == Decision::Deny {
            return Some(hit);
        }
        found = found.or(Some(hit));
    }
    found
}

fn own_commands(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    if !call.is_any_of(&["amplihack"]) {
        return None;
    }
    let words: Vec<&str> = call.operands().map(super::CallArg::text).collect();
    let has = |word: &str| words.contains(&word);
    let refused = matches!(words.first(), Some(&("install" | "uninstall")))
        || has("policy") && (has("allow-once") || has("pending"))
        || call.args.iter().any(|arg| arg.text() == "--trust-repo")
        || has("config") && (has("trust") || has("set") || has("untrust"));
    refused.then(|| ctx.deny("only you can run this, outside an agent session"))?
}

fn check_variables(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let set = call.set_variables().find(|(name, value)| {
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
                "would weaken the policy of later sessions by {name}; only you can do that, outside an agent session"
            ))
            .map(|hit| hit.with_span(value.span));
    }
    let words: Vec<&str> = call.args.iter().map(super::CallArg::text).collect();
    let asked = (is_agent(call) || call.is_any_of(&["amplihack"]))
        && (words.windows(2).any(|pair| pair == ["--disable", "hooks"])
            || words.starts_with(&["config", "set"]) && words.iter().any(|word| word.contains("ooks"))
            || call.is_any_of(&["amplihack"]) && words.iter().any(|word| word.ends_with("policy=observe")));
    if asked {
        return ctx.deny("would start an agent with its hooks turned off");
    }
    let agent = (is_agent(call) || call.is_any_of(&["amplihack"]))
        && call.args.iter().any(|arg| {
            let text: String = arg.text().chars().filter(|ch| !ch.is_whitespace()).collect();
            text.contains("disableAllHooks")
                || text.contains("features.hooks=false")
                || text == "--no-hooks"
                || text == "--disable=hooks"
        });
    agent.then(|| ctx.deny("would start an agent with its hooks turned off"))?
}

fn check_killed(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let hit = || ctx.deny("would end a guard of this machine; leave it running");
    match call.program.as_str() {
        "pkill" | "killall" => call.args.iter().any(|arg| names_guard(arg.text())).then(hit)?,
        "kill"
            // `pgrep amplihack | xargs kill`: whose number is killed is told only by the command that prints it.
            if ctx.script.upstream_calls(call).into_iter().any(|source| {
                source.is_any_of(&["pgrep", "pidof", "ps", "grep"])
                    && source.args.iter().any(|arg| names_guard(arg.text()))
            }) =>
        {
            hit()
        }
        "fuser" => (call.has_any(&["-k", "--kill"]) && call.args.iter().any(|arg| names_guard(arg.text())))
            .then(hit)?,
        "kill" if call.command.words.iter().any(is_parent) => {
            ctx.deny("would end the process that this session belongs to; leave it running")
        }
        "kill" => call
            .args
            .iter()
            .any(|arg| {
                ctx.script.substituted_calls(arg).any(|inner| {
                    arg.dynamic
                        && inner.is_any_of(&["pgrep", "pidof"])
                        && inner.args.iter().any(|arg| names_guard(arg.text()))
                })
            })
            .then(hit)?,
        "setenforce" => call.has_any(&["0", "Permissive"]).then(hit)?,
        "ufw" => call.has_any(&["disable", "reset"]).then(hit)?,
        "iptables" | "nft" | "ip6tables" => call.has_any(&["-F", "--flush", "flush", "-X"]).then(hit)?,
        "systemctl" | "service" => (call.has_any(&["stop", "disable", "mask"])
            && call.args.iter().any(|arg| {
                ["auditd", "firewalld", "apparmor", "ufw", "fail2ban"]
                    .contains(&arg.text().trim_end_matches(".service"))
            }))
        .then(hit)?,
        _ => code::interpreter_code(ctx.script, call)
            .filter(|code| code::mentions_name(code, "kill") && code.contains("amplihack"))
            .and_then(|_| hit()),
    }
}

/// `$PPID`: the agent, or what stands between it and this script.
fn is_parent(word: &amplihack_shell::ShellWord) -> bool {
    word.pieces
        .iter()
        .any(|piece| matches!(piece, amplihack_shell::WordPiece::Variable(name) if name == "PPID"))
}

fn names_guard(text: &str) -> bool {
    let name = base_name(text);
    name.contains("amplihack") || name.starts_with("xpia")
}
