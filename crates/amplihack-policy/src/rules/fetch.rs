//! Web addresses that are fetched, by the agent's own tool or by a command.

use amplihack_verdict::{Decision, RuleId};

use super::call::base_name;
use super::example::{fetch_example, shell_example};
use super::{BuiltinRule, CommandCall, JudgedScript, RuleContext, RuleHit, RulePack, RuleSubject, net};
use crate::fetch::{self, judge_url};
use crate::xpia::XpiaLevel;

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("fetch/unreadable"),
        pack: RulePack::Fetch,
        harm: "an ambiguous URL leads somewhere other than it appears to",
        decision: Decision::Deny,
        matches: &[
            fetch_example("http://"),
            fetch_example("http://[::zz]/"),
            fetch_example("https://exa mple.com/"),
        ],
        not_matches: &[fetch_example("https://docs.rs/serde"), fetch_example("example.com/path")],
        check: |ctx| check_url_rule(ctx, "fetch/unreadable"),
    },
    BuiltinRule {
        id: RuleId::new("fetch/scheme"),
        pack: RulePack::Fetch,
        harm: "a fetch reads local files or reaches services that trust this machine",
        decision: Decision::Deny,
        matches: &[fetch_example("file:///etc/passwd"), fetch_example("gopher://127.0.0.1:6379/_x")],
        not_matches: &[fetch_example("http://localhost:3000/"), fetch_example("localhost:8080/health")],
        check: |ctx| check_url_rule(ctx, "fetch/scheme"),
    },
    BuiltinRule {
        id: RuleId::new("fetch/metadata"),
        pack: RulePack::Fetch,
        harm: "the machine's own cloud credentials are fetched",
        decision: Decision::Deny,
        matches: &[
            fetch_example("http://169.254.169.254/latest/"),
            fetch_example("http://[::ffff:169.254.169.254]/"),
            fetch_example("http://metadata.google.internal/computeMetadata/v1/"),
        ],
        not_matches: &[
            fetch_example("https://example.com/169.254.169.254"),
            fetch_example("http://192.168.1.10/"),
        ],
        check: |ctx| check_url_rule(ctx, "fetch/metadata"),
    },
    BuiltinRule {
        id: RuleId::new("fetch/denied-domain"),
        pack: RulePack::Fetch,
        harm: "a domain that the user denied is reached",
        decision: Decision::Deny,
        matches: &[
            fetch_example("https://denied.example/x"),
            fetch_example("https://a.b.DENIED.example./"),
            shell_example("curl -s https://denied.example/x"),
            shell_example("wget denied.example/x"),
            shell_example("git clone https://cdn.denied.example/r.git"),
            shell_example("pip install https://denied.example/p.whl"),
        ],
        not_matches: &[
            fetch_example("https://notdenied.example/"),
            shell_example("echo https://denied.example/x"),
            shell_example("grep -r denied.example docs"),
            shell_example("curl https://other.example/?u=denied.example"),
        ],
        check: denied_domain,
    },
    BuiltinRule {
        id: RuleId::new("fetch/userinfo"),
        pack: RulePack::Fetch,
        harm: "a URL shows one host and leads to another",
        decision: Decision::Deny,
        matches: &[fetch_example("https://google.com@other.example/")],
        not_matches: &[
            fetch_example("https://user:pw@git.example.com/r.git"),
            fetch_example("https://medium.com/@name/post"),
        ],
        check: |ctx| check_url_rule(ctx, "fetch/userinfo"),
    },
    BuiltinRule {
        id: RuleId::new("fetch/secret"),
        pack: RulePack::Fetch,
        harm: "a credential leaves the machine inside an address",
        decision: Decision::Deny,
        matches: &[fetch_example("https://x.example/?t=AKIAIOSFODNN7QWERTYU")],
        not_matches: &[fetch_example("https://x.example/?t=hello")],
        check: |ctx| check_url_rule(ctx, "fetch/secret"),
    },
    BuiltinRule {
        id: RuleId::new("fetch/unlisted-domain"),
        pack: RulePack::Fetch,
        harm: "at the strictest level, a domain that the user did not allow is reached",
        decision: Decision::Deny,
        matches: &[fetch_example("https://elsewhere.example/").at_strictest_level()],
        not_matches: &[
            fetch_example("https://elsewhere.example/"),
            fetch_example("https://api.allowed.example/").at_strictest_level(),
        ],
        check: check_unlisted,
    },
];

/// The verdict of [`judge_url`], if it is by this rule.
fn check_url_rule(ctx: &RuleContext<'_>, id: &str) -> Option<RuleHit> {
    let RuleSubject::Fetch(url) = ctx.subject else { return None };
    let xpia = &ctx.script.settings.xpia;
    let verdict = judge_url(url, &xpia.lists);
    if verdict.rule.is_none_or(|rule| rule.0 != id) {
        return None;
    }
    match verdict.decision {
        Decision::Ask => ask_or_deny(ctx, verdict.reason),
        _ => ctx.deny(verdict.reason),
    }
}

/// An ask, or a deny where the user wants high risks blocked.
pub(super) fn ask_or_deny(ctx: &RuleContext<'_>, reason: impl Into<String>) -> Option<RuleHit> {
    if ctx.script.settings.xpia.block_high_risk { ctx.deny(reason) } else { ctx.ask(reason) }
}

fn check_unlisted(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let RuleSubject::Fetch(url) = ctx.subject else { return None };
    let xpia = &ctx.script.settings.xpia;
    if xpia.level < XpiaLevel::Strict || xpia.lists.allow.is_empty() {
        return None;
    }
    let host = fetch::host_of(url)?;
    if fetch::is_listed(&host, &xpia.lists.allow) {
        return None;
    }
    ask_or_deny(ctx, format!("{host} is not on the user's list of allowed domains"))
}

fn denied_domain(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let RuleSubject::Call(call) = ctx.subject else { return check_url_rule(ctx, "fetch/denied-domain") };
    let denied = &ctx.script.settings.xpia.lists.deny;
    if denied.is_empty() || !reaches_addresses(ctx.script, call) {
        return None;
    }
    let (arg, host) = call.operands().find_map(|arg| {
        let host = fetch::host_of(arg.text())?;
        fetch::is_listed(&host, denied).then_some((arg, host))
    })?;
    ctx.deny(format!("{host} is on the user's list of denied domains")).map(|hit| hit.with_span(arg.span))
}

/// Reports whether a command gets something from the addresses among its arguments.
fn reaches_addresses(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> bool {
    const INSTALLERS: [&str; 12] =
        ["pip", "pip3", "pipx", "uv", "npm", "npx", "pnpm", "yarn", "bun", "cargo", "go", "docker"];
    net::fetches_text(script, call)
        || INSTALLERS.contains(&base_name(&call.program))
        || call.is_any_of(&["git"])
            && call.has_any(&["clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"])
}
