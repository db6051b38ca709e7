//! Substitutions that bash may end in another place than a reader of its grammar does: behind `((` it counts brackets without regard to
//! what they stand in, and at the start of `$(` it takes `time` for a program's name, and `case` behind it for a word.

use super::lexer::{BracketKind, ShellLexer, ShellToken, escaped_position};

/// Looks at a script, token by token.
#[derive(Debug, Default)]
pub(super) struct CountedBrackets {
    /// Brackets and quotes around the outermost `((` that is open: arithmetic or two subshells.
    around: Option<usize>,
}

impl CountedBrackets {
    /// Reports whether a `((` is open.
    pub(super) fn is_open(&self) -> bool {
        self.around.is_some()
    }

    /// Looks at the token at `at` that the lexer has just passed over; `frames`: the lexer's before it. Returns what bash may take for
    /// the end of what a `((` began, or for a part of it.
    pub(super) fn check_token(
        &mut self,
        lexer: &ShellLexer,
        frames: usize,
        token: ShellToken,
        src: &[u8],
        at: usize,
    ) -> Option<&'static str> {
        let opens = matches!(&src[at..], [b'(', b'(', ..] | [b'$', b'(', b'(', ..]);
        if self.around.is_some_and(|around| lexer.frame_count() <= around) {
            self.around = None;
        } else if opens && lexer.frame_count() > frames {
            self.around.get_or_insert(frames);
        }
        if token == ShellToken::Prefix && src[at] == b't' && lexer.substitution_count() > 0 {
            return Some("a compound command behind `time` in a substitution");
        }
        if !self.is_open() && !lexer.is_within_arithmetic() {
            return None;
        }
        match (lexer.kind(), src[at]) {
            (BracketKind::Case { .. }, _) => Some("a case behind `((`"),
            (BracketKind::Brace, b'(' | b')') => Some("a bracket in an expansion behind `((`"),
            (_, b'`') if !is_even(&src[at + 1..]) => {
                Some("backticks behind `((` with brackets or quotes in them")
            }
            // An odd quote or bracket in the body makes two subshells of `$((` for bash. Without the body it looks like arithmetic.
            _ if self.is_open() && matches!(token, ShellToken::HereDocument { .. }) => {
                Some("a here-document behind `((`")
            }
            _ => None,
        }
    }
}

/// Reports whether text in backticks has as many closing as opening brackets, pairs of quotes and no comment.
fn is_even(rest: &[u8]) -> bool {
    let text = &rest[..escaped_position(rest, b'`').unwrap_or(rest.len())];
    let count = |wanted: u8| text.split(|byte| *byte == wanted).count() - 1;
    count(b'(') == count(b')')
        && count(b'\'').is_multiple_of(2)
        && count(b'"').is_multiple_of(2)
        && !text.contains(&b'#')
}

/// A construct in `text`, which is expanded as in double quotes, that bash may end in another place.
pub(super) fn find_counted(text: &str) -> Option<&'static str> {
    if !text.contains("((") && !text.contains("time") {
        return None;
    }
    let src = text.as_bytes();
    let mut lexer = ShellLexer::new_inside(BracketKind::Body);
    let (mut brackets, mut at) = (CountedBrackets::default(), 0);
    while at < src.len() {
        let frames = lexer.frame_count();
        let (end, token) = lexer.step_token(src, at);
        if let Some(why) = brackets.check_token(&lexer, frames, token, src, at) {
            return Some(why);
        }
        at = end.max(at + 1);
    }
    lexer.is_unsure().then_some("brackets that cannot be told apart")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bash_may_end_elsewhere_is_found() {
        for text in [
            "$(((1)); case x in x) a; b '$(rm x)';; esac )",
            "$((a) | b ${x#)} '$(rm x)' )",
            "\" $((1 + `a # )`))",
            "$((a) | b <<E)",
            "$(! time -p case x in x) a '$(rm x)';; esac)",
        ] {
            assert!(find_counted(text).is_some(), "{text}");
        }
        for text in [
            "$((1 + 2)) $(case x in x) a;; esac)",
            "((case x",
            "$((a) | b \"(\" ')' # (\n)",
            "${x:-(((} $((1))",
        ] {
            assert_eq!(find_counted(text), None, "{text}");
        }
    }
}
