//! Reader two: tree-sitter's concrete tree, which there is for every input. What it could not read is walked all the same.

use std::cell::RefCell;
use std::ops::ControlFlow;

use amplihack_utils::sys::WorkLimit;
use tree_sitter::{Node, ParseOptions, Parser};

use super::items::{Item, Raw, RawRedirect, Simple};
use super::model::RedirectKind;

/// Levels of the tree that are walked.
const DEPTH: usize = 400;

/// What tree-sitter made of a script.
pub(super) struct Tree {
    pub(super) items: Vec<Item>,
    /// Where the first thing is that it could not read.
    pub(super) error: Option<usize>,
}

/// What `text` runs. `None` if the time is over.
pub(super) fn read(text: &str, deadline: WorkLimit) -> Option<Tree> {
    let tree = PARSER.with_borrow_mut(|kept| parse(kept, text.as_bytes(), deadline))?;
    let root = tree.root_node();
    let mut walk = Walk { text, items: Vec::new(), error: None };
    walk.children(root, DEPTH);
    if root.has_error() && walk.error.is_none() {
        walk.error = Some(0);
    }
    Some(Tree { items: walk.items, error: walk.error })
}

thread_local! {
    /// A parser is worth keeping: most of a short script's time goes into making its buffers.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

fn parse(kept: &mut Option<Parser>, bytes: &[u8], deadline: WorkLimit) -> Option<tree_sitter::Tree> {
    if kept.is_none() {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        *kept = Some(parser);
    }
    let mut progress =
        |_: &_| if deadline.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let read = &mut |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = kept.as_mut()?.parse_with_options(read, None, Some(options));
    if tree.is_none() {
        // It would go on with this script.
        *kept = None;
    }
    tree
}

struct Walk<'a> {
    text: &'a str,
    items: Vec<Item>,
    error: Option<usize>,
}

impl<'a> Walk<'a> {
    fn raw(&self, node: Node<'_>) -> Raw {
        Raw {
            start: node.start_byte(),
            text: self.text.get(node.byte_range()).unwrap_or_default().to_owned(),
        }
    }

    fn children(&mut self, node: Node<'a>, depth: usize) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.node(child, depth);
        }
    }

    /// What is inside `node`, as a list of its own.
    fn inside(&mut self, node: Node<'a>, depth: usize) -> Vec<Item> {
        let before = std::mem::take(&mut self.items);
        self.children(node, depth);
        std::mem::replace(&mut self.items, before)
    }

    fn one(&mut self, node: Node<'a>, depth: usize) -> Vec<Item> {
        let before = std::mem::take(&mut self.items);
        self.node(node, depth);
        std::mem::replace(&mut self.items, before)
    }

    fn fail(&mut self, at: usize) {
        self.error = Some(self.error.map_or(at, |first| first.min(at)));
    }

    fn node(&mut self, node: Node<'a>, depth: usize) {
        if node.is_error() || node.is_missing() || depth == 0 {
            self.fail(node.start_byte());
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        match node.kind() {
            "command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => self.command(node),
            "redirected_statement" => self.redirected(node, depth),
            "list" => self.list(node, depth),
            "pipeline" => {
                let mut stages = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    let items = self.one(child, depth);
                    stages.push(match <[Item; 1]>::try_from(items) {
                        Ok([item]) => item,
                        Err(items) => {
                            Item::Group { items, redirects: Vec::new(), subshell: true, maybe: false }
                        }
                    });
                }
                self.items.push(Item::Pipe(stages));
            }
            "subshell" => {
                let items = self.inside(node, depth);
                self.items.push(Item::Group { items, redirects: Vec::new(), subshell: true, maybe: false });
            }
            "compound_statement" if self.text[node.start_byte()..].starts_with('{') => {
                let items = self.inside(node, depth);
                self.items.push(Item::Group { items, redirects: Vec::new(), subshell: false, maybe: false });
            }
            "if_statement"
            | "while_statement"
            | "case_statement"
            | "c_style_for_statement"
            | "case_item"
            | "elif_clause"
            | "else_clause" => {
                let items = self.inside(node, depth);
                self.items.push(Item::Group { items, redirects: Vec::new(), subshell: false, maybe: true });
            }
            "function_definition" => {
                let name =
                    node.child_by_field_name("name").map(|name| self.raw(name).text).unwrap_or_default();
                let body = self.inside(node, depth);
                self.items.push(Item::Function { name, body });
            }
            "for_statement" => self.for_statement(node, depth),
            "command_substitution"
            | "process_substitution"
            | "compound_statement"
            | "test_command"
            | "word"
            | "string"
            | "concatenation"
            | "expansion"
            | "simple_expansion"
            | "arithmetic_expansion"
            | "binary_expression"
            | "unary_expression"
            | "postfix_expression"
            | "ternary_expression"
            | "parenthesized_expression"
            | "subscript"
            | "array"
            | "brace_expression"
            | "herestring_redirect"
            | "file_redirect" => {
                let text = self.raw(node);
                self.items.push(Item::Text(text));
                self.errors(node, depth);
            }
            "raw_string" | "ansi_c_string" | "comment" => {}
            _ => self.children(node, depth),
        }
    }

    /// Notes errors in a node that is read as text, and commands inside what went wrong.
    fn errors(&mut self, node: Node<'a>, depth: usize) {
        if node.has_error() {
            self.children(node, depth);
            self.fail(node.start_byte());
        }
    }

    /// `a && b && c` is a tree that is as deep as it is long: its left side is gone down in a loop.
    fn list(&mut self, node: Node<'a>, depth: usize) {
        let mut lists = vec![node];
        while let Some(first) =
            lists.last().and_then(|list| list.child(0)).filter(|first| first.kind() == "list")
        {
            lists.push(first);
        }
        let mut cursor = node.walk();
        for (level, list) in lists.iter().rev().enumerate() {
            for child in list.children(&mut cursor).skip(usize::from(level > 0)) {
                self.node(child, depth);
            }
        }
    }

    fn for_statement(&mut self, node: Node<'a>, depth: usize) {
        let variable =
            node.child_by_field_name("variable").map(|name| self.raw(name).text).unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<Node<'a>> = node.children_by_field_name("value", &mut cursor).collect();
        let values = self.joined(&values);
        let mut body = Vec::new();
        for child in node.children(&mut cursor).filter(|child| child.kind() == "do_group" || child.is_error())
        {
            body.extend(self.one(child, depth));
        }
        self.items.push(Item::For { variable, values, body });
        if node.has_error() {
            self.fail(node.start_byte());
        }
    }

    fn redirected(&mut self, node: Node<'a>, depth: usize) {
        let (mut redirects, mut more) = (Vec::new(), Vec::new());
        let mut items = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind().ends_with("_redirect") {
                more.extend(self.redirect(child, &mut redirects));
            } else {
                items.extend(self.one(child, depth));
            }
        }
        match items.as_mut_slice() {
            [Item::Simple(simple)] => {
                simple.redirects.append(&mut redirects);
                simple.words.append(&mut more);
                self.items.append(&mut items);
            }
            [] => self.items.push(Item::Simple(Simple { words: more, redirects, ..Simple::default() })),
            _ => self.items.push(Item::Group { items, redirects, subshell: false, maybe: false }),
        }
    }

    fn command(&mut self, node: Node<'a>) {
        let mut simple = Simple::default();
        let (mut words, mut more) = (Vec::new(), Vec::new());
        let mut cursor = node.walk();
        if node.kind() == "variable_assignment" {
            simple.assignments.push(self.raw(node));
        } else {
            for child in node.children(&mut cursor) {
                match child.kind() {
                    "variable_assignment" if words.is_empty() => simple.assignments.push(self.raw(child)),
                    kind if kind.ends_with("_redirect") => {
                        more.extend(self.redirect(child, &mut simple.redirects));
                    }
                    "comment" => {}
                    _ => words.push(child),
                }
            }
        }
        simple.words = self.joined(&words);
        simple.words.append(&mut more);
        if node.has_error() {
            self.fail(node.start_byte());
            for word in words.iter().filter(|word| word.has_error()) {
                self.children(*word, DEPTH / 2);
            }
        }
        self.items.push(Item::Simple(simple));
    }

    /// Nodes as words: those with nothing between them are one.
    fn joined(&self, nodes: &[Node<'_>]) -> Vec<Raw> {
        let mut words: Vec<Raw> = Vec::new();
        for node in nodes {
            let raw = self.raw(*node);
            match words.last_mut() {
                Some(last) if last.end() == raw.start => last.text.push_str(&raw.text),
                _ => words.push(raw),
            }
        }
        words
    }

    /// The redirection, and the words behind its target, which the grammar takes for targets too.
    fn redirect(&mut self, node: Node<'a>, out: &mut Vec<RawRedirect>) -> Vec<Raw> {
        if node.has_error() {
            self.fail(node.start_byte());
        }
        let mut operator = "<";
        let mut targets = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" => {}
                kind if !child.is_named() => operator = kind,
                _ => targets.push(child),
            }
        }
        let mut words = self.joined(&targets);
        if !words.is_empty() {
            let target = words.remove(0);
            let kind = match operator {
                "<<<" => RedirectKind::HereString,
                ">>" | "&>>" => RedirectKind::Append,
                "<>" => RedirectKind::ReadWrite,
                "<&" | "<&-" | ">&-" => RedirectKind::Duplicate,
                ">&" if super::brush::is_descriptor(&target.text) => RedirectKind::Duplicate,
                ">" | ">|" | "&>" | ">&" => RedirectKind::Write,
                _ => RedirectKind::Read,
            };
            out.push(RawRedirect { kind, target });
        }
        words
    }
}
