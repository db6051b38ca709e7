//! Trust in a repository's configuration, kept in the user's own file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item};

use super::error::ConfigError;
use super::file::{read_text, syntax_error};
use super::{TRUSTED_REPOSITORIES, user_file};
use crate::edited_toml::as_before;
use crate::env::Env;
use crate::repository::repository_root;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

/// Result of [`record_trust`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustChange {
    /// The repository's root.
    pub repository: PathBuf,
    /// The user's configuration file.
    pub file: PathBuf,
    /// Set if the repository was added; otherwise it was trusted before and nothing was written.
    pub added: bool,
}

/// Trusts the repository that holds `directory`: from now on its file counts like the user's own.
///
/// Adds its root to `trusted_repositories` in the user's file and leaves every other line, comment and blank of it alone. The
/// file is replaced whole; a file that is not TOML is refused.
pub fn record_trust(env: &Env, directory: &Path) -> Result<TrustChange, ConfigError> {
    let repository = repository_root(directory, env)
        .ok_or_else(|| ConfigError::NoRepository { directory: directory.to_path_buf() })?;
    let name = repository.to_str().ok_or_else(|| ConfigError::NotUtf8 { path: repository.clone() })?;
    let file = user_file(env).ok_or(ConfigError::NoUserFile)?;
    let old = read_text(&file)?.unwrap_or_default();
    let Some(new) = with_repository(&file, &old, name)? else {
        return Ok(TrustChange { repository, file, added: false });
    };
    write(&file, &new).map_err(|source| ConfigError::Write { file: file.clone(), source })?;
    Ok(TrustChange { repository, file, added: true })
}

/// `text` with `repository` in its list. `None` if it is there.
fn with_repository(file: &Path, text: &str, repository: &str) -> Result<Option<String>, ConfigError> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        syntax_error(file, text, error.span().map_or(0, |span| span.start), error.message())
    })?;
    let list = document.entry(TRUSTED_REPOSITORIES).or_insert(Item::Value(Array::new().into()));
    let Some(list) = list.as_array_mut() else {
        return Err(syntax_error(file, text, 0, "trusted_repositories must be a list of absolute paths"));
    };
    if list.iter().any(|item| item.as_str() == Some(repository)) {
        return Ok(None);
    }
    push_item(list, repository);
    Ok(Some(as_before(document.to_string(), text)))
}

/// Appends an item; in a list of several lines, on a line of its own, so that a comment stays with its item.
fn push_item(list: &mut Array, text: &str) {
    let rest = list.trailing().as_str().unwrap_or_default().to_owned();
    match rest.rsplit_once('\n') {
        Some((comments, indent)) => {
            list.push_formatted(toml_edit::Value::from(text).decorated(format!("{comments}\n  "), ""));
            list.set_trailing(format!("\n{indent}"));
            list.set_trailing_comma(true);
        }
        None => list.push(text),
    }
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    // Some people link this file into a repository of their own.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    if let Some(directory) = file.parent() {
        create_private_dir(directory)?;
    }
    let mode = std::fs::metadata(&file).map_or(0o600, |metadata| metadata.permissions().mode() & 0o7777);
    write_atomic(&file, text.as_bytes(), mode, WriteDurability::Machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn setting() -> (tempfile::TempDir, PathBuf, Env) {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        amplihack_testkit::create_repository(&base.join("repository"));
        fs::create_dir_all(base.join("repository/src")).unwrap();
        let env = Env::empty().with_variable("HOME", base.join("home"));
        (dir, base, env)
    }

    #[test]
    fn a_new_file_is_private_and_a_second_time_changes_nothing() {
        let (_dir, base, env) = setting();
        let first = record_trust(&env, &base.join("repository/src")).unwrap();
        let file = base.join("home/.config/amplihack/config.toml");
        assert_eq!(
            first,
            TrustChange { repository: base.join("repository"), file: file.clone(), added: true }
        );
        let expected = format!("trusted_repositories = [\"{}\"]\n", base.join("repository").display());
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));

        let before = fs::metadata(&file).unwrap().modified().unwrap();
        assert!(!record_trust(&env, &base.join("repository")).unwrap().added);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    }

    #[test]
    fn comments_and_order_are_kept() {
        let text = "# mine\nmax_depth = 3 # low\n\n[agents.claude] # here\npath = '/c'\n# end\n";
        let added = with_repository(Path::new("f"), text, "/r").unwrap().unwrap();
        assert_eq!(added.replace("trusted_repositories = [\"/r\"]\n", ""), text);
        let table: toml::Table = added.parse().unwrap();
        assert_eq!(table["trusted_repositories"].as_array().unwrap().len(), 1, "at the top level");

        let text = "trusted_repositories = [\n  '/a', # work\n]\n";
        let added = with_repository(Path::new("f"), text, "/r").unwrap().unwrap();
        assert_eq!(added, "trusted_repositories = [\n  '/a', # work\n  \"/r\",\n]\n");
        let again = with_repository(Path::new("f"), &added, "/s").unwrap().unwrap();
        assert_eq!(again, "trusted_repositories = [\n  '/a', # work\n  \"/r\",\n  \"/s\",\n]\n");
        let added =
            with_repository(Path::new("f"), "trusted_repositories = ['/a'] # x\n", "/r").unwrap().unwrap();
        assert_eq!(added, "trusted_repositories = ['/a', \"/r\"] # x\n");
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_not_touched() {
        for text in ["max_depth = ", "trusted_repositories = 'x'\n", "trusted_repositories = {}\n"] {
            let (_dir, base, env) = setting();
            let file = base.join("home/.config/amplihack/config.toml");
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            let error = record_trust(&env, &base.join("repository")).unwrap_err();
            assert!(matches!(error, ConfigError::Syntax { line: 1, .. }), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }

    #[test]
    fn a_linked_file_stays_a_link() {
        let (_dir, base, env) = setting();
        let file = base.join("home/.config/amplihack/config.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(base.join("dotfile"), "max_depth = 3\n").unwrap();
        std::os::unix::fs::symlink(base.join("dotfile"), &file).unwrap();
        record_trust(&env, &base.join("repository")).unwrap();
        assert!(file.is_symlink());
        assert!(fs::read_to_string(base.join("dotfile")).unwrap().starts_with("max_depth = 3\n"));
    }

    #[test]
    fn there_has_to_be_a_repository_and_a_home() {
        let (_dir, base, env) = setting();
        assert!(matches!(record_trust(&env, &base.join("nowhere")), Err(ConfigError::NoRepository { .. })));
        assert!(matches!(
            record_trust(&Env::empty(), &base.join("repository")),
            Err(ConfigError::NoUserFile)
        ));
    }

    #[test]
    fn line_ends_and_the_mark_at_the_beginning_stay() {
        let changed = |text: &str| with_repository(Path::new("f"), text, "/r").unwrap().unwrap();
        let line = "trusted_repositories = [\"/r\"]";
        let marked = changed("\u{feff}max_depth = 3\n");
        assert!(marked.starts_with("\u{feff}max_depth = 3\n") && marked.contains(line), "{marked}");
        let dos = changed("# mine\r\nmax_depth = 3\r\n\r\n[agents.claude]\r\n");
        assert_eq!(dos.matches('\n').count(), dos.matches("\r\n").count());
        assert_eq!(dos.replace("\r\n", "\n"), changed("# mine\nmax_depth = 3\n\n[agents.claude]\n"));
    }
}
