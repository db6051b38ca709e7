//! The guard table (`amplihack_testkit::guard_table`): one test a cell, named `guard_table::<situation>::<agent>`.

mod broken;
mod calls;
mod page;
mod places;
mod repository;
mod stage;
mod switches;
mod tools;

/// Derives the tests from the names of situations, each with the function that makes it.
macro_rules! situations {
    ($($name:ident: $kind:ident($of:path);)+) => {
        $(mod $name {
            situations!(@tests $name, $kind($of), claude Claude, codex Codex, copilot Copilot, gemini Gemini);
        })+

        /// The situations that have tests.
        const TESTS: &[&str] = &[$(stringify!($name)),+];
    };
    (@tests $name:ident, $kind:ident($of:path), $($test:ident $agent:ident),+) => {
        $(#[test]
        fn $test() {
            let cell = super::stage::CellKind::$kind($of);
            super::stage::run(stringify!($name), amplihack_agent::AgentBinary::$agent, cell);
        })+
    };
}

situations! {
    usual: Staged(crate::guard_table::tools::usual);
    plugins_are_a_file: Staged(crate::guard_table::places::plugins_are_a_file);
    home_missing: Staged(crate::guard_table::places::home_missing);
    launch_directory_removed: Staged(crate::guard_table::places::launch_directory_removed);
    skill_with_commands: Staged(crate::guard_table::tools::skill_with_commands);
    slash_command: Staged(crate::guard_table::tools::slash_command);
    typed_into_a_shell: Staged(crate::guard_table::tools::typed_into_a_shell);
    settings_of_the_user: Staged(crate::guard_table::switches::settings_of_the_user);
    switched_off_by_argument: Staged(crate::guard_table::switches::switched_off_by_argument);
    switched_off_by_variable: Staged(crate::guard_table::switches::switched_off_by_variable);
    managed_settings: Tested(crate::real_ground::managed_settings);
    passed_through: Staged(crate::guard_table::switches::passed_through);
    resumed_session: Staged(crate::guard_table::switches::resumed_session);
    serves_a_protocol: Tested(crate::real_lines::serves_a_protocol);
    no_guard_reaches: Tested(crate::real_lines::no_guard_reaches);
    hooks_of_the_repository: Staged(crate::guard_table::repository::hooks);
    granted_by_a_script: Staged(crate::guard_table::broken::granted_by_a_script);
    servers_tools: Staged(crate::guard_table::tools::servers_tools);
    places_elsewhere: Staged(crate::guard_table::places::places_elsewhere);
    links_made_earlier: Staged(crate::guard_table::places::links_made_earlier);
    environment_of_the_repository: Staged(crate::guard_table::repository::environment);
    servers_of_the_repository: Staged(crate::guard_table::repository::servers);
    policy_rewritten: Staged(crate::guard_table::broken::policy_rewritten);
    agent_inside: Staged(crate::guard_table::broken::agent_inside);
    guard_is_empty: Staged(crate::guard_table::broken::guard_is_empty);
    guard_says_garbage: Staged(crate::guard_table::broken::guard_says_garbage);
    guard_is_slow: Staged(crate::guard_table::broken::guard_is_slow);
    guard_is_broken: Staged(crate::guard_table::broken::guard_is_broken);
    hooks_are_killed: Staged(crate::guard_table::broken::hooks_are_killed);
    hooks_are_stopped: Staged(crate::guard_table::broken::hooks_are_stopped);
    workflow: Staged(crate::guard_table::tools::workflow);
    audit_not_writable: Staged(crate::guard_table::broken::audit_not_writable);
    denial_is_shown: Tested(crate::real_ground::denial_is_shown);
}
