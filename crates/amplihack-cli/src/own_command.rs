//! A command line that is an agent's own, written as its help writes it: `amplihack codex resume --last`.

use std::ffi::OsString;

use amplihack_agent::{AgentBinary, agent_profile};
use clap::Error;
use clap::error::ErrorKind;

/// Options of a launch that may stand in front of the agent's own command, none with a value.
const BEFORE: &[&str] = &["--no-hooks", "--dry-run", "--raw"];

/// `args` with the `--` that an agent's own command needs, where they are one and failed for the lack of it.
pub(crate) fn as_own_command(args: &[OsString], error: &Error) -> Option<Vec<OsString>> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let agent =
        AgentBinary::ALL.into_iter().find(|agent| args.get(1).is_some_and(|word| word == agent.name()))?;
    let options = args[2..].iter().take_while(|word| BEFORE.iter().any(|option| *word == *option)).count();
    let at = 2 + options;
    let is_own = agent_profile(agent).grammar.is_subcommand(args.get(at)?);
    is_own.then(|| [&args[..at], &["--".into()], &args[at..]].concat())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::as_own_command;
    use crate::cli::AmplihackCli;

    #[test]
    fn an_agents_own_command_needs_no_dashes_and_what_parses_is_left_alone() {
        let read = |line: &str| {
            let args: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
            let error = AmplihackCli::try_parse_from(&args).err()?;
            let own = as_own_command(&args, &error)?;
            Some(own.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        };
        for (line, expected) in [
            ("amplihack codex resume --last", Some("amplihack codex -- resume --last")),
            (
                "amplihack codex --no-hooks exec resume --last",
                Some("amplihack codex --no-hooks -- exec resume --last"),
            ),
            ("amplihack claude mcp list", Some("amplihack claude -- mcp list")),
            ("amplihack codex resume", None),
            ("amplihack codex nonsense --last", None),
            ("amplihack codex --nonsense", None),
            ("amplihack which resume --last", None),
        ] {
            assert_eq!(read(line).as_deref(), expected, "{line}");
        }
    }
}
