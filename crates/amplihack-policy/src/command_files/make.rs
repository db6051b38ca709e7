//! Makefiles: the recipes of their targets, with what their own variables stand for.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::EmbeddedCommand;

/// Variables that are put into each other.
const DEPTH: usize = 8;
/// Bytes of all recipes with variables put in.
const LONGEST: usize = 1 << 20;
/// Variables of one makefile that are put in, and targets that are followed.
const STEPS: usize = 20_000;

/// The variables of a makefile, and how much more of them is put in.
struct MakeVariables {
    values: BTreeMap<String, String>,
    steps: Cell<usize>,
    bytes: Cell<usize>,
}

impl MakeVariables {
    /// Takes `bytes` and one step from the budget; false if not enough is left.
    fn try_spend(&self, bytes: usize) -> bool {
        let left = self.steps.get() > 0 && self.bytes.get() >= bytes;
        if left {
            self.steps.set(self.steps.get() - 1);
            self.bytes.set(self.bytes.get() - bytes);
        }
        left
    }
}

/// A rule of a makefile: targets, prerequisites and recipe.
struct MakefileRule {
    targets: Vec<String>,
    needs: Vec<String>,
    recipe: Vec<String>,
}

/// The recipe of every target, and commands that run while the makefile is read.
pub(super) fn makefile_commands(text: &str) -> Vec<EmbeddedCommand> {
    let (rules, variables) = read_makefile(text);
    let mut found: Vec<EmbeddedCommand> = read_time(text)
        .map(|command| EmbeddedCommand::new("", expand_variables(&command, &variables, DEPTH)))
        .collect();
    for rule in &rules {
        let script = recipe_script(rule, &variables);
        if !script.trim().is_empty() {
            found.push(EmbeddedCommand::new(rule.targets.join(" "), script));
        }
    }
    found
}

/// The commands of `make TARGETS`: the recipes of these targets, or of the first one if none is given, and of their prerequisites.
pub(super) fn target_commands(text: &str, targets: &[String]) -> Vec<EmbeddedCommand> {
    let (rules, _) = read_makefile(text);
    let mut by_target: BTreeMap<&str, Vec<&MakefileRule>> = BTreeMap::new();
    for rule in &rules {
        for target in &rule.targets {
            by_target.entry(target).or_default().push(rule);
        }
    }
    let patterns: Vec<&MakefileRule> =
        rules.iter().filter(|rule| rule.targets.iter().any(|name| name.contains('%'))).collect();
    let first = rules.iter().flat_map(|rule| &rule.targets).find(|name| !name.starts_with('.'));
    let mut open: Vec<&str> = targets.iter().map(String::as_str).collect();
    if targets.is_empty() {
        open.extend(first.map(String::as_str));
    }
    open.extend(patterns.iter().flat_map(|rule| &rule.needs).map(String::as_str));
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(target) = open.pop().filter(|_| seen.len() < STEPS) {
        if seen.insert(target) {
            let of_it = by_target.get(target).into_iter().flatten();
            open.extend(of_it.flat_map(|rule| &rule.needs).map(String::as_str));
        }
    }
    // In the order of the makefile.
    let runs = |name: &str| name.contains('%') || seen.contains(name);
    let all = makefile_commands(text).into_iter();
    all.filter(|command| command.entry.is_empty() || command.entry.split(' ').any(runs)).collect()
}

fn recipe_script(rule: &MakefileRule, variables: &MakeVariables) -> String {
    let lines = rule.recipe.iter().map(|line| {
        let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
        let line = line.replace("$@", rule.targets.first().map_or("target", String::as_str));
        expand_variables(&line, variables, DEPTH)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn read_makefile(text: &str) -> (Vec<MakefileRule>, MakeVariables) {
    let mut rules: Vec<MakefileRule> = Vec::new();
    let mut variables =
        MakeVariables { values: BTreeMap::new(), steps: Cell::new(STEPS), bytes: Cell::new(LONGEST) };
    let joined = text.replace("\\\n", "\u{1}");
    for line in joined.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = rules.last_mut() {
                rule.recipe.push(recipe.replace('\u{1}', "\\\n"));
            }
            continue;
        }
        let line = line.replace('\u{1}', " ");
        let line = line.split(" #").next().unwrap_or_default();
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = parse_assignment(line) {
            variables.values.insert(name.to_owned(), value.to_owned());
        } else if let Some((targets, rest)) = line.split_once(':') {
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let words = |text: &str| -> Vec<String> {
                expand_variables(text.trim_start_matches(':'), &variables, DEPTH)
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect()
            };
            let recipe = Some(recipe.trim()).filter(|recipe| !recipe.is_empty()).map(str::to_owned);
            rules.push(MakefileRule {
                targets: words(targets),
                needs: words(needs),
                recipe: recipe.into_iter().collect(),
            });
        }
    }
    (rules, variables)
}

fn parse_assignment(line: &str) -> Option<(&str, &str)> {
    let at = line.find('=')?;
    let name = line[..at].trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").or_else(|| name.strip_prefix("override ")).unwrap_or(name).trim();
    let plain = !name.is_empty() && name.chars().all(|ch| ch.is_alphanumeric() || "_-.".contains(ch));
    plain.then(|| (name, line[at + 1..].trim()))
}

/// `$(shell …)` outside of recipes, and `!=`.
fn read_time(text: &str) -> impl Iterator<Item = String> + '_ {
    let lines = text.lines().filter(|line| !line.starts_with('\t'));
    lines.filter_map(|line| {
        if let Some((_, command)) = line.split_once("!=") {
            return Some(command.trim().to_owned());
        }
        let rest = line.split_once("$(shell ")?.1;
        let mut depth = 1_usize;
        let end = rest.char_indices().find_map(|(at, ch)| {
            match ch {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at)
        });
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    })
}

/// A text with make's variables put in; one that the makefile does not set becomes a variable of the shell.
fn expand_variables(text: &str, variables: &MakeVariables, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(next) = rest.chars().next() else { break };
        let close = match next {
            '$' => {
                out.push('$');
                rest = &rest[1..];
                continue;
            }
            '(' => ')',
            '{' => '}',
            other => {
                out.push_str("automatic");
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        let (name, behind) = rest[1..].split_once(close).unwrap_or((&rest[1..], ""));
        rest = behind;
        match variables.values.get(name) {
            Some(value) if depth > 0 && variables.try_spend(value.len()) => {
                out.push_str(&expand_variables(value, variables, depth - 1));
            }
            _ if name == "MAKE" => out.push_str("make"),
            _ if name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') => {
                out.extend(["${", name, "}"]);
            }
            // A function of make's own.
            _ => out.push_str("expression"),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "B = build\nX := $(B)/x\nall: lib app\nlib:\n\t@rm -rf $(X)\nclean: ; rm -rf $(B) $(NO)\napp: lib\n\tcc -o $@ \\\n\t  a.c $$HOME\nV := $(shell git describe)\n";

    #[test]
    fn recipes_are_scripts_with_their_variables() {
        let found: Vec<_> =
            makefile_commands(TEXT).into_iter().map(|command| (command.entry, command.script)).collect();
        let expected = [
            ("", "git describe"),
            ("lib", "rm -rf build/x"),
            ("clean", "rm -rf build ${NO}"),
            ("app", "cc -o app \\\n\t  a.c $HOME"),
        ];
        assert_eq!(found, expected.map(|(entry, script)| (entry.to_owned(), script.to_owned())));
    }

    #[test]
    fn a_target_runs_what_it_needs() {
        let of = |targets: &[&str]| -> Vec<String> {
            let targets: Vec<String> = targets.iter().map(|name| (*name).to_owned()).collect();
            target_commands(TEXT, &targets).into_iter().map(|command| command.entry).collect()
        };
        assert_eq!(of(&[]), ["", "lib", "app"]);
        assert_eq!(of(&["clean"]), ["", "clean"]);
    }
}
