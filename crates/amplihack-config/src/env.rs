//! The environment as data: read once at the edge of the process, passed on from there, never changed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A snapshot of environment variables. Names and values need not be UTF-8.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<OsString, OsString>);

impl Env {
    /// The environment of this process. Only the `main` functions and the seed's parameterless functions call it.
    pub fn from_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// No variables.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The value of `name`; an empty value counts as a value.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// The value of `name` if it is set, UTF-8 and not blank, without blanks around it.
    pub fn text(&self, name: impl AsRef<OsStr>) -> Option<&str> {
        self.get(name)?.to_str().map(str::trim).filter(|value| !value.is_empty())
    }

    /// The value of `name` as a path, if it is set and not empty.
    pub fn path(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        self.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns the snapshot with `name` set to `value`.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set_variable(name, value);
        self
    }

    /// Sets `name` in this snapshot; the process is not touched.
    pub fn set_variable(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes `name` from this snapshot.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.0.remove(name.as_ref());
    }

    /// All variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The user's home directory: `HOME`, if it is an absolute path.
    pub fn home(&self) -> Option<PathBuf> {
        self.path("HOME").filter(|home| home.is_absolute())
    }

    /// Directory of the user's configuration files: `XDG_CONFIG_HOME`, else `~/.config`. `None` if neither is an absolute path.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.path("XDG_CONFIG_HOME")
            .filter(|home| home.is_absolute())
            .or_else(|| self.home().map(|home| home.join(".config")))
    }

    /// The directory of the user's data files: `XDG_DATA_HOME`, else `~/.local/share`. `None` if neither is an absolute path.
    pub fn data_home(&self) -> Option<PathBuf> {
        self.path("XDG_DATA_HOME")
            .filter(|home| home.is_absolute())
            .or_else(|| self.home().map(|home| home.join(".local/share")))
    }

    /// Directory for temporary files: `TMPDIR` if it is an absolute path, else `/tmp`.
    pub fn temporary_dir(&self) -> PathBuf {
        self.path("TMPDIR").filter(|path| path.is_absolute()).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// The environment that process `pid` was started with. `None` if it is gone, or may not be read.
    pub fn of_process(pid: u32) -> Option<Self> {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let entry = |entry: &[u8]| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (&entry[..equals], &entry[equals + 1..]);
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
        };
        Some(bytes.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Directory of everything of ours: `AMPLIHACK_HOME`, else `~/.amplihack`. `None` if neither is an absolute path.
    pub fn amplihack_home(&self) -> Option<PathBuf> {
        self.path("AMPLIHACK_HOME")
            .filter(|home| home.is_absolute())
            .or_else(|| self.home().map(|home| home.join(".amplihack")))
    }
}

impl std::fmt::Debug for Env {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl From<Env> for BTreeMap<OsString, OsString> {
    fn from(env: Env) -> Self {
        env.0
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Environment variable that amplihack reads or sets. The table below makes the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVariable {
    /// Name of the variable; `<AGENT>` stands for an agent's name in capitals.
    pub name: &'static str,
    /// Role of the variable.
    pub role: VariableRole,
    /// Effect of leaving the variable unset.
    pub default: &'static str,
    /// Meaning of the variable, one sentence.
    pub meaning: &'static str,
}

/// Role of a variable: the user's to set, or ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableRole {
    /// Read by amplihack.
    Read,
    /// Set by a launch for its descendants, and read by them.
    Passed,
    /// Set for the command of `--notify`.
    Told,
}

/// Every variable that amplihack reads or sets, each declared once.
pub const VARIABLES: &[EnvVariable] = &[
    EnvVariable {
        name: "AMPLIHACK_AGENT_BINARY",
        role: VariableRole::Passed,
        default: "the nearest launch above, then the nearest launcher_context.json, then copilot",
        meaning: "The agent in charge, by the name of its program. Set by hand it always wins.",
    },
    EnvVariable {
        name: "AMPLIHACK_AGENT_BINARY_SET",
        role: VariableRole::Passed,
        default: "unset",
        meaning: "Marks AMPLIHACK_AGENT_BINARY as a launch's cache: <session-id>:<agent>.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUNTIME_ROOT",
        role: VariableRole::Read,
        default: "unset",
        meaning: "A directory whose launcher_context.json is asked before the repository's.",
    },
    EnvVariable {
        name: "AMPLIHACK_HOME",
        role: VariableRole::Read,
        default: "~/.amplihack",
        meaning: "Where amplihack keeps everything of its own; an absolute path.",
    },
    EnvVariable {
        name: "AMPLIHACK_PROMPT_DELIVERY",
        role: VariableRole::Read,
        default: "auto",
        meaning: "How a prompt should reach the agent: auto, argv, tempfile or stdin.",
    },
    EnvVariable {
        name: "AMPLIHACK_COMPLETE",
        role: VariableRole::Read,
        default: "unset",
        meaning: "Set by the script of `amplihack completions` when a shell asks for completions: the shell's name.",
    },
    EnvVariable {
        name: "AMPLIHACK_POLICY",
        role: VariableRole::Read,
        default: "standard",
        meaning: "How the policy is applied: standard, strict or observe. In a hook process it may only tighten.",
    },
    EnvVariable {
        name: "AMPLIHACK_HOOK_ENGINE",
        role: VariableRole::Read,
        default: "rust",
        meaning: "Which engine answers hooks: rust, or auto, which is the same. Anything else is an error.",
    },
    EnvVariable {
        name: "AMPLIHACK_<AGENT>_PATH",
        role: VariableRole::Read,
        default: "PATH, then the agent's documented install places",
        meaning: "The agent's program, for example AMPLIHACK_CLAUDE_PATH.",
    },
    EnvVariable {
        name: "AMPLIHACK_SESSION_ID",
        role: VariableRole::Passed,
        default: "set by each launch",
        meaning: "The launch that a process belongs to.",
    },
    EnvVariable {
        name: "AMPLIHACK_SESSION_DEPTH",
        role: VariableRole::Passed,
        default: "0 outside a launch",
        meaning: "How many launches are above this process.",
    },
    EnvVariable {
        name: "AMPLIHACK_MAX_DEPTH",
        role: VariableRole::Read,
        default: "6",
        meaning: "Launches deeper than this are refused.",
    },
    EnvVariable {
        name: "AMPLIHACK_RECIPE_RUN_ID",
        role: VariableRole::Passed,
        default: "set by each recipe run",
        meaning: "The recipe run that a process belongs to.",
    },
    EnvVariable {
        name: "AMPLIHACK_LAUNCHER_BINARY",
        role: VariableRole::Read,
        default: "amplihack",
        meaning: "What recipe-runner-rs launches agents with: PROGRAM AGENT -- ARGS.",
    },
    EnvVariable {
        name: "AMPLIHACK_NO_ALLOW_ALL_TOOLS",
        role: VariableRole::Read,
        default: "unset",
        meaning: "With any value recipe-runner-rs does not let Copilot use its tools without asking.",
    },
    EnvVariable {
        name: "AMPLIHACK_RATELIMIT_MAX_RETRIES",
        role: VariableRole::Read,
        default: "5",
        meaning: "How often recipe-runner-rs asks an agent again that met a rate limit; at most 100.",
    },
    EnvVariable {
        name: "AMPLIHACK_RATELIMIT_BASE_DELAY_SECS",
        role: VariableRole::Read,
        default: "60",
        meaning: "Its first pause before that; each further one is twice as long.",
    },
    EnvVariable {
        name: "AMPLIHACK_RATELIMIT_MAX_DELAY_SECS",
        role: VariableRole::Read,
        default: "600",
        meaning: "Its longest pause before that.",
    },
    EnvVariable {
        name: "AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL",
        role: VariableRole::Read,
        default: "unset",
        meaning: "With any value its last try uses the model auto.",
    },
    EnvVariable {
        name: "AMPLIHACK_TREE_ID",
        role: VariableRole::Passed,
        default: "the id of the first recipe run",
        meaning: "The first recipe run above a step.",
    },
    EnvVariable {
        name: "AMPLIHACK_MAX_SESSIONS",
        role: VariableRole::Passed,
        default: "10",
        meaning: "Passed on to steps of recipes, for the predecessor's tools.",
    },
    EnvVariable {
        name: "AMPLIHACK_STOP_GRACE_SECONDS",
        role: VariableRole::Read,
        default: "5",
        meaning: "How long an ended headless run may take after SIGTERM before SIGKILL follows.",
    },
    EnvVariable {
        name: "AMPLIHACK_VERSION",
        role: VariableRole::Passed,
        default: "set by each launch",
        meaning: "The version of amplihack that launched a process.",
    },
    EnvVariable {
        name: "AMPLIHACK_MAX_LOCK_ITERATIONS",
        role: VariableRole::Read,
        default: "50",
        meaning: "How often a lock may make an agent go on before it is released.",
    },
    EnvVariable {
        name: "AMPLIHACK_LOCK_TTL_SECONDS",
        role: VariableRole::Read,
        default: "86400",
        meaning: "After how many seconds a lock holds no agent any longer.",
    },
    EnvVariable {
        name: "AMPLIHACK_SHUTDOWN_IN_PROGRESS",
        role: VariableRole::Read,
        default: "unset",
        meaning: "With the value 1 no lock makes an agent go on.",
    },
    EnvVariable {
        name: "AMPLIHACK_REMOTE_BACKEND",
        role: VariableRole::Read,
        default: "unset",
        meaning: "Where remote sessions run: local, ssh, azlin or slurm.",
    },
    EnvVariable {
        name: "AMPLIHACK_REMOTE_STATE",
        role: VariableRole::Read,
        default: "~/.amplihack/remote-state.json",
        meaning: "The file in which remote sessions and machines are kept.",
    },
    EnvVariable {
        name: "AMPLIHACK_REMOTE_ROOT",
        role: VariableRole::Read,
        default: "~/.amplihack/remote",
        meaning: "On the far side: the directory of its sessions. Here: where sessions of the backend local are.",
    },
    EnvVariable {
        name: "AMPLIHACK_REMOTE_RETRY_BUDGET_SECS",
        role: VariableRole::Read,
        default: "120 for a machine, 60 for a transfer",
        meaning: "How long what may pass is tried again, in seconds.",
    },
    EnvVariable {
        name: "AZURE_REGION",
        role: VariableRole::Read,
        default: "eastus",
        meaning: "Where azlin rents machines without --region.",
    },
    EnvVariable {
        name: "RECIPE_RUNNER_RS_PATH",
        role: VariableRole::Read,
        default: "PATH, ~/.cargo/bin, ~/.local/bin",
        meaning: "The external recipe runner, for recipe run --runner external.",
    },
    EnvVariable {
        name: "RECIPE_RUNNER_INSTALL_TIMEOUT",
        role: VariableRole::Read,
        default: "300",
        meaning: "Whole seconds; checked for an external recipe runner, though nothing is installed any more.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_ID",
        role: VariableRole::Told,
        default: "-",
        meaning: "The unattended run that ended.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_OUTCOME",
        role: VariableRole::Told,
        default: "-",
        meaning: "How it ended, in the word of the contract: verified, claimed, max_turns, budget, deadline, denied, failed, stalled or interrupted.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_REASON",
        role: VariableRole::Told,
        default: "-",
        meaning: "Why it ended, in a sentence.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_AGENT",
        role: VariableRole::Told,
        default: "-",
        meaning: "The agent that was at work last.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_TURNS",
        role: VariableRole::Told,
        default: "-",
        meaning: "How many turns it made.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_TOKENS",
        role: VariableRole::Told,
        default: "-",
        meaning: "How many tokens it used.",
    },
    EnvVariable {
        name: "AMPLIHACK_RUN_COST_USD",
        role: VariableRole::Told,
        default: "-",
        meaning: "What it cost in dollars; empty where nobody says.",
    },
    EnvVariable {
        name: "XPIA_DEFEND_PATH",
        role: VariableRole::Read,
        default: "unset",
        meaning: "An external xpia-defend that the XPIA hook asks as well; an absolute path.",
    },
    EnvVariable {
        name: "XPIA_ENABLED",
        role: VariableRole::Read,
        default: "true",
        meaning: "With false, foreign text and web addresses are only observed; in a hook's process it has no effect.",
    },
    EnvVariable {
        name: "XPIA_SECURITY_LEVEL",
        role: VariableRole::Read,
        default: "medium",
        meaning: "How sure a finding in foreign text must be: low, medium, high or strict; a hook's process never goes below medium.",
    },
    EnvVariable {
        name: "XPIA_BLOCK_HIGH_RISK",
        role: VariableRole::Read,
        default: "false",
        meaning: "With true, what would be asked about foreign text and web addresses is denied.",
    },
    EnvVariable {
        name: "XPIA_LOG_FILE",
        role: VariableRole::Read,
        default: "unset",
        meaning: "An absolute path at which the audit is written a second time.",
    },
    EnvVariable {
        name: "XPIA_WHITELIST_DOMAINS",
        role: VariableRole::Read,
        default: "none",
        meaning: "Domains, with commas between, that may be fetched; at the level strict every other one asks.",
    },
    EnvVariable {
        name: "XPIA_BLACKLIST_DOMAINS",
        role: VariableRole::Read,
        default: "none",
        meaning: "Domains, with commas between, that are never fetched.",
    },
    EnvVariable {
        name: "AMPLIHACK_LOG",
        role: VariableRole::Read,
        default: "warn",
        meaning: "Which diagnostics go to stderr and to --log-file, for example debug or amplihack_launcher=trace; --log-level wins.",
    },
    EnvVariable {
        name: "OTEL_EXPORTER_OTLP_HEADERS",
        role: VariableRole::Read,
        default: "none",
        meaning: "Headers for the collector of traces, as name=value with commas between and other characters as %XX.",
    },
    EnvVariable {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        role: VariableRole::Read,
        default: "none: nothing is sent",
        meaning: "A build with the feature otel sends the traces of a run to this collector when the run ends; /v1/traces is added. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is taken as it is.",
    },
    EnvVariable {
        name: "OTEL_EXPORTER_OTLP_TIMEOUT",
        role: VariableRole::Read,
        default: "10000",
        meaning: "How many milliseconds the collector of traces may take.",
    },
    EnvVariable {
        name: "OTEL_EXPORTER_OTLP_PROTOCOL",
        role: VariableRole::Read,
        default: "http/json",
        meaning: "With grpc nothing is sent: traces go over HTTP, as JSON.",
    },
    EnvVariable {
        name: "OTEL_SERVICE_NAME",
        role: VariableRole::Read,
        default: "amplihack",
        meaning: "The service.name of traces.",
    },
    EnvVariable {
        name: "OTEL_RESOURCE_ATTRIBUTES",
        role: VariableRole::Read,
        default: "none",
        meaning: "More attributes of the service in traces, as name=value with commas between.",
    },
    EnvVariable {
        name: "OTEL_SDK_DISABLED",
        role: VariableRole::Read,
        default: "false",
        meaning: "With true, as with OTEL_TRACES_EXPORTER=none, no traces are sent when a run ends.",
    },
    EnvVariable {
        name: "NO_COLOR",
        role: VariableRole::Read,
        default: "unset",
        meaning: "Any value switches colour off; without it there is colour only on a terminal.",
    },
    EnvVariable {
        name: "CLAUDE_CONFIG_DIR",
        role: VariableRole::Read,
        default: "~/.claude",
        meaning: "Where Claude Code keeps its settings; install registers there.",
    },
    EnvVariable {
        name: "CODEX_HOME",
        role: VariableRole::Read,
        default: "~/.codex",
        meaning: "Where Codex keeps its hooks and its trust in them; install registers there.",
    },
    EnvVariable {
        name: "COPILOT_HOME",
        role: VariableRole::Read,
        default: "~/.copilot",
        meaning: "Where Copilot keeps its hooks; install registers there.",
    },
    EnvVariable {
        name: "GIT_CEILING_DIRECTORIES",
        role: VariableRole::Read,
        default: "none",
        meaning: "Directories, with colons between, at which the look for a repository ends, as with git.",
    },
    EnvVariable {
        name: "XDG_CONFIG_HOME",
        role: VariableRole::Read,
        default: "~/.config",
        meaning: "Where the user's amplihack/config.toml, and Amp's settings, are looked for.",
    },
    EnvVariable {
        name: "XDG_DATA_HOME",
        role: VariableRole::Read,
        default: "~/.local/share",
        meaning: "Its amplihack/worktrees and amplihack/remote hold the work trees of unattended runs and of remote sessions.",
    },
];
