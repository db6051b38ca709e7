//! Recordings of any length, made from numbers that only look random: the mix of a session that writes code.
//!
//! One opening line, turns of text, tool calls and tool results, one result. The sizes of tool results are log-normal; texts hold escapes, control
//! characters and several scripts. The same seed makes the same bytes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::random::Random;
use crate::Failure;

/// Whose recording it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    Amp,
    Claude,
    Codex,
    Copilot,
}

impl Flavor {
    pub(crate) const ALL: [Self; 4] = [Self::Amp, Self::Claude, Self::Codex, Self::Copilot];

    /// The agent's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Amp => "amp",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
        }
    }
}

/// The longest tool result before it is escaped, so that no line reaches 64 KiB, where Amp's SDK for Python gives up.
const LONGEST: usize = 40_000;

/// What was written.
pub(crate) struct Recording {
    pub(crate) lines: usize,
    pub(crate) bytes: usize,
    pub(crate) longest: usize,
}

/// Writes a recording of at least `bytes` bytes to `path`.
pub(crate) fn write(path: &Path, flavor: Flavor, bytes: usize) -> Result<Recording, Failure> {
    let failed = |error| format!("failed to write {}: {error}", path.display());
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    let mut recording = Recording { lines: 0, bytes: 0, longest: 0 };
    let mut session = Session { random: Random::new(7), flavor, calls: 0 };
    let mut put = |text: &str| {
        for line in text.lines() {
            recording.lines += 1;
            recording.longest = recording.longest.max(line.len() + 1);
        }
        recording.bytes += text.len();
        out.write_all(text.as_bytes()).map_err(failed)?;
        Ok::<_, Failure>(recording.bytes)
    };
    put(&session.opening())?;
    while put(&session.turn())? < bytes {}
    put(&session.result())?;
    out.flush().map_err(failed)?;
    Ok(recording)
}

/// A recording whose only tool result has `bytes` bytes.
pub(crate) fn one_long_line(path: &Path, bytes: usize) -> Result<(), Failure> {
    let mut session = Session { random: Random::new(7), flavor: Flavor::Amp, calls: 0 };
    let code = session.random.code(bytes);
    let text = [session.opening(), session.answer("toolu_1", &code), session.result()].concat();
    std::fs::write(path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))
}

/// Lines of one session.
struct Session {
    random: Random,
    flavor: Flavor,
    calls: u64,
}

const SESSION: &str = "T-5d0c1f66-3a2b-4f4e-9a51-0b6d7c1e2f30";
const TOOLS: &[&str] = &["Bash", "Read", "edit_file", "create_file", "Grep", "Task", "mcp__fs__read"];

impl Session {
    fn opening(&mut self) -> String {
        match self.flavor {
            Flavor::Amp | Flavor::Claude => {
                let more = if self.flavor == Flavor::Claude {
                    r#","model":"fake","permissionMode":"default","slash_commands":[],"apiKeySource":"none","output_style":"default""#
                } else {
                    ""
                };
                format!(
                    "{{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/home/dev/répo\",\"session_id\":\"{SESSION}\",\"tools\":[\"{}\"],\
                     \"mcp_servers\":[{{\"name\":\"fs\",\"status\":\"connected\"}}]{more}{}}}\n",
                    TOOLS.join("\",\""),
                    self.unique()
                )
            }
            Flavor::Codex => format!(
                "{{\"type\":\"thread.started\",\"thread_id\":\"{SESSION}\"}}\n{{\"type\":\"turn.started\"}}\n"
            ),
            Flavor::Copilot => self.dotted("session.tools_updated", "{\"model\":\"fake\"}"),
        }
    }

    /// Something said as a rule, one to three tool calls, and their results.
    fn turn(&mut self) -> String {
        let said = (self.random.below(100) < 55).then(|| {
            let words = 3 + self.random.below(117);
            self.random.words(words)
        });
        let calls: Vec<(String, &str, String)> = (0..[1, 1, 1, 2, 3][self.random.below(5)])
            .map(|_| {
                self.calls += 1;
                let tool = TOOLS[self.random.below(TOOLS.len())];
                (format!("toolu_{:024x}", self.calls), tool, self.random.input(tool))
            })
            .collect();
        let mut text = self.asks(said.as_deref(), &calls);
        for (id, _, input) in &calls {
            let bytes = self.random.size().min(LONGEST);
            let code = self.random.code(bytes);
            match self.flavor {
                Flavor::Amp | Flavor::Claude => text.push_str(&self.answer(id, &code)),
                Flavor::Codex => text.push_str(&codex_command(id, input, &code)),
                Flavor::Copilot => {
                    let data = format!(
                        "{{\"toolCallId\":\"{id}\",\"model\":\"fake\",\"turnId\":\"0\",\"shellExecution\":{{\"exitCode\":0}},\"success\":true,\
                         \"result\":{{\"content\":{0},\"detailedContent\":{0}}}}}",
                        quoted(&code)
                    );
                    text.push_str(&self.dotted("tool.execution_complete", &data));
                }
            }
        }
        text
    }

    /// The agent's part of a turn.
    fn asks(&mut self, said: Option<&str>, calls: &[(String, &str, String)]) -> String {
        match self.flavor {
            Flavor::Amp | Flavor::Claude => {
                let text = said.map(|said| format!("{{\"type\":\"text\",\"text\":{}}}", quoted(said)));
                let calls = calls.iter().map(|(id, tool, input)| {
                    format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{tool}\",\"input\":{input}}}")
                });
                let content: Vec<String> = text.into_iter().chain(calls).collect();
                format!(
                    "{{\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{:016x}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"fake\",\"content\":[{}],\
                     \"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{}}},\"parent_tool_use_id\":null,\"session_id\":\"{SESSION}\"{}}}\n",
                    self.random.next(),
                    content.join(","),
                    self.random.usage(),
                    self.unique()
                )
            }
            Flavor::Codex => said.map_or_else(String::new, |said| {
                format!(
                    "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"item_{}\",\"type\":\"agent_message\",\"text\":{}}}}}\n",
                    self.random.next(),
                    quoted(said)
                )
            }),
            Flavor::Copilot => {
                let requests: Vec<String> = calls
                    .iter()
                    .map(|(id, tool, input)| {
                        format!("{{\"toolCallId\":\"{id}\",\"name\":\"{tool}\",\"arguments\":{input},\"type\":\"function\"}}")
                    })
                    .collect();
                let data = format!(
                    "{{\"messageId\":\"m{}\",\"model\":\"fake\",\"content\":{},\"toolRequests\":[{}],\"turnId\":\"0\"}}",
                    self.random.next(),
                    quoted(said.unwrap_or_default()),
                    requests.join(",")
                );
                self.dotted("assistant.message", &data)
            }
        }
    }

    /// A tool's result, as Amp and Claude Code tell it.
    fn answer(&mut self, id: &str, code: &str) -> String {
        format!(
            "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":{},\"is_error\":{}}}]}},\
             \"parent_tool_use_id\":null,\"session_id\":\"{SESSION}\"{}}}\n",
            quoted(code),
            self.random.below(20) == 0,
            self.unique()
        )
    }

    fn result(&mut self) -> String {
        match self.flavor {
            Flavor::Amp | Flavor::Claude => {
                let more =
                    if self.flavor == Flavor::Claude { ",\"duration_api_ms\":1000,\"total_cost_usd\":0.5" } else { "" };
                format!(
                    "{{\"type\":\"result\",\"subtype\":\"success\",\"duration_ms\":123456,\"is_error\":false,\"num_turns\":9,\"result\":\"Done.\",\
                     \"session_id\":\"{SESSION}\",\"usage\":{},\"permission_denials\":[]{more}{}}}\n",
                    self.random.usage(),
                    self.unique()
                )
            }
            Flavor::Codex => {
                "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":20,\"cached_input_tokens\":0,\"output_tokens\":10}}\n".to_owned()
            }
            Flavor::Copilot => format!(
                "{{\"type\":\"result\",\"timestamp\":\"2026-11-27T21:57:13.630Z\",\"sessionId\":\"{SESSION}\",\"exitCode\":0,\"usage\":{{\"premiumRequests\":0}}}}\n"
            ),
        }
    }

    /// Claude Code names each of its lines.
    fn unique(&mut self) -> String {
        if self.flavor == Flavor::Claude {
            format!(",\"uuid\":\"{:032x}\"", self.random.next())
        } else {
            String::new()
        }
    }

    /// A line of Copilot's.
    fn dotted(&mut self, kind: &str, data: &str) -> String {
        format!(
            "{{\"type\":\"{kind}\",\"data\":{data},\"id\":\"{:032x}\",\"timestamp\":\"2026-11-27T21:57:13.148Z\",\"parentId\":\"{:032x}\"}}\n",
            self.random.next(),
            self.random.next()
        )
    }
}

/// A command as Codex tells it: that it began, and what came of it.
fn codex_command(id: &str, input: &str, code: &str) -> String {
    let command = quoted(&format!("/bin/bash -lc {input}"));
    let item = |output: &str, code: &str, status: &str| {
        format!(
            "\"item\":{{\"id\":\"{id}\",\"type\":\"command_execution\",\"command\":{command},\"aggregated_output\":{output},\"exit_code\":{code},\"status\":\"{status}\"}}"
        )
    };
    format!(
        "{{\"type\":\"item.started\",{}}}\n{{\"type\":\"item.completed\",{}}}\n",
        item("\"\"", "null", "in_progress"),
        item(&quoted(code), "0", "completed")
    )
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 8 + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{Flavor, quoted, write};

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"\\\n\t\u{1b}é"), r#""a\"\\\n\t\u001bé""#);
    }

    #[test]
    fn a_recording_is_the_same_each_time_and_has_no_line_of_64_kib() {
        let directory = std::env::temp_dir().join(format!("xtask-transcript-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for flavor in Flavor::ALL {
            let path = directory.join(flavor.name());
            let recording = write(&path, flavor, 300_000).unwrap();
            let first = std::fs::read(&path).unwrap();
            assert_eq!(recording.bytes, first.len());
            assert_eq!(recording.lines, first.split(|byte| *byte == b'\n').count() - 1);
            // Copilot tells each result twice in a line.
            assert!(flavor == Flavor::Copilot || recording.longest < 65_536, "{}", recording.longest);
            write(&path, flavor, 300_000).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), first);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
