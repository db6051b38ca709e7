//! Reader two: tree-sitter's concrete tree, which there is for every input. What it could not read is walked all the same.

use std::cell::RefCell;
use std::ops::ControlFlow;

use amplihack_sys::WorkLimit;
use tree_sitter::{Node, ParseOptions, Parser};

use super::items::{RawCommand, RawRedirect, RawShellText, ShellItem, find_misread};
use super::model::RedirectKind;

/// Levels of the tree that are walked.
const DEPTH: usize = 400;

/// Items that tree-sitter read in a script.
pub(super) struct TreeReading {
    pub(super) items: Vec<ShellItem>,
    /// Byte of the first thing that it could not read, or misread.
    pub(super) error: Option<usize>,
}

/// The items that `text` runs, which is parsed as `masked`. `None` if the time is over.
pub(super) fn read(text: &str, masked: &str, deadline: WorkLimit) -> Option<TreeReading> {
    let tree = PARSER.with_borrow_mut(|kept| parse_script(kept, masked.as_bytes(), deadline))?;
    let root = tree.root_node();
    let mut walk = TreeWalk { text, items: Vec::new(), error: None };
    walk.walk_children(root, DEPTH);
    if root.has_error() && walk.error.is_none() {
        walk.error = Some(0);
    }
    let error = walk.error.or_else(|| find_misread(&walk.items));
    Some(TreeReading { items: walk.items, error })
}

thread_local! {
    /// A parser is worth keeping: most of a short script's time goes into making its buffers.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

fn parse_script(kept: &mut Option<Parser>, bytes: &[u8], deadline: WorkLimit) -> Option<tree_sitter::Tree> {
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

struct TreeWalk<'a> {
    text: &'a str,
    items: Vec<ShellItem>,
    error: Option<usize>,
}

impl<'a> TreeWalk<'a> {
    fn raw_text(&self, node: Node<'_>) -> RawShellText {
        RawShellText {
            start: node.start_byte(),
            text: self.text.get(node.byte_range()).unwrap_or_default().to_owned(),
        }
    }

    fn walk_children(&mut self, node: Node<'a>, depth: usize) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.walk_node(child, depth);
        }
    }

    /// Items inside `node`, as a list of their own.
    fn items_inside(&mut self, node: Node<'a>, depth: usize) -> Vec<ShellItem> {
        let before = std::mem::take(&mut self.items);
        self.walk_children(node, depth);
        std::mem::replace(&mut self.items, before)
    }

    fn items_of(&mut self, node: Node<'a>, depth: usize) -> Vec<ShellItem> {
        let before = std::mem::take(&mut self.items);
        self.walk_node(node, depth);
        std::mem::replace(&mut self.items, before)
    }

    fn note_error(&mut self, at: usize) {
        self.error = Some(self.error.map_or(at, |first| first.min(at)));
    }

    fn walk_node(&mut self, node: Node<'a>, depth: usize) {
        if node.is_error() || node.is_missing() || depth == 0 {
            self.note_error(node.start_byte());
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        match node.kind() {
            "command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => self.walk_command(node),
            "redirected_statement" => self.walk_redirected(node, depth),
            "list" => self.walk_list(node, depth),
            "pipeline" => {
                let mut stages = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    let items = self.items_of(child, depth);
                    // A stage that is no single command is a subshell, as bash runs it: a `cd` in a stage moves nothing that comes behind the pipe.
                    stages.push(match <[ShellItem; 1]>::try_from(items) {
                        Ok([item]) => item,
                        Err(items) => {
                            ShellItem::Group { items, redirects: Vec::new(), subshell: true, maybe: false }
                        }
                    });
                }
                self.items.push(ShellItem::Pipe(stages));
            }
            "subshell" => {
                let items = self.items_inside(node, depth);
                self.items.push(ShellItem::Group {
                    items,
                    redirects: Vec::new(),
                    subshell: true,
                    maybe: false,
                });
            }
            "compound_statement" if self.text[node.start_byte()..].starts_with('{') => {
                let items = self.items_inside(node, depth);
                self.items.push(ShellItem::Group {
                    items,
                    redirects: Vec::new(),
                    subshell: false,
                    maybe: false,
                });
            }
            "if_statement" | "while_statement" | "case_statement" | "case_item" | "elif_clause"
            | "else_clause" => {
                let items = self.items_inside(node, depth);
                self.items.push(ShellItem::Group {
                    items,
                    redirects: Vec::new(),
                    subshell: false,
                    maybe: true,
                });
            }
            "function_definition" => {
                let name =
                    node.child_by_field_name("name").map(|name| self.raw_text(name).text).unwrap_or_default();
                let body = self.items_inside(node, depth);
                self.items.push(ShellItem::Function { name, body });
            }
            "c_style_for_statement" => {
                let items = self.c_style_for(node, depth);
                self.items.push(ShellItem::Group {
                    items,
                    redirects: Vec::new(),
                    subshell: false,
                    maybe: true,
                });
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
                // Arithmetic and comparisons are no commands: only substitutions in it run, which the reader finds in the text.
                let text = self.raw_text(node);
                self.items.push(ShellItem::Text(text));
                self.walk_errors(node, depth);
            }
            "raw_string" | "ansi_c_string" | "comment" => {}
            _ => self.walk_children(node, depth),
        }
    }

    /// Notes errors in a node that is read as text, and commands inside what went wrong.
    fn walk_errors(&mut self, node: Node<'a>, depth: usize) {
        if node.has_error() {
            self.walk_children(node, depth);
            self.note_error(node.start_byte());
        }
    }

    /// `a && b && c` is a tree that is as deep as it is long: its left side is gone down in a loop.
    fn walk_list(&mut self, node: Node<'a>, depth: usize) {
        let mut lists = vec![node];
        while let Some(first) =
            lists.last().and_then(|list| list.child(0)).filter(|first| first.kind() == "list")
        {
            lists.push(first);
        }
        let mut cursor = node.walk();
        for (level, list) in lists.iter().rev().enumerate() {
            for child in list.children(&mut cursor).skip(usize::from(level > 0)) {
                self.walk_node(child, depth);
            }
        }
    }

    /// `for ((…; …; …))`: what is calculated is text, not commands.
    fn c_style_for(&mut self, node: Node<'a>, depth: usize) -> Vec<ShellItem> {
        let before = std::mem::take(&mut self.items);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind() == "variable_assignment" {
                let text = self.raw_text(child);
                self.items.push(ShellItem::Text(text));
                self.walk_errors(child, depth);
            } else {
                self.walk_node(child, depth);
            }
        }
        std::mem::replace(&mut self.items, before)
    }

    fn for_statement(&mut self, node: Node<'a>, depth: usize) {
        let variable =
            node.child_by_field_name("variable").map(|name| self.raw_text(name).text).unwrap_or_default();
        let mut cursor = node.walk();
        let values: Vec<Node<'a>> = node.children_by_field_name("value", &mut cursor).collect();
        let values = self.joined_words(&values);
        let mut body = Vec::new();
        for child in node.children(&mut cursor).filter(|child| child.kind() == "do_group" || child.is_error())
        {
            body.extend(self.items_of(child, depth));
        }
        self.items.push(ShellItem::For { variable, values, body });
        if node.has_error() {
            self.note_error(node.start_byte());
        }
    }

    fn walk_redirected(&mut self, node: Node<'a>, depth: usize) {
        let (mut redirects, mut more) = (Vec::new(), Vec::new());
        let mut items = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind().ends_with("_redirect") {
                more.extend(self.walk_redirect(child, &mut redirects));
            } else {
                items.extend(self.items_of(child, depth));
            }
        }
        match items.as_mut_slice() {
            [ShellItem::Simple(simple)] => {
                simple.redirects.append(&mut redirects);
                simple.words.append(&mut more);
                self.items.append(&mut items);
            }
            [] => self.items.push(ShellItem::Simple(RawCommand {
                words: more,
                redirects,
                ..RawCommand::default()
            })),
            _ => self.items.push(ShellItem::Group { items, redirects, subshell: false, maybe: false }),
        }
    }

    fn walk_command(&mut self, node: Node<'a>) {
        let mut simple = RawCommand::default();
        let (mut words, mut more) = (Vec::new(), Vec::new());
        let mut cursor = node.walk();
        if node.kind() == "variable_assignment" {
            simple.assignments.push(self.raw_text(node));
        } else {
            for child in node.children(&mut cursor) {
                match child.kind() {
                    "variable_assignment" if words.is_empty() => {
                        simple.assignments.push(self.raw_text(child));
                    }
                    kind if kind.ends_with("_redirect") => {
                        more.extend(self.walk_redirect(child, &mut simple.redirects));
                    }
                    "comment" => {}
                    _ => words.push(child),
                }
            }
        }
        simple.words = self.joined_words(&words);
        simple.words.append(&mut more);
        if node.has_error() {
            self.note_error(node.start_byte());
            for word in words.iter().filter(|word| word.has_error()) {
                self.walk_children(*word, DEPTH / 2);
            }
        }
        self.items.push(ShellItem::Simple(simple));
    }

    /// Nodes as words: those with nothing between them are one.
    fn joined_words(&self, nodes: &[Node<'_>]) -> Vec<RawShellText> {
        let mut words: Vec<RawShellText> = Vec::new();
        for node in nodes {
            let mut raw = self.raw_text(*node);
            self.take_escaped_blanks(&mut raw);
            match words.last_mut() {
                Some(last) if last.end_offset() == raw.start => last.text.push_str(&raw.text),
                _ => words.push(raw),
            }
        }
        words
    }

    /// Gives a word the blanks behind backslashes in front of it, which the grammar skips.
    fn take_escaped_blanks(&self, raw: &mut RawShellText) {
        let src = self.text.as_bytes();
        while raw.start >= 2 && matches!(src[raw.start - 1], b' ' | b'\t') {
            let backslashes = src[..raw.start - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 0 {
                break;
            }
            raw.start -= 2;
            raw.text.insert_str(0, &self.text[raw.start..raw.start + 2]);
        }
    }

    /// The redirection, and the words behind its target, which the grammar takes for targets too.
    fn walk_redirect(&mut self, node: Node<'a>, out: &mut Vec<RawRedirect>) -> Vec<RawShellText> {
        if node.has_error() {
            self.note_error(node.start_byte());
        }
        let mut operator = "<";
        let mut targets = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" => {}
                _ if !child.is_named() => operator = self.text.get(child.byte_range()).unwrap_or_default(),
                _ => targets.push(child),
            }
        }
        let mut words = self.joined_words(&targets);
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
