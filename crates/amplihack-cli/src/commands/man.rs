//! `amplihack man`: a command's manual page, for packages (`cargo xtask man` asks for all of them).

use std::io::Write;

use clap_mangen::Man;

use crate::cli::ManArgs;
use crate::commands::help;
use crate::ui::{self, CommandFailure};

/// Prints the page of the command.
pub(crate) fn print_man_page(args: &ManArgs) -> Result<u8, CommandFailure> {
    let command = help::find_command(&args.words)?;
    let page = Man::new(command).source(concat!("amplihack ", env!("CARGO_PKG_VERSION"))).manual("amplihack");
    ui::stream_stdout(|out: &mut dyn Write| page.render(&mut &mut *out))?;
    Ok(0)
}
