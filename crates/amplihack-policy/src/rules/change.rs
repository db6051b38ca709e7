//! Which files a command writes, removes, moves away or gives other permissions.

mod copies;
mod edits;
mod removal;

use super::call::{Arg, Call};
use super::code;
use super::options::Options;
use super::script::Script;
use super::target::Target;
use crate::decision::Span;
use crate::shell::RedirectKind;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Written, created or edited.
    Write,
    /// Removed.
    Remove,
    /// Renamed or moved away.
    Move,
    /// Its owner, mode or attributes.
    Mode,
}

/// One file that a command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The file or directory.
    pub(crate) target: Target,
    /// What is done to it.
    pub(crate) kind: Kind,
    /// Whether everything below it is meant too.
    pub(crate) recursive: bool,
    /// Whether only some files below it are meant, chosen by a test.
    pub(crate) narrowed: bool,
    /// Whether it is edited in place, line by line.
    pub(crate) edited: bool,
    /// Whether a redirection does it.
    pub(crate) redirected: bool,
    /// Where it is named.
    pub(crate) span: Span,
}

impl Change {
    fn new(target: Target, kind: Kind, span: Span) -> Self {
        Self { target, kind, recursive: false, narrowed: false, edited: false, redirected: false, span }
    }

    /// Whether the file is gone from its place afterwards.
    pub(crate) fn takes_away(&self) -> bool {
        matches!(self.kind, Kind::Remove | Kind::Move)
    }
}

/// The changes of a command, computed once.
pub(crate) fn changes<'c>(script: &Script<'_>, call: &'c Call<'_>) -> &'c [Change] {
    call.changes.get_or_init(|| {
        let mut found = Finder { script, call, found: Vec::new() };
        found.redirects();
        found.program();
        found.found
    })
}

struct Finder<'f, 'a> {
    script: &'f Script<'a>,
    call: &'f Call<'a>,
    found: Vec<Change>,
}

impl Finder<'_, '_> {
    fn add(&mut self, kind: Kind, arg: &Arg) -> &mut Change {
        let target = self.script.target(self.call, arg);
        self.push(Change::new(target, kind, arg.span))
    }

    fn push(&mut self, change: Change) -> &mut Change {
        self.found.push(change);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn text(&mut self, kind: Kind, text: &str) -> &mut Change {
        let arg = Arg::of(&super::marks::path(text));
        let span = self.call.span();
        let change = self.add(kind, &arg);
        change.span = span;
        change
    }

    fn redirects(&mut self) {
        let call = self.call;
        for (kind, target) in &call.redirects {
            if self.script.is_late() {
                break;
            }
            if matches!(kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite) {
                self.add(Kind::Write, target).redirected = true;
            }
        }
    }

    fn program(&mut self) {
        let call = self.call;
        match call.program.as_str() {
            "rm" | "unlink" | "rmdir" | "shred" | "trash" | "trash-put" | "srm" | "rimraf" => self.remove(),
            "find" => self.find(),
            "fd" | "fdfind" => self.fd(),
            "mv" => self.r#move(),
            "cp" | "install" | "ln" => self.copy(),
            "tee" | "sponge" | "touch" | "truncate" => {
                let options = Options::read(&call.args, "srtd", &["size", "reference", "date"]);
                options.operands.into_iter().for_each(|arg| {
                    self.add(Kind::Write, arg);
                });
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => self.mode(),
            "dd" => {
                call.args.iter().filter_map(|arg| Some((arg, arg.marked().strip_prefix("of=")?))).for_each(
                    |(arg, to)| {
                        let to = arg.with_text(to);
                        self.add(Kind::Write, &to);
                    },
                );
            }
            "sed" | "gsed" | "perl" | "ruby" => self.in_place(),
            "rsync" => self.rsync(),
            "scp" => {
                let to = Options::read(&call.args, "iPFoclSJ", &[]).operands.pop();
                to.filter(|to| !to.text().contains(':')).into_iter().for_each(|to| {
                    self.add(Kind::Write, to);
                });
            }
            "curl" | "wget" | "aria2c" => self.download(),
            "tar" | "bsdtar" => self.tar(),
            "git" => self.git(),
            "gio" if call.arg(0) == Some("trash") => call.args[1..].iter().for_each(|arg| {
                self.add(Kind::Remove, arg).recursive = true;
            }),
            "apply_patch" | "applypatch" | "patch" => self.patched(),
            "vim" | "nvim" | "vi" | "ex" | "ed" => self.editor(),
            "unzip" => {
                let into = Options::read(&call.args, "dxP", &[]).value('d', "\0").map(str::to_owned);
                if let Some(into) = into {
                    self.unpacked(&into);
                }
            }
            "sort" => {
                let out = Options::read(&call.args, "oktST", &["output"]);
                let out = out.value('o', "output").map(str::to_owned);
                if let Some(out) = out {
                    self.text(Kind::Write, &out);
                }
            }
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(),
            "zip" => self.zip(),
            "7z" | "7za" | "7zz" if call.has(&["-sdel"]) => {
                // The command, the archive, then what goes into it and away.
                for arg in call.operands().skip(2) {
                    self.add(Kind::Move, arg).recursive = true;
                }
            }
            "docker" | "podman" if call.arg(0) == Some("cp") => {
                let to = call.operands().last().filter(|to| !to.text().contains(':'));
                if let Some(to) = to {
                    self.add(Kind::Write, to);
                }
            }
            "Remove-Item" | "ri" | "del" | "rd" => call.operands().for_each(|arg| {
                self.add(Kind::Remove, arg).recursive = true;
            }),
            _ => {}
        }
        self.code();
    }

    fn mode(&mut self) {
        let call = self.call;
        let options = Options::read(
            &call.args,
            if call.is(&["setfacl"]) { "mxM" } else { "" },
            &["reference", "modify", "remove", "from"],
        );
        let recursive = options.has('R') || options.has_long("recursive");
        let skip = usize::from(!(options.has_long("reference") || call.is(&["setfacl"])));
        // A mode such as `-x` or `-rwx` looks like options.
        let dashed = call.args.iter().any(|arg| {
            arg.text().len() > 1
                && arg.text().starts_with('-')
                && arg.text()[1..].chars().all(|ch| "rwxstXi".contains(ch))
        });
        for arg in options.operands.into_iter().skip(if dashed { 0 } else { skip }) {
            self.add(Kind::Mode, arg).recursive = recursive;
        }
    }

    fn git(&mut self) {
        let Some(git) = super::git::git(self.script, self.call) else { return };
        let dir = git.dir.as_deref();
        for arg in &git.args {
            if let Some(out) = arg.marked().strip_prefix("--output=") {
                let target = self.script.target_in(out, dir);
                self.push(Change::new(target, Kind::Write, arg.span));
            }
        }
        match git.sub.as_str() {
            "apply" | "am" => self.patched(),
            "checkout" | "restore" => {
                let dashes = git.args.iter().position(|arg| arg.text() == "--").map_or(0, |at| at + 1);
                let paths = git.args[dashes..]
                    .iter()
                    .filter(|arg| arg.text().contains('/') && !arg.text().starts_with('-'));
                for arg in paths {
                    let target = self.script.target_in(arg.marked(), dir);
                    let change = self.push(Change::new(target, Kind::Write, arg.span));
                    change.edited = true;
                }
            }
            _ => {}
        }
        if git.sub == "worktree" && git.args.first().is_some_and(|arg| arg.text() == "remove") {
            for arg in git.args[1..].iter().filter(|arg| !arg.text().starts_with('-')) {
                let target = self.script.target_in(arg.marked(), git.dir.as_deref());
                self.push(Change::new(target, Kind::Remove, arg.span)).recursive = true;
            }
        }
    }

    fn code(&mut self) {
        let Some(code) = code::code(self.script, self.call) else { return };
        for (what, texts) in code::removals(&code) {
            for text in texts {
                let mut raw = String::new();
                super::marks::mark(&text, true, &mut raw);
                let target = self.script.target_in(&raw, self.call.dir.as_deref());
                let span = self.call.span();
                self.push(Change::new(target, what, span)).recursive = true;
            }
        }
        for text in code::writes(&code) {
            self.text(Kind::Write, &text);
        }
    }
}
