//! The events that a host tells a hook of, and their names here, in Claude's dialect and in Copilot's own.

use std::fmt;

/// A moment of a session at which a host calls a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A session begins.
    SessionStart,
    /// A session is over.
    SessionStop,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// The user sent a prompt; only the reminder to classify the work is wanted.
    WorkflowClassificationReminder,
    /// A tool is about to be used. The event on which every call can be stopped.
    PreToolUse,
    /// A call needs leave, which nobody but the guard is to give.
    PermissionRequest,
    /// A tool was used.
    PostToolUse,
    /// The agent wants to end its turn.
    Stop,
    /// A sub-agent wants to end its turn.
    SubagentStop,
    /// The conversation is about to be shortened.
    PreCompact,
    /// Something failed in the host.
    ErrorOccurred,
}

/// Names on the command line of the hook binary; the first of an event is its own, the others are aliases.
const NAMES: &[(&str, HookEvent)] = &[
    ("session-start", HookEvent::SessionStart),
    ("session-stop", HookEvent::SessionStop),
    ("session-end", HookEvent::SessionStop),
    ("session-stop-event", HookEvent::SessionStop),
    ("user-prompt-submit", HookEvent::UserPromptSubmit),
    ("user-prompt", HookEvent::UserPromptSubmit),
    ("workflow-classification-reminder", HookEvent::WorkflowClassificationReminder),
    ("pre-tool-use", HookEvent::PreToolUse),
    ("permission-request", HookEvent::PermissionRequest),
    ("post-tool-use", HookEvent::PostToolUse),
    ("stop", HookEvent::Stop),
    ("agent-stop", HookEvent::Stop),
    ("subagent-stop", HookEvent::SubagentStop),
    ("pre-compact", HookEvent::PreCompact),
    ("error-occurred", HookEvent::ErrorOccurred),
];

impl HookEvent {
    /// Every event.
    pub const ALL: [Self; 11] = [
        Self::SessionStart,
        Self::SessionStop,
        Self::UserPromptSubmit,
        Self::WorkflowClassificationReminder,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
        Self::ErrorOccurred,
    ];

    /// Names of the event on the command line, its own first.
    pub fn command_line_names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(_, event)| *event == self).map(|(name, _)| *name)
    }

    /// The event of a name on the command line.
    pub fn from_name(name: &str) -> Option<Self> {
        if amplihack_sys::sabotage::is_active("routing-hook-dispatch") && name == "pre-tool-use" {
            return Some(Self::PostToolUse);
        }
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
    }

    /// The event's own name on the command line.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, event)| *event == self).map_or("", |(name, _)| name)
    }

    /// The event's name in Claude's dialect; `None` if that dialect has no such event.
    pub fn claude_name(self) -> Option<&'static str> {
        Some(match self {
            Self::SessionStart => "SessionStart",
            Self::SessionStop => "SessionEnd",
            Self::UserPromptSubmit | Self::WorkflowClassificationReminder => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::ErrorOccurred => return None,
        })
    }

    /// The event's name in Copilot's own dialect.
    pub fn copilot_name(self) -> &'static str {
        match self {
            Self::SessionStart => "sessionStart",
            Self::SessionStop => "sessionEnd",
            Self::UserPromptSubmit | Self::WorkflowClassificationReminder => "userPromptSubmitted",
            Self::PreToolUse => "preToolUse",
            Self::PermissionRequest => "permissionRequest",
            Self::PostToolUse => "postToolUse",
            Self::Stop => "agentStop",
            Self::SubagentStop => "subagentStop",
            Self::PreCompact => "preCompact",
            Self::ErrorOccurred => "errorOccurred",
        }
    }

    /// Reports whether an answer can stop a call or lets it run, so that a hook which breaks denies.
    pub fn is_guard(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{HookEvent, NAMES};

    #[test]
    fn every_name_leads_to_its_event_and_every_event_has_one() {
        for (name, event) in NAMES {
            assert_eq!(HookEvent::from_name(name), Some(*event));
            assert!(!event.name().is_empty());
        }
        for event in HookEvent::ALL {
            assert_eq!(event.command_line_names().next(), Some(event.name()));
        }
        assert_eq!(HookEvent::ALL.iter().flat_map(|event| event.command_line_names()).count(), NAMES.len());
        assert_eq!(HookEvent::from_name("session-end").map(HookEvent::name), Some("session-stop"));
        for name in ["", "PreToolUse", "pre_tool_use", "pre-tool-use "] {
            assert_eq!(HookEvent::from_name(name), None, "{name}");
        }
    }
}
