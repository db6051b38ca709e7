//! What of a user's settings reaches a throw-away home.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::*;
use crate::loopback::{LoopbackOptions, prepare_loopback};

fn put(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn find(agent: AgentBinary, home: &Path) -> OwnHooks {
    OwnHooks::read_settings(agent, &Env::empty().with_variable("HOME", home)).unwrap()
}

fn read(home: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.join(name)).unwrap()).unwrap()
}

const SECRET: &str = "s3cret";

#[test]
fn a_home_without_hooks_gives_nothing() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), ".claude/settings.json", r#"{"model": "m", "env": {"KEY": "s3cret"}}"#);
    put(home.path(), ".copilot", "a file in the way");
    for agent in AgentBinary::ALL {
        assert!(find(agent, home.path()).is_empty(), "{agent}");
        assert!(OwnHooks::read_settings(agent, &Env::empty()).unwrap().is_empty());
    }
}

#[test]
fn codex_gets_hooks_besides_the_settings_that_point_it_at_the_server() {
    let (user, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = format!(
        "api_key = \"{SECRET}\"\n[model_providers.fake]\nbase_url = \"https://elsewhere\"\n[features]\nhooks = false\n\
         [[hooks.PreToolUse]]\nmatcher = \"(\"\nhooks = [{{type = \"command\", command = \"{SECRET}\"}}]\n"
    );
    put(user.path(), ".codex/config.toml", &config);
    put(
        user.path(),
        ".codex/hooks.json",
        r#"{"$schema": "s3cret", "hooks": {"Stop": [{"hooks": [{"command": "s3cret"}]}]}}"#,
    );
    let own = find(AgentBinary::Codex, user.path());
    assert_eq!(own.to_string(), "2 hooks, each as `true`, in ~/.codex/config.toml and ~/.codex/hooks.json");
    prepare_loopback(
        AgentBinary::Codex,
        "http://127.0.0.1:1/text~r",
        home.path(),
        LoopbackOptions::default(),
    )
    .unwrap();
    own.copy_into(home.path()).unwrap();
    let text = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
    let settings: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(
        settings["model_providers"]["fake"]["base_url"].as_str(),
        Some("http://127.0.0.1:1/text~r/v1")
    );
    assert_eq!(settings["features"]["hooks"].as_bool(), Some(false));
    assert_eq!(settings["features"]["unbounded_connection_retries"].as_bool(), Some(false));
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str(), Some("true"));
    assert_eq!(settings["hooks"]["PreToolUse"][0]["matcher"].as_str(), Some("("));
    let hooks = read(home.path(), ".codex/hooks.json");
    assert_eq!(hooks, json!({"$schema": "true", "hooks": {"Stop": [{"hooks": [{"command": "true"}]}]}}));
    assert!(!text.contains(SECRET));
}

#[test]
fn copilot_gets_every_file_of_its_directory_and_keeps_its_trust() {
    let (user, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(
        user.path(),
        ".copilot/config.json",
        "// written by copilot\n{\"copilotTokens\": {\"u\": \"s3cret\"}, \"disableAllHooks\": true}",
    );
    put(
        user.path(),
        ".copilot/hooks/a.json",
        r#"{"version": 1, "hooks": {"preToolUse": [{"bash": "s3cret"}]}}"#,
    );
    put(user.path(), ".copilot/hooks/b.txt", "s3cret");
    put(user.path(), ".copilot/hooks/c.json", "{");
    let work = Some(Path::new("/w"));
    let options = LoopbackOptions { workspace: work, ..LoopbackOptions::default() };
    prepare_loopback(AgentBinary::Copilot, "http://127.0.0.1:1/text~r", home.path(), options).unwrap();
    let own = find(AgentBinary::Copilot, user.path());
    assert_eq!(
        own.to_string(),
        "1 hook, as `true`, in ~/.copilot/config.json and ~/.copilot/hooks/a.json and ~/.copilot/hooks/c.json, which cannot be read"
    );
    own.copy_into(home.path()).unwrap();
    let config = fs::read_to_string(home.path().join(".copilot/config.json")).unwrap();
    let json = config.strip_prefix("// as in the original\n").unwrap();
    let config: Value = serde_json::from_str(json).unwrap();
    assert_eq!(config, json!({"trustedFolders": ["/w"], "disableAllHooks": true}));
    let hooks = read(home.path(), ".copilot/hooks/a.json");
    assert_eq!(hooks, json!({"version": 1, "hooks": {"preToolUse": [{"bash": "true"}]}}));
    assert_eq!(fs::read_to_string(home.path().join(".copilot/hooks/c.json")).unwrap(), UNREADABLE);
    assert!(!home.path().join(".copilot/hooks/b.txt").exists());
}

#[test]
fn the_agents_own_variable_says_where_its_settings_are() {
    let user = tempfile::tempdir().unwrap();
    put(user.path(), "elsewhere/settings.json", r#"{"hooks": {"Stop": []}}"#);
    let env = Env::empty()
        .with_variable("HOME", user.path())
        .with_variable("CLAUDE_CONFIG_DIR", user.path().join("elsewhere"));
    let own = OwnHooks::read_settings(AgentBinary::Claude, &env).unwrap();
    let home = tempfile::tempdir().unwrap();
    own.copy_into(home.path()).unwrap();
    let file = home.path().join(".claude/settings.json");
    assert_eq!(read(home.path(), ".claude/settings.json"), json!({"hooks": {"Stop": []}}));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_cannot_be_looked_at_is_named() {
    let user = tempfile::tempdir().unwrap();
    put(user.path(), ".claude/settings.json", &" ".repeat(usize::try_from(LIMIT).unwrap() + 1));
    let error =
        OwnHooks::read_settings(AgentBinary::Claude, &Env::empty().with_variable("HOME", user.path()))
            .unwrap_err();
    assert!(error.to_string().contains(".claude/settings.json: "), "{error}");
}
