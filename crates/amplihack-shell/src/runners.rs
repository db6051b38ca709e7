//! Tools of developers that start a command of the user: environments, secrets, watchers, benchmarks, terminals; and programs of no
//! table that are given what reads like a destructive command.

use super::foreign;
use super::launchers::{option_values, to_scripts};
use super::model::ShellWord;
use super::unwrap::{
    WrappedCommand, count_options, joined_script, literal_or_empty, plain_command, render_word,
};

/// A tool that runs the words behind its options, below one of its own commands.
struct ToolRunner {
    names: &'static [&'static str],
    /// Sub-commands of the tool that run something; empty if it has none.
    verbs: &'static [&'static str],
    /// Letters of options whose value is the next word.
    short: &'static str,
    /// Long ones.
    long: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
}

const fn runner_row(
    names: &'static [&'static str],
    verbs: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> ToolRunner {
    ToolRunner { names, verbs, short, long, operands }
}

const RUNNERS: &[ToolRunner] = &[
    runner_row(
        &["perf"],
        &["stat", "record", "trace", "mem", "c2c", "kvm"],
        "eopCFGcDImMrtuxjk",
        &[
            "--event",
            "--output",
            "--repeat",
            "--delay",
            "--interval-print",
            "--pid",
            "--tid",
            "--cpu",
            "--freq",
            "--count",
        ],
        0,
    ),
    runner_row(&["conda", "mamba", "micromamba"], &["run"], "np", &["--name", "--prefix", "--cwd"], 0),
    runner_row(&["mise", "rtx"], &["exec", "x"], "cCj", &["--command", "--cd", "--jobs"], 0),
    runner_row(
        &["asdf", "rbenv", "pyenv", "nodenv", "volta", "fnm", "rye", "pixi", "toolbox", "tox", "devbox"],
        &["exec", "run"],
        "ec",
        &["--manifest-path", "--environment", "--using", "--container", "--config"],
        0,
    ),
    runner_row(&["direnv"], &["exec"], "", &[], 1),
    runner_row(
        &["doppler", "infisical", "op", "teller", "dotenvx", "dotenv"],
        &["run"],
        "pcef",
        &["--project", "--config", "--env-file", "--env", "--token", "--account"],
        0,
    ),
    runner_row(&["aws-vault", "chamber"], &["exec"], "", &["--duration", "--region"], 1),
    runner_row(&["chpst"], &[], "uUbmdopfcrtnelLC/", &[], 0),
    runner_row(&["choom"], &[], "np", &["--adjust", "--pid"], 0),
    runner_row(
        &["numactl"],
        &[],
        "iNCmp",
        &["--interleave", "--cpunodebind", "--physcpubind", "--membind", "--preferred"],
        0,
    ),
    runner_row(&["cpulimit"], &[], "lpeP", &["--limit", "--pid", "--exe", "--path"], 0),
    runner_row(&["faketime", "gosu", "su-exec", "s6-setuidgid", "envdir", "setuidgid"], &[], "p", &[], 1),
    runner_row(
        &["nq", "torify", "tsocks", "run-one", "systemd-inhibit", "dbus-launch"],
        &[],
        "",
        &["--what", "--who", "--why", "--mode"],
        0,
    ),
    runner_row(&["fakechroot"], &[], "bcde", &["--lib", "--faked", "--environment", "--config-dir"], 0),
    runner_row(&["tsp"], &[], "LND", &[], 0),
    runner_row(&["tini", "catatonit"], &[], "pe", &[], 0),
    runner_row(&["dumb-init"], &[], "r", &["--rewrite"], 0),
    runner_row(&["trickle"], &[], "udwtlpn", &[], 0),
    runner_row(
        &["watchexec"],
        &[],
        "weifdsEo",
        &[
            "--exts",
            "--watch",
            "--ignore",
            "--filter",
            "--debounce",
            "--signal",
            "--delay-run",
            "--stop-signal",
            "--workdir",
        ],
        0,
    ),
    runner_row(TERMINALS, &[], "gTnt", &["--title", "--working-directory"], 0),
    runner_row(&["uvx"], &[], "pw", &["--from", "--with", "--python"], 0),
    runner_row(&["wezterm", "zellij"], &["start", "run"], "dn", &["--cwd", "--name", "--direction"], 0),
];

/// Options of tools whose value is a script.
const SCRIPTED: &[(&[&str], &[&str])] = &[
    (&["nix-shell"], &["--run", "--command"]),
    (&["nodemon"], &["--exec", "-x"]),
    (&["hyperfine"], &["--prepare", "-p", "--setup", "-s", "--cleanup", "-c", "--conclude", "-C"]),
    (&["compgen"], &["-C"]),
    (&["ag", "bat", "delta", "batcat", "ugrep", "ug"], &["--pager"]),
    (&["mise", "rtx"], &["-c", "--command"]),
    (&["wget"], &["--use-askpass"]),
    (&["fzf"], &["--preview"]),
    (&["xfce4-terminal", "gnome-terminal", "terminator", "tilix", "lxterminal"], &["-e", "-x", "--command"]),
    (&["osh"], &["-c"]),
    (&["just"], &["-c", "--command"]),
    (&["gcloud"], &["--command"]),
    (&["et", "fly", "flyctl"], &["-c", "-C", "--command"]),
    (&["az"], &["--scripts"]),
];

/// Shells whose language is not bash's.
const FOREIGN: &[&str] = &["nu", "xonsh", "elvish", "murex", "ysh"];

/// Tools whose operands are scripts, each word one; and the options whose value is a name, a colour or a file.
const EACH: &[(&str, &[&str])] = &[
    (
        "hyperfine",
        &[
            "-n",
            "--command-name",
            "--reference-name",
            "--export-asciidoc",
            "--export-csv",
            "--export-json",
            "--export-markdown",
            "--export-orgmode",
            "--input",
            "--output",
        ],
    ),
    (
        "concurrently",
        &["-n", "--names", "-c", "--prefix-colors", "-p", "--prefix", "-t", "--timestamp-format"],
    ),
    ("npm-run-all", &[]),
];

/// Terminals, which run what stands behind an option of theirs.
const TERMINALS: &[&str] = &["xterm", "alacritty", "konsole", "urxvt", "st", "foot", "kitty"];

/// Tools that join their operands to a script, as ssh does, behind so many words.
const JOINED: &[(&str, &[&str], usize)] = &[
    ("pueue", &["add"], 0),
    ("heroku", &["run"], 0),
    ("sops", &["exec-env", "exec-file"], 1),
    ("yarn", &["exec"], 0),
];

/// The commands that a tool of these tables starts.
pub(super) fn runner_commands(program: &str, arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    if let Some((_, options)) = SCRIPTED.iter().find(|(names, _)| names.contains(&program)) {
        found.extend(to_scripts(option_values(arguments, options)));
    }
    if FOREIGN.contains(&program) {
        found.extend(
            option_values(arguments, &["-c", "-e", "--commands", "--execute"])
                .flat_map(|code| foreign::foreign_commands(&code)),
        );
    }
    if let Some((_, named)) = EACH.iter().find(|(name, _)| *name == program) {
        found.extend(to_scripts(each_script(arguments, named)));
    }
    if TERMINALS.contains(&program) {
        let is_start = |word: &ShellWord| {
            matches!(literal_or_empty(word).as_str(), "-e" | "-x" | "--command" | "--hold")
        };
        let behind = arguments.iter().position(is_start).map(|at| &arguments[at + 1..]);
        found.extend(behind.into_iter().flat_map(command_or_script));
    }
    if let Some((_, verbs, skipped)) = JOINED.iter().find(|(name, ..)| *name == program) {
        found.extend(words_below_verb(arguments, verbs).into_iter().flat_map(|rest| {
            let rest = behind_options(rest, "", &[]).get(*skipped..).unwrap_or_default();
            joined_script(rest)
        }));
    }
    if let Some(tool) = RUNNERS.iter().find(|tool| tool.names.contains(&program)) {
        let rest =
            if tool.verbs.is_empty() { Some(arguments) } else { words_below_verb(arguments, tool.verbs) };
        let rest = rest
            .or_else(|| arguments.first().filter(|word| literal_or_empty(word) == "--").map(|_| arguments));
        let options = rest.unwrap_or_default();
        let rest = behind_options(options, tool.short, tool.long);
        found.extend(command_or_script(
            rest.get(skipped_operands(tool, rest, arguments)..).unwrap_or_default(),
        ));
        // Letters have other meanings below other commands: what was taken for a value may be the program.
        let last = options.len() - rest.len();
        let value = last.checked_sub(1).filter(|at| !literal_or_empty(&options[*at]).starts_with('-'));
        found.extend(value.into_iter().flat_map(|at| command_or_script(&options[at..])));
    }
    found
}

/// A command, or a script in one word.
fn command_or_script(words: &[ShellWord]) -> Vec<WrappedCommand> {
    let is_script = words.first().is_some_and(|word| render_word(word).trim().contains(char::is_whitespace));
    plain_command(words)
        .into_iter()
        .chain(if is_script { joined_script(words) } else { Vec::new() })
        .collect()
}

/// The operands that are scripts: words with blanks which are no value of an option that names something.
fn each_script(arguments: &[ShellWord], named: &[&str]) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let (mut at, mut ended) = (0, false);
    while let Some(word) = arguments.get(at).map(render_word) {
        at += 1;
        if !ended && word == "--" {
            ended = true;
        } else if !ended && named.contains(&word.as_str()) {
            at += 1;
        } else if word.contains(' ') && (ended || !word.starts_with('-')) {
            found.push(word);
        }
    }
    found.into_iter()
}

/// Number of words of `rest` in front of the command. A `--` ends them all.
fn skipped_operands(tool: &ToolRunner, rest: &[ShellWord], arguments: &[ShellWord]) -> usize {
    let ended = arguments.len() > rest.len()
        && literal_or_empty(&arguments[arguments.len() - rest.len() - 1]) == "--";
    if ended { 0 } else { tool.operands }
}

/// The words behind one of a tool's own commands.
fn words_below_verb<'w>(arguments: &'w [ShellWord], verbs: &[&str]) -> Option<&'w [ShellWord]> {
    let at = arguments.iter().position(|word| verbs.contains(&literal_or_empty(word).as_str()))?;
    Some(&arguments[at + 1..])
}

/// The words behind a `--`, else behind the options.
fn behind_options<'w>(words: &'w [ShellWord], short: &str, long: &[&str]) -> &'w [ShellWord] {
    match words.iter().position(|word| literal_or_empty(word) == "--") {
        Some(at) => &words[at + 1..],
        None => &words[count_options(words, short, long)..],
    }
}

/// Programs that print, search or keep their words, or have a verb of their own called `rm`.
const HARMLESS: &[&str] = &[
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "pcregrep",
    "pcre2grep",
    "ack",
    "ag",
    "rg",
    "rga",
    "pt",
    "ug",
    "ugrep",
    "semgrep",
    "opengrep",
    "sgrep",
    "ast-grep",
    "comby",
    "less",
    "more",
    "most",
    "bat",
    "batcat",
    "delta",
    "zoxide",
    "apropos",
    "man",
    "info",
    "which",
    "whereis",
    "type",
    "tldr",
    "cheat",
    "gh",
    "glab",
    "jira",
    "logger",
    "notify-send",
    "wall",
    "say",
    "espeak",
    "figlet",
    "cowsay",
    "test",
    "[",
    "[[",
    "read",
    "set",
    "export",
    "declare",
    "local",
    "readonly",
    "typeset",
    "unset",
    "hash",
    "cat",
    "ls",
    "cp",
    "mv",
    "rm",
    "touch",
    "mkdir",
    "jq",
    "yq",
    "hg",
    "svn",
    "bzr",
    "jj",
    "dvc",
    "fossil",
    "aws",
    "gsutil",
    "s3cmd",
    "mc",
    "rclone",
    "apt",
    "apt-get",
    "brew",
    "expr",
    "basename",
    "dirname",
    "kill",
    "amplihack",
    "amplihack-hooks",
    "shellcheck",
    "bd",
    "diff",
    "cmp",
    "wc",
    "sort",
    "head",
    "tail",
    "history",
    "fc",
    "complete",
    "return",
    "exit",
];

/// Arguments of a program of no table that read like a destructive command: whatever the program is, it may run it.
pub(super) fn suspected_commands(program: &str, arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    const OPTIONS: &[&str] =
        &["-c", "-e", "-x", "--exec", "--command", "--cmd", "--run", "--shell", "--eval"];
    if HARMLESS.contains(&program) {
        return Vec::new();
    }
    let words = || arguments.iter().take(64);
    let start = words()
        .zip(words().skip(1))
        .position(|(name, next)| is_destructive(&literal_or_empty(name), &literal_or_empty(next)));
    let mut found: Vec<WrappedCommand> =
        start.map(|at| WrappedCommand::from_words(arguments[at..].to_vec())).into_iter().collect();
    let given = option_values(&arguments[..arguments.len().min(64)], OPTIONS).filter(|script| {
        let mut words = script.split_whitespace();
        words.next().zip(words.next()).is_some_and(|(name, next)| is_destructive(name, next))
    });
    found.extend(to_scripts(given));
    found
}

/// Reports whether two words begin a command that takes things away, or starts another shell.
fn is_destructive(name: &str, next: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let has = |letters: &[char]| next.starts_with('-') && !next.starts_with("--") && next.contains(letters);
    match name {
        "rm" => has(&['r', 'R', 'f']) || matches!(next, "--recursive" | "--force" | "--no-preserve-root"),
        "chmod" | "chown" | "chgrp" => has(&['R']),
        "shred" => true,
        "dd" => next.starts_with("if=") || next.starts_with("of="),
        "git" => next == "push",
        shell if super::is_shell(shell) => has(&['c']),
        _ => name.starts_with("mkfs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amplihack_verdict::Span;

    fn found(line: &[&str]) -> Vec<String> {
        let words: Vec<ShellWord> =
            line[1..].iter().map(|text| ShellWord::from_plain(*text, Span::default())).collect();
        let mut found = runner_commands(line[0], &words);
        if found.is_empty() {
            found = suspected_commands(line[0], &words);
        }
        super::super::unwrap::texts(found)
    }

    #[test]
    fn commands_of_tools_are_found() {
        for (line, expected) in [
            (&["perf", "stat", "-r", "5", "x", "y"][..], &["x y", "5 x y"][..]),
            (&["perf", "report"], &[]),
            (&["conda", "run", "-n", "e", "x", "y"], &["x y", "e x y"]),
            (&["mise", "exec", "node@20", "--", "x"], &["x"]),
            (&["direnv", "exec", ".", "x"], &["x"]),
            (&["op", "run", "--env-file", "e", "--", "x"], &["x"]),
            (&["aws-vault", "exec", "prod", "--", "x"], &["x"]),
            (&["aws-vault", "exec", "prod", "x"], &["x"]),
            (&["dotenv", "--", "x"], &["x"]),
            (&["hyperfine", "--prepare", "a", "c d"], &["a", "c d"]),
            (&["concurrently", "a b", "c d"], &["a b", "c d"]),
            (&["xterm", "-e", "x", "y"], &["x y", "x y"]),
            (&["perf", "stat", "-d", "x", "y"], &["x y"]),
            (&["perf", "stat", "-I", "9", "x"], &["x", "9 x"]),
            (&["numactl", "-l", "x", "y"], &["x y"]),
            (&["tsp", "-d", "x", "y"], &["x y"]),
            (&["faketime", "-f", "@1", "x", "y"], &["x y"]),
            (&["watchexec", "-e", "rs", "x y"], &["x y", "x y", "rs x y"]),
            (&["mise", "exec", "--command", "x y"], &["x y", "x y", "x y"]),
            (&["hyperfine", "-n", "a (b)", "c d", "--export-csv", "e f"], &["c d"]),
            (&["concurrently", "--names", "a b,c (d)", "-c", "x y", "e f"], &["e f"]),
            (&["hyperfine", "--", "-n", "c d"], &["c d"]),
            (&["nix-shell", "-p", "z", "--run", "a b"], &["a b"]),
        ] {
            assert_eq!(found(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_destructive_command_is_found_behind_any_program() {
        assert_eq!(found(&["retry", "3", "rm", "-rf", "x"]), ["rm -rf x"]);
        assert_eq!(found(&["x", "--", "/bin/sh", "-c", "y"]), ["/bin/sh -c y"]);
        assert_eq!(found(&["x", "--exec", "rm -rf y"]), ["rm -rf y"]);
        for line in [
            &["echo", "rm", "-rf", "x"][..],
            &["x", "rm", "y"],
            &["x", "-m", "rm -rf y"],
            &["hg", "rm", "-f", "x"],
            &["x", "sh"],
            &["rg", "-e", "rm -rf y", "src"],
            &["semgrep", "-e", "rm -rf y", "--lang", "bash"],
        ] {
            assert!(found(line).is_empty(), "{line:?}");
        }
    }
}
