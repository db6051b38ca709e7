//! Here-document bodies are taken out of a script, and its lines joined as bash joins them, before a parser reads it.

use super::counted::CountedBrackets;
use super::lexer::{ShellLexer, ShellToken, char_len};
use super::parse_cost::SlowParseDetector;

/// Around the number of a here-document in a cleaned script. The gate lets no script bring its own.
pub(super) const MARK: char = '\u{1}';

/// Closing brackets without an opening one up to which a script is read: the parser takes very long to recover from many.
const STRAY: usize = 16;

/// A body that was taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HereDocument {
    /// A part of the delimiter was quoted: nothing in the body is expanded.
    pub(super) quoted: bool,
    /// The lines of the body, tabs removed for `<<-`.
    pub(super) body: String,
    /// Byte of the script at which the body begins.
    pub(super) start: usize,
    /// Behind its last line.
    pub(super) end: usize,
}

/// A script that the parser can read.
#[derive(Debug, Default)]
pub(super) struct CleanedScript {
    /// The script: no bodies, no line continuations.
    pub(super) text: String,
    /// From which byte of `text` on which byte of the script follows.
    map: Vec<(usize, usize)>,
    /// Bytes of the script.
    len: usize,
    /// Construct that bash might read in another way than this module, and its byte offset.
    pub(super) doubt: Option<(&'static str, usize)>,
    /// Greatest nesting.
    pub(super) depth: usize,
    /// `|` and `&&` in the longest list.
    pub(super) run: usize,
    /// Reason for which reading was given up before the end.
    pub(super) refused: Option<&'static str>,
}

impl CleanedScript {
    /// The byte of the script that byte `at` of the text was.
    pub(super) fn source_offset(&self, at: usize) -> usize {
        let index = self.map.partition_point(|(clean, _)| *clean <= at);
        index.checked_sub(1).map_or(at, |index| at - self.map[index].0 + self.map[index].1).min(self.len)
    }
}

#[derive(Debug)]
struct PendingHereDocument {
    number: usize,
    delimiter: Vec<u8>,
    strip: bool,
    quoted: bool,
    substitutions: usize,
}

/// Cleans `src`; bodies are added to `found`. Reading stops where the nesting passes `depth`.
pub(super) fn clean_script(src: &str, found: &mut Vec<HereDocument>, depth: usize) -> CleanedScript {
    let bytes = src.as_bytes();
    let mut cleaner = ScriptCleaner {
        src: bytes,
        out: Vec::with_capacity(src.len()),
        clean: CleanedScript::default(),
        pending: Vec::new(),
        found,
        counted: CountedBrackets::default(),
    };
    cleaner.clean.map.push((0, 0));
    cleaner.clean.len = src.len();
    let mut lexer = ShellLexer::new();
    let (mut at, mut slow) = (0, SlowParseDetector::default());
    while at < bytes.len() {
        let begin = at;
        let (outside, frames) = (lexer.kind(), lexer.frame_count());
        let (end, token) = lexer.step_token(bytes, at);
        if let Some(why) = cleaner.counted.check_token(&lexer, frames, token, bytes, begin) {
            cleaner.note_doubt(why, begin);
        }
        at = cleaner.take_token(&lexer, begin, end, token);
        cleaner.clean.depth = cleaner.clean.depth.max(lexer.nesting_depth());
        if lexer.is_unsure() {
            cleaner.clean.refused = Some("brackets that cannot be told apart");
            break;
        }
        if lexer.nesting_depth() > depth {
            break;
        }
        // Refused before a parser sees it: a parser that takes exponential time does not look at the clock meanwhile.
        cleaner.clean.refused = slow.check_token(&lexer, outside, token, bytes, begin..end);
        cleaner.clean.run = slow.longest;
        if cleaner.clean.refused.is_some() {
            break;
        }
        if lexer.stray > STRAY {
            cleaner.clean.refused = Some("brackets are closed that were never opened");
            break;
        }
    }
    cleaner.finish_script()
}

struct ScriptCleaner<'a> {
    src: &'a [u8],
    out: Vec<u8>,
    clean: CleanedScript,
    pending: Vec<PendingHereDocument>,
    found: &'a mut Vec<HereDocument>,
    counted: CountedBrackets,
}

impl ScriptCleaner<'_> {
    fn take_token(&mut self, lexer: &ShellLexer, begin: usize, end: usize, token: ShellToken) -> usize {
        match token {
            ShellToken::Continuation => {
                if may_join_operators(self.out.last().copied(), self.src.get(end).copied()) {
                    self.note_doubt("an operator that is split over two lines", begin);
                }
                self.map_to_source(end);
                end
            }
            ShellToken::Escape if self.src[begin + 1] == b'\r' => {
                self.out.extend_from_slice(b"''");
                end
            }
            ShellToken::LineFeedFiller => {
                self.out.push(b' ');
                end
            }
            // The parser does not know these; a blank or `for` reads the same.
            ShellToken::Keyword if &self.src[begin..end] == b"select" => {
                self.out.extend_from_slice(b"for   ");
                end
            }
            ShellToken::Keyword => {
                let skip = coproc_name(self.src, end);
                self.out.extend(std::iter::repeat_n(b' ', skip - begin));
                skip
            }
            // The parser takes it for a word.
            ShellToken::DescriptorName => {
                self.out.extend(std::iter::repeat_n(b' ', end - begin));
                end
            }
            // The parser takes it for a descriptor.
            ShellToken::Number => {
                self.out.extend_from_slice(&self.src[begin..end]);
                self.out.push(b' ');
                self.map_to_source(end);
                end
            }
            ShellToken::HereDocument { strip } => self.take_operator(lexer, begin, end, strip),
            ShellToken::Newline if !self.pending.is_empty() => self.take_bodies(lexer, end),
            _ => {
                self.out.extend_from_slice(&self.src[begin..end]);
                end
            }
        }
    }

    fn note_doubt(&mut self, why: &'static str, at: usize) {
        self.clean.doubt.get_or_insert((why, at));
    }

    /// Maps the output that is written next to the byte `source` of the script.
    fn map_to_source(&mut self, source: usize) {
        self.clean.map.push((self.out.len(), source));
    }

    fn take_operator(&mut self, lexer: &ShellLexer, begin: usize, end: usize, strip: bool) -> usize {
        if subscript_before(self.src, begin) {
            self.note_doubt("a here-document, or a shift in a subscript", begin);
        }
        let Some((delimiter, quoted, after)) = read_delimiter(self.src, end) else {
            self.note_doubt("a here-document whose delimiter cannot be read", begin);
            self.out.extend_from_slice(&self.src[begin..end]);
            return end;
        };
        let number = self.found.len();
        self.found.push(HereDocument { quoted, body: String::new(), start: begin, end: after });
        self.pending.push(PendingHereDocument {
            number,
            delimiter,
            strip,
            quoted,
            substitutions: lexer.substitution_count(),
        });
        self.out.extend_from_slice(format!("< {MARK}{number}{MARK}").as_bytes());
        self.map_to_source(after);
        after
    }

    fn take_bodies(&mut self, lexer: &ShellLexer, mut at: usize) -> usize {
        self.out.push(b'\n');
        for pending in std::mem::take(&mut self.pending) {
            if pending.substitutions != lexer.substitution_count() {
                self.note_doubt("a here-document that a substitution begins or ends in", at);
            }
            let start = at;
            let body = read_body(
                self.src,
                at,
                &pending.delimiter,
                pending.strip,
                pending.quoted,
                pending.substitutions > 0,
            );
            at = body.next;
            let found = &mut self.found[pending.number];
            (found.body, found.start, found.end) =
                (String::from_utf8_lossy(&body.text).into_owned(), start, at);
        }
        self.map_to_source(at);
        at
    }

    fn finish_script(mut self) -> CleanedScript {
        if self.pending.iter().any(|pending| pending.substitutions > 0) {
            self.note_doubt("a here-document that a substitution begins or ends in", self.src.len());
        }
        self.clean.text = String::from_utf8_lossy(&self.out).into_owned();
        self.clean
    }
}

/// The body of a here-document.
pub(super) struct HereDocumentBody {
    /// The lines of the body, tabs removed for `<<-`.
    text: Vec<u8>,
    /// Byte at which the line of the delimiter begins, or the script ends.
    pub(super) end: usize,
    /// The delimiter that ends the body, without tabs before it; empty if the script ends without it.
    pub(super) delimiter: std::ops::Range<usize>,
    /// Byte at which reading continues.
    pub(super) next: usize,
}

/// The body that begins at `at`; `inside`: the operator stands in a substitution.
pub(super) fn read_body(
    src: &[u8],
    mut at: usize,
    delimiter: &[u8],
    strip: bool,
    quoted: bool,
    inside: bool,
) -> HereDocumentBody {
    let mut text = Vec::new();
    while let Some((line, next)) = read_line(src, at, strip, quoted) {
        let tabs = if strip { src[at..].iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
        let found = at + tabs..at + tabs + delimiter.len();
        if line == delimiter {
            return HereDocumentBody { text, end: at, delimiter: found, next };
        }
        // `$(cat <<E … E)`: bash ends the body there too.
        if inside && line.starts_with(delimiter) && line.contains(&b')') {
            let end = next.min(src.len()) - usize::from(src.get(next.wrapping_sub(1)) == Some(&b'\n'));
            let next = end - (line.len() - delimiter.len());
            return HereDocumentBody { text, end: at, delimiter: found, next };
        }
        text.extend_from_slice(&line);
        if src.get(next.wrapping_sub(1)) == Some(&b'\n') {
            text.push(b'\n');
        }
        at = next;
    }
    HereDocumentBody { text, end: at, delimiter: at..at, next: at }
}

/// The line at `at`, joined with the next ones where bash joins them, and where the next begins.
fn read_line(src: &[u8], mut at: usize, strip: bool, quoted: bool) -> Option<(Vec<u8>, usize)> {
    if at >= src.len() {
        return None;
    }
    let mut line = Vec::new();
    let mut first = true;
    loop {
        let len = src[at..].iter().position(|byte| *byte == b'\n').unwrap_or(src.len() - at);
        let mut part = &src[at..at + len];
        if strip && first {
            part = &part[part.iter().take_while(|byte| **byte == b'\t').count()..];
        }
        let next = (at + len + 1).min(src.len());
        let continued = part.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        if !quoted && continued && next < src.len() && src[next - 1] == b'\n' {
            line.extend_from_slice(&part[..part.len() - 1]);
            (at, first) = (next, false);
            continue;
        }
        line.extend_from_slice(part);
        return Some((line, next));
    }
}

/// Reports whether a parser may see a single operator where the lexer saw two things with a line's end between them.
fn may_join_operators(before: Option<u8>, after: Option<u8>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    match before {
        b'$' => b"({['\"".contains(&after),
        b'<' | b'>' => b"<(&".contains(&after),
        b'(' | b'[' => after == before,
        _ => after == b'\\' && b"$<>([".contains(&before),
    }
}

/// The delimiter behind `<<`: its text, whether a part of it is quoted, where it ends.
pub(super) fn read_delimiter(src: &[u8], from: usize) -> Option<(Vec<u8>, bool, usize)> {
    let mut at = from + src[from..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let begin = at;
    let (mut text, mut quoted) = (Vec::new(), false);
    while at < src.len() && !b" \t\n;&|<>()".contains(&src[at]) {
        match src[at] {
            b'`' => return None,
            b'$' if matches!(src.get(at + 1), Some(b'(' | b'{' | b'[' | b'\'' | b'"')) => return None,
            b'\\' if src.get(at + 1) == Some(&b'\n') => return None,
            b'\\' if at + 1 < src.len() => {
                let len = char_len(src, at + 1);
                text.extend_from_slice(&src[at + 1..at + 1 + len]);
                (quoted, at) = (true, at + 1 + len);
            }
            quote @ (b'\'' | b'"') => {
                let len = src[at + 1..].iter().position(|byte| *byte == quote)?;
                let inner = &src[at + 1..at + 1 + len];
                if inner.contains(&b'\n')
                    || (quote == b'"' && inner.iter().any(|byte| b"\\$`".contains(byte)))
                {
                    return None;
                }
                text.extend_from_slice(inner);
                (quoted, at) = (true, at + len + 2);
            }
            byte => {
                text.push(byte);
                at += 1;
            }
        }
    }
    (at > begin).then_some((text, quoted, at))
}

/// Reports whether `<<` at `at` stands in a word like `a[1<<2]`.
fn subscript_before(src: &[u8], at: usize) -> bool {
    let word = src[..at].iter().rev().take_while(|byte| !byte.is_ascii_whitespace());
    let mut open = 0_i32;
    for byte in word {
        match byte {
            b'[' => open += 1,
            b']' => open -= 1,
            _ => {}
        }
    }
    open > 0
}

/// Behind the name in `coproc NAME {`; `from` if there is none.
fn coproc_name(src: &[u8], from: usize) -> usize {
    let blank = |at: usize| at + src[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let name = blank(from);
    let end =
        name + src[name..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let next = &src[blank(end)..];
    let first = next.split(|byte| b" \t\n;(".contains(byte)).next().unwrap_or_default();
    let word = &src[name..end];
    let compound = next.first() == Some(&b'(')
        || [&b"{"[..], b"if", b"while", b"until", b"for", b"case", b"select", b"[["].contains(&first);
    let keyword = [&b"if"[..], b"while", b"until", b"for", b"case", b"select"].contains(&word);
    if compound && !keyword && end > name { end } else { from }
}

/// The number of the here-document that a cleaned word stands for.
pub(super) fn document_number(word: &str) -> Option<usize> {
    word.strip_prefix(MARK)?.strip_suffix(MARK)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(src: &str) -> (String, Vec<(bool, String)>) {
        let mut found = Vec::new();
        let clean = clean_script(src, &mut found, 100);
        assert_eq!(clean.doubt, None, "{src}");
        (clean.text.replace(MARK, "%"), found.into_iter().map(|doc| (doc.quoted, doc.body)).collect())
    }

    fn doubtful(src: &str) -> bool {
        clean_script(src, &mut Vec::new(), 100).doubt.is_some()
    }

    #[test]
    fn bodies_are_taken_out() {
        assert_eq!(
            read("cat <<E\na $b\nE\nls\n"),
            ("cat < %0%\nls\n".into(), vec![(false, "a $b\n".into())])
        );
        assert_eq!(
            read("cat <<'E F' -n\nE\nE F\nls"),
            ("cat < %0% -n\nls".into(), vec![(true, "E\n".into())])
        );
        assert_eq!(
            read("a <<-X <<\\Y\n\tx\n\tX\ny\nY\n").1,
            vec![(false, "x\n".into()), (true, "y\n".into())]
        );
        assert_eq!(
            read("f \"$(cat <<E\nx\nE\n)\" b"),
            ("f \"$(cat < %0%\n)\" b".into(), vec![(false, "x\n".into())])
        );
        assert_eq!(read("f $(cat <<E\nx\nE)"), ("f $(cat < %0%\n)".into(), vec![(false, "x\n".into())]));
        assert_eq!(read("cat <<E\nx").1, vec![(false, "x".into())]);
        assert_eq!(read("cat <<E\na\\\nE\nE\n").1, vec![(false, "aE\n".into())]);
    }

    #[test]
    fn what_is_no_here_document_stays() {
        for src in [
            "echo '<<E'\nls",
            "echo $((1<<2))\nls",
            "((x<<2))\nls",
            "# <<E\nls",
            "cat <<<E\nls",
            "[[ a << b ]]\nls",
            "echo ${x:1<<2}\nls",
        ] {
            assert_eq!(read(src), (src.to_owned(), vec![]), "{src}");
        }
    }

    #[test]
    fn lines_are_joined() {
        assert_eq!(read("r\\\nm 'a\\\nb' \"c\\\nd\" # e\\\nls").0, "rm 'a\\\nb' \"cd\" # e\\\nls");
        let mut found = Vec::new();
        let clean = clean_script("a\\\n b\\\n c", &mut found, 100);
        assert_eq!((clean.source_offset(0), clean.source_offset(2), clean.source_offset(4)), (0, 4, 8));
    }

    #[test]
    fn carriage_returns_end_lines() {
        assert_eq!(read("ls\r\nrm \\\r\nx").0, "ls \nrm ''\nx");
    }

    #[test]
    fn keywords_that_the_parser_lacks() {
        assert_eq!(read("coproc N { ls; }").0, "         { ls; }");
        assert_eq!(read("coproc rm x").0, "       rm x");
        assert_eq!(read("select x in a; do ls; done").0, "for    x in a; do ls; done");
    }

    #[test]
    fn doubts() {
        for src in [
            "a[1<<2]=3\nls\n2]=3",
            "cat <\\\n<E",
            "x=$\\\n(ls)",
            "cat <<`E`\n",
            "cat <<E $(\nls)\nE\n",
            "x=$(cat <<E)\nls\nE\n",
            "x=$((1 + $(cat <<E\na\nE\n)))",
            "x=$((1 + $(cat <<E\n'\nE\n) 2))",
            "x=$((rm x + $(cat \"$(cat <<E\n(\nE\n)\") 2))",
            "echo $(( rm x + `ls # )\n` 2 ))",
            "echo $(( rm x + `ls '` 2 ))",
            "echo $(( rm x + $(case x in (x) echo 2;; esac) 2 ))",
            "echo \"$(((1)); case x in x) a; b '$(rm x)';; esac )\"",
            "echo \"$((a) | b ${x#)} '$(rm x)' )\"",
        ] {
            assert!(doubtful(src), "{src}");
        }
        for src in [
            "x=$(( $(wc -l < f) << 2 ))",
            "x=$(( `wc -l < \"$f\"` + 1 ))",
            "case x in x) y=$((1 + 2));; esac",
            "(cat <<E\na\nE\n)",
            "n=$((1<<2))\ncat <<E\n'\nE\n",
        ] {
            assert!(!doubtful(src), "{src}");
        }
    }
}
