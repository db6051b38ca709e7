//! Programs of another purpose that start commands: which ones their options, their arguments or their input say.

use super::editors;
use super::model::ShellWord;
use super::oneliner::{StartedCommand, started_commands};
use super::unwrap::{TOO_MANY, WrappedCommand, count_options, joined_script, plain_command, render_word};

/// The commands that `program` starts besides its own work.
pub(super) fn launched_commands(
    program: &str,
    arguments: &[ShellWord],
    input: Option<&str>,
) -> Vec<WrappedCommand> {
    match program {
        "vim" | "nvim" | "vi" | "view" | "rvim" | "gvim" | "vimdiff" | "ex" | "ed" => {
            editors::vi_commands(program, arguments, input)
        }
        "emacs" | "emacsclient" => editors::emacs_commands(arguments),
        "sed" | "gsed" => editors::sed_commands(arguments),
        "make" | "gmake" | "bmake" => make_commands(arguments, input),
        "expect" => spawned_commands(option_values(arguments, &["-c"]).chain(input.map(str::to_owned))),
        "sqlite3" | "sqlite" | "psql" | "mysql" | "mariadb" | "usql" => {
            client_commands(arguments.iter().map(render_word).chain(input.map(str::to_owned)))
        }
        "less" | "more" | "most" => {
            to_scripts(arguments.iter().filter_map(|word| text_after(&render_word(word), &["+!"])))
        }
        "man" => to_scripts(option_values(arguments, &["-P", "--pager"])),
        "gdb" | "lldb" => debugger_commands(arguments),
        "mapfile" | "readarray" | "complete" => to_scripts(option_values(arguments, &["-C"])),
        "bind" => to_scripts(
            option_values(arguments, &["-x"])
                .filter_map(|key| Some(key.split_once(':')?.1.trim().to_owned())),
        ),
        "hash" if has_option(arguments, "-p") => {
            vec![WrappedCommand::Unknown("a name is bound to another program")]
        }
        "enable" if has_option(arguments, "-f") => {
            vec![WrappedCommand::Unknown("a builtin is loaded from a file")]
        }
        "split" => to_scripts(option_values(arguments, &["--filter"])),
        "sort" => to_scripts(option_values(arguments, &["--compress-program"])),
        "rg" => to_scripts(option_values(arguments, &["--pre", "--hostname-bin"])),
        "zip" => to_scripts(option_values(arguments, &["-TT", "--unzip-command"])),
        "ansible" => to_scripts(option_values(arguments, &["-a", "--args"])),
        "vagrant" => to_scripts(option_values(arguments, &["-c", "--command"])),
        "adb" if word_text(arguments.first()) == "shell" => joined_script(&arguments[1..]),
        "entr" if arguments.iter().any(|word| word_text(Some(word)) == "-s") => {
            let script = arguments.iter().map(render_word).find(|word| !word.starts_with('-'));
            to_scripts(script.into_iter())
        }
        "entr" => plain_command(arguments.get(count_options(arguments, "", &[])..).unwrap_or_default()),
        "cargo" => to_scripts(
            option_values(arguments, &["--config"]).filter_map(|setting| tool_of_cargo(&setting)).chain(
                option_values(arguments, &["-s", "--shell"])
                    .filter(|_| word_text(arguments.first()) == "watch"),
            ),
        ),
        "just" | "gnome-terminal" | "nix" | "guix" | "flox" | "distrobox" | "schroot" | "mosh" | "lxc"
        | "machinectl" => commands_behind_dashes(arguments),
        "gh" if word_text(arguments.first()) == "alias" => {
            to_scripts(arguments.iter().skip(2).filter_map(|word| {
                let text = render_word(word);
                text.strip_prefix('!')
                    .map(str::to_owned)
                    .or_else(|| has_option(arguments, "--shell").then_some(text))
            }))
        }
        "fzf" | "sk" => to_scripts(option_values(arguments, &["--bind"]).flat_map(|keys| in_brackets(&keys))),
        "npm" | "npx" | "pnpx" | "bunx" | "yarn" => package_commands(program, arguments),
        "tmux" => tmux_commands(arguments),
        "screen" => screen_commands(arguments),
        "osascript" => to_scripts(option_values(arguments, &["-e"]).filter_map(|code| {
            Some(code.split_once("do shell script")?.1.trim().trim_matches('"').to_owned())
        })),
        "pwsh" | "powershell" => powershell_commands(arguments),
        _ => Vec::new(),
    }
}

pub(super) fn to_scripts(texts: impl Iterator<Item = String>) -> Vec<WrappedCommand> {
    texts.map(|text| WrappedCommand::Script { text, positional: Vec::new() }).collect()
}

fn word_text(word: Option<&ShellWord>) -> String {
    word.and_then(ShellWord::literal_text).unwrap_or_default()
}

fn has_option(arguments: &[ShellWord], option: &str) -> bool {
    arguments.iter().any(|word| word_text(Some(word)) == option)
}

/// Text that follows the first matching one of these beginnings, trimmed.
fn text_after(text: &str, beginnings: &[&str]) -> Option<String> {
    beginnings.iter().find_map(|beginning| text.strip_prefix(beginning)).map(|rest| rest.trim().to_owned())
}

/// The values of these options: the next word, or behind a `=`.
pub(super) fn option_values<'w>(
    arguments: &'w [ShellWord],
    options: &'w [&'w str],
) -> impl Iterator<Item = String> + 'w {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let source = render_word(word);
        if options.contains(&source.as_str()) {
            return arguments.get(at + 1).map(render_word);
        }
        let (name, value) = source.split_once('=')?;
        options.contains(&name).then(|| value.to_owned())
    })
}

/// Variables of make whose value is a program.
const PROGRAMS: [&str; 12] =
    ["SHELL", "CC", "CXX", "CPP", "LD", "AR", "RM", "INSTALL", "MAKE", "PYTHON", "CARGO", "GO"];

fn make_commands(arguments: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    let from_input = option_values(arguments, &["-f", "--file", "--makefile"])
        .any(|file| matches!(file.as_str(), "-" | "/dev/stdin") || file.starts_with("<("))
        || has_option(arguments, "-f-");
    let texts =
        option_values(arguments, &["--eval", "-E"]).chain(input.filter(|_| from_input).map(str::to_owned));
    let recipes = texts.flat_map(|text| {
        let lines: Vec<String> = text.lines().filter_map(recipe_command).collect();
        lines
    });
    let variables = arguments.iter().filter_map(|word| {
        let text = word.literal_text()?;
        let (name, value) = text.split_once('=')?;
        PROGRAMS.contains(&name.trim_end_matches([':', '?', '+'])).then(|| value.to_owned())
    });
    to_scripts(recipes.chain(variables))
}

/// The command of a line of a makefile.
fn recipe_command(line: &str) -> Option<String> {
    let command = match line.strip_prefix('\t') {
        Some(command) => command,
        None => line.split_once("$(shell ").map(|(_, rest)| rest.trim_end().trim_end_matches(')')).or_else(
            || line.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, command)| command),
        )?,
    };
    Some(command.trim_start_matches(['@', '-', '+', ' ', '\t']).replace("$$", "$"))
}

fn spawned_commands(texts: impl Iterator<Item = String>) -> Vec<WrappedCommand> {
    to_scripts(texts.flat_map(|text| {
        let commands: Vec<String> = text
            .split(['\n', ';'])
            .filter_map(|line| text_after(line.trim(), &["spawn ", "exec ", "system "]))
            .collect();
        commands
    }))
}

/// Commands of database clients that leave the database.
fn client_commands(texts: impl Iterator<Item = String>) -> Vec<WrappedCommand> {
    const BEGIN: &[&str] =
        &[".shell ", ".system ", ".once |", ".output |", "\\! ", "\\!", "system ", "\\o |", "\\g |"];
    to_scripts(texts.flat_map(|text| {
        let mut found: Vec<String> = text.lines().filter_map(|line| text_after(line.trim(), BEGIN)).collect();
        found.extend(
            text.split("PROGRAM '").skip(1).filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned())),
        );
        found
    }))
}

fn debugger_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let options = ["-ex", "--ex", "-iex", "-eval-command", "--eval-command", "-o", "-O", "--one-line"];
    let mut found = to_scripts(
        option_values(arguments, &options)
            .filter_map(|command| text_after(command.trim(), &["shell ", "!", "platform shell ", "pipe "])),
    );
    if let Some(at) =
        arguments.iter().position(|word| matches!(word_text(Some(word)).as_str(), "--args" | "--"))
    {
        found.extend(plain_command(&arguments[at + 1..]));
    }
    found
}

/// The words behind `--` or the option for a command.
fn commands_behind_dashes(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let at =
        arguments.iter().position(|word| matches!(word_text(Some(word)).as_str(), "--" | "-c" | "--command"));
    at.map(|at| plain_command(&arguments[at + 1..])).unwrap_or_default()
}

/// The program that a setting of cargo puts in place of the compiler, the linker or a test's start.
fn tool_of_cargo(setting: &str) -> Option<String> {
    const TOOLS: [&str; 7] = [
        "rustc-wrapper",
        "rustc-workspace-wrapper",
        "runner",
        "linker",
        "rustc",
        "rustdoc",
        "credential-provider",
    ];
    let (key, value) = setting.split_once('=')?;
    let last = key.trim().rsplit('.').next()?;
    let words = value.trim().trim_matches(['[', ']']).replace(['"', '\'', ','], " ");
    TOOLS.contains(&last).then_some(words)
}

/// Commands that keys of a finder run: `enter:execute(less {})`.
fn in_brackets(keys: &str) -> Vec<String> {
    const RUNS: [&str; 6] = ["execute(", "execute-silent(", "become(", "reload(", "transform(", "preview("];
    let found = RUNS.iter().flat_map(|name| keys.split(name).skip(1));
    found.filter_map(|rest| Some(rest.rsplit_once(')')?.0.to_owned())).collect()
}

/// Package runners: `npx rimraf x` runs rimraf.
fn package_commands(program: &str, arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let managed = matches!(program, "npm" | "yarn" | "bun");
    let skipped = if managed {
        count_options(arguments, "Cw", &["--prefix", "--dir", "--cwd", "--workspace"])
    } else {
        0
    };
    let arguments = &arguments[skipped..];
    if program == "npm" && word_text(arguments.first()) == "pkg" {
        let set = arguments.iter().map(render_word).filter(|word| word.starts_with("scripts."));
        return to_scripts(set.filter_map(|word| Some(word.split_once('=')?.1.to_owned())));
    }
    let rest = match (program, word_text(arguments.first()).as_str()) {
        ("npm", "exec" | "x") | ("yarn", "exec" | "dlx") | ("bun", "x") => &arguments[1..],
        ("npm" | "yarn" | "bun", _) => return Vec::new(),
        _ => arguments,
    };
    let called = to_scripts(option_values(rest, &["-c", "--call"]));
    if called.is_empty() {
        plain_command(&rest[count_options(rest, "p", &["--package", "--node-options"])..])
    } else {
        called
    }
}

fn tmux_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
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
        let word = word_text(Some(word));
        STARTS.contains(&word.as_str()) || matches!(word.as_str(), "send" | "send-keys")
    }) else {
        return Vec::new();
    };
    let rest = &arguments[at + 1..];
    let rest = &rest[count_options(rest, "cefFlnNpstxy", &[])..];
    if word_text(arguments.get(at)).starts_with("send") {
        return typed_commands(rest);
    }
    joined_script(rest)
}

/// Keys that are typed into a terminal. Quotes that are open are no command yet.
fn typed_commands(keys: &[ShellWord]) -> Vec<WrappedCommand> {
    const NAMED: [&str; 8] = ["Enter", "Escape", "Tab", "Space", "BSpace", "Up", "Down", "KPEnter"];
    let typed = keys.iter().filter(|key| {
        let key = word_text(Some(key));
        !NAMED.contains(&key.as_str()) && !key.starts_with("C-") && !key.starts_with("M-")
    });
    let text = typed.map(render_word).collect::<Vec<_>>().join(" ");
    let closed = ['\'', '"', '`'].iter().all(|quote| text.matches(*quote).count() % 2 == 0);
    to_scripts(Some(text).filter(|text| closed && !text.trim().is_empty()).into_iter())
}

fn screen_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    if let Some(at) = arguments.iter().position(|word| word_text(Some(word)) == "stuff") {
        return typed_commands(&arguments[at + 1..]);
    }
    plain_command(&arguments[count_options(arguments, "chpSstTe", &[])..])
}

fn powershell_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    for (at, word) in arguments.iter().enumerate() {
        match word_text(Some(word)).to_ascii_lowercase().as_str() {
            "-c" | "-command" => return joined_script(&arguments[at + 1..]),
            "-e" | "-enc" | "-encodedcommand" => {
                return vec![WrappedCommand::Unknown("the script is hidden by an encoding")];
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Commands that editors' own languages start.
pub(super) fn called_commands(code: &str) -> Vec<WrappedCommand> {
    let found = started_commands(code, false, false).into_iter().filter_map(|start| match start {
        StartedCommand::Script(text) => Some(WrappedCommand::Script {
            text: text.trim_start_matches([':', '!']).to_owned(),
            positional: Vec::new(),
        }),
        StartedCommand::Argv(_) => None,
        StartedCommand::TooMany => Some(WrappedCommand::Unknown(TOO_MANY)),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use amplihack_verdict::Span;

    fn found(program: &str, arguments: &[&str], input: Option<&str>) -> Vec<String> {
        let words: Vec<ShellWord> =
            arguments.iter().map(|text| ShellWord::from_plain(*text, Span::default())).collect();
        super::super::unwrap::texts(launched_commands(program, &words, input))
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
