//! Claude's tools in Copilot's words.

/// Tool of Claude's, with Copilot's names for it.
struct ClaudeToolEntry {
    name: &'static str,
    /// The kind of Copilot's permission rules that covers it; `None` where Copilot never asks about it.
    kind: Option<&'static str>,
    /// Copilot's own tools that do the same.
    same: &'static [&'static str],
}

const TOOLS: &[ClaudeToolEntry] = &[
    tool_entry("Bash", Some("shell"), &["bash", "read_bash", "stop_bash", "list_bash"]),
    tool_entry("Edit", Some("write"), &["edit"]),
    tool_entry("MultiEdit", Some("write"), &["edit"]),
    tool_entry("NotebookEdit", Some("write"), &["edit"]),
    tool_entry("Write", Some("write"), &["create"]),
    tool_entry("WebFetch", Some("url"), &["web_fetch"]),
    tool_entry("Read", None, &["view"]),
    tool_entry("NotebookRead", None, &["view"]),
    tool_entry("LS", None, &["view"]),
    tool_entry("Grep", None, &["grep"]),
    tool_entry("Glob", None, &["glob"]),
    tool_entry("Task", None, &["task"]),
    tool_entry("Agent", None, &["task"]),
    tool_entry("Skill", None, &["skill"]),
];

const fn tool_entry(
    name: &'static str,
    kind: Option<&'static str>,
    same: &'static [&'static str],
) -> ClaudeToolEntry {
    ClaudeToolEntry { name, kind, same }
}

/// A rule of Claude's: `Bash`, `Bash(git log:*)`, `mcp__server__tool`.
struct ClaudeToolRule<'a> {
    tool: &'a str,
    about: Option<&'a str>,
    /// Copilot cannot be told what it is about: it is not closed, or Copilot would take it for two.
    vague: bool,
}

impl<'a> ClaudeToolRule<'a> {
    fn read(text: &'a str) -> Self {
        let Some((tool, rest)) = text.split_once('(') else {
            return Self { tool: text, about: None, vague: false };
        };
        let about = rest.strip_suffix(')');
        let vague = about.is_none_or(|about| about.contains([',', '(', ')']));
        Self { tool, about: about.filter(|about| !vague && !["", "*", ":*"].contains(about)), vague }
    }

    /// Reports whether the rule names neither a tool nor a server: no rule of Copilot's can be made of it.
    fn is_nameless(&self) -> bool {
        let name =
            self.tool.strip_prefix("mcp__").map_or(self.tool, |name| name.split("__").next().unwrap_or(name));
        name.is_empty()
    }

    fn known_tool(&self) -> Option<&'static ClaudeToolEntry> {
        TOOLS.iter().find(|tool| tool.name == self.tool)
    }

    /// `mcp__server__tool` as Copilot writes it.
    fn of_server(&self) -> Option<String> {
        let name = self.tool.strip_prefix("mcp__")?;
        Some(match name.split_once("__") {
            Some((server, "" | "*")) => server.to_owned(),
            Some((server, tool)) => format!("{server}({tool})"),
            None => name.to_owned(),
        })
    }
}

/// Copilot's flags that take away what Claude's rule `rule` names. Never less than that; more where Copilot has no rule so fine.
pub fn denial_flags(rule: &str) -> Vec<String> {
    let rule = ClaudeToolRule::read(rule);
    // What it was to deny cannot be told: nothing less than all.
    if rule.tool == "*" || rule.is_nameless() {
        return vec![super::NO_TOOLS.to_owned()];
    }
    if let Some(server) = rule.of_server() {
        return vec![format!("--deny-tool={server}")];
    }
    let Some(tool) = rule.known_tool() else { return vec![format!("--deny-tool={}", rule.tool)] };
    match (tool.kind, rule.about) {
        (Some("shell"), Some(command)) => vec![format!("--deny-tool=shell({command})")],
        (Some(kind), _) => vec![format!("--deny-tool={kind}")],
        // No permission rule covers it, so it is hidden from the model. The rule beside it says what was decided.
        (None, _) => vec![
            format!("--deny-tool={}", tool.name.to_lowercase()),
            format!("--excluded-tools={}", tool.same.join(",")),
        ],
    }
}

/// Copilot's rule that grants what Claude's rule `rule` names, and no more. `Ok(None)`: Copilot does not ask about it.
///
/// # Errors
/// `()` if Copilot has no rule for just that.
#[expect(clippy::result_unit_err, reason = "there is nothing more to say than that it cannot be said")]
pub fn grant_flag(rule: &str) -> Result<Option<String>, ()> {
    let rule = ClaudeToolRule::read(rule);
    if rule.vague || rule.is_nameless() {
        return Err(());
    }
    if let Some(server) = rule.of_server() {
        return Ok(Some(format!("--allow-tool={server}")));
    }
    let tool = rule.known_tool().ok_or(())?;
    match (tool.kind, rule.about) {
        (None, _) => Ok(None),
        (Some(kind), None) => Ok(Some(format!("--allow-tool={kind}"))),
        (Some("shell"), Some(command)) => Ok(Some(format!("--allow-tool=shell({command})"))),
        (Some("url"), Some(about)) => match about.strip_prefix("domain:") {
            Some(domain) => Ok(Some(format!("--allow-tool=url({domain})"))),
            None => Err(()),
        },
        (Some(_), Some(_)) => Err(()),
    }
}

/// Copilot's tools that are the one of Claude's that `name` names; none if it is not known.
pub fn copilot_tools(name: &str) -> &'static [&'static str] {
    ClaudeToolRule::read(name).known_tool().map_or(&[], |tool| tool.same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_takes_away_no_less_than_was_asked() {
        for (rule, flags) in [
            ("Bash", &["--deny-tool=shell"][..]),
            ("Bash(*)", &["--deny-tool=shell"]),
            ("Bash(git push:*)", &["--deny-tool=shell(git push:*)"]),
            ("Edit(src/**)", &["--deny-tool=write"]),
            ("WebFetch(domain:a.example)", &["--deny-tool=url"]),
            ("Read", &["--deny-tool=read", "--excluded-tools=view"]),
            ("mcp__github", &["--deny-tool=github"]),
            ("mcp__github__get_issue", &["--deny-tool=github(get_issue)"]),
            ("SomethingNew", &["--deny-tool=SomethingNew"]),
            ("Bash(git add, git rm)", &["--deny-tool=shell"]),
            ("Bash(git", &["--deny-tool=shell"]),
            ("*", &["--available-tools=amplihack-nothing"]),
            ("(", &["--available-tools=amplihack-nothing"]),
            ("mcp__", &["--available-tools=amplihack-nothing"]),
            ("mcp____t", &["--available-tools=amplihack-nothing"]),
        ] {
            assert_eq!(denial_flags(rule), flags, "{rule}");
        }
    }

    #[test]
    fn a_grant_is_no_more_than_was_asked() {
        let flag = |flag: &str| Ok(Some(flag.to_owned()));
        for (rule, expected) in [
            ("Bash", flag("--allow-tool=shell")),
            ("Bash(git:*)", flag("--allow-tool=shell(git:*)")),
            ("Write", flag("--allow-tool=write")),
            ("WebFetch(domain:a.example)", flag("--allow-tool=url(a.example)")),
            ("mcp__s__t", flag("--allow-tool=s(t)")),
            ("Read", Ok(None)),
            ("Edit(src/**)", Err(())),
            ("WebFetch(x)", Err(())),
            ("SomethingNew", Err(())),
            ("Bash(git add, git rm)", Err(())),
            ("Bash(git", Err(())),
            ("*", Err(())),
            ("mcp__", Err(())),
            ("mcp____t", Err(())),
        ] {
            assert_eq!(grant_flag(rule), expected, "{rule}");
        }
    }
}
