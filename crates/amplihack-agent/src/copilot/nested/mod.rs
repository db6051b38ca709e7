//! Flags about permissions and prompts, in Copilot's words and in Claude's: the data of the normalizer of nested
//! launches.
//!
//! What Copilot does with each flag was looked up in its own help and tried on version 1.0.102.

mod tools;

pub use tools::{copilot_tools, denial_flags, grant_flag};

/// The two questions that a launch may answer: which tools run unasked, and which paths are open. Neither answers the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchQuestions {
    /// Question which tools run.
    pub tools: bool,
    /// Question which paths are open.
    pub paths: bool,
}

impl LaunchQuestions {
    /// None of them.
    pub const NONE: Self = Self { tools: false, paths: false };
    /// Question of tools.
    pub const TOOLS: Self = Self { tools: true, paths: false };
    /// Question of paths.
    pub const PATHS: Self = Self { tools: false, paths: true };
    /// Both.
    pub const BOTH: Self = Self { tools: true, paths: true };

    /// The questions of either.
    #[must_use]
    pub const fn union_with(self, other: Self) -> Self {
        Self { tools: self.tools || other.tools, paths: self.paths || other.paths }
    }
}

/// Meaning of a flag for the normalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopilotFlagMeaning {
    /// A flag whose value is a part of the prompt.
    Prompt,
    /// Claude's switch for a headless run; a word behind it is the prompt.
    Print,
    /// A flag whose value is the prompt of an interactive session.
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
    GrantAll(LaunchQuestions),
    /// Copilot: a switch that restricts.
    Restrict(LaunchQuestions),
    /// Copilot: its values grant or restrict.
    Rule(LaunchQuestions),
    /// Copilot: a rule of earlier times that today's Copilot refuses, with the flag that replaces it.
    OldRule(LaunchQuestions, &'static str),
    /// Copilot: its value is the mode that a session starts in; `plan` restricts.
    SessionMode,
}

/// Every flag that has a meaning here; all others pass as they are.
const FLAGS: &[(&str, CopilotFlagMeaning)] = &[
    ("-p", CopilotFlagMeaning::Prompt),
    ("--prompt", CopilotFlagMeaning::Prompt),
    ("--print", CopilotFlagMeaning::Print),
    ("-i", CopilotFlagMeaning::Interactive),
    ("--interactive", CopilotFlagMeaning::Interactive),
    ("--system-prompt", CopilotFlagMeaning::SystemPrompt),
    ("--append-system-prompt", CopilotFlagMeaning::SystemPrompt),
    ("--dangerously-skip-permissions", CopilotFlagMeaning::SkipPermissions),
    ("--allow-dangerously-skip-permissions", CopilotFlagMeaning::MaySkipPermissions),
    ("--permission-mode", CopilotFlagMeaning::PermissionMode),
    ("--allowed-tools", CopilotFlagMeaning::AllowedTools),
    ("--allowedTools", CopilotFlagMeaning::AllowedTools),
    ("--disallowed-tools", CopilotFlagMeaning::DisallowedTools),
    ("--disallowedTools", CopilotFlagMeaning::DisallowedTools),
    ("--tools", CopilotFlagMeaning::Tools),
    (ALLOW_ALL_TOOLS, CopilotFlagMeaning::GrantAll(LaunchQuestions::TOOLS)),
    (ALLOW_ALL_PATHS, CopilotFlagMeaning::GrantAll(LaunchQuestions::PATHS)),
    ("--allow-all", CopilotFlagMeaning::GrantAll(LaunchQuestions::BOTH)),
    ("--yolo", CopilotFlagMeaning::GrantAll(LaunchQuestions::BOTH)),
    ("--plan", CopilotFlagMeaning::Restrict(LaunchQuestions::BOTH)),
    ("--assisted-approval", CopilotFlagMeaning::Restrict(LaunchQuestions::TOOLS)),
    (DISALLOW_TEMP_DIR, CopilotFlagMeaning::Restrict(LaunchQuestions::PATHS)),
    ("--allow-tool", CopilotFlagMeaning::Rule(LaunchQuestions::TOOLS)),
    ("--deny-tool", CopilotFlagMeaning::Rule(LaunchQuestions::TOOLS)),
    ("--available-tools", CopilotFlagMeaning::Rule(LaunchQuestions::TOOLS)),
    ("--excluded-tools", CopilotFlagMeaning::Rule(LaunchQuestions::TOOLS)),
    ("--add-dir", CopilotFlagMeaning::Rule(LaunchQuestions::PATHS)),
    ("--allow-path", CopilotFlagMeaning::OldRule(LaunchQuestions::PATHS, "--add-dir")),
    (
        "--deny-path",
        CopilotFlagMeaning::OldRule(
            LaunchQuestions::PATHS,
            "--disallow-temp-dir and an --add-dir for each directory that is wanted",
        ),
    ),
    ("--mode", CopilotFlagMeaning::SessionMode),
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

/// Returns the meaning of `flag` for the normalizer, if it has one.
pub fn flag_meaning(flag: &str) -> Option<CopilotFlagMeaning> {
    FLAGS.iter().find(|(name, _)| *name == flag).map(|(_, meaning)| *meaning)
}

/// Returns the questions that a flag which Copilot does not know might answer: a misspelt restriction is one.
pub fn suspected_questions(flag: &str) -> LaunchQuestions {
    let flag = flag.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| flag.contains(word));
    let both = has(&["permission", "sandbox", "restrict", "safe"]);
    LaunchQuestions { tools: both || has(&["tool"]), paths: both || has(&["path", "dir"]) }
}

/// Level of what one of Claude's permission modes lets run.
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
