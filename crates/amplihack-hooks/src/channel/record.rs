//! The messages between a hook process and its launch.

use std::path::PathBuf;

use amplihack_verdict::Decision;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dialect::HookCall;
use crate::event::HookEvent;
use crate::once::{PendingCall, StoppedCall, StoppedCallId};

/// The most bytes of a name of a session, a tool or a call.
const MAX_NAME: usize = 1024;

/// A line from a hook process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookMessage {
    /// An event and what was decided. It gets no answer.
    Report(HookReport),
    /// A call that the policy stops: did a person grant it?
    Stopped(StoppedCall),
    /// A person asks which calls were stopped.
    ListStopped,
    /// A person grants a stopped call.
    Grant {
        /// The call.
        id: StoppedCallId,
    },
    /// A launch inside this one asks for its policy.
    PinnedPolicy,
    /// A host asks for permission: was a call with this digest judged, and let run, for which nobody asked yet?
    Judged {
        /// The digest of the call.
        digest: String,
    },
}

/// A line to a hook process that asked for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LaunchReply {
    /// The launch does not know such a message.
    Unknown,
    /// The call was judged and may run.
    WasJudged,
    /// No such call was judged.
    NotJudged,
    /// The stopped call was granted and may run.
    Granted,
    /// The stopped call was not granted.
    NotGranted,
    /// The calls that were stopped.
    StoppedCalls {
        /// The calls, the oldest first.
        calls: Vec<PendingCall>,
    },
    /// The call is granted from now on.
    GrantMade(PendingCall),
    /// The launch has no such stopped call.
    NoSuchCall,
    /// Nothing shows that a person asks.
    NotAPerson {
        /// The reason why it does not count as a person's, for people.
        why: String,
    },
    /// The hash of the policy that the launch pinned; the policy itself is in its directory.
    PinnedPolicy {
        /// The hash.
        pin: String,
    },
}

/// An event of a host as its hook answered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// The event.
    #[serde(serialize_with = "serialize_event", deserialize_with = "deserialize_event")]
    pub event: HookEvent,
    /// The host's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tool, as the host says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The host's id of the tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The digest of the call, where its host is going to ask for permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The file in which the host keeps its record of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<PathBuf>,
    /// The decision; [`Decision::None`] where nothing is stopped.
    #[serde(default)]
    pub decision: Decision,
    /// The rule behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason why the audit has no line of the event, where it should have one; `None` if all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaudited: Option<String>,
}

impl HookReport {
    /// A report of `event` and `decision`, of which nothing else is known.
    pub fn new(event: HookEvent, decision: Decision) -> Self {
        Self {
            event,
            session: None,
            tool: None,
            call: None,
            digest: None,
            transcript: None,
            decision,
            rule: None,
            unaudited: None,
        }
    }

    /// Reports whether a tool call was stopped, or a prompt that would have run a file's commands.
    pub fn is_denial(&self) -> bool {
        self.decision >= Decision::Ask
    }

    /// A report of `event` with what its payload says of the call.
    pub fn of_call(event: HookEvent, call: &HookCall) -> Self {
        // A name that is no name would make the message too long to be read.
        let short = |text: &Option<String>| text.clone().filter(|text| text.len() <= MAX_NAME);
        Self {
            session: short(&call.session),
            tool: short(&call.tool),
            call: short(&call.call_id),
            digest: call.digest.clone(),
            transcript: call.transcript.clone().filter(|path| path.as_os_str().len() <= 4 * MAX_NAME),
            ..Self::new(event, Decision::None)
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn serialize_event<S: Serializer>(event: &HookEvent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(event.name())
}

fn deserialize_event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HookEvent, D::Error> {
    let name = String::deserialize(deserializer)?;
    HookEvent::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("unknown event {name:?}")))
}
