//! Assignments: what variables are known to hold, and what a value sets off by itself.

use super::items::Raw;
use super::lexer::{self, Kind, Lexer};
use super::model::{Piece, Word};
use super::simple::put_outputs;
use super::union::{Flow, Place, Reader, Shell};
use super::unwrap::render;
use super::variables::Value;
use super::word::{self, Part, lex, name_len};
use crate::decision::Span;

/// Variables whose value some program runs.
const SCRIPTS: &[&str] = &[
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "RSYNC_RSH",
    "FCEDIT",
    "SUDO_EDITOR",
    "CC",
    "CXX",
    "RUSTC_WRAPPER",
];

impl Reader<'_> {
    /// `NAME=value` in front of a command, or alone.
    pub(super) fn assignment(
        &mut self,
        raw: &Raw,
        place: Place<'_>,
        shell: &Shell,
        bare: bool,
    ) -> Vec<(String, Word)> {
        let span = place.span(raw.start, raw.end());
        let len = name_len(raw.text.as_bytes());
        let name = raw.text[..len].to_owned();
        let rest = &raw.text[len..];
        let (subscript, rest) = match rest.strip_prefix('[') {
            Some(inner) => {
                let end = lexer::closing(inner.as_bytes(), 0, Kind::Square).unwrap_or(inner.len());
                (&rest[..=end], &inner[end..])
            }
            None => ("", rest),
        };
        if !subscript.is_empty() {
            let place_of = Raw { start: raw.start + len, text: subscript.to_owned() };
            self.embedded(word::scan(subscript), &place_of, place, shell);
            self.subscripts(subscript, span, shell);
        }
        let append = rest.starts_with("+=");
        let value = rest.trim_start_matches('+').strip_prefix('=').unwrap_or_default();
        let at = raw.text.len() - value.len();
        let maybe = shell.maybe || !bare || !subscript.is_empty();
        if value.starts_with('(') {
            let fields = self.array(value, raw.start + at, place, shell);
            for (at, choice) in fields.choices.iter().flatten().take(64).enumerate() {
                self.variables.set(&format!("{name}[{at}]"), Value::text(choice), true);
            }
            self.variables.set(&format!("{name}[@]"), fields.clone(), maybe || append);
            self.variables.set(&format!("{name}[*]"), fields, maybe || append);
            return Vec::new();
        }
        let value = Raw { start: raw.start + at, text: value.to_owned() };
        let word = self.value(&value, place, shell);
        let mut known = word.literal().map_or_else(Value::anything, Value::text);
        if append {
            let before = self.variables.get(&name, shell.maybe).cloned().unwrap_or_default();
            let joined = before
                .choices
                .iter()
                .flat_map(|old| known.choices.iter().map(move |new| vec![old.join(" ") + &new.join(" ")]));
            known = Value { choices: joined.collect(), unknown: before.unknown || known.unknown };
        }
        self.variables.set(&name, known, maybe);
        self.assigned(&name, &word, span, shell);
        vec![(name, word)]
    }

    fn value(&mut self, raw: &Raw, place: Place<'_>, shell: &Shell) -> Word {
        let span = place.span(raw.start, raw.end());
        let lexed = lex(&raw.text);
        let flows: Vec<Flow> =
            lexed.nested.iter().map(|nested| self.nested(nested, raw, place, shell, None)).collect();
        let mut parts = lexed.parts;
        put_outputs(&mut parts, &flows);
        for part in &mut parts {
            if let Part::Variable { quoted, .. } | Part::Text { quoted, .. } = part {
                *quoted = true;
            }
        }
        let words = self.variables.wordings(&[(parts, span)], shell.maybe);
        let pieces = match words.as_slice() {
            [one] => one.iter().flat_map(|word| word.pieces.clone()).collect(),
            _ => vec![Piece::Dynamic(raw.text.clone())],
        };
        Word { pieces, span }
    }

    /// What an assignment alone may set off.
    pub(super) fn assigned(&mut self, name: &str, word: &Word, span: Span, shell: &Shell) {
        let text = render(word);
        self.subscripts(&text, span, shell);
        let mut inner = Shell {
            via: [&shell.via[..], &[name.to_owned()]].concat(),
            fed: None,
            input: None,
            ..shell.clone()
        };
        if SCRIPTS.contains(&name) && word.literal().is_some() {
            self.fresh(&text, Some(span), &mut inner);
        } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS3" | "PS4") {
            self.text_scripts(&text, span, &inner);
        }
    }

    /// The elements of `(…)`.
    fn array(&mut self, value: &str, start: usize, place: Place<'_>, shell: &Shell) -> Value {
        let src = value.as_bytes();
        let mut lexer = Lexer::inside(Kind::Paren { substitution: false });
        let (mut at, mut begin, mut words) = (1, None, Vec::new());
        while at < src.len() {
            let outside = lexer.frames() == 1;
            let blank = outside && (src[at].is_ascii_whitespace() || src[at] == b')');
            if blank && let Some(begin) = begin.take() {
                words.push(Raw { start: start + begin, text: value[begin..at].to_owned() });
            }
            if !blank {
                begin.get_or_insert(at);
            }
            (at, _) = lexer.step(src, at);
        }
        let mut parts = Vec::new();
        for word in &words {
            parts.extend(self.word(word, place, shell).0);
        }
        let mut wordings = self.variables.wordings(&parts, shell.maybe);
        let fields =
            if wordings.len() == 1 { wordings.remove(0).iter().map(Word::literal).collect() } else { None };
        fields.map_or_else(Value::anything, |fields: Vec<String>| Value {
            choices: vec![fields],
            unknown: false,
        })
    }
}
