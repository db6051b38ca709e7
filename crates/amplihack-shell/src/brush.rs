//! Reader one: brush-parser's syntax tree.

use brush_parser::ast;
use brush_parser::{Parser, ParserOptions, SourceInfo, TokenLocation};

use super::items::{RawCommand, RawRedirect, RawShellText, ShellItem, find_misread};
use super::model::RedirectKind;

/// The items that `text` runs, which is parsed as `masked`; `None` if brush cannot read it, or misreads it.
pub(super) fn read(text: &str, masked: &str) -> Option<Vec<ShellItem>> {
    if !is_safe(masked) {
        return None;
    }
    let mut parser = Parser::new(masked.as_bytes(), &ParserOptions::default(), &SourceInfo::default());
    let program = parser.parse_program().ok()?;
    let bytes =
        (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).chain([text.len()]).collect());
    let reader = BrushReader { text, masked, bytes };
    let items: Vec<ShellItem> =
        program.complete_commands.iter().flat_map(|list| reader.list_items(list)).collect();
    find_misread(&items).is_none().then_some(items)
}

/// Reports whether brush reads `text` in time, in bounds and without a panic.
///
/// It takes digits in front of a redirection for a number that fits, tries each `((` in two ways, and each `(` behind one that is not
/// closed, which doubles its time, and never ends where it expects a here-document. There is none in a cleaned script, so that any `<<` but `<<<` is something else.
fn is_safe(text: &str) -> bool {
    let digits = |before: &str| before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (mut opened, mut doubled) = (false, 0);
    let (mut behind, mut last) = (0, 0);
    let (mut angles, mut document) = (0, false);
    for byte in text.bytes().chain([0]) {
        match byte {
            b'(' => {
                doubled += usize::from(opened);
                // `$(` is in a word.
                behind += usize::from(doubled > 0 && !matches!(last, b'$' | b'<' | b'>'));
                opened = true;
            }
            b' ' | b'\t' | b'\n' => {}
            _ => opened = false,
        }
        last = byte;
        if byte == b'<' {
            angles += 1;
        } else {
            document |= angles == 2 || angles > 3;
            angles = 0;
        }
    }
    doubled <= 10 && behind <= 16 && !document && !text.split(['<', '>']).any(|before| digits(before) > 8)
}

struct BrushReader<'a> {
    text: &'a str,
    masked: &'a str,
    /// Byte offset of each character, since brush counts characters; `None` if the text is ASCII.
    bytes: Option<Vec<usize>>,
}

impl BrushReader<'_> {
    fn byte_offset(&self, character: usize) -> usize {
        self.bytes
            .as_ref()
            .map_or(character, |bytes| bytes.get(character).copied().unwrap_or(self.text.len()))
            .min(self.text.len())
    }

    fn raw_slice(&self, loc: &TokenLocation) -> RawShellText {
        let (start, end) = (self.byte_offset(loc.start.index), self.byte_offset(loc.end.index));
        RawShellText { start, text: self.text.get(start..end).unwrap_or_default().to_owned() }
    }

    fn raw_word(&self, word: &ast::Word) -> RawShellText {
        let start = word.loc.as_ref().map_or(0, |loc| self.byte_offset(loc.start.index));
        let range = start..start + word.value.len();
        let text = match self.masked.get(range.clone()) {
            Some(masked) if masked == word.value => self.text.get(range).unwrap_or(masked),
            _ => &word.value,
        };
        RawShellText { start, text: text.to_owned() }
    }

    fn list_items(&self, list: &ast::CompoundList) -> Vec<ShellItem> {
        let mut items = Vec::new();
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let run = and_or.iter().map(|(_, pipeline)| self.pipeline_item(pipeline)).collect();
            match separator {
                ast::SeparatorOperator::Sequence => items.extend::<Vec<ShellItem>>(run),
                ast::SeparatorOperator::Async => items.push(group_item(run, Vec::new(), true, false)),
            }
        }
        items
    }

    fn pipeline_item(&self, pipeline: &ast::Pipeline) -> ShellItem {
        let mut stages: Vec<ShellItem> =
            pipeline.seq.iter().map(|command| self.command_item(command)).collect();
        if stages.len() == 1 { stages.remove(0) } else { ShellItem::Pipe(stages) }
    }

    fn command_item(&self, command: &ast::Command) -> ShellItem {
        match command {
            ast::Command::Simple(simple) => ShellItem::Simple(self.simple_command(simple)),
            ast::Command::Compound(compound, redirects) => self.compound_item(compound, redirects.as_ref()),
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                ShellItem::Function {
                    name: function.fname.value.clone(),
                    body: vec![self.compound_item(body, redirects.as_ref())],
                }
            }
            ast::Command::ExtendedTest(test) => ShellItem::Text(self.raw_slice(&test.loc)),
        }
    }

    fn compound_item(
        &self,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
    ) -> ShellItem {
        use ast::CompoundCommand as C;
        let redirects = redirects.map(|list| self.raw_redirects(list.0.iter())).unwrap_or_default();
        let mut subshell = false;
        // A body that may run never or often leaves each variable all of its values; only groups and subshells count as run once.
        let mut maybe = true;
        let items = match compound {
            C::Arithmetic(command) => vec![ShellItem::Text(self.raw_slice(&command.loc))],
            C::ArithmeticForClause(command) => {
                let texts =
                    [&command.initializer, &command.condition, &command.updater].into_iter().flatten();
                let start = self.byte_offset(command.loc.start.index);
                let texts =
                    texts.map(|expr| ShellItem::Text(RawShellText { start, text: expr.value.clone() }));
                texts.chain(self.list_items(&command.body.list)).collect()
            }
            C::BraceGroup(group) => {
                maybe = false;
                self.list_items(&group.list)
            }
            C::Subshell(shell) => {
                (subshell, maybe) = (true, false);
                self.list_items(&shell.list)
            }
            C::ForClause(clause) => vec![ShellItem::For {
                variable: clause.variable_name.clone(),
                values: clause.values.iter().flatten().map(|word| self.raw_word(word)).collect(),
                body: self.list_items(&clause.body.list),
            }],
            C::CaseClause(clause) => {
                let mut items = vec![ShellItem::Text(self.raw_word(&clause.value))];
                for case in &clause.cases {
                    items.extend(case.patterns.iter().map(|word| ShellItem::Text(self.raw_word(word))));
                    items.extend(case.cmd.iter().flat_map(|list| self.list_items(list)));
                }
                items
            }
            C::IfClause(clause) => {
                let mut items = self.list_items(&clause.condition);
                items.extend(self.list_items(&clause.then));
                for branch in clause.elses.iter().flatten() {
                    items.extend(branch.condition.iter().flat_map(|list| self.list_items(list)));
                    items.extend(self.list_items(&branch.body));
                }
                items
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
                let mut items = self.list_items(condition);
                items.extend(self.list_items(&body.list));
                items
            }
        };
        group_item(items, redirects, subshell, maybe)
    }

    fn simple_command(&self, command: &ast::SimpleCommand) -> RawCommand {
        let mut simple = RawCommand::default();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.add_part(item, true, &mut simple);
        }
        simple.words.extend(command.word_or_name.iter().map(|word| self.raw_word(word)));
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.add_part(item, false, &mut simple);
        }
        simple
    }

    fn add_part(&self, item: &ast::CommandPrefixOrSuffixItem, prefix: bool, out: &mut RawCommand) {
        use ast::CommandPrefixOrSuffixItem as I;
        match item {
            I::IoRedirect(redirect) => out.redirects.extend(self.raw_redirects([redirect].into_iter())),
            I::Word(word) => out.words.push(self.raw_word(word)),
            I::AssignmentWord(assignment, word) => {
                let slice = self.raw_slice(&assignment.loc);
                let mut raw = if slice.text.contains('=') { slice } else { self.raw_word(word) };
                if raw.text.len() < word.value.len() && word.loc.is_some() {
                    raw = self.raw_word(word);
                }
                if prefix { out.assignments.push(raw) } else { out.words.push(raw) }
            }
            I::ProcessSubstitution(kind, shell) => out.words.push(self.process_substitution(kind, shell)),
        }
    }

    fn process_substitution(
        &self,
        kind: &ast::ProcessSubstitutionKind,
        shell: &ast::SubshellCommand,
    ) -> RawShellText {
        let raw = self.raw_slice(&shell.loc);
        let sign = match kind {
            ast::ProcessSubstitutionKind::Read => '<',
            ast::ProcessSubstitutionKind::Write => '>',
        };
        if raw.text.starts_with(sign) {
            return raw;
        }
        RawShellText { start: raw.start.saturating_sub(1), text: format!("{sign}{}", raw.text) }
    }

    fn raw_redirects<'b>(&self, list: impl Iterator<Item = &'b ast::IoRedirect>) -> Vec<RawRedirect> {
        list.filter_map(|redirect| {
            let (kind, target) = match redirect {
                ast::IoRedirect::File(_, kind, target) => {
                    let file = match kind {
                        ast::IoFileRedirectKind::Read => RedirectKind::Read,
                        ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber => {
                            RedirectKind::Write
                        }
                        ast::IoFileRedirectKind::Append => RedirectKind::Append,
                        ast::IoFileRedirectKind::ReadAndWrite => RedirectKind::ReadWrite,
                        ast::IoFileRedirectKind::DuplicateInput
                        | ast::IoFileRedirectKind::DuplicateOutput => RedirectKind::Duplicate,
                    };
                    match target {
                        ast::IoFileRedirectTarget::Filename(word) => (file, self.raw_word(word)),
                        ast::IoFileRedirectTarget::Duplicate(word) => {
                            (duplicate_kind(kind, &word.value), self.raw_word(word))
                        }
                        ast::IoFileRedirectTarget::ProcessSubstitution(kind, shell) => {
                            (file, self.process_substitution(kind, shell))
                        }
                        ast::IoFileRedirectTarget::Fd(_) => return None,
                    }
                }
                ast::IoRedirect::HereString(_, word) => (RedirectKind::HereString, self.raw_word(word)),
                ast::IoRedirect::OutputAndError(word, append) => {
                    (if *append { RedirectKind::Append } else { RedirectKind::Write }, self.raw_word(word))
                }
                ast::IoRedirect::HereDocument(_, document) => {
                    (RedirectKind::HereString, self.raw_word(&document.doc))
                }
            };
            Some(RawRedirect { kind, target })
        })
        .collect()
    }
}

/// `>&2` names a descriptor, `>&file` a file.
fn duplicate_kind(kind: &ast::IoFileRedirectKind, target: &str) -> RedirectKind {
    let file = matches!(kind, ast::IoFileRedirectKind::DuplicateOutput) && !is_descriptor(target);
    if file { RedirectKind::Write } else { RedirectKind::Duplicate }
}

/// Reports whether `target`, which is behind `>&`, is a descriptor: digits, `-`, or digits and `-`.
pub(super) fn is_descriptor(target: &str) -> bool {
    !target.is_empty() && target.strip_suffix('-').unwrap_or(target).bytes().all(|byte| byte.is_ascii_digit())
}

fn group_item(items: Vec<ShellItem>, redirects: Vec<RawRedirect>, subshell: bool, maybe: bool) -> ShellItem {
    ShellItem::Group { items, redirects, subshell, maybe }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by random input: a panic, time that doubles with each bracket, memory without end.
    #[test]
    fn what_brush_does_not_survive_is_not_given_to_it() {
        for text in [
            "ls 99999999999>f",
            &"((".repeat(20),
            &"( ".repeat(20),
            "a \"$(b <<<<<<x,4<<<",
            "$(a <<<<E",
            "echo $((1 << 2",
        ] {
            assert!(!is_safe(text), "{text}");
        }
        for text in [
            "ls 2>&1",
            "cat <<< x",
            "cat < \u{1}0\u{1}",
            "(cd x && (ls))",
            "diff <(a) <(b)",
            "((i++)); ((j++))",
        ] {
            assert!(is_safe(text), "{text}");
        }
    }
}
