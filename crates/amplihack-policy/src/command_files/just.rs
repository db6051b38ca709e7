//! Justfiles: the recipes, with `{{…}}` as words that are not known.

use super::EmbeddedCommand;

/// The script of every recipe.
pub(super) fn justfile_commands(text: &str) -> Vec<EmbeddedCommand> {
    let mut found: Vec<EmbeddedCommand> = Vec::new();
    let mut in_recipe = false;
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = found.last_mut().filter(|_| in_recipe) {
                recipe
                    .script
                    .push_str(replace_interpolations(line.trim().trim_start_matches(['@', '-'])).as_str());
                recipe.script.push('\n');
            }
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            in_recipe = !line.contains(":=") && line.contains(':') && !line.starts_with("set ");
            if in_recipe {
                let name = line.trim_start_matches('@').split([' ', ':']).next().unwrap_or_default();
                found.push(EmbeddedCommand::new(name, ""));
            }
        }
    }
    found.retain(|recipe| !recipe.script.trim().is_empty());
    found
}

fn replace_interpolations(line: &str) -> String {
    let mut parts = line.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let name = name.trim();
        if name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') && !name.is_empty() {
            out.extend(["${", name, "}"]);
        } else {
            out.push_str("expression");
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_have_names() {
        let found = justfile_commands(
            "x := 'y'\n\n# c\nbuild target: dep\n  @echo {{target}}\n  ls\n\ndep:\n  rm z\n",
        );
        assert_eq!(
            found,
            [EmbeddedCommand::new("build", "echo ${target}\nls\n"), EmbeddedCommand::new("dep", "rm z\n")]
        );
    }
}
