//! What the tests need of the machine, outside of the checkout: found, asked for, and installed only on request.

use std::fmt;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use crate::{Failure, debian, dist, shell, ui};

/// Programs, any one of which is enough, and the Debian package that has the first.
const PROGRAMS: &[(&[&str], &str)] = &[
    (&["cc"], "gcc"),
    (
        &["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"],
        "chromium-headless-shell",
    ),
    (&["fish"], "fish"),
    (&["git"], "git"),
    (&["groff"], "groff"),
    (&["ip"], "iproute2"),
    (&["man"], "man-db"),
    (&["munged"], "munge"),
    (&["musl-gcc"], "musl-tools"),
    (&["node"], "nodejs"),
    (&["npm"], "npm"),
    (&["nsenter"], "util-linux"),
    (&["sbatch"], "slurm-client"),
    (&["setpriv"], "util-linux"),
    (&["slurmctld"], "slurmctld"),
    (&["slurmd"], "slurmd"),
    (&["ssh"], "openssh-client"),
    (&["sshd"], "openssh-server"),
    (&["strace"], "strace"),
    (&["tmux"], "tmux"),
    (&["unshare"], "util-linux"),
    (&["zsh"], "zsh"),
];

/// How a run of tests deals with what is missing, from the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingPolicy {
    /// Asks on a terminal, and fails without one.
    Ask,
    /// Installs it (`--system`).
    Install,
    /// Leaves the tests out that need it (`--skip-missing`, and selections).
    Skip,
}

/// What is missing on this machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Debian packages, sorted.
    packages: Vec<&'static str>,
    /// A target of the Rust toolchain.
    target: Option<&'static str>,
}

/// A person's answer on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Install,
    Skip,
    Stop,
}

impl Missing {
    /// Finds what is missing on this machine.
    pub(crate) fn find() -> Self {
        Self::find_with(&|program| shell::find(program).is_some(), dist::musl_is_installed())
    }

    fn find_with(has: &dyn Fn(&str) -> bool, has_target: bool) -> Self {
        let missing = PROGRAMS.iter().filter(|(programs, _)| !programs.iter().any(|program| has(program)));
        let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
        packages.sort_unstable();
        packages.dedup();
        Self { packages, target: (!has_target).then_some(dist::MUSL_TARGET) }
    }

    fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.target.is_none()
    }

    /// Command lines that install it.
    fn commands(&self, is_root: bool) -> Vec<String> {
        let mut commands = Vec::new();
        if !self.packages.is_empty() {
            let sudo = if is_root { "" } else { "sudo " };
            commands
                .push(format!("{sudo}apt-get install --no-install-recommends {}", self.packages.join(" ")));
        }
        commands.extend(self.target.map(|target| format!("rustup target add {target}")));
        commands
    }

    /// Reports whether this process may install it.
    fn is_installable(&self) -> bool {
        (self.packages.is_empty() || debian::may_install())
            && (self.target.is_none() || shell::find("rustup").is_some())
    }

    /// Installs it.
    fn install(&self) -> Result<(), Failure> {
        debian::install(&self.packages)?;
        if let Some(target) = self.target {
            shell::run(shell::program("rustup").args(["target", "add", target]).stdout(std::io::stderr()))?;
        }
        let left = Self::find();
        if left.is_empty() { Ok(()) } else { Err(format!("after the installation, {left} still missing")) }
    }

    /// The list with the commands that install it.
    fn listed(&self, is_root: bool) -> String {
        let mut text = String::from("the tests need what this machine does not have:\n");
        for package in &self.packages {
            text.extend(["  Debian package ", package, "\n"]);
        }
        if let Some(target) = self.target {
            text.extend(["  Rust target ", target, "\n"]);
        }
        text.push_str("install it:\n");
        for command in self.commands(is_root) {
            text.extend(["  ", &command, "\n"]);
        }
        text
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<&str> = self.packages.iter().copied().chain(self.target).collect();
        write!(f, "{} {}", all.join(", "), if all.len() == 1 { "is" } else { "are" })
    }
}

/// Makes sure that the machine has what the tests need, or that the tests that need it may be left out. Returns what holds from here
/// on: a person may have answered.
///
/// # Errors
/// Something is missing and nobody allowed to install it or to leave tests out; or it cannot be installed.
pub(crate) fn prepare_machine(policy: MissingPolicy) -> Result<MissingPolicy, Failure> {
    let missing = Missing::find();
    if missing.is_empty() {
        return Ok(policy);
    }
    let answer = match policy {
        MissingPolicy::Install => Answer::Install,
        MissingPolicy::Skip => Answer::Skip,
        MissingPolicy::Ask => {
            ui::warn(&missing.listed(debian::is_root()));
            if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
                return Err(refusal(&missing));
            }
            ask(missing.is_installable(), &mut std::io::stdin().lock(), &mut std::io::stderr())
        }
    };
    match answer {
        Answer::Install => missing.install().map(|()| policy),
        Answer::Skip => {
            ui::say(&format!("{missing} missing; the tests that need it are skipped, and listed at the end"));
            Ok(MissingPolicy::Skip)
        }
        Answer::Stop => Err(refusal(&missing)),
    }
}

fn refusal(missing: &Missing) -> Failure {
    format!(
        "{missing} missing; nothing was built, and nothing was installed\n\
         hint: run the commands above, or `cargo xtask test --system`, which runs them; \
         `cargo xtask test --skip-missing` leaves out the tests that need it"
    )
}

/// Asks a person; everything but a clear answer stops.
fn ask(may_install: bool, answers: &mut impl BufRead, screen: &mut impl Write) -> Answer {
    let question = if may_install {
        "Install it now (y), leave out the tests that need it (s), or stop (N)? "
    } else {
        "Leave out the tests that need it (s), or stop (N)? "
    };
    let mut line = String::new();
    let asked = write!(screen, "{question}").and_then(|()| screen.flush());
    if asked.and_then(|()| answers.read_line(&mut line)).is_err() {
        return Answer::Stop;
    }
    match line.trim() {
        "y" | "Y" | "yes" if may_install => Answer::Install,
        "s" | "S" | "skip" => Answer::Skip,
        _ => Answer::Stop,
    }
}

/// Makes sure that there is a `program` for a chore that cannot do without.
///
/// # Errors
/// It is missing; the text names the package that has it.
pub(crate) fn require_program(program: &Path, package: &str) -> Result<(), Failure> {
    if program.is_file() {
        return Ok(());
    }
    Err(format!("{} is missing\nhint: apt-get install {package}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(programs: &[&str]) -> Missing {
        Missing::find_with(&|program| !programs.contains(&program), true)
    }

    #[test]
    fn packages_are_found_once_and_any_browser_is_enough() {
        assert!(without(&[]).is_empty());
        assert_eq!(without(&["unshare", "nsenter", "fish"]).packages, ["fish", "util-linux"]);
        assert!(without(&["chromium-headless-shell", "chromium"]).is_empty());
        let none = Missing::find_with(&|_| false, false);
        assert!(none.packages.contains(&"chromium-headless-shell") && none.target.is_some(), "{none:?}");
    }

    #[test]
    fn what_is_missing_is_listed_with_the_commands_that_install_it() {
        let mut missing = without(&["fish", "zsh"]);
        missing.target = Some("x86_64-unknown-linux-musl");
        assert_eq!(
            missing.listed(false),
            "the tests need what this machine does not have:\n\
             \x20 Debian package fish\n  Debian package zsh\n  Rust target x86_64-unknown-linux-musl\n\
             install it:\n\
             \x20 sudo apt-get install --no-install-recommends fish zsh\n\
             \x20 rustup target add x86_64-unknown-linux-musl\n"
        );
        assert_eq!(without(&["fish"]).commands(true), ["apt-get install --no-install-recommends fish"]);
        assert_eq!(without(&["fish"]).to_string(), "fish is");
    }

    #[test]
    fn only_a_clear_answer_installs_or_skips() {
        let answered = |may_install: bool, text: &str| {
            let mut screen = Vec::new();
            let answer = ask(may_install, &mut text.as_bytes(), &mut screen);
            assert!(String::from_utf8(screen).unwrap().contains("or stop (N)? "));
            answer
        };
        for (text, answer) in [
            ("y\n", Answer::Install),
            ("yes\n", Answer::Install),
            ("s\n", Answer::Skip),
            ("\n", Answer::Stop),
            ("n\n", Answer::Stop),
            ("what\n", Answer::Stop),
            ("", Answer::Stop),
        ] {
            assert_eq!(answered(true, text), answer, "{text:?}");
        }
        assert_eq!(answered(false, "y\n"), Answer::Stop);
        assert_eq!(answered(false, "s\n"), Answer::Skip);
    }
}
