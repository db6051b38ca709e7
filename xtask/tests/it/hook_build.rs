//! How the hook binary is built where musl can be had, where it cannot, and where its functions cannot be brought into order.

use std::os::unix::fs::PermissionsExt;

use amplihack_testkit::{Output, Run, Sandbox};

/// A cargo that writes down how it is called, and makes the program.
const CARGO: &str = r#"#!/bin/sh
echo "$*" >>"$HOME/calls"
case $* in
*first-calls*) exit 0 ;;
*--order-key=*) if [ -e "$HOME/no-order" ]; then echo 'the guard stops ls' >&2; exit 101; fi ;;
esac
case $* in *linux-musl*) target=x86_64-unknown-linux-musl ;; *) target=x86_64-unknown-linux-gnu ;; esac
mkdir -p "$CARGO_TARGET_DIR/$target/hook"
echo "$target" >"$CARGO_TARGET_DIR/$target/hook/amplihack-hooks"
"#;

/// A compiler that says where its libraries are.
const RUSTC: &str = "#!/bin/sh\nfor target; do :; done\necho \"$HOME/$target/lib\"\n";

/// A machine with a C compiler for musl, and Rust's linker.
fn machine() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for (name, text) in [("cargo", CARGO), ("rustc", RUSTC), ("musl-gcc", "#!/bin/sh\n")] {
        let path = sandbox.write(sandbox.bin().join(name), text);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    sandbox.write(sandbox.home().join("x86_64-unknown-linux-gnu/bin/gcc-ld/ld.lld"), "");
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox
}

fn build(sandbox: &Sandbox) -> Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_xtask"));
    command.args(["dist", "--hook-binary"]).env("CARGO_TARGET_DIR", sandbox.root().join("target"));
    command.env("CARGO", sandbox.bin().join("cargo")).env("RUSTC", sandbox.bin().join("rustc"));
    Run::new(command).output()
}

fn placed(sandbox: &Sandbox) -> Option<String> {
    std::fs::read_to_string(sandbox.root().join("target/hook-binary/amplihack-hooks")).ok()
}

fn calls(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.home().join("calls")).unwrap()
}

#[test]
fn without_rusts_target_it_is_built_as_the_other_programs_and_said() {
    let sandbox = machine();
    let output = build(&sandbox);
    output.assert_code(0).assert_stderr_has(
        "amplihack-hooks: built for x86_64-unknown-linux-gnu, and so starts more slowly: \
         Rust's target is missing: rustup target add x86_64-unknown-linux-musl",
    );
    assert_eq!(placed(&sandbox).unwrap(), "x86_64-unknown-linux-gnu\n");
    let expected = "build --profile hook --target x86_64-unknown-linux-gnu --package amplihack-hooks --bin amplihack-hooks\n";
    assert_eq!(calls(&sandbox), expected);
}

#[test]
fn with_musl_it_is_compiled_once_and_linked_in_order() {
    let sandbox = machine();
    std::fs::create_dir_all(sandbox.home().join("x86_64-unknown-linux-musl/lib")).unwrap();
    build(&sandbox).assert_code(0);
    assert_eq!(placed(&sandbox).unwrap(), "x86_64-unknown-linux-musl\n");
    let calls = calls(&sandbox);
    let builds: Vec<&str> = calls.lines().filter(|call| call.contains("amplihack-hooks")).collect();
    assert!(builds.len() == 1 && builds[0].contains("--order-key="), "{calls}");
}

#[test]
fn a_program_whose_functions_are_in_no_order_is_not_shipped() {
    let sandbox = machine();
    std::fs::create_dir_all(sandbox.home().join("x86_64-unknown-linux-musl/lib")).unwrap();
    sandbox.write(sandbox.home().join("no-order"), "");
    build(&sandbox).assert_code(1).assert_stderr_has("the guard stops ls");
    assert_eq!(placed(&sandbox), None);
}
