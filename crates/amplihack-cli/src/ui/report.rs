//! Text for a terminal: lines wrapped at its width, and words in color. Elsewhere text stays as it is.

use std::io;
use std::ops::Range;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use super::{CommandFailure, print_data};

/// The meaning of a colored word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordTone {
    /// Something is as it should be.
    Good,
    /// Something is not as it should be.
    Bad,
    /// Something wants attention.
    Doubtful,
    /// A title of what follows.
    Title,
}

impl WordTone {
    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Title => Style::new().bold(),
        }
    }

    /// `text` in this tone's color.
    pub(crate) fn paint(self, text: &str) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }
}

/// The colored part of a line.
pub(crate) type TonedPart = Option<(Range<usize>, WordTone)>;

/// Reports whether `stream` shows colors: it is a terminal that has them, and `NO_COLOR` is not set.
pub(crate) fn shows_color(stream: &impl anstream::stream::RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// The columns of the terminal that stdout is; `None` if it is none.
pub(crate) fn stdout_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Prints `text` for a person. On a terminal, lines that are too long continue below their text, and `tone` colors a part of each.
pub(crate) fn print_report(text: &str, tone: fn(&str) -> TonedPart) -> Result<(), CommandFailure> {
    print_data(&render_report(text, stdout_width(), shows_color(&io::stdout()), tone))
}

/// A line of stdout, which is a terminal, in color where that shows colors.
pub(crate) fn color_line(line: &str, tone: fn(&str) -> TonedPart) -> String {
    render_report(line, None, shows_color(&io::stdout()), tone)
}

fn render_report(text: &str, width: Option<usize>, has_color: bool, tone: fn(&str) -> TonedPart) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let part = if has_color { tone(line) } else { None };
        let mut rest = line;
        let mut column = 0;
        while let Some(cut) = width.and_then(|width| wrap_place(rest, width, column)) {
            push_toned(&mut out, rest[..cut].trim_end(), part.clone().filter(|_| column == 0));
            column = line.len() - line.trim_start().len() + 4;
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', column));
            rest = rest[cut..].trim_start();
        }
        push_toned(&mut out, rest, part.filter(|_| column == 0));
        out.push_str(end);
    }
    out
}

/// The place at which `text`, which begins at `column`, is wrapped for `width` columns; `None` if it fits or has no space to break at.
fn wrap_place(text: &str, width: usize, column: usize) -> Option<usize> {
    let room = width.checked_sub(column).filter(|room| *room > 10)?;
    let mut columns = 0;
    let (limit, _) = text.char_indices().find(|(_, letter)| {
        columns += letter.width().unwrap_or_default();
        columns > room
    })?;
    let begin = text.len() - text.trim_start().len();
    let before = text.get(..=limit).or_else(|| text.get(..limit))?.rfind(' ').filter(|at| *at > begin);
    let place = before.or_else(|| text.get(limit..)?.find(' ').map(|at| limit + at))?;
    Some(place).filter(|at| !text[*at..].trim().is_empty())
}

fn push_toned(out: &mut String, text: &str, part: TonedPart) {
    let part = part.map(|(range, tone)| (range.start.min(text.len())..range.end.min(text.len()), tone));
    match part {
        Some((range, tone)) if text.is_char_boundary(range.start) && text.is_char_boundary(range.end) => {
            out.push_str(&text[..range.start]);
            out.push_str(&tone.paint(&text[range.clone()]));
            out.push_str(&text[range.end..]);
        }
        _ => out.push_str(text),
    }
}

/// A diff's added, removed and heading lines.
pub(crate) fn diff_tone(line: &str) -> TonedPart {
    let tone = match line.as_bytes() {
        [b'+', ..] if !line.starts_with("+++") => WordTone::Good,
        [b'-', ..] if !line.starts_with("---") => WordTone::Bad,
        [b'@', b'@', ..] => WordTone::Doubtful,
        _ if line.starts_with("diff ") => WordTone::Title,
        _ => return None,
    };
    Some((0..line.len(), tone))
}

/// The tone of a decision's word.
pub(crate) fn decision_tone(word: &str) -> Option<WordTone> {
    Some(match word {
        "deny" => WordTone::Bad,
        "ask" => WordTone::Doubtful,
        "allow" => WordTone::Good,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn first_word(line: &str) -> TonedPart {
        let word = line.split(' ').next()?;
        Some((0..word.len(), decision_tone(word)?))
    }

    #[test]
    fn lines_are_wrapped_below_their_text_and_words_keep_whole() {
        let text = "  claude: not found; install it with npm\nshort\n\nnospaceatallinthislongword x\n";
        assert_eq!(
            render_report(text, Some(24), false, first_word),
            "  claude: not found;\n      install it with\n      npm\nshort\n\nnospaceatallinthislongword\n    x\n"
        );
        assert_eq!(render_report(text, None, false, first_word), text);
        let wide = "日本語 ".repeat(20);
        let wrapped = render_report(&wide, Some(30), false, first_word);
        assert!(wrapped.lines().count() > 4 && wrapped.lines().all(|line| line.width() <= 30), "{wrapped}");
    }

    #[test]
    fn one_part_of_a_line_is_colored() {
        assert_eq!(
            render_report("deny by x\n", None, true, first_word),
            "\u{1b}[1m\u{1b}[31mdeny\u{1b}[0m by x\n"
        );
        assert_eq!(render_report("none of it", None, true, first_word), "none of it");
        assert_eq!(render_report("+a\n", None, true, diff_tone), "\u{1b}[32m+a\u{1b}[0m\n");
    }
}
