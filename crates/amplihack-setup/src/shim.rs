//! The program that stands in Copilot's place on PATH: amplihack through a link named `copilot`.
//!
//! It normalises its arguments and *becomes* the real Copilot, so nothing stays between a caller and Copilot: no process,
//! no file, no changed exit code. A recipe run installs the link into a directory of its own and puts that first on PATH.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_agent::copilot::nested::{PROMPT, PROMPT_EQUALS};
use amplihack_agent::lookup::{self, LookupError};
use amplihack_agent::{AgentBinary, agent_profile};
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_launcher::copilot::{NormalizeError, NormalizeWarning, NormalizedArguments, normalize};
use amplihack_launcher::discover::{VersionSource, discover_agent};
use amplihack_launcher::nested_changes;
use amplihack_sys::arg_limits;
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use amplihack_sys::fs::create_private_dir;

/// Copilot cannot be called as it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShimError {
    /// The arguments cannot be read.
    #[error(transparent)]
    Arguments(#[from] NormalizeError),
    /// There is no Copilot beyond this program.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A prompt that is too long for an argument could not be handed over.
    #[error("a prompt of {size} bytes is too long for an argument, and no temporary file took it: {source}")]
    Prompt {
        /// Length of the prompt, in bytes.
        size: usize,
        /// The cause.
        source: io::Error,
    },
}

impl ErrorExplanation for ShimError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Arguments(error) => error.kind(),
            Self::Lookup(error) => error.kind(),
            Self::Prompt { .. } => "prompt_file",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Arguments(error) => error.exit_kind(),
            Self::Lookup(error) => error.exit_kind(),
            Self::Prompt { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Arguments(error) => error.hint(),
            Self::Lookup(error) => error.hint(),
            Self::Prompt { .. } => Some("name a directory that takes files in TMPDIR".to_owned()),
        }
    }
}

/// Reports whether this process, whose command line is `args`, was called under Copilot's name.
pub fn is_called(args: &[OsString]) -> bool {
    args.first().is_some_and(|own| Path::new(own).file_name() == Some(OsStr::new(program_name())))
}

fn program_name() -> &'static str {
    agent_profile(AgentBinary::Copilot).program
}

/// The real Copilot with `args` normalised, to be given to [`amplihack_session::become_program`], and what to tell a person.
///
/// The real one is found as every launch finds it, this program left out. What an agent above hides from its tools though
/// Copilot needs it is given back, as in a launch.
///
/// # Errors
///
/// [`ShimError`]; nothing was started.
pub fn copilot_command(
    args: &[OsString],
    env: &Env,
    config: &LayeredConfig,
) -> Result<(Command, Vec<NormalizeWarning>), ShimError> {
    let NormalizedArguments { mut argv, warnings } = normalize(args)?;
    let real = discover_agent(AgentBinary::Copilot, env, config, VersionSource::Unknown)?.path;
    let prompt = long_prompt(&mut argv, env)?;
    let mut command = Command::new(real);
    command.args(argv);
    for change in nested_changes(AgentBinary::Copilot, env) {
        match change.value {
            Some(value) => command.env(change.name, value),
            None => command.env_remove(change.name),
        };
    }
    if let Some(prompt) = prompt {
        command.stdin(prompt);
    }
    Ok((command, warnings))
}

/// A prompt that no argument holds, which Copilot reads from stdin: a file without a name, gone with the last who has it open.
fn long_prompt(argv: &mut Vec<OsString>, env: &Env) -> Result<Option<File>, ShimError> {
    let fits = |word: &OsString| word.len() as u64 <= arg_limits().one_string;
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let Some(at) = argv[..end].iter().position(|word| !fits(word)) else { return Ok(None) };
    let Some(text) = prompt_at(argv, at) else { return Ok(None) };
    let file = || {
        let mut file = tempfile::tempfile_in(env.temporary_dir())?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    file().map(Some).map_err(|source| ShimError::Prompt { size: text.len(), source })
}

/// Takes the prompt out of `argv` if the word at `at` holds it. The normaliser puts it last and writes it in one way.
fn prompt_at(argv: &mut Vec<OsString>, at: usize) -> Option<OsString> {
    if let Some(text) = argv[at].as_bytes().strip_prefix(PROMPT_EQUALS.as_bytes()) {
        let text = OsStr::from_bytes(text).to_owned();
        argv.remove(at);
        return Some(text);
    }
    let flag = at.checked_sub(1)?;
    if argv[flag] != PROMPT {
        return None;
    }
    argv.drain(flag..=at).next_back()
}

/// The link in a directory. Dropping it removes both.
#[derive(Debug)]
pub struct CopilotShimLink {
    directory: PathBuf,
}

/// Puts a link named `copilot` to `exe`, which must be amplihack, into `dir`, which is made with mode 0700 if it is not there.
///
/// `dir` is the caller's own, below the state of its run, and holds nothing else. A link that a killed run left is replaced.
pub fn install_into(dir: &Path, exe: &Path) -> io::Result<CopilotShimLink> {
    if !dir.is_absolute() || !exe.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a shim needs absolute paths"));
    }
    create_private_dir(dir)?;
    let link = dir.join(program_name());
    match std::fs::read_link(&link) {
        Ok(target) if target == exe => {}
        Ok(_) => {
            std::fs::remove_file(&link)?;
            std::os::unix::fs::symlink(exe, &link)?;
        }
        // What is no link is not ours, and stays.
        Err(_) => std::os::unix::fs::symlink(exe, &link)?,
    }
    Ok(CopilotShimLink { directory: dir.to_owned() })
}

impl CopilotShimLink {
    /// Directory of the link.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// `path` with the link's directory first, and nowhere else.
    ///
    /// # Errors
    ///
    /// The directory has a colon in its name, which no PATH can hold.
    pub fn prepend_to_path(&self, path: Option<&OsStr>) -> Result<OsString, std::env::JoinPathsError> {
        let others = path.into_iter().flat_map(std::env::split_paths);
        let others = others.filter(|directory| *directory != self.directory);
        std::env::join_paths(std::iter::once(self.directory.clone()).chain(others))
    }
}

impl Drop for CopilotShimLink {
    fn drop(&mut self) {
        let gone = std::fs::remove_file(self.directory.join(program_name()))
            .and_then(|()| std::fs::remove_dir(&self.directory));
        if let Err(error) = gone {
            tracing::debug!(directory = %self.directory.display(), %error, "a shim's directory stays");
        }
    }
}

/// The shim for Copilot and the directory that holds it for the time of a run.
#[derive(Debug, Clone)]
pub struct CopilotShim {
    /// A directory below the state of the run, which is made and removed.
    pub directory: PathBuf,
    /// Amplihack's program file.
    pub program: PathBuf,
}

/// The warning for a person that there is no shim, for the reason `why`.
pub fn missing_shim_warning(why: &impl std::fmt::Display) -> String {
    format!("Copilot is called without its flags being normalised: {why}")
}

impl CopilotShim {
    /// The shim of the run `id`, below `home`, the directory of amplihack's state.
    pub fn of_run(home: &Path, id: &str, program: PathBuf) -> Self {
        Self { directory: home.join("shims").join(id), program }
    }

    /// Puts the shim first on PATH in `env`, if there is a Copilot to be called. It goes when it is dropped.
    pub fn put_first(&self, env: &mut Env) -> io::Result<Option<CopilotShimLink>> {
        if amplihack_sys::sabotage::is_active("copilot-nested") {
            return Ok(None);
        }
        if lookup::find_program(AgentBinary::Copilot, None, env).is_err() {
            return Ok(None);
        }
        let shim = install_into(&self.directory, &self.program)?;
        let path = shim.prepend_to_path(env.get("PATH")).map_err(io::Error::other)?;
        env.set_variable("PATH", path);
        Ok(Some(shim))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_shim_is_first_on_path_once_and_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("run/bin");
        let shim = install_into(&bin, Path::new("/opt/amplihack")).unwrap();
        assert_eq!(std::fs::read_link(bin.join("copilot")).unwrap(), Path::new("/opt/amplihack"));
        assert_eq!(std::fs::metadata(&bin).unwrap().permissions().mode() & 0o777, 0o700);
        let path = shim.prepend_to_path(Some(OsStr::new("/usr/bin:/bin"))).unwrap();
        assert_eq!(shim.prepend_to_path(Some(&path)).unwrap(), path);
        assert_eq!(path.to_string_lossy(), format!("{}:/usr/bin:/bin", bin.display()));
        drop(shim);
        assert!(!bin.exists());
    }

    #[test]
    fn a_link_that_a_killed_run_left_is_replaced_and_a_file_of_somebody_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("copilot");
        std::os::unix::fs::symlink("/old/amplihack", &link).unwrap();
        std::mem::forget(install_into(dir.path(), Path::new("/new/amplihack")).unwrap());
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("/new/amplihack"));
        std::fs::remove_file(&link).unwrap();
        std::fs::write(&link, "theirs").unwrap();
        install_into(dir.path(), Path::new("/new/amplihack")).unwrap_err();
        assert_eq!(std::fs::read(&link).unwrap(), b"theirs");
        install_into(Path::new("relative"), Path::new("/new/amplihack")).unwrap_err();
    }

    #[test]
    fn only_copilots_name_calls_the_shim() {
        for (own, called) in [
            ("copilot", true),
            ("/run/bin/copilot", true),
            ("amplihack", false),
            ("copilot/x", false),
            ("", false),
        ] {
            assert_eq!(is_called(&[own.into(), "-p".into()]), called, "{own}");
        }
        assert!(!is_called(&[]));
    }

    #[test]
    fn a_prompt_that_no_argument_holds_is_taken_out() {
        let long: OsString = "x".repeat(200_000).into();
        let dashes: OsString = format!("--prompt=-{}", "x".repeat(200_000)).into();
        let env = Env::empty();
        let words = |words: &[&OsString]| words.iter().map(|word| (*word).clone()).collect::<Vec<OsString>>();
        let (p, model) = ("-p".into(), "--model=m".into());
        for argv in [words(&[&model, &p, &long]), words(&[&model, &dashes])] {
            let mut left = argv;
            assert!(long_prompt(&mut left, &env).unwrap().is_some());
            assert_eq!(left, ["--model=m"]);
        }
        let mut other = words(&[&"--name".into(), &long]);
        assert!(long_prompt(&mut other, &env).unwrap().is_none());
        assert_eq!(other.len(), 2);
    }
}
