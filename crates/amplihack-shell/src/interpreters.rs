//! Interpreters that are given code in their command line or input, and what that code starts.

use super::launchers::option_values;
use super::model::ShellWord;
use super::oneliner::{StartedCommand, started_commands, tcl_commands, timed_code};
use super::unwrap::{TOO_MANY, WrappedCommand, count_options, literal_or_empty, render_word};

pub(super) fn interpreter_commands(
    program: &str,
    arguments: &[ShellWord],
    input: Option<&str>,
) -> Option<Vec<WrappedCommand>> {
    let family = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (flags, backticks): (&[&str], bool) = match family {
        "python" | "pypy" => (&["c"], false),
        "perl" | "julia" => (&["e", "E"], true),
        "ruby" => (&["e"], true),
        "node" | "nodejs" | "bun" | "deno" => (&["e", "p", "-eval", "-print"], false),
        "php" => (&["r"], true),
        "lua" | "luajit" | "R" | "Rscript" => (&["e"], false),
        "tclsh" | "wish" => {
            let given = arguments
                .iter()
                .zip(arguments.iter().skip(1))
                .filter(|(flag, _)| literal_or_empty(flag) == "-c");
            let code: Vec<String> =
                given.map(|(_, code)| render_word(code)).chain(input.map(str::to_owned)).collect();
            return Some(
                code.iter()
                    .flat_map(|code| tcl_commands(code))
                    .map(|start| wrapped_command(start, arguments))
                    .collect(),
            );
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            let operand = arguments
                .get(count_options(arguments, "vFf", &["--assign", "--field-separator"]))
                .map(render_word);
            // A program that is a file: its text, if the script says it.
            let file = option_values(arguments, &["-f", "--file"]).next();
            let code = match (file, input) {
                (Some(file), Some(input)) if is_given(&file) => input.to_owned(),
                _ => operand?,
            };
            let mut found: Vec<WrappedCommand> = started_commands(&code, false, true)
                .into_iter()
                .map(|start| wrapped_command(start, arguments))
                .collect();
            // A command that is a variable or a field: any text may be it.
            if code.split("system(").skip(1).any(|rest| !rest.trim_start().starts_with('"')) {
                let texts = code.split('"').skip(1).step_by(2).chain(input);
                found.extend(
                    texts
                        .map(|text| WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() }),
                );
            }
            return Some(found);
        }
        _ => return None,
    };
    let is_flag = |word: &ShellWord| {
        let word = literal_or_empty(word);
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
        .map(|(_, code)| render_word(code))
        .collect();
    code.extend(
        arguments.iter().filter_map(|word| attached_code(&render_word(word), flags).map(str::to_owned)),
    );
    if family == "python" {
        let words: Vec<String> = arguments.iter().map(literal_or_empty).collect();
        code.extend(timed_code(&words).map(str::to_owned));
    }
    if reads_input(family, arguments, flags) {
        code.extend(input.map(str::to_owned));
    }
    Some(
        code.iter()
            .flat_map(|code| started_commands(code, backticks, false))
            .map(|start| wrapped_command(start, arguments))
            .collect(),
    )
}

/// Letters of options whose value is the next word if it does not stand behind the letter, and of those whose value stands there or not
/// at all.
fn valued_options(family: &str) -> (&'static str, &'static str) {
    match family {
        "python" | "pypy" => ("WXQ", ""),
        "perl" => ("I", "MmiDCdlF0xV"),
        "ruby" => ("rICEF", "iKTWx0l"),
        "node" | "nodejs" | "bun" | "deno" => ("rC", ""),
        "php" => ("dcztS", ""),
        "lua" | "luajit" => ("l", "jOb"),
        "julia" => ("CHLJptgO", ""),
        _ => ("", ""),
    }
}

/// Reports whether an interpreter takes its code from its input: neither an option has code nor is there a file.
fn reads_input(family: &str, arguments: &[ShellWord], flags: &[&str]) -> bool {
    const LONG: [&str; 8] = [
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "--env-file",
        "--conditions",
        "--project",
        "--check-hash-based-pycs",
    ];
    let (next, behind) = valued_options(family);
    let words: Vec<String> = arguments.iter().map(render_word).collect();
    // `deno run -`
    let skipped = matches!(family, "deno" | "bun") && words.first().is_some_and(|word| word == "run");
    let mut at = usize::from(skipped);
    while let Some(word) = words.get(at) {
        at += 1;
        if word == "--" {
            return words.get(at).is_none_or(|file| is_given(file));
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return is_given(word);
        };
        if letters.starts_with('-') {
            let name = letters.split_once('=').map_or(letters, |(name, _)| name);
            if flags.contains(&name) || attached_code(word, flags).is_some() {
                return false;
            }
            at += usize::from(LONG.contains(&word.as_str()));
            continue;
        }
        for (place, letter) in letters.char_indices() {
            let rest = &letters[place + letter.len_utf8()..];
            if flags.iter().any(|flag| flag.len() == 1 && flag.starts_with(letter)) {
                return false;
            }
            if letter == 'm' && matches!(family, "python" | "pypy") {
                let module = if rest.is_empty() { words.get(at).map_or("", String::as_str) } else { rest };
                return matches!(module, "code" | "asyncio" | "IPython");
            }
            if matches!(letter, 'f' | 'F') && family == "php" {
                let file = if rest.is_empty() { words.get(at).map_or("", String::as_str) } else { rest };
                return is_given(file);
            }
            if next.contains(letter) {
                at += usize::from(rest.is_empty());
                break;
            }
            if behind.contains(letter) {
                break;
            }
        }
    }
    true
}

/// Reports whether a file is the input that the command is fed: `<(…)` or standard input by a name.
fn is_given(file: &str) -> bool {
    file.starts_with("<(") || matches!(file, "-" | "/dev/stdin")
}

/// Code in one word with its option: `--eval=CODE`, `-cCODE`.
fn attached_code<'w>(word: &'w str, flags: &[&str]) -> Option<&'w str> {
    let letters = word.strip_prefix('-')?;
    if let Some(long) = letters.strip_prefix('-') {
        let (name, code) = long.split_once('=')?;
        return matches!(name, "eval" | "print" | "run").then_some(code);
    }
    let at = letters
        .char_indices()
        .find(|(_, ch)| flags.iter().any(|flag| flag.starts_with(*ch) && flag.len() == 1))?
        .0;
    Some(&letters[at + 1..]).filter(|code| !code.is_empty())
}

fn wrapped_command(start: StartedCommand, near: &[ShellWord]) -> WrappedCommand {
    let span = near.first().map(|word| word.span).unwrap_or_default();
    match start {
        StartedCommand::Script(text) => WrappedCommand::Script { text, positional: Vec::new() },
        StartedCommand::Argv(words) => WrappedCommand::from_words(
            words.into_iter().map(|text| ShellWord::from_plain(text, span)).collect(),
        ),
        StartedCommand::TooMany => WrappedCommand::Unknown(TOO_MANY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amplihack_verdict::Span;

    #[test]
    fn code_comes_from_the_input_where_no_option_and_no_file_has_it() {
        let reads = |line: &str| {
            let words: Vec<ShellWord> =
                line.split(' ').skip(1).map(|text| ShellWord::from_plain(text, Span::default())).collect();
            let program = line.split(' ').next().unwrap_or_default();
            let found = interpreter_commands(program, &words, Some("system(\"rm x\")")).unwrap_or_default();
            !found.is_empty()
        };
        for line in [
            "perl",
            "perl -w",
            "perl -Mfeature=say",
            "perl -I lib -Mlib::e -",
            "perl -i.e",
            "perl - x",
            "python3 -Wdefault::DeprecationWarning",
            "python3 -W ignore -X dev -u",
            "python3 - x y",
            "python3 -m code",
            "ruby -rexample -Ie",
            "node -r ./setup-e.js",
            "node --require ./e.js -",
            "php -d memory_limit=1",
            "deno run -",
        ] {
            assert!(reads(line), "{line}");
        }
        for line in [
            "perl x.pl",
            "perl -wlne print",
            "perl -Mfeature=say -e1 x",
            "python3 -c'print(1)'",
            "python3 -Wignore -cprint",
            "python3 -m json.tool",
            "python3 -mjson.tool",
            "python3 x.py -",
            "ruby -rjson -e1",
            "node -p 1",
            "node --eval=1",
            "php -r 1;",
            "php -f x.php",
        ] {
            assert!(!reads(line), "{line}");
        }
    }
}
