//! Words of an agent's own command language.
use amplihack_agent::AgentBinary;
use amplihack_probe::model::{DONE, Reply, Script};
use crate::world::{World, real};
use amplihack_testkit::Run;

fn try_all(agent: AgentBinary) {
    for (extra, prompt) in [
        (None, "/clear now do it"), (None, "/model opus then refactor"), (None, "/help"), (None, "/cost"), (None, "/compact"), (None, "/init"),(None, "/review x"), (None, "/context"), (None,"/status"),(None,"/config"),(None,"/exit"),(None,"/nosuch word"),
        (None, "/etc/hosts is wrong"), (None, " /clear now do it"), (None, "\n/clear now do it"), (None, "\u{200b}/clear now"), (None, "!ls"), (None, "#x"), (None, "@x y"), (None, "?help"), (None, "exit"), (None, "-\n/clear now"), (None, "Task:\n/clear now"),
        (Some("--disable-slash-commands"), "/clear now do it"), (Some("--disable-slash-commands"), "/model opus then"), (Some("--disable-slash-commands"), "/help"),
    ] {
        if extra.is_some() && agent != AgentBinary::Claude { continue }
        World::with(agent, Script::new([Reply::Text(DONE.to_owned())]), |world| {
            let mut args = vec![agent.name(), "--output", "json", "--include-raw", "--prompt", prompt];
            if let Some(extra) = extra { args.extend(["--", extra]); }
            let output = Run::new(world.command(&args)).output();
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let seen = world.server.find_text("run", prompt.trim()).len();
            eprintln!("WORD {agent} {extra:?} {prompt:?}: code {:?} end {} text {:?} seen {seen} usage {} turns {} err {}", output.code, json["end"], json["text"], json["usage"], json["turns"], output.stderr_text().lines().next().unwrap_or(""));
            if seen == 0 { for event in json["events"].as_array().into_iter().flatten() { if let Some(raw) = event["raw"].as_str() { if raw.contains("result") { eprintln!("   RAW {}", &raw[..raw.len().min(900)]); } } } }
        });
    }
    let _ = real(agent);
}
#[test]
fn words_claude() { try_all(AgentBinary::Claude); }
#[test]
fn words_codex() { try_all(AgentBinary::Codex); }
#[test]
fn words_copilot() { try_all(AgentBinary::Copilot); }
#[test]
fn words_gemini() { try_all(AgentBinary::Gemini); }
