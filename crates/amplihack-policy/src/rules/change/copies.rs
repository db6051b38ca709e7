//! Files that are put somewhere: moved, copied, downloaded, packed and unpacked.

use super::super::call::CallArg;
use super::super::git::GitCall;
use super::super::options::CommandOptions;
use super::super::target::PathTarget;
use super::super::{marks, net};
use super::{ChangeFinder, PathChange, PathChangeKind};

/// Names in all places that one command copies or moves files to.
const NAMES: usize = 200_000;

impl ChangeFinder<'_, '_> {
    pub(super) fn add_moved(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(&call.args, "tS", &["target-directory", "suffix"]);
        let into = options.value('t', "target-directory").map(str::to_owned);
        let mut operands = options.operands.clone();
        let to = if into.is_none() { operands.pop() } else { None };
        for arg in &operands {
            self.add_arg(PathChangeKind::Move, arg).recursive = true;
        }
        self.add_destination(into.as_deref(), to, &operands, true);
    }

    pub(super) fn add_copied(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(
            &call.args,
            "tSmog",
            &["target-directory", "suffix", "mode", "owner", "group"],
        );
        let into = options.value('t', "target-directory").map(str::to_owned);
        let mut operands = options.operands.clone();
        let to = if into.is_none() && operands.len() > 1 { operands.pop() } else { None };
        let symbolic = options.has_short('s') || options.has_long("symbolic");
        if call.is_any_of(&["ln"]) && !symbolic {
            // Who has a hard link to a file has the file.
            for arg in &operands {
                self.add_arg(PathChangeKind::Mode, arg);
            }
        }
        let trees = call.is_any_of(&["cp"])
            && (['r', 'R', 'a'].into_iter().any(|flag| options.has_short(flag))
                || ["recursive", "archive"].into_iter().any(|long| options.has_long(long)));
        self.add_destination(into.as_deref(), to, &operands, trees);
    }

    /// A destination may be the file itself or the directory for it. With `trees`, directories are taken with what they hold.
    fn add_destination(
        &mut self,
        into: Option<&str>,
        to: Option<&CallArg>,
        sources: &[&CallArg],
        trees: bool,
    ) {
        let to = match (into, to) {
            (Some(into), _) => CallArg::from_text(&marks::mark_path(into)),
            (None, Some(to)) => to.clone(),
            (None, None) => return,
        };
        let target = self.script.target(self.call, &to);
        if sources.len() * target.parts.len() > NAMES {
            return self.script.give_up();
        }
        for source in sources {
            if self.script.is_late() {
                break;
            }
            let from = self.script.target(self.call, source);
            let mut inside = target.clone();
            inside.parts.push(from.name().to_owned());
            // `d/.` is what `d` holds, and so is `d/` for rsync.
            let content = source.text().ends_with("/.")
                || matches!(source.text(), "." | "./")
                || self.call.is_any_of(&["rsync"]) && source.text().ends_with('/');
            let change = self.push(PathChange::new(
                if content { target.clone() } else { inside },
                PathChangeKind::Write,
                to.span,
            ));
            change.recursive = trees;
            change.source = Some(from);
        }
        let only = sources
            .first()
            .filter(|_| sources.len() == 1)
            .map(|source| self.script.target(self.call, source));
        self.push(PathChange::new(target, PathChangeKind::Write, to.span)).source = only;
    }

    pub(super) fn add_rsync(&mut self) {
        let call = self.call;
        let mut operands =
            CommandOptions::read(&call.args, "efTB", &["rsh", "exclude", "include", "filter"]).operands;
        let to = operands.pop();
        if call.has_any(&["--remove-source-files"]) {
            for arg in &operands {
                self.add_arg(PathChangeKind::Move, arg).recursive = true;
            }
        }
        if let Some(to) = to.filter(|to| !to.text().contains(':')) {
            self.add_destination(None, Some(to), &operands, true);
            // What the source does not have goes.
            if call.args.iter().any(|arg| arg.text() == "--del" || arg.text().starts_with("--delete")) {
                let narrowed = PathTarget::new(to.marked_text(), None, None).is_dots();
                let change = self.add_arg(PathChangeKind::Remove, to);
                (change.recursive, change.narrowed) = (true, narrowed);
            }
        }
    }

    pub(super) fn add_download(&mut self) {
        for target in net::saved_downloads(self.script, self.call) {
            let span = self.call.span();
            self.push(PathChange::new(target, PathChangeKind::Write, span));
        }
    }

    pub(super) fn add_tar(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(&call.args, "fC", &["file", "directory"]);
        // `tar xzf A` as well as `tar -xzf A`.
        let bundled = call.arg_text(0).filter(|first| !first.starts_with('-')).unwrap_or_default();
        let does = |short: char, long: &[&str]| {
            bundled.contains(short)
                || options.has_short(short)
                || long.iter().any(|long| options.has_long(long))
        };
        if does('x', &["extract", "get"]) {
            let dir = options.value('C', "directory").unwrap_or(".").to_owned();
            self.add_unpacked(&dir);
        }
        if options.has_long("remove-files") {
            for arg in &options.operands {
                self.add_arg(PathChangeKind::Move, arg).recursive = true;
            }
        }
    }

    pub(super) fn add_unzip(&mut self) {
        let call = self.call;
        if !call.is_any_of(&["unzip"]) {
            if call.has_any(&["-sdel"]) {
                // The command, the archive, then what goes into it and away.
                for arg in call.operands().skip(2) {
                    self.add_arg(PathChangeKind::Move, arg).recursive = true;
                }
            }
            if call.has_any(&["x", "e"]) {
                let into = call.args.iter().find_map(|arg| arg.text().strip_prefix("-o"));
                self.add_unpacked(into.unwrap_or("."));
            }
            return;
        }
        let options = CommandOptions::read(&call.args, "dxP", &[]);
        if !["l", "t", "v", "Z", "p"]
            .iter()
            .any(|flag| call.args.iter().any(|arg| arg.text() == format!("-{flag}")))
        {
            self.add_unpacked(options.value('d', "\0").unwrap_or("."));
        }
    }

    /// Adds the place of a mount: another tree stands there from then on.
    pub(super) fn add_mount(&mut self) {
        let options = CommandOptions::read(&self.call.args, "toLUOB", &["types", "options"]);
        let again =
            options.value('o', "options").is_some_and(|text| text.split(',').any(|one| one == "remount"));
        if let [_, .., to] = options.operands.as_slice()
            && !again
        {
            self.add_arg(PathChangeKind::Write, to).recursive = true;
        }
    }

    /// `git clone URL DIR`
    pub(super) fn add_clone(&mut self, git: &GitCall) {
        let options = git.parse_options(
            "bcjou",
            &[
                "branch",
                "config",
                "depth",
                "jobs",
                "origin",
                "reference",
                "separate-git-dir",
                "template",
                "filter",
            ],
        );
        let (text, span) = match options.operands.as_slice() {
            [_, to, ..] => (to.marked_text().to_owned(), to.span),
            [from] => {
                let from_text = from.text().trim_end_matches('/');
                let name = from_text.rsplit(['/', ':']).next().unwrap_or(from_text);
                (name.trim_end_matches(".git").to_owned(), from.span)
            }
            [] => return,
        };
        let target = self.script.target_in(&text, git.dir.as_deref());
        self.push(PathChange::new(target, PathChangeKind::Write, span)).recursive = true;
    }

    /// `zip -m` moves what it packs.
    pub(super) fn add_zip(&mut self) {
        let options = CommandOptions::read(&self.call.args, "bitxnPs", &["exclude", "include", "temp-path"]);
        if options.has_short('m') || options.has_long("move") {
            for arg in options.operands.iter().skip(1) {
                self.add_arg(PathChangeKind::Move, arg).recursive = options.has_short('r');
            }
        }
    }

    /// A directory that an archive is unpacked into. In a directory of hosts' settings that may be any of them.
    pub(super) fn add_unpacked(&mut self, dir: &str) {
        let change = self.add_text(PathChangeKind::Write, dir);
        change.recursive = true;
        let target = change.target.clone();
        if matches!(target.name(), ".claude" | ".codex" | ".copilot" | ".gemini" | ".amp" | "hooks") {
            self.add_text(PathChangeKind::Write, &format!("{dir}/{}", marks::STAR));
        }
    }
}
