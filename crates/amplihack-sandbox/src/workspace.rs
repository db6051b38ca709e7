//! The workspace: the work tree that may change, and what of it may not, since it is run or obeyed later, outside.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::repository::repository_root;
use amplihack_sys::confine::PathAccess;
use amplihack_sys::fs::{git_directories, normal_path, read_regular};

use crate::compile::{SandboxEntry, SandboxRule};
use crate::error::SandboxError;
use crate::protected::WatchedName;
use crate::system::is_shared;

/// Longest configuration of git that is read.
const MAX_CONFIG: u64 = 16 << 20;

/// Names in a work tree that are run or obeyed by whoever opens it next: by agents, editors, shells, hooks and CI.
const OBEYED: &[&str] = &[
    ".amplihack",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    ".codex",
    ".gemini/settings.json",
    ".gemini/extensions",
    ".gemini/.env",
    ".qwen",
    ".cursor",
    ".opencode",
    "opencode.json",
    ".zed",
    ".github/hooks",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".buildkite",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker",
    ".gitea",
    ".forgejo",
    ".github/actions",
    "Jenkinsfile",
    ".husky",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".mise.toml",
    ".exrc",
    ".vimrc",
    // With `objects` and `refs`, a repository of its own.
    "HEAD",
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
];

/// Names in a directory of git's that it runs or obeys, or that lead it elsewhere.
const GIT: &[&str] = &["hooks", "config", "info", "config.worktree", "commondir", "gitdir"];

/// Levels of submodules in submodules that are looked at.
const DEPTH: usize = 8;

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) entries: Vec<SandboxEntry>,
    /// Protected names: those that are not there so far are looked for at the end.
    pub(crate) watched: Vec<WatchedName>,
}

/// The workspace around `directory`: the work tree, or the directory itself outside of any.
pub(crate) fn find_workspace(directory: &Path, env: &Env) -> Result<Workspace, SandboxError> {
    let failed = |source| SandboxError::Directory { path: directory.to_owned(), source };
    let directory = directory.canonicalize().map_err(failed)?;
    let root = repository_root(&directory, env).and_then(|root| root.canonicalize().ok());
    let root = root.unwrap_or(directory);
    if is_shared(&root) {
        return Err(SandboxError::SharedDirectory { path: root });
    }
    let git = git_directories(&root);
    let home = env.home().and_then(|home| home.canonicalize().ok());
    if home.is_none() {
        return Err(SandboxError::NoHome);
    }
    let places = std::iter::once(&root).chain(git.as_ref().map(|git| &git.common));
    for place in places {
        if let Some(home) = home.as_ref().filter(|home| home.starts_with(place)) {
            return Err(SandboxError::WorkspaceHoldsHome { workspace: place.clone(), home: home.clone() });
        }
    }
    let mut workspace = Workspace { root: root.clone(), entries: Vec::new(), watched: Vec::new() };
    workspace.entries.push(SandboxEntry::new(root.clone(), PathAccess::Write, SandboxRule::Workspace));
    for name in OBEYED {
        workspace.protect(&root, Path::new(name));
    }
    let dot_git = root.join(".git");
    if !dot_git.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        // Absent, a file or a link: what it leads to would be git's directory.
        workspace.protect(&root, Path::new(".git"));
    }
    match git {
        Some(git) => workspace.protect_git(&git.common, &git.own),
        // Whatever it is, git's names in it stay as they are.
        None => workspace.protect_directory(&root, &dot_git),
    }
    if ["HEAD", "objects", "refs"].iter().all(|name| root.join(name).exists()) {
        // A repository without a work tree.
        workspace.protect_directory(&root, &root.clone());
    }
    Ok(workspace)
}

impl Workspace {
    /// Protects a repository's directory and that of this work tree, with those of submodules and other work trees.
    fn protect_git(&mut self, common: &Path, own: &Path) {
        let base = if common.starts_with(&self.root) {
            self.root.clone()
        } else {
            self.entries.push(SandboxEntry::new(common.to_owned(), PathAccess::Write, SandboxRule::Git));
            common.to_owned()
        };
        self.protect_directory(&base, common);
        if own != common {
            self.protect_directory(&base, own);
        }
        for directory in work_trees(common).into_iter().chain(submodules(&common.join("modules"), DEPTH)) {
            self.protect_directory(&base, &directory);
        }
    }

    /// Protects git's names in `directory`, which is below `base` or `base` itself.
    fn protect_directory(&mut self, base: &Path, directory: &Path) {
        let Ok(below) = directory.strip_prefix(base) else { return };
        for name in GIT {
            self.protect(base, &below.join(name));
        }
        let config = read_regular(&directory.join("config"), MAX_CONFIG).unwrap_or_default();
        let root = self.root.clone();
        for (from, path) in obeyed_paths(&String::from_utf8_lossy(&config)) {
            let from = if from == ConfigPath::OfWorkTree { root.as_path() } else { directory };
            // The way behind a link is not looked at: the link itself is watched.
            let whole = normal_path(&from.join(path));
            if let Ok(name) = whole.strip_prefix(&root) {
                self.protect(&root, name);
            }
        }
    }

    /// Protects what `name` is below `base`: it may not change, and nothing above it up to `base` may be moved away. Of a link that leads to
    /// somewhere below `base`, what it leads to is protected as well.
    fn protect(&mut self, base: &Path, name: &Path) {
        self.watched.push(WatchedName::look(base, name));
        let path = base.join(name);
        let Some(real) = path.canonicalize().ok().filter(|real| real.starts_with(base)) else { return };
        for above in real.ancestors().skip(1).take_while(|above| *above != base) {
            self.add(SandboxEntry::new(above.to_owned(), PathAccess::Write, SandboxRule::Workspace));
        }
        if real != base {
            self.add(SandboxEntry::new(real, PathAccess::Read, SandboxRule::Protected));
        }
    }

    fn add(&mut self, entry: SandboxEntry) {
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }
}

/// Directory from which a path in git's configuration counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigPath {
    OfWorkTree,
    OfConfig,
}

/// Paths that git's configuration has it run or obey: hooks elsewhere, and more configuration.
fn obeyed_paths(config: &str) -> Vec<(ConfigPath, PathBuf)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in config.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_lowercase();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = PathBuf::from(value.trim().trim_matches('"'));
        match key.trim().to_lowercase().as_str() {
            "hookspath" => found.push((ConfigPath::OfWorkTree, value)),
            "path" if section.starts_with("include") => found.push((ConfigPath::OfConfig, value)),
            _ => {}
        }
    }
    found
}

/// Directories that git keeps for additional work trees.
fn work_trees(common: &Path) -> Vec<PathBuf> {
    directories_in(&common.join("worktrees"))
}

/// Directories that git keeps for submodules, those of their own submodules included. A submodule's name may have slashes.
fn submodules(modules: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories_in(modules) {
        let is_git = directory.join("HEAD").symlink_metadata().is_ok();
        if let Some(left) = depth.checked_sub(1) {
            let inside = if is_git { directory.join("modules") } else { directory.clone() };
            found.extend(submodules(&inside, left));
        }
        if is_git {
            found.push(directory);
        }
    }
    found
}

fn directories_in(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    // Links are not followed: they lead out of git's own.
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
