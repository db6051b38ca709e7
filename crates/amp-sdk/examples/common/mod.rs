//! Setup that the examples share: the fake CLI by default, the real one with `--real`.

use std::io::Write;

use amp_sdk::testing::{FakeAmp, InstalledFake};
use amp_sdk::{Options, Result};

/// Options that lead to the fake, and the fake; with `--real` on the command line to the Amp that is installed, which needs an account.
pub(crate) fn cli(fake: FakeAmp) -> Result<(Options, Option<InstalledFake>)> {
    if std::env::args().any(|arg| arg == "--real") {
        return Ok((Options::default(), None));
    }
    let fake = fake.build()?;
    Ok((fake.options(), Some(fake)))
}

/// Writes text to standard output. A reader that has gone is no failure of an example.
pub(crate) fn say(text: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "{text}");
    let _ = out.flush();
}
