//! Redirections and here-documents: what a command reads and writes.

use amplihack_verdict::Span;

use super::items::{RawRedirect, RawShellText};
use super::model::{CommandInput, RedirectKind, ShellRedirect, ShellWord};
use super::script_reader::{CommandFlow, ScriptLocation, ScriptReader, ShellContext};
use super::word;

impl ScriptReader<'_> {
    /// Adds a group's or command's redirections to `shell`.
    pub(super) fn apply_redirects(
        &mut self,
        redirects: &[RawRedirect],
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
    ) {
        for redirect in redirects {
            let span = place.source_span(redirect.target.start, redirect.target.end_offset());
            if self.note_if_late(span) {
                return;
            }
            if let Some(number) = super::heredoc::document_number(&redirect.target.text) {
                self.apply_here_document(number, place, shell);
                continue;
            }
            let (words, readers) = self.expand_word(&redirect.target, place, shell);
            let Some(target) = self
                .variables
                .expand_wordings(&words, shell.maybe)
                .into_iter()
                .next()
                .map(|words| join_words(words, span))
            else {
                continue;
            };
            match redirect.kind {
                // Fed only if every part of it is known: a shell runs what it is fed, and is judged by this text.
                RedirectKind::HereString => {
                    let text = super::unwrap::render_word(&target) + "\n";
                    shell.fed = target.literal_text().map(|_| CommandInput::Text(text.clone()));
                    shell.input = Some(text);
                }
                RedirectKind::Read => {
                    shell.input = readers.as_ref().and_then(|flow| flow.output.clone());
                    shell.fed = match (&shell.input, readers) {
                        (Some(text), _) => Some(CommandInput::Text(text.clone())),
                        (None, readers) => readers.map(|flow| CommandInput::Commands(flow.commands)),
                    };
                }
                _ => {}
            }
            shell.redirects.push(ShellRedirect { kind: redirect.kind, target });
        }
    }

    fn apply_here_document(&mut self, number: usize, place: ScriptLocation<'_>, shell: &mut ShellContext) {
        let Some(document) = self.documents.get(number).cloned() else { return };
        let span = match place {
            ScriptLocation::Exact(..) => Span { start: document.start, end: document.end },
            ScriptLocation::Within(span) => span,
        };
        let words = if document.quoted {
            vec![ShellWord::from_plain(document.body, span)]
        } else {
            let raw = RawShellText { start: 0, text: document.body };
            let lexed = self.lex_expanded(&raw.text, span);
            let mut parts = lexed.parts;
            let scripts: Vec<_> =
                lexed.nested.into_iter().map(|nested| word::NestedScript { at: None, ..nested }).collect();
            let flows: Vec<CommandFlow> = scripts
                .iter()
                .map(|nested| self.run_nested(nested, &raw, ScriptLocation::Within(span), shell, None))
                .collect();
            super::simple::put_outputs(&mut parts, &flows);
            self.variables
                .expand_wordings(&[(parts, span)], shell.maybe)
                .into_iter()
                .next()
                .unwrap_or_default()
        };
        let target = join_words(words, span);
        let text = super::unwrap::render_word(&target);
        shell.fed = target.literal_text().map(CommandInput::Text);
        shell.input = Some(text);
        shell.redirects.push(ShellRedirect { kind: RedirectKind::HereDocument, target });
    }
}

/// Words as one.
fn join_words(words: Vec<ShellWord>, span: Span) -> ShellWord {
    let mut pieces = Vec::new();
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            pieces.push(super::model::WordPiece::Literal { text: " ".to_owned(), quoted: true });
        }
        pieces.extend(word.pieces);
    }
    ShellWord { pieces, span }
}
