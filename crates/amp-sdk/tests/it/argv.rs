//! The command lines of the shared cases.

use std::path::Path;

use amp_sdk::{AmpPrompt, ContinueThread, McpConfig, Options, Permission, create_user_message, plan_run};
use serde_json::Value;

use crate::fake::{Fake, cases};

/// Options as the cases write them.
fn options(fake: &Fake, given: &Value) -> Options {
    let mut options = fake.options();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for (key, value) in given.as_object().unwrap() {
        match key.as_str() {
            _ if value.is_null() => {}
            "thinking" => options.thinking = value == true,
            "dangerously_allow_all" => options.dangerously_allow_all = value.as_bool(),
            "no_ide" => options.no_ide = value == true,
            "no_notifications" => options.no_notifications = value == true,
            "no_color" => options.no_color = value == true,
            "no_jetbrains" => options.no_jetbrains = value == true,
            "continue_thread" => {
                options.continue_thread = match value {
                    Value::Bool(true) => Some(ContinueThread::Last),
                    Value::String(id) => Some(id.as_str().into()),
                    _ => None,
                };
            }
            "visibility" => options.visibility = text(value),
            "log_level" => options.log_level = text(value),
            "log_file" => options.log_file = text(value).map(Into::into),
            "mode" => options.mode = text(value),
            "settings_file" => options.settings_file = text(value).map(Into::into),
            "skills" => options.skills = text(value),
            "toolbox" => options.toolbox = text(value).map(Into::into),
            "cwd" => options.cwd = text(value).map(Into::into),
            "labels" => options.labels = value.as_array().unwrap().iter().filter_map(text).collect(),
            "mcp_config" => options.mcp_config = Some(McpConfig::try_from(value.clone()).unwrap()),
            "permissions" => {
                let rules = value.as_array().unwrap().iter();
                options =
                    options.with_permissions(rules.map(|rule| Permission::try_from(rule.clone()).unwrap()));
            }
            "env" => {
                let variables = value.as_object().unwrap().iter();
                options.env = variables.map(|(name, value)| (name.clone(), text(value).unwrap())).collect();
            }
            other => panic!("the cases know an option {other} that this test does not"),
        }
    }
    options
}

fn prompt(input: &Value) -> AmpPrompt {
    match input {
        Value::String(text) => text.as_str().into(),
        Value::Array(texts) => {
            texts.iter().map(|text| create_user_message(text.as_str().unwrap())).collect::<Vec<_>>().into()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn command_lines_are_those_of_the_cases() {
    let fake = Fake::new("exit 0");
    let rows = cases("argv_cases.jsonl");
    assert!(rows.len() >= 40, "only {} cases", rows.len());
    for row in rows {
        let (id, expected) = (&row["id"], &row["rust_recommended"]);
        let planned = plan_run(&prompt(&row["input"]), &options(&fake, &row["options"]));
        if let Some(argv) = expected["argv"].as_array() {
            let planned = planned.unwrap_or_else(|error| panic!("{id}: {error}"));
            let found: Vec<&str> = planned.argv.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(found, argv.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>(), "{id}");
            assert_eq!(planned.program.as_deref(), Some(Path::new(&fake.path("amp"))));
            // A note is about something that is not as it seems, so that the caller hears of it.
            let notes = expected["notes"].as_array().map_or(0, Vec::len);
            assert_eq!(planned.warnings.len(), notes, "{id}: {:?}", planned.warnings);
            continue;
        }
        // The cases name the option behind the kind. What they call invalid input has the kind of all of them here.
        let (_, about) = expected["error"].as_str().unwrap().split_once(": ").unwrap();
        let error = planned.expect_err("the cases refuse it");
        assert_eq!(error.kind(), "invalid_configuration", "{id}");
        let name = about.split_whitespace().next().unwrap();
        assert!(error.to_string().contains(name), "{id}: {error}");
    }
}
