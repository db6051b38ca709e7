//! An agent's own commands and flags, and what of a launch's guard holds with each.

/// State of a launch's guard in what a command or a flag of an agent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardState {
    /// The launch brings its guard, and the guard holds.
    InForce,
    /// No tool call of a model is run, so there is nothing to hold.
    NotNeeded,
    /// No guard of the launch reaches what is started, for this reason. The launch says so, and refuses where proof is required.
    Absent(&'static str),
    /// The guard would be left out, for this reason. A launch with a guard is refused.
    SwitchedOff(&'static str),
}

/// A command of an agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentSubcommand {
    /// Name of the command, and others for it.
    pub names: &'static [&'static str],
    /// The state of the guard.
    pub state: GuardState,
    /// Set if the command takes a prompt and runs headless; the builder writes it again.
    pub takes_prompt: bool,
    /// The guard's words may stand in front of it though the guard is not in force there.
    pub carries: bool,
    /// Flags that it takes besides those of the agent.
    pub flags: &'static [&'static str],
    /// Commands below it.
    pub commands: &'static [AgentSubcommand],
}

impl AgentSubcommand {
    const fn new(names: &'static [&'static str], state: GuardState) -> Self {
        Self { names, state, takes_prompt: false, carries: false, flags: &[], commands: &[] }
    }

    /// A command that runs no tool call of a model.
    pub(crate) const fn new_quiet(names: &'static [&'static str]) -> Self {
        Self::new(names, GuardState::NotNeeded)
    }

    /// A command in which the guard of the launch holds.
    pub(crate) const fn new_guarded(names: &'static [&'static str]) -> Self {
        Self { carries: true, ..Self::new(names, GuardState::InForce) }
    }

    /// A command that no guard of the launch reaches.
    pub(crate) const fn new_unguarded(names: &'static [&'static str], why: &'static str) -> Self {
        Self::new(names, GuardState::Absent(why))
    }

    /// The command, taking the guard's words in front of it all the same.
    pub(crate) const fn with_guard_words(mut self) -> Self {
        self.carries = true;
        self
    }

    /// The command, taking a prompt and running headless.
    pub(crate) const fn with_prompt(mut self) -> Self {
        self.takes_prompt = true;
        self
    }

    /// The command with its own flags.
    pub(crate) const fn with_flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    /// The command with others below it.
    pub(crate) const fn with_commands(mut self, commands: &'static [AgentSubcommand]) -> Self {
        self.commands = commands;
        self
    }

    /// The name that its help gives it.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// A flag by which the guard is not in force, as it is with every other flag of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardFlag {
    /// The flag.
    pub name: &'static str,
    /// The values with which it does that; all of them if there are none.
    pub values: FlagValues,
    /// The state of the guard.
    pub state: GuardState,
}

/// The values of a flag that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagValues {
    /// Every one, and none.
    Any,
    /// Any of these words.
    Words(&'static [&'static str]),
    /// A setting `KEY=VALUE` whose dotted key is one of these or stands below one of them.
    Keys(&'static [&'static str]),
}

impl GuardFlag {
    /// A flag that leaves the guard out.
    pub(crate) const fn new_switching_off(name: &'static str, why: &'static str) -> Self {
        Self { name, values: FlagValues::Any, state: GuardState::SwitchedOff(why) }
    }

    /// A flag with which no guard of the launch reaches the session.
    pub(crate) const fn new_absent(name: &'static str, why: &'static str) -> Self {
        Self { name, values: FlagValues::Any, state: GuardState::Absent(why) }
    }

    /// The flag with these values only.
    pub(crate) const fn with_values(mut self, values: FlagValues) -> Self {
        self.values = values;
        self
    }
}

impl FlagValues {
    /// Reports whether a flag with `value` is meant.
    pub(crate) fn covers_value(self, value: Option<&str>) -> bool {
        match (self, value) {
            (Self::Any, _) => true,
            (_, None) => false,
            (Self::Words(words), Some(value)) => words.contains(&value),
            (Self::Keys(keys), Some(value)) => {
                let key = value.split('=').next().unwrap_or_default();
                let segments: Vec<&str> = key
                    .split('.')
                    .map(|part| part.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\''))
                    .collect();
                keys.iter().any(|wanted| {
                    let wanted: Vec<&str> = wanted.split('.').collect();
                    segments.starts_with(&wanted)
                        // The whole table above it is replaced.
                        || wanted.starts_with(&segments)
                })
            }
        }
    }
}
