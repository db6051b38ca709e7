//! Units of systemd and desktop entries: what they start.

use super::EmbeddedCommand;

/// The values of `Exec` and of the keys that begin with it.
pub(super) fn exec_commands(text: &str) -> Vec<EmbeddedCommand> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| line.starts_with("Exec"));
    lines
        .filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            // systemd's marks in front of the program.
            let script = value.trim().trim_start_matches(['@', '-', ':', '+', '!']);
            let plain = key.chars().all(char::is_alphanumeric) && !script.is_empty();
            plain.then(|| EmbeddedCommand::new(key, script))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_unit_starts_is_found() {
        let found = exec_commands(
            "[Service]\nExecStart=-/bin/sh -c 'rm x'\nExecStop=kill \\\n 1\nRestart=no\n[Desktop Entry]\nExec=x %u\n",
        );
        let scripts: Vec<_> = found.into_iter().map(|command| command.script).collect();
        assert_eq!(scripts, ["/bin/sh -c 'rm x'", "kill   1", "x %u"]);
    }
}
