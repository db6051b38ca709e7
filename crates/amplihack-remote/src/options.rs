//! Options and results of the six commands.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::mode::CommandMode;
use crate::session::{Session, SessionStatus};
use crate::size::VMSize;

/// The machine that [`exec`](crate::exec) works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VMOptions {
    /// The Azure machine to rent.
    pub size: String,
    /// Azure region; `None`: `AZURE_REGION`, else `eastus`.
    pub region: Option<String>,
    /// Work on this machine, which must be there, and leave it.
    pub vm_name: Option<String>,
    /// Make a new machine even if one is free.
    pub no_reuse: bool,
    /// Leave the machine in any case.
    pub keep_vm: bool,
    /// A local port that an existing tunnel leads from to the machine's ssh.
    pub tunnel_port: Option<u16>,
    /// More words for `azlin new`.
    pub azlin_extra_args: Vec<String>,
}

impl Default for VMOptions {
    fn default() -> Self {
        Self {
            size: "Standard_D2s_v3".to_owned(),
            region: None,
            vm_name: None,
            no_reuse: false,
            keep_vm: false,
            tunnel_port: None,
            azlin_extra_args: Vec::new(),
        }
    }
}

/// Options of [`exec`](crate::exec): a prompt that is worked on until its end.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// A directory of the repository whose work is sent.
    pub repo_path: PathBuf,
    /// The mode of work on the prompt.
    pub command: CommandMode,
    /// The prompt.
    pub prompt: String,
    /// The most turns: 1 to 50.
    pub max_turns: u32,
    /// The machine.
    pub vm_options: VMOptions,
    /// The longest time, by the clock: 5 to 480 minutes.
    pub timeout_minutes: u64,
    /// Send without a search for secrets.
    pub skip_secret_scan: bool,
    /// The key of the agent's provider.
    pub api_key: String,
}

/// The result of [`exec`](crate::exec).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowResult {
    /// The exit code on the far side.
    pub exit_code: i32,
    /// The results that were brought home; `None` if the session changed nothing.
    pub summary: Option<IntegrationSummary>,
    /// The machine, if it is still there.
    pub vm_name: Option<String>,
}

/// Summary of the results that were fetched under `refs/remotes/remote-exec/<session>/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationSummary {
    /// The branches, in order.
    pub branches: Vec<String>,
    /// Commits that the base does not have.
    pub commits: usize,
    /// Files that differ from the base.
    pub files_changed: usize,
    /// Files that would conflict if the results were merged now.
    pub conflicts: Vec<String>,
}

/// Prompts that are worked on while nobody waits.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// A directory of the repository whose work is sent.
    pub repo_path: PathBuf,
    /// The prompts, with a session for each.
    pub prompts: Vec<String>,
    /// The mode of work on the prompts.
    pub command: CommandMode,
    /// The most turns: 1 to 50.
    pub max_turns: u32,
    /// The tier of the machines.
    pub size: VMSize,
    /// Azure region; `None`: `AZURE_REGION`, else `eastus`.
    pub region: Option<String>,
    /// A local port that an existing tunnel leads from to the machine's ssh.
    pub tunnel_port: Option<u16>,
    /// The key of the agent's provider.
    pub api_key: String,
    /// The state file; `None`: `AMPLIHACK_REMOTE_STATE`, else the one in the home.
    pub state_file: Option<PathBuf>,
}

/// The sessions that run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartResult {
    /// In the order of the prompts.
    pub sessions: Vec<Session>,
}

/// Options of [`list_sessions`](crate::list_sessions): the choice of sessions.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// Only those that stand so.
    pub status: Option<SessionStatus>,
    /// The state file; `None` as for [`StartOptions`].
    pub state_file: Option<PathBuf>,
}

/// Options of [`capture_output`](crate::capture_output): the session, and the number of lines.
#[derive(Debug, Clone)]
pub struct OutputOptions {
    /// The session.
    pub session_id: String,
    /// Number of lines from the end of the output.
    pub lines: u32,
    /// The state file; `None` as for [`StartOptions`].
    pub state_file: Option<PathBuf>,
}

/// The last output of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutput {
    /// The session as it stands now.
    pub session: Session,
    /// The end of its log.
    pub output: String,
}

/// Options of [`kill_session`](crate::kill_session): the session to end.
#[derive(Debug, Clone)]
pub struct KillOptions {
    /// The session.
    pub session_id: String,
    /// Give its slot back even if its machine does not answer.
    pub force: bool,
    /// The state file; `None` as for [`StartOptions`].
    pub state_file: Option<PathBuf>,
}

/// The result of ending a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillResult {
    /// The session as it stands now.
    pub session: Session,
    /// Set if the machine was asked: not if the session had ended or was on no machine, or if nobody knows its machine.
    pub remote_kill_attempted: bool,
    /// Nothing of it runs there, as its machine answered.
    pub remote_kill_succeeded: bool,
    /// Set if the call freed the session's slot.
    pub capacity_released: bool,
}

/// Options of [`status`](crate::status): the state file to sum up.
#[derive(Debug, Clone, Default)]
pub struct StatusOptions {
    /// The state file; `None` as for [`StartOptions`].
    pub state_file: Option<PathBuf>,
}

/// Sums over the pool and the sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteStatus {
    /// The machines.
    pub pool: PoolStatus,
    /// The sessions by how they stand.
    pub sessions: SessionCounts,
    /// All sessions.
    pub total_sessions: usize,
}

/// Sums over the machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PoolStatus {
    /// Number of machines.
    pub total_vms: usize,
    /// Number of sessions that the machines hold together.
    pub total_capacity: usize,
    /// Number of slots in use.
    pub active_sessions: usize,
    /// Number of free slots.
    pub available_capacity: usize,
    /// The machines, by name.
    pub vms: Vec<PoolVm>,
}

/// Machine of the pool, with its slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolVm {
    /// The name of the machine.
    pub name: String,
    /// The provider's size of the machine; empty where there is none.
    pub size: String,
    /// The region of the machine; empty where there is none.
    pub region: String,
    /// Number of sessions that the machine holds.
    pub capacity: usize,
    /// Number of slots in use.
    pub active_sessions: usize,
    /// Number of free slots.
    pub available_capacity: usize,
}

/// Number of sessions by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SessionCounts {
    /// Running.
    pub running: usize,
    /// Ended with code 0.
    pub completed: usize,
    /// Ended otherwise.
    pub failed: usize,
    /// Ended by `kill`.
    pub killed: usize,
    /// Not seen to run yet.
    pub pending: usize,
}
