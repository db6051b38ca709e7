//! Command of a session on the far side: the words of `amplihack` there, and the file that its prompt becomes.

use amplihack_agent::{AgentBinary, PermissionLevel};
use serde_json::json;

use crate::error::{ErrorContext, RemoteError};
use crate::mode::CommandMode;

/// Path of the prompt's file there, relative to the work tree.
const PROMPT: &str = "../prompt";

/// A session's work.
#[derive(Debug, Clone)]
pub(crate) struct SessionCommand<'a> {
    pub(crate) mode: CommandMode,
    pub(crate) agent: AgentBinary,
    pub(crate) max_turns: u32,
    pub(crate) permissions: Option<PermissionLevel>,
    /// The repository's configured check.
    pub(crate) check: Option<&'a str>,
}

impl SessionCommand<'_> {
    /// Checks that everything that the mode needs is there.
    pub(crate) fn check_mode(&self) -> Result<(), RemoteError> {
        if self.mode == CommandMode::Fix && self.check.is_none() {
            return Err(RemoteError::Validation(
                ErrorContext::new("'fix' works until the repository's check holds, and none is configured")
                    .with_fact(
                        "hint",
                        "set test_command in .amplihack/config.toml and trust the repository, or use 'auto'",
                    ),
            ));
        }
        Ok(())
    }

    /// The words, beginning with the program.
    pub(crate) fn argv(&self) -> Vec<String> {
        let mut argv: Vec<String> = vec!["amplihack".to_owned()];
        if amplihack_sys::sabotage::is_active("remote-execution") {
            argv.push("version".to_owned());
        }
        let turns = if amplihack_sys::sabotage::is_active("remote-max-turns") { 1 } else { self.max_turns };
        match self.mode {
            CommandMode::Auto | CommandMode::Fix => {
                argv.extend(["auto", "--task-file", PROMPT, "--max-turns"].map(str::to_owned));
                argv.push(turns.to_string());
                if let (CommandMode::Fix, Some(check)) = (self.mode, self.check) {
                    argv.push(format!("--verify={check}"));
                }
            }
            CommandMode::Ultrathink | CommandMode::Analyze => {
                let recipe = if self.mode == CommandMode::Ultrathink {
                    "default-workflow"
                } else {
                    "investigation-workflow"
                };
                argv.extend(["recipe", "run", recipe, "--context-file", PROMPT].map(str::to_owned));
            }
        }
        argv.extend(["--agent".to_owned(), self.agent.name().to_owned()]);
        if let Some(level) = self.permissions {
            argv.push(format!("--permissions={level}"));
        }
        argv
    }

    /// The content of the prompt's file: the prompt itself, or a recipe's context object around it.
    pub(crate) fn prompt_file(&self, prompt: &str) -> Vec<u8> {
        match self.mode {
            CommandMode::Auto | CommandMode::Fix => prompt.as_bytes().to_vec(),
            CommandMode::Ultrathink | CommandMode::Analyze => {
                json!({ "task_description": prompt }).to_string().into_bytes()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(mode: CommandMode) -> String {
        let work = SessionCommand {
            mode,
            agent: AgentBinary::Claude,
            max_turns: 7,
            permissions: Some(PermissionLevel::Edit),
            check: Some("cargo test -q"),
        };
        work.argv().join(" ")
    }

    #[test]
    fn modes_become_commands_and_prompts_files() {
        insta::assert_snapshot!(CommandMode::ALL.map(argv).join("\n"), @r"
        amplihack auto --task-file ../prompt --max-turns 7 --agent claude --permissions=edit
        amplihack recipe run default-workflow --context-file ../prompt --agent claude --permissions=edit
        amplihack recipe run investigation-workflow --context-file ../prompt --agent claude --permissions=edit
        amplihack auto --task-file ../prompt --max-turns 7 --verify=cargo test -q --agent claude --permissions=edit
        ");
    }

    #[test]
    fn fix_needs_a_check() {
        let work = SessionCommand {
            mode: CommandMode::Fix,
            agent: AgentBinary::Codex,
            max_turns: 1,
            permissions: None,
            check: None,
        };
        assert!(work.check_mode().is_err());
        assert_eq!(
            SessionCommand { mode: CommandMode::Analyze, ..work }.prompt_file("a \"b\"\n"),
            br#"{"task_description":"a \"b\"\n"}"#
        );
    }
}
