//! The search of a `find`: its roots, its tests, and the removal of what it finds.

use amplihack_shell::is_shell;

use super::call::CallArg;

/// The search of a `find` and its effect.
pub(super) struct FindSearch<'c> {
    pub(super) roots: Vec<std::borrow::Cow<'c, CallArg>>,
    pub(super) narrowed: bool,
    pub(super) deletes: bool,
    /// The patterns that names have to match, where nothing else chooses; empty otherwise.
    pub(super) named: Vec<String>,
    /// True if directories are left out.
    pub(super) files_only: bool,
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

impl<'c> FindSearch<'c> {
    pub(super) fn read(args: &'c [CallArg]) -> Self {
        use std::borrow::Cow;
        let mut search =
            Self { roots: Vec::new(), narrowed: false, deletes: false, named: Vec::new(), files_only: false };
        let mut otherwise = false;
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
                    let program = rest.peek().map_or("", |next| super::call::base_name(next.text()));
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
                                .any(|word| matches!(super::call::base_name(word), "rm" | "shred"))
                        });
                }
                name if NARROWING.contains(&name) || name.starts_with("-newer") => {
                    let value = if matches!(name, "-empty" | "-nouser") { None } else { rest.next() };
                    let everything =
                        value.is_some_and(|value| value.text().chars().all(|ch| "*?./".contains(ch)));
                    search.narrowed |= !negated && !everything;
                    match (name, value) {
                        ("-name" | "-iname", Some(value)) if !negated => {
                            search.named.push(super::marks::mark_pattern(value.text()));
                        }
                        _ => otherwise = true,
                    }
                }
                // An alternative may match everything again.
                "-type" => {
                    search.files_only |= rest.peek().is_some_and(|next| next.text() == "f") && !negated;
                }
                "-o" | "-or" | "," => {
                    otherwise = true;
                    search.narrowed =
                        search.narrowed && rest.peek().is_some_and(|next| NARROWING.contains(&next.text()));
                }
                _ => {}
            }
            negated = false;
        }
        if otherwise {
            search.named.clear();
        }
        if search.roots.is_empty() {
            search.roots.push(Cow::Owned(CallArg::from_text(".")));
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
            let args: Vec<CallArg> = script.split(' ').map(CallArg::from_text).collect();
            let search = FindSearch::read(&args);
            assert_eq!((search.narrowed, search.deletes), (narrowed, deletes), "{script}");
            assert_eq!(search.roots.len(), 1);
        }
    }
}
