//! Threads: conversations that the service keeps.

mod summary;
mod table;

use crate::capability::Feature;
use crate::error::Result;
use crate::manage::{Answer, Call, Words, calls};
use crate::options::visibility;

pub use summary::ThreadSummary;

/// Which threads [`list`](fn@list) names. Newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct List {
    /// At most so many.
    pub limit: Option<u64>,
    /// Not the first so many.
    pub offset: Option<u64>,
    /// Archived ones too.
    pub include_archived: bool,
}

/// How [`search`] answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Search {
    /// At most so many.
    pub limit: Option<u64>,
    /// Not the first so many.
    pub offset: Option<u64>,
    /// As JSON.
    pub json: bool,
}

/// With whom [`share`] shares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// See [`visibility`].
    pub visibility: Option<String>,
    /// With Amp's support too; older CLIs only.
    pub support: Option<Support>,
}

/// What Amp's support is told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// Nothing.
    Silent,
    /// This.
    Message(String),
}

/// What [`handoff`] hands over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handoff {
    /// What the new thread is for.
    pub goal: Option<String>,
    /// Print the new thread's draft, start nothing interactive.
    pub print: bool,
    /// What the command reads.
    pub input: Option<String>,
}

/// How [`replay`] plays; older CLIs only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replay {
    /// Words a minute.
    pub wpm: Option<u64>,
    /// Messages appear at once.
    pub no_typing: bool,
    /// Milliseconds between messages.
    pub message_delay: Option<u64>,
    /// Milliseconds between a tool's steps.
    pub tool_progress_delay: Option<u64>,
    /// Milliseconds at the end.
    pub exit_delay: Option<u64>,
    /// No indicator.
    pub no_indicator: bool,
}

/// The word for the CLI, and what it needs of it. Current CLIs have no `public`: they call it `unlisted`.
fn seen_by(word: Option<&str>, needs: &mut Vec<Feature>) -> Option<String> {
    let word = word.filter(|_| !amplihack_utils::sabotage::active("amp-thread-visibility"));
    match word {
        Some(visibility::UNLISTED) => needs.push(Feature::VisibilityUnlisted),
        Some(visibility::PUBLIC) => needs.push(Feature::VisibilityPublic),
        Some(_) => needs.push(Feature::Visibility),
        None => {}
    }
    word.map(str::to_owned)
}

/// The bare id in what the CLI prints of a new thread: an id, an address, with or without words around it.
pub(crate) fn bare_id(text: &str) -> Option<&str> {
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices("T-").find_map(|(at, _)| {
        let fresh = !text[..at].ends_with(is_id);
        let id = &text[at..];
        let id = &id[..id.find(|c| !is_id(c)).unwrap_or(id.len())];
        (fresh && id.len() > 2).then_some(id)
    })
}

fn new_id(answer: &Answer) -> Result<String> {
    bare_id(&answer.stdout)
        .map(
            |id| {
                if amplihack_utils::sabotage::active("amp-thread-id") { answer.text() } else { id.to_owned() }
            },
        )
        .ok_or_else(|| answer.unreadable("`amp threads new` printed no id that begins with T-"))
}

fn thread(command: &'static str, id: &str) -> Words {
    Words::new(&["threads", command]).place("id", id)
}

calls! {
    amp;

    /// Makes an empty thread and returns its bare id, `T-…`. `visibility`: see [`visibility`](crate::visibility); without one the CLI's default.
    new(visibility: Option<&str>) -> String {
        let mut needs = vec![Feature::ThreadsNew];
        let words = Words::new(&["threads", "new"]).option("--visibility", seen_by(visibility, &mut needs));
        Ok(Call::new(words, &needs, new_id))
    }

    /// The threads, newest first.
    list(which: &List) -> Vec<ThreadSummary> {
        Ok(summary::list(which, amp.options.cli_version.as_ref()))
    }

    /// Threads that fit a query of Amp's own language (`file:src/main.rs auth`), as the CLI prints them.
    search(query: &str, how: &Search) -> String {
        let words = Words::new(&["threads", "search"]).place("query", query);
        let words = words.number("--limit", how.limit).number("--offset", how.offset).switch("--json", how.json);
        Ok(Call::text(words, &[Feature::ThreadsSearch]))
    }

    /// The whole conversation as Markdown.
    markdown(id: &str) -> String {
        let command = if amplihack_utils::sabotage::active("amp-thread-markdown") { "raw" } else { "markdown" };
        Ok(Call::text(thread(command, id), &[Feature::ThreadsMarkdown]))
    }

    /// The whole thread as the CLI's JSON.
    export(id: &str) -> serde_json::Value {
        Ok(Call::new(thread("export", id), &[Feature::ThreadsExport], |answer| {
            serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable(error.to_string()))
        }))
    }

    /// Changes who sees a thread; returns what the CLI says.
    share(id: &str, with: &Share) -> String {
        let mut needs = vec![Feature::ThreadsShare];
        let mut words = thread("share", id);
        words = words.option("--visibility", seen_by(with.visibility.as_deref(), &mut needs));
        if let Some(support) = &with.support {
            needs.push(Feature::ThreadsShareSupport);
            words = match support {
                Support::Silent => words.switch("--support", true),
                Support::Message(text) => words.option("--support", Some(text)),
            };
        }
        Ok(Call::text(words, &needs))
    }

    /// Gives a thread another title.
    rename(id: &str, name: &str) -> String {
        Ok(Call::text(thread("rename", id).place("name", name), &[Feature::ThreadsRename]))
    }

    /// Hides a thread from lists.
    archive(id: &str) -> String {
        Ok(Call::text(thread("archive", id), &[Feature::ThreadsArchive]))
    }

    /// Takes a thread back into lists.
    unarchive(id: &str) -> String {
        let words = thread("archive", id).switch("--unarchive", true);
        Ok(Call::text(words, &[Feature::ThreadsArchive, Feature::ThreadsUnarchive]))
    }

    /// Deletes a thread for good, here and on the server.
    delete(id: &str) -> String {
        Ok(Call::text(thread("delete", id), &[Feature::ThreadsDelete]))
    }

    /// Makes a new thread of what matters in this one. The current CLI hides the command.
    handoff(id: &str, how: &Handoff) -> String {
        let words = thread("handoff", id).option("--goal", how.goal.as_ref()).switch("--print", how.print);
        let input = how.input.clone().map(String::into_bytes);
        Ok(Call::text(words, &[Feature::ThreadsHandoff]).reading(input))
    }

    /// Plays a thread as if it happened now. Older CLIs only: the current one would list threads instead.
    replay(id: &str, how: &Replay) -> String {
        let words = thread("replay", id)
            .number("--wpm", how.wpm)
            .switch("--no-typing", how.no_typing)
            .number("--message-delay", how.message_delay)
            .number("--tool-progress-delay", how.tool_progress_delay)
            .number("--exit-delay", how.exit_delay)
            .switch("--no-indicator", how.no_indicator);
        Ok(Call::text(words, &[Feature::ThreadsReplay]))
    }
}

#[cfg(test)]
mod tests {
    use super::bare_id;

    #[test]
    fn an_id_is_found_in_every_form() {
        for text in ["T-1a-b\n", "https://ampcode.com/threads/T-1a-b\n", "Created T-1a-b.", "T- x T-1a-b?x"] {
            assert_eq!(bare_id(text), Some("T-1a-b"), "{text}");
        }
        for text in ["", "T-", "AT-1", "thread"] {
            assert_eq!(bare_id(text), None, "{text}");
        }
    }
}
