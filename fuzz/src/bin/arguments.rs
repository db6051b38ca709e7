//! Command lines that others wrote: users' arguments for agents, recipes' arguments for Copilot, registrations' for the hook binary.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use amplihack_agent::copilot::nested;
use amplihack_agent::grammar::FoundPrompt;
use amplihack_agent::{AgentBinary, agent_profile};
use amplihack_config::agent_binary::validate_name;
use amplihack_config::launcher_context::SessionId;
use amplihack_fuzz::{Target, linear, run, seeds};
use amplihack_hooks::HookInvocation;
use amplihack_launcher::copilot::normalize;

const SEEDS: &[&str] = &[
    "-p\n--model\nx\ndo it\n",
    "exec\n--search\n-\n",
    "--dangerously-skip-permissions\n--allowedTools\nBash(git:*),Edit\n--disallowedTools=WebFetch(domain:x)\n-p\nhi\n",
    "--permission-mode\nplan\n--append-system-prompt\nx\n--\n-hi\n",
    "pre-tool-use\n--host\ncodex\n--headless\n--policy\nstrict\n--launch\n/run\n",
    "--resume=abc\n--continue\n--output-format\nstream-json\n--verbose\n",
    "xpia\n{}\n",
];

const DICTIONARY: &[&str] = &[
    "\n",
    "--",
    "-",
    "-p\n",
    "--prompt=",
    "--prompt\n",
    "--model\n",
    "exec\n",
    "run\n",
    "chat\n",
    "--allowedTools\n",
    "--allowed-tools=",
    "--disallowedTools\n",
    "--tools\n",
    "Bash(",
    "Bash(git:*)",
    "mcp__server__tool",
    "mcp__s",
    "Edit",
    "Write",
    "WebFetch(domain:",
    ")",
    ",",
    " ",
    "*",
    "--permission-mode\n",
    "plan",
    "acceptEdits",
    "bypassPermissions",
    "--dangerously-skip-permissions\n",
    "--allow-all-tools\n",
    "--deny-tool=",
    "--system-prompt\n",
    "--add-dir\n",
    "--help\n",
    "--version\n",
    "--interactive=",
    "--settings\n{}",
    "=",
    "Tool use is forbidden for this invocation.",
    "\u{feff}",
    "é",
    "\0",
    "--host\n",
    "--policy\n",
    "pre-tool-use\n",
    "stop\n",
    "--effort",
    "--fallback-model\n",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::texts(SEEDS);
    begin.extend(seeds::argv("amplihack-launcher/tests/cases/copilot_normalizer.jsonl"));
    let target = Target {
        name: "arguments",
        seeds: begin,
        dictionary: DICTIONARY,
        longest: 16 << 10,
        most: |len| linear(100, 40, len),
    };
    run(target, |bytes| {
        let words: Vec<OsString> = bytes
            .split(|byte| *byte == b'\n')
            .map(|word| OsString::from_vec(word.iter().copied().filter(|byte| *byte != 0).collect()))
            .collect();
        for agent in AgentBinary::ALL {
            let read = agent_profile(agent).grammar.read(&words);
            // No word is made up, and none that was taken as the prompt stands among the others too.
            let all = read.before_verb.iter().chain(&read.rest).count()
                + usize::from(matches!(read.prompt, Some(FoundPrompt::Word(_))));
            assert!(all <= words.len() + 1, "{agent}: {all} words of {}", words.len());
            assert!(!read.passthrough || read.prompt.is_none());
        }
        if let Ok(normalized) = normalize(&words) {
            let again = normalize(&normalized.argv).expect("what Copilot takes is taken");
            assert_eq!(again.argv, normalized.argv, "it changes what it made itself");
        }
        for word in words.iter().filter_map(|word| word.to_str()).take(64) {
            let _ = (
                nested::flag_meaning(word),
                nested::suspected_questions(word),
                nested::mode_level(word),
                nested::copilot_tools(word).len(),
            );
            assert!(nested::denial_flags(word).iter().all(|flag| flag.starts_with("--")));
            let _ = nested::grant_flag(word);
            let _ = validate_name(word);
            assert!(SessionId::parse(word).is_err() || !word.contains(['/', '\0']));
        }
        let _ = HookInvocation::parse(words);
    })
}
