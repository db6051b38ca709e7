//! Where a prompt comes from: a word, a file, stdin, the agent's own arguments.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;

use amplihack_agent::grammar::{Arguments, Found};
use amplihack_agent::{AgentBinary, RunMode, profile};

use crate::cli::LaunchArgs;
use crate::ui::Failure;

/// The most that is read as a prompt.
const MAX_PROMPT_BYTES: u64 = 64 * 1024 * 1024;

/// What the command line and stdin say together.
#[derive(Debug)]
pub(crate) struct Gathered {
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

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminals {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
}

impl Terminals {
    /// As this process was started.
    pub(crate) fn of_this_process() -> Self {
        Self { stdin: std::io::stdin().is_terminal(), stdout: std::io::stdout().is_terminal() }
    }
}

/// Finds the prompt and the run mode of a launch; reads the prompt file or stdin where that is the prompt.
pub(crate) fn gather(
    agent: AgentBinary,
    args: &LaunchArgs,
    terminals: Terminals,
) -> Result<Gathered, Failure> {
    let words = args.args.clone();
    let passthrough_mode = if terminals.stdin { RunMode::Interactive } else { RunMode::Headless };
    if args.raw {
        return Ok(passed_through(words, passthrough_mode));
    }
    let own = own_prompt(args)?;
    let found = profile(agent).grammar.read(&words);
    if found.passthrough {
        if own.is_none() {
            return Ok(passed_through(words, passthrough_mode));
        }
        // A prompt was given, so these are arguments for its run.
        return finish(args, own, Arguments { rest: words, ..Arguments::default() }, terminals);
    }
    if own.is_some() && found.prompt.is_some() {
        return Err(Failure::usage(
            "there are two prompts, one before and one after --",
            "give one of them; arguments of the agent's own go after --",
        ));
    }
    finish(args, own, found, terminals)
}

fn passed_through(extra: Vec<OsString>, mode: RunMode) -> Gathered {
    Gathered { prompt: None, mode, before_verb: Vec::new(), extra, passthrough: true }
}

/// A prompt, and whether stdin was read for it.
struct Prompt {
    text: String,
    from_stdin: bool,
}

fn finish(
    args: &LaunchArgs,
    own: Option<Prompt>,
    found: Arguments,
    terminals: Terminals,
) -> Result<Gathered, Failure> {
    let mut prompt = match (own, found.prompt) {
        (Some(own), _) => Some(own),
        (None, Some(Found::Word(word))) => {
            Some(Prompt { text: utf8(word, "the prompt")?, from_stdin: false })
        }
        (None, Some(Found::Stdin)) => Some(Prompt { text: stdin()?, from_stdin: true }),
        (None, None) if !terminals.stdin => Some(Prompt { text: stdin()?, from_stdin: true }),
        (None, None) => None,
    };
    if args.stdin
        && let Some(prompt) = prompt.as_mut().filter(|prompt| !prompt.from_stdin)
    {
        if terminals.stdin {
            return Err(Failure::usage(
                "--stdin appends what is piped in, and stdin is a terminal",
                "pipe something into it, or leave --stdin out",
            ));
        }
        let piped = stdin()?;
        if !piped.is_empty() {
            prompt.text.push_str("\n\n");
            prompt.text.push_str(&piped);
        }
        prompt.from_stdin = true;
    }
    let headless = args.print
        || found.mode == Some(RunMode::Headless)
        || prompt.as_ref().is_some_and(|prompt| prompt.from_stdin || !terminals.stdout);
    Ok(Gathered {
        prompt: prompt.map(|prompt| prompt.text),
        mode: if headless { RunMode::Headless } else { RunMode::Interactive },
        before_verb: found.before_verb,
        extra: found.rest,
        passthrough: false,
    })
}

/// The prompt of amplihack's own options.
fn own_prompt(args: &LaunchArgs) -> Result<Option<Prompt>, Failure> {
    if let Some(path) = &args.prompt_file {
        let from_stdin = path.as_os_str() == "-";
        let text = text_of(path)?;
        return Ok(Some(Prompt { text, from_stdin }));
    }
    let word = args.prompt.clone().or_else(|| args.word.clone());
    word.map(|word| Ok(Prompt { text: utf8(word, "the prompt")?, from_stdin: false })).transpose()
}

fn file(path: &Path) -> Result<String, Failure> {
    let name = format!("the prompt file {}", path.display());
    let bytes = amplihack_utils::fs::read_limited(path, MAX_PROMPT_BYTES)
        .map_err(|error| Failure::system(&name, &error))?;
    utf8_bytes(bytes, &name)
}

/// The text of the file `path`, or of stdin for `-`.
pub(crate) fn text_of(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" { stdin() } else { file(path) }
}

/// The text of a file of tasks, or of stdin for `-`, without a byte order mark.
pub(crate) fn task_text(path: &Path) -> Result<String, Failure> {
    let text = text_of(path)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::system("stdin", &error))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        return Err(Failure::input(format!(
            "stdin holds more than {MAX_PROMPT_BYTES} bytes, too much for a prompt"
        )));
    }
    utf8_bytes(bytes, "stdin")
}

/// `word` as text.
pub(crate) fn utf8(word: OsString, what: &str) -> Result<String, Failure> {
    utf8_bytes(word.into_encoded_bytes(), what)
}

fn utf8_bytes(bytes: Vec<u8>, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::usage(
            format!("{what} is not UTF-8 at byte {offset}"),
            "a prompt is text; convert it, for example with iconv",
        )
    })
}
