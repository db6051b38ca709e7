//! Usage of an agent by now, where its stream tells that at the end of a turn only, or not of nested agents: read where the agent
//! writes it down meanwhile.

mod rollouts;
mod tail;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use amplihack_agent::event::UsageTotals;
use amplihack_agent::live::{LiveFile, MessageFiles, parse_span};
use amplihack_agent::{AgentBinary, AgentEvent, agent_profile};
use amplihack_config::env::Env;
use jiff::Timestamp;

use crate::budget::{LaunchUsage, count_tokens};
use rollouts::CodexRollouts;
pub(crate) use tail::FileTail;

/// Time for which a look at the files holds: an agent's events can come by the hundred.
const FRESH: Duration = Duration::from_millis(20);

/// Looks at what an agent has used.
#[derive(Debug)]
pub struct LiveUsage {
    agent: AgentBinary,
    /// File in which the agent writes it down; `None` for one whose stream tells all.
    file: Option<LiveFile>,
    /// Start of the launch: what is written before is that of an earlier one.
    since: Timestamp,
    /// Usage of the session before this launch.
    before: UsageTotals,
    /// The sum of the spans.
    added: UsageTotals,
    rollouts: CodexRollouts,
    /// Messages of the stream and of files, each once.
    messages: BTreeMap<String, UsageTotals>,
    tails: BTreeMap<PathBuf, FileTail>,
    /// Calls of tools that a file names, and those that the stream told.
    calls: BTreeSet<String>,
    told: BTreeSet<String>,
    /// The session, as its stream or its file told it.
    session: Option<String>,
    read_at: Option<Instant>,
}

impl LiveUsage {
    /// A look at a launch of `agent` in `env` that began at `since`, and whose session had used `before` it; `ours` is where a file of ours
    /// may be.
    pub fn new(agent: AgentBinary, env: &Env, ours: &Path, since: Timestamp, before: UsageTotals) -> Self {
        Self {
            agent,
            file: agent_profile(agent).counts.live_file.and_then(|file| file(env, ours)),
            since,
            before,
            added: UsageTotals::default(),
            rollouts: CodexRollouts::default(),
            messages: BTreeMap::new(),
            tails: BTreeMap::new(),
            calls: BTreeSet::new(),
            told: BTreeSet::new(),
            session: None,
            read_at: None,
        }
    }

    /// The environment `env` with what the agent needs to write its file, which is begun anew.
    pub fn prepare_env(&self, env: &Env) -> Env {
        let mut env = env.clone();
        if let Some(LiveFile::Spans { file, env: more }) = &self.file {
            // There need not be one.
            let _ = std::fs::remove_file(file);
            for (name, value) in more {
                env.set_variable(name, value);
            }
        }
        env
    }

    /// Reports whether there is anything to look at besides the stream.
    pub const fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    /// Takes in what the stream tells of messages and calls, so that each counts once.
    pub fn observe_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Usage(usage) if !usage.total && matches!(self.file, Some(LiveFile::Messages(_))) => {
                if let Some(id) = &usage.message {
                    count_message(&mut self.messages, id.clone(), &usage.amounts);
                }
            }
            AgentEvent::ToolCall(call) => {
                self.told.insert(call.id.clone());
            }
            _ => {}
        }
    }

    /// Returns the usage by now in the agent's `session`, of which the stream states `stated`.
    pub fn current_usage(&mut self, session: Option<&str>, stated: UsageTotals) -> LaunchUsage {
        if let Some(session) = session {
            self.session = Some(session.to_owned());
        }
        if self.read_at.is_none_or(|read_at| read_at.elapsed() >= FRESH) {
            self.read();
        }
        let seen = self.seen_totals();
        let mut used = LaunchUsage::from_totals(self.agent, self.session.clone(), stated);
        // The agent's own last word is the larger one, unless it was cut off before it, or leaves nested agents out.
        if count_tokens(&seen) > count_tokens(&stated) {
            used.unpriced = subtract_tokens(&seen, &stated);
            used.totals =
                UsageTotals { cost_usd: stated.cost_usd, premium_requests: stated.premium_requests, ..seen };
        }
        used
    }

    /// Returns the usage with all that is written by now, for the last look.
    pub fn final_usage(&mut self, session: Option<&str>, stated: UsageTotals) -> LaunchUsage {
        self.read_at = None;
        self.current_usage(session, stated)
    }

    /// The session, where its file has told it before its stream does.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Calls of nested agents that the stream does not tell.
    pub fn nested_calls(&self) -> u32 {
        u32::try_from(self.calls.difference(&self.told).count()).unwrap_or(u32::MAX)
    }

    fn seen_totals(&self) -> UsageTotals {
        match &self.file {
            None => UsageTotals::default(),
            Some(LiveFile::Rollout { .. }) => self.rollouts.totals(),
            Some(LiveFile::Spans { .. }) if !self.added.has_tokens() => UsageTotals::default(),
            Some(LiveFile::Spans { .. }) => {
                let mut sum = self.before;
                sum.add_amounts(&self.added);
                sum
            }
            Some(LiveFile::Messages(_)) => {
                let mut sum = UsageTotals::default();
                for amounts in self.messages.values() {
                    sum.add_amounts(amounts);
                }
                sum
            }
        }
    }

    fn read(&mut self) {
        self.read_at = Some(Instant::now());
        match self.file.clone() {
            None => {}
            Some(LiveFile::Rollout { below }) => {
                let Some(session) = self.session.as_deref() else { return };
                self.rollouts.read(&below, session, &mut self.calls);
            }
            Some(LiveFile::Spans { file, .. }) => self.read_spans(&file),
            Some(LiveFile::Messages(files)) => {
                let Some(session) = self.session.clone() else { return };
                for path in message_files(&files, &session) {
                    self.read_messages(&files, &path);
                }
            }
        }
    }

    /// Each answer of the model has a span: also of an agent that this one started from its shell, and that inherits the file.
    fn read_spans(&mut self, file: &Path) {
        for line in self.tails.entry(file.to_owned()).or_default().new_lines(file) {
            if let Some(span) = parse_span(&line) {
                self.session.get_or_insert(span.session);
                self.added.add_amounts(&span.amounts);
            }
        }
    }

    fn read_messages(&mut self, files: &MessageFiles, path: &Path) {
        for line in self.tails.entry(path.to_owned()).or_default().new_lines(path) {
            let Some(message) = files.parse_line(&line) else { continue };
            if message.at.is_some_and(|at| at < self.since) {
                continue;
            }
            count_message(&mut self.messages, message.id, &message.amounts);
            self.calls.extend(message.calls);
        }
    }
}

/// Every file of messages of `session`.
fn message_files(files: &MessageFiles, session: &str) -> Vec<PathBuf> {
    let list = |directory: &Path| std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for project in list(&files.below) {
        for (directory, end) in files.message_directories(&project.path(), session) {
            let is_one = |path: &PathBuf| {
                path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(&end))
            };
            found.extend(list(&directory).map(|entry| entry.path()).filter(is_one));
        }
    }
    found
}

/// Counts a message once. What is told of it again is never less: a stream tells the beginning of an answer, a file all of it.
fn count_message(messages: &mut BTreeMap<String, UsageTotals>, id: String, amounts: &UsageTotals) {
    let known = messages.entry(id).or_default();
    known.input_tokens = known.input_tokens.max(amounts.input_tokens);
    known.output_tokens = known.output_tokens.max(amounts.output_tokens);
    known.cache_read_tokens = known.cache_read_tokens.max(amounts.cache_read_tokens);
    known.cache_write_tokens = known.cache_write_tokens.max(amounts.cache_write_tokens);
}

/// The tokens of `all` that are not in `part`.
fn subtract_tokens(all: &UsageTotals, part: &UsageTotals) -> UsageTotals {
    UsageTotals {
        input_tokens: all.input_tokens.saturating_sub(part.input_tokens),
        output_tokens: all.output_tokens.saturating_sub(part.output_tokens),
        cache_read_tokens: all.cache_read_tokens.saturating_sub(part.cache_read_tokens),
        cache_write_tokens: all.cache_write_tokens.saturating_sub(part.cache_write_tokens),
        ..UsageTotals::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use amplihack_agent::event::AgentUsage;

    use super::*;

    fn row(id: &str, at: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","timestamp":"{at}","message":{{"id":"{id}","content":[{{"type":"tool_use","id":"call-{id}"}}],"usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#
        )
    }

    #[test]
    fn a_message_in_the_stream_and_in_a_file_counts_once_and_an_earlier_launchs_not() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("projects/-w/s1/subagents");
        fs::create_dir_all(&directory).unwrap();
        let env = Env::empty().with_variable("CLAUDE_CONFIG_DIR", home.path());
        let since = "2026-11-29T13:00:00Z".parse().unwrap();
        let mut live = LiveUsage::new(
            AgentBinary::Claude,
            &env,
            Path::new("/nonexistent"),
            since,
            UsageTotals::default(),
        );
        let amounts = UsageTotals { input_tokens: 10, ..UsageTotals::default() };
        live.observe_event(&AgentEvent::Usage(AgentUsage::of_message("main", amounts)));
        live.observe_event(&AgentEvent::Usage(AgentUsage::of_message("one", amounts)));
        let rows = [
            row("old", "2026-11-29T12:59:59Z", 1000),
            row("one", "2026-11-29T13:00:01Z", 5),
            row("one", "2026-11-29T13:00:01Z", 7),
            row("two", "2026-11-29T13:00:02Z", 3),
        ];
        fs::write(directory.join("agent-a.jsonl"), format!("{}\n", rows.join("\n"))).unwrap();
        let used = live.final_usage(Some("s1"), UsageTotals::default());
        assert_eq!((used.totals.input_tokens, used.totals.output_tokens), (30, 10));
        assert_eq!((used.unpriced, live.nested_calls()), (used.totals, 2));
        // Another session's are not looked at, and a stated sum that holds more is the agent's last word.
        let stated = UsageTotals { input_tokens: 100, cost_usd: Some(1.0), ..UsageTotals::default() };
        let used = live.final_usage(Some("s1"), stated);
        assert_eq!((used.totals, used.unpriced), (stated, UsageTotals::default()));
        let mut other = LiveUsage::new(
            AgentBinary::Claude,
            &env,
            Path::new("/nonexistent"),
            since,
            UsageTotals::default(),
        );
        assert_eq!(other.final_usage(Some("s2"), UsageTotals::default()).totals, UsageTotals::default());
    }
}
