//! Beginnings of a script's commands, found by the lexer alone in the script itself: they corroborate the parser, which is given a masked one.

use super::items::{RawCommand, ShellItem, collect_commands};
use super::lexer::{BracketKind, ListStage, ShellLexer};

/// A command as far as it takes to tell it from another one: where it begins, and its words and assignments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CommandOutline {
    start: usize,
    words: usize,
}

/// The first place where the lexer sees another command than `items` have. `text` is the script, not masked.
pub(super) fn find_disagreement(text: &str, items: &[ShellItem]) -> Option<usize> {
    let mut found = Vec::new();
    collect_commands(items, &mut found);
    let outline = |simple: &&RawCommand| CommandOutline {
        start: simple.start_offset(),
        words: simple.assignments.len() + simple.words.len(),
    };
    let mut parsed: Vec<CommandOutline> = found.iter().map(outline).collect();
    parsed.sort_unstable();
    let seen = outline_text(text);
    let missed = seen.iter().find(|one| parsed.binary_search(one).is_err());
    let invented = parsed.iter().find(|one| seen.binary_search(one).is_err());
    missed.into_iter().chain(invented).map(|one| one.start).min()
}

/// Each simple command that is in no substitution, in order. It begins with its first word or assignment, or with the target of a
/// redirection, which is no word of it.
fn outline_text(text: &str) -> Vec<CommandOutline> {
    let src = text.as_bytes();
    let mut lexer = ShellLexer::new();
    let (mut found, mut at) = (Vec::<CommandOutline>::new(), 0);
    while at < src.len() {
        let (before, frames, target) = (lexer.list_stage(), lexer.frame_count(), lexer.awaits_target());
        let (end, _) = lexer.step_token(src, at);
        let began = before.is_some_and(|stage| matches!(stage, ListStage::Start | ListStage::Closed))
            && lexer.stage_of(frames) == Some(ListStage::Words);
        let word = before.is_some() && !target && lexer.is_in_word_of(frames);
        if began {
            found.push(CommandOutline { start: at, words: usize::from(!target) });
        } else if before == Some(ListStage::Words) && word {
            if let Some(last) = found.last_mut() {
                last.words += 1;
            }
        } else if src[at] == b'('
            && lexer.kind() == (BracketKind::Paren { substitution: false })
            && is_function(&src[..at], &src[at..], found.last().map(|one| one.start))
        {
            found.pop();
        }
        at = end.max(at + 1);
    }
    found
}

/// Reports whether `rest` begins with the brackets of a function whose name is all that stands between `name` and them.
fn is_function(before: &[u8], rest: &[u8], name: Option<usize>) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let Some(name) = name.map(|at| before[at..].trim_ascii_end()) else { return false };
    let empty = rest[1..].iter().find(|byte| !blank(byte)) == Some(&b')');
    empty && !name.iter().any(|byte| byte.is_ascii_whitespace() || b";&|()".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` with a `^` before each command that begins.
    fn marked(text: &str) -> String {
        let mut marked = text.to_owned();
        for one in outline_text(text).into_iter().rev() {
            marked.insert(one.start, '^');
        }
        marked
    }

    #[test]
    fn words_of_a_command_are_counted() {
        for (text, words) in [
            ("ls -l \"a b\" c$(d e)f > g 2>&1 h", 5),
            ("A=1 B=2 ls <(a b) # c", 4),
            ("> f ls a", 2),
            ("x=(a b) y", 2),
            ("ls ${x:-a b} $((1 + 2)) `a b` {a,b}", 5),
        ] {
            assert_eq!(outline_text(text).iter().map(|one| one.words).collect::<Vec<_>>(), [words], "{text}");
        }
    }

    #[test]
    fn commands_begin_where_bash_begins_them() {
        for marks in [
            "^ls -l; ^rm x | ^cat && ^a || ^b &\n^c",
            "^A=1 B=2 ls\n^x=(a b) ^",
            ">^f ls 2>&1; 2>^f ls; ^ls &>f; ^ls >&2 | ^b",
            "if ^a; then ^b; elif ^c; then ^d; else ^e; fi > f; ^g",
            "for x in a b; do ^c; done; for x do ^c; done; for ((i=0;i<2;i++)) do ^c; done\nfor x\nin a\ndo ^b; done",
            "while ^read x; do { ^a; } > f; done <<< x | ^b",
            "case x in a|b) ^c;; (d) ^e;& *) ^f; esac; ^g",
            "f() { ^a; }; f () ( ^b ); function g { ^c; }; function h() { ^d; }\n^f",
            "[[ a && b ]] && ^c; if [[ a ]] then ^b; fi; if (( 1 )) then ^c; fi",
            "! ^ls; ! { ^a; }; ^time -p b; time -- { ^c; }; ^a | ^time { b",
            "^\"a b\" c; ^$x y; ^$(a; b) c; ^`a` b; ^<(a) b",
            "^echo $(a; b) \"$(c)\" if then; ^'if' x; (^a; (^b))",
            "^ls # ; a\n^b",
        ] {
            let text = marks.replace('^', "");
            let marks = marks.trim_end_matches([' ', '^']);
            assert_eq!(marked(text.trim_end()), marks);
        }
    }
}
