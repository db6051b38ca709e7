//! Exports of the policy into agents' permission languages: they never allow, never stop what the policy lets through, and their
//! gaps are counted.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::export::{ExportGaps, PolicyExport, export_policy};
use amplihack_policy::rules::{self, ExampleWorld};
use amplihack_policy::user::{Layer, PolicyLayerOwner};
use amplihack_policy::{Event, Policy, World};
use amplihack_shell::Limits;
use amplihack_testkit::{Sandbox, real};
use amplihack_verdict::Decision;
use serde_json::Value;

const AGENTS: [AgentBinary; 4] =
    [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Amp];

fn exported(agent: AgentBinary) -> PolicyExport {
    export_policy(&Policy::with_builtin_rules(), agent).unwrap()
}

/// The world of the recorded cases.
struct Base(String);

impl World for Base {
    fn branch(&self, dir: &Path) -> Option<String> {
        if dir.starts_with("/base/other_main") {
            return Some("main".to_owned());
        }
        dir.starts_with("/base").then(|| self.0.clone())
    }

    fn dirty(&self, _: &Path) -> Option<bool> {
        Some(false)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from(ExampleWorld::HOME))
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        vec![Path::new(ExampleWorld::HOME).join(".amplihack")]
    }

    fn git_alias(&self, _: &Path, _: &str) -> Option<String> {
        None
    }
}

/// Calls `f` with every recorded command and every example of a rule, and with what the policy says about it.
fn corpus(mut f: impl FnMut(&Event<'_>, Decision, &str)) {
    let policy = Policy::with_builtin_rules();
    let limits = Limits { deadline: std::time::Duration::from_secs(20), ..Limits::default() };
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../amplihack-policy/tests/cases");
    for file in ["xpia_bash.jsonl", "pretool_guard.jsonl"] {
        for row in std::fs::read_to_string(cases.join(file)).unwrap().lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            let (script, cwd) = (text("command"), text("cwd"));
            let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(&cwd) };
            f(&event, policy.judge(&event, &Base(text("branch")), &limits).decision, &script);
        }
    }
    for example in rules::builtin_rules().flat_map(|rule| rule.matches.iter().chain(rule.not_matches)) {
        example.with_event(|event| {
            // Text that is only read is no call.
            if matches!(event, Event::Content { .. }) {
                return;
            }
            f(event, policy.judge(event, &example.example_world(), &limits).decision, example.text);
        });
    }
}

#[test]
fn what_an_export_says_never_passes_the_policy() {
    for agent in AGENTS {
        let export = exported(agent);
        assert!(export.rules.iter().all(|rule| rule.decision >= Decision::Ask), "{agent}");
        let mut wrong = String::new();
        let mut stopped = 0;
        corpus(|event, decision, text| {
            let said = export.judge(event);
            // It has no word for allow, so it never lets through what the policy stops; it must not stop more either.
            assert_ne!(said, Decision::Allow);
            stopped += usize::from(said >= Decision::Ask);
            if said > decision {
                let _ = writeln!(wrong, "{agent} says {said} and the policy {decision}: {text}");
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
        assert!(stopped >= 5, "{agent} stops {stopped}");
    }
}

#[test]
fn the_gaps_are_known() {
    let mut report = String::new();
    for agent in AGENTS {
        let export = exported(agent);
        let mut gaps = ExportGaps::default();
        corpus(|event, decision, _| {
            let stops = decision >= Decision::Ask;
            gaps.harmful += usize::from(stops);
            gaps.missed += usize::from(stops && export.judge(event) < Decision::Ask);
        });
        let ExportGaps { harmful, missed } = export.gaps;
        let _ = writeln!(
            report,
            "{agent}: {} rules; of the rules' {harmful} examples {missed} pass ({} %); of all {} harmful rows {} ({} %)",
            export.rules.len(),
            export.gaps.missed_percent(),
            gaps.harmful,
            gaps.missed,
            gaps.missed_percent()
        );
    }
    insta::assert_snapshot!(report);
}

#[test]
fn each_export_is_its_agents_own_language() {
    for agent in AGENTS {
        let export = exported(agent);
        match agent {
            AgentBinary::Claude => {
                let text: Value = serde_json::from_str(&export.text).unwrap();
                let keys: Vec<_> = text["permissions"].as_object().unwrap().keys().collect();
                assert_eq!(keys, ["ask", "deny"]);
                let rules = text["permissions"]["deny"].as_array().unwrap();
                for rule in [
                    "Bash(rm -rf /:*)",
                    "Read(//etc/shadow)",
                    "Edit(.claude/settings.json)",
                    "WebFetch(domain:169.254.169.254)",
                ] {
                    assert!(rules.contains(&rule.into()), "{rule}");
                }
            }
            AgentBinary::Codex => {
                for line in export.text.lines().skip(1) {
                    assert!(
                        line.contains("decision = \"forbidden\"") || line.contains("decision = \"prompt\""),
                        "{line}"
                    );
                }
                assert!(export.text.contains(
                    r#"prefix_rule(pattern = ["git","commit","--no-verify"], decision = "forbidden""#
                ));
            }
            AgentBinary::Copilot => {
                assert!(export.text.lines().all(|line| line.starts_with("--deny-tool=")), "{}", export.text);
            }
            _ => {
                let text: Value = serde_json::from_str(&export.text).unwrap();
                for rule in text["amp.permissions"].as_array().unwrap() {
                    assert!(rule["action"] == "reject" || rule["action"] == "ask", "{rule}");
                }
            }
        }
    }
    let none = export_policy(&Policy::with_builtin_rules(), AgentBinary::Amplifier).unwrap_err();
    assert_eq!(
        none.to_string(),
        "amplifier has no permission rules that a policy could be put into; use claude, codex, copilot or amp"
    );
}

#[test]
fn the_users_own_policy_is_exported_and_what_is_switched_off_is_not() {
    let text = "disable = ['guards/no-verify']
[[rule]]
name = 'no-deploy'
program = 'kubectl'
args = ['apply']
decision = 'ask'
[[rule]]
name = 'secret-plans'
paths = ['~/plans/**']
decision = 'deny'
[[rule]]
hosts = ['evil.example']
decision = 'deny'
[[rule]]
program = 'weird*'
decision = 'deny'
";
    let layer = Layer { owner: PolicyLayerOwner::User, file: "policy.toml".into(), text: text.to_owned() };
    let policy = Policy::load(&[layer]).unwrap();
    let export = export_policy(&policy, AgentBinary::Claude).unwrap();
    for (pattern, decision) in [
        ("Bash(kubectl apply:*)", Decision::Ask),
        ("Read(~/plans/**)", Decision::Deny),
        ("Edit(~/plans/**)", Decision::Deny),
        ("WebFetch(domain:evil.example)", Decision::Deny),
    ] {
        let rule = export.rules.iter().find(|rule| rule.pattern == pattern);
        assert_eq!(rule.map(|rule| rule.decision), Some(decision), "{pattern}\n{}", export.text);
    }
    assert!(!export.text.contains("--no-verify") && !export.text.contains("weird"), "{}", export.text);
    let observing = Policy::with_builtin_rules().with_mode("observe".parse().unwrap());
    let nothing = export_policy(&observing, AgentBinary::Claude).unwrap();
    assert_eq!((nothing.rules.len(), nothing.gaps), (0, ExportGaps::default()));
}

/// The real CLI reads its rules as the matcher here does.
#[test]
fn codex_itself_reads_the_rules_so() {
    let Some(codex) = real::real_agent("codex") else { return };
    let sandbox = Sandbox::new();
    let export = exported(AgentBinary::Codex);
    let rules = sandbox.write("work/amplihack.rules", &export.text);
    for (words, expected) in [
        (&["rm", "-rf", "/"][..], Some("forbidden")),
        (&["rm", "-rf", "/tmp/x"], None),
        (&["git", "commit", "--no-verify", "-m", "x"], Some("forbidden")),
        (&["git", "commit", "-m", "x"], None),
        (&["crontab", "-r"], Some("forbidden")),
        (&["ls"], None),
    ] {
        let mut args = vec!["execpolicy", "check", "--rules", rules.to_str().unwrap(), "--"];
        args.extend(words);
        let output = sandbox.run(&codex, &args);
        let answer = output.assert_code(0).json();
        assert_eq!(answer["decision"].as_str(), expected, "{words:?}: {output}");
        let script = words.join(" ");
        let said = export.judge(&Event::Shell { script: script.as_bytes(), cwd: Path::new("/") });
        assert_eq!(said == Decision::Deny, expected.is_some(), "{script}");
    }
}

/// The real CLI reads its rules as the matcher here does.
#[test]
fn amp_itself_reads_the_rules_so() {
    let Some(amp) = real::real_agent("amp") else { return };
    let mut sandbox = Sandbox::new();
    sandbox.set("AMP_API_KEY", "dummy");
    sandbox.set("AMP_URL", "http://127.0.0.1:9");
    let export = exported(AgentBinary::Amp);
    let settings = sandbox.write("work/settings.json", &export.text);
    for (tool, key, value, expected) in [
        ("Bash", "--cmd", "rm -rf /", "reject"),
        ("Bash", "--cmd", "rm -rf /tmp/x", ""),
        ("Read", "--path", "/home/u/.ssh/id_rsa", "ask"),
        ("Read", "--path", "/home/u/.ssh/id_rsa.pub", ""),
        ("read_web_page", "--url", "http://169.254.169.254/latest", "reject"),
    ] {
        let args = [
            "permissions",
            "test",
            tool,
            key,
            value,
            "--json",
            "--settings-file",
            settings.to_str().unwrap(),
        ];
        let output = sandbox.run(&amp, args);
        let answer = output.json();
        let ours = answer["action"].as_str().filter(|_| answer["source"] == "user").unwrap_or_default();
        assert_eq!(ours, expected, "{tool} {value}: {output}");
    }
}
