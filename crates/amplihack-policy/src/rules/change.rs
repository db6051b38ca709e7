//! Which files a command writes, removes, moves away or gives other permissions.

use super::call::{Arg, Call};
use super::code;
use super::options::Options;
use super::script::Script;
use super::search::Search;
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

/// Names in all places that one command copies or moves files to.
const NAMES: usize = 200_000;

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

    fn remove(&mut self) {
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
            || call.args.iter().any(|arg| arg.dynamic && arg.text().starts_with(super::marks::UNKNOWN));
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

    fn find(&mut self) {
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
    fn fd(&mut self) {
        let call = self.call;
        let at =
            call.args.iter().position(|arg| matches!(arg.text(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let Some(at) = at else { return };
        let program = call.args.get(at + 1).map_or("", |arg| super::call::base(arg.text()));
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

    fn r#move(&mut self) {
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

    fn copy(&mut self) {
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
            (Some(into), _) => Arg::of(&super::marks::path(into)),
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

    fn in_place(&mut self) {
        let call = self.call;
        let options = Options::read(&call.args, "eflE", &["expression", "file"]);
        let edits = options.has('i')
            || options.has_long("in-place")
            || options.short.iter().any(|(ch, _)| *ch == 'I');
        if !edits {
            return;
        }
        let script_given = options.short.iter().any(|(ch, _)| "ef".contains(*ch))
            || options.has_long("expression")
            || options.has_long("file");
        for arg in options.operands.iter().skip(usize::from(!script_given)) {
            self.add(Kind::Write, arg).edited = true;
        }
    }

    fn rsync(&mut self) {
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

    fn download(&mut self) {
        for target in super::net::saved(self.script, self.call) {
            let span = self.call.span();
            self.push(Change::new(target, Kind::Write, span));
        }
    }

    fn tar(&mut self) {
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

    /// `print > "FILE"`
    fn awk(&mut self) {
        if self.call.has(&["inplace"]) {
            self.call.operands().skip(2).for_each(|arg| {
                self.add(Kind::Write, arg);
            });
        }
        for arg in self.call.operands().take(1) {
            for behind in arg.text().split('>').skip(1).filter(|behind| behind.trim_start().starts_with('"'))
            {
                if let Some(text) = code::literals(behind).first() {
                    self.text(Kind::Write, text);
                }
            }
        }
    }

    /// `zip -m` moves what it packs.
    fn zip(&mut self) {
        let options = Options::read(&self.call.args, "bitxnPs", &["exclude", "include", "temp-path"]);
        if options.has('m') || options.has_long("move") {
            for arg in options.operands.iter().skip(1) {
                self.add(Kind::Move, arg).recursive = options.has('r');
            }
        }
    }

    /// A directory that an archive is unpacked into. In a directory of hosts' settings that may be any of them.
    fn unpacked(&mut self, dir: &str) {
        let target = self.text(Kind::Write, dir).target.clone();
        if matches!(target.name(), ".claude" | ".codex" | ".copilot" | "hooks") {
            self.text(Kind::Write, &format!("{dir}/{}", super::marks::STAR));
        }
    }

    /// Files that a patch names, in its operands and its input.
    fn patched(&mut self) {
        let (script, call) = (self.script, self.call);
        let heads =
            ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "+++ "];
        let texts = call.args.iter().map(Arg::text).chain(script.fed_text(call));
        let named: Vec<&str> = texts
            .flat_map(str::lines)
            .filter_map(|line| heads.iter().find_map(|head| line.trim_start().strip_prefix(head)))
            .collect();
        for name in named {
            self.text(Kind::Write, name.split('\t').next().unwrap_or(name).trim());
        }
        if call.is(&["patch"]) {
            call.operands().take(1).for_each(|arg| {
                self.add(Kind::Write, arg);
            });
        }
    }

    /// `:w FILE`
    fn editor(&mut self) {
        if self.call.is(&["ed", "ex"]) {
            self.call.operands().for_each(|arg| {
                self.add(Kind::Write, arg);
            });
        }
        let texts: Vec<&str> =
            self.call.args.iter().map(Arg::text).chain(self.script.fed_text(self.call)).collect();
        for line in texts.iter().flat_map(|text| text.split(['\n', '|'])) {
            let mut words = line.trim_start_matches([':', '+']).split_whitespace();
            if let (Some("w" | "w!" | "wq" | "wq!" | "write" | "write!" | "saveas" | "saveas!"), Some(file)) =
                (words.next(), words.next())
            {
                self.text(Kind::Write, file);
            }
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
