//! `doctor --prove`: real agents are proved without a look at the user's home, and lying ones are found out.

use std::fs::{File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use amplihack_testkit::{NetNs, Output, Run, Sandbox, loud, real};

use crate::scene::{files, json, masked, mode, shown};
use crate::world::{amplihack, run};

/// `amplihack doctor --prove AGENTS…`, with nothing but loopback around it.
fn prove(sandbox: &Sandbox, agents: &[&str]) -> Output {
    let mut command = sandbox.command(amplihack());
    command.args(["doctor", "--prove"]).args(agents);
    let network = NetNs::new();
    Run::new(network.wrap(&command)).timeout(Duration::from_secs(100)).output()
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
            ".claude/settings.json",
            ".codex/config.toml",
            ".codex/auth.json",
            ".copilot/config.json",
            ".copilot/settings.json",
        ];
        let files = names.map(place).map(|path| (path, long_ago)).to_vec();
        Self { files, reads_show }
    }

    fn assert_untouched(&self, sandbox: &Sandbox) {
        let ours = sandbox.home().join(".amplihack");
        let mut left = files(&sandbox.home());
        left.retain(|path| !path.starts_with(&ours));
        let mut placed: Vec<PathBuf> = self.files.iter().map(|(path, _)| path.clone()).collect();
        placed.sort();
        assert_eq!(left, placed, "nothing is added and nothing removed");
        if !self.reads_show {
            loud("SKIPPED: whether the home was read; this file system keeps no times of access");
        }
        for (path, accessed) in &self.files {
            let found = std::fs::metadata(path).unwrap().accessed().unwrap();
            assert!(!self.reads_show || found == *accessed, "{} was read", path.display());
            assert_eq!(std::fs::read_to_string(path).unwrap(), Self::TEXT, "{}", path.display());
        }
    }
}

fn the_real_one_is_proved(agent: &str) {
    let Some(program) = real::real_agent(agent) else { return };
    let mut sandbox = Sandbox::new();
    sandbox.set(format!("AMPLIHACK_{}_PATH", agent.to_uppercase()), program);
    let decoys = Decoys::new(&sandbox);
    let output = prove(&sandbox, &[agent]);
    output.assert_code(0).assert_stderr_has("argv proved (").assert_stderr_has("stdin proved (");
    output.assert_stdout_has("proved here at ").assert_stdout_has("nothing is broken\n");
    decoys.assert_untouched(&sandbox);
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
    untouched.assert_untouched(&decoys);
    let proof = json(&decoys, "home/.amplihack/proofs/claude-2.1.332.json");
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
    report +=
        &shown(&sandbox, &run(&sandbox, &launch)).replace(&sandbox.work().display().to_string(), "[WORK]");
    insta::assert_snapshot!(report);

    claude(&mut sandbox, "exec amplihack-scripted-agent \"$@\"");
    prove(&sandbox, &["claude"])
        .assert_code(0)
        .assert_stderr_has("argv proved")
        .assert_stderr_has("stdin proved");
    let healed = run(&sandbox, &launch);
    healed.assert_code(0).assert_stderr("").assert_stdout_has("stdin");
}

#[test]
fn a_missing_agent_is_a_note_unless_its_proof_was_asked_for() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.bin());
    let all = run(&sandbox, &["doctor", "--prove"]);
    all.assert_code(0).assert_stdout_has("nothing is broken\n");
    assert_eq!(all.stderr_text().lines().filter(|line| line.contains("nothing proved")).count(), 5, "{all}");
    let one = run(&sandbox, &["doctor", "--prove", "codex"]);
    one.assert_code(1).assert_stdout_has("broken: codex: nothing proved: codex was not found");
    run(&sandbox, &["doctor", "--prove", "vim"]).assert_code(2).assert_stderr_has("vim");
}
