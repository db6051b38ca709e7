//! A whole script as rules see it: its commands with their variables, directories and what feeds what.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_shell::{CommandInput, Parsed, ShellCommand, ShellWord, WordPiece};
use amplihack_sys::WorkLimit;
use amplihack_verdict::Span;

use super::call::{CallArg, CommandCall, DECLARE};
use super::change::PathChange;
use super::guard_files::MachineGuardFiles;
use super::links::{self, ScriptLink};
use super::marks::{UNKNOWN, is_glob};
use super::target::{PathTarget, path_names};
use crate::event::World;
use crate::xpia::XpiaSettings;

/// The user's wishes, as far as the rules need them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleSettings {
    /// Branches that nobody commits to, globs allowed.
    pub(crate) protected: Vec<String>,
    /// Settings of the `XPIA_*` variables.
    pub(crate) xpia: XpiaSettings,
}

/// Values of one variable that are looked at.
const VALUES: usize = 16;
/// Bytes of a variable's value that are followed.
const LONGEST: usize = 64 * 1024;
/// Commands with different values that are looked at.
const CALLS: usize = 20_000;
/// Bytes of all commands with their values that are looked at.
const BYTES: usize = 8 << 20;
/// Commands in front of one pipe that are looked at.
const UPSTREAM: usize = 256;

/// A script, or the one file or address of another event.
pub(crate) struct JudgedScript<'a> {
    /// The machine.
    pub(crate) world: &'a dyn World,
    /// The session's working directory.
    pub(crate) cwd: &'a Path,
    /// The names of `cwd`.
    pub(crate) cwd_names: Vec<String>,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// Wishes.
    pub(crate) settings: &'a RuleSettings,
    /// The script's commands, each once for every choice of values.
    pub(crate) calls: Vec<CommandCall<'a>>,
    /// The text, where it is one; empty for a file or an address.
    pub(crate) source: &'a str,
    /// True if there were too many choices to look at.
    pub(crate) overflow: bool,
    parsed: &'a Parsed,
    deadline: Option<WorkLimit>,
    late: Cell<bool>,
    first: Vec<usize>,
    by_start: OnceCell<Vec<(usize, usize)>>,
    own: OnceCell<MachineGuardFiles>,
    kept: OnceCell<Vec<Vec<String>>>,
    links: OnceCell<Vec<ScriptLink>>,
    pub(super) downloads: OnceCell<Vec<PathTarget>>,
    pub(super) copies: OnceCell<Vec<PathTarget>>,
}

impl<'a> JudgedScript<'a> {
    /// Reads what the front end found.
    pub(crate) fn new(
        parsed: &'a Parsed,
        cwd: &'a Path,
        world: &'a dyn World,
        settings: &'a RuleSettings,
    ) -> Self {
        Self::with_deadline(parsed, cwd, world, settings, None)
    }

    /// Reads the front end's results with a deadline, for this and for what rules do with it.
    pub(crate) fn with_deadline(
        parsed: &'a Parsed,
        cwd: &'a Path,
        world: &'a dyn World,
        settings: &'a RuleSettings,
        deadline: Option<WorkLimit>,
    ) -> Self {
        let mut script = Self {
            world,
            cwd,
            cwd_names: path_names(cwd),
            home: world.home(),
            settings,
            calls: Vec::with_capacity(parsed.commands.len()),
            source: "",
            overflow: false,
            parsed,
            deadline,
            late: Cell::new(false),
            first: Vec::with_capacity(parsed.commands.len()),
            by_start: OnceCell::new(),
            own: OnceCell::new(),
            kept: OnceCell::new(),
            links: OnceCell::new(),
            downloads: OnceCell::new(),
            copies: OnceCell::new(),
        };
        let values =
            VariableValues::from_commands(parsed, world, script.home.as_deref(), || script.is_late());
        let mut before: Option<(&[ShellWord], Option<PathBuf>)> = None;
        let mut bytes = 0;
        for (index, command) in parsed.commands.iter().enumerate() {
            if script.is_late() {
                break;
            }
            script.first.push(script.calls.len());
            for choice in 0..values.count_choices(command) {
                // Values multiply commands: a script of which this leaves something out is not passed, it counts as not judged.
                if script.calls.len() >= CALLS || bytes > BYTES {
                    script.overflow = true;
                    break;
                }
                let dir = script.run_directory(&command.cds, before.as_ref(), &values, choice);
                let home = script.home.as_deref();
                // Whether bash splits a value depends on quotes and `IFS`, which a word does not tell here: both readings are judged.
                let split = values.has_split_word(command);
                for split in [false, true].into_iter().take(1 + usize::from(split)) {
                    let lookup = |name: &str| values.value(name, choice, dir.as_deref(), home);
                    let call = CommandCall::read(command, index, dir.clone(), split, &lookup);
                    bytes += call.text_len();
                    script.calls.push(call);
                }
                before = Some((&command.cds, dir));
            }
        }
        script
    }

    /// Reports whether the text names a variable otherwise than to use it: it may set it.
    pub(crate) fn may_set(&self, name: &str) -> bool {
        let part = |ch: char| ch.is_alphanumeric() || ch == '_';
        self.source.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&self.source[..at], &self.source[at + name.len()..]);
            !before.ends_with(|ch| part(ch) || matches!(ch, '$' | '{')) && !behind.starts_with(part)
        })
    }

    /// Reports whether the command at `to` runs only if the one at `from` succeeded: between commands stands nothing but `&&`.
    pub(crate) fn only_if(&self, from: &CommandCall<'_>, to: &CommandCall<'_>) -> bool {
        if !from.command.via.is_empty() || !to.command.via.is_empty() || self.source.is_empty() {
            return false;
        }
        // In `a || from && to` the last also runs where only `a` did, and in `! from` where it failed.
        let before =
            self.source.get(..from.span().start).map_or("?", |text| text.trim_end_matches([' ', '\t']));
        if !(before.is_empty() || before.ends_with([';', '\n']) || before.ends_with("&&")) {
            return false;
        }
        let mut end = from.span().end;
        let between = self.calls.iter().filter(|call| call.index > from.index && call.index <= to.index);
        for span in between.map(CommandCall::span) {
            if span.start < end {
                continue;
            }
            let gap = self.source.get(end..span.start).unwrap_or_default().replace("\\\n", " ");
            if gap.trim() != "&&" {
                return false;
            }
            end = span.end;
        }
        end >= to.span().end
    }

    /// The commands that read what this one prints.
    pub(crate) fn output_readers<'s>(
        &'s self,
        call: &'s CommandCall<'_>,
    ) -> impl Iterator<Item = &'s CommandCall<'a>> {
        self.calls.iter().filter(move |reader| {
            matches!(self.direct_feed(reader), Some(CommandInput::Commands(indices)) if indices.contains(&call.index))
        })
    }

    /// Reports whether the deadline has passed. The caller may stop then: anything not looked at is denied with the whole script.
    pub(crate) fn is_late(&self) -> bool {
        if !self.late.get() && self.deadline.is_some_and(WorkLimit::is_over) {
            self.late.set(true);
        }
        self.late.get()
    }

    /// Stops here, as if the time were over: what is to be done would take too long.
    pub(crate) fn give_up(&self) {
        self.late.set(true);
    }

    /// Reports whether anybody found it late, so that something may not have been looked at.
    pub(crate) fn was_late(&self) -> bool {
        self.late.get()
    }

    /// The directory in which a command runs after these `cd`s.
    fn run_directory(
        &self,
        cds: &[ShellWord],
        before: Option<&(&[ShellWord], Option<PathBuf>)>,
        values: &VariableValues<'_>,
        choice: usize,
    ) -> Option<PathBuf> {
        let (mut dir, rest) = match before {
            Some((known, dir)) if choice == 0 && !known.is_empty() && cds.starts_with(known) => {
                (dir.clone(), &cds[known.len()..])
            }
            _ => (Some(self.cwd.to_path_buf()), cds),
        };
        for word in rest {
            let arg =
                CallArg::read(word, &|name| values.value(name, choice, dir.as_deref(), self.home.as_deref()));
            dir = match arg.text() {
                "" => self.home.clone(),
                "-" => None,
                _ => self.target_in(arg.marked_text(), dir.as_deref()).path(),
            };
        }
        dir
    }

    /// The place that a word names in a directory.
    pub(crate) fn target_in(&self, marked: &str, dir: Option<&Path>) -> PathTarget {
        PathTarget::new(marked, dir, self.home.as_deref())
    }

    /// The place that a word of a command names.
    pub(crate) fn target(&self, call: &CommandCall<'_>, arg: &CallArg) -> PathTarget {
        self.target_in(arg.marked_text(), call.dir.as_deref())
    }

    /// Directories that must survive, as they are written and without symbolic links.
    pub(crate) fn kept_directories(&self) -> &[Vec<String>] {
        self.kept.get_or_init(|| {
            let mut kept: Vec<Vec<String>> = vec![self.cwd_names.clone()];
            let others = self.world.kept_directories();
            let real = std::iter::once(self.cwd).chain(others.iter().map(PathBuf::as_path));
            let real: Vec<_> = real.filter_map(|path| self.world.real(path)).collect();
            for path in others.iter().chain(&real) {
                let path = path_names(path);
                // Everything is below the root, which no session lives in.
                if !path.is_empty() && !kept.contains(&path) {
                    kept.push(path);
                }
            }
            kept
        })
    }

    /// The guard's own files on this machine.
    pub(crate) fn guard_files(&self) -> &MachineGuardFiles {
        self.own.get_or_init(|| MachineGuardFiles::from_world(self.world, self.home.as_deref()))
    }

    /// Links that the script itself makes.
    pub(super) fn links(&self) -> &[ScriptLink] {
        self.links.get_or_init(|| links::script_links(self))
    }

    /// The change at the place where it really happens, if symbolic links lead elsewhere than its path does.
    pub(crate) fn behind_links(&self, change: &PathChange) -> Option<PathChange> {
        // Each name costs a system call.
        if self.is_late() {
            return None;
        }
        let path = change.target.path()?;
        let real = if change.takes_away() {
            // The link itself goes.
            self.world.real(path.parent()?)?.join(path.file_name()?)
        } else {
            self.world.real(&path)?
        };
        let parts = path_names(&real);
        (parts != change.target.parts)
            .then(|| PathChange { target: PathTarget { parts, ..change.target.clone() }, ..change.clone() })
    }

    /// A place without symbolic links, as removing or renaming it sees it: a link itself stays, unless a slash follows it.
    pub(crate) fn real_target(&self, target: &PathTarget, dir: Option<&Path>) -> Option<PathTarget> {
        // Each name costs a system call.
        if self.is_late() {
            return None;
        }
        if is_glob(&target.raw) || target.raw.contains(UNKNOWN) {
            let fixed =
                target.parts.iter().take_while(|part| !is_glob(part) && !part.contains(UNKNOWN)).count();
            let base: PathBuf = Path::new("/").join(target.parts[..fixed].iter().collect::<PathBuf>());
            let mut parts = path_names(&self.world.real(&base)?);
            parts.extend_from_slice(&target.parts[fixed..]);
            return target.rooted.then(|| PathTarget { parts, ..target.clone() });
        }
        // The path as it was written: behind a link, `..` is not what the text says.
        let written = if target.raw.starts_with(super::marks::TILDE) {
            target.path()?
        } else {
            dir.unwrap_or(Path::new("")).join(&target.raw)
        };
        let follows = target.raw.ends_with(['/', '.'])
            && (target.raw.ends_with('/')
                || target.is_dots()
                || target.raw.ends_with("/.")
                || target.raw.ends_with("/.."));
        let real = if follows {
            self.world.real(&written)?
        } else {
            self.world.real(written.parent()?)?.join(written.file_name()?)
        };
        written.is_absolute().then(|| PathTarget { parts: path_names(&real), ..target.clone() })
    }

    /// The first reading of a command.
    pub(crate) fn call_of(&self, index: usize) -> Option<&CommandCall<'a>> {
        self.calls.get(*self.first.get(index)?).filter(|call| call.index == index)
    }

    /// The direct feed of a command's input. A command inside a wrapper reads what the wrapper reads.
    pub(crate) fn direct_feed(&self, call: &CommandCall<'_>) -> Option<&'a CommandInput> {
        if let Some(fed) = &self.parsed.commands.get(call.index)?.fed {
            return Some(fed);
        }
        let mut via = call.command.via.len();
        let mut at = call.index;
        while via > 0 && at > 0 {
            at -= 1;
            let outer = &self.parsed.commands[at];
            if outer.via.len() < via && span_contains(outer.span, call.command.span) {
                if outer.fed.is_some() {
                    return outer.fed.as_ref();
                }
                via = outer.via.len();
            }
            if call.index - at > UPSTREAM {
                break;
            }
        }
        None
    }

    /// Every command whose output may reach the input of this one, itself not.
    pub(crate) fn upstream_calls(&self, call: &CommandCall<'_>) -> Vec<&CommandCall<'a>> {
        let mut found = Vec::new();
        let mut open: Vec<&CommandCall<'a>> = Vec::new();
        let feeders = |fed: Option<&'a CommandInput>| match fed {
            Some(CommandInput::Commands(indices)) => indices.as_slice(),
            _ => &[],
        };
        let mut seen = vec![call.index];
        let mut next: Vec<usize> = feeders(self.direct_feed(call)).to_vec();
        loop {
            for index in next.drain(..) {
                if !seen.contains(&index) && seen.len() < UPSTREAM {
                    seen.push(index);
                    open.extend(self.call_of(index));
                }
            }
            let Some(feeder) = open.pop() else { return found };
            next.extend_from_slice(feeders(self.direct_feed(feeder)));
            found.push(feeder);
        }
    }

    /// Text that feeds a command, if it is known.
    pub(crate) fn fed_text(&self, call: &CommandCall<'_>) -> Option<&'a str> {
        match self.direct_feed(call)? {
            CommandInput::Text(text) => Some(text),
            CommandInput::Commands(_) => None,
        }
    }

    /// Commands of the substitutions inside a word.
    pub(crate) fn substituted_calls(&self, arg: &CallArg) -> impl Iterator<Item = &CommandCall<'a>> {
        let by_start = self.by_start.get_or_init(|| {
            let mut starts: Vec<_> = self
                .parsed
                .commands
                .iter()
                .enumerate()
                .map(|(at, command)| (command.span.start, at))
                .collect();
            starts.sort_unstable();
            starts
        });
        let span = if arg.dynamic { arg.span } else { Span::default() };
        let from = by_start.partition_point(|(start, _)| *start < span.start);
        by_start[from..]
            .iter()
            .take_while(move |(start, _)| *start < span.end)
            .take(UPSTREAM)
            .filter_map(|(_, index)| self.call_of(*index))
    }

    /// A text of what this command says, for a person.
    pub(crate) fn display_call(call: &CommandCall<'_>) -> String {
        let words = std::iter::once(call.path.text()).chain(call.args.iter().map(CallArg::text));
        let text: String = words.collect::<Vec<_>>().join(" ").replace(UNKNOWN, "…");
        text.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).take(120).collect()
    }
}

/// Reports whether a span lies in another.
pub(crate) fn span_contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Every value that a script gives its variables, in its order.
struct VariableValues<'w> {
    set: BTreeMap<String, Vec<String>>,
    world: &'w dyn World,
}

impl<'w> VariableValues<'w> {
    /// Values from all commands that are reached before `late` returns true; the rest of a late script is not looked at.
    fn from_commands(
        parsed: &Parsed,
        world: &'w dyn World,
        home: Option<&Path>,
        late: impl Fn() -> bool,
    ) -> Self {
        let mut values = Self { set: BTreeMap::new(), world };
        for command in &parsed.commands {
            for (name, word) in &command.assignments {
                if late() {
                    return values;
                }
                let value = values.read_word(word, home);
                values.add_value(name, value, home);
            }
            if command.words.len() > 1
                && command.program_name().is_some_and(|program| DECLARE.contains(&program.as_str()))
            {
                for word in &command.words[1..] {
                    if late() {
                        return values;
                    }
                    let value = values.read_word(word, home);
                    if let Some((name, value)) = value.split_once('=') {
                        values.add_value(name, value.to_owned(), home);
                    }
                }
            }
        }
        values
    }

    fn read_word(&self, word: &ShellWord, home: Option<&Path>) -> String {
        CallArg::read(word, &|name| self.value(name, usize::MAX, None, home)).marked_text().to_owned()
    }

    fn add_value(&mut self, name: &str, mut value: String, home: Option<&Path>) {
        if value.len() > LONGEST {
            value = UNKNOWN.to_string();
        }
        let values = self.set.entry(name.to_owned()).or_default();
        // An assignment in front of another command does not reach this one: the value from outside stays possible.
        if name == "HOME" && values.is_empty() {
            values.extend(home.map(|home| home.to_string_lossy().into_owned()));
        }
        if !values.contains(&value) {
            if values.len() == VALUES {
                values.remove(1);
            }
            values.push(value);
        }
    }

    /// The value of a variable under one choice.
    fn value(&self, name: &str, choice: usize, dir: Option<&Path>, home: Option<&Path>) -> Option<String> {
        if let Some(values) = self.set.get(name).filter(|_| name != "PWD") {
            return values.get(choice.min(values.len() - 1)).cloned();
        }
        match name {
            "HOME" => home.map(|home| home.to_string_lossy().into_owned()),
            "PWD" => dir.map(|dir| dir.to_string_lossy().into_owned()),
            _ => self.world.env_variable(name),
        }
    }

    fn variables_in(command: &ShellCommand) -> impl Iterator<Item = &str> {
        command
            .words
            .iter()
            .chain(&command.cds)
            .chain(command.redirects.iter().map(|redirect| &redirect.target))
            .flat_map(|word| &word.pieces)
            .filter_map(|piece| match piece {
                WordPiece::Variable(name) => Some(name.as_str()),
                _ => None,
            })
    }

    fn count_choices(&self, command: &ShellCommand) -> usize {
        Self::variables_in(command).filter_map(|name| self.set.get(name)).map(Vec::len).max().unwrap_or(1)
    }

    fn has_split_word(&self, command: &ShellCommand) -> bool {
        command.words.iter().any(|word| match word.pieces.as_slice() {
            [WordPiece::Variable(name)] => self
                .set
                .get(name)
                .is_some_and(|values| values.iter().any(|value| value.contains(char::is_whitespace))),
            _ => false,
        })
    }
}
