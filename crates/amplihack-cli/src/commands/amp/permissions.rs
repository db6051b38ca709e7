//! `amplihack amp permissions test`: the evaluator of Amp's permission rules on the command line.

use std::path::PathBuf;

use amp_sdk::Permission;
use amp_sdk::permissions::{
    DelegatePrograms, PermissionEvaluation, PermissionRules, RuleIssue, check_rules, in_settings,
};
use amplihack_config::env::Env;
use amplihack_sys::{push_line, push_text};
use clap::Args;
use serde_json::{Map, Value};

use crate::ui::{self, CommandFailure};

/// Message of Amp about rules that it refuses.
const INVALID: &str = "Invalid permissions configuration";

// Options of `amp permissions test`. Those that follow TOOL are found among its arguments, as Amp does.
#[derive(Debug, Args)]
pub(crate) struct PermissionsTestArgs {
    /// The settings file with the rules, as JSON with comments; required
    #[arg(long, value_name = "FILE")]
    settings_file: Option<PathBuf>,
    /// Context of the call: thread or subagent
    #[arg(short, long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The tool's name
    tool: String,
    /// The call's arguments: --KEY VALUE for each
    #[arg(value_name = "--KEY VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// The call that is asked about, after the options are told apart from the call's own arguments.
struct PermissionsQuery {
    settings_file: PathBuf,
    context: Option<String>,
    json: bool,
    tool: String,
    args: Map<String, Value>,
}

impl PermissionsTestArgs {
    /// Reports whether errors are shown as JSON.
    pub(super) fn wants_json(&self) -> bool {
        self.json || self.args.iter().any(|word| word == "--json")
    }

    fn parse_query(self) -> Result<PermissionsQuery, CommandFailure> {
        let json = self.wants_json();
        let (mut file, mut context) = (self.settings_file, self.context);
        let mut rest = Vec::new();
        let mut words = self.args.into_iter();
        while let Some(word) = words.next() {
            let short = word.strip_prefix("-c").filter(|rest| !rest.is_empty());
            let (name, value) = match (short, word.split_once('=')) {
                (Some(value), _) => ("-c", Some(value.to_owned())),
                (None, Some((name, value))) => (name, Some(value.to_owned())),
                (None, None) => (word.as_str(), None),
            };
            let mut value = || {
                let next = value.clone().or_else(|| words.next());
                next.ok_or_else(|| CommandFailure::bad_input(format!("{name} needs a value; give it one")))
            };
            match name {
                "--json" => {}
                "--settings-file" => file = Some(value()?.into()),
                "--context" | "-c" => context = Some(value()?),
                _ => rest.push(word),
            }
        }
        let settings_file = file.ok_or_else(|| {
            CommandFailure::bad_input("no rules are named; give the settings file with --settings-file FILE")
        })?;
        let context = context.filter(|context| !context.is_empty());
        Ok(PermissionsQuery {
            settings_file,
            context,
            json,
            tool: self.tool,
            args: parse_call_arguments(&rest),
        })
    }
}

/// The pairs of `--key value`. As in Amp a flag without a value, or with an empty one, is no argument, nor is any other word.
fn parse_call_arguments(words: &[String]) -> Map<String, Value> {
    let mut args = Map::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(key) = word.strip_prefix("--") else { continue };
        if let Some(value) = words.next_if(|next| !next.is_empty() && !next.starts_with("--")) {
            args.insert(key.to_owned(), value.as_str().into());
        }
    }
    args
}

/// Says what becomes of a call and returns the exit code of `amp permissions test`.
pub(super) fn test_permissions(args: PermissionsTestArgs, env: &Env) -> Result<u8, CommandFailure> {
    let question = args.parse_query()?;
    // Not the error's own exit code: here 2 means that the call is rejected.
    let failed = |error: amp_sdk::Error| CommandFailure::bad_input(error.to_string());
    let rules = in_settings(&question.settings_file).map_err(failed)?;
    let issues = check_rules(&rules);
    if !issues.is_empty() {
        return report_refused_rules(&question, &issues);
    }
    let rules = rules.as_array().into_iter().flatten().cloned().map(Permission::try_from);
    let rules: Vec<Permission> = rules.collect::<Result<_, _>>().map_err(failed)?;
    let delegates = DelegatePrograms::new(env.clone());
    let context = question.context.as_deref();
    let answer = PermissionRules::new(&rules).decide_call_blocking(
        &question.tool,
        &question.args,
        context,
        &delegates,
    );
    if question.json {
        ui::print_data(&format!("{:#}\n", answer.to_value()))?;
    } else {
        ui::print_data(&render_answer(&answer))?;
    }
    Ok(answer.exit_code())
}

/// Rules that Amp refuses: exit code 1, with what is wrong on stdout for programs and on stderr for people.
fn report_refused_rules(question: &PermissionsQuery, issues: &[RuleIssue]) -> Result<u8, CommandFailure> {
    if question.json {
        let mut map = Map::new();
        map.insert("tool".into(), question.tool.clone().into());
        map.insert("arguments".into(), question.args.clone().into());
        if let Some(context) = &question.context {
            map.insert("context".into(), context.clone().into());
        }
        map.insert("success".into(), false.into());
        map.insert("error".into(), INVALID.into());
        map.insert("details".into(), issues.iter().map(RuleIssue::to_value).collect());
        ui::print_data(&format!("{:#}\n", Value::Object(map)))?;
        return Ok(1);
    }
    let mut text = INVALID.to_owned();
    for issue in issues {
        push_text!(text, "\n  {}: {}", issue.path, issue.message);
    }
    Err(CommandFailure::bad_input(text))
}

/// The answer for people, in the lines of `amp permissions test`.
fn render_answer(answer: &PermissionEvaluation) -> String {
    let arguments = Value::Object(answer.arguments.clone());
    let action = answer.action.map_or("null", amp_sdk::PermissionAction::as_str);
    let mut out = format!("tool: {}\narguments: {arguments}\naction: {action}\n", answer.tool.escape_debug());
    if let Some(matched) = &answer.matched {
        push_line!(out, "matched-rule: {}\nsource: {}", matched.index, matched.source.as_str());
    }
    if let Some(error) = answer.error.as_deref().map(str::trim_end).filter(|error| !error.is_empty()) {
        push_line!(out, "error: {error}");
    }
    out
}
