//! The three names of the shell tool: a rule for one of them is a rule for all, with the arguments renamed.

use crate::rule::Permission;

/// The names, in the order in which the CLI adds the missing ones.
const NAMES: [&str; 3] = ["Bash", "shell_command", "async_shell_command"];

/// Argument names: the first tool uses the left name, the others use the right one.
const ARGUMENTS: [(&str, &str); 2] = [("cmd", "command"), ("cwd", "workdir")];

/// The rule, and behind it the same rule for the other names of its tool. Only an exact name counts, no glob and no other case.
pub(super) fn expand_aliases(rule: &Permission) -> Vec<Permission> {
    let mut rules = vec![rule.clone()];
    if !NAMES.contains(&rule.tool.as_str()) {
        return rules;
    }
    for name in NAMES {
        if name != rule.tool {
            rules.push(rename_tool(rule, name));
        }
    }
    rules
}

/// The rule under another name. Its arguments get the names that belong to that, whichever they had.
fn rename_tool(rule: &Permission, tool: &str) -> Permission {
    let to_bash = tool == NAMES[0];
    let argument = |key: String| {
        let found = ARGUMENTS.iter().find(|(bash, other)| key == if to_bash { *other } else { *bash });
        found.map_or(key, |(bash, other)| (if to_bash { *bash } else { *other }).to_owned())
    };
    let mut rule = rule.clone();
    tool.clone_into(&mut rule.tool);
    let matches =
        rule.matches.map(|matches| matches.into_iter().map(|(key, is)| (argument(key), is)).collect());
    rule.matches = matches;
    rule
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::PermissionAction;

    #[test]
    fn the_rule_itself_comes_first_and_keeps_its_arguments() {
        let rule = Permission::new("shell_command", PermissionAction::Ask)
            .with_match("command", "x")
            .with_match("n", "1");
        let tools: Vec<_> = expand_aliases(&rule).iter().map(|rule| rule.to_value().to_string()).collect();
        insta::assert_snapshot!(tools.join("\n"));
        assert_eq!(expand_aliases(&Permission::new("bash", PermissionAction::Ask)).len(), 1);
        assert_eq!(expand_aliases(&Permission::new("*", PermissionAction::Ask)).len(), 1);
    }
}
