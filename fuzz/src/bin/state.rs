//! Files of state that somebody else wrote: read or refused, and what was read goes its whole way.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use amplihack_agent::{AgentBinary, Installed};
use amplihack_audit::AuditFilter;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{self, SessionContext, SessionId};
use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use amplihack_hooks::channel::{HookMessage, LaunchReply};
use amplihack_launcher::proofs;
use amplihack_recipe::journal::RecordedRecipeRun as RecipeRun;
use amplihack_recipe::progress::{ProgressLines, ProgressObjects};
use amplihack_recipe::resume;
use amplihack_session::journal::JournaledRun;
use amplihack_session::step::StepSpool;
use amplihack_setup::install::{InstallScope, inspect_registration};
use amplihack_sys::ProcessEntry;
use amplihack_sys::log::read_from;

const ID: &str = "20260502T030405Z-0123456789ab";

fn main() -> std::process::ExitCode {
    let mut seeds = seeds::own("state");
    let scratch = Scratch::new();
    seeds.extend(real(&scratch));
    let target = Target {
        name: "state",
        seeds,
        dictionary: words::JSON,
        longest: 64 << 10,
        most: |len| linear(100, 40, len),
    };
    let home = scratch.path().join("home");
    fs::create_dir_all(&home).expect("a home can be made");
    let env = Env::empty().with_variable("HOME", &home).with_variable("PATH", "/nowhere");
    let ours = home.join(".amplihack");
    let id = SessionId::parse(ID).expect("a session's id");
    let anchor = scratch.path().canonicalize().expect("it is there");
    run(target, |bytes| {
        // Which launch is in charge.
        let context = scratch.write("repo/.claude/runtime/launcher_context.json", bytes);
        if let Ok(context) = launcher_context::read(&context, &anchor) {
            assert!(context.session_id.is_none_or(|id| !id.as_str().contains('/')));
        }
        let session = format!("home/.amplihack/sessions/{ID}");
        scratch.write(&format!("{session}/context.json"), bytes);
        if let Ok(Some(context)) = SessionContext::read(&ours, &id) {
            context.write(&ours, &id).expect("what was read can be written");
            assert_eq!(SessionContext::read(&ours, &id).ok().flatten(), Some(context));
        }
        // Runs.
        scratch.write(&format!("{session}/run.json"), bytes);
        scratch.write(&format!("{session}/events.jsonl"), bytes);
        if let Ok(Some(run)) = JournaledRun::read(&ours, &id) {
            let _ = (run.record.state_name(), run.directory.starts_with(&ours));
            let record = serde_json::to_vec(&run.record).expect("a record has a text");
            assert_eq!(
                serde_json::from_slice::<amplihack_session::RunRecord>(&record).ok(),
                Some(run.record)
            );
        }
        let auto = scratch.write(&format!("{session}/auto.jsonl"), bytes);
        if let Ok(story) = amplihack_orchestration::journal::read_run(&ours, &id) {
            let _ = (
                story.state_name(),
                story.is_running(),
                story.agent_session().map(str::len),
                story.launches().count(),
            );
        }
        for line in read_from(&auto, 0).into_iter().flatten() {
            let Ok((offset, line)) = line else { continue };
            assert!(
                usize::try_from(offset).is_ok_and(|offset| offset <= bytes.len()) && !line.contains(&b'\n')
            );
        }
        recipes(&scratch, bytes, &ours);
        // What an agent was shown to do.
        scratch.write("home/.amplihack/proofs/claude-2.1.332.json", bytes);
        let mut installed = Installed::from_agent(AgentBinary::Claude);
        installed.version = amplihack_agent::version::parse_version("2.1.332");
        if let Some(proof) = proofs::load_proof(&env, &installed) {
            let _ = proof.local_proofs();
        }
        let _ = proofs::read_proofs(&env, &installed);
        // What was installed. Only looked at: a journal that was changed may name any file of this machine.
        scratch.write("home/.amplihack/install/journal.json", bytes);
        let _ = inspect_registration(AgentBinary::Amp, &InstallScope::User, &env, Path::new("/nowhere"));
        // The audit.
        let log = scratch.write("audit/rust_security_20260502.log", bytes);
        let _ = fs::set_permissions(&log, fs::Permissions::from_mode(0o600));
        if let Ok(shown) =
            amplihack_audit::read_entries(log.parent().expect("a directory"), AuditFilter::default())
        {
            shown.for_each(drop);
        }
        let _ = amplihack_audit::verify_logs(log.parent().expect("a directory"));
        // What hooks and launches send each other.
        let _ = serde_json::from_slice::<HookMessage>(bytes);
        let _ = serde_json::from_slice::<LaunchReply>(bytes);
        // What the kernel says of a process.
        if let Some(proc) = ProcessEntry::parse(bytes) {
            let _ = proc;
        }
    })
}

/// A recipe's run, as a resume reads it.
fn recipes(scratch: &Scratch, bytes: &[u8], ours: &Path) {
    let journal = scratch.write("home/.amplihack/recipe-runs/r1/journal.jsonl", bytes);
    scratch.write("home/.amplihack/recipe-runs/r1/steps/0-1.exit", bytes);
    scratch.write("home/.amplihack/recipe-runs/r1/given.json", bytes);
    let directory = journal.parent().expect("a directory");
    let Ok(Some(run)) = RecipeRun::read(directory) else { return };
    let _ = (run.state(), run.step_counts(), run.load_inputs());
    let (mut lines, mut objects) = (ProgressLines::new("claude", true), ProgressObjects::default());
    for entry in &run.entries {
        let _ = (lines.render_entry(entry), objects.entry_object(entry));
    }
    if let Ok(spool) = StepSpool::open(&directory.join("steps")) {
        let _ = resume::completed_work(&run, &spool, Some(ours));
    }
}

/// Files that this program's own writers made.
fn real(scratch: &Scratch) -> Vec<Vec<u8>> {
    let home = scratch.path().join("seeds");
    let id = SessionId::parse(ID).expect("a session's id");
    let record = amplihack_session::RunRecord::from_this_process(AgentBinary::Claude, Path::new("/repo"));
    let text = serde_json::to_vec(&record).expect("a record has a text");
    let context = SessionContext::of_this_process(AgentBinary::Codex, Path::new("/repo"));
    let context = context.write(&home, &id).expect("a context can be written");
    vec![text, fs::read(context).expect("it was written"), fs::read("/proc/self/stat").expect("it is there")]
}
