//! Words that only look like a program's name, and words that begin oddly.

use std::time::Duration;

use amplihack_shell::{BashReaders, Limits, commands};

const READERS: [BashReaders; 2] = [BashReaders::All, BashReaders::Tree];

fn limits(readers: BashReaders) -> Limits {
    Limits { deadline: Duration::from_secs(20), readers, ..Limits::default() }
}

#[test]
fn programs_that_no_parser_knows_by_a_reserved_word_are_undecided() {
    for script in ["then rm -rf ~", "} rm", "A=1 if x", "fi", "do rm -rf ~", "a; esac b", "time -p done x"] {
        assert!(!commands(script.as_bytes(), &limits(BashReaders::All)).undecided.is_empty(), "{script}");
    }
    // Quoted, it is a name like any other.
    for script in ["'if' x", "\\time x", "\"{\" x", "echo if then { } !", "find . ! -name x", "[ ! -f x ]"] {
        let parsed = commands(script.as_bytes(), &limits(BashReaders::All));
        assert_eq!(parsed.undecided, vec![], "{script}");
    }
}

/// A blank behind a backslash is a part of the word that it begins.
#[test]
fn a_word_may_begin_with_an_escaped_blank() {
    for readers in READERS {
        for (script, word) in [("ls \\ -a", " -a"), ("ls \\\t-a", "\t-a"), ("ls x\\\\ -a", "-a")] {
            let parsed = commands(script.as_bytes(), &limits(readers));
            let words: Vec<_> =
                parsed.commands.iter().filter_map(|command| command.words.last()?.literal_text()).collect();
            assert_eq!(words, [word], "{readers:?}: {script:?}");
        }
    }
}
