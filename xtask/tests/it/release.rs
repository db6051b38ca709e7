//! What a release holds; and the releases that the other tests install.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Run, Sandbox};

/// The programs of every release.
pub(crate) const PROGRAMS: [&str; 4] = ["amplihack", "amplihack-hooks", "recipe-runner-rs", "xpia-defend"];

/// Programs that stand in for those of version `version`: they say it, and do what the packer and the installer ask for.
pub(crate) fn stand_ins(sandbox: &Sandbox, version: &str) -> PathBuf {
    let text = format!(
        "#!/bin/sh\n\
         case $* in\n\
         --version) echo 'amplihack {version}' ;;\n\
         --help) printf 'Usage: x\\n\\nCommands:\\n  one  Do one\\n\\nOptions:\\n  -h\\n' ;;\n\
         'one --help') echo 'Usage: x one' ;;\n\
         wait) : >\"$HOME/started\"; read -r word <\"$HOME/fifo\"; echo \"{version} read $word\" ;;\n\
         *) echo \"{version}: $*\" ;;\n\
         esac\n"
    );
    let directory = sandbox.root().join(format!("bins-{version}"));
    for name in PROGRAMS {
        let path = sandbox.write(directory.join(name), &text);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    directory
}

/// Makes a release of the programs in `bins`, into the directory `out` of the sandbox.
#[track_caller]
pub(crate) fn dist(sandbox: &Sandbox, bins: &Path, out: &str) -> Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_xtask"));
    command.arg("dist").arg("--bins").arg(bins).arg("--out").arg(sandbox.root().join(out));
    command.env("SOURCE_DATE_EPOCH", "1767225600");
    Run::new(command).output().assert_code(0).clone()
}

/// The folder of the release of `version` below `out`.
pub(crate) fn folder(sandbox: &Sandbox, out: &str, version: &str) -> PathBuf {
    sandbox.root().join(out).join(name(version))
}

/// The name of a release, without what an archive's name ends in.
pub(crate) fn name(version: &str) -> String {
    format!("amplihack-{version}-x86_64-unknown-linux-gnu")
}

#[test]
fn a_release_holds_what_it_lists_and_is_the_same_each_time() {
    let sandbox = Sandbox::new();
    let bins = stand_ins(&sandbox, "1.0.0");
    dist(&sandbox, &bins, "one");
    // Over what is there already.
    dist(&sandbox, &bins, "one");
    dist(&sandbox, &bins, "two");
    let read = |path: &str| std::fs::read(sandbox.root().join(path)).unwrap();
    let archive = format!("{}.tar.gz", name("1.0.0"));
    assert!(read(&format!("one/{archive}")) == read(&format!("two/{archive}")), "archives differ");

    let folder = folder(&sandbox, "one", "1.0.0");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let names: Vec<&str> = sums.lines().map(|line| line.split("  ").nth(1).unwrap()).collect();
    let expected = [
        "LICENSE",
        "RELEASE",
        "bin/amplihack",
        "bin/amplihack-hooks",
        "bin/recipe-runner-rs",
        "bin/xpia-defend",
        "install.sh",
        "share/bash-completion/completions/amplihack",
        "share/fish/vendor_completions.d/amplihack.fish",
        "share/man/man1/amplihack-one.1",
        "share/man/man1/amplihack.1",
        "share/zsh/site-functions/_amplihack",
    ];
    assert_eq!(names, expected);
    for directory in [&folder, &sandbox.root().join("one")] {
        let mut check = sandbox.command("sha256sum");
        check.args(["--check", "--strict", "--quiet", "SHA256SUMS"]).current_dir(directory);
        Run::new(check).output().assert_code(0);
    }
    let mut list = sandbox.command("tar");
    list.arg("-tzvf").arg(sandbox.root().join("one").join(&archive));
    let listing = Run::new(list).output().assert_code(0).stdout_text();
    for line in listing.lines() {
        let program = line.contains("/bin/") || line.ends_with("install.sh");
        let mode = if line.starts_with('d') || program { "rwxr-xr-x 0/0" } else { "rw-r--r-- 0/0" };
        assert_eq!(&line[1..].split(' ').take(2).collect::<Vec<_>>().join(" "), mode, "{line}");
    }
    assert_eq!(listing.lines().filter(|line| line.starts_with('-')).count(), expected.len() + 1, "{listing}");
}

#[test]
fn programs_that_are_none_make_no_release() {
    let sandbox = Sandbox::new();
    let bins = stand_ins(&sandbox, "1.0.0");
    for (version, why) in [("", "which is no version"), ("../../x", "which is no version")] {
        let text = format!("#!/bin/sh\necho 'amplihack {version}'\n");
        sandbox.write(bins.join("amplihack"), text);
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_xtask"));
        command.arg("dist").arg("--bins").arg(&bins).arg("--out").arg(sandbox.root().join("out"));
        Run::new(command).output().assert_code(1).assert_stderr_has(why);
        assert!(!sandbox.root().join("out").exists());
    }
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_xtask"));
    command.args(["dist", "--nonsense"]);
    Run::new(command).output().assert_code(1).assert_stderr_has("cargo xtask dist [--bins DIR] [--out DIR]");
}
