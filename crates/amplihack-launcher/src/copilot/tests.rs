//! The normaliser against its vectors, and what holds for every command line.

use std::collections::BTreeSet;
use std::ffi::OsString;

use amplihack_sys::error::ErrorExplanation;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// A command line, and what becomes of it: other arguments, or an error of this kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    argv: Vec<String>,
    becomes: Option<Vec<String>>,
    error: Option<String>,
}

fn words<S: AsRef<str>>(words: &[S]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().into()).collect()
}

fn outcome(argv: &[OsString]) -> Result<Vec<OsString>, &'static str> {
    normalize(argv).map(|normalized| normalized.argv).map_err(|error| error.kind())
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../tests/cases/copilot_normalizer.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_vectors_hold_and_a_second_time_changes_nothing() {
    let cases = cases();
    assert!(cases.len() > 80, "{}", cases.len());
    for Case { name, argv, becomes, error } in cases {
        let expected = match (&becomes, &error) {
            (Some(becomes), None) => Ok(words(becomes)),
            (None, Some(error)) => Err(error.as_str()),
            _ => panic!("{name} has one outcome"),
        };
        let found = outcome(&words(&argv));
        assert_eq!(found, expected, "{name}");
        if let Ok(once) = found {
            assert_eq!(outcome(&once), Ok(once), "{name}: twice");
        }
    }
}

#[test]
fn flags_that_todays_copilot_refuses_stay_and_are_named_with_what_to_write() {
    let argv = words(&["--allow-path=/repo", "--deny-path", "/secret", "--max-turns", "3", "-p", "x"]);
    let NormalizedArguments { argv, warnings } = normalize(&argv).unwrap();
    let kept =
        ["--allow-all-tools", "--allow-path=/repo", "--deny-path", "/secret", "--max-turns", "3", "-p", "x"];
    assert_eq!(argv, words(&kept));
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "--allow-path is refused by today's Copilot; write --add-dir",
            "--deny-path is refused by today's Copilot; write --disallow-temp-dir and an --add-dir for each directory that is wanted",
            "--max-turns is not known to Copilot, which may refuse it",
        ]
    );
}

#[test]
fn the_system_prompt_comes_before_what_is_appended_to_it() {
    let argv =
        ["--append-system-prompt", "B", "--system-prompt", "A", "--append-system-prompt", "C", "-p", "x"];
    let out = normalize(&words(&argv)).unwrap();
    assert_eq!(out.argv.last().unwrap(), "A\n\nB\n\nC\n\nx");
}

/// A flag that takes tools away begins no run without a person.
#[test]
fn denied_tools_leave_an_interactive_start_interactive() {
    for argv in [&["--disallowed-tools=Bash"][..], &["--disallowedTools", "Bash", "--model", "m"]] {
        let out = normalize(&words(argv)).unwrap();
        assert!(!out.argv.iter().any(|word| word == "-p"), "{out:?}");
        assert!(out.argv.iter().any(|word| word == "--deny-tool=shell"), "{out:?}");
        assert_eq!(normalize(&out.argv).unwrap().argv, out.argv);
        assert!(!out.warnings.contains(&NormalizeWarning::NothingGranted), "{out:?}");
    }
    let out = normalize(&words(&["--disallowed-tools=Bash", "-i", "x"])).unwrap();
    assert_eq!(out.argv.last().unwrap(), "Do not use these tools in this invocation: Bash.\n\nx");
}

#[test]
fn a_headless_run_without_any_granted_tool_is_warned_about() {
    for (argv, warned) in [
        (&["--deny-tool=shell", "-p", "x"][..], true),
        (&["--deny-tool", "shell", "--allow-all-paths", "-p", "x"], true),
        (&["--disallowed-tools", "Bash", "-p", "x"], true),
        (&["--available-tools=view", "-p", "x"], true),
        (&["--deny-tool=shell", "--allow-tool=write", "-p", "x"], false),
        (&["--deny-tool=shell", "--allow-all-tools", "-p", "x"], false),
        (&["--allowedTools", "Edit", "--deny-tool=shell", "-p", "x"], false),
        (&["--permission-mode", "acceptEdits", "-p", "x"], false),
        (&["-p", "x"], false),
        (&["--deny-tool=shell"], false),
        (&["--deny-tool=shell", "-i", "x"], false),
    ] {
        let out = normalize(&words(argv)).unwrap();
        assert_eq!(out.warnings.contains(&NormalizeWarning::NothingGranted), warned, "{argv:?}: {out:?}");
    }
}

#[test]
fn an_argument_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = OsString::from_vec(b"caf\xe9".to_vec());
    let argv = [OsString::from("--system-prompt"), "s".into(), "-p".into(), bytes.clone(), bytes.clone()];
    let mut prompt = OsString::from("s\n\n");
    prompt.push(&bytes);
    let expected =
        ["--allow-all-tools".into(), "--allow-all-paths".into(), bytes.clone(), "-p".into(), prompt];
    assert_eq!(outcome(&argv), Ok(expected.to_vec()));
    assert_eq!(outcome(&["--disallowed-tools".into(), bytes]), Err("not_text"));
}

#[test]
fn an_error_names_the_flag_and_the_next_step() {
    let error = normalize(&words(&["-p", "--deny-tool=shell"])).unwrap_err();
    assert_eq!(error.to_string(), "-p has no value before --deny-tool=shell");
    assert_eq!(error.hint().unwrap(), "give it one, or leave it out");
    let error = normalize(&words(&["--system-prompt", "-p", "x"])).unwrap_err();
    assert_eq!(
        error.hint().unwrap(),
        "give it one; a value that looks like a flag is written --system-prompt=VALUE"
    );
}

/// What a command line grants, as Copilot reads it: a second reader, which knows only Copilot's own flags.
#[derive(Debug, Default, PartialEq, Eq)]
struct Grants {
    tools: BTreeSet<String>,
    paths: BTreeSet<String>,
    denials: BTreeSet<String>,
}

fn grants(argv: &[OsString]) -> Grants {
    let argv: Vec<&str> = argv.iter().map(|word| word.to_str().unwrap()).collect();
    let mut grants = Grants::default();
    let mut at = 0;
    while at < argv.len() && argv[at] != "--" {
        let (flag, attached) = match argv[at].split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (argv[at], None),
        };
        at += 1;
        let values: Vec<&str> = match (attached, flag) {
            (Some(value), _) => vec![value],
            (None, "-p" | "--prompt" | "-i" | "--model" | "--add-dir" | "--name" | "--mode") => {
                at += 1;
                argv[at - 1..at].to_vec()
            }
            (None, "--allow-tool" | "--deny-tool" | "--available-tools" | "--excluded-tools") => {
                let values = argv[at..].iter().take_while(|word| !word.starts_with('-'));
                let values: Vec<&str> = values.copied().collect();
                at += values.len();
                values
            }
            _ => Vec::new(),
        };
        let values = values.into_iter().map(str::to_owned);
        match flag {
            "--allow-all-tools" => drop(grants.tools.insert("all".into())),
            "--allow-all-paths" => drop(grants.paths.insert("all".into())),
            "--allow-all" | "--yolo" => {
                grants.tools.insert("all".into());
                grants.paths.insert("all".into());
            }
            "--allow-tool" => grants.tools.extend(values),
            "--add-dir" => grants.paths.extend(values),
            "--deny-tool" | "--available-tools" | "--excluded-tools" => {
                grants.denials.extend(values.map(|value| format!("{flag}={value}")));
            }
            _ => {}
        }
    }
    grants
}

const TOOL_FLAGS: &[&str] = &[
    "--allow-tool=shell(git)",
    "--allow-tool",
    "--deny-tool=write",
    "--deny-tool",
    "--available-tools=view",
    "--excluded-tools=bash",
    "--allowed-tools=Bash",
    "--allowedTools",
    "--disallowed-tools=Bash",
    "--disallowedTools",
    "--permission-mode=plan",
    "--permission-mode",
    "--dangerously-skip-permissions=false",
    "--allow-all-tools=false",
    "--tools=Read",
    "--plan",
];
const PATH_FLAGS: &[&str] = &[
    "--add-dir=/a",
    "--add-dir",
    "--allow-path=/a",
    "--deny-path=/b",
    "--disallow-temp-dir",
    "--permission-mode=default",
    "--dangerously-skip-permissions=no",
    "--allow-all-paths=0",
];
const OTHERS: &[&str] = &[
    "-p",
    "-pone",
    "--prompt=two",
    "--prompt",
    "--system-prompt=s",
    "--append-system-prompt",
    "-i",
    "--",
    "--dangerously-skip-permissions",
    "--model",
    "--model=m",
    "--resume",
    "--continue",
    "--brand-new",
    "-s",
    "-sp",
    "word",
    "Bash",
    "Write",
    "plan",
    "acceptEdits",
    "-x",
    "",
    "default",
    "--name",
    "--print",
    "- a",
];

/// The one flag that says yes without a value and no with one.
fn is_skip(word: &str) -> bool {
    word == "--dangerously-skip-permissions"
}

fn line() -> impl Strategy<Value = Vec<OsString>> {
    let word = prop_oneof![
        2 => proptest::sample::select(TOOL_FLAGS),
        2 => proptest::sample::select(PATH_FLAGS),
        5 => proptest::sample::select(OTHERS),
    ];
    proptest::collection::vec(word.prop_map(OsString::from), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn twice_is_once(argv in line()) {
        if let Ok(once) = outcome(&argv) {
            prop_assert_eq!(outcome(&once), Ok(once.clone()), "{:?}", argv);
        }
    }

    #[test]
    fn what_was_decided_is_not_widened(argv in line()) {
        let Ok(after) = outcome(&argv) else { return Ok(()) };
        let before: Vec<&str> =
            argv.iter().map(|word| word.to_str().unwrap()).take_while(|word| *word != "--").collect();
        // Nothing is disallowed by an empty list.
        prop_assume!(!before.windows(2).any(|pair| pair[0].starts_with("--disallowed") && pair[1].is_empty()));
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let says = |flags: &[&str]| {
            before.iter().any(|word| flags.iter().any(|flag| flag == word || name(flag) == name(word) && !is_skip(word)))
        };
        let (old, new) = (grants(&argv), grants(&after));
        for (said, old, new) in
            [(says(TOOL_FLAGS), &old.tools, &new.tools), (says(PATH_FLAGS), &old.paths, &new.paths)]
        {
            prop_assert!(!said || old.contains("all") || !new.contains("all"), "{:?} became {:?}", argv, after);
        }
        // Rules of Copilot's own stay as they were, both ways.
        prop_assert!(old.denials.is_subset(&new.denials), "{:?} became {:?}", argv, after);
        let translated = |rule: &&String| ["shell", "write"].contains(&rule.as_str());
        let more: Vec<_> = new.tools.difference(&old.tools).filter(|rule| *rule != "all").collect();
        prop_assert!(more.iter().all(translated), "{:?} became {:?}", argv, after);
    }

    #[test]
    fn a_prompt_comes_out_as_it_went_in(system in "\\PC{0,20}", prompt in "\\PC{1,40}") {
        let argv = [format!("--system-prompt={system}").into(), format!("--prompt={prompt}").into()];
        let after = outcome(&argv).unwrap();
        let merged = if system.is_empty() { prompt } else { format!("{system}\n\n{prompt}") };
        let last = after.last().unwrap().to_str().unwrap();
        prop_assert_eq!(last.strip_prefix("--prompt=").filter(|text| *text == merged).unwrap_or(last), merged);
    }
}
