//! The oracle: scripts run under real bash, where every program is a stand-in that only writes down how it was started.
//! Whatever was started must be among the commands that the policy reads from the script.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail loudly, too")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use amplihack_shell::{BashReaders, Limits, Parsed, commands};

/// Programs that are written down.
const STAND_INS: &[&str] = &["rm", "dd", "mkfs", "shred", "curl", "ls", "git"];
/// Programs that a form needs; the real ones.
const REAL: &[&str] = &[
    "bash", "sh", "env", "xargs", "find", "base64", "cat", "timeout", "nohup", "nice", "setsid", "stdbuf",
    "tee", "python3", "perl", "awk", "rev",
];

/// Scripts. `@` stands for a target that does not exist.
const FORMS: &[&str] = &[
    "rm -rf @",
    "r\\\nm -rf @",
    "rm -r\\\nf @",
    "\\rm -rf @",
    "$'\\x72m' -rf @",
    "$'\\162\\155' -rf @",
    "$'\\u0072m' -rf @",
    "r''m -rf @",
    "\"rm\" '-rf' @",
    "r\"\"m -rf @",
    "{rm,-rf,@}",
    "rm -{r,f} @",
    "rm -rf @{1..3}",
    "X=1 Y=2 rm -rf @",
    "X=rm; $X -rf @",
    "X='rm -rf'; $X @",
    "X=r; Y=m; $X$Y -rf @",
    "X=rm; X+=' -rf'; $X @",
    "IFS=,; X=rm,-rf,@; $X",
    "c=(rm -rf @); \"${c[@]}\"",
    "set -- rm -rf @; \"$@\"",
    "set -- -rf @; rm \"$@\"",
    "f() { rm -rf \"$1\"; }; f @",
    "f() { \"$@\"; }; f rm -rf @",
    "f() { shift; \"$@\"; }; f x rm -rf @",
    "function f { rm -rf @; }; f",
    "f() (rm -rf @); f",
    "true && rm -rf @",
    "false || rm -rf @",
    "! rm -rf @",
    "time rm -rf @",
    "time -p rm -rf @",
    "(rm -rf @)",
    "{ rm -rf @; }",
    "((rm -rf @) | cat)",
    "rm -rf @ & wait",
    "coproc rm -rf @; wait",
    "coproc N { rm -rf @; }; wait",
    "if rm -rf @; then ls; else dd; fi",
    "while ! rm -rf @; do break; done",
    "until rm -rf @; do :; done",
    "for i in rm ls; do $i -rf @; done",
    "for ((i=0;i<2;i++)); do rm -rf @; done",
    "select x in a; do rm -rf @; break; done <<< 1",
    "case x in (y|x) rm -rf @;; esac",
    "case x in x) rm -rf @;;& *) ls;; esac",
    "[[ -n x ]] && rm -rf @",
    "[ -n x ] && rm -rf @",
    "echo $(rm -rf @)",
    "echo `rm -rf @`",
    "echo \"$(rm -rf @)\"",
    "echo \"`rm -rf \\`echo @\\``\"",
    "echo \"${x:-$(rm -rf @)}\"",
    "echo ${x:-`rm -rf @`}",
    "echo \"${x:-'$(rm -rf @)'}\"",
    "echo $(( $(rm -rf @) + 1 ))",
    "(( $(rm -rf @) 1 ))",
    "a[$(rm -rf @)0]=1",
    "X=$(rm -rf @)",
    "X=$(rm -rf @) ls",
    "cat < <(rm -rf @)",
    "cat <(rm -rf @)",
    "ls > >(rm -rf @); wait",
    "cat <<< $(rm -rf @)",
    "ls > $(rm -rf @)/dev/null",
    "cat <<E\n$(rm -rf @)\nE\n",
    "cat <<E\n`rm -rf @`\nE\n",
    "cat <<-E\n\t$(rm -rf @)\n\tE\n",
    "cat <<'E'; rm -rf @\nit's\nE\n",
    "cat <<A <<'B'; rm -rf @\n'\nA\n\"\nB\n",
    "cat <<E\nx\nE\nrm -rf @",
    "trap 'rm -rf @' EXIT",
    "trap 'rm -rf @' DEBUG; ls",
    "shopt -s expand_aliases\nalias ll='rm -rf @'\nll",
    "eval 'rm -rf @'",
    "eval rm -rf @",
    "eval \"r\"'m' -rf @",
    "X='rm -rf @'; eval \"$X\"",
    "eval eval 'rm -rf @'",
    "bash -c 'rm -rf @'",
    "bash -ec 'rm -rf @'",
    "bash -c 'rm \"$@\"' _ -rf @",
    "bash -c 'rm -rf $0' @",
    "bash -O extglob -c 'rm -rf @'",
    "bash <<E\nrm -rf @\nE\n",
    "bash <<'E'\nrm -rf @\nE\n",
    "bash <<< 'rm -rf @'",
    "echo 'rm -rf @' | sh",
    "echo rm -rf @ | sh -s",
    "echo 'rm \"$@\"' | bash -s -- -rf @",
    "printf 'rm -rf %s\\n' @ | bash",
    "printf '\\x72m -rf @' | bash",
    "cat <<E | bash\nrm -rf @\nE\n",
    "base64 -d <<< cm0gLXJmIHgK | sh",
    "echo cm0gLXJmIHgK | base64 --decode | bash",
    "echo 'x fr- mr' | rev | sh",
    "bash -c \"$(cat <<'E'\nrm -rf @\nE\n)\"",
    "bash <(echo rm -rf @)",
    "source <(echo rm -rf @)",
    ". /dev/stdin <<< 'rm -rf @'",
    "echo rm -rf @ > >(sh); wait",
    "echo rm -rf @ | tee >(sh) | cat; wait",
    "$(echo rm) -rf @",
    "$(echo rm -rf @)",
    "`echo rm` -rf @",
    "env rm -rf @",
    "env -i PATH=$PATH rm -rf @",
    "env A=b -S ls",
    "env -S 'rm -rf @'",
    "env -S'rm -rf' @",
    "env --split-string='A=b rm -rf' @",
    "env -u X env rm -rf @",
    "timeout 5 rm -rf @",
    "timeout -s KILL 5 rm -rf @",
    "nohup rm -rf @",
    "nice -n 1 rm -rf @",
    "nice -5 rm -rf @",
    "setsid -w rm -rf @",
    "stdbuf -oL rm -rf @",
    "command rm -rf @",
    "command -p -- ls",
    "exec rm -rf @",
    "exec -a x rm -rf @",
    "builtin eval 'rm -rf @'",
    "echo @ | xargs rm -rf",
    "echo @ | xargs -n1 rm -rf",
    "echo @ | xargs -I{} rm -rf {}",
    "echo 'rm -rf @' | xargs -I{} sh -c '{}'",
    "echo x | xargs sh -c 'rm -rf @'",
    "find . -maxdepth 0 -exec rm -rf @ \\;",
    "find . -maxdepth 0 -exec rm -rf @ {} +",
    "find . -maxdepth 0 -execdir sh -c 'rm -rf @' \\;",
    "python3 -c 'import os; os.system(\"rm -rf @\")'",
    "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"@\"])'",
    "python3 <<E\nimport os\nos.system('rm -rf @')\nE\n",
    "perl -e 'system(\"rm -rf @\")'",
    "perl -e '`rm -rf x`'",
    "perl -e 'system(\"rm\", \"-rf\", \"x\")'",
    "awk 'BEGIN { system(\"rm -rf @\") }'",
    "awk 'BEGIN { print \"x\" | \"rm -rf @\" }'",
    "x='a[$(rm -rf @)0]'; echo $((x))",
    "x='a[$(rm -rf @)0]'; [[ x -eq 0 ]]",
    "test -v 'a[$(rm -rf @)0]'",
    "printf -v 'a[$(rm -rf @)0]' x",
    "x='$(rm -rf @)'; echo \"${x@P}\"",
    "PS4='$(rm -rf @)'; set -x; :",
    "printf -v X rm; $X -rf @",
    "read X <<< rm; $X -rf @",
    "declare X=rm; $X -rf @",
    "export X='rm -rf @'; bash -c '$X'",
    "X='rm -rf @' bash -c '$X'",
    "ls;rm -rf @",
    "ls&&rm -rf @",
    "ls|rm -rf @",
    "ls |& rm -rf @",
    "ls >&2|rm -rf @",
    "# c\nrm -rf @",
    "ls # c\\\nrm -rf @",
    "ls \\#c; rm -rf @",
    "echo a#b; rm -rf @",
    "> f rm -rf @",
    ">f 2>&1 rm -rf @",
    "echo \"'\"; rm -rf @; echo \"'\"",
    "echo '\"'; rm -rf @; echo '\"'",
    "echo \\'; rm -rf @; echo \\'",
    "echo $'\\''; rm -rf @",
    "echo \"\\\"\"; rm -rf @",
    "echo ${#x}; rm -rf @",
    "echo $#; rm -rf @",
    "echo $((1<<2)); rm -rf @",
    "((x=1<<2))\nrm -rf @\n2",
    "echo ${x#'}'}; rm -rf @",
    "echo \"${x%\\}}\"; rm -rf @",
    "x=\"$(case a in a) rm -rf @;; esac)\"",
    "x=$(# )\nrm -rf @)",
    "if :; then :; fi; rm -rf @",
    "f() { :; }; rm -rf @",
    "a=(1 2) ; rm -rf @",
    "a=([0]=$(rm -rf @))",
    "while read -r l; do rm -rf \"$l\"; done <<< @",
    "while read -r l; do $l; done <<< 'rm -rf @'",
    "mapfile -t a <<< 'rm'; \"${a[0]}\" -rf @",
    "{ echo rm; echo ls; } | sh",
    "echo rm -rf @ | cat | cat | sh",
    "rm\t-rf\t@",
    "rm -rf @\\\n",
    "rm -rf -- '@ '",
    "ls\\\n;rm -rf @",
    "cd . && rm -rf @",
    "rm -rf $(echo @)",
    "rm -rf \"$(printf %s @)\"",
    "eval \"$(echo rm -rf @)\"",
    "eval \"$(printf '\\162m -rf @')\"",
    "bash -c -- 'rm -rf @'",
    "bash -c 'eval \"$1\"' _ 'rm -rf @'",
    "X=(r m); ${X[0]}${X[1]} -rf @",
    "${X:=rm} -rf @",
    "X=xrm; ${X#x} -rf @",
    "X=mr; ${X:1}${X:0:1} -rf @",
];

const TARGET: &str = "/nonexistent-amplihack/x";

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in REAL {
            if let Some(real) = find(name) {
                symlink(real, bin.join(name)).unwrap();
            }
        }
        let stand_in = bin.join("stand-in");
        let log = dir.path().join("log");
        let script = format!(
            "#!{}\nl=${{0##*/}}\nfor a; do l+=$'\\x1f'$a; done\nprintf '%s\\0' \"$l\" >> '{}'\n",
            find("bash").expect("bash is needed").display(),
            log.display()
        );
        fs::write(&stand_in, script).unwrap();
        fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        for name in STAND_INS {
            symlink(&stand_in, bin.join(name)).unwrap();
        }
        Self { dir }
    }

    /// What bash starts for `script`.
    fn started(&self, script: &str) -> Vec<Vec<String>> {
        let log = self.dir.path().join("log");
        fs::write(&log, "").unwrap();
        let work = tempfile::tempdir_in(self.dir.path()).unwrap();
        let mut child = Command::new(self.dir.path().join("bin/bash"))
            .args(["--norc", "--noprofile", "-c", script])
            .env_clear()
            .env("PATH", self.dir.path().join("bin"))
            .current_dir(work.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..400 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        child.wait().unwrap();
        let text = fs::read_to_string(&log).unwrap();
        text.split_terminator('\0').map(|line| line.split('\u{1f}').map(str::to_owned).collect()).collect()
    }
}

/// The form with its target; `$@`, `${c[@]}` and `${x@P}` keep their sign.
fn with_target(form: &str) -> String {
    let mut script = String::new();
    for (at, c) in form.char_indices() {
        let sign = form[..at].ends_with(['$', '[']) || form[at + c.len_utf8()..].starts_with("P}");
        if c == '@' && !sign { script.push_str(TARGET) } else { script.push(c) }
    }
    script
}

fn find(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .map(|dir| Path::new(dir).join(name))
        .find(|path| path.exists())
}

fn covers(parsed: &Parsed, argv: &[String]) -> bool {
    parsed.commands.iter().any(|command| {
        let literal: Option<Vec<String>> =
            command.words.iter().map(amplihack_shell::ShellWord::literal_text).collect();
        if command.program_name().as_ref() != argv.first() {
            return false;
        }
        // `{}` is what find puts there.
        literal.is_none_or(|words| words[1..] == argv[1..] || words.iter().any(|word| word == "{}"))
    })
}

#[test]
fn whatever_bash_starts_is_in_the_list() {
    let world = World::new();
    let limits = |readers| Limits { deadline: Duration::from_secs(5), readers, ..Limits::default() };
    let (mut missed, mut silent) = (Vec::new(), 0);
    for form in FORMS {
        let script = with_target(form);
        let started = world.started(&script);
        silent += usize::from(started.is_empty());
        for readers in [BashReaders::All, BashReaders::Tree] {
            let parsed = commands(script.as_bytes(), &limits(readers));
            for argv in &started {
                if parsed.undecided.is_empty() && !covers(&parsed, argv) {
                    missed.push(format!("{readers:?}: {script:?}: {argv:?}"));
                }
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
    assert!(
        silent * 10 < FORMS.len(),
        "{silent} of {} forms started nothing: the oracle is blind",
        FORMS.len()
    );
}
