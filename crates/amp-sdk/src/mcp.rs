//! MCP servers in the CLI's settings.

mod server;
mod settings;

use serde_json::Value;

use crate::capability::CliFeature;
use crate::error::{Error, Result};
use crate::manage::{AmpContext, CommandAnswer, CommandWords, ManagementCall, calls};
use crate::mcp_config::{McpHttpServer, McpStdioServer};
use crate::setters::setters;

pub use server::{McpServer, ServerType};

/// A server to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewServer {
    /// A program.
    Stdio(McpStdioServer),
    /// An address.
    Http(McpHttpServer),
}

impl From<McpStdioServer> for NewServer {
    fn from(server: McpStdioServer) -> Self {
        Self::Stdio(server)
    }
}

impl From<McpHttpServer> for NewServer {
    fn from(server: McpHttpServer) -> Self {
        Self::Http(server)
    }
}

impl NewServer {
    /// Reports whether a command line may hold all of the server.
    fn is_plain(&self) -> bool {
        match self {
            Self::Stdio(server) => server.env.is_empty() && !server.disabled,
            Self::Http(server) => server.headers.is_empty() && server.transport.is_none() && !server.disabled,
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Stdio(server) => server.to_value(),
            Self::Http(server) => server.to_value(),
        }
    }

    /// Checks what the constructors check, since the fields are public.
    fn validate(&self) -> Result<()> {
        match self {
            Self::Stdio(server) => McpStdioServer::new(server.command.clone()).map(drop),
            Self::Http(server) => McpHttpServer::new(server.url.clone()).map(drop),
        }
    }
}

/// Registration of a client by [`oauth_login`]. Debug shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OauthLogin {
    /// The server's address.
    pub server_url: Option<String>,
    /// The client's id.
    pub client_id: Option<String>,
    /// The client's secret, for clients without PKCE. Refused unless [`OauthLogin::allow_secret_in_argv`].
    pub client_secret: Option<String>,
    /// Scopes, separated by commas.
    pub scopes: Option<String>,
    /// Address at which the user grants access. Default: the server's own.
    pub auth_url: Option<String>,
    /// Address from which tokens are fetched. Default: the server's own.
    pub token_url: Option<String>,
    /// The CLI takes the secret only from its command line, where every user of the machine sees it. Default: false.
    pub allow_secret_in_argv: bool,
}

setters! {
    OauthLogin {
        into(String) with_server_url = server_url,
        into(String) with_client_id = client_id,
        into(String) with_client_secret = client_secret,
        into(String) with_scopes = scopes,
        into(String) with_auth_url = auth_url,
        into(String) with_token_url = token_url,
        plain(bool) with_allow_secret_in_argv = allow_secret_in_argv,
    }
}

impl std::fmt::Debug for OauthLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OauthLogin")
            .field("server_url", &self.server_url)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret.as_ref().map(|_| amplihack_config::secret::REDACTED))
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

fn parse_servers(answer: &CommandAnswer) -> Result<Vec<McpServer>> {
    let list: Vec<Value> =
        serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable_error(error.to_string()))?;
    // What is wrong is said without the entry: it may hold headers.
    let list: std::result::Result<Vec<_>, String> = list.into_iter().map(McpServer::read).collect();
    list.map_err(|message| Error::Parse { message, details: String::new() })
}

fn add_words(name: &str, server: &NewServer, workspace: bool) -> CommandWords {
    let words = CommandWords::new(&["mcp", "add"])
        .with_positional("name", name)
        .with_switch("--workspace", workspace);
    match server {
        NewServer::Stdio(server) => {
            words.with_program(std::iter::once(&server.command).chain(&server.args).map(Into::into))
        }
        NewServer::Http(server) => words.with_positional("url", &server.url),
    }
}

/// Prepares the call by which the CLI, or the SDK in its place, adds a new server.
fn prepare_add(
    amp: &AmpContext,
    name: &str,
    server: &NewServer,
    workspace: bool,
) -> Result<ManagementCall<String>> {
    server.validate()?;
    if name.trim().is_empty() || name.starts_with('-') {
        return Err(Error::invalid_option("mcp add: name", "it is blank or begins with -; give it a name"));
    }
    let call =
        ManagementCall::new_text(add_words(name, server, workspace), &[CliFeature::Mcp]).refuse_governed();
    if server.is_plain() || amp.options.is_governed() {
        return Ok(call);
    }
    let file = settings::settings_path(&amp.options, workspace)?;
    let (name, server) = (name.to_owned(), server.to_value());
    Ok(call.with_replacement(move || {
        settings::add_server(&file, &name, &server)?;
        Ok(format!("Added amp.mcpServers.{name} to {}", file.display()))
    }))
}

calls! {
    amp;

    /// Adds a server to the user's settings, or to the workspace's; returns what was done in words. Not in governed execution.
    ///
    /// A server with headers, environment, a transport, or switched off, is written into the settings file by the SDK, so that no
    /// command line holds a secret: under a lock, whole or not at all, 0600, comments kept; not on another machine. Any other is added
    /// by the CLI. One of that name that is there already is an error.
    add(name: &str, server: &NewServer, workspace: bool) -> String {
        prepare_add(amp, name, server, workspace)
    }

    /// The servers of the account, the user's settings and the workspace's. Reads the older flat form and the newer nested one.
    list() -> Vec<McpServer> {
        Ok(ManagementCall::new(CommandWords::new(&["mcp", "list", "--json"]), &[CliFeature::Mcp], parse_servers))
    }

    /// Removes a server from the workspace's settings, else from the user's.
    remove(name: &str) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["mcp", "remove"]).with_positional("name", name), &[CliFeature::Mcp]))
    }

    /// Returns the state of the servers, or of one of them; waits until they are connected.
    doctor(name: Option<&str>) -> String {
        let words = CommandWords::new(&["mcp", "doctor"]);
        let words = match name {
            Some(name) => words.with_positional("name", name),
            None => words,
        };
        Ok(ManagementCall::new_text(words, &[CliFeature::Mcp]))
    }

    /// Lets a server of the workspace's settings run.
    approve(name: &str) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["mcp", "approve"]).with_positional("name", name), &[CliFeature::Mcp]))
    }

    /// Registers OAuth credentials of a server. Not in governed execution.
    oauth_login(server: &str, with: &OauthLogin) -> String {
        if with.client_secret.is_some() && !with.allow_secret_in_argv {
            return Err(Error::invalid_option(
                "client_secret",
                "the CLI takes it only from its command line, which every user of the machine can read; \
                 use a client with PKCE, or set allow_secret_in_argv",
            ));
        }
        let words = CommandWords::new(&["mcp", "oauth", "login"])
            .with_positional("server", server)
            .with_option("--server-url", with.server_url.as_ref())
            .with_option("--client-id", with.client_id.as_ref())
            .with_option("--client-secret", with.client_secret.as_ref())
            .with_option("--scopes", with.scopes.as_ref())
            .with_option("--auth-url", with.auth_url.as_ref())
            .with_option("--token-url", with.token_url.as_ref());
        Ok(ManagementCall::new_text(words, &[CliFeature::Mcp]).refuse_governed())
    }

    /// Removes OAuth credentials of a server. Not in governed execution.
    oauth_logout(server: &str) -> String {
        let words = CommandWords::new(&["mcp", "oauth", "logout"]).with_positional("server", server);
        Ok(ManagementCall::new_text(words, &[CliFeature::Mcp]).refuse_governed())
    }

    /// Reports whether a server has OAuth credentials. Not in governed execution.
    oauth_status(server: &str) -> String {
        let words = CommandWords::new(&["mcp", "oauth", "status"]).with_positional("server", server);
        Ok(ManagementCall::new_text(words, &[CliFeature::Mcp]).refuse_governed())
    }
}
