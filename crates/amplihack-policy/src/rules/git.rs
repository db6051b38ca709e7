//! A git command taken apart: where it runs, what it is configured with, which command it is once aliases are resolved.

use std::path::{Path, PathBuf};

use super::call::{Arg, Call};
use super::options::Options;
use super::script::Script;

/// A git command.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    /// The command, aliases resolved; empty if there is none.
    pub(crate) sub: String,
    /// What follows the command.
    pub(crate) args: Vec<Arg>,
    /// A directory in the repository that it works on, if known.
    pub(crate) dir: Option<PathBuf>,
    /// `-c key=value` and what variables configure; keys in lower case.
    pub(crate) configs: Vec<(String, String)>,
    /// Scripts that it runs: shell aliases, `rebase --exec` and the like.
    pub(crate) scripts: Vec<String>,
}

/// Aliases of aliases that are followed.
const ALIASES: usize = 10;

/// The git command that a call is; `None` if it is none.
pub(crate) fn git<'c>(script: &Script<'_>, call: &'c Call<'_>) -> Option<&'c Git> {
    call.git.get_or_init(|| read(script, call)).as_ref()
}

fn read(script: &Script<'_>, call: &Call<'_>) -> Option<Git> {
    let mut git = Git {
        sub: String::new(),
        args: Vec::new(),
        dir: call.dir.clone(),
        configs: Vec::new(),
        scripts: Vec::new(),
    };
    let mut rest = call.args.as_slice();
    match call.program.strip_prefix("git")? {
        "" => rest = git.globals(script, call, rest),
        sub => sub.strip_prefix('-')?.clone_into(&mut git.sub),
    }
    git.args = rest.to_vec();
    git.environment(script, call);
    git.resolve(script);
    git.own_scripts();
    Some(git)
}

impl Git {
    /// Options in front of the command.
    fn globals<'s>(&mut self, script: &Script<'_>, call: &Call<'_>, mut args: &'s [Arg]) -> &'s [Arg] {
        while let [first, rest @ ..] = args {
            args = rest;
            let text = first.text();
            let (name, joined) = match text.split_once('=') {
                Some((name, value)) if text.starts_with("--") => (name, Some(first.with_text(value))),
                _ => (text, None),
            };
            let takes = matches!(
                name,
                "-C" | "-c"
                    | "--git-dir"
                    | "--work-tree"
                    | "--namespace"
                    | "--super-prefix"
                    | "--config-env"
                    | "--attr-source"
            );
            let value = match joined {
                Some(value) => Some(value),
                None if takes => {
                    let value = args.first().cloned();
                    args = args.get(1..).unwrap_or_default();
                    value
                }
                None => None,
            };
            match (name, value) {
                ("-C", Some(value)) => {
                    self.dir = script.target_in(value.marked(), self.dir.as_deref()).path();
                }
                ("-c" | "--config-env", Some(value)) => self.configure(value.text()),
                ("--git-dir", Some(value)) => self.git_dir(script, call, value.marked()),
                ("--work-tree", Some(_)) => {}
                _ if name.starts_with('-') => {}
                _ => {
                    first.text().clone_into(&mut self.sub);
                    return args;
                }
            }
        }
        args
    }

    fn git_dir(&mut self, script: &Script<'_>, call: &Call<'_>, marked: &str) {
        let dir = self.dir.as_deref().or(call.dir.as_deref());
        let path = script.target_in(marked, dir).path();
        self.dir = path.map(|path| match path.file_name() {
            Some(name) if name == ".git" => path.parent().map(Path::to_path_buf).unwrap_or_default(),
            _ => path,
        });
    }

    fn configure(&mut self, text: &str) {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        self.configs.push((key.to_lowercase(), value.to_owned()));
    }

    fn environment(&mut self, script: &Script<'_>, call: &Call<'_>) {
        let exported = script
            .calls
            .iter()
            .take_while(|before| before.index < call.index)
            .filter(|before| before.is(&["export", ""]));
        let sets: Vec<(String, Arg)> = exported
            .chain(std::iter::once(call))
            .flat_map(Call::sets)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        for (name, value) in &sets {
            match name.as_str() {
                "GIT_DIR" => self.git_dir(script, call, value.marked()),
                "GIT_CONFIG_PARAMETERS" => {
                    for part in value.text().split(['\'', ' ']).filter(|part| part.contains('.')) {
                        self.configure(part);
                    }
                }
                name if name.starts_with("GIT_CONFIG_KEY_") => {
                    let number = &name["GIT_CONFIG_KEY_".len()..];
                    let wanted = format!("GIT_CONFIG_VALUE_{number}");
                    let found =
                        sets.iter().rfind(|(name, _)| *name == wanted).map_or("", |(_, value)| value.text());
                    self.configs.push((value.text().to_lowercase(), found.to_owned()));
                }
                "GIT_SSH_COMMAND"
                | "GIT_PAGER"
                | "GIT_EDITOR"
                | "GIT_SEQUENCE_EDITOR"
                | "GIT_EXTERNAL_DIFF"
                | "GIT_PROXY_COMMAND" => {
                    self.scripts.push(value.text().to_owned());
                }
                _ => {}
            }
        }
    }

    /// Puts what an alias stands for in its place.
    fn resolve(&mut self, script: &Script<'_>) {
        for _ in 0..ALIASES {
            if self.sub.is_empty() || BUILT_IN.contains(&self.sub.as_str()) {
                return;
            }
            let key = format!("alias.{}", self.sub.to_lowercase());
            let given = self.configs.iter().rfind(|(name, _)| *name == key).map(|(_, value)| value.clone());
            let world = || script.world.git_alias(self.dir.as_deref()?, &self.sub);
            let Some(alias) = given.or_else(world) else { return };
            if let Some(shell) = alias.strip_prefix('!') {
                let args: Vec<String> = self.args.iter().map(|arg| quote(arg.text())).collect();
                self.scripts.push(format!("{shell} {}", args.join(" ")));
                self.sub.clear();
                return;
            }
            let span = self.args.first().map(|arg| arg.span);
            let mut words = alias.split_whitespace().map(|word| {
                let mut arg = Arg::of(word.trim_matches(['\'', '"']));
                arg.span = span.unwrap_or_default();
                arg
            });
            let Some(sub) = words.next() else { return };
            sub.text().clone_into(&mut self.sub);
            let mut args: Vec<Arg> = words.collect();
            args.append(&mut self.args);
            self.args = args;
        }
    }

    /// Commands that git runs by itself.
    fn own_scripts(&mut self) {
        let set = self.set_for_good();
        for (key, value) in self.configs.iter().chain(&set) {
            let runs = matches!(
                key.as_str(),
                "core.pager"
                    | "core.editor"
                    | "core.sshcommand"
                    | "sequence.editor"
                    | "diff.external"
                    | "core.fsmonitor"
                    | "core.askpass"
                    | "core.gitproxy"
                    | "gpg.program"
                    | "interactive.difffilter"
                    | "uploadpack.packobjectshook"
            ) || key.starts_with("pager.")
                || key.ends_with(".textconv")
                || key.ends_with(".command")
                || key.starts_with("filter.") && !key.ends_with(".required")
                || key.starts_with("merge.") && key.ends_with(".driver")
                || key.rsplit('.').next() == Some("cmd");
            if runs {
                self.scripts.push(value.clone());
            } else if key.starts_with("credential.") || key.starts_with("alias.") {
                self.scripts.extend(value.strip_prefix('!').map(str::to_owned));
            }
        }
        let said = |args: &[Arg]| args.iter().map(|arg| quote(arg.text())).collect::<Vec<_>>().join(" ");
        match (self.sub.as_str(), self.args.first().map(Arg::text)) {
            ("rebase", _) => {
                let options =
                    Options::read(&self.args, "xsX", &["exec", "onto", "strategy", "strategy-option"]);
                self.scripts.extend(options.values('x', "exec").map(str::to_owned));
            }
            ("bisect", Some("run")) => self.scripts.push(said(&self.args[1..])),
            ("submodule", Some("foreach")) => {
                let rest: Vec<Arg> =
                    self.args[1..].iter().filter(|arg| !arg.text().starts_with("--")).cloned().collect();
                self.scripts.push(match rest.as_slice() {
                    [only] => only.text().to_owned(),
                    rest => said(rest),
                });
            }
            ("difftool", _) => {
                let options = Options::read(&self.args, "xt", &["extcmd", "tool"]);
                self.scripts.extend(options.values('x', "extcmd").map(str::to_owned));
            }
            ("grep", _) => {
                let pager = self.args.iter().filter_map(|arg| {
                    let text = arg.text();
                    text.strip_prefix("-O").or_else(|| text.strip_prefix("--open-files-in-pager="))
                });
                self.scripts.extend(pager.filter(|text| !text.is_empty()).map(str::to_owned));
            }
            ("clone" | "fetch" | "pull" | "push" | "ls-remote" | "archive" | "remote" | "submodule", _) => {
                let short = if self.sub == "clone" { "uocbj" } else { "o" };
                let options = Options::read(&self.args, short, &["upload-pack", "receive-pack", "exec"]);
                let other = ["receive-pack", "exec"].into_iter().flat_map(|long| options.values('\0', long));
                let given = options.values(if self.sub == "clone" { 'u' } else { '\0' }, "upload-pack");
                let mut found: Vec<String> = given.chain(other).map(str::to_owned).collect();
                // A transport that is a command.
                found.extend(self.args.iter().filter_map(|arg| {
                    Some(arg.text().strip_prefix("ext::")?.replace("%S", "").replace("% ", " "))
                }));
                self.scripts.extend(found);
            }
            _ => {}
        }
    }

    /// What `git config KEY VALUE` and `git clone -c KEY=VALUE` set for later.
    fn set_for_good(&self) -> Vec<(String, String)> {
        if self.sub == "clone" {
            let options = Options::read(&self.args, "cuobj", &["config"]);
            let given = options.values('c', "config").filter_map(|text| text.split_once('='));
            return given.map(|(key, value)| (key.to_lowercase(), value.to_owned())).collect();
        }
        if self.sub != "config" {
            return Vec::new();
        }
        let options = Options::read(&self.args, "f", &["file", "blob", "type", "default"]);
        let mut words = options.operands.iter().map(|arg| arg.text()).peekable();
        words.next_if(|word| *word == "set");
        match (words.next(), words.next()) {
            (Some(key), Some(value)) => vec![(key.to_lowercase(), value.to_owned())],
            _ => Vec::new(),
        }
    }

    /// Its arguments as options and operands; letters and names take values.
    pub(crate) fn options(&self, with_value: &str, long_with_value: &[&str]) -> Options<'_> {
        Options::read(&self.args, with_value, long_with_value)
    }

    /// Options and operands of `git commit`.
    pub(crate) fn commit_options(&self) -> Options<'_> {
        self.options("mFCct", &COMMIT_VALUES)
    }

    /// Whether the first argument is this word.
    pub(crate) fn first(&self, word: &str) -> bool {
        self.args.first().is_some_and(|arg| arg.text() == word)
    }
}

const COMMIT_VALUES: [&str; 13] = [
    "message",
    "file",
    "author",
    "date",
    "template",
    "reuse-message",
    "reedit-message",
    "fixup",
    "squash",
    "cleanup",
    "trailer",
    "pathspec-from-file",
    "gpg-sign-key",
];

/// A word that a shell reads as this text.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Commands that git has itself: no alias can stand in for them.
const BUILT_IN: [&str; 78] = [
    "add",
    "am",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "daemon",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "filter-branch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "maintenance",
    "merge",
    "merge-base",
    "mergetool",
    "mv",
    "notes",
    "prune",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "stash",
    "status",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "worktree",
];
