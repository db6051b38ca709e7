//! Permission rules: which tool calls the agent may make.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::permissions::check_rules;
use crate::setters::setters;

/// The action for a call that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PermissionAction {
    /// The call runs without a question.
    Allow,
    /// The call is blocked.
    Reject,
    /// The user is asked; headless, where nobody answers, it is blocked.
    Ask,
    /// The program in `to` decides.
    Delegate,
}

impl PermissionAction {
    /// The word of the settings file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Reject => "reject",
            Self::Ask => "ask",
            Self::Delegate => "delegate",
        }
    }
}

impl std::fmt::Display for PermissionAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for PermissionAction {
    type Err = Error;

    /// `allow`, `reject`, `ask` or `delegate`; anything else is `invalid_configuration`.
    fn from_str(word: &str) -> Result<Self> {
        [Self::Allow, Self::Reject, Self::Ask, Self::Delegate]
            .into_iter()
            .find(|action| action.as_str() == word)
            .or(amplihack_sys::sabotage::is_active("amp-rule-actions").then_some(Self::Ask))
            .ok_or_else(|| {
                Error::invalid_option("action", format!("{word:?} is none of allow, reject, ask, delegate"))
            })
    }
}

/// A rule of `amp.permissions`. The first rule that matches a call decides.
///
/// Wire form: `{"tool", "action", "matches"?, "context"?, "to"?}`, keys of which nothing is known in `extra`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Permission {
    /// A glob over names of tools: `*` and `{a,b}`, in any case.
    pub tool: String,
    /// Action for a call that the rule matches.
    pub action: PermissionAction,
    /// Argument by argument a pattern (`rm *`, `/regex/`), a literal, or a list of alternatives. All keys must match.
    pub matches: Option<Map<String, Value>>,
    /// `thread` or `subagent`; a rule with a context does not apply elsewhere.
    pub context: Option<String>,
    /// The program of [`PermissionAction::Delegate`]; nothing else may have it.
    pub to: Option<String>,
    /// Further keys of the wire form.
    pub extra: Map<String, Value>,
}

/// Further fields of a rule, besides tool and action.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PermissionOptions {
    /// See [`Permission::matches`].
    pub matches: Option<Map<String, Value>>,
    /// See [`Permission::context`].
    pub context: Option<String>,
    /// See [`Permission::to`].
    pub to: Option<String>,
}

setters! {
    PermissionOptions {
        some(Map<String, Value>) with_matches = matches,
        into(String) with_context = context,
        into(String) with_to = to,
    }
}

/// Makes a rule, checked as the CLI checks it: `action` is one of the four words, `delegate` needs `to` and nothing else may have it,
/// `context` is `thread` or `subagent`.
///
/// ```
/// use amp_sdk::{PermissionOptions, create_permission};
///
/// let read = create_permission("Read", "allow", PermissionOptions::default())?;
/// assert_eq!(read.to_value(), serde_json::json!({"tool": "Read", "action": "allow"}));
/// create_permission("Bash", "delegate", PermissionOptions::default().with_to("bash -c"))?;
/// # Ok::<(), amp_sdk::Error>(())
/// ```
///
/// # Errors
/// `invalid_configuration` for another action, and for what [`Permission::validate`] refuses.
pub fn create_permission(tool: &str, action: &str, options: PermissionOptions) -> Result<Permission> {
    let rule = Permission {
        tool: tool.to_owned(),
        action: action.parse()?,
        matches: options.matches.filter(|_| !amplihack_sys::sabotage::is_active("amp-rule-matches")),
        context: options.context.filter(|_| !amplihack_sys::sabotage::is_active("amp-rule-context")),
        to: options.to,
        extra: Map::new(),
    };
    rule.validate("permission")?;
    Ok(rule)
}

impl Permission {
    /// A rule of a tool and an action. [`PermissionAction::Delegate`] also needs [`Permission::to`].
    pub fn new(tool: impl Into<String>, action: PermissionAction) -> Self {
        Self { tool: tool.into(), action, matches: None, context: None, to: None, extra: Map::new() }
    }

    /// Limits the rule to calls whose argument `key` matches `pattern`: a string, another literal, or a list of them.
    #[must_use]
    pub fn with_match(mut self, key: impl Into<String>, pattern: impl Into<Value>) -> Self {
        self.matches.get_or_insert_default().insert(key.into(), pattern.into());
        self
    }

    /// Limits the rule to this context.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Sets the program that decides.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<String>) -> Self {
        self.to = Some(program.into());
        self
    }

    /// Checks what the CLI would refuse, by [`permissions::check_rules`](crate::permissions::check_rules()): one refused rule makes it refuse all of them.
    ///
    /// # Errors
    /// `invalid_configuration` for what the CLI would refuse, and for a blank tool or program; `field` names the rule in it.
    pub fn validate(&self, field: &str) -> Result<()> {
        if self.tool.trim().is_empty() {
            return Err(Error::invalid_option(field, "\"tool\" is blank; name a tool or use *"));
        }
        let blank = self.to.as_deref().is_none_or(|to| to.trim().is_empty());
        if self.action == PermissionAction::Delegate && blank {
            return Err(Error::invalid_option(
                format!("{field}.to"),
                "action \"delegate\" needs a program in \"to\"",
            ));
        }
        match check_rules(&Value::Array(vec![self.to_value()]))
            .first()
            .filter(|_| !amplihack_sys::sabotage::is_active("amp-rule-check"))
        {
            Some(issue) => {
                let key = issue.path.strip_prefix("0.").unwrap_or_default();
                Err(Error::invalid_option(
                    format!("{field}.{key}"),
                    format!("the CLI refuses it: {}; correct or drop it", issue.message),
                ))
            }
            None => Ok(()),
        }
    }

    /// The wire form. What is `None` is not in it.
    pub fn to_value(&self) -> Value {
        let mut map = self.extra.clone();
        map.insert("tool".into(), self.tool.clone().into());
        let action = match self.action {
            PermissionAction::Allow if amplihack_sys::sabotage::is_active("amp-rule-allow") => {
                PermissionAction::Ask
            }
            PermissionAction::Ask if amplihack_sys::sabotage::is_active("amp-rule-ask") => {
                PermissionAction::Allow
            }
            PermissionAction::Reject if amplihack_sys::sabotage::is_active("amp-rule-reject") => {
                PermissionAction::Ask
            }
            action => action,
        };
        map.insert("action".into(), action.as_str().into());
        if let Some(matches) = &self.matches {
            map.insert("matches".into(), Value::Object(matches.clone()));
        }
        for (key, value) in [("context", &self.context), ("to", &self.to)] {
            if let Some(value) = value {
                map.insert(key.into(), value.clone().into());
            }
        }
        Value::Object(map)
    }
}

impl TryFrom<Value> for Permission {
    type Error = Error;

    /// Reads the wire form; `null` counts as absent. Not checked further: see [`Permission::validate`].
    fn try_from(value: Value) -> Result<Self> {
        let Value::Object(mut map) = value else {
            return Err(Error::invalid_option(
                "permission",
                "a rule is an object with \"tool\" and \"action\"",
            ));
        };
        map.retain(|_, value| !value.is_null());
        let mut text = |key: &str| match map.remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid_option("permission", format!("\"{key}\" is not a string"))),
        };
        let missing = |key: &str| Error::invalid_option("permission", format!("\"{key}\" is missing"));
        let tool = text("tool")?.ok_or_else(|| missing("tool"))?;
        let action = text("action")?.ok_or_else(|| missing("action"))?.parse()?;
        let (context, to) = (text("context")?, text("to")?);
        let matches = match map.remove("matches") {
            None => None,
            Some(Value::Object(matches)) => Some(matches),
            Some(_) => return Err(Error::invalid_option("permission", "\"matches\" is not an object")),
        };
        if amplihack_sys::sabotage::is_active("amp-list-rules") {
            map.clear();
        }
        Ok(Self { tool, action, matches, context, to, extra: map })
    }
}
