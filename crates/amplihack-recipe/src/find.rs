//! The search for recipes and agents' definitions: directories in order, names that cannot lead out of them.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::repository::repository_root;
use amplihack_sys::fs::{read_limited, read_regular};

use crate::bundled;
use crate::diagnostic::RecipeDiagnostic;
use crate::document;
use crate::model::Recipe;

/// The directories that recipes and agents are looked for in. Relative ones are below the run's working directory.
#[derive(Debug, Clone)]
pub struct RecipeDiscovery {
    /// Named on the command line.
    explicit: Vec<PathBuf>,
    working_dir: PathBuf,
    /// Root of the repository around the working directory, without links in its path.
    repository: Option<PathBuf>,
    defaults: Vec<PathBuf>,
    agents: Vec<PathBuf>,
}

/// A name that leads nowhere, and where it was looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotFound {
    /// The kind of thing that was searched for: `recipe`, `sub-recipe`, `agent`.
    pub what: &'static str,
    /// The name that was searched for.
    pub name: String,
    /// The reason that the name cannot be one, if that is so.
    pub reason: Option<String>,
    /// Every directory, in order.
    pub searched: Vec<PathBuf>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} '{}' not found", self.what, self.name)?;
        if let Some(reason) = &self.reason {
            return write!(out, ": {reason}");
        }
        if self.searched.is_empty() {
            return Ok(());
        }
        write!(out, "; searched, in this order:")?;
        for dir in &self.searched {
            let missing = if dir.is_dir() { "" } else { " (does not exist)" };
            write!(out, "\n  - {}{missing}", dir.display())?;
        }
        Ok(())
    }
}

/// An agent's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The file.
    pub path: PathBuf,
    /// All of its text: the system prompt.
    pub text: String,
}

/// A recipe in a list.
#[derive(Debug)]
pub struct ListedRecipe {
    /// The name that runs it: the file's, without its ending.
    pub name: String,
    /// The file, or the place of a bundled recipe.
    pub path: PathBuf,
    /// The recipe in the file, or the reason that it cannot be read.
    pub recipe: Result<Recipe, String>,
}

impl ListedRecipe {
    /// Reports whether the recipe came with the program.
    pub fn is_bundled(&self) -> bool {
        bundled::bundled_text(&self.path).is_some()
    }
}

/// Directories above the working directory in which a sub-recipe is looked for.
const ANCESTORS: usize = 10;

/// Bytes of the largest definition of an agent.
const LARGEST_AGENT: u64 = 1 << 20;

const BUNDLE: &str = "amplifier-bundle/recipes";

impl RecipeDiscovery {
    /// The directories for a run in `working_dir`; `explicit` ones (`-R`) come first, and alone for the name on the command line.
    pub fn new(env: &Env, working_dir: &Path, explicit: &[PathBuf]) -> Self {
        let below = |dir: &str| working_dir.join(dir);
        let mut defaults: Vec<PathBuf> = env.path("AMPLIHACK_PACKAGE_RECIPE_DIR").into_iter().collect();
        if let Some(dirs) = env.get("RECIPE_RUNNER_RECIPE_DIRS") {
            defaults.extend(std::env::split_paths(dirs).filter(|dir| !dir.as_os_str().is_empty()));
        }
        defaults.extend(env.path("AMPLIHACK_HOME").map(|home| home.join(BUNDLE)));
        let home = env.home().map(|home| home.join(".amplihack"));
        defaults.extend(home.iter().flat_map(|home| [home.join(BUNDLE), home.join(".claude/recipes")]));
        defaults.extend([BUNDLE, "src/amplihack/amplifier-bundle/recipes", ".claude/recipes"].map(below));
        let mut agents: Vec<PathBuf> = home.iter().map(|home| home.join(".claude/agents")).collect();
        agents.extend(
            [
                ".claude/agents",
                "amplifier-bundle/agents",
                "src/amplihack/amplifier-bundle/agents",
                "src/amplihack/.claude/agents",
            ]
            .map(below),
        );
        Self {
            explicit: absolute_dirs(explicit, working_dir),
            working_dir: working_dir.to_owned(),
            repository: repository_root(working_dir, env),
            defaults: absolute_dirs(&defaults, working_dir),
            agents,
        }
    }

    /// The file that is meant on the command line: a file's path, seen from `cwd`, else a recipe's name.
    pub fn find_entry(&self, argument: &str, cwd: &Path) -> Result<PathBuf, NotFound> {
        let path = cwd.join(argument);
        if path.is_file() {
            return Ok(path);
        }
        let names_file =
            Path::new(argument).extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        if names_file && !path.exists() {
            let reason = Some(format!("there is no file {}", path.display()));
            return Err(NotFound { what: "recipe", name: argument.to_owned(), reason, searched: Vec::new() });
        }
        // A recipe is read again when its run goes on.
        let something_else = "it is not a regular file, and a recipe's name cannot contain `/`, `\\` or `..`";
        self.find_recipe(argument).map_err(|error| match &error.reason {
            Some(_) if path.exists() => NotFound { reason: Some(something_else.to_owned()), ..error },
            _ => error,
        })
    }

    /// The recipe that `name` means on the command line. A bundled one is last; `bundled:NAME` means no other.
    pub fn find_recipe(&self, name: &str) -> Result<PathBuf, NotFound> {
        let dirs = if self.explicit.is_empty() { &self.defaults } else { &self.explicit };
        let not_found = |reason: Option<&str>, searched| NotFound {
            what: "recipe",
            name: name.to_owned(),
            reason: reason.map(str::to_owned),
            searched,
        };
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) || name.contains("..")
        {
            return Err(not_found(
                Some("there is no such file, and a recipe's name cannot contain `/`, `\\` or `..`"),
                Vec::new(),
            ));
        }
        dirs.iter()
            .find_map(|dir| in_dir(dir, name))
            .or_else(|| bundled::bundled_path(name))
            .ok_or_else(|| not_found(None, unique_dirs(dirs.iter().cloned())))
    }

    /// The recipe that `name` means in a recipe: `top` is the file of the run's first one, `beside` the file that names it.
    pub(crate) fn find_sub_recipe(&self, name: &str, top: &Path, beside: &Path) -> Result<PathBuf, NotFound> {
        let segment = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let mut anchored = self.explicit.clone();
        let files = [top, beside].into_iter().filter(|file| bundled::bundled_text(file).is_none());
        anchored.extend(files.filter_map(Path::parent).map(Path::to_owned));
        // Above a repository, or without one, anybody may have put files.
        let above = self.working_dir.ancestors().take(ANCESTORS);
        let is_root = |dir: &Path| dir.canonicalize().ok() == self.repository;
        let repository = above.clone().position(is_root).unwrap_or(0);
        for dir in above.take(repository + 1) {
            anchored.extend([dir.to_owned(), dir.join(BUNDLE)]);
        }
        let searched = unique_dirs(anchored.iter().chain(&self.defaults).cloned());
        let not_found = |reason: Option<&str>, searched| NotFound {
            what: "sub-recipe",
            name: name.to_owned(),
            reason: reason.map(str::to_owned),
            searched,
        };
        if !name.split('/').all(segment) {
            let reason = "a name consists of letters, digits, `_` and `-`, with `/` between directories";
            return Err(not_found(Some(reason), Vec::new()));
        }
        let inside = |dir: &Path| {
            let found = in_dir(dir, name)?;
            let (real, root) = (found.canonicalize().ok()?, dir.canonicalize().ok()?);
            real.starts_with(root).then_some(found)
        };
        let anchored = anchored.iter().find_map(|dir| inside(dir));
        anchored
            .or_else(|| self.defaults.iter().find_map(|dir| in_dir(dir, name)))
            .or_else(|| bundled::bundled_path(name))
            .ok_or_else(|| not_found(None, searched))
    }

    /// The definition that an agent step refers to: `namespace:name`, `namespace:category:name`.
    pub fn find_agent(&self, reference: &str) -> Result<AgentDefinition, NotFound> {
        let parts: Vec<&str> = reference.split(':').collect();
        let segment = |part: &&str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let fail = |reason: Option<String>, searched| {
            Err(NotFound { what: "agent", name: reference.to_owned(), reason, searched })
        };
        let files = match parts.as_slice() {
            parts if !parts.iter().all(segment) => None,
            [space, name] => Some(plain_files(space, name)),
            // `a:a:core:x`: the first word is said twice.
            [space, category, name] | [_, space, category, name] => {
                let mut files =
                    vec![format!("{space}/{category}/{name}.md"), format!("{category}/{name}.md")];
                files.extend(plain_files(space, name));
                Some(files)
            }
            _ => None,
        };
        let Some(files) = files else {
            return fail(
                Some("a reference is `namespace:name` or `namespace:category:name`".to_owned()),
                Vec::new(),
            );
        };
        for dir in &self.agents {
            for path in files.iter().map(|file| dir.join(file)) {
                match read_regular(&path, LARGEST_AGENT) {
                    Ok(bytes) => {
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        return Ok(AgentDefinition { path, text });
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return fail(Some(format!("{}: {error}", path.display())), Vec::new()),
                }
            }
        }
        fail(None, self.agents.clone())
    }

    /// Every recipe that a name runs, in the order of names. Of files with one name the first directory's is listed, as it is run;
    /// a bundled recipe is, unless a file has its name.
    pub fn list_recipes(&self) -> Vec<ListedRecipe> {
        let dirs = if self.explicit.is_empty() { &self.defaults } else { &self.explicit };
        let mut names = HashSet::new();
        let mut listed = Vec::new();
        for dir in dirs {
            let Ok(entries) = std::fs::read_dir(dir) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let ending = path.extension().and_then(|ending| ending.to_str());
                let (Some("yaml" | "yml"), Some(stem)) =
                    (ending, path.file_stem().and_then(|stem| stem.to_str()))
                else {
                    continue;
                };
                let name = stem.to_owned();
                if names.contains(&name) {
                    continue;
                }
                if let Ok(path) = self.find_recipe(&name) {
                    names.insert(name.clone());
                    let recipe = read_recipe(&path).map_err(|error| error.to_string());
                    listed.push(ListedRecipe { name, path, recipe });
                }
            }
        }
        for name in bundled::bundled_names().filter(|name| !names.contains(*name)) {
            let Some(path) = bundled::bundled_path(name) else { continue };
            let recipe = read_recipe(&path).map_err(|error| error.to_string());
            listed.push(ListedRecipe { name: name.to_owned(), path, recipe });
        }
        listed.sort_by(|left, right| left.name.cmp(&right.name));
        listed
    }
}

/// The reason that a file is no readable recipe.
#[derive(Debug, thiserror::Error)]
pub enum RecipeReadError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The contents are no recipe: every mistake.
    #[error("{}", .0.iter().map(RecipeDiagnostic::to_line).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<RecipeDiagnostic>),
}

/// Reads the recipe in a file, or a bundled one.
pub fn read_recipe(path: &Path) -> Result<Recipe, RecipeReadError> {
    match read_partly(path)? {
        (Some(recipe), errors) if errors.is_empty() => Ok(recipe),
        (_, errors) => Err(RecipeReadError::Invalid(errors)),
    }
}

/// Reads what can be read of a recipe, and gives the errors beside it.
pub(crate) fn read_partly(path: &Path) -> Result<(Option<Recipe>, Vec<RecipeDiagnostic>), RecipeReadError> {
    if let Some(text) = bundled::bundled_text(path) {
        return Ok(document::parse_partly(path, text.as_bytes()));
    }
    let bytes = match read_limited(path, document::LARGEST as u64) {
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => vec![b' '; document::LARGEST + 1],
        Err(error) => return Err(RecipeReadError::File { path: path.to_owned(), error }),
        Ok(bytes) => bytes,
    };
    Ok(document::parse_partly(path, &bytes))
}

/// By what a recipe is told from others: its file's real path. A bundled one has no file.
pub(crate) fn recipe_identity(path: &Path) -> PathBuf {
    let real = if bundled::bundled_text(path).is_some() { None } else { path.canonicalize().ok() };
    real.unwrap_or_else(|| path.to_owned())
}

/// The file of recipe `name` in `dir`.
fn in_dir(dir: &Path, name: &str) -> Option<PathBuf> {
    ["yaml", "yml"].iter().map(|ending| dir.join(format!("{name}.{ending}"))).find(|path| path.is_file())
}

fn plain_files(space: &str, name: &str) -> Vec<String> {
    vec![
        format!("{space}/core/{name}.md"),
        format!("{space}/specialized/{name}.md"),
        format!("core/{name}.md"),
        format!("specialized/{name}.md"),
        format!("{name}.md"),
    ]
}

fn absolute_dirs(dirs: &[PathBuf], base: &Path) -> Vec<PathBuf> {
    dirs.iter().map(|dir| base.join(dir)).collect()
}

fn unique_dirs(dirs: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    dirs.filter(|dir| seen.insert(dir.clone())).collect()
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
