//! Client of one machine's far side, in the verbs of the protocol.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_config::secret::Secret;

use crate::error::{ErrorContext, RemoteError};
use crate::package::PackageArtifact;
use crate::protocol::{Chunk, Claim, CollectedResults, Observed, RemoteProbe, SessionSpec};
use crate::runner::{CommandOutput, RemoteCommandRunner};
use crate::session::is_session_id;
use crate::transport::{fault, quote_shell_word};

use super::{answer, encode, install};

/// The most that one `read` brings.
const CHUNK: u64 = 4 << 20;
/// The most that is taken of what making a work tree said.
const SETUP: u64 = 16 << 20;
/// The most that a login may say before an answer.
const GREETING: u64 = 64 << 10;
/// Pause between looks at an answer that comes into a file.
const LOOK: Duration = Duration::from_millis(100);

/// The far side of one machine. Each call is one command there; the script is brought with the first that misses it.
///
/// Errors name the machine (fact `host`). [`RemoteError::Transfer`] with a `reason` means that the machine could not be asked, and
/// nothing is known; [`RemoteError::SessionNotFound`] that it answered, and has no such session.
#[derive(Clone)]
pub struct FarSide {
    runner: Arc<dyn RemoteCommandRunner>,
    machine: String,
    root: Option<String>,
}

impl FarSide {
    /// The far side of `machine`, reached by `runner`.
    pub fn new(runner: Arc<dyn RemoteCommandRunner>, machine: impl Into<String>) -> Self {
        Self { runner, machine: machine.into(), root: None }
    }

    /// Sets the directory of sessions there, an absolute path; `None`: the usual place.
    #[must_use]
    pub fn with_root(self, root: Option<String>) -> Self {
        Self { root, ..self }
    }

    /// Puts `program` there as `~/.local/bin/NAME`, whole or not at all.
    ///
    /// # Errors
    /// `Transfer` where the machine cannot be asked or `program` cannot be read; `Execution` where it cannot be stored there.
    pub async fn install_program(&self, program: &Path, name: &str) -> Result<(), RemoteError> {
        let answer = self.send_command(&install::program_command(name), Some(program), None).await?;
        if answer.status == 0 { Ok(()) } else { Err(self.verb_error("install", None, &answer)) }
    }

    /// The machine's name.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// The resources of the machine, and the versions that `programs` report.
    ///
    /// # Errors
    /// `Validation` where one of `programs` is no program's name; `Transfer` where the machine cannot be asked; `Execution` where the
    /// command fails there or its answer is not understood.
    pub async fn probe_machine(&self, programs: &[&str]) -> Result<RemoteProbe, RemoteError> {
        let plain = |word: &str| {
            !word.is_empty()
                && !word.starts_with('-')
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+/-".contains(&byte))
        };
        if let Some(word) = programs.iter().find(|word| !plain(word)) {
            return Err(RemoteError::Validation(format!("'{word}' is no program's name").into()));
        }
        let text = self.ask_text("probe", programs).await?;
        answer::parse_probe(&text).map_err(|what| self.answer_error(what))
    }

    /// The digests among `digests` that are stored there.
    ///
    /// # Errors
    /// `Validation` where one of `digests` is no SHA-256; `Transfer` where the machine cannot be asked; `Execution` where the command fails
    /// there or its answer is not understood.
    pub async fn stored_digests(&self, digests: &[&str]) -> Result<BTreeSet<String>, RemoteError> {
        for digest in digests {
            check_digest(digest)?;
        }
        let text = self.ask_text("has", digests).await?;
        let stored: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        match stored.iter().find(|digest| !digests.contains(&digest.as_str())) {
            Some(other) => {
                Err(self.answer_error(format!("the runner's answer has an unknown line '{other}'")))
            }
            None => Ok(stored),
        }
    }

    /// Stores `file` under its SHA-256, which the machine compares; nothing is sent if it is there.
    ///
    /// # Errors
    /// `Validation` where `digest` is no SHA-256; `Transfer` where the machine cannot be asked, `file` cannot be read, or the machine got
    /// other bytes; `Execution` where it cannot store them or its answer is not understood.
    pub async fn store_file(&self, file: &Path, digest: &str) -> Result<(), RemoteError> {
        if amplihack_sys::sabotage::is_active("remote-transfer")
            || self.stored_digests(&[digest]).await?.contains(digest)
        {
            return Ok(());
        }
        self.expect_line("put", &[digest], Some(file), &["stored"]).await.map(drop)
    }

    /// Starts a session, once. Its key is exported as [`SessionSpec::key_name`].
    ///
    /// # Errors
    /// `Validation` where the far side would refuse `spec` or `key`; `Packaging` where they cannot be held in memory; `Transfer` where the
    /// machine cannot be asked or does not have what is to be unpacked; `Execution` where the session cannot be started there.
    pub async fn start_session(
        &self,
        spec: &SessionSpec,
        key: Option<&Secret>,
    ) -> Result<Claim, RemoteError> {
        self.send_session("start", "started", spec, key).await
    }

    /// Claims a session and stores it, for [`FarSide::submit_job`].
    ///
    /// # Errors
    /// Those of [`start_session`](Self::start_session).
    pub async fn prepare_session(
        &self,
        spec: &SessionSpec,
        key: Option<&Secret>,
    ) -> Result<Claim, RemoteError> {
        self.send_session("prepare", "prepared", spec, key).await
    }

    /// Gives prepared sessions to the machine's scheduler as one job of this name, once; its number.
    ///
    /// # Errors
    /// `Validation` where `name` or one of `options` cannot be used; `SessionNotFound` where one of `ids` is no session's id; `Transfer`
    /// where the machine cannot be asked; `Execution` where a session is not prepared there, or the scheduler refuses the job or does not
    /// answer.
    pub async fn submit_job(
        &self,
        name: &str,
        ids: &[&str],
        options: &[String],
    ) -> Result<String, RemoteError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > 64 || name.starts_with(['-', '.']) || !name.bytes().all(plain) {
            return Err(RemoteError::Validation(format!("'{name}' is no name of a job").into()));
        }
        if let Some(option) =
            options.iter().find(|option| !option.starts_with('-') || option.contains(['\n', '\0']))
        {
            return Err(RemoteError::Validation(format!("'{option}' is no option of a scheduler").into()));
        }
        for id in ids {
            check_id(id)?;
        }
        let mut file = self.create_scratch_file()?;
        for option in options {
            writeln!(file, "{option}")
                .map_err(|error| self.scratch_error("the scheduler's options", &error))?;
        }
        let words: Vec<&str> = std::iter::once(name).chain(ids.iter().copied()).collect();
        let text = self.run_for_text("submit", &words, Some(file.path())).await?;
        let number = answer::only_line(&text).map_err(|what| self.answer_error(what))?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.answer_error(format!("the scheduler's answer is '{number}'")));
        }
        Ok(number.to_owned())
    }

    /// The states of sessions; of all that the machine has if none is named.
    ///
    /// # Errors
    /// `SessionNotFound` where one of `ids` is no session's id; `Transfer` where the machine cannot be asked; `Execution` where the command
    /// fails there or its answer is not understood. A session that is not there is no error.
    pub async fn observe_sessions(&self, ids: &[&str]) -> Result<Vec<Observed>, RemoteError> {
        for id in ids {
            check_id(id)?;
        }
        let text = self.ask_text("observe", ids).await?;
        answer::parse_observed(&text).map_err(|what| self.answer_error(what))
    }

    /// The log from the offset `from`, at most a few megabytes. Waits up to `wait` for a first byte or the session's end.
    ///
    /// # Errors
    /// `SessionNotFound` where the machine has no such session; `Transfer` where the machine cannot be asked; `Execution` where the command
    /// fails there or its answer is not understood.
    pub async fn read_log(&self, id: &str, from: u64, wait: Duration) -> Result<Chunk, RemoteError> {
        check_id(id)?;
        let id = if amplihack_sys::sabotage::is_active("remote-block-execution") {
            "sess-20260101-000000-ffff"
        } else {
            id
        };
        let words = [id, &from.to_string(), &wait.as_secs().to_string(), &CHUNK.to_string()];
        let bytes = self.run_for_bytes("read", &words, CHUNK).await?;
        Ok(Chunk { from, bytes })
    }

    /// The output of making the session's work tree.
    ///
    /// # Errors
    /// `SessionNotFound` where the machine has no such session; `Transfer` where the machine cannot be asked; `Execution` where the command
    /// fails there or its answer is not understood.
    pub async fn read_setup_log(&self, id: &str) -> Result<Vec<u8>, RemoteError> {
        check_id(id)?;
        self.run_for_bytes("setup", &[id], SETUP).await
    }

    /// Ends everything of a session, with force after `grace`. How many processes would not end.
    ///
    /// # Errors
    /// `SessionNotFound` where `id` is no session's id; `Transfer` where the machine cannot be asked; `Execution` where the end cannot be
    /// written down there or the answer is not understood. A session that is not there is no error.
    pub async fn end_session(&self, id: &str, grace: Duration) -> Result<u32, RemoteError> {
        check_id(id)?;
        let text = self.ask_text("end", &[id, &grace.as_secs().to_string()]).await?;
        let line = answer::only_line(&text).map_err(|what| self.answer_error(what))?;
        let count = line.strip_prefix("ended ").and_then(|count| count.parse().ok());
        count.ok_or_else(|| self.answer_error(format!("the runner's answer is '{line}'")))
    }

    /// Gathers a session's results into a bundle there; nothing of the session changes.
    ///
    /// # Errors
    /// `SessionNotFound` where the machine has no such session; `Transfer` where it cannot be asked; `Execution` where the results cannot
    /// be gathered there or the answer is not understood.
    pub async fn collect_results(&self, id: &str) -> Result<CollectedResults, RemoteError> {
        check_id(id)?;
        let text = self.ask_text("collect", &[id]).await?;
        let (collected, warnings) = answer::parse_collected(&text).map_err(|what| self.answer_error(what))?;
        let warnings = warnings.iter().chain(&collected.left);
        for warning in warnings {
            tracing::warn!(session = id, host = self.machine, warning, "results may not be whole");
        }
        Ok(collected)
    }

    /// Brings what was collected to the file `to`, going on where an earlier try ended, and compares its digest.
    ///
    /// # Errors
    /// `SessionNotFound` where the machine has no such session; `Transfer` where it cannot be asked, `to` cannot be written, or other bytes
    /// arrived (then `to` is removed); `Execution` where the command fails there or its answer is not understood.
    pub async fn fetch_results(
        &self,
        id: &str,
        collected: &CollectedResults,
        to: &Path,
    ) -> Result<(), RemoteError> {
        check_id(id)?;
        let here = std::fs::metadata(to).map_or(0, |found| found.len());
        let from = if here < collected.bytes { here } else { 0 };
        if self.fetch_from(id, from, collected, to).await?
            || (from > 0 && self.fetch_from(id, 0, collected, to).await?)
        {
            return Ok(());
        }
        // Nothing of it can be trusted.
        let _ = std::fs::remove_file(to);
        let context =
            ErrorContext::new(format!("the results of {id} arrived with other bytes; collect them again"));
        Err(self.add_host(RemoteError::Transfer(context.with_fact("reason", "digest"))))
    }

    /// Brings what was collected from an offset on; whether the file is what was collected then.
    async fn fetch_from(
        &self,
        id: &str,
        from: u64,
        collected: &CollectedResults,
        to: &Path,
    ) -> Result<bool, RemoteError> {
        let output = self.create_scratch_file()?;
        let most = collected.bytes - from;
        let done = self.run_into_file("fetch", &[id, &from.to_string()], output.path(), most).await;
        if done.as_ref().is_err_and(|error| error.get_fact("reason") == Some("answer")) {
            return done.map(|()| false);
        }
        // What came before a connection was cut is kept for the next try.
        let kept = self.append_answer(output.as_file(), to, from);
        done?;
        kept?;
        Ok(PackageArtifact::from_file(to).is_ok_and(|there| there.sha256 == collected.sha256))
    }

    /// Removes a session that does not run, and all of it.
    ///
    /// # Errors
    /// `SessionNotFound` where the machine has no such session; `Transfer` where it cannot be asked; `Execution` where the session runs or
    /// cannot be removed.
    pub async fn remove_session(&self, id: &str) -> Result<(), RemoteError> {
        check_id(id)?;
        self.expect_line("remove", &[id], None, &["removed"]).await.map(drop)
    }

    async fn send_session(
        &self,
        verb: &str,
        done: &str,
        spec: &SessionSpec,
        key: Option<&Secret>,
    ) -> Result<Claim, RemoteError> {
        let session = encode::encode_session(spec, key)?;
        let said = self.expect_line(verb, &[&spec.id], Some(&session.path()), &[done, "already"]).await?;
        Ok(if said == done { Claim::Started } else { Claim::Already })
    }

    async fn expect_line(
        &self,
        verb: &str,
        words: &[&str],
        input: Option<&Path>,
        known: &[&str],
    ) -> Result<String, RemoteError> {
        let text = self.run_for_text(verb, words, input).await?;
        match answer::only_line(&text) {
            Ok(line) if known.contains(&line) => Ok(line.to_owned()),
            Ok(line) => Err(self.answer_error(format!("the runner's answer is '{line}'"))),
            Err(what) => Err(self.answer_error(what)),
        }
    }

    async fn ask_text(&self, verb: &str, words: &[&str]) -> Result<String, RemoteError> {
        self.run_for_text(verb, words, None).await
    }

    /// A verb whose answer is text.
    async fn run_for_text(
        &self,
        verb: &str,
        words: &[&str],
        input: Option<&Path>,
    ) -> Result<String, RemoteError> {
        let answer = self.run_verb(verb, words, input, None).await?;
        let at = answer::find_body(answer.stdout.as_bytes()).map_err(|what| self.answer_error(what))?;
        Ok(answer.stdout.get(at..).unwrap_or_default().to_owned())
    }

    /// A verb whose answer is bytes, at most so many.
    async fn run_for_bytes(&self, verb: &str, words: &[&str], most: u64) -> Result<Vec<u8>, RemoteError> {
        let output = self.create_scratch_file()?;
        self.run_into_file(verb, words, output.path(), most).await?;
        let mut bytes =
            std::fs::read(output.path()).map_err(|error| self.scratch_error("the answer", &error))?;
        let at = answer::find_body(&bytes).map_err(|what| self.answer_error(what))?;
        bytes.drain(..at);
        Ok(bytes)
    }

    /// Runs a verb with its answer in the file `output`. A machine that sends more than `most` bytes and a greeting is not listened to
    /// any longer: it would fill the disk here.
    async fn run_into_file(
        &self,
        verb: &str,
        words: &[&str],
        output: &Path,
        most: u64,
    ) -> Result<(), RemoteError> {
        let most = most.saturating_add(GREETING);
        let length = || std::fs::metadata(output).map_or(0, |found| found.len());
        let too_long = async {
            while length() <= most {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            biased;
            done = self.run_verb(verb, words, None, Some(output)) => {
                done?;
                if length() <= most {
                    return Ok(());
                }
            }
            () = too_long => {}
        }
        Err(self
            .answer_error(format!("{} sends more than was asked for, and was not listened to", self.machine)))
    }

    /// Runs a verb; brings the script if it is missing.
    async fn run_verb(
        &self,
        verb: &str,
        words: &[&str],
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let words: Vec<&str> = std::iter::once(verb).chain(words.iter().copied()).collect();
        let line = install::verb_command(&words);
        let mut answer = self.send_command(&line, input, output).await?;
        if answer.status == install::MISSING {
            self.install_script().await?;
            answer = self.send_command(&line, input, output).await?;
        }
        match answer.status {
            0 => Ok(answer),
            _ => Err(self.verb_error(verb, words.get(1).copied(), &answer)),
        }
    }

    async fn install_script(&self) -> Result<(), RemoteError> {
        let mut file = self.create_scratch_file()?;
        file.write_all(super::SCRIPT.as_bytes()).map_err(|error| self.scratch_error("the runner", &error))?;
        let answer = self.send_command(&install::install_command(), Some(file.path()), None).await?;
        if answer.status == 0 { Ok(()) } else { Err(self.verb_error("install", None, &answer)) }
    }

    async fn send_command(
        &self,
        line: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let placed = self
            .root
            .as_ref()
            .map(|root| format!("env AMPLIHACK_REMOTE_ROOT={} {line}", quote_shell_word(root)));
        let line = placed.as_deref().unwrap_or(line);
        let answer = match (input, output) {
            (None, None) => self.runner.connect(&self.machine, line).await,
            _ => self.runner.run_piped(&self.machine, line, input, output).await,
        };
        let answer = answer.map_err(|error| self.add_host(error))?;
        match answer.status {
            // No verb ends so; ssh does when it could not ask.
            255 => Err(self.add_host(fault::ssh_error(&answer.stderr))),
            _ => Ok(answer),
        }
    }

    /// The error of a verb that failed.
    fn verb_error(&self, verb: &str, subject: Option<&str>, answer: &CommandOutput) -> RemoteError {
        if let (66, Some(id)) = (answer.status, subject.filter(|id| is_session_id(id))) {
            return RemoteError::SessionNotFound { session_id: id.to_owned() };
        }
        let lines = || answer.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        let own = lines().find_map(|line| line.strip_prefix("amplihack-runner: "));
        let said = own.or_else(|| lines().next_back()).unwrap_or("it said nothing");
        let context = ErrorContext::new(format!("{verb} on {}: {said}", self.machine))
            .with_fact("status", answer.status);
        self.add_host(match answer.status {
            65 => RemoteError::Transfer(context.with_fact("reason", "digest")),
            74 => RemoteError::Execution(
                context
                    .with_fact("reason", "disk")
                    .with_fact("hint", "make room in ~/.amplihack/remote there, and try again"),
            ),
            75 => RemoteError::Execution(context.with_fact("reason", "busy")),
            126 | 127 => {
                RemoteError::Execution(context.with_fact("reason", "missing").with_fact(
                    "hint",
                    "sessions need sh, coreutils, util-linux, grep, git, tar and gzip there",
                ))
            }
            _ => RemoteError::Execution(context),
        })
    }

    fn answer_error(&self, what: String) -> RemoteError {
        let hint = format!("run 'ssh {}' to see what its login says", self.machine);
        self.add_host(RemoteError::Execution(
            ErrorContext::new(what).with_fact("reason", "answer").with_fact("hint", hint),
        ))
    }

    fn add_host(&self, error: RemoteError) -> RemoteError {
        if error.get_fact("host").is_some() { error } else { error.with_fact("host", &self.machine) }
    }

    fn scratch_error(&self, what: &str, error: &std::io::Error) -> RemoteError {
        self.add_host(RemoteError::Transfer(
            format!("{what} cannot be kept in a temporary file here: {error}").into(),
        ))
    }

    fn create_scratch_file(&self) -> Result<tempfile::NamedTempFile, RemoteError> {
        tempfile::NamedTempFile::new().map_err(|error| self.scratch_error("an answer", &error))
    }

    /// Appends the answer's bytes to `to`, which has `from` bytes already.
    fn append_answer(&self, mut answer: &File, to: &Path, from: u64) -> Result<(), RemoteError> {
        let wrong = |error: std::io::Error| {
            self.add_host(RemoteError::Transfer(
                format!("{} cannot be written: {error}", to.display()).into(),
            ))
        };
        let mut head = vec![0; 64 << 10];
        answer.seek(SeekFrom::Start(0)).map_err(wrong)?;
        let read = answer.read(&mut head).map_err(wrong)?;
        let at = answer::find_body(head.get(..read).unwrap_or_default())
            .map_err(|what| self.answer_error(what))?;
        answer.seek(SeekFrom::Start(at as u64)).map_err(wrong)?;
        let mut out = File::options().write(true).create(true).truncate(false).open(to).map_err(wrong)?;
        out.set_len(from).and_then(|()| out.seek(SeekFrom::End(0))).map_err(wrong)?;
        std::io::copy(&mut answer, &mut out).map_err(wrong)?;
        Ok(())
    }
}

impl std::fmt::Debug for FarSide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FarSide").field("machine", &self.machine).finish_non_exhaustive()
    }
}

fn check_id(id: &str) -> Result<(), RemoteError> {
    if is_session_id(id) { Ok(()) } else { Err(RemoteError::SessionNotFound { session_id: id.to_owned() }) }
}

fn check_digest(digest: &str) -> Result<(), RemoteError> {
    if answer::is_digest(digest) {
        Ok(())
    } else {
        Err(RemoteError::Validation(format!("'{digest}' is no SHA-256").into()))
    }
}
