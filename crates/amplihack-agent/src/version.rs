//! Versions as agents print them.

use semver::Version;

/// The version in what an agent's `--version` printed: the first word of the form `N.N.N`, with or without more behind it.
///
/// Reads `2.1.332 (Claude Code)`, `codex-cli 0.171.0`, `GitHub Copilot CLI 1.0.102.` and `0.0.1790142911-g7618fb (released …)`.
pub fn parse_version(output: &str) -> Option<Version> {
    output.split_whitespace().find_map(|word| {
        let word = word.trim_start_matches('v').trim_end_matches(['.', ',', ';', ')']);
        Version::parse(word).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn reads_what_the_agents_print() {
        for (output, version) in [
            ("2.1.332 (Claude Code)\n", "2.1.332"),
            ("codex-cli 0.171.0\n", "0.171.0"),
            ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n", "1.0.102"),
            (
                "0.0.1790142911-g7618fb (released 2026-09-23T05:55:11.000Z, 2mo ago)\n",
                "0.0.1790142911-g7618fb",
            ),
            ("amplifier, version 0.4.1\n", "0.4.1"),
            ("v1.2.3", "1.2.3"),
        ] {
            assert_eq!(parse_version(output).unwrap().to_string(), version);
        }
    }

    #[test]
    fn anything_else_is_no_version() {
        for output in ["", "unknown", "1.2", "error: 2 problems", "\u{0}\u{ffff}"] {
            assert_eq!(parse_version(output), None, "{output:?}");
        }
    }
}
