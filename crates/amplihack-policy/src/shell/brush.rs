//! Reader one: brush-parser's syntax tree.

use brush_parser::ast;
use brush_parser::{Parser, ParserOptions, SourceInfo, TokenLocation};

use super::items::{Item, Raw, RawRedirect, Simple};
use super::model::RedirectKind;

/// What `text` runs, or `None` if brush cannot read it.
pub(super) fn read(text: &str) -> Option<Vec<Item>> {
    let mut parser = Parser::new(text.as_bytes(), &ParserOptions::default(), &SourceInfo::default());
    let program = parser.parse_program().ok()?;
    let bytes =
        (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).chain([text.len()]).collect());
    let reader = Reader { text, bytes };
    Some(program.complete_commands.iter().flat_map(|list| reader.list(list)).collect())
}

/// Whether brush reads `text` in time, in bounds and without a panic.
///
/// It takes digits in front of a redirection for a number that fits, tries each `((` in two ways, and each `(` behind one that is not
/// closed, which doubles its time, and never ends where it expects a here-document. There is none in a cleaned script, so that any `<<` but `<<<` is something else.
pub(super) fn is_safe(text: &str) -> bool {
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

struct Reader<'a> {
    text: &'a str,
    /// Where each character begins; brush counts characters.
    bytes: Option<Vec<usize>>,
}

impl Reader<'_> {
    fn byte(&self, character: usize) -> usize {
        self.bytes
            .as_ref()
            .map_or(character, |bytes| bytes.get(character).copied().unwrap_or(self.text.len()))
            .min(self.text.len())
    }

    fn slice(&self, loc: &TokenLocation) -> Raw {
        let (start, end) = (self.byte(loc.start.index), self.byte(loc.end.index));
        Raw { start, text: self.text.get(start..end).unwrap_or_default().to_owned() }
    }

    fn raw(&self, word: &ast::Word) -> Raw {
        let start = word.loc.as_ref().map_or(0, |loc| self.byte(loc.start.index));
        Raw { start, text: word.value.clone() }
    }

    fn list(&self, list: &ast::CompoundList) -> Vec<Item> {
        let mut items = Vec::new();
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let run = and_or.iter().map(|(_, pipeline)| self.pipeline(pipeline)).collect();
            match separator {
                ast::SeparatorOperator::Sequence => items.extend::<Vec<Item>>(run),
                ast::SeparatorOperator::Async => items.push(group(run, Vec::new(), true, false)),
            }
        }
        items
    }

    fn pipeline(&self, pipeline: &ast::Pipeline) -> Item {
        let mut stages: Vec<Item> = pipeline.seq.iter().map(|command| self.command(command)).collect();
        if stages.len() == 1 { stages.remove(0) } else { Item::Pipe(stages) }
    }

    fn command(&self, command: &ast::Command) -> Item {
        match command {
            ast::Command::Simple(simple) => Item::Simple(self.simple(simple)),
            ast::Command::Compound(compound, redirects) => self.compound(compound, redirects.as_ref()),
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                Item::Function {
                    name: function.fname.value.clone(),
                    body: vec![self.compound(body, redirects.as_ref())],
                }
            }
            ast::Command::ExtendedTest(test) => Item::Text(self.slice(&test.loc)),
        }
    }

    fn compound(&self, compound: &ast::CompoundCommand, redirects: Option<&ast::RedirectList>) -> Item {
        use ast::CompoundCommand as C;
        let redirects = redirects.map(|list| self.redirects(list.0.iter())).unwrap_or_default();
        let mut subshell = false;
        let mut maybe = true;
        let items = match compound {
            C::Arithmetic(command) => vec![Item::Text(self.slice(&command.loc))],
            C::ArithmeticForClause(command) => {
                let texts =
                    [&command.initializer, &command.condition, &command.updater].into_iter().flatten();
                let start = self.byte(command.loc.start.index);
                let texts = texts.map(|expr| Item::Text(Raw { start, text: expr.value.clone() }));
                texts.chain(self.list(&command.body.list)).collect()
            }
            C::BraceGroup(group) => {
                maybe = false;
                self.list(&group.list)
            }
            C::Subshell(shell) => {
                (subshell, maybe) = (true, false);
                self.list(&shell.list)
            }
            C::ForClause(clause) => vec![Item::For {
                variable: clause.variable_name.clone(),
                values: clause.values.iter().flatten().map(|word| self.raw(word)).collect(),
                body: self.list(&clause.body.list),
            }],
            C::CaseClause(clause) => {
                let mut items = vec![Item::Text(self.raw(&clause.value))];
                for case in &clause.cases {
                    items.extend(case.patterns.iter().map(|word| Item::Text(self.raw(word))));
                    items.extend(case.cmd.iter().flat_map(|list| self.list(list)));
                }
                items
            }
            C::IfClause(clause) => {
                let mut items = self.list(&clause.condition);
                items.extend(self.list(&clause.then));
                for branch in clause.elses.iter().flatten() {
                    items.extend(branch.condition.iter().flat_map(|list| self.list(list)));
                    items.extend(self.list(&branch.body));
                }
                items
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
                let mut items = self.list(condition);
                items.extend(self.list(&body.list));
                items
            }
        };
        group(items, redirects, subshell, maybe)
    }

    fn simple(&self, command: &ast::SimpleCommand) -> Simple {
        let mut simple = Simple::default();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.part(item, true, &mut simple);
        }
        simple.words.extend(command.word_or_name.iter().map(|word| self.raw(word)));
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(item, false, &mut simple);
        }
        simple
    }

    fn part(&self, item: &ast::CommandPrefixOrSuffixItem, prefix: bool, out: &mut Simple) {
        use ast::CommandPrefixOrSuffixItem as I;
        match item {
            I::IoRedirect(redirect) => out.redirects.extend(self.redirects([redirect].into_iter())),
            I::Word(word) => out.words.push(self.raw(word)),
            I::AssignmentWord(assignment, word) => {
                let slice = self.slice(&assignment.loc);
                let mut raw = if slice.text.contains('=') { slice } else { self.raw(word) };
                if raw.text.len() < word.value.len() && word.loc.is_some() {
                    raw = self.raw(word);
                }
                if prefix { out.assignments.push(raw) } else { out.words.push(raw) }
            }
            I::ProcessSubstitution(kind, shell) => out.words.push(self.process(kind, shell)),
        }
    }

    fn process(&self, kind: &ast::ProcessSubstitutionKind, shell: &ast::SubshellCommand) -> Raw {
        let raw = self.slice(&shell.loc);
        let sign = match kind {
            ast::ProcessSubstitutionKind::Read => '<',
            ast::ProcessSubstitutionKind::Write => '>',
        };
        if raw.text.starts_with(sign) {
            return raw;
        }
        Raw { start: raw.start.saturating_sub(1), text: format!("{sign}{}", raw.text) }
    }

    fn redirects<'b>(&self, list: impl Iterator<Item = &'b ast::IoRedirect>) -> Vec<RawRedirect> {
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
                        ast::IoFileRedirectTarget::Filename(word) => (file, self.raw(word)),
                        ast::IoFileRedirectTarget::Duplicate(word) => {
                            (duplicate(kind, &word.value), self.raw(word))
                        }
                        ast::IoFileRedirectTarget::ProcessSubstitution(kind, shell) => {
                            (file, self.process(kind, shell))
                        }
                        ast::IoFileRedirectTarget::Fd(_) => return None,
                    }
                }
                ast::IoRedirect::HereString(_, word) => (RedirectKind::HereString, self.raw(word)),
                ast::IoRedirect::OutputAndError(word, append) => {
                    (if *append { RedirectKind::Append } else { RedirectKind::Write }, self.raw(word))
                }
                ast::IoRedirect::HereDocument(_, document) => {
                    (RedirectKind::HereString, self.raw(&document.doc))
                }
            };
            Some(RawRedirect { kind, target })
        })
        .collect()
    }
}

/// `>&2` names a descriptor, `>&file` a file.
fn duplicate(kind: &ast::IoFileRedirectKind, target: &str) -> RedirectKind {
    let file = matches!(kind, ast::IoFileRedirectKind::DuplicateOutput) && !is_descriptor(target);
    if file { RedirectKind::Write } else { RedirectKind::Duplicate }
}

/// Whether what is behind `>&` is a descriptor: digits, `-`, or digits and `-`.
pub(super) fn is_descriptor(target: &str) -> bool {
    !target.is_empty() && target.strip_suffix('-').unwrap_or(target).bytes().all(|byte| byte.is_ascii_digit())
}

fn group(items: Vec<Item>, redirects: Vec<RawRedirect>, subshell: bool, maybe: bool) -> Item {
    Item::Group { items, redirects, subshell, maybe }
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
