//! The CLI's tools.

use serde_json::Value;

use crate::capability::Feature;
use crate::manage::{Call, Words, calls};

/// Which tools [`list`](fn@list) and [`show`] mean, and how they answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// As JSON.
    pub json: bool,
    /// Those of this mode, see [`mode`](crate::mode). Default: the CLI's own.
    pub mode: Option<String>,
}

/// How [`run`] calls a tool; older CLIs only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Use {
    /// Only this field of the result.
    pub only: Option<String>,
    /// As it comes.
    pub stream: bool,
    /// The tool's arguments, in this order: a list gives its flag once an element, an object as JSON, `null` nothing.
    pub args: Vec<(String, Value)>,
    /// What the tool reads.
    pub input: Option<String>,
}

fn view(words: Words, view: &View) -> Words {
    words.switch("--json", view.json).option("--mode", view.mode.as_ref())
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

calls! {
    amp;

    /// The active tools, also those of MCP servers, as the CLI prints them.
    list(how: &View) -> String {
        Ok(Call::text(view(Words::new(&["tools", "list"]), how), &[Feature::ToolsList]))
    }

    /// One tool, as the CLI prints it.
    show(name: &str, how: &View) -> String {
        let words = Words::new(&["tools", "show"]).place("name", name);
        Ok(Call::text(view(words, how), &[Feature::ToolsShow]))
    }

    /// Calls a tool. Older CLIs only. Its arguments are on the command line: no place for secrets.
    run(name: &str, how: &Use) -> String {
        let mut words = Words::new(&["tools", "use"])
            .place("name", name)
            .option("--only", how.only.as_ref())
            .switch("--stream", how.stream);
        for (key, value) in &how.args {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(plain).collect(),
                other => plain(other).into_iter().collect::<Vec<_>>(),
            };
            words = words.each(&format!("--{key}"), values);
        }
        let input = how.input.clone().map(String::into_bytes);
        Ok(Call::text(words, &[Feature::ToolsUse]).reading(input))
    }

    /// Makes the skeleton of a toolbox script. Older CLIs only.
    make(name: &str) -> String {
        Ok(Call::text(Words::new(&["tools", "make"]).place("name", name), &[Feature::ToolsMake]))
    }
}
