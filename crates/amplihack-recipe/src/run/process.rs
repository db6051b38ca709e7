//! A step's program, from its script to what it said.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::lookup::on_path;
use amplihack_config::env::Env;
use amplihack_session::step::{SpooledFile, StepBackground, StepProgram, StepRun, StepSpec};
use amplihack_session::{DeadlineKind, EndCause};
use amplihack_sys::fs::{WriteDurability, write_atomic_with};
use amplihack_sys::{Signal, StepRecord};
use tokio::sync::watch;

use super::{RecipeRunResources, ScriptOutput, TaskResult};
use crate::script::{PreparedRecipeScript, VALUES};

/// As much of an output as a step's result has.
const OUTPUT: usize = 10_000_000;
/// As much of standard error as an error's text has.
const ERROR: usize = 4_000;
/// The longest script that is an argument; the kernel's limit is a little more.
const SCRIPT: usize = 100_000;

/// The program that runs scripts, where most systems have it.
const BASH: &str = "/bin/bash";

/// The bash that runs scripts: the system's, else the first one on the PATH of `environment`.
fn bash_path(environment: &Env) -> io::Result<PathBuf> {
    find_bash(Path::new(BASH), environment).ok_or_else(|| {
        let why = "bash is neither /bin/bash nor on PATH; commands of recipes are bash scripts: install bash";
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}

fn find_bash(usual: &Path, environment: &Env) -> Option<PathBuf> {
    if usual.exists() {
        return Some(usual.to_owned());
    }
    on_path("bash", environment.get("PATH")?)
}

/// The result of a task that has ended, with the processes that it left in the background.
pub(super) struct FinishedRecipeTask {
    pub(super) ended: TaskResult,
    pub(super) background: Option<StepBackground>,
}

impl From<TaskResult> for FinishedRecipeTask {
    fn from(ended: TaskResult) -> Self {
        Self { ended, background: None }
    }
}

/// The program that runs `prepared`, and the files that it needs, which are removed when it has ended.
pub(super) fn script_program(
    world: &RecipeRunResources,
    name: &str,
    prepared: &PreparedRecipeScript,
    cwd: &Path,
) -> io::Result<(StepProgram, RecipeStepFiles)> {
    let mut files = RecipeStepFiles::default();
    let mut environment = world.scripts.clone();
    for (name, value) in &prepared.env {
        environment.set_variable(name, value);
    }
    if !prepared.large.is_empty() {
        let path = files.write_with(world, &format!("{name}.values"), |file| prepared.write_large(file))?;
        environment.set_variable(VALUES, path);
    }
    let arguments = if prepared.text.len() > SCRIPT {
        let path = files.write(world, &format!("{name}.sh"), prepared.text.as_bytes())?;
        vec![path.into()]
    } else {
        vec!["-c".into(), prepared.text.as_str().into()]
    };
    Ok((
        StepProgram {
            path: bash_path(&environment)?,
            arguments,
            environment: environment.into(),
            directory: cwd.to_owned(),
        },
        files,
    ))
}

/// Private files that are removed when this is dropped.
#[derive(Default)]
pub(super) struct RecipeStepFiles(Vec<PathBuf>);

impl RecipeStepFiles {
    pub(super) fn write(
        &mut self,
        world: &RecipeRunResources,
        name: &str,
        contents: &[u8],
    ) -> io::Result<&Path> {
        self.write_with(world, name, |file| file.write_all(contents))
    }

    fn write_with(
        &mut self,
        world: &RecipeRunResources,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<&Path> {
        let path = world.directory.join("steps").join(name);
        write_atomic_with(&path, 0o600, WriteDurability::Process, write)?;
        self.0.push(path);
        self.0.last().map(PathBuf::as_path).ok_or_else(|| io::ErrorKind::Other.into())
    }
}

impl Drop for RecipeStepFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::debug!(path = %path.display(), %error, "a step's file stays behind");
            }
        }
    }
}

/// Runs `program` to its end, or until this process is told to stop.
pub(super) async fn run_program(
    world: &RecipeRunResources,
    name: &str,
    program: &StepProgram,
    timeout: Option<Duration>,
    mut stop: watch::Receiver<Option<Signal>>,
) -> FinishedRecipeTask {
    let cwd = &program.directory;
    if !cwd.is_dir() {
        let error =
            format!("the working directory {} is not a directory; check working_dir and -C", cwd.display());
        return TaskResult::NotStarted(error).into();
    }
    let spec = StepSpec { program, spool: &world.spool, name, timeout, grace: world.grace };
    let mut run = match StepRun::start(spec).await {
        Ok(run) => run,
        Err(error) => return TaskResult::NotStarted(error.to_string()).into(),
    };
    let told = tokio::select! {
        ended = run.wait_for_end() => Err(ended),
        changed = stop.wait_for(Option::is_some) => Ok(changed.ok().and_then(|signal| *signal)),
    };
    let ended = match told {
        Err(ended) => ended,
        Ok(signal) => {
            // It is told once; from here on only its end is waited for.
            run.end_on_signal(signal.unwrap_or(Signal::TERM));
            run.wait_for_end().await
        }
    };
    if let Err(error) = ended {
        return TaskResult::NotStarted(error.to_string()).into();
    }
    let end = run.into_output();
    let cause = end.cause;
    let interrupted =
        matches!(cause, EndCause::Interrupted(_)) && end.record.is_none_or(|record| record.ended_by_us);
    let ended = if interrupted {
        TaskResult::Interrupted
    } else {
        read_outputs(end.record, matches!(cause, EndCause::Deadline(DeadlineKind::Total)), &end.outputs)
    };
    FinishedRecipeTask { ended, background: end.background }
}

/// Reads the result of a program that an earlier runner started, if its end is in the spool.
pub(super) fn adopt_program(world: &RecipeRunResources, name: &str) -> Option<TaskResult> {
    let record = world.spool.read_record(name)?;
    let outputs = world.spool.open_outputs(name, &record).ok()?;
    Some(read_outputs(Some(record), false, &outputs))
}

fn read_outputs(record: Option<StepRecord>, timed_out: bool, outputs: &[SpooledFile; 2]) -> TaskResult {
    let read = || {
        Ok::<_, io::Error>((
            outputs[0].read_head(OUTPUT)?,
            outputs[1].read_tail(ERROR)?,
            spooled_warnings(&outputs[1])?,
        ))
    };
    match read() {
        Err(error) => TaskResult::NotStarted(format!("the step's output could not be read: {error}")),
        Ok((output, error, warnings)) => TaskResult::Script(ScriptOutput {
            exit: record.map(|record| record.exit),
            timed_out,
            output: trim_blanks(lossy_text(output)),
            output_bytes: (outputs[0].len() > OUTPUT as u64).then(|| outputs[0].len()),
            error: lossy_text(error),
            warnings,
            lost: record.is_some_and(|record| record.lost),
        }),
    }
}

/// As much of standard error's beginning and end as is searched for warnings: a launch gives them before and after its agent.
const WARNED: usize = 32 * 1024;

/// The warnings in what a program wrote to standard error, each once.
fn spooled_warnings(error: &SpooledFile) -> io::Result<Vec<String>> {
    let mut said = error.read_head(WARNED)?;
    if error.len() > WARNED as u64 {
        said.push(b'\n');
        said.extend(error.read_tail(WARNED)?);
    }
    Ok(parse_warnings(&lossy_text(said)))
}

/// The warnings of this project in `said`, as text behind their mark, each once.
pub fn parse_warnings(said: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for warning in said.lines().filter_map(|line| line.strip_prefix("warning: ")) {
        if !found.iter().any(|known| known == warning) {
            found.push(warning.to_owned());
        }
    }
    found
}

/// Bytes that are no UTF-8 are replaced.
fn lossy_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn trim_blanks(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    let blanks = text.len() - text.trim_start().len();
    text.drain(..blanks);
    text.shrink_to_fit();
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn bash_is_the_systems_or_the_first_on_an_absolute_path() {
        let dir = tempfile::tempdir().unwrap();
        let programs = dir.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        let path = std::env::join_paths([Path::new("relative"), Path::new("/nowhere"), &programs]).unwrap();
        let env = Env::empty().with_variable("PATH", path);
        let none = dir.path().join("none");
        assert_eq!(find_bash(&none, &env), None);
        std::fs::write(programs.join("bash"), "").unwrap();
        assert_eq!(find_bash(&none, &env), None, "nobody may execute it");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(programs.join("bash"), executable).unwrap();
        assert_eq!(find_bash(&none, &env), Some(programs.join("bash")));
        assert_eq!(find_bash(&programs, &env), Some(programs), "the usual one comes first");
        assert_eq!(find_bash(&none, &Env::empty()), None);
    }
}
