//! A single simple command of a script: its words expanded as far as they are known, its redirections, its input.

use amplihack_verdict::Span;

use super::braces;
use super::items::{RawCommand, RawShellText};
use super::model::{CommandInput, ShellCommand};
use super::script_reader::{CommandFlow, ScriptLocation, ScriptReader, ShellContext};
use super::variables::{STANDING, VariableValue};
use super::word::{EmbeddingKind, NestedScript, WordPart, lex_word};

/// A word's parts after brace expansion.
type ExpandedWords = Vec<(Vec<WordPart>, Span)>;

/// Words of one script that are looked at, those that braces make included.
pub(super) const WORDS: usize = 40_000;

/// Puts what embedded scripts print in their place, where it is known.
pub(super) fn put_outputs(parts: &mut Vec<WordPart>, flows: &[CommandFlow]) {
    for part in parts.iter_mut() {
        if let WordPart::Dynamic { source, quoted, .. } = part
            && says_above(source)
        {
            *part = WordPart::Text { text: "..".to_owned(), quoted: *quoted };
        }
        if let WordPart::Dynamic { source, quoted, .. } = part
            && says_home(source)
        {
            *part = WordPart::Variable { name: "HOME".to_owned(), quoted: *quoted };
        }
        let WordPart::Dynamic { source, quoted, nested: Some(number) } = part else { continue };
        if source.starts_with(['<', '>']) {
            continue;
        }
        if let Some(name) = said_directory(source) {
            *part = WordPart::Variable { name: name.to_owned(), quoted: *quoted };
        } else if let Some(text) =
            flows.get(*number).and_then(|flow| flow.output.as_deref()).filter(|text| !text.is_empty())
        {
            *part = WordPart::Text { text: text.trim_end_matches('\n').to_owned(), quoted: *quoted };
        }
    }
    restore_standing(parts);
}

/// Puts variables back that stand in what a substitution prints as what they are: `$(echo ~/x)`.
fn restore_standing(parts: &mut Vec<WordPart>) {
    for name in STANDING {
        let mark = format!("${{{name}}}");
        let holds = |part: &WordPart| matches!(part, WordPart::Text { text, .. } if text.contains(&mark));
        let Some(at) = parts.iter().position(holds) else { continue };
        let WordPart::Text { text, quoted } = parts[at].clone() else { continue };
        let (before, behind) = text.split_once(&mark).unwrap_or((&text, ""));
        let put = [
            WordPart::Text { text: before.to_owned(), quoted },
            WordPart::Variable { name: name.to_owned(), quoted },
            WordPart::Text { text: behind.to_owned(), quoted },
        ];
        let put =
            put.into_iter().filter(|part| !matches!(part, WordPart::Text { text, .. } if text.is_empty()));
        parts.splice(at..=at, put);
    }
}

/// Reports whether an expansion gives the directory above.
fn says_above(source: &str) -> bool {
    let plain: String = source.chars().filter(|ch| !matches!(ch, '"' | '\'' | ' ')).collect();
    plain.starts_with("${PWD%")
        || matches!(plain.as_str(), "$(dirname$PWD)" | "$(dirname$(pwd))" | "`dirname$PWD`")
}

/// Reports whether an expansion gives the home directory or a directory above it: `${HOME%/}`, `${X:-$HOME}`, `${X:-~}`.
fn says_home(source: &str) -> bool {
    let Some(inner) = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return false };
    let plain: String = inner.chars().filter(|ch| !matches!(ch, '"' | '\'')).collect();
    if let Some(operator) = plain.strip_prefix("HOME")
        && !operator.starts_with([':', '+'])
    {
        return match operator.split_at_checked(1) {
            // A place is no more a place without its beginning.
            Some(("#", pattern)) => !pattern.starts_with(['#', '/', '*', '?', '[', '\\', '$']),
            Some(("/", rest)) => keeps_home(rest),
            _ => operator.starts_with(['%', '-', '=', '?', '^', ',', '@', '~']),
        };
    }
    if let Some(operand) = plain.strip_prefix("HOME:").filter(|operand| !operand.starts_with('+')) {
        // Behind its first letter it names another place.
        let offset = operand.trim_start_matches([' ', '0']);
        let is_inside = offset.starts_with(|ch: char| ch.is_ascii_digit())
            || operand.starts_with(' ') && offset.starts_with('-');
        return !is_inside;
    }
    let name = plain.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let operand =
        [":-", ":=", "-", "=", ":+", "+"].iter().find_map(|operator| plain[name..].strip_prefix(operator));
    operand.is_some_and(|operand| matches!(operand.trim_end_matches('/'), "$HOME" | "${HOME}" | "~"))
}

/// Reports whether the home stays, or becomes a directory above, once `rest` of `${HOME/pattern/text}` has been done to it.
fn keeps_home(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    if rest.starts_with('%') {
        return true;
    }
    let mut split = None;
    let mut escaped = false;
    for (at, ch) in rest.char_indices() {
        if ch == '/' && !escaped {
            split = Some(at);
            break;
        }
        escaped = ch == '\\' && !escaped;
    }
    let (pattern, text) = split.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
    // `//` and `/./` say nothing.
    let names = |text: &str| -> String {
        let text: String = text.chars().filter(|ch| !matches!(ch, '\\' | '.')).collect();
        text.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
    };
    let hits = ["/", "home", "Users", "root"].iter().any(|name| pattern.contains(name));
    let same =
        text.contains(['*', '?', '[', '$', '&', '`']) || names(pattern) == names(text) && !text.is_empty();
    !hits || same
}

/// Puts the home's variable in place of a tilde that the shell expands.
pub(super) fn put_home(parts: &mut Vec<WordPart>) {
    let Some(WordPart::Text { text, quoted: false }) = parts.first_mut() else { return };
    let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
    else {
        return;
    };
    *text = rest.to_owned();
    parts.insert(0, WordPart::Variable { name: "HOME".to_owned(), quoted: true });
}

/// The variable that holds what a substitution prints: the directory.
fn said_directory(source: &str) -> Option<&'static str> {
    let inner = source.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| source.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')))?;
    // The repository's root is the directory or holds it.
    matches!(
        inner.trim(),
        "pwd" | "pwd -P" | "pwd -L" | "command pwd" | "/bin/pwd" | "git rev-parse --show-toplevel"
    )
    .then_some("PWD")
}

impl ScriptReader<'_> {
    /// A word's parts, its scripts run; and what `<(…)` in it gives.
    pub(super) fn expand_word(
        &mut self,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) -> (ExpandedWords, Option<CommandFlow>) {
        let span = place.source_span(raw.start, raw.end_offset());
        // Braces multiply: past the limit the word may be anything, but the scripts in it are still run.
        let variants = if self.words > WORDS && raw.text.contains('{') {
            None
        } else {
            braces::expand_braces(&raw.text, || self.is_over())
        };
        self.words += variants.as_ref().map_or(0, |variants| variants.len() - 1);
        let Some(variants) = variants else {
            self.run_embedded(lex_word(&raw.text).nested, raw, place, shell);
            return (
                vec![(
                    vec![WordPart::Dynamic { source: raw.text.clone(), quoted: false, nested: None }],
                    span,
                )],
                None,
            );
        };
        let one = variants.len() == 1;
        let (mut words, mut readers) = (Vec::new(), None);
        for variant in variants {
            if !one && self.note_if_late(span) {
                break;
            }
            let lexed = lex_word(&variant);
            let mut flows = Vec::new();
            for mut nested in lexed.nested {
                if nested.embed == EmbeddingKind::Writer {
                    flows.push(CommandFlow::default());
                    continue;
                }
                // A variant of braces is not the source's text: places in it would point elsewhere.
                nested.at = nested.at.filter(|_| one);
                let flow = self.nested_marked(&nested, raw, place, shell);
                if nested.embed == EmbeddingKind::Reader {
                    readers.get_or_insert_with(|| flow.clone());
                }
                flows.push(flow);
            }
            for name in lexed.prompts {
                self.expand_prompt(&name, span, shell);
            }
            let mut parts = lexed.parts;
            put_outputs(&mut parts, &flows);
            let mut split = split_texts(parts);
            words.extend(split.drain(..).map(|parts| (parts, span)));
        }
        (words, readers)
    }

    fn nested_marked(
        &mut self,
        nested: &NestedScript,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) -> CommandFlow {
        self.run_nested(nested, raw, place, shell, None)
    }

    /// `${name@P}` runs the scripts in the value.
    fn expand_prompt(&mut self, name: &str, span: Span, shell: &ShellContext) {
        let value = self.variables.get(name, shell.maybe).cloned().unwrap_or_else(VariableValue::new_unknown);
        if value.unknown {
            self.note_undecided("a variable is expanded as a prompt", span);
        }
        for text in value.choices.iter().flatten() {
            self.text_scripts(text, span, shell);
        }
    }

    pub(super) fn text_scripts(&mut self, text: &str, span: Span, shell: &ShellContext) {
        for nested in self.lex_expanded(text, span).nested {
            self.read_fresh(
                &nested.text,
                Some(span),
                &mut ShellContext { input: None, fed: None, ..shell.clone() },
            );
        }
    }

    /// A simple command of a script.
    pub(super) fn read_command(
        &mut self,
        simple: &RawCommand,
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
    ) -> CommandFlow {
        let span = place.source_span(simple.start_offset(), simple.end_offset());
        let mut inner = shell.clone();
        self.apply_redirects(&simple.redirects, place, &mut inner);
        let bare = simple.words.is_empty();
        let mut assignments = Vec::new();
        for raw in &simple.assignments {
            if self.note_if_late(span) {
                return CommandFlow::default();
            }
            assignments.extend(self.read_assignment(raw, place, shell, bare));
        }
        let mut words: ExpandedWords = Vec::new();
        let mut writers: Vec<(NestedScript, &RawShellText)> = Vec::new();
        for raw in &simple.words {
            if self.note_if_late(span) {
                return CommandFlow::default();
            }
            let (more, readers) = self.expand_word(raw, place, shell);
            words.extend(more);
            // `bash <(curl …)` reads its script there, so that it counts as input, unless the command has one already.
            if let (Some(flow), None) = (readers, &inner.fed) {
                inner.input.clone_from(&flow.output);
                inner.fed =
                    Some(flow.output.map_or(CommandInput::Commands(flow.commands), CommandInput::Text));
            }
            if raw.text.contains(">(") {
                writers.extend(
                    lex_word(&raw.text)
                        .nested
                        .into_iter()
                        .filter(|nested| nested.embed == EmbeddingKind::Writer)
                        .map(|nested| (nested, raw)),
                );
            }
        }
        for redirect in simple.redirects.iter().filter(|redirect| redirect.target.text.contains(">(")) {
            let found = lex_word(&redirect.target.text)
                .nested
                .into_iter()
                .filter(|nested| nested.embed == EmbeddingKind::Writer);
            writers.extend(found.map(|nested| (nested, &redirect.target)));
        }
        if self.note_if_late(span) {
            return CommandFlow::default();
        }
        let mut flow = CommandFlow { commands: Vec::new(), output: Some(String::new()) };
        for words in self.variables.expand_wordings(&words, shell.maybe) {
            let command = ShellCommand {
                words,
                assignments: assignments.clone(),
                redirects: inner.redirects.clone(),
                fed: inner.fed.clone(),
                cds: shell.cds.clone(),
                via: shell.via.clone(),
                span,
            };
            let before = inner.cds.len();
            let one = self.follow_command(&command, &mut inner);
            // Only the directory outlasts a command: its redirections end with it.
            shell.cds.extend(inner.cds.iter().skip(before).cloned());
            flow.commands.extend(one.commands);
            flow.output = one.output;
        }
        // Last, since what `>(…)` reads is what the command prints.
        for (nested, raw) in writers {
            let fed = match &flow.output {
                Some(text) if !text.is_empty() => CommandInput::Text(text.clone()),
                _ => CommandInput::Commands(flow.commands.clone()),
            };
            let mut input = shell.clone();
            input.input = match &fed {
                CommandInput::Text(text) => Some(text.clone()),
                CommandInput::Commands(_) => None,
            };
            self.run_writer(&nested, raw, place, &input, fed);
        }
        flow
    }

    fn run_writer(
        &mut self,
        nested: &NestedScript,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
        fed: CommandInput,
    ) {
        match &fed {
            CommandInput::Text(text) => {
                let mut inner = ShellContext {
                    input: Some(text.clone()),
                    fed: Some(fed.clone()),
                    redirects: Vec::new(),
                    ..shell.clone()
                };
                self.read_fresh(
                    &nested.text,
                    Some(place.source_span(raw.start, raw.end_offset())),
                    &mut inner,
                );
            }
            CommandInput::Commands(_) => {
                self.run_nested(nested, raw, place, shell, Some(fed));
            }
        }
    }
}

/// Text that came from a substitution outside quotes is split into words.
fn split_texts(parts: Vec<WordPart>) -> Vec<Vec<WordPart>> {
    let mut words = vec![Vec::new()];
    for part in parts {
        match part {
            WordPart::Text { text, quoted: false } if text.contains([' ', '\n', '\t']) => {
                for (index, piece) in text.split_whitespace().enumerate() {
                    if index > 0 {
                        words.push(Vec::new());
                    }
                    if let Some(word) = words.last_mut() {
                        word.push(WordPart::Text { text: piece.to_owned(), quoted: false });
                    }
                }
            }
            part => words.last_mut().into_iter().for_each(|word| word.push(part.clone())),
        }
    }
    words
}
