//! What `install.sh` puts where, takes from where, and takes back.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Output, Run, Sandbox, workspace};

use crate::release::{PROGRAMS, dist, folder, name, stand_ins};
use crate::server::Server;

/// What an installation puts into a home, without what it keeps for itself.
pub(crate) const PLACES: [&str; 9] = [
    ".local/bin/amplihack",
    ".local/bin/amplihack-hooks",
    ".local/bin/recipe-runner-rs",
    ".local/bin/xpia-defend",
    ".local/share/bash-completion/completions/amplihack",
    ".local/share/fish/vendor_completions.d/amplihack.fish",
    ".local/share/man/man1/amplihack-one.1",
    ".local/share/man/man1/amplihack.1",
    ".local/share/zsh/site-functions/_amplihack",
];

/// A home, and a release of each of two versions in directories `old` and `new`.
pub(crate) fn scene() -> Sandbox {
    let sandbox = Sandbox::new();
    dist(&sandbox, &stand_ins(&sandbox, "1.0.0"), "old");
    dist(&sandbox, &stand_ins(&sandbox, "2.0.0"), "new");
    sandbox
}

/// The installer as the release in `out` has it, with `args`.
pub(crate) fn installer(sandbox: &Sandbox, out: &str, args: &[&str]) -> Run {
    Run::new(sandbox.command("sh")).arg(sandbox.root().join(out).join("install.sh")).args(args)
}

/// Installs from the folder of `version` in `out`.
#[track_caller]
pub(crate) fn install(sandbox: &Sandbox, out: &str, version: &str, args: &[&str]) -> Output {
    let folder = folder(sandbox, out, version);
    installer(sandbox, out, &[&[folder.to_str().unwrap()], args].concat()).output()
}

/// Every file and link below the home, with what is in it.
pub(crate) fn home(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![sandbox.home()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                let below = entry.path().strip_prefix(sandbox.home()).unwrap().to_owned();
                found.insert(below, std::fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    found
}

/// Claims that the home holds this version whole, and nothing of ours but it and `.local/share/amplihack`.
#[track_caller]
pub(crate) fn assert_installed(sandbox: &Sandbox, version: &str) {
    let files = home(sandbox);
    let own = |path: &&PathBuf| !path.starts_with(".local/share/amplihack");
    let found: Vec<&Path> = files.keys().filter(own).map(PathBuf::as_path).collect();
    assert_eq!(found, PLACES.map(Path::new));
    for name in PROGRAMS {
        let output = sandbox.run(sandbox.home().join(".local/bin").join(name), ["--version"]);
        output.assert_code(0).assert_stdout(format!("amplihack {version}\n"));
    }
    assert!(!sandbox.home().join(".local/share/amplihack/lock").exists());
    assert!(!sandbox.home().join(".local/share/amplihack/installing").exists());
}

#[test]
fn a_folder_and_an_archive_and_an_address_install_the_same() {
    let sandbox = scene();
    let server = Server::start(&sandbox.root().join("old"), "");
    let archive = format!("old/{}.tar.gz", name("1.0.0"));
    let mut homes = Vec::new();
    for source in [
        folder(&sandbox, "old", "1.0.0").display().to_string(),
        sandbox.root().join(archive).display().to_string(),
        server.url(),
        format!("{}/", server.url()),
    ] {
        let output = installer(&sandbox, "old", &[&source]).output();
        output.assert_code(0).assert_stdout_has("amplihack 1.0.0 is installed in ");
        output.assert_stdout_has("add it to PATH, in ~/.profile: export PATH=\"");
        assert_installed(&sandbox, "1.0.0");
        homes.push(home(&sandbox));
        std::fs::remove_dir_all(sandbox.home()).unwrap();
        std::fs::create_dir(sandbox.home()).unwrap();
    }
    assert!(homes.windows(2).all(|pair| pair[0] == pair[1]), "the homes differ");
}

#[test]
fn it_can_be_piped_into_a_shell_and_lie_in_the_release() {
    let mut sandbox = scene();
    let server = Server::start(&sandbox.root().join("new"), "");
    let url = server.url();
    for shell in ["sh", "bash --posix"] {
        let line = format!("curl -fsSL {url}/install.sh | AMPLIHACK_DOWNLOAD_URL={url} {shell}");
        sandbox.run("sh", ["-c", &line]).assert_code(0).assert_stdout_has("amplihack 2.0.0 is installed");
        assert_installed(&sandbox, "2.0.0");
        installer(&sandbox, "new", &["--uninstall"]).output().assert_code(0);
    }
    // In the folder of a release it needs no source.
    let own = folder(&sandbox, "old", "1.0.0").join("install.sh");
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.home().join(".local/bin").display()));
    let output = sandbox.run("sh", [&own]);
    output.assert_code(0).assert_stdout(format!(
        "amplihack 1.0.0 is installed in {}\n",
        sandbox.home().join(".local/bin").display()
    ));
    assert_installed(&sandbox, "1.0.0");
}

#[test]
fn it_takes_the_archive_beside_it_and_in_a_directory_that_is_named() {
    let sandbox = scene();
    let directory = sandbox.root().join("old");
    for args in [&[][..], &[directory.to_str().unwrap()], &["--version", "1.0.0"]] {
        installer(&sandbox, "old", args)
            .output()
            .assert_code(0)
            .assert_stdout_has("amplihack 1.0.0 is installed");
        assert_installed(&sandbox, "1.0.0");
        installer(&sandbox, "old", &["--uninstall"]).output().assert_code(0);
    }
    // Its sum is checked, and of several it does not choose.
    let archive = directory.join(format!("{}.tar.gz", name("1.0.0")));
    let other = sandbox.root().join("new").join(format!("{}.tar.gz", name("2.0.0")));
    std::fs::copy(&other, directory.join(other.file_name().unwrap())).unwrap();
    installer(&sandbox, "old", &[]).output().assert_code(1).assert_stderr_has("has several versions");
    installer(&sandbox, "old", &["--version", "9.9.9"])
        .output()
        .assert_code(1)
        .assert_stderr_has("has no archive");
    std::fs::copy(&other, archive).unwrap();
    let damaged = installer(&sandbox, "old", &["--version", "1.0.0"]).output();
    damaged.assert_code(1).assert_stderr_has("the checksum of ");
}

#[test]
fn places_are_chosen_by_the_environment_and_by_a_prefix() {
    let mut sandbox = scene();
    let root = sandbox.root().to_owned();
    install(&sandbox, "old", "1.0.0", &["--prefix", root.join("opt").to_str().unwrap()]).assert_code(0);
    assert!(
        root.join("opt/bin/amplihack").is_file() && root.join("opt/share/man/man1/amplihack.1").is_file()
    );
    assert_eq!(home(&sandbox).len(), 0);
    sandbox.set("AMPLIHACK_INSTALL_DIR", root.join("tools")).set("XDG_DATA_HOME", root.join("data"));
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    assert!(root.join("tools/amplihack").is_file() && root.join("data/man/man1/amplihack.1").is_file());
    assert_eq!(home(&sandbox).len(), 0);
    // One home has one of them.
    sandbox.set("AMPLIHACK_INSTALL_DIR", root.join("others"));
    install(&sandbox, "new", "2.0.0", &[])
        .assert_code(1)
        .assert_stderr_has("/tools; set AMPLIHACK_INSTALL_DIR");
    assert!(!root.join("others").exists());
    sandbox.set("AMPLIHACK_INSTALL_DIR", "relative");
    install(&sandbox, "new", "2.0.0", &[]).assert_code(1).assert_stderr_has("no absolute path: relative");
    sandbox.set("AMPLIHACK_INSTALL_DIR", root.join("tools"));
    installer(&sandbox, "old", &["--uninstall"]).output().assert_code(0);
    assert!(!root.join("tools").exists() && !root.join("data").exists());
}

#[test]
fn an_upgrade_goes_back_and_forth_and_away() {
    let sandbox = scene();
    let before = home(&sandbox);
    let rollback = || installer(&sandbox, "new", &["--rollback"]).output();
    rollback().assert_code(1).assert_stderr_has("there is no previous version in ");
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    rollback().assert_code(1).assert_stderr_has("there is no previous version in ");
    install(&sandbox, "new", "2.0.0", &[]).assert_code(0).assert_stdout_has("install.sh --rollback");
    assert_installed(&sandbox, "2.0.0");
    for version in ["1.0.0", "2.0.0"] {
        // By the script that was kept, from anywhere.
        let own = sandbox.home().join(".local/share/amplihack/install.sh");
        sandbox.run("sh", [own.to_str().unwrap(), "--rollback"]).assert_code(0);
        assert_installed(&sandbox, version);
    }
    let output = installer(&sandbox, "new", &["--uninstall"]).output();
    output.assert_code(0).assert_stdout_has("amplihack was removed from ");
    // Nothing was ever run here, so nothing is left to be named.
    assert!(!output.stdout_text().contains("sessions and settings"), "{output}");
    assert_eq!(home(&sandbox), before);
    let output = installer(&sandbox, "new", &["--uninstall"]).output();
    output.assert_code(1).assert_stderr_has("nothing that this script installed is in ");
}

#[test]
fn what_a_later_version_lacks_is_gone_and_comes_back() {
    let sandbox = scene();
    let folder = folder(&sandbox, "new", "2.0.0");
    let page = folder.join("share/man/man1/amplihack-one.1");
    std::fs::remove_file(page).unwrap();
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let rest: Vec<&str> = sums.lines().filter(|line| !line.ends_with("amplihack-one.1")).collect();
    sandbox.write(folder.join("SHA256SUMS"), rest.join("\n") + "\n");
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    install(&sandbox, "new", "2.0.0", &[]).assert_code(0);
    let there = sandbox.home().join(".local/share/man/man1/amplihack-one.1");
    assert!(!there.exists());
    installer(&sandbox, "new", &["--rollback"]).output().assert_code(0);
    assert!(there.exists());
}

#[test]
fn a_running_program_goes_on_through_an_upgrade() {
    let sandbox = scene();
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    let program = sandbox.home().join(".local/bin/amplihack");
    sandbox.run("mkfifo", [sandbox.home().join("fifo")]).assert_code(0);
    let mut running = Run::new(sandbox.command(&program)).arg("wait").spawn();
    running.until("it has started", |_| sandbox.home().join("started").exists());
    install(&sandbox, "new", "2.0.0", &[]).assert_code(0);
    std::fs::write(sandbox.home().join("fifo"), "on\n").unwrap();
    running.wait().assert_code(0).assert_stdout("1.0.0 read on\n");
    sandbox.run(&program, ["--version"]).assert_stdout("amplihack 2.0.0\n");
}

#[test]
fn what_others_put_there_is_replaced_when_asked_and_comes_back() {
    let sandbox = scene();
    sandbox.write("home/.local/bin/xpia-defend", "theirs");
    sandbox.write("home/elsewhere", "linked");
    std::os::unix::fs::symlink("../../elsewhere", sandbox.home().join(".local/bin/amplihack")).unwrap();
    sandbox.write("home/.local/share/man/man1/amplihack.1", "my page");
    let before = home(&sandbox);
    let output = install(&sandbox, "old", "1.0.0", &[]);
    output
        .assert_code(1)
        .assert_stderr_has("this script did not install it; remove it, or replace it with --force");
    assert_eq!(home(&sandbox), before);
    install(&sandbox, "old", "1.0.0", &["--force"]).assert_code(0);
    install(&sandbox, "new", "2.0.0", &[]).assert_code(0);
    sandbox
        .run(sandbox.home().join(".local/bin/amplihack"), ["--version"])
        .assert_stdout("amplihack 2.0.0\n");
    assert_eq!(home(&sandbox)[Path::new("elsewhere")], b"linked");
    // A program that somebody exchanged since is theirs again.
    sandbox.write("home/.local/bin/recipe-runner-rs", "mine now");
    install(&sandbox, "old", "1.0.0", &[]).assert_code(1).assert_stderr_has("recipe-runner-rs is there");
    let output = installer(&sandbox, "new", &["--uninstall"]).output();
    output.assert_code(0).assert_stdout_has("recipe-runner-rs, which is not what was installed");
    let mut after = home(&sandbox);
    assert_eq!(after.remove(Path::new(".local/bin/recipe-runner-rs")).unwrap(), b"mine now");
    assert_eq!(after, before);
    assert!(sandbox.home().join(".local/bin/amplihack").is_symlink());
}

/// Directories of the user's that held nothing are still there, and one home is one home with and without a slash at its end.
#[test]
fn directories_that_were_there_stay_however_they_are_written() {
    let mut sandbox = scene();
    let empty = sandbox.root().join("mine/empty");
    std::fs::create_dir_all(&empty).unwrap();
    let prefix = format!("{}/below/", empty.display());
    install(&sandbox, "old", "1.0.0", &["--prefix", &prefix]).assert_code(0);
    let output = installer(&sandbox, "old", &["--uninstall", "--prefix", prefix.trim_end_matches('/')]);
    output.output().assert_code(0);
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
    let home = sandbox.home();
    sandbox.set("HOME", format!("{}/", home.display()));
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    sandbox.set("HOME", &home);
    installer(&sandbox, "old", &["--uninstall"]).output().assert_code(0);
    assert!(home.is_dir() && !home.join(".local").exists());
}

#[test]
fn a_machine_without_a_tool_for_sums_is_told_so() {
    let mut sandbox = scene();
    let folder = folder(&sandbox, "old", "1.0.0");
    for tool in ["uname", "mktemp", "rm", "mkdir", "dirname", "basename", "cat", "cp", "cut", "head", "tail"]
    {
        std::os::unix::fs::symlink(format!("/usr/bin/{tool}"), sandbox.bin().join(tool)).unwrap();
    }
    sandbox.set("PATH", sandbox.bin());
    let output = sandbox.run("/bin/sh", [sandbox.root().join("old/install.sh"), folder]);
    let said = output.assert_code(1).stderr_text();
    assert!(said.starts_with("error: neither sha256sum nor shasum"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_does_not_fit_this_machine_or_cannot_be_read_is_refused() {
    let mut sandbox = scene();
    let folder = folder(&sandbox, "old", "1.0.0");
    let source = folder.to_str().unwrap();
    // With neither a release nor an archive beside it.
    let alone = sandbox.write("alone/install.sh", std::fs::read(folder.join("install.sh")).unwrap());
    let said = sandbox.run("sh", [&alone]);
    said.assert_code(2).assert_stderr_has("no SOURCE: name a folder, an archive or an address");
    let misused = |args: &[&str]| installer(&sandbox, "old", args).output().assert_code(2).stderr_text();
    for (args, why) in [
        (&["--nonsense"][..], "unknown option --nonsense"),
        (&["--prefix"], "--prefix needs a value"),
        (&["a", "b"], "two sources, a and b"),
        (&["ftp://x"], "an address begins with https://"),
        (&["http://localhost:x@example.invalid/"], "a name or password in it"),
        (&[source, "--sha256", "00"], "--sha256 is the sum of an archive"),
    ] {
        assert!(misused(args).contains(why), "{args:?}: {}", misused(args));
    }
    for (args, why) in [
        (&["http://example.invalid/x"][..], "is not encrypted"),
        (&["/nowhere"], "there is no folder or archive /nowhere"),
        (&["/etc"], "/etc is not the folder of a release"),
        (&[source, "--version", "3.0.0"], "this release is version 1.0.0, not 3.0.0"),
    ] {
        installer(&sandbox, "old", args).output().assert_code(1).assert_stderr_has(why);
    }
    for (system, machine, why) in [
        ("Darwin", "arm64", "there are releases for Linux only, and this is Darwin"),
        ("Linux", "riscv64", "there are no releases for riscv64"),
        ("Linux", "aarch64", "this release is for x86_64-unknown-linux-gnu, and this machine is aarch64"),
    ] {
        let text = format!("#!/bin/sh\n[ \"$1\" = -s ] && echo {system} || echo {machine}\n");
        let path = sandbox.write("bin/uname", text);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        install(&sandbox, "old", "1.0.0", &[]).assert_code(1).assert_stderr_has(why);
    }
    std::fs::remove_file(sandbox.bin().join("uname")).unwrap();
    // A program that does not run here is not installed, whatever its sum.
    sandbox.write(folder.join("bin/amplihack"), "#!/bin/sh\necho 'no such system call'\nexit 1\n");
    let mut sums = sandbox.command("sh");
    sums.args(["-c", "find . -type f ! -name SHA256SUMS -printf '%P\\n' | xargs sha256sum >SHA256SUMS"]);
    sums.current_dir(&folder);
    Run::new(sums).output().assert_code(0);
    let output = install(&sandbox, "old", "1.0.0", &[]);
    output.assert_code(1).assert_stderr_has("does not run here (no such system call)");
    sandbox.set("HOME", "");
    install(&sandbox, "new", "2.0.0", &[]).assert_code(1).assert_stderr_has("HOME is no absolute path");
    assert_eq!(home(&sandbox).len(), 0);
}

#[test]
fn an_address_with_several_versions_needs_a_choice() {
    let sandbox = scene();
    dist(&sandbox, &sandbox.root().join("bins-1.0.0"), "both");
    dist(&sandbox, &sandbox.root().join("bins-2.0.0"), "both");
    let both = sandbox.root().join("both");
    let sums = |out: &str| std::fs::read_to_string(sandbox.root().join(out).join("SHA256SUMS")).unwrap();
    sandbox.write("both/SHA256SUMS", sums("old") + &sums("new"));
    let server = Server::start(&both, "");
    let url = server.url();
    installer(&sandbox, "new", &[&url])
        .output()
        .assert_code(1)
        .assert_stderr_has("choose one with --version");
    let absent = installer(&sandbox, "new", &[&url, "--version", "3.0.0"]).output();
    absent.assert_code(1).assert_stderr_has("lists no archive of version 3.0.0 for x86_64-unknown-linux-gnu");
    installer(&sandbox, "new", &[&url, "--version", "1.0.0"]).output().assert_code(0);
    assert_installed(&sandbox, "1.0.0");
}

#[test]
fn the_script_is_posix_and_free_of_what_shellcheck_knows() {
    let sandbox = Sandbox::new();
    let script = workspace().join("install.sh");
    for reader in [&["sh", "-n"][..], &["bash", "--posix", "-n"], &["zsh", "--emulate", "sh", "-n"]] {
        if amplihack_testkit::require_programs(&reader[..1]) {
            sandbox
                .run(reader[0], [&reader[1..], &[script.to_str().unwrap()]].concat())
                .assert_code(0)
                .assert_stderr("");
        }
    }
    // More than the tests need of a machine: where it is, it counts.
    if sandbox.run("sh", ["-c", "command -v shellcheck"]).code == Some(0) {
        sandbox.run("shellcheck", [&script]).assert_code(0);
    }
}
