//! `recipe new`: a file to begin with.

use std::fs::{File, create_dir_all};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use amplihack_recipe::bundled::starting_point;
use amplihack_sys::error::ExitKind;

use super::NewArgs;
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Directory in which recipes named without a path are looked for.
const NAMED: &str = ".claude/recipes";

pub(super) fn create_recipe(args: &NewArgs) -> Result<u8, CommandFailure> {
    let (name, path) = resolve_target(&args.recipe)?;
    let whole = current_dir()?.join(&path);
    let failed = |error: &std::io::Error| {
        CommandFailure::from_io_error(&format!("{} could not be written", path.display()), error)
    };
    if let Some(directory) = whole.parent() {
        create_dir_all(directory).map_err(|error| failed(&error))?;
    }
    let other =
        whole.with_extension(if path.extension().is_some_and(|it| it == "yml") { "yaml" } else { "yml" });
    if other.symlink_metadata().is_ok() {
        return Err(already_exists(&path.with_extension(other.extension().unwrap_or_default())));
    }
    let mut file = File::create_new(&whole).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists(&path),
        _ => failed(&error),
    })?;
    file.write_all(starting_point(&name).as_bytes()).map_err(|error| failed(&error))?;
    ui::print_data(&format!("{}\n", path.display()))?;
    let run = if path.starts_with(NAMED) { name } else { args.recipe.clone() };
    ui::print_note("hint", format!("`amplihack recipe run {run}` runs it"));
    Ok(0)
}

/// The recipe's name and its file.
fn resolve_target(argument: &str) -> Result<(String, PathBuf), CommandFailure> {
    let given = Path::new(argument);
    let ending = given.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let path = match (ending, argument.contains('/')) {
        (true, _) => given.to_owned(),
        (false, true) => return Err(unusable_name(argument, "a recipe's file ends in .yaml or .yml")),
        (false, false) => Path::new(NAMED).join(format!("{argument}.yaml")),
    };
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(word) {
        return Err(unusable_name(argument, "a name has letters, digits, `_` and `-`"));
    }
    Ok((name.to_owned(), path))
}

fn unusable_name(argument: &str, hint: &str) -> CommandFailure {
    CommandFailure::bad_usage(format!("{argument:?} cannot be used as a recipe's name"), hint)
}

fn already_exists(path: &Path) -> CommandFailure {
    let hint = "choose another name, or remove the file first";
    CommandFailure::new(
        "recipe_exists",
        format!("{} is there already", path.display()),
        hint,
        ExitKind::Failed,
    )
}
