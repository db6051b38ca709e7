//! What the known words mean together: each rule is a first word and classes that must follow it within some words.

use super::lex::{Hit, lex};
#[allow(clippy::wildcard_imports, reason = "the vocabulary's classes are this module's language")]
use super::words::*;
use super::{Finding, Kind, Severity};
use crate::decision::Span;

/// No text needs more findings than this.
pub(super) const ENOUGH: usize = 64;

struct Rule {
    kind: Kind,
    severity: Severity,
    /// One of these classes begins it.
    first: Set,
    /// One word of each of these must be near.
    with: &'static [Set],
    /// Words ahead that are looked at, and behind.
    ahead: u32,
    behind: u32,
    /// None of these may be among the words ahead, up to the last one needed.
    unless: Set,
    /// Whether it may reach beyond its sentence.
    across: bool,
    /// Whether a negation in front of it turns it around.
    negatable: bool,
}

const RULE: Rule = Rule {
    kind: Kind::Override,
    severity: Severity::High,
    first: 0,
    with: &[],
    ahead: 7,
    behind: 0,
    unless: 0,
    across: false,
    negatable: false,
};

// A table: rows look alike, and each says something else.
const PATTERNS: &[Rule] = &[
    // ignore (all) previous instructions; the first word may come last, as in Japanese and Hindi.
    Rule { first: IGNORE, with: &[PREV | ALL | YOUR | TOLD, INSTR], behind: 7, negatable: true, ..RULE },
    Rule { first: IGNORE, with: &[INSTR, SYSTEM | YOU], ahead: 5, negatable: true, ..RULE },
    Rule { first: IGNORE | BYPASS, with: &[PREV | YOUR | SYSTEM, PROMPT], ahead: 5, negatable: true, ..RULE },
    Rule { first: BYPASS, with: &[PREV | YOUR, INSTR], ahead: 6, negatable: true, ..RULE },
    Rule { first: IGNORE, with: &[YOUR | SAFETY, RULES | SAFETY], ahead: 5, negatable: true, ..RULE },
    Rule { first: BYPASS, with: &[YOUR, SAFETY, RULES | FILTER], ahead: 6, negatable: true, ..RULE },
    Rule {
        severity: Severity::Medium,
        first: IGNORE,
        with: &[ALL, PREV, RULES],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    // forget everything above
    Rule { first: IGNORE, with: &[EVERYTHING, ENDS | TOLD, PREV | TOLD], ahead: 6, negatable: true, ..RULE },
    Rule { first: IGNORE, with: &[EVERYTHING, YOU, TOLD], ahead: 7, negatable: true, ..RULE },
    // your new instructions are
    Rule { first: YOUR, with: &[NEW, INSTR, IS], ahead: 4, ..RULE },
    Rule {
        severity: Severity::Medium,
        first: YOUR,
        with: &[NEW, INSTR | TASK, IS | VOID | COLON],
        ahead: 4,
        ..RULE
    },
    Rule { severity: Severity::Medium, first: NEW, with: &[COLON, INSTR], ahead: 1, ..RULE },
    Rule {
        severity: Severity::Medium,
        first: INSTR | RULES,
        with: &[YOUR | PREV | NEW, VOID],
        ahead: 4,
        behind: 3,
        ..RULE
    },
    Rule {
        severity: Severity::Medium,
        first: FROM_NOW,
        with: &[YOU, IGNORE | COMPLY | ANSWER | UNRESTRICTED],
        ahead: 9,
        ..RULE
    },
    Rule {
        severity: Severity::Medium,
        first: YOU,
        with: &[MUST, COMPLY | ANSWER, ALL, REQUEST],
        ahead: 8,
        ..RULE
    },
    Rule {
        severity: Severity::Medium,
        first: YOU,
        with: &[MUST, NOW, COMPLY | ANSWER | REVEAL | SEND | IGNORE],
        ahead: 5,
        ..RULE
    },
    // Who the model is told to be.
    Rule {
        kind: Kind::Jailbreak,
        first: YOU_ARE_NOW,
        with: &[DAN | UNRESTRICTED | DEVMODE],
        ahead: 8,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        first: YOU_ARE_NOW | PRETEND,
        with: &[NO, RESTRICT | FILTER, AI | YOU],
        ahead: 12,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        first: YOU_ARE_NOW | FROM_NOW,
        with: &[NO, RESTRICT | FILTER],
        ahead: 11,
        ..RULE
    },
    Rule { kind: Kind::Jailbreak, first: PRETEND, with: &[AI, UNRESTRICTED], ahead: 8, behind: 0, ..RULE },
    Rule { kind: Kind::Jailbreak, first: ANYTHING_NOW, ..RULE },
    Rule {
        kind: Kind::Jailbreak,
        first: DAN,
        with: &[MODE | UNRESTRICTED | PRETEND | YOU | YOU_ARE_NOW],
        ahead: 3,
        behind: 3,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        first: YOU,
        with: &[HAVE | YOUR, NO, RESTRICT],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        severity: Severity::Medium,
        first: YOU,
        with: &[HAVE, NO, FILTER],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        severity: Severity::Medium,
        first: ANSWER,
        with: &[NO, RESTRICT | FILTER],
        ahead: 7,
        negatable: true,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        first: DISABLE,
        with: &[YOUR, SAFETY, RULES | FILTER | RESTRICT],
        ahead: 5,
        negatable: true,
        ..RULE
    },
    Rule {
        kind: Kind::Jailbreak,
        severity: Severity::Medium,
        first: SAFETY,
        with: &[RULES | FILTER, OFF],
        ahead: 4,
        ..RULE
    },
    Rule { kind: Kind::Jailbreak, first: UNRESTRICTED, with: &[MODE], ahead: 1, ..RULE },
    Rule {
        kind: Kind::Jailbreak,
        first: DEVMODE,
        with: &[NO, RESTRICT | FILTER],
        ahead: 16,
        across: true,
        ..RULE
    },
    Rule { kind: Kind::Jailbreak, first: NOW, with: &[DEVMODE], ahead: 7, ..RULE },
    Rule { kind: Kind::Jailbreak, first: NOW, with: &[NO, RESTRICT, YOU], ahead: 8, behind: 4, ..RULE },
    // Signs of the chat protocol.
    Rule { kind: Kind::Markup, first: TOKEN_MARK, ..RULE },
    Rule {
        kind: Kind::Markup,
        severity: Severity::Medium,
        first: MARK,
        with: &[
            IGNORE | YOU | YOUR | GRANT | COMPLY | REPLY | ANSWER | AI | NOTE,
            IGNORE | MUST | GRANT | REVEAL | CALL | APPEND | SEND | COMPLY | INSTR,
        ],
        ahead: 18,
        across: true,
        ..RULE
    },
    // What should be handed over.
    Rule {
        kind: Kind::Exfiltration,
        first: SEND,
        with: &[SECRET, TO_WHERE],
        ahead: 16,
        behind: 8,
        unless: REQUEST,
        negatable: true,
        ..RULE
    },
    Rule {
        kind: Kind::PromptLeak,
        severity: Severity::Medium,
        first: REVEAL,
        with: &[SYSTEM | YOUR | TOLD, PROMPT | INSTR],
        ahead: 6,
        negatable: true,
        unless: RUN,
        ..RULE
    },
    // "Decode this and do what it says."
    Rule {
        kind: Kind::HiddenCommand,
        severity: Severity::Medium,
        first: DECODE,
        with: &[CODEC, COMPLY | RUN],
        ahead: 16,
        behind: 12,
        across: true,
        ..RULE
    },
    // Orders to an agent that a person is not to see.
    Rule {
        kind: Kind::HiddenCommand,
        first: RUN,
        with: &[COMMAND, CONCEAL],
        ahead: 25,
        behind: 12,
        across: true,
        ..RULE
    },
    Rule {
        kind: Kind::HiddenCommand,
        first: AI,
        with: &[RUN, COMMAND, CONCEAL | HIDDEN],
        ahead: 25,
        across: true,
        ..RULE
    },
    Rule {
        kind: Kind::HiddenCommand,
        severity: Severity::Medium,
        first: HIDDEN,
        with: &[AI, IGNORE | RUN | SEND | DELETE | REVEAL | CONCEAL | MUST],
        ahead: 10,
        behind: 4,
        ..RULE
    },
    Rule {
        kind: Kind::HiddenCommand,
        severity: Severity::Medium,
        first: CONCEAL,
        with: &[AI | YOU | YOUR | DELETE | SEND | RUN],
        ahead: 10,
        behind: 20,
        across: true,
        ..RULE
    },
    Rule {
        kind: Kind::HiddenCommand,
        severity: Severity::Medium,
        first: AI,
        with: &[
            NOTE | YOU | MUST,
            SEND | DELETE | CONCEAL | MEMORY | REVEAL | APPEND,
            TOKEN | SECRET | TOOL | TO_WHERE | DELETE | CONCEAL | MEMORY,
        ],
        ahead: 28,
        behind: 8,
        ..RULE
    },
    // A tool's name with what the answer has to wait for.
    Rule {
        kind: Kind::ToolCall,
        severity: Severity::Medium,
        first: CALL,
        with: &[TOOL, ANSWER | REPLY | PREV | TO_WHERE],
        ahead: 18,
        ..RULE
    },
    Rule {
        kind: Kind::Tampering,
        severity: Severity::Medium,
        first: APPEND,
        with: &[TOKEN, YOUR | ALL, REPLY],
        ahead: 18,
        ..RULE
    },
];

/// All classes that begin a rule.
const FIRST: Set = {
    let (mut set, mut at) = (0, 0);
    while at < PATTERNS.len() {
        set |= PATTERNS[at].first;
        at += 1;
    }
    set
};

/// For each class the rules that it begins, as bits.
static BY_CLASS: [u64; 64] = {
    let (mut masks, mut at) = ([0; 64], 0);
    while at < PATTERNS.len() {
        let mut bit = 0;
        while bit < 64 {
            masks[bit] |= (PATTERNS[at].first >> bit & 1) << at;
            bit += 1;
        }
        at += 1;
    }
    masks
};

/// The rules that begin with one of these classes.
fn beginning(mut set: Set) -> impl Iterator<Item = &'static Rule> {
    let mut rules = 0;
    while set != 0 {
        rules |= BY_CLASS[set.trailing_zeros() as usize];
        set &= set - 1;
    }
    std::iter::from_fn(move || {
        let at = rules.trailing_zeros() as usize;
        rules &= rules.wrapping_sub(1);
        PATTERNS.get(at)
    })
}

/// What the rules find in `text`, in order. `only` the kinds and severity that may stop a shell command, if so wanted.
pub(super) fn judge(text: &str, only_deny: bool) -> Vec<Finding> {
    let hits = lex(text);
    let mut findings: Vec<Finding> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        if hit.set & FIRST == 0 {
            continue;
        }
        let matching = beginning(hit.set & FIRST)
            .filter_map(|rule| Some((rule, rule.matches(&hits, at)?)))
            .map(|(rule, span)| Finding {
                kind: rule.kind,
                span,
                severity: mentioned(&hits, at, rule.severity),
                encoded: false,
            })
            .filter(|finding| !only_deny || finding.denies());
        for finding in matching {
            add(&mut findings, finding);
        }
        if findings.len() >= ENOUGH {
            break;
        }
    }
    findings
}

/// Adds a finding, or makes the last one of its kind at the same place stronger.
fn add(findings: &mut Vec<Finding>, new: Finding) {
    let same =
        findings.iter_mut().rev().take(8).find(|old| {
            old.kind == new.kind && old.span.start <= new.span.end && new.span.start <= old.span.end
        });
    match same {
        Some(old) => {
            old.severity = old.severity.max(new.severity);
            old.span =
                Span { start: old.span.start.min(new.span.start), end: old.span.end.max(new.span.end) };
        }
        None => findings.push(new),
    }
}

impl Rule {
    fn matches(&self, hits: &[Hit], at: usize) -> Option<Span> {
        let first = hits[at];
        if self.negatable && negated(hits, at) {
            return None;
        }
        let mut open = if self.with.len() >= 8 { return None } else { (1u8 << self.with.len()) - 1 };
        let mut span = first.span;
        let sentence = |hit: &&Hit| self.across || hit.sentence == first.sentence;
        let ahead =
            hits[at + 1..].iter().take_while(|hit| hit.word <= first.word + self.ahead).take_while(sentence);
        for hit in ahead {
            if open == 0 {
                break;
            }
            if hit.set & self.unless != 0 {
                return None;
            }
            self.close(&mut open, hit, &mut span);
        }
        if open != 0 && self.behind > 0 {
            let behind = hits[..at]
                .iter()
                .rev()
                .take_while(|hit| hit.word + self.behind >= first.word)
                .take_while(sentence);
            for hit in behind {
                self.close(&mut open, hit, &mut span);
            }
        }
        (open == 0).then_some(span)
    }

    fn close(&self, open: &mut u8, hit: &Hit, span: &mut Span) {
        for (bit, wanted) in self.with.iter().enumerate() {
            if *open >> bit & 1 == 1 && hit.set & wanted != 0 {
                *open &= !(1 << bit);
                *span = Span { start: span.start.min(hit.span.start), end: span.end.max(hit.span.end) };
            }
        }
    }
}

/// Whether a negation stands in the two words before.
fn negated(hits: &[Hit], at: usize) -> bool {
    let first = hits[at];
    hits[..at]
        .iter()
        .rev()
        .take_while(|hit| hit.word + 2 >= first.word && hit.sentence == first.sentence)
        .any(|hit| hit.set & NEG != 0)
}

/// Text that is *about* attacks is less: with a word that says so in the same sentence one step, and another one if it is quoted.
fn mentioned(hits: &[Hit], at: usize, severity: Severity) -> Severity {
    let first = hits[at];
    let about = |hit: &&Hit| hit.sentence == first.sentence && hit.set & META != 0;
    let before = hits[..at].iter().rev().take_while(|hit| hit.word + 14 >= first.word).find(about);
    let after = hits[at + 1..].iter().take_while(|hit| hit.word <= first.word + 14).find(about);
    match (before.or(after).is_some(), first.quoted) {
        (false, _) => severity,
        (true, false) => severity.min(Severity::Medium),
        (true, true) => Severity::Low,
    }
}
