//! What conditions can call.

/// A function and how many arguments it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Int,
    Float,
    Str,
    Bool,
    Len,
    Min,
    Max,
}

const FUNCTIONS: [(&str, Function); 7] = [
    ("int", Function::Int),
    ("float", Function::Float),
    ("str", Function::Str),
    ("bool", Function::Bool),
    ("len", Function::Len),
    ("min", Function::Min),
    ("max", Function::Max),
];

impl Function {
    /// The function `name`, or why it cannot be called so.
    pub(super) fn named(name: &str, arguments: usize) -> Result<Self, String> {
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
pub(crate) enum Method {
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
const METHODS: [(&str, Method, usize, usize); 13] = [
    ("strip", Method::Strip, 0, 1),
    ("lstrip", Method::StripLeft, 0, 1),
    ("rstrip", Method::StripRight, 0, 1),
    ("lower", Method::Lower, 0, 0),
    ("upper", Method::Upper, 0, 0),
    ("title", Method::Title, 0, 0),
    ("startswith", Method::StartsWith, 1, 1),
    ("endswith", Method::EndsWith, 1, 1),
    ("replace", Method::Replace, 2, 2),
    ("split", Method::Split, 0, 1),
    ("join", Method::Join, 1, 1),
    ("count", Method::Count, 1, 1),
    ("find", Method::Find, 1, 1),
];

impl Method {
    /// The method `name`, or why it cannot be called so.
    pub(super) fn named(name: &str, arguments: usize) -> Result<Self, String> {
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

    /// Whether `name` means a method, or what other languages have in its place: as a key below text it is a mistake.
    pub(super) fn mistaken(name: &str) -> bool {
        ["length", "size", "len"].contains(&name) || METHODS.iter().any(|(known, ..)| *known == name)
    }
}
