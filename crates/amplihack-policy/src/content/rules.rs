//! The meaning of known words together: each rule is a first word and classes that must follow it within some words.

use amplihack_verdict::Span;

use super::lex::{WordHit, lex_words};
#[allow(clippy::wildcard_imports, reason = "the vocabulary's classes are this module's language")]
use super::words::*;
use super::{InjectionFinding, InjectionKind, InjectionSeverity};

/// No text needs more findings than this.
pub(super) const ENOUGH: usize = 64;

struct PhraseRule {
    kind: InjectionKind,
    severity: InjectionSeverity,
    /// Classes of the first word; one of them begins the phrase.
    first: ClassSet,
    /// Sets of classes; one word of each must be near.
    with: &'static [ClassSet],
    /// Words ahead that are looked at, and behind.
    ahead: u32,
    behind: u32,
    /// None of these may be among the words ahead, up to the last one needed.
    unless: ClassSet,
    /// True if the phrase may reach beyond its sentence.
    across: bool,
    /// True if a negation in front of the phrase turns it around.
    negatable: bool,
}

const RULE: PhraseRule = PhraseRule {
    kind: InjectionKind::Override,
    severity: InjectionSeverity::High,
    first: 0,
    with: &[],
    ahead: 7,
    behind: 0,
    unless: 0,
    across: false,
    negatable: false,
};

// A table: rows look alike, and each says something else.
const PATTERNS: &[PhraseRule] = &[
    // ignore (all) previous instructions; the first word may come last, as in Japanese and Hindi.
    PhraseRule {
        first: IGNORE,
        with: &[PREV | ALL | YOUR | TOLD, INSTR],
        behind: 7,
        negatable: true,
        ..RULE
    },
    PhraseRule { first: IGNORE, with: &[INSTR, SYSTEM | YOU], ahead: 5, negatable: true, ..RULE },
    PhraseRule {
        first: IGNORE | BYPASS,
        with: &[PREV | YOUR | SYSTEM, PROMPT],
        ahead: 5,
        negatable: true,
        ..RULE
    },
    PhraseRule { first: BYPASS, with: &[PREV | YOUR, INSTR], ahead: 6, negatable: true, ..RULE },
    PhraseRule { first: IGNORE, with: &[YOUR | SAFETY, RULES | SAFETY], ahead: 5, negatable: true, ..RULE },
    PhraseRule { first: BYPASS, with: &[YOUR, SAFETY, RULES | FILTER], ahead: 6, negatable: true, ..RULE },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: IGNORE,
        with: &[ALL, PREV, RULES],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    // forget everything above
    PhraseRule {
        first: IGNORE,
        with: &[EVERYTHING, ENDS | TOLD, PREV | TOLD],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    PhraseRule { first: IGNORE, with: &[EVERYTHING, YOU, TOLD], ahead: 7, negatable: true, ..RULE },
    // your new instructions are
    PhraseRule { first: YOUR, with: &[NEW, INSTR, IS], ahead: 4, ..RULE },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: YOUR,
        with: &[NEW, INSTR | TASK, IS | VOID | COLON],
        ahead: 4,
        ..RULE
    },
    PhraseRule { severity: InjectionSeverity::Medium, first: NEW, with: &[COLON, INSTR], ahead: 1, ..RULE },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: INSTR | RULES,
        with: &[YOUR | PREV | NEW, VOID],
        ahead: 4,
        behind: 3,
        ..RULE
    },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: FROM_NOW,
        with: &[YOU, IGNORE | COMPLY | ANSWER | UNRESTRICTED],
        ahead: 9,
        ..RULE
    },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: YOU,
        with: &[MUST, COMPLY | ANSWER, ALL, REQUEST],
        ahead: 8,
        ..RULE
    },
    PhraseRule {
        severity: InjectionSeverity::Medium,
        first: YOU,
        with: &[MUST, NOW, COMPLY | ANSWER | REVEAL | SEND | IGNORE],
        ahead: 5,
        ..RULE
    },
    // Who the model is told to be.
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: YOU_ARE_NOW,
        with: &[DAN | UNRESTRICTED | DEVMODE],
        ahead: 8,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: YOU_ARE_NOW | PRETEND,
        with: &[NO, RESTRICT | FILTER, AI | YOU],
        ahead: 12,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: YOU_ARE_NOW | FROM_NOW,
        with: &[NO, RESTRICT | FILTER],
        ahead: 11,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: PRETEND,
        with: &[AI, UNRESTRICTED],
        ahead: 8,
        behind: 0,
        ..RULE
    },
    PhraseRule { kind: InjectionKind::Jailbreak, first: ANYTHING_NOW, ..RULE },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: DAN,
        with: &[MODE | UNRESTRICTED | PRETEND | YOU | YOU_ARE_NOW],
        ahead: 3,
        behind: 3,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: YOU,
        with: &[HAVE | YOUR, NO, RESTRICT],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        severity: InjectionSeverity::Medium,
        first: YOU,
        with: &[HAVE, NO, FILTER],
        ahead: 6,
        negatable: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        severity: InjectionSeverity::Medium,
        first: ANSWER,
        with: &[NO, RESTRICT | FILTER],
        ahead: 7,
        negatable: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: DISABLE,
        with: &[YOUR, SAFETY, RULES | FILTER | RESTRICT],
        ahead: 5,
        negatable: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        severity: InjectionSeverity::Medium,
        first: SAFETY,
        with: &[RULES | FILTER, OFF],
        ahead: 4,
        ..RULE
    },
    PhraseRule { kind: InjectionKind::Jailbreak, first: UNRESTRICTED, with: &[MODE], ahead: 1, ..RULE },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: DEVMODE,
        with: &[NO, RESTRICT | FILTER],
        ahead: 16,
        across: true,
        ..RULE
    },
    PhraseRule { kind: InjectionKind::Jailbreak, first: NOW, with: &[DEVMODE], ahead: 7, ..RULE },
    PhraseRule {
        kind: InjectionKind::Jailbreak,
        first: NOW,
        with: &[NO, RESTRICT, YOU],
        ahead: 8,
        behind: 4,
        ..RULE
    },
    // Signs of the chat protocol.
    PhraseRule { kind: InjectionKind::Markup, first: TOKEN_MARK, ..RULE },
    PhraseRule {
        kind: InjectionKind::Markup,
        severity: InjectionSeverity::Medium,
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
    PhraseRule {
        kind: InjectionKind::Exfiltration,
        first: SEND,
        with: &[SECRET, TO_WHERE],
        ahead: 16,
        behind: 8,
        unless: REQUEST,
        negatable: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::PromptLeak,
        severity: InjectionSeverity::Medium,
        first: REVEAL,
        with: &[SYSTEM | YOUR | TOLD, PROMPT | INSTR],
        ahead: 6,
        negatable: true,
        unless: RUN,
        ..RULE
    },
    // "Decode this and do what it says."
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        severity: InjectionSeverity::Medium,
        first: DECODE,
        with: &[CODEC, COMPLY | RUN],
        ahead: 16,
        behind: 12,
        across: true,
        ..RULE
    },
    // Orders to an agent that a person is not to see.
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        first: RUN,
        with: &[COMMAND, CONCEAL],
        ahead: 25,
        behind: 12,
        across: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        first: AI,
        with: &[RUN, COMMAND, CONCEAL | HIDDEN],
        ahead: 25,
        across: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        severity: InjectionSeverity::Medium,
        first: HIDDEN,
        with: &[AI, IGNORE | RUN | SEND | DELETE | REVEAL | CONCEAL | MUST],
        ahead: 10,
        behind: 4,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        severity: InjectionSeverity::Medium,
        first: CONCEAL,
        with: &[AI | YOU | YOUR | DELETE | SEND | RUN],
        ahead: 10,
        behind: 20,
        across: true,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::HiddenCommand,
        severity: InjectionSeverity::Medium,
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
    PhraseRule {
        kind: InjectionKind::ToolCall,
        severity: InjectionSeverity::Medium,
        first: CALL,
        with: &[TOOL, ANSWER | REPLY | PREV | TO_WHERE],
        ahead: 18,
        ..RULE
    },
    PhraseRule {
        kind: InjectionKind::Tampering,
        severity: InjectionSeverity::Medium,
        first: APPEND,
        with: &[TOKEN, YOUR | ALL, REPLY],
        ahead: 18,
        ..RULE
    },
];

/// All classes that begin a rule.
const FIRST: ClassSet = {
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
fn rules_beginning(mut set: ClassSet) -> impl Iterator<Item = &'static PhraseRule> {
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

/// Findings of the rules in `text`, in order; with `only_deny`, only of kinds and severity that may stop a shell command.
pub(super) fn find_injections(text: &str, only_deny: bool) -> Vec<InjectionFinding> {
    let hits = lex_words(text);
    let mut findings: Vec<InjectionFinding> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        if hit.set & FIRST == 0 {
            continue;
        }
        let matching = rules_beginning(hit.set & FIRST)
            .filter_map(|rule| Some((rule, rule.match_at(&hits, at)?)))
            .map(|(rule, span)| InjectionFinding {
                kind: rule.kind,
                span,
                severity: lower_if_mentioned(&hits, at, rule.severity),
                encoded: false,
            })
            .filter(|finding| !only_deny || finding.stops_command());
        for finding in matching {
            add_finding(&mut findings, finding);
        }
        if findings.len() >= ENOUGH {
            break;
        }
    }
    findings
}

/// Adds a finding, or makes the last one of its kind at the same place stronger.
fn add_finding(findings: &mut Vec<InjectionFinding>, new: InjectionFinding) {
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

impl PhraseRule {
    fn match_at(&self, hits: &[WordHit], at: usize) -> Option<Span> {
        let first = hits[at];
        if self.negatable && is_negated(hits, at) {
            return None;
        }
        let mut open = if self.with.len() >= 8 { return None } else { (1u8 << self.with.len()) - 1 };
        let mut span = first.span;
        let sentence = |hit: &&WordHit| self.across || hit.sentence == first.sentence;
        let ahead =
            hits[at + 1..].iter().take_while(|hit| hit.word <= first.word + self.ahead).take_while(sentence);
        for hit in ahead {
            if open == 0 {
                break;
            }
            if hit.set & self.unless != 0 {
                return None;
            }
            self.close_classes(&mut open, hit, &mut span);
        }
        if open != 0 && self.behind > 0 {
            let behind = hits[..at]
                .iter()
                .rev()
                .take_while(|hit| hit.word + self.behind >= first.word)
                .take_while(sentence);
            for hit in behind {
                self.close_classes(&mut open, hit, &mut span);
            }
        }
        (open == 0).then_some(span)
    }

    fn close_classes(&self, open: &mut u8, hit: &WordHit, span: &mut Span) {
        for (bit, wanted) in self.with.iter().enumerate() {
            if *open >> bit & 1 == 1 && hit.set & wanted != 0 {
                *open &= !(1 << bit);
                *span = Span { start: span.start.min(hit.span.start), end: span.end.max(hit.span.end) };
            }
        }
    }
}

/// Reports whether a negation stands in the two words before.
fn is_negated(hits: &[WordHit], at: usize) -> bool {
    let first = hits[at];
    hits[..at]
        .iter()
        .rev()
        .take_while(|hit| hit.word + 2 >= first.word && hit.sentence == first.sentence)
        .any(|hit| hit.set & NEG != 0)
}

/// Text that is *about* attacks is less: with a word that says so in the same sentence one step, and another one if it is quoted.
fn lower_if_mentioned(hits: &[WordHit], at: usize, severity: InjectionSeverity) -> InjectionSeverity {
    let first = hits[at];
    let about = |hit: &&WordHit| hit.sentence == first.sentence && hit.set & META != 0;
    let before = hits[..at].iter().rev().take_while(|hit| hit.word + 14 >= first.word).find(about);
    let after = hits[at + 1..].iter().take_while(|hit| hit.word <= first.word + 14).find(about);
    match (before.or(after).is_some(), first.quoted) {
        (false, _) => severity,
        (true, false) => severity.min(InjectionSeverity::Medium),
        (true, true) => InjectionSeverity::Low,
    }
}
