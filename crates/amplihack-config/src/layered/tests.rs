//! Layers, tightening and trust, over real files.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use super::*;

/// A home, a system file and a repository.
struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
    env: Env,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        amplihack_testkit::create_repository(&base.join("repository"));
        fs::create_dir_all(base.join("repository/src")).unwrap();
        let env = Env::empty().with_variable("HOME", base.join("home"));
        Self { _dir: dir, base, env }
    }

    fn file(&self, layer: ConfigLayer) -> PathBuf {
        match layer {
            ConfigLayer::System => self.base.join("etc/config.toml"),
            ConfigLayer::User => self.base.join("home/.config/amplihack/config.toml"),
            ConfigLayer::Repository => self.base.join("repository/.amplihack/config.toml"),
            other => panic!("{other:?} has no file"),
        }
    }

    fn write(&self, layer: ConfigLayer, text: &str) -> &Self {
        let file = self.file(layer);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn load(&self) -> LayeredConfig {
        self.load_with(&self.env, &[]).unwrap()
    }

    fn load_with(&self, env: &Env, overrides: &[ConfigOverride]) -> Result<LayeredConfig, ConfigError> {
        LayeredConfig::load_with(
            &self.file(ConfigLayer::System),
            env,
            &self.base.join("repository/src"),
            overrides,
        )
    }
}

fn flag(key: &str, value: &str) -> ConfigOverride {
    ConfigOverride { key: key.to_owned(), value: value.to_owned(), flag: format!("--{key}") }
}

#[test]
fn layers_are_ordered() {
    use ConfigLayer::{BuiltIn, CommandLine, Environment, Repository, System, User};
    let order = [BuiltIn, System, User, Repository, Environment, CommandLine];
    assert!(order.is_sorted_by(|a, b| a < b));
    assert_eq!(
        order.map(ConfigLayer::name),
        ["built_in", "system", "user", "repository", "environment", "command_line"]
    );
}

#[test]
fn defaults_are_the_tables() {
    let config = Place::new().load();
    assert_eq!(config.prompt_delivery(), "auto");
    assert_eq!((config.max_depth(), config.stop_grace()), (6, Duration::from_secs(5)));
    assert!(AgentBinary::ALL.into_iter().all(|agent| config.agent_path(agent).is_none()));
    assert!(config.list_entries().iter().all(|entry| entry.origin.to_string() == "built-in"));
    assert_eq!((config.ignored, config.warnings), (vec![], vec![]));
}

#[test]
fn each_layer_overrides_the_ones_below_and_is_remembered() {
    let place = Place::new();
    record_trust(&place.env, &place.base.join("repository")).unwrap();
    let trusted = fs::read_to_string(place.file(ConfigLayer::User)).unwrap();
    let mut env = place.env.clone();
    let mut overrides = Vec::new();
    let shown = |place: &Place, env: &Env, overrides: &[ConfigOverride]| {
        let config = place.load_with(env, overrides).unwrap();
        let setting = config.get("prompt_delivery").unwrap().clone();
        (config.prompt_delivery().to_owned(), setting.origin.layer, setting.origin.to_string())
    };
    let from_file = |layer| format!("{}:2", place.file(layer).display());
    for (layer, word) in
        [(ConfigLayer::System, "argv"), (ConfigLayer::User, "stdin"), (ConfigLayer::Repository, "tempfile")]
    {
        // The user's file is the one that trusts the repository.
        let rest = if layer == ConfigLayer::User { trusted.as_str() } else { "" };
        place.write(layer, &format!("\nprompt_delivery = '{word}'\n{rest}"));
        assert_eq!(shown(&place, &env, &overrides), (word.to_owned(), layer, from_file(layer)));
    }
    env.set_variable("AMPLIHACK_PROMPT_DELIVERY", " ARGV ");
    let expected = ("argv".to_owned(), ConfigLayer::Environment, "AMPLIHACK_PROMPT_DELIVERY".to_owned());
    assert_eq!(shown(&place, &env, &overrides), expected);
    overrides.push(flag("prompt_delivery", "auto"));
    let expected = ("auto".to_owned(), ConfigLayer::CommandLine, "--prompt_delivery".to_owned());
    assert_eq!(shown(&place, &env, &overrides), expected);
}

#[test]
fn every_key_with_a_variable_is_set_by_it() {
    let place = Place::new();
    for ConfigKeyInstance { key, name, variable } in key_instances() {
        let Some(variable) = variable else { continue };
        let value = match key.kind {
            ConfigValueKind::Word(words) => words[1].to_owned(),
            ConfigValueKind::Number { .. } => "3".to_owned(),
            ConfigValueKind::Flag => "true".to_owned(),
            ConfigValueKind::Program
            | ConfigValueKind::Directories
            | ConfigValueKind::Text
            | ConfigValueKind::Texts => "/opt/x".to_owned(),
        };
        let config = place.load_with(&place.env.clone().with_variable(&variable, &value), &[]).unwrap();
        let entries = config.list_entries();
        let entry = entries.iter().find(|entry| entry.key == name).unwrap();
        assert_eq!((&entry.value, entry.origin.to_string()), (&value, variable));
    }
}

#[test]
fn the_typed_getters_see_what_is_set() {
    let place = Place::new();
    place.write(
        ConfigLayer::User,
        "prompt_delivery = 'stdin'\nmax_depth = 9\nstop_grace_seconds = 0\nagents.codex.path = '/opt/codex'",
    );
    let config = place.load();
    assert_eq!(config.prompt_delivery(), "stdin");
    assert_eq!((config.max_depth(), config.stop_grace()), (9, Duration::ZERO));
    assert_eq!(config.agent_path(AgentBinary::Codex), Some(Path::new("/opt/codex")));
    assert_eq!(config.agent_path(AgentBinary::Claude), None);
}

#[test]
fn worktrees_are_configured_by_whoever_is_trusted() {
    let place = Place::new();
    let text = "[worktrees]\ndirectory = '../trees'\ninclude = ['.env', 'fixtures/']\nsetup = 'npm ci'\nsetup_seconds = 60\nsubmodules = true\n";
    let seen = |config: &LayeredConfig| {
        (
            config.worktrees_directory().map(str::to_owned),
            config.worktrees_include().to_vec(),
            config.worktrees_setup().map(str::to_owned),
            config.worktrees_setup_timeout().as_secs(),
            config.worktrees_submodules(),
        )
    };
    let include = vec![".env".to_owned(), "fixtures/".to_owned()];
    let all = (Some("../trees".to_owned()), include, Some("npm ci".to_owned()), 60, true);
    place.write(ConfigLayer::Repository, text);
    let config = place.load();
    assert_eq!(seen(&config), (None, Vec::new(), None, 60, false), "a time may be lowered");
    let ignored: Vec<&str> = config.ignored.iter().map(|ignored| ignored.key.as_str()).collect();
    assert_eq!(
        ignored,
        ["worktrees.directory", "worktrees.include", "worktrees.setup", "worktrees.submodules"]
    );
    place.write(ConfigLayer::User, text);
    assert_eq!(seen(&place.load()), all);
    place.write(ConfigLayer::User, "worktrees.include = '.env'\n");
    let error = place.load_with(&place.env, &[]).unwrap_err().to_string();
    assert!(error.contains("a list of texts"), "{error}");
}

#[test]
fn a_blank_variable_is_unset_and_a_program_need_not_be_utf8() {
    let place = Place::new();
    place.write(ConfigLayer::User, "max_depth = 2");
    let odd = OsString::from_vec(b"/opt/\xff".to_vec());
    let env =
        place.env.clone().with_variable("AMPLIHACK_MAX_DEPTH", " ").with_variable("AMPLIHACK_AMP_PATH", &odd);
    let config = place.load_with(&env.with_variable("AMPLIHACK_CLAUDE_PATH", ""), &[]).unwrap();
    assert_eq!(config.max_depth(), 2);
    assert_eq!(config.agent_path(AgentBinary::Amp), Some(Path::new(&odd)));
    assert_eq!(config.agent_path(AgentBinary::Claude), None);
}

#[test]
fn an_unknown_delivery_is_a_warning_in_a_variable_and_an_error_in_a_file() {
    let place = Place::new();
    place.write(ConfigLayer::User, "prompt_delivery = 'stdin'");
    for value in [OsString::from("pigeon"), OsString::from_vec(b"\xff".to_vec())] {
        let config = place
            .load_with(&place.env.clone().with_variable("AMPLIHACK_PROMPT_DELIVERY", value), &[])
            .unwrap();
        assert_eq!(config.prompt_delivery(), "auto");
        let texts: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            ["AMPLIHACK_PROMPT_DELIVERY is not one of auto, argv, tempfile, stdin; using auto"]
        );
    }
    place.write(ConfigLayer::User, "\nprompt_delivery = 'pigeon'");
    let error = place.load_with(&place.env, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}:2:1: prompt_delivery must be one of auto, argv, tempfile, stdin",
            place.file(ConfigLayer::User).display()
        )
    );
}

#[test]
fn a_number_that_is_none_is_an_error_that_names_its_variable_or_flag() {
    let place = Place::new();
    let error =
        place.load_with(&place.env.clone().with_variable("AMPLIHACK_MAX_DEPTH", "many"), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the variable AMPLIHACK_MAX_DEPTH must be a whole number from 0 to 4294967295; correct or unset it"
    );
    let error = place.load_with(&place.env, &[flag("stop_grace_seconds", "-1")]).unwrap_err();
    assert_eq!(error.to_string(), "--stop_grace_seconds must be a whole number from 0 to 3600");
    let error = place.load_with(&place.env, &[flag("max_deph", "1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--max_deph sets `max_deph`, which is no configuration key; did you mean `max_depth`?"
    );
}

#[test]
fn an_unknown_key_is_a_warning_with_a_suggestion() {
    let place = Place::new();
    place.write(ConfigLayer::User, "max_dept = 3\n[agents.vim]\npath = '/v'\n[zzz]\na.b.c = 1\n");
    let file = place.file(ConfigLayer::User).display().to_string();
    let texts: Vec<_> =
        place.load().warnings.iter().map(|warning| warning.to_string().replace(&file, "F")).collect();
    assert_eq!(
        texts,
        [
            "F:1: unknown key `max_dept`; did you mean `max_depth`?",
            "F:2: unknown key `agents.vim`",
            "F:4: unknown key `zzz`",
        ]
    );
}

#[test]
fn an_untrusted_repository_may_lower_and_not_raise() {
    let place = Place::new();
    place.write(ConfigLayer::User, "max_depth = 4");
    let repository = |depth: u32| {
        place.write(ConfigLayer::Repository, &format!("max_depth = {depth}"));
        let config = place.load();
        let layer = config.get("max_depth").unwrap().origin.layer;
        (config.max_depth(), layer, config.ignored.len())
    };
    assert_eq!(repository(3), (3, ConfigLayer::Repository, 0));
    assert_eq!(repository(0), (0, ConfigLayer::Repository, 0));
    assert_eq!(repository(5), (4, ConfigLayer::User, 1));
    // Whoever starts amplihack is asked last.
    let env = place.env.clone().with_variable("AMPLIHACK_MAX_DEPTH", "50");
    assert_eq!(place.load_with(&env, &[]).unwrap().max_depth(), 50);
}

#[test]
fn an_untrusted_repository_names_no_program_and_trusts_nobody() {
    let place = Place::new();
    let root = place.base.join("repository");
    place.write(
        ConfigLayer::Repository,
        &format!(
            "trusted_repositories = ['{}']\nagents.claude.path = '/evil'\nmax_depth = 99\nprompt_delivery = 'argv'\n",
            root.display()
        ),
    );
    let config = place.load();
    assert_eq!((config.agent_path(AgentBinary::Claude), config.max_depth()), (None, 6));
    assert_eq!(config.prompt_delivery(), "auto", "prompts do not go into the process list");
    assert!(!config.is_trusted(&root));
    let mut texts: Vec<_> = config.ignored.iter().map(ToString::to_string).collect();
    texts.sort();
    let file = place.file(ConfigLayer::Repository).display().to_string();
    assert_eq!(
        texts,
        [
            format!("{file}:1: trusted_repositories ignored: only the user's own file may set it"),
            format!(
                "{file}:2: agents.claude.path ignored: this repository is not trusted; see `amplihack config trust`"
            ),
            format!(
                "{file}:3: max_depth ignored: a repository that is not trusted may only lower it; see `amplihack config trust`"
            ),
            format!(
                "{file}:4: prompt_delivery ignored: this repository is not trusted; see `amplihack config trust`"
            ),
        ]
    );
    assert!(config.ignored.iter().any(|ignored| ignored.value == "/evil"), "what was ignored can be shown");
}

#[test]
fn a_trusted_repository_counts_like_the_user_but_for_trust_itself() {
    let place = Place::new();
    let root = place.base.join("repository");
    place.write(
        ConfigLayer::Repository,
        "agents.claude.path = '/tools/claude'\nmax_depth = 99\ntrusted_repositories = ['/x']\n",
    );
    assert!(record_trust(&place.env, &root.join("src")).unwrap().added);
    let config = place.load();
    assert!(config.is_trusted(&root));
    assert!(!config.is_trusted(Path::new("/x")));
    assert_eq!(config.agent_path(AgentBinary::Claude), Some(Path::new("/tools/claude")));
    assert_eq!(config.max_depth(), 99);
    assert_eq!(config.ignored.len(), 1);
}

#[test]
fn trust_in_one_repository_is_not_trust_in_one_inside_or_beside_it() {
    let place = Place::new();
    let outer = place.base.join("repository");
    record_trust(&place.env, &outer).unwrap();
    for other in [outer.join("vendored"), place.base.join("repository-2")] {
        amplihack_testkit::create_repository(&other);
        fs::create_dir_all(other.join(".amplihack")).unwrap();
        fs::write(other.join(REPOSITORY_FILE), "agents.claude.path = '/evil'").unwrap();
        let config =
            LayeredConfig::load_with(&place.file(ConfigLayer::System), &place.env, &other, &[]).unwrap();
        assert_eq!(config.repository.as_deref(), Some(other.as_path()));
        assert_eq!(config.agent_path(AgentBinary::Claude), None);
    }
}

#[test]
fn the_system_cannot_trust_for_the_user() {
    let place = Place::new();
    let root = place.base.join("repository");
    place.write(ConfigLayer::System, &format!("trusted_repositories = ['{}']", root.display()));
    assert!(!place.load().is_trusted(&root));
}

#[test]
fn the_users_file_is_where_xdg_says_if_that_is_absolute() {
    let env = Env::empty().with_variable("HOME", "/h");
    let file = |env: &Env| user_file(env).map(|file| file.display().to_string());
    assert_eq!(file(&env).as_deref(), Some("/h/.config/amplihack/config.toml"));
    assert_eq!(
        file(&env.clone().with_variable("XDG_CONFIG_HOME", "/x")).as_deref(),
        Some("/x/amplihack/config.toml")
    );
    assert_eq!(
        file(&env.with_variable("XDG_CONFIG_HOME", "x")).as_deref(),
        Some("/h/.config/amplihack/config.toml")
    );
    assert_eq!(file(&Env::empty()), None);
}

#[test]
fn a_file_that_is_no_file_is_named_and_does_not_hang() {
    let place = Place::new();
    let file = place.file(ConfigLayer::Repository);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let error = place.load_with(&place.env, &[]).unwrap_err().to_string();
    assert_eq!(error, format!("cannot read {}: not a regular file; correct or remove it", file.display()));
}
