//! Files that a command runs: scripts by their path, makefiles, scripts of a package.

use std::path::PathBuf;

use amplihack_shell::{RedirectKind, is_shell};

use super::call::{CallArg, CommandCall};
use super::options::CommandOptions;
use super::script::JudgedScript;
use super::{code, net};
use crate::command_files::CommandFileKind;

/// The means by which a file is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileRunMeans {
    /// By a shell.
    Shell,
    /// By whatever its first line says.
    Program,
    /// By an interpreter, whose name stands here.
    Code(String),
    /// By a tool that takes these entries of it.
    Entries(CommandFileKind, Vec<String>),
}

/// A file that a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RanFile {
    /// The file's absolute path.
    pub(crate) path: PathBuf,
    /// The means by which it is run.
    pub(crate) how: FileRunMeans,
    /// The directory in which its commands run, if that is known.
    pub(crate) dir: Option<PathBuf>,
}

/// Directories of programs that a system installs, which are not looked into.
const INSTALLED: [&str; 9] =
    ["/bin/", "/sbin/", "/usr/", "/lib/", "/opt/", "/nix/", "/snap/", "/dev/", "/proc/"];

/// The files that a command runs, as far as its words say which.
pub(crate) fn files_run_by(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Vec<RanFile> {
    let mut found = Vec::new();
    let mut add = |arg: &CallArg, how: FileRunMeans| {
        let path = script.target(call, arg).path();
        let path = path.filter(|path| {
            !arg.dynamic
                && path.to_str().is_some_and(|text| !INSTALLED.iter().any(|dir| text.starts_with(dir)))
        });
        found.extend(path.map(|path| RanFile { path, how, dir: call.dir.clone() }));
    };
    if call.path.text().contains('/') {
        add(&call.path, FileRunMeans::Program);
    }
    let is_source = call.is_any_of(&["source", "."]);
    if is_shell(&call.program) || is_source {
        let options = CommandOptions::read(&call.args, "coO", &["rcfile", "init-file"]);
        let operand = options
            .operands
            .first()
            .filter(|_| is_source || !options.has_short('c') && !options.has_short('s'));
        if let Some(arg) = operand {
            add(arg, FileRunMeans::Shell);
        }
        for arg in input_scripts(script, call) {
            add(&arg, FileRunMeans::Shell);
        }
    } else if let Some(language) = code::interpreter_language(&call.program) {
        let how = || FileRunMeans::Code(language.to_owned());
        // An option may be code, or take a word that is no file.
        if let Some(first) =
            call.args.iter().find(|arg| !is_switch(arg.text())).filter(|arg| !arg.text().starts_with('-'))
        {
            add(first, how());
        }
        for arg in input_scripts(script, call) {
            add(&arg, how());
        }
    } else {
        add_tool_files(call, &mut add);
    }
    found
}

/// The text that a command prints, or passes on of its input, if that is known.
pub(crate) fn printed_text(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Option<String> {
    let words: Vec<String> =
        std::iter::once(&call.path).chain(&call.args).map(|arg| arg.text().to_owned()).collect();
    let is_known = !call.args.iter().any(|arg| arg.dynamic);
    is_known.then(|| amplihack_shell::printed_text(&words, script.fed_text(call)))?
}

/// An option of an interpreter that takes no word.
fn is_switch(text: &str) -> bool {
    matches!(text, "-u" | "-B" | "-s" | "-E" | "-I" | "-O" | "-OO" | "-x" | "-w" | "-T" | "--trace-warnings")
}

/// Files that a shell or an interpreter reads its script from: `bash < f`, `cat f | sh`.
fn input_scripts(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Vec<CallArg> {
    if !net::runs_input(call) {
        return Vec::new();
    }
    let redirected =
        call.redirects.iter().filter(|(kind, _)| *kind == RedirectKind::Read).map(|(_, arg)| arg.clone());
    let printed = script
        .upstream_calls(call)
        .into_iter()
        .filter(|source| source.is_any_of(&["cat", "tac", "head", "tail", "tee"]));
    // The file counts from where the other command runs: named in full.
    let printed = printed.flat_map(|source| {
        source
            .operands()
            .filter_map(|arg| Some(arg.with_text(script.target(source, arg).path()?.to_str()?)))
            .collect::<Vec<_>>()
    });
    redirected.chain(printed).collect()
}

/// Tools that run entries of a file.
fn add_tool_files(call: &CommandCall<'_>, add: &mut dyn FnMut(&CallArg, FileRunMeans)) {
    match call.program.as_str() {
        "make" | "gmake" | "bmake" => {
            let options = CommandOptions::read(
                &call.args,
                "fCjIlOoWE",
                &["file", "makefile", "directory", "jobs", "eval"],
            );
            let dir = options.value('C', "directory").map(|dir| format!("{dir}/")).unwrap_or_default();
            let targets: Vec<String> = options
                .operands
                .iter()
                .map(|arg| arg.text().to_owned())
                // `NAME=value` sets a variable, and a number belongs to an option like `-j`: neither is a target.
                .filter(|text| !text.contains('=') && !text.chars().all(|ch| ch.is_ascii_digit()))
                .collect();
            let named: Vec<&str> =
                options.values('f', "file").chain(options.values('f', "makefile")).collect();
            let files = if named.is_empty() { vec!["GNUmakefile", "makefile", "Makefile"] } else { named };
            for file in files {
                let path = CallArg::from_text(&super::marks::mark_path(&format!("{dir}{file}")));
                add(&path, FileRunMeans::Entries(CommandFileKind::Makefile, targets.clone()));
            }
        }
        "just" => {
            let options = CommandOptions::read(&call.args, "fd", &["justfile", "working-directory", "set"]);
            let first = options.operands.first().map(|arg| arg.text().to_owned());
            let file = options.value('f', "justfile").unwrap_or("justfile");
            add(
                &CallArg::from_text(file),
                FileRunMeans::Entries(CommandFileKind::Justfile, first.into_iter().collect()),
            );
        }
        "npm" | "pnpm" | "yarn" | "bun" => {
            let options =
                CommandOptions::read(&call.args, "Cw", &["prefix", "dir", "cwd", "workspace", "filter"]);
            let dir = options
                .value('C', "prefix")
                .or_else(|| options.value('C', "dir"))
                .or_else(|| options.value('C', "cwd"))
                .map(|dir| format!("{dir}/"))
                .unwrap_or_default();
            let words: Vec<&str> = options.operands.iter().map(|arg| arg.text()).collect();
            let entries: Vec<&str> = match words.as_slice() {
                ["run" | "run-script" | "rum", name, ..] => vec![name],
                ["test" | "t" | "tst", ..] => vec!["test"],
                ["start" | "restart" | "stop" | "publish" | "pack" | "version", ..] => vec![words[0]],
                // npm runs these without being told to: a `postinstall` that the session wrote would be a way past the guard.
                ["install" | "i" | "ci" | "add" | "rebuild", ..] | [] => {
                    vec!["preinstall", "install", "postinstall", "prepare"]
                }
                [name, ..] if call.program != "npm" => vec![name],
                _ => return,
            };
            let entries = entries.into_iter().map(str::to_owned).collect();
            add(
                &CallArg::from_text(&format!("{dir}package.json")),
                FileRunMeans::Entries(CommandFileKind::Manifest, entries),
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use amplihack_shell::Limits;

    use super::*;
    use crate::rules::{ExampleWorld, RuleSettings};

    #[test]
    fn files_are_found_where_each_tool_takes_them() {
        let makefile = |targets: &[&str]| {
            FileRunMeans::Entries(
                CommandFileKind::Makefile,
                targets.iter().map(|name| (*name).to_owned()).collect(),
            )
        };
        let manifest = |names: &[&str]| {
            FileRunMeans::Entries(
                CommandFileKind::Manifest,
                names.iter().map(|name| (*name).to_owned()).collect(),
            )
        };
        for (text, path, how) in [
            ("./a.sh", "/home/u/proj/a.sh", FileRunMeans::Program),
            ("sudo ./a.sh", "/home/u/proj/a.sh", FileRunMeans::Program),
            ("bash -x ../a.sh b", "/home/u/a.sh", FileRunMeans::Shell),
            ("cd s && . ./a", "/home/u/proj/s/a", FileRunMeans::Shell),
            ("bash < a", "/home/u/proj/a", FileRunMeans::Shell),
            ("cat a | sh", "/home/u/proj/a", FileRunMeans::Shell),
            ("python3 -u x.py --y", "/home/u/proj/x.py", FileRunMeans::Code("python".to_owned())),
            ("make -C sub -j4 all", "/home/u/proj/sub/Makefile", makefile(&["all"])),
            ("make -f x.mk", "/home/u/proj/x.mk", makefile(&[])),
            ("npm run build", "/home/u/proj/package.json", manifest(&["build"])),
            ("npm test", "/home/u/proj/package.json", manifest(&["test"])),
            ("yarn lint", "/home/u/proj/package.json", manifest(&["lint"])),
        ] {
            assert!(
                found(text).iter().any(|file| file.path == Path::new(path) && file.how == how),
                "{text}: {:?}",
                found(text)
            );
        }
        for text in [
            "ls a.sh",
            "bash -c 'echo a.sh'",
            "/usr/bin/env true",
            "python3 -m http.server",
            "git status",
            "\"$X/a.sh\"",
            "npm ls",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    fn found(text: &str) -> Vec<RanFile> {
        let parsed = amplihack_shell::commands(text.as_bytes(), &Limits::with_long_deadline());
        let (world, settings) = (ExampleWorld::default(), RuleSettings::default());
        let script = JudgedScript::new(&parsed, Path::new(ExampleWorld::CWD), &world, &settings);
        script.calls.iter().flat_map(|call| files_run_by(&script, call)).collect()
    }
}
