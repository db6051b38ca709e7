//! The seed's selection table at its public API, against a table written from the document, and each mode through real children.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use amplihack_config::prompt_delivery::{
    AUTO_TEMPFILE_THRESHOLD_BYTES, DeliveryCaps, DeliveryHandle, DeliveryMode, DeliverySelection,
    MAX_ARG_BYTES, PromptDelivery, PromptTooLarge, SelectError, deliver, sanitize_nul, select_delivery,
    select_mode,
};
use proptest::prelude::*;

const SIZES: [usize; 6] = [0, 4096, 4097, 131_071, 131_072, 10 << 20];

/// The documents' selection and degradation tables, spelled out. One line a request and a set of supported modes
/// (`ats`), one letter a size class: up to 4096 bytes, up to what an argument holds, more. `!` too large, `x` only
/// channels that the request must not use, `-` no channel.
const TABLE: &str = "
auto     none  - - -
auto     a     a a !
auto     t     t t t
auto     s     s s s
auto     at    a t t
auto     as    a s s
auto     ts    t t t
auto     ats   a t t
argv     none  - - -
argv     a     a a !
argv     t     t t t
argv     s     s s s
argv     at    a a t
argv     as    a a s
argv     ts    t t t
argv     ats   a a t
tempfile none  - - -
tempfile a     a a !
tempfile t     t t t
tempfile s     s s s
tempfile at    t t t
tempfile as    s s s
tempfile ts    t t t
tempfile ats   t t t
stdin    none  - - -
stdin    a     a a !
stdin    t     x x x
stdin    s     s s s
stdin    at    a a !
stdin    as    s s s
stdin    ts    s s s
stdin    ats   s s s
";

/// Request, capabilities and the right letter for each of [`SIZES`].
fn table() -> Vec<(PromptDelivery, DeliveryCaps, [char; 6])> {
    let rows: Vec<_> = TABLE
        .trim()
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let class = |column: usize| cells[column].chars().next().unwrap();
            let (small, middle, large) = (class(2), class(3), class(4));
            let supported = cells[1].replace("none", "");
            let caps = DeliveryCaps {
                supports_argv: supported.contains('a'),
                supports_tempfile: supported.contains('t'),
                supports_stdin: supported.contains('s'),
                tempfile_flag: None,
            };
            let requested = PromptDelivery::parse(cells[0]).unwrap();
            (requested, caps, [small, small, middle, middle, large, large])
        })
        .collect();
    assert_eq!(rows.len(), 4 * 8);
    rows
}

fn letter(mode: DeliveryMode) -> char {
    mode.to_string().chars().next().unwrap()
}

#[test]
fn every_row_of_the_selection_table() {
    for (requested, caps, right) in table() {
        for (size, right) in SIZES.into_iter().zip(right) {
            let what = format!("{requested} of {size} with {caps:?}");
            let selected = select_delivery(requested, size, &caps);
            let answer = match &selected {
                Ok(selection) => letter(selection.mode),
                Err(SelectError::TooLarge(PromptTooLarge { size: said, limit: 131_071 }))
                    if *said == size =>
                {
                    '!'
                }
                Err(SelectError::Unsupported { requested: said }) if *said == requested => 'x',
                Err(SelectError::NoChannel) => '-',
                Err(other) => panic!("{what}: {other:?}"),
            };
            assert_eq!(answer, right, "{what}");
            let mode = select_mode(requested, size, &caps);
            assert_eq!(
                letter(mode),
                if right.is_alphabetic() && right != 'x' { right } else { 'a' },
                "{what}"
            );
            // A warning exactly where an explicit request was not met.
            let warnings: Vec<String> = selected
                .into_iter()
                .flat_map(|selection| selection.warnings)
                .map(|w| w.to_string())
                .collect();
            let degraded = requested != PromptDelivery::Auto
                && !requested.to_string().starts_with(right)
                && "ats".contains(right);
            let expected = degraded.then(|| {
                if requested == PromptDelivery::Argv && caps.supports_argv {
                    format!(
                        "requested argv cannot hold a prompt of {size} bytes (at most 131071); degrading to {mode}"
                    )
                } else {
                    format!("requested {requested} is unsupported; degrading to {mode}")
                }
            });
            assert_eq!(warnings, Vec::from_iter(expected), "{what}");
        }
    }
}

#[test]
fn delivering_does_what_the_table_says_or_nothing() {
    let large = "'".repeat(10 << 20);
    let mut files = Vec::new();
    for (requested, caps, right) in table() {
        for (size, right) in SIZES.into_iter().zip(right) {
            let what = format!("{requested} of {size} with {caps:?}");
            let mut cmd = Command::new("agent");
            cmd.arg("run");
            let delivered = deliver(&mut cmd, &large[..size], requested, &caps);
            let args: Vec<_> = cmd.get_args().collect();
            match delivered {
                Ok(handle) => {
                    assert_eq!(letter(handle.mode()), right, "{what}");
                    match handle.tempfile_path() {
                        Some(path) => {
                            assert_eq!(args, ["run".as_ref(), path.as_os_str()], "{what}");
                            assert!(std::fs::read(path).unwrap() == large.as_bytes()[..size], "{what}");
                            files.push(path.to_owned());
                        }
                        None if right == 'a' => assert!(args == ["run", &large[..size]], "{what}"),
                        None => assert_eq!(args, ["run"], "{what}"),
                    }
                }
                Err(error) => {
                    assert_eq!(args, ["run"], "{what}");
                    let too_large = error.get_ref().and_then(|inner| inner.downcast_ref::<PromptTooLarge>());
                    assert_eq!(too_large.is_some(), right == '!', "{what}: {error}");
                    let kind = if right == '!' {
                        io::ErrorKind::ArgumentListTooLong
                    } else {
                        io::ErrorKind::InvalidInput
                    };
                    assert_eq!(error.kind(), kind, "{what}");
                }
            }
        }
    }
    assert!(files.len() > 20, "{files:?}");
    assert!(!files.iter().any(|file| file.exists()), "a prompt file outlived its handle");
}

proptest! {
    #[test]
    fn what_is_selected_is_supported_and_holds_the_prompt(
        requested in prop::sample::select(vec![
            PromptDelivery::Auto, PromptDelivery::Argv, PromptDelivery::Tempfile, PromptDelivery::Stdin,
        ]),
        [supports_argv, supports_tempfile, supports_stdin] in any::<[bool; 3]>(),
        size in prop_oneof![0..10_000_usize, 131_000..131_200_usize, any::<usize>()],
    ) {
        let caps = DeliveryCaps { supports_argv, supports_tempfile, supports_stdin, tempfile_flag: None };
        let fits = supports_argv && size <= MAX_ARG_BYTES;
        if let Ok(DeliverySelection { mode, .. }) = select_delivery(requested, size, &caps) {
            prop_assert!(caps.supports_mode(mode));
            prop_assert!(mode != DeliveryMode::Argv || fits);
            prop_assert!(requested != PromptDelivery::Stdin || mode != DeliveryMode::Tempfile);
        } else {
            // Only if no channel that the request may use could have taken it.
            prop_assert!(!fits && !supports_stdin);
            prop_assert!(!supports_tempfile || requested == PromptDelivery::Stdin);
        }
    }

    #[test]
    fn sanitizing_removes_the_nuls_and_nothing_else(prompt in "[\\x00a'\u{e9}\u{1f600}]{0,40}") {
        let (clean, count) = sanitize_nul(&prompt);
        prop_assert_eq!(&*clean, prompt.chars().filter(|&c| c != '\0').collect::<String>());
        prop_assert_eq!(clean.len() + count, prompt.len());
        prop_assert_eq!(matches!(clean, Cow::Borrowed(_)), count == 0);
    }
}

/// 64 KiB that a shell, a terminal or a trimming reader would change.
fn nasty_prompt() -> String {
    let mut prompt = "-don't $(touch x) `id` \"$HOME\"; \\ | & \u{6f22}\u{1f600}\r\n".repeat(1 << 11);
    prompt.truncate(prompt.floor_char_boundary(65_536 - 3));
    prompt + "\n\n\n"
}

/// What the child got, with the handle kept until it has ended.
fn received(program: &[&str], prompt: &str, requested: PromptDelivery, caps: &DeliveryCaps) -> Vec<u8> {
    let mut cmd = Command::new(program[0]);
    cmd.args(&program[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
    let handle = deliver(&mut cmd, prompt, requested, caps).unwrap();
    assert_eq!(Some(handle.mode()), requested.mode());
    let mut child = cmd.spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(stdin.is_some(), requested == PromptDelivery::Stdin);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut pipe| pipe.write_all(sanitize_nul(prompt).0.as_bytes())));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success());
    output.stdout
}

#[test]
fn a_nasty_prompt_arrives_unchanged_by_every_mode() {
    let prompt = nasty_prompt();
    assert!(prompt.len() > 65_000 && prompt.len() <= 65_536);
    let all = DeliveryCaps { tempfile_flag: None, ..DeliveryCaps::all_modes("") };
    for (program, mode) in [
        (&["printf", "%s"][..], PromptDelivery::Argv),
        (&["cat", "--"], PromptDelivery::Tempfile),
        (&["cat"], PromptDelivery::Stdin),
    ] {
        assert!(received(program, &prompt, mode, &all) == prompt.as_bytes(), "{mode}");
        // NULs go in every mode, at the ends and inside; nothing else does.
        assert_eq!(received(program, "\0it's\0\0 so\n\0", mode, &all), b"it's so\n", "{mode}");
    }
}

#[test]
fn the_size_that_counts_is_that_without_nuls() {
    let caps = DeliveryCaps::argv_and_stdin();
    let padded = "x".repeat(AUTO_TEMPFILE_THRESHOLD_BYTES) + "\0";
    let mut cmd = Command::new("agent");
    let handle = deliver(&mut cmd, &padded, PromptDelivery::Auto, &caps).unwrap();
    assert_eq!(handle.mode(), DeliveryMode::Argv);
    // Bytes, not characters.
    let accents = "\u{e9}".repeat(AUTO_TEMPFILE_THRESHOLD_BYTES / 2) + "x";
    assert_eq!(deliver(&mut cmd, &accents, PromptDelivery::Auto, &caps).unwrap().mode(), DeliveryMode::Stdin);
}

#[test]
fn the_largest_argument_really_starts_and_one_byte_more_really_does_not() {
    let caps = DeliveryCaps::argv_only();
    let largest = "x".repeat(MAX_ARG_BYTES);
    assert!(received(&["printf", "%s"], &largest, PromptDelivery::Argv, &caps) == largest.as_bytes());
    if cfg!(target_os = "linux") {
        let error = Command::new("true").arg(largest + "x").spawn().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ArgumentListTooLong);
    }
}

#[test]
fn the_file_is_private_named_after_its_flag_and_goes_with_the_handle() {
    for (flag, words) in [(Some("--prompt-file"), 2), (Some(""), 1), (None, 1)] {
        let caps = DeliveryCaps { tempfile_flag: flag, ..DeliveryCaps::all_modes("") };
        let mut cmd = Command::new("agent");
        let handle = deliver(&mut cmd, "it's", PromptDelivery::Tempfile, &caps).unwrap();
        let path = handle.tempfile_path().unwrap().to_owned();
        let args: Vec<_> = cmd.get_args().collect();
        assert_eq!(args.len(), words, "{flag:?}");
        assert_eq!(args[words - 1], path);
        assert!(words == 1 || args[0] == "--prompt-file");

        let directory = path.parent().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(directory), mode(&path)), (0o700, 0o600));
        assert_eq!(directory.parent(), Some(std::env::temp_dir().as_path()));
        for name in [directory.file_name(), path.file_name()] {
            let name = name.unwrap().to_str().unwrap();
            assert!(name.starts_with("amplihack-prompt-") && name.len() > 17, "{name}");
        }
        // What an agent puts beside the file goes too.
        std::fs::write(directory.join("it.swp"), "x").unwrap();
        drop(handle);
        assert!(!directory.exists());
    }
}

#[test]
fn a_relative_directory_gives_a_path_that_holds_anywhere() {
    let handle = DeliveryHandle::tempfile_in(Path::new("."), "x").unwrap();
    let path = handle.tempfile_path().unwrap();
    assert!(path.is_absolute() && path.exists());
}

#[test]
fn error_texts() {
    let text = |requested, size, caps: &DeliveryCaps| {
        select_delivery(requested, size, caps).unwrap_err().to_string()
    };
    let none = DeliveryCaps { supports_argv: false, ..DeliveryCaps::argv_only() };
    assert_eq!(
        text(PromptDelivery::Auto, 200_000, &DeliveryCaps::argv_only()),
        "prompt of 200000 bytes does not fit into one argument, which holds 131071 bytes; \
         shorten it, or use a program that takes prompts in a file or on stdin"
    );
    assert_eq!(
        text(PromptDelivery::Stdin, 1, &DeliveryCaps { supports_tempfile: true, ..none }),
        "requested stdin is unsupported and must not degrade further; request auto"
    );
    assert_eq!(
        text(PromptDelivery::Auto, 1, &none),
        "the program takes a prompt neither as argument, nor in a file, nor on stdin; use another program"
    );
}
