//! The workspace: the work tree that may change, and what of it may not, since it is run or obeyed later, outside.

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::repository::repository_root;
use amplihack_sys::confine::PathAccess;
use amplihack_sys::fs::git_directories;

use crate::compile::{SandboxEntry, SandboxRule};
use crate::error::SandboxError;
use crate::protected::WatchedName;

/// Names in a work tree that are run or obeyed by whoever opens it next: by agents, editors, shells, hooks and CI.
const OBEYED: &[&str] = &[
    ".amplihack",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".codex",
    ".gemini/settings.json",
    ".github/hooks",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".husky",
    ".pre-commit-config.yaml",
    ".envrc",
    ".vscode",
    ".idea",
    ".devcontainer",
];

/// Names in git's common directory that git runs or obeys.
const GIT_COMMON: &[&str] = &["hooks", "config", "info", "config.worktree"];

/// Names in a work tree's own git directory that lead git elsewhere.
const GIT_OWN: &[&str] = &["commondir", "gitdir", "config.worktree"];

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
    if let Some(home) = env.home().and_then(|home| home.canonicalize().ok())
        && home.starts_with(&root)
    {
        return Err(SandboxError::WorkspaceHoldsHome { workspace: root, home });
    }
    let mut entries = vec![SandboxEntry::new(root.clone(), PathAccess::Write, SandboxRule::Workspace)];
    let mut watched = Vec::new();
    let mut protection = Protection { entries: &mut entries, watched: &mut watched };
    protection.protect(&root, OBEYED);
    if let Some(git) = git_directories(&root) {
        if git.common.starts_with(&root) {
            protection.protect(&root.join(".git"), GIT_COMMON);
            protection.hold(&root.join(".git"));
        } else {
            // A file that leads to the repository's own directory.
            protection.protect(&root, &[".git"]);
            let common = git.common.clone();
            protection.entries.push(SandboxEntry::new(common, PathAccess::Write, SandboxRule::Git));
            protection.protect(&git.common, GIT_COMMON);
            let own = git.own.strip_prefix(&git.common).unwrap_or(&git.own);
            let names: Vec<String> =
                GIT_OWN.iter().map(|name| own.join(name).display().to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            protection.protect(&git.common, &names);
        }
    }
    Ok(Workspace { root, entries, watched })
}

/// Collects what may not change.
struct Protection<'a> {
    entries: &'a mut Vec<SandboxEntry>,
    watched: &'a mut Vec<WatchedName>,
}

impl Protection<'_> {
    /// Protects what `names` are below `base`: it may not change, and nothing above it up to `base` may be moved away.
    fn protect(&mut self, base: &Path, names: &[&str]) {
        for name in names {
            let path = base.join(name);
            self.watched.push(WatchedName::look(path.clone()));
            // A link is watched: what it leads to is protected, or out of reach.
            if path.canonicalize().is_ok_and(|real| real == path) {
                for above in path.ancestors().skip(1).take_while(|above| *above != base) {
                    self.hold(above);
                }
                self.entries.push(SandboxEntry::new(path, PathAccess::Read, SandboxRule::Protected));
            }
        }
    }

    /// Has `path` stay where it is, with what changes below it.
    fn hold(&mut self, path: &Path) {
        let entry = SandboxEntry::new(path.to_owned(), PathAccess::Write, SandboxRule::Workspace);
        if !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }
}
