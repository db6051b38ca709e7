//! `amplihack help`: topics, which are pages of the documentation, and the help of commands.

mod markdown;
mod topics;

use amplihack_config::env::Env;
use clap::{Command, CommandFactory};

use crate::cli::{AmplihackCli, HelpArgs};
use crate::ui::{self, CommandFailure};

use topics::TOPICS;

/// Width of a page, in columns, if nothing else gives one.
const WIDTH: u16 = 100;

/// Prints the list of topics, a topic, a command's help, or both where a topic is called as a command.
pub(crate) fn show_help(args: &HelpArgs, env: &Env) -> Result<u8, CommandFailure> {
    let Some(first) = args.words.first() else {
        ui::print_data(&list_topics())?;
        return Ok(0);
    };
    let given = env.text("COLUMNS").and_then(|text| text.parse().ok());
    let width = given
        .or_else(ui::stdout_width)
        .map_or(WIDTH, |width: usize| u16::try_from(width.clamp(40, 200)).unwrap_or(WIDTH));
    let topic = TOPICS.iter().find(|topic| args.words.len() == 1 && topic.name == first);
    let command = find_command(&args.words);
    let text = match (topic, command) {
        (None, Err(failure)) => return Err(failure),
        (Some(topic), Err(_)) => markdown::render_plain(&topic.text(), width),
        (None, Ok(mut command)) => command.render_long_help().to_string(),
        (Some(topic), Ok(mut command)) => {
            format!("{}\n{}", command.render_long_help(), markdown::render_plain(&topic.text(), width))
        }
    };
    ui::print_data(&text)?;
    Ok(0)
}

/// The command that `words` name, built whole, from the program down.
pub(crate) fn find_command(words: &[String]) -> Result<Command, CommandFailure> {
    let mut command = AmplihackCli::command();
    command.build();
    for word in words {
        let found = command.get_subcommands().find(|below| below.get_name() == word).cloned();
        let Some(mut found) = found else {
            return Err(CommandFailure::bad_usage(
                format!("no help topic or command is named `{}`", words.join(" ")),
                "`amplihack help` lists the topics, `amplihack --help` the commands",
            ));
        };
        found.build();
        command = found;
    }
    Ok(command)
}

/// The words that can stand first behind `help`: topics and commands.
pub(crate) fn completable_words() -> impl Iterator<Item = String> {
    let commands = AmplihackCli::command();
    let commands: Vec<String> = commands
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    TOPICS.iter().map(|topic| topic.name.to_owned()).chain(commands)
}

fn list_topics() -> String {
    let longest = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or_default();
    let lines: Vec<String> =
        TOPICS.iter().map(|topic| format!("  {:longest$}  {}\n", topic.name, topic.about)).collect();
    format!(
        "Topics, for `amplihack help TOPIC`:\n\n{}\nCommands are listed by `amplihack --help`; `amplihack help COMMAND` shows one.\n",
        lines.concat()
    )
}
