//! Scripts that a script writes and then runs: `echo … > x; sh x` says what `x` does.

use super::model::{RedirectKind, ShellCommand, ShellWord};
use super::script_reader::ScriptReader;
use super::unwrap::WrappedCommand;

/// Files that are followed, and bytes of one.
const FILES: usize = 64;
const LONGEST: usize = 64 * 1024;

/// A file's name without its directory: a `cd` in between changes nothing.
fn base_name(word: &ShellWord) -> Option<String> {
    let text = word.literal_text()?;
    let name = text.rsplit('/').next().unwrap_or(&text);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The option behind which an interpreter takes what a file of its own would hold.
fn code_flag(program: &str) -> Option<&'static str> {
    match program.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.') {
        "python" | "pypy" => Some("-c"),
        "perl" | "ruby" | "node" | "lua" => Some("-e"),
        "php" => Some("-r"),
        _ => None,
    }
}

impl ScriptReader<'_> {
    /// Notes the files that `command` writes, where it is known what.
    pub(super) fn note_written(&mut self, command: &ShellCommand, output: Option<&str>) {
        let Some(text) = output.filter(|text| !text.trim().is_empty() && text.len() <= LONGEST) else {
            return;
        };
        let redirected = command.redirects.iter().filter_map(|redirect| match redirect.kind {
            RedirectKind::Write => Some((base_name(&redirect.target)?, false)),
            RedirectKind::Append => Some((base_name(&redirect.target)?, true)),
            _ => None,
        });
        let tee = command.program_name().is_some_and(|program| program == "tee");
        let operands =
            command.words.iter().skip(1).filter(|_| tee).filter_map(|word| Some((base_name(word)?, false)));
        let program = command.program_name().unwrap_or_default();
        let copied = command.words.iter().skip(1).filter_map(|word| match program.as_str() {
            // What it reads is what it is fed.
            "dd" => Some((
                base_name(&ShellWord::from_plain(word.literal_text()?.strip_prefix("of=")?, word.span))?,
                false,
            )),
            _ => None,
        });
        for (name, append) in redirected.chain(operands).chain(copied) {
            if self.written.len() >= FILES && !self.written.contains_key(&name) {
                return;
            }
            let known = self.written.entry(name).or_default();
            if !append {
                known.clear();
            }
            known.push_str(text);
            known.truncate(if known.len() > LONGEST { 0 } else { LONGEST });
        }
    }

    /// The command that `command` runs of the files that this script wrote.
    pub(super) fn runs_written(&mut self, program: &str, command: &ShellCommand) -> Option<WrappedCommand> {
        if self.written.is_empty() {
            return None;
        }
        let first = command.words.first()?;
        let file =
            match program {
                shell if super::is_shell(shell) || matches!(shell, "source" | ".") => command.words[1..]
                    .iter()
                    .find(|word| word.literal_text().is_some_and(|text| !text.starts_with(['-', '+'])))?,
                // By its path, or from a directory on the search path.
                _ => first,
            };
        if let Some(flag) = code_flag(program).filter(|flag| {
            !command.words.iter().any(|word| word.literal_text().is_some_and(|text| text == *flag))
        }) {
            let file = command.words[1..]
                .iter()
                .find(|word| word.literal_text().is_some_and(|text| !text.starts_with('-')))?;
            let text = self.written.get(&base_name(file)?)?.clone();
            let words = [program, flag, &text].map(|text| ShellWord::from_plain(text, first.span)).to_vec();
            return Some(WrappedCommand::Argv { words, assignments: Vec::new(), cd: None });
        }
        if matches!(program, "make" | "gmake")
            && !command.words.iter().any(|word| word.literal_text().is_some_and(|text| text == "--eval"))
        {
            let text = ["Makefile", "makefile", "GNUmakefile"]
                .iter()
                .find_map(|name| self.written.get(*name))?
                .clone();
            let words =
                ["make", "--eval", &text].map(|text| ShellWord::from_plain(text, first.span)).to_vec();
            return Some(WrappedCommand::Argv { words, assignments: Vec::new(), cd: None });
        }
        if matches!(program, "npm" | "yarn" | "pnpm" | "bun") {
            return Some(WrappedCommand::Script {
                text: self.package_scripts(command)?,
                positional: Vec::new(),
            });
        }
        let text = self.written.get(&base_name(file)?)?.clone();
        let foreign = text.lines().next().is_some_and(|line| {
            line.starts_with("#!") && !line.split(['/', ' ']).any(|word| super::is_shell(word.trim_end()))
        });
        (!foreign).then_some(WrappedCommand::Script { text, positional: Vec::new() })
    }

    /// The scripts of a `package.json` that this script wrote, as far as `command` runs them.
    fn package_scripts(&self, command: &ShellCommand) -> Option<String> {
        const INSTALLS: [&str; 5] = ["install", "i", "ci", "add", "rebuild"];
        const HOOKS: [&str; 4] = ["preinstall", "install", "postinstall", "prepare"];
        let manifest: serde_json::Value = serde_json::from_str(self.written.get("package.json")?).ok()?;
        let scripts = manifest.get("scripts")?.as_object()?;
        let words: Vec<String> = command.words[1..].iter().filter_map(ShellWord::literal_text).collect();
        let installs = words.iter().any(|word| INSTALLS.contains(&word.as_str()));
        let runs = |name: &str| {
            let plain = name.strip_prefix("pre").or_else(|| name.strip_prefix("post")).unwrap_or(name);
            words.iter().any(|word| word == name || word == plain) || installs && HOOKS.contains(&name)
        };
        let texts = scripts.iter().filter(|(name, _)| runs(name)).filter_map(|(_, text)| text.as_str());
        Some(texts.collect::<Vec<_>>().join("\n"))
    }
}
