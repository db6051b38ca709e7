//! Prints a generated reference page on stdout: `reference PATH`; alone it lists the paths. `cargo xtask docs` puts the pages in place.

mod pages;

use std::io::{self, Write};
use std::process::ExitCode;

use pages::PAGES;

fn main() -> ExitCode {
    let text = match std::env::args().nth(1) {
        None => PAGES.iter().flat_map(|page| [page.path, "\n"]).collect(),
        Some(path) => match PAGES.iter().find(|page| page.path == path) {
            Some(page) => (page.text)(),
            None => return ExitCode::from(2),
        },
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
