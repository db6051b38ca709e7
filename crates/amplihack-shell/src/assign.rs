//! Assignments: what variables are known to hold, and what a value sets off by itself.

use amplihack_verdict::Span;

use super::effects;
use super::items::RawShellText;
use super::lexer::{self, BracketKind, ShellLexer};
use super::model::{ShellWord, WordPiece};
use super::script_reader::{CommandFlow, ScriptLocation, ScriptReader, ShellContext};
use super::simple::{put_home, put_outputs};
use super::unwrap::render_word;
use super::variables::VariableValue;
use super::word::{self, WordPart, lex_word, name_len};

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

impl ScriptReader<'_> {
    /// `NAME=value` in front of a command, or alone.
    pub(super) fn read_assignment(
        &mut self,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
        bare: bool,
    ) -> Vec<(String, ShellWord)> {
        let span = place.source_span(raw.start, raw.end_offset());
        let len = name_len(raw.text.as_bytes());
        let name = raw.text[..len].to_owned();
        let rest = &raw.text[len..];
        let (subscript, rest) = match rest.strip_prefix('[') {
            Some(inner) => {
                let end = lexer::bracket_end(inner.as_bytes(), 0, BracketKind::Square).unwrap_or(inner.len());
                (&rest[..=end], &inner[end..])
            }
            None => ("", rest),
        };
        // Bash evaluates a subscript, and runs what is substituted in it, whatever becomes of the value.
        if !subscript.is_empty() {
            let place_of = RawShellText { start: raw.start + len, text: subscript.to_owned() };
            self.run_embedded(word::scan_scripts(subscript), &place_of, place, shell);
            self.run_subscripts(subscript, span, shell);
        }
        let append = rest.starts_with("+=");
        let value = rest.trim_start_matches('+').strip_prefix('=').unwrap_or_default();
        let at = raw.text.len() - value.len();
        // In front of a command it holds for that command only, so that the value before it stays possible.
        let maybe = shell.maybe || !bare || !subscript.is_empty();
        if value.starts_with('(') {
            let fields = self.read_array(value, raw.start + at, place, shell);
            for (at, choice) in fields.choices.iter().flatten().take(64).enumerate() {
                self.variables.set_value(&format!("{name}[{at}]"), VariableValue::from_text(choice), true);
            }
            self.variables.set_value(&format!("{name}[@]"), fields.clone(), maybe || append);
            self.variables.set_value(&format!("{name}[*]"), fields, maybe || append);
            return Vec::new();
        }
        let value = RawShellText { start: raw.start + at, text: value.to_owned() };
        let word = self.read_assigned_value(&value, place, shell);
        let mut known =
            effects::known_text(&word).map_or_else(VariableValue::new_unknown, VariableValue::from_text);
        if append {
            let before = self.variables.get(&name, shell.maybe).cloned().unwrap_or_default();
            let joined = before
                .choices
                .iter()
                .flat_map(|old| known.choices.iter().map(move |new| vec![old.join(" ") + &new.join(" ")]));
            known = VariableValue { choices: joined.collect(), unknown: before.unknown || known.unknown };
        }
        self.variables.set_value(&name, known, maybe);
        self.follow_assigned(&name, &word, span, shell);
        vec![(name, word)]
    }

    fn read_assigned_value(
        &mut self,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) -> ShellWord {
        let span = place.source_span(raw.start, raw.end_offset());
        let lexed = lex_word(&raw.text);
        let flows: Vec<CommandFlow> =
            lexed.nested.iter().map(|nested| self.run_nested(nested, raw, place, shell, None)).collect();
        let mut parts = lexed.parts;
        put_outputs(&mut parts, &flows);
        put_home(&mut parts);
        for part in &mut parts {
            if let WordPart::Variable { quoted, .. } | WordPart::Text { quoted, .. } = part {
                *quoted = true;
            }
        }
        let words = self.variables.expand_wordings(&[(parts, span)], shell.maybe);
        let pieces = match words.as_slice() {
            [one] => one.iter().flat_map(|word| word.pieces.clone()).collect(),
            _ => vec![WordPiece::Dynamic(raw.text.clone())],
        };
        ShellWord { pieces, span }
    }

    /// Follows the scripts that an assignment alone may set off.
    pub(super) fn follow_assigned(&mut self, name: &str, word: &ShellWord, span: Span, shell: &ShellContext) {
        let text = render_word(word);
        self.run_subscripts(&text, span, shell);
        let mut inner = ShellContext {
            via: [&shell.via[..], &[name.to_owned()]].concat(),
            fed: None,
            input: None,
            ..shell.clone()
        };
        if SCRIPTS.contains(&name) && word.literal_text().is_some() {
            self.read_fresh(&text, Some(span), &mut inner);
        } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS3" | "PS4") {
            self.text_scripts(&text, span, &inner);
        }
    }

    /// The elements of `(…)`.
    fn read_array(
        &mut self,
        value: &str,
        start: usize,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) -> VariableValue {
        let src = value.as_bytes();
        let mut lexer = ShellLexer::new_inside(BracketKind::Array);
        let (mut at, mut begin, mut words) = (1, None, Vec::new());
        while at < src.len() {
            let outside = lexer.frame_count() == 1;
            let blank = outside && (src[at].is_ascii_whitespace() || src[at] == b')');
            if blank && let Some(begin) = begin.take() {
                words.push(RawShellText { start: start + begin, text: value[begin..at].to_owned() });
            }
            if !blank {
                begin.get_or_insert(at);
            }
            (at, _) = lexer.step_token(src, at);
        }
        let mut parts = Vec::new();
        for word in &words {
            parts.extend(self.expand_word(word, place, shell).0);
        }
        let mut wordings = self.variables.expand_wordings(&parts, shell.maybe);
        let fields = if wordings.len() == 1 {
            wordings.remove(0).iter().map(effects::known_text).collect()
        } else {
            None
        };
        fields.map_or_else(VariableValue::new_unknown, |fields: Vec<String>| VariableValue {
            choices: vec![fields],
            unknown: false,
        })
    }
}
