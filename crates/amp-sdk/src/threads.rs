//! Threads: conversations that the service keeps.

mod summary;
mod table;

use crate::capability::CliFeature;
use crate::error::Result;
use crate::manage::{CommandAnswer, CommandWords, ManagementCall, calls};
use crate::options::visibility;
use crate::setters::setters;

pub use summary::ThreadSummary;

/// The threads that [`list`](fn@list) returns. Newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadListOptions {
    /// At most so many.
    pub limit: Option<u64>,
    /// Not the first so many.
    pub offset: Option<u64>,
    /// Archived ones too.
    pub include_archived: bool,
}

setters! {
    ThreadListOptions {
        some(u64) with_limit = limit,
        some(u64) with_offset = offset,
        plain(bool) with_include_archived = include_archived,
    }
}

/// Range and form of the answer of [`search`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadSearchOptions {
    /// At most so many.
    pub limit: Option<u64>,
    /// Not the first so many.
    pub offset: Option<u64>,
    /// As JSON.
    pub json: bool,
}

setters! {
    ThreadSearchOptions {
        some(u64) with_limit = limit,
        some(u64) with_offset = offset,
        plain(bool) with_json = json,
    }
}

/// With whom [`share`] shares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadShareOptions {
    /// See [`visibility`].
    pub visibility: Option<String>,
    /// With Amp's support too; older CLIs only.
    pub support: Option<SupportMessage>,
}

setters! {
    ThreadShareOptions {
        into(String) with_visibility = visibility,
        some(SupportMessage) with_support = support,
    }
}

/// The message for Amp's support.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SupportMessage {
    /// Nothing.
    Silent,
    /// The given text.
    Message(String),
}

/// The subject of a [`handoff`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadHandoff {
    /// Purpose of the new thread.
    pub goal: Option<String>,
    /// Print the new thread's draft, start nothing interactive.
    pub print: bool,
    /// Input that the command reads.
    pub input: Option<String>,
}

setters! {
    ThreadHandoff {
        into(String) with_goal = goal,
        plain(bool) with_print = print,
        into(String) with_input = input,
    }
}

/// Timing and display of a [`replay`]; older CLIs only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadReplayOptions {
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

setters! {
    ThreadReplayOptions {
        some(u64) with_wpm = wpm,
        plain(bool) with_no_typing = no_typing,
        some(u64) with_message_delay = message_delay,
        some(u64) with_tool_progress_delay = tool_progress_delay,
        some(u64) with_exit_delay = exit_delay,
        plain(bool) with_no_indicator = no_indicator,
    }
}

/// The word for the CLI, and what it needs of it. Current CLIs have no `public`: they call it `unlisted`.
fn visibility_argument(word: Option<&str>, needs: &mut Vec<CliFeature>) -> Option<String> {
    let word = word.filter(|_| !amplihack_sys::sabotage::is_active("amp-thread-visibility"));
    match word {
        Some(visibility::UNLISTED) => needs.push(CliFeature::VisibilityUnlisted),
        Some(visibility::PUBLIC) => needs.push(CliFeature::VisibilityPublic),
        Some(_) => needs.push(CliFeature::Visibility),
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

fn new_id(answer: &CommandAnswer) -> Result<String> {
    bare_id(&answer.stdout)
        .map(|id| {
            if amplihack_sys::sabotage::is_active("amp-thread-id") {
                answer.trimmed_text()
            } else {
                id.to_owned()
            }
        })
        .ok_or_else(|| answer.unreadable_error("`amp threads new` printed no id that begins with T-"))
}

fn thread_words(command: &'static str, id: &str) -> CommandWords {
    CommandWords::new(&["threads", command]).with_positional("id", id)
}

calls! {
    amp;

    /// Makes an empty thread and returns its bare id, `T-…`. `visibility`: see [`visibility`](crate::visibility); without one the CLI's default.
    new(visibility: Option<&str>) -> String {
        let mut needs = vec![CliFeature::ThreadsNew];
        let words = CommandWords::new(&["threads", "new"]).with_option("--visibility", visibility_argument(visibility, &mut needs));
        Ok(ManagementCall::new(words, &needs, new_id))
    }

    /// The threads, newest first.
    list(which: &ThreadListOptions) -> Vec<ThreadSummary> {
        Ok(summary::list_call(which, amp.options.cli_version.as_ref()))
    }

    /// Threads that fit a query of Amp's own language (`file:src/main.rs auth`), as the CLI prints them.
    search(query: &str, how: &ThreadSearchOptions) -> String {
        let words = CommandWords::new(&["threads", "search"]).with_positional("query", query);
        let words = words.with_number("--limit", how.limit).with_number("--offset", how.offset).with_switch("--json", how.json);
        Ok(ManagementCall::new_text(words, &[CliFeature::ThreadsSearch]))
    }

    /// The whole conversation as Markdown.
    markdown(id: &str) -> String {
        let command = if amplihack_sys::sabotage::is_active("amp-thread-markdown") { "raw" } else { "markdown" };
        Ok(ManagementCall::new_text(thread_words(command, id), &[CliFeature::ThreadsMarkdown]))
    }

    /// The whole thread as the CLI's JSON.
    export(id: &str) -> serde_json::Value {
        Ok(ManagementCall::new(thread_words("export", id), &[CliFeature::ThreadsExport], |answer| {
            serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable_error(error.to_string()))
        }))
    }

    /// Changes who sees a thread; returns what the CLI says.
    share(id: &str, with: &ThreadShareOptions) -> String {
        let mut needs = vec![CliFeature::ThreadsShare];
        let mut words = thread_words("share", id);
        words = words.with_option("--visibility", visibility_argument(with.visibility.as_deref(), &mut needs));
        if let Some(support) = &with.support {
            needs.push(CliFeature::ThreadsShareSupport);
            words = match support {
                SupportMessage::Silent => words.with_switch("--support", true),
                SupportMessage::Message(text) => words.with_option("--support", Some(text)),
            };
        }
        Ok(ManagementCall::new_text(words, &needs))
    }

    /// Gives a thread another title.
    rename(id: &str, name: &str) -> String {
        Ok(ManagementCall::new_text(thread_words("rename", id).with_positional("name", name), &[CliFeature::ThreadsRename]))
    }

    /// Hides a thread from lists.
    archive(id: &str) -> String {
        Ok(ManagementCall::new_text(thread_words("archive", id), &[CliFeature::ThreadsArchive]))
    }

    /// Takes a thread back into lists.
    unarchive(id: &str) -> String {
        let words = thread_words("archive", id).with_switch("--unarchive", true);
        Ok(ManagementCall::new_text(words, &[CliFeature::ThreadsArchive, CliFeature::ThreadsUnarchive]))
    }

    /// Deletes a thread for good, here and on the server.
    delete(id: &str) -> String {
        Ok(ManagementCall::new_text(thread_words("delete", id), &[CliFeature::ThreadsDelete]))
    }

    /// Makes a new thread of what matters in this one. The current CLI hides the command.
    handoff(id: &str, how: &ThreadHandoff) -> String {
        let words = thread_words("handoff", id).with_option("--goal", how.goal.as_ref()).with_switch("--print", how.print);
        let input = how.input.clone().map(String::into_bytes);
        Ok(ManagementCall::new_text(words, &[CliFeature::ThreadsHandoff]).with_stdin(input))
    }

    /// Plays a thread as if it happened now. Older CLIs only: the current one would list threads instead.
    replay(id: &str, how: &ThreadReplayOptions) -> String {
        let words = thread_words("replay", id)
            .with_number("--wpm", how.wpm)
            .with_switch("--no-typing", how.no_typing)
            .with_number("--message-delay", how.message_delay)
            .with_number("--tool-progress-delay", how.tool_progress_delay)
            .with_number("--exit-delay", how.exit_delay)
            .with_switch("--no-indicator", how.no_indicator);
        Ok(ManagementCall::new_text(words, &[CliFeature::ThreadsReplay]))
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
