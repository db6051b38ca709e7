//! Keeping a repository that nobody trusts from acting: held back where the agent can be told so, refused where it would act all the
//! same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_agent::command::{HeldRepository, own_trust};
use amplihack_agent::{
    AgentBinary, AgentCapability, GuardState, Installed, LineFinding, RunMode, own_directory,
};
use amplihack_config::env::Env;
use amplihack_hooks::acting::{held_by_settings, held_instructions, starts_repository_files};

use crate::error::LaunchError;
use crate::notice::LaunchNotice;
use crate::repository::{UntrustedRepository, directory_and_root, find_untrusted};

/// Treatment of a repository that nobody trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryTreatment {
    /// The launch keeps the agent from it.
    Held,
    /// The agent's user does not trust it either, so that the agent starts nothing of it.
    Distrusted,
    /// The user's own flag decides.
    ByFlag(&'static str),
    /// Nothing is in its way: the launch has no guard.
    Free,
}

/// The facts about a launch that decide it.
pub(crate) struct HoldRequest<'a> {
    pub(crate) installed: &'a Installed,
    pub(crate) mode: RunMode,
    pub(crate) env: &'a Env,
    pub(crate) cwd: &'a Path,
    /// The user's own arguments, and the finding about them.
    pub(crate) words: &'a [OsString],
    pub(crate) line: &'a LineFinding,
    /// True if the arguments only pass through.
    pub(crate) passes_through: bool,
    /// True if the launch has a guard, and if it brings its hooks itself.
    pub(crate) is_guarded: bool,
    pub(crate) brings_hooks: bool,
}

/// Decides what the launch does about repositories that nobody trusts: what the agent is kept from, and what a person is told.
///
/// # Errors
/// The agent would start something of one, and nothing keeps it from that.
pub(crate) fn hold_repository(
    asked: &HoldRequest<'_>,
) -> Result<(Option<HeldRepository>, Vec<LaunchNotice>), LaunchError> {
    // Arguments that pass through count unless it is known that they start no session.
    if asked.passes_through && asked.line.state == GuardState::NotNeeded {
        return Ok((None, Vec::new()));
    }
    let HoldRequest { installed, env, cwd, .. } = asked;
    let agent = installed.agent;
    let directories = working_directories(agent, cwd, asked.words);
    let all = untrusted_repositories(agent, env, &directories);
    let Some(first) = all.first() else { return Ok((None, Vec::new())) };
    let fate = match own_trust(agent, asked.words) {
        Some(flag) => RepositoryTreatment::ByFlag(flag),
        None if can_hold(asked) && !all.iter().any(has_unheld) => RepositoryTreatment::Held,
        None if !directories.iter().any(|directory| starts_repository_files(agent, env, directory)) => {
            RepositoryTreatment::Distrusted
        }
        None if asked.is_guarded && asked.line.state == GuardState::InForce => {
            let mut found = first.clone();
            if can_hold(asked) {
                found.files =
                    all.into_iter().flat_map(|found| found.files).filter(|file| file.is_unheld).collect();
            }
            return Err(LaunchError::UntrustedRepository { agent, found });
        }
        None => RepositoryTreatment::Free,
    };
    let held = (fate == RepositoryTreatment::Held).then(|| held_repository(agent, env, &directories));
    let told = all.into_iter().map(|found| LaunchNotice::UntrustedRepository { agent, found, fate });
    Ok((held, told.collect()))
}

/// Reports whether the agent can be told to start nothing of a repository. Some commands take no words in front of them.
fn can_hold(asked: &HoldRequest<'_>) -> bool {
    asked.installed.can(AgentCapability::HoldRepository, asked.mode).is_ok()
        && (!asked.passes_through || asked.line.carries)
        && (!held_by_settings(asked.installed.agent) || asked.is_guarded && asked.brings_hooks)
}

fn has_unheld(found: &UntrustedRepository) -> bool {
    found.files.iter().any(|file| file.is_unheld)
}

/// `directories`, the last of which the agent works in, and those above each up to the root of its repository.
fn held_repository(agent: AgentBinary, env: &Env, directories: &[PathBuf]) -> HeldRepository {
    let mut held = HeldRepository { directories: Vec::new(), instructions: None };
    for directory in directories {
        let (real, root) = directory_and_root(directory, env);
        let above = real.ancestors().take_while(|path| path.starts_with(&root)).map(Path::to_owned);
        for path in std::iter::once(directory.clone()).chain(above) {
            if !held.directories.contains(&path) {
                held.directories.push(path);
            }
        }
        held.instructions = held_instructions(agent, env, &root, &real);
    }
    held
}

/// Directories in which `agent` works: where it is started, and where its own flag among `words` leads it.
pub fn working_directories(agent: AgentBinary, cwd: &Path, words: &[OsString]) -> Vec<PathBuf> {
    let entered = own_directory(agent, words).map(|directory| cwd.join(directory));
    std::iter::once(cwd.to_owned()).chain(entered).collect()
}

/// Returns what nobody trusts in `directories`.
pub(crate) fn untrusted_repositories(
    agent: AgentBinary,
    env: &Env,
    directories: &[PathBuf],
) -> Vec<UntrustedRepository> {
    let mut all: Vec<UntrustedRepository> = Vec::new();
    for directory in directories {
        let Some(found) = find_untrusted(agent, env, directory) else { continue };
        match all.iter_mut().find(|other| other.root == found.root) {
            Some(other) => {
                other.files.extend(found.files);
                other.files.sort();
                other.files.dedup();
            }
            None => all.push(found),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;

    use amplihack_agent::session_finding;

    use super::*;

    struct Place {
        _dir: tempfile::TempDir,
        base: PathBuf,
        env: Env,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let base = dir.path().canonicalize().unwrap();
            let env = Env::empty()
                .with_variable("HOME", base.join("home"))
                .with_variable("GIT_CEILING_DIRECTORIES", std::env::temp_dir());
            let place = Self { _dir: dir, base, env };
            for (path, text) in files {
                place.put(path, text);
            }
            fs::create_dir_all(place.base.join("work/.git")).unwrap();
            place
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// What becomes of the repository when `agent` is started with `line`: its fate, `refused …`, or nothing.
        fn fate(&self, agent: AgentBinary, line: &[&str]) -> String {
            self.asked(agent, line, true).map_or_else(
                |error| format!("refused: {error}"),
                |(_, notices)| match &notices[..] {
                    [] => String::new(),
                    [LaunchNotice::UntrustedRepository { fate, .. }, ..] => format!("{fate:?}"),
                    other => panic!("{other:?}"),
                },
            )
        }

        fn asked(
            &self,
            agent: AgentBinary,
            line: &[&str],
            is_guarded: bool,
        ) -> Result<(Option<HeldRepository>, Vec<LaunchNotice>), LaunchError> {
            let words: Vec<OsString> = line.iter().map(Into::into).collect();
            hold_repository(&HoldRequest {
                installed: &Installed::from_agent(agent),
                mode: RunMode::Headless,
                env: &self.env,
                cwd: &self.base.join("work"),
                words: &words,
                line: &session_finding(agent, &words),
                passes_through: false,
                is_guarded,
                brings_hooks: is_guarded,
            })
        }
    }

    #[test]
    fn copilot_is_refused_where_it_would_start_what_nobody_looked_at() {
        let place = Place::new(&[("work/.github/hooks/h.json", "{}")]);
        assert_eq!(place.fate(AgentBinary::Copilot, &[]), "Distrusted");
        assert_eq!(place.fate(AgentBinary::Copilot, &["--trust-folder"]), "ByFlag(\"--trust-folder\")");
        for (file, key, folder) in [
            ("home/.copilot/config.json", "trustedFolders", "work"),
            ("home/.copilot/config.json", "trustedFolders", ""),
            ("home/.config/.copilot/config.json", "trusted_folders", "work"),
        ] {
            let folder = place.base.join(folder);
            place.put(file, &format!("// of Copilot\n{{\"{key}\": [5, {folder:?}]}}"));
            let refused = place.fate(AgentBinary::Copilot, &[]);
            assert!(refused.contains(".github/hooks/h.json (started by the agent)"), "{file}: {refused}");
            assert!(place.asked(AgentBinary::Copilot, &[], false).is_ok(), "the user wants no guard");
            fs::remove_file(place.base.join(file)).unwrap();
        }
        place.put("home/.copilot/config.json", "{\"trustedFolders\": [\"/elsewhere\"]}");
        assert_eq!(place.fate(AgentBinary::Copilot, &[]), "Distrusted");
        let by_variable =
            Place { env: place.env.clone().with_variable("COPILOT_ALLOW_ALL", "true"), ..place };
        assert!(by_variable.fate(AgentBinary::Copilot, &[]).starts_with("refused"));
        crate::repository::trust_repository(&by_variable.env, &by_variable.base.join("work")).unwrap();
        assert_eq!(by_variable.fate(AgentBinary::Copilot, &[]), "");
    }

    #[test]
    fn a_repository_that_the_agents_own_flag_leads_to_counts_too() {
        let place = Place::new(&[
            ("work/.evil/.git/config", ""),
            ("work/.evil/.github/hooks/h.json", "{}"),
            ("home/.copilot/config.json", "{\"trustedFolders\": [\"/\"]}"),
        ]);
        assert_eq!(place.fate(AgentBinary::Copilot, &["-p", "x"]), "");
        assert!(place.fate(AgentBinary::Copilot, &["-C", ".evil", "-p", "x"]).starts_with("refused"));
        let words = ["-C", ".evil", "-p", "x"].map(Into::into);
        for directory in working_directories(AgentBinary::Copilot, &place.base.join("work"), &words) {
            crate::repository::trust_repository(&place.env, &directory).unwrap();
        }
        assert_eq!(place.fate(AgentBinary::Copilot, &["-C", ".evil", "-p", "x"]), "");
    }

    #[test]
    fn gemini_is_held_by_the_settings_of_a_launch_and_refused_where_they_do_not_reach() {
        let place = Place::new(&[("work/.gemini/settings.json", "{\"mcpServers\": {}}")]);
        assert_eq!(place.fate(AgentBinary::Gemini, &[]), "Held");
        let (held, notices) = place.asked(AgentBinary::Gemini, &[], false).unwrap();
        assert!(held.is_none() && !notices.is_empty(), "without a guard nothing is brought");
        place.put("work/.gemini/commands/x.toml", "prompt = \"!{touch x}\"");
        let refused = place.fate(AgentBinary::Gemini, &[]);
        assert!(refused.contains("commands/x.toml") && !refused.contains("settings.json"), "{refused}");
    }

    #[test]
    fn codex_is_held_in_each_directory_and_gets_its_instructions() {
        let place =
            Place::new(&[("work/.codex/config.toml", "[mcp_servers.x]\n"), ("work/AGENTS.md", "be kind")]);
        assert_eq!(place.fate(AgentBinary::Codex, &["--trust"]), "ByFlag(\"--trust\")");
        assert_ne!(place.fate(AgentBinary::Codex, &["--", "--trust"]), "ByFlag(\"--trust\")", "a prompt");
        let (held, _) = place.asked(AgentBinary::Codex, &[], true).unwrap();
        let held = held.unwrap();
        assert_eq!(held.directories, [place.base.join("work")]);
        assert!(held.instructions.unwrap().contains("be kind"));
        let below = [place.base.join("work"), place.base.join("work/.codex")];
        let held = held_repository(AgentBinary::Codex, &place.env, &below);
        assert_eq!(held.directories, below);
        assert!(held.instructions.is_some());
    }
}
