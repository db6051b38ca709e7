//! Activities in one line for people.

use std::fmt::{self, Display, Formatter};

use super::{
    ActivityPhase, AgentCompaction, AgentPlan, AgentPlanStatus, AgentQuestion, AgentRateLimit, AgentRetry,
    AgentTask,
};

impl Display for ActivityPhase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Started => "started",
            Self::Progress => "goes on",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "changed",
        })
    }
}

impl Display for AgentRetry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(attempt) = self.attempt {
            write!(f, "attempt {attempt}")?;
            if let Some(most) = self.max_attempts {
                write!(f, " of {most}")?;
            }
            if let Some(delay) = self.delay_ms {
                write!(f, " in {delay} ms")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(if self.reason.is_empty() { "no reason given" } else { &self.reason })?;
        match self.status {
            Some(status) => write!(f, ", status {status}"),
            None => Ok(()),
        }
    }
}

impl Display for AgentRateLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status)?;
        if let Some(limit) = &self.limit {
            write!(f, ": {limit}")?;
        }
        if let Some(used) = self.utilization {
            write!(f, ", {:.0} % used", used * 100.0)?;
        }
        match self.resets_at {
            Some(at) => write!(f, ", reset at {at}"),
            None => Ok(()),
        }
    }
}

impl Display for AgentCompaction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.phase)?;
        if let Some(trigger) = &self.trigger {
            write!(f, " ({trigger})")?;
        }
        match (self.tokens_before, self.tokens_after) {
            (Some(before), Some(after)) => write!(f, ": {before} tokens before, {after} after"),
            (Some(before), None) => write!(f, ": {before} tokens before"),
            (None, Some(after)) => write!(f, ": {after} tokens after"),
            (None, None) => Ok(()),
        }
    }
}

impl Display for AgentTask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = [&self.name, &self.description].into_iter().flatten();
        let words: Vec<&str> = named.map(String::as_str).filter(|word| !word.is_empty()).collect();
        write!(f, "{} {}", if words.is_empty() { self.id.clone() } else { words.join(": ") }, self.phase)?;
        match self.tokens {
            Some(tokens) => write!(f, " ({tokens} tokens)"),
            None => Ok(()),
        }
    }
}

impl Display for AgentPlan {
    /// A line for each task, as Markdown's task lists.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let mark = match entry.status {
                AgentPlanStatus::Completed => 'x',
                AgentPlanStatus::InProgress => '~',
                AgentPlanStatus::Cancelled => '-',
                AgentPlanStatus::Pending => ' ',
            };
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}[{mark}] {}", entry.text)?;
        }
        Ok(())
    }
}

impl Display for AgentQuestion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.as_deref().unwrap_or(&self.id))?;
        if !self.choices.is_empty() {
            write!(f, " ({})", self.choices.join(", "))?;
        }
        match &self.answer {
            Some(answer) => write!(f, ": {answer}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{
        ActivityPhase, AgentCompaction, AgentPlan, AgentPlanEntry, AgentPlanStatus, AgentQuestion,
        AgentRateLimit, AgentRetry, AgentTask,
    };

    #[test]
    fn activities_read_as_one_line() {
        let entry = |text: &str, status| AgentPlanEntry { id: None, text: text.to_owned(), status };
        let lines = [
            AgentRetry {
                reason: "overloaded".to_owned(),
                attempt: Some(2),
                max_attempts: Some(10),
                delay_ms: Some(500),
                status: Some(529),
            }
            .to_string(),
            AgentRetry::default().to_string(),
            AgentRateLimit {
                status: "allowed_warning".to_owned(),
                limit: Some("five_hour".to_owned()),
                resets_at: Some(jiff::Timestamp::UNIX_EPOCH),
                utilization: Some(0.9),
            }
            .to_string(),
            AgentCompaction {
                phase: ActivityPhase::Completed,
                trigger: Some("auto".to_owned()),
                tokens_before: Some(9),
                tokens_after: Some(1),
                ..AgentCompaction::default()
            }
            .to_string(),
            AgentTask {
                name: Some("Explore".to_owned()),
                tokens: Some(7),
                ..AgentTask::new("call", ActivityPhase::Failed)
            }
            .to_string(),
            AgentTask::new("call", ActivityPhase::Started).to_string(),
            AgentPlan {
                entries: vec![entry("a", AgentPlanStatus::Completed), entry("b", AgentPlanStatus::Pending)],
                ..AgentPlan::default()
            }
            .to_string(),
            AgentQuestion {
                id: "q".to_owned(),
                text: Some("Which?".to_owned()),
                choices: vec!["a".to_owned(), "b".to_owned()],
                answer: Some("a".to_owned()),
                ..AgentQuestion::default()
            }
            .to_string(),
        ];
        assert_eq!(
            lines,
            [
                "attempt 2 of 10 in 500 ms: overloaded, status 529",
                "no reason given",
                "allowed_warning: five_hour, 90 % used, reset at 1970-01-01T00:00:00Z",
                "completed (auto): 9 tokens before, 1 after",
                "Explore failed (7 tokens)",
                "call started",
                "[x] a\n[ ] b",
                "Which? (a, b): a",
            ]
        );
    }
}
