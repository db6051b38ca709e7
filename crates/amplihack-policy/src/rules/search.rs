//! What `find` looks for, and whether it removes what it finds.

use super::call::Arg;
use crate::shell::is_shell;

/// What `find` looks at and does.
pub(super) struct Search<'c> {
    pub(super) roots: Vec<std::borrow::Cow<'c, Arg>>,
    pub(super) narrowed: bool,
    pub(super) deletes: bool,
}

/// Tests that choose some files among many.
const NARROWING: [&str; 24] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-size",
    "-empty",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-inum",
    "-samefile",
    "-nouser",
];

impl<'c> Search<'c> {
    pub(super) fn read(args: &'c [Arg]) -> Self {
        use std::borrow::Cow;
        let mut search = Self { roots: Vec::new(), narrowed: false, deletes: false };
        let mut negated = false;
        let mut rest = args.iter().peekable();
        let mut in_expression = false;
        while let Some(arg) = rest.next() {
            let text = arg.text();
            if !in_expression && !text.starts_with('-') && !matches!(text, "(" | "!" | ")") {
                search.roots.push(Cow::Borrowed(arg));
                continue;
            }
            in_expression |= !matches!(text, "-H" | "-L" | "-P" | "-E" | "-X");
            match text {
                "!" | "-not" => {
                    negated = true;
                    continue;
                }
                "-delete" => search.deletes = true,
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let program = rest.peek().map_or("", |next| super::call::base(next.text()));
                    search.deletes |=
                        matches!(program, "rm" | "shred" | "unlink" | "rmdir" | "mv" | "truncate");
                    let shell = is_shell(program) || matches!(program, "sudo" | "env");
                    let mut inner = Vec::new();
                    for next in rest.by_ref() {
                        if matches!(next.text(), ";" | "+") {
                            break;
                        }
                        inner.push(next.text());
                    }
                    search.deletes |= shell
                        && inner.iter().any(|text| {
                            text.split([' ', ';'])
                                .any(|word| matches!(super::call::base(word), "rm" | "shred"))
                        });
                }
                name if NARROWING.contains(&name) || name.starts_with("-newer") => {
                    let everything = match (name, rest.peek().map(|next| next.text())) {
                        ("-empty" | "-nouser", _) => false,
                        (_, value) => {
                            rest.next();
                            value.is_some_and(|value| value.chars().all(|ch| "*?./".contains(ch)))
                        }
                    };
                    search.narrowed |= !negated && !everything;
                }
                // An alternative may match everything again.
                "-o" | "-or" | "," => {
                    search.narrowed =
                        search.narrowed && rest.peek().is_some_and(|next| NARROWING.contains(&next.text()));
                }
                _ => {}
            }
            negated = false;
        }
        if search.roots.is_empty() {
            search.roots.push(Cow::Owned(Arg::of(".")));
        }
        search
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_is_narrowed_by_tests_that_choose() {
        for (script, narrowed, deletes) in [
            (". -name *.pyc -delete", true, true),
            (". -delete", false, true),
            ("/ -name * -delete", false, true),
            (". ! -name x -delete", false, true),
            (". -type f -exec rm {} ;", false, true),
            (". -name x -print", true, false),
        ] {
            let args: Vec<Arg> = script.split(' ').map(Arg::of).collect();
            let search = Search::read(&args);
            assert_eq!((search.narrowed, search.deletes), (narrowed, deletes), "{script}");
            assert_eq!(search.roots.len(), 1);
        }
    }
}
