//! A real browser without a window, that looks at a page on disk: what is in it, what it says, and what it asks of a network.

use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_config::env::Env;
use serde_json::Value;

/// Programs of Chromium, the smallest first.
const PROGRAMS: &[&str] = &["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// An installed browser.
#[derive(Debug, Clone)]
pub struct Browser {
    program: PathBuf,
}

/// What a browser made of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The document, as HTML, after everything in it was done.
    pub dom: String,
    /// What was said on the console: errors, refusals, logs.
    pub console: Vec<String>,
    /// Addresses that were asked for over a network, or tried to be.
    pub requests: Vec<String>,
}

impl Browser {
    /// The browser of this machine. If there is none, the test that asked is skipped.
    pub fn find() -> Option<Self> {
        let path = Env::from_process().get("PATH").unwrap_or_default().to_owned();
        let found = PROGRAMS.iter().find_map(|name| {
            std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file())
        });
        if found.is_none() {
            crate::skip_test("no headless browser is installed; `cargo xtask test --system` installs one");
        }
        found.map(|program| Self { program })
    }

    /// Looks at the file `page`; `scratch` is an empty directory for what the browser keeps.
    pub fn look(&self, page: &Path, scratch: &Path) -> Look {
        let log = scratch.join("net.json");
        let mut command = self.command(page, scratch);
        command
            .arg("--dump-dom")
            .arg("--enable-logging=stderr")
            .arg(format!("--log-net-log={}", log.display()));
        let output = command.arg(address(page)).output().expect("the browser starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "the browser ended with {}: {stderr}", output.status);
        let log = std::fs::read(log).expect("the browser writes what it asks of a network");
        Look {
            dom: String::from_utf8(output.stdout).expect("a document is UTF-8"),
            console: stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
            requests: requests(&log),
        }
    }

    /// Writes a picture of the file `page` to `picture`, as somebody sees it who likes it dark, or not.
    pub fn picture(&self, page: &Path, scratch: &Path, picture: &Path, dark: bool) {
        let mut command = self.command(page, scratch);
        command.arg("--window-size=1100,1600").arg(format!("--screenshot={}", picture.display()));
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)));
        let output = command.arg(address(page)).output().expect("the browser starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, page: &Path, scratch: &Path) -> Command {
        assert!(page.is_file(), "{} is not there", page.display());
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", scratch).current_dir(scratch);
        // Its own walls need rights that containers do not give; the page is our own.
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]);
        // What it asks for by itself is not the page's.
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", scratch.join("profile").display()));
        command
    }
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// The addresses in a log of the network that are none of files.
fn requests(log: &[u8]) -> Vec<String> {
    let log: Value = serde_json::from_slice(log).expect("the browser's log is JSON");
    let events = log["events"].as_array().expect("the browser's log holds events");
    let urls = events.iter().filter_map(|event| event["params"]["url"].as_str());
    let mut found: Vec<String> = urls.filter(|url| !url.starts_with("file:")).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}
