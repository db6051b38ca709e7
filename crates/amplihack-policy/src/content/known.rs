//! Finds the known words by a hash table that the compiler makes, so that nothing is built at run time.

use super::phrases::PHRASES;
use super::words::{BEGINS, ClassSet, DENSE, GROUPS};

/// Initial value of the hash of a word.
pub(super) const SEED: u64 = 0x51_7cc1_b727_220a;

/// Adds eight bytes of a word to its hash, the first one lowest, zeros behind the word's end.
#[inline]
pub(super) const fn hash_step(hash: u64, eight: u64) -> u64 {
    let product = (hash ^ eight).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

/// The hash of a word whose bytes get the bits of `or`.
#[inline]
const fn hash_word(word: &[u8], or: u8) -> u64 {
    let (mut hash, mut eight, mut at) = (SEED, 0, 0);
    while at < word.len() {
        eight |= ((word[at] | or) as u64) << (at % 8 * 8);
        at += 1;
        if at % 8 == 0 || at == word.len() {
            hash = hash_step(hash, eight);
            eight = 0;
        }
    }
    hash
}

const SLOTS: usize = 4096;

/// `(word, classes)` at the word's hash or behind it; an empty word ends a search.
static TABLE: [(&str, ClassSet); SLOTS] = build_table();

#[expect(clippy::large_stack_arrays, reason = "made by the compiler only")]
const fn build_table() -> [(&'static str, ClassSet); SLOTS] {
    let mut table = [("", 0); SLOTS];
    let mut group = 0;
    while group < GROUPS.len() {
        let (set, mut rest) = GROUPS[group];
        while !rest.is_empty() {
            let mut end = 0;
            while end < rest.len() && rest.as_bytes()[end] != b' ' {
                end += 1;
            }
            let (word, tail) = rest.split_at(end);
            rest = if tail.is_empty() { tail } else { tail.split_at(1).1 };
            let mut slot = slot_of(hash_word(word.as_bytes(), 0));
            while !table[slot].0.is_empty() && !is_same_text(table[slot].0, word) {
                slot = (slot + 1) % SLOTS;
            }
            table[slot] = (word, table[slot].1 | set);
        }
        group += 1;
    }
    let mut phrase = 0;
    while phrase < PHRASES.len() {
        let first = PHRASES[phrase].0[0];
        let mut slot = slot_of(hash_word(first.as_bytes(), 0));
        while !table[slot].0.is_empty() && !is_same_text(table[slot].0, first) {
            slot = (slot + 1) % SLOTS;
        }
        table[slot].1 |= BEGINS;
        phrase += 1;
    }
    table
}

/// The lengths of known words by their first byte, as bits: most words of a text are none of them.
static LENGTHS: [u64; 128] = {
    let mut lengths = [0; 128];
    let mut slot = 0;
    while slot < SLOTS {
        let word = TABLE[slot].0.as_bytes();
        if !word.is_empty() && word[0] < 128 && word.len() < 64 {
            lengths[word[0] as usize] |= 1 << word.len();
        }
        slot += 1;
    }
    lengths
};

/// Reports whether a known word may begin with `first`, an ASCII character in lower case, and have `len` bytes.
#[inline]
pub(super) fn may_be_known(first: u8, len: usize) -> bool {
    len < 64 && LENGTHS[usize::from(first & 127)] >> len & 1 == 1
}

/// Bits of the slots that are taken: small enough to stay in the fastest cache.
static TAKEN: [u64; SLOTS / 64] = {
    let mut bits = [0; SLOTS / 64];
    let mut slot = 0;
    while slot < SLOTS {
        if !TABLE[slot].0.is_empty() {
            bits[slot / 64] |= 1 << (slot % 64);
        }
        slot += 1;
    }
    bits
};

const fn slot_of(hash: u64) -> usize {
    // The highest bits depend on all of a word.
    #[expect(clippy::cast_possible_truncation, reason = "as many bits as there are slots")]
    let slot = (hash >> (u64::BITS - SLOTS.trailing_zeros())) as usize;
    slot
}

const fn is_same_text(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The word that is spelled by `bytes`, and its classes.
#[inline]
pub(super) fn known_word(bytes: &[u8]) -> Option<(&'static str, ClassSet)> {
    find_by_hash(hash_word(bytes, 0), |word| word == bytes)
}

/// The word that is spelled by ASCII letters and digits in any case, and its classes.
#[inline]
pub(super) fn known_in_any_case(bytes: &[u8]) -> Option<(&'static str, ClassSet)> {
    known_by_hash(hash_word(bytes, 0x20), bytes)
}

/// The word that is spelled by `bytes` in any case, given the hash of the small letters, and its classes.
#[inline]
pub(super) fn known_by_hash(hash: u64, bytes: &[u8]) -> Option<(&'static str, ClassSet)> {
    // Most words are written in small letters.
    find_by_hash(hash, |word| word == bytes || word.eq_ignore_ascii_case(bytes))
}

#[inline]
fn find_by_hash(hash: u64, same: impl Fn(&[u8]) -> bool) -> Option<(&'static str, ClassSet)> {
    let mut slot = slot_of(hash);
    if TAKEN[slot / 64] >> (slot % 64) & 1 == 0 {
        return None;
    }
    loop {
        let (word, set) = TABLE[slot];
        if word.is_empty() {
            return None;
        }
        if same(word.as_bytes()) {
            return Some((word, set));
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// The first characters of [`DENSE`], as bits of their last ten bits.
static DENSE_FIRST: [u64; 16] = {
    let mut bits = [0; 16];
    let mut at = 0;
    while at < DENSE.len() {
        let bytes = DENSE[at].0.as_bytes();
        // Each is three bytes long; the last ten bits of the character are in the last two.
        bits[(bytes[1] & 0xf) as usize] |= 1 << (bytes[2] & 0x3f);
        at += 1;
    }
    bits
};

/// Reports whether a word of [`DENSE`] may begin with `c`.
#[inline]
pub(super) fn may_begin_dense(c: char) -> bool {
    let code = u32::from(c);
    DENSE_FIRST[(code >> 6 & 0xf) as usize] >> (code & 0x3f) & 1 == 1
}
