//! The network: what downloads, where to, and what sends.

use amplihack_shell::{RedirectKind, is_shell};

use super::call::{CallArg, CommandCall, base_name};
use super::code;
use super::marks::UNKNOWN;
use super::options::CommandOptions;
use super::script::JudgedScript;
use super::target::PathTarget;

/// Programs that print what they fetch.
const FETCHERS: [&str; 17] = [
    "curl",
    "wget",
    "aria2c",
    "http",
    "https",
    "xh",
    "lynx",
    "links",
    "w3m",
    "fetch",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "socat",
    "curlie",
    "lwp-request",
];

/// Reports whether a command gets text from another machine.
pub(crate) fn fetches_text(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> bool {
    (FETCHERS.contains(&call.program.as_str()) && !call.has_any(&["--version", "--help", "-h", "-V"]))
        || (call.is_any_of(&["gh"]) && call.arg_text(0) == Some("api"))
        || code::interpreter_code(script, call).is_some_and(|code| {
            code::opens_connections(&code) && (code.contains("://") || code::mentions_name(&code, "recv"))
        })
}

/// Reports whether a command turns hidden text into plain text.
pub(crate) fn decodes_text(call: &CommandCall<'_>) -> bool {
    let options = CommandOptions::read(&call.args, "", &[]);
    match call.program.as_str() {
        "base64" | "base32" | "basenc" => {
            options.has_short('d') || options.has_short('D') || options.has_long("decode")
        }
        "xxd" => options.has_short('r'),
        "openssl" => call.has_any(&["-d"]) || call.has_any(&["enc"]),
        "uudecode" | "gpg" | "rev" => true,
        _ => false,
    }
}

/// Reports whether a command reads a script from its input.
pub(crate) fn runs_input(call: &CommandCall<'_>) -> bool {
    if is_shell(&call.program) {
        let options = CommandOptions::read(&call.args, "coO", &["rcfile", "init-file"]);
        if options.has_short('c') {
            return false;
        }
        return options.has_short('s') || options.operands.first().is_none_or(|first| is_input(first.text()));
    }
    if call.is_any_of(&["source", "."]) {
        return call.args.first().is_some_and(|first| is_input(first.text()));
    }
    code::reads_code(call)
}

fn is_input(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin") || text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/")
}

/// Files that a command saves a download in.
pub(crate) fn saved_downloads(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Vec<PathTarget> {
    let mut found = Vec::new();
    let mut add =
        |text: &str| found.push(script.target_in(&super::marks::mark_path(text), call.dir.as_deref()));
    let by_url = |arg: &&&CallArg| arg.text().contains("://") || arg.text().contains('.');
    match call.program.as_str() {
        "curl" => {
            let options = CommandOptions::read(
                &call.args,
                "odHXuAeFTbcKmrwxEQ",
                &[
                    "output",
                    "data",
                    "header",
                    "request",
                    "user",
                    "url",
                    "max-time",
                    "retry",
                    "proto",
                    "output-dir",
                ],
            );
            let into = options.long.iter().rev().find(|(name, _)| name.starts_with("output-"));
            let into = into.and_then(|(_, dir)| Some(format!("{}/", dir.as_deref()?))).unwrap_or_default();
            options.values('o', "output").for_each(|text| add(&format!("{into}{text}")));
            if options.has_short('O')
                || options.has_long("remote-name")
                || options.has_long("remote-name-all")
            {
                options
                    .operands
                    .iter()
                    .filter(by_url)
                    .for_each(|arg| add(&format!("{into}{}", url_name(arg.text()))));
            }
        }
        "wget" | "aria2c" => {
            let options = CommandOptions::read(
                &call.args,
                "OoPUtTdiD",
                &[
                    "output-document",
                    "directory-prefix",
                    "header",
                    "user-agent",
                    "tries",
                    "timeout",
                    "out",
                    "dir",
                ],
            );
            let out = if call.is_any_of(&["wget"]) {
                options.value('O', "output-document")
            } else {
                options.value('o', "out")
            };
            let prefix = if call.is_any_of(&["wget"]) {
                options.value('P', "directory-prefix")
            } else {
                options.value('d', "dir")
            };
            let into = prefix.map(|dir| format!("{dir}/")).unwrap_or_default();
            match out {
                // Printed and not saved: what it is piped into is judged for itself.
                Some("-") => {}
                Some(out) => add(&format!("{into}{out}")),
                None => options
                    .operands
                    .iter()
                    .filter(by_url)
                    .for_each(|arg| add(&format!("{into}{}", url_name(arg.text())))),
            }
        }
        _ => {}
    }
    found
}

fn url_name(url: &str) -> &str {
    base_name(url.split(['?', '#']).next().unwrap_or(url))
}

/// Every file of a script that holds a download or what hidden text was decoded to.
pub(crate) fn script_downloads<'s>(script: &'s JudgedScript<'_>) -> &'s [PathTarget] {
    script.downloads.get_or_init(|| {
        let mut found = Vec::new();
        for call in &script.calls {
            found.extend(saved_downloads(script, call));
            if call.is_any_of(&["scp", "rsync"]) {
                let operands: Vec<&CallArg> = call.operands().collect();
                if let [sources @ .., to] = operands.as_slice() {
                    let remote =
                        |arg: &&&CallArg| arg.text().contains(':') && !arg.text().starts_with(['/', '.']);
                    for source in sources.iter().filter(remote) {
                        found.push(script.target(call, to));
                        let inside = format!(
                            "{}/{}",
                            to.marked_text(),
                            base_name(source.text().rsplit(':').next().unwrap_or_default())
                        );
                        found.push(script.target_in(&inside, call.dir.as_deref()));
                    }
                }
            }
            if let Some(code) =
                code::interpreter_code(script, call).filter(|code| code::opens_connections(code))
            {
                let named = code::string_literals(&code)
                    .into_iter()
                    .filter(|text| !text.contains("://") && !text.contains(' '));
                found.extend(named.map(|text| script.target_in(&text, call.dir.as_deref())));
            }
            let writes = || {
                let redirected = call
                    .redirects
                    .iter()
                    .filter(|(kind, _)| matches!(kind, RedirectKind::Write | RedirectKind::Append))
                    .map(|(_, arg)| arg);
                redirected.chain(call.operands().filter(|_| call.is_any_of(&["tee"])))
            };
            if writes().next().is_some() {
                let fed = || {
                    script
                        .upstream_calls(call)
                        .into_iter()
                        .any(|source| fetches_text(script, source) || decodes_text(source))
                };
                if fetches_text(script, call)
                    || decodes_text(call)
                    || fed()
                    || has_substituted(script, call, fetches_text)
                {
                    found.extend(writes().map(|arg| script.target(call, arg)));
                }
            }
        }
        // A copy of it is it.
        for call in script.calls.iter().filter(|call| call.is_any_of(&["mv", "cp", "install"])) {
            if let [.., source, to] = call.operands().collect::<Vec<_>>().as_slice() {
                let (source, to) = (script.target(call, source), script.target(call, to));
                if found.iter().any(|file| file.may_be_same(&source)) {
                    found.push(to);
                }
            }
        }
        found.retain(|target| {
            !target.parts.is_empty()
                && !target.parts[0].starts_with(UNKNOWN)
                && !target.is_place(&["dev", "null"])
        });
        found.truncate(256);
        found
    })
}

/// Reports whether a substitution in one of a command's words holds a command that passes `test`.
pub(crate) fn has_substituted(
    script: &JudgedScript<'_>,
    call: &CommandCall<'_>,
    test: fn(&JudgedScript<'_>, &CommandCall<'_>) -> bool,
) -> bool {
    call.args.iter().any(|arg| arg_holds(script, arg, test))
}

/// Reports whether a substitution in a word holds a command that passes `test`.
pub(crate) fn arg_holds(
    script: &JudgedScript<'_>,
    arg: &CallArg,
    test: fn(&JudgedScript<'_>, &CommandCall<'_>) -> bool,
) -> bool {
    arg.dynamic && script.substituted_calls(arg).any(|inner| test(script, inner))
}

/// Reports whether an address is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "::1" | "[::1]" | "0.0.0.0" | "host.docker.internal")
        || host.starts_with("127.")
        || host.ends_with(".localhost")
}

/// The host of a URL, without user and port, in lower case.
pub(crate) fn url_host(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.trim_end_matches('.').to_lowercase())
}

/// The means by which a command sends something to another machine; `None` if it does not.
pub(crate) fn sending_means(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Option<&'static str> {
    let remote = |arg: &CallArg| arg.text().contains(':') && !arg.text().starts_with(['/', '.']);
    let help = call.has_any(&["--version", "--help"]);
    let upload = match call.program.as_str() {
        "curl" | "curlie" => {
            call.args.iter().any(|arg| {
                let text = arg.text();
                ["-d", "-F", "-T"].iter().any(|flag| text.starts_with(flag))
                    || text.starts_with("--data")
                    || matches!(text, "--form" | "--upload-file" | "--json" | "--form-string" | "--url-query")
                    || text.starts_with("--json=")
            }) || call.args.iter().any(|arg| arg.dynamic)
        }
        "wget" => call
            .args
            .iter()
            .any(|arg| arg.text().starts_with("--post") || arg.text().starts_with("--body") || arg.dynamic),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "sftp" | "tftp" | "lftp" | "sendmail"
        | "mail" | "mutt" | "msmtp" | "http" | "https" | "xh" | "croc" | "wormhole" | "websocat" => !help,
        "ssh" => true,
        "scp" | "rsync" => call.operands().any(remote),
        "rclone" | "gsutil" | "s3cmd" | "mc" | "az" | "gcloud" => {
            call.has_any(&["copy", "cp", "sync", "put", "move", "mv", "upload"])
        }
        "aws" => call.has_any(&["s3", "s3api"]),
        "gh" => call.has_any(&["gist", "release", "api"]),
        "dig" | "nslookup" | "host" | "ping" => call.args.iter().any(|arg| arg.dynamic),
        _ => false,
    };
    if upload {
        return Some("the network");
    }
    let opens = call
        .redirects
        .iter()
        .any(|(_, arg)| arg.text().starts_with("/dev/tcp/") || arg.text().starts_with("/dev/udp/"));
    (opens || code::interpreter_code(script, call).is_some_and(|code| code::opens_connections(&code)))
        .then_some("the network")
}
