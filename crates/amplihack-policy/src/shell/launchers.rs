//! Programs of another purpose that start commands: which ones their options, their arguments or their input say.

use super::editors;
use super::model::Word;
use super::oneliner::{Started, started};
use super::unwrap::{Inner, TOO_MANY, joined, operands, plain, render};

/// What `program` starts besides its own work.
pub(super) fn launched(program: &str, arguments: &[Word], input: Option<&str>) -> Vec<Inner> {
    match program {
        "vim" | "nvim" | "vi" | "view" | "rvim" | "gvim" | "vimdiff" | "ex" | "ed" => {
            editors::vi(program, arguments, input)
        }
        "emacs" | "emacsclient" => editors::emacs(arguments),
        "sed" | "gsed" => editors::sed(arguments),
        "make" | "gmake" | "bmake" => make(arguments, input),
        "expect" => spawned(values(arguments, &["-c"]).chain(input.map(str::to_owned))),
        "sqlite3" | "sqlite" | "psql" | "mysql" | "mariadb" | "usql" => {
            clients(arguments.iter().map(render).chain(input.map(str::to_owned)))
        }
        "less" | "more" | "most" => {
            scripts(arguments.iter().filter_map(|word| after(&render(word), &["+!"])))
        }
        "man" => scripts(values(arguments, &["-P", "--pager"])),
        "gdb" | "lldb" => debugger(arguments),
        "mapfile" | "readarray" | "complete" => scripts(values(arguments, &["-C"])),
        "bind" => scripts(
            values(arguments, &["-x"]).filter_map(|key| Some(key.split_once(':')?.1.trim().to_owned())),
        ),
        "hash" if has(arguments, "-p") => vec![Inner::Unknown("a name is bound to another program")],
        "enable" if has(arguments, "-f") => vec![Inner::Unknown("a builtin is loaded from a file")],
        "split" => scripts(values(arguments, &["--filter"])),
        "sort" => scripts(values(arguments, &["--compress-program"])),
        "rg" => scripts(values(arguments, &["--pre"])),
        "zip" => scripts(values(arguments, &["-TT", "--unzip-command"])),
        "ansible" => scripts(values(arguments, &["-a", "--args"])),
        "vagrant" => scripts(values(arguments, &["-c", "--command"])),
        "adb" if text(arguments.first()) == "shell" => joined(&arguments[1..]),
        "entr" => plain(arguments.get(operands(arguments, "", &[])..).unwrap_or_default()),
        "npm" | "npx" | "pnpx" | "bunx" | "yarn" => packages(program, arguments),
        "tmux" => tmux(arguments),
        "screen" => screen(arguments),
        "osascript" => scripts(values(arguments, &["-e"]).filter_map(|code| {
            Some(code.split_once("do shell script")?.1.trim().trim_matches('"').to_owned())
        })),
        "pwsh" | "powershell" => powershell(arguments),
        _ => Vec::new(),
    }
}

pub(super) fn scripts(texts: impl Iterator<Item = String>) -> Vec<Inner> {
    texts.map(|text| Inner::Script { text, positional: Vec::new() }).collect()
}

fn text(word: Option<&Word>) -> String {
    word.and_then(Word::literal).unwrap_or_default()
}

fn has(arguments: &[Word], option: &str) -> bool {
    arguments.iter().any(|word| text(Some(word)) == option)
}

/// What follows one of these beginnings.
fn after(text: &str, beginnings: &[&str]) -> Option<String> {
    beginnings.iter().find_map(|beginning| text.strip_prefix(beginning)).map(|rest| rest.trim().to_owned())
}

/// The values of these options: the next word, or behind a `=`.
pub(super) fn values<'w>(arguments: &'w [Word], options: &'w [&'w str]) -> impl Iterator<Item = String> + 'w {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let source = render(word);
        if options.contains(&source.as_str()) {
            return arguments.get(at + 1).map(render);
        }
        let (name, value) = source.split_once('=')?;
        options.contains(&name).then(|| value.to_owned())
    })
}

/// Variables of make whose value is a program.
const PROGRAMS: [&str; 12] =
    ["SHELL", "CC", "CXX", "CPP", "LD", "AR", "RM", "INSTALL", "MAKE", "PYTHON", "CARGO", "GO"];

fn make(arguments: &[Word], input: Option<&str>) -> Vec<Inner> {
    let from_input = values(arguments, &["-f", "--file", "--makefile"])
        .any(|file| matches!(file.as_str(), "-" | "/dev/stdin"))
        || has(arguments, "-f-");
    let texts = values(arguments, &["--eval", "-E"]).chain(input.filter(|_| from_input).map(str::to_owned));
    let recipes = texts.flat_map(|text| {
        let lines: Vec<String> = text.lines().filter_map(recipe).collect();
        lines
    });
    let variables = arguments.iter().filter_map(|word| {
        let text = word.literal()?;
        let (name, value) = text.split_once('=')?;
        PROGRAMS.contains(&name.trim_end_matches([':', '?', '+'])).then(|| value.to_owned())
    });
    scripts(recipes.chain(variables))
}

/// The command of a line of a makefile.
fn recipe(line: &str) -> Option<String> {
    let command = match line.strip_prefix('\t') {
        Some(command) => command,
        None => line.split_once("$(shell ").map(|(_, rest)| rest.trim_end().trim_end_matches(')')).or_else(
            || line.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, command)| command),
        )?,
    };
    Some(command.trim_start_matches(['@', '-', '+', ' ', '\t']).replace("$$", "$"))
}

fn spawned(texts: impl Iterator<Item = String>) -> Vec<Inner> {
    scripts(texts.flat_map(|text| {
        let commands: Vec<String> = text
            .split(['\n', ';'])
            .filter_map(|line| after(line.trim(), &["spawn ", "exec ", "system "]))
            .collect();
        commands
    }))
}

/// Commands of database clients that leave the database.
fn clients(texts: impl Iterator<Item = String>) -> Vec<Inner> {
    const BEGIN: &[&str] =
        &[".shell ", ".system ", ".once |", ".output |", "\\! ", "\\!", "system ", "\\o |", "\\g |"];
    scripts(texts.flat_map(|text| {
        let mut found: Vec<String> = text.lines().filter_map(|line| after(line.trim(), BEGIN)).collect();
        found.extend(
            text.split("PROGRAM '").skip(1).filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned())),
        );
        found
    }))
}

fn debugger(arguments: &[Word]) -> Vec<Inner> {
    let options = ["-ex", "--ex", "-iex", "-eval-command", "--eval-command", "-o", "-O", "--one-line"];
    let mut found = scripts(
        values(arguments, &options)
            .filter_map(|command| after(command.trim(), &["shell ", "!", "platform shell ", "pipe "])),
    );
    if let Some(at) = arguments.iter().position(|word| matches!(text(Some(word)).as_str(), "--args" | "--")) {
        found.extend(plain(&arguments[at + 1..]));
    }
    found
}

/// Package runners: `npx rimraf x` runs rimraf.
fn packages(program: &str, arguments: &[Word]) -> Vec<Inner> {
    let rest = match (program, text(arguments.first()).as_str()) {
        ("npm", "exec" | "x") | ("yarn", "exec" | "dlx") => &arguments[1..],
        ("npm" | "yarn", _) => return Vec::new(),
        _ => arguments,
    };
    let called = scripts(values(rest, &["-c", "--call"]));
    if called.is_empty() {
        plain(&rest[operands(rest, "p", &["--package", "--node-options"])..])
    } else {
        called
    }
}

fn tmux(arguments: &[Word]) -> Vec<Inner> {
    const STARTS: [&str; 16] = [
        "new",
        "new-session",
        "neww",
        "new-window",
        "splitw",
        "split-window",
        "respawn-pane",
        "respawnp",
        "respawn-window",
        "run",
        "run-shell",
        "popup",
        "display-popup",
        "pipe-pane",
        "if-shell",
        "if",
    ];
    let Some(at) = arguments.iter().position(|word| {
        let word = text(Some(word));
        STARTS.contains(&word.as_str()) || matches!(word.as_str(), "send" | "send-keys")
    }) else {
        return Vec::new();
    };
    let rest = &arguments[at + 1..];
    let rest = &rest[operands(rest, "cefFlnNpstxy", &[])..];
    if text(arguments.get(at)).starts_with("send") {
        return typed(rest);
    }
    joined(rest)
}

/// Keys that are typed into a terminal. Quotes that are open are no command yet.
fn typed(keys: &[Word]) -> Vec<Inner> {
    const NAMED: [&str; 8] = ["Enter", "Escape", "Tab", "Space", "BSpace", "Up", "Down", "KPEnter"];
    let typed = keys.iter().filter(|key| {
        let key = text(Some(key));
        !NAMED.contains(&key.as_str()) && !key.starts_with("C-") && !key.starts_with("M-")
    });
    let text = typed.map(render).collect::<Vec<_>>().join(" ");
    let closed = ['\'', '"', '`'].iter().all(|quote| text.matches(*quote).count() % 2 == 0);
    scripts(Some(text).filter(|text| closed && !text.trim().is_empty()).into_iter())
}

fn screen(arguments: &[Word]) -> Vec<Inner> {
    if let Some(at) = arguments.iter().position(|word| text(Some(word)) == "stuff") {
        return typed(&arguments[at + 1..]);
    }
    plain(&arguments[operands(arguments, "chpSstTe", &[])..])
}

fn powershell(arguments: &[Word]) -> Vec<Inner> {
    for (at, word) in arguments.iter().enumerate() {
        match text(Some(word)).to_ascii_lowercase().as_str() {
            "-c" | "-command" => return joined(&arguments[at + 1..]),
            "-e" | "-enc" | "-encodedcommand" => {
                return vec![Inner::Unknown("the script is hidden by an encoding")];
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Commands that editors' own languages start.
pub(super) fn called(code: &str) -> Vec<Inner> {
    let found = started(code, false, false).into_iter().filter_map(|start| match start {
        Started::Script(text) => Some(Inner::Script {
            text: text.trim_start_matches([':', '!']).to_owned(),
            positional: Vec::new(),
        }),
        Started::Argv(_) => None,
        Started::TooMany => Some(Inner::Unknown(TOO_MANY)),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Span;

    fn found(program: &str, arguments: &[&str], input: Option<&str>) -> Vec<String> {
        let words: Vec<Word> = arguments.iter().map(|text| Word::plain(*text, Span::default())).collect();
        launched(program, &words, input)
            .into_iter()
            .map(|inner| match inner {
                Inner::Script { text, .. } => text,
                Inner::Argv { words, .. } => super::super::unwrap::join(&words),
                Inner::Unknown(why) => why.to_owned(),
            })
            .collect()
    }

    #[test]
    fn commands_are_found_where_each_program_has_them() {
        for (program, arguments, input, expected) in [
            ("vim", &["-c", "!rm x", "f"][..], None, &["rm x"][..]),
            ("vim", &["+:silent !rm x"], None, &["rm x"]),
            ("nvim", &["-c", "call system('rm x')"], None, &["rm x"]),
            ("ex", &["-s", "f"], Some("%s/a/b/\n!rm x\nw!\n"), &["rm x"]),
            ("vim", &["-c", "w! f", "-c", "q!"], None, &[]),
            ("emacs", &["--batch", "--eval", "(shell-command \"rm x\")"], None, &["rm x"]),
            ("sed", &["1e rm x", "f"], None, &["rm x"]),
            ("sed", &["-n", "-e", "/a;e b/p;$!N;e rm x"], None, &["rm x"]),
            ("sed", &["s/a/rm x/e"], None, &["rm x"]),
            ("sed", &["s/e/e/g;y/ae/ea/;s|a|e b|"], None, &[]),
            ("make", &["-f", "-"], Some("all:\n\t@rm x\n"), &["rm x"]),
            ("make", &["--eval=x:;rm x", "x"], None, &["rm x"]),
            ("make", &["-j8", "CFLAGS=-O2"], Some("\trm x"), &[]),
            ("make", &["SHELL=rm x"], None, &["rm x"]),
            ("expect", &["-c", "set a 1; spawn rm x"], None, &["rm x"]),
            ("sqlite3", &["db", ".shell rm x"], None, &["rm x"]),
            ("psql", &["-c", "COPY t FROM PROGRAM 'rm x'"], None, &["rm x"]),
            ("psql", &[], Some("select 1;\n\\! rm x\n"), &["rm x"]),
            ("gdb", &["-batch", "-ex", "shell rm x"], None, &["rm x"]),
            ("gdb", &["-q", "--args", "rm", "x"], None, &["rm x"]),
            ("npx", &["-y", "rimraf", "x"], None, &["rimraf x"]),
            ("npm", &["exec", "-c", "rm x"], None, &["rm x"]),
            ("npm", &["run", "x"], None, &[]),
            ("tmux", &["new", "-d", "-s", "n", "rm x"], None, &["rm x"]),
            ("tmux", &["send-keys", "-t", "0", "rm x", "Enter"], None, &["rm x"]),
            ("tmux", &["send-keys", "-t", "0", "it's", "C-c"], None, &[]),
            ("screen", &["-dm", "-S", "n", "rm", "x"], None, &["rm x"]),
            ("bind", &["-x", "\"a\":rm x"], None, &["rm x"]),
            ("hash", &["-p", "/bin/rm", "ls"], None, &["a name is bound to another program"]),
        ] {
            assert_eq!(found(program, arguments, input), expected, "{program} {arguments:?}");
        }
    }
}
