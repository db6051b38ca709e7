//! Files that hold commands, recognized by their names and places.

use std::path::{Component, Path};

use super::{EmbeddedCommand, data, ini, just, make, markdown, workflow};

/// A format of a file that holds commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandFileKind {
    /// A skill, a slash command or an agent in Markdown: commands between backticks behind a `!`, hooks and servers in its head.
    Markdown,
    /// A slash command of Gemini: commands in `!{…}`.
    GeminiCommand,
    /// Settings of a host, an extension or an editor in JSON: hooks, servers, tasks, environment.
    HostSettings,
    /// A `package.json`: its scripts.
    Manifest,
    /// A makefile: its recipes.
    Makefile,
    /// A justfile: its recipes.
    Justfile,
    /// A pipeline of a CI service.
    Workflow,
    /// A shell script that starts by itself: of every new shell, of git, of a directory.
    StartedScript,
    /// A unit of systemd or a desktop entry.
    Unit,
}

impl CommandFileKind {
    /// Every command that a file of this kind holds.
    pub fn extract_commands(self, text: &str) -> Vec<EmbeddedCommand> {
        match self {
            Self::Markdown => markdown::markdown_commands(text),
            Self::GeminiCommand => markdown::braced_commands(text),
            Self::HostSettings => data::settings_commands(text),
            Self::Manifest => data::package_scripts(text),
            Self::Makefile => make::makefile_commands(text),
            Self::Justfile => just::justfile_commands(text),
            Self::Workflow => workflow::workflow_commands(text),
            Self::StartedScript if is_foreign(text) => Vec::new(),
            Self::StartedScript => vec![EmbeddedCommand::new("", text)],
            Self::Unit => ini::exec_commands(text),
        }
    }

    /// Reports whether the file's commands run without a tool call that names them: the guard does not see them again.
    pub fn runs_by_itself(self) -> bool {
        !matches!(self, Self::Manifest | Self::Makefile | Self::Justfile | Self::Workflow)
    }

    /// Reports whether the file's commands run on another machine, which is set up for them and thrown away.
    pub fn runs_elsewhere(self) -> bool {
        self == Self::Workflow
    }
}

/// Reports whether a script is one of another language than the shell's.
fn is_foreign(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && !first.split(['/', ' ']).any(|word| amplihack_shell::is_shell(word.trim()))
}

/// Directories in which a host looks for Markdown that it runs commands of.
const MARKDOWN_PLACES: [&str; 5] = ["skills", "commands", "agents", "prompts", "plugins"];
/// Directories of hosts.
const HOSTS: [&str; 7] = [".claude", ".codex", ".copilot", ".gemini", ".github", ".agents", ".amp"];

const SETTINGS: [&str; 13] = [
    ".mcp.json",
    "mcp.json",
    ".claude.json",
    "settings.json",
    "settings.local.json",
    "hooks.json",
    "plugin.json",
    "gemini-extension.json",
    "mcp-config.json",
    "tasks.json",
    "launch.json",
    "devcontainer.json",
    ".devcontainer.json",
];

/// Files in a home that every new shell or every login runs. The only list of them: writing one asks, and what it holds is judged.
pub(crate) const STARTUP: [&str; 22] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    "config.fish",
];

const PIPELINES: [&str; 9] = [
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    "appveyor.yml",
    "cloudbuild.yaml",
];

pub(super) fn classify_path(path: &Path) -> Option<CommandFileKind> {
    use CommandFileKind as Kind;
    let name = path.file_name()?.to_str()?.to_lowercase();
    let directories = || {
        path.parent().into_iter().flat_map(Path::components).filter_map(|part| match part {
            Component::Normal(name) => name.to_str().map(str::to_lowercase),
            _ => None,
        })
    };
    let below = |names: &[&str]| directories().any(|directory| names.contains(&directory.as_str()));
    let parent = |name: &str| directories().next_back().is_some_and(|last| last == name);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "md" if name == "skill.md" || below(&HOSTS) && below(&MARKDOWN_PLACES) => {
            return Some(Kind::Markdown);
        }
        "toml" if below(&[".gemini"]) && below(&["commands"]) => return Some(Kind::GeminiCommand),
        "json" if name == "package.json" => return Some(Kind::Manifest),
        "json" if SETTINGS.contains(&name.as_str()) && is_read_by_hosts(&name, below) => {
            return Some(Kind::HostSettings);
        }
        "json" if parent("hooks") && below(&HOSTS) => return Some(Kind::HostSettings),
        "yml" | "yaml"
            if PIPELINES.contains(&name.as_str())
                || below(&[".github"]) && below(&["workflows", "actions"])
                || below(&[".circleci", ".gitea", ".forgejo", ".buildkite"]) =>
        {
            return Some(Kind::Workflow);
        }
        "mk" => return Some(Kind::Makefile),
        "service" | "timer" | "path" | "socket" if below(&["systemd"]) => return Some(Kind::Unit),
        "desktop" => return Some(Kind::Unit),
        _ => {}
    }
    match name.as_str() {
        "makefile" | "gnumakefile" => Some(Kind::Makefile),
        "justfile" | ".justfile" => Some(Kind::Justfile),
        // A directory's own, once its user allows it.
        ".envrc" => Some(Kind::StartedScript),
        name if STARTUP.contains(&name) => Some(Kind::StartedScript),
        _ if parent(".husky") || parent("hooks") && below(&[".git"]) || parent(".githooks") => {
            (extension != "sample").then_some(Kind::StartedScript)
        }
        _ => None,
    }
}

/// Reports whether a file of settings stands in a place from which a host, an editor or an extension reads it.
fn is_read_by_hosts(name: &str, below: impl Fn(&[&str]) -> bool) -> bool {
    const ANYWHERE: [&str; 5] =
        [".mcp.json", ".claude.json", "gemini-extension.json", "devcontainer.json", ".devcontainer.json"];
    ANYWHERE.contains(&name)
        || below(&HOSTS)
        || below(&[".vscode", ".cursor", ".windsurf", ".claude-plugin", "plugins", "extensions"])
        || name == "hooks.json" && below(&["hooks"])
}

#[cfg(test)]
mod tests {
    use super::{CommandFileKind as Kind, classify_path};
    use std::path::Path;

    #[test]
    fn files_are_told_by_their_names_and_places() {
        for (path, expected) in [
            ("/r/.claude/skills/fmt/SKILL.md", Some(Kind::Markdown)),
            ("/r/skills/fmt/SKILL.md", Some(Kind::Markdown)),
            ("/h/.claude/commands/a/b.md", Some(Kind::Markdown)),
            ("/h/.claude/agents/x.md", Some(Kind::Markdown)),
            ("/r/.github/prompts/x.prompt.md", Some(Kind::Markdown)),
            ("/r/.gemini/commands/x.toml", Some(Kind::GeminiCommand)),
            ("/r/.mcp.json", Some(Kind::HostSettings)),
            ("/h/.claude.json", Some(Kind::HostSettings)),
            ("/r/plugin/hooks/hooks.json", Some(Kind::HostSettings)),
            ("/r/.vscode/tasks.json", Some(Kind::HostSettings)),
            ("/r/web/package.json", Some(Kind::Manifest)),
            ("/r/Makefile", Some(Kind::Makefile)),
            ("/r/build/rules.mk", Some(Kind::Makefile)),
            ("/r/justfile", Some(Kind::Justfile)),
            ("/r/.github/workflows/ci.yml", Some(Kind::Workflow)),
            ("/r/.gitlab-ci.yml", Some(Kind::Workflow)),
            ("/h/.bashrc", Some(Kind::StartedScript)),
            ("/h/.cshrc", Some(Kind::StartedScript)),
            ("/h/.xsessionrc", Some(Kind::StartedScript)),
            ("/h/.config/fish/config.fish", Some(Kind::StartedScript)),
            ("/r/.envrc", Some(Kind::StartedScript)),
            ("/r/.git/hooks/pre-commit", Some(Kind::StartedScript)),
            ("/r/.husky/pre-push", Some(Kind::StartedScript)),
            ("/h/.config/systemd/user/x.service", Some(Kind::Unit)),
            ("/h/.config/autostart/x.desktop", Some(Kind::Unit)),
            ("/r/.git/hooks/pre-commit.sample", None),
            ("/r/README.md", None),
            ("/r/docs/skills/x.md", None),
            ("/r/src/settings.json", None),
            ("/r/config.toml", None),
            ("/r/x.yml", None),
            ("/r/build.sh", None),
        ] {
            assert_eq!(classify_path(Path::new(path)), expected, "{path}");
        }
    }
}
