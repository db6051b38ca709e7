//! A policy file: TOML to rules, each fault with its place.

use std::path::Path;

use amplihack_verdict::{Decision, RuleId};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::PolicyError;
use super::rule::UserRule;

/// The contents of a policy file.
#[derive(Debug, Default)]
pub(super) struct PolicyFile {
    pub(super) rules: Vec<(UserRule, UserRuleExamples)>,
    /// Rules that it switches off, with their places.
    pub(super) disable: Vec<(String, usize, usize)>,
    pub(super) protected: Option<Vec<String>>,
}

/// Scripts that a rule must match, or must not, with their places.
#[derive(Debug, Default)]
pub(super) struct UserRuleExamples {
    pub(super) all: Vec<(String, bool, usize, usize)>,
}

pub(super) fn parse_policy_file(file: &Path, text: &str) -> Result<PolicyFile, PolicyError> {
    let table = DeTable::parse(text).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        PolicyError::Syntax {
            file: file.to_path_buf(),
            line,
            column,
            message: error.message().trim().replace('\n', ", "),
        }
    })?;
    let reader = PolicyFileReader { file, text };
    let mut found = PolicyFile::default();
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "rule" => {
                for (number, entry) in
                    reader.read_array(value, "rule must be a list: write [[rule]]")?.iter().enumerate()
                {
                    found.rules.push(reader.read_rule(entry, number + 1)?);
                }
            }
            "disable" => found.disable = reader.read_strings(value, "disable")?,
            "protected_branches" => {
                found.protected = Some(
                    reader
                        .read_strings(value, "protected_branches")?
                        .into_iter()
                        .map(|(text, ..)| text)
                        .collect(),
                );
            }
            // Refused, not ignored: under a misspelled key, rules and branches would be missing unnoticed.
            other => {
                return Err(reader.value_error(
                    key.span().start,
                    format!(
                        "unknown key `{}`; known are rule, disable, protected_branches",
                        other.escape_debug()
                    ),
                ));
            }
        }
    }
    Ok(found)
}

struct PolicyFileReader<'a> {
    file: &'a Path,
    text: &'a str,
}

impl PolicyFileReader<'_> {
    fn value_error(&self, offset: usize, message: impl Into<String>) -> PolicyError {
        let (line, column) = line_and_column(self.text, offset);
        PolicyError::Value { file: self.file.to_path_buf(), line, column, message: message.into() }
    }

    fn read_array<'t, 'x>(
        &self,
        value: &'t Spanned<DeValue<'x>>,
        message: &str,
    ) -> Result<&'t DeArray<'x>, PolicyError> {
        match value.get_ref() {
            DeValue::Array(array) => Ok(array),
            _ => Err(self.value_error(value.span().start, message)),
        }
    }

    fn read_string(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<String, PolicyError> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.clone().into_owned()),
            _ => Err(self.value_error(value.span().start, format!("{key} must be text that is not empty"))),
        }
    }

    /// A text or a list of texts, each with its place.
    fn read_strings(
        &self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
    ) -> Result<Vec<(String, usize, usize)>, PolicyError> {
        let placed = |value: &Spanned<DeValue<'_>>| {
            let (line, column) = line_and_column(self.text, value.span().start);
            Ok((self.read_string(value, key)?, line, column))
        };
        match value.get_ref() {
            DeValue::Array(array) => array.iter().map(placed).collect(),
            _ => Ok(vec![placed(value)?]),
        }
    }

    fn read_rule(
        &self,
        entry: &Spanned<DeValue<'_>>,
        number: usize,
    ) -> Result<(UserRule, UserRuleExamples), PolicyError> {
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(self.value_error(entry.span().start, "rule must be a table: write [[rule]]"));
        };
        let mut rule = UserRule::new(RuleId(format!("user/{number}").into()));
        let mut examples = UserRuleExamples::default();
        let mut decided = false;
        let plain =
            |list: Vec<(String, usize, usize)>| list.into_iter().map(|(text, ..)| text).collect::<Vec<_>>();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "name" => {
                    let name = self.read_string(value, "name")?;
                    if !name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '-' || ch == '_') {
                        return Err(self.value_error(
                            value.span().start,
                            "name may hold letters, digits, `-` and `_` only",
                        ));
                    }
                    rule.id = RuleId(format!("user/{name}").into());
                }
                "program" => rule.programs = plain(self.read_strings(value, name)?),
                "args" => rule.args = plain(self.read_strings(value, name)?),
                "paths" => rule.paths = plain(self.read_strings(value, name)?),
                "hosts" => {
                    rule.hosts = plain(self.read_strings(value, name)?)
                        .iter()
                        .map(|host| host.to_lowercase())
                        .collect();
                }
                "reason" => rule.reason = self.read_string(value, name)?,
                "decision" => {
                    decided = true;
                    rule.decision = match self.read_string(value, name)?.as_str() {
                        "allow" => Decision::Allow,
                        "ask" => Decision::Ask,
                        "deny" => Decision::Deny,
                        _ => {
                            return Err(
                                self.value_error(value.span().start, "decision must be allow, ask or deny")
                            );
                        }
                    };
                }
                "match" | "not_match" => {
                    let expected = name == "match";
                    examples.all.extend(
                        self.read_strings(value, name)?
                            .into_iter()
                            .map(|(text, line, column)| (text, expected, line, column)),
                    );
                }
                // Refused, not ignored: a rule of which only a part is understood is another rule, and mostly a wider one.
                other => {
                    let message = format!(
                        "unknown key `{}` in a rule; known are name, program, args, paths, hosts, decision, reason, match, not_match",
                        other.escape_debug()
                    );
                    return Err(self.value_error(key.span().start, message));
                }
            }
        }
        if !decided {
            return Err(
                self.value_error(entry.span().start, "the rule has no decision; add allow, ask or deny")
            );
        }
        // `args` alone narrows nothing: the rule would decide on each call.
        if rule.programs.is_empty() && rule.paths.is_empty() && rule.hosts.is_empty() {
            return Err(self.value_error(
                entry.span().start,
                "the rule is about everything; add program, paths or hosts",
            ));
        }
        Ok((rule, examples))
    }
}

/// Line and column of a byte of `text`, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
