//! Answers in each host's dialect, chosen by one table of what the real hosts were shown to make of them.

use amplihack_policy::{Decision, Verdict};
use amplihack_utils::sys::last_words::LastWords;
use serde_json::{Value, json};

use super::Dialect;
use crate::event::HookEvent;
use crate::host::speech;

/// The longest reason that is sent.
const MAX_REASON: usize = 2000;

/// What a hook process leaves behind: its streams and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// One JSON object and a newline, or nothing.
    pub stdout: Vec<u8>,
    /// For the host's log, and for the model where the host passes it on.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Reply {
    /// Nothing to say.
    pub fn silence() -> Self {
        Self::default()
    }

    pub(crate) fn object(object: &Value) -> Self {
        Self { stdout: format!("{object}\n").into_bytes(), ..Self::default() }
    }
}

/// What a host makes of answers. Measured by `hook_answers` of `amplihack-probe` on the real CLIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// Whether a deny is the nested object with `decision` beside it; else it is flat.
    pub nested: bool,
    /// Exit code of a deny. Two where the model still gets the reason then; where it does not, the object alone denies.
    pub deny_code: u8,
    /// Whether an `ask` reaches a person if there is one.
    pub asks: bool,
    /// Whether an explicit `allow` is understood.
    pub allows: bool,
    /// Whether words for the model are read from the nested object; else they are flat.
    pub nested_context: bool,
}

/// The row of a dialect.
pub const fn table(dialect: Dialect) -> Answers {
    speech(dialect).answers
}

/// `verdict` on a call in `dialect`. `answerable`: whether a person is there to answer.
pub fn verdict(verdict: &Verdict, dialect: Dialect, answerable: bool) -> Reply {
    let answers = table(dialect);
    match verdict.decision {
        Decision::Allow if answers.allows => decision("allow", verdict, answers),
        Decision::None | Decision::Allow => Reply::silence(),
        Decision::Ask if answers.asks && answerable => decision("ask", verdict, answers),
        Decision::Ask => deny(&format!("{}; nobody is there to be asked", reason(verdict)), answers),
        Decision::Deny => deny(&reason(verdict), answers),
    }
}

fn reason(verdict: &Verdict) -> String {
    let reason =
        if verdict.reason.trim().is_empty() { "not allowed by the policy" } else { verdict.reason.trim() };
    match &verdict.rule {
        Some(rule) => format!("{reason} [amplihack {rule}]"),
        None => reason.to_owned(),
    }
}

fn decision(word: &str, verdict: &Verdict, answers: Answers) -> Reply {
    let reason = one_line(&reason(verdict));
    Reply::object(&if answers.nested {
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason,
        }})
    } else {
        json!({"permissionDecision": word, "permissionDecisionReason": reason, "message": reason})
    })
}

fn deny(reason: &str, answers: Answers) -> Reply {
    let reason = one_line(reason);
    // Written by hand, so that it is the contract's text, byte for byte.
    let quoted = Value::from(reason.as_str());
    let object = if answers.nested {
        format!(
            "{{\"hookSpecificOutput\":{{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\
             \"permissionDecisionReason\":{quoted}}},\"decision\":\"block\",\"reason\":{quoted}}}\n"
        )
    } else {
        format!(
            "{{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":{quoted},\"message\":{quoted}}}\n"
        )
    };
    // Words on stderr belong to the code; beside a code of 0 nobody was seen to read them.
    let stderr = if answers.deny_code == 0 { String::new() } else { format!("{reason}\n") };
    Reply { stdout: object.into_bytes(), stderr, code: answers.deny_code }
}

/// The deny that is laid ready before anything is known of the host: every host takes it, in whatever dialect.
pub fn last_words(event: Option<HookEvent>, reason: &str) -> LastWords {
    if event.is_none_or(HookEvent::is_guard) {
        let reply = deny(reason, Answers { deny_code: 2, ..table(Dialect::Claude) });
        return LastWords { stdout: reply.stdout, stderr: reply.stderr.into_bytes(), code: reply.code };
    }
    LastWords { stdout: Vec::new(), stderr: format!("{}\n", one_line(reason)).into_bytes(), code: 0 }
}

/// Words for the model, beside what it is about to read. Silence where there are none, or where the host takes none.
pub fn context(words: &str, event: HookEvent, dialect: Dialect) -> Reply {
    if words.is_empty() {
        return Reply::silence();
    }
    match event.claude_name() {
        Some(name) if table(dialect).nested_context => {
            Reply::object(&json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": words}}))
        }
        Some(_) => Reply::object(&json!({"additionalContext": words})),
        None => Reply::silence(),
    }
}

/// The agent goes on, with these words.
pub fn keep_going(words: &str) -> Reply {
    Reply::object(&json!({"decision": "block", "reason": words}))
}

/// `text` on one line, without control characters, cut to a length that hosts pass on.
pub fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    match line.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use amplihack_policy::RuleId;

    use super::*;

    fn said(decision: Decision) -> Verdict {
        Verdict::new(decision, RuleId::new("files/home"), "it removes\nthe home", Vec::new())
    }

    fn text(reply: &Reply) -> &str {
        std::str::from_utf8(&reply.stdout).unwrap()
    }

    const OBJECT: &str = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"R\"},\"decision\":\"block\",\"reason\":\"R\"}\n";
    const REASON: &str = "it removes the home [amplihack files/home]";

    /// Whole JSON documents are compared as values: the order of keys means nothing to a host.
    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_deny_is_the_object_of_the_contract() {
        for (dialect, code) in [(Dialect::Claude, 2), (Dialect::Codex, 2), (Dialect::CopilotAsClaude, 0)] {
            let reply = verdict(&said(Decision::Deny), dialect, true);
            assert_eq!(text(&reply), OBJECT.replace("\"R\"", &format!("\"{REASON}\"")));
            let words = if code == 2 { format!("{REASON}\n") } else { String::new() };
            assert_eq!((reply.stderr, reply.code), (words, code));
        }
        let reply = verdict(&said(Decision::Deny), Dialect::Copilot, true);
        assert_eq!(
            value(text(&reply)),
            json!({"permissionDecision": "deny", "permissionDecisionReason": REASON, "message": REASON})
        );
        assert_eq!(reply.code, 0);
    }

    #[test]
    fn ask_is_a_deny_where_nobody_can_answer() {
        for dialect in Dialect::ALL {
            for answerable in [false, true] {
                let reply = verdict(&said(Decision::Ask), dialect, answerable);
                let asks = text(&reply).contains("\"ask\"");
                assert_eq!(asks, answerable && table(dialect).asks, "{dialect} {answerable}");
                assert_eq!(text(&reply).contains("\"deny\""), !asks, "{dialect} {answerable}");
            }
        }
    }

    #[test]
    fn nothing_to_say_is_silence_and_an_allow_goes_only_where_it_is_understood() {
        for dialect in Dialect::ALL {
            assert_eq!(verdict(&Verdict::none(), dialect, true), Reply::silence());
            let reply = verdict(&said(Decision::Allow), dialect, true);
            assert_eq!(text(&reply).contains("\"allow\""), table(dialect).allows);
            assert_eq!(reply.code, 0);
        }
    }

    #[test]
    fn only_a_guard_dies_with_a_deny() {
        for event in [None, Some(HookEvent::PreToolUse)] {
            let words = last_words(event, "R");
            assert_eq!(std::str::from_utf8(&words.stdout).unwrap(), OBJECT);
            assert_eq!((words.stderr.as_slice(), words.code), (b"R\n".as_slice(), 2));
        }
        let words = last_words(Some(HookEvent::Stop), "R");
        assert_eq!((words.stdout.as_slice(), words.code), (b"".as_slice(), 0));
    }

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(one_line(" a\r\nb\u{1b}[1m\u{0}"), "a  b [1m");
        assert_eq!(one_line(&"é".repeat(MAX_REASON + 5)).chars().count(), MAX_REASON + 1);
    }
}
