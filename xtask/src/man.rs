//! `cargo xtask man`: the manual pages of every command, for packages; the binary itself makes each of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, command_line, shell, ui};

/// Writes a page a command into a directory.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let directory = match args {
        [] => shell::root().join("dist/man"),
        [directory] => PathBuf::from(directory),
        _ => return Err(format!("unknown arguments {args:?}; try: cargo xtask man [DIR]")),
    };
    shell::build_programs()?;
    let program = shell::target().join("debug/amplihack");
    let count = pages(&program, &directory)?;
    ui::say(&format!("wrote {count} pages into {}", directory.display()));
    Ok(())
}

/// Writes the pages of every command of `program` into `directory`, and returns how many there are.
pub(crate) fn pages(program: &Path, directory: &Path) -> Result<usize, Failure> {
    fs::create_dir_all(directory)
        .map_err(|error| format!("failed to make {}: {error}", directory.display()))?;
    let commands = command_line::every_command(program)?;
    for (command, _) in &commands {
        let mut man = Command::new(program);
        let page = shell::read(man.arg("man").args(command))?;
        let name: Vec<&str> =
            std::iter::once("amplihack").chain(command.iter().map(String::as_str)).collect();
        let path = directory.join(format!("{}.1", name.join("-")));
        fs::write(&path, page).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    }
    Ok(commands.len())
}
