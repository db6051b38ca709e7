//! Text that a host runs commands of when it loads it: skills, slash commands, agents.

use super::{EmbeddedCommand, data, yaml};

/// The commands of `` !`…` ``, of blocks that begin with ```` ```! ````, and of hooks and servers in the head.
pub(super) fn markdown_commands(text: &str) -> Vec<EmbeddedCommand> {
    let mut found = front_matter(text)
        .map(yaml::parse_entries)
        .map(|entries| data::of_entries(&entries))
        .unwrap_or_default();
    found.extend(block_commands(text));
    found.extend(inline_commands(text));
    found
}

/// The text between the two lines of dashes at the start.
fn front_matter(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('\u{feff}').trim_start().strip_prefix("---")?;
    let end = rest.find("\n---").unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Fenced blocks whose opening line is ```` ```! ````.
fn block_commands(text: &str) -> Vec<EmbeddedCommand> {
    let parts = text.split("```!").skip(1);
    parts
        .map(|rest| {
            let body = rest.split("```").next().unwrap_or(rest);
            EmbeddedCommand::new("block", body.trim())
        })
        .filter(|command| !command.script.is_empty())
        .collect()
}

/// `` !`…` `` wherever it stands: what a host asks to stand in front of it is not relied on.
fn inline_commands(text: &str) -> Vec<EmbeddedCommand> {
    let parts = text.split("!`").skip(1);
    parts
        .filter_map(|rest| {
            let command = rest.split_once('`')?.0.trim();
            (!command.is_empty()).then(|| EmbeddedCommand::new("inline", command))
        })
        .collect()
}

/// Commands of one text, and bytes of one command, that are looked at.
const INLINE: usize = 256;
const LONGEST: usize = 16 * 1024;

/// The commands of `!{…}`, with braces that stand in pairs in them.
pub(super) fn braced_commands(text: &str) -> Vec<EmbeddedCommand> {
    text.match_indices("!{")
        .take(INLINE)
        .filter_map(|(at, mark)| {
            let rest = &text[at + mark.len()..];
            let rest = rest.get(..LONGEST).unwrap_or(rest);
            let mut depth = 1_usize;
            let end = rest.char_indices().find_map(|(at, ch)| {
                match ch {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                (depth == 0).then_some(at)
            });
            // `{{args}}` is what the user types.
            let command = rest[..end.unwrap_or(rest.len())].trim().replace("{{args}}", "\"$args\"");
            (!command.is_empty()).then(|| EmbeddedCommand::new("inline", command))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(found: Vec<EmbeddedCommand>) -> Vec<String> {
        found.into_iter().map(|command| command.script).collect()
    }

    #[test]
    fn commands_stand_in_the_text_and_in_its_head() {
        let text = "---\nname: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"touch a\"\nmcp-servers:\n  s:\n    command: ./s\n    args: [\"-x\", \"b c\"]\n---\nNow !`git status`, then\n```!\nls -l\nrm x\n```\nand `not this`.\n";
        assert_eq!(
            scripts(markdown_commands(text)),
            ["touch a", "./s '-x' 'b c'", "ls -l\nrm x", "git status"]
        );
        assert!(markdown_commands("# A page\n\n```sh\nrm -rf ~\n```\n").is_empty());
        assert_eq!(
            scripts(braced_commands("prompt = \"\"\"a !{git log -1 ${x}} b !{ls {{args}}}\"\"\"")),
            ["git log -1 ${x}", "ls \"$args\""]
        );
    }
}
