//! The shell script of a fake: it notes down how it was called, then plays its reply from files.

use std::io;
use std::path::Path;
use std::time::Duration;

use amplihack_sys::{push_line, push_text};

use super::reply::{FakeReply, ReplyStep};

/// Notes down one call. Directories are made, not opened, since that is what two calls at the same time cannot both do.
const NOTE: &str = r#"
n=1
while ! command -p mkdir "$D/calls/$n" 2>/dev/null; do n=$((n + 1)); done
C="$D/calls/$n"
[ $# -eq 0 ] || printf '%s\0' "$@" > "$C/args"
command -p env -0 > "$C/env"
pwd > "$C/cwd"
i=0
for arg in "$@"; do
    i=$((i + 1))
    [ ! -f "$arg" ] || command -p head -c 1048576 "$arg" > "$C/file-$i"
done
hear() { command -p cat >> "$C/stdin"; }
hear_line() { IFS= read -r line && printf '%s\n' "$line" >> "$C/stdin"; }
"#;

/// The script of a fake in `dir`; what it writes is put into files there.
pub(super) fn write_script(
    dir: &Path,
    version: &str,
    commands: &[(Vec<String>, FakeReply)],
    runs: &[FakeReply],
) -> io::Result<String> {
    let mut script = format!("#!/bin/sh\nD={}\n", quote_word(&dir.to_string_lossy()));
    push_text!(
        script,
        "case \" $* \" in *' --version '*) printf '%s\\n' {}; exit 0;; esac\n{NOTE}",
        quote_word(&format!("{version} (fake)"))
    );
    let mut data = ScriptData { dir: &dir.join("data"), count: 0 };
    script.push_str("case \" $* \" in\n");
    for (words, reply) in commands {
        push_text!(
            script,
            "*{}*)\n{};;\n",
            quote_word(&format!(" {} ", words.join(" "))),
            data.play_commands(reply)?
        );
    }
    script
        .push_str("esac\nr=1\nwhile ! command -p mkdir \"$D/runs/$r\" 2>/dev/null; do r=$((r + 1)); done\n");
    push_line!(script, "[ $r -le {0} ] || r={0}\ncase $r in", runs.len());
    for (at, reply) in runs.iter().enumerate() {
        push_text!(script, "{})\n{};;\n", at + 1, data.play_commands(reply)?);
    }
    script.push_str("esac\n");
    Ok(script)
}

/// The files of what is written.
struct ScriptData<'a> {
    dir: &'a Path,
    count: usize,
}

impl ScriptData<'_> {
    fn write_file(&mut self, bytes: &[u8]) -> io::Result<String> {
        self.count += 1;
        let path = self.dir.join(self.count.to_string());
        std::fs::write(&path, bytes)?;
        Ok(quote_word(&path.to_string_lossy()))
    }

    /// The commands that play a reply and exit.
    fn play_commands(&mut self, reply: &FakeReply) -> io::Result<String> {
        let awaits = reply.steps.contains(&ReplyStep::Await);
        let mut lines = String::from(match (reply.deaf, awaits) {
            (true, _) => "exec 0<&-\n",
            (false, true) => "",
            (false, false) => "hear\n",
        });
        for step in &reply.steps {
            let line = match step {
                ReplyStep::Stdout(bytes) => format!("command -p cat {}", self.write_file(bytes)?),
                ReplyStep::Stderr(bytes) => format!("command -p cat {} >&2", self.write_file(bytes)?),
                ReplyStep::Pause(time) => format!("command -p sleep {}", format_seconds(*time)),
                ReplyStep::Behind(time) => format!("command -p sleep {} &", format_seconds(*time)),
                ReplyStep::Await => "hear_line".to_owned(),
                ReplyStep::Exit(code) => format!("exit {code}"),
            };
            lines.push_str(&line);
            lines.push('\n');
        }
        lines.push_str(if awaits { "hear\nexit 0\n" } else { "exit 0\n" });
        Ok(lines)
    }
}

fn format_seconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}

fn quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
