//! What quoting is in force at a place of a script: how a value has to be written there.

use super::heredoc::{HereDocument, clean};
use super::lexer::{Kind, Lexer, Token};

/// Quoting in force at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quoting {
    /// None: a value is split into words and may be anything.
    Bare,
    /// `"…"`
    Double,
    /// `'…'` or `$'…'`
    Single,
    /// The body of a here-document.
    HereDocument {
        /// Its delimiter is quoted: nothing is expanded.
        quoted: bool,
    },
    /// `$(( … ))`, `(( … ))`
    Arithmetic,
    /// A comment.
    Comment,
}

/// The quoting in force before the byte at `offset`.
pub fn quoting_at(src: &str, offset: usize) -> Quoting {
    let mut documents: Vec<HereDocument> = Vec::new();
    clean(src, &mut documents, usize::MAX);
    documents.sort_by_key(|document| document.start);
    let bytes = src.as_bytes();
    let mut lexer = Lexer::new();
    let mut next = documents
        .iter()
        .filter(|document| !document.body.is_empty() || document.end > document.start)
        .peekable();
    let mut at = 0;
    while at < offset.min(bytes.len()) {
        if let Some(document) = next.next_if(|document| document.start <= at) {
            if document.start == at && offset < document.end {
                return Quoting::HereDocument { quoted: document.quoted };
            }
            at = at.max(if document.start == at { document.end } else { at });
            continue;
        }
        let (end, token) = lexer.step(bytes, at);
        if offset < end && offset > at {
            match token {
                Token::Single => return Quoting::Single,
                Token::Comment => return Quoting::Comment,
                _ => {}
            }
        }
        // A comment goes on up to the end of its line.
        if offset == end && token == Token::Comment {
            return Quoting::Comment;
        }
        at = end;
    }
    if let Some(document) = next.find(|document| document.start == offset && offset < document.end) {
        return Quoting::HereDocument { quoted: document.quoted };
    }
    match lexer.kind() {
        Kind::Double => Quoting::Double,
        Kind::Arithmetic { .. } | Kind::Square => Quoting::Arithmetic,
        _ => Quoting::Bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind() {
        for (src, want) in [
            ("echo @", Quoting::Bare),
            ("echo \"a @\"", Quoting::Double),
            ("echo 'a @'", Quoting::Single),
            ("echo $'a @'", Quoting::Single),
            ("cat <<E\n@\nE\n", Quoting::HereDocument { quoted: false }),
            ("cat <<'E'\nx @\nE\n", Quoting::HereDocument { quoted: true }),
            ("echo $((1 + @))", Quoting::Arithmetic),
            ("ls # a @", Quoting::Comment),
            ("echo \"$(ls @)\"", Quoting::Bare),
            ("cat <<E\nx\nE\nls @", Quoting::Bare),
            ("echo \"${x:-@}\"", Quoting::Bare),
            ("@", Quoting::Bare),
            ("ls # a\n@", Quoting::Bare),
        ] {
            assert_eq!(quoting_at(src, src.find('@').unwrap()), want, "{src}");
        }
    }
}
