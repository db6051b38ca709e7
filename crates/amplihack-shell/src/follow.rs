//! A command whose words are known as far as they can be: noted, its effects taken, what it starts followed.

use std::time::Duration;

use super::effects;
use super::heredoc::MARK;
use super::model::{RedirectKind, ShellCommand, ShellWord, WordPiece};
use super::output;
use super::script_reader::{CommandFlow, ScriptReader, ShellContext, UNCONFIRMED, UNREADABLE};
use super::simple::WORDS;
use super::unwrap::{WrappedCommand, quote_words, render_word, unwrap_command};

/// Commands that evaluate names in their words.
const EVALUATING: &[&str] = &[
    "[",
    "test",
    "printf",
    "read",
    "unset",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
    "wait",
    "getopts",
];

const PATTERN: &str = "the program's name is a pattern";
const RUN_TIME: &str = "the program's name is made at run time";

/// Reasons for which bash does not decide code of a language that is not its own.
const UNREAD: [&str; 4] = [UNREADABLE, UNCONFIRMED, PATTERN, RUN_TIME];

impl ScriptReader<'_> {
    /// A command with its words known as far as they can be: noted, its effects taken, what it starts followed.
    pub(super) fn follow_command(&mut self, command: &ShellCommand, shell: &mut ShellContext) -> CommandFlow {
        let span = command.span;
        self.words += command.words.len();
        // What follows takes up to a microsecond a word and does not look at the clock.
        let ahead = u64::try_from(command.words.len()).map_or(Duration::MAX, Duration::from_micros);
        if self.note_if_late_after(ahead, span) {
            return CommandFlow::default();
        }
        if self.words > WORDS {
            self.note_undecided("its wrappers and braces make too many words to look at", span);
            return CommandFlow::default();
        }
        if self.out.commands.len() >= self.limits.commands {
            if !self.out.undecided.iter().any(|undecided| undecided.why.starts_with("more than")) {
                self.note_undecided(format!("more than {} commands", self.limits.commands), span);
            }
            return CommandFlow::default();
        }
        let words: Vec<String> = command.words.iter().map(render_word).collect();
        let key = (span.start, words.clone(), command.via.clone());
        let next = self.out.commands.len();
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.out.commands.push(without_marks(command.clone()));
        }
        let mut flow = CommandFlow { commands: vec![index], output: None };
        let Some(first) = command.words.first() else {
            flow.output = Some(String::new());
            return flow;
        };
        self.judge_program(first, shell);
        let Some(program) = command.program_name() else { return flow };
        self.apply_builtin(&program, command, shell);
        if EVALUATING.contains(&program.as_str()) {
            for text in &words[1..] {
                self.run_subscripts(text, span, shell);
            }
        }
        let mut inner = shell.clone();
        inner.via.push(program.clone());
        inner.redirects.clone_from(&command.redirects);
        inner.depth += 1;
        if inner.depth > self.limits.depth.min(64) {
            self.note_undecided("wrappers within wrappers, too deep to follow", span);
            return flow;
        }
        let known: Option<Vec<String>> = command.words.iter().map(effects::known_text).collect();
        flow.output = known.and_then(|words| output::printed_text(&words, shell.input.as_deref()));
        if program == "pwd" && flow.output.is_none() {
            let last = shell.cds.last().and_then(effects::known_text);
            flow.output = last.filter(|dir| dir.starts_with(['/', '$']));
        }
        if reads_descriptor(&program, command, shell) {
            self.note_undecided("the script of a shell comes from a descriptor", span);
        }
        if matches!(program.as_str(), "tee" | "dd") {
            flow.output.clone_from(&shell.input);
        }
        let alias = self
            .aliases
            .get(&program)
            .filter(|_| command.words[0].literal_text().as_deref() == Some(&program));
        let alias = alias.map(|text| WrappedCommand::Script {
            text: format!("{text} {}", quote_words(&command.words[1..])),
            positional: Vec::new(),
        });
        self.note_written(command, flow.output.as_deref());
        let written = self.runs_written(&program, command);
        for start in self
            .forwarded_commands(&program, command)
            .into_iter()
            .chain(written)
            .chain(alias)
            .chain(unwrap_command(&program, &command.words, shell.input.as_deref()))
        {
            let more = self.follow_started(start, command, &mut inner);
            flow.commands.extend(more.commands);
            if flow.output.is_none() {
                flow.output = more.output;
            }
        }
        flow
    }

    fn follow_started(
        &mut self,
        start: WrappedCommand,
        command: &ShellCommand,
        inner: &mut ShellContext,
    ) -> CommandFlow {
        let span = command.span;
        match start {
            WrappedCommand::Argv { words, assignments, cd } => {
                let mut shell = inner.clone();
                shell.cds.extend(cd);
                let mut all = command.assignments.clone();
                for (name, word) in assignments {
                    self.follow_assigned(&name, &word, span, inner);
                    all.push((name, word));
                }
                let command = ShellCommand {
                    words,
                    assignments: all,
                    redirects: inner.redirects.clone(),
                    fed: inner.fed.clone(),
                    cds: shell.cds.clone(),
                    via: inner.via.clone(),
                    span,
                };
                self.follow_command(&command, &mut shell)
            }
            WrappedCommand::Script { text, positional } => {
                let mut shell = ShellContext { fed: None, input: None, ..inner.clone() };
                if !positional.is_empty() {
                    self.set_positional(&positional);
                }
                self.read_fresh(&text, Some(span), &mut shell)
            }
            WrappedCommand::Foreign(text) => {
                let mut shell = ShellContext { fed: None, input: None, ..inner.clone() };
                let before = self.out.undecided.len();
                // A script of bash inside of it is read once more by itself, and counts then.
                let scripts = std::mem::take(&mut self.scripts);
                let flow = self.read_fresh(&text, Some(span), &mut shell);
                self.scripts = scripts;
                let noted = self.out.undecided.split_off(before);
                let unread = |why: &str| UNREAD.contains(&why);
                self.out.undecided.extend(noted.into_iter().filter(|undecided| !unread(&undecided.why)));
                flow
            }
            WrappedCommand::Unknown(why) => {
                self.note_undecided(why, span);
                CommandFlow::default()
            }
        }
    }

    /// The commands that a function of this script, which runs its arguments, is told to run.
    fn forwarded_commands(&mut self, program: &str, command: &ShellCommand) -> Vec<WrappedCommand> {
        let Some(drops) = self.forwards.get(program).copied() else { return Vec::new() };
        let most = if drops { 8 } else { 1 };
        let tails = (1..command.words.len()).take(most).map(|from| command.words[from..].to_vec());
        tails.map(|words| WrappedCommand::Argv { words, assignments: Vec::new(), cd: None }).collect()
    }

    fn judge_program(&mut self, first: &ShellWord, shell: &ShellContext) {
        let glob = first.pieces.iter().any(|piece| match piece {
            WordPiece::Literal { text, quoted: false } => {
                text.contains(['*', '?']) || (text.len() > 1 && text != "[[" && text.contains('['))
            }
            _ => false,
        });
        let why = match first.literal_text() {
            Some(_) if !glob => return,
            Some(_) => PATTERN,
            None => RUN_TIME,
        };
        if let (Some(function), [WordPiece::Variable(name)]) = (&shell.function, first.pieces.as_slice())
            && matches!(name.as_str(), "@" | "*" | "1" | "2" | "3")
        {
            let drops = name.starts_with(['2', '3']);
            *self.forwards.entry(function.clone()).or_default() |= drops;
            return;
        }
        self.note_undecided(why, first.span);
    }
}

/// A command as it is shown: without the marks of here-documents.
fn without_marks(mut command: ShellCommand) -> ShellCommand {
    let redirects = command.redirects.iter_mut().map(|redirect| &mut redirect.target);
    let assignments = command.assignments.iter_mut().map(|(_, word)| word);
    for word in command.words.iter_mut().chain(redirects).chain(assignments) {
        for piece in &mut word.pieces {
            if let WordPiece::Dynamic(source) = piece
                && source.contains(MARK)
            {
                *source = source.split(MARK).step_by(2).collect::<Vec<_>>().join("<here-document");
            }
        }
    }
    command
}

/// Reports whether a shell takes its script from a descriptor that was opened elsewhere.
fn reads_descriptor(program: &str, command: &ShellCommand, shell: &ShellContext) -> bool {
    let opened = |redirect: &super::model::ShellRedirect| {
        let target = redirect.target.literal_text().unwrap_or_default();
        redirect.kind == RedirectKind::Duplicate && target.parse::<u32>().is_ok_and(|number| number > 2)
    };
    super::is_shell(program)
        && shell.input.is_none()
        && shell.fed.is_none()
        && command.words.len() == 1
        && command.redirects.iter().any(opened)
}
