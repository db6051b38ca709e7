//! Whole homes and repositories, before and after, and with the power going at every step.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ALL: [AgentBinary; 5] =
    [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Amp, AgentBinary::Gemini];

/// A home and a repository, with files of a user in both.
struct Place {
    root: tempfile::TempDir,
    env: Env,
}

const CLAUDE: &str = r#"{
  // mine
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "beep"}]} // kept
    ]
  },
  "model": "x",
}"#;
const CODEX: &str = "# mine\nmodel = \"x\"   # why\n[projects.\"/r\"]\ntrust_level = \"trusted\"";

impl Place {
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// In memory, where waiting for the disk costs nothing.
    fn fast() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::within(memory) } else { Self::new() }
    }

    fn within(directory: &Path) -> Self {
        let root = tempfile::tempdir_in(directory).unwrap();
        let path = root.path().canonicalize().unwrap();
        let env = Env::empty()
            .with_variable("HOME", path.join("home"))
            .with_variable("AMPLIHACK_HOME", path.join("ours"))
            .with_variable("PATH", "/usr/bin:/bin");
        let place = Self { root, env };
        amplihack_testkit::create_repository(&place.root.path().join("repo"));
        place.write("home/.claude/settings.json", CLAUDE);
        place.write("home/.codex/config.toml", CODEX);
        place.write("home/.copilot/copilot-instructions.md", "# mine, without an end");
        place.write("home/.copilot/skills/shared/SKILL.md", "their skill\n");
        place.write(
            "home/.config/amp/settings.json",
            "{\"amp.permissions\": [{\"tool\": \"*\", \"action\": \"ask\"}]}\n",
        );
        place.write("repo/.claude/settings.json", "{}");
        // Scripts where wrappers go: a file that names us, and a link that leads nowhere.
        place.write("repo/.github/hooks/pre-tool-use", "#!/bin/sh\n# not amplihack's\n");
        std::os::unix::fs::symlink("gone", path.join("repo/.github/hooks/stop")).unwrap();
        for file in [
            "agents/amplihack/core/one.md",
            "agents/amplihack/other/one.md",
            "skills/shared/SKILL.md",
            "skills/new/SKILL.md",
            "commands/amplihack/go.md",
        ] {
            place.write(&format!("ours/.claude/{file}"), file);
        }
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    fn request(&self, scope: &InstallScope) -> InstallRequest {
        InstallRequest {
            scope: scope.clone(),
            program: HookProgram::from_binary(self.path("bin/amplihack-hooks")),
            policy: Some("standard".to_owned()),
            rules: vec![json!({"tool": "Bash", "action": "reject", "matches": {"cmd": "*rm -rf /*"}})],
        }
    }

    fn scopes(&self) -> [InstallScope; 2] {
        [InstallScope::User, InstallScope::Repository(self.path("repo"))]
    }

    /// Everything there is: directories, and files with their bytes and permissions.
    fn tree(&self) -> Tree {
        fn walk(path: &Path, all: &mut Tree) {
            for entry in std::fs::read_dir(path).unwrap().flatten() {
                let (path, mode) = (entry.path(), entry.metadata().unwrap().permissions().mode());
                if path.is_dir() {
                    walk(&path, all);
                }
                let bytes = path.is_file().then(|| std::fs::read(&path).unwrap());
                all.insert(path, (mode, bytes));
            }
        }
        let mut all = BTreeMap::new();
        walk(self.root.path(), &mut all);
        all
    }

    /// Paths below which something is not as it was.
    fn changed(&self, before: &Tree) -> Vec<PathBuf> {
        let after = self.tree();
        let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
        let mut paths: Vec<PathBuf> = before.keys().chain(after.keys()).filter(differs).cloned().collect();
        paths.dedup();
        paths
    }
}

type Tree = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;
const NOTHING: [PathBuf; 0] = [];

#[test]
fn what_was_installed_is_taken_back_whole_and_twice_is_once() {
    let place = Place::new();
    let before = place.tree();
    for scope in place.scopes() {
        let first = install_hooks(&ALL, &place.request(&scope), &place.env).unwrap();
        assert!(
            first.iter().all(|done| done.files.iter().any(|(_, outcome)| *outcome == FileOutcome::Written))
        );
        let installed = place.tree();
        let second = install_hooks(&ALL, &place.request(&scope), &place.env).unwrap();
        let outcomes = |done: &[InstallReport]| -> Vec<FileOutcome> {
            done.iter().flat_map(|done| &done.files).map(|(_, outcome)| *outcome).collect()
        };
        assert!(
            outcomes(&second)
                .iter()
                .all(|outcome| matches!(outcome, FileOutcome::Unchanged | FileOutcome::Kept)),
            "{second:#?}"
        );
        assert_eq!(place.changed(&installed), NOTHING);
        for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot] {
            missing_hook_free(agent, &scope, &place);
        }
    }
    assert!(place.read("home/.copilot/skills/shared/SKILL.md") == "their skill\n");
    assert!(place.path("home/.copilot/agents/amplihack/other-one.md").is_file());
    for scope in place.scopes() {
        uninstall_hooks(&AgentBinary::ALL, &scope, &place.env).unwrap();
    }
    assert_eq!(place.changed(&before), NOTHING);
}

fn missing_hook_free(agent: AgentBinary, scope: &InstallScope, place: &Place) {
    let path = UserDirectories::from_env(&place.env).unwrap().registration_file(agent, scope).unwrap();
    amplihack_launcher::installed::missing_hook(agent, &path).unwrap();
}

#[test]
fn agents_come_and_go_one_by_one() {
    let place = Place::new();
    let before = place.tree();
    for agent in ALL {
        install_hooks(&[agent], &place.request(&InstallScope::User), &place.env).unwrap();
    }
    for agent in ALL {
        uninstall_hooks(&[agent], &InstallScope::User, &place.env).unwrap();
    }
    assert_eq!(place.changed(&before), NOTHING);
}

/// The power goes after every single step of an installation, and of the uninstallation that follows.
#[test]
fn a_crash_at_any_step_leaves_what_uninstall_takes_back() {
    let crash = |steps: usize| {
        let left = std::cell::Cell::new(steps);
        InstallDisk::watched(move || {
            left.set(left.get().checked_sub(1).ok_or_else(|| std::io::Error::other("the power went"))?);
            Ok(())
        })
    };
    let (mut steps, mut through) = (0, 0);
    loop {
        let place = Place::fast();
        let before = place.tree();
        let scope = &place.scopes()[steps % 2];
        let installed = install_on(&crash(steps), &ALL, &place.request(scope), &place.env);
        // Where the installation got through, it is the other way that breaks.
        for more in [steps / 3, steps / 2] {
            let _ = uninstall_on(&crash(more), &ALL, scope, &place.env);
        }
        uninstall_hooks(&ALL, scope, &place.env).unwrap();
        // The directory of ours may have been made before there was a journal to say so.
        let mut changed = place.changed(&before);
        changed.retain(|path| !path.starts_with(place.path("ours/install")));
        assert_eq!(changed, NOTHING, "after {steps} steps");
        match installed {
            Ok(_) if through > 40 => break,
            Ok(_) => {
                through += 1;
                steps += 1;
            }
            Err(InstallError::Registration(RegistrationError::Io { .. })) => steps += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_a_user_edited_since_stays_without_ours() {
    let place = Place::new();
    install_hooks(&ALL, &place.request(&InstallScope::User), &place.env).unwrap();
    let edited = place.read("home/.claude/settings.json").replace("\"x\"", "\"y\" /* mine */");
    place.write("home/.claude/settings.json", &edited);
    let config = place.read("home/.codex/config.toml") + "\n[tui]\nx = 1\n";
    place.write("home/.codex/config.toml", &config);
    let manifest = place.read("home/.copilot/hooks/amplihack.json").replace("10", "11");
    place.write("home/.copilot/hooks/amplihack.json", &manifest);
    // Another installation in between changes nothing of that.
    install_hooks(&[AgentBinary::Claude], &place.request(&InstallScope::User), &place.env).unwrap();
    let done = uninstall_hooks(&ALL, &InstallScope::User, &place.env).unwrap();
    let settings = place.read("home/.claude/settings.json");
    assert_eq!(settings, CLAUDE.replace("\"x\"", "\"y\" /* mine */"));
    let config = place.read("home/.codex/config.toml");
    assert!(
        config.starts_with(CODEX) && config.contains("[tui]") && !config.contains("hooks.state"),
        "{config}"
    );
    assert!(!place.path("home/.codex/hooks.json").exists());
    let kept = (place.path("home/.copilot/hooks/amplihack.json"), FileOutcome::Kept);
    assert!(done.iter().any(|done| done.files.contains(&kept)), "{done:#?}");
    assert!(!place.path("ours/install").exists());
}

/// A script that a user edits while we are installed, and one that he puts over our wrapper, stay his.
#[test]
fn scripts_in_wrappers_places_are_the_users_throughout() {
    let place = Place::new();
    let scope = &place.scopes()[1];
    let copilot = [AgentBinary::Copilot];
    let hooks = |name: &str| format!("repo/.github/hooks/{name}");
    let before = place.tree();
    let done = install_hooks(&copilot, &place.request(scope), &place.env).unwrap();
    assert!(done[0].notes.iter().any(|note| note.contains("pre-tool-use.user")), "{:?}", done[0].notes);
    assert!(place.read(&hooks("pre-tool-use")).contains("aggregate pre-tool-use --script"));
    assert!(place.read(&hooks("session-start")).contains("\"$program\" session-start --host"));
    place.write(&hooks("pre-tool-use.user"), "edited");
    uninstall_hooks(&copilot, scope, &place.env).unwrap();
    assert_eq!(place.changed(&before), [place.path(&hooks("pre-tool-use"))]);
    assert_eq!(place.read(&hooks("pre-tool-use")), "edited");

    // Bytes that are no text, and a script in the place of a wrapper that was installed.
    std::fs::write(place.path(&hooks("post-tool-use")), b"\x7fELF\xff").unwrap();
    let before = place.tree();
    install_hooks(&copilot, &place.request(scope), &place.env).unwrap();
    place.write(&hooks("session-start"), "mine instead");
    install_hooks(&copilot, &place.request(scope), &place.env).unwrap();
    assert_eq!(place.read(&hooks("session-start.user")), "mine instead");
    uninstall_hooks(&copilot, scope, &place.env).unwrap();
    assert_eq!(place.changed(&before), [place.path(&hooks("session-start"))]);

    // Two of them for one place: nothing is done, and nothing is lost.
    place.write(&hooks("stop.user"), "another");
    let before = place.tree();
    let error = install_hooks(&copilot, &place.request(scope), &place.env).unwrap_err();
    assert!(matches!(&error, InstallError::Foreign { path } if path.ends_with("stop.user")), "{error}");
    assert_eq!(place.changed(&before), NOTHING);
}

#[test]
fn a_file_that_cannot_be_read_stops_everything_before_the_first_change() {
    for (file, text) in [
        ("home/.claude/settings.json", "{\n\"a\": 1,\n"),
        ("home/.codex/config.toml", "a = \n"),
        ("home/.codex/hooks.json", "{ // no comments here\n}"),
        ("home/.copilot/hooks/amplihack.json", "somebody's"),
        ("home/.config/amp/settings.json", "[]"),
        ("home/.claude/settings.json", "{\"hooks\": 1}"),
    ] {
        let place = Place::new();
        place.write(file, text);
        let before = place.tree();
        let error = install_hooks(&ALL, &place.request(&InstallScope::User), &place.env).unwrap_err();
        assert!(error.to_string().contains(place.path(file).to_str().unwrap()), "{error}");
        assert_eq!(place.changed(&before), NOTHING, "{file}");
    }
}

#[test]
fn links_to_settings_stay_links() {
    let place = Place::new();
    let (link, real) = (place.path("home/.claude/settings.json"), place.path("dotfiles/claude.json"));
    place.write("dotfiles/claude.json", CLAUDE);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    install_hooks(&[AgentBinary::Claude], &place.request(&InstallScope::User), &place.env).unwrap();
    assert!(link.is_symlink() && std::fs::read_to_string(&real).unwrap().contains("amplihack-hooks"));
    uninstall_hooks(&[AgentBinary::Claude], &InstallScope::User, &place.env).unwrap();
    assert_eq!((link.is_symlink(), std::fs::read_to_string(&real).unwrap().as_str()), (true, CLAUDE));
}

#[test]
fn a_new_place_of_the_program_replaces_the_old_one() {
    let place = Place::new();
    let before = place.tree();
    install_hooks(&ALL, &place.request(&InstallScope::User), &place.env).unwrap();
    let new = InstallRequest {
        program: HookProgram { path: place.path("new/amplihack"), words: &["hook"] },
        ..place.request(&InstallScope::User)
    };
    install_hooks(&ALL, &new, &place.env).unwrap();
    for file in ["home/.claude/settings.json", "home/.codex/hooks.json", "home/.copilot/hooks/amplihack.json"]
    {
        let text = place.read(file);
        assert!(
            text.contains("/new/amplihack hook pre-tool-use") && !text.contains("bin/amplihack-hooks"),
            "{text}"
        );
    }
    assert_eq!(place.read("home/.codex/config.toml").matches("trusted_hash").count(), 6);
    uninstall_hooks(&ALL, &InstallScope::User, &place.env).unwrap();
    assert_eq!(place.changed(&before), NOTHING);
}

#[test]
fn a_registration_without_a_journal_is_taken_out_too() {
    let place = Place::new();
    install_hooks(&[AgentBinary::Claude], &place.request(&InstallScope::User), &place.env).unwrap();
    std::fs::remove_dir_all(place.path("ours/install")).unwrap();
    uninstall_hooks(&[AgentBinary::Claude], &InstallScope::User, &place.env).unwrap();
    assert_eq!(place.read("home/.claude/settings.json"), CLAUDE);
}

#[test]
fn an_agent_that_nothing_holds_is_told_so() {
    let place = Place::new();
    let done =
        install_hooks(&[AgentBinary::Amplifier], &place.request(&InstallScope::User), &place.env).unwrap();
    assert_eq!(done[0].notes, ["amplifier has neither hooks nor permission rules: nothing holds it"]);
    assert!(done[0].files.is_empty());
    let error =
        try_out(AgentBinary::Claude, &InstallScope::User, &place.env, &place.path("repo")).unwrap_err();
    assert!(error.to_string().starts_with("claude has no hook for SessionStart at "), "{error}");
}

/// A program that answers like the guard, and one that lets everything run.
#[test]
fn a_registered_command_is_tried_as_its_host_would() {
    let place = Place::new();
    let deny = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}}";
    // The code of installed registrations, and the descriptor that they hand on.
    let code = "case \"$*\" in *'--code 79') exec >&3; code=79 ;; *) code=0 ;; esac";
    let good = format!(
        "#!/bin/sh\n{code}\ncase $(cat) in *'rm -rf /'*) echo '{deny}'; echo no >&2; exit 80 ;; esac\nexit $code\n"
    );
    let program = |text: &str| {
        place.write("bin/amplihack-hooks", text);
        std::fs::set_permissions(place.path("bin/amplihack-hooks"), std::fs::Permissions::from_mode(0o755))
            .unwrap();
    };
    install_hooks(&ALL, &place.request(&InstallScope::User), &place.env).unwrap();
    for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot] {
        let fault = || {
            let trials = try_out(agent, &InstallScope::User, &place.env, &place.path("repo")).unwrap();
            assert!(trials.len() > 5);
            trials.iter().find_map(RegistrationTrial::describe_fault)
        };
        let look = || {
            inspect_registration(agent, &InstallScope::User, &place.env, &place.path("repo")).unwrap().state
        };
        program(&good);
        assert_eq!(fault(), None, "{agent}");
        let trusted = (agent == AgentBinary::Codex).then_some(TrustState::Trusted);
        let state = look();
        assert!(
            matches!(&state, RegistrationState::Registered { trust, fault: None, .. } if *trust == trusted),
            "{state:?}"
        );
        program(&format!("#!/bin/sh\n{code}\ncat >/dev/null\nexit $code\n"));
        assert_eq!(fault().unwrap(), "pre-tool-use lets `rm -rf /` run");
        for broken in ["#!/bin/sh\nexit 1\n", "#!/bin/sh\ncat >/dev/null\n", ""] {
            program(broken);
            assert!(fault().unwrap().contains("on a harmless payload"), "{broken:?}");
        }
        std::fs::remove_file(place.path("bin/amplihack-hooks")).unwrap();
        assert!(matches!(look(), RegistrationState::Stale(_)));
    }
}

fn json_text() -> impl Strategy<Value = String> {
    let tail = prop_oneof![Just(""), Just("\n"), Just("\n\n// end")];
    let extra =
        prop_oneof![Just(""), Just("\"a\": [1, 2,], // c\n"), Just("/* x */ \"b\": {\"c\": \"\\u00e9\"},")];
    let hooks = prop_oneof![
        Just(""),
        Just("\"hooks\": {},"),
        Just(
            "\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}]},"
        ),
        Just("\"hooks\": {\"Stop\": [ ], \"PreToolUse\": [/* none */]},"),
    ];
    (extra.clone(), hooks, extra, tail).prop_map(|(a, hooks, b, tail)| {
        let b = b.replace("\"a\"", "\"z\"").replace("\"b\"", "\"y\"");
        format!("{{{a}\n{hooks}{b}\n\"end\": null}}{tail}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn install_then_uninstall_is_nothing(settings in json_text(), repository in json_text()) {
        let place = Place::fast();
        place.write("home/.claude/settings.json", &settings);
        place.write("repo/.claude/settings.json", &repository);
        let before = place.tree();
        for scope in place.scopes() {
            install_hooks(&ALL, &place.request(&scope), &place.env).unwrap();
        }
        for scope in place.scopes() {
            uninstall_hooks(&ALL, &scope, &place.env).unwrap();
        }
        prop_assert_eq!(place.changed(&before), NOTHING);
    }
}
