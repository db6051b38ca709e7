//! Names of variables: those that placeholders get, those that a script may use by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::RecipeContext;
use crate::value::{RecipeValue, RecipeValueKind};

/// Before the name of a variable that holds a value.
pub(super) const VARIABLE: &str = "RECIPE_VAR_";

/// Before the name of a variable that holds a value with which bash may calculate.
pub(super) const NUMBER: &str = "RECIPE_NUMBER_";

/// The end of a variable's name: `my-key` is `my_key`, `a.b` is `a__b`.
pub(super) fn mangle_name(name: &str) -> String {
    name.replace('.', "__").replace('-', "_")
}

/// The end of the variable's name for each of `names`; no two have the same.
pub(super) fn assign_suffixes<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let names: BTreeSet<&str> = names.collect();
    let mut taken: BTreeSet<String> = names.iter().map(|name| mangle_name(name)).collect();
    let mut first = BTreeSet::new();
    let mut suffixes = BTreeMap::new();
    for name in names {
        let mut suffix = mangle_name(name);
        if !first.insert(suffix.clone()) {
            let free = (2_u64..).map(|number| format!("{}__{number}", mangle_name(name)));
            suffix = free.into_iter().find(|suffix| !taken.contains(suffix)).unwrap_or_default();
            taken.insert(suffix.clone());
        }
        suffixes.insert(name.to_owned(), suffix);
    }
    suffixes
}

/// The words of a script that begin with `RECIPE_VAR_` or have no small letter.
pub(super) fn find_mentions(source: &str) -> BTreeSet<String> {
    source
        .split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'))
        .filter(|word| word.starts_with(|char: char| char.is_ascii_uppercase() || char == '_'))
        .filter(|word| word.starts_with(VARIABLE) || !word.bytes().any(|byte| byte.is_ascii_lowercase()))
        .map(str::to_owned)
        .collect()
}

/// The value whose variable has this end.
pub(super) fn value_by_suffix(context: &RecipeContext, suffix: &str) -> Option<RecipeValue> {
    value_below(&mut context.iter(), suffix, crate::template::SEGMENTS)
}

fn value_below<'a>(
    entries: &mut dyn Iterator<Item = (&'a str, &'a RecipeValue)>,
    suffix: &str,
    deeper: usize,
) -> Option<RecipeValue> {
    let mut inner = None;
    for (name, value) in entries {
        let name = mangle_name(name);
        if name == suffix {
            return Some(value.clone());
        }
        let rest = suffix.strip_prefix(&name).and_then(|rest| rest.strip_prefix("__"));
        if let (Some(rest), None, Some(deeper)) = (rest, &inner, deeper.checked_sub(1)) {
            inner = match value.kind() {
                RecipeValueKind::Object(entries) => {
                    value_below(&mut entries.iter().map(|(name, value)| (&**name, value)), rest, deeper)
                }
                _ => None,
            };
        }
    }
    inner
}

/// The values that the script may use under the name of their key in capitals: those of top-level keys that are no list and no
/// object, under names that mean nothing to the programs that the script starts.
pub(super) fn capital_aliases<'a>(
    context: &'a RecipeContext,
    mentions: &BTreeSet<String>,
) -> BTreeMap<String, &'a RecipeValue> {
    let mut aliases: BTreeMap<String, &RecipeValue> = BTreeMap::new();
    for (key, value) in context.iter() {
        let identifier = key.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let alias = key.to_ascii_uppercase();
        if !identifier || !mentions.contains(&alias) || is_reserved(&alias) {
            continue;
        }
        if matches!(value.kind(), RecipeValueKind::List(_) | RecipeValueKind::Object(_)) {
            continue;
        }
        // A key that is in capitals itself wins over one that is not.
        if alias == key {
            aliases.insert(alias, value);
        } else {
            aliases.entry(alias).or_insert(value);
        }
    }
    aliases
}

/// Names that begin so mean something to bash, the loader, an interpreter, git, or us.
const RESERVED_BEGINNINGS: [&str; 27] = [
    "AMPLIHACK_",
    "ANTHROPIC_",
    "BASH",
    "CARGO_",
    "CLAUDE",
    "CODEX_",
    "COPILOT_",
    "DYLD_",
    "GCONV_",
    "GIT_",
    "GLIBC_",
    "JAVA_",
    "LC_",
    "LD_",
    "LESS",
    "MALLOC_",
    "NODE_",
    "NPM_",
    "OPENAI_",
    "PERL",
    "RECIPE_",
    "RUBY",
    "RUSTC",
    "SSH_",
    "SSL_",
    "SUDO_",
    "XDG_",
];

/// Names that mean something to bash, the loader, an interpreter, or most programs.
const RESERVED: [&str; 80] = [
    "_",
    "ALL_PROXY",
    "BROWSER",
    "CC",
    "CDPATH",
    "CHILD_MAX",
    "COLUMNS",
    "COMP_LINE",
    "COMPREPLY",
    "COPROC",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "CXX",
    "DIRSTACK",
    "DISPLAY",
    "DOCKER_HOST",
    "EDITOR",
    "EMACS",
    "ENV",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "FTP_PROXY",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBIGNORE",
    "GLOBSORT",
    "GOFLAGS",
    "GROUPS",
    "HISTFILE",
    "HOME",
    "HOSTALIASES",
    "HOSTNAME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "INPUTRC",
    "LANG",
    "LANGUAGE",
    "LINENO",
    "LOCALDOMAIN",
    "LOCPATH",
    "LOGNAME",
    "MAIL",
    "MAILPATH",
    "MAKEFLAGS",
    "MANPAGER",
    "NLSPATH",
    "NO_PROXY",
    "OLDPWD",
    "OPTIND",
    "PAGER",
    "PATH",
    "PIPESTATUS",
    "POSIXLY_CORRECT",
    "PPID",
    "PROMPT_COMMAND",
    "PWD",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RES_OPTIONS",
    "SHELL",
    "SHELLOPTS",
    "SHLVL",
    "TERM",
    "TERMINFO",
    "TMP",
    "TMPDIR",
    "TZDIR",
    "UID",
    "USER",
    "VISUAL",
    "WGETRC",
    "ZDOTDIR",
    "JDK_JAVA_OPTIONS",
];

/// Reports whether a name may not be given to a value.
fn is_reserved(name: &str) -> bool {
    let prompt =
        name.strip_prefix("PS").is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit());
    let python = name.strip_prefix("PYTHON").is_some_and(|rest| !rest.starts_with('_'));
    prompt
        || python
        || name.starts_with("_JAVA_")
        || RESERVED.contains(&name)
        || RESERVED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_share_a_variable() {
        let found = assign_suffixes(["a.b", "a__b", "a-b", "a_b", "a__b__2", "x"].into_iter());
        let unique: BTreeSet<&String> = found.values().collect();
        assert_eq!(unique.len(), 6);
        assert_eq!((found["x"].as_str(), found["a.b"].as_str()), ("x", "a__b"));
    }

    #[test]
    fn dangerous_names_are_never_set() {
        for name in [
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PATH",
            "IFS",
            "PS4",
            "PROMPT_COMMAND",
            "GIT_DIR",
            "GIT_SSH_COMMAND",
            "PYTHONPATH",
            "PERL5LIB",
            "RUBYOPT",
            "NODE_OPTIONS",
            "SHELLOPTS",
            "BASHOPTS",
            "HOME",
            "LC_ALL",
            "LESSOPEN",
            "AMPLIHACK_HOME",
            "RECIPE_VALUES_FILE",
            "BASH_FUNC_X",
            "TMPDIR",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "HTTPS_PROXY",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in
            ["TASK_DESCRIPTION", "REPO_PATH", "ISSUE_NUMBER", "PR_URL", "FLAG", "N", "PYTHON_VERSION", "PSX"]
        {
            assert!(!is_reserved(name), "{name}");
        }
    }
}
