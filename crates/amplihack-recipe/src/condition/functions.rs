//! The functions and methods that conditions can call.

/// A function and how many arguments it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionFunction {
    Int,
    Float,
    Str,
    Bool,
    Len,
    Min,
    Max,
}

const FUNCTIONS: [(&str, ConditionFunction); 7] = [
    ("int", ConditionFunction::Int),
    ("float", ConditionFunction::Float),
    ("str", ConditionFunction::Str),
    ("bool", ConditionFunction::Bool),
    ("len", ConditionFunction::Len),
    ("min", ConditionFunction::Min),
    ("max", ConditionFunction::Max),
];

impl ConditionFunction {
    /// The function `name`, or why it cannot be called so.
    pub(super) fn from_name(name: &str, arguments: usize) -> Result<Self, String> {
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(known, _)| *known).collect();
            return Err(format!("unknown function: {name}() (there are {})", known.join(", ")));
        };
        match function {
            Self::Min | Self::Max if arguments < 2 => Err(format!("{name}() requires at least 2 arguments")),
            Self::Min | Self::Max => Ok(*function),
            _ if arguments != 1 => Err(format!("{name}() takes 1 argument, got {arguments}")),
            _ => Ok(*function),
        }
    }
}

/// A method of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionMethod {
    Strip,
    StripLeft,
    StripRight,
    Lower,
    Upper,
    Title,
    StartsWith,
    EndsWith,
    Replace,
    Split,
    Join,
    Count,
    Find,
}

/// Name, method, fewest and most arguments.
const METHODS: [(&str, ConditionMethod, usize, usize); 13] = [
    ("strip", ConditionMethod::Strip, 0, 1),
    ("lstrip", ConditionMethod::StripLeft, 0, 1),
    ("rstrip", ConditionMethod::StripRight, 0, 1),
    ("lower", ConditionMethod::Lower, 0, 0),
    ("upper", ConditionMethod::Upper, 0, 0),
    ("title", ConditionMethod::Title, 0, 0),
    ("startswith", ConditionMethod::StartsWith, 1, 1),
    ("endswith", ConditionMethod::EndsWith, 1, 1),
    ("replace", ConditionMethod::Replace, 2, 2),
    ("split", ConditionMethod::Split, 0, 1),
    ("join", ConditionMethod::Join, 1, 1),
    ("count", ConditionMethod::Count, 1, 1),
    ("find", ConditionMethod::Find, 1, 1),
];

impl ConditionMethod {
    /// The method `name`, or why it cannot be called so.
    pub(super) fn from_name(name: &str, arguments: usize) -> Result<Self, String> {
        let Some((_, method, fewest, most)) = METHODS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = METHODS.iter().map(|(known, ..)| *known).collect();
            return Err(format!("unknown method: .{name}() (there are {})", known.join(", ")));
        };
        if (*fewest..=*most).contains(&arguments) {
            Ok(*method)
        } else if fewest == most {
            Err(format!(".{name}() takes {most} arguments, got {arguments}"))
        } else {
            Err(format!(".{name}() takes at most {most} argument, got {arguments}"))
        }
    }

    /// Reports whether `name` is a method, or another language's word for one: as a key below text it is a mistake.
    pub(super) fn is_mistaken_key(name: &str) -> bool {
        ["length", "size", "len"].contains(&name) || METHODS.iter().any(|(known, ..)| *known == name)
    }
}
