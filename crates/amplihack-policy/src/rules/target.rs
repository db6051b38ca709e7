//! Files that a command names: where they are as far as the script says it, and what lies below them.

use std::path::{Path, PathBuf};

use super::marks::{self, TILDE, UNKNOWN, may_be};

/// A file or directory, with marks for globs and unknown parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTarget {
    /// True if `parts` start at the root. Otherwise the directory that they start from is not known.
    pub(crate) rooted: bool,
    /// Names without `.` and, where they could be resolved, without `..`.
    pub(crate) parts: Vec<String>,
    /// The word itself.
    pub(crate) raw: String,
}

/// The relation of a place to another one: the place itself, or above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TargetCoverage {
    /// No: it is another place.
    No,
    /// Depends on parts that are not known.
    Maybe,
    /// Yes: it is the place, or lies above it.
    Yes,
}

impl PathTarget {
    /// The place that `raw` names for a command that runs in `dir`.
    pub(crate) fn new(raw: &str, dir: Option<&Path>, home: Option<&Path>) -> Self {
        let mut parts = Vec::new();
        let mut rest = raw;
        let mut rooted = raw.starts_with('/');
        if let Some(behind) = raw.strip_prefix(TILDE) {
            let (user, behind) = behind.split_once('/').unwrap_or((behind, ""));
            rest = behind;
            rooted = true;
            match (user, home) {
                ("" | "+", Some(home)) => parts = path_names(home),
                ("root", _) => parts.push("root".to_owned()),
                (user, _) => {
                    parts = vec![
                        "home".to_owned(),
                        if user.is_empty() { UNKNOWN.to_string() } else { user.to_owned() },
                    ];
                }
            }
        } else if !rooted
            && !raw.starts_with(UNKNOWN)
            && let Some(dir) = dir
        {
            parts = path_names(dir);
            rooted = true;
        }
        for name in rest.split('/') {
            match name {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| last != "..") => {
                    parts.pop();
                }
                ".." if rooted => {}
                _ if parts.len() >= DEEPEST => break,
                name => parts.push(name.to_owned()),
            }
        }
        Self { rooted, parts, raw: raw.to_owned() }
    }

    /// A path that is known.
    pub(crate) fn from_path(path: &Path) -> Self {
        let raw = path.to_string_lossy().into_owned();
        Self { rooted: path.is_absolute(), parts: path_names(path), raw }
    }

    /// The place's text for a person, in one line.
    pub(crate) fn display_text(&self) -> String {
        let text: String = marks::display_text(&self.raw)
            .chars()
            .map(|ch| if ch.is_control() { ' ' } else { ch })
            .take(200)
            .collect();
        if text.is_empty() { "/".to_owned() } else { text }
    }

    /// Reports whether the word is `.`, `..` or the like: the directory that the shell stands in, or one above.
    pub(crate) fn is_dots(&self) -> bool {
        let mut names = self.raw.split('/').filter(|name| !name.is_empty()).peekable();
        !self.raw.starts_with('/') && names.peek().is_some() && names.all(|name| name == "." || name == "..")
    }

    /// Reports whether this is `dir` or lies above it.
    pub(crate) fn coverage_of<S: AsRef<str>>(&self, dir: &[S]) -> TargetCoverage {
        if !self.rooted || self.parts.len() > dir.len() {
            return TargetCoverage::No;
        }
        let mut answer = TargetCoverage::Yes;
        for (pattern, name) in self.parts.iter().zip(dir) {
            if !may_be(pattern, name.as_ref()) {
                return TargetCoverage::No;
            }
            if pattern.contains(UNKNOWN) {
                answer = TargetCoverage::Maybe;
            }
        }
        answer
    }

    /// Reports whether this is, or may be, exactly the place with these names below the root.
    pub(crate) fn is_place(&self, place: &[&str]) -> bool {
        self.rooted && self.parts.len() == place.len() && self.starts_with(place)
    }

    /// Reports whether this is below the place with these names, not the place itself.
    pub(crate) fn is_inside(&self, place: &[&str]) -> bool {
        self.rooted && self.parts.len() > place.len() && self.starts_with(place)
    }

    fn starts_with(&self, place: &[&str]) -> bool {
        self.parts.iter().zip(place).all(|(part, name)| may_be(part, name))
    }

    /// The names behind these names, if they stand somewhere in it, one after the other.
    pub(crate) fn names_behind(&self, names: &[&str]) -> Option<&[String]> {
        let at = self.parts.windows(names.len()).position(|window| {
            // Where nothing of it is known, it may be any other place as well.
            window.iter().any(|part| part.chars().any(|ch| ch != UNKNOWN && ch != '.'))
                && window.iter().zip(names).all(|(part, name)| {
                    part != UNKNOWN_TEXT && may_be(part, name) && !hides_dotfile(part, name)
                })
        })?;
        Some(&self.parts[at + names.len()..])
    }

    /// The last name.
    pub(crate) fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// The path, if nothing in it is open.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        (self.rooted && self.parts.iter().all(|part| marks::is_plain(part)))
            .then(|| Path::new("/").join(self.parts.iter().collect::<PathBuf>()))
    }

    /// Reports whether both may be one file.
    pub(crate) fn may_be_same(&self, other: &Self) -> bool {
        self.rooted == other.rooted
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(a, b)| a == b || may_be(a, b) || may_be(b, a))
    }
}

const UNKNOWN_TEXT: &str = "\u{F0004}";

/// The names of a path, `.` and `..` resolved by text.
pub(crate) fn path_names(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            std::path::Component::ParentDir => {
                names.pop();
            }
            _ => {}
        }
    }
    names
}

/// Names in the deepest path that a system takes, which has 4096 bytes.
const DEEPEST: usize = 2048;

/// Reports whether a pattern leaves a name out because it begins with a dot.
pub(super) fn hides_dotfile(pattern: &str, name: &str) -> bool {
    name.starts_with('.') && pattern.starts_with([marks::STAR, marks::ANY, marks::CLASS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::marks::mark_text;

    fn target(word: &str) -> PathTarget {
        let mut raw = String::new();
        mark_text(word, true, &mut raw);
        PathTarget::new(&raw, Some(Path::new("/b/p/sub")), Some(Path::new("/home/u")))
    }

    #[test]
    fn places_cover_themselves_and_what_is_below() {
        let cwd = path_names(Path::new("/b/p/sub"));
        for (word, expected) in [
            (".", TargetCoverage::Yes),
            ("..", TargetCoverage::Yes),
            ("../..", TargetCoverage::Yes),
            ("/", TargetCoverage::Yes),
            ("/b/p", TargetCoverage::Yes),
            ("/b/p/su*", TargetCoverage::Yes),
            ("/b/p/*", TargetCoverage::Yes),
            ("/b/p/zz*", TargetCoverage::No),
            ("./x", TargetCoverage::No),
            ("*", TargetCoverage::No),
            ("~", TargetCoverage::No),
            ("../../../../../..", TargetCoverage::Yes),
        ] {
            assert_eq!(target(word).coverage_of(&cwd), expected, "{word}");
        }
        let unknown = PathTarget::new(&format!("/b/{UNKNOWN}"), None, None);
        assert_eq!(unknown.coverage_of(&cwd), TargetCoverage::Maybe);
    }

    #[test]
    fn home_is_written_in_more_than_one_way() {
        assert_eq!(target("~").parts, ["home", "u"]);
        assert_eq!(target("~/.ssh/id_rsa").parts, ["home", "u", ".ssh", "id_rsa"]);
        assert_eq!(target("~root/x").parts, ["root", "x"]);
        assert!(target("~/.ssh/x").names_behind(&[".ssh"]).is_some_and(|rest| rest == ["x"]));
    }
}
