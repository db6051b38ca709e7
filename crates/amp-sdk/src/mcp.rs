//! MCP servers in the CLI's settings.

mod server;
mod settings;

use serde_json::Value;

use crate::capability::Feature;
use crate::error::{Error, Result};
use crate::manage::{Amp, Answer, Call, Words, calls};
use crate::mcp_config::{McpHttpServer, McpStdioServer};

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
    /// Whether a command line may hold all of it.
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

/// How [`oauth_login`] registers a client. Debug shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthLogin {
    /// The server's address.
    pub server_url: Option<String>,
    /// The client's id.
    pub client_id: Option<String>,
    /// The client's secret, for clients without PKCE. Refused unless [`OauthLogin::allow_secret_in_argv`].
    pub client_secret: Option<String>,
    /// Scopes, separated by commas.
    pub scopes: Option<String>,
    /// Where the user grants. Default: what the server says.
    pub auth_url: Option<String>,
    /// Where tokens are had. Default: what the server says.
    pub token_url: Option<String>,
    /// The CLI takes the secret only from its command line, where every user of the machine sees it. Default: false.
    pub allow_secret_in_argv: bool,
}

impl std::fmt::Debug for OauthLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OauthLogin")
            .field("server_url", &self.server_url)
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret.as_ref().map(|_| amplihack_utils::secret::REDACTED))
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

fn servers(answer: &Answer) -> Result<Vec<McpServer>> {
    let list: Vec<Value> =
        serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable(error.to_string()))?;
    // What is wrong is said without the entry: it may hold headers.
    let list: std::result::Result<Vec<_>, String> = list.into_iter().map(McpServer::read).collect();
    list.map_err(|message| Error::Parse { message, details: String::new() })
}

fn add_words(name: &str, server: &NewServer, workspace: bool) -> Words {
    let words = Words::new(&["mcp", "add"]).place("name", name).switch("--workspace", workspace);
    match server {
        NewServer::Stdio(server) => {
            words.program(std::iter::once(&server.command).chain(&server.args).map(Into::into))
        }
        NewServer::Http(server) => words.place("url", &server.url),
    }
}

/// What the CLI, or the SDK in its place, does about a new server.
fn adding(amp: &Amp, name: &str, server: &NewServer, workspace: bool) -> Result<Call<String>> {
    server.validate()?;
    if name.trim().is_empty() || name.starts_with('-') {
        return Err(Error::invalid("mcp add: name", "it is blank or begins with -; give it a name"));
    }
    let call = Call::text(add_words(name, server, workspace), &[Feature::Mcp]).ungoverned();
    if server.is_plain() || amp.options.governed_authority.is_some() {
        return Ok(call);
    }
    let file = settings::file(&amp.options, workspace)?;
    let (name, server) = (name.to_owned(), server.to_value());
    Ok(call.instead(move || {
        settings::add(&file, &name, &server)?;
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
        adding(amp, name, server, workspace)
    }

    /// The servers of the account, the user's settings and the workspace's. Reads the older flat form and the newer nested one.
    list() -> Vec<McpServer> {
        Ok(Call::new(Words::new(&["mcp", "list", "--json"]), &[Feature::Mcp], servers))
    }

    /// Removes a server from the workspace's settings, else from the user's.
    remove(name: &str) -> String {
        Ok(Call::text(Words::new(&["mcp", "remove"]).place("name", name), &[Feature::Mcp]))
    }

    /// How the servers are, or one of them; waits until they are connected.
    doctor(name: Option<&str>) -> String {
        let words = Words::new(&["mcp", "doctor"]);
        let words = match name {
            Some(name) => words.place("name", name),
            None => words,
        };
        Ok(Call::text(words, &[Feature::Mcp]))
    }

    /// Lets a server of the workspace's settings run.
    approve(name: &str) -> String {
        Ok(Call::text(Words::new(&["mcp", "approve"]).place("name", name), &[Feature::Mcp]))
    }

    /// Registers OAuth credentials of a server. Not in governed execution.
    oauth_login(server: &str, with: &OauthLogin) -> String {
        if with.client_secret.is_some() && !with.allow_secret_in_argv {
            return Err(Error::invalid(
                "client_secret",
                "the CLI takes it only from its command line, which every user of the machine can read; \
                 use a client with PKCE, or set allow_secret_in_argv",
            ));
        }
        let words = Words::new(&["mcp", "oauth", "login"])
            .place("server", server)
            .option("--server-url", with.server_url.as_ref())
            .option("--client-id", with.client_id.as_ref())
            .option("--client-secret", with.client_secret.as_ref())
            .option("--scopes", with.scopes.as_ref())
            .option("--auth-url", with.auth_url.as_ref())
            .option("--token-url", with.token_url.as_ref());
        Ok(Call::text(words, &[Feature::Mcp]).ungoverned())
    }

    /// Removes OAuth credentials of a server. Not in governed execution.
    oauth_logout(server: &str) -> String {
        let words = Words::new(&["mcp", "oauth", "logout"]).place("server", server);
        Ok(Call::text(words, &[Feature::Mcp]).ungoverned())
    }

    /// Whether a server has OAuth credentials. Not in governed execution.
    oauth_status(server: &str) -> String {
        let words = Words::new(&["mcp", "oauth", "status"]).place("server", server);
        Ok(Call::text(words, &[Feature::Mcp]).ungoverned())
    }
}
