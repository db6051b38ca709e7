//! A script that the parser misreads without noticing it is not let through: reserved words, and whatever once kept a second parser from
//! being asked.

use std::path::Path;
use std::time::Duration;

use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Event, Policy};
use amplihack_shell::{BashReaders, Limits};
use amplihack_verdict::{Decision, Verdict};

const READERS: [BashReaders; 2] = [BashReaders::All, BashReaders::Tree];

fn limits(readers: BashReaders) -> Limits {
    Limits { deadline: Duration::from_secs(20), readers, ..Limits::default() }
}

fn judge(script: &str, readers: BashReaders) -> Verdict {
    let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
    Policy::with_builtin_rules().judge(&event, &ExampleWorld::default(), &limits(readers))
}

/// Forms that bash takes, and that a parser took for a command named by the reserved word.
const FORMS: [&str; 43] = [
    "{fd}> f rm -rf ~",
    "{fd[0]}>&- rm -rf ~",
    "echo \"$((( 1 )); rm -rf ~)\"",
    "(((1)); rm -rf ~)",
    "time -- rm -rf ~",
    "time y+=a x[1]=b rm -rf ~",
    "env a.b=c rm -rf ~",
    "env 'a b=c' y+=1 rm -rf ~",
    "x=12 2> f \"rm\" -rf ~",
    "time -- { rm -rf ~; }",
    "time -- if :; then rm -rf ~; fi",
    "time -p -- ! { rm -rf ~; }",
    "time { rm -rf ~; }",
    "time ( rm -rf ~ )",
    "time(rm -rf ~)",
    "time -p { rm -rf ~; }",
    "time if :; then rm -rf ~; fi",
    "time for i in 1; do rm -rf ~; done",
    "time while rm -rf ~; do break; done",
    "time until rm -rf ~; do :; done",
    "time case x in x) rm -rf ~;; esac",
    "time time { rm -rf ~; }",
    "time \\\n{ rm -rf ~; }",
    "time ! { rm -rf ~; }",
    "time [[ -n $(rm -rf ~) ]]",
    "! { rm -rf ~; }",
    "! ( rm -rf ~ )",
    "!(rm -rf ~)",
    "! if :; then rm -rf ~; fi",
    "! for i in 1; do rm -rf ~; done",
    "! while rm -rf ~; do break; done",
    "! case x in x) rm -rf ~;; esac",
    "! ! { rm -rf ~; }",
    "! ! rm -rf ~",
    "! time { rm -rf ~; }",
    "if ! { rm -rf ~; }; then :; fi",
    "while ! { rm -rf ~; }; do :; done",
    "true && ! { rm -rf ~; }",
    "true | ! { rm -rf ~; }",
    "f() { ! { rm -rf ~; }; }; f",
    "function f { time { rm -rf ~; }; }; f",
    "case x in x) ! { rm -rf ~; };; esac",
    "for ((;;)) do ! { rm -rf ~; }; break; done",
];

/// What kept a second parser from being asked while there was one; each leaves what follows as it is.
fn switches() -> Vec<(&'static str, String)> {
    vec![
        ("nothing", String::new()),
        ("digits in a comment", "# 1234567890>\n".to_owned()),
        ("a comment behind a command", "ls # 1234567890< ((((((((((((\n".to_owned()),
        ("a shift", "n=$((1<<20))\n".to_owned()),
        ("a shift in a loop", "for ((i=1; i<1<<4; i<<=1)); do :; done\n".to_owned()),
        ("digits before a redirection", "ls 99999999999>f\n".to_owned()),
        ("size", "ls a-file-with-a-long-name\n".repeat(1300)),
        ("depth", format!("{}ls{}\n", "(true; ".repeat(45), ")".repeat(45))),
        ("brackets", format!("{}\n", "((1)); ((2)); ".repeat(12))),
        ("arithmetic in arithmetic", "x=$(( ((1+2)) + ((3)) ))\n".repeat(12)),
    ]
}

#[test]
fn no_reserved_word_is_a_programs_name() {
    for (name, before) in switches() {
        // Long and deep scripts take long to judge.
        let step = if before.len() > 300 { 6 } else { 1 };
        for form in FORMS.iter().step_by(step) {
            for readers in READERS {
                let script = format!("{before}{form}");
                let verdict = judge(&script, readers);
                assert_eq!(verdict.decision, Decision::Deny, "{readers:?}, {name}: {form}");
            }
        }
    }
}

/// With all readers, the reason is what the script does, not that it cannot be read.
#[test]
fn what_is_read_right_is_denied_for_what_it_does() {
    for (name, before) in switches() {
        let step = if before.len() > 300 { 6 } else { 1 };
        for form in FORMS.iter().step_by(step) {
            let rule = judge(&format!("{before}{form}"), BashReaders::All).rule.map(|rule| rule.to_string());
            assert_ne!(rule.as_deref(), Some("shell/undecided"), "{name}: {form}");
        }
    }
}

/// Everyday scripts that each reader alone decides.
#[test]
fn plain_scripts_stay_free_whoever_reads_them() {
    const FREE: [&str; 15] = [
        "ls -d !(a|b)",
        "ls @(src|tests)/*.rs",
        "time make -j8",
        "{ time cargo build; } 2> time.txt",
        "time",
        "! grep -q x f && echo none",
        "f() {\n  local x\n  a=1 b=2\n  while read -r x; do echo \"$x\"; done\n}\nf < file",
        "a=1 b=2\nfor i in x; do echo $i; done",
        "a=1 b=2 # both\ncase $a in 1) echo one;; esac",
        "echo $((1<<20)) # 1234567890>",
        "for ((i=0; i<3; i++)); do echo $i; done",
        "if [ -f x ]; then cat x; elif [[ -d y ]]; then ls y; fi > out 2>&1",
        "cat 0< f > g; head -n 3 99999999999> f",
        "x=(a b c); for y in \"${x[@]}\"; do echo $y; done; echo \"${x[@]}\"; ls &> log",
        "function g { echo a; }\ng | tee f",
    ];
    for (name, before) in switches() {
        let step = if before.len() > 300 { 4 } else { 1 };
        for script in FREE.iter().step_by(step) {
            for readers in READERS {
                let verdict = judge(&format!("{before}{script}"), readers);
                assert!(
                    verdict.decision == Decision::None,
                    "{readers:?}, {name}: {script}: {}",
                    verdict.reason
                );
            }
        }
    }
}

/// What bash ends, or runs, otherwise than its grammar has it: behind `((` it counts brackets without regard to what they stand in, and
/// at the start of a substitution it does not know `time`.
#[test]
fn substitutions_that_bash_may_end_elsewhere_are_undecided() {
    for script in [
        "echo $(( rm -rf ~ + $(c <<E\n'\nE\n) 2 ))",
        "echo $(( rm -rf ~ + $(c <<E\n\"\nE\n) 2 ))",
        "echo $(( rm -rf ~ + $(c <<E\n(\nE\n) 2 ))",
        "echo $(( rm -rf ~ + $(c <<-E; d\n\t' \" `e`\n\tE\n) 2 ))",
        "x={a,$(( rm -rf ~ + $(c <<E\n)\nE\n) 2 ))}",
        "echo $(( rm -rf ~ + `c # )\n` 2 ))",
        "echo $(( rm -rf ~ + $(case x in (x) echo 2;; esac) 2 ))",
        "echo $(( rm -rf ~ + $(case x in x) echo 2;; esac) 2 ))",
        "echo \"$(((1)); case x in x) ls; ls '$(rm -rf ~)';; esac )\"",
        "cat <<E\n$((( 1 )); case x in (b) ls;; x) ls '$(rm -rf ~)';; esac )\nE",
        "echo \"$((ls) | cat ${x#)} '$(rm -rf ~)' )\"",
        "echo \"$(time -p case x in a) ls;; x) ls '$(rm -rf ~)';; esac)\"",
        "cat <<E\n$(! time { case x in a) ls;; x) ls '$(rm -rf ~)';; esac; })\nE",
    ] {
        for readers in READERS {
            assert_eq!(judge(script, readers).decision, Decision::Deny, "{readers:?}: {script:?}");
        }
    }
    for script in [
        "n=$(( $(wc -l < f) + 1 ))",
        "n=$(( `wc -l < f` << 2 ))",
        "(( $(id -u) == 0 )) && ls",
        "for ((i = 0; i < $(nproc); i++)); do ls; done",
        "echo $((${#x} + (${y:-1})))",
        "((ls) | cat)",
        "t=$(time ls)",
    ] {
        assert_eq!(judge(script, BashReaders::All).decision, Decision::None, "{script}");
    }
}
