//! Result of a registry, as data that may come from elsewhere and be passed on.

use serde_json::{Map, Value};

use crate::capability::CliFeature;
use crate::error::{Error, Result};

/// The model that stands for "what the mode chooses".
pub(super) const AMP: &str = "amp-1";

/// The source of a selection's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolutionSource {
    /// The caller named it.
    Explicit,
    /// The environment named it.
    Env,
    /// The provider's default.
    Default,
    /// The service's default.
    Remote,
    /// A word that is not known here.
    Other(String),
}

/// The presence of a model in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelSource {
    /// The model is in the registry.
    Catalog,
    /// The model is not in the registry, and was let through.
    External,
    /// A word that is not known here.
    Other(String),
}

macro_rules! words {
    ($kind:ident { $($variant:ident = $word:literal),+ }) => {
        impl $kind {
            /// The word of the wire form.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $kind {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }
    };
}

words!(ResolutionSource { Explicit = "explicit", Env = "env", Default = "default", Remote = "remote" });
words!(ModelSource { Catalog = "catalog", External = "external" });

/// A resolved model. `TryFrom<Value>` reads its map form and keeps what it does not know in `extra`; [`Selection::to_value`] gives that
/// back.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// Provider of the model.
    pub provider: Option<String>,
    /// The name that was asked for.
    pub requested_model: Option<String>,
    /// The name that a command line would hold. Never blank, `nil` or `null`.
    pub resolved_model: Option<String>,
    /// Source of the name.
    pub resolution_source: Option<ResolutionSource>,
    /// Requested reasoning, as it was given.
    pub reasoning: Option<String>,
    /// The effort that was asked for.
    pub reasoning_effort: Option<String>,
    /// The effort as the provider takes it, a word or a number.
    pub normalized_reasoning_effort: Option<Value>,
    /// The family of the model.
    pub model_family: Option<String>,
    /// State of the registry that resolved the model.
    pub catalog_version: Option<String>,
    /// Audience that sees the model.
    pub visibility: Option<String>,
    /// Backend that serves the model.
    pub provider_backend: Option<String>,
    /// Presence of the model in the registry.
    pub model_source: Option<ModelSource>,
    /// Variables that the model needs; values are texts.
    pub env_overrides: Map<String, Value>,
    /// Settings that the model needs.
    pub settings_patch: Map<String, Value>,
    /// Of the backend.
    pub backend_metadata: Map<String, Value>,
    /// Errors of its resolution.
    pub errors: Vec<Value>,
    /// Further keys.
    pub extra: Map<String, Value>,
}

/// Reports whether `name` names a model at all.
pub(super) fn is_name(name: &str) -> bool {
    let name = name.trim();
    amplihack_sys::sabotage::is_active("amp-model-blank")
        || !name.is_empty() && !name.eq_ignore_ascii_case("nil") && !name.eq_ignore_ascii_case("null")
}

fn invalid_selection(message: &str) -> Error {
    Error::invalid_option("model_payload", format!("model resolution failed: {message}"))
}

impl Selection {
    /// Checks that it is resolved and that Amp can be asked for it.
    ///
    /// `amp-1` asks for nothing. Any other model is `unsupported_capability`: no version of the CLI has a flag for it.
    pub(crate) fn check_usable(&self, version: Option<&semver::Version>) -> Result<()> {
        if let Some(error) = self.errors.first() {
            return Err(invalid_selection(&format!("the selection carries an error: {error}")));
        }
        match self.resolved_model.as_deref() {
            None if amplihack_sys::sabotage::is_active("amp-model-unresolved") => Ok(()),
            None => Err(invalid_selection("resolved_model is missing")),
            Some(name) if !is_name(name) => {
                Err(invalid_selection("resolved_model is blank or a placeholder"))
            }
            Some(AMP) if self.reasoning_effort.is_none() => Ok(()),
            Some(AMP) => CliFeature::Effort.require_in(version),
            Some(_) if amplihack_sys::sabotage::is_active("amp-model-flag") => Ok(()),
            Some(_) => CliFeature::Model.require_in(version),
        }
    }

    /// The map form; what is `None` or empty is not in it.
    pub fn to_value(&self) -> Value {
        let mut map = self.extra.clone();
        let texts = [
            ("provider", self.provider.as_deref()),
            ("requested_model", self.requested_model.as_deref()),
            ("resolved_model", self.resolved_model.as_deref()),
            ("resolution_source", self.resolution_source.as_ref().map(ResolutionSource::as_str)),
            ("reasoning", self.reasoning.as_deref()),
            ("reasoning_effort", self.reasoning_effort.as_deref()),
            ("model_family", self.model_family.as_deref()),
            ("catalog_version", self.catalog_version.as_deref()),
            ("visibility", self.visibility.as_deref()),
            ("provider_backend", self.provider_backend.as_deref()),
            ("model_source", self.model_source.as_ref().map(ModelSource::as_str)),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                map.insert(key.to_owned(), text.into());
            }
        }
        if let Some(effort) = &self.normalized_reasoning_effort {
            map.insert("normalized_reasoning_effort".to_owned(), effort.clone());
        }
        let maps = [
            ("env_overrides", &self.env_overrides),
            ("settings_patch", &self.settings_patch),
            ("backend_metadata", &self.backend_metadata),
        ];
        for (key, inner) in maps {
            if !inner.is_empty() {
                map.insert(key.to_owned(), Value::Object(inner.clone()));
            }
        }
        if !self.errors.is_empty() {
            map.insert("errors".to_owned(), Value::Array(self.errors.clone()));
        }
        Value::Object(map)
    }
}

fn take_text(map: &mut Map<String, Value>, key: &str) -> Result<Option<String>> {
    match map.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid_selection(&format!("{key} is not a string"))),
    }
}

fn take_object(map: &mut Map<String, Value>, key: &str) -> Result<Map<String, Value>> {
    match map.remove(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(inner)) => Ok(inner),
        Some(_) => Err(invalid_selection(&format!("{key} is not an object"))),
    }
}

impl TryFrom<Value> for Selection {
    type Error = Error;

    /// Reads the map form; `null` counts as absent, unknown keys are kept in `extra`.
    fn try_from(value: Value) -> Result<Self> {
        let Value::Object(mut map) = value else { return Err(invalid_selection("it is not an object")) };
        let errors = match map.remove("errors") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(errors)) => errors,
            Some(_) => return Err(invalid_selection("errors is not a list")),
        };
        let map = &mut map;
        Ok(Self {
            provider: take_text(map, "provider")?,
            requested_model: take_text(map, "requested_model")?,
            resolved_model: take_text(map, "resolved_model")?,
            resolution_source: take_text(map, "resolution_source")?.map(ResolutionSource::from),
            reasoning: take_text(map, "reasoning")?,
            reasoning_effort: take_text(map, "reasoning_effort")?,
            normalized_reasoning_effort: map
                .remove("normalized_reasoning_effort")
                .filter(|effort| !effort.is_null()),
            model_family: take_text(map, "model_family")?,
            catalog_version: take_text(map, "catalog_version")?,
            visibility: take_text(map, "visibility")?,
            provider_backend: take_text(map, "provider_backend")?,
            model_source: take_text(map, "model_source")?.map(ModelSource::from),
            env_overrides: take_object(map, "env_overrides")?,
            settings_patch: take_object(map, "settings_patch")?,
            backend_metadata: take_object(map, "backend_metadata")?,
            errors,
            extra: if amplihack_sys::sabotage::is_active("amp-model-map") {
                Map::new()
            } else {
                std::mem::take(map)
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_map_form_comes_back_with_what_nobody_knows() {
        let value = json!({
            "provider": "amp", "resolved_model": "amp-1", "resolution_source": "oracle", "model_source": "catalog",
            "env_overrides": {"A": "1"}, "normalized_reasoning_effort": 2.5, "errors": [{"a": 1}], "from_tomorrow": [1, null],
        });
        let selection = Selection::try_from(value.clone()).unwrap();
        assert_eq!(selection.extra, *json!({"from_tomorrow": [1, null]}).as_object().unwrap());
        assert_eq!(selection.resolution_source, Some(ResolutionSource::Other("oracle".into())));
        assert_eq!(selection.to_value(), value);
    }

    #[test]
    fn only_a_resolved_model_that_amp_can_be_asked_for_passes() {
        let kind =
            |value| Selection::try_from(value).unwrap().check_usable(None).map_err(|error| error.kind());
        assert_eq!(kind(json!({"resolved_model": "amp-1"})), Ok(()));
        for value in [
            json!({}),
            json!({"resolved_model": "null"}),
            json!({"resolved_model": "amp-1", "errors": ["x"]}),
        ] {
            assert_eq!(kind(value), Err("invalid_configuration"));
        }
        assert_eq!(kind(json!({"resolved_model": "gpt"})), Err("unsupported_capability"));
        assert_eq!(
            kind(json!({"resolved_model": "amp-1", "reasoning_effort": "high"})),
            Err("unsupported_capability")
        );
        assert!(
            Selection::try_from(json!([])).is_err() && Selection::try_from(json!({"provider": 1})).is_err()
        );
    }
}
