//! The part of Claude Code's command line that the scripted agent takes.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;

/// The request of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScriptedCommand {
    Version,
    Run(ScriptedOptions),
}

/// Options for running a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptedOptions {
    /// The prompt, if it is among the arguments.
    pub prompt: Option<String>,
    pub model: String,
    pub format: ScriptedFormat,
    /// Tool calls run without anybody being asked. There is nobody to ask.
    pub all_permissions: bool,
    /// As the init event names it.
    pub permission_mode: String,
    /// Directories of plugins, whose hooks are called.
    pub plugins: Vec<PathBuf>,
    /// Settings of this run, as JSON.
    pub settings: Option<String>,
}

/// The content of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptedFormat {
    /// The final text.
    Text,
    /// The result event.
    Json,
    /// Every event, a line each.
    StreamJson,
}

/// Flags that take their value behind a `=` too.
const WITH_VALUE: [&str; 5] =
    ["--model", "--output-format", "--permission-mode", "--plugin-dir", "--settings"];
const PERMISSION_MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"];

/// Reads a command line; an error is what the agent complains about.
pub(crate) fn parse_args(args: Vec<OsString>) -> Result<ScriptedCommand, String> {
    let mut args: VecDeque<String> = args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut options = ScriptedOptions {
        prompt: None,
        model: "scripted".to_owned(),
        format: ScriptedFormat::Text,
        all_permissions: false,
        permission_mode: "default".to_owned(),
        plugins: Vec::new(),
        settings: None,
    };
    let (mut print, mut verbose) = (false, false);
    while let Some(arg) = args.pop_front() {
        let (flag, inline) = match arg.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag.to_owned(), Some(value.to_owned())),
            _ => (arg, None),
        };
        if let Some(value) = &inline
            && !WITH_VALUE.contains(&flag.as_str())
        {
            return Err(format!("unknown option '{flag}={value}'"));
        }
        let mut value =
            || inline.clone().or_else(|| args.pop_front()).ok_or(format!("option '{flag}' needs a value"));
        match flag.as_str() {
            "--version" | "-v" => return Ok(ScriptedCommand::Version),
            "-p" | "--print" => print = true,
            "--verbose" => verbose = true,
            // Its messages are short: each comes whole.
            "--include-partial-messages" => {}
            "--dangerously-skip-permissions" => "bypassPermissions".clone_into(&mut options.permission_mode),
            "--model" => options.model = value()?,
            "--output-format" => options.format = parse_format(&value()?)?,
            "--plugin-dir" => options.plugins.push(value()?.into()),
            "--settings" => options.settings = Some(value()?),
            "--permission-mode" => options.permission_mode = permission_mode(value()?)?,
            "--" => {
                for word in args.drain(..) {
                    take_prompt(&mut options, word)?;
                }
            }
            word if word.starts_with('-') && word.len() > 1 => {
                return Err(format!("unknown option '{word}'"));
            }
            word => take_prompt(&mut options, word.to_owned())?,
        }
    }
    if !print {
        return Err("the scripted agent has no interactive session; use --print".to_owned());
    }
    if options.format == ScriptedFormat::StreamJson && !verbose {
        return Err("when using --print, --output-format=stream-json requires --verbose".to_owned());
    }
    options.all_permissions = options.permission_mode == "bypassPermissions";
    Ok(ScriptedCommand::Run(options))
}

fn take_prompt(options: &mut ScriptedOptions, word: String) -> Result<(), String> {
    if options.prompt.is_some() {
        return Err("more than one prompt; quote it".to_owned());
    }
    options.prompt = Some(word);
    Ok(())
}

fn parse_format(value: &str) -> Result<ScriptedFormat, String> {
    match value {
        "text" => Ok(ScriptedFormat::Text),
        "json" => Ok(ScriptedFormat::Json),
        "stream-json" => Ok(ScriptedFormat::StreamJson),
        other => Err(format!(
            "option '--output-format' argument '{other}' is invalid; use text, json or stream-json"
        )),
    }
}

fn permission_mode(value: String) -> Result<String, String> {
    if PERMISSION_MODES.contains(&value.as_str()) {
        Ok(value)
    } else {
        let choices = PERMISSION_MODES.join(", ");
        Err(format!("option '--permission-mode' argument '{value}' is invalid; use one of {choices}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<ScriptedCommand, String> {
        parse_args(line.iter().map(OsString::from).collect())
    }

    fn options(line: &[&str]) -> ScriptedOptions {
        let Ok(ScriptedCommand::Run(options)) = read(line) else { panic!("{line:?}: {:?}", read(line)) };
        options
    }

    #[test]
    fn the_prompt_is_what_follows_the_dashes() {
        assert_eq!(options(&["-p", "--", "-x --model"]).prompt.as_deref(), Some("-x --model"));
        assert_eq!(options(&["-p", "--", "--"]).prompt.as_deref(), Some("--"));
        assert_eq!(options(&["-p", "a=b"]).prompt.as_deref(), Some("a=b"));
        assert_eq!(options(&["--print"]).prompt, None);
        read(&["-p", "one", "two"]).unwrap_err();
        read(&["-p", "--", "one", "two"]).unwrap_err();
    }

    #[test]
    fn flags_are_read_in_both_spellings() {
        let line = [
            "-p",
            "--model=m",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--permission-mode",
            "plan",
        ];
        let read = options(&line);
        assert_eq!((read.model.as_str(), read.format), ("m", ScriptedFormat::StreamJson));
        assert!(!read.all_permissions);
        assert!(options(&["-p", "--dangerously-skip-permissions"]).all_permissions);
        assert!(options(&["-p", "--permission-mode", "bypassPermissions"]).all_permissions);
        assert_eq!(parse_args(vec!["--version".into()]), Ok(ScriptedCommand::Version));
        let read = options(&["-p", "--plugin-dir", "/a", "--plugin-dir=/b", "--settings", "{}"]);
        assert_eq!(read.plugins, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(read.settings.as_deref(), Some("{}"));
    }

    #[test]
    fn what_claude_does_not_know_is_refused() {
        let refused: [&[&str]; 9] = [
            &["-p", "--prompt-file", "f"],
            &["-p", "--verbose=1"],
            &["-p", "-x"],
            &["-p", "--output-format", "xml"],
            &["-p", "--output-format", "stream-json"],
            &["-p", "--permission-mode", "full"],
            &["-p", "--model"],
            &["--", "prompt"],
            &[],
        ];
        for line in refused {
            read(line).unwrap_err();
        }
    }
}
