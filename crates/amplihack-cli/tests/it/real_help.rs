//! The help of the installed agents, against what is known of their own commands and flags: a new one fails here.

use std::collections::BTreeSet;

use amplihack_agent::grammar::ArgumentGrammar;
use amplihack_agent::{AgentBinary, AgentSubcommand, GuardState, agent_profile};
use amplihack_probe::model::ModelScript;

use crate::world::{World, real};

/// Commands and flags of one help page.
#[derive(Default)]
struct Listed {
    commands: BTreeSet<String>,
    /// Each flag, and what stands behind it.
    flags: Vec<(String, String)>,
}

fn listed(agent: AgentBinary, help: &str) -> Listed {
    let mut found = Listed::default();
    let mut commands = false;
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim_start();
        if indent == 0 {
            commands = if text.is_empty() { commands } else { text == "Commands:" };
        } else if text.starts_with('-') && !text.starts_with("- ") && indent < 8 {
            let (names, value) = split_flag(text);
            found.flags.extend(names.into_iter().map(|name| (name, value.clone())));
        } else if commands && indent <= 4 {
            let text = text.strip_prefix(&format!("{agent} ")).unwrap_or(text);
            let names = text.split_whitespace().next().unwrap_or_default();
            found.commands.extend(names.split('|').filter(|name| !name.starts_with('[')).map(str::to_owned));
        }
    }
    found
}

/// The names of a flag, and the value that its help shows.
fn split_flag(text: &str) -> (Vec<String>, String) {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        names.push(rest[..end].to_owned());
        match rest[end..].strip_prefix(", ") {
            Some(more) if more.starts_with('-') => rest = more,
            _ => {
                let behind = rest[end..].strip_prefix(' ').unwrap_or_default();
                let value = behind.split("  ").next().unwrap_or_default().trim();
                let is_value = value.starts_with(['<', '[']);
                return (names, if is_value { value.to_owned() } else { String::new() });
            }
        }
    }
}

fn known_flags(grammar: &ArgumentGrammar) -> Vec<&'static str> {
    let lists = [
        grammar.headless_flags,
        grammar.value_flags,
        grammar.optional_value_flags,
        grammar.variadic_flags,
        grammar.switches,
        grammar.information_flags,
        grammar.serving_flags,
    ];
    let prompts = grammar.prompt_flags.iter().map(|flag| flag.flag);
    lists.iter().copied().flatten().copied().chain(prompts).collect()
}

/// Reports whether `flag` is read as its help shows it: with a value, with several, with one that may be missing, or with none.
fn reads(grammar: &ArgumentGrammar, flag: &str, value: &str) -> bool {
    let is = |list: &[&str]| list.contains(&flag);
    let prompt = grammar.prompt_flags.iter().any(|known| known.flag == flag);
    if prompt || is(grammar.headless_flags) || is(grammar.information_flags) {
        return true;
    }
    if value.contains("...") {
        is(grammar.variadic_flags)
    } else if value.starts_with('[') {
        is(grammar.optional_value_flags)
    } else if value.starts_with('<') {
        // One that may be repeated is shown with dots by some, and may take several words.
        is(grammar.value_flags) || is(grammar.variadic_flags)
    } else {
        is(grammar.switches)
    }
}

fn compare(
    world: &World,
    agent: AgentBinary,
    path: &[&'static AgentSubcommand],
    below: &[AgentSubcommand],
    wrong: &mut Vec<String>,
) {
    let program = real(agent).unwrap();
    let words: Vec<&str> = path.iter().map(|command| command.name()).chain(["--help"]).collect();
    let output = world.sandbox.run(&program, &words);
    let help = format!("{}{}", output.stdout_text(), output.stderr_text());
    let found = listed(agent, &help);
    let grammar = &agent_profile(agent).grammar;
    let known = known_flags(grammar);
    let line = words.join(" ");
    // A row for a command in which no guard is needed, or none is, is one for everything below it too.
    let open = path.last().is_none_or(|command| command.state == GuardState::InForce);
    for (flag, value) in found.flags.iter().filter(|_| open) {
        let of_the_path = path.iter().any(|command| command.flags.contains(&flag.as_str()));
        if !of_the_path && !known.contains(&flag.as_str()) {
            wrong.push(format!("{agent} {line}: {flag} is not known"));
        } else if path.is_empty() && agent != AgentBinary::Gemini && !reads(grammar, flag, value) {
            wrong.push(format!("{agent} {line}: {flag} {value} is read otherwise"));
        }
    }
    let names: BTreeSet<&str> = below.iter().flat_map(|command| command.names.iter().copied()).collect();
    for command in &found.commands {
        if open && !names.contains(command.as_str()) {
            wrong.push(format!("{agent} {line}: the command {command} is not known"));
        }
    }
    for command in below {
        // Claude's help does not show this one.
        let shown =
            command.names.iter().any(|name| found.commands.contains(*name)) || command.name() == "help";
        if !shown {
            wrong.push(format!("{agent} {line}: the command {} is gone", command.name()));
        }
    }
    for flag in path.last().iter().flat_map(|command| command.flags) {
        if !found.flags.iter().any(|(name, _)| name == flag) && !is_of_a_level_below(agent, flag) {
            wrong.push(format!("{agent} {line}: {flag} is gone"));
        }
    }
    if path.is_empty() {
        assert!(found.flags.len() > 10, "the help was not read: {help}");
    }
}

/// Codex shows this one for two of its commands only; the rows of all that pick a session are one.
fn is_of_a_level_below(agent: AgentBinary, flag: &str) -> bool {
    agent == AgentBinary::Codex && flag == "--include-non-interactive"
}

fn walk(
    world: &World,
    agent: AgentBinary,
    path: &mut Vec<&'static AgentSubcommand>,
    below: &'static [AgentSubcommand],
    wrong: &mut Vec<String>,
) {
    compare(world, agent, path, below, wrong);
    for command in below {
        if command.state != GuardState::InForce && command.commands.is_empty() {
            continue;
        }
        path.push(command);
        walk(world, agent, path, command.commands, wrong);
        path.pop();
    }
}

fn every_word_is_known(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        let mut wrong = Vec::new();
        walk(world, agent, &mut Vec::new(), agent_profile(agent).grammar.commands, &mut wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn every_command_and_flag_of_claudes_help_has_a_row() {
    every_word_is_known(AgentBinary::Claude);
}

#[test]
fn every_command_and_flag_of_codexs_help_has_a_row() {
    every_word_is_known(AgentBinary::Codex);
}

#[test]
fn every_command_and_flag_of_copilots_help_has_a_row() {
    every_word_is_known(AgentBinary::Copilot);
}

#[test]
fn every_command_and_flag_of_geminis_help_has_a_row() {
    every_word_is_known(AgentBinary::Gemini);
}

/// A flag or a command that nobody knows is found in the help's own form.
#[test]
fn a_new_word_in_a_help_is_seen() {
    let help = "Usage: x\n\nOptions:\n  -n, --brand-new <v>  text\n      --other [<x>]\n\nCommands:\n  old  text\n  new|newer [options]  text\n";
    let found = listed(AgentBinary::Codex, help);
    assert_eq!(found.commands, ["new", "newer", "old"].map(str::to_owned).into());
    let flags: Vec<_> = found.flags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(flags, [("-n", "<v>"), ("--brand-new", "<v>"), ("--other", "[<x>]")]);
}
