//! Model selection: a registry that resolves the names a run asks for, and the selection that it makes of them.
//!
//! Amp's CLI has no flag for a model: its mode chooses. The registry therefore knows one model, `amp-1`, which stands for that choice and
//! renders nothing; any other resolved model is refused before a start. Set [`Options::mode`](crate::Options::mode) instead.

mod selection;

use serde_json::Value;

use crate::error::Error;
use crate::setters::setters;

pub use selection::{ModelSource, ResolutionSource, Selection};

/// A model that cannot be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSelectionError {
    /// No model of this name. Kind `unknown_model`.
    #[error("model {requested:?} is unknown to {provider}; known are {}", known.join(", "))]
    UnknownModel {
        /// Name of the requested model.
        requested: String,
        /// Names of the known models.
        known: Vec<String>,
        /// Provider of the registry.
        provider: String,
    },
    /// An effort that the model does not take. Kind `invalid_reasoning_effort`.
    #[error(
        "reasoning effort {requested:?} is not taken by {provider}; allowed are {}",
        allowed_text(allowed_efforts)
    )]
    InvalidReasoningEffort {
        /// Requested effort.
        requested: String,
        /// Efforts that the model takes.
        allowed_efforts: Vec<String>,
        /// Provider of the registry.
        provider: String,
    },
    /// There is no model to choose. Kind `model_unavailable`.
    #[error("{provider} offers no model: {reason}")]
    ModelUnavailable {
        /// Provider of the registry.
        provider: String,
        /// Reason why the model is not available.
        reason: String,
    },
    /// Blank, `nil` or `null`. Kind `empty_or_invalid_model`.
    #[error("the model is blank or a placeholder; name one, or leave it out")]
    EmptyOrInvalidModel,
}

fn allowed_text(efforts: &[String]) -> String {
    if efforts.is_empty() { "none".to_owned() } else { efforts.join(", ") }
}

impl ModelSelectionError {
    /// The stable name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownModel { .. } => "unknown_model",
            Self::InvalidReasoningEffort { .. } => "invalid_reasoning_effort",
            Self::ModelUnavailable { .. } => "model_unavailable",
            Self::EmptyOrInvalidModel => "empty_or_invalid_model",
        }
    }
}

impl From<ModelSelectionError> for Error {
    fn from(error: ModelSelectionError) -> Self {
        Self::invalid_option("model_payload", format!("model resolution failed: {error}"))
    }
}

/// A model of a [`Registry`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryModel {
    /// The id that a command line would hold.
    pub id: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The family it belongs to.
    pub family: Option<String>,
    /// Efforts that it takes; empty: none.
    pub efforts: Vec<String>,
}

setters! {
    RegistryModel {
        list(String) with_aliases = aliases,
        into(String) with_family = family,
        list(String) with_efforts = efforts,
    }
}

/// The names that [`Registry::resolve`] tries, in this order: `explicit`, `environment`, the registry's default, `remote`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Model that the caller asks for.
    pub explicit: Option<String>,
    /// Model that the caller's environment asks for; the SDK reads none.
    pub environment: Option<String>,
    /// Default model of the service, where the caller knows it.
    pub remote: Option<String>,
    /// The reasoning effort.
    pub reasoning_effort: Option<String>,
    /// Take a name that the registry does not know, marked [`ModelSource::External`].
    pub allow_unknown: bool,
}

setters! {
    ModelRequest {
        into(String) with_explicit = explicit,
        into(String) with_environment = environment,
        into(String) with_remote = remote,
        into(String) with_reasoning_effort = reasoning_effort,
        plain(bool) with_allow_unknown = allow_unknown,
    }
}

/// The models of one provider. Explicit data: there is no global registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registry {
    /// Provider of the models.
    pub provider: String,
    /// The models.
    pub models: Vec<RegistryModel>,
    /// The id of the default one.
    pub default: Option<String>,
    /// A name for this state of the list.
    pub catalog_version: Option<String>,
}

setters! {
    Registry {
        into(String) with_default = default,
        into(String) with_catalog_version = catalog_version,
    }
}

impl Registry {
    /// Amp's: `amp-1`, alias `default`, the model that the mode chooses.
    pub fn for_amp() -> Self {
        let amp = RegistryModel {
            id: selection::AMP.to_owned(),
            aliases: vec!["default".to_owned()],
            family: Some("amp".to_owned()),
            efforts: Vec::new(),
        };
        Self {
            provider: "amp".to_owned(),
            models: vec![amp],
            default: Some(selection::AMP.to_owned()),
            catalog_version: None,
        }
    }

    /// Selects a model: the first name of `wish` that is set, else the default. No name falls back to another.
    ///
    /// # Errors
    /// [`ModelSelectionError::ModelUnavailable`] if no name is set and there is no default, and
    /// [`ModelSelectionError::InvalidReasoningEffort`] if the model does not take the effort. Those of [`Registry::validate`] for a name
    /// that is set, but no unknown model where `wish` allows it.
    pub fn resolve(&self, wish: &ModelRequest) -> Result<Selection, ModelSelectionError> {
        let mut sources = [
            (&wish.explicit, ResolutionSource::Explicit),
            (&wish.environment, ResolutionSource::Env),
            (&self.default, ResolutionSource::Default),
            (&wish.remote, ResolutionSource::Remote),
        ];
        if amplihack_sys::sabotage::is_active("amp-model-order") {
            sources.swap(0, 1);
        }
        let (requested, source) = sources
            .into_iter()
            .find_map(|(name, source)| Some((name.as_deref()?, source)))
            .ok_or_else(|| ModelSelectionError::ModelUnavailable {
                provider: self.provider.clone(),
                reason: "nothing was asked for and there is no default".to_owned(),
            })?;
        let known = match self.validate(requested) {
            Ok(model) => Some(model),
            Err(ModelSelectionError::UnknownModel { .. }) if wish.allow_unknown => None,
            Err(ModelSelectionError::UnknownModel { .. })
                if amplihack_sys::sabotage::is_active("amp-model-fallback") =>
            {
                Some(self.default_model()?)
            }
            // No fallback: a run on another model than the one that was asked for must not look like one on it.
            Err(error) => return Err(error),
        };
        self.check_effort(known, wish.reasoning_effort.as_deref())?;
        Ok(Selection {
            provider: Some(self.provider.clone()),
            requested_model: Some(requested.to_owned()),
            resolved_model: Some(known.map_or_else(|| requested.to_owned(), |model| model.id.clone())),
            resolution_source: Some(source),
            reasoning_effort: wish.reasoning_effort.clone(),
            normalized_reasoning_effort: wish.reasoning_effort.clone().map(Value::from),
            model_family: known.and_then(|model| model.family.clone()),
            catalog_version: self.catalog_version.clone(),
            model_source: Some(if known.is_some() { ModelSource::Catalog } else { ModelSource::External }),
            ..Selection::default()
        })
    }

    /// The model of this id or alias.
    ///
    /// # Errors
    /// [`ModelSelectionError::EmptyOrInvalidModel`] for a name that is blank or a placeholder, [`ModelSelectionError::UnknownModel`] for
    /// one that no model has.
    pub fn validate(&self, name: &str) -> Result<&RegistryModel, ModelSelectionError> {
        if !selection::is_name(name) {
            return Err(ModelSelectionError::EmptyOrInvalidModel);
        }
        self.models
            .iter()
            .find(|model| model.id == name || model.aliases.iter().any(|alias| alias == name))
            .ok_or_else(|| ModelSelectionError::UnknownModel {
                requested: name.to_owned(),
                known: self.models.iter().map(|model| model.id.clone()).collect(),
                provider: self.provider.clone(),
            })
    }

    /// The default model.
    ///
    /// # Errors
    /// [`ModelSelectionError::ModelUnavailable`] if there is no default; those of [`Registry::validate`] if the default is no model of the
    /// registry.
    pub fn default_model(&self) -> Result<&RegistryModel, ModelSelectionError> {
        let Some(id) =
            self.default.as_ref().filter(|_| !amplihack_sys::sabotage::is_active("amp-model-default"))
        else {
            return Err(ModelSelectionError::ModelUnavailable {
                provider: self.provider.clone(),
                reason: "there is no default".to_owned(),
            });
        };
        self.validate(id)
    }

    /// [`Registry::resolve`] of an explicit name or of none: what goes into `Options::model_payload`.
    ///
    /// # Errors
    /// Those of [`Registry::resolve`].
    pub fn build_arg_payload(&self, model: Option<&str>) -> Result<Selection, ModelSelectionError> {
        self.resolve(&ModelRequest { explicit: model.map(str::to_owned), ..ModelRequest::default() })
    }

    fn check_effort(
        &self,
        model: Option<&RegistryModel>,
        effort: Option<&str>,
    ) -> Result<(), ModelSelectionError> {
        let (Some(model), Some(effort)) = (model, effort) else { return Ok(()) };
        if model.efforts.iter().any(|known| known == effort) {
            return Ok(());
        }
        Err(ModelSelectionError::InvalidReasoningEffort {
            requested: effort.to_owned(),
            allowed_efforts: model.efforts.clone(),
            provider: self.provider.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_in_order_and_never_fall_back() {
        let amp = Registry::for_amp();
        let resolved = |wish: ModelRequest| {
            amp.resolve(&wish).map(|made| (made.resolved_model.unwrap(), made.resolution_source.unwrap()))
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(resolved(ModelRequest::default()), Ok(("amp-1".into(), ResolutionSource::Default)));
        assert_eq!(
            resolved(ModelRequest {
                explicit: some("default"),
                environment: some("x"),
                ..ModelRequest::default()
            }),
            Ok(("amp-1".into(), ResolutionSource::Explicit))
        );
        let wrong = resolved(ModelRequest {
            environment: some("x"),
            remote: some("amp-1"),
            ..ModelRequest::default()
        });
        assert_eq!(wrong.unwrap_err().kind(), "unknown_model");
        assert_eq!(
            resolved(ModelRequest { explicit: some("x"), allow_unknown: true, ..ModelRequest::default() }),
            Ok(("x".into(), ResolutionSource::Explicit))
        );
        for blank in ["", " ", "nil", "null", "NULL"] {
            assert_eq!(
                amp.build_arg_payload(Some(blank)),
                Err(ModelSelectionError::EmptyOrInvalidModel),
                "{blank:?}"
            );
        }
        let effort = ModelRequest { reasoning_effort: some("high"), ..ModelRequest::default() };
        assert_eq!(resolved(effort).unwrap_err().kind(), "invalid_reasoning_effort");
        let none = Registry { default: None, ..Registry::for_amp() };
        assert_eq!(none.resolve(&ModelRequest::default()).unwrap_err().kind(), "model_unavailable");
        assert_eq!(none.default_model().unwrap_err().kind(), "model_unavailable");
        assert_eq!(amp.default_model().unwrap().id, "amp-1");
    }
}
