//! Rows of `docs/compliance.md`: promises, the tests that keep them, and the faults that break them.

/// One promise of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Line of the page, from 1.
    pub(crate) line: usize,
    /// The document, as the heading above the table calls it.
    pub(crate) document: String,
    /// The promise in words.
    pub(crate) promise: String,
    /// Names of the tests that keep it, `crate::module::test`.
    pub(crate) tests: Vec<String>,
    /// What the last column says.
    pub(crate) breach: Breach,
}

/// What shows that the tests of a row would notice a broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Breach {
    /// A fault of this row alone.
    Fault(String),
    /// A fault that another row has too, with tests of its own.
    Shared(String),
    /// The promise is about the code's shape, and a test of the architecture keeps it.
    Structure,
    /// Nothing: the row says why.
    Argued,
    /// A contract changed the promise.
    Superseded,
    /// The column is empty, or cannot be read.
    Open,
}

impl Row {
    /// The fault that breaks this promise.
    pub(crate) fn fault(&self) -> Option<&str> {
        match &self.breach {
            Breach::Fault(name) | Breach::Shared(name) => Some(name),
            _ => None,
        }
    }

    /// The promise with its place, for a message.
    pub(crate) fn shown(&self) -> String {
        format!("line {}, {}: {}", self.line, self.document, self.promise)
    }
}

/// Every row of the page's tables. A line that looks like a row, but has other columns, is an error with its number.
pub(crate) fn rows(page: &str) -> Result<Vec<Row>, String> {
    let mut document = String::new();
    let mut rows = Vec::new();
    for (index, text) in page.lines().enumerate() {
        if let Some(title) = text.strip_prefix("## ") {
            title.clone_into(&mut document);
        }
        // The introduction may have tables of its own.
        if document.is_empty() {
            continue;
        }
        let Some(cells) = text.strip_prefix("| ").and_then(|text| text.strip_suffix('|')) else { continue };
        let cells: Vec<&str> = cells.split(" | ").map(str::trim).collect();
        let [_, promise, tests, last] = cells[..] else {
            return Err(format!("line {}: {} columns, not 4", index + 1, cells.len()));
        };
        if last == "broken by" {
            continue;
        }
        rows.push(Row {
            line: index + 1,
            document: document.clone(),
            promise: promise.to_owned(),
            tests: code(tests).filter(|name| name.contains("::")).map(str::to_owned).collect(),
            breach: breach(tests, last),
        });
    }
    Ok(rows)
}

fn breach(tests: &str, last: &str) -> Breach {
    let fault = code(last).next().filter(|name| is_fault(name)).map(str::to_owned);
    match fault {
        Some(name) if last == format!("`{name}`") => Breach::Fault(name),
        Some(name) if last == format!("`{name}`, shared") => Breach::Shared(name),
        None if last == "structure" => Breach::Structure,
        None if last.strip_prefix("argued: ").is_some_and(|reason| reason.len() > 20) => Breach::Argued,
        None if last.is_empty() && tests.starts_with("superseded: contract ") => Breach::Superseded,
        _ => Breach::Open,
    }
}

/// Whether `name` is in kebab case, with a document's prefix.
fn is_fault(name: &str) -> bool {
    let prefixes = ["delivery-", "routing-", "copilot-", "remote-", "amp-"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The code spans of a cell.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn rows_are_read_with_what_breaks_them() {
    let page = "\
# Promises
| column | content |
## Routing
| section | promise | kept by | broken by |
|---|---|---|---|
| A | one | `a::b::c`, `a::d`; not `this` | `routing-one` |
| A | two | `a::b::c` | `routing-one`, shared |
| A | three | `a::b::c` | structure |
| A | four | superseded: contract 1: x; `a::b::c` | |
| A | five | `a::b::c` | argued: nothing of ours takes part in it |
| A | six | `a::b::c` | |
| A | seven | `a::b::c` | `unknown-prefix` |
";
    let rows = rows(page).expect("it is a page");
    assert!(rows.iter().all(|row| row.document == "Routing"));
    assert_eq!(rows[0].tests, ["a::b::c", "a::d"]);
    let breaches: Vec<Breach> = rows.iter().map(|row| row.breach.clone()).collect();
    let one = || "routing-one".to_owned();
    let expected = [
        Breach::Fault(one()),
        Breach::Shared(one()),
        Breach::Structure,
        Breach::Superseded,
        Breach::Argued,
        Breach::Open,
        Breach::Open,
    ];
    assert_eq!(breaches, expected);
    assert_eq!(rows[1].fault(), Some("routing-one"));
    assert_eq!(rows[5].shown(), "line 11, Routing: six");
}

#[test]
fn a_row_with_other_columns_is_refused() {
    let refused = rows("## A\n| a | b | `c::d` |\n");
    assert_eq!(refused, Err("line 2: 3 columns, not 4".to_owned()));
}
