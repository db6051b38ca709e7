//! Recipes: what running steps costs over the bash that they are.

use std::fmt::Write as _;
use std::fs;

use super::measure::{self, Entry, Job};
use super::stage::Stage;
use super::table;
use crate::Failure;

/// What the section of `docs/benchmarks.md` begins with.
pub(crate) const HEADING: &str = "## Recipes";
/// Steps of the long recipe.
const STEPS: usize = 100;
/// Bytes of the value that no step uses.
const LARGE: usize = 10_000_000;
/// Pairs of what takes long, or leaves much in the stage's home.
const FEW: usize = 20;

/// What the predecessor's figures are, `recipe-runner-rs` 0.3.6 on two loaded processors.
const PREDECESSOR: &str = "\
| the predecessor, `recipe-runner-rs` 0.3.6 | wall |\n|---|---|\n\
| 1 step `true` | 15.5 ms, at best 12 |\n\
| 200 steps `true` | 537 ms, at best 324: 1.6 to 2.7 ms a step |\n\
| 20 steps `true` with a value of 10 MB | 2.4 to 2.6 s: about 120 ms a step |\n\
| 50 parallel steps `sleep 0.5` | 0.87 to 0.90 s |\n";

/// Cost of a keeper that is a program, which decided what it is.
const KEEPER: &str = "\
A step's keeper stays a process that shares its runner's memory. It was measured as a program of its own, by a model of its work in C (own group, list of\n\
processes, heir of orphans, two pipes, record by rename) around a step `bash -c :`: 1,800 turns, with priority over other work, which slowed the machine\n\
(2 processors of an Intel Xeon at 2.0 GHz) to half the speed of the table above, so that differences are upper bounds. The hook binary is the shipped one, with the\n\
model behind its start. Half of its difference would be more than a step has left of its 0.3 ms.\n\
\n\
| keeper of a step `bash -c :` | min | median | median of the differences to today's |\n\
|---|---|---|---|\n\
| none | 1.83 ms | 2.76 ms | |\n\
| today's: `clone(CLONE_VM)` | 2.34 ms | 3.84 ms | |\n\
| a static program of 17 KB, started without a copy of the runner | 2.50 ms | 4.07 ms | +0.20 ms |\n\
| the hook binary, started in the same way | 2.60 ms | 4.20 ms | +0.35 ms |\n";

/// Measures, and writes the section.
pub(crate) fn section(stage: &Stage, runs: usize) -> Result<String, Failure> {
    let files =
        Files::write(stage).map_err(|error| format!("failed to write recipes for the benchmark: {error}"))?;
    let rows = measure::rows(stage, files.entries(stage, runs))?;
    Ok(format!(
        "{HEADING}\n\n`amplihack recipe run --progress none`, guarded and with a journal, as every run. Both sides of a line run in turns, {runs} pairs, or {FEW} of\n\
         what takes long; difference and ratio are taken pair by pair. The value of 10 MB comes from a file, is read and written to a file of the run\n\
         once: what that costs is a line of its own, and what it costs the {STEPS} steps behind is the next line without that.\n\n\
         {}\nFor comparison, measured while other work ran, so that these are upper bounds:\n\n{PREDECESSOR}\n{KEEPER}",
        table::table(&rows)
    ))
}

/// Recipes and values, below the stage.
struct Files {
    one: String,
    long: String,
    parallel: String,
    large: String,
}

impl Files {
    fn write(stage: &Stage) -> std::io::Result<Self> {
        let file = |name: &str, text: &str| -> std::io::Result<String> {
            let path = stage.file(name);
            fs::write(&path, text)?;
            Ok(path.to_string_lossy().into_owned())
        };
        let large = format!("{{\"large\":\"{}\"}}", "x".repeat(LARGE));
        Ok(Self {
            one: file("one.yaml", &recipe(1, "command: ':'"))?,
            long: file("long.yaml", &recipe(STEPS, "command: ':'"))?,
            parallel: file("parallel.yaml", &recipe(50, "command: sleep 0.5, parallel_group: all"))?,
            large: file("large.json", &large)?,
        })
    }

    fn entries(&self, stage: &Stage, runs: usize) -> Vec<Entry> {
        let amplihack = |args: &[&str]| {
            let args: Vec<&str> =
                ["recipe", "run", "--progress", "none"].iter().chain(args).copied().collect();
            Job::new(stage.amplihack(), &args)
        };
        let bash = |script: &str| Job::new("/bin/bash", &["-c", script]);
        let shell_loop = format!("for ((i = 0; i < {STEPS}; i++)); do bash -c :; done");
        let with_large = |recipe: &str| amplihack(&[recipe, "--context-file", &self.large]);
        vec![
            Entry::to_end(
                "start: `amplihack recipe run` of one step `:` against `bash -c :`",
                "≤ 3 ms more",
                amplihack(&[&self.one]),
                bash(":"),
                runs,
            ),
            Entry::to_end(
                "start: `recipe-runner-rs` of the same",
                "≤ 3 ms more",
                Job::new(stage.amplihack().with_file_name("recipe-runner-rs"), &[&self.one]),
                bash(":"),
                runs,
            ),
            Entry::to_end(
                "100 steps `:` against a shell's loop of 100 times `bash -c :`",
                "≤ 30 ms more: 0.3 ms a step",
                amplihack(&[&self.long]),
                bash(&shell_loop),
                runs.min(FEW.max(runs / 4)),
            ),
            Entry::to_end(
                "a value of 10 MB that nothing uses, one step: with against without",
                "≤ 40 ms more, once",
                with_large(&self.one),
                amplihack(&[&self.one]),
                runs.min(FEW),
            ),
            Entry::to_end(
                "a value of 10 MB that nothing uses, 100 steps: with against without",
                "no larger a difference than with one step",
                with_large(&self.long),
                amplihack(&[&self.long]),
                runs.min(FEW),
            ),
            Entry::to_end(
                "50 parallel steps `sleep 0.5` against `sleep 0.5`",
                "≤ 0.65 s",
                amplihack(&[&self.parallel]),
                Job::new("/bin/sleep", &["0.5"]),
                runs.min(FEW),
            ),
        ]
    }
}

/// A recipe of `count` steps alike.
fn recipe(count: usize, step: &str) -> String {
    let mut text = String::from("name: bench\nsteps:\n");
    for number in 0..count {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  - {{id: s{number}, {step}}}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_are_alike_but_for_their_ids() {
        let text = "name: bench\nsteps:\n  - {id: s0, command: ':'}\n  - {id: s1, command: ':'}\n";
        assert_eq!(super::recipe(2, "command: ':'"), text);
    }
}
