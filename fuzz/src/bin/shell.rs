//! Scripts: the policy judges each within its deadline, whatever is in it.

use std::path::Path;
use std::time::Duration;

use amplihack_fuzz::{Target, run, seeds};
use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Event, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::Decision;

const DICTIONARY: &[&str] = &[
    "$(",
    ")",
    "`",
    "${",
    "}",
    "((",
    "))",
    "$((",
    "[[ ",
    " ]]",
    "'",
    "\"",
    "$'",
    "\\",
    "\n",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "<<E\n",
    "\nE\n",
    "<<<",
    "<(",
    ">(",
    " > ",
    "2>&1",
    "if ",
    "; then ",
    "; fi",
    "for x in ",
    "; do ",
    "; done",
    "while ",
    "case x in ",
    ") ",
    ";;",
    " esac",
    "f() { ",
    "; }",
    "{a,b}",
    "{1..9}",
    "*",
    "~",
    "$x",
    "x=",
    "x+=",
    "a[1]=",
    "eval ",
    "sh -c '",
    "sudo ",
    "env ",
    "xargs ",
    "find . -exec ",
    "coproc ",
    "time ",
    "! ",
    "select x in ",
    "#",
    "\r\n",
    "é",
    "\u{202e}",
    "printf '%s' ",
    "base64 -d",
    "set -- ",
    "\"$@\"",
    "export ",
    "trap '",
    "alias x=",
    "cd /",
    "rm -rf /",
    "git -c alias.x='!",
    "ssh h ",
    "python3 -c '",
    "awk '",
    "read x",
    "local ",
    "shift",
];

fn main() -> std::process::ExitCode {
    let policy = Policy::with_builtin_rules();
    let files = [
        "amplihack-policy/tests/cases/xpia_bash.jsonl",
        "amplihack-policy/tests/cases/pretool_guard.jsonl",
        "amplihack-policy/tests/corpus/benign.jsonl",
        "amplihack-policy/tests/corpus/harmful.jsonl",
    ];
    let target = Target {
        name: "shell",
        seeds: seeds::lines(&files, "command"),
        dictionary: DICTIONARY,
        longest: 64 << 10,
        most: |_| Duration::from_millis(200),
    };
    run(target, |script| {
        let event = Event::Shell { script, cwd: Path::new(ExampleWorld::CWD) };
        let verdict = policy.judge(&event, &ExampleWorld::default(), &Limits::default());
        assert_eq!(verdict.decision == Decision::None, verdict.reason.is_empty());
        assert!(!verdict.reason.contains('\n'));
        assert!(
            verdict.spans.iter().all(|span| span.start <= span.end && span.end <= script.len()),
            "{:?}",
            verdict.spans
        );
    })
}
