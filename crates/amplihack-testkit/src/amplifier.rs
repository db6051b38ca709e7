//! Amplifier's documented command line, read as strictly as its own parser (click) reads it.
//!
//! Amplifier cannot be installed without a network, so a program that accepts this and refuses all else stands in for it.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// What the stand-in accepted: one JSON line in the file that `AMPLIFIER_STAND_IN_RECORD` names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The prompt, byte for byte; `None` if none was on the command line.
    pub prompt: Option<Bytes>,
    /// Whether the prompt came from stdin.
    pub from_stdin: bool,
    /// Each option by its long name, in the order of the command line; a flag's value is empty.
    pub options: Vec<(String, Bytes)>,
}

impl Accepted {
    /// The value of the option `name` (long form); the last one counts.
    pub fn option(&self, name: &str) -> Option<&Bytes> {
        self.options.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AmplifierCall {
    /// `run`.
    Run(Accepted),
    /// `--version`.
    Version,
    /// `--help`, of the group or of `run`.
    Help,
}

/// What one option takes.
enum AmplifierFlagArity {
    Nothing,
    Any,
    Number,
    OneOf(&'static [&'static str]),
}

/// Long name, short letter, value. The whole documented list of `amplifier run`.
const OPTIONS: &[(&str, Option<u8>, AmplifierFlagArity)] = &[
    ("--bundle", Some(b'B'), AmplifierFlagArity::Any),
    ("--provider", Some(b'p'), AmplifierFlagArity::Any),
    ("--model", Some(b'm'), AmplifierFlagArity::Any),
    ("--max-tokens", None, AmplifierFlagArity::Number),
    ("--mode", None, AmplifierFlagArity::OneOf(&["chat", "single"])),
    ("--resume", None, AmplifierFlagArity::Any),
    ("--verbose", Some(b'v'), AmplifierFlagArity::Nothing),
    ("--output-format", None, AmplifierFlagArity::OneOf(&["text", "json", "json-trace"])),
];

/// Reads the arguments after the program's name. The error is click's own sentence; the exit code that goes with it is 2.
pub fn read(args: &[Bytes]) -> Result<AmplifierCall, String> {
    let Some((first, rest)) = args.split_first() else { return Ok(AmplifierCall::Help) };
    match first.0.as_slice() {
        b"run" => read_run(rest),
        b"--version" => Ok(AmplifierCall::Version),
        b"--help" => Ok(AmplifierCall::Help),
        option if option.starts_with(b"-") => Err(format!("No such option: {}", first.lossy())),
        _ => Err(format!("No such command '{}'.", first.lossy())),
    }
}

fn read_run(args: &[Bytes]) -> Result<AmplifierCall, String> {
    let mut accepted = Accepted::default();
    let mut words: Vec<Bytes> = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.0.as_slice() {
            b"--" => words.extend(args.by_ref().cloned()),
            b"--help" => return Ok(AmplifierCall::Help),
            long if long.starts_with(b"--") => read_long(arg, &mut args, &mut accepted)?,
            [b'-', _, ..] => read_short(arg, &mut args, &mut accepted)?,
            _ => words.push(arg.clone()),
        }
    }
    let mut words = words.into_iter();
    accepted.prompt = words.next();
    let extra: Vec<String> = words.map(|word| word.lossy()).collect();
    match extra.len() {
        0 => Ok(AmplifierCall::Run(accepted)),
        1 => Err(format!("Got unexpected extra argument ({})", extra.join(" "))),
        _ => Err(format!("Got unexpected extra arguments ({})", extra.join(" "))),
    }
}

type Args<'a> = std::slice::Iter<'a, Bytes>;

fn read_long(arg: &Bytes, args: &mut Args<'_>, accepted: &mut Accepted) -> Result<(), String> {
    let (name, inline) = match arg.0.iter().position(|byte| *byte == b'=') {
        Some(at) => (&arg.0[..at], Some(Bytes(arg.0[at + 1..].to_vec()))),
        None => (arg.0.as_slice(), None),
    };
    let Some((name, _, takes)) = OPTIONS.iter().find(|(long, ..)| long.as_bytes() == name) else {
        return Err(format!("No such option: {}", Bytes(name.to_vec()).lossy()));
    };
    if matches!(takes, AmplifierFlagArity::Nothing) {
        if inline.is_some() {
            return Err(format!("Option '{name}' does not take a value."));
        }
        accepted.options.push(((*name).to_owned(), Bytes::from("")));
        return Ok(());
    }
    let value = inline.or_else(|| args.next().cloned());
    push(name, takes, value, accepted)
}

fn read_short(arg: &Bytes, args: &mut Args<'_>, accepted: &mut Accepted) -> Result<(), String> {
    for (at, letter) in arg.0.iter().enumerate().skip(1) {
        let Some((name, _, takes)) = OPTIONS.iter().find(|(_, short, _)| *short == Some(*letter)) else {
            return Err(format!("No such option: -{}", char::from(*letter)));
        };
        if matches!(takes, AmplifierFlagArity::Nothing) {
            accepted.options.push(((*name).to_owned(), Bytes::from("")));
            continue;
        }
        let rest = &arg.0[at + 1..];
        let value = if rest.is_empty() { args.next().cloned() } else { Some(Bytes(rest.to_vec())) };
        return push(name, takes, value, accepted);
    }
    Ok(())
}

fn push(
    name: &str,
    takes: &AmplifierFlagArity,
    value: Option<Bytes>,
    accepted: &mut Accepted,
) -> Result<(), String> {
    let value = value.ok_or_else(|| format!("Option '{name}' requires an argument."))?;
    let text = value.lossy();
    match takes {
        AmplifierFlagArity::Number if text.trim().parse::<i64>().is_err() => {
            return Err(format!("Invalid value for '{name}': '{text}' is not a valid integer."));
        }
        AmplifierFlagArity::OneOf(choices) if !choices.contains(&text.as_str()) => {
            let choices: Vec<String> = choices.iter().map(|choice| format!("'{choice}'")).collect();
            return Err(format!(
                "Invalid value for '{name}': '{text}' is not one of {}.",
                choices.join(", ")
            ));
        }
        _ => {}
    }
    accepted.options.push((name.to_owned(), value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Accepted, AmplifierCall, read};
    use crate::Bytes;

    fn call(args: &[&str]) -> Result<AmplifierCall, String> {
        read(&args.iter().map(|arg| Bytes::from(*arg)).collect::<Vec<_>>())
    }

    fn run(args: &[&str]) -> Accepted {
        match call(args) {
            Ok(AmplifierCall::Run(accepted)) => accepted,
            other => panic!("{args:?}: {other:?}"),
        }
    }

    #[test]
    fn documented_spellings_are_accepted() {
        for args in [
            &["run", "-p", "anthropic", "-m", "opus", "do it"][..],
            &["run", "do it", "--provider=anthropic", "--model", "opus"],
            &["run", "-panthropic", "-vm", "opus", "--", "do it"],
        ] {
            let accepted = run(args);
            assert_eq!(accepted.prompt, Some(Bytes::from("do it")), "{args:?}");
            assert_eq!(accepted.option("--provider"), Some(&Bytes::from("anthropic")), "{args:?}");
            assert_eq!(accepted.option("--model"), Some(&Bytes::from("opus")), "{args:?}");
        }
        assert_eq!(run(&["run"]).prompt, None);
        assert_eq!(run(&["run", "--", "-x"]).prompt, Some(Bytes::from("-x")));
        assert_eq!(run(&["run", "-"]).prompt, Some(Bytes::from("-")));
        assert_eq!(call(&["--version"]), Ok(AmplifierCall::Version));
        assert_eq!(call(&["run", "--help"]), Ok(AmplifierCall::Help));
    }

    #[test]
    fn everything_else_is_refused() {
        for (args, part) in [
            (&["run", "-x"][..], "No such option: -x"),
            (&["run", "--prompt", "x"], "No such option: --prompt"),
            (&["run", "--prov", "x"], "No such option: --prov"),
            (&["run", "a", "b"], "unexpected extra argument (b)"),
            (&["run", "--mode", "headless"], "not one of 'chat', 'single'"),
            (&["run", "--max-tokens", "many"], "not a valid integer"),
            (&["run", "--resume"], "requires an argument"),
            (&["run", "--verbose=1"], "does not take a value"),
            (&["prompt"], "No such command 'prompt'"),
            (&["-p", "x"], "No such option: -p"),
        ] {
            let error = call(args).unwrap_err();
            assert!(error.contains(part), "{args:?}: {error}");
        }
    }
}
