//! Odd environments, each with the nine commands that a user or an agent begins with: each works, or names what is wrong and the way out.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Run, Sandbox, Script, create_repository, long, skip_test};

use crate::fakes::fakes;
use crate::world::amplihack;

/// A call that the policy of every environment denies, and one that it lets through.
const DENIED: &str = "git commit --no-verify -m x";
const HARMLESS: &str = "ls";

/// Commands: name, arguments, what a hook is asked about, expected exit code.
const COMMANDS: [(&str, &[&str], Option<&str>, i32); 9] = [
    ("launch", &["claude", "hi"], None, 0),
    ("json", &["claude", "--output", "json", "--prompt", "hi"], None, 0),
    ("hook deny", &["hook", "pre-tool-use", "--host", "claude"], Some(DENIED), 2),
    ("hook ok", &["hook", "pre-tool-use", "--host", "claude"], Some(HARMLESS), 0),
    ("recipe", &["recipe", "run", "RECIPE"], None, 0),
    ("sessions", &["sessions", "list"], None, 0),
    ("which", &["which"], None, 0),
    ("policy", &["policy", "check", DENIED], None, 4),
    ("config", &["config", "show"], None, 0),
];

/// A repository with a recipe and fake agents that answer like Claude Code.
fn place() -> Sandbox {
    let mut sandbox = fakes();
    let lines = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s1"}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":false,"result":"hello","session_id":"s1"}"#,
        "\n"
    );
    sandbox.script(&Script::new().print(lines));
    sandbox.write("r.yaml", "name: r\nsteps:\n  - {id: a, command: echo ran}\n");
    sandbox
}

/// The exit codes that `name` may have, and a text that stderr must hold then.
type Exception = (&'static str, i32, &'static str);

/// Runs every command in `sandbox`, in its working directory or in `cwd`, behind `before`, a line of bash. Each ends as it should, but for
/// `exceptions`, which fail with the text that tells the way out.
#[track_caller]
fn assert_holds(sandbox: &Sandbox, cwd: Option<&Path>, before: &str, exceptions: &[Exception]) {
    let mut faults = Vec::new();
    for (name, args, asked, code) in COMMANDS {
        let mut command = sandbox.command("/bin/bash");
        command.current_dir(cwd.unwrap_or(&sandbox.work()));
        let recipe = sandbox.root().join("r.yaml");
        command.args(["-c", &format!("{before}\nexec \"$@\""), "sh"]).arg(amplihack());
        for arg in args {
            if *arg == "RECIPE" {
                command.arg(&recipe)
            } else {
                command.arg(arg)
            };
        }
        let payload = asked.map(|call| {
            serde_json::json!({
                "session_id": "s", "hook_event_name": "PreToolUse", "cwd": sandbox.work(),
                "tool_name": "Bash", "tool_input": {"command": call},
            })
        });
        let mut run = Run::new(command);
        if let Some(payload) = payload {
            run = run.stdin(payload.to_string());
        }
        let output = run.output();
        let (code, text) = exceptions
            .iter()
            .find(|(exception, ..)| *exception == name)
            .map_or((code, ""), |(_, code, text)| (*code, *text));
        // A command for programs gives its error as its answer.
        let said = output.stderr_text() + &output.stdout_text();
        if output.code != Some(code) || !said.contains(text) || said.contains("panicked") {
            faults.push(format!("{name}: expected {code} and {text:?}\n{output}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

macro_rules! odd_places {
    ($($name:ident: $before:expr, $exceptions:expr, $prepare:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut sandbox = place();
            let prepare: fn(&mut Sandbox) -> Option<PathBuf> = $prepare;
            let cwd = prepare(&mut sandbox);
            assert_holds(&sandbox, cwd.as_deref(), $before, &$exceptions);
        }
    )*};
}

fn odd_name(start: &str) -> OsString {
    OsString::from_vec([start.as_bytes(), b"\xff\xfe"].concat())
}

fn home_at(sandbox: &mut Sandbox, name: impl Into<OsString>) {
    let home = sandbox.root().join(name.into());
    std::fs::create_dir_all(&home).unwrap();
    sandbox.set("HOME", home);
}

fn work_at(sandbox: &Sandbox, name: impl Into<OsString>) -> PathBuf {
    let work = sandbox.root().join(name.into());
    create_repository(&work);
    work
}

/// What a launch says that cannot name its directory in a registration.
const NO_PLAIN_NAME: &str = "set AMPLIHACK_HOME to a directory with a plain name";
/// What a run says that would not have the files that it needs.
const MORE_FILES: &str = "ulimit -n 1024";
/// Whoever runs the tests may have left files open in them: they would count.
const NO_INHERITED_FILES: &str =
    "for file in /proc/self/fd/*; do file=${file##*/}; [ $file -lt 3 ] || eval \"exec $file>&-\"; done";
/// What commands say whose home cannot be written.
const OTHER_HOME: &str = "set AMPLIHACK_HOME to another directory";

odd_places! {
    the_usual: "", [], |_| None;
    locale_c: "LC_ALL=C; export LC_ALL", [], |sandbox| Some(work_at(sandbox, "wörk ünd mehr"));
    turkish_far_away: "LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 TZ=Pacific/Apia; export LC_ALL LANG TZ", [], |_| None;
    a_time_zone_that_is_none: "TZ=Nowhere/None; export TZ", [], |_| None;
    an_unknown_terminal: "TERM=no-such-terminal COLUMNS=0; export TERM COLUMNS", [], |_| None;
    closed_stdin: "[ -p /dev/stdin ] || exec <&-", [], |_| None;
    closed_stdout: "exec >&-", [], |_| None;
    closed_stderr: "exec 2>&-", [], |_| None;
    all_streams_closed: "[ -p /dev/stdin ] || exec <&-; exec >&- 2>&-", [], |_| None;
    small_stack: "ulimit -s 1024", [], |_| None;
    little_memory: "ulimit -v 400000", [], |_| None;
    small_files: "ulimit -f 200", [], |_| None;
    no_file_at_all: "ulimit -f 0", [
        ("launch", 1, "File too large"),
        ("json", 1, "File too large"),
        ("recipe", 1, OTHER_HOME),
    ], |sandbox| {
        sandbox.unset("FAKE_AGENT_LOG");
        None
    };
    few_open_files: &format!("{NO_INHERITED_FILES}\nulimit -n 64"), [], |_| None;
    too_few_open_files: "ulimit -n 24", [
        ("launch", 1, MORE_FILES),
        ("json", 1, MORE_FILES),
        ("recipe", 1, MORE_FILES),
    ], |_| None;
    hardly_any_open_files: &format!("{NO_INHERITED_FILES}\nulimit -n 6"), [
        ("launch", 1, MORE_FILES),
        ("json", 1, MORE_FILES),
        ("recipe", 1, MORE_FILES),
    ], |_| None;
    home_behind_a_link: "", [], |sandbox| {
        std::os::unix::fs::symlink(sandbox.home(), sandbox.root().join("link")).unwrap();
        let link = sandbox.root().join("link");
        sandbox.set("HOME", link);
        None
    };
    home_with_signs_of_the_shell: "", [], |sandbox| { home_at(sandbox, "h 'o\"m$(e)é`;&"); None };
    home_that_is_not_utf8: "", [("launch", 1, NO_PLAIN_NAME), ("json", 1, NO_PLAIN_NAME)],
        |sandbox| { home_at(sandbox, odd_name("home")); None };
    home_with_a_line_break: "", [("launch", 1, NO_PLAIN_NAME), ("json", 1, NO_PLAIN_NAME)],
        |sandbox| { home_at(sandbox, "home\nhome"); None };
    directory_that_is_not_utf8: "", [], |sandbox| Some(work_at(sandbox, odd_name("work")));
    directory_with_a_line_break: "", [], |sandbox| Some(work_at(sandbox, "work\nwork"));
    home_that_nobody_can_write: "", [
        ("launch", 1, OTHER_HOME),
        ("json", 1, OTHER_HOME),
        ("recipe", 1, OTHER_HOME),
    ], |sandbox| {
        sandbox.set("HOME", "/proc/no-such-home");
        None
    };
    another_home_for_one_that_nobody_can_write: "", [], |sandbox| {
        let ours = sandbox.root().join("ours");
        sandbox.set("HOME", "/proc/no-such-home").set("AMPLIHACK_HOME", ours);
        None
    };
    home_that_is_unset: "unset HOME", [("sessions", 1, "neither AMPLIHACK_HOME nor HOME is an absolute path")], |_| None;
    an_empty_git_file: "", [], |sandbox| {
        std::fs::write(sandbox.root().join(".git"), "").unwrap();
        let work = sandbox.root().join("elsewhere");
        std::fs::create_dir(&work).unwrap();
        Some(work)
    };
    an_empty_git_directory: "", [], |sandbox| {
        std::fs::create_dir(sandbox.root().join(".git")).unwrap();
        let work = sandbox.root().join("elsewhere");
        std::fs::create_dir(&work).unwrap();
        Some(work)
    };
}

/// [`assert_holds`] in namespaces that `options` of `unshare` make, after `mounts`, lines of bash.
fn assert_holds_apart(options: &str, mounts: &str, exceptions: &[Exception]) {
    let sandbox = place();
    let before = format!(
        "PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin\nexec unshare --user {options} -- /bin/bash -c '{mounts}\nexec \"$@\"' bash \"$@\""
    );
    let mut probe = sandbox.command("/bin/bash");
    probe.args(["-c", &before, "bash", "true"]);
    let probe = Run::new(probe).output();
    if probe.code != Some(0) {
        return skip_test(&format!("no user namespaces here: {}", probe.stderr_text().trim()));
    }
    assert_holds(&sandbox, None, &before, exceptions);
}

#[test]
fn a_user_whom_no_list_of_users_names() {
    assert_holds_apart("--map-user=54321 --map-group=54321", "", &[]);
    let no_home = [("sessions", 1, "neither AMPLIHACK_HOME nor HOME is an absolute path")];
    assert_holds_apart("--map-user=54321 --map-group=54321", "unset HOME", &no_home);
}

#[test]
fn no_program_may_be_run_in_the_home_or_among_temporary_files() {
    let forbid = "mount --bind $directory $directory && mount -o remount,bind,noexec $directory";
    let mounts = format!(
        "export TMPDIR=$HOME/../temporary; mkdir -p $TMPDIR; for directory in $HOME $TMPDIR; do {forbid} || exit 99; done"
    );
    assert_holds_apart("--map-root-user --mount", &mounts, &[]);
}

#[test]
fn without_proc_nothing_is_started_that_could_not_be_ended() {
    let untold = "/proc";
    let exceptions = [("launch", 1, untold), ("json", 1, untold), ("recipe", 1, untold)];
    assert_holds_apart("--map-root-user --mount", "mount -t tmpfs none /proc || exit 99", &exceptions);
}

/// Mounts a root directory with programs and `/dev/null`, and nothing else, and has what follows run in it.
const OTHER_ROOT: &str = r#"
root=$HOME/../apart; mkdir -p $root && mount -t tmpfs none $root || exit 99
for path in /usr /lib /lib64 /bin /sbin; do
    if [ -L $path ]; then ln -s $(readlink $path) $root$path
    elif [ -e $path ]; then mkdir -p $root$path && mount --rbind $path $root$path || exit 99; fi
done
mkdir $root/proc $root/dev $root/tmp && mount --rbind /proc $root/proc && touch $root/dev/null && mount --bind /dev/null $root/dev/null || exit 99
for path in $(realpath $HOME/..) $(realpath $(dirname $(command -v $1))); do mkdir -p $root$path && mount --bind $path $root$path || exit 99; done
set -- chroot $root /bin/bash -c "cd \"$PWD\" && exec \"\$@\"" bash "$@"
"#;

#[test]
fn a_root_directory_with_programs_alone() {
    assert_holds_apart("--map-root-user --mount", OTHER_ROOT, &[]);
}

#[test]
fn ten_thousand_runs_and_an_audit_of_a_gigabyte() {
    let sandbox = place();
    assert_holds(&sandbox, None, "", &[]);
    let home = sandbox.home().join(".amplihack");
    let recorded: Vec<PathBuf> =
        std::fs::read_dir(home.join("sessions")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let one = recorded.iter().find(|path| path.join("run.json").is_file()).expect("a run is recorded");
    let (runs, bytes) = if long() { (10_000, 1 << 30) } else { (300, 4 << 20) };
    for number in 0..runs {
        let copy = home.join(format!("sessions/20200101T000000Z-{number:012x}"));
        std::fs::create_dir(&copy).unwrap();
        for file in std::fs::read_dir(one).unwrap().flatten().filter(|file| file.path().is_file()) {
            std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
    }
    let logs = std::fs::read_dir(sandbox.home().join(".claude/logs/xpia")).unwrap().flatten();
    let audit =
        logs.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "log")).unwrap();
    let lines = std::fs::read(&audit).unwrap();
    let mut long_audit = std::io::BufWriter::new(std::fs::File::create(&audit).unwrap());
    for _ in 0..bytes / lines.len() {
        long_audit.write_all(&lines).unwrap();
    }
    drop(long_audit);
    assert_holds(&sandbox, None, "", &[]);
    let shown = |args: &[&str]| crate::world::run(&sandbox, args).assert_code(0).json();
    assert!(shown(&["sessions", "list", "--json"])["sessions"].as_array().unwrap().len() > runs);
    assert_eq!(shown(&["audit", "show", "--limit", "3", "--json"]).as_array().unwrap().len(), 3);
}

#[test]
fn what_lies_above_is_nobodys_repository() {
    for is_file in [true, false] {
        let sandbox = place();
        let (root, work) = (sandbox.root().to_owned(), sandbox.root().join("a/b"));
        std::fs::create_dir_all(&work).unwrap();
        if is_file {
            std::fs::write(root.join(".git"), "").unwrap();
        } else {
            std::fs::create_dir(root.join(".git")).unwrap();
        }
        let run = |args: &[&str]| -> Output {
            let mut command = sandbox.command(amplihack());
            command.args(args).current_dir(&work);
            Run::new(command).output()
        };
        run(&["config", "trust"]).assert_code(1).assert_stderr_has("repository");
        run(&["claude", "hi"]).assert_code(0);
        assert!(work.join(".claude/runtime/launcher_context.json").is_file(), "beside the work");
        assert!(!root.join(".claude").exists(), "nothing above it");
    }
}

#[test]
fn a_sandbox_in_a_repository_is_in_none() {
    let outer = Sandbox::new();
    create_repository(outer.root());
    outer.write(".amplihack/policy.toml", "disable = [\"guards/no-verify\"]\n");
    let inner = Sandbox::within(outer.root());
    inner.fake("claude");
    inner.run("git", ["rev-parse", "--show-toplevel"]).assert_code(128);
    inner.run(amplihack(), ["config", "trust"]).assert_code(1).assert_stderr_has("repository");
    inner.run(amplihack(), ["claude", "hi"]).assert_code(0);
    assert!(inner.work().join(".claude/runtime/launcher_context.json").is_file());
    assert!(!outer.root().join(".claude").exists());
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_task_or_of_values() {
    let sandbox = place();
    sandbox.write("r.yaml", "name: r\nsteps:\n  - {id: a, command: \"echo [{{x}}]\"}\n");
    sandbox.write("values.json", "\u{feff}{\"x\": \"y\"}");
    let recipe = sandbox.root().join("r.yaml");
    let values = sandbox.root().join("values.json");
    let args =
        ["recipe", "run", recipe.to_str().unwrap(), "--context-file", values.to_str().unwrap(), "-f", "json"];
    sandbox.run(amplihack(), args).assert_code(0).assert_stdout_has("[y]");
}

#[test]
fn text_in_hebrew_and_arabic_passes_and_invisible_letters_do_not() {
    let sandbox = place();
    let check = |command: &str| sandbox.run(amplihack(), ["policy", "check", command]);
    check("echo 'תיקון \u{200f}(3)'").assert_code(0);
    check("echo \"إصلاح \u{61c}3\"").assert_code(0);
    check("echo 'x\u{e0069}\u{e0067}'").assert_code(4).assert_stdout_has("not shown");
    check("echo 'x\u{202e}'").assert_code(4).assert_stdout_has("changes how text is shown");
}

#[test]
fn unattended_runs_that_would_lack_open_files_do_not_begin() {
    let sandbox = crate::auto::claude("result done\n");
    let one = &["auto", "--agent", "claude", "--task", "look"][..];
    let several = &["parallel", "--task-file", "tasks", "--agents", "claude", "--max", "9"];
    sandbox.write("work/tasks", "look\n".repeat(9));
    // Nine runs at once need more than one does.
    for (limit, args, needed) in [(24, one, "64 are needed"), (150, several, "192 are needed")] {
        let mut command = sandbox.command("/bin/bash");
        command.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]).arg(amplihack()).args(args);
        let output = Run::new(command).output();
        output.assert_code(1);
        let said = output.stderr_text();
        assert!(said.contains(needed) && said.contains(MORE_FILES), "{said}");
        assert!(!sandbox.home().join(".amplihack/sessions").exists(), "{said}");
    }
}

#[test]
fn an_unattended_run_without_git_does_not_begin() {
    let sandbox = place();
    let output = sandbox.run(amplihack(), ["auto", "--agent", "claude", "--task", "x"]);
    output.assert_code(3).assert_stderr("error: git was not found on PATH; unattended runs compare the files before and after with it\nhint: install git\n");
    assert_eq!(sandbox.starts(), []);
}
