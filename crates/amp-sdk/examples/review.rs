//! A review by an agent that may read and nothing else. The rules are asked first what they do.

mod common;

use amp_sdk::permissions::evaluate;
use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{Permission, PermissionAction, run, visibility};
use common::{cli, say};
use serde_json::Map;

#[tokio::main(flavor = "current_thread")]
async fn main() -> amp_sdk::Result<()> {
    let mut rules: Vec<Permission> =
        ["Read", "glob", "Grep"].map(|tool| Permission::new(tool, PermissionAction::Allow)).into();
    // The last rule is about everything that no other is about.
    rules.push(Permission::new("*", PermissionAction::Reject));
    for tool in ["Read", "Bash", "edit_file", "mcp__github__merge"] {
        let evaluation = evaluate(&rules, tool, &Map::new(), None);
        say(format_args!("{tool}: {}\n", evaluation.action.map_or("runs", PermissionAction::as_str)));
    }
    let (given, _fake) =
        cli(FakeAmp::new()
            .with_run(FakeReply::success("src/auth.rs:12: the token is compared byte by byte.")))?;
    let options = given.with_permissions(rules).with_visibility(visibility::PRIVATE);
    let review = run("Review src/ for bugs and security issues. Be thorough.", options).await?;
    say(format_args!("\n{review}\n"));
    Ok(())
}
