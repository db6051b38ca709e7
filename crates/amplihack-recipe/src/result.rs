//! The result of a run for programs, and its report for people.

use std::sync::Arc;

use amplihack_sys::push_line;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::context::RecipeContext;

/// The version of the result's form.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The status with which a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepResultStatus {
    /// The step succeeded.
    Completed,
    /// The step was not to be done.
    Skipped,
    /// The step failed.
    Failed,
    /// The step was done, but its output is not what was asked for.
    Degraded,
}

impl StepResultStatus {
    /// The name of the status, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
        }
    }
}

/// The runs of an agent for one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The agent.
    pub agent: String,
    /// The session whose events were kept; the last one of several attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The usage of all attempts.
    #[serde(default)]
    pub usage: amplihack_agent::event::UsageTotals,
    /// The end of the last attempt, without its text, which is the step's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<amplihack_session::RunEnd>>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The step.
    pub step_id: String,
    /// `bash`, `agent` or `recipe`.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The status with which the step ended.
    pub status: StepResultStatus,
    /// The output of the step.
    pub output: Arc<str>,
    /// The reason of a failure; empty if there is none.
    pub error: String,
    /// Duration of the step in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// The exit code of the step's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The reason that the step was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
    /// Number of times that an agent was asked, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Bytes of the whole output, where `output` has not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The file with the whole output, below the run's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The agent's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
    /// Warnings from the launches of the step's agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The output is JSON that was found in what the step said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
    /// The JSON as it was written, where `output` has its numbers in a shorter spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Arc<str>>,
    /// The steps of a sub-recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_results: Vec<StepResult>,
}

impl StepResult {
    /// A result of the step `id` with no more than a status.
    pub fn new(id: &str, kind: &str, status: StepResultStatus) -> Self {
        Self {
            step_id: id.to_owned(),
            kind: kind.to_owned(),
            status,
            output: "".into(),
            error: String::new(),
            duration: None,
            exit_code: None,
            signal: None,
            skipped_reason: None,
            attempts: None,
            output_bytes: None,
            log: None,
            agent: None,
            warnings: Vec::new(),
            json: false,
            exact: None,
            step_results: Vec::new(),
        }
    }

    /// A failure.
    pub fn from_failure(id: &str, kind: &str, error: impl Into<String>) -> Self {
        Self { error: error.into(), ..Self::new(id, kind, StepResultStatus::Failed) }
    }
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The run's id.
    pub run_id: String,
    /// The recipe's name.
    pub recipe_name: String,
    /// True if no fatal step failed, and all was done.
    pub success: bool,
    /// The signal that ended the run.
    pub interrupted: Option<i32>,
    /// The steps, in the order of the file.
    pub step_results: Vec<StepResult>,
    /// All names and values at the end.
    pub context: RecipeContext,
    /// Duration of the run in seconds.
    pub duration: f64,
    /// The usage of all the run's agents, where that is to be reported.
    pub usage: Option<amplihack_agent::event::UsageTotals>,
    /// The budget or deadline that ended a step, in words.
    pub bound: Option<String>,
}

impl Serialize for RunResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry("run_id", &self.run_id)?;
        map.serialize_entry("recipe_name", &self.recipe_name)?;
        map.serialize_entry("success", &self.success)?;
        if let Some(signal) = self.interrupted {
            map.serialize_entry("interrupted", &signal)?;
        }
        map.serialize_entry("step_results", &self.step_results)?;
        if !self.context.is_empty() {
            map.serialize_entry("context", &self.context)?;
        }
        map.serialize_entry("duration", &self.duration)?;
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        if let Some(bound) = &self.bound {
            map.serialize_entry("bound", bound)?;
        }
        map.end()
    }
}

/// The report for people: a line for the recipe, one for each step.
pub fn render_report(name: &str, success: bool, steps: &[StepResult], duration: f64) -> String {
    // A sum of nothing is minus zero.
    let duration = duration + 0.0;
    let word = if success { "SUCCESS" } else { "FAILED" };
    let mut text = format!("Recipe '{name}': {word} ({duration:.1}s)\n");
    for step in steps {
        let took = step.duration.unwrap_or_default();
        push_line!(text, "  [{}] {} ({took:.1}s)", step.status.name(), step.step_id);
        if !step.error.is_empty() {
            push_line!(text, "    error: {}", step.error.replace('\n', "\n    "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_fields_of_the_predecessor_and_what_is_new() {
        let mut context = RecipeContext::new();
        context.set_value("v", crate::value::RecipeValue::from_output("1.10"));
        let step = StepResult {
            exit_code: Some(3),
            duration: Some(0.25),
            ..StepResult::from_failure("a", "bash", "no")
        };
        let result = RunResult {
            run_id: "r".into(),
            recipe_name: "n".into(),
            success: false,
            interrupted: None,
            step_results: vec![step],
            context,
            duration: 0.5,
            usage: None,
            bound: None,
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&result).unwrap());
        insta::assert_snapshot!(render_report("n", false, &result.step_results, 0.5));
    }
}
