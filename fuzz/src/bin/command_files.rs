//! Random text for the readers of files that hold commands.

use std::path::Path;
use std::process::ExitCode;

use amplihack_fuzz::{Target, linear, run};
use amplihack_policy::command_files;

/// A file of every kind.
const FILES: [(&str, &str); 9] = [
    (
        "/r/.claude/skills/x/SKILL.md",
        "---\nname: x\nhooks:\n  a:\n    - command: \"ls\"\n      args: [a, 'b']\n---\n!`ls` ```!\nls\n```\n",
    ),
    ("/r/.gemini/commands/x.toml", "prompt = \"\"\"!{ls {{args}}} !{a{b}c}\"\"\"\n"),
    (
        "/r/.mcp.json",
        "// c\n{\"mcpServers\":{\"x\":{\"command\":\"sh\",\"args\":[\"-c\",\"ls\"],\"env\":{\"A\":\"b\"},},}}\n",
    ),
    ("/r/package.json", "{\"scripts\":{\"build\":\"tsc\"}}\n"),
    (
        "/r/Makefile",
        "A := $(B)\nB = $(shell ls) $(A)\nall: a b ; ls\n\t@rm $(A) $$x \\\n\t y\n%.o: %.c\n\tcc $<\n",
    ),
    ("/r/justfile", "x := 'y'\na b: c\n  @echo {{b}}\nc:\n  ls\n"),
    (
        "/r/.github/workflows/x.yml",
        "jobs:\n  a:\n    steps:\n      - run: |\n          ls ${{ secrets.A }}\n      - run: >-\n          a\n",
    ),
    ("/r/.bashrc", "#!/bin/sh\nls\n"),
    ("/r/systemd/x.service", "[Service]\nExecStart=-/bin/sh -c 'ls' \\\n x\n"),
];

const DICTIONARY: &[&str] = &[
    "!`",
    "```!",
    "!{",
    "{{",
    "}}",
    "$(",
    "$$",
    "\\\n",
    ": ",
    "- ",
    "|\n",
    "[",
    "\"command\":",
    "---\n",
    "\t",
    "Exec=",
    "${{",
    "$(shell ",
];

fn main() -> ExitCode {
    let target = Target {
        name: "command_files",
        seeds: FILES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect(),
        dictionary: DICTIONARY,
        longest: 64 * 1024,
        most: |len| linear(50, 20, len),
    };
    run(target, |input| {
        let text = String::from_utf8_lossy(input);
        for (path, _) in FILES {
            for command in command_files::embedded_commands(Path::new(path), &text) {
                assert!(command.script.len() <= (1 << 20) + 16 * text.len(), "more text than there was");
            }
        }
    })
}
