//! Detection of turns that go nowhere, by what the agent does: one failing call over and over, or silence with nothing open.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use amplihack_agent::AgentEvent;

/// So often in a row the same call may fail.
const SAME_FAILURES: u32 = 5;

/// The bounds of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Longest time that an agent may be silent while no tool of it runs.
    pub silence: Duration,
    /// Calls of tools after which the turn is cut.
    pub calls: u32,
}

/// Fault for which a turn is ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnFault {
    /// The turn goes nowhere; with the reason in words.
    Stalled(String),
    /// The turn does not end.
    Endless,
}

/// Looks at a turn's events.
#[derive(Debug)]
pub(crate) struct StallDetector {
    limits: TurnLimits,
    calls: u32,
    /// Calls that were not answered, with what they ask for.
    open: Vec<(String, u64, String)>,
    /// The call that failed last, and how often in a row.
    failing: Option<(u64, u32)>,
}

impl StallDetector {
    /// A turn of which nothing was seen.
    pub(crate) const fn new(limits: TurnLimits) -> Self {
        Self { limits, calls: 0, open: Vec::new(), failing: None }
    }

    /// Longest silence that is allowed from now on. A running tool may be silent six times as long.
    pub(crate) fn silence_limit(&self) -> Duration {
        if self.open.is_empty() { self.limits.silence } else { self.limits.silence.saturating_mul(6) }
    }

    /// Returns the fault of a turn with more calls than it may have, with `nested` calls that its events do not tell.
    pub(crate) fn check_calls(&self, nested: u32) -> Option<TurnFault> {
        (self.calls.saturating_add(nested) > self.limits.calls).then_some(TurnFault::Endless)
    }

    /// Takes an event in, and says what is wrong, if anything is.
    pub(crate) fn observe_event(&mut self, event: &AgentEvent) -> Option<TurnFault> {
        match event {
            AgentEvent::ToolCall(call) => {
                self.open.push((
                    call.id.clone(),
                    call_fingerprint(&call.name, call.input.text()),
                    call.name.clone(),
                ));
                self.calls = self.calls.saturating_add(1);
                self.check_calls(0)
            }
            AgentEvent::ToolResult(result) => {
                let at = self.open.iter().position(|(id, ..)| *id == result.id)?;
                let (_, print, name) = self.open.swap_remove(at);
                if !result.is_error && result.exit_code.is_none_or(|code| code == 0) {
                    self.failing = None;
                    return None;
                }
                let times = match self.failing {
                    Some((same, times)) if same == print => times + 1,
                    _ => 1,
                };
                self.failing = Some((print, times));
                (times >= SAME_FAILURES).then(|| {
                    TurnFault::Stalled(format!("the same call of {name} failed {times} times in a row"))
                })
            }
            _ => None,
        }
    }
}

fn call_fingerprint(name: &str, input: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, input).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use amplihack_agent::event::{EventJson, ToolCall, ToolResult};

    use super::*;

    fn limits(calls: u32) -> TurnLimits {
        TurnLimits { silence: Duration::from_mins(1), calls }
    }

    /// One call of `command` and its answer.
    fn call(stall: &mut StallDetector, number: usize, command: &str, fails: bool) -> Option<TurnFault> {
        let id = format!("call{number}");
        let input = EventJson::from(&serde_json::json!({ "command": command }));
        let asked = AgentEvent::ToolCall(ToolCall::new(id.clone(), "sh", input));
        let mut result = ToolResult::new(id, "");
        result.exit_code = Some(i64::from(fails));
        let answered = AgentEvent::ToolResult(result);
        stall.observe_event(&asked).or_else(|| stall.observe_event(&answered))
    }

    #[test]
    fn the_same_failing_call_over_and_over_is_a_stall_and_other_calls_are_none() {
        let mut stall = StallDetector::new(limits(100));
        let found: Vec<_> = (0..5).map(|number| call(&mut stall, number, "false", true)).collect();
        assert_eq!(found[..4], [None, None, None, None]);
        assert!(matches!(&found[4], Some(TurnFault::Stalled(why)) if why.contains("5 times")), "{found:?}");
        // A success in between, or another call, begins the count anew.
        let mut stall = StallDetector::new(limits(100));
        for number in 0..40 {
            let (command, fails) =
                [("false", true), ("false", true), ("true", false), ("other", true)][number % 4];
            assert_eq!(call(&mut stall, number, command, fails), None);
        }
    }

    #[test]
    fn a_turn_of_too_many_calls_is_endless() {
        let mut stall = StallDetector::new(limits(3));
        let found: Vec<_> = (0..4).map(|number| call(&mut stall, number, "true", false)).collect();
        assert_eq!(found, [None, None, None, Some(TurnFault::Endless)]);
    }

    #[test]
    fn a_running_tool_may_be_silent_for_longer() {
        let mut stall = StallDetector::new(limits(3));
        assert_eq!(stall.silence_limit(), Duration::from_mins(1));
        let input = EventJson::default();
        let call = ToolCall::new("a", "sh", input);
        assert_eq!(stall.observe_event(&AgentEvent::ToolCall(call)), None);
        assert_eq!(stall.silence_limit(), Duration::from_mins(6));
        let result = ToolResult::new("a", "");
        assert_eq!(stall.observe_event(&AgentEvent::ToolResult(result)), None);
        assert_eq!(stall.silence_limit(), Duration::from_mins(1));
    }
}
