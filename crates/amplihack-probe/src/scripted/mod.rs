//! The scripted agent: a real program with the headless command line of Claude Code, for machines without any agent.
//!
//! It asks the model at `ANTHROPIC_BASE_URL`, which must be on this machine, runs the shell commands that the model
//! calls for unless a hook of a plugin stops them, and prints what Claude Code would print. Flags that it does not know it
//! refuses.

mod args;
mod client;
mod hooks;
mod output;
mod tool;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;

use amplihack_config::env::Env;
use serde_json::{Value, json};

use args::{ScriptedCommand, ScriptedOptions};
use client::{ScriptedModelClient, ScriptedModelError};
use hooks::ScriptedHooks;
use output::ScriptedPrinter;

/// The version that the scripted agent reports: no release of Claude Code has it.
pub const VERSION: &str = "9.9.9";

/// Most model turns of one prompt; a model that never stops calling tools ends here.
const MAX_TURNS: usize = 200;
/// The most that is read as a prompt, as Claude Code takes no more.
const MAX_STDIN: u64 = 10 << 20;

/// The streams of the process.
pub struct ScriptedStreams<'a> {
    /// The stream with the prompt, if that is not among the arguments.
    pub stdin: &'a mut dyn Read,
    /// Answers and events.
    pub stdout: &'a mut dyn Write,
    /// Complaints.
    pub stderr: &'a mut dyn Write,
}

impl std::fmt::Debug for ScriptedStreams<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// The name under which this program is the scripted agent.
pub const PROGRAM: &str = "amplihack-scripted-agent";

/// Runs the scripted agent if the program was started under its name; `None` otherwise.
///
/// `args` with the program's name first, as the system gives them.
pub fn run_if_named(args: &[OsString], env: &Env) -> Option<u8> {
    let (program, args) = args.split_first()?;
    if Path::new(program).file_name()? != PROGRAM {
        return None;
    }
    let mut streams =
        ScriptedStreams { stdin: &mut io::stdin(), stdout: &mut io::stdout(), stderr: &mut io::stderr() };
    Some(main(args.to_vec(), env, &mut streams))
}

/// Runs the agent with these arguments, without the program's name, and returns its exit code: 0 or 1.
///
/// `env` decides where the model is (`ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY`) and becomes the environment of the
/// tool calls. With the prompt among the arguments stdin is not read.
pub fn main(args: Vec<OsString>, env: &Env, streams: &mut ScriptedStreams<'_>) -> u8 {
    let outcome = match args::parse_args(args) {
        Ok(ScriptedCommand::Version) => {
            writeln!(streams.stdout, "{VERSION} (amplihack scripted agent)").map(|()| 0)
        }
        Ok(ScriptedCommand::Run(options)) => run_prompt(&options, env, streams),
        Err(complaint) => writeln!(streams.stderr, "error: {complaint}").map(|()| 1),
    };
    // A closed stdout or stderr leaves nobody to tell.
    outcome.and_then(|code| streams.stdout.flush().map(|()| code)).unwrap_or(1)
}

fn run_prompt(options: &ScriptedOptions, env: &Env, streams: &mut ScriptedStreams<'_>) -> io::Result<u8> {
    let complain =
        |stderr: &mut dyn Write, complaint: &str| writeln!(stderr, "Error: {complaint}").map(|()| 1);
    let prompt = match &options.prompt {
        Some(prompt) => prompt.clone(),
        None => match read_prompt(streams.stdin)? {
            Some(prompt) => prompt,
            None => {
                return complain(
                    streams.stderr,
                    "the prompt on stdin is larger than 10 MiB; make it shorter",
                );
            }
        },
    };
    if prompt.trim().is_empty() {
        let text = "Input must be provided either through stdin or as a prompt argument when using --print";
        return complain(streams.stderr, text);
    }
    let client = match ScriptedModelClient::new(env, &options.model) {
        Ok(client) => client,
        Err(complaint) => return complain(streams.stderr, &complaint),
    };
    let hooks = match ScriptedHooks::load(&options.plugins, options.settings.as_deref()) {
        Ok(hooks) => hooks,
        Err(complaint) => return complain(streams.stderr, &complaint),
    };
    let printer = ScriptedPrinter::new(options, streams.stdout);
    ScriptedSession { options, env, client, hooks, printer, denials: Vec::new() }.run_conversation(&prompt)
}

/// The prompt on stdin, `None` if it is too long. What is not UTF-8 is replaced, as Claude Code does.
fn read_prompt(stdin: &mut dyn Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    stdin.take(MAX_STDIN + 1).read_to_end(&mut bytes)?;
    let fits = bytes.len() as u64 <= MAX_STDIN;
    Ok(fits.then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A session from its prompt to the result.
struct ScriptedSession<'a> {
    options: &'a ScriptedOptions,
    env: &'a Env,
    client: ScriptedModelClient,
    hooks: ScriptedHooks,
    printer: ScriptedPrinter<'a>,
    denials: Vec<Value>,
}

impl ScriptedSession<'_> {
    fn run_conversation(mut self, prompt: &str) -> io::Result<u8> {
        self.printer.print_init()?;
        let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": prompt}]})];
        for _ in 0..MAX_TURNS {
            let message = match self.client.request_message(&messages) {
                Ok(message) => message,
                Err(error) => return self.finish_failed(&error),
            };
            self.printer.print_assistant(&message)?;
            let results = self.run_tool_calls(&message);
            messages.push(json!({"role": "assistant", "content": message["content"]}));
            if results.is_empty() {
                self.printer.print_success(&message, &self.denials)?;
                return Ok(0);
            }
            for result in &results {
                self.printer.print_tool_result(result)?;
            }
            messages.push(json!({"role": "user", "content": results}));
        }
        self.printer.print_out_of_turns(MAX_TURNS, &self.denials)?;
        Ok(1)
    }

    fn finish_failed(mut self, error: &ScriptedModelError) -> io::Result<u8> {
        self.printer.print_api_error(error.status, &format!("API Error: {error}"), &self.denials)?;
        Ok(1)
    }

    /// Runs the tools that a message calls for. A call that a hook stops, or without permission, is answered with a refusal.
    fn run_tool_calls(&mut self, message: &Value) -> Vec<Value> {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut results = Vec::new();
        for call in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let stopped =
                self.hooks.stop_reason(call, self.printer.session(), &self.options.permission_mode, self.env);
            let (content, is_error) = if let Some(reason) = stopped {
                (reason, true)
            } else if self.options.all_permissions {
                tool::run_command(call["input"]["command"].as_str().unwrap_or_default(), self.env)
            } else {
                let denial = json!({"tool_name": call["name"], "tool_use_id": call["id"], "tool_input": call["input"]});
                self.denials.push(denial);
                ("This command requires approval".to_owned(), true)
            };
            results.push(json!({
                "tool_use_id": call["id"],
                "type": "tool_result",
                "content": content,
                "is_error": is_error,
            }));
        }
        results
    }
}
