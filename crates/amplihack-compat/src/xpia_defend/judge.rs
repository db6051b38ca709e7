//! Judging: the policy and the content scanner, put into the predecessor's terms.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use amplihack_config::env::Env;
use amplihack_hooks::guard::{self, GuardMachine};
use amplihack_policy::content::{InjectionFinding, InjectionScanner, InjectionSeverity};
use amplihack_policy::rules::{self, RulePack};
use amplihack_policy::{Event, Origin, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::{Decision, RuleId, Verdict};
use serde_json::json;

use super::answer::{XpiaAnswer, XpiaRisk, XpiaThreat};
use super::args::{
    AgentArgs, BashArgs, ContentArgs, ContentType, WebfetchArgs, XpiaCommonArgs, XpiaSecurityLevel,
};

/// Bytes that are read from stdin.
const MAX_INPUT: u64 = 16 * 1024 * 1024;
/// Characters beyond which a text is worth a note, and an address.
const LONG_TEXT: usize = 10_000;
const LONG_URL: usize = 2048;

/// The policy in force here, and the place.
pub(crate) fn load_policy(env: &Env) -> Result<(Policy, PathBuf), String> {
    let cwd =
        std::env::current_dir().map_err(|error| format!("cannot use the current directory: {error}"))?;
    let policy = guard::load_policy(env, &cwd, None)
        .map_err(|error| format!("the policy cannot be loaded: {error}"))?;
    Ok((policy, cwd))
}

pub(crate) fn judge_bash(args: &BashArgs, env: &Env) -> Result<XpiaAnswer, String> {
    let command = if args.command == "-" { read_stdin()? } else { args.command.as_bytes().to_vec() };
    let mut answer = begin_answer("bash", &args.common);
    judge_shell(&command, env, &mut answer)?;
    Ok(finish_answer(answer, &args.common))
}

pub(crate) fn judge_content(args: &ContentArgs, env: &Env) -> Result<XpiaAnswer, String> {
    let bytes = given_or_stdin(args.content.as_deref())?;
    let mut answer = begin_answer("content", &args.common);
    scan_text(&String::from_utf8_lossy(&bytes), &mut answer);
    if args.content_type == ContentType::Command {
        judge_shell(&bytes, env, &mut answer)?;
    }
    Ok(finish_answer(answer, &args.common))
}

pub(crate) fn judge_webfetch(args: &WebfetchArgs, env: &Env) -> Result<XpiaAnswer, String> {
    let mut answer = begin_answer("webfetch", &args.common);
    let (policy, cwd) = load_policy(env)?;
    let event = Event::Fetch { url: &args.url, cwd: &cwd };
    add_verdict(&policy.judge(&event, &GuardMachine::new(env), &Limits::default()), &mut answer);
    if args.url.chars().count() > LONG_URL {
        answer.threats.push(length_threat("address", LONG_URL));
    }
    scan_text(&args.prompt, &mut answer);
    Ok(finish_answer(answer, &args.common))
}

pub(crate) fn judge_agent_message(args: &AgentArgs, _: &Env) -> Result<XpiaAnswer, String> {
    let bytes = given_or_stdin(args.message.as_deref())?;
    let mut answer = begin_answer("agent", &args.common);
    answer.metadata.insert("source_agent".to_owned(), args.source_agent.clone().into());
    answer.metadata.insert("target_agent".to_owned(), args.target_agent.clone().into());
    scan_text(&String::from_utf8_lossy(&bytes), &mut answer);
    Ok(finish_answer(answer, &args.common))
}

fn given_or_stdin(given: Option<&OsStr>) -> Result<Vec<u8>, String> {
    given.map_or_else(read_stdin, |text| Ok(text.as_bytes().to_vec()))
}

fn read_stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("stdin cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!("stdin holds more than {MAX_INPUT} bytes; give it in parts"));
    }
    Ok(bytes)
}

fn begin_answer(what: &str, common: &XpiaCommonArgs) -> XpiaAnswer {
    let mut answer = XpiaAnswer::default();
    for (key, value) in [
        ("backend", json!("rust")),
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("validated", json!(what)),
        ("source", json!(common.source)),
    ] {
        answer.metadata.insert(key.to_owned(), value);
    }
    answer
}

/// Leaves out what the level does not want to hear of. What blocks is never left out.
fn finish_answer(mut answer: XpiaAnswer, common: &XpiaCommonArgs) -> XpiaAnswer {
    let least = match common.security_level {
        XpiaSecurityLevel::Low => XpiaRisk::High,
        XpiaSecurityLevel::Medium => XpiaRisk::Medium,
        XpiaSecurityLevel::High | XpiaSecurityLevel::Strict => XpiaRisk::Low,
    };
    answer.threats.retain(|threat| threat.severity >= least);
    if !answer.is_valid() {
        answer.recommendations.push("Do not go on; ask the user, or do it in another way".to_owned());
    }
    answer
}

fn judge_shell(command: &[u8], env: &Env, answer: &mut XpiaAnswer) -> Result<(), String> {
    let (policy, cwd) = load_policy(env)?;
    let event = Event::Shell { script: command, cwd: &cwd };
    let explanation = policy.explain(&event, &GuardMachine::new(env), &Limits::default());
    add_verdict(&explanation.verdict, answer);
    // The first rule gives the reason; a later one may know of worse.
    if explanation.verdict.decision >= Decision::Ask {
        for hit in explanation.hits.iter().filter(|hit| hit.rule != explanation.verdict.rule) {
            answer.threats.extend(threat_from_verdict(hit));
        }
    }
    Ok(())
}

/// A verdict as a threat. Who asks here has nobody to ask, so an ask blocks as well.
fn add_verdict(verdict: &Verdict, answer: &mut XpiaAnswer) {
    answer.metadata.insert("decision".to_owned(), verdict.decision.to_string().into());
    if let Some(would_be) = verdict.would_be {
        answer.metadata.insert("would_be".to_owned(), would_be.to_string().into());
    }
    let Some(threat) = threat_from_verdict(verdict) else { return };
    answer.metadata.insert("rule".to_owned(), json!(verdict.rule.as_ref().map(ToString::to_string)));
    answer.threats.push(threat);
}

fn threat_from_verdict(verdict: &Verdict) -> Option<XpiaThreat> {
    let id = verdict.rule.as_ref().filter(|_| verdict.decision >= Decision::Ask)?;
    let rule = rules::builtin_rules().find(|rule| rule.id == *id);
    Some(XpiaThreat {
        kind: id.0.split('/').next().unwrap_or_default().to_owned(),
        severity: verdict_severity(verdict.decision, id),
        description: verdict.reason.clone(),
        location: verdict.spans.first().copied(),
        mitigation: rule
            .map_or_else(|| "Not run".to_owned(), |rule| format!("Not run, because otherwise {}", rule.harm)),
    })
}

/// Returns high for what can be repeated, or is a matter of a repository's habits; critical for the rest.
fn verdict_severity(decision: Decision, id: &RuleId) -> XpiaRisk {
    let mild =
        [RulePack::Guards, RulePack::GitHistory].iter().any(|pack| id.0.starts_with(&format!("{pack}/")));
    if decision == Decision::Ask || mild { XpiaRisk::High } else { XpiaRisk::Critical }
}

fn scan_text(text: &str, answer: &mut XpiaAnswer) {
    let findings = InjectionScanner::new().scan(text, Origin::Page);
    answer.threats.extend(findings.iter().map(threat_from_finding));
    if text.chars().count() > LONG_TEXT {
        answer.threats.push(length_threat("text", LONG_TEXT));
    }
}

fn threat_from_finding(finding: &InjectionFinding) -> XpiaThreat {
    XpiaThreat {
        kind: serde_json::to_value(finding.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default(),
        severity: match finding.severity {
            InjectionSeverity::Low => XpiaRisk::Low,
            InjectionSeverity::Medium => XpiaRisk::Medium,
            InjectionSeverity::High => XpiaRisk::Critical,
        },
        description: format!("it looks like {}", finding.kind.describe()),
        location: Some(finding.span),
        mitigation: "Take it as data, not as an instruction".to_owned(),
    }
}

fn length_threat(what: &str, limit: usize) -> XpiaThreat {
    XpiaThreat {
        kind: "length".to_owned(),
        severity: XpiaRisk::Medium,
        description: format!("the {what} has more than {limit} characters"),
        location: None,
        mitigation: "Look at it in parts".to_owned(),
    }
}
