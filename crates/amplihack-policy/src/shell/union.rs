//! Both readers over every script, and over the scripts inside it; what either finds is kept once.

use std::collections::HashMap;
use std::time::Duration;

use amplihack_utils::sys::WorkLimit;

use super::heredoc::{Clean, HereDocument, clean};
use super::items::{Item, Raw, simples};
use super::model::{Fed, LATE, Parsed, Redirect, Undecided, Word};
use super::variables::{Value, Variables};
use super::{brush, gate, plain, tree, word};
use crate::decision::Span;
use crate::policy::Limits;

/// Nesting, brackets and bytes up to which brush is asked: it recurses, and cannot be stopped.
const BRUSH: (usize, usize, usize) = (40, 1500, 32 * 1024);

/// `|` and `&&` in one list up to which tree-sitter reads it: its time is their square, and it cannot be stopped at the end.
const RUN: usize = 500;

/// The surroundings of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Shell {
    pub(super) cds: Vec<Word>,
    pub(super) via: Vec<String>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) fed: Option<Fed>,
    /// What is on standard input, as source.
    pub(super) input: Option<String>,
    /// It runs never, once or often.
    pub(super) maybe: bool,
    /// The function whose body it is in.
    pub(super) function: Option<String>,
    pub(super) depth: usize,
    pub(super) brush: bool,
}

impl Shell {
    /// The same without what its commands read and write.
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
            brush: self.brush,
        }
    }
}

/// Where a script stands in the outermost one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'p> {
    /// Byte for byte, from this byte of the cleaned script on.
    Exact(&'p Clean, usize),
    /// Somewhere in here.
    Within(Span),
}

impl Place<'_> {
    pub(super) fn span(self, start: usize, end: usize) -> Span {
        match self {
            Self::Exact(clean, base) => {
                let first = clean.source(base + start);
                let last = clean.source(base + end.saturating_sub(1).max(start));
                Span {
                    start: first,
                    end: (last + usize::from(end > start)).clamp(first, clean.source(usize::MAX / 2)),
                }
            }
            Self::Within(span) => span,
        }
    }

    fn deeper(self, at: usize) -> Self {
        match self {
            Self::Exact(clean, base) => Self::Exact(clean, base + at),
            Self::Within(span) => Self::Within(span),
        }
    }
}

/// What a list of commands came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    /// Their indices.
    pub(super) commands: Vec<usize>,
    /// What they print, if it is known.
    pub(super) output: Option<String>,
}

/// The state of reading one script.
pub(super) struct Reader<'a> {
    pub(super) limits: &'a Limits,
    deadline: WorkLimit,
    /// Words made by braces and looked at in commands so far.
    pub(super) words: usize,
    pub(super) out: Parsed,
    pub(super) known: HashMap<(usize, Vec<String>, Vec<String>), usize>,
    /// Scripts that were read, with what they came to.
    scripts: HashMap<(usize, String), Flow>,
    pub(super) documents: Vec<HereDocument>,
    pub(super) variables: Variables,
    /// Functions with the `cd`s in them.
    pub(super) functions: HashMap<String, Vec<Word>>,
    /// Functions that run their arguments, and whether they drop some first.
    pub(super) forwards: HashMap<String, bool>,
    /// Aliases, with their texts.
    pub(super) aliases: HashMap<String, String>,
    /// Files that commands of this script wrote, by their names, with what is in them.
    pub(super) written: HashMap<String, String>,
    /// A reader that could not make sense of everything is going through its findings.
    pub(super) quiet: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(limits: &'a Limits, deadline: WorkLimit) -> Self {
        Self {
            limits,
            deadline,
            words: 0,
            out: Parsed::default(),
            known: HashMap::new(),
            scripts: HashMap::new(),
            documents: Vec::new(),
            variables: Variables::until(deadline),
            functions: HashMap::new(),
            forwards: HashMap::new(),
            aliases: HashMap::new(),
            written: HashMap::new(),
            quiet: false,
        }
    }

    /// Reads the outermost script.
    pub(super) fn outermost(mut self, text: &str) -> Parsed {
        self.fresh(text, None, &mut Shell::default());
        let whole = Span { start: 0, end: text.len() };
        let again = self.variables.asked_in_loop && self.out.undecided.len() < 64;
        if again && !self.out.is_late() && !self.late(whole) {
            self.variables.restart();
            self.scripts.clear();
            self.documents.clear();
            self.out.undecided.clear();
            self.fresh(text, None, &mut Shell::default());
        }
        // Whoever found the time over without a place to say so.
        self.late(whole);
        self.out.undecided.sort_by_key(|undecided| undecided.span);
        self.out.undecided.dedup();
        self.out
    }

    /// Notes what cannot be understood.
    pub(super) fn undecided(&mut self, why: impl Into<String>, span: Span) {
        if self.out.undecided.len() < 256 {
            self.out.undecided.push(Undecided { why: why.into(), span });
        }
    }

    /// Whether time is over; noted once.
    pub(super) fn late(&mut self, span: Span) -> bool {
        self.late_after(Duration::ZERO, span)
    }

    /// Whether time is over once this much more of it is gone; noted once.
    pub(super) fn late_after(&mut self, more: Duration, span: Span) -> bool {
        let late = self.deadline.earlier(more).is_over();
        if late {
            self.out_of_time(span);
        }
        late
    }

    /// Whether time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    fn out_of_time(&mut self, span: Span) {
        if !self.out.undecided.iter().any(|undecided| undecided.why == LATE) {
            self.undecided(LATE, span);
        }
    }

    /// Reads a script that no parser has seen: the outermost, or one in `span` that was put together.
    pub(super) fn fresh(&mut self, text: &str, span: Option<Span>, shell: &mut Shell) -> Flow {
        let whole = span.unwrap_or(Span { start: 0, end: text.len() });
        if self.late(whole) {
            return Flow::default();
        }
        // The outermost script has been through the gate.
        let unmarked = || text.replace(super::heredoc::MARK, "");
        if let Some(Err(refused)) = span.map(|_| gate::admit(unmarked().as_bytes(), self.limits).map(|_| ()))
        {
            self.undecided(refused.why, span.unwrap_or(refused.span));
            return Flow::default();
        }
        if shell.depth > self.limits.depth.min(32) {
            self.undecided("scripts within scripts, too deep to follow", whole);
            return Flow::default();
        }
        let clean = clean(text, &mut self.documents, self.limits.depth);
        if let Some(why) = clean.refused {
            self.undecided(why, whole);
            return Flow::default();
        }
        let at = |at: usize| span.unwrap_or(Span { start: at, end: (at + 1).min(text.len()) });
        if clean.depth > self.limits.depth {
            self.undecided(format!("brackets and quotes nested more than {} deep", self.limits.depth), whole);
            return Flow::default();
        }
        if clean.run > RUN && plain::read(&clean.text).is_none() {
            self.undecided("a list or pipeline too long to read", whole);
            return Flow::default();
        }
        if let Some((why, place)) = clean.doubt {
            self.undecided(why, at(place));
        }
        let (depth, openers, bytes) = BRUSH;
        shell.brush = clean.depth <= depth
            && clean.openers <= openers
            && clean.text.len() <= bytes
            && brush::is_safe(&clean.text);
        shell.depth += 1;
        let place = span.map_or(Place::Exact(&clean, 0), Place::Within);
        let flow = self.script(&clean.text, place, shell);
        shell.depth -= 1;
        flow
    }

    /// Reads a cleaned script, or a part of one.
    fn script(&mut self, text: &str, place: Place<'_>, shell: &mut Shell) -> Flow {
        let whole = place.span(0, text.len());
        if self.late(whole) {
            return Flow::default();
        }
        let key = format!("{}\0{}\0{text}", shell.via.join("\0"), shell.input.as_deref().unwrap_or_default());
        let key = (whole.start, key);
        if let Some(flow) = self.scripts.get(&key) {
            return flow.clone();
        }
        let flow = self.both(text, place, shell, whole);
        self.scripts.insert(key, flow.clone());
        flow
    }

    /// Gives `text` to both readers.
    fn both(&mut self, text: &str, place: Place<'_>, shell: &mut Shell, whole: Span) -> Flow {
        if let Some(items) = plain::read(text) {
            return self.list(&items, place, shell);
        }
        // tree-sitter looks at the clock seldom, and what it made has to be gone through and given back.
        let Some(tree) = tree::read(text, self.deadline.earlier(self.limits.deadline / 10)) else {
            self.out_of_time(whole);
            return Flow::default();
        };
        let other = if shell.brush { brush::read(text) } else { None };
        let Some(items) = other else {
            if let Some(at) = tree.error {
                self.undecided(
                    "neither reader of bash understands it",
                    place.span(at, text.len().min(at + 1)),
                );
            }
            return self.list(&tree.items, place, shell);
        };
        let (mut one, mut two) = (Vec::new(), Vec::new());
        simples(&items, &mut one);
        simples(&tree.items, &mut two);
        if one == two {
            return self.list(&items, place, shell);
        }
        let mut again = shell.clone();
        let mut flow = self.list(&items, place, shell);
        let quiet = self.quiet;
        self.quiet |= tree.error.is_some();
        let more = self.list(&tree.items, place, &mut again);
        self.quiet = quiet;
        flow.commands.extend(more.commands);
        flow
    }

    /// A list of what runs one after the other.
    pub(super) fn list(&mut self, items: &[Item], place: Place<'_>, shell: &mut Shell) -> Flow {
        let mut all = Flow { commands: Vec::new(), output: Some(String::new()) };
        for item in items {
            if self.late(place.span(0, 1)) {
                break;
            }
            let flow = self.item(item, place, shell);
            all.commands.extend(flow.commands);
            all.output = all.output.zip(flow.output).map(|(before, after)| before + &after);
        }
        all
    }

    fn item(&mut self, item: &Item, place: Place<'_>, shell: &mut Shell) -> Flow {
        match item {
            Item::Simple(simple) => self.simple(simple, place, shell),
            Item::Group { items, redirects, subshell, maybe } => {
                let mut inner = shell.clone();
                inner.maybe |= maybe;
                self.redirects(redirects, place, &mut inner);
                let flow = self.list(items, place, &mut inner);
                if !subshell {
                    shell.cds = inner.cds;
                }
                flow
            }
            Item::Pipe(stages) => {
                let mut before: Option<Flow> = None;
                for stage in stages {
                    if self.late(place.span(0, 1)) {
                        break;
                    }
                    let mut inner = shell.clone();
                    if let Some(before) = before {
                        inner.input.clone_from(&before.output);
                        inner.fed = Some(match before.output {
                            Some(text) => Fed::Text(text),
                            None => Fed::Commands(before.commands),
                        });
                    }
                    before = Some(self.item(stage, place, &mut inner));
                }
                before.unwrap_or_default()
            }
            Item::Function { name, body } => {
                let mut inner = Shell { maybe: true, function: Some(name.clone()), ..shell.clone() };
                let flow = self.list(body, place, &mut inner);
                self.functions
                    .insert(name.clone(), inner.cds.split_off(shell.cds.len().min(inner.cds.len())));
                Flow { commands: flow.commands, output: Some(String::new()) }
            }
            Item::For { variable, values, body } => {
                self.for_values(variable, values, place, shell);
                let mut inner = Shell { maybe: true, ..shell.clone() };
                let flow = self.list(body, place, &mut inner);
                shell.cds = inner.cds;
                Flow { commands: flow.commands, output: None }
            }
            Item::Text(raw) => {
                self.embedded(word::scan(&raw.text), raw, place, shell);
                self.subscripts(&raw.text, place.span(raw.start, raw.end()), shell);
                Flow { commands: Vec::new(), output: None }
            }
        }
    }

    fn for_values(&mut self, variable: &str, values: &[Raw], place: Place<'_>, shell: &Shell) {
        let mut words = Vec::new();
        for raw in values {
            words.extend(self.word(raw, place, shell).0);
        }
        let mut value = Value { choices: Vec::new(), unknown: values.is_empty() };
        for word in self.variables.wordings(&words, shell.maybe).into_iter().flatten() {
            match word.literal() {
                Some(text) => value.choices.push(vec![text]),
                None => value.unknown = true,
            }
        }
        self.variables.set(variable, value, true);
    }

    /// Scripts embedded in `raw` that are run, with nothing known about what they print.
    pub(super) fn embedded(
        &mut self,
        scripts: Vec<word::Nested>,
        raw: &Raw,
        place: Place<'_>,
        shell: &Shell,
    ) {
        for nested in scripts {
            self.nested(&nested, raw, place, shell, None);
        }
    }

    /// Runs one embedded script. `fed`: what it reads, for `>(…)`.
    pub(super) fn nested(
        &mut self,
        nested: &word::Nested,
        raw: &Raw,
        place: Place<'_>,
        shell: &Shell,
        fed: Option<Fed>,
    ) -> Flow {
        let mut inner = Shell { fed, ..shell.without_streams() };
        if inner.depth > self.limits.depth {
            self.undecided("scripts within scripts, too deep to follow", place.span(raw.start, raw.end()));
            return Flow::default();
        }
        match nested.at {
            Some(at) => {
                inner.depth += 1;
                self.script(&nested.text, place.deeper(raw.start + at), &mut inner)
            }
            None => self.fresh(&nested.text, Some(place.span(raw.start, raw.end())), &mut inner),
        }
    }

    /// Text that bash may evaluate as an array's subscript: `a[$(…)]` runs what is in it, also from plain text.
    pub(super) fn subscripts(&mut self, text: &str, span: Span, shell: &Shell) {
        if !text.contains("[$(") && !text.contains("[`") {
            return;
        }
        for nested in word::lex_text(text).nested {
            let mut inner =
                Shell { via: [&shell.via[..], &["subscript".to_owned()]].concat(), ..shell.clone() };
            self.fresh(&nested.text, Some(span), &mut inner);
        }
    }
}
