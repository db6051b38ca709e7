//! Files that users write: configuration, policies, machines, lists of secrets that are known, prices, lists of domains.

use std::fs;
use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::PromptDelivery;
use amplihack_config::{ConfigOverride, LayeredConfig, record_trust};
use amplihack_fuzz::{Scratch, Target, linear, run, seeds};
use amplihack_hooks::switches;
use amplihack_orchestration::budget::TokenPrices;
use amplihack_policy::fetch::{DomainLists, host_of, judge_url};
use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::user::{Layer, PolicyLayerOwner};
use amplihack_policy::{Event, Policy, PolicyMode, XpiaSettings};
use amplihack_remote::RemoteHosts;
use amplihack_secrets::{AllowedSecrets, scan_file};
use amplihack_shell::Limits;

const SEEDS: &[&str] = &[
    "# mine\npolicy = \"standard\"\nprompt_delivery = \"auto\"\nrequire_proof = true\nmax_depth = 3\nstop_grace_seconds = 5\ntrusted_repositories = [\n  \"/a\", # c\n]\n[agents.claude]\npath = \"/bin/claude\"\nprices = \"input=3 output=15\"\n",
    "protected_branches = [\"main\", \"release/*\"]\ndisable = [\"git_history/uncommitted\"]\n[[rule]]\nname = \"plans-only\"\nprogram = \"terraform\"\nargs = [\"apply\"]\ndecision = \"deny\"\nreason = \"plans only\"\nmatch = [\"terraform apply\"]\nnot_match = [\"terraform plan\"]\n",
    "[[rule]]\nname = \"private\"\npaths = [\"~/private/**\"]\ndecision = \"deny\"\nmatch = [\"cat ~/private/a/b\"]\nnot_match = [\"cat ~/public/a\"]\n[[rule]]\nname = \"mirror\"\nhosts = [\"mirror.example\", \"*.mirror.example\"]\ndecision = \"ask\"\n[[rule]]\nname = \"environment\"\nprogram = \"printenv\"\ndecision = \"allow\"\n",
    "[hosts.big] # the name\naddress = \"me@big.example.org\"\nport = 22\ncapacity = 8\nlabels = [\"gpu\"]\n[hosts.cluster]\nscheduler = \"slurm\"\noptions = [\"--partition=agents\"]\nroot = \"/shared/me/amplihack\"\n",
    "input=3 output=15 cache_write=3.75 cache_read=0.3",
    "0123456789abcdef  known test key\n# comment\n",
    "evil.example, *.bad.example\nhttps://x.example/path?q=1#f",
    "{ // c\n \"disableAllHooks\": true, }",
];

const DICTIONARY: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    " = ",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "#",
    ",",
    ".",
    "\n",
    "\r\n",
    "true",
    "false",
    "1",
    "-1",
    "inf",
    "nan",
    "1e999",
    "0x1F",
    "9223372036854775807",
    "9223372036854775808",
    "1979-05-27T07:32:00Z",
    "\\u0000",
    "\\U0010FFFF",
    "é",
    "\u{feff}",
    "policy",
    "strict",
    "off",
    "prompt_delivery",
    "argv",
    "max_depth",
    "stop_grace_seconds",
    "agents.claude",
    "path",
    "prices",
    "options",
    "[[rule]]\n",
    "name",
    "match",
    "not_match",
    "program",
    "decision",
    "deny",
    "allow",
    "ask",
    "programs",
    "args",
    "paths",
    "hosts",
    "reason",
    "example",
    "disable",
    "protected_branches",
    "**",
    "*",
    "?",
    "[a-z]",
    "~",
    "..",
    "/",
    "capacity",
    "address",
    "labels",
    "scheduler",
    "root",
    "input=",
    "output=",
    "http://",
    "[::1]",
    "@",
    ":",
    "%",
    "xn--",
    "disableAllHooks",
    "trusted_repositories",
    "test_command",
];

fn main() -> std::process::ExitCode {
    let target = Target {
        name: "config",
        seeds: seeds::texts(SEEDS),
        dictionary: DICTIONARY,
        longest: 64 << 10,
        most: |len| linear(150, 40, len),
    };
    let scratch = Scratch::new();
    let home = scratch.path().join("home");
    let env = Env::empty().with_variable("HOME", &home);
    let repository = scratch.path().join("repo");
    fs::create_dir_all(repository.join(".git")).expect("a repository can be made");
    fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").expect("and is one");
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        configuration(&scratch, bytes, &env, &repository);
        policies(&scratch, bytes);
        scratch.write("home/.config/amplihack/hosts.toml", bytes);
        if let Ok(hosts) = RemoteHosts::load(&env) {
            assert!(
                hosts
                    .hosts
                    .iter()
                    .all(|(name, host)| amplihack_remote::is_host_name(name) && host.capacity() > 0)
            );
        }
        if let Ok(allowed) = AllowedSecrets::parse(&text) {
            let findings = scan_file("a.rs", bytes);
            let _ = findings.iter().filter(|finding| allowed.allows_finding(finding)).count();
            assert!(allowed.iter().all(|(print, _)| !print.is_empty()));
        }
        if let Ok(prices) = text.parse::<TokenPrices>() {
            let used = amplihack_agent::event::UsageTotals { input_tokens: u64::MAX, ..Default::default() };
            assert!(prices.cost_of(&used) >= 0.0);
        }
        let (first, rest) = text.split_once('\n').unwrap_or((&text, &text));
        let _ = judge_url(first, &DomainLists::from_text(rest, first));
        // Only http and https go to a host.
        let empty = host_of(first).is_some_and(|host| host.is_empty());
        assert!(!(empty && first.starts_with("https://")), "a page without a host");
        let _ = (PromptDelivery::parse(first), first.parse::<PolicyMode>().is_ok());
        let words = Env::empty()
            .with_variable("XPIA_SECURITY_LEVEL", first.replace('\0', ""))
            .with_variable("XPIA_BLACKLIST_DOMAINS", rest.replace('\0', ""));
        let _ = XpiaSettings::from_env(&words);
        scratch.write("repo/.github/copilot/settings.json", bytes);
        let _ = switches::switched_off(AgentBinary::Copilot, &env, Some(&repository));
    })
}

/// What `config show` reads, and what `config trust` edits in place.
fn configuration(scratch: &Scratch, bytes: &[u8], env: &Env, repository: &Path) {
    let user = scratch.write("home/.config/amplihack/config.toml", bytes);
    let own = scratch.write("repo/.amplihack/config.toml", bytes);
    let given = ConfigOverride {
        key: "policy".to_owned(),
        value: String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned(),
        flag: "--policy".to_owned(),
    };
    let before = LayeredConfig::load_with(&user, env, repository, &[]);
    let _ = LayeredConfig::load_with(&user, env, repository, &[given]);
    if let Ok(config) = &before {
        let _ = (config.list_entries().len(), config.stop_grace(), config.max_depth(), config.policy().len());
    }
    let _ = fs::remove_file(own);
    let Ok(before) = LayeredConfig::load_with(Path::new("/nowhere"), env, repository, &[]) else { return };
    let text = String::from_utf8_lossy(bytes);
    match record_trust(env, repository) {
        Ok(trusted) if trusted.added => {
            let after = fs::read_to_string(&user).expect("it was written");
            // Everything that was there is there, in its order, and the repository is trusted now. Of two kinds of line ends one stays.
            let ends = text.matches("\r\n").count();
            let mixed = ends > 0 && ends != text.matches('\n').count();
            let text = if mixed { text.replace("\r\n", "\n") } else { text.clone().into_owned() };
            let mut rest = after.chars();
            assert!(text.chars().all(|wanted| rest.any(|found| found == wanted)), "something was taken out");
            let config = LayeredConfig::load_with(Path::new("/nowhere"), env, repository, &[])
                .expect("it is still read");
            assert!(config.is_trusted(&trusted.repository) && !before.is_trusted(&trusted.repository));
            assert!(record_trust(env, repository).is_ok_and(|again| !again.added));
        }
        Ok(_) => assert_eq!(fs::read(&user).expect("it is there"), bytes),
        Err(_) => assert_eq!(fs::read(&user).expect("it is there"), bytes),
    }
}

fn policies(scratch: &Scratch, bytes: &[u8]) {
    let file = scratch.write("policy.toml", bytes);
    let read = |owner| Layer::read(owner, &file).ok().flatten();
    let (Some(user), Some(repository)) = (read(PolicyLayerOwner::User), read(PolicyLayerOwner::Repository))
    else {
        return;
    };
    let _ = Policy::load(std::slice::from_ref(&repository));
    let Ok(policy) = Policy::load(&[user, repository]) else { return };
    let cwd = Path::new(ExampleWorld::CWD);
    let limits = Limits::default();
    for event in [
        Event::Shell { script: b"git push --force origin main; rm -rf /etc/x", cwd },
        Event::Write { path: Path::new("/etc/passwd"), cwd },
        Event::Fetch { url: "https://evil.example/x", cwd },
    ] {
        let verdict = policy.judge(&event, &ExampleWorld::default(), &limits);
        assert!(!verdict.reason.contains('\n'));
    }
    let _ = (policy.user_rules().count(), policy.disabled_rules().count(), policy.ignored_requests().len());
}
