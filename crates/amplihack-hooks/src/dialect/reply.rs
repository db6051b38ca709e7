//! Answers in each host's dialect, chosen by one table of what the real hosts were shown to make of them.

use std::borrow::Cow;

use amplihack_sys::last_words::LastWords;
use amplihack_verdict::{Decision, RuleId, Verdict};
use serde_json::{Value, json};

use super::HookDialect;
use crate::event::HookEvent;
use crate::host::dialect_spec;

/// The longest reason that is sent.
const MAX_REASON: usize = 2000;

/// Characters that are left for words behind the mark of a rule.
const AFTER_MARK: usize = 64;

/// Streams and exit code of a finished hook process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookReply {
    /// A JSON object and a newline, or nothing.
    pub stdout: Vec<u8>,
    /// For the host's log, and for the model where the host passes it on.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl HookReply {
    /// Nothing to say.
    pub fn new_silent() -> Self {
        Self::default()
    }

    pub(crate) fn from_object(object: &Value) -> Self {
        Self { stdout: format!("{object}\n").into_bytes(), ..Self::default() }
    }
}

/// The effects of answers on a host. Measured by `hook_answers` of `amplihack-probe` on the real CLIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerEffects {
    /// `true` if a deny is the nested object with `decision` beside it; else it is flat.
    pub nested: bool,
    /// Exit code of a deny. Two where the model still gets the reason then; where it does not, the object alone denies.
    pub deny_code: u8,
    /// `true` if an `ask` reaches a person if there is one.
    pub asks: bool,
    /// `true` if an explicit `allow` is understood.
    pub allows: bool,
    /// `true` if words for the model are read from the nested object; else they are flat.
    pub nested_context: bool,
    /// `true` if an object on stderr is the answer where stdout has none. A registration then denies there first of all; whoever kills it
    /// lets nothing run; a call passes with an empty object on stdout.
    pub stderr_counts: bool,
}

/// The row of a dialect.
pub const fn answer_effects(dialect: HookDialect) -> AnswerEffects {
    dialect_spec(dialect).answers
}

/// `verdict` on a call in `dialect`. `answerable`: whether a person is there to answer.
pub fn render_verdict(verdict: &Verdict, dialect: HookDialect, answerable: bool) -> HookReply {
    let answers = answer_effects(dialect);
    match (verdict.decision, answered_decision(verdict.decision, dialect, answerable)) {
        (Decision::Allow, _) if answers.allows => render_decision("allow", verdict, answers),
        (Decision::None | Decision::Allow, _) if answers.stderr_counts => HookReply::from_object(&json!({})),
        (Decision::None | Decision::Allow, _) => HookReply::new_silent(),
        (Decision::Ask, Decision::Ask) => render_decision("ask", verdict, answers),
        (Decision::Ask, _) => {
            render_denial(&format!("{}; nobody is there to be asked", marked_reason(verdict)), answers)
        }
        (Decision::Deny, _) => render_denial(&marked_reason(verdict), answers),
    }
}

/// `decision` as it is answered in `dialect`: a question that nobody hears is a denial.
pub fn answered_decision(decision: Decision, dialect: HookDialect, answerable: bool) -> Decision {
    match decision {
        Decision::Ask if !(answer_effects(dialect).asks && answerable) => Decision::Deny,
        decision => decision,
    }
}

fn marked_reason(verdict: &Verdict) -> String {
    let reason =
        if verdict.reason.trim().is_empty() { "not allowed by the policy" } else { verdict.reason.trim() };
    match &verdict.rule {
        Some(rule) => with_rule_mark(reason, rule),
        None => reason.to_owned(),
    }
}

/// The beginning of the mark of a rule.
const MARK: &str = "[amplihack ";

/// `reason` with the mark of `rule` behind it, which no cut of a long reason takes away.
pub(crate) fn with_rule_mark(reason: &str, rule: &RuleId) -> String {
    let mark = format!(" {MARK}{rule}]");
    let room = MAX_REASON.saturating_sub(mark.chars().count() + AFTER_MARK);
    match reason.char_indices().nth(room) {
        Some((end, _)) => format!("{}…{mark}", reason.get(..end).unwrap_or_default()),
        None => format!("{reason}{mark}"),
    }
}

/// Reports whether the mark of a rule is in `text`.
pub(crate) fn is_marked(text: &str) -> bool {
    text.split(MARK)
        .skip(1)
        .any(|rest| rest.split_once(']').is_some_and(|(rule, _)| !rule.is_empty() && !rule.contains('\n')))
}

fn render_decision(word: &str, verdict: &Verdict, answers: AnswerEffects) -> HookReply {
    let reason = one_line(&marked_reason(verdict));
    HookReply::from_object(&if answers.nested {
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason,
        }})
    } else {
        json!({"permissionDecision": word, "permissionDecisionReason": reason, "message": reason})
    })
}

fn render_denial(reason: &str, answers: AnswerEffects) -> HookReply {
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
    HookReply { stdout: object.into_bytes(), stderr, code: answers.deny_code }
}

macro_rules! crashed {
    () => {
        "the guard broke while it judged this call, so the call is denied; run `amplihack doctor`"
    };
}

/// The reason of a deny by a guard that broke.
pub const CRASHED: &str = crashed!();

/// Last words of a hook that breaks or hangs before it has read its command line: those of a guard that broke. A text that is
/// there before the program's first instruction.
pub static FIRST_WORDS: LastWords = LastWords {
    stdout: Cow::Borrowed(
        concat!(
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\
             \"permissionDecisionReason\":\"",
            crashed!(),
            "\"},\"decision\":\"block\",\"reason\":\"",
            crashed!(),
            "\"}\n"
        )
        .as_bytes(),
    ),
    stderr: Cow::Borrowed(concat!(crashed!(), "\n").as_bytes()),
    code: 2,
};

/// The deny that is laid ready before anything is known of the host: every host takes it, in whatever dialect.
pub fn prepared_denial(event: Option<HookEvent>, reason: &str) -> LastWords {
    if event.is_none_or(HookEvent::is_guard) {
        let reply =
            render_denial(reason, AnswerEffects { deny_code: 2, ..answer_effects(HookDialect::Claude) });
        return LastWords {
            stdout: reply.stdout.into(),
            stderr: reply.stderr.into_bytes().into(),
            code: reply.code,
        };
    }
    let stderr = format!("{}\n", one_line(reason)).into_bytes();
    LastWords { stdout: Cow::default(), stderr: stderr.into(), code: 0 }
}

/// Words for the model, beside what it is about to read. Silence where there are none, or where the host takes none.
pub fn render_context(words: &str, event: HookEvent, dialect: HookDialect) -> HookReply {
    if words.is_empty() {
        return HookReply::new_silent();
    }
    match event.claude_name() {
        Some(name) if answer_effects(dialect).nested_context => HookReply::from_object(
            &json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": words}}),
        ),
        Some(_) => HookReply::from_object(&json!({"additionalContext": words})),
        None => HookReply::new_silent(),
    }
}

/// The permission for a call that its host asks about.
pub fn grant_permission() -> HookReply {
    render_permission(&json!({"behavior": "allow"}))
}

/// The refusal of a call that its host asks about, for the reason of `verdict`.
pub fn refuse_permission(verdict: &Verdict) -> HookReply {
    render_permission(&json!({"behavior": "deny", "message": one_line(&marked_reason(verdict))}))
}

fn render_permission(decision: &Value) -> HookReply {
    HookReply::from_object(
        &json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}),
    )
}

/// The agent goes on, with these words.
pub fn keep_going(words: &str) -> HookReply {
    HookReply::from_object(&json!({"decision": "block", "reason": words}))
}

/// A prompt goes no further, for this reason.
pub fn stop_prompt(verdict: &Verdict) -> HookReply {
    HookReply::from_object(&json!({"decision": "block", "reason": one_line(&marked_reason(verdict))}))
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
    use super::*;

    fn said(decision: Decision) -> Verdict {
        Verdict::new(decision, RuleId::new("files/home"), "it removes\nthe home", Vec::new())
    }

    fn text(reply: &HookReply) -> &str {
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
        for (dialect, code) in
            [(HookDialect::Claude, 2), (HookDialect::Codex, 2), (HookDialect::CopilotAsClaude, 0)]
        {
            let reply = render_verdict(&said(Decision::Deny), dialect, true);
            assert_eq!(text(&reply), OBJECT.replace("\"R\"", &format!("\"{REASON}\"")));
            let words = if code == 2 { format!("{REASON}\n") } else { String::new() };
            assert_eq!((reply.stderr, reply.code), (words, code));
        }
        let reply = render_verdict(&said(Decision::Deny), HookDialect::Copilot, true);
        assert_eq!(
            value(text(&reply)),
            json!({"permissionDecision": "deny", "permissionDecisionReason": REASON, "message": REASON})
        );
        assert_eq!(reply.code, 0);
    }

    #[test]
    fn ask_is_a_deny_where_nobody_can_answer() {
        for dialect in HookDialect::ALL {
            for answerable in [false, true] {
                let reply = render_verdict(&said(Decision::Ask), dialect, answerable);
                let asks = text(&reply).contains("\"ask\"");
                assert_eq!(asks, answerable && answer_effects(dialect).asks, "{dialect} {answerable}");
                assert_eq!(text(&reply).contains("\"deny\""), !asks, "{dialect} {answerable}");
                let told = answered_decision(Decision::Ask, dialect, answerable);
                assert_eq!(told, if asks { Decision::Ask } else { Decision::Deny }, "{dialect} {answerable}");
            }
        }
    }

    #[test]
    fn nothing_to_say_is_silence_and_an_allow_goes_only_where_it_is_understood() {
        for dialect in HookDialect::ALL {
            let passes = if dialect == HookDialect::Gemini { "{}\n" } else { "" };
            assert_eq!(text(&render_verdict(&Verdict::no_objection(), dialect, true)), passes);
            let reply = render_verdict(&said(Decision::Allow), dialect, true);
            assert_eq!(text(&reply).contains("\"allow\""), answer_effects(dialect).allows);
            assert_eq!(reply.code, 0);
        }
    }

    #[test]
    fn only_a_guard_dies_with_a_deny() {
        for event in [None, Some(HookEvent::PreToolUse)] {
            let words = prepared_denial(event, "R");
            assert_eq!(std::str::from_utf8(&words.stdout).unwrap(), OBJECT);
            assert_eq!((&*words.stderr, words.code), (b"R\n".as_slice(), 2));
        }
        assert_eq!(prepared_denial(None, CRASHED), FIRST_WORDS);
        let words = prepared_denial(Some(HookEvent::Stop), "R");
        assert_eq!((&*words.stdout, words.code), (b"".as_slice(), 0));
    }

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(one_line(" a\r\nb\u{1b}[1m\u{0}"), "a  b [1m");
        assert_eq!(one_line(&"é".repeat(MAX_REASON + 5)).chars().count(), MAX_REASON + 1);
        let long = Verdict { reason: "é".repeat(MAX_REASON), ..said(Decision::Ask) };
        let reply = render_verdict(&long, HookDialect::Codex, true);
        assert!(is_marked(&reply.stderr) && reply.stderr.trim_end().ends_with("asked"), "{}", reply.stderr);
    }
}
