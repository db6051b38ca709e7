//! The CLI on another machine: one quoted remote command, and its environment in front of its input.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_agent::lookup;
use amplihack_config::env::Env;

use crate::error::{Error, Result};
use crate::surface::SshSurface;

/// The ssh program.
pub(super) fn find_ssh(ssh: &SshSurface, base: &Env) -> Result<PathBuf> {
    if let Some(path) = &ssh.ssh_path {
        return Ok(path.clone());
    }
    base.get("PATH").and_then(|path| lookup::on_path("ssh", path)).ok_or_else(|| {
        Error::invalid_option("execution_surface", "ssh is not on PATH; install it or give ssh_path")
    })
}

/// The arguments of ssh.
pub(super) fn ssh_arguments(
    ssh: &SshSurface,
    cwd: Option<&Path>,
    args: &[OsString],
) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["-T".into()];
    for (name, value) in &ssh.options {
        words.extend(["-o".into(), format!("{name}={value}").into()]);
    }
    if let Some(port) = ssh.port {
        words.extend(["-p".into(), port.to_string().into()]);
    }
    if let Some(file) = &ssh.identity_file {
        words.extend(["-i".into(), file.into()]);
    }
    if let Some(user) = &ssh.user {
        words.extend(["-l".into(), user.into()]);
    }
    words.extend(["--".into(), ssh.destination.clone().into(), remote_command(cwd, args)?.into()]);
    Ok(words)
}

/// Ends the command when the connection is gone. A server without a terminal to hang up tells it nothing, and an agent that is silent would go on.
///
/// The server's process for this connection is the parent. Where it may not be asked for, nothing is watched. The group is the command's
/// own: the server made a session for it.
const GUARD: &str = "if kill -0 \"$PPID\" 2>/dev/null; then (while kill -0 \"$$\" && kill -0 \"$PPID\"; do sleep 1 || exit; done; \
kill -0 \"$$\" && { trap '' TERM; kill -s TERM 0; for amp_i in 1 2 3 4 5; do sleep 1; kill -0 \"$$\" || exit; done; kill -s KILL 0; }) </dev/null >/dev/null 2>&1 & fi; ";

/// The remote command, for any login shell: `sh` reads variables from its input up to an empty line, one byte at a time as a pipe's readers must,
/// and becomes `amp`, which reads the rest.
fn remote_command(cwd: Option<&Path>, args: &[OsString]) -> Result<String> {
    let mut script = String::from(
        "while IFS= read -r amp_line && [ -n \"$amp_line\" ]; do export \"$amp_line\"; done; unset amp_line; ",
    );
    if let Some(cwd) = cwd {
        script.extend(["cd -- ", &quote_word(cwd.as_os_str().as_bytes(), "cwd")?, " || exit 126; "]);
    }
    script.push_str(GUARD);
    script.push_str(if amplihack_sys::sabotage::is_active("amp-ssh-lookup") {
        "exec ~/.amp/bin/amp"
    } else {
        "exec amp"
    });
    for arg in args {
        script.push(' ');
        script.push_str(&quote_word(arg.as_bytes(), "arguments")?);
    }
    Ok(format!("exec sh -c {}", quote_word(script.as_bytes(), "command")?))
}

/// A word for a POSIX shell. Other shells read the outermost quotes of the command in the same way.
fn quote_word(word: &[u8], field: &str) -> Result<String> {
    let word = std::str::from_utf8(word)
        .map_err(|_| Error::invalid_option(field, "it is no UTF-8, which a remote command has to be"))?;
    Ok(format!("'{}'", word.replace('\'', "'\\''")))
}

/// The variables, one a line, and an empty line.
pub(super) fn variables_preamble(env: &Env) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (name, value) in env.iter() {
        if value.as_bytes().contains(&b'\n') {
            let name = name.to_string_lossy();
            return Err(Error::invalid_option(
                format!("env.{name}"),
                "it holds a line break, which does not reach another machine",
            ));
        }
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'=');
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// What `script` prints as a login shell's command, with `input` on stdin and `amp` on PATH.
    fn run(script: &str, input: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let amp = dir.path().join("amp");
        std::fs::write(&amp, "#!/bin/sh\npwd\nprintf '%s\\n' \"$#\" \"$@\" \"$KEY\"\ncat\n").unwrap();
        std::fs::set_permissions(&amp, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn words_variables_and_input_arrive_unchanged() {
        let args = ["it's".into(), "$(id) \\ \"x\"".into(), "a\nb".into(), OsString::new()];
        let env = Env::empty().with_variable("KEY", "  se'cret $HOME \\n ");
        let mut input = variables_preamble(&env).unwrap();
        input.extend_from_slice(b"\nprompt\n\n  end");
        let printed = run(&remote_command(Some(Path::new("/")), &args).unwrap(), &input);
        assert_eq!(printed, "/\n4\nit's\n$(id) \\ \"x\"\na\nb\n\n  se'cret $HOME \\n \n\nprompt\n\n  end");
    }

    #[test]
    fn no_variable_is_in_the_arguments() {
        let ssh = SshSurface { user: Some("me".into()), port: Some(22), ..SshSurface::new("host") };
        let words = ssh_arguments(&ssh, None, &["--execute".into()]).unwrap();
        insta::assert_debug_snapshot!(words);
        assert!(
            variables_preamble(&Env::empty().with_variable("A", "x\ny"))
                .unwrap_err()
                .to_string()
                .contains("env.A")
        );
    }
}
