//! Prompts of the agent, turn by turn. Texts of the user and of commands are data in them, between lines that say so.

use amplihack_sys::push_text;

use crate::claim::MARK;
use crate::turns::TurnPhase;

/// The most of a plan, of an answer, or of a verification's findings that a prompt carries, in bytes, where the agent has a wide channel.
const WIDE: usize = 256 * 1024;
/// The limit in bytes for an agent that takes a prompt as an argument only.
const NARROW: usize = 24 * 1024;

/// Parts of which a prompt is made.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// Purpose of the turn.
    pub phase: TurnPhase,
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
    /// Findings of the last verification.
    pub findings: Option<&'a str>,
    /// Messages of the user since the last turn.
    pub appended: &'a [String],
    /// The agent takes prompts by a wide channel.
    pub wide: bool,
    /// The agent is held to the schema of a claim.
    pub schema: bool,
}

impl<'a> PromptParts<'a> {
    /// The first prompt of a run for `task`: its longest.
    pub const fn for_first_turn(task: &'a str, wide: bool) -> Self {
        Self {
            phase: TurnPhase::Clarify,
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
pub fn compose_prompt(parts: &PromptParts<'_>) -> String {
    let most = if parts.wide { WIDE } else { NARROW };
    let mut out = String::new();
    if parts.interrupted {
        out += "You were interrupted while you worked on the following. Look at what is done already, and go on.\n\n";
    }
    // Whole only where the agent knows nothing: in a conversation that continues, the task is there already.
    if parts.fresh {
        out += "You work unattended: nobody answers questions, so decide what is left open yourself, by what is most likely meant. \
            Work in the current directory. Never claim what you have not seen to be so.\n";
        quote_text(&mut out, "The task", parts.task);
        if let Some(plan) = parts.plan {
            quote_text(&mut out, "The plan that was made for it", &shorten_text(plan, most));
        }
        if let Some(last) = parts.last {
            quote_text(&mut out, "What was said after the last piece of work", &shorten_text(last, most));
        }
        out += "\n";
    }
    out += match parts.phase {
        TurnPhase::Clarify => {
            "First, read what the task is about and change nothing yet. Say in a few sentences what has to be true at the end, \
             and what you take for granted where the task leaves it open."
        }
        TurnPhase::Plan => {
            "Now make a plan: the steps, which files each of them changes, and how each can be checked. Change nothing yet."
        }
        TurnPhase::Execute => {
            "Now do it, all of it. Check your work as far as you can, by running what can be run."
        }
        TurnPhase::GoOn => {
            "Go on: look at what is still open, and do it. Check your work as far as you can, by running what can be run."
        }
        TurnPhase::Adjust => {
            "It is not done: it was checked, and the check failed. Find the cause, mend it, and check again."
        }
    };
    out += "\n";
    if let Some(findings) = parts.findings {
        quote_text(&mut out, "What the check found", &shorten_text(findings, most));
    }
    for message in parts.appended {
        quote_text(&mut out, "The user adds", message);
    }
    // Asked for in each turn: without a claim, only a check or changed files tell whether the work is done.
    let form = if parts.schema {
        "\nAnswer with the object that you were given the schema of, and put into its summary what you have to say.\n".to_owned()
    } else {
        format!(
            "\nEnd your answer with one line, exactly in this form:\n{MARK} {{\"status\": \"done\", \"summary\": \"…\", \"changes\": true}}\n"
        )
    };
    push_text!(
        out,
        "{form}status: done, if everything that the task asks for is done and you have seen it; working, if there is more to do; \
         blocked, if only a person can help.\nchanges: whether the task asks for changes to files."
    );
    out
}

/// Adds `text` between lines that say what it is.
fn quote_text(out: &mut String, what: &str, text: &str) {
    push_text!(out, "\n{what}:\n<<<\n{}\n>>>\n", text.strip_suffix('\n').unwrap_or(text));
}

/// `text`, or its beginning and its end where it is longer than `most` bytes. What comes out is not, unless `most` has no room for the words
/// in between, so that it is not shortened once more.
pub fn shorten_text(text: &str, most: usize) -> String {
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

    fn parts(phase: TurnPhase) -> PromptParts<'static> {
        PromptParts { phase, ..PromptParts::for_first_turn("make it `$(so)`, it's \"needed\"", true) }
    }

    #[test]
    fn a_fresh_prompt_brings_the_task_byte_for_byte_and_a_continued_one_does_not() {
        let first = compose_prompt(&parts(TurnPhase::Clarify));
        assert!(first.contains("\n<<<\nmake it `$(so)`, it's \"needed\"\n>>>\n"), "{first}");
        assert!(first.contains(MARK));
        let next = compose_prompt(&PromptParts { fresh: false, ..parts(TurnPhase::Plan) });
        assert!(!next.contains("needed") && next.contains("plan"), "{next}");
    }

    #[test]
    fn findings_and_words_of_the_user_are_in_it() {
        let appended = ["use tabs".to_owned()];
        let told = compose_prompt(&PromptParts {
            fresh: false,
            findings: Some("2 tests failed"),
            appended: &appended,
            interrupted: true,
            ..parts(TurnPhase::Adjust)
        });
        for part in ["interrupted", "2 tests failed", "use tabs", "not done"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn a_plan_for_a_narrow_channel_is_shortened_and_the_task_never() {
        let plan = "p".repeat(150 * 1024);
        let task = "t".repeat(150 * 1024);
        let wide = PromptParts { plan: Some(&plan), task: &task, ..parts(TurnPhase::Execute) };
        assert!(compose_prompt(&wide).contains(&plan));
        let narrow = compose_prompt(&PromptParts { wide: false, ..wide });
        assert!(narrow.contains(&task) && !narrow.contains(&plan) && narrow.contains("bytes left out"));
        assert!(narrow.len() < task.len() + NARROW + 4096);
    }

    #[test]
    fn a_shortened_text_is_cut_between_characters() {
        assert_eq!(shorten_text("short", 5), "short");
        let cut = shorten_text(&"漢".repeat(20), 45);
        assert_eq!(cut, "漢漢\n[… 48 bytes left out …]\n漢漢");
        for most in 40..80 {
            let cut = shorten_text(&"漢".repeat(40), most);
            assert!(cut.len() <= most && shorten_text(&cut, most) == cut, "{most}: {cut}");
        }
    }
}
