//! Spilled values: the vectors, what is read back, and what is not.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;
use serde::Deserialize;
use tempfile::TempDir;

use super::*;
use amplihack_sys::error::ErrorExplanation;

/// A context, and how its values travel or the kind of the error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    context: Vec<(String, Value)>,
    travels: Option<Vec<String>>,
    error: Option<String>,
}

/// A text, or one character many times.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Many(char, usize),
}

impl Value {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Many(c, count) => c.to_string().repeat(*count),
        }
    }
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// What every spilled context keeps to.
fn sound(context: &[(String, String)], spill: &SpilledContext, temporary: &TempDir) {
    let mut files = BTreeMap::new();
    for ((key, value), (also, travels)) in context.iter().zip(spill.pairs()) {
        assert_eq!(key, also);
        match read_back(travels, temporary.path()) {
            Some(back) => {
                assert!(back == *value, "{key} came back changed");
                let path = PathBuf::from(travels.strip_prefix(SCHEME).unwrap());
                assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
                assert_eq!(files.insert(path, key), None, "{key} shares its file");
            }
            None => assert!(travels == value, "{key} is inline as it is"),
        }
    }
    assert_eq!(spill.directory().is_some(), !files.is_empty());
}

#[test]
fn the_vectors_hold() {
    for line in include_str!("../../tests/cases/spillover.jsonl").lines() {
        let Case { name, context, travels, error } = serde_json::from_str(line).unwrap();
        let temporary = tempfile::tempdir().unwrap();
        let context: Vec<_> = context.into_iter().map(|(key, value)| (key, value.text())).collect();
        match (spill_context(&context, temporary.path(), usize::MAX), error) {
            (Ok(spill), None) => {
                sound(&context, &spill, &temporary);
                let found: Vec<_> = spill
                    .pairs()
                    .iter()
                    .map(|(_, travels)| match PathBuf::from(travels).file_name() {
                        Some(name) if read_back(travels, temporary.path()).is_some() => {
                            name.to_string_lossy().into_owned()
                        }
                        _ => "inline".to_owned(),
                    })
                    .collect();
                assert_eq!(found, travels.unwrap(), "{name}");
                drop(spill);
            }
            (Err(found), Some(error)) => assert_eq!(found.kind(), error, "{name}"),
            (found, error) => panic!("{name}: {found:?}, expected {error:?}"),
        }
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{name}: nothing is left");
    }
}

#[test]
fn many_values_that_are_not_large_make_room_for_each_other() {
    let temporary = tempfile::tempdir().unwrap();
    let mut context: Vec<_> = (0..70).map(|key| pair(&format!("k{key}"), &"a".repeat(32_767))).collect();
    context.push(pair("small", "s"));
    let room = 1_000_000;
    let spill = spill_context(&context, temporary.path(), room).unwrap();
    sound(&context, &spill, &temporary);
    let inline: usize = spill.pairs().iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(inline <= room && inline > room / 2, "{inline}");
    assert_eq!(spill.pairs().last().unwrap().1, "s");
}

#[test]
fn text_that_looks_like_a_spilled_value_comes_back_as_text() {
    let temporary = tempfile::tempdir().unwrap();
    let other = spill_context(&[pair("secret", &"x".repeat(40_000))], temporary.path(), usize::MAX).unwrap();
    let uri = &other.pairs()[0].1;
    let spill = spill_context(&[pair("text", uri)], temporary.path(), usize::MAX).unwrap();
    assert_eq!(read_back(&spill.pairs()[0].1, temporary.path()).as_ref(), Some(uri));
}

#[test]
fn only_a_private_file_of_ours_in_a_private_directory_of_ours_is_read() {
    let temporary = tempfile::tempdir().unwrap();
    let tmp = temporary.path();
    let chmod = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let spill = spill_context(&[pair("k", &"v".repeat(32_768))], tmp, usize::MAX).unwrap();
    let uri = spill.pairs()[0].1.clone();
    let directory = spill.directory().unwrap().to_owned();
    let file = directory.join("k");
    let plain = |uri: &str| assert_eq!(read_back(uri, tmp), None, "{uri}");
    let back = |uri: &str| assert_eq!(read_back(uri, tmp).unwrap().len(), 32_768, "{uri}");
    back(&uri);

    for (path, wrong, right) in [(&file, 0o644, 0o600), (&file, 0o400, 0o600), (&directory, 0o755, 0o700)] {
        chmod(path, wrong);
        plain(&uri);
        chmod(path, right);
        back(&uri);
    }
    // Written otherwise, elsewhere, or not as a path.
    let dir = directory.display();
    for other in [
        format!("file://{dir}/../{}/k", directory.file_name().unwrap().display()),
        format!("file://{dir}//k"),
        format!("file://{dir}/./k"),
        format!("file://{dir}/k/"),
        format!("file://localhost{dir}/k"),
        format!("FILE://{dir}/k"),
        format!("{dir}/k"),
        format!("file://{dir}"),
        format!(" {uri}"),
        "file:///etc/passwd".to_owned(),
        "file://".to_owned(),
    ] {
        plain(&other);
    }
    assert_eq!(read_back(&uri, tmp.parent().unwrap()), None, "not directly below");

    // Links, of the file and of the directory.
    symlink(&file, directory.join("link")).unwrap();
    plain(&format!("file://{dir}/link"));
    symlink(&directory, tmp.join("recipe-context-link")).unwrap();
    plain(&format!("file://{}/recipe-context-link/k", tmp.display()));
    std::fs::hard_link(&file, tmp.join("second-name")).unwrap();
    plain(&uri);
    std::fs::remove_file(tmp.join("second-name")).unwrap();
    back(&uri);

    // Another name of the directory, a directory in the file's place, a pipe that nobody writes to, no text.
    let named = tmp.join("context-1");
    std::fs::create_dir(&named).unwrap();
    chmod(&named, 0o700);
    std::fs::write(named.join("k"), "x").unwrap();
    chmod(&named.join("k"), 0o600);
    plain(&format!("file://{}/k", named.display()));
    std::fs::create_dir(directory.join("sub")).unwrap();
    plain(&format!("file://{dir}/sub"));
    let pipe = directory.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    plain(&format!("file://{dir}/pipe"));
    std::fs::write(&file, [0xff, 0xfe]).unwrap();
    plain(&uri);
    std::fs::remove_file(&file).unwrap();
    plain(&uri);
}

#[test]
fn a_directory_that_takes_no_files_is_named() {
    let missing = PathBuf::from("/nonexistent/tmp");
    let error = spill_context(&[pair("k", &"v".repeat(32_768))], &missing, usize::MAX).unwrap_err();
    assert!(matches!(error, SpillError::Write { .. }));
    assert!(
        error.to_string().starts_with("the context value of k could not be written below /nonexistent/tmp: ")
    );
    assert!(spill_context(&[pair("k", "v")], &missing, usize::MAX).unwrap().directory().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_value_comes_back_and_no_two_keys_share_a_file(
        keys in proptest::collection::btree_set("[ab./ _~é]{1,4}|\\PC{1,300}", 1..6),
        sizes in proptest::collection::vec(prop_oneof![Just(32_766_usize), Just(32_767), Just(32_768), 0..70_000_usize], 6),
        room in prop_oneof![Just(usize::MAX), 1000..200_000_usize],
    ) {
        let temporary = tempfile::tempdir().unwrap();
        let context: Vec<_> = keys
            .into_iter()
            .filter(|key| !key.contains('='))
            .zip(sizes)
            .map(|(key, size)| { let value = key.chars().cycle().take(size / 4).collect(); (key, value) })
            .collect();
        let spill = spill_context(&context, temporary.path(), room).unwrap();
        sound(&context, &spill, &temporary);
    }
}
