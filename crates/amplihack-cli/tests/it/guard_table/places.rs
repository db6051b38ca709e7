//! Situations of places: homes, the launch's directory, configuration that variables name, links.

use std::path::PathBuf;

use super::calls::{Call, Evidence, FORBIDDEN, HARMLESS};
use super::stage::{Expected, Stage};

pub(super) fn plugins_are_a_file(stage: &mut Stage<'_>) {
    stage.world.sandbox.write("home/.claude/plugins", "");
}

pub(super) fn home_missing(stage: &mut Stage<'_>) {
    let home = stage.home();
    let file = stage.world.sandbox.write("in-the-way", "");
    for (name, place) in [
        ("HOME", file.join("home")),
        ("CODEX_HOME", home.join(".codex")),
        ("COPILOT_HOME", home.join(".copilot")),
        ("GEMINI_CLI_HOME", home),
    ] {
        stage.world.sandbox.set(name, place);
    }
    stage.calls = vec![
        Call::shell(stage, "shell-forbidden", FORBIDDEN, true),
        Call::shell(stage, "shell-harmless", HARMLESS, false),
    ];
}

/// While the first call runs, somebody removes every directory of a launch.
pub(super) fn launch_directory_removed(stage: &mut Stage<'_>) {
    let (begun, done) = (stage.sentinel("begun"), stage.sentinel("done"));
    stage.first(&format!("touch {}; until test -e {}; do :; done", begun.display(), done.display()));
    let sessions = stage.home().join(".amplihack/sessions");
    stage.expected = Expected::StoppedAloud;
    stage.meanwhile = Some(Box::new(move || {
        while !begun.exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // Where one that reads it is quicker, once more.
        for _ in 0..3 {
            for place in [sessions.clone(), PathBuf::from("/run")] {
                for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
                    let is_launch = place == sessions
                        || entry.file_name().to_string_lossy().starts_with("amplihack-hooks-");
                    if is_launch && (place == sessions || is_of(&entry.path(), &begun)) {
                        let _ = std::fs::remove_dir_all(entry.path());
                    }
                }
            }
        }
        std::fs::write(done, "").unwrap();
    }));
}

/// Whether a launch's directory in a place of the whole machine belongs to the session with this sentinel: none that another test made
/// is touched.
fn is_of(directory: &std::path::Path, sentinel: &std::path::Path) -> bool {
    let root = sentinel.parent().unwrap().display().to_string();
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text.contains(&root))
}

pub(super) fn places_elsewhere(stage: &mut Stage<'_>) {
    let root = stage.world.sandbox.root().to_owned();
    let (config, home) = (root.join("config"), root.join("state"));
    stage.world.sandbox.set("XDG_CONFIG_HOME", &config);
    stage.world.sandbox.set("AMPLIHACK_HOME", &home);
    let policy = config.join("amplihack/policy.toml");
    let call = |name: &str, command: String, evidence| {
        Call::of(name, amplihack_probe::model::ScriptedReply::Tool { command }, evidence, true)
    };
    let begun =
        format!("mkdir -p {0}; echo '# changed' > {0}/policy.toml", config.join("amplihack").display());
    let mark = stage.sentinel("state-removed");
    let removed = format!("touch {}; rm -rf {}/sessions", mark.display(), home.display());
    stage.calls = vec![
        call("policy-written", begun, Evidence::Text(policy, "changed")),
        call("state-removed", removed, Evidence::File(mark)),
        Call::shell(stage, "shell-forbidden", FORBIDDEN, true),
        Call::shell(stage, "shell-harmless", HARMLESS, false),
    ];
}

pub(super) fn links_made_earlier(stage: &mut Stage<'_>) {
    let place = stage.home().join(".config/amplihack");
    std::fs::create_dir_all(&place).unwrap();
    std::os::unix::fs::symlink(&place, stage.work().join("cfg")).unwrap();
    let written = "echo '# changed' > cfg/policy.toml".to_owned();
    let reply = amplihack_probe::model::ScriptedReply::Tool { command: written };
    stage.calls = vec![
        Call::of("through-a-link", reply, Evidence::Text(place.join("policy.toml"), "changed"), true),
        Call::shell(stage, "shell-harmless", HARMLESS, false),
    ];
}
