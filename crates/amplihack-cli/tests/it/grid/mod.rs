//! The grid of whole journeys (`amplihack_testkit::grid`): one test a cell, named `grid::<journey>::<agent>`.

mod cell;
mod launches;
mod machines;
mod page;
mod several;
mod unattended;

use amplihack_agent::AgentBinary;

/// Derives the tests from the names of journeys, each with the function that makes it.
macro_rules! journeys {
    ($($name:ident: $make:path;)+) => {
        $(mod $name {
            journeys!(@tests $name, $make, claude Claude, codex Codex, copilot Copilot, gemini Gemini);
        })+

        /// The cells that have a test.
        const TESTS: &[(&str, &[AgentBinary])] = &[$((
            stringify!($name),
            &[AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini],
        )),+];
    };
    (@tests $name:ident, $make:path, $($test:ident $agent:ident),+) => {
        $(#[test]
        fn $test() {
            super::cell::run(stringify!($name), amplihack_agent::AgentBinary::$agent, $make);
        })+
    };
}

journeys! {
    launch_headless: crate::grid::launches::headless;
    launch_terminal: crate::grid::launches::terminal;
    sessions_resume: crate::grid::launches::resumed;
    auto: crate::grid::unattended::auto;
    auto_worktree: crate::grid::unattended::worktree;
    auto_resume: crate::grid::unattended::resumed;
    parallel: crate::grid::several::parallel;
    parallel_race: crate::grid::several::race;
    recipe_run: crate::grid::several::recipe;
    remote_local: crate::grid::machines::local;
    remote_ssh: crate::grid::machines::ssh;
}
