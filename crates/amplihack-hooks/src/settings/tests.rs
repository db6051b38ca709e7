//! Ours in and out of texts as users have them.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::registration::{HookProgram, RegistrationFacts, build_hooks};

fn ours(host: AgentBinary, program: &str) -> SettingsEdit {
    SettingsEdit::Hooks {
        host,
        hooks: build_hooks(host, &HookProgram::from_binary(program), RegistrationFacts::default()).unwrap(),
    }
}

const THEIRS: &str = r#"// mine
{
  "model": "x", // first
  /* many
     lines */
  "hooks": {
    "PreToolUse": [
      // keep this one
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "their-guard --amplihack-hooks"}]},
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "beep"}]}]
  },
  "env": {"A": "1"}
}
"#;

#[test]
fn ours_stand_beside_theirs_and_comments_stay() {
    let edit = ours(AgentBinary::Claude, "/b/amplihack-hooks");
    let text = edit.apply_to(Some(THEIRS)).unwrap();
    insta::assert_snapshot!("beside_theirs", text);
    assert_eq!(edit.apply_to(Some(&text)).unwrap(), text);
    assert_eq!(parse_value(&SettingsUndo::Hooks.strip_from(&text).unwrap().unwrap()), parse_value(THEIRS));
}

#[test]
fn a_new_file_is_whole_and_goes_whole() {
    let edit = ours(AgentBinary::Codex, "/b/amplihack-hooks");
    for current in [None, Some(""), Some("\n")] {
        let text = edit.apply_to(current).unwrap();
        assert!(text.ends_with("}\n") && serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        assert_eq!(SettingsUndo::Hooks.strip_from(&text).unwrap(), None);
    }
}

#[test]
fn what_an_older_installation_left_is_replaced() {
    let old = ours(AgentBinary::Claude, "/old/amplihack-hooks").apply_to(Some(THEIRS)).unwrap();
    let new = ours(AgentBinary::Claude, "/new/amplihack-hooks").apply_to(Some(&old)).unwrap();
    assert!(!new.contains("/old/") && new.contains("/new/") && new.contains("keep this one"), "{new}");
    assert_eq!(find_hooks(&new).unwrap().len(), find_hooks(&old).unwrap().len());
}

#[test]
fn an_event_of_another_version_leaves_nothing() {
    let edit = ours(AgentBinary::Claude, "/b/amplihack-hooks");
    let old = r#"{"hooks": {"Elsewhere": [{"hooks": [{"type": "command", "command": "/b/amplihack-hooks stop"}]}]}}"#;
    let text = edit.apply_to(Some(old)).unwrap();
    assert!(!text.contains("Elsewhere"), "{text}");
    assert_eq!(SettingsUndo::Hooks.strip_from(&text).unwrap(), None);
}

#[test]
fn what_cannot_be_read_for_sure_is_refused_with_its_line() {
    let edit = ours(AgentBinary::Claude, "/b/amplihack-hooks");
    let refused = |text: &str| edit.apply_to(Some(text)).unwrap_err().to_string();
    let all = [
        "{\n\n",
        "{\n  \"a\": }",
        "[]",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{'hooks': {}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{} {}",
    ]
    .map(refused);
    insta::assert_snapshot!("refused", all.join("\n"));
    let codex = ours(AgentBinary::Codex, "/b/amplihack-hooks");
    assert!(codex.apply_to(Some(THEIRS)).unwrap_err().to_string().contains("codex takes no comments"));
}

#[test]
fn a_comment_in_an_empty_list_of_theirs_stays() {
    let claude = ours(AgentBinary::Claude, "/b/amplihack-hooks");
    let theirs = "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      // none yet\n    ]\n  }\n}\n";
    let back = claude.undo_record().strip_from(&claude.apply_to(Some(theirs)).unwrap()).unwrap().unwrap();
    assert!(back.contains("// none yet") && !back.contains("amplihack"), "{back}");
}

#[test]
fn trust_is_added_beside_theirs_and_taken_back_by_its_hash() {
    let config =
        "# mine\nmodel = \"x\" # why\n\n[hooks.state.\"/t:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
    let SettingsEdit::Hooks { hooks, .. } = ours(AgentBinary::Codex, "/b/amplihack-hooks") else {
        unreachable!()
    };
    let text = hooks::apply_hooks(None, AgentBinary::Codex, &hooks).unwrap();
    let entries = trust_entries(Path::new("/h/.codex/hooks.json"), &text).unwrap();
    let edit = SettingsEdit::Trust { entries: entries.clone() };
    let trusted = edit.apply_to(Some(config)).unwrap();
    insta::assert_snapshot!("trust", trusted);
    assert_eq!(edit.apply_to(Some(&trusted)).unwrap(), trusted);
    assert_eq!(edit.undo_record().strip_from(&trusted).unwrap().unwrap(), config);
    for theirs in ["[hooks.state] # why\n", "[hooks]\nstate = {}\n", "hooks = {}\n"] {
        let there = edit.apply_to(Some(theirs)).unwrap();
        assert_eq!(edit.undo_record().strip_from(&there).unwrap().as_deref(), Some(theirs), "{there}");
    }
    let marked = format!("\u{feff}{}", config.replace('\n', "\r\n"));
    let there = edit.apply_to(Some(&marked)).unwrap();
    assert_eq!(there, format!("\u{feff}{}", trusted.replace('\n', "\r\n")));
    assert_eq!(edit.undo_record().strip_from(&there).unwrap().unwrap(), marked);
    let (key, hash) = &entries[0];
    assert_eq!(trust_state(&trusted, key, hash), Ok(TrustState::Trusted));
    assert_eq!(trust_state(&trusted, key, "sha256:0"), Ok(TrustState::Changed));
    assert_eq!(trust_state(config, key, hash), Ok(TrustState::Untrusted));
    let off = trusted.replace("trusted_hash", "enabled = false\ntrusted_hash");
    assert_eq!(trust_state(&off, key, hash), Ok(TrustState::Disabled));
    let theirs = trusted.replace(hash, "sha256:2");
    assert!(edit.undo_record().strip_from(&theirs).unwrap().unwrap().contains("sha256:2"));
    let error = edit.apply_to(Some("a = 1\nb = = 2\n")).unwrap_err();
    assert!(matches!(error, EditError::Syntax { line: 2, .. }), "{error:?}");
}

/// What the real Codex 0.171.0 answered to `hooks/list` for these hooks.
#[test]
fn hashes_are_those_of_the_real_codex() {
    let hooks = r#"{"hooks":{
        "PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"/b/amplihack-hooks pre-tool-use","timeout":10}]}],
        "Stop":[{"matcher":"*","hooks":[{"type":"command","command":"/b/amplihack-hooks stop"}]}]}}"#;
    let entries = trust_entries(Path::new("/h/hooks.json"), hooks).unwrap();
    insta::assert_debug_snapshot!("hashes", entries);
}

#[test]
fn rules_stand_in_front_of_theirs() {
    let rules = vec![serde_json::json!({"tool": "Bash", "action": "reject", "matches": {"cmd": "rm *"}})];
    let edit = SettingsEdit::Rules { rules };
    let text = "{\n  // mine\n  \"amp.permissions\": [{\"tool\": \"Bash\", \"action\": \"allow\"}]\n}\n";
    let changed = edit.apply_to(Some(text)).unwrap();
    let changed_value = parse_value(&changed).unwrap();
    assert_eq!(changed_value["amp.permissions"][0]["action"], "reject");
    assert_eq!(edit.apply_to(Some(&changed)).unwrap(), changed);
    assert_eq!(parse_value(&edit.undo_record().strip_from(&changed).unwrap().unwrap()), parse_value(text));
    assert_eq!(edit.undo_record().strip_from(&edit.apply_to(None).unwrap()).unwrap(), None);
}

#[test]
fn a_block_and_a_plugin_come_and_go() {
    let edit = SettingsEdit::Block { text: "words".into() };
    for text in ["", "# mine\n", "# mine", "a\n\n"] {
        let changed = edit.apply_to(Some(text)).unwrap();
        assert_eq!(edit.apply_to(Some(&changed)).unwrap(), changed);
        let stripped = edit.undo_record().strip_from(&changed).unwrap().unwrap_or_default();
        assert_eq!(stripped.trim_end(), text.trim_end());
    }
    // A mark that lost its other half does not make what stands between it and our block ours.
    let start = "<!-- AMPLIHACK_INSTRUCTIONS_START -->";
    let damaged = [
        format!("{start}\ntheirs\n"),
        "a <!-- AMPLIHACK_INSTRUCTIONS_END -->\ntheirs\n".to_owned(),
        format!("{start} a {start}\ntheirs"),
    ];
    for text in damaged {
        let changed = edit.apply_to(Some(&text)).unwrap();
        assert!(changed.starts_with(&text), "{changed}");
        assert_eq!(edit.apply_to(Some(&changed)).unwrap(), changed);
        assert_eq!(edit.undo_record().strip_from(&changed).unwrap().unwrap().trim_end(), text.trim_end());
    }
    let entry = serde_json::json!({"name": "amplihack", "marketplace": "local", "installed_at": "now"});
    let edit = SettingsEdit::Plugin { entry };
    let text =
        "// head\n{\"installed_plugins\": [{\"name\": \"theirs\", \"source\": {\"a\": 1}}], \"x\": 1}\n";
    let changed = edit.apply_to(Some(text)).unwrap();
    assert!(changed.starts_with("// head") && changed.contains("theirs"));
    assert_eq!(edit.apply_to(Some(&changed)).unwrap(), changed);
    assert_eq!(parse_value(&edit.undo_record().strip_from(&changed).unwrap().unwrap()), parse_value(text));
}

/// A value as users' settings have them, written with comments, commas at the end and any blanks.
fn value_text(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i32>().prop_map(|n| n.to_string()),
        "[a-z \\\\\"é]{0,8}".prop_map(|s| Value::from(s).to_string()),
    ];
    let gap = prop_oneof![Just(""), Just(" "), Just("\n  "), Just(" // c\n"), Just("/* c */")];
    leaf.prop_recursive(depth, 12, 3, move |inner| {
        let (gap, end) = (gap.clone(), prop_oneof![Just(""), Just(",")]);
        let pairs = prop::collection::btree_map("[a-z]{1,4}", inner.clone(), 1..4);
        prop_oneof![
            (prop::collection::vec(inner, 1..3), gap.clone(), end.clone())
                .prop_map(|(items, gap, end)| format!("[{gap}{}{end}{gap}]", items.join(&format!(",{gap}")))),
            (pairs, gap, end).prop_map(|(pairs, gap, end)| {
                let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("\"{k}\":{gap}{v}")).collect();
                format!("{{{gap}{}{end}{gap}}}", pairs.join(&format!(",{gap}")))
            }),
        ]
    })
    .boxed()
}

fn settings() -> impl Strategy<Value = String> {
    let hooks = prop_oneof![
        Just(String::new()),
        Just("\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\":\"command\",\"command\":\"theirs\"}]}]},".to_owned()),
        Just("\"hooks\": { // c\n \"PreToolUse\": [ {\"matcher\":\"Bash\",\"hooks\":[{\"command\":\"a\"},{\"command\":\"b\"}]}, ] },".to_owned()),
    ];
    (
        hooks,
        value_text(3),
        prop_oneof![Just(""), Just("// head\n"), Just("\n")],
        prop_oneof![Just(""), Just("\n")],
    )
        .prop_map(|(hooks, value, head, tail)| format!("{head}{{{hooks} \"other\": {value}}}{tail}"))
}

proptest! {
    #[test]
    fn whatever_users_have_survives(text in settings()) {
        let edit = ours(AgentBinary::Claude, "/b/amplihack-hooks");
        let changed = edit.apply_to(Some(&text)).unwrap();
        crate::registration::verify_registration(&parse_value(&changed).unwrap(), AgentBinary::Claude, Path::new("/s")).unwrap();
        prop_assert_eq!(&edit.apply_to(Some(&changed)).unwrap(), &changed);
        let back = SettingsUndo::Hooks.strip_from(&changed).unwrap().unwrap();
        prop_assert_eq!(parse_value(&back).unwrap(), parse_value(&text).unwrap());
        prop_assert_eq!(back.matches("// c").count(), text.matches("// c").count());
    }
}
