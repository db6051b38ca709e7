//! Payloads of hosts: read or refused, and what was read is judged.

use std::path::Path;
use std::time::Duration;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_fuzz::{Target, run, seeds, words};
use amplihack_hooks::HookEvent;
use amplihack_hooks::dialect::{MAX_PAYLOAD, read_call};

const DICTIONARY: &[&str] = &[
    "\"tool_name\":",
    "\"toolName\":",
    "\"toolUse\":",
    "\"tool_input\":",
    "\"toolArgs\":",
    "\"command\":",
    "\"Bash\"",
    "\"bash\"",
    "\"shell\"",
    "\"apply_patch\"",
    "\"Write\"",
    "\"WebFetch\"",
    "\"file_path\":",
    "\"url\":",
    "\"cwd\":\"/x\",",
    "\"session_id\":",
    "\"sessionId\":",
    "\"prompt\":",
    "\"input\":",
    "\"tool_response\":",
    "*** Begin Patch\\n*** Update File: x\\n",
    "*** Delete File: ",
    "*** Move to: ",
    "\"timestamp\":",
];

fn main() -> std::process::ExitCode {
    let events =
        [HookEvent::PreToolUse, HookEvent::PostToolUse, HookEvent::UserPromptSubmit, HookEvent::Stop];
    let hosts: Vec<_> = std::iter::once(None).chain(AgentBinary::ALL.map(Some)).collect();
    let target = Target {
        name: "payload",
        seeds: seeds::files("amplihack-hooks/tests/cases/hooks"),
        dictionary: words::json_and(DICTIONARY),
        longest: 256 << 10,
        most: |len| {
            Duration::from_millis(50) + Duration::from_nanos(400) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    run(target, |payload| {
        assert!(payload.len() <= MAX_PAYLOAD);
        for event in events {
            for host in &hosts {
                match read_call(payload, event, *host, Path::new("/somewhere")) {
                    Ok(call) => assert!(call.cwd.is_absolute()),
                    Err(bad) => assert!(!bad.to_string().is_empty()),
                }
            }
        }
    })
}
