//! What git says of a repository: paths, and which programs its own configuration would start.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The words after `git` that ask which programs the configuration names for reading and writing files. 1 is the exit code where it
/// names none.
pub const PROGRAMS: [&str; 5] = [
    "config",
    "--show-scope",
    "--null",
    "--get-regexp",
    r"^(core\.hookspath|filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$",
];

/// Of the answer to [`PROGRAMS`]: what the repository itself configured, with a value that starts nothing. An agent may have written it.
pub fn switched_off(answer: &[u8]) -> Vec<(OsString, OsString)> {
    let mut fields = answer.split(|&byte| byte == 0);
    let mut off = Vec::new();
    while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
        if !matches!(scope, b"local" | b"worktree") {
            continue;
        }
        let name = setting.split(|&byte| byte == b'\n').next().unwrap_or_default();
        if name == b"core.hookspath" {
            continue;
        }
        // A merge driver cannot be empty; one that fails leaves a conflict. A filter that is empty is none.
        let value = if name.starts_with(b"merge.") || name.ends_with(b".required") { "false" } else { "" };
        off.push((OsString::from_vec(name.to_vec()), value.into()));
    }
    off
}

/// A path out of an answer that holds nothing else.
pub fn path(answer: &[u8]) -> PathBuf {
    path_of(answer.strip_suffix(b"\n").unwrap_or(answer))
}

/// These bytes as a path. One that stands for a directory ends with a slash in git's answers, which goes.
pub fn path_of(name: &[u8]) -> PathBuf {
    OsString::from_vec(name.strip_suffix(b"/").unwrap_or(name).to_vec()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_repository_configured_is_switched_off_and_nothing_else() {
        let answer = b"global\0filter.lfs.clean\ngit-lfs clean\0local\0filter.a=b.clean\ntouch x\ny\0\
            worktree\0merge.m.driver\nevil\0local\0filter.a=b.required\ntrue\0";
        let off = switched_off(answer);
        let off: Vec<_> =
            off.iter().map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        assert_eq!(
            off,
            [("filter.a=b.clean", ""), ("merge.m.driver", "false"), ("filter.a=b.required", "false")]
        );
        assert!(switched_off(b"").is_empty());
    }

    #[test]
    fn paths_are_bytes() {
        assert_eq!(path(b"/a\nb\n"), PathBuf::from("/a\nb"));
        assert_eq!(path(b"/a\xff/\n").as_os_str().as_encoded_bytes(), b"/a\xff");
    }
}
