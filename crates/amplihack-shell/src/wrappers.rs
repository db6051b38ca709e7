//! Tables of wrappers: whose options take a word, and where the command is.

use super::model::ShellWord;
use super::unwrap::{WrappedCommand, count_options, joined_script, plain_command};

/// A program that runs the command behind its options.
pub(super) struct WrapperProgram {
    pub(super) names: &'static [&'static str],
    /// Letters of options whose value is the next word.
    pub(super) short: &'static str,
    /// Long ones.
    pub(super) long: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
}

const fn wrapper_row(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> WrapperProgram {
    WrapperProgram { names, short, long, operands }
}

/// Wrappers that need no more than their row.
pub(super) const OTHERS: &[WrapperProgram] = &[
    wrapper_row(
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
    wrapper_row(&["doas"], "Cu", &[], 0),
    wrapper_row(&["pkexec"], "", &["--user"], 0),
    wrapper_row(&["nice"], "n", &["--adjustment"], 0),
    wrapper_row(&["ionice"], "cnpPu", &["--class", "--classdata"], 0),
    wrapper_row(&["timeout", "gtimeout"], "ks", &["--kill-after", "--signal"], 1),
    wrapper_row(&["time", "gtime"], "fo", &["--format", "--output"], 0),
    wrapper_row(&["stdbuf"], "ioe", &["--input", "--output", "--error"], 0),
    wrapper_row(&["exec"], "a", &[], 0),
    wrapper_row(&["chroot"], "", &["--userspec", "--groups"], 1),
    wrapper_row(&["unshare"], "SGRw", &["--root", "--wd", "--setuid", "--setgid"], 0),
    wrapper_row(&["nsenter"], "tSG", &["--target", "--setuid", "--setgid"], 0),
    wrapper_row(
        &["strace", "ltrace"],
        "aEeIOoPpSsuUXb",
        &["--output", "--trace", "--user", "--expr", "--env"],
        0,
    ),
    wrapper_row(&["chrt"], "TPD", &[], 1),
    wrapper_row(&["taskset"], "", &[], 1),
    wrapper_row(&["setpriv"], "", &["--reuid", "--regid", "--groups", "--inh-caps"], 0),
    wrapper_row(
        &["systemd-run"],
        "pHMutE",
        &["--unit", "--property", "--uid", "--gid", "--slice", "--setenv", "--working-directory"],
        0,
    ),
    wrapper_row(
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
    wrapper_row(
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
    wrapper_row(
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

fn literal_or_empty(word: &ShellWord) -> String {
    word.literal_text().unwrap_or_default()
}

/// The value of an option that is a word of its own, or joined to it by `=`.
fn option_value<'a>(words: &'a [ShellWord], short: &str, long: &str) -> Option<&'a ShellWord> {
    let at = words.iter().position(|word| {
        let word = literal_or_empty(word);
        word == long || (word.starts_with('-') && !word.starts_with("--") && word.ends_with(short))
    })?;
    words.get(at + 1)
}

/// `ssh host COMMAND`, and the commands of its own settings. A command without a file of its own reads what ssh reads.
pub(super) fn ssh_commands(arguments: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let at = count_options(arguments, VALUED, &[]);
    let after = arguments.get(at + 1..).unwrap_or_default();
    // Options may follow the host.
    let command = &after[count_options(after, VALUED, &[])..];
    let mut inner = joined_script(command);
    let shell = match command {
        [] => true,
        [program, options @ ..] => {
            let program = literal_or_empty(program);
            program.rsplit('/').next().is_some_and(super::is_shell)
                && options.iter().all(|word| literal_or_empty(word).starts_with('-'))
                && !options.iter().any(|word| literal_or_empty(word).contains('c'))
        }
    };
    let script = |text: &str| WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() };
    inner.extend(input.filter(|_| shell).map(script));
    let settings = arguments.iter().map(super::unwrap::render_word);
    inner.extend(settings.filter_map(|word| {
        let setting = word.strip_prefix("-o").unwrap_or(&word).trim_start();
        let (name, value) = setting.split_once(['=', ' '])?;
        let runs = ["proxycommand", "localcommand", "knownhostscommand"];
        runs.contains(&name.to_ascii_lowercase().as_str()).then(|| script(value))
    }));
    inner
}

/// Wrappers whose command is a script.
pub(super) fn scripted_commands(program: &str, arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    match program {
        "watch" => joined_script(&arguments[count_options(arguments, "n", &["--interval"])..]),
        "flock" => {
            let rest = arguments
                .get(count_options(arguments, "wE", &["--timeout", "--wait", "--conflict-exit-code"]) + 1..)
                .unwrap_or_default();
            match option_value(rest, "c", "--command") {
                Some(script) => joined_script(std::slice::from_ref(script)),
                None => plain_command(rest),
            }
        }
        _ => {
            if let Some(script) = option_value(arguments, "c", "--command") {
                return joined_script(std::slice::from_ref(script));
            }
            let joined_by = arguments.iter().find_map(|word| {
                super::unwrap::render_word(word).strip_prefix("--command=").map(str::to_owned)
            });
            if let Some(text) = joined_by {
                return vec![WrappedCommand::Script { text, positional: Vec::new() }];
            }
            if program == "runuser" && option_value(arguments, "u", "--user").is_some() {
                return plain_command(
                    &arguments[count_options(arguments, "ugGws", &["--user", "--group"])..],
                );
            }
            let behind = |skipped: usize| {
                let rest = &arguments[count_options(arguments, "BEIOTmo", &["--log-out", "--log-timing"])..];
                rest.get(skipped..).unwrap_or_default()
            };
            match program {
                // `script FILE COMMAND…` of other systems, and `sg GROUP SCRIPT`.
                "script" => plain_command(behind(1)),
                "sg" => joined_script(behind(1)),
                _ => Vec::new(),
            }
        }
    }
}

/// Programs with a sub-command that runs a command.
pub(super) fn sub_command(program: &str, arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let verb = arguments.iter().position(|word| {
        let word = literal_or_empty(word);
        !word.starts_with('-') && !matches!(word.as_str(), "compose" | "container")
    });
    let Some(verb) = verb else { return Vec::new() };
    let rest = &arguments[verb + 1..];
    match (program, literal_or_empty(&arguments[verb]).as_str()) {
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
            if let Some(dashes) =
                rest.iter().position(|word| program == "kubectl" && literal_or_empty(word) == "--")
            {
                return plain_command(&rest[dashes + 1..]);
            }
            plain_command(rest.get(count_options(rest, "euwvplmhcn", &options) + 1..).unwrap_or_default())
        }
        ("claude" | "codex" | "copilot", "mcp") => {
            match rest.iter().position(|word| literal_or_empty(word) == "--") {
                Some(at) => plain_command(&rest[at + 1..]),
                None => Vec::new(),
            }
        }
        // `gemini mcp add NAME COMMAND [ARGUMENT]…`, with options anywhere.
        ("gemini", "mcp") => super::unwrap::tail_commands(rest.get(2..).unwrap_or_default()),
        ("git", "bisect") if rest.first().is_some_and(|word| literal_or_empty(word) == "run") => {
            plain_command(&rest[1..])
        }
        ("git", "submodule") => match rest.iter().position(|word| literal_or_empty(word) == "foreach") {
            Some(at) => joined_script(&rest[at + 1 + count_options(&rest[at + 1..], "", &[])..]),
            None => Vec::new(),
        },
        ("git", "rebase") => {
            let separate = option_value(rest, "x", "--exec").map(super::unwrap::render_word);
            let attached = rest
                .iter()
                .find_map(|word| super::unwrap::render_word(word).strip_prefix("--exec=").map(str::to_owned));
            separate
                .or(attached)
                .map(|text| WrappedCommand::Script { text, positional: Vec::new() })
                .into_iter()
                .collect()
        }
        ("uv" | "poetry" | "pipenv" | "pdm" | "hatch", "run")
        | ("bundle" | "pnpm", "exec")
        | ("pnpm", "dlx") => plain_command(
            &rest[count_options(
                rest,
                "p",
                &["--with", "--python", "--extra", "--group", "--project", "--directory"],
            )..],
        ),
        _ => Vec::new(),
    }
}
