//! Prints a generated reference page on stdout: `reference PATH`; alone it lists the paths. `cargo xtask docs` puts the pages in place.

mod pages;

use std::io::{self, Write};
use std::process::ExitCode;

use pages::pages;

fn main() -> ExitCode {
    let pages = pages();
    let text = match std::env::args().nth(1) {
        None => pages.iter().flat_map(|page| [page.path.as_str(), "\n"]).collect(),
        Some(path) => match pages.iter().find(|page| page.path == path) {
            Some(page) => (page.text)(),
            None => return ExitCode::from(2),
        },
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
