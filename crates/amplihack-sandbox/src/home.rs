//! The home: it may be read, but for keys, histories and the records of other sessions.

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::confine::PathAccess;

use crate::compile::{SandboxEntry, SandboxRule};
use crate::mode::SandboxMode;
use crate::system::existing;

/// Keys, tokens and what leads to them, below the home.
const KEYS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".oci",
    ".config/doctl",
    ".fly",
    ".vercel",
    ".netlify",
    ".wrangler",
    ".databrickscfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".config/op",
    ".kube",
    ".docker",
    ".config/containers/auth.json",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".config/rclone",
    ".config/github-copilot",
    ".config/configstore",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".kaggle",
    ".cloudflared",
    ".ngrok2",
    ".config/ngrok",
    ".docker-credential",
    ".config/sops",
    ".age",
    ".config/age",
    ".1password",
    ".config/1Password",
    ".config/Bitwarden",
    ".bitwarden",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".config/solana",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".copilot/config.json",
    ".local/share/amp",
    ".local/share/opencode",
    ".qwen/oauth_creds.json",
    ".terraformrc",
    ".pulumi",
    ".config/stripe",
    ".config/hcloud",
    ".sentryclirc",
    ".nuget/NuGet/NuGet.Config",
    ".bundle/config",
    ".mylogin.cnf",
    ".bunfig.toml",
    ".yarnrc",
    ".config/nix/nix.conf",
    ".ansible",
    ".Xauthority",
    ".local/share/kwalletd",
    ".config/Code/User",
];

/// Variables that name a place of keys elsewhere.
const MOVED_BY: &[&str] = &[
    "DOCKER_CONFIG",
    "KUBECONFIG",
    "GNUPGHOME",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PGPASSFILE",
    "HISTFILE",
    "GH_CONFIG_DIR",
    "SSH_AUTH_SOCK",
];

/// Packages that were fetched: tools change them without changing what anybody else sees.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".cargo",
    ".bun",
    ".deno",
    ".yarn",
    ".pnpm-store",
    ".local/share/pnpm",
    "go",
    ".gradle",
    ".m2",
    ".ivy2",
    ".sbt",
    ".nuget",
    ".composer",
    ".conan2",
];

/// Variables that name such a place elsewhere.
const CACHED_BY: &[&str] = &[
    "CARGO_HOME",
    "GOPATH",
    "GOCACHE",
    "GOMODCACHE",
    "XDG_CACHE_HOME",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "GRADLE_USER_HOME",
];

/// Words that a person typed, and a person's pages.
const PRIVATE: &[&str] = &[
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".lesshst",
    ".viminfo",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".thunderbird",
    ".local/share/atuin",
    ".zhistory",
    ".histfile",
    ".local/share/zsh/history",
    ".sqlite_history",
    ".irb_history",
    ".rediscli_history",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".var/app",
    "snap",
];

/// Entries of the home in `mode`, for a sandbox around `workspace`. Keys and records are hidden in each: something else may open what is
/// around them.
pub(crate) fn home_entries(env: &Env, mode: SandboxMode, workspace: &Path) -> Vec<SandboxEntry> {
    let Some(home) = env.home().and_then(|home| home.canonicalize().ok()) else { return Vec::new() };
    let hidden = |names: &[&str], rule: SandboxRule| {
        let places = names.iter().filter_map(|name| real_below(&home, name));
        places.filter_map(|path| existing(path, PathAccess::Hidden, rule)).collect::<Vec<_>>()
    };
    let mut entries = hidden(KEYS, SandboxRule::Keys);
    let moved = MOVED_BY.iter().filter_map(|name| env.path(name)?.canonicalize().ok());
    let moved = moved.filter(|path| !home.starts_with(path) && !workspace.starts_with(path));
    entries.extend(moved.filter_map(|path| existing(path, PathAccess::Hidden, SandboxRule::Keys)));
    let cargo = env
        .path("CARGO_HOME")
        .into_iter()
        .flat_map(|home| ["credentials", "credentials.toml"].map(|name| home.join(name)));
    let cargo = cargo.filter_map(|path| path.canonicalize().ok());
    entries.extend(cargo.filter_map(|path| existing(path, PathAccess::Hidden, SandboxRule::Keys)));
    entries.extend(hidden(PRIVATE, SandboxRule::Private));
    let state = env.amplihack_home().and_then(|state| state.canonicalize().ok());
    entries.extend(state.map(|state| SandboxEntry::new(state, PathAccess::Hidden, SandboxRule::Records)));
    if mode == SandboxMode::Strict {
        entries.push(SandboxEntry::new(home, PathAccess::Scratch, SandboxRule::Scratch));
        return entries;
    }
    let named = CACHES.iter().filter_map(|name| real_below(&home, name));
    let caches = named.chain(CACHED_BY.iter().filter_map(|name| env.path(name)?.canonicalize().ok()));
    // A variable that names the home, or something of the workspace, names no place of packages alone.
    let is_apart = |path: &PathBuf| {
        !home.starts_with(path) && !workspace.starts_with(path) && !path.starts_with(workspace)
    };
    let caches = caches.filter(is_apart);
    entries.extend(caches.filter_map(|path| existing(path, PathAccess::Overlay, SandboxRule::Cache)));
    entries.push(SandboxEntry::new(home, PathAccess::Read, SandboxRule::Home));
    entries
}

/// The path of `name` below `home`, without links.
fn real_below(home: &Path, name: &str) -> Option<PathBuf> {
    home.join(name).canonicalize().ok()
}
