//! Files that are edited: in place, by a script, by a patch, in an editor.

use super::super::call::CallArg;
use super::super::code;
use super::super::options::CommandOptions;
use super::{ChangeFinder, PathChangeKind};

impl ChangeFinder<'_, '_> {
    pub(super) fn in_place(&mut self) {
        let call = self.call;
        let options = CommandOptions::read(&call.args, "eflE", &["expression", "file"]);
        if call.is_any_of(&["sed", "gsed"]) {
            let scripts = options.values('e', "expression").map(str::to_owned);
            let first = options.operands.first().map(|arg| arg.text().to_owned());
            let scripts: Vec<String> = scripts.collect();
            for script in if scripts.is_empty() { first.into_iter().collect() } else { scripts } {
                for file in amplihack_shell::sed_writes(&script) {
                    self.add_text(PathChangeKind::Write, &file);
                }
            }
        }
        let edits = options.has_short('i')
            || options.has_long("in-place")
            || options.short.iter().any(|(ch, _)| *ch == 'I');
        if !edits {
            return;
        }
        let script_given = options.short.iter().any(|(ch, _)| "ef".contains(*ch))
            || options.has_long("expression")
            || options.has_long("file");
        for arg in options.operands.iter().skip(usize::from(!script_given)) {
            self.add_arg(PathChangeKind::Write, arg).edited = true;
        }
    }

    /// `print > "FILE"`
    pub(super) fn add_awk(&mut self) {
        if self.call.has_any(&["inplace"]) {
            self.call.operands().skip(2).for_each(|arg| {
                self.add_arg(PathChangeKind::Write, arg);
            });
        }
        for arg in self.call.operands().take(1) {
            for behind in arg.text().split('>').skip(1).filter(|behind| behind.trim_start().starts_with('"'))
            {
                if let Some(text) = code::string_literals(behind).first() {
                    self.add_text(PathChangeKind::Write, text);
                }
            }
        }
    }

    /// Files that a patch names, in its operands and its input.
    pub(super) fn add_patched(&mut self) {
        let (script, call) = (self.script, self.call);
        let heads =
            ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "+++ "];
        let texts = call.args.iter().map(CallArg::text).chain(script.fed_text(call));
        let named: Vec<&str> = texts
            .flat_map(str::lines)
            .filter_map(|line| heads.iter().find_map(|head| line.trim_start().strip_prefix(head)))
            .collect();
        for name in named {
            self.add_text(PathChangeKind::Write, name.split('\t').next().unwrap_or(name).trim());
        }
        if call.is_any_of(&["patch"]) {
            call.operands().take(1).for_each(|arg| {
                self.add_arg(PathChangeKind::Write, arg);
            });
        }
    }

    /// `:w FILE`
    pub(super) fn add_editor(&mut self) {
        if self.call.is_any_of(&["ed", "ex"]) {
            self.call.operands().for_each(|arg| {
                self.add_arg(PathChangeKind::Write, arg);
            });
        }
        let texts: Vec<&str> =
            self.call.args.iter().map(CallArg::text).chain(self.script.fed_text(self.call)).collect();
        for line in texts.iter().flat_map(|text| text.split(['\n', '|'])) {
            let mut words = line.trim_start_matches([':', '+']).split_whitespace();
            if let (Some("w" | "w!" | "wq" | "wq!" | "write" | "write!" | "saveas" | "saveas!"), Some(file)) =
                (words.next(), words.next())
            {
                self.add_text(PathChangeKind::Write, file);
            }
        }
    }
}
