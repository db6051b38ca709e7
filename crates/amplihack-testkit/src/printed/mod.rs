//! The JSON that our programs print: every run through the kit holds it to one key each and to the schema of its command.

pub mod rows;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::Value;

use crate::{Output, json};
pub use rows::{Cardinality, JsonRequest, PrintedJson, PrintedOn, ROWS};

/// The programs whose output is ours.
const PROGRAMS: [&str; 4] = ["amplihack", "amplihack-hooks", "recipe-runner-rs", "xpia-defend"];

/// The schema of what is printed instead of a command's own document when it fails.
pub const ERROR: &str = "error";

/// Where the schemas are, below the workspace.
pub const DIRECTORY: &str = "docs/reference/schemas";

/// Fails the test if `command`, a program with its arguments, printed JSON of ours that names a key twice or breaks its schema.
#[track_caller]
pub fn check(command: &[OsString], output: &Output) {
    if let Err(why) = checked(command, output) {
        let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        panic!("{why}\n--- command: {}\n{output}", shown.join(" "));
    }
}

fn checked(command: &[OsString], output: &Output) -> Result<(), String> {
    let Some((program, args)) = own_program(command) else { return Ok(()) };
    for row in ROWS.iter().filter(|row| row.is_asked(program, &args)) {
        match row.stream {
            PrintedOn::Stdout => verify(row, &output.stdout, output)?,
            PrintedOn::Stderr => {
                // Between the objects are lines for people.
                let text = String::from_utf8_lossy(&output.stderr);
                let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
                verify(row, lines.join("\n").as_bytes(), output)?;
            }
        }
    }
    Ok(())
}

/// The one of our programs that `command` runs, itself or below another program such as `setpriv`, and its arguments.
fn own_program(command: &[OsString]) -> Option<(&'static str, Vec<&str>)> {
    let name = |word: &OsStr| {
        let file = Path::new(word).file_name()?;
        PROGRAMS.into_iter().find(|program| file == *program)
    };
    let own = |word: &OsString| word.as_encoded_bytes().contains(&b'/');
    let at = command.iter().enumerate().position(|(at, word)| name(word).is_some() && (at == 0 || own(word)));
    let (program, args) = command.get(at?..)?.split_first()?;
    Some((name(program)?, args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect()))
}

fn verify(row: &PrintedJson, text: &[u8], output: &Output) -> Result<(), String> {
    let documents = match json::documents(text) {
        Ok(documents) => documents,
        // What a signal cut off is not whole.
        Err((before, why)) if output.signal.is_some() && !why.contains("twice") => before,
        Err((_, why)) => return Err(format!("what `{}` printed is not its JSON: {why}", row.name())),
    };
    let failures = documents.iter().filter(|document| is_error(document)).count();
    if row.form == Cardinality::Document && documents.len() - failures > 1 || failures > 1 {
        return Err(format!("`{}` printed {} documents", row.name(), documents.len()));
    }
    for document in &documents {
        let schema = if is_error(document) { ERROR } else { row.schema };
        violations(schema, document).map_or(Ok(()), |why| {
            Err(format!("`{}` printed what {DIRECTORY}/{schema}.json does not allow:\n{why}", row.name()))
        })?;
    }
    Ok(())
}

/// Whether `document` reports the failure of a command: `{"error":{"kind":…}}`.
fn is_error(document: &Value) -> bool {
    document.as_object().is_some_and(|object| object.len() == 1)
        && document.get("error").is_some_and(|error| error.get("kind").is_some())
}

/// The ways in which `value` breaks the schema `name`; `None` if it keeps it.
pub fn violations(name: &str, value: &Value) -> Option<String> {
    let validator = validator(name);
    let found: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{} at {:?}", error, error.instance_path().to_string()))
        .collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The schema `name` of `docs/reference/schemas`, compiled once.
fn validator(name: &str) -> Arc<Validator> {
    static KNOWN: OnceLock<Mutex<HashMap<String, Arc<Validator>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(validator) = known.get(name) {
        return Arc::clone(validator);
    }
    let path = crate::workspace().join(DIRECTORY).join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; add the schema and run `cargo xtask docs`", path.display())
    });
    let schema = json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let built = jsonschema::options().should_validate_formats(true).build(&schema);
    let built = Arc::new(built.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    known.insert(name.to_owned(), Arc::clone(&built));
    built
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn printed(stdout: &str, signal: Option<i32>) -> Output {
        Output {
            code: signal.is_none().then_some(0),
            signal,
            stdout: stdout.into(),
            stderr: Vec::new(),
            took: Duration::ZERO,
            held_open: false,
            what: "test".to_owned(),
        }
    }

    fn check_stdout(command: &str, stdout: &str) -> Result<(), String> {
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        checked(&command, &printed(stdout, None))
    }

    const GOOD: &str = r#"{"agent":"claude","source":"default","file":null,"session":null}"#;

    #[test]
    fn a_key_twice_an_unknown_key_and_text_are_refused_where_json_was_asked_for() {
        assert_eq!(check_stdout("/x/amplihack which --json", GOOD), Ok(()));
        let twice = GOOD.replace("\"file\"", "\"session\":null,\"file\"");
        for (stdout, why) in [
            (twice.as_str(), "\"session\" is there twice"),
            (&GOOD.replace("\"file\"", "\"flie\""), "flie"),
            (&GOOD.replace("null", "3"), "3 is not"),
            ("claude\n", "is not its JSON"),
            (&GOOD.repeat(2), "2 documents"),
            (r#"{"error":{"kind":"x","message":"m","hint":null,"context":{},"more":1}}"#, "error.json"),
        ] {
            let found = check_stdout("/x/amplihack which --json", stdout).unwrap_err();
            assert!(found.contains(why), "{stdout}: {found}");
            assert_eq!(check_stdout("/x/amplihack which", stdout), Ok(()), "{stdout}");
        }
        assert_eq!(
            check_stdout(
                "/x/amplihack which --json",
                r#"{"error":{"kind":"x","message":"m","hint":null,"context":{}}}"#
            ),
            Ok(())
        );
    }

    #[test]
    fn the_command_is_found_below_other_programs_and_behind_options() {
        for command in [
            "amplihack which --json",
            "/usr/bin/setpriv --inh-caps=-x /t/amplihack which --json",
            "/t/amplihack --log-level debug which --json",
            "/t/amplihack --log-file=x which --json",
        ] {
            assert!(check_stdout(command, "no JSON").is_err(), "{command}");
        }
        for command in [
            "/t/amplihack which",
            "/t/amplihack which --json --help",
            "/t/other which --json",
            "/bin/echo amplihack which --json",
            "/t/amplihack claude --prompt x -- --json",
        ] {
            assert_eq!(check_stdout(command, "no JSON"), Ok(()), "{command}");
        }
    }

    #[test]
    fn only_a_signal_may_cut_a_document_off() {
        let command = ["/t/amplihack", "which", "--json"].map(OsString::from);
        assert_eq!(checked(&command, &printed("{\"agent\":", Some(9))), Ok(()));
        assert!(checked(&command, &printed("{\"agent\":", None)).is_err());
        assert!(checked(&command, &printed("{\"agent\":1,\"agent\":2}", Some(9))).is_err());
    }
}
