//! Random texts that are the same for the same seed.

/// A generator of letters.
#[derive(Debug, Clone)]
pub struct Draw(u64);

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

impl Draw {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).expect("48 bits fit") % limit
    }

    /// `length` letters of `alphabet`.
    pub fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }

    /// `A-Za-z0-9`
    pub fn alnum(&mut self, length: usize) -> String {
        self.of(&[UPPER, LOWER, DIGITS].concat(), length)
    }

    /// `A-Za-z`
    pub fn letters(&mut self, length: usize) -> String {
        self.of(&[UPPER, LOWER].concat(), length)
    }

    /// `a-z0-9`
    pub fn lower(&mut self, length: usize) -> String {
        self.of(&[LOWER, DIGITS].concat(), length)
    }

    /// `A-Z2-7`
    pub fn base32(&mut self, length: usize) -> String {
        self.of(&[UPPER, "234567"].concat(), length)
    }

    /// `0-9a-f`
    pub fn hex(&mut self, length: usize) -> String {
        self.of("0123456789abcdef", length)
    }

    /// `0-9`
    pub fn digits(&mut self, length: usize) -> String {
        self.of("123456789", 1) + &self.of(DIGITS, length - 1)
    }

    /// `A-Za-z0-9+/`
    pub fn base64(&mut self, length: usize) -> String {
        self.of(&[UPPER, LOWER, DIGITS, "+/"].concat(), length)
    }

    /// `A-Za-z0-9_-`, with a letter at both ends.
    pub fn url(&mut self, length: usize) -> String {
        let inner = self.of(&[UPPER, LOWER, DIGITS, "_-"].concat(), length - 2);
        format!("{}{inner}{}", self.letters(1), self.alnum(1))
    }

    /// Lines of 64 letters of base64.
    pub fn lines(&mut self, count: usize) -> String {
        (0..count).map(|_| self.base64(64)).collect::<Vec<_>>().join("\n")
    }

    /// Of version 4.
    pub fn uuid(&mut self) -> String {
        let (a, b, c, d) = (self.hex(8), self.hex(4), self.hex(3), self.hex(3));
        format!("{a}-{b}-4{c}-a{d}-{}", self.hex(12))
    }

    /// A password as a password manager makes it, with signs that no format minds.
    pub fn password(&mut self, length: usize) -> String {
        let inner = self.of(&[UPPER, LOWER, DIGITS, "!@^+~"].concat(), length - 4);
        format!(
            "{}{}{inner}{}{}",
            self.of(UPPER, 1),
            self.of(DIGITS, 1),
            self.of(LOWER, 1),
            self.of("!+~", 1)
        )
    }

    /// A password as people make it: two words, some letters changed, a number, a sign.
    pub fn chosen(&mut self) -> String {
        let words = ["Gr4nite", "F4lcon", "Kestr3l", "Riv3rbed", "Mapl3", "Th1stle", "Bram8le", "0rchard"];
        let (first, second) = (words[self.below(8)], words[self.below(8)]);
        format!("{first}{}{second}{}", self.of("!+~", 1), self.digits(2))
    }
}
