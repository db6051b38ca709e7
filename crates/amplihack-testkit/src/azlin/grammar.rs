//! The command line of azlin 2.7.3, as strict as its own parser.
//!
//! Options for all commands stand before the command here; the real one may take them elsewhere too.

use std::collections::BTreeMap;

/// What follows a flag.
#[derive(Debug, Clone, Copy)]
enum AzlinFlagArity {
    Nothing,
    Text,
    Number,
    OneOf(&'static [&'static str]),
}
use AzlinFlagArity::{Nothing, Number, OneOf, Text};

/// A flag: its names, long ones first, and what follows it.
type Flag = (&'static [&'static str], AzlinFlagArity);

/// A command: its names, what it must be given, and its flags.
#[derive(Debug)]
struct Command {
    names: &'static [&'static str],
    positionals: &'static [&'static str],
    /// Whether words after `--` are a remote command.
    trailing: bool,
    flags: &'static [Flag],
}

const TIERS: &[&str] = &["xs", "s", "m", "l", "xl", "xxl"];
const GROUP: Flag = (&["--resource-group", "--rg"], Text);

const GLOBAL: &[Flag] = &[
    (&["--verbose", "-v"], Nothing),
    (&["--output", "-o"], OneOf(&["table", "json", "csv"])),
    (&["--auth-profile"], Text),
    (&["--config"], Text),
];

const COMMANDS: &[Command] = &[
    Command {
        names: &["new", "create"],
        positionals: &[],
        trailing: false,
        flags: &[
            GROUP,
            (&["--name"], Text),
            (&["--size"], OneOf(TIERS)),
            (&["--vm-size"], Text),
            (&["--vm-family"], OneOf(&["d", "e"])),
            (&["--region"], Text),
            (&["--region-fit"], Nothing),
            (&["--pool"], Number),
            (&["--repo"], Text),
            (&["--public"], Nothing),
            (&["--no-bastion"], Nothing),
            (&["--bastion-name"], Text),
            (&["--no-auto-connect"], Nothing),
            (&["--home-disk-size"], Number),
            (&["--no-home-disk"], Nothing),
            (&["--tmp-disk-size"], Number),
            (&["--os"], Text),
            (&["--template"], Text),
            (&["--yes", "-y"], Nothing),
        ],
    },
    Command {
        names: &["list"],
        positionals: &[],
        trailing: false,
        flags: &[
            GROUP,
            (&["--all"], Nothing),
            (&["--show-all-vms", "-a"], Nothing),
            (&["--no-tmux"], Nothing),
            (&["--no-cache"], Nothing),
            (&["--tag"], Text),
            (&["--vm-pattern"], Text),
        ],
    },
    Command { names: &["show"], positionals: &["NAME"], trailing: false, flags: &[GROUP] },
    Command {
        names: &["connect"],
        positionals: &["ID"],
        trailing: true,
        flags: &[
            GROUP,
            (&["--no-tmux"], Nothing),
            (&["--no-status"], Nothing),
            (&["--no-reconnect"], Nothing),
            (&["--max-retries"], Number),
            (&["--yes", "-y"], Nothing),
            (&["--user"], Text),
            (&["--key"], Text),
            (&["--disable-bastion-pool"], Nothing),
            (&["-X"], Nothing),
        ],
    },
    Command {
        names: &["cp"],
        positionals: &["SRC", "DST"],
        trailing: false,
        flags: &[GROUP, (&["--dry-run"], Nothing)],
    },
    Command {
        names: &["kill"],
        positionals: &["NAME"],
        trailing: false,
        flags: &[GROUP, (&["--force"], Nothing)],
    },
    Command {
        names: &["delete"],
        positionals: &["NAME"],
        trailing: false,
        flags: &[GROUP, (&["--force", "-f"], Nothing)],
    },
    Command { names: &["start"], positionals: &["NAME"], trailing: false, flags: &[GROUP] },
    Command {
        names: &["stop"],
        positionals: &["NAME"],
        trailing: false,
        flags: &[GROUP, (&["--no-deallocate"], Nothing)],
    },
];

/// Commands that the real one has and the stand-in does not play.
const NOT_PLAYED: &[&str] = &[
    "autopilot",
    "bastion",
    "batch",
    "cleanup",
    "cost",
    "destroy",
    "fleet",
    "killall",
    "status",
    "tag",
    "tunnel",
];

/// A command line that was understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedAzlinCall {
    /// The command's first name.
    pub(super) command: &'static str,
    /// Flags by their first name; the value is empty where none follows.
    flags: BTreeMap<&'static str, String>,
    /// Words that belong to no flag.
    pub(super) positionals: Vec<String>,
    /// What follows `--`.
    pub(super) rest: Option<Vec<String>>,
}

impl ParsedAzlinCall {
    /// Whether `flag` was given.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.contains_key(flag)
    }

    /// What was given with `flag`.
    pub(super) fn value(&self, flag: &str) -> Option<&str> {
        self.flags.get(flag).map(String::as_str)
    }
}

/// Why a command line is not understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The real one refuses it too, in these words, with code 2.
    Usage(String),
    /// The real one has it; the stand-in does not.
    NotPlayed(String),
}

/// Reads the words after the program's name.
pub(super) fn parse(args: &[String]) -> Result<ParsedAzlinCall, Refusal> {
    let mut parsed = ParsedAzlinCall::default();
    let mut words = args.iter();
    let command = loop {
        let Some(word) = words.next() else {
            return Err(Refusal::Usage(
                "error: 'azlin' requires a subcommand but one was not provided".to_owned(),
            ));
        };
        if word.starts_with('-') {
            flag(GLOBAL, word, &mut words, &mut parsed).map_err(|error| usage("", &error))?;
        } else if let Some(found) = COMMANDS.iter().find(|command| command.names.contains(&word.as_str())) {
            break found;
        } else if NOT_PLAYED.contains(&word.as_str()) {
            return Err(Refusal::NotPlayed(word.clone()));
        } else {
            return Err(usage("", &format!("unrecognized subcommand '{word}'")));
        }
    };
    parsed.command = command.names[0];
    rest(command, &mut words, &mut parsed).map_err(|error| usage(parsed.command, &error))?;
    Ok(parsed)
}

fn rest<'a>(
    command: &Command,
    words: &mut impl Iterator<Item = &'a String>,
    parsed: &mut ParsedAzlinCall,
) -> Result<(), String> {
    while let Some(word) = words.next() {
        if word == "--" && command.trailing {
            parsed.rest = Some(words.map(Clone::clone).collect());
            break;
        }
        if word.starts_with('-') && word.len() > 1 && word != "--" {
            flag(command.flags, word, words, parsed)?;
        } else if word != "--" && parsed.positionals.len() < command.positionals.len() {
            parsed.positionals.push(word.clone());
        } else {
            return Err(format!("unexpected argument '{word}' found"));
        }
    }
    match command.positionals.get(parsed.positionals.len()) {
        Some(missing) => Err(format!("the following required arguments were not provided:\n  <{missing}>")),
        None => Ok(()),
    }
}

fn flag<'a>(
    flags: &[Flag],
    word: &str,
    words: &mut impl Iterator<Item = &'a String>,
    parsed: &mut ParsedAzlinCall,
) -> Result<(), String> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None if !word.starts_with("--") && word.len() > 2 => (&word[..2], Some(word[2..].to_owned())),
        None => (word, None),
    };
    let Some((names, takes)) = flags.iter().find(|(names, _)| names.contains(&name)) else {
        return Err(format!("unexpected argument '{name}' found"));
    };
    let shown = format!("{} <{}>", names[0], names[0].trim_matches('-').to_uppercase().replace('-', "_"));
    let value = match (takes, attached) {
        (Nothing, None) => String::new(),
        (Nothing, Some(value)) => {
            return Err(format!(
                "unexpected value '{value}' for '{}' found; no more were expected",
                names[0]
            ));
        }
        (_, Some(value)) => value,
        (_, None) => words
            .next()
            .filter(|value| !value.starts_with('-'))
            .ok_or_else(|| format!("a value is required for '{shown}' but none was supplied"))?
            .clone(),
    };
    match takes {
        OneOf(possible) if !possible.contains(&value.as_str()) => {
            return Err(format!(
                "invalid value '{value}' for '{shown}'\n  [possible values: {}]",
                possible.join(", ")
            ));
        }
        Number if value.parse::<u32>().is_err() => {
            return Err(format!("invalid value '{value}' for '{shown}': invalid digit found in string"));
        }
        _ => {}
    }
    if parsed.flags.insert(names[0], value).is_some() {
        return Err(format!("the argument '{shown}' cannot be used multiple times"));
    }
    Ok(())
}

fn usage(command: &str, error: &str) -> Refusal {
    let command =
        if command.is_empty() { "[OPTIONS] <COMMAND>".to_owned() } else { format!("{command} [OPTIONS]") };
    Refusal::Usage(format!("error: {error}\n\nUsage: azlin {command}\n\nFor more information, try '--help'."))
}
