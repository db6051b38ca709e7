//! Redirections and here-documents: what a command reads and writes.

use super::items::{Raw, RawRedirect};
use super::model::{Fed, Redirect, RedirectKind, Word};
use super::union::{Flow, Place, Reader, Shell};
use super::word;
use crate::decision::Span;

impl Reader<'_> {
    /// Adds a group's or command's redirections to `shell`.
    pub(super) fn redirects(&mut self, redirects: &[RawRedirect], place: Place<'_>, shell: &mut Shell) {
        for redirect in redirects {
            let span = place.span(redirect.target.start, redirect.target.end());
            if self.late(span) {
                return;
            }
            if let Some(number) = super::heredoc::number(&redirect.target.text) {
                self.document(number, place, shell);
                continue;
            }
            let (words, readers) = self.word(&redirect.target, place, shell);
            let Some(target) = self
                .variables
                .wordings(&words, shell.maybe)
                .into_iter()
                .next()
                .map(|words| glue(words, span))
            else {
                continue;
            };
            match redirect.kind {
                RedirectKind::HereString => {
                    let text = super::unwrap::render(&target) + "\n";
                    shell.fed = target.literal().map(|_| Fed::Text(text.clone()));
                    shell.input = Some(text);
                }
                RedirectKind::Read => {
                    shell.input = readers.as_ref().and_then(|flow| flow.output.clone());
                    shell.fed = match (&shell.input, readers) {
                        (Some(text), _) => Some(Fed::Text(text.clone())),
                        (None, readers) => readers.map(|flow| Fed::Commands(flow.commands)),
                    };
                }
                _ => {}
            }
            shell.redirects.push(Redirect { kind: redirect.kind, target });
        }
    }

    fn document(&mut self, number: usize, place: Place<'_>, shell: &mut Shell) {
        let Some(document) = self.documents.get(number).cloned() else { return };
        let span = match place {
            Place::Exact(..) => Span { start: document.start, end: document.end },
            Place::Within(span) => span,
        };
        let words = if document.quoted {
            vec![Word::plain(document.body, span)]
        } else {
            let raw = Raw { start: 0, text: document.body };
            let lexed = word::lex_text(&raw.text);
            let mut parts = lexed.parts;
            let scripts: Vec<_> =
                lexed.nested.into_iter().map(|nested| word::Nested { at: None, ..nested }).collect();
            let flows: Vec<Flow> = scripts
                .iter()
                .map(|nested| self.nested(nested, &raw, Place::Within(span), shell, None))
                .collect();
            super::simple::put_outputs(&mut parts, &flows);
            self.variables.wordings(&[(parts, span)], shell.maybe).into_iter().next().unwrap_or_default()
        };
        let target = glue(words, span);
        let text = super::unwrap::render(&target);
        shell.fed = target.literal().map(Fed::Text);
        shell.input = Some(text);
        shell.redirects.push(Redirect { kind: RedirectKind::HereDocument, target });
    }
}

/// Words as one.
fn glue(words: Vec<Word>, span: Span) -> Word {
    let mut pieces = Vec::new();
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            pieces.push(super::model::Piece::Literal { text: " ".to_owned(), quoted: true });
        }
        pieces.extend(word.pieces);
    }
    Word { pieces, span }
}
