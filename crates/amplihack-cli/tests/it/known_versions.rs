//! The versions of the real agents, which each sandboxed home would ask for anew: half of a short session of Gemini or Copilot.
//!
//! A user's home knows them from its second launch on. What amplihack itself wrote down in one test is what the homes of later ones begin
//! with; it takes an entry only as long as the program's file is the same.

use std::fs;
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use amplihack_testkit::Sandbox;
use serde_json::{Map, Value};

/// amplihack's own file, below the home.
const FILE: &str = ".amplihack/versions.json";

/// Lets amplihack in `sandbox` know the version of `agent`, which it finds at `program`, if a test before this one asked.
pub(crate) fn tell(sandbox: &Sandbox, agent: AgentBinary, program: &Path) {
    let Some(entry) = read(&kept(agent)) else { return };
    let file = sandbox.home().join(FILE);
    let mut known = entries(&file);
    known.insert(program.display().to_string(), entry);
    create_private_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, Value::Object(known).to_string()).unwrap();
}

/// Keeps what amplihack in `sandbox` wrote down of `agent`, which it found at `program`.
pub(crate) fn keep(sandbox: &Sandbox, agent: AgentBinary, program: &Path) {
    let known = entries(&sandbox.home().join(FILE));
    let Some(entry) = known.get(&*program.to_string_lossy()) else { return };
    let file = kept(agent);
    if read(&file).as_ref() != Some(entry) {
        create_private_dir(file.parent().unwrap()).unwrap();
        write_atomic(&file, entry.to_string().as_bytes(), 0o600, WriteDurability::Process).unwrap();
    }
}

/// File that keeps the entry of `agent` between tests.
fn kept(agent: AgentBinary) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-versions").join(agent.name())
}

fn entries(file: &Path) -> Map<String, Value> {
    read(file).and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

fn read(file: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
