//! `doctor --prove`: real agents are proved with no more of the user's home than their settings on hooks, and lying ones are
//! found out.

use std::fs::{File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Output, Sandbox, loud, real};

use crate::scene::{files, json, masked, mode, shown};
use crate::world::{amplihack, run, run_in_loopback};

/// `amplihack doctor --prove AGENTS…`, with nothing but loopback around it.
fn prove(sandbox: &Sandbox, agents: &[&str]) -> Output {
    run_in_loopback(sandbox, &[&["doctor", "--prove"], agents].concat())
}

/// Files that agents keep in a home; these would break whoever read them.
struct Decoys {
    files: Vec<(PathBuf, SystemTime)>,
    /// Whether reading a file shows in its time of access here.
    reads_show: bool,
}

impl Decoys {
    const TEXT: &str = "[not a { setting";

    fn new(sandbox: &Sandbox) -> Self {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let place = |name: &str| {
            let path = sandbox.write(format!("home/{name}"), Self::TEXT);
            let times = FileTimes::new().set_accessed(long_ago);
            File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
            path
        };
        let accessed = |path: &PathBuf| std::fs::metadata(path).unwrap().accessed().unwrap();
        let control = place("control");
        std::fs::read(&control).unwrap();
        let reads_show = accessed(&control) != long_ago;
        std::fs::remove_file(control).unwrap();
        let names = [
            ".claude.json",
            ".claude/.credentials.json",
            ".claude/settings.local.json",
            ".codex/auth.json",
            ".copilot/mcp-config.json",
        ];
        let files = names.map(place).map(|path| (path, long_ago)).to_vec();
        Self { files, reads_show }
    }

    /// Claims that the home has these files, `more` and what amplihack keeps.
    fn assert_untouched(&self, sandbox: &Sandbox, more: &[PathBuf]) {
        let ours = sandbox.home().join(".amplihack");
        let mut left = files(&sandbox.home());
        left.retain(|path| !path.starts_with(&ours));
        let mut placed: Vec<PathBuf> = self.files.iter().map(|(path, _)| path.clone()).collect();
        placed.extend_from_slice(more);
        placed.sort();
        assert_eq!(left, placed, "nothing is added and nothing removed");
        if !self.reads_show {
            loud("this file system keeps no times of access: whether the home was read is not seen");
        }
        for (path, accessed) in &self.files {
            let found = std::fs::metadata(path).unwrap().accessed().unwrap();
            assert!(!self.reads_show || found == *accessed, "{} was read", path.display());
            assert_eq!(std::fs::read_to_string(path).unwrap(), Self::TEXT, "{}", path.display());
        }
    }
}

/// Settings on hooks as users have them, each of whose commands would leave `MARK`, and beside them what no copy may hold.
fn settings(agent: &str) -> &'static [(&'static str, &'static str)] {
    match agent {
        "claude" => &[(
            ".claude/settings.json",
            r#"{"apiKeyHelper": "touch MARK", "env": {"ANTHROPIC_BASE_URL": "http://192.0.2.1", "TOKEN": "s3cret"},
                "permissions": {"deny": ["Bash"]}, "statusLine": {"type": "command", "command": "touch MARK"},
                "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch MARK"}]}],
                    "PreToolUse": [{"matcher": "Bash|Write", "hooks": [
                        {"type": "command", "command": "touch MARK; echo s3cret", "timeout": 5},
                        {"type": "http", "url": "http://192.0.2.1/s3cret"}]}]}}"#,
        )],
        "codex" => &[
            (
                ".codex/config.toml",
                "model = \"s3cret\"\nnotify = [\"touch\", \"MARK\"]\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n\
                 hooks = [{type = \"command\", command = \"touch MARK\", timeout = 5}]\n",
            ),
            (
                ".codex/hooks.json",
                r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch MARK"}]}]}}"#,
            ),
        ],
        "gemini" => &[(
            ".gemini/settings.json",
            r#"{"security": {"auth": {"selectedType": "s3cret"}}, "mcpServers": {"x": {"command": "touch", "args": ["MARK"]}},
                "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch MARK"}]}],
                    "BeforeTool": [{"matcher": "run_.*", "hooks": [{"type": "command", "command": "touch MARK", "timeout": 5000}]}]}}"#,
        )],
        _ => &[
            (
                ".copilot/config.json",
                "// s3cret\n{\"copilot_tokens\": {\"u\": \"s3cret\"}, \"disableAllHooks\": false}",
            ),
            (
                ".copilot/hooks/own.json",
                r#"{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "touch MARK", "timeoutSec": 5}]}}"#,
            ),
        ],
    }
}

fn the_real_one_is_proved(agent: &str) {
    let Some(program) = real::real_agent(agent) else { return };
    let mut sandbox = Sandbox::new();
    sandbox.set(format!("AMPLIHACK_{}_PATH", agent.to_uppercase()), program);
    let decoys = Decoys::new(&sandbox);
    let mark = sandbox.root().join("mark");
    let own: Vec<PathBuf> = settings(agent)
        .iter()
        .map(|(name, text)| {
            sandbox.write(format!("home/{name}"), text.replace("MARK", mark.to_str().unwrap()))
        })
        .collect();
    let output = prove(&sandbox, &[agent]);
    output.assert_code(0).assert_stderr_has("argv proved (").assert_stderr_has("stdin proved (");
    let held = [
        "the guard held: a forbidden call was stopped by ",
        "the guard beside your own hooks held: a forbidden call ",
    ];
    for held in held {
        output.assert_stderr_has(held).assert_stdout_has(held);
    }
    let coverage = format!("the guard on each tool held: {}", hooked(agent));
    output.assert_stderr_has(&coverage).assert_stdout_has(&coverage);
    output.assert_stdout_has("proved here at ").assert_stdout_has("nothing is broken\n");
    output.assert_nowhere("s3cret");
    assert!(!mark.exists(), "a command of the user's ran");
    decoys.assert_untouched(&sandbox, &own);
    let proofs = files(&sandbox.home().join(".amplihack/proofs"));
    assert_eq!(proofs.len(), 1, "{proofs:?}");
    assert_eq!((mode(&sandbox, &proofs[0]), mode(&sandbox, "home/.amplihack/proofs")), (0o600, 0o700));
    let proof = json(&sandbox, &proofs[0]);
    assert_eq!(proof["agent"], agent);
    assert_eq!(
        proofs[0].file_name().unwrap().to_str().unwrap(),
        format!("{agent}-{}.json", proof["version"].as_str().unwrap())
    );
    let seen: Vec<_> = proof["delivery"].as_array().unwrap().iter().collect();
    let seen: Vec<_> =
        seen.iter().map(|seen| (seen["channel"].as_str().unwrap(), &seen["arrived"])).collect();
    assert_eq!(seen, [("argv", &true.into()), ("stdin", &true.into())]);
    let legs: Vec<_> =
        proof["guard"].as_array().unwrap().iter().map(|leg| (&leg["leg"], &leg["held"])).collect();
    let held = &true.into();
    assert_eq!(legs, [(&"alone".into(), held), (&"as_configured".into(), held), (&"tools".into(), held)]);
    assert!(!proof.to_string().contains("s3cret"));
    assert_eq!(
        files(&sandbox.root().join("tmp")),
        Vec::<PathBuf>::new(),
        "the throw-away home is thrown away"
    );
}

#[test]
fn the_real_claude_is_proved() {
    the_real_one_is_proved("claude");
}

#[test]
fn the_real_codex_is_proved() {
    the_real_one_is_proved("codex");
}

#[test]
fn the_real_copilot_is_proved() {
    the_real_one_is_proved("copilot");
}

#[test]
fn the_real_gemini_is_proved() {
    the_real_one_is_proved("gemini");
}

/// Every tool that the pinned version offers asks, but those that are named with the reason.
fn hooked(agent: &str) -> &'static str {
    match agent {
        "claude" => "21 of 21 tools hooked; harmless without being asked: web_search (",
        "codex" => {
            "11 of 11 tools hooked; harmless without being asked: web_search (the model's provider searches; nothing runs here), write_stdin ("
        }
        "copilot" => "17 of 17 tools hooked\n",
        _ => "16 of 16 tools hooked; harmless without being asked: complete_task (",
    }
}

/// A machine whose Claude Code is the shell script `text` behind an honest `--version`.
fn claude(sandbox: &mut Sandbox, text: &str) {
    let version = r#"[ "$1" = --version ] && echo '2.1.332 (Claude Code)' && exit"#;
    let path = sandbox.write("liar", format!("#!/bin/sh\n{version}\n{text}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("AMPLIHACK_CLAUDE_PATH", path);
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
}

/// The report on Claude, and what is broken.
fn on_claude(sandbox: &Sandbox, output: &Output) -> String {
    let text = shown(sandbox, output);
    let wanted = |line: &&str| {
        line.contains("claude: ")
            || line.starts_with("    the guard")
            || ["broken: ", "prove: ", "nothing is", "--- exit"].iter().any(|start| line.starts_with(start))
    };
    text.lines().filter(wanted).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn an_agent_that_drops_every_prompt_is_found_out_and_not_launched() {
    let mut sandbox = Sandbox::repository();
    claude(&mut sandbox, "cat > /dev/null\n[ -z \"$FAKE_AGENT_LOG\" ] || echo started > ../started");
    let decoys = Sandbox::new();
    sandbox.set("HOME", decoys.home());
    let untouched = Decoys::new(&decoys);
    let mut report = on_claude(&sandbox, &prove(&sandbox, &["claude"]));
    untouched.assert_untouched(&decoys, &[]);
    let mut proof = json(&decoys, "home/.amplihack/proofs/claude-2.1.332.json");
    assert_eq!(proof["program"].as_str().map(str::len), Some(64), "the digest of the program");
    proof["program"] = "[DIGEST]".into();
    report += &masked(&sandbox, &serde_json::to_string_pretty(&proof).unwrap());
    report += "\n=== doctor afterwards\n";
    report += &on_claude(&sandbox, &run(&sandbox, &["doctor"]));
    report += "=== launch afterwards\n";
    report += &shown(&sandbox, &run(&sandbox, &["claude", "-p", "hi"]));
    insta::assert_snapshot!(report);
    assert!(!sandbox.root().join("started").exists());
}

/// Takes prompts as arguments; what comes on stdin is replaced.
const HALF: &str = r#"for word; do [ "$word" = -- ] && exec amplihack-scripted-agent "$@"; done
cat > /dev/null
echo 'another prompt' | amplihack-scripted-agent "$@""#;

#[test]
fn a_channel_that_changes_prompts_is_not_used_until_it_is_proved_again() {
    let mut sandbox = Sandbox::repository();
    sandbox.link("amplihack-scripted-agent", amplihack());
    claude(&mut sandbox, HALF);
    let file = sandbox.write("prompt.txt", "x".repeat(5000));
    let launch = ["claude", "-p", "--dry-run", "--prompt-file", file.to_str().unwrap()];
    let mut report = on_claude(&sandbox, &prove(&sandbox, &["claude"]));
    let told =
        shown(&sandbox, &run(&sandbox, &launch)).replace(&sandbox.work().display().to_string(), "[WORK]");
    // The guard's hooks have tests of their own.
    let hooks = |line: &str| line.trim_start().starts_with("{\"disableAllHooks\":false,\"env\":");
    report.extend(
        told.lines().map(|line| if hooks(line) { "  [HOOKS]\n".to_owned() } else { format!("{line}\n") }),
    );
    insta::assert_snapshot!(report);

    claude(&mut sandbox, "exec amplihack-scripted-agent \"$@\"");
    prove(&sandbox, &["claude"])
        .assert_code(0)
        .assert_stderr_has("argv proved")
        .assert_stderr_has("stdin proved")
        .assert_stderr_has("the guard held: ")
        .assert_stderr_has("the guard beside your own hooks held: your settings have none, so as above\n");
    let healed = run(&sandbox, &launch);
    healed.assert_code(0).assert_stderr("").assert_stdout_has("stdin");
}

/// Leaves `--settings` and its value out of the arguments where the command says so, then plays Claude Code.
const UNPLUG: &str = r#"n=$#; skip=
while [ $n -gt 0 ]; do
    word=$1; shift; n=$((n - 1))
    if [ -n "$skip" ]; then skip=; elif [ "$word" = --settings ] && WHEN; then skip=1; else set -- "$@" "$word"; fi
done
exec amplihack-scripted-agent "$@""#;

fn unplugged(when: &str) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.link("amplihack-scripted-agent", amplihack());
    claude(&mut sandbox, &UNPLUG.replace("WHEN", when));
    sandbox
}

#[test]
fn an_agent_that_leaves_out_the_guard_is_found_out_and_every_launch_says_so() {
    let sandbox = unplugged("true");
    let mut report = on_claude(&sandbox, &prove(&sandbox, &["claude"]));
    let json = run(&sandbox, &["doctor", "--json"]).json();
    report += &masked(&sandbox, &format!("{:#}\n", json["agents"][0]["guard_here"]));
    report += "=== launch afterwards\n";
    report += &run(&sandbox, &["claude", "-p", "hi", "--dry-run"]).stderr_text();
    insta::assert_snapshot!(report);
}

/// Hooks as a user has them; the first matcher is no regular expression.
const BAD_MATCHER: &str = r#"{"model": "opus", "hooks": {"PreToolUse": [
    {"matcher": "(Bash", "hooks": [{"type": "command", "command": "touch MARK"}]},
    {"hooks": [{"type": "prompt", "prompt": "s3cret?"}]}]}}"#;

#[test]
fn a_matcher_of_the_users_that_switches_all_hooks_off_is_seen() {
    let sandbox = unplugged(r#"grep -q '"matcher": "(Bash"' "$HOME/.claude/settings.json" 2>/dev/null"#);
    let mark = sandbox.root().join("mark");
    let settings = BAD_MATCHER.replace("MARK", mark.to_str().unwrap());
    let file = sandbox.write("home/.claude/settings.json", &settings);
    let output = prove(&sandbox, &["claude"]);
    insta::assert_snapshot!(on_claude(&sandbox, &output));
    assert!(!mark.exists(), "a command of the user's ran");
    std::fs::write(&file, settings.replace("(Bash", "Bash")).unwrap();
    prove(&sandbox, &["claude"])
        .assert_code(0)
        .assert_stderr_has("beside 2 hooks, each as `true`, in ~/.claude/settings.json\n");
    std::fs::write(&file, vec![b' '; 2 << 20]).unwrap();
    let output = prove(&sandbox, &["claude"]);
    output.assert_code(1).assert_stderr_has("hooks did not hold: your settings cannot be looked at: ");
}

/// A user's file that the real Codex cannot read keeps it from starting, so nothing can be seen of the guard there.
#[test]
fn settings_that_the_real_codex_cannot_read_are_seen() {
    let Some(program) = real::real_agent("codex") else { return };
    let mut sandbox = Sandbox::new();
    sandbox.set("AMPLIHACK_CODEX_PATH", program);
    sandbox.write("home/.codex/config.toml", "model = \"s3cret\n");
    let output = prove(&sandbox, &["codex"]);
    output.assert_code(1).assert_stderr_has("the guard held: ").assert_nowhere("s3cret");
    output.assert_stderr_has(
        "the guard beside your own hooks did not hold: the guard was not asked; the agent ended with 1: ",
    );
    output.assert_stderr_has("in ~/.codex/config.toml, which cannot be read\n");
    output.assert_stdout_has("the guard refuted here at ");
}

#[test]
fn a_missing_agent_is_a_note_unless_its_proof_was_asked_for() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.bin());
    let all = run(&sandbox, &["doctor", "--prove"]);
    all.assert_code(0).assert_stdout_has("no agent was found: install one of those above");
    let missing = all.stderr_text().lines().filter(|line| line.contains("nothing proved")).count();
    assert_eq!(missing, AgentBinary::ALL.len(), "{all}");
    all.assert_stderr_has(
        "amp: there is no guard to prove: amp has no command hooks; only permission rules of its own decide\n",
    );
    all.assert_stderr_has(
        "amplifier: there is no guard to prove: amplifier has no command hooks; nothing stands in for them\n",
    );
    let one = run(&sandbox, &["doctor", "--prove", "codex"]);
    one.assert_code(1).assert_stdout_has("broken: codex: nothing proved: codex was not found");
    run(&sandbox, &["doctor", "--prove", "vim"]).assert_code(2).assert_stderr_has("vim");
}
