//! Places in scripts of every shape.

use super::*;

/// The places of the `@`s of `src`.
fn at(src: &str) -> QuotingReport {
    let holes: Vec<Range<usize>> = src.match_indices('@').map(|(at, _)| at..at + 1).collect();
    find_quoting(src, &holes)
}

fn quotings(src: &str) -> Vec<Quoting> {
    at(src).places.iter().map(|place| place.quoting).collect()
}

#[test]
fn every_kind() {
    use Quoting::{Ansi, Arithmetic, Bare, Comment, Delimiter, Double, HereDocument, Single};
    let body = HereDocument { quoted: false };
    let quoted = HereDocument { quoted: true };
    for (src, want) in [
        ("echo @", vec![Bare]),
        ("@", vec![Bare]),
        ("x=@; y=@z", vec![Bare, Bare]),
        ("echo \"a @\" @", vec![Double, Bare]),
        ("echo 'a @' @", vec![Single, Bare]),
        ("echo $'a @' @", vec![Ansi, Bare]),
        ("echo $\"a @\"", vec![Double]),
        ("cat <<E\n@\nE\n@", vec![body, Bare]),
        ("cat <<'E'\nx @\nE\n@", vec![quoted, Bare]),
        ("cat <<\"E\"\n@\nE", vec![quoted]),
        ("cat <<\\E\n@\nE\n", vec![quoted]),
        ("cat <<-E\n\t@\n\tE\n@", vec![body, Bare]),
        ("cat <<A <<'B' @\n@\nA\n@\nB\n@", vec![Bare, body, quoted, Bare]),
        ("cat <<E\n$(ls @) \"@\" '@' ${x:-@}\nE\n", vec![Bare, body, body, Bare]),
        ("cat <<E\n$((1+@)) `ls @`\nE\n", vec![Arithmetic, Bare]),
        ("cat <<< @", vec![Bare]),
        ("cat <<<word\necho @", vec![Bare]),
        ("echo $((1<<n))\necho @", vec![Bare]),
        ("echo '<<E' \"<<E\" # <<E\necho @", vec![Bare]),
        ("cat <<@\nx\n@\n", vec![Delimiter, Delimiter]),
        ("echo $((1 + @)) $[ @ ] ; ((x = @))", vec![Arithmetic, Arithmetic, Arithmetic]),
        ("echo $(( \"@\" + ${x:-@} + '@' ))", vec![Arithmetic, Arithmetic, Arithmetic]),
        ("echo $(( $(ls @) ))", vec![Bare]),
        ("echo ${x:@:@} ${x:-@} ${x#@} \"${x: @}\"", vec![Arithmetic, Arithmetic, Bare, Bare, Arithmetic]),
        ("ls # a @\n@", vec![Comment, Bare]),
        ("ls a#@ ${#x} @", vec![Bare, Bare]),
        ("echo \"$(ls @ \"@\")\" \"${x:-@}\"", vec![Bare, Double, Bare]),
        ("echo \"${x:-it's} @\" '@'", vec![Double, Single]),
        ("echo `ls @ '@' \"@\"` @", vec![Bare, Single, Double, Bare]),
        ("echo \"`ls @ \\\"@\\\"`\" @", vec![Bare, Double, Bare]),
        ("echo `ls \\`ls '@'\\` @`", vec![Single, Bare]),
        ("case @ in @) ls @;; '@') x;; esac; echo '@'", vec![Bare, Bare, Bare, Single, Single]),
        ("f() { echo @; }\nif [ @ = \"@\" ]; then x; fi", vec![Bare, Bare, Double]),
        ("a=(@ \"@\")", vec![Bare, Double]),
        ("x=$(cat <<'E'\n@\nE\n)\necho \"@\"", vec![quoted, Double]),
        ("x=\"$(cat <<E\n@\nE\n)\" @", vec![body, Bare]),
        ("cat <<E", vec![]),
        ("cat <<'E'\n@", vec![quoted]),
        ("ü '@' ü\"@\"", vec![Single, Double]),
    ] {
        assert_eq!(quotings(src), want, "{src}");
    }
}

#[test]
fn what_stands_before() {
    use PrecedingSign::{Backslash, Dollar, Nothing};
    for (src, want) in [
        ("\\@ \\\\@ $@ $$@ \\$@", vec![Backslash, Nothing, Dollar, Nothing, Nothing]),
        ("\"\\@ \\\\@ $@ $$@ \\$@ $x@\"", vec![Backslash, Nothing, Dollar, Nothing, Nothing, Nothing]),
        ("cat <<E\n\\@ \\\\@ $@ $$@\nE", vec![Backslash, Nothing, Dollar, Nothing]),
        ("'\\@ $@'", vec![Nothing, Nothing]),
        ("$'\\@ \\\\@ $@'", vec![Backslash, Nothing, Nothing]),
        ("cat <<'E'\n\\@ $@\nE", vec![Nothing, Nothing]),
    ] {
        assert_eq!(at(src).places.iter().map(|place| place.before).collect::<Vec<_>>(), want, "{src}");
    }
}

#[test]
fn operands_that_are_calculated() {
    for (src, want) in [
        ("[[ @ -eq 1 ]]", true),
        ("[[ 1 -lt \"@\" ]]", true),
        ("[[ \"@\" -ge '@' ]]", true),
        ("[[ -n @ && 1 -eq 1 ]]", false),
        ("[[ @ == 1 ]]", false),
        ("[ @ -eq 1 ]", false),
    ] {
        assert_eq!(at(src).places[0].number, want, "{src}");
    }
}

#[test]
fn documents_and_where_they_are() {
    let src = "a <<-'E F' <<X\n\t@\n\tE F\nx\nX\n`cat <<\\Q\nb @\nQ\n`";
    let found = at(src);
    let parts = |document: &QuotedDocument| {
        [&document.opening, &document.body, &document.closing].map(|range| &src[range.clone()])
    };
    assert_eq!(parts(&found.documents[0]), ["'E F'", "\t@\n", "E F"]);
    assert_eq!(found.documents.len(), 2);
    assert_eq!(parts(&found.documents[1]), ["\\Q", "b @\n", "Q"]);
    assert_eq!((found.documents[1].backquotes, found.places[1].document), (1, Some(1)));
}

#[test]
fn what_is_nested_too_deeply_is_not_guessed() {
    let mut src = "@".to_owned();
    for level in 0..40 {
        src = format!("$(cat <<E{level}\n{src}\nE{level}\n)");
    }
    assert_eq!(quotings(&format!("{src} @")), [Quoting::Unknown, Quoting::Bare]);
}
