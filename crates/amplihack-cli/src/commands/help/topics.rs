//! The topics: each is a page of the documentation, or sections of one, so that there is one source.

/// A topic of `amplihack help`.
#[derive(Debug)]
pub(super) struct HelpTopic {
    /// The word that asks for it.
    pub(super) name: &'static str,
    /// Summary of the topic, in a line.
    pub(super) about: &'static str,
    pages: &'static [TopicPart],
}

/// A page, or what of it belongs to a topic.
#[derive(Debug)]
struct TopicPart {
    page: &'static str,
    /// Titles of sections; none is the whole page.
    sections: &'static [&'static str],
}

const fn whole_page(page: &'static str) -> TopicPart {
    TopicPart { page, sections: &[] }
}

const fn page_sections(page: &'static str, sections: &'static [&'static str]) -> TopicPart {
    TopicPart { page, sections }
}

/// Title that stands for the text before the first section.
const BEGINNING: &str = "";

const LAUNCHING: &str = include_str!("../../../pages/launching.md");
const POLICY: &str = include_str!("../../../pages/policy.md");

/// Every topic, as they are listed.
pub(super) const TOPICS: &[HelpTopic] = &[
    HelpTopic {
        name: "prompts",
        about: "where a prompt comes from and how it reaches the agent",
        pages: &[page_sections(LAUNCHING, &["Where the prompt comes from", "How it travels"])],
    },
    HelpTopic {
        name: "launching",
        about: "headless and interactive runs, signals, exit codes",
        pages: &[page_sections(LAUNCHING, &[BEGINNING, "Headless or interactive", "Exit codes"])],
    },
    HelpTopic {
        name: "permissions",
        about: "what an agent may do without asking",
        pages: &[page_sections(LAUNCHING, &["Permissions"])],
    },
    HelpTopic {
        name: "routing",
        about: "which agent is in charge, and how descendants know",
        pages: &[whole_page(include_str!("../../../pages/routing.md"))],
    },
    HelpTopic {
        name: "policy",
        about: "what is judged, your own rules, modes",
        pages: &[page_sections(POLICY, &[BEGINNING, "What is judged, and how", "Your own policy", "Modes"])],
    },
    HelpTopic {
        name: "hooks",
        about: "how the policy gets between an agent and its tools",
        pages: &[
            page_sections(LAUNCHING, &["The guard"]),
            whole_page(include_str!("../../../pages/installing.md")),
        ],
    },
    HelpTopic {
        name: "events",
        about: "runs as typed events, how they end, what is kept",
        pages: &[whole_page(include_str!("../../../pages/streaming.md"))],
    },
    HelpTopic {
        name: "recipes",
        about: "running recipes and going on after a kill",
        pages: &[whole_page(include_str!("../../../pages/recipes/running.md"))],
    },
    HelpTopic {
        name: "recipe-format",
        about: "what a recipe can say",
        pages: &[whole_page(include_str!("../../../pages/recipes/format.md"))],
    },
    HelpTopic {
        name: "auto",
        about: "unattended runs: turns, checks, budgets, worktrees",
        pages: &[whole_page(include_str!("../../../pages/auto.md"))],
    },
    HelpTopic {
        name: "remote",
        about: "sessions on other machines",
        pages: &[whole_page(include_str!("../../../pages/remote/sessions.md"))],
    },
    HelpTopic {
        name: "export",
        about: "a run as a page, as Markdown, as traces",
        pages: &[whole_page(include_str!("../../../pages/exporting.md"))],
    },
    HelpTopic {
        name: "files",
        about: "every file that amplihack reads or writes",
        pages: &[whole_page(include_str!("../../../pages/reference/files.md"))],
    },
    HelpTopic {
        name: "configuration",
        about: "configuration files and keys",
        pages: &[whole_page(include_str!("../../../pages/reference/configuration.md"))],
    },
    HelpTopic {
        name: "environment",
        about: "environment variables",
        pages: &[whole_page(include_str!("../../../pages/reference/environment.md"))],
    },
    HelpTopic {
        name: "exit-codes",
        about: "exit codes",
        pages: &[whole_page(include_str!("../../../pages/reference/exit-codes.md"))],
    },
];

impl HelpTopic {
    /// Returns the text of the topic, as Markdown.
    pub(super) fn text(&self) -> String {
        self.pages.iter().map(TopicPart::text).collect::<Vec<_>>().join("\n")
    }
}

impl TopicPart {
    fn text(&self) -> String {
        if self.sections.is_empty() {
            return self.page.to_owned();
        }
        let parts = self.sections.iter().filter_map(|title| find_section(self.page, title));
        parts.collect::<Vec<_>>().join("\n")
    }
}

/// A section of `page` with its title; with an empty title what stands before the first one.
fn find_section(page: &str, title: &str) -> Option<String> {
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
    use super::{TOPICS, TopicPart, find_section};

    #[test]
    fn every_section_that_a_topic_names_is_on_its_page() {
        for topic in TOPICS {
            for TopicPart { page, sections } in topic.pages {
                for title in *sections {
                    assert!(find_section(page, title).is_some(), "{}: {title}", topic.name);
                }
            }
        }
    }
}
