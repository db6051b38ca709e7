//! Requests for a prompt channel, and the channels of a program.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::{
    DeliveryCaps, DeliveryMode, DeliveryWarning, ENV_VAR_NAME, PromptDelivery, from_env_in,
};

#[test]
fn names_parse_whatever_their_case_and_print_as_documented() {
    let table = [
        ("auto", PromptDelivery::Auto, None),
        ("argv", PromptDelivery::Argv, Some(DeliveryMode::Argv)),
        ("tempfile", PromptDelivery::Tempfile, Some(DeliveryMode::Tempfile)),
        ("stdin", PromptDelivery::Stdin, Some(DeliveryMode::Stdin)),
    ];
    for (name, request, mode) in table {
        for spelling in [name.to_owned(), name.to_uppercase(), format!(" \t{name}\n")] {
            assert_eq!(PromptDelivery::parse(&spelling), Some(request), "{spelling:?}");
        }
        assert_eq!(request.to_string(), name);
        assert_eq!(request.mode(), mode);
        assert_eq!(mode.map_or("auto".into(), |mode| mode.to_string()), name);
    }
    for unknown in ["", " ", "file", "argv,stdin", "std in", "auto\0"] {
        assert_eq!(PromptDelivery::parse(unknown), None, "{unknown:?}");
    }
}

#[test]
fn the_environment_is_a_request_and_nonsense_is_auto_with_one_warning() {
    let read = |value: OsString| from_env_in(&Env::empty().with_variable(ENV_VAR_NAME, value));
    assert_eq!(from_env_in(&Env::empty()), (PromptDelivery::Auto, None));
    for (value, requested) in [
        ("", PromptDelivery::Auto),
        (" \t", PromptDelivery::Auto),
        ("AUTO", PromptDelivery::Auto),
        ("Argv", PromptDelivery::Argv),
        (" tempfile ", PromptDelivery::Tempfile),
        ("STDIN", PromptDelivery::Stdin),
    ] {
        assert_eq!(read(value.into()), (requested, None), "{value:?}");
    }
    for value in [OsString::from("pigeon"), OsString::from_vec(b"argv\xff".to_vec())] {
        assert_eq!(read(value), (PromptDelivery::Auto, Some(DeliveryWarning::UnknownRequest)));
    }
}

#[test]
fn the_constructors_support_what_their_names_say() {
    let supported = |caps: DeliveryCaps| {
        [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin].map(|mode| caps.supports_mode(mode))
    };
    assert_eq!(supported(DeliveryCaps::argv_only()), [true, false, false]);
    assert_eq!(supported(DeliveryCaps::argv_and_tempfile("-f")), [true, true, false]);
    assert_eq!(supported(DeliveryCaps::argv_and_stdin()), [true, false, true]);
    assert_eq!(supported(DeliveryCaps::all_modes("-f")), [true, true, true]);
    assert_eq!(DeliveryCaps::argv_and_stdin().tempfile_flag, None);
    assert_eq!(DeliveryCaps::all_modes("-f").tempfile_flag, Some("-f"));
}
