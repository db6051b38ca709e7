//! Source of a prompt: a word, a file, stdin, the agent's own arguments.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;

use amplihack_agent::grammar::{FoundPrompt, UserArguments};
use amplihack_agent::{AgentBinary, RunMode, agent_profile};

use crate::cli::LaunchArgs;
use crate::ui::CommandFailure;

/// The most that is read as a prompt.
const MAX_PROMPT_BYTES: u64 = 64 * 1024 * 1024;

/// The prompt, run mode and arguments that the command line and stdin give together.
#[derive(Debug)]
pub(crate) struct GatheredInput {
    /// The prompt.
    pub prompt: Option<String>,
    /// The run mode.
    pub mode: RunMode,
    /// The user's own arguments, before the agent's verb.
    pub before_verb: Vec<OsString>,
    /// The user's own arguments.
    pub extra: Vec<OsString>,
    /// Nothing was looked for; the arguments pass through.
    pub passthrough: bool,
}

/// The standard streams that are terminals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StandardTerminals {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
}

impl StandardTerminals {
    /// As this process was started.
    pub(crate) fn of_this_process() -> Self {
        Self { stdin: std::io::stdin().is_terminal(), stdout: std::io::stdout().is_terminal() }
    }
}

/// Finds the prompt and the run mode of a launch; reads the prompt file or stdin where that is the prompt.
pub(crate) fn gather_input(
    agent: AgentBinary,
    args: &LaunchArgs,
    terminals: StandardTerminals,
) -> Result<GatheredInput, CommandFailure> {
    let words = args.args.clone();
    let passthrough_mode = if terminals.stdin { RunMode::Interactive } else { RunMode::Headless };
    if args.raw {
        return Ok(pass_through(words, passthrough_mode));
    }
    let own = own_prompt(args)?;
    let found = agent_profile(agent).grammar.read(&words);
    if found.passthrough {
        if own.is_none() {
            return Ok(pass_through(words, passthrough_mode));
        }
        if found.serves {
            return Err(CommandFailure::bad_usage(
                "an agent that serves a protocol takes no prompt",
                "leave the prompt out, or the flag after --",
            ));
        }
        // A prompt was given, so these are arguments for its run.
        return choose_prompt(
            args,
            own,
            UserArguments { rest: words, ..UserArguments::default() },
            terminals,
        );
    }
    if own.is_some() && found.prompt.is_some() {
        return Err(CommandFailure::bad_usage(
            "there are two prompts, one before and one after --",
            "give one of them; arguments of the agent's own go after --",
        ));
    }
    choose_prompt(args, own, found, terminals)
}

fn pass_through(extra: Vec<OsString>, mode: RunMode) -> GatheredInput {
    GatheredInput { prompt: None, mode, before_verb: Vec::new(), extra, passthrough: true }
}

/// A prompt, and whether stdin was read for it.
struct PromptText {
    text: String,
    from_stdin: bool,
}

fn choose_prompt(
    args: &LaunchArgs,
    own: Option<PromptText>,
    found: UserArguments,
    terminals: StandardTerminals,
) -> Result<GatheredInput, CommandFailure> {
    let mut prompt = match (own, found.prompt) {
        (Some(own), _) => Some(own),
        (None, Some(FoundPrompt::Word(word))) => {
            Some(PromptText { text: utf8_text(word, "the prompt")?, from_stdin: false })
        }
        (None, Some(FoundPrompt::Stdin)) => Some(PromptText { text: read_stdin()?, from_stdin: true }),
        (None, None) if !terminals.stdin => Some(PromptText { text: read_stdin()?, from_stdin: true }),
        (None, None) => None,
    };
    if args.stdin
        && let Some(prompt) = prompt.as_mut().filter(|prompt| !prompt.from_stdin)
    {
        if terminals.stdin {
            return Err(CommandFailure::bad_usage(
                "--stdin appends what is piped in, and stdin is a terminal",
                "pipe something into it, or leave --stdin out",
            ));
        }
        let piped = read_stdin()?;
        if !piped.is_empty() {
            prompt.text.push_str("\n\n");
            prompt.text.push_str(&piped);
        }
        prompt.from_stdin = true;
    }
    // Stdin that held the prompt is no terminal to converse on, and stdout that is none has nobody to read a screen.
    let headless = args.print
        || found.mode == Some(RunMode::Headless)
        || prompt.as_ref().is_some_and(|prompt| prompt.from_stdin || !terminals.stdout);
    Ok(GatheredInput {
        prompt: prompt.map(|prompt| prompt.text),
        mode: if headless { RunMode::Headless } else { RunMode::Interactive },
        before_verb: found.before_verb,
        extra: found.rest,
        passthrough: false,
    })
}

/// The prompt of amplihack's own options.
fn own_prompt(args: &LaunchArgs) -> Result<Option<PromptText>, CommandFailure> {
    if let Some(path) = &args.prompt_file {
        let from_stdin = path.as_os_str() == "-";
        let text = read_text(path)?;
        return Ok(Some(PromptText { text, from_stdin }));
    }
    let word = args.prompt.clone().or_else(|| args.word.clone());
    word.map(|word| Ok(PromptText { text: utf8_text(word, "the prompt")?, from_stdin: false })).transpose()
}

fn read_prompt_file(path: &Path) -> Result<String, CommandFailure> {
    let bytes = amplihack_sys::fs::read_limited(path, MAX_PROMPT_BYTES)
        .map_err(|error| CommandFailure::from_io_error(&format!("cannot read {}", path.display()), &error))?;
    utf8_bytes(bytes, &path.display().to_string())
}

/// The text of the file `path`, or of stdin for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, CommandFailure> {
    if path.as_os_str() == "-" { read_stdin() } else { read_prompt_file(path) }
}

/// The text of a file of tasks, or of stdin for `-`, without a byte order mark.
pub(crate) fn task_text(path: &Path) -> Result<String, CommandFailure> {
    let text = read_text(path)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn read_stdin() -> Result<String, CommandFailure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandFailure::from_io_error("stdin", &error))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        return Err(CommandFailure::bad_input(format!(
            "stdin holds more than {MAX_PROMPT_BYTES} bytes, too much for a prompt"
        )));
    }
    utf8_bytes(bytes, "stdin")
}

/// `word` as text.
pub(crate) fn utf8_text(word: OsString, what: &str) -> Result<String, CommandFailure> {
    utf8_bytes(word.into_encoded_bytes(), what)
}

fn utf8_bytes(bytes: Vec<u8>, what: &str) -> Result<String, CommandFailure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        CommandFailure::bad_usage(
            format!("{what} is not UTF-8 at byte {offset}"),
            "a prompt is text; convert it, for example with iconv",
        )
    })
}
