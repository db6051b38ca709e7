//! Ends of quotes and brackets.

use super::*;

fn end_of(src: &str) -> Option<usize> {
    bracket_end(src.as_bytes(), 2, BracketKind::Paren { substitution: true })
}

#[test]
fn substitutions_end_where_bash_ends_them() {
    for src in [
        "$(ls)",
        "$(echo ')')",
        "$(echo \")\")",
        "$(echo \\))",
        "$(case x in a) ls;; (b) ls;; esac)",
        "$( (ls) )",
        "$(ls # )\n)",
        "$(echo $((1+(2))))",
        "$(echo `ls )`)",
        "$(echo ${x:-)})",
        "$(a=(1 2); ls)",
        "$((ls) | cat)",
        "$([[ a < b ]])",
        "$(case x in esac)",
        "$(echo $'\\')')",
    ] {
        assert_eq!(end_of(src), Some(src.len()), "{src}");
    }
    assert_eq!(end_of("$(ls"), None);
}

#[test]
fn apostrophes_in_double_quotes() {
    for (src, open) in [
        ("\"${x:-it's}\"", 0),
        ("\"${x-it's} ${y:+'}\"", 0),
        ("\"${x#'}'}\"", 0),
        ("${x:-'}'}", 0),
        ("\"${a[1]:-'}\"", 0),
        ("\"${x/a/'\"'}\"", 0),
    ] {
        let (mut lexer, mut at) = (ShellLexer::new(), 0);
        while at < src.len() {
            (at, _) = lexer.step_token(src.as_bytes(), at);
        }
        assert_eq!((lexer.frame_count() - 1, lexer.unterminated), (open, false), "{src}");
    }
}

#[test]
fn two_subshells_are_not_arithmetic() {
    assert!(ShellLexer::new().is_arithmetic(b"((1+2))", 2));
    assert!(!ShellLexer::new().is_arithmetic(b"((ls) | (cat))", 2));
    assert!(!ShellLexer::new().is_arithmetic(b"(((1)); ls)", 2));
    assert!(ShellLexer::new().is_arithmetic(b"(((1)))", 2));
}

#[test]
fn keywords_count_as_depth() {
    let mut lexer = ShellLexer::new();
    let src = b"if if if { ( \"";
    let mut at = 0;
    while at < src.len() {
        (at, _) = lexer.step_token(src, at);
    }
    assert_eq!(lexer.nesting_depth(), 6);
}

/// Found by random input: each level was looked through once more for each level around it, so that 400 bytes never ended.
#[test]
fn looking_ahead_is_no_more_work_than_there_are_levels() {
    for (piece, times) in [("$((", 95), ("$(($(", 45), ("((", 30_000), ("$((", 20_000), ("$((\"$((", 5000)] {
        let src = piece.repeat(times);
        let (mut lexer, mut at) = (ShellLexer::new(), 0);
        while at < src.len() && lexer.nesting_depth() < 200 {
            (at, _) = lexer.step_token(src.as_bytes(), at);
        }
        assert!(lexer.ahead.tokens <= AHEAD.0 + AHEAD.1, "{piece}: {}", lexer.ahead.tokens);
        assert!(times < 100 && lexer.ahead.tokens < 10_000 || times > 100, "{piece}: {}", lexer.ahead.tokens);
    }
}
