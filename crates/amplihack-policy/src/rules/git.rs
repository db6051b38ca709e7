//! A git command taken apart: where it runs, what it is configured with, which command it is once aliases are resolved.

use std::path::{Path, PathBuf};

use super::call::{CallArg, CommandCall};
use super::marks::UNKNOWN;
use super::options::CommandOptions;
use super::script::JudgedScript;

/// A git command.
#[derive(Debug, Clone)]
pub(crate) struct GitCall {
    /// The command, aliases resolved; empty if there is none.
    pub(crate) sub: String,
    /// The arguments that follow the command.
    pub(crate) args: Vec<CallArg>,
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
pub(crate) fn git_call<'c>(script: &JudgedScript<'_>, call: &'c CommandCall<'_>) -> Option<&'c GitCall> {
    call.git.get_or_init(|| read_git_call(script, call)).as_ref()
}

fn read_git_call(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Option<GitCall> {
    let mut git = GitCall {
        sub: String::new(),
        args: Vec::new(),
        dir: call.dir.clone(),
        configs: Vec::new(),
        scripts: Vec::new(),
    };
    let mut rest = call.args.as_slice();
    match call.program.strip_prefix("git")? {
        "" => rest = git.read_global_options(script, call, rest),
        sub => sub.strip_prefix('-')?.clone_into(&mut git.sub),
    }
    git.args = rest.to_vec();
    git.read_environment(script, call);
    git.resolve_alias(script);
    git.own_scripts();
    Some(git)
}

impl GitCall {
    /// Options in front of the command.
    fn read_global_options<'s>(
        &mut self,
        script: &JudgedScript<'_>,
        call: &CommandCall<'_>,
        mut args: &'s [CallArg],
    ) -> &'s [CallArg] {
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
                    self.dir = script.target_in(value.marked_text(), self.dir.as_deref()).path();
                }
                ("-c", Some(value)) => self.add_config(value.text()),
                // `KEY=VARIABLE`
                ("--config-env", Some(value)) => {
                    let (key, name) = value.text().split_once('=').unwrap_or((value.text(), ""));
                    let set = call
                        .set_variables()
                        .find(|(set, _)| *set == name)
                        .map(|(_, value)| value.text().to_owned());
                    self.configs.push((key.to_lowercase(), set.unwrap_or_else(|| UNKNOWN.to_string())));
                }
                ("--git-dir", Some(value)) => self.git_dir(script, call, value.marked_text()),
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

    fn git_dir(&mut self, script: &JudgedScript<'_>, call: &CommandCall<'_>, marked: &str) {
        let dir = self.dir.as_deref().or(call.dir.as_deref());
        let path = script.target_in(marked, dir).path();
        self.dir = path.map(|path| match path.file_name() {
            Some(name) if name == ".git" => path.parent().map(Path::to_path_buf).unwrap_or_default(),
            _ => path,
        });
    }

    fn add_config(&mut self, text: &str) {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        self.configs.push((key.to_lowercase(), value.to_owned()));
    }

    fn read_environment(&mut self, script: &JudgedScript<'_>, call: &CommandCall<'_>) {
        let exported = script
            .calls
            .iter()
            .take_while(|before| before.index < call.index)
            .filter(|before| before.is_any_of(&["export", ""]));
        let sets: Vec<(String, CallArg)> = exported
            .chain(std::iter::once(call))
            .flat_map(CommandCall::set_variables)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        for (name, value) in &sets {
            match name.as_str() {
                "GIT_DIR" => self.git_dir(script, call, value.marked_text()),
                "GIT_CONFIG_PARAMETERS" => {
                    // `'key=value'`, or `'key'='value'`.
                    let text = value.text().replace("'='", "=");
                    for part in text.split('\'').filter(|part| part.contains('.')) {
                        self.add_config(part);
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
    fn resolve_alias(&mut self, script: &JudgedScript<'_>) {
        for _ in 0..ALIASES {
            if self.sub.is_empty() || BUILT_IN.contains(&self.sub.as_str()) {
                return;
            }
            let key = format!("alias.{}", self.sub.to_lowercase());
            let given = self.configs.iter().rfind(|(name, _)| *name == key).map(|(_, value)| value.clone());
            let world = || script.world.git_alias(self.dir.as_deref()?, &self.sub);
            let Some(alias) = given.or_else(world) else { return };
            if let Some(shell) = alias.strip_prefix('!') {
                let args: Vec<String> = self.args.iter().map(|arg| quote_word(arg.text())).collect();
                self.scripts.push(format!("{shell} {}", args.join(" ")));
                self.sub.clear();
                return;
            }
            let span = self.args.first().map(|arg| arg.span);
            let mut words = alias.split_whitespace().map(|word| {
                let mut arg = CallArg::from_text(word.trim_matches(['\'', '"']));
                arg.span = span.unwrap_or_default();
                arg
            });
            let Some(sub) = words.next() else { return };
            sub.text().clone_into(&mut self.sub);
            let mut args: Vec<CallArg> = words.collect();
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
                    | "core.alternaterefscommand"
                    | "sendemail.sendmailcmd"
                    | "sendemail.tocmd"
                    | "sendemail.cccmd"
            ) || key.starts_with("pager.")
                || key.ends_with(".textconv")
                || key.ends_with(".command")
                || key.starts_with("filter.") && !key.ends_with(".required")
                || key.starts_with("merge.") && key.ends_with(".driver")
                || key.starts_with("gpg.") && key.ends_with(".program")
                || key.starts_with("remote.")
                    && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
                || key.rsplit('.').next() == Some("cmd");
            if runs {
                self.scripts.push(value.clone());
            } else if ["credential.", "alias.", "submodule."].iter().any(|section| key.starts_with(section)) {
                self.scripts.extend(value.strip_prefix('!').map(str::to_owned));
            } else if key.starts_with("remote.") || key.starts_with("url.") {
                // A transport that is a command.
                let urls = [value.as_str(), key.strip_prefix("url.").unwrap_or_default()];
                self.scripts.extend(urls.iter().filter_map(|url| transport_command(url)));
            }
        }
        let said =
            |args: &[CallArg]| args.iter().map(|arg| quote_word(arg.text())).collect::<Vec<_>>().join(" ");
        match (self.sub.as_str(), self.args.first().map(CallArg::text)) {
            ("rebase", _) => {
                let options =
                    CommandOptions::read(&self.args, "xsX", &["exec", "onto", "strategy", "strategy-option"]);
                self.scripts.extend(options.values('x', "exec").map(str::to_owned));
            }
            ("bisect", Some("run")) => self.scripts.push(said(&self.args[1..])),
            ("submodule", Some("foreach")) => {
                let rest: Vec<CallArg> =
                    self.args[1..].iter().filter(|arg| !arg.text().starts_with("--")).cloned().collect();
                self.scripts.push(match rest.as_slice() {
                    [only] => only.text().to_owned(),
                    rest => said(rest),
                });
            }
            ("difftool", _) => {
                let options = CommandOptions::read(&self.args, "xt", &["extcmd", "tool"]);
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
                let options =
                    CommandOptions::read(&self.args, short, &["upload-pack", "receive-pack", "exec"]);
                let other = ["receive-pack", "exec"].into_iter().flat_map(|long| options.values('\0', long));
                let given = options.values(if self.sub == "clone" { 'u' } else { '\0' }, "upload-pack");
                let mut found: Vec<String> = given.chain(other).map(str::to_owned).collect();
                // A transport that is a command.
                found.extend(self.args.iter().filter_map(|arg| {
                    transport_command(arg.text().strip_prefix("--remote=").unwrap_or(arg.text()))
                }));
                self.scripts.extend(found);
            }
            ("send-email", _) => {
                let commands = ["sendmail-cmd", "to-cmd", "cc-cmd", "header-cmd"];
                let options = CommandOptions::read(&self.args, "", &commands);
                self.scripts
                    .extend(commands.iter().flat_map(|long| options.values('\0', long)).map(str::to_owned));
            }
            _ => {}
        }
    }

    /// Keys by which git reads further settings from other files, with those files.
    pub(crate) fn included_file(&self) -> Option<String> {
        let set = self.set_for_good();
        let includes = |key: &str| {
            key == "include.path" || key.starts_with("includeif.") && key.rsplit('.').next() == Some("path")
        };
        self.configs.iter().chain(&set).find(|(key, _)| includes(key)).map(|(_, file)| file.clone())
    }

    /// Settings that `git config KEY VALUE` and `git clone -c KEY=VALUE` make for later.
    pub(crate) fn set_for_good(&self) -> Vec<(String, String)> {
        if self.sub == "clone" {
            let options = CommandOptions::read(&self.args, "cuobj", &["config"]);
            let given = options.values('c', "config").filter_map(|text| text.split_once('='));
            return given.map(|(key, value)| (key.to_lowercase(), value.to_owned())).collect();
        }
        if self.sub != "config" {
            return Vec::new();
        }
        let options = CommandOptions::read(&self.args, "f", &["file", "blob", "type", "default"]);
        let mut words = options.operands.iter().map(|arg| arg.text()).peekable();
        words.next_if(|word| *word == "set");
        match (words.next(), words.next()) {
            (Some(key), Some(value)) => vec![(key.to_lowercase(), value.to_owned())],
            _ => Vec::new(),
        }
    }

    /// The command's arguments as options and operands; letters and names take values.
    pub(crate) fn parse_options(&self, with_value: &str, long_with_value: &[&str]) -> CommandOptions<'_> {
        CommandOptions::read(&self.args, with_value, long_with_value)
    }

    /// Options and operands of `git commit`.
    pub(crate) fn commit_options(&self) -> CommandOptions<'_> {
        self.parse_options("mFCct", &COMMIT_VALUES)
    }

    /// Reports whether the first argument is this word.
    pub(crate) fn has_first_arg(&self, word: &str) -> bool {
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

/// The command that an address is.
fn transport_command(address: &str) -> Option<String> {
    Some(address.strip_prefix("ext::")?.replace("%S", "").replace("% ", " "))
}

/// A word that a shell reads as this text.
fn quote_word(text: &str) -> String {
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
