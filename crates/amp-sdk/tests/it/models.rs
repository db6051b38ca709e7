//! The model registry and its selections.

use amp_sdk::model::{ModelRequest, ModelSelectionError, Registry, ResolutionSource, Selection};
use amp_sdk::{Options, plan_run};
use serde_json::json;

use crate::fake::Fake;

fn resolved(wish: &ModelRequest) -> (String, ResolutionSource) {
    let selection = Registry::for_amp().resolve(wish).unwrap();
    (selection.resolved_model.unwrap(), selection.resolution_source.unwrap())
}

#[test]
fn a_model_is_resolved_by_the_first_source_that_names_one() {
    let wish = ModelRequest::default().with_explicit("default").with_environment("x").with_remote("y");
    assert_eq!(resolved(&wish), ("amp-1".into(), ResolutionSource::Explicit));
    let wish = ModelRequest::default().with_environment("amp-1").with_remote("y");
    assert_eq!(resolved(&wish), ("amp-1".into(), ResolutionSource::Env));
    assert_eq!(resolved(&ModelRequest::default()), ("amp-1".into(), ResolutionSource::Default));
}

#[test]
fn an_unknown_model_never_falls_back_to_another() {
    for wish in [
        ModelRequest::default().with_explicit("x"),
        ModelRequest::default().with_environment("x").with_remote("amp-1"),
    ] {
        assert_eq!(Registry::for_amp().resolve(&wish).unwrap_err().kind(), "unknown_model");
    }
    assert_eq!(Registry::for_amp().validate("x").unwrap_err().kind(), "unknown_model");
    assert_eq!(Registry::for_amp().validate("default").unwrap().id, "amp-1");
}

#[test]
fn the_registry_has_a_default_model() {
    assert_eq!(Registry::for_amp().default_model().unwrap().id, "amp-1");
    let mut none = Registry::for_amp();
    none.default = None;
    assert_eq!(none.default_model().unwrap_err().kind(), "model_unavailable");
    assert_eq!(none.resolve(&ModelRequest::default()).unwrap_err().kind(), "model_unavailable");
}

#[test]
fn no_blank_or_placeholder_is_a_model() {
    let fake = Fake::new("exit 0");
    for blank in ["", " ", "nil", "null", "NULL"] {
        assert_eq!(
            Registry::for_amp().build_arg_payload(Some(blank)),
            Err(ModelSelectionError::EmptyOrInvalidModel),
            "{blank:?}"
        );
        let payload = Selection::try_from(json!({"resolved_model": blank})).unwrap();
        let options = fake.options().with_model_payload(payload);
        assert_eq!(plan_run(&"x".into(), &options).unwrap_err().kind(), "invalid_configuration", "{blank:?}");
    }
}

#[test]
fn a_payload_makes_no_flag_that_the_cli_does_not_have() {
    let fake = Fake::new("exit 0");
    let planned = |value| {
        let payload = Selection::try_from(value).unwrap();
        plan_run(&"x".into(), &fake.options().with_model_payload(payload))
    };
    let payload = Registry::for_amp().build_arg_payload(None).unwrap();
    assert_eq!(planned(payload.to_value()).unwrap().argv, ["--execute", "--stream-json"]);
    for value in
        [json!({"resolved_model": "gpt"}), json!({"resolved_model": "amp-1", "reasoning_effort": "high"})]
    {
        assert_eq!(planned(value).unwrap_err().kind(), "unsupported_capability");
    }
}

#[test]
fn a_payload_that_was_not_resolved_is_refused() {
    let fake = Fake::new("exit 0");
    for value in
        [json!({}), json!({"requested_model": "amp-1"}), json!({"resolved_model": "amp-1", "errors": ["x"]})]
    {
        let payload = Selection::try_from(value).unwrap();
        let options = fake.options().with_model_payload(payload);
        let error = plan_run(&"x".into(), &options).unwrap_err();
        assert!(error.to_string().contains("model resolution failed"), "{error}");
    }
    Options::default().validate().unwrap();
}

#[test]
fn a_serialized_selection_comes_back_with_what_nobody_knows() {
    let value = json!({
        "provider": "amp", "resolved_model": "amp-1", "resolution_source": "oracle", "model_source": "catalog",
        "env_overrides": {"A": "1"}, "normalized_reasoning_effort": 2.5, "from_tomorrow": [1, null],
    });
    let selection = Selection::try_from(value.clone()).unwrap();
    assert_eq!(selection.extra, *json!({"from_tomorrow": [1, null]}).as_object().unwrap());
    assert_eq!(selection.to_value(), value);
}
