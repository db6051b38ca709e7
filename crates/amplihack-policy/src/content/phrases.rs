//! Neighbouring words that mean more than each of them.

use super::lex::WordHit;
use super::words::{
    ANYTHING_NOW, BEGINS, COMPLY, CONCEAL, ClassSet, DEVMODE, DISABLE, ENDS, FROM_NOW, INSTR, PRETEND, PREV,
    RESTRICT, SAFETY, SECRET, VOID, YOU_ARE_NOW,
};

/// Neighbouring words and the classes that their first one gets on top of its own.
pub(super) const PHRASES: &[(&[&str], ClassSet)] = &[
    (&["you", "are", "now"], YOU_ARE_NOW),
    (&["you", "are", "no", "longer"], YOU_ARE_NOW),
    (&["du", "bist", "jetzt"], YOU_ARE_NOW),
    (&["from", "now", "on"], FROM_NOW),
    (&["from", "this"], 0),
    (&["act", "as"], PRETEND),
    (&["behave", "as"], PRETEND),
    (&["respond", "as"], PRETEND),
    (&["imagine", "you", "are"], PRETEND),
    (&["do", "anything", "now"], ANYTHING_NOW),
    (&["no", "longer", "apply"], VOID),
    (&["it", "says"], COMPLY),
    (&["take", "precedence"], VOID),
    (&["have", "changed"], VOID),
    (&["are", "compromised"], VOID),
    (&["are", "void"], VOID),
    (&["content", "policy"], RESTRICT | SAFETY),
    (&["content", "restrictions"], RESTRICT),
    (&["api", "key"], SECRET),
    (&["api", "keys"], SECRET),
    (&["private", "key"], SECRET),
    (&["private", "keys"], SECRET),
    (&["ssh", "key"], SECRET),
    (&["ssh", "keys"], SECRET),
    (&["access", "token"], SECRET),
    (&["environment", "variables"], SECRET),
    (&["env", "variables"], SECRET),
    (&["conversation", "history"], SECRET),
    (&["customer", "list"], SECRET),
    (&["system", "prompt"], SECRET),
    (&["do", "not", "tell"], CONCEAL),
    (&["do", "not", "mention"], CONCEAL),
    (&["do", "not", "inform"], CONCEAL),
    (&["do", "not", "alert"], CONCEAL),
    (&["do", "not", "notify"], CONCEAL),
    (&["dont", "tell"], CONCEAL),
    (&["dont", "mention"], CONCEAL),
    (&["never", "mention"], CONCEAL),
    (&["without", "telling"], CONCEAL),
    (&["without", "informing"], CONCEAL),
    (&["without", "asking"], CONCEAL),
    (&["without", "alerting"], CONCEAL),
    (&["without", "notifying"], CONCEAL),
    (&["turn", "off"], DISABLE),
    (&["developer", "mode"], DEVMODE),
    (&["god", "mode"], DEVMODE),
    (&["modo", "desarrollador"], DEVMODE),
    (&["modo", "desarrollo"], DEVMODE),
    (&["mode", "developpeur"], DEVMODE),
    (&["modo", "desenvolvedor"], DEVMODE),
    (&["modalita", "sviluppatore"], DEVMODE),
];

/// For each byte the phrases whose first word begins with it, as bits.
static PHRASES_BY_BYTE: [u64; 256] = {
    let (mut masks, mut at) = ([0; 256], 0);
    while at < PHRASES.len() {
        masks[PHRASES[at].0[0].as_bytes()[0] as usize] |= 1 << at;
        at += 1;
    }
    masks
};

/// The phrases that begin with `word`.
fn phrases_of(word: &str) -> impl Iterator<Item = &'static (&'static [&'static str], ClassSet)> {
    let mut left = word.as_bytes().first().map_or(0, |&byte| PHRASES_BY_BYTE[usize::from(byte)]);
    let begin = std::iter::from_fn(move || {
        let at = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        PHRASES.get(at)
    });
    begin.filter(move |(words, _)| words[0] == word)
}

/// Gives phrases their classes.
pub(super) fn classify_phrases(hits: &mut [WordHit]) {
    for at in 0..hits.len() {
        let first = if hits[at].set & BEGINS == 0 { "" } else { hits[at].text };
        for (words, set) in phrases_of(first) {
            if words.iter().enumerate().skip(1).all(|(offset, word)| word_follows(&hits[at..], offset, word))
            {
                hits[at].set |= set;
                hits[at].span.end = hits[at + words.len() - 1].span.end;
            }
        }
        // "everything above": nothing that it is above of.
        let set = hits[at].set;
        if set & PREV != 0
            && hits.get(at + 1).is_some_and(|next| {
                next.word == hits[at].word + 1 && (next.text == "and" || next.set & INSTR != 0)
            })
        {
            hits[at].set |= ENDS;
        }
    }
}

fn word_follows(hits: &[WordHit], offset: usize, word: &str) -> bool {
    // A word in the way would have a number of its own; a hit without a word of its own is an e-mail address's sign.
    hits.get(offset).is_some_and(|hit| {
        hit.text == word
            && u64::from(hit.word) == u64::from(hits[0].word) + offset as u64
            && hit.sentence == hits[0].sentence
    })
}

#[cfg(test)]
mod tests {
    use super::super::known::known_word;
    use super::*;

    #[test]
    fn every_part_of_a_phrase_is_a_known_word() {
        for word in PHRASES.iter().flat_map(|(words, _)| words.iter()) {
            assert!(known_word(word.as_bytes()).is_some(), "{word}");
        }
    }
}
