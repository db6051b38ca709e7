//! Tables of wrappers: whose options take a word, and where the command is.

use super::model::Word;
use super::unwrap::{Inner, joined, operands, plain};

/// A program that runs the command behind its options.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Letters of options whose value is the next word.
    pub(super) short: &'static str,
    /// Long ones.
    pub(super) long: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
}

const fn wrapper(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { names, short, long, operands }
}

/// Wrappers that need no more than their row.
pub(super) const OTHERS: &[Wrapper] = &[
    wrapper(
        &["sudo"],
        "CDghpRrTtUu",
        &[
            "--user",
            "--group",
            "--chdir",
            "--host",
            "--prompt",
            "--chroot",
            "--role",
            "--type",
            "--close-from",
        ],
        0,
    ),
    wrapper(&["doas"], "Cu", &[], 0),
    wrapper(&["pkexec"], "", &["--user"], 0),
    wrapper(&["nice"], "n", &["--adjustment"], 0),
    wrapper(&["ionice"], "cnpPu", &["--class", "--classdata"], 0),
    wrapper(&["timeout", "gtimeout"], "ks", &["--kill-after", "--signal"], 1),
    wrapper(&["time", "gtime"], "fo", &["--format", "--output"], 0),
    wrapper(&["stdbuf"], "ioe", &["--input", "--output", "--error"], 0),
    wrapper(&["exec"], "a", &[], 0),
    wrapper(&["chroot"], "", &["--userspec", "--groups"], 1),
    wrapper(&["unshare"], "SGRw", &["--root", "--wd", "--setuid", "--setgid"], 0),
    wrapper(&["nsenter"], "tSG", &["--target", "--setuid", "--setgid"], 0),
    wrapper(
        &["strace", "ltrace"],
        "aEeIOoPpSsuUXb",
        &["--output", "--trace", "--user", "--expr", "--env"],
        0,
    ),
    wrapper(&["chrt"], "TPD", &[], 1),
    wrapper(&["taskset"], "", &[], 1),
    wrapper(&["setpriv"], "", &["--reuid", "--regid", "--groups", "--inh-caps"], 0),
    wrapper(
        &["systemd-run"],
        "pHMutE",
        &["--unit", "--property", "--uid", "--gid", "--slice", "--setenv", "--working-directory"],
        0,
    ),
    wrapper(
        &[
            "firejail",
            "proot",
            "fakeroot",
            "nohup",
            "setsid",
            "command",
            "builtin",
            "coproc",
            "eatmydata",
            "unbuffer",
            "torsocks",
            "cross-env",
            "shx",
        ],
        "",
        &[],
        0,
    ),
    wrapper(
        &[
            "proxychains",
            "proxychains4",
            "dbus-run-session",
            "caffeinate",
            "ccache",
            "noglob",
            "nocorrect",
            "setarch",
            "linux64",
        ],
        "f",
        &[],
        0,
    ),
    wrapper(
        &[
            "xvfb-run",
            "catchsegv",
            "valgrind",
            "prlimit",
            "cgexec",
            "ssh-agent",
            "rlwrap",
            "chronic",
            "ts",
            "softlimit",
        ],
        "agn",
        &[],
        0,
    ),
];

fn text(word: &Word) -> String {
    word.literal().unwrap_or_default()
}

/// The value of an option that is a word of its own, or joined to it by `=`.
fn value<'a>(words: &'a [Word], short: &str, long: &str) -> Option<&'a Word> {
    let at = words.iter().position(|word| {
        let word = text(word);
        word == long || (word.starts_with('-') && !word.starts_with("--") && word.ends_with(short))
    })?;
    words.get(at + 1)
}

/// `ssh host COMMAND`, and the commands of its own settings. A command without a file of its own reads what ssh reads.
pub(super) fn ssh(arguments: &[Word], input: Option<&str>) -> Vec<Inner> {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let at = operands(arguments, VALUED, &[]);
    let after = arguments.get(at + 1..).unwrap_or_default();
    // Options may follow the host.
    let command = &after[operands(after, VALUED, &[])..];
    let mut inner = joined(command);
    let shell = match command {
        [] => true,
        [program, options @ ..] => {
            let program = text(program);
            program.rsplit('/').next().is_some_and(super::is_shell)
                && options.iter().all(|word| text(word).starts_with('-'))
                && !options.iter().any(|word| text(word).contains('c'))
        }
    };
    let script = |text: &str| Inner::Script { text: text.to_owned(), positional: Vec::new() };
    inner.extend(input.filter(|_| shell).map(script));
    let settings = arguments.iter().map(super::unwrap::render);
    inner.extend(settings.filter_map(|word| {
        let setting = word.strip_prefix("-o").unwrap_or(&word).trim_start();
        let (name, value) = setting.split_once(['=', ' '])?;
        let runs = ["proxycommand", "localcommand", "knownhostscommand"];
        runs.contains(&name.to_ascii_lowercase().as_str()).then(|| script(value))
    }));
    inner
}

/// Wrappers whose command is a script.
pub(super) fn scripted(program: &str, arguments: &[Word]) -> Vec<Inner> {
    match program {
        "watch" => joined(&arguments[operands(arguments, "n", &["--interval"])..]),
        "flock" => {
            let rest = arguments
                .get(operands(arguments, "wE", &["--timeout", "--wait", "--conflict-exit-code"]) + 1..)
                .unwrap_or_default();
            match value(rest, "c", "--command") {
                Some(script) => joined(std::slice::from_ref(script)),
                None => plain(rest),
            }
        }
        _ => {
            if let Some(script) = value(arguments, "c", "--command") {
                return joined(std::slice::from_ref(script));
            }
            let joined_by = arguments
                .iter()
                .find_map(|word| super::unwrap::render(word).strip_prefix("--command=").map(str::to_owned));
            if let Some(text) = joined_by {
                return vec![Inner::Script { text, positional: Vec::new() }];
            }
            if program == "runuser" && value(arguments, "u", "--user").is_some() {
                return plain(&arguments[operands(arguments, "ugGws", &["--user", "--group"])..]);
            }
            Vec::new()
        }
    }
}

/// Programs with a sub-command that runs a command.
pub(super) fn sub_command(program: &str, arguments: &[Word]) -> Vec<Inner> {
    let verb = arguments.iter().position(|word| {
        let word = text(word);
        !word.starts_with('-') && !matches!(word.as_str(), "compose" | "container")
    });
    let Some(verb) = verb else { return Vec::new() };
    let rest = &arguments[verb + 1..];
    match (program, text(&arguments[verb]).as_str()) {
        ("docker" | "docker-compose" | "podman" | "nerdctl" | "kubectl", "exec" | "run") => {
            let options = [
                "--env",
                "--user",
                "--workdir",
                "--volume",
                "--name",
                "--network",
                "--entrypoint",
                "--mount",
                "--publish",
                "--platform",
                "--env-file",
                "--label",
                "--memory",
                "--cpus",
                "--container",
                "--namespace",
                "--image",
                "--hostname",
                "--add-host",
            ];
            if let Some(dashes) = rest.iter().position(|word| program == "kubectl" && text(word) == "--") {
                return plain(&rest[dashes + 1..]);
            }
            plain(rest.get(operands(rest, "euwvplmhcn", &options) + 1..).unwrap_or_default())
        }
        ("claude" | "codex" | "copilot", "mcp") => match rest.iter().position(|word| text(word) == "--") {
            Some(at) => plain(&rest[at + 1..]),
            None => Vec::new(),
        },
        // `gemini mcp add NAME COMMAND [ARGUMENT]…`, with options anywhere.
        ("gemini", "mcp") => super::unwrap::tails(rest.get(2..).unwrap_or_default()),
        ("git", "bisect") if rest.first().is_some_and(|word| text(word) == "run") => plain(&rest[1..]),
        ("git", "submodule") => match rest.iter().position(|word| text(word) == "foreach") {
            Some(at) => joined(&rest[at + 1 + operands(&rest[at + 1..], "", &[])..]),
            None => Vec::new(),
        },
        ("git", "rebase") => {
            let separate = value(rest, "x", "--exec").map(super::unwrap::render);
            let attached = rest
                .iter()
                .find_map(|word| super::unwrap::render(word).strip_prefix("--exec=").map(str::to_owned));
            separate
                .or(attached)
                .map(|text| Inner::Script { text, positional: Vec::new() })
                .into_iter()
                .collect()
        }
        ("uv" | "poetry" | "pipenv" | "pdm" | "hatch", "run") | ("bundle" | "pnpm", "exec") => plain(
            &rest[operands(
                rest,
                "p",
                &["--with", "--python", "--extra", "--group", "--project", "--directory"],
            )..],
        ),
        _ => Vec::new(),
    }
}
