//! Interpreters that are given code in their command line or input, and what that code starts.

use super::model::Word;
use super::oneliner::{Started, started, tcl, timed};
use super::unwrap::{Inner, TOO_MANY, operands, render, text};

pub(super) fn interpreter(program: &str, arguments: &[Word], input: Option<&str>) -> Option<Vec<Inner>> {
    let family = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (flags, backticks): (&[&str], bool) = match family {
        "python" | "pypy" => (&["c"], false),
        "perl" => (&["e", "E"], true),
        "ruby" => (&["e"], true),
        "node" | "nodejs" | "bun" | "deno" => (&["e", "p", "-eval", "-print"], false),
        "php" => (&["r"], true),
        "lua" | "luajit" => (&["e"], false),
        "tclsh" | "wish" => {
            let given = arguments.iter().zip(arguments.iter().skip(1)).filter(|(flag, _)| text(flag) == "-c");
            let code: Vec<String> =
                given.map(|(_, code)| render(code)).chain(input.map(str::to_owned)).collect();
            return Some(
                code.iter().flat_map(|code| tcl(code)).map(|start| inner(start, arguments)).collect(),
            );
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let code =
                arguments.get(operands(arguments, "vFf", &["--assign", "--field-separator"])).map(render)?;
            let mut found: Vec<Inner> =
                started(&code, false, true).into_iter().map(|start| inner(start, arguments)).collect();
            // A command that is a variable or a field: any text may be it.
            if code.split("system(").skip(1).any(|rest| !rest.trim_start().starts_with('"')) {
                let texts = code.split('"').skip(1).step_by(2).chain(input);
                found.extend(
                    texts.map(|text| Inner::Script { text: text.to_owned(), positional: Vec::new() }),
                );
            }
            return Some(found);
        }
        _ => return None,
    };
    let is_flag = |word: &Word| {
        let word = text(word);
        let Some(letters) = word.strip_prefix('-') else { return false };
        flags.iter().any(|flag| {
            if flag.len() == 1 {
                !letters.starts_with('-') && letters.ends_with(flag)
            } else {
                letters == *flag
            }
        })
    };
    let mut code: Vec<String> = arguments
        .iter()
        .zip(arguments.iter().skip(1))
        .filter(|(flag, _)| is_flag(flag))
        .map(|(_, code)| render(code))
        .collect();
    if family == "python" {
        let words: Vec<String> = arguments.iter().map(text).collect();
        code.extend(timed(&words).map(str::to_owned));
    }
    if code.is_empty() && arguments.iter().all(|word| text(word).starts_with('-')) {
        code.extend(input.map(str::to_owned));
    }
    Some(
        code.iter()
            .flat_map(|code| started(code, backticks, false))
            .map(|start| inner(start, arguments))
            .collect(),
    )
}

fn inner(start: Started, near: &[Word]) -> Inner {
    let span = near.first().map(|word| word.span).unwrap_or_default();
    match start {
        Started::Script(text) => Inner::Script { text, positional: Vec::new() },
        Started::Argv(words) => Inner::argv(words.into_iter().map(|text| Word::plain(text, span)).collect()),
        Started::TooMany => Inner::Unknown(TOO_MANY),
    }
}
