//! Codex's rules: `prefix_rule` over the words of a command.

use std::fmt::Write as _;

use amplihack_policy::Decision;

use super::call::Call;
use super::{Entry, Language, Native, What};

pub(super) static LANGUAGE: Language =
    Language { place: "~/.codex/rules/amplihack.rules", patterns, text, matches };

/// Words as they stand, since no shell reads them: what would be expanded is left out.
fn patterns(entry: &Entry) -> Vec<String> {
    match &entry.what {
        What::Words(words) if !words.iter().any(|word| word.contains(['$', '*', '"', '\'', '\\', '`'])) => {
            serde_json::to_string(words).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn text(rules: &[Native]) -> String {
    let mut text =
        String::from("# Made by `amplihack policy export --for codex`; a second wall behind the hooks.\n");
    for rule in rules {
        let decision = if rule.decision == Decision::Deny { "forbidden" } else { "prompt" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "prefix_rule(pattern = {}, decision = \"{decision}\", justification = \"amplihack: {}\")",
            rule.pattern, rule.rule
        );
    }
    text
}

fn matches(pattern: &str, call: &Call<'_>) -> bool {
    let Ok(words) = serde_json::from_str::<Vec<String>>(pattern) else { return false };
    call.parts().iter().any(|part| part.words.starts_with(&words))
}
