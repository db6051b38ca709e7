//! azlin's answers, and what is made of them.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;

use super::*;

/// An azlin that gives the answers it was told to, and remembers what it was asked.
struct Told {
    answers: Mutex<VecDeque<CommandOutput>>,
    asked: Mutex<Vec<String>>,
}

/// The code of an azlin that does not end.
const NEVER: i32 = -1;

impl Told {
    fn new<const N: usize>(answers: [(i32, &str); N]) -> Self {
        let answer = |(status, text): (i32, &str)| match status {
            0 => CommandOutput { status, stdout: text.to_owned(), ..CommandOutput::default() },
            _ => CommandOutput { status, stderr: text.to_owned(), ..CommandOutput::default() },
        };
        Self { answers: Mutex::new(answers.map(answer).into()), asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl RemoteCommandRunner for Told {
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError> {
        self.asked.lock().unwrap().push(args.join(" "));
        let answer = self.answers.lock().unwrap().pop_front().expect("another answer");
        if answer.status == NEVER {
            return Err(RemoteError::Transfer("no answer within 1800 s".into()));
        }
        Ok(answer)
    }
    async fn connect(&self, _: &str, _: &str) -> Result<CommandOutput, RemoteError> {
        unreachable!("azlin is asked only to make and delete machines")
    }
    async fn transfer(&self, _: &Path, _: &str, _: &Path) -> Result<(), RemoteError> {
        unreachable!("azlin is asked only to make and delete machines")
    }
}

const NOW: &str = r#"{"vms":[{"name":"amplihack-a","resource_group":"g","power_state":"Running","ip":"20.1.2.3","public_ip":"20.1.2.3","private_ip":"10.0.0.4","location":"eastus","vm_size":"Standard_E16s_v5","os":"Linux","cpu":16,"mem":null,"session":null,"tmux_sessions":[]}],"filters":{"hidden_not_running":1,"dropped_by_tag":0,"dropped_by_pattern":0}}"#;
const BEFORE: &str = r#"[{"name":"amplihack-a","ip":"10.0.0.4","public_ip":null,"region":"eastus","size":"Standard_E16s_v5"}]"#;

fn make<const N: usize>(answers: [(i32, &str); N]) -> (Result<AzlinVm, RemoteError>, Vec<String>) {
    let told = Told::new(answers);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let wanted = AzlinVmRequest {
        name: "amplihack-a",
        size: "Standard_E16s_v5",
        region: "westus",
        extra: &["--rg".to_owned(), "g".to_owned()],
    };
    let made = runtime.block_on(AzlinCli::new(&told, Duration::from_mins(2)).create_machine(&wanted));
    (made, told.asked())
}

#[test]
fn both_shapes_of_the_list_are_read() {
    let now = parse_machine_list(&format!("WARNING: old az\n{NOW}\n")).unwrap();
    assert_eq!((now[0].name.as_str(), now[0].public_address()), ("amplihack-a", Some("20.1.2.3")));
    let before = parse_machine_list(BEFORE).unwrap();
    assert_eq!(before[0].vm_size.as_deref(), Some("Standard_E16s_v5"));
    assert_eq!(before[0].public_address(), None);
    assert!(parse_machine_list("NAME  SIZE\n").is_err());
    assert_eq!(parse_machine_list("[]").unwrap(), []);
}

#[test]
fn a_machine_is_made_in_the_grammar_of_azlin() {
    let (made, asked) = make([(0, "made"), (0, NOW)]);
    assert_eq!(made.unwrap().name, "amplihack-a");
    assert_eq!(
        asked,
        [
            "new --name amplihack-a --vm-size Standard_E16s_v5 --region westus --yes --no-auto-connect --rg g",
            "-o json list --no-tmux --all",
        ]
    );
}

#[test]
fn only_what_may_pass_is_tried_again() {
    let (made, asked) = make([(1, "ERROR: (TooManyRequests) slow down"), (0, "[]"), (0, "made"), (0, NOW)]);
    assert!(made.is_ok());
    assert_eq!(asked.len(), 4);
    for (text, reason) in [
        ("ERROR: (QuotaExceeded) Operation could not be completed; it timed out", "quota"),
        ("(SkuNotAvailable) The requested VM size is not available in location 'westus'", "capacity"),
        ("AADSTS700082: The refresh token has expired. Run az login", "auth"),
        ("the moon is full", "other"),
    ] {
        let (made, asked) = make([(1, text), (0, "[]")]);
        let error = made.unwrap_err();
        assert_eq!(error.get_fact("reason"), Some(reason), "{text}");
        assert_eq!(asked.len(), 2, "{text}");
    }
    let (made, asked) = make([(2, "error: unexpected argument '--timeout'"), (0, "[]")]);
    assert_eq!((made.unwrap_err().get_fact("reason"), asked.len()), (Some("usage"), 2));
}

#[test]
fn a_machine_that_azlin_failed_to_make_and_that_is_there_is_not_made_twice() {
    let (made, asked) = make([(1, "timed out waiting for SSH"), (0, NOW)]);
    assert_eq!(made.unwrap().name, "amplihack-a");
    assert_eq!(asked.len(), 2);
}

#[test]
fn what_may_be_there_is_told_with_name_and_price() {
    let (made, _) = make([(1, "the moon is full"), (1, "the moon is full")]);
    let error = made.unwrap_err();
    assert_eq!(error.get_fact("vm"), Some("amplihack-a"));
    assert_eq!(error.get_fact("maybe_made"), Some("true"));
    assert_eq!(error.get_fact("price"), Some("about $1.01 an hour"));
}

#[test]
fn a_machine_that_azlin_made_without_a_word_is_not_forgotten() {
    for answers in [
        [(0, "made"), (1, "the moon is full")],
        [(0, "made"), (0, "NAME SIZE")],
        [(NEVER, ""), (0, "[]")],
        [(NEVER, ""), (NEVER, "")],
    ] {
        let error = make(answers).0.unwrap_err();
        assert_eq!(error.get_fact("vm"), Some("amplihack-a"), "{answers:?}");
        assert_eq!(error.get_fact("maybe_made"), Some("true"), "{answers:?}");
        assert_eq!(error.get_fact("price"), Some("about $1.01 an hour"), "{answers:?}");
    }
    let (made, asked) = make([(NEVER, ""), (0, NOW)]);
    assert_eq!((made.unwrap().name.as_str(), asked.len()), ("amplihack-a", 2));
}

#[test]
fn what_passes_not_within_the_budget_is_an_error() {
    let answers: [(i32, &str); 40] = std::array::from_fn(|n| if n % 2 == 0 { (1, "429") } else { (0, "[]") });
    let (made, asked) = make(answers);
    assert_eq!(made.unwrap_err().get_fact("reason"), Some("transient"));
    assert!((6..=16).contains(&asked.len()), "{}", asked.len());
}

#[test]
fn deleting_forces_and_says_what_is_left() {
    let told = Told::new([(1, "NIC could not be deleted; may still be billing")]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error =
        runtime.block_on(AzlinCli::new(&told, Duration::ZERO).delete_machine("amplihack-a")).unwrap_err();
    assert!(matches!(error, RemoteError::Cleanup(_)));
    assert_eq!(
        error.get_fact("hint"),
        Some("it may still cost money; delete it: azlin kill amplihack-a --force")
    );
    assert_eq!(told.asked(), ["kill amplihack-a --force"]);
}

#[test]
fn names_are_allowed_by_azure_and_new() {
    let now: Timestamp = "2026-05-02T03:04:05Z".parse().unwrap();
    assert_eq!(machine_name("john_doe", now, |_| false), "amplihack-johndoe-20260502-030405");
    assert_eq!(
        machine_name("Ünï", now, |name| name == "amplihack-n-20260502-030405"),
        "amplihack-n-20260502-030405-2"
    );
    assert_eq!(machine_name("日本", now, |_| false), "amplihack-user-20260502-030405");
}
