//! git in a repository whose configuration an agent may have written: commands in an environment that says nothing of another
//! repository, with everything switched off that the repository would start by itself. Whoever runs such a command owns the child.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::env::Env;

/// A git that does not take settings from its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("git is too old: 2.31 or later is needed")]
pub struct GitTooOld;

/// Variables that say where git itself is and what the user configured; every other `GIT_…` means the caller's repository.
const KEPT: &[&str] = &[
    "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that hold whatever the repository says.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.alternateRefsCommand", ":"),
    ("core.pager", "cat"),
    ("credential.helper", ""),
    ("log.showSignature", "false"),
    ("color.ui", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Form in which one of the settings above stands in git's list.
const OURS: &[u8] = b"command\0core.hookspath\n/dev/null\0";

/// Programs that a repository's configuration names, by pattern: their number and names are the repository's own.
const PROGRAMS: &str = r"^(core\.hookspath|filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$";

/// Commands of git in one directory.
#[derive(Debug, Clone)]
pub struct IsolatedGit {
    env: Env,
    directory: PathBuf,
    settings: Vec<(OsString, OsString)>,
}

impl IsolatedGit {
    /// git in `directory`, in the environment `env`. Filters and merge drivers of the repository are on until [`Self::switch_off`].
    pub fn new(env: &Env, directory: &Path) -> Self {
        let foreign = |name: &OsStr| {
            name.as_encoded_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == *kept)
        };
        Self {
            env: env.iter().filter(|(name, _)| !foreign(name)).collect(),
            directory: directory.to_owned(),
            settings: SETTINGS.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        }
    }

    /// Returns the commands for another directory of the repository.
    #[must_use]
    pub fn in_directory(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..self.clone() }
    }

    /// A command without its arguments.
    pub fn base_command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(self.env.iter()).current_dir(&self.directory);
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        // By the environment: a name with '=' in it cannot be given by `-c`.
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (at, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), name).env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command
    }

    /// The command that lists filters and merge drivers, for [`Self::switch_off`]. It starts none of them.
    pub fn list_programs(&self) -> Command {
        let mut command = self.base_command();
        command.args(["config", "--show-scope", "--null", "--get-regexp", PROGRAMS]);
        command
    }

    /// Takes in what [`Self::list_programs`] printed, and its exit code: what the repository itself configured is off from now on.
    ///
    /// # Errors
    /// [`GitTooOld`] where git did not take our own settings from its environment.
    pub fn switch_off(&mut self, code: Option<i32>, answer: &[u8]) -> Result<(), GitTooOld> {
        // Code 128: the configuration cannot be read, as git says of the next command too, which it does not carry out.
        if code != Some(128) && !answer.windows(OURS.len()).any(|window| window == OURS) {
            return Err(GitTooOld);
        }
        self.settings.extend(of_the_repository(answer));
        Ok(())
    }
}

/// A path out of an answer that holds nothing else.
pub fn answer_path(answer: &[u8]) -> PathBuf {
    path_of(answer.strip_suffix(b"\n").unwrap_or(answer))
}

/// Returns these bytes as a path. One that stands for a directory ends with a slash in git's answers, which goes.
pub fn path_of(name: &[u8]) -> PathBuf {
    OsString::from_vec(name.strip_suffix(b"/").unwrap_or(name).to_vec()).into()
}

/// Of the answer of [`IsolatedGit::list_programs`]: the filters that the repository itself configures.
pub fn repository_filters(answer: &[u8]) -> BTreeSet<String> {
    let filter = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        let (name, program) = name.strip_prefix("filter.")?.rsplit_once('.')?;
        (program != "required").then(|| name.to_owned())
    };
    names_of_the_repository(answer).filter_map(filter).collect()
}

/// Of the answer of [`IsolatedGit::list_programs`]: what the repository itself configured, with a value that starts nothing.
fn of_the_repository(answer: &[u8]) -> Vec<(OsString, OsString)> {
    let switch_off = |name: &[u8]| {
        // A merge driver cannot be empty; one that fails leaves a conflict. A filter that is empty is none.
        let value = if name.starts_with(b"merge.") || name.ends_with(b".required") { "false" } else { "" };
        (OsString::from_vec(name.to_vec()), value.into())
    };
    names_of_the_repository(answer).filter(|name| *name != b"core.hookspath").map(switch_off).collect()
}

/// Of the answer of [`IsolatedGit::list_programs`]: the names of the repository's own settings.
fn names_of_the_repository(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut fields = answer.split(|&byte| byte == 0);
    std::iter::from_fn(move || Some((fields.next()?, fields.next()?)))
        .filter(|(scope, _)| matches!(*scope, b"local" | b"worktree"))
        .filter_map(|(_, setting)| setting.split(|&byte| byte == b'\n').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_repository_configured_is_switched_off_and_nothing_else() {
        let answer = b"global\0filter.lfs.clean\ngit-lfs clean\0local\0filter.a=b.clean\ntouch x\ny\0\
            worktree\0merge.m.driver\nevil\0local\0filter.a=b.required\ntrue\0";
        let off = of_the_repository(answer);
        let off: Vec<_> =
            off.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        assert_eq!(
            off,
            [("filter.a=b.clean", ""), ("merge.m.driver", "false"), ("filter.a=b.required", "false")]
        );
        assert!(of_the_repository(b"").is_empty());
        let answer = [&answer[..], b"local\0filter.a.b.process\nx"].concat();
        assert_eq!(repository_filters(&answer), ["a=b", "a.b"].map(str::to_owned).into());
    }

    #[test]
    fn a_git_that_does_not_see_our_settings_is_refused() {
        let mut git = IsolatedGit::new(&Env::empty(), Path::new("/"));
        assert_eq!(git.switch_off(Some(0), b"local\0core.hookspath\nx\0"), Err(GitTooOld));
        assert_eq!(git.switch_off(None, b""), Err(GitTooOld));
        assert_eq!(git.switch_off(Some(0), OURS), Ok(()));
        assert_eq!(git.switch_off(Some(128), b""), Ok(()));
    }

    #[test]
    fn paths_are_bytes() {
        assert_eq!(answer_path(b"/a\nb\n"), PathBuf::from("/a\nb"));
        assert_eq!(answer_path(b"/a\xff/\n").as_os_str().as_encoded_bytes(), b"/a\xff");
    }

    #[test]
    fn nothing_is_said_of_the_callers_repository() {
        let env = Env::empty()
            .with_variable("GIT_DIR", "/elsewhere")
            .with_variable("GIT_CONFIG_GLOBAL", "/mine")
            .with_variable("A", "b");
        let command = IsolatedGit::new(&env, Path::new("/")).base_command();
        let given = |name: &str| {
            let value = command.get_envs().find(|(given, _)| *given == name).and_then(|(_, value)| value);
            value.and_then(OsStr::to_str).map(str::to_owned)
        };
        assert_eq!(given("GIT_DIR"), None);
        assert_eq!(given("GIT_CONFIG_GLOBAL").as_deref(), Some("/mine"));
        assert_eq!(given("A").as_deref(), Some("b"));
        assert_eq!(given("GIT_CONFIG_COUNT").as_deref(), Some(SETTINGS.len().to_string().as_str()));
    }
}
