//! Large values of a recipe's context, on their way to the runner.

use std::path::Path;

use serde_json::json;

use super::runner::{SUCCESS, bridged, place, put};

/// What the runner's words are for one value of the context, and modes and name of the file behind it.
struct Arrived {
    word: String,
    value: String,
    modes: String,
    directory: String,
}

fn arrived(value: &str) -> Arrived {
    let sandbox = place();
    let at = |name: &str| sandbox.root().join(name).display().to_string();
    let script = format!(
        "for word; do case $word in v=*) printf %s \"$word\" >{word}\n case $word in v=file://*) f=${{word#v=file://}}\n \
         cp \"$f\" {value}; stat -c %a \"$f\" \"${{f%/*}}\" >{modes}; echo \"${{f%/*}}\" >{dir};; esac;; esac; done\n{SUCCESS}",
        word = at("word"),
        value = at("value"),
        modes = at("modes"),
        dir = at("dir"),
    );
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.6", &script);
    sandbox.write("work/c.json", json!({ "v": value }).to_string());
    bridged(&sandbox, &["--context-file", "c.json"]).assert_code(0);
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap_or_default();
    Arrived {
        word: read("word"),
        value: read("value"),
        modes: read("modes"),
        directory: read("dir").trim().to_owned(),
    }
}

#[test]
fn a_value_below_the_limit_is_an_argument() {
    let value = "a".repeat(32_767);
    assert_eq!(arrived(&value).word, format!("v={value}"));
}

#[test]
fn a_value_at_the_limit_is_a_file() {
    let value = "a".repeat(32_768);
    let arrived = arrived(&value);
    assert!(arrived.word.starts_with("v=file:///"), "{} bytes", arrived.word.len());
    assert_eq!(arrived.value, value);
}

#[test]
fn the_limit_counts_bytes_of_utf8() {
    let value = "é".repeat(16_384);
    let large = arrived(&value);
    assert!(large.word.starts_with("v=file:///"), "{} bytes", large.word.len());
    assert_eq!(large.value, value);
    let small = "é".repeat(16_383);
    assert_eq!(arrived(&small).word, format!("v={small}"));
}

#[test]
fn the_directory_is_private() {
    let arrived = arrived(&"a".repeat(40_000));
    assert_eq!(arrived.modes, "600\n700\n");
    assert!(!Path::new(&arrived.directory).exists(), "it is left behind");
}

#[test]
fn the_name_of_the_directory_cannot_be_guessed() {
    let name = |arrived: &Arrived| {
        let name = Path::new(&arrived.directory).file_name().unwrap().to_string_lossy().into_owned();
        // Behind the process's number, which can be guessed.
        name.rsplit_once('-').map(|(_, random)| random.to_owned()).unwrap()
    };
    let names = [0, 1].map(|_| name(&arrived(&"a".repeat(40_000))));
    assert!(names.iter().all(|name| name.len() >= 6), "{names:?}");
    assert_ne!(names[0], names[1]);
}
