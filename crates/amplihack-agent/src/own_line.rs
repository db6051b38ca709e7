//! Reading a whole line of an agent's own arguments: which of its commands it is, and what of a guard holds with it.

use std::ffi::{OsStr, OsString};

use amplihack_config::agent_binary::AgentBinary;

use crate::command::PermissionLevel;
use crate::grammar::{ArgumentGrammar, is_flag, is_listed, split_equals};
use crate::matrix::{AgentCapability, ArgShape};
use crate::profile::agent_profile;
use crate::subcommand::{AgentSubcommand, GuardState};

/// The finding about a launch's guard with a user's own arguments, and the word that decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFinding {
    /// The state of the guard.
    pub state: GuardState,
    /// The guard's words may stand in the line.
    pub carries: bool,
    /// The command or flag that decides; `None` for a plain session.
    pub word: Option<String>,
}

/// Word of a line that is a flag, with its value.
struct FlagWord<'a> {
    /// Range of the flag's words in the line.
    at: std::ops::Range<usize>,
    name: &'a OsStr,
    value: Option<&'a OsStr>,
}

/// A line, read.
#[derive(Default)]
struct OwnArgumentLine<'a> {
    flags: Vec<FlagWord<'a>>,
    path: Vec<&'static AgentSubcommand>,
    /// A flag that is not known stands before the command: what looks like one may be its value.
    unsure: bool,
    /// A flag that is not known stands behind one: what looks like a flag may be its value.
    unsure_behind: bool,
    informs: bool,
}

/// Finds the state of a guard with `args`, a whole line of `agent`'s own.
///
/// A line that is not known for sure to run no tool call of a model may run one.
pub fn line_finding(agent: AgentBinary, args: &[OsString]) -> LineFinding {
    let line = OwnArgumentLine::read(&agent_profile(agent).grammar, args);
    if let Some(found) = flag_finding(agent, &line, is_off) {
        return found;
    }
    let quiet = LineFinding { state: GuardState::NotNeeded, carries: false, word: None };
    if line.informs && !line.unsure && !line.unsure_behind {
        return quiet;
    }
    let Some(command) = line.path.last() else { return flag_state(agent, &line) };
    let name = || Some(line.path.iter().map(|command| command.name()).collect::<Vec<_>>().join(" "));
    match command.state {
        GuardState::NotNeeded if !line.unsure => LineFinding { word: name(), ..quiet },
        GuardState::InForce | GuardState::NotNeeded => flag_state(agent, &line),
        state => LineFinding { state, carries: command.carries, word: name() },
    }
}

/// Finds the state of a guard with the flags among `args`, arguments of a session that takes a prompt.
pub fn session_finding(agent: AgentBinary, args: &[OsString]) -> LineFinding {
    let line = OwnArgumentLine::read(&agent_profile(agent).grammar, args);
    flag_finding(agent, &line, is_off).unwrap_or_else(|| flag_state(agent, &line))
}

fn is_off(state: GuardState) -> bool {
    matches!(state, GuardState::SwitchedOff(_))
}

fn flag_state(agent: AgentBinary, line: &OwnArgumentLine<'_>) -> LineFinding {
    let plain = LineFinding { state: GuardState::InForce, carries: true, word: None };
    flag_finding(agent, line, |_| true).unwrap_or(plain)
}

/// The first flag of `line` whose state is `wanted`.
fn flag_finding(
    agent: AgentBinary,
    line: &OwnArgumentLine<'_>,
    wanted: fn(GuardState) -> bool,
) -> Option<LineFinding> {
    line.flags.iter().find_map(|flag| {
        let known = agent_profile(agent).guard_flags.iter().find(|known| {
            let value = flag.value.map(OsStr::to_string_lossy);
            is_named(agent, flag.name, known.name)
                && wanted(known.state)
                && known.values.covers_value(value.as_deref())
        })?;
        let value = flag.value.filter(|_| known.values != crate::subcommand::FlagValues::Any);
        let value = value.map(|value| format!(" {}", value.to_string_lossy())).unwrap_or_default();
        Some(LineFinding { state: known.state, carries: true, word: Some(format!("{}{value}", known.name)) })
    })
}

/// Reports whether `flag` is `known` to the agent. Gemini's reader of arguments takes `--someFlag` for `--some-flag` too.
fn is_named(agent: AgentBinary, flag: &OsStr, known: &str) -> bool {
    let bare = |name: &str| name.replace('-', "").to_lowercase();
    flag == known
        || agent == AgentBinary::Gemini
            && flag.to_str().is_some_and(|flag| flag.starts_with("--") && bare(flag) == bare(known))
}

/// Takes every value of the flag that carries `agent`'s hooks, and of which it counts the last only, out of `args`; returns that one.
pub fn take_own_settings(agent: AgentBinary, args: &mut Vec<OsString>) -> Option<OsString> {
    let flag = agent_profile(agent).settings_flag?;
    let line = OwnArgumentLine::read(&agent_profile(agent).grammar, args);
    let own: Vec<_> = line.flags.iter().filter(|found| found.name == flag && found.value.is_some()).collect();
    let last = own.last().and_then(|found| found.value).map(OsStr::to_owned);
    let places: Vec<_> = own.iter().map(|found| found.at.clone()).collect();
    for place in places.into_iter().rev() {
        args.drain(place);
    }
    last
}

/// The directory that `agent` enters first, by its own arguments.
pub fn own_directory(agent: AgentBinary, args: &[OsString]) -> Option<OsString> {
    let flags = agent_profile(agent).directory_flags;
    let line = OwnArgumentLine::read(&agent_profile(agent).grammar, args);
    let last = line.flags.iter().rev().find(|flag| is_listed(flags, flag.name))?;
    last.value.map(OsStr::to_owned)
}

/// Reports whether `args`, arguments of `agent`'s own, have it ask nobody for permission.
pub fn skips_permissions(agent: AgentBinary, args: &[OsString]) -> bool {
    const MODE: &str = "bypassPermissions";
    let rows = agent_profile(agent)
        .rows
        .iter()
        .filter(|row| row.cap == AgentCapability::Permissions(PermissionLevel::Full));
    let flags: Vec<&str> = rows
        .flat_map(|row| match row.shape {
            ArgShape::Words(_, words) => words.iter().copied(),
            _ => [].iter().copied(),
        })
        .collect();
    let line = OwnArgumentLine::read(&agent_profile(agent).grammar, args);
    line.flags
        .iter()
        .any(|flag| is_listed(&flags, flag.name) || flag.value.is_some_and(|value| value == MODE))
}

impl<'a> OwnArgumentLine<'a> {
    fn read(grammar: &ArgumentGrammar, args: &'a [OsString]) -> Self {
        let mut line = Self::default();
        let mut level = Some(grammar.commands);
        let mut next = 0;
        while let Some(word) = args.get(next) {
            let start = next;
            next += 1;
            if word == "--" {
                break;
            }
            if is_flag(word) && word != "-" {
                next = line.take_flag(grammar, args, start);
                continue;
            }
            // The first bare word is a command, or there is none.
            let found = level.and_then(|level| find_subcommand(level, word));
            level = found.map(|found| found.commands);
            line.path.extend(found);
        }
        line
    }

    /// Takes the flag at `start` and its value; returns where the next word stands.
    fn take_flag(&mut self, grammar: &ArgumentGrammar, args: &'a [OsString], start: usize) -> usize {
        let word = args[start].as_os_str();
        let plain = |args: &'a [OsString]| args.get(start + 1).filter(|next| !is_flag(next));
        let below = |name: &OsStr| self.path.iter().any(|command| is_listed(command.flags, name));
        let (name, value, end) = if let Some((name, value)) = split_attached(grammar, word) {
            (name, Some(value), start + 1)
        } else if is_listed(grammar.value_flags, word)
            || grammar.prompt_flags.iter().any(|flag| word == flag.flag && !flag.optional)
        {
            (word, args.get(start + 1).map(OsString::as_os_str), (start + 2).min(args.len()))
        } else if is_listed(grammar.variadic_flags, word) {
            let values = args[start + 1..].iter().take_while(|next| !is_flag(next)).count();
            (word, plain(args).map(OsString::as_os_str), start + 1 + values)
        } else if is_listed(grammar.switches, word) || is_listed(grammar.headless_flags, word) || below(word)
        {
            (word, None, start + 1)
        } else if is_listed(grammar.information_flags, word) {
            self.informs = true;
            (word, None, start + 1)
        } else {
            let optional = is_listed(grammar.optional_value_flags, word)
                || grammar.prompt_flags.iter().any(|flag| word == flag.flag);
            let is_first = self.path.is_empty();
            self.unsure |= !optional && is_first;
            self.unsure_behind |= !optional && !is_first;
            let value = plain(args);
            (word, value.map(OsString::as_os_str), start + 1 + usize::from(value.is_some()))
        };
        self.flags.push(FlagWord { at: start..end, name, value });
        end
    }
}

/// A flag and its value in one word: `--flag=V`, and `-cV` where `-c` takes one.
fn split_attached<'a>(grammar: &ArgumentGrammar, word: &'a OsStr) -> Option<(&'a OsStr, &'a OsStr)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    if bytes.starts_with(b"--") {
        return split_equals(word);
    }
    let short = OsStr::from_bytes(bytes.get(..2)?);
    let takes = is_listed(grammar.value_flags, short) || is_listed(grammar.variadic_flags, short);
    let rest = bytes.get(2..).filter(|rest| !rest.is_empty() && takes)?;
    Some((short, OsStr::from_bytes(rest.strip_prefix(b"=").unwrap_or(rest))))
}

fn find_subcommand(level: &'static [AgentSubcommand], word: &OsStr) -> Option<&'static AgentSubcommand> {
    level.iter().find(|command| is_listed(command.names, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_skips_permissions_is_known_by_its_flags() {
        let skips = |agent, line: &str| {
            skips_permissions(agent, &line.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        for line in [
            "-p --dangerously-skip-permissions go",
            "--permission-mode bypassPermissions",
            "--permission-mode=bypassPermissions -p go",
        ] {
            assert!(skips(AgentBinary::Claude, line), "{line}");
        }
        for line in ["-p go", "--permission-mode plan", "-- --dangerously-skip-permissions"] {
            assert!(!skips(AgentBinary::Claude, line), "{line}");
        }
        assert!(skips(AgentBinary::Codex, "exec --dangerously-bypass-approvals-and-sandbox go"));
    }

    fn args(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    fn state(agent: AgentBinary, line: &str) -> &'static str {
        match line_finding(agent, &args(line)).state {
            GuardState::InForce => "in force",
            GuardState::NotNeeded => "not needed",
            GuardState::Absent(_) => "absent",
            GuardState::SwitchedOff(_) => "off",
        }
    }

    #[test]
    fn a_line_is_guarded_unless_it_is_known_to_ask_no_model() {
        use AgentBinary::{Claude, Codex, Copilot, Gemini};
        for (agent, line, expected) in [
            (Claude, "mcp list", "not needed"),
            (Claude, "--model opus mcp list", "not needed"),
            (Claude, "--append-system-prompt --help go", "in force"),
            (Claude, "--new-flag mcp list", "in force"),
            (Claude, "-p --dangerously-skip-permissions go", "in force"),
            (Claude, "--add-dir mcp", "in force"),
            (Claude, "-- mcp", "in force"),
            (Claude, "attach x", "absent"),
            (Claude, "mcp serve", "absent"),
            (Claude, "-p go --bare", "off"),
            (Claude, "-p go -- --bare", "in force"),
            (Claude, "--version", "not needed"),
            (Claude, "--help", "not needed"),
            (Claude, "--model opus --help", "not needed"),
            (Claude, "--new-flag --help go", "in force"),
            (Claude, "mcp list --new-flag --help", "not needed"),
            (Codex, "exec --new-flag --help go", "in force"),
            (Codex, "login", "not needed"),
            (Codex, "exec resume --last go", "in force"),
            (Codex, "e review", "in force"),
            (Codex, "review", "in force"),
            (Codex, "app-server", "in force"),
            (Codex, "app-server generate-ts --out x", "not needed"),
            (Codex, "queue --thread x --message y", "absent"),
            (Codex, "exec --help", "not needed"),
            (Codex, "exec go --disable hooks", "off"),
            (Codex, "exec go --disable=codex_hooks", "off"),
            (Codex, "exec go --disable view_image", "in force"),
            (Codex, "exec -c features.hooks=false go", "off"),
            (Codex, "exec -cfeatures.hooks=false go", "off"),
            (Codex, "exec --config=hooks.PreToolUse=[] go", "off"),
            (Codex, "-c features={hooks=false} exec go", "off"),
            (Codex, "-c features.\"hooks\"=false exec go", "off"),
            (Codex, "exec -c features.view_image=false -c hookss=1 go", "in force"),
            (Codex, "--remote ws://x resume", "absent"),
            (Copilot, "--acp", "in force"),
            (Copilot, "-p --help", "in force"),
            (Copilot, "mcp list", "not needed"),
            (Copilot, "--connect", "absent"),
            (Gemini, "--acp", "absent"),
            (Gemini, "--experimental-acp", "absent"),
            (Gemini, "--experimentalAcp", "absent"),
            (Gemini, "--experimentalAcp=true", "absent"),
            (Gemini, "extensions list", "not needed"),
            (Gemini, "new_command", "in force"),
        ] {
            assert_eq!(state(agent, line), expected, "{agent} {line}");
        }
    }

    #[test]
    fn the_users_own_settings_are_taken_out_and_the_last_of_them_counts() {
        let mut line = args("--settings a.json --model m --settings={} -p go -- --settings x");
        assert_eq!(take_own_settings(AgentBinary::Claude, &mut line), Some("{}".into()));
        assert_eq!(line, args("--model m -p go -- --settings x"));
        assert_eq!(take_own_settings(AgentBinary::Claude, &mut line), None);
        let mut value = args("--append-system-prompt --settings go");
        assert_eq!(take_own_settings(AgentBinary::Claude, &mut value), None);
        assert_eq!(take_own_settings(AgentBinary::Codex, &mut args("--settings x")), None);
    }

    #[test]
    fn the_directory_of_the_agents_own_flag_is_found() {
        let found = |agent, line| own_directory(agent, &args(line));
        assert_eq!(found(AgentBinary::Copilot, "-C /a -p x -C /b"), Some("/b".into()));
        assert_eq!(found(AgentBinary::Copilot, "-C/a"), Some("/a".into()));
        assert_eq!(found(AgentBinary::Claude, "-C /a"), None);
    }
}
