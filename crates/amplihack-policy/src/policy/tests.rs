//! What a policy says of itself, and how the verdict on a script, a file or an address is made of what its rules say.

use std::path::PathBuf;
use std::time::Duration;

use amplihack_verdict::Span;

use super::*;
use crate::rules::ExampleWorld;
use crate::user::{Layer, PolicyLayerOwner, StatedRule};

fn user(text: &str) -> Policy {
    let layer = Layer { owner: PolicyLayerOwner::User, file: "policy.toml".into(), text: text.to_owned() };
    Policy::load(&[layer]).unwrap()
}

#[test]
fn a_policy_tells_how_it_is_applied() {
    assert_eq!(Policy::with_builtin_rules().mode(), PolicyMode::Standard);
    for mode in [PolicyMode::Observe, PolicyMode::Standard, PolicyMode::Strict] {
        assert_eq!(Policy::with_builtin_rules().with_mode(mode).mode(), mode);
    }
}

#[test]
fn a_users_rules_are_listed_as_they_are_stated() {
    let policy = user(
        "[[rule]]\nname = 'a'\nprogram = 'x'\nargs = ['y']\npaths = ['/z']\nhosts = ['h']\nreason = 'r'\ndecision = 'ask'\n\
         [[rule]]\nname = 'b'\nprogram = 'x'\ndecision = 'allow'\n",
    );
    let [first, second] = policy.user_rules().collect::<Vec<_>>()[..] else { panic!("two rules") };
    let text = |text: &str| vec![text.to_owned()];
    let stated = StatedRule {
        id: &RuleId::new("user/a"),
        decision: Decision::Ask,
        programs: &text("x"),
        args: &text("y"),
        paths: &text("/z"),
        hosts: &text("h"),
        reason: "r",
    };
    assert_eq!(first, stated);
    assert_eq!((second.id, second.decision), (&RuleId::new("user/b"), Decision::Allow));
}

#[test]
fn of_the_time_for_a_script_a_part_is_kept_back() {
    let [for_rules, for_the_end] = judging::kept_back(Duration::from_millis(80));
    assert_eq!((for_rules, for_the_end), (Duration::from_millis(24), Duration::from_millis(10)));
}

/// The machine of the examples, with links in the working directory and aliases of git's that run programs.
struct Machine;

impl World for Machine {
    fn branch(&self, dir: &Path) -> Option<String> {
        ExampleWorld::default().branch(dir)
    }

    fn dirty(&self, dir: &Path) -> Option<bool> {
        ExampleWorld::default().dirty(dir)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(match path.to_str() {
            Some("/home/u/proj/key") => "/home/u/.ssh/id_rsa".into(),
            Some("/home/u/proj/profile") => "/home/u/.bashrc".into(),
            _ => path.to_path_buf(),
        })
    }

    fn home(&self) -> Option<PathBuf> {
        ExampleWorld::default().home()
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        ExampleWorld::default().state_directories()
    }

    fn git_alias(&self, dir: &Path, name: &str) -> Option<String> {
        match name {
            "again" => Some("!git again".to_owned()),
            "list" => Some("!ls".to_owned()),
            _ => ExampleWorld::default().git_alias(dir, name),
        }
    }
}

fn cwd() -> &'static Path {
    Path::new(ExampleWorld::CWD)
}

fn explain(policy: &Policy, script: &str) -> VerdictExplanation {
    let event = Event::Shell { script: script.as_bytes(), cwd: cwd() };
    let told = policy.explain(&event, &Machine, &Limits::with_long_deadline());
    // Telling how looks further than judging, which may end at the first deny.
    let judged = policy.judge(&event, &Machine, &Limits::with_long_deadline());
    assert_eq!(told.verdict.decision, judged.decision, "{script}");
    told
}

fn rules_of(told: &VerdictExplanation) -> Vec<(Decision, String)> {
    let said = |hit: &Verdict| (hit.decision, hit.rule.as_ref().map(ToString::to_string).unwrap_or_default());
    told.hits.iter().map(said).collect()
}

#[test]
fn a_link_is_judged_by_both_its_places() {
    let policy = Policy::with_builtin_rules();
    let judge = |event: Event<'_>| policy.judge(&event, &Machine, &Limits::with_long_deadline()).decision;
    let read = |path: &str| judge(Event::Read { path: Path::new(path), cwd: cwd() });
    let write = |path: &str| judge(Event::Write { path: Path::new(path), cwd: cwd() });
    assert_eq!((read("key"), read("notes")), (read("/home/u/.ssh/id_rsa"), Decision::None));
    assert_eq!((write("profile"), write("notes")), (write("/home/u/.bashrc"), Decision::None));
    assert!(read("key") >= Decision::Ask && write("profile") >= Decision::Ask);
}

#[test]
fn text_that_eval_makes_is_asked_about_and_nothing_else_is_excused_by_it() {
    for (script, decision, rule) in [
        ("eval \"$x\"", Decision::Ask, "remote_code/eval"),
        ("eval \"$x\" b", Decision::Ask, "remote_code/eval"),
        ("eval a \"$x\"", Decision::Ask, "remote_code/eval"),
        ("eval -- \"$x\"", Decision::Ask, "remote_code/eval"),
        ("eval \"$x b\"", Decision::Ask, "remote_code/eval"),
        ("eval \"$x\"; $y z", Decision::Deny, "shell/undecided"),
        ("eval ls; $y z", Decision::Deny, "shell/undecided"),
        ("echo \"$x\"; $y z", Decision::Deny, "shell/undecided"),
    ] {
        let told = explain(&Policy::with_builtin_rules(), script);
        assert_eq!(told.verdict.decision, decision, "{script}");
        assert_eq!(told.verdict.rule.map(|rule| rule.to_string()).as_deref(), Some(rule), "{script}");
    }
}

#[test]
fn a_script_of_gits_is_judged_where_git_is_called() {
    let script = "cd x && git yolo -m y";
    let told = explain(&Policy::with_builtin_rules(), script);
    assert_eq!(told.verdict.decision, Decision::Deny);
    assert_eq!(told.verdict.spans, [Span { start: 8, end: script.len() }]);
    assert!(told.verdict.reason.contains("--no-verify"), "{}", told.verdict.reason);

    let endless = explain(&Policy::with_builtin_rules(), "git again");
    assert_eq!(endless.verdict.decision, Decision::Deny);
    assert!(endless.verdict.reason.contains("run each other without end"), "{}", endless.verdict.reason);

    let plain = explain(&Policy::with_builtin_rules(), "git list");
    assert_eq!(plain.verdict, Verdict::no_objection());
    let allow = |programs: &str| user(&format!("[[rule]]\nprogram = [{programs}]\ndecision = 'allow'\n"));
    assert_eq!(
        explain(&allow("'ls'"), "git list").verdict,
        Verdict::no_objection(),
        "git itself was not allowed"
    );
    assert_eq!(explain(&allow("'git', 'ls'"), "git list").verdict.decision, Decision::Allow);
}

#[test]
fn the_strict_mode_asks_about_names_and_not_about_what_has_none() {
    let unknown = (Decision::Ask, "strict/unknown-program".to_owned());
    let strict = Policy::with_builtin_rules().with_mode(PolicyMode::Strict);
    for (script, asks) in [
        ("frobnicate", true),
        ("./ls", true),
        ("ls", false),
        ("NAME=value", false),
        ("NAME=value >file", false),
        ("$program -x", false),
    ] {
        assert_eq!(rules_of(&explain(&strict, script)).contains(&unknown), asks, "{script}");
    }
    let named = user("[[rule]]\nprogram = 'frobnicate'\nargs = ['-n']\ndecision = 'allow'\n")
        .with_mode(PolicyMode::Strict);
    assert_eq!(explain(&named, "frobnicate -n").hits.len(), 1, "the user knows it");
    assert!(rules_of(&explain(&named, "frobnicate")).contains(&unknown), "not like this");
    let denied = user("[[rule]]\nprogram = 'frobnicate'\ndecision = 'ask'\n").with_mode(PolicyMode::Strict);
    assert!(
        rules_of(&explain(&denied, "frobnicate")).contains(&unknown),
        "a rule that asks makes nothing known"
    );
}

#[test]
fn what_an_allow_lifted_is_told() {
    let policy = user("[[rule]]\nname = 'mine'\nprogram = ['printenv', 'rm']\ndecision = 'allow'\n");
    let told = explain(&policy, "printenv");
    assert_eq!(told.verdict.rule, Some(RuleId::new("user/mine")));
    let lifted = (Decision::Ask, "exfiltration/environment".to_owned());
    assert_eq!(rules_of(&told), [lifted, (Decision::Allow, "user/mine".to_owned())]);
    let denied = explain(&policy, "rm -rf /");
    assert!(rules_of(&denied).iter().all(|(decision, _)| *decision == Decision::Deny), "{:?}", denied.hits);
}

#[test]
fn a_script_that_took_too_long_is_denied_and_still_explained() {
    let event = Event::Shell { script: b"ls; rm -rf /", cwd: cwd() };
    let limits = Limits { deadline: Duration::ZERO, ..Limits::default() };
    let told = Policy::with_builtin_rules().explain(&event, &Machine, &limits);
    assert_eq!((told.verdict.decision, told.verdict.rule), (Decision::Deny, Some(UNDECIDED)));
    assert_eq!(told.undecided, [amplihack_shell::OUT_OF_TIME]);
}

#[test]
fn every_rule_looks_at_a_command_with_many_arguments() {
    let script = format!("rm -rf /{}", " file".repeat(300));
    assert_eq!(
        explain(&Policy::with_builtin_rules(), &script).verdict.rule,
        explain(&Policy::with_builtin_rules(), "rm -rf /").verdict.rule
    );
}
