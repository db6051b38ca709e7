//! Files that are removed: by `rm` and its like, from the input of `xargs`, by searches.

use super::super::call::{CallArg, base_name};
use super::super::marks::{STAR, UNKNOWN};
use super::super::options::CommandOptions;
use super::super::search::FindSearch;
use super::{ChangeFinder, PathChange, PathChangeKind};

impl ChangeFinder<'_, '_> {
    pub(super) fn add_removed(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(
            &call.args,
            if call.is_any_of(&["shred"]) { "ns" } else { "" },
            &["iterations", "size", "random-source", "interactive"],
        );
        let recursive = options.has_short('r')
            || options.has_short('R')
            || options.has_short('d')
            || options.has_long("recursive")
            || call.is_any_of(&["rmdir", "trash", "trash-put", "rimraf"])
            || call.args.iter().any(|arg| arg.dynamic && arg.text().starts_with(UNKNOWN));
        for arg in options.operands {
            if self.script.is_late() {
                break;
            }
            self.add_arg(PathChangeKind::Remove, arg).recursive = recursive;
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
                self.add_text(PathChangeKind::Remove, word).recursive = recursive;
            }
        }
        for source in script.upstream_calls(call) {
            match source.program.as_str() {
                "find" => {
                    let search = FindSearch::read(&source.args);
                    for root in &search.roots {
                        let target = script.target(source, root);
                        let change = self.push(PathChange::new(target, PathChangeKind::Remove, root.span));
                        (change.recursive, change.narrowed) = (true, search.narrowed);
                        change.named.clone_from(&search.named);
                    }
                }
                "echo" | "printf" => source.args.iter().for_each(|arg| {
                    arg.text().split_whitespace().for_each(|word| {
                        self.add_text(PathChangeKind::Remove, word).recursive = recursive;
                    });
                }),
                _ => {}
            }
        }
    }

    pub(super) fn add_find(&mut self) {
        for pair in self.call.args.windows(2) {
            if matches!(pair[0].text(), "-fprint" | "-fprintf" | "-fprint0" | "-fls") {
                self.add_arg(PathChangeKind::Write, &pair[1]);
            }
        }
        let search = FindSearch::read(&self.call.args);
        if !search.deletes {
            return;
        }
        for root in &search.roots {
            let change = self.add_arg(PathChangeKind::Remove, root);
            (change.recursive, change.narrowed) = (true, search.narrowed);
            change.named.clone_from(&search.named);
            change.files_only = search.files_only;
        }
    }

    /// `fd PATTERN ROOT… -x rm`
    pub(super) fn add_fd(&mut self) {
        let call = self.call;
        let at =
            call.args.iter().position(|arg| matches!(arg.text(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let Some(at) = at else { return };
        let program = call.args.get(at + 1).map_or("", |arg| base_name(arg.text()));
        if !matches!(program, "rm" | "shred" | "unlink" | "rmdir" | "mv" | "truncate") {
            return;
        }
        let options =
            CommandOptions::read(&call.args[..at], "etdEcSo", &["extension", "type", "max-depth", "exclude"]);
        let everything =
            options.operands.first().is_none_or(|pattern| matches!(pattern.text(), "." | "" | ".*"));
        let by_extension = options.has_short('e') || options.has_long("extension");
        let narrowed = !everything || by_extension;
        // A pattern is searched for anywhere in a name.
        let named = options.operands.first().filter(|_| !everything && !by_extension);
        let named: Vec<String> =
            named.map(|pattern| format!("{STAR}{}{STAR}", pattern.text())).into_iter().collect();
        let files_only = options.value('t', "type").is_some_and(|kind| matches!(kind, "f" | "file"));
        let here = CallArg::from_text(".");
        let roots: Vec<&CallArg> = options.operands.iter().skip(1).copied().collect();
        for root in if roots.is_empty() { vec![&here] } else { roots } {
            let change = self.add_arg(PathChangeKind::Remove, root);
            (change.recursive, change.narrowed) = (true, narrowed);
            (change.named, change.files_only) = (named.clone(), files_only);
        }
    }
}
