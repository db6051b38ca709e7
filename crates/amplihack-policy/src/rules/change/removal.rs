//! What is removed: by `rm` and its like, from the input of `xargs`, by searches.

use super::super::call::{Arg, base};
use super::super::marks::UNKNOWN;
use super::super::options::Options;
use super::super::search::Search;
use super::{Change, Finder, Kind};

impl Finder<'_, '_> {
    pub(super) fn remove(&mut self) {
        let call = self.call;
        let options = Options::read(
            &call.args,
            if call.is(&["shred"]) { "ns" } else { "" },
            &["iterations", "size", "random-source", "interactive"],
        );
        let recursive = options.has('r')
            || options.has('R')
            || options.has('d')
            || options.has_long("recursive")
            || call.is(&["rmdir", "trash", "trash-put", "rimraf"])
            || call.args.iter().any(|arg| arg.dynamic && arg.text().starts_with(UNKNOWN));
        for arg in options.operands {
            if self.script.is_late() {
                break;
            }
            self.add(Kind::Remove, arg).recursive = recursive;
        }
        if call.command.via.iter().any(|via| via == "xargs" || via == "parallel") {
            self.add_from_input(recursive);
        }
    }

    /// Operands that `xargs` takes from its input.
    fn add_from_input(&mut self, recursive: bool) {
        let (script, call) = (self.script, self.call);
        if let Some(text) = script.fed_text(call) {
            for word in text.split_whitespace() {
                self.text(Kind::Remove, word).recursive = recursive;
            }
        }
        for source in script.upstream(call) {
            match source.program.as_str() {
                "find" => {
                    let search = Search::read(&source.args);
                    for root in &search.roots {
                        let target = script.target(source, root);
                        let change = self.push(Change::new(target, Kind::Remove, root.span));
                        (change.recursive, change.narrowed) = (true, search.narrowed);
                    }
                }
                "echo" | "printf" => source.args.iter().for_each(|arg| {
                    arg.text().split_whitespace().for_each(|word| {
                        self.text(Kind::Remove, word).recursive = recursive;
                    });
                }),
                _ => {}
            }
        }
    }

    pub(super) fn find(&mut self) {
        for pair in self.call.args.windows(2) {
            if matches!(pair[0].text(), "-fprint" | "-fprintf" | "-fprint0" | "-fls") {
                self.add(Kind::Write, &pair[1]);
            }
        }
        let search = Search::read(&self.call.args);
        if !search.deletes {
            return;
        }
        for root in &search.roots {
            let change = self.add(Kind::Remove, root);
            (change.recursive, change.narrowed) = (true, search.narrowed);
        }
    }

    /// `fd PATTERN ROOT… -x rm`
    pub(super) fn fd(&mut self) {
        let call = self.call;
        let at =
            call.args.iter().position(|arg| matches!(arg.text(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let Some(at) = at else { return };
        let program = call.args.get(at + 1).map_or("", |arg| base(arg.text()));
        if !matches!(program, "rm" | "shred" | "unlink" | "rmdir" | "mv" | "truncate") {
            return;
        }
        let options =
            Options::read(&call.args[..at], "etdEcSo", &["extension", "type", "max-depth", "exclude"]);
        let everything =
            options.operands.first().is_none_or(|pattern| matches!(pattern.text(), "." | "" | ".*"));
        let narrowed = !everything || options.has('e') || options.has_long("extension");
        let here = Arg::of(".");
        let roots: Vec<&Arg> = options.operands.iter().skip(1).copied().collect();
        for root in if roots.is_empty() { vec![&here] } else { roots } {
            let change = self.add(Kind::Remove, root);
            (change.recursive, change.narrowed) = (true, narrowed);
        }
    }
}
