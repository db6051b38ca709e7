//! Commands that stand in files: judged as if they were typed, with what is not certain weighed by who wrote the file.

use std::path::Path;

use amplihack_shell::Limits;
use amplihack_sys::WorkLimit;
use amplihack_verdict::{Decision, Span, Verdict};

use super::explanation::VerdictExplanation;
use super::judging::deny_undecided;
use super::{NESTING, Policy, UNDECIDED};
use crate::command_files;
use crate::event::{CommandFileOccasion, World};
use crate::rules::{self, CommandCall, FileRunMeans, JudgedScript, RanFile};

/// Bytes of a file whose commands are looked for.
const LONGEST: usize = 256 * 1024;
/// Files that one command runs that are looked into. What is left over is not understood.
const FILES: usize = 8;

/// A file whose commands are judged.
pub(super) struct CommandFile<'f> {
    /// The file's absolute path.
    pub(super) path: &'f Path,
    /// The file's text.
    pub(super) text: &'f str,
    /// True if the session wrote the file, or is about to.
    pub(super) is_new: bool,
}

impl Policy {
    /// Judges the commands of a file: certain harm is denied. Harm that is possible, or not understood, is asked about in a file
    /// of this session; in one that was there before it passes.
    pub(super) fn command_file(
        &self,
        file: &CommandFile<'_>,
        occasion: CommandFileOccasion,
        cwd: &Path,
        world: &dyn World,
        limits: &Limits,
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let Some(kind) = command_files::classify_file(file.path) else { return Verdict::no_objection() };
        let deadline = WorkLimit::from_now(limits.deadline);
        let mut verdict = Verdict::no_objection();
        let too_much = || {
            let what = deny_undecided("the file holds too much to be looked into", Span::default());
            if kind.runs_by_itself() { weigh_verdict(what, file) } else { Verdict::no_objection() }
        };
        if file.text.len() > LONGEST {
            return too_much();
        }
        for command in kind.extract_commands(file.text) {
            if deadline.is_over() {
                return verdict.join_strictest(too_much());
            }
            let script = command.script.as_bytes();
            let one = self.judge_script(script, cwd, world, limits, (NESTING - 1, deadline), explain);
            // A tool that runs it is judged when it does.
            let counts = match occasion {
                CommandFileOccasion::Written if kind.runs_elsewhere() => counts_elsewhere(&one),
                CommandFileOccasion::Written => kind.runs_by_itself() || is_harm(&one),
                CommandFileOccasion::Run => true,
            };
            if counts {
                verdict = verdict.join_strictest(weigh_verdict(one, file));
            }
            if verdict.decision == Decision::Deny {
                break;
            }
        }
        verdict
    }

    /// Judges the commands that a command writes into files, as far as the written text is known.
    pub(super) fn judge_written(
        &self,
        call: &CommandCall<'_>,
        script: &JudgedScript<'_>,
        limits: &Limits,
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let written = rules::path_changes(script, call).iter().filter(|change| change.is_written());
        let mut verdict = Verdict::no_objection();
        for change in written {
            let Some(path) = change.target.path().filter(|path| command_files::classify_file(path).is_some())
            else {
                continue;
            };
            let copied = || Some(script.world.file_text(&change.source.as_ref()?.path()?)?.text);
            let Some(text) = rules::printed_text(script, call).or_else(copied) else { continue };
            let file = CommandFile { path: &path, text: &text, is_new: true };
            let mut one = self.command_file(
                &file,
                CommandFileOccasion::Written,
                script.cwd,
                script.world,
                limits,
                explain,
            );
            if one.decision != Decision::None {
                one.spans = vec![call.span()];
            }
            verdict = verdict.join_strictest(one);
        }
        verdict
    }

    /// Judges the files that a command runs.
    pub(super) fn judge_run_files(
        &self,
        call: &CommandCall<'_>,
        script: &JudgedScript<'_>,
        limits: &Limits,
        nesting: usize,
        deadline: &mut Option<WorkLimit>,
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let mut verdict = Verdict::no_objection();
        if nesting == 0 {
            return verdict;
        }
        let mut looked = 0;
        for ran in rules::files_run_by(script, call) {
            let Some(found) = script.world.file_text(&ran.path) else { continue };
            let deadline = *deadline.get_or_insert_with(|| WorkLimit::from_now(limits.deadline));
            let file = CommandFile { path: &ran.path, text: &found.text, is_new: found.is_new };
            let dir = ran.dir.as_deref().unwrap_or(script.cwd);
            looked += 1;
            if looked > FILES || deadline.is_over() {
                verdict = verdict.join_strictest(left_over(&file, call.span()));
                if verdict.decision == Decision::None {
                    continue;
                }
                // No other file that is left over says more.
                break;
            }
            for (text, is_code) in file_scripts(&ran, &found.text) {
                if deadline.is_over() {
                    verdict = verdict.join_strictest(left_over(&file, call.span()));
                    break;
                }
                let inner = (nesting - 1, deadline);
                let one = if is_code {
                    // Every rule says what it says: the first to deny may be one that does not count here.
                    let mut all = VerdictExplanation::new();
                    self.judge_script(text.as_bytes(), dir, script.world, limits, inner, &mut Some(&mut all));
                    all.hits.into_iter().find(counts_in_code).unwrap_or_else(Verdict::no_objection)
                } else {
                    self.judge_script(text.as_bytes(), dir, script.world, limits, inner, explain)
                };
                let mut one = weigh_verdict(one, &file);
                if one.decision != Decision::None {
                    one.spans = vec![call.span()];
                }
                verdict = verdict.join_strictest(one);
            }
            if verdict.decision == Decision::Deny {
                break;
            }
        }
        verdict
    }
}

/// The scripts of a file as it is run, and whether they are code of another language.
fn file_scripts(ran: &RanFile, text: &str) -> Vec<(String, bool)> {
    let language = match &ran.how {
        FileRunMeans::Entries(kind, entries) => {
            let commands = command_files::commands_of(*kind, text, entries);
            return commands.into_iter().map(|command| (command.script, false)).collect();
        }
        FileRunMeans::Shell => None,
        FileRunMeans::Code(language) => Some(language.clone()),
        FileRunMeans::Program => match shebang_program(text) {
            Some(name) if !amplihack_shell::is_shell(name) => Some(name.to_owned()),
            // What has no such line is run by the shell, if it is a script at all.
            _ => None,
        },
    };
    match language {
        None => vec![(text.to_owned(), false)],
        Some(language) => {
            vec![(format!("{language} - <<'END_OF_THE_FILE'\n{text}\nEND_OF_THE_FILE\n"), true)]
        }
    }
}

/// The program that the first line names.
fn shebang_program(text: &str) -> Option<&str> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    if name == "env" { words.find(|word| !word.starts_with('-') && !word.contains('=')) } else { Some(name) }
}

fn is_harm(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Deny && verdict.rule != Some(UNDECIDED)
}

fn has_rule(verdict: &Verdict, packs: &[&str]) -> bool {
    verdict.rule.as_ref().is_some_and(|rule| packs.iter().any(|pack| rule.0.starts_with(pack)))
}

/// Harm on a machine that is set up for one run and thrown away: what leaves it, and who gets in.
fn counts_elsewhere(verdict: &Verdict) -> bool {
    is_harm(verdict)
        && has_rule(verdict, &["exfiltration/", "remote_code/reverse-shell", "remote_code/decoded"])
}

/// Reports whether a verdict counts in other languages, of which only words are read: a name counts, a possible meaning does not.
fn counts_in_code(verdict: &Verdict) -> bool {
    is_harm(verdict) && has_rule(verdict, &["guard_disabling/", "destruction/", "exfiltration/"])
}

/// The verdict on a file that nobody looked into, or not to its end.
fn left_over(file: &CommandFile<'_>, span: Span) -> Verdict {
    let what = deny_undecided("the files that it runs are too many, or hold too much", span);
    let mut verdict = weigh_verdict(what, file);
    if verdict.decision != Decision::None {
        verdict.spans = vec![span];
    }
    verdict
}

/// The verdict on a command of a file, as it counts for the file.
fn weigh_verdict(verdict: Verdict, file: &CommandFile<'_>) -> Verdict {
    let decision = match verdict.decision {
        Decision::None | Decision::Allow => return Verdict::no_objection(),
        _ if is_harm(&verdict) => Decision::Deny,
        _ if file.is_new => Decision::Ask,
        _ => return Verdict::no_objection(),
    };
    let shown: String =
        file.path.display().to_string().chars().filter(|ch| !ch.is_control()).take(200).collect();
    let reason = format!("a command in `{shown}` {}", verdict.reason);
    Verdict { decision, reason, spans: Vec::new(), ..verdict }
}
