//! Files of this machine that the policy asks about: where the guard's own are, and the text of those that a command runs.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use amplihack_config::env::Env;
use amplihack_policy::FileText;
use amplihack_sys as sys;
use amplihack_sys::fs::read_regular;

use super::machine::path_spellings;

/// Bytes of a file that is looked into.
const LARGEST: u64 = 64 * 1024;
/// The age up to which a file counts as new where nobody knows when the session began.
const RECENT: Duration = Duration::from_hours(24);

/// Variables that name directories of hosts and of the configuration, with what stands for them below the home.
const DIRECTORIES: [(&str, &str); 6] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("COPILOT_HOME", ".copilot"),
    ("GEMINI_CLI_HOME", ""),
    ("AMPLIHACK_HOME", ".amplihack"),
];

/// Programs of the guard.
const PROGRAMS: [&str; 2] = ["amplihack", "amplihack-hooks"];

/// Directories of the guard's files and those of hosts, by the environment and by links of the home.
pub(super) fn guard_directories(env: &Env) -> Vec<(PathBuf, &'static str)> {
    let mut directories = Vec::new();
    for (variable, name) in DIRECTORIES {
        let (place, name) = match (env.path(variable).filter(|path| path.is_absolute()), variable) {
            (Some(home), "GEMINI_CLI_HOME") => (home.join(".gemini"), ".gemini"),
            (Some(place), _) => (place, name),
            // A link in the place of a default leads elsewhere.
            (None, _) => {
                let Some(place) = env.home().map(|home| home.join(name)).filter(|place| place.is_symlink())
                else {
                    continue;
                };
                (place, name)
            }
        };
        if name == ".config" {
            directories
                .extend(path_spellings(place.join("amplihack")).map(|place| (place, ".config/amplihack")));
        }
        if !name.is_empty() {
            directories.extend(path_spellings(place).map(|place| (place, name)));
        }
    }
    directories
}

/// Directories below the home in which programs of a single user are installed.
const INSTALLED: [&str; 4] = [".local/bin", "bin", ".cargo/bin", ".amplihack/bin"];

/// The guard's programs beside the one that runs, and where a look-up by name looks.
pub(super) fn guard_programs(env: &Env) -> Vec<PathBuf> {
    let own = sys::entry::program_path().ok();
    let own = own.iter().filter_map(|own| own.parent()).map(Path::to_owned);
    let searched = env.get("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    // Where a user's programs are installed, another shell looks as well.
    let usual = env.home().into_iter().flat_map(|home| INSTALLED.map(|directory| home.join(directory)));
    let usual = usual.chain([PathBuf::from("/usr/local/bin")]);
    let all =
        own.chain(searched.into_iter().flatten()).chain(usual).filter(|directory| directory.is_absolute());
    all.flat_map(|directory| PROGRAMS.map(|name| directory.join(name))).collect()
}

/// The directory that a variable in [`DIRECTORIES`] names; by default, the one that its host would take instead.
pub(super) fn directory_variable(env: &Env, name: &str) -> Option<String> {
    let (_, default) = DIRECTORIES.iter().find(|(variable, _)| *variable == name)?;
    let place = env.path(name).or_else(|| Some(env.home()?.join(default)))?;
    place.to_str().map(str::to_owned)
}

/// The first bytes of binary programs.
const BINARY: &[u8] = b"\x7fELF";

/// The text of a small regular file, links followed, and whether the session wrote it. A shell drops NULs, and so does this.
pub(super) fn file_text(path: &Path, launch: Option<&Path>) -> Option<FileText> {
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > LARGEST {
        return None;
    }
    let mut bytes = read_regular(path, LARGEST).ok()?;
    let is_program = bytes.starts_with(BINARY) && bytes.contains(&0);
    bytes.retain(|byte| *byte != 0);
    (!is_program).then(|| FileText {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        is_new: is_new(&found, launch),
    })
}

/// Reports whether the file was made or changed since the session began. The time of its status counts: a program can set the other one.
fn is_new(found: &Metadata, launch: Option<&Path>) -> bool {
    let changed = Duration::new(
        u64::try_from(found.ctime()).unwrap_or_default(),
        u32::try_from(found.ctime_nsec()).unwrap_or_default(),
    );
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let began = launch.and_then(|launch| std::fs::metadata(launch).ok()?.created().ok()).map(since);
    changed >= began.unwrap_or_else(|| since(SystemTime::now()).saturating_sub(RECENT))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_guards_places_are_those_of_the_environment_and_of_links() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        fs::create_dir_all(base.join("dots/config")).unwrap();
        symlink(base.join("dots/config"), base.join("home/.config")).unwrap();
        let env = Env::empty()
            .with_variable("HOME", base.join("home"))
            .with_variable("CLAUDE_CONFIG_DIR", base.join("cc"))
            .with_variable("GEMINI_CLI_HOME", base.join("g"))
            .with_variable("PATH", "/a:relative:/b");
        let (found, programs) = (guard_directories(&env), guard_programs(&env));
        for (place, name) in [
            ("cc", ".claude"),
            ("g/.gemini", ".gemini"),
            ("dots/config", ".config"),
            ("dots/config/amplihack", ".config/amplihack"),
        ] {
            assert!(found.contains(&(base.join(place), name)), "{place}: {found:?}");
        }
        assert!(programs.contains(&PathBuf::from("/b/amplihack")), "{programs:?}");
        assert!(programs.iter().all(|path| path.is_absolute()));
        assert_eq!(
            directory_variable(&env, "CLAUDE_CONFIG_DIR"),
            base.join("cc").to_str().map(str::to_owned)
        );
        assert_eq!(
            directory_variable(&env, "CODEX_HOME"),
            base.join("home/.codex").to_str().map(str::to_owned)
        );
        assert_eq!(directory_variable(&env, "HOME"), None);
    }

    #[test]
    fn only_small_regular_files_of_text_are_read_and_their_age_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("old");
        fs::write(&old, "text").unwrap();
        fs::write(dir.path().join("binary"), b"\x7fELF\0").unwrap();
        fs::write(dir.path().join("large"), vec![b'x'; 64 * 1024 + 1]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let launch = dir.path().join("launch");
        fs::create_dir(&launch).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let new = dir.path().join("new");
        fs::write(&new, "text").unwrap();
        // Setting its own time back does not help.
        fs::File::open(&new).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        symlink(&new, dir.path().join("link")).unwrap();
        let is_new = |name: &str| file_text(&dir.path().join(name), Some(&launch)).map(|file| file.is_new);
        assert_eq!(is_new("old"), Some(false));
        assert_eq!((is_new("new"), is_new("link")), (Some(true), Some(true)));
        assert_eq!(
            file_text(&old, None).map(|file| file.is_new),
            Some(true),
            "nobody knows when the session began"
        );
        for (name, content) in [("nul", &b"rm -rf ~\n\0"[..]), ("no program", b"\x7fELF\nrm -rf ~\n")] {
            fs::write(dir.path().join(name), content).unwrap();
            let found = file_text(&dir.path().join(name), None).unwrap().text;
            assert!(found.ends_with("rm -rf ~\n"), "{name}: {found:?}");
        }
        for name in ["binary", "large", "launch", "missing"] {
            assert_eq!(is_new(name), None, "{name}");
        }
        assert_eq!(file_text(Path::new("/dev/zero"), None), None);
    }
}
