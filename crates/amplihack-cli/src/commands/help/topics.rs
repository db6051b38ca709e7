//! The topics: each is a page of the documentation, or sections of one, so that there is one source.

/// A topic of `amplihack help`.
#[derive(Debug)]
pub(super) struct Topic {
    /// The word that asks for it.
    pub(super) name: &'static str,
    /// What it is about, in a line.
    pub(super) about: &'static str,
    pages: &'static [Part],
}

/// A page, or what of it belongs to a topic.
#[derive(Debug)]
struct Part {
    page: &'static str,
    /// Titles of sections; none is the whole page.
    sections: &'static [&'static str],
}

const fn whole(page: &'static str) -> Part {
    Part { page, sections: &[] }
}

const fn part(page: &'static str, sections: &'static [&'static str]) -> Part {
    Part { page, sections }
}

/// What stands before the first section, as if it were one.
const BEGINNING: &str = "";

const LAUNCHING: &str = include_str!("../../../../../docs/launching.md");
const POLICY: &str = include_str!("../../../../../docs/policy.md");

/// Every topic, as they are listed.
pub(super) const TOPICS: &[Topic] = &[
    Topic {
        name: "prompts",
        about: "where a prompt comes from and how it reaches the agent",
        pages: &[part(LAUNCHING, &["Where the prompt comes from", "How it travels"])],
    },
    Topic {
        name: "launching",
        about: "headless and interactive runs, signals, exit codes",
        pages: &[part(LAUNCHING, &[BEGINNING, "Headless or interactive", "Exit codes"])],
    },
    Topic {
        name: "permissions",
        about: "what an agent may do without asking",
        pages: &[part(LAUNCHING, &["Permissions"])],
    },
    Topic {
        name: "routing",
        about: "which agent is in charge, and how descendants know",
        pages: &[whole(include_str!("../../../../../docs/routing.md"))],
    },
    Topic {
        name: "policy",
        about: "what is judged, your own rules, modes",
        pages: &[part(POLICY, &[BEGINNING, "What is judged, and how", "Your own policy", "Modes"])],
    },
    Topic {
        name: "hooks",
        about: "how the policy gets between an agent and its tools",
        pages: &[part(LAUNCHING, &["The guard"]), whole(include_str!("../../../../../docs/installing.md"))],
    },
    Topic {
        name: "events",
        about: "runs as typed events, how they end, what is kept",
        pages: &[whole(include_str!("../../../../../docs/streaming.md"))],
    },
    Topic {
        name: "recipes",
        about: "running recipes and going on after a kill",
        pages: &[whole(include_str!("../../../../../docs/recipes/running.md"))],
    },
    Topic {
        name: "recipe-format",
        about: "what a recipe can say",
        pages: &[whole(include_str!("../../../../../docs/recipes/format.md"))],
    },
    Topic {
        name: "auto",
        about: "unattended runs: turns, checks, budgets, worktrees",
        pages: &[whole(include_str!("../../../../../docs/auto.md"))],
    },
    Topic {
        name: "remote",
        about: "sessions on other machines",
        pages: &[whole(include_str!("../../../../../docs/remote/sessions.md"))],
    },
    Topic {
        name: "export",
        about: "a run as a page, as Markdown, as traces",
        pages: &[whole(include_str!("../../../../../docs/exporting.md"))],
    },
    Topic {
        name: "files",
        about: "every file that amplihack reads or writes",
        pages: &[whole(include_str!("../../../../../docs/reference/files.md"))],
    },
    Topic {
        name: "configuration",
        about: "configuration files and keys",
        pages: &[whole(include_str!("../../../../../docs/reference/configuration.md"))],
    },
    Topic {
        name: "environment",
        about: "environment variables",
        pages: &[whole(include_str!("../../../../../docs/reference/environment.md"))],
    },
    Topic {
        name: "exit-codes",
        about: "exit codes",
        pages: &[whole(include_str!("../../../../../docs/reference/exit-codes.md"))],
    },
];

impl Topic {
    /// Its text, as Markdown.
    pub(super) fn text(&self) -> String {
        self.pages.iter().map(Part::text).collect::<Vec<_>>().join("\n")
    }
}

impl Part {
    fn text(&self) -> String {
        if self.sections.is_empty() {
            return self.page.to_owned();
        }
        let parts = self.sections.iter().filter_map(|title| section(self.page, title));
        parts.collect::<Vec<_>>().join("\n")
    }
}

/// A section of `page` with its title; with an empty title what stands before the first one.
fn section(page: &str, title: &str) -> Option<String> {
    let mut sections = page.split("\n## ");
    let beginning = sections.next()?;
    if title == BEGINNING {
        return Some(format!("{}\n", beginning.trim_end()));
    }
    let found = sections.find(|section| section.lines().next() == Some(title))?;
    Some(format!("## {}\n", found.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::{Part, TOPICS, section};

    #[test]
    fn every_section_that_a_topic_names_is_on_its_page() {
        for topic in TOPICS {
            for Part { page, sections } in topic.pages {
                for title in *sections {
                    assert!(section(page, title).is_some(), "{}: {title}", topic.name);
                }
            }
        }
    }
}
