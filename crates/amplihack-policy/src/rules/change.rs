//! Files that a command writes, removes, moves away or gives other permissions.

mod copies;
mod edits;
mod removal;

use amplihack_shell::RedirectKind;
use amplihack_verdict::Span;

use super::call::{CallArg, CommandCall};
use super::code;
use super::options::CommandOptions;
use super::script::JudgedScript;
use super::target::PathTarget;

/// The kind of a change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathChangeKind {
    /// Written, created or edited.
    Write,
    /// Removed.
    Remove,
    /// Renamed or moved away.
    Move,
    /// The owner, mode or attributes of a file changed.
    Mode,
}

/// A file that a command changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathChange {
    /// The file or directory.
    pub(crate) target: PathTarget,
    /// The kind of the change.
    pub(crate) kind: PathChangeKind,
    /// True if everything below it is meant too.
    pub(crate) recursive: bool,
    /// True if only some files below it are meant, chosen by a test.
    pub(crate) narrowed: bool,
    /// True if it is edited in place, line by line.
    pub(crate) edited: bool,
    /// True if a redirection does it.
    pub(crate) redirected: bool,
    /// Patterns that the names of removed files have to match, if nothing else chooses among them.
    pub(crate) named: Vec<String>,
    /// True if directories among the removed files stay.
    pub(crate) files_only: bool,
    /// The directory whose content a write spreads below the target; `recursive` without one spreads what nobody knows.
    pub(crate) source: Option<PathTarget>,
    /// The place in the script that names it.
    pub(crate) span: Span,
}

impl PathChange {
    fn new(target: PathTarget, kind: PathChangeKind, span: Span) -> Self {
        Self {
            target,
            kind,
            recursive: false,
            narrowed: false,
            edited: false,
            redirected: false,
            named: Vec::new(),
            files_only: false,
            source: None,
            span,
        }
    }

    /// A file that a tool writes.
    pub(crate) fn from_tool_write(target: PathTarget) -> Self {
        Self { redirected: true, ..Self::new(target, PathChangeKind::Write, Span::default()) }
    }

    /// Reports whether the change makes a file, or replaces one.
    pub(crate) fn is_written(&self) -> bool {
        self.kind == PathChangeKind::Write && !self.recursive
    }

    /// Reports whether a tree of files is written below the target, under names that the command does not give.
    pub(crate) fn spreads_tree(&self) -> bool {
        self.kind == PathChangeKind::Write && self.recursive
    }

    /// Reports whether the file is gone from its place afterwards.
    pub(crate) fn takes_away(&self) -> bool {
        matches!(self.kind, PathChangeKind::Remove | PathChangeKind::Move)
    }
}

/// The changes of a command, computed once.
pub(crate) fn path_changes<'c>(script: &JudgedScript<'_>, call: &'c CommandCall<'_>) -> &'c [PathChange] {
    call.changes.get_or_init(|| {
        let mut found = ChangeFinder { script, call, found: Vec::new() };
        found.add_redirects();
        found.add_program();
        found.found
    })
}

struct ChangeFinder<'f, 'a> {
    script: &'f JudgedScript<'a>,
    call: &'f CommandCall<'a>,
    found: Vec<PathChange>,
}

impl ChangeFinder<'_, '_> {
    fn add_arg(&mut self, kind: PathChangeKind, arg: &CallArg) -> &mut PathChange {
        let target = self.script.target(self.call, arg);
        self.push(PathChange::new(target, kind, arg.span))
    }

    fn push(&mut self, change: PathChange) -> &mut PathChange {
        self.found.push(change);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn add_text(&mut self, kind: PathChangeKind, text: &str) -> &mut PathChange {
        let arg = CallArg::from_text(&super::marks::mark_path(text));
        let span = self.call.span();
        let change = self.add_arg(kind, &arg);
        change.span = span;
        change
    }

    fn add_redirects(&mut self) {
        let call = self.call;
        for (kind, target) in &call.redirects {
            if self.script.is_late() {
                break;
            }
            if matches!(kind, RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite) {
                self.add_arg(PathChangeKind::Write, target).redirected = true;
            }
        }
    }

    fn add_program(&mut self) {
        let call = self.call;
        match call.program.as_str() {
            "rm" | "unlink" | "rmdir" | "shred" | "trash" | "trash-put" | "srm" | "rimraf" => {
                self.add_removed();
            }
            "find" => self.add_find(),
            "fd" | "fdfind" => self.add_fd(),
            "mv" => self.add_moved(),
            "cp" | "install" | "ln" => self.add_copied(),
            "tee" | "sponge" | "touch" | "truncate" => {
                let options = CommandOptions::read(&call.args, "srtd", &["size", "reference", "date"]);
                options.operands.into_iter().for_each(|arg| {
                    self.add_arg(PathChangeKind::Write, arg);
                });
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => self.add_mode(),
            "dd" => {
                call.args
                    .iter()
                    .filter_map(|arg| Some((arg, arg.marked_text().strip_prefix("of=")?)))
                    .for_each(|(arg, to)| {
                        let to = arg.with_text(to);
                        self.add_arg(PathChangeKind::Write, &to);
                    });
            }
            "sed" | "gsed" | "perl" | "ruby" => self.in_place(),
            "rsync" => self.add_rsync(),
            "scp" => {
                let to = CommandOptions::read(&call.args, "iPFoclSJ", &[]).operands.pop();
                to.filter(|to| !to.text().contains(':')).into_iter().for_each(|to| {
                    self.add_arg(PathChangeKind::Write, to);
                });
            }
            "curl" | "wget" | "aria2c" => self.add_download(),
            "tar" | "bsdtar" => self.add_tar(),
            "git" => self.add_git(),
            "gio" if call.arg_text(0) == Some("trash") => call.args[1..].iter().for_each(|arg| {
                self.add_arg(PathChangeKind::Remove, arg).recursive = true;
            }),
            "apply_patch" | "applypatch" | "patch" => self.add_patched(),
            "vim" | "nvim" | "vi" | "ex" | "ed" => self.add_editor(),
            "unzip" | "7z" | "7za" | "7zz" => self.add_unzip(),
            "mount" => self.add_mount(),
            "sort" => {
                let out = CommandOptions::read(&call.args, "oktST", &["output"]);
                let out = out.value('o', "output").map(str::to_owned);
                if let Some(out) = out {
                    self.add_text(PathChangeKind::Write, &out);
                }
            }
            "awk" | "gawk" | "mawk" | "nawk" => self.add_awk(),
            "zip" => self.add_zip(),
            "docker" | "podman" if call.arg_text(0) == Some("cp") => {
                let to = call.operands().last().filter(|to| !to.text().contains(':'));
                if let Some(to) = to {
                    self.add_arg(PathChangeKind::Write, to);
                }
            }
            "Remove-Item" | "ri" | "del" | "rd" => call.operands().for_each(|arg| {
                self.add_arg(PathChangeKind::Remove, arg).recursive = true;
            }),
            _ => {}
        }
        // After the table and not in its last arm: perl and ruby are in it for `-i`, and their code may write and remove files too.
        self.add_code();
    }

    fn add_mode(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(
            &call.args,
            if call.is_any_of(&["setfacl"]) { "mxM" } else { "" },
            &["reference", "modify", "remove", "from"],
        );
        let recursive = options.has_short('R') || options.has_long("recursive");
        let skip = usize::from(!(options.has_long("reference") || call.is_any_of(&["setfacl"])));
        // A mode such as `-x` or `-rwx` looks like options.
        let dashed = call.args.iter().any(|arg| {
            arg.text().len() > 1
                && arg.text().starts_with('-')
                && arg.text()[1..].chars().all(|ch| "rwxstXi".contains(ch))
        });
        for arg in options.operands.into_iter().skip(if dashed { 0 } else { skip }) {
            self.add_arg(PathChangeKind::Mode, arg).recursive = recursive;
        }
    }

    fn add_git(&mut self) {
        let Some(git) = super::git::git_call(self.script, self.call) else { return };
        let dir = git.dir.as_deref();
        for arg in &git.args {
            if let Some(out) = arg.marked_text().strip_prefix("--output=") {
                let target = self.script.target_in(out, dir);
                self.push(PathChange::new(target, PathChangeKind::Write, arg.span));
            }
        }
        match git.sub.as_str() {
            "apply" | "am" => self.add_patched(),
            "checkout" | "restore" => {
                let dashes = git.args.iter().position(|arg| arg.text() == "--").map_or(0, |at| at + 1);
                let paths = git.args[dashes..]
                    .iter()
                    .filter(|arg| arg.text().contains('/') && !arg.text().starts_with('-'));
                for arg in paths {
                    let target = self.script.target_in(arg.marked_text(), dir);
                    let change = self.push(PathChange::new(target, PathChangeKind::Write, arg.span));
                    change.edited = true;
                }
            }
            "clone" => self.add_clone(git),
            "reset" | "pull" | "merge" | "rebase" | "switch" | "stash" | "clean" | "revert"
            | "cherry-pick" | "read-tree" | "checkout-index" => {}
            _ => return self.add_worktree(git),
        }
        // Which files of another working tree it changes is not known.
        if let Some(dir) = dir.filter(|dir| *dir != self.script.cwd && git.sub != "clone") {
            self.push(PathChange::new(PathTarget::from_path(dir), PathChangeKind::Write, self.call.span()));
        }
    }

    fn add_worktree(&mut self, git: &super::git::GitCall) {
        if git.sub == "worktree" && git.args.first().is_some_and(|arg| arg.text() == "remove") {
            for arg in git.args[1..].iter().filter(|arg| !arg.text().starts_with('-')) {
                let target = self.script.target_in(arg.marked_text(), git.dir.as_deref());
                self.push(PathChange::new(target, PathChangeKind::Remove, arg.span)).recursive = true;
            }
        }
    }

    fn add_code(&mut self) {
        let Some(code) = code::interpreter_code(self.script, self.call) else { return };
        for (what, texts) in code::code_removals(&code) {
            for text in texts {
                let mut raw = String::new();
                super::marks::mark_text(&text, true, &mut raw);
                let target = self.script.target_in(&raw, self.call.dir.as_deref());
                let span = self.call.span();
                self.push(PathChange::new(target, what, span)).recursive = true;
            }
        }
        for text in code::written_files(&code) {
            self.add_text(PathChangeKind::Write, &text);
        }
    }
}
