//! A program that is in the middle of a run with private files: `held CLI SECRET_FILE`. It says one line when the CLI runs, and reads on.
//!
//! The tests kill it. `SECRET_FILE` holds what must be seen in private files only.

use std::io::Write;

use amp_sdk::{McpConfig, McpHttpServer, Options, Permission, PermissionAction, execute};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(cli), Some(file)) = (words.next(), words.next()) else {
        return Err("say which CLI and which file".into());
    };
    let secret = std::fs::read_to_string(file)?;
    let mut server = McpHttpServer::new("https://mcp.invalid")?;
    server.headers.insert("Authorization".to_owned(), secret.clone());
    let options = Options::default()
        .with_cli_path(cli)
        .with_permissions([Permission::new("Bash", PermissionAction::Ask)])
        .with_mcp_config(McpConfig::new().with_http("api", &server));
    let mut messages = execute(secret, options);
    let first = messages.next().await.ok_or("there is no message")??;
    let mut out = std::io::stdout();
    writeln!(out, "{} {}", first.kind(), messages.pid().unwrap_or_default())?;
    out.flush()?;
    while let Some(message) = messages.next().await {
        message?;
    }
    Ok(())
}
