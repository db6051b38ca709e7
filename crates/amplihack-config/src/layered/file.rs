//! TOML file as a flat list of keys with their values and places.

use std::io;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::keys::{ConfigKeyInstance, ConfigValue, canonical_name, key_instances};
use amplihack_sys::fs::read_regular;

/// The largest configuration file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A line of a file.
#[derive(Debug, PartialEq)]
pub(super) enum ConfigFileLine {
    Known { instance: ConfigKeyInstance, value: ConfigValue, line: usize },
    Unknown { key: String, line: usize },
}

impl ConfigFileLine {
    fn line(&self) -> usize {
        match self {
            Self::Known { line, .. } | Self::Unknown { line, .. } => *line,
        }
    }
}

/// The text of a file. `None` if there is none.
pub(super) fn read_text(file: &Path) -> Result<Option<String>, ConfigError> {
    let bytes = match read_regular(file, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(source) => return Err(ConfigError::Read { file: file.to_path_buf(), source }),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good =
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        syntax_error(file, &good, good.len(), "not UTF-8")
    })
}

/// The entries of a file, in the file's order. None if there is no file.
pub(super) fn read_entries(file: &Path) -> Result<Vec<ConfigFileLine>, ConfigError> {
    let Some(text) = read_text(file)? else { return Ok(Vec::new()) };
    let table = DeTable::parse(&text).map_err(|error| {
        syntax_error(file, &text, error.span().map_or(0, |span| span.start), error.message())
    })?;
    let mut reader = ConfigFileReader { file, text: &text, known: key_instances(), entries: Vec::new() };
    reader.read_table(table.get_ref(), "")?;
    // The parser sorts by name.
    reader.entries.sort_by_key(ConfigFileLine::line);
    Ok(reader.entries)
}

struct ConfigFileReader<'a> {
    file: &'a Path,
    text: &'a str,
    known: Vec<ConfigKeyInstance>,
    entries: Vec<ConfigFileLine>,
}

impl ConfigFileReader<'_> {
    /// Goes no deeper than the names of known keys do.
    fn read_table(&mut self, table: &DeTable<'_>, prefix: &str) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = canonical_name(&format!("{prefix}{}", name.get_ref()));
            let inner = format!("{key}.");
            let (line, column) = line_and_column(self.text, name.span().start);
            match value.get_ref() {
                DeValue::Table(table) if self.known.iter().any(|known| known.name.starts_with(&inner)) => {
                    self.read_table(table, &inner)?;
                }
                value => {
                    let Some(instance) = self.known.iter().find(|known| known.name == key) else {
                        self.entries.push(ConfigFileLine::Unknown { key, line });
                        continue;
                    };
                    let Some(value) = instance.key.kind.parse_toml(value) else {
                        let expected = instance.key.kind.expected_text();
                        return Err(ConfigError::Value {
                            file: self.file.to_path_buf(),
                            line,
                            column,
                            key,
                            expected,
                        });
                    };
                    self.entries.push(ConfigFileLine::Known { instance: instance.clone(), value, line });
                }
            }
        }
        Ok(())
    }
}

pub(super) fn syntax_error(file: &Path, text: &str, offset: usize, message: &str) -> ConfigError {
    let (line, column) = line_and_column(text, offset);
    let message = message.trim().replace('\n', ", ");
    ConfigError::Syntax { file: file.to_path_buf(), line, column, message }
}

/// Line and column of a byte of `text`, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.split(|byte| *byte == b'\n').count();
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<Vec<ConfigFileLine>, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let prefix = dir.path().display().to_string();
        read_entries(&file).map_err(|error| error.to_string().replace(&prefix, "DIR"))
    }

    #[test]
    fn a_missing_file_has_no_entries() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_entries(&dir.path().join("no/config.toml")).unwrap(), []);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn dotted_keys_and_tables_are_the_same() {
        let names = |text: &str| {
            read(text)
                .unwrap()
                .into_iter()
                .map(|entry| match entry {
                    ConfigFileLine::Known { instance, value, line } => {
                        (instance.name, value.to_string(), line)
                    }
                    ConfigFileLine::Unknown { key, line } => (key, "unknown".to_owned(), line),
                })
                .collect::<Vec<_>>()
        };
        let expected = vec![("agents.claude.path".to_owned(), "/c".to_owned(), 2)];
        assert_eq!(names("\nagents.claude.path = '/c'"), expected);
        assert_eq!(names("[agents.claude]\npath = '/c'"), expected);
        assert_eq!(names("[agents]\nclaude = { path = '/c' }"), expected);
        assert_eq!(
            names("agents = 3\n[other.table]\nx = 1"),
            [("agents".to_owned(), "unknown".to_owned(), 1), ("other".to_owned(), "unknown".to_owned(), 2),]
        );
    }

    #[test]
    fn faults_are_named_with_file_line_and_column() {
        assert_eq!(
            read("max_depth = 3\nä = = 4").unwrap_err().split(" is not TOML: ").next().unwrap(),
            "DIR/config.toml:2:5"
        );
        assert_eq!(read(b"# \xff").unwrap_err(), "DIR/config.toml:1:3 is not TOML: not UTF-8; correct it");
        for (text, message) in [
            ("prompt_delivery = 'smoke'", "1:1: prompt_delivery must be one of auto, argv, tempfile, stdin"),
            ("\nmax_depth = -1", "2:1: max_depth must be a whole number from 0 to 4294967295"),
            ("max_depth = '3'", "1:1: max_depth must be a whole number from 0 to 4294967295"),
            ("stop_grace_seconds = 3601", "1:1: stop_grace_seconds must be a whole number from 0 to 3600"),
            ("agents.amp.path = 'amp'", "1:12: agents.amp.path must be the absolute path of a program"),
            ("trusted_repositories = ['x']", "1:1: trusted_repositories must be a list of absolute paths"),
            ("max_depth = {}", "1:1: max_depth must be a whole number from 0 to 4294967295"),
        ] {
            assert_eq!(read(text).unwrap_err(), format!("DIR/config.toml:{message}"));
        }
    }

    #[test]
    fn a_file_is_bounded_in_size_and_depth() {
        let mebibyte = usize::try_from(MAX_FILE_BYTES).unwrap();
        assert_eq!(read(format!("#{}", "x".repeat(mebibyte - 1))).unwrap(), []);
        assert!(
            read(format!("#{}", "x".repeat(mebibyte)))
                .unwrap_err()
                .starts_with("cannot read DIR/config.toml: ")
        );
        assert!(read(format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000))).is_err());
    }

    #[test]
    fn numbers_may_be_written_in_any_of_tomls_ways() {
        for text in ["max_depth = 1_0", "max_depth = 0xA", "max_depth = 0b1010", "max_depth = +10"] {
            let entries = read(text).unwrap();
            assert!(
                matches!(&entries[..], [ConfigFileLine::Known { value: ConfigValue::Number(10), .. }]),
                "{text}: {entries:?}"
            );
        }
    }
}
