//! The repository that holds a directory, with git's ceilings from the environment.

use std::path::{Path, PathBuf};

use amplihack_sys::fs::{CEILING_VAR, find_project_root, find_repository_root};

use crate::env::Env;

/// The root of the work tree that holds `directory`, as git finds it with `env`. See [`find_repository_root`].
pub fn repository_root(directory: &Path, env: &Env) -> Option<PathBuf> {
    find_repository_root(directory, env.get(CEILING_VAR))
}

/// The root of what an agent may take for the project that holds `directory`. See [`find_project_root`].
pub fn project_root(directory: &Path, env: &Env) -> Option<PathBuf> {
    find_project_root(directory, env.get(CEILING_VAR))
}
