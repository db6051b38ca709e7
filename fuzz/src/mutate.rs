//! Numbers without a pattern, and what they do to an input.

/// A small generator; the same seed gives the same numbers.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`; 0 if there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.next() >> 11) as usize % limit }
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A seed, changed a few times.
    pub fn input(&mut self, seeds: &[Vec<u8>], dictionary: &[&str], longest: usize) -> Vec<u8> {
        let mut input = self.pick(seeds).clone();
        for _ in 0..=self.below(6) {
            self.change(&mut input, seeds, dictionary);
        }
        input.truncate(longest);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dictionary: &[&str]) {
        let at = self.below(input.len() + 1);
        let len = self.below(input.len() - at.min(input.len()) + 1).min(1 << self.below(12));
        match self.below(11) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => {
                input[at] = *self.pick(b"'\"`$(){}[]<>|&;\\\n\t #!~*?=:,\0\x1b\xff\xc3\xe2")
            }
            2 => drop(input.drain(at..at + len)),
            3 | 4 => drop(input.splice(at..at, self.pick(dictionary).bytes())),
            5 => {
                let part = input[at..at + len].to_vec();
                drop(input.splice(at..at, part));
            }
            6 => {
                // Many of the same.
                let piece = if self.below(2) == 0 {
                    self.pick(dictionary).as_bytes().to_vec()
                } else {
                    input[at..at + len.min(8)].to_vec()
                };
                let times = 1 << self.below(13);
                drop(input.splice(at..at, piece.repeat(times)));
            }
            7 => {
                let other = self.pick(seeds).clone();
                let from = self.below(other.len() + 1);
                drop(input.splice(at..at + len, other[from..].iter().copied()));
            }
            8 => {
                // Something around a part.
                let open = self.pick(dictionary).bytes().collect::<Vec<_>>();
                let close = self.pick(dictionary).bytes().collect::<Vec<_>>();
                drop(input.splice(at + len..at + len, close));
                drop(input.splice(at..at, open));
            }
            9 => input.truncate(at),
            _ => {
                let other = self.pick(seeds).clone();
                input.push(b'\n');
                input.extend(other);
            }
        }
    }
}
