//! Beginnings of a script's commands, found by the lexer alone: corroborates a parser that no other parser has confirmed.

use super::items::{RawCommand, ShellItem, collect_commands};
use super::lexer::{ListStage, ShellLexer};

/// A command as far as it takes to tell it from another one: where it begins, and its words and assignments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CommandOutline {
    start: usize,
    words: usize,
}

/// The first place where the lexer sees another command than `items` have. `text` is what was parsed.
pub(super) fn find_disagreement(text: &str, items: &[ShellItem]) -> Option<usize> {
    let mut found = Vec::new();
    collect_commands(items, &mut found);
    let mut parsed: Vec<CommandOutline> = found.iter().filter_map(|simple| outline_command(simple)).collect();
    parsed.sort_unstable();
    let mut brackets = Vec::new();
    find_bracket_tests(text, items, &mut brackets);
    let seen = outline_text(text);
    let missed = seen.iter().find(|one| parsed.binary_search(one).is_err() && !brackets.contains(&one.start));
    let invented = parsed.iter().find(|one| seen.binary_search(one).is_err());
    missed.into_iter().chain(invented).map(|one| one.start).min()
}

/// The outline of `simple`; behind `time`, which is a keyword to the lexer and a program to a parser.
fn outline_command(simple: &RawCommand) -> Option<CommandOutline> {
    let timed = simple.words.iter().take_while(|word| word.text == "time").count();
    let words = simple.assignments.len() + simple.words.len();
    if timed == 0 || !simple.assignments.is_empty() {
        return Some(CommandOutline { start: simple.start_offset(), words });
    }
    let start = simple.words.get(timed)?.start;
    let redirects = simple.redirects.iter().map(|redirect| redirect.target.start);
    let start = redirects.filter(|at| *at > simple.words[0].start).fold(start, usize::min);
    Some(CommandOutline { start, words: words - timed })
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
        } else if src[at] == b'(' && is_function(&src[..at], &src[at..], found.last().map(|one| one.start)) {
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

/// Collects the offsets of `[ … ]` that a parser takes for a part of the grammar, not for the command that it is.
fn find_bracket_tests(text: &str, items: &[ShellItem], out: &mut Vec<usize>) {
    for item in items {
        match item {
            ShellItem::Text(raw) if text[raw.start..].starts_with("[ ") => out.push(raw.start),
            ShellItem::Group { items, .. }
            | ShellItem::Pipe(items)
            | ShellItem::Function { body: items, .. }
            | ShellItem::For { body: items, .. } => find_bracket_tests(text, items, out),
            ShellItem::Text(_) | ShellItem::Simple(_) => {}
        }
    }
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
            "! ^ls; ! { ^a; }; time -p ^b; time -- { ^c; }",
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
