//! What is known of the CLI, and what the SDK makes of it.

use std::collections::BTreeSet;

use amp_sdk::capability::{CliFeature, FeatureSupport, TABLE};
use amp_sdk::{ContinueThread, McpConfig, Options, create_user_message, plan_run, runtime};
use semver::Version;
use serde_json::json;

use crate::fake::Fake;

/// The flags of these words.
fn flags(options: &Options, prompt: &amp_sdk::AmpPrompt) -> Vec<String> {
    let planned = plan_run(prompt, options).unwrap();
    let words = planned.argv.iter().map(|word| word.to_str().unwrap().to_owned());
    words.filter(|word| word.starts_with("--")).collect()
}

#[test]
fn no_flag_is_given_to_the_cli_without_evidence() {
    let fake = Fake::new("exit 0");
    let everything = fake
        .options()
        .with_mode("high")
        .with_visibility("private")
        .with_continue_thread(ContinueThread::Last)
        .with_settings_file("/s.json")
        .with_log_level("debug")
        .with_log_file("/l")
        .with_mcp_config(McpConfig::try_from(json!({"a": {"command": "x"}})).unwrap())
        .with_labels(["l"])
        .with_features(["fast"])
        .with_no_ide(true)
        .with_no_notifications(true)
        .with_no_color(true)
        .with_no_jetbrains(true)
        .with_no_archive_after_execute(true);
    let mut titled = everything.clone().with_title("t").with_thinking(true);
    titled.continue_thread = None;
    let orb = titled.clone().with_executor("orb").with_project("o/r").with_attach(["a.png"]);
    let runner = titled.clone().with_executor("runner:r").with_runner_dir("/d");
    let messages = vec![create_user_message("x")].into();
    let given: BTreeSet<String> =
        [flags(&everything, &messages), flags(&orb, &"x".into()), flags(&runner, &"x".into())]
            .concat()
            .into_iter()
            .collect();
    // Written down in the help of every CLI; they are no feature of a version.
    let always =
        ["--execute", "--last", "--log-level", "--log-file", "--no-ide", "--no-notifications", "--no-color"];
    let known: BTreeSet<&str> =
        TABLE.iter().filter(|row| row.current.is_usable()).map(|row| row.name).collect();
    for flag in given {
        let is_known = known.contains(flag.as_str()) || always.contains(&flag.as_str());
        assert!(is_known, "{flag} is given to the CLI, and nothing is written down about it");
    }
    for row in TABLE {
        assert!(!row.note.trim().is_empty(), "{} has no evidence", row.name);
        assert!(TABLE.iter().filter(|other| other.feature == row.feature).count() == 1, "{}", row.name);
    }
}

#[test]
fn what_a_version_does_not_have_is_refused_by_name_and_version() {
    let old = Version::new(0, 0, 1_700_000_000);
    for row in TABLE {
        let refused = row.feature.require_in(None);
        assert_eq!(refused.is_ok(), row.current.is_usable(), "{}", row.name);
        if let Err(error) = refused {
            assert_eq!(error.kind(), "unsupported_capability");
            let text = error.to_string();
            assert!(text.contains(row.name) && text.contains("0.0.1790142911"), "{text}");
        }
        assert_eq!(row.feature.require_in(Some(&old)).is_ok(), row.older.is_usable(), "{}", row.name);
    }
    // Written out: what the document has and today's CLI dropped.
    for feature in
        [CliFeature::ThreadsReplay, CliFeature::ToolsUse, CliFeature::Tasks, CliFeature::VisibilityPublic]
    {
        assert_eq!(
            (feature.support_in(None), feature.support_in(Some(&old))),
            (FeatureSupport::Dropped, FeatureSupport::Has)
        );
    }
}

#[test]
fn sessions_have_the_four_capabilities() {
    let names = runtime::capabilities().map(runtime::SessionCapability::as_str);
    assert_eq!(names, ["session_history", "session_resume", "session_pause", "session_intervene"]);
}

#[test]
fn no_system_prompt_is_pretended() {
    let names = runtime::capabilities().map(runtime::SessionCapability::as_str);
    assert!(names.iter().all(|name| !name.contains("prompt")), "{names:?}");
    let error = CliFeature::SystemPrompt.require_in(None).unwrap_err();
    assert_eq!(error.kind(), "unsupported_capability");
    assert!(CliFeature::SystemPrompt.require_in(Some(&Version::new(0, 0, 1))).is_err());
}
