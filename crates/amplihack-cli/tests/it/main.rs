//! The real binary in sandboxes: every claim of the README and of the contracts, as a user would meet it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panic; helpers outside of #[test] functions too"
)]

mod amp;
mod audit;
mod auto;
mod auto_board;
mod auto_budget;
mod auto_ends;
mod auto_hostile;
mod auto_kill;
mod auto_parallel;
mod auto_verify;
mod bad_input;
mod bad_places;
mod completions;
mod config;
mod context_files;
mod control_plane;
mod copilot;
mod delivery;
mod demo;
mod diagnostics;
mod doctor;
mod dry_run;
mod evidence;
mod exit_codes;
mod export;
mod export_browser;
mod fakes;
mod formats;
mod grid;
mod guarded_state;
mod help;
mod input;
mod install;
mod interrupts;
mod launch;
mod nested;
mod nested_routing;
mod overhead;
mod policy;
mod policy_once;
mod prove;
mod read_only;
mod real_agents;
mod real_amp;
mod real_auto;
mod real_budget;
mod real_guard;
mod real_install;
mod real_nested;
mod real_nesting;
mod real_options;
mod real_permissions;
mod real_private;
mod real_recipe;
mod real_signals;
mod real_streams;
mod real_terminal;
mod real_walls;
mod real_words;
mod real_worktree;
mod recipe;
mod recipe_bundled;
mod recipe_cases;
mod recipe_kill;
mod recipe_warnings;
mod reference;
mod remote;
mod remote_faults;
mod routing;
mod routing_descendants;
mod scene;
mod schemas;
mod sessions;
mod soak;
mod tutorial;
mod worktree_setup;
mod world;
mod wrappers;
mod xpia_defend;
