//! A reader of one line of JSON: one pass, no recursion, no value tree.
//!
//! It accepts what serde_json accepts, and lone surrogates besides, which become U+FFFD: JavaScript writes them when it cuts a string in the
//! middle of a character. The fuzz target `amp_wire` holds the two equal.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

/// Values nested deeper than this are no JSON here.
const DEEPEST: usize = 10_000;

/// Trees are built down to this depth; what is below is kept as its text.
const TREE: usize = 256;

/// In lines longer than this, a string's memory is measured before it is asked for.
const LONG: usize = 64 * 1024;

/// Fault in a line of JSON, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanFault {
    /// Description of what was expected.
    pub(super) expected: &'static str,
    /// Index of the byte.
    pub(super) at: usize,
}

/// Reason why an object is read no further.
enum ObjectReadStop {
    Found,
    Fault(ScanFault),
}

impl From<ScanFault> for ObjectReadStop {
    fn from(fault: ScanFault) -> Self {
        Self::Fault(fault)
    }
}

/// A place in a line.
pub(super) struct JsonCursor<'a> {
    text: &'a str,
    at: usize,
    /// Closing brackets that are still to come.
    open: Vec<u8>,
    /// The object that is read has another `type` besides the one that it is read as.
    retyped: bool,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Reports whether a string continues over this byte unchanged.
#[expect(clippy::needless_bitwise_bool, reason = "without branches it becomes vector instructions")]
const fn is_plain(byte: u8) -> bool {
    (byte != b'"') & (byte != b'\\') & (byte >= 0x20)
}

/// The index of the first byte in a word that is not plain.
fn first_special_byte(word: u64) -> Option<usize> {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let found = (zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c)) | control) & HIGH;
    (found != 0).then_some(found.trailing_zeros() as usize / 8)
}

/// The index of the first byte from `at` that is not plain, or the end.
fn run_end(bytes: &[u8], mut at: usize) -> usize {
    let mut words = 0;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        if let Some(found) = first_special_byte(u64::from_le_bytes(*block)) {
            return at + found;
        }
        at += 8;
        words += 1;
        if words == 4 {
            at = long_run(bytes, at);
        }
    }
    bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| !is_plain(*byte)))
        .map_or(bytes.len(), |found| at + found)
}

/// Goes over blocks that are plain. No branch inside of one, so that it becomes a few vector instructions.
fn long_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        if block.iter().fold(0, |found, byte| found | u8::from(!is_plain(*byte))) != 0 {
            break;
        }
        at += 32;
    }
    at
}

impl<'a> JsonCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, open: Vec::new(), retyped: false }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to, or on to, a place that [`JsonCursor::position`] gave.
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The text from `from` to here.
    pub(super) fn text_since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    /// Passes over the value of a key `type` in an object that is read as `kind`.
    pub(super) fn own_type(&mut self, kind: &str) -> Result<(), ScanFault> {
        let text = self.skip_value()?;
        let same = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) == Some(kind);
        self.retyped |= !same;
        Ok(())
    }

    /// Reads the object that comes as its type says. `read` takes the type, if it is a string, and the object.
    ///
    /// The type is the last one, as in JavaScript, and nearly always the only one: it is read ahead only as far as the first, and the
    /// object again where `read` met another.
    pub(super) fn read_typed<T, E: From<ScanFault>>(
        &mut self,
        read: impl Fn(&mut Self, Option<&str>) -> Result<T, E>,
    ) -> Result<T, E> {
        let outside = std::mem::take(&mut self.retyped);
        let from = self.at;
        let first = self.type_of(false)?;
        self.move_to(from);
        let mut result = read(self, first.as_deref());
        if self.retyped || result.is_err() {
            let end = std::mem::replace(&mut self.at, from);
            let last = self.type_of(true)?;
            if last == first {
                self.at = end;
            } else {
                self.at = from;
                result = read(self, last.as_deref());
            }
        }
        self.retyped = outside;
        result
    }

    /// The `type` of the object that comes, if it is a string: the first that is one, at which it stops, or the last.
    fn type_of(&mut self, last: bool) -> Result<Option<Cow<'a, str>>, ScanFault> {
        let mut found = None;
        let result = self.read_object(|cursor, key| {
            if key != "type" {
                cursor.skip_value()?;
            } else if cursor.peek() == b'"' {
                found = Some(cursor.read_string()?);
                if !last {
                    return Err(ObjectReadStop::Found);
                }
            } else {
                cursor.skip_value()?;
                found = None;
            }
            Ok(())
        });
        match result {
            Ok(()) | Err(ObjectReadStop::Found) => Ok(found),
            Err(ObjectReadStop::Fault(fault)) => Err(fault),
        }
    }

    fn fail_expecting<T, E: From<ScanFault>>(&self, expected: &'static str) -> Result<T, E> {
        Err(ScanFault { expected, at: self.at }.into())
    }

    /// The next byte; 0, which is nothing in JSON, at the end.
    fn current_byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    /// The byte with which the next value begins.
    pub(super) fn peek(&mut self) -> u8 {
        while matches!(self.current_byte(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
        self.current_byte()
    }

    /// Takes `byte`, after blanks, if it is there.
    fn take_byte(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    /// Checks that nothing more comes.
    pub(super) fn expect_end(&mut self) -> Result<(), ScanFault> {
        self.peek();
        if self.at == self.text.len() { Ok(()) } else { self.fail_expecting("the end of the line") }
    }

    /// A string, unescaped.
    pub(super) fn read_string(&mut self) -> Result<Cow<'a, str>, ScanFault> {
        if !self.take_byte(b'"') {
            return self.fail_expecting("a string");
        }
        let start = self.at;
        self.at = run_end(self.text.as_bytes(), self.at);
        if self.current_byte() == b'"' {
            let run = self.text_since(start);
            self.at += 1;
            return Ok(Cow::Borrowed(run));
        }
        // At its size from the beginning, a string is never moved. The rest of the line holds it; of a long line it is measured.
        let mut room = self.text.len() - start;
        if room > LONG {
            let here = self.at;
            self.skip_string_rest()?;
            room = self.at - start;
            self.at = here;
        }
        let mut out = String::with_capacity(room);
        out.push_str(self.text_since(start));
        loop {
            match self.current_byte() {
                b'"' => {
                    self.at += 1;
                    if out.len() < room / 2 {
                        out.shrink_to_fit();
                    }
                    return Ok(Cow::Owned(out));
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.read_escape()?);
                }
                _ => return self.fail_expecting("the end of a string"),
            }
            let start = self.at;
            self.at = run_end(self.text.as_bytes(), start);
            out.push_str(self.text_since(start));
        }
    }

    /// Reads the character behind a backslash.
    #[inline]
    fn read_escape(&mut self) -> Result<char, ScanFault> {
        let byte = self.current_byte();
        let char = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                self.at += 1;
                return self.read_unicode_escape();
            }
            _ => return self.fail_expecting("an escape"),
        };
        self.at += 1;
        Ok(char)
    }

    /// Four hexadecimal digits, or two escapes that are a surrogate pair; half of a pair is U+FFFD.
    fn read_unicode_escape(&mut self) -> Result<char, ScanFault> {
        let first = self.read_hex_code()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let here = self.at;
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u")) {
            self.at += 2;
            let second = self.read_hex_code()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = here;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn read_hex_code(&mut self) -> Result<u32, ScanFault> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.current_byte()).to_digit(16) else {
                return self.fail_expecting("four hexadecimal digits");
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn skip_string(&mut self) -> Result<(), ScanFault> {
        if !self.take_byte(b'"') {
            return self.fail_expecting("a string");
        }
        self.skip_string_rest()
    }

    /// Skips the rest of a string, with its closing quote.
    fn skip_string_rest(&mut self) -> Result<(), ScanFault> {
        loop {
            self.at = run_end(self.text.as_bytes(), self.at);
            match self.current_byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    self.read_escape()?;
                }
                _ => return self.fail_expecting("the end of a string"),
            }
        }
    }

    fn skip_digits(&mut self) -> Result<(), ScanFault> {
        let start = self.at;
        while self.current_byte().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { self.fail_expecting("a digit") } else { Ok(()) }
    }

    /// A number, as its text.
    pub(super) fn read_number(&mut self) -> Result<&'a str, ScanFault> {
        self.peek();
        let start = self.at;
        self.at += usize::from(self.current_byte() == b'-');
        if self.current_byte() == b'0' {
            self.at += 1;
        } else {
            self.skip_digits()?;
        }
        if self.current_byte() == b'.' {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.current_byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.current_byte(), b'+' | b'-'));
            self.skip_digits()?;
        }
        Ok(self.text_since(start))
    }

    fn expect_word(&mut self, word: &'static str) -> Result<(), ScanFault> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(());
        }
        self.fail_expecting(word)
    }

    /// A value that is no object and no array.
    fn skip_plain(&mut self) -> Result<(), ScanFault> {
        match self.peek() {
            b'"' => self.skip_string(),
            b't' => self.expect_word("true"),
            b'f' => self.expect_word("false"),
            b'n' => self.expect_word("null"),
            b'-' | b'0'..=b'9' => self.read_number().map(drop),
            _ => self.fail_expecting("a value"),
        }
    }

    fn skip_key(&mut self) -> Result<(), ScanFault> {
        self.skip_string()?;
        if self.take_byte(b':') { Ok(()) } else { self.fail_expecting("a colon") }
    }

    /// Any value, as its text.
    pub(super) fn skip_value(&mut self) -> Result<&'a str, ScanFault> {
        self.peek();
        let start = self.at;
        let outside = self.open.len();
        loop {
            match self.peek() {
                opening @ (b'{' | b'[') => {
                    self.at += 1;
                    // `{` and `}`, `[` and `]` are two apart.
                    let closing = opening + 2;
                    if !self.take_byte(closing) {
                        self.open.push(closing);
                        if self.open.len() > DEEPEST {
                            return self.fail_expecting("fewer levels of nesting");
                        }
                        if closing == b'}' {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                _ => self.skip_plain()?,
            }
            // Behind a value.
            loop {
                if self.open.len() == outside {
                    return Ok(self.text_since(start));
                }
                let closing = self.open.last().copied().unwrap_or_default();
                if self.take_byte(b',') {
                    if closing == b'}' {
                        self.skip_key()?;
                    }
                    break;
                }
                if !self.take_byte(closing) {
                    return self.fail_expecting("a comma or a closing bracket");
                }
                self.open.pop();
            }
        }
    }

    /// An object: `each` takes the value of each key.
    pub(super) fn read_object<E: From<ScanFault>>(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.take_byte(b'{') {
            return self.fail_expecting("an object");
        }
        if self.take_byte(b'}') {
            return Ok(());
        }
        loop {
            let key = self.read_string()?;
            if !self.take_byte(b':') {
                return self.fail_expecting("a colon");
            }
            each(self, key)?;
            if self.take_byte(b'}') {
                return Ok(());
            }
            if !self.take_byte(b',') {
                return self.fail_expecting("a comma or }");
            }
            self.peek();
        }
    }

    /// An array: `each` takes each value.
    pub(super) fn read_array<E: From<ScanFault>>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.take_byte(b'[') {
            return self.fail_expecting("an array");
        }
        if self.take_byte(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.take_byte(b']') {
                return Ok(());
            }
            if !self.take_byte(b',') {
                return self.fail_expecting("a comma or ]");
            }
        }
    }

    /// Any value as a tree; what is nested more than 256 deep is a text of JSON in it.
    pub(super) fn read_value(&mut self) -> Result<Value, ScanFault> {
        self.read_tree(TREE)
    }

    fn read_tree(&mut self, depth: usize) -> Result<Value, ScanFault> {
        match self.peek() {
            b'"' => Ok(Value::String(self.read_string()?.into_owned())),
            b'{' | b'[' if depth == 0 => Ok(Value::String(self.skip_value()?.to_owned())),
            b'{' => {
                let mut map = Map::new();
                self.read_object(|cursor, key| {
                    map.insert(key.into_owned(), cursor.read_tree(depth - 1)?);
                    Ok::<_, ScanFault>(())
                })?;
                Ok(Value::Object(map))
            }
            b'[' => {
                let mut list = Vec::new();
                self.read_array(|cursor| {
                    list.push(cursor.read_tree(depth - 1)?);
                    Ok::<_, ScanFault>(())
                })?;
                Ok(Value::Array(list))
            }
            b't' => self.expect_word("true").map(|()| Value::Bool(true)),
            b'f' => self.expect_word("false").map(|()| Value::Bool(false)),
            b'n' => self.expect_word("null").map(|()| Value::Null),
            _ => {
                let text = self.read_number()?;
                // What no number of Rust's holds stays its text.
                Ok(nearest_number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number))
            }
        }
    }
}

/// The number nearest to `text`, to the last bit; `None` beyond all of them.
fn nearest_number(text: &str) -> Option<Number> {
    if text != "-0" {
        if let Ok(number) = text.parse::<u64>() {
            return Some(number.into());
        }
        if let Ok(number) = text.parse::<i64>() {
            return Some(number.into());
        }
    }
    Number::from_f64(text.parse().ok()?)
}
