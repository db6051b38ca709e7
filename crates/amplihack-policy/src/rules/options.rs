//! Options apart from operands, as GNU's `getopt_long` reads them.

use super::call::CallArg;

/// The arguments of a command.
#[derive(Debug, Default)]
pub(crate) struct CommandOptions<'c> {
    /// Short options in order, those in clusters too, with their values.
    pub(crate) short: Vec<(char, Option<String>)>,
    /// Long options without dashes, with their values.
    pub(crate) long: Vec<(String, Option<String>)>,
    /// Everything else.
    pub(crate) operands: Vec<&'c CallArg>,
}

impl<'c> CommandOptions<'c> {
    /// Reads `args`. Short options in `with_value` and long options in `long_with_value` take the next word.
    pub(crate) fn read(args: &'c [CallArg], with_value: &str, long_with_value: &[&str]) -> Self {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let text = arg.text();
            if text == "--" {
                options.operands.extend(rest.by_ref());
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None if long.len() > 1 && long_with_value.iter().any(|with| with.starts_with(long)) => {
                        (long, rest.next().map(|value| value.text().to_owned()))
                    }
                    None => (long, None),
                };
                options.long.push((name.to_owned(), value));
            } else if text.len() > 1 && text.starts_with('-') {
                options.read_cluster(&text[1..], with_value, &mut rest);
            } else {
                options.operands.push(arg);
            }
        }
        options
    }

    fn read_cluster(&mut self, cluster: &str, with_value: &str, rest: &mut std::slice::Iter<'c, CallArg>) {
        for (at, ch) in cluster.char_indices() {
            if !with_value.contains(ch) {
                self.short.push((ch, None));
                continue;
            }
            let behind = &cluster[at + ch.len_utf8()..];
            let value = if behind.is_empty() {
                rest.next().map(|arg| arg.text().to_owned())
            } else {
                Some(behind.to_owned())
            };
            self.short.push((ch, value));
            return;
        }
    }

    /// Reports whether a short option is there.
    pub(crate) fn has_short(&self, short: char) -> bool {
        self.short.iter().any(|(ch, _)| *ch == short)
    }

    /// Reports whether a long option is there, whole or abbreviated.
    pub(crate) fn has_long(&self, long: &str) -> bool {
        self.long.iter().any(|(name, _)| is_abbreviation(name, long))
    }

    /// The last value of a short or long option.
    pub(crate) fn value(&self, short: char, long: &str) -> Option<&str> {
        let long = self.long.iter().rev().find(|(name, _)| is_abbreviation(name, long));
        long.map(|(_, value)| value)
            .or_else(|| self.short.iter().rev().find(|(ch, _)| *ch == short).map(|(_, value)| value))?
            .as_deref()
    }

    /// Every value of a short or long option.
    pub(crate) fn values<'o>(&'o self, short: char, long: &'o str) -> impl Iterator<Item = &'o str> {
        let short =
            self.short.iter().filter(move |(ch, _)| *ch == short).filter_map(|(_, value)| value.as_deref());
        let long = self
            .long
            .iter()
            .filter(move |(name, _)| is_abbreviation(name, long))
            .filter_map(|(_, value)| value.as_deref());
        short.chain(long)
    }
}

/// Reports whether `given` is `long` or an abbreviation of it.
pub(crate) fn is_abbreviation(given: &str, long: &str) -> bool {
    !given.is_empty() && long.starts_with(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_flags() {
        let args: Vec<CallArg> = ["-am", "--no-verify", "-S", "file", "--mess", "-n", "--", "-x"]
            .iter()
            .map(|text| CallArg::from_text(text))
            .collect();
        let options = CommandOptions::read(&args, "m", &["message"]);
        assert_eq!(options.value('m', "message"), Some("-n"));
        assert!(!options.has_short('n') && !options.has_long("no-verify") && !options.has_short('x'));
        let operands: Vec<_> = options.operands.iter().map(|arg| arg.text()).collect();
        assert_eq!(operands, ["file", "-x"]);
    }

    #[test]
    fn clusters_and_abbreviations_are_read() {
        let args: Vec<CallArg> =
            ["-nm", "text", "--recurs"].iter().map(|text| CallArg::from_text(text)).collect();
        let options = CommandOptions::read(&args, "m", &[]);
        assert!(options.has_short('n') && options.has_long("recursive"));
        assert_eq!(options.value('m', "message"), Some("text"));
    }
}
