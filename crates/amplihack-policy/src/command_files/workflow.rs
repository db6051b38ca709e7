//! Pipelines of CI services: the commands of their steps.

use super::{EmbeddedCommand, yaml};

const KEYS: [&str; 10] = [
    "run",
    "script",
    "before_script",
    "after_script",
    "command",
    "commands",
    "bash",
    "before_install",
    "install",
    "entrypoint",
];

/// The commands of all steps. What the service puts in is replaced: a secret by a variable of its name, all else by a word.
pub(super) fn workflow_commands(text: &str) -> Vec<EmbeddedCommand> {
    let entries = yaml::parse_entries(text).into_iter().filter(|entry| KEYS.contains(&entry.key.as_str()));
    entries.map(|entry| EmbeddedCommand::new(entry.key, replace_expressions(&entry.value))).collect()
}

fn replace_expressions(script: &str) -> String {
    let mut parts = script.split("${{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inner, rest) = part.split_once("}}").unwrap_or((part, ""));
        match inner.trim().strip_prefix("secrets.") {
            Some(name) if name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') => {
                out.extend(["${", name, "}"]);
            }
            _ => out.push_str("expression"),
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_scripts() {
        let text = "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n      - name: x\n        run: |\n          make ${{ matrix.os }}\n          curl -H ${{ secrets.TOKEN }} x\n      - run: ls\n";
        let scripts: Vec<_> = workflow_commands(text).into_iter().map(|command| command.script).collect();
        assert_eq!(scripts, ["make expression\ncurl -H ${TOKEN} x", "ls"]);
    }
}
