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
];

/// Entries of the home in `mode`.
pub(crate) fn home_entries(env: &Env, mode: SandboxMode) -> Vec<SandboxEntry> {
    let Some(home) = env.home().and_then(|home| home.canonicalize().ok()) else { return Vec::new() };
    let state = env.amplihack_home().and_then(|state| state.canonicalize().ok());
    let records = state.map(|state| SandboxEntry::new(state, PathAccess::Hidden, SandboxRule::Records));
    if mode == SandboxMode::Strict {
        let nothing = SandboxEntry::new(home, PathAccess::Scratch, SandboxRule::Scratch);
        return std::iter::once(nothing).chain(records).collect();
    }
    let hidden = |names: &[&str], rule: SandboxRule| {
        let places = names.iter().filter_map(|name| real_below(&home, name));
        places.filter_map(|path| existing(path, PathAccess::Hidden, rule)).collect::<Vec<_>>()
    };
    let keys = hidden(KEYS, SandboxRule::Keys);
    let private = hidden(PRIVATE, SandboxRule::Private);
    let named = CACHES.iter().filter_map(|name| real_below(&home, name));
    let caches = named.chain(CACHED_BY.iter().filter_map(|name| env.path(name)?.canonicalize().ok()));
    let caches: Vec<SandboxEntry> =
        caches.filter_map(|path| existing(path, PathAccess::Overlay, SandboxRule::Cache)).collect();
    let readable = SandboxEntry::new(home, PathAccess::Read, SandboxRule::Home);
    std::iter::once(readable).chain(caches).chain(keys).chain(private).chain(records).collect()
}

/// The path of `name` below `home`, without links.
fn real_below(home: &Path, name: &str) -> Option<PathBuf> {
    home.join(name).canonicalize().ok()
}
