//! The script in a command line of Codex's, which always names a shell.

/// The script that `line` gives to its shell; nothing for another line. `/bin/bash -lc 'echo hi'` runs `echo hi`.
pub(super) fn shell_script(line: &str) -> Option<String> {
    let (shell, word) = line.split_once(" -lc ").or_else(|| line.split_once(" -c "))?;
    if !shell.ends_with("sh") || shell.contains(char::is_whitespace) {
        return None;
    }
    one_word(word)
}

/// The text of a quoted word, by the rules of a POSIX shell; nothing if it is not exactly one.
fn one_word(quoted: &str) -> Option<String> {
    let mut word = String::with_capacity(quoted.len());
    let mut rest = quoted.chars();
    while let Some(next) = rest.next() {
        match next {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    text => word.push(text),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                        '\n' => {}
                        other => word.extend(['\\', other]),
                    },
                    text => word.push(text),
                }
            },
            '\\' => word.push(rest.next()?),
            space if space.is_whitespace() => return None,
            text => word.push(text),
        }
    }
    (!quoted.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::shell_script;

    #[test]
    fn a_script_is_what_the_shell_is_given() {
        for (line, script) in [
            ("/bin/bash -lc 'echo hi'", Some("echo hi")),
            (r#"/bin/bash -lc "python3 -c 'x'; echo \$HOME \a""#, Some(r"python3 -c 'x'; echo $HOME \a")),
            (r#"bash -lc 'a '"'b'"' c'"#, Some("a 'b' c")),
            ("/bin/zsh -c ls", Some("ls")),
            (r"/bin/sh -c a\ b", Some("a b")),
            ("/bin/bash -lc 'a' b", None),
            ("/bin/bash -lc 'a", None),
            ("/bin/bash -lc ", None),
            ("env bash -lc 'a'", None),
            ("grep -c 'a'", None),
            ("ls", None),
        ] {
            assert_eq!(shell_script(line).as_deref(), script, "{line}");
        }
    }
}
