//! Tells which functions of a program are called first, for `cargo xtask dist`: `first-calls ADDRESSES PROGRAM ARGUMENTS…`, with the
//! program's input on stdin. ADDRESSES is a file with one address a line, hexadecimal; so is what is printed.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use amplihack_sys::first_calls::first_calls;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(addresses), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("first-calls ADDRESSES PROGRAM ARGUMENTS…".into());
    };
    let text = std::fs::read_to_string(addresses)?;
    let functions: Vec<u64> =
        text.lines().map(|line| u64::from_str_radix(line, 16)).collect::<Result<_, _>>()?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let mut out = String::new();
    for address in first_calls(command, &functions)? {
        writeln!(out, "{address:x}")?;
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}
