//! The readers over every script, and over the scripts inside it; what is found is kept once.

use std::collections::HashMap;
use std::time::Duration;

use amplihack_sys::WorkLimit;
use amplihack_verdict::Span;

use super::counted::find_counted;
use super::heredoc::{CleanedScript, HereDocument, clean_script};
use super::items::{RawShellText, ShellItem};
use super::mask::mask_script;
use super::model::{CommandInput, OUT_OF_TIME, Parsed, ShellRedirect, ShellWord, UndecidedPart};
use super::outline::find_disagreement;
use super::variables::{ShellVariables, VariableValue};
use super::{gate, plain, tree, word};
use crate::limits::{BashReaders, Limits};

/// Reason for a script that the parser reads in one way and the lexer in another.
pub(super) const UNCONFIRMED: &str = "it is not certain where its commands begin";

/// Reason for a script that the parser does not read.
pub(super) const UNREADABLE: &str = "the reader of bash does not understand it";

/// `|` and `&&` in one list up to which tree-sitter reads it: its time is their square, and it cannot be stopped at the end.
const RUN: usize = 500;

/// The surroundings of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellContext {
    pub(super) cds: Vec<ShellWord>,
    pub(super) via: Vec<String>,
    pub(super) redirects: Vec<ShellRedirect>,
    pub(super) fed: Option<CommandInput>,
    /// Standard input, as source, if it is known.
    pub(super) input: Option<String>,
    /// True if it runs never, once or often.
    pub(super) maybe: bool,
    /// The function whose body it is in.
    pub(super) function: Option<String>,
    pub(super) depth: usize,
}

impl ShellContext {
    /// A copy without the streams that its commands read and write.
    pub(super) fn without_streams(&self) -> Self {
        Self {
            cds: self.cds.clone(),
            via: self.via.clone(),
            redirects: Vec::new(),
            fed: None,
            input: None,
            maybe: self.maybe,
            function: self.function.clone(),
            depth: self.depth,
        }
    }
}

/// Location of a script in the outermost script.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScriptLocation<'p> {
    /// Byte for byte, from this byte of the cleaned script on.
    Exact(&'p CleanedScript, usize),
    /// Somewhere in here.
    Within(Span),
}

impl ScriptLocation<'_> {
    pub(super) fn source_span(self, start: usize, end: usize) -> Span {
        match self {
            Self::Exact(clean, base) => {
                let first = clean.source_offset(base + start);
                let last = clean.source_offset(base + end.saturating_sub(1).max(start));
                Span {
                    start: first,
                    end: (last + usize::from(end > start)).clamp(first, clean.source_offset(usize::MAX / 2)),
                }
            }
            Self::Within(span) => span,
        }
    }

    fn offset_by(self, at: usize) -> Self {
        match self {
            Self::Exact(clean, base) => Self::Exact(clean, base + at),
            Self::Within(span) => Self::Within(span),
        }
    }
}

/// Commands of a list, and their output.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandFlow {
    /// Indices of the commands in [`Parsed::commands`].
    pub(super) commands: Vec<usize>,
    /// Text that the commands print, if it is known.
    pub(super) output: Option<String>,
}

/// The state of reading one script.
pub(super) struct ScriptReader<'a> {
    pub(super) limits: &'a Limits,
    deadline: WorkLimit,
    /// Words made by braces and looked at in commands so far.
    pub(super) words: usize,
    pub(super) out: Parsed,
    pub(super) known: HashMap<(usize, Vec<String>, Vec<String>), usize>,
    /// Scripts that were read, with what they came to.
    pub(super) scripts: HashMap<(usize, String), CommandFlow>,
    pub(super) documents: Vec<HereDocument>,
    pub(super) variables: ShellVariables,
    /// Functions with the `cd`s in them.
    pub(super) functions: HashMap<String, Vec<ShellWord>>,
    /// Functions that run their arguments, and whether they drop some first.
    pub(super) forwards: HashMap<String, bool>,
    /// Aliases, with their texts.
    pub(super) aliases: HashMap<String, String>,
    /// Files that commands of this script wrote, by their names, with what is in them.
    pub(super) written: HashMap<String, String>,
}

impl<'a> ScriptReader<'a> {
    pub(super) fn new(limits: &'a Limits, deadline: WorkLimit) -> Self {
        Self {
            limits,
            deadline,
            words: 0,
            out: Parsed::default(),
            known: HashMap::new(),
            scripts: HashMap::new(),
            documents: Vec::new(),
            variables: ShellVariables::with_deadline(deadline),
            functions: HashMap::new(),
            forwards: HashMap::new(),
            aliases: HashMap::new(),
            written: HashMap::new(),
        }
    }

    /// Reads the outermost script.
    pub(super) fn read_outermost(mut self, text: &str) -> Parsed {
        self.read_fresh(text, None, &mut ShellContext::default());
        let whole = Span { start: 0, end: text.len() };
        let again = self.variables.asked_in_loop && self.out.undecided.len() < 64;
        if again && !self.out.is_late() && !self.note_if_late(whole) {
            self.variables.start_over();
            self.scripts.clear();
            self.documents.clear();
            self.out.undecided.clear();
            self.read_fresh(text, None, &mut ShellContext::default());
        }
        // Whoever found the time over without a place to say so.
        self.note_if_late(whole);
        self.out.undecided.sort_by_key(|undecided| undecided.span);
        self.out.undecided.dedup();
        self.out
    }

    /// Notes what cannot be understood.
    pub(super) fn note_undecided(&mut self, why: impl Into<String>, span: Span) {
        if self.out.undecided.len() < 256 {
            self.out.undecided.push(UndecidedPart { why: why.into(), span });
        }
    }

    /// Reports whether time is over; noted once.
    pub(super) fn note_if_late(&mut self, span: Span) -> bool {
        self.note_if_late_after(Duration::ZERO, span)
    }

    /// Reports whether time is over once this much more of it is gone; noted once.
    pub(super) fn note_if_late_after(&mut self, more: Duration, span: Span) -> bool {
        let late = self.deadline.shift_earlier(more).is_over();
        if late {
            self.out_of_time(span);
        }
        late
    }

    /// Reports whether time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    fn out_of_time(&mut self, span: Span) {
        if !self.out.undecided.iter().any(|undecided| undecided.why == OUT_OF_TIME) {
            self.note_undecided(OUT_OF_TIME, span);
        }
    }

    /// Reads a script that no reader has seen: the outermost, or one in `span` that was put together.
    pub(super) fn read_fresh(
        &mut self,
        text: &str,
        span: Option<Span>,
        shell: &mut ShellContext,
    ) -> CommandFlow {
        let whole = span.unwrap_or(Span { start: 0, end: text.len() });
        if self.note_if_late(whole) {
            return CommandFlow::default();
        }
        // The outermost script has been through the gate.
        let unmarked = || text.replace(super::heredoc::MARK, "");
        if let Some(Err(refused)) =
            span.map(|_| gate::admit_script(unmarked().as_bytes(), self.limits).map(|_| ()))
        {
            self.note_undecided(refused.why, span.unwrap_or(refused.span));
            return CommandFlow::default();
        }
        if shell.depth > self.limits.depth.min(32) {
            self.note_undecided("scripts within scripts, too deep to follow", whole);
            return CommandFlow::default();
        }
        let clean = clean_script(text, &mut self.documents, self.limits.depth);
        if let Some(why) = clean.refused {
            self.note_undecided(why, whole);
            return CommandFlow::default();
        }
        let at = |at: usize| span.unwrap_or(Span { start: at, end: (at + 1).min(text.len()) });
        if clean.depth > self.limits.depth {
            self.note_undecided(
                format!("brackets and quotes nested more than {} deep", self.limits.depth),
                whole,
            );
            return CommandFlow::default();
        }
        if clean.run > RUN && plain::read(&clean.text).is_none() {
            self.note_undecided("a list or pipeline too long to read", whole);
            return CommandFlow::default();
        }
        if let Some((why, place)) = clean.doubt {
            self.note_undecided(why, at(place));
        }
        shell.depth += 1;
        let place = span.map_or(ScriptLocation::Exact(&clean, 0), ScriptLocation::Within);
        let flow = self.read_script(&clean.text, place, shell);
        shell.depth -= 1;
        flow
    }

    /// Reads a cleaned script, or a part of one.
    fn read_script(
        &mut self,
        text: &str,
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
    ) -> CommandFlow {
        let whole = place.source_span(0, text.len());
        if self.note_if_late(whole) {
            return CommandFlow::default();
        }
        let key = format!("{}\0{}\0{text}", shell.via.join("\0"), shell.input.as_deref().unwrap_or_default());
        let key = (whole.start, key);
        if let Some(flow) = self.scripts.get(&key) {
            return flow.clone();
        }
        let flow = self.read_unread(text, place, shell, whole);
        self.scripts.insert(key, flow.clone());
        flow
    }

    /// Gives `text` to the readers: to the one of plain scripts, else to the parser, which the lexer has to confirm.
    fn read_unread(
        &mut self,
        text: &str,
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
        whole: Span,
    ) -> CommandFlow {
        let all = self.limits.readers == BashReaders::All;
        if let Some(items) = all.then(|| plain::read(text)).flatten() {
            return self.read_list(&items, place, shell);
        }
        // tree-sitter looks at the clock seldom, and what it made has to be gone through and given back.
        let deadline = self.deadline.shift_earlier(self.limits.deadline / 10);
        let Some(tree) = tree::read(text, &mask_script(text), deadline) else {
            self.out_of_time(whole);
            return CommandFlow::default();
        };
        let doubt = match tree.error {
            Some(at) => Some((UNREADABLE, at)),
            None => find_disagreement(text, &tree.items).filter(|_| all).map(|at| (UNCONFIRMED, at)),
        };
        if let Some((why, at)) = doubt {
            self.note_undecided(why, place.source_span(at, text.len().min(at + 1)));
        }
        self.read_list(&tree.items, place, shell)
    }

    /// A list of what runs one after the other.
    pub(super) fn read_list(
        &mut self,
        items: &[ShellItem],
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
    ) -> CommandFlow {
        let mut all = CommandFlow { commands: Vec::new(), output: Some(String::new()) };
        for item in items {
            if self.note_if_late(place.source_span(0, 1)) {
                break;
            }
            let flow = self.read_item(item, place, shell);
            all.commands.extend(flow.commands);
            all.output = all.output.zip(flow.output).map(|(before, after)| before + &after);
        }
        all
    }

    fn read_item(
        &mut self,
        item: &ShellItem,
        place: ScriptLocation<'_>,
        shell: &mut ShellContext,
    ) -> CommandFlow {
        match item {
            ShellItem::Simple(simple) => self.read_command(simple, place, shell),
            ShellItem::Group { items, redirects, subshell, maybe } => {
                let mut inner = shell.clone();
                inner.maybe |= maybe;
                self.apply_redirects(redirects, place, &mut inner);
                let flow = self.read_list(items, place, &mut inner);
                if !subshell {
                    shell.cds = inner.cds;
                }
                flow
            }
            ShellItem::Pipe(stages) => {
                let mut before: Option<CommandFlow> = None;
                for stage in stages {
                    if self.note_if_late(place.source_span(0, 1)) {
                        break;
                    }
                    let mut inner = shell.clone();
                    if let Some(before) = before {
                        inner.input.clone_from(&before.output);
                        inner.fed = Some(match before.output {
                            Some(text) => CommandInput::Text(text),
                            None => CommandInput::Commands(before.commands),
                        });
                    }
                    before = Some(self.read_item(stage, place, &mut inner));
                }
                before.unwrap_or_default()
            }
            // The body is read where it is defined, and not at its calls: each command in it may run, and its `cd`s count for a call.
            ShellItem::Function { name, body } => {
                let mut inner = ShellContext { maybe: true, function: Some(name.clone()), ..shell.clone() };
                let flow = self.read_list(body, place, &mut inner);
                self.functions
                    .insert(name.clone(), inner.cds.split_off(shell.cds.len().min(inner.cds.len())));
                CommandFlow { commands: flow.commands, output: Some(String::new()) }
            }
            ShellItem::For { variable, values, body } => {
                self.set_for_values(variable, values, place, shell);
                let mut inner = ShellContext { maybe: true, ..shell.clone() };
                let flow = self.read_list(body, place, &mut inner);
                shell.cds = inner.cds;
                CommandFlow { commands: flow.commands, output: None }
            }
            ShellItem::Text(raw) => {
                self.run_embedded(word::scan_scripts(&raw.text), raw, place, shell);
                self.run_subscripts(&raw.text, place.source_span(raw.start, raw.end_offset()), shell);
                CommandFlow { commands: Vec::new(), output: None }
            }
        }
    }

    fn set_for_values(
        &mut self,
        variable: &str,
        values: &[RawShellText],
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) {
        let mut words = Vec::new();
        for raw in values {
            words.extend(self.expand_word(raw, place, shell).0);
        }
        let mut value = VariableValue { choices: Vec::new(), unknown: values.is_empty() };
        for word in self.variables.expand_wordings(&words, shell.maybe).into_iter().flatten() {
            match word.literal_text() {
                Some(text) => value.choices.push(vec![text]),
                None => value.unknown = true,
            }
        }
        self.variables.set_value(variable, value, true);
    }

    /// Scripts embedded in `raw` that are run, with nothing known about what they print.
    pub(super) fn run_embedded(
        &mut self,
        scripts: Vec<word::NestedScript>,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
    ) {
        for nested in scripts {
            self.run_nested(&nested, raw, place, shell, None);
        }
    }

    /// Runs one embedded script. `fed`: what it reads, for `>(…)`.
    pub(super) fn run_nested(
        &mut self,
        nested: &word::NestedScript,
        raw: &RawShellText,
        place: ScriptLocation<'_>,
        shell: &ShellContext,
        fed: Option<CommandInput>,
    ) -> CommandFlow {
        let mut inner = ShellContext { fed, ..shell.without_streams() };
        if inner.depth > self.limits.depth {
            self.note_undecided(
                "scripts within scripts, too deep to follow",
                place.source_span(raw.start, raw.end_offset()),
            );
            return CommandFlow::default();
        }
        match nested.at {
            Some(at) => {
                inner.depth += 1;
                self.read_script(&nested.text, place.offset_by(raw.start + at), &mut inner)
            }
            None => self.read_fresh(
                &nested.text,
                Some(place.source_span(raw.start, raw.end_offset())),
                &mut inner,
            ),
        }
    }

    /// Reads text that is expanded as in double quotes, and notes what bash may end in another place.
    pub(super) fn lex_expanded(&mut self, text: &str, span: Span) -> word::LexedWord {
        if let Some(why) = find_counted(text) {
            self.note_undecided(why, span);
        }
        word::lex_text(text)
    }

    /// Text that bash may evaluate as an array's subscript: `a[$(…)]` runs what is in it, also from plain text.
    pub(super) fn run_subscripts(&mut self, text: &str, span: Span, shell: &ShellContext) {
        if !text.contains("[$(") && !text.contains("[`") {
            return;
        }
        for nested in self.lex_expanded(text, span).nested {
            let mut inner =
                ShellContext { via: [&shell.via[..], &["subscript".to_owned()]].concat(), ..shell.clone() };
            self.read_fresh(&nested.text, Some(span), &mut inner);
        }
    }
}
