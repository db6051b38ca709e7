//! Many runs side by side in one process, at most so many at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Something that goes on.
pub type ParallelJob<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Carries out `jobs`, at most `max` at once, in their order, and gives their results in the same order. `done` hears of each end.
///
/// Each job is begun only when there is room for it: a future does nothing before it is polled.
pub async fn run_jobs<'a, T>(jobs: Vec<ParallelJob<'a, T>>, max: usize, done: &dyn Fn(usize, &T)) -> Vec<T> {
    let mut waiting = jobs.into_iter().enumerate();
    let mut running: Vec<(usize, ParallelJob<'a, T>)> = waiting.by_ref().take(max.max(1)).collect();
    let mut results: Vec<(usize, T)> = Vec::new();
    while !running.is_empty() {
        let (place, result) = poll_fn(|context| {
            for (place, (_, job)) in running.iter_mut().enumerate() {
                if let Poll::Ready(result) = job.as_mut().poll(context) {
                    return Poll::Ready((place, result));
                }
            }
            Poll::Pending
        })
        .await;
        let (number, _) = running.remove(place);
        done(number, &result);
        results.push((number, result));
        running.extend(waiting.next());
    }
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The tasks in a file: separated by lines of `---`, or one a line where there is none of them. Blank ones are passed over.
pub fn split_tasks(text: &str) -> Vec<String> {
    let is_rule = |line: &str| line.trim_end() == "---";
    let parts: Vec<String> = if text.lines().any(is_rule) {
        let mut parts = vec![String::new()];
        for line in text.split_inclusive('\n') {
            if is_rule(line) {
                parts.push(String::new());
            } else if let Some(last) = parts.last_mut() {
                last.push_str(line);
            }
        }
        parts
    } else {
        text.lines().map(str::to_owned).collect()
    };
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Reports whether a file without lines of `---` may mean other tasks than its lines: it has headings, list items, code
/// blocks, or paragraphs of several lines.
pub fn is_ambiguous(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if lines.contains(&"---") {
        return false;
    }
    let paragraphs: Vec<usize> =
        lines.split(|line| line.is_empty()).map(<[&str]>::len).filter(|length| *length > 0).collect();
    let has_long = paragraphs.len() > 1 && paragraphs.iter().any(|length| *length > 1);
    lines.iter().any(|line| is_markdown(line)) || has_long
}

/// Reports whether a line begins as a heading, a list item or a code block of Markdown does.
fn is_markdown(line: &str) -> bool {
    let bare = line.trim_start();
    let after = |marks: &[char]| bare.trim_start_matches(marks);
    let heading =
        bare.starts_with('#') && after(&['#']).starts_with(' ') && bare.len() - after(&['#']).len() <= 6;
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < bare.len() && (digits.starts_with(". ") || digits.starts_with(") "));
    heading || numbered || ["- ", "* ", "+ ", "```", "~~~"].iter().any(|mark| bare.starts_with(mark))
}

/// The first words of a task, for people: its first line, without marks of Markdown.
pub fn task_title(task: &str) -> String {
    const MOST: usize = 60;
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let bare = line.trim_start_matches(['#', '-', '*', '+', '>', ' ']);
    let words: String =
        (if bare.is_empty() { line } else { bare }).chars().filter(|c| !c.is_control()).collect();
    match words.char_indices().nth(MOST) {
        None => words,
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn no_more_run_at_once_than_may_and_results_keep_their_order() {
        let (running, most) = (Cell::new(0_u32), Cell::new(0_u32));
        let ended = RefCell::new(Vec::new());
        let (running, most) = (&running, &most);
        let jobs: Vec<ParallelJob<'_, usize>> = (0..12_usize)
            .map(|number| {
                Box::pin(async move {
                    running.set(running.get() + 1);
                    most.set(most.get().max(running.get()));
                    for _ in 0..(12 - number) {
                        tokio::task::yield_now().await;
                    }
                    running.set(running.get() - 1);
                    number
                }) as ParallelJob<'_, usize>
            })
            .collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let results = runtime.block_on(run_jobs(jobs, 4, &|number, _| ended.borrow_mut().push(number)));
        assert_eq!(results, (0..12).collect::<Vec<_>>());
        assert_eq!((most.get(), ended.borrow().len()), (4, 12));
    }

    #[test]
    fn tasks_are_lines_or_parts() {
        assert_eq!(split_tasks("one\n\n  \ntwo\n"), ["one", "two"]);
        assert_eq!(split_tasks("one\nmore\n---\n\n---\ntwo"), ["one\nmore\n", "two"]);
        assert_eq!(split_tasks("\n"), [""; 0]);
    }

    #[test]
    fn a_file_that_may_mean_something_else_is_not_cut_unseen() {
        for text in [
            "# Fix it\nall of it\n",
            "fix these:\n- a\n- b\n",
            "1. one\n2. two\n",
            "do\n```sh\nls\n```\n",
            "a long task\nin two lines\n\nand another\n",
        ] {
            assert!(is_ambiguous(text), "{text}");
        }
        for text in
            ["one\ntwo\nthree\n", "one\n\ntwo\n", "# One\nmore\n---\n- two\n", "fix #12\nuse 1.5 now\n", ""]
        {
            assert!(!is_ambiguous(text), "{text}");
        }
    }

    #[test]
    fn a_title_is_the_first_words() {
        assert_eq!(task_title("\n## Fix the parser\nnow"), "Fix the parser");
        assert_eq!(task_title("- a\tb"), "ab");
        assert_eq!(task_title("--"), "--");
        assert_eq!(task_title(&"漢".repeat(61)).chars().count(), 61);
    }
}
