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

    /// The same snapshot with `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets `name` in this snapshot; the process is not touched.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
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

    /// Where the user's configuration files are: `XDG_CONFIG_HOME`, else `~/.config`. `None` if neither is an absolute path.
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

    /// Where temporary files go: `TMPDIR` if it is an absolute path, else `/tmp`.
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

    /// Where everything of ours lives: `AMPLIHACK_HOME`, else `~/.amplihack`. `None` if neither is an absolute path.
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

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Env {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// One environment variable that amplihack reads or sets. The table below makes the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name; `<AGENT>` stands for an agent's name in capitals.
    pub name: &'static str,
    /// Who uses it.
    pub role: Role,
    /// What happens without it.
    pub default: &'static str,
    /// What it means, one sentence.
    pub meaning: &'static str,
}

/// Whether a variable is the user's to set or ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read by amplihack.
    Read,
    /// Set by a launch for its descendants, and read by them.
    Passed,
    /// Set for the command of `--notify`.
    Told,
}

/// Every variable that amplihack reads or sets, each declared once.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "AMPLIHACK_AGENT_BINARY",
        role: Role::Passed,
        default: "the nearest launch above, then the nearest launcher_context.json, then copilot",
        meaning: "The agent in charge, by the name of its program. Set by hand it always wins.",
    },
    Variable {
        name: "AMPLIHACK_AGENT_BINARY_SET",
        role: Role::Passed,
        default: "unset",
        meaning: "Marks AMPLIHACK_AGENT_BINARY as a launch's cache: <session-id>:<agent>.",
    },
    Variable {
        name: "AMPLIHACK_RUNTIME_ROOT",
        role: Role::Read,
        default: "unset",
        meaning: "A directory whose launcher_context.json is asked before the repository's.",
    },
    Variable {
        name: "AMPLIHACK_HOME",
        role: Role::Read,
        default: "~/.amplihack",
        meaning: "Where amplihack keeps everything of its own; an absolute path.",
    },
    Variable {
        name: "AMPLIHACK_PROMPT_DELIVERY",
        role: Role::Read,
        default: "auto",
        meaning: "How a prompt should reach the agent: auto, argv, tempfile or stdin.",
    },
    Variable {
        name: "AMPLIHACK_POLICY",
        role: Role::Read,
        default: "standard",
        meaning: "How the policy is applied: standard, strict or observe. In a hook process it may only tighten.",
    },
    Variable {
        name: "AMPLIHACK_HOOK_ENGINE",
        role: Role::Read,
        default: "rust",
        meaning: "Which engine answers hooks: rust, or auto, which is the same. Anything else is an error.",
    },
    Variable {
        name: "AMPLIHACK_<AGENT>_PATH",
        role: Role::Read,
        default: "PATH, then the agent's documented install places",
        meaning: "The agent's program, for example AMPLIHACK_CLAUDE_PATH.",
    },
    Variable {
        name: "AMPLIHACK_SESSION_ID",
        role: Role::Passed,
        default: "set by each launch",
        meaning: "The launch that a process belongs to.",
    },
    Variable {
        name: "AMPLIHACK_SESSION_DEPTH",
        role: Role::Passed,
        default: "0 outside a launch",
        meaning: "How many launches are above this process.",
    },
    Variable {
        name: "AMPLIHACK_MAX_DEPTH",
        role: Role::Read,
        default: "6",
        meaning: "Launches deeper than this are refused.",
    },
    Variable {
        name: "AMPLIHACK_RECIPE_RUN_ID",
        role: Role::Passed,
        default: "set by each recipe run",
        meaning: "The recipe run that a process belongs to.",
    },
    Variable {
        name: "AMPLIHACK_LAUNCHER_BINARY",
        role: Role::Read,
        default: "amplihack",
        meaning: "What recipe-runner-rs launches agents with: PROGRAM AGENT -- ARGS.",
    },
    Variable {
        name: "AMPLIHACK_NO_ALLOW_ALL_TOOLS",
        role: Role::Read,
        default: "unset",
        meaning: "With any value recipe-runner-rs does not let Copilot use its tools without asking.",
    },
    Variable {
        name: "AMPLIHACK_RATELIMIT_MAX_RETRIES",
        role: Role::Read,
        default: "5",
        meaning: "How often recipe-runner-rs asks an agent again that met a rate limit; at most 100.",
    },
    Variable {
        name: "AMPLIHACK_RATELIMIT_BASE_DELAY_SECS",
        role: Role::Read,
        default: "60",
        meaning: "Its first pause before that; each further one is twice as long.",
    },
    Variable {
        name: "AMPLIHACK_RATELIMIT_MAX_DELAY_SECS",
        role: Role::Read,
        default: "600",
        meaning: "Its longest pause before that.",
    },
    Variable {
        name: "AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL",
        role: Role::Read,
        default: "unset",
        meaning: "With any value its last try uses the model auto.",
    },
    Variable {
        name: "AMPLIHACK_TREE_ID",
        role: Role::Passed,
        default: "the id of the first recipe run",
        meaning: "The first recipe run above a step.",
    },
    Variable {
        name: "AMPLIHACK_MAX_SESSIONS",
        role: Role::Passed,
        default: "10",
        meaning: "Passed on to steps of recipes, for the predecessor's tools.",
    },
    Variable {
        name: "AMPLIHACK_STOP_GRACE_SECONDS",
        role: Role::Read,
        default: "5",
        meaning: "How long an ended headless run may take after SIGTERM before SIGKILL follows.",
    },
    Variable {
        name: "AMPLIHACK_VERSION",
        role: Role::Passed,
        default: "set by each launch",
        meaning: "The version of amplihack that launched a process.",
    },
    Variable {
        name: "AMPLIHACK_MAX_LOCK_ITERATIONS",
        role: Role::Read,
        default: "50",
        meaning: "How often a lock may make an agent go on before it is released.",
    },
    Variable {
        name: "AMPLIHACK_LOCK_TTL_SECONDS",
        role: Role::Read,
        default: "86400",
        meaning: "After how many seconds a lock holds no agent any longer.",
    },
    Variable {
        name: "AMPLIHACK_SHUTDOWN_IN_PROGRESS",
        role: Role::Read,
        default: "unset",
        meaning: "With the value 1 no lock makes an agent go on.",
    },
    Variable {
        name: "AMPLIHACK_REMOTE_BACKEND",
        role: Role::Read,
        default: "unset",
        meaning: "Where remote sessions run: local, ssh, azlin or slurm.",
    },
    Variable {
        name: "AMPLIHACK_REMOTE_STATE",
        role: Role::Read,
        default: "~/.amplihack/remote-state.json",
        meaning: "The file in which remote sessions and machines are kept.",
    },
    Variable {
        name: "AMPLIHACK_REMOTE_ROOT",
        role: Role::Read,
        default: "~/.amplihack/remote",
        meaning: "On the far side: the directory of its sessions. Here: where sessions of the backend local are.",
    },
    Variable {
        name: "AMPLIHACK_REMOTE_RUNNER",
        role: Role::Read,
        default: "script",
        meaning: "What runs remote sessions on their machines: script, or native, the amplihack that is installed there, if it can.",
    },
    Variable {
        name: "AMPLIHACK_REMOTE_RETRY_BUDGET_SECS",
        role: Role::Read,
        default: "120 for a machine, 60 for a transfer",
        meaning: "How long what may pass is tried again, in seconds.",
    },
    Variable {
        name: "AZURE_REGION",
        role: Role::Read,
        default: "eastus",
        meaning: "Where azlin rents machines without --region.",
    },
    Variable {
        name: "RECIPE_RUNNER_RS_PATH",
        role: Role::Read,
        default: "PATH, ~/.cargo/bin, ~/.local/bin",
        meaning: "The external recipe runner, for recipe run --runner external.",
    },
    Variable {
        name: "RECIPE_RUNNER_INSTALL_TIMEOUT",
        role: Role::Read,
        default: "300",
        meaning: "Whole seconds; checked for an external recipe runner, though nothing is installed any more.",
    },
    Variable {
        name: "AMPLIHACK_RUN_ID",
        role: Role::Told,
        default: "-",
        meaning: "The unattended run that ended.",
    },
    Variable {
        name: "AMPLIHACK_RUN_OUTCOME",
        role: Role::Told,
        default: "-",
        meaning: "How it ended, in the word of the contract: verified, claimed, max_turns, budget, deadline, denied, failed, stalled or interrupted.",
    },
    Variable {
        name: "AMPLIHACK_RUN_REASON",
        role: Role::Told,
        default: "-",
        meaning: "Why it ended, in a sentence.",
    },
    Variable {
        name: "AMPLIHACK_RUN_AGENT",
        role: Role::Told,
        default: "-",
        meaning: "The agent that was at work last.",
    },
    Variable {
        name: "AMPLIHACK_RUN_TURNS",
        role: Role::Told,
        default: "-",
        meaning: "How many turns it made.",
    },
    Variable {
        name: "AMPLIHACK_RUN_TOKENS",
        role: Role::Told,
        default: "-",
        meaning: "How many tokens it used.",
    },
    Variable {
        name: "AMPLIHACK_RUN_COST_USD",
        role: Role::Told,
        default: "-",
        meaning: "What it cost in dollars; empty where nobody says.",
    },
    Variable {
        name: "XPIA_DEFEND_PATH",
        role: Role::Read,
        default: "unset",
        meaning: "An external xpia-defend that the XPIA hook asks as well; an absolute path.",
    },
    Variable {
        name: "XPIA_ENABLED",
        role: Role::Read,
        default: "true",
        meaning: "With false, foreign text and web addresses are only observed; in a hook's process it has no effect.",
    },
    Variable {
        name: "XPIA_SECURITY_LEVEL",
        role: Role::Read,
        default: "medium",
        meaning: "How sure a finding in foreign text must be: low, medium, high or strict; a hook's process never goes below medium.",
    },
    Variable {
        name: "XPIA_BLOCK_HIGH_RISK",
        role: Role::Read,
        default: "false",
        meaning: "With true, what would be asked about foreign text and web addresses is denied.",
    },
    Variable {
        name: "XPIA_LOG_FILE",
        role: Role::Read,
        default: "unset",
        meaning: "An absolute path at which the audit is written a second time.",
    },
    Variable {
        name: "XPIA_WHITELIST_DOMAINS",
        role: Role::Read,
        default: "none",
        meaning: "Domains, with commas between, that may be fetched; at the level strict every other one asks.",
    },
    Variable {
        name: "XPIA_BLACKLIST_DOMAINS",
        role: Role::Read,
        default: "none",
        meaning: "Domains, with commas between, that are never fetched.",
    },
    Variable {
        name: "AMPLIHACK_LOG",
        role: Role::Read,
        default: "warn",
        meaning: "Which diagnostics go to stderr and to --log-file, for example debug or amplihack_launcher=trace; --log-level wins.",
    },
    Variable {
        name: "OTEL_EXPORTER_OTLP_HEADERS",
        role: Role::Read,
        default: "none",
        meaning: "Headers for the collector of traces, as name=value with commas between and other characters as %XX.",
    },
    Variable {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        role: Role::Read,
        default: "none: nothing is sent",
        meaning: "A build with the feature otel sends the traces of a run to this collector when the run ends; /v1/traces is added. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is taken as it is.",
    },
    Variable {
        name: "OTEL_EXPORTER_OTLP_TIMEOUT",
        role: Role::Read,
        default: "10000",
        meaning: "How many milliseconds the collector of traces may take.",
    },
    Variable {
        name: "OTEL_EXPORTER_OTLP_PROTOCOL",
        role: Role::Read,
        default: "http/json",
        meaning: "With grpc nothing is sent: traces go over HTTP, as JSON.",
    },
    Variable {
        name: "OTEL_SERVICE_NAME",
        role: Role::Read,
        default: "amplihack",
        meaning: "The service.name of traces.",
    },
    Variable {
        name: "OTEL_RESOURCE_ATTRIBUTES",
        role: Role::Read,
        default: "none",
        meaning: "More attributes of the service in traces, as name=value with commas between.",
    },
    Variable {
        name: "OTEL_SDK_DISABLED",
        role: Role::Read,
        default: "false",
        meaning: "With true, as with OTEL_TRACES_EXPORTER=none, no traces are sent when a run ends.",
    },
    Variable {
        name: "NO_COLOR",
        role: Role::Read,
        default: "unset",
        meaning: "Any value switches colour off; without it there is colour only on a terminal.",
    },
    Variable {
        name: "CLAUDE_CONFIG_DIR",
        role: Role::Read,
        default: "~/.claude",
        meaning: "Where Claude Code keeps its settings; install registers there.",
    },
    Variable {
        name: "CODEX_HOME",
        role: Role::Read,
        default: "~/.codex",
        meaning: "Where Codex keeps its hooks and its trust in them; install registers there.",
    },
    Variable {
        name: "COPILOT_HOME",
        role: Role::Read,
        default: "~/.copilot",
        meaning: "Where Copilot keeps its hooks; install registers there.",
    },
    Variable {
        name: "XDG_CONFIG_HOME",
        role: Role::Read,
        default: "~/.config",
        meaning: "Where the user's amplihack/config.toml, and Amp's settings, are looked for.",
    },
    Variable {
        name: "XDG_DATA_HOME",
        role: Role::Read,
        default: "~/.local/share",
        meaning: "Its amplihack/worktrees and amplihack/remote hold the work trees of unattended runs and of remote sessions.",
    },
];
