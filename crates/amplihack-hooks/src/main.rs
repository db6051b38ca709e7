//! `amplihack-hooks`: what hosts start at each event. It reads one JSON document and answers it.
#![no_main]

use std::ffi::OsString;

use amplihack_config::env::Env;
use amplihack_hooks::dialect::FIRST_WORDS;
use amplihack_hooks::process::DEADLINE;

amplihack_sys::bare_main!(FIRST_WORDS, DEADLINE, serve_hook);
amplihack_sys::short_lived_memory!();

fn serve_hook(arguments: Vec<OsString>) -> u8 {
    amplihack_hooks::guard::serve_guard(arguments, &Env::from_process())
}
