//! Private keys, passwords and tokens: which files hold them, and which commands read them.

use amplihack_shell::RedirectKind;
use amplihack_verdict::Span;

use super::call::{CallArg, CommandCall};
use super::code;
use super::marks::may_be;
use super::script::JudgedScript;
use super::target::PathTarget;

/// A command's use of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretUse {
    /// The kind of secret, for a person.
    pub(crate) what: String,
    /// True if nobody but root has any business with it.
    pub(crate) refused: bool,
    /// True if the command only names it to somebody who needs it, such as `ssh -i`.
    pub(crate) handed: bool,
    /// The place in the script that names it.
    pub(crate) span: Span,
}

const FILES: [&[&str]; 30] = [
    &[".aws", "credentials"],
    &[".aws", "sso"],
    &[".azure", "accessTokens.json"],
    &[".azure", "msal_token_cache.json"],
    &[".config", "gcloud", "credentials.db"],
    &[".config", "gcloud", "application_default_credentials.json"],
    &[".kube", "config"],
    &[".docker", "config.json"],
    &[".netrc"],
    &[".git-credentials"],
    &[".pypirc"],
    &[".pgpass"],
    &[".my.cnf"],
    &[".vault-token"],
    &[".config", "gh", "hosts.yml"],
    &[".gnupg", "private-keys-v1.d"],
    &[".cargo", "credentials"],
    &[".cargo", "credentials.toml"],
    &[".claude", ".credentials.json"],
    &[".codex", "auth.json"],
    &[".gemini", "oauth_creds.json"],
    &[".gemini", "gemini-credentials.json"],
    &[".gemini", "mcp-oauth-tokens.json"],
    &[".gemini", "a2a-oauth-tokens.json"],
    &[".local", "share", "amp", "secrets.json"],
    &[".local", "share", "keyrings"],
    &[".password-store"],
    &[".terraform.d", "credentials.tfrc.json"],
    &["Login Data"],
    &["key4.db"],
];

/// Bytes with which the first names of [`FILES`] begin.
static FIRST: [bool; 256] = {
    let (mut table, mut at) = ([false; 256], 0);
    while at < FILES.len() {
        table[FILES[at][0].as_bytes()[0] as usize] = true;
        at += 1;
    }
    table
};

/// The kind of secrets in a file, if it holds any, and true if reading it is refused.
pub(crate) fn secret_file(target: &PathTarget) -> Option<(&'static str, bool)> {
    let name = target.name();
    if name.rsplit('.').next() == Some("pub") {
        return None;
    }
    if target.is_place(&["etc", "shadow"])
        || target.is_place(&["etc", "gshadow"])
        || target.is_place(&["etc", "shadow-"])
    {
        return Some(("the system's password hashes", true));
    }
    if target.parts.first().is_some_and(|first| first == "proc") && name == "environ" && target.rooted {
        return Some(("another process's environment", false));
    }
    if let Some(rest) = target.names_behind(&[".ssh"]) {
        return match rest.first().map(String::as_str) {
            Some("known_hosts" | "known_hosts.old" | "config" | "authorized_keys" | "authorized_keys2") => {
                None
            }
            _ => Some(("private SSH keys", false)),
        };
    }
    let key = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ed25519_sk", "id_ecdsa_sk", "privkey.pem"];
    if key.contains(&name) {
        return Some(("a private key", false));
    }
    // A bare `*` is a name of everything: only with a directory before it does it say more.
    let said = |names: &&&[&str]| {
        names.len() > 1
            || target
                .parts
                .iter()
                .any(|part| part.chars().any(char::is_alphanumeric) && may_be(part, names[0]))
    };
    // Most names begin with a letter that none of the files begins with: no need to go through all of them. Patterns
    // begin with something else.
    let may_begin = |part: &String| {
        let first = part.as_bytes().first();
        first.is_none_or(|first| !first.is_ascii_alphanumeric() || FIRST[usize::from(*first)])
    };
    if target.parts.iter().any(may_begin)
        && FILES
            .iter()
            .filter(said)
            .any(|names| target.names_behind(names).is_some_and(|rest| rest.len() <= 2))
    {
        return Some(("stored credentials", false));
    }
    if matches!(name, ".gnupg" | ".aws") {
        return Some(("stored credentials", false));
    }
    if matches!(name, ".env" | ".env.local" | ".env.production" | ".env.prod") {
        return Some(("the project's secrets", false));
    }
    None
}

/// Programs that name files without showing what is in them.
const BLIND: [&str; 60] = [
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "file",
    "echo",
    "printf",
    "mkdir",
    "touch",
    "rm",
    "rmdir",
    "chmod",
    "chown",
    "chgrp",
    "find",
    "cd",
    "pushd",
    "du",
    "tree",
    "eza",
    "exa",
    "which",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "export",
    "unset",
    "kubectl",
    "helm",
    "aws",
    "gcloud",
    "npm",
    "cargo",
    "true",
    "false",
    ":",
    "wc",
    "sha256sum",
    "md5sum",
    "shred",
    "unlink",
    "mount",
    "umount",
    "df",
    "chattr",
    "lsattr",
    "getfacl",
    "setfacl",
    "declare",
    "local",
    "readonly",
    "wait",
    "sleep",
    "amplihack",
    "gh",
];

/// The secrets that a command reads, computed once.
pub(crate) fn secret_uses<'c>(script: &JudgedScript<'_>, call: &'c CommandCall<'_>) -> &'c [SecretUse] {
    call.uses.get_or_init(|| read_uses(script, call))
}

/// Signs in one argument behind which the rest is taken for a path with such signs in it.
const SIGNS: usize = 8;

fn read_uses(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Vec<SecretUse> {
    let mut found = Vec::new();
    for (kind, arg) in &call.redirects {
        if matches!(kind, RedirectKind::Read | RedirectKind::ReadWrite) {
            found.extend(secret_use(script, call, arg, arg.marked_text(), false));
        }
    }
    let uploads = call.is_any_of(&["aws", "gh", "gcloud"])
        && call.has_any(&["s3", "s3api", "gist", "release", "storage", "issue", "pr"])
        && !call.has_any(&["ls", "list", "view"]);
    if call.is_any_of(&["sftp", "ftp", "lftp", "tftp"]) {
        // What is typed into it.
        for (_, arg) in call
            .redirects
            .iter()
            .filter(|(kind, _)| matches!(kind, RedirectKind::HereString | RedirectKind::HereDocument))
        {
            found.extend(
                arg.marked_text()
                    .split_whitespace()
                    .filter_map(|part| secret_use(script, call, arg, part, false)),
            );
        }
    }
    if BLIND.contains(&call.program.as_str()) && !uploads || call.program.is_empty() {
        return found;
    }
    if call.is_any_of(&["git"])
        && !super::git::git_call(script, call)
            .is_some_and(|git| matches!(git.sub.as_str(), "add" | "diff" | "hash-object"))
    {
        return found;
    }
    let mut skip_next = false;
    for (at, arg) in call.args.iter().enumerate() {
        if script.is_late() {
            break;
        }
        let text = arg.text();
        if std::mem::take(&mut skip_next) {
            found.extend(secret_use(script, call, arg, arg.marked_text(), true));
            continue;
        }
        skip_next = hands_over(&call.program, text);
        if skip_next || is_pattern(call, at) {
            continue;
        }
        let marked = arg.marked_text();
        if let Some(path) = marked.strip_prefix("file://") {
            found.extend(secret_use(script, call, arg, path, false));
            continue;
        }
        let starts =
            std::iter::once(0).chain(marked.match_indices(['=', '@', ':', ',']).map(|(at, _)| at + 1));
        for (number, start) in starts.enumerate() {
            // One long argument with many signs is as much work as many arguments.
            if number > 0 && script.is_late() {
                break;
            }
            // A path may hold these signs itself; behind the first few they all end it, so that the work is linear.
            let ends: &[char] = if number < SIGNS { &[':', ','] } else { &['=', '@', ':', ','] };
            let part = marked[start..].split(ends).next().unwrap_or_default();
            if !part.starts_with("//") && !part.is_empty() {
                found.extend(secret_use(script, call, arg, part, false));
            }
        }
    }
    if let Some(code) = code::interpreter_code(script, call) {
        for literal in code::string_literals(&code) {
            found.extend(secret_use(script, call, &call.path, &literal, false));
        }
    }
    found
}

/// Options whose value is a key that the program itself uses.
fn hands_over(program: &str, option: &str) -> bool {
    match program {
        "ssh" | "scp" | "sftp" | "sshfs" | "mosh" | "age" | "rage" | "ansible" | "ansible-playbook" => {
            matches!(option, "-i" | "--identity" | "--private-key" | "-F")
        }
        "curl" => matches!(option, "--key" | "--cert" | "-E" | "--netrc-file" | "--cacert"),
        "wget" => option == "--private-key",
        "docker" | "podman" | "docker-compose" => option == "--env-file",
        _ => false,
    }
}

/// Reports whether an argument is the pattern of a search, not a place to search in.
fn is_pattern(call: &CommandCall<'_>, at: usize) -> bool {
    call.is_any_of(&["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "jq"])
        && call.args[..at].iter().all(|arg| arg.text().starts_with('-'))
        && !call.args[..at].iter().any(|arg| matches!(arg.text(), "-e" | "-f"))
}

fn secret_use(
    script: &JudgedScript<'_>,
    call: &CommandCall<'_>,
    arg: &CallArg,
    part: &str,
    handed: bool,
) -> Option<SecretUse> {
    // Programs expand `~` themselves in places where the shell does not.
    let tilde = part.strip_prefix("~/").map(|rest| format!("{}/{rest}", super::marks::TILDE));
    let target = script.target_in(tilde.as_deref().unwrap_or(part), call.dir.as_deref());
    let (what, refused) = secret_file(&target)?;
    if what == "the project's secrets"
        && call.is_any_of(&["source", ".", "docker", "podman", "docker-compose", "cp", "dotenv", "diff"])
    {
        return None;
    }
    Some(SecretUse { what: format!("{what} ({})", target.display_text()), refused, handed, span: arg.span })
}

/// Reports whether a variable holds a secret by its name.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    let has = |part: &str| name.split('_').any(|word| word == part);
    ["SECRET", "PASSWORD", "PASSWD", "TOKEN", "APIKEY", "CREDENTIALS", "PASSPHRASE", "PAT"]
        .iter()
        .any(|part| has(part))
        || (has("KEY") && ["API", "ACCESS", "PRIVATE", "SIGNING", "SERVICE"].iter().any(|part| has(part)))
}

/// Reports whether a command prints a secret that is kept in no file of its own.
pub(crate) fn prints_secret(call: &CommandCall<'_>) -> bool {
    match call.program.as_str() {
        "gpg" | "gpg2" => call.args.iter().any(|arg| arg.text().starts_with("--export-secret")),
        "security" => {
            call.args.first().is_some_and(|arg| {
                matches!(arg.text(), "find-generic-password" | "find-internet-password" | "dump-keychain")
            }) && (call.has_any(&["-w", "-g", "-d"]))
        }
        "secret-tool" => call.arg_text(0) == Some("lookup"),
        "gh" => {
            call.arg_text(0) == Some("auth")
                && (call.arg_text(1) == Some("token") || call.has_any(&["--show-token", "-t"]))
        }
        "pass" => call.arg_text(0) == Some("show"),
        "gcloud" => call.has_any(&["print-access-token", "print-identity-token"]),
        "op" => call.arg_text(0) == Some("read"),
        "vault" => {
            call.has_any(&["read"]) || call.arg_text(0) == Some("kv") && call.arg_text(1) == Some("get")
        }
        "kubectl" => {
            call.has_any(&["get"])
                && call.has_any(&["secret", "secrets"])
                && call.args.iter().any(|arg| {
                    ["-oyaml", "-ojson", "yaml", "json"].contains(&arg.text()) || arg.text().contains(".data")
                })
        }
        "git" => call.arg_text(0) == Some("credential") && call.arg_text(1) == Some("fill"),
        _ => false,
    }
}

/// Reports whether a command prints the whole environment, or a secret of it.
pub(crate) fn dumps_environment(call: &CommandCall<'_>) -> bool {
    match call.program.as_str() {
        "printenv" => {
            let mut names = call.operands().peekable();
            names.peek().is_none() || names.any(|name| is_secret_name(name.text()))
        }
        "env" => {
            let rest: Vec<_> =
                call.args.iter().filter(|arg| !matches!(arg.text(), "-0" | "--null" | "-v")).collect();
            rest.iter().all(|arg| arg.text().contains('=') && !arg.text().starts_with('-'))
                && call.assigns.is_empty()
                && rest.is_empty()
        }
        "export" | "declare" | "typeset" => {
            call.args.iter().all(|arg| matches!(arg.text(), "-p" | "-x" | "-px" | "-xp"))
                && (!call.args.is_empty() || call.is_any_of(&["export"]))
        }
        "set" => call.args.is_empty(),
        // BSD's `e`: the environment of every process.
        "ps" => call.args.first().is_some_and(|arg| !arg.text().starts_with('-') && arg.text().contains('e')),
        _ => false,
    }
}

/// Reports whether a word is made of a variable that holds a secret by its name.
pub(crate) fn names_secret(word: &amplihack_shell::ShellWord) -> bool {
    word.pieces.iter().any(|piece| match piece {
        amplihack_shell::WordPiece::Variable(name) => is_secret_name(name),
        amplihack_shell::WordPiece::Dynamic(text) => text.strip_prefix("${").is_some_and(|rest| {
            is_secret_name(
                rest.split(|ch: char| !ch.is_alphanumeric() && ch != '_').next().unwrap_or_default(),
            )
        }),
        amplihack_shell::WordPiece::Literal { .. } => false,
    })
}
