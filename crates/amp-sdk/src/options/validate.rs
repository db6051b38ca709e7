//! Validation of options before anything is started.

use semver::Version;

use super::{ContinueThread, Options, log_level};
use crate::capability::CliFeature;
use crate::error::{Error, Result};
#[cfg(feature = "governed")]
use crate::governed::GovernedAuthority;

/// Reports whether `name` may name an environment variable: a letter or `_`, then letters, digits and `_`.
pub(crate) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_label(label: &str) -> bool {
    amplihack_sys::sabotage::is_active("amp-option-label-names")
        || (1..=32).contains(&label.len())
            && label.starts_with(|c: char| c.is_ascii_alphanumeric())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl Options {
    /// Checks every option, in this order: times and sizes, the authority, what no CLI or not this one has, the model, the surface, the rest.
    ///
    /// Everything that starts the CLI calls it.
    ///
    /// # Errors
    /// `invalid_configuration` naming the option, `unsupported_capability` for what the CLI does not have, `config_invalid` for a working
    /// directory that is not there.
    pub fn validate(&self) -> Result<()> {
        self.check_numbers()?;
        #[cfg(feature = "governed")]
        if let Some(authority) = &self.governed_authority {
            authority.validate()?;
            GovernedAuthority::check_options(self)?;
        }
        self.check_features(self.cli_version.as_ref())?;
        if let Some(model) = &self.model_payload {
            model.check_usable(self.cli_version.as_ref())?;
        }
        self.execution_surface.validate()?;
        self.check_surface()?;
        self.check_lists()?;
        self.check_texts()?;
        self.check_executor()?;
        let here = self.execution_surface.is_local();
        match self.cwd.as_ref().filter(|cwd| here && !cwd.is_dir()) {
            Some(cwd) => Err(Error::ConfigInvalid { path: cwd.clone() }),
            None => Ok(()),
        }
    }

    fn check_numbers(&self) -> Result<()> {
        let numbers = [
            ("startup_timeout_ms", self.startup_timeout_ms),
            ("stream_timeout_ms", self.stream_timeout_ms),
            ("run_deadline_ms", self.run_deadline_ms.unwrap_or(1)),
            ("linger_timeout_ms", self.linger_timeout_ms),
            ("transport_headless_timeout_ms", self.transport_headless_timeout_ms),
            ("max_stderr_buffer_bytes", self.max_stderr_buffer_bytes as u64),
        ];
        match numbers.into_iter().find(|(_, number)| *number == 0) {
            Some((name, _)) => Err(Error::invalid_option(name, "it is 0; give a positive number")),
            None => Ok(()),
        }
    }

    fn check_features(&self, version: Option<&Version>) -> Result<()> {
        let wanted = [
            (CliFeature::CompletionOnly, self.completion_only),
            (CliFeature::OutputSchema, self.output_schema.is_some()),
            (CliFeature::ContinueLast, self.continue_thread == Some(ContinueThread::Last)),
            (CliFeature::VisibilityUnlisted, self.visibility.as_deref() == Some(super::visibility::UNLISTED)),
            (CliFeature::Features, !self.features.is_empty()),
            (CliFeature::Executor, self.executor.is_some()),
            (CliFeature::RunnerDir, self.runner_dir.is_some()),
            (CliFeature::Project, self.project.is_some()),
            (CliFeature::Attach, !self.attach.is_empty()),
            (CliFeature::Title, self.title.is_some()),
            (CliFeature::NoArchive, self.no_archive_after_execute),
        ];
        wanted
            .into_iter()
            .filter(|(_, wanted)| *wanted)
            .try_for_each(|(feature, _)| feature.require_in(version))
    }

    /// Files of this machine mean nothing on another one.
    fn check_surface(&self) -> Result<()> {
        if self.execution_surface.is_local() {
            return Ok(());
        }
        let overlays = [
            ("permissions", self.permissions.is_some()),
            ("skills", self.skills.is_some()),
            ("enabled_tools", self.enabled_tools.is_some()),
            ("dangerously_allow_all", self.dangerously_allow_all.is_some()),
            (
                "mcp_config",
                self.mcp_config
                    .as_ref()
                    .is_some_and(|config| !config.is_empty() && config.file_content().is_ok()),
            ),
        ];
        match overlays.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Error::invalid_option(
                name,
                "it needs a private file beside the CLI, and nothing is copied to another machine; put it into the settings there",
            )),
            None => Ok(()),
        }
    }

    fn check_lists(&self) -> Result<()> {
        // Checked here, since the SDK before this one only wrote these limits down.
        if self.labels.len() > 20 {
            return Err(Error::invalid_option(
                "labels",
                format!("there are {}; give at most 20", self.labels.len()),
            ));
        }
        if let Some(at) = self.labels.iter().position(|label| !is_label(label)) {
            return Err(Error::invalid_option(
                format!("labels[{at}]"),
                "a label is 1 to 32 letters, digits and -, the first no -",
            ));
        }
        for (at, rule) in self.permissions.iter().flatten().enumerate() {
            rule.validate(&format!("permissions[{at}]"))?;
        }
        let blank = |list: &[String]| list.iter().position(|word| word.trim().is_empty());
        if let Some(at) = blank(self.enabled_tools.as_deref().unwrap_or_default()) {
            return Err(Error::invalid_option(format!("enabled_tools[{at}]"), "it is blank; drop it"));
        }
        // The CLI would take a feature that begins with `-` for a flag of its own.
        if let Some(at) =
            self.features.iter().position(|word| word.trim().is_empty() || word.starts_with('-'))
        {
            return Err(Error::invalid_option(
                format!("features[{at}]"),
                "it is blank or begins with -; name a feature",
            ));
        }
        for (name, value) in &self.env {
            if !is_variable(name) {
                return Err(Error::invalid_option(
                    "env",
                    format!("{name:?} is no name of a variable; rename it"),
                ));
            }
            if value.contains('\0') {
                return Err(Error::invalid_option(format!("env.{name}"), "it holds a NUL byte"));
            }
        }
        self.mcp_config.as_ref().map_or(Ok(()), super::McpConfig::validate)
    }

    /// Options of a place that the run does not go to have no effect there, which the CLI does not say.
    fn check_executor(&self) -> Result<()> {
        let executor = self.executor.as_deref();
        let runner = executor.and_then(|word| word.strip_prefix("runner:"));
        let invalid = |name: &str, message: &str| Err(Error::invalid_option(name, message));
        if executor.is_some_and(|word| !["local", "orb"].contains(&word))
            && runner.is_none_or(|id| id.trim().is_empty())
        {
            return invalid("executor", "it is none of local, orb and runner:ID");
        }
        if executor.is_some() && self.continue_thread.is_some() {
            return invalid("executor", "only a new thread takes one; a thread goes on where it is");
        }
        if self.runner_dir.is_some() && runner.is_none() {
            return invalid("runner_dir", "only the executor runner:ID takes it");
        }
        if self.runner_dir.as_ref().is_some_and(|directory| !directory.is_absolute()) {
            return invalid("runner_dir", "it is not absolute");
        }
        if self.project.is_some() && executor != Some("orb") {
            return invalid("project", "only the executor orb takes it");
        }
        if !self.attach.is_empty() && !self.runs_remotely() {
            return invalid(
                "attach",
                "only the executors orb and runner:ID take files; name the file in the prompt",
            );
        }
        let odd = |path: &std::path::PathBuf| {
            let bytes = path.as_os_str().as_encoded_bytes();
            bytes.is_empty() || bytes.starts_with(b"-") || bytes.contains(&0)
        };
        match self.attach.iter().position(odd) {
            Some(at) => invalid(
                &format!("attach[{at}]"),
                "it is blank, begins with - or holds a NUL byte; write ./ before it",
            ),
            None => Ok(()),
        }
    }

    /// Reports whether the agent is to run somewhere else than the CLI.
    fn runs_remotely(&self) -> bool {
        self.executor.as_deref().is_some_and(|executor| executor != "local")
    }

    /// Checks that a run with these options can take its input: messages as a stream (`is_json`), or a text.
    pub(crate) fn check_input(&self, is_json: bool) -> Result<()> {
        if is_json && self.runs_remotely() {
            return Err(Error::invalid_option(
                "executor",
                "a remote one takes no stream of messages; give the prompt as a text",
            ));
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<()> {
        let id = match &self.continue_thread {
            Some(ContinueThread::Id(id)) => Some(id.as_str()),
            _ => None,
        };
        let texts = [
            ("mode", self.mode.as_deref()),
            ("visibility", self.visibility.as_deref()),
            ("log_level", self.log_level.as_deref()),
            ("continue_thread", id),
            ("title", self.title.as_deref()),
            ("executor", self.executor.as_deref()),
            ("project", self.project.as_deref()),
            ("skills", self.skills.as_deref()),
        ];
        for (name, text) in texts {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.contains('\0') {
                return Err(Error::invalid_option(
                    name,
                    "it is blank or holds a NUL byte; leave it out or give a text",
                ));
            }
            // The CLI would take it for a flag.
            if text.starts_with('-') {
                return Err(Error::invalid_option(
                    name,
                    "it begins with -, which the CLI would take for a flag",
                ));
            }
        }
        if let Some(level) = self.log_level.as_deref()
            && !log_level::ALL.contains(&level)
            && !amplihack_sys::sabotage::is_active("amp-option-log-levels")
        {
            return Err(Error::invalid_option(
                "log_level",
                format!("{level:?} is no level of the CLI; give one of {}", log_level::ALL.join(", ")),
            ));
        }
        // What a missing id becomes in other languages; the CLI would go on with nothing.
        if id.is_some_and(|id| {
            ["nil", "null", "undefined", "none"].contains(&id.to_ascii_lowercase().as_str())
        }) {
            return Err(Error::invalid_option(
                "continue_thread",
                "it is the name of an absent value; leave it out or give an id",
            ));
        }
        if self.title.as_deref().is_some_and(|title| title.chars().count() > 256) {
            return Err(Error::invalid_option("title", "it has more than 256 characters; shorten it"));
        }
        if self.title.is_some() && self.continue_thread.is_some() {
            return Err(Error::invalid_option(
                "title",
                "only a new thread takes one; rename the thread with threads::rename",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rule::{Permission, PermissionAction};
    use crate::surface::{ExecutionSurface, SshSurface};

    fn kind(options: &Options) -> (&'static str, String) {
        let error = options.validate().unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        type Change = fn(&mut Options);
        let changes: &[(Change, &str)] = &[
            (|given| given.stream_timeout_ms = 0, "stream_timeout_ms"),
            (|given| given.run_deadline_ms = Some(0), "run_deadline_ms"),
            (|given| given.max_stderr_buffer_bytes = 0, "max_stderr_buffer_bytes"),
            (|given| given.labels = vec!["has space".into()], "labels[0]"),
            (|given| given.labels = vec!["x".into(), "a".repeat(33)], "labels[1]"),
            (|given| given.labels = vec!["x".into(); 21], "labels"),
            (
                |given| given.permissions = Some(vec![Permission::new("Bash", PermissionAction::Delegate)]),
                "permissions[0].to",
            ),
            (|given| given.log_level = Some("trace".into()), "log_level"),
            (|given| given.env = [("A B".into(), "x".into())].into(), "env"),
            (|given| given.mode = Some("-x".into()), "mode"),
            (|given| given.visibility = Some(String::new()), "visibility"),
            (|given| given.continue_thread = Some("nil".into()), "continue_thread"),
            (
                |given| {
                    given.title = Some("t".into());
                    given.continue_thread = Some("T-1".into());
                },
                "title",
            ),
        ];
        for (change, name) in changes {
            let mut options = Options::default();
            change(&mut options);
            let (kind, text) = kind(&options);
            assert_eq!(kind, "invalid_configuration", "{text}");
            assert!(text.starts_with(&format!("use {name}: ")), "{text}");
        }
    }

    #[test]
    fn what_no_cli_has_fails_closed_before_the_cli_is_looked_for() {
        let schema =
            Options { output_schema: Some(json!({})), cwd: Some("/nowhere".into()), ..Options::default() };
        assert_eq!(kind(&schema).0, "unsupported_capability");
        let only = Options { completion_only: true, ..Options::default() };
        insta::assert_snapshot!(kind(&only).1);
        let old = Options {
            cli_version: Some(Version::new(0, 0, 1)),
            continue_thread: Some(ContinueThread::Last),
            ..Options::default()
        };
        assert_eq!(kind(&old).0, "unsupported_capability");
    }

    #[test]
    fn a_missing_directory_is_its_own_kind_and_only_looked_for_here() {
        let gone = Options { cwd: Some("/nowhere".into()), ..Options::default() };
        assert_eq!(kind(&gone).0, "config_invalid");
        Options { execution_surface: ExecutionSurface::Ssh(SshSurface::new("h")), ..gone }
            .validate()
            .unwrap();
    }

    #[test]
    fn files_are_not_sent_to_another_machine() {
        let there =
            Options { execution_surface: ExecutionSurface::Ssh(SshSurface::new("h")), ..Options::default() };
        for options in [
            Options { permissions: Some(Vec::new()), ..there.clone() },
            Options { mcp_config: Some("{\"a\":{}}".into()), ..there.clone() },
            Options { skills: Some("/s".into()), ..there.clone() },
        ] {
            assert_eq!(kind(&options).0, "invalid_configuration");
        }
        Options { mcp_config: Some("/etc/there.json".into()), ..there }.validate().unwrap();
    }

    #[test]
    fn debug_shows_no_secret() {
        let options = Options {
            env: [("AMP_API_KEY".into(), "hunter2".into())].into(),
            mcp_config: Some("{\"a\":\"hunter2\"}".into()),
            ..Options::default()
        };
        let shown = format!("{options:?}");
        assert!(shown.contains("AMP_API_KEY") && !shown.contains("hunter2"), "{shown}");
    }
}
