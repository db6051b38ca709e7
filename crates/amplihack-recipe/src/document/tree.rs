//! YAML as a tree with places: aliases followed, merge keys applied, duplicate keys refused, everything bounded.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::diagnostic::{RecipeDiagnostic, RecipeSource, RecipeSourceSpan};

/// Lists and maps in each other.
const DEEPEST: usize = 100;

/// Nodes and bytes that aliases may add.
const EXPANDED: usize = 10_000_000;

/// A node of the document.
#[derive(Debug, Clone)]
pub(super) struct YamlNode {
    pub(super) kind: YamlNodeKind,
    pub(super) span: RecipeSourceSpan,
    /// Nodes and bytes below it.
    weight: usize,
}

#[derive(Debug, Clone)]
pub(super) enum YamlNodeKind {
    /// `plain`: without quotes and not said to be a string.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Rc<YamlNode>>),
    Map(Vec<YamlMapEntry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(super) struct YamlMapEntry {
    pub(super) key: String,
    pub(super) key_span: RecipeSourceSpan,
    pub(super) value: Rc<YamlNode>,
}

/// Reads the one document of `source`.
pub(super) fn read_tree(source: &RecipeSource) -> Result<Rc<YamlNode>, RecipeDiagnostic> {
    let mut builder = YamlTreeBuilder {
        source,
        offsets: char_offsets(&source.text),
        open: Vec::new(),
        anchors: HashMap::new(),
        expanded: 0,
        root: None,
        documents: 0,
    };
    for event in Parser::new_from_str(&source.text) {
        let (event, span) = event.map_err(|error| {
            let at = builder.byte_offset(*error.marker());
            let what = format!("cannot parse YAML: {}", error.info());
            RecipeDiagnostic::error_at(source, RecipeSourceSpan { start: at, end: at }, what)
        })?;
        let span =
            RecipeSourceSpan { start: builder.byte_offset(span.start), end: builder.byte_offset(span.end) };
        builder.take_event(event, span)?;
    }
    builder
        .root
        .ok_or_else(|| RecipeDiagnostic::error_at(source, RecipeSourceSpan::default(), "the recipe is empty"))
}

/// The byte at which each character begins; nothing if each is one byte.
fn char_offsets(text: &str) -> Vec<usize> {
    if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).collect() }
}

struct YamlTreeBuilder<'a> {
    source: &'a RecipeSource,
    offsets: Vec<usize>,
    open: Vec<OpenYamlCollection>,
    anchors: HashMap<usize, Rc<YamlNode>>,
    expanded: usize,
    root: Option<Rc<YamlNode>>,
    documents: usize,
}

/// A list or map that is not closed yet.
struct OpenYamlCollection {
    anchor: usize,
    span: RecipeSourceSpan,
    weight: usize,
    what: YamlCollection,
}

enum YamlCollection {
    List(Vec<Rc<YamlNode>>),
    Map {
        entries: Vec<YamlMapEntry>,
        keys: HashSet<String>,
        key: Option<(String, bool, RecipeSourceSpan)>,
        merged: Vec<Rc<YamlNode>>,
    },
}

impl YamlTreeBuilder<'_> {
    fn byte_offset(&self, marker: Marker) -> usize {
        let at = marker.index();
        if self.offsets.is_empty() {
            at.min(self.source.text.len())
        } else {
            self.offsets.get(at).copied().unwrap_or(self.source.text.len())
        }
    }

    fn fail_at<T>(&self, span: RecipeSourceSpan, what: impl Into<String>) -> Result<T, RecipeDiagnostic> {
        Err(RecipeDiagnostic::error_at(self.source, span, what))
    }

    fn take_event(&mut self, event: Event<'_>, span: RecipeSourceSpan) -> Result<(), RecipeDiagnostic> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self
                        .fail_at(span, "more than one document in the file; a recipe is one document");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let string = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let plain = style == ScalarStyle::Plain && !string;
                let weight = 1 + text.len();
                let node =
                    YamlNode { kind: YamlNodeKind::Scalar { text: text.into_owned(), plain }, span, weight };
                self.add_node(node, anchor)?;
            }
            Event::SequenceStart(anchor, _) => {
                self.open_collection(anchor, span, YamlCollection::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, _) => {
                let what = YamlCollection::Map {
                    entries: Vec::new(),
                    keys: HashSet::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.open_collection(anchor, span, what)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(span)?,
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return self.fail_at(span, "an alias inside its own anchor");
                };
                // Counted, though the nodes are shared: ten aliases of ten aliases of ten are read out in full later.
                self.expanded = self.expanded.saturating_add(node.weight);
                if self.expanded > EXPANDED {
                    return self.fail_at(span, "aliases make the recipe too large");
                }
                self.place_node(node, span)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open_collection(
        &mut self,
        anchor: usize,
        span: RecipeSourceSpan,
        what: YamlCollection,
    ) -> Result<(), RecipeDiagnostic> {
        if self.open.len() >= DEEPEST {
            return self.fail_at(span, format!("lists and maps are nested more than {DEEPEST} deep"));
        }
        self.open.push(OpenYamlCollection { anchor, span, weight: 1, what });
        Ok(())
    }

    fn close_collection(&mut self, span: RecipeSourceSpan) -> Result<(), RecipeDiagnostic> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let kind = match open.what {
            YamlCollection::List(items) => YamlNodeKind::List(items),
            YamlCollection::Map { entries, keys, merged, .. } => {
                YamlNodeKind::Map(merge_entries(entries, keys, &merged))
            }
        };
        let span = RecipeSourceSpan { start: open.span.start, end: span.end };
        self.add_node(YamlNode { kind, span, weight: open.weight }, open.anchor)
    }

    fn add_node(&mut self, node: YamlNode, anchor: usize) -> Result<(), RecipeDiagnostic> {
        let span = node.span;
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.place_node(node, span)
    }

    /// Puts a node where it belongs; `span` is where it is written, or where its alias is.
    fn place_node(&mut self, node: Rc<YamlNode>, span: RecipeSourceSpan) -> Result<(), RecipeDiagnostic> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.weight = open.weight.saturating_add(node.weight);
        match &mut open.what {
            YamlCollection::List(items) => items.push(node),
            YamlCollection::Map { key: key @ None, keys, .. } => match &node.kind {
                YamlNodeKind::Scalar { text, plain } => {
                    if !keys.insert(text.clone()) {
                        let what = format!("duplicate field `{text}`");
                        return self.fail_at(span, what);
                    }
                    *key = Some((text.clone(), *plain, span));
                }
                _ => return self.fail_at(span, "a key has to be text"),
            },
            YamlCollection::Map { entries, key, merged, keys } => {
                let Some((name, plain, key_span)) = key.take() else { return Ok(()) };
                if name == "<<" && plain {
                    keys.remove("<<");
                    match &node.kind {
                        YamlNodeKind::Map(_) => merged.push(node),
                        YamlNodeKind::List(items)
                            if items.iter().all(|item| matches!(item.kind, YamlNodeKind::Map(_))) =>
                        {
                            merged.extend(items.iter().cloned());
                        }
                        _ => return self.fail_at(span, "`<<` takes a map, or a list of maps"),
                    }
                } else {
                    entries.push(YamlMapEntry { key: name, key_span, value: node });
                }
            }
        }
        Ok(())
    }
}

/// The entries of merged maps come behind a map's own, which win over them, as earlier ones do over later ones.
fn merge_entries(
    mut entries: Vec<YamlMapEntry>,
    mut keys: HashSet<String>,
    merged: &[Rc<YamlNode>],
) -> Vec<YamlMapEntry> {
    for node in merged {
        let YamlNodeKind::Map(others) = &node.kind else { continue };
        for other in others {
            if keys.insert(other.key.clone()) {
                entries.push(other.clone());
            }
        }
    }
    entries
}
