//! Examples of the manual pages: command lines that can be typed as they stand.

/// Most examples of a page whose commands have examples of their own.
const MOST: usize = 6;

/// A command line, and what it does.
pub(super) type CommandExample = (&'static str, &'static str);

/// Every example, in the order of the commands.
const EXAMPLES: &[CommandExample] = &[
    ("amplihack demo", "See what amplihack does, without an account"),
    ("amplihack claude -p 'Explain src/main.rs'", "Ask Claude Code headless, with the guard in place"),
    (
        "amplihack claude -p --output json --timeout 10min 'Run the tests'",
        "Print one JSON object at the end, and end a run that takes longer than ten minutes",
    ),
    ("git diff | amplihack claude -p --stdin 'Review this change'", "Append piped text to the prompt"),
    (
        "amplihack copilot -p --permissions edit 'Fix the typos in README.md'",
        "Let Copilot edit files without asking",
    ),
    (
        "amplihack copilot normalize -- --dangerously-skip-permissions",
        "Translate arguments written for Claude Code",
    ),
    ("amplihack copilot shim -- -p 'Explain this repository'", "Run Copilot with translated arguments"),
    ("amplihack codex -p 'Explain src/main.rs'", "Ask Codex headless"),
    ("amplihack codex -- resume --last", "Run one of Codex's own commands"),
    ("amplihack amplifier -p 'Explain src/main.rs'", "Ask Amplifier headless"),
    ("amplihack amp -p 'Explain src/main.rs'", "Ask Amp headless"),
    (
        "amplihack amp permissions test Bash --cmd 'git push' --settings-file settings.json",
        "Decide a call by the rules of a settings file",
    ),
    ("amplihack gemini -p 'Explain src/main.rs'", "Ask Gemini CLI headless"),
    ("amplihack launch --dry-run 'Fix the build'", "Show how the agent in charge would be started"),
    ("amplihack which", "Print the agent in charge"),
    ("amplihack doctor", "Check this machine"),
    ("amplihack doctor --prove claude", "Show on this machine that the guard holds Claude Code"),
    ("amplihack demo --scripted", "Show everything with the built-in scripted agent"),
    ("amplihack install --verify", "Guard every agent found, and try each registered command"),
    ("amplihack install --agent claude --scope repo", "Guard Claude Code in this repository"),
    ("amplihack uninstall", "Restore the files that `install` changed"),
    (
        "amplihack recipe run default-workflow --set task_description='Add a flag' --permissions edit",
        "Run a recipe by name",
    ),
    ("amplihack recipe run ./release.yaml --dry-run", "Show the steps of a recipe in a file"),
    ("amplihack recipe run --resume latest", "Continue the unfinished steps of the latest run"),
    ("amplihack recipe list", "List the recipes that can be run by name"),
    ("amplihack recipe validate ./release.yaml", "Report every mistake in a recipe, and start nothing"),
    ("amplihack recipe show default-workflow", "Show a recipe's steps"),
    ("amplihack recipe new release", "Write a recipe to begin with"),
    ("amplihack recipe runs list", "List recorded runs"),
    ("amplihack recipe runs show latest", "Show the latest run step by step"),
    ("amplihack recipe runs prune --older-than 30d", "Delete the records of old runs"),
    (
        "amplihack auto --agent claude --permissions full --worktree --verify 'cargo test' --task 'Fix the failing test'",
        "Work until the tests pass, in a worktree",
    ),
    ("amplihack auto --resume latest", "Continue a run that was ended"),
    ("amplihack auto append latest 'Use the existing parser'", "Give a running task another hint"),
    (
        "amplihack parallel --task-file tasks.txt --agents claude,codex --permissions full --verify 'cargo test'",
        "Work on each task of a file (separated by lines of ---) in a worktree of its own",
    ),
    (
        "amplihack parallel --race --task-file task.txt --agents claude,codex --permissions full --verify 'cargo test'",
        "Let two agents work on one task; the first verified result wins",
    ),
    (
        "amplihack remote exec --backend ssh auto 'Fix the build'",
        "Run a session on another machine, and fetch its results",
    ),
    ("amplihack remote start --backend ssh --permissions full 'Fix the build'", "Start a session and return"),
    ("amplihack remote list --refresh", "List sessions, after asking their machines"),
    ("amplihack remote output SESSION --follow", "Follow a session's output"),
    ("amplihack remote kill SESSION", "End a session"),
    ("amplihack remote status", "Show the machines and their load"),
    ("amplihack remote wait SESSION --timeout 2h", "Wait for the end of a session"),
    ("amplihack remote pull SESSION", "Fetch a session's results"),
    ("amplihack remote attach SESSION", "Open a shell where the session works"),
    ("amplihack remote pool list", "List the machines"),
    ("amplihack remote pool drain MACHINE", "Place no more sessions on a machine"),
    ("amplihack remote pool gc", "Release rented machines that are idle"),
    ("amplihack remote doctor", "Check the machines"),
    ("amplihack sessions list", "List recorded runs"),
    ("amplihack sessions show latest", "Show the latest run"),
    ("amplihack sessions search 'cargo publish'", "Find runs by what was said or done"),
    ("amplihack sessions tail latest", "Print the events of the latest run"),
    ("amplihack sessions export --html latest > run.html", "Write a run as a page"),
    ("amplihack sessions diff RUN", "Show what an unattended run changed"),
    ("amplihack sessions apply RUN", "Take the changes into the checkout, uncommitted"),
    ("amplihack sessions commit RUN", "Commit the work on the run's branch"),
    ("amplihack sessions merge RUN", "Merge the work into the branch that is checked out"),
    ("amplihack sessions discard RUN", "Remove the run's worktree and branch"),
    ("amplihack sessions resume latest 'Go on with the tests'", "Continue an agent's session"),
    ("amplihack sessions cost", "Show tokens and cost of each run"),
    ("amplihack sessions prune --older-than 30d", "Delete the records of old runs"),
    ("amplihack stream decode --agent claude stream.jsonl", "Print the events of a recorded stream"),
    ("amplihack config show --origin", "Show every value and where it comes from"),
    ("amplihack config trust", "Trust the repository in the current directory"),
    ("amplihack policy check 'rm -rf build'", "Ask whether a command may run"),
    ("amplihack policy explain 'curl https://example.com/x | sh'", "Show what in a command matters, and why"),
    ("amplihack policy test commands.jsonl", "Test the policy against commands with expected verdicts"),
    ("amplihack policy list", "List the rules, with the harm that each one stops"),
    ("amplihack policy export --agent claude", "Print the policy as Claude Code's own rules"),
    ("amplihack policy pending", "List stopped calls that can be allowed"),
    ("amplihack policy allow-once", "List stopped calls that can be allowed"),
    ("amplihack policy allow-once 1a2b3c4d-5e6f", "Allow one of them once"),
    ("amplihack sandbox run -- make test", "Run a command that can change the workspace and nothing else"),
    ("amplihack sandbox run --mode strict --network none -- ./program", "Run a program that is not trusted"),
    ("amplihack sandbox explain ~/.ssh .git/hooks", "Show what a command in the sandbox may do with paths"),
    ("amplihack sandbox check", "Try every layer of the sandbox on this kernel"),
    ("amplihack audit show --limit 20 --decision deny", "Show the newest denied calls"),
    ("amplihack audit show --follow", "Watch the guard at work"),
    ("amplihack audit verify", "Check that no entry was changed or removed"),
    (
        "amplihack completions bash > ~/.local/share/bash-completion/completions/amplihack",
        "Install completions for bash",
    ),
    ("amplihack help policy", "Read about the policy"),
];

/// The examples of the page of the command that `words` name: its own, else some of those of its commands.
pub(super) fn examples_of(words: &[String]) -> Vec<CommandExample> {
    let name = words.iter().fold("amplihack".to_owned(), |name, word| name + " " + word);
    let is_of = |line: &str| {
        let called = line.find("amplihack").map_or("", |at| &line[at..]);
        called.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    EXAMPLES.iter().copied().filter(|(line, _)| is_of(line)).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::AmplihackCli;

    #[test]
    fn every_example_can_be_read() {
        for (line, _) in EXAMPLES {
            let called = &line[line.find("amplihack").unwrap()..];
            let called = called.split(" > ").next().unwrap();
            let words = words_of(called);
            if let Err(error) = AmplihackCli::try_parse_from(words) {
                panic!("{line}\n{error}");
            }
        }
    }

    /// The words of a command line whose only quotes are single ones.
    fn words_of(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        for (number, part) in line.split('\'').enumerate() {
            if number % 2 == 1 {
                words.last_mut().unwrap().push_str(part);
                continue;
            }
            for (place, word) in part.split(' ').enumerate() {
                if place > 0 {
                    words.push(String::new());
                }
                words.last_mut().unwrap().push_str(word);
            }
        }
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn every_page_has_examples() {
        fn visit(command: &clap::Command, words: &mut Vec<String>) {
            assert!(!examples_of(words).is_empty(), "{words:?} has no example");
            for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
                words.push(below.get_name().to_owned());
                visit(below, words);
                words.pop();
            }
        }
        let mut command = AmplihackCli::command();
        command.build();
        visit(&command, &mut Vec::new());
    }
}
