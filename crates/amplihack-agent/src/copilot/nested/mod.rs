//! What flags say about permissions and prompts, in Copilot's words and in Claude's: the data of the normaliser of nested
//! launches.
//!
//! What Copilot does with each flag was looked up in its own help and tried on version 1.0.102.

mod tools;

pub use tools::{allowed, available, denied};

/// The two questions that a launch may answer: which tools run unasked, and which paths are open. Neither answers the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Questions {
    /// Which tools run.
    pub tools: bool,
    /// Which paths are open.
    pub paths: bool,
}

impl Questions {
    /// None of them.
    pub const NONE: Self = Self { tools: false, paths: false };
    /// That of tools.
    pub const TOOLS: Self = Self { tools: true, paths: false };
    /// That of paths.
    pub const PATHS: Self = Self { tools: false, paths: true };
    /// Both.
    pub const BOTH: Self = Self { tools: true, paths: true };

    /// The questions of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self { tools: self.tools || other.tools, paths: self.paths || other.paths }
    }
}

/// What a flag is to the normaliser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Its value is a part of the prompt.
    Prompt,
    /// Claude's switch for a headless run; a word behind it is the prompt.
    Print,
    /// Its value is the prompt of an interactive session.
    Interactive,
    /// Claude: its value is a part of the system prompt, which Copilot does not take.
    SystemPrompt,
    /// Claude: nothing is asked.
    SkipPermissions,
    /// Claude: permissions might be skipped later on; says nothing about this moment.
    MaySkipPermissions,
    /// Claude: its value is a permission mode.
    PermissionMode,
    /// Claude: its values are tools that run unasked.
    AllowedTools,
    /// Claude: its values are tools that do not run.
    DisallowedTools,
    /// Claude: its values are all tools that there are.
    Tools,
    /// Copilot: a switch that grants all.
    GrantAll(Questions),
    /// Copilot: a switch that restricts.
    Restrict(Questions),
    /// Copilot: its values grant or restrict.
    Rule(Questions),
    /// The same, of earlier times: today's Copilot refuses it. With what says it now.
    OldRule(Questions, &'static str),
    /// Copilot: its value is the mode that a session starts in; `plan` restricts.
    SessionMode,
}

/// Every flag that has a meaning here; all others pass as they are.
const FLAGS: &[(&str, Meaning)] = &[
    ("-p", Meaning::Prompt),
    ("--prompt", Meaning::Prompt),
    ("--print", Meaning::Print),
    ("-i", Meaning::Interactive),
    ("--interactive", Meaning::Interactive),
    ("--system-prompt", Meaning::SystemPrompt),
    ("--append-system-prompt", Meaning::SystemPrompt),
    ("--dangerously-skip-permissions", Meaning::SkipPermissions),
    ("--allow-dangerously-skip-permissions", Meaning::MaySkipPermissions),
    ("--permission-mode", Meaning::PermissionMode),
    ("--allowed-tools", Meaning::AllowedTools),
    ("--allowedTools", Meaning::AllowedTools),
    ("--disallowed-tools", Meaning::DisallowedTools),
    ("--disallowedTools", Meaning::DisallowedTools),
    ("--tools", Meaning::Tools),
    (ALLOW_ALL_TOOLS, Meaning::GrantAll(Questions::TOOLS)),
    (ALLOW_ALL_PATHS, Meaning::GrantAll(Questions::PATHS)),
    ("--allow-all", Meaning::GrantAll(Questions::BOTH)),
    ("--yolo", Meaning::GrantAll(Questions::BOTH)),
    ("--plan", Meaning::Restrict(Questions::BOTH)),
    ("--assisted-approval", Meaning::Restrict(Questions::TOOLS)),
    (DISALLOW_TEMP_DIR, Meaning::Restrict(Questions::PATHS)),
    ("--allow-tool", Meaning::Rule(Questions::TOOLS)),
    ("--deny-tool", Meaning::Rule(Questions::TOOLS)),
    ("--available-tools", Meaning::Rule(Questions::TOOLS)),
    ("--excluded-tools", Meaning::Rule(Questions::TOOLS)),
    ("--add-dir", Meaning::Rule(Questions::PATHS)),
    ("--allow-path", Meaning::OldRule(Questions::PATHS, "--add-dir")),
    (
        "--deny-path",
        Meaning::OldRule(
            Questions::PATHS,
            "--disallow-temp-dir and an --add-dir for each directory that is wanted",
        ),
    ),
    ("--mode", Meaning::SessionMode),
];

/// Grants every tool.
pub const ALLOW_ALL_TOOLS: &str = "--allow-all-tools";
/// Grants every path.
pub const ALLOW_ALL_PATHS: &str = "--allow-all-paths";
/// Lets the tools that edit files run: what Claude's mode `acceptEdits` means.
pub const ALLOW_EDITS: &str = "--allow-tool=write";
/// Denies a tool of no server: changes nothing, and says that tools were decided about.
pub const TOOLS_DECIDED: &str = "--deny-tool=amplihack(nothing)";
/// Takes the temporary directory away, which Claude does not open either.
pub const DISALLOW_TEMP_DIR: &str = "--disallow-temp-dir";
/// Takes every tool away: no tool has this name. An empty list would take none away.
pub const NO_TOOLS: &str = "--available-tools=amplihack-nothing";
/// The flag of a prompt as two words.
pub const PROMPT: &str = "-p";
/// The flag of a prompt that begins with a dash, which Copilot takes in this form only.
pub const PROMPT_EQUALS: &str = "--prompt=";
/// The flags of an interactive session's prompt, as above.
pub const INTERACTIVE: &str = "-i";
/// See [`INTERACTIVE`].
pub const INTERACTIVE_EQUALS: &str = "--interactive=";

/// What `flag` means to the normaliser, if it means something.
pub fn meaning(flag: &str) -> Option<Meaning> {
    FLAGS.iter().find(|(name, _)| *name == flag).map(|(_, meaning)| *meaning)
}

/// What a flag that Copilot does not know might be meant to say: a misspelt restriction is one.
pub fn suspected(flag: &str) -> Questions {
    let flag = flag.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| flag.contains(word));
    let both = has(&["permission", "sandbox", "restrict", "safe"]);
    Questions { tools: both || has(&["tool"]), paths: both || has(&["path", "dir"]) }
}

/// What Claude's permission modes let run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModeLevel {
    /// Nothing unasked.
    Ask,
    /// Edits of files.
    Edit,
    /// Everything.
    Full,
}

/// The level of one of Claude's permission modes. One that is not known lets nothing run.
pub fn mode_level(mode: &str) -> ModeLevel {
    match mode {
        "bypassPermissions" => ModeLevel::Full,
        "acceptEdits" => ModeLevel::Edit,
        _ => ModeLevel::Ask,
    }
}
