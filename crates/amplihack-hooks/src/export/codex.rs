//! Codex's rules: `prefix_rule` over the words of a command.

use amplihack_sys::push_line;
use amplihack_verdict::Decision;

use super::call::PermissionCall;
use super::{ExportEntry, ExportSubject, NativeRule, PermissionLanguage};

pub(super) static LANGUAGE: PermissionLanguage = PermissionLanguage {
    place: "~/.codex/rules/amplihack.rules",
    patterns: codex_patterns,
    text: render_codex_rules,
    matches: matches_codex_rule,
};

/// Words as they stand, since no shell reads them: what would be expanded is left out.
fn codex_patterns(entry: &ExportEntry) -> Vec<String> {
    match &entry.what {
        ExportSubject::Words(words)
            if !words.iter().any(|word| word.contains(['$', '*', '"', '\'', '\\', '`'])) =>
        {
            serde_json::to_string(words).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn render_codex_rules(rules: &[NativeRule]) -> String {
    let mut text =
        String::from("# Made by `amplihack policy export --agent codex`; a second wall behind the hooks.\n");
    for rule in rules {
        let decision = if rule.decision == Decision::Deny { "forbidden" } else { "prompt" };
        push_line!(
            text,
            "prefix_rule(pattern = {}, decision = \"{decision}\", justification = \"amplihack: {}\")",
            rule.pattern,
            rule.rule
        );
    }
    text
}

fn matches_codex_rule(pattern: &str, call: &PermissionCall<'_>) -> bool {
    let Ok(words) = serde_json::from_str::<Vec<String>>(pattern) else { return false };
    call.script_commands().iter().any(|part| part.words.starts_with(&words))
}
