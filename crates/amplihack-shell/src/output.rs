//! Output of a command, where its words alone determine it.

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

use super::ansi::unescape_backslashes;

/// Text that `words` print when fed `input`. `None` if it is not known.
pub fn printed_text(words: &[String], input: Option<&str>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let options_only = || arguments.iter().all(|word| word.starts_with('-'));
    match program {
        ":" | "true" | "cd" | "pushd" | "export" | "set" | "shopt" | "unset" | "local" | "sleep" => {
            Some(String::new())
        }
        "echo" => Some(echo_output(arguments)),
        "printf" => printf_output(arguments),
        "realpath" | "readlink" | "dirname" => {
            let place = arguments.iter().rfind(|word| !word.starts_with('-'))?;
            // Of other paths it depends on links what comes out.
            let home = place.strip_prefix("${HOME}")?;
            let above = home.rsplit_once('/').map_or("/..", |(above, _)| above);
            Some(format!("${{HOME}}{}\n", if program == "dirname" { above } else { home }))
        }
        "cat" | "tee" if options_only() || program == "tee" => input.map(str::to_owned),
        "base64"
            if arguments
                .iter()
                .any(|word| matches!(word.as_str(), "-d" | "-D" | "--decode" | "-di" | "-id"))
                && options_only() =>
        {
            decode_base64(input?)
        }
        "rev" if arguments.is_empty() => {
            Some(input?.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
        }
        "xxd" if options_only() && arguments.join("").contains('r') && arguments.join("").contains('p') => {
            decode_hex(input?)
        }
        _ => None,
    }
}

fn echo_output(arguments: &[String]) -> String {
    let options = arguments.iter().take_while(|word| {
        word.len() > 1 && word.starts_with('-') && word[1..].bytes().all(|byte| b"neE".contains(&byte))
    });
    let options: Vec<&String> = options.collect();
    let text = arguments[options.len()..].join(" ");
    let escapes = options.iter().any(|word| word.contains('e'));
    let end = if options.iter().any(|word| word.contains('n')) { "" } else { "\n" };
    if escapes { unescape_backslashes(&text) + end } else { text + end }
}

fn printf_output(arguments: &[String]) -> Option<String> {
    let arguments =
        if arguments.first().is_some_and(|word| word == "--") { &arguments[1..] } else { arguments };
    let (format, values) = arguments.split_first()?;
    if format == "-v" {
        return Some(String::new());
    }
    let format = unescape_backslashes(format);
    let mut values = values.iter();
    let mut out = String::new();
    loop {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next() {
                Some('%') => out.push('%'),
                Some('s') => out.push_str(values.next().map_or("", String::as_str)),
                Some('b') => out.push_str(&unescape_backslashes(values.next().map_or("", String::as_str))),
                Some('d') => out.push_str(values.next().map_or("0", String::as_str)),
                _ => return None,
            }
        }
        if values.len() == 0 || values.len() == before {
            return Some(out);
        }
    }
}

fn decode_base64(text: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine =
        GeneralPurpose::new(&base64::alphabet::STANDARD, config.with_decode_allow_trailing_bits(true));
    let letters: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = engine.decode(letters).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let bytes: Option<Vec<u8>> = digits
        .chunks_exact(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::printed_text;

    #[test]
    fn known_texts() {
        for (words, input, want) in [
            (&["echo", "-n", "a", "b"][..], None, Some("a b")),
            (&["echo", "-e", "\\x72m"], None, Some("rm\n")),
            (&["printf", "%s\\n", "a", "b"], None, Some("a\nb\n")),
            (&["printf", "%5s", "a"], None, None),
            (&["base64", "-d"], Some("cm0gLXJmIC8K"), Some("rm -rf /\n")),
            (&["cat"], Some("x"), Some("x")),
            (&["cat", "f"], Some("x"), None),
            (&["/bin/rev"], Some("mr"), Some("rm\n")),
            (&["xxd", "-r", "-p"], Some("726d"), Some("rm")),
            (&["date"], None, None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(printed_text(&words, input).as_deref(), want, "{words:?}");
        }
    }
}
