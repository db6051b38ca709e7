//! Errors: what they say, what they carry, and how a command ends by them.

use amplihack_remote::{ErrorContext, RemoteError};
use amplihack_sys::error::ErrorExplanation;

fn all() -> [RemoteError; 7] {
    let context = || ErrorContext::new("the reason is this").with_fact("host", "a");
    [
        RemoteError::Packaging(context()),
        RemoteError::Provisioning(context()),
        RemoteError::Transfer(context()),
        RemoteError::Execution(context()),
        RemoteError::Integration(context()),
        RemoteError::Cleanup(context()),
        RemoteError::Validation(context()),
    ]
}

#[test]
fn every_error_has_a_message_for_the_user() {
    for error in all() {
        assert!(error.to_string().contains("the reason is this"), "{error:?}");
    }
}

#[test]
fn every_error_has_its_context() {
    for error in all() {
        assert_eq!(error.get_fact("host"), Some("a"), "{error:?}");
    }
}

#[test]
fn a_session_that_is_not_found_ends_with_3() {
    let missing = RemoteError::SessionNotFound { session_id: "sess-20260502-030405-00ff".to_owned() };
    assert_eq!(missing.exit_kind().code(), 3);
}

#[test]
fn every_other_error_ends_with_1() {
    assert_eq!(all().map(|error| error.exit_kind().code()), [1; 7]);
}
