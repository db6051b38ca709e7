//! `docs/releases.md` does what it says: its commands are run, in a home of their own.

use std::time::Duration;

use amplihack_testkit::{Sandbox, page, workspace};

use crate::installer::{assert_installed, home};
use crate::release::{dist, name, stand_ins};
use crate::server::Server;

const PAGE: &str = "docs/releases.md";

#[test]
fn every_command_of_the_page_about_releases_does_what_it_says() {
    let mut sandbox = Sandbox::new();
    dist(&sandbox, &stand_ins(&sandbox, "1.0.0"), "work");
    let server = Server::start(&sandbox.work(), "");
    sandbox.set("AMPLIHACK_DOWNLOAD_URL", server.url());
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.home().join(".local/bin").display()));
    let blocks = page::blocks(&std::fs::read_to_string(workspace().join(PAGE)).unwrap());
    assert_eq!(blocks.len(), 4, "{blocks:#?}");
    assert!(sandbox.work().join(name("1.0.0")).is_dir());
    page::run(&sandbox, PAGE, &blocks[..3], Duration::from_mins(1));
    assert_installed(&sandbox, "1.0.0");
    page::run(&sandbox, PAGE, &blocks[3..], Duration::from_mins(1));
    assert_eq!(home(&sandbox).len(), 0);
}
