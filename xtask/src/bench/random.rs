//! Numbers that only look random, and what recordings are made of.

use std::fmt::Write as _;

use super::transcript::quoted;

const WORDS: &[&str] = &[
    "parser",
    "token",
    "buffer",
    "stream",
    "async",
    "handler",
    "error",
    "retry",
    "session",
    "thread",
    "model",
    "cache",
    "index",
    "struct",
    "enum",
    "trait",
    "match",
    "await",
    "spawn",
    "channel",
    "timeout",
    "signal",
    "pipe",
    "stdin",
    "utf8",
    "decode",
    "line",
    "frame",
    "chunk",
    "permission",
    "delegate",
    "reject",
    "allow",
    "settings",
    "config",
];
/// What a careless reader breaks.
const ODD: &[&str] = &[
    "naïve café",
    "日本語テキスト",
    "Привет мир",
    "🚀🔥✅",
    "e\u{301}\u{308}",
    "\u{2028}sep\u{2029}",
    "العربية",
    "\u{1b}[31mred\u{1b}[0m",
    "tab\tq\"uote\\slash",
    "\u{0}nul",
];

/// A generator of numbers (xorshift with a multiplication).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from((self.next() >> 16) % end).unwrap_or_default()
    }

    /// A number between 0 and 1, without 0.
    fn part(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let part = ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        part
    }

    /// The size of a tool's result in bytes: log-normal around 1300.
    pub(super) fn size(&mut self) -> usize {
        let normal = (-2.0 * self.part().ln()).sqrt() * (std::f64::consts::TAU * self.part()).cos();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and sizes need no fractions"
        )]
        let size = (1.5_f64.mul_add(normal, 7.2).exp() * 0.85).max(1.0) as usize;
        size
    }

    /// So many words, and as a rule nothing odd behind them.
    pub(super) fn words(&mut self, count: usize) -> String {
        let mut words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        if self.below(100) < 35 {
            words.push(ODD[self.below(ODD.len())]);
        }
        words.join(" ")
    }

    /// At most `bytes` bytes of numbered lines that look like code.
    pub(super) fn code(&mut self, bytes: usize) -> String {
        let mut code = String::with_capacity(bytes + 256);
        let mut number = 1;
        while code.len() < bytes {
            let (indent, words) = (self.below(5), 2 + self.below(11));
            let end = [";", " {", "}", "", " // \"x\""][self.below(5)];
            // Writing to a String cannot fail.
            let _ = writeln!(code, "{number:6}\t{}{}{end}", "    ".repeat(indent), self.words(words));
            number += 1;
        }
        code.truncate(code.floor_char_boundary(bytes));
        code
    }

    /// The arguments of a call of `tool`, as JSON.
    pub(super) fn input(&mut self, tool: &str) -> String {
        match tool {
            "Bash" => format!("{{\"cmd\":{}}}", quoted(&self.words(6))),
            "edit_file" => {
                let (old, new) = (20 + self.below(880), 20 + self.below(1180));
                let (old, new) = (self.code(old), self.code(new));
                format!(
                    "{{\"path\":\"/home/dev/src/{}.rs\",\"old_str\":{},\"new_str\":{}}}",
                    WORDS[self.below(WORDS.len())],
                    quoted(&old),
                    quoted(&new)
                )
            }
            _ => format!(
                "{{\"query\":{},\"limit\":{},\"nested\":{{\"a\":[1,2.5,null,true]}}}}",
                quoted(&self.words(8)),
                self.below(50)
            ),
        }
    }

    /// What a message used, as Amp and Claude Code count.
    pub(super) fn usage(&mut self) -> String {
        format!(
            "{{\"input_tokens\":{},\"cache_creation_input_tokens\":{},\"cache_read_input_tokens\":{},\"output_tokens\":{},\"service_tier\":\"standard\"}}",
            3 + self.below(4000),
            self.below(20_000),
            self.below(180_000),
            5 + self.below(3000)
        )
    }
}
