//! The parser: tree-sitter's concrete tree of a masked script, which there is for every input. What it could not read is walked all the
//! same.

use std::cell::RefCell;
use std::ops::ControlFlow;

use amplihack_sys::WorkLimit;
use tree_sitter::{Node, ParseOptions, Parser};

use super::items::{RawCommand, RawRedirect, RawShellText, ShellItem, find_misread};
use super::lexer::{BracketKind, bracket_end};
use super::mask::LEAD;
use super::model::RedirectKind;
use super::word::name_len;

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
    let open = split_assignments(&mut walk.items);
    let error = walk.error.or(open).or_else(|| find_misread(&walk.items));
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
            start: start_of(node),
            text: self.text.get(start_of(node)..end_of(node)).unwrap_or_default().to_owned(),
        }
    }

    fn walk_children(&mut self, node: Node<'a>, depth: usize) {
        let mut cursor = node.walk();
        let mut begin = self.items.len();
        for child in node.children(&mut cursor) {
            if child.kind() == "&" {
                // What runs beside the rest does so in a subshell.
                let items = self.items.split_off(begin);
                self.push_group(items, true, false);
            } else if child.is_named() && child.kind() != "comment" {
                begin = self.items.len();
            }
            self.walk_node(child, depth);
        }
    }

    fn push_group(&mut self, items: Vec<ShellItem>, subshell: bool, maybe: bool) {
        self.items.push(ShellItem::Group { items, redirects: Vec::new(), subshell, maybe });
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
            self.note_error(start_of(node));
        }
        let Some(depth) = depth.checked_sub(1) else { return };
        match node.kind() {
            "command" => self.walk_command(node),
            "redirected_statement" => self.walk_redirected(node, depth),
            "list" => self.walk_list(node, depth),
            "pipeline" => self.walk_pipeline(node, depth),
            "subshell" => {
                let items = self.items_inside(node, depth);
                self.push_group(items, true, false);
            }
            "compound_statement" if self.text[start_of(node)..].starts_with('{') => {
                let items = self.items_inside(node, depth);
                self.push_group(items, false, false);
            }
            "if_statement" | "while_statement" | "case_statement" | "case_item" | "elif_clause"
            | "else_clause" => {
                let items = self.items_inside(node, depth);
                self.push_group(items, false, true);
            }
            "function_definition" => self.walk_function(node, depth),
            "c_style_for_statement" => self.walk_c_style_for(node, depth),
            "for_statement" => self.walk_for(node, depth),
            "compound_statement" | "test_command" | "word" | "string" | "concatenation" => {
                // Arithmetic and comparisons are no commands: only substitutions in it run, which the reader finds in the text.
                let text = self.raw_text(node);
                self.items.push(ShellItem::Text(text));
                if node.has_error() {
                    self.walk_children(node, depth);
                    self.note_error(start_of(node));
                }
            }
            "raw_string" | "comment" => {}
            _ => self.walk_children(node, depth),
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

    fn walk_pipeline(&mut self, node: Node<'a>, depth: usize) {
        let mut stages = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
            let items = self.items_of(child, depth);
            // A stage that is no single command is a subshell, as bash runs it: a `cd` in a stage moves nothing that comes behind the pipe.
            stages.push(match <[ShellItem; 1]>::try_from(items) {
                Ok([item]) => item,
                Err(items) => ShellItem::Group { items, redirects: Vec::new(), subshell: true, maybe: false },
            });
        }
        self.items.push(ShellItem::Pipe(stages));
    }

    fn walk_function(&mut self, node: Node<'a>, depth: usize) {
        let name = node.child_by_field_name("name").map(|name| self.raw_text(name).text).unwrap_or_default();
        let (mut body, mut redirects, mut words) = (Vec::new(), Vec::new(), Vec::new());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_redirect" => words.extend(self.walk_redirect(child, &mut redirects)),
                "word" => {}
                _ => body.extend(self.items_of(child, depth)),
            }
        }
        self.items.push(ShellItem::Function { name, body });
        if !redirects.is_empty() && !add_redirects(&mut self.items, redirects, words) {
            self.note_error(start_of(node));
        }
    }

    /// `for ((…; …; …))`: what is calculated is text, not commands.
    fn walk_c_style_for(&mut self, node: Node<'a>, depth: usize) {
        let mut cursor = node.walk();
        let bracket = |kind: &str, cursor: &mut tree_sitter::TreeCursor<'a>| {
            node.children(cursor).find(|child| child.kind() == kind)
        };
        let range = bracket("((", &mut cursor).zip(bracket("))", &mut cursor));
        let mut items: Vec<ShellItem> = range
            .and_then(|(open, close)| {
                self.text.get(start_of(open)..end_of(close)).map(|text| (start_of(open), text))
            })
            .map(|(start, text)| ShellItem::Text(RawShellText { start, text: text.to_owned() }))
            .into_iter()
            .collect();
        items.extend(self.items_inside(node, depth));
        self.push_group(items, false, true);
    }

    fn walk_for(&mut self, node: Node<'a>, depth: usize) {
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
            self.note_error(start_of(node));
        }
    }

    fn walk_redirected(&mut self, node: Node<'a>, depth: usize) {
        let (mut redirects, mut words) = (Vec::new(), Vec::new());
        let before = std::mem::take(&mut self.items);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind() == "file_redirect" {
                words.extend(self.walk_redirect(child, &mut redirects));
            } else {
                self.walk_node(child, depth);
            }
        }
        let mut items = std::mem::replace(&mut self.items, before);
        if !add_redirects(&mut items, redirects, words) {
            self.note_error(start_of(node));
        }
        self.items.append(&mut items);
    }

    fn walk_command(&mut self, node: Node<'a>) {
        let mut simple = RawCommand::default();
        let (mut words, mut more) = (Vec::new(), Vec::new());
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_redirect" => more.extend(self.walk_redirect(child, &mut simple.redirects)),
                "comment" => {}
                _ => words.push(child),
            }
        }
        simple.words = self.joined_words(&words);
        simple.words.append(&mut more);
        if node.has_error() {
            self.note_error(start_of(node));
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
            let raw = self.raw_text(*node);
            match words.last_mut() {
                Some(last) if last.end_offset() == raw.start => last.text.push_str(&raw.text),
                _ => words.push(raw),
            }
        }
        words
    }

    /// The redirection, and the words behind its target, which the grammar takes for targets too.
    fn walk_redirect(&mut self, node: Node<'a>, out: &mut Vec<RawRedirect>) -> Vec<RawShellText> {
        if node.has_error() {
            self.note_error(start_of(node));
        }
        let mut operator = "";
        let mut targets = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" | "comment" => {}
                _ if !child.is_named() => operator = self.text.get(start_of(child)..).unwrap_or_default(),
                _ => targets.push(child),
            }
        }
        let mut words = self.joined_words(&targets);
        if !words.is_empty() {
            let target = words.remove(0);
            out.push(RawRedirect { kind: redirect_kind(operator, &target.text), target });
        }
        words
    }
}

/// Byte of the script at which `node` begins.
fn start_of(node: Node<'_>) -> usize {
    node.start_byte().saturating_sub(LEAD)
}

/// Byte of the script behind `node`.
fn end_of(node: Node<'_>) -> usize {
    node.end_byte().saturating_sub(LEAD)
}

/// The kind of a redirection to `target` whose operator begins `text`.
fn redirect_kind(text: &str, target: &str) -> RedirectKind {
    let begins = |operators: &[&str]| operators.iter().any(|operator| text.starts_with(operator));
    if begins(&["<<<"]) {
        RedirectKind::HereString
    } else if begins(&["<>"]) {
        RedirectKind::ReadWrite
    } else if begins(&["<&"]) || begins(&[">&"]) && is_descriptor(target) {
        RedirectKind::Duplicate
    } else if begins(&["<"]) {
        RedirectKind::Read
    } else if begins(&[">>", "&>>"]) {
        RedirectKind::Append
    } else {
        RedirectKind::Write
    }
}

/// Reports whether `target`, which is behind `>&`, is a descriptor: digits, `-`, or digits and `-`.
fn is_descriptor(target: &str) -> bool {
    !target.is_empty() && target.strip_suffix('-').unwrap_or(target).bytes().all(|byte| byte.is_ascii_digit())
}

/// Gives redirections, and the words behind them, to the last command of `items`, as bash does; the grammar gives them to the whole list.
/// `false` if the words can belong to nothing.
fn add_redirects(items: &mut Vec<ShellItem>, redirects: Vec<RawRedirect>, words: Vec<RawShellText>) -> bool {
    match items.last_mut() {
        None => {
            items.push(ShellItem::Simple(RawCommand { words, redirects, ..RawCommand::default() }));
            true
        }
        Some(ShellItem::Simple(simple)) => {
            simple.redirects.extend(redirects);
            simple.words.extend(words);
            true
        }
        Some(ShellItem::Pipe(stages)) => add_redirects(stages, redirects, words),
        Some(ShellItem::Function { body, .. }) => {
            let items = std::mem::take(body);
            body.push(ShellItem::Group { items, redirects, subshell: false, maybe: false });
            words.is_empty()
        }
        Some(_) => {
            let last = items.split_off(items.len() - 1);
            items.push(ShellItem::Group { items: last, redirects, subshell: false, maybe: false });
            words.is_empty()
        }
    }
}

/// Tells the variables that are set in front of a program from the words behind them; the grammar is not shown which they are. Returns
/// where a word begins of which that cannot be told.
fn split_assignments(items: &mut [ShellItem]) -> Option<usize> {
    let mut doubt = None;
    for item in items {
        match item {
            ShellItem::Simple(simple) => {
                let set = simple.words.iter().take_while(|word| assigns(&word.text) == Some(true)).count();
                simple.assignments = simple.words.drain(..set).collect();
                let open = simple.words.first().filter(|word| assigns(&word.text).is_none());
                doubt = doubt.or(open.map(|word| word.start));
            }
            ShellItem::Group { items, .. }
            | ShellItem::Pipe(items)
            | ShellItem::Function { body: items, .. }
            | ShellItem::For { body: items, .. } => {
                let inner = split_assignments(items);
                doubt = doubt.or(inner);
            }
            ShellItem::Text(_) => {}
        }
    }
    doubt
}

/// Reports whether `word` is `NAME=…`, `NAME+=…` or the same with a subscript. `None`: the subscript goes on behind the word.
fn assigns(word: &str) -> Option<bool> {
    let src = word.as_bytes();
    let len = name_len(src);
    if len == 0 {
        return Some(false);
    }
    let behind = match src.get(len) {
        Some(b'[') => bracket_end(src, len + 1, BracketKind::Square)?,
        _ => len,
    };
    Some(src[behind..].starts_with(b"=") || src[behind..].starts_with(b"+="))
}
