//! What the agent is told, turn by turn. Texts of the user and of commands are data in it, between lines that say so.

use std::fmt::Write;

use crate::claim::MARK;
use crate::turns::Phase;

/// The most of a plan, of an answer, or of a verification's findings that a prompt carries, in bytes, where the agent has a wide channel.
const WIDE: usize = 256 * 1024;
/// The same for an agent that takes a prompt as an argument only.
const NARROW: usize = 24 * 1024;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// What the turn is for.
    pub phase: Phase,
    /// The task.
    pub task: &'a str,
    /// The agent does not know the conversation: everything has to be told.
    pub fresh: bool,
    /// The turn was begun before and broken off.
    pub interrupted: bool,
    /// The plan, as the agent told it.
    pub plan: Option<&'a str>,
    /// The agent's last answer.
    pub last: Option<&'a str>,
    /// What the last verification found.
    pub findings: Option<&'a str>,
    /// Messages of the user since the last turn.
    pub appended: &'a [String],
    /// The agent takes prompts by a wide channel.
    pub wide: bool,
    /// The agent is held to the schema of a claim.
    pub schema: bool,
}

impl<'a> Parts<'a> {
    /// The first prompt of a run for `task`: its longest.
    pub const fn first(task: &'a str, wide: bool) -> Self {
        Self {
            phase: Phase::Clarify,
            task,
            fresh: true,
            interrupted: false,
            plan: None,
            last: None,
            findings: None,
            appended: &[],
            wide,
            schema: false,
        }
    }
}

/// The prompt of a turn.
pub fn prompt(parts: &Parts<'_>) -> String {
    let most = if parts.wide { WIDE } else { NARROW };
    let mut out = String::new();
    if parts.interrupted {
        out += "You were interrupted while you worked on the following. Look at what is done already, and go on.\n\n";
    }
    if parts.fresh {
        out += "You work unattended: nobody answers questions, so decide what is left open yourself, by what is most likely meant. \
            Work in the current directory. Never claim what you have not seen to be so.\n";
        quote(&mut out, "The task", parts.task);
        if let Some(plan) = parts.plan {
            quote(&mut out, "The plan that was made for it", &shortened(plan, most));
        }
        if let Some(last) = parts.last {
            quote(&mut out, "What was said after the last piece of work", &shortened(last, most));
        }
        out += "\n";
    }
    out += match parts.phase {
        Phase::Clarify => {
            "First, read what the task is about and change nothing yet. Say in a few sentences what has to be true at the end, \
             and what you take for granted where the task leaves it open."
        }
        Phase::Plan => {
            "Now make a plan: the steps, which files each of them changes, and how each can be checked. Change nothing yet."
        }
        Phase::Execute => {
            "Now do it, all of it. Check your work as far as you can, by running what can be run."
        }
        Phase::GoOn => {
            "Go on: look at what is still open, and do it. Check your work as far as you can, by running what can be run."
        }
        Phase::Adjust => {
            "It is not done: it was checked, and the check failed. Find the cause, mend it, and check again."
        }
    };
    out += "\n";
    if let Some(findings) = parts.findings {
        quote(&mut out, "What the check found", &shortened(findings, most));
    }
    for message in parts.appended {
        quote(&mut out, "The user adds", message);
    }
    let form = if parts.schema {
        "\nAnswer with the object that you were given the schema of, and put into its summary what you have to say.\n".to_owned()
    } else {
        format!(
            "\nEnd your answer with one line, exactly in this form:\n{MARK} {{\"status\": \"done\", \"summary\": \"…\", \"changes\": true}}\n"
        )
    };
    let _ = write!(
        out,
        "{form}status: done, if everything that the task asks for is done and you have seen it; working, if there is more to do; \
         blocked, if only a person can help.\nchanges: whether the task asks for changes to files."
    );
    out
}

/// Adds `text` between lines that say what it is.
fn quote(out: &mut String, what: &str, text: &str) {
    let _ = write!(out, "\n{what}:\n<<<\n{}\n>>>\n", text.strip_suffix('\n').unwrap_or(text));
}

/// `text`, or its beginning and its end where it is longer than `most` bytes. What comes out is not, unless `most` has no room for the words
/// in between, so that it is not shortened once more.
pub fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let between = |left_out: usize| format!("\n[… {left_out} bytes left out …]\n");
    let half = most.saturating_sub(between(text.len()).len()) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!("{}{}{}", &text[..head], between(tail - head), &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(phase: Phase) -> Parts<'static> {
        Parts { phase, ..Parts::first("make it `$(so)`, it's \"needed\"", true) }
    }

    #[test]
    fn a_fresh_prompt_brings_the_task_byte_for_byte_and_a_continued_one_does_not() {
        let first = prompt(&parts(Phase::Clarify));
        assert!(first.contains("\n<<<\nmake it `$(so)`, it's \"needed\"\n>>>\n"), "{first}");
        assert!(first.contains(MARK));
        let next = prompt(&Parts { fresh: false, ..parts(Phase::Plan) });
        assert!(!next.contains("needed") && next.contains("plan"), "{next}");
    }

    #[test]
    fn findings_and_words_of_the_user_are_in_it() {
        let appended = ["use tabs".to_owned()];
        let told = prompt(&Parts {
            fresh: false,
            findings: Some("2 tests failed"),
            appended: &appended,
            interrupted: true,
            ..parts(Phase::Adjust)
        });
        for part in ["interrupted", "2 tests failed", "use tabs", "not done"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn a_plan_for_a_narrow_channel_is_shortened_and_the_task_never() {
        let plan = "p".repeat(150 * 1024);
        let task = "t".repeat(150 * 1024);
        let wide = Parts { plan: Some(&plan), task: &task, ..parts(Phase::Execute) };
        assert!(prompt(&wide).contains(&plan));
        let narrow = prompt(&Parts { wide: false, ..wide });
        assert!(narrow.contains(&task) && !narrow.contains(&plan) && narrow.contains("bytes left out"));
        assert!(narrow.len() < task.len() + NARROW + 4096);
    }

    #[test]
    fn a_shortened_text_is_cut_between_characters() {
        assert_eq!(shortened("short", 5), "short");
        let cut = shortened(&"漢".repeat(20), 45);
        assert_eq!(cut, "漢漢\n[… 48 bytes left out …]\n漢漢");
        for most in 40..80 {
            let cut = shortened(&"漢".repeat(40), most);
            assert!(cut.len() <= most && shortened(&cut, most) == cut, "{most}: {cut}");
        }
    }
}
