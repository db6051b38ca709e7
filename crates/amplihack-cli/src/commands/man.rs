//! `amplihack man`: a command's manual page, for packages (`cargo xtask man` asks for all of them).

mod examples;

use std::io::{self, Write};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::ManArgs;
use crate::commands::help;
use crate::ui::{self, CommandFailure};

/// Prints the page of the command.
pub(crate) fn print_man_page(args: &ManArgs) -> Result<u8, CommandFailure> {
    let command = help::find_command(&args.words)?;
    let has_commands = command.get_subcommands().any(|below| !below.is_hide_set());
    let page = Man::new(command).source(concat!("amplihack ", env!("CARGO_PKG_VERSION"))).manual("amplihack");
    ui::stream_stdout(|mut out: &mut dyn Write| {
        page.render_title(&mut out)?;
        page.render_name_section(&mut out)?;
        page.render_synopsis_section(&mut out)?;
        page.render_description_section(&mut out)?;
        page.render_options_section(&mut out)?;
        if has_commands {
            page.render_subcommands_section(&mut out)?;
        }
        write_examples(&examples::examples_of(&args.words), out)
    })?;
    Ok(0)
}

/// Writes what each example does, and below it the command line.
fn write_examples(examples: &[examples::CommandExample], out: &mut dyn Write) -> io::Result<()> {
    let mut page = Roff::new();
    page.control("SH", ["EXAMPLES"]);
    for (line, about) in examples {
        page.control("PP", []);
        page.text([roman(format!("{about}:"))]);
        page.control("PP", []);
        page.control("RS", ["4"]);
        page.control("nf", []);
        page.text([bold(*line)]);
        page.control("fi", []);
        page.control("RE", []);
    }
    out.write_all(page.to_roff().as_bytes())
}
