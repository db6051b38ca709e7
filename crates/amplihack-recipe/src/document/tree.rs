//! YAML as a tree with places: aliases followed, merge keys applied, duplicate keys refused, everything bounded.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::diagnostic::{Diagnostic, Source, Span};

/// Lists and maps in each other.
const DEEPEST: usize = 100;

/// Nodes and bytes that aliases may add.
const EXPANDED: usize = 10_000_000;

/// A node of the document.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// Nodes and bytes below it.
    weight: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// `plain`: without quotes and not said to be a string.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Rc<Node>,
}

/// Reads the one document of `source`.
pub(super) fn read(source: &Source) -> Result<Rc<Node>, Diagnostic> {
    let mut builder = Builder {
        source,
        offsets: offsets(&source.text),
        open: Vec::new(),
        anchors: HashMap::new(),
        expanded: 0,
        root: None,
        documents: 0,
    };
    for event in Parser::new_from_str(&source.text) {
        let (event, span) = event.map_err(|error| {
            let at = builder.byte(*error.marker());
            let what = format!("cannot parse YAML: {}", error.info());
            Diagnostic::error(source, Span { start: at, end: at }, what)
        })?;
        let span = Span { start: builder.byte(span.start), end: builder.byte(span.end) };
        builder.take(event, span)?;
    }
    builder.root.ok_or_else(|| Diagnostic::error(source, Span::default(), "the recipe is empty"))
}

/// The byte at which each character begins; nothing if each is one byte.
fn offsets(text: &str) -> Vec<usize> {
    if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).collect() }
}

struct Builder<'a> {
    source: &'a Source,
    offsets: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    expanded: usize,
    root: Option<Rc<Node>>,
    documents: usize,
}

/// A list or map that is not closed yet.
struct Open {
    anchor: usize,
    span: Span,
    weight: usize,
    what: Collection,
}

enum Collection {
    List(Vec<Rc<Node>>),
    Map {
        entries: Vec<Entry>,
        keys: HashSet<String>,
        key: Option<(String, bool, Span)>,
        merged: Vec<Rc<Node>>,
    },
}

impl Builder<'_> {
    fn byte(&self, marker: Marker) -> usize {
        let at = marker.index();
        if self.offsets.is_empty() {
            at.min(self.source.text.len())
        } else {
            self.offsets.get(at).copied().unwrap_or(self.source.text.len())
        }
    }

    fn fail<T>(&self, span: Span, what: impl Into<String>) -> Result<T, Diagnostic> {
        Err(Diagnostic::error(self.source, span, what))
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.fail(span, "more than one document in the file; a recipe is one document");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let string = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let plain = style == ScalarStyle::Plain && !string;
                let weight = 1 + text.len();
                let node = Node { kind: Kind::Scalar { text: text.into_owned(), plain }, span, weight };
                self.add(node, anchor)?;
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, span, Collection::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => {
                let what = Collection::Map {
                    entries: Vec::new(),
                    keys: HashSet::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.begin(anchor, span, what)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return self.fail(span, "an alias inside of what it stands for");
                };
                self.expanded = self.expanded.saturating_add(node.weight);
                if self.expanded > EXPANDED {
                    return self.fail(span, "aliases make the recipe too large");
                }
                self.place(node, span)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, span: Span, what: Collection) -> Result<(), Diagnostic> {
        if self.open.len() >= DEEPEST {
            return self.fail(span, format!("lists and maps are nested more than {DEEPEST} deep"));
        }
        self.open.push(Open { anchor, span, weight: 1, what });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let kind = match open.what {
            Collection::List(items) => Kind::List(items),
            Collection::Map { entries, keys, merged, .. } => Kind::Map(merge(entries, keys, &merged)),
        };
        let span = Span { start: open.span.start, end: span.end };
        self.add(Node { kind, span, weight: open.weight }, open.anchor)
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Diagnostic> {
        let span = node.span;
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.place(node, span)
    }

    /// Puts a node where it belongs; `span` is where it is written, or where its alias is.
    fn place(&mut self, node: Rc<Node>, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.weight = open.weight.saturating_add(node.weight);
        match &mut open.what {
            Collection::List(items) => items.push(node),
            Collection::Map { key: key @ None, keys, .. } => match &node.kind {
                Kind::Scalar { text, plain } => {
                    if !keys.insert(text.clone()) {
                        let what = format!("duplicate field `{text}`");
                        return self.fail(span, what);
                    }
                    *key = Some((text.clone(), *plain, span));
                }
                _ => return self.fail(span, "a key has to be text"),
            },
            Collection::Map { entries, key, merged, keys } => {
                let Some((name, plain, key_span)) = key.take() else { return Ok(()) };
                if name == "<<" && plain {
                    keys.remove("<<");
                    match &node.kind {
                        Kind::Map(_) => merged.push(node),
                        Kind::List(items) if items.iter().all(|item| matches!(item.kind, Kind::Map(_))) => {
                            merged.extend(items.iter().cloned());
                        }
                        _ => return self.fail(span, "`<<` takes a map, or a list of maps"),
                    }
                } else {
                    entries.push(Entry { key: name, key_span, value: node });
                }
            }
        }
        Ok(())
    }
}

/// The entries of merged maps come behind a map's own, which win over them, as earlier ones do over later ones.
fn merge(mut entries: Vec<Entry>, mut keys: HashSet<String>, merged: &[Rc<Node>]) -> Vec<Entry> {
    for node in merged {
        let Kind::Map(others) = &node.kind else { continue };
        for other in others {
            if keys.insert(other.key.clone()) {
                entries.push(other.clone());
            }
        }
    }
    entries
}
