//! What is put somewhere: moved, copied, downloaded, packed and unpacked.

use super::super::call::Arg;
use super::super::options::Options;
use super::super::target::Target;
use super::super::{marks, net};
use super::{Change, Finder, Kind};

/// Names in all places that one command copies or moves files to.
const NAMES: usize = 200_000;

impl Finder<'_, '_> {
    pub(super) fn r#move(&mut self) {
        let call = self.call;
        let options = Options::read(&call.args, "tS", &["target-directory", "suffix"]);
        let into = options.value('t', "target-directory").map(str::to_owned);
        let mut operands = options.operands.clone();
        let to = if into.is_none() { operands.pop() } else { None };
        for arg in &operands {
            self.add(Kind::Move, arg).recursive = true;
        }
        self.destination(into.as_deref(), to, &operands);
    }

    pub(super) fn copy(&mut self) {
        let call = self.call;
        let options =
            Options::read(&call.args, "tSmog", &["target-directory", "suffix", "mode", "owner", "group"]);
        let into = options.value('t', "target-directory").map(str::to_owned);
        let mut operands = options.operands.clone();
        let to = if into.is_none() && operands.len() > 1 { operands.pop() } else { None };
        self.destination(into.as_deref(), to, &operands);
    }

    /// A destination may be the file itself or the directory for it.
    fn destination(&mut self, into: Option<&str>, to: Option<&Arg>, sources: &[&Arg]) {
        let to = match (into, to) {
            (Some(into), _) => Arg::of(&marks::path(into)),
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
            let name = self.script.target(self.call, source).name().to_owned();
            let mut inside = target.clone();
            inside.parts.push(name);
            self.push(Change::new(inside, Kind::Write, to.span));
        }
        self.push(Change::new(target, Kind::Write, to.span));
    }

    pub(super) fn rsync(&mut self) {
        let call = self.call;
        let mut operands =
            Options::read(&call.args, "efTB", &["rsh", "exclude", "include", "filter"]).operands;
        let to = operands.pop();
        if call.has(&["--remove-source-files"]) {
            for arg in &operands {
                self.add(Kind::Move, arg).recursive = true;
            }
        }
        if let Some(to) = to.filter(|to| !to.text().contains(':')) {
            self.destination(None, Some(to), &operands);
            // What the source does not have goes.
            if call.args.iter().any(|arg| arg.text() == "--del" || arg.text().starts_with("--delete")) {
                let narrowed = Target::new(to.marked(), None, None).is_dots();
                let change = self.add(Kind::Remove, to);
                (change.recursive, change.narrowed) = (true, narrowed);
            }
        }
    }

    pub(super) fn download(&mut self) {
        for target in net::saved(self.script, self.call) {
            let span = self.call.span();
            self.push(Change::new(target, Kind::Write, span));
        }
    }

    pub(super) fn tar(&mut self) {
        let call = self.call;
        let options = Options::read(&call.args, "fC", &["file", "directory"]);
        if let Some(dir) = options.value('C', "directory").map(str::to_owned) {
            self.unpacked(&dir);
        }
        if options.has_long("remove-files") {
            for arg in &options.operands {
                self.add(Kind::Move, arg).recursive = true;
            }
        }
    }

    /// `zip -m` moves what it packs.
    pub(super) fn zip(&mut self) {
        let options = Options::read(&self.call.args, "bitxnPs", &["exclude", "include", "temp-path"]);
        if options.has('m') || options.has_long("move") {
            for arg in options.operands.iter().skip(1) {
                self.add(Kind::Move, arg).recursive = options.has('r');
            }
        }
    }

    /// A directory that an archive is unpacked into. In a directory of hosts' settings that may be any of them.
    pub(super) fn unpacked(&mut self, dir: &str) {
        let target = self.text(Kind::Write, dir).target.clone();
        if matches!(target.name(), ".claude" | ".codex" | ".copilot" | ".gemini" | ".amp" | "hooks") {
            self.text(Kind::Write, &format!("{dir}/{}", marks::STAR));
        }
    }
}
