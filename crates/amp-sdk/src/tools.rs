//! The CLI's tools.

use serde_json::Value;

use crate::capability::CliFeature;
use crate::manage::{CommandWords, ManagementCall, calls};
use crate::setters::setters;

/// The tools that [`list`](fn@list) and [`show`] return, and the form of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolViewOptions {
    /// As JSON.
    pub json: bool,
    /// Mode whose tools are meant, see [`mode`](crate::mode). Default: the CLI's own.
    pub mode: Option<String>,
}

setters! {
    ToolViewOptions {
        plain(bool) with_json = json,
        into(String) with_mode = mode,
    }
}

/// Arguments and output of a tool call by [`run`]; older CLIs only.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolRunOptions {
    /// Only this field of the result.
    pub only: Option<String>,
    /// As it comes.
    pub stream: bool,
    /// The tool's arguments, in this order: a list gives its flag once an element, an object as JSON, `null` nothing.
    pub args: Vec<(String, Value)>,
    /// Input that the tool reads.
    pub input: Option<String>,
}

setters! {
    ToolRunOptions {
        into(String) with_only = only,
        plain(bool) with_stream = stream,
        plain(Vec<(String, Value)>) with_args = args,
        into(String) with_input = input,
    }
}

fn add_view_flags(words: CommandWords, view: &ToolViewOptions) -> CommandWords {
    words.with_switch("--json", view.json).with_option("--mode", view.mode.as_ref())
}

fn argument_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

calls! {
    amp;

    /// The active tools, also those of MCP servers, as the CLI prints them.
    list(how: &ToolViewOptions) -> String {
        Ok(ManagementCall::new_text(add_view_flags(CommandWords::new(&["tools", "list"]), how), &[CliFeature::ToolsList]))
    }

    /// Returns a tool, as the CLI prints it.
    show(name: &str, how: &ToolViewOptions) -> String {
        let words = CommandWords::new(&["tools", "show"]).with_positional("name", name);
        Ok(ManagementCall::new_text(add_view_flags(words, how), &[CliFeature::ToolsShow]))
    }

    /// Calls a tool. Older CLIs only. Its arguments are on the command line: no place for secrets.
    run(name: &str, how: &ToolRunOptions) -> String {
        let mut words = CommandWords::new(&["tools", "use"])
            .with_positional("name", name)
            .with_option("--only", how.only.as_ref())
            .with_switch("--stream", how.stream);
        for (key, value) in &how.args {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(argument_text).collect(),
                other => argument_text(other).into_iter().collect::<Vec<_>>(),
            };
            words = words.with_each(&format!("--{key}"), values);
        }
        let input = how.input.clone().map(String::into_bytes);
        Ok(ManagementCall::new_text(words, &[CliFeature::ToolsUse]).with_stdin(input))
    }

    /// Makes the skeleton of a toolbox script. Older CLIs only.
    make(name: &str) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["tools", "make"]).with_positional("name", name), &[CliFeature::ToolsMake]))
    }
}
