//! Journeys of a session on another machine: this one, and one behind ssh.

use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_agent::AgentBinary;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{ModelScenario, ModelScript, ModelServer};
use amplihack_testkit::hosts::{Spec, USER};
use amplihack_testkit::{Host, Network, Output, Run, workspace};
use tokio::runtime::Builder;

use super::cell::{Cell, PATIENCE, TASK, assert_denied, assert_unchanged, claim, printed, script};
use crate::world::amplihack;

/// Where the host has the agents' packages.
const PACKAGES: &str = "/opt/agents";

/// `remote start` on this machine, `wait`, `pull`, and the merge that `pull` prints.
pub(super) fn local(cell: &Cell<'_>) {
    cell.play(cell.script(&claim("done")));
    // What points the agent at its model is the user's environment, of which a session gets what is named.
    let url = cell.world.server.base_url(ModelScenario::Script, "run");
    let variables = variables(cell, &url, &cell.world.sandbox.root().join("not-used"));
    // A key is named only: its value stays out of the command line.
    let word = |(name, value): &(String, String)| {
        if cell.world.sandbox.env().get(name).is_some() { name.clone() } else { format!("{name}={value}") }
    };
    let names: Vec<String> = variables.iter().map(word).collect();
    let run = |args: &[&str]| cell.amplihack(args);
    let output = comes_back(cell, "local", &names, &run);
    cell.assert_guarded(&output);
}

/// The same on a machine behind ssh, whose user is no superuser.
pub(super) fn ssh(cell: &Cell<'_>) {
    let home = cell.world.sandbox.home();
    let Some(network) = Network::in_home(&home) else { return cell.is_skipped() };
    let host = host_with_agent(cell, &network);
    cell.world.sandbox.write("home/.config/amplihack/hosts.toml", "[hosts.box]\n");
    host.on_thread(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(ModelServer::start()).unwrap();
        let far_home = Path::new("/home").join(USER.0);
        server.set_script("run", ModelScript::new(script(&far_home, &claim("done"))));
        let prepared = cell.world.sandbox.root().join("far-home");
        let url = server.base_url(ModelScenario::Script, "run");
        let variables = variables(cell, &url, &prepared);
        moves_in(&host, &prepared);
        if cell.agent == AgentBinary::Gemini {
            // It takes hooks from a launch of the superuser only.
            host.exec("amplihack install --agent gemini").assert_code(0);
        }
        let given: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let run =
            |args: &[&str]| Run::new(network.wrap(&cell.world.command(args))).timeout(PATIENCE).output();
        let output = comes_back(cell, "ssh", &given, &run);
        let audit = host.exec("amplihack audit show --decision deny --json");
        audit.assert_code(0);
        assert_denied(cell.agent, audit.json().as_array().unwrap(), &output);
        let forbidden = host.exec("find ~ -name forbidden");
        forbidden.assert_code(0).assert_stdout("");
    });
}

/// A session is started, waited for and pulled with `run`; its work is merged by the command that `pull` prints.
#[track_caller]
fn comes_back(
    cell: &Cell<'_>,
    backend: &str,
    variables: &[String],
    run: &dyn Fn(&[&str]) -> Output,
) -> Output {
    let agent = cell.agent.name();
    let mut start = vec![
        "remote",
        "start",
        TASK,
        "--backend",
        backend,
        "--agent",
        agent,
        "--permissions",
        "full",
        "--json",
    ];
    for variable in variables {
        start.extend(["--env", variable]);
    }
    let output = run(&start);
    output.assert_code(0);
    let id = output.json()["sessions"][0]["session"]["session_id"].as_str().unwrap().to_owned();
    let waited = run(&["remote", "wait", &id]);
    let said = run(&["remote", "output", &id]);
    assert_eq!(waited.code, Some(0), "{waited}{said}");
    assert_unchanged(&cell.checkout(), &said);
    let pulled = run(&["remote", "pull", &id]);
    pulled.assert_code(0);
    cell.typed(&printed(&pulled, "git merge")).assert_code(0);
    cell.assert_changed(&cell.checkout(), &said);
    cell.assert_no_commit(&cell.checkout(), &said);
    said
}

/// What the agent needs to reach the model at `url`, with its settings written below `home`.
fn variables(cell: &Cell<'_>, url: &str, home: &Path) -> Vec<(String, String)> {
    std::fs::create_dir_all(home).unwrap();
    let env = prepare_loopback(cell.agent, url, home, LoopbackOptions::default()).unwrap().env;
    let text = |word: std::ffi::OsString| word.into_string().unwrap();
    let mut all: Vec<(String, String)> = env
        .into_iter()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| name != "HOME")
        .collect();
    if cell.agent == AgentBinary::Gemini {
        // It runs no hooks in a directory that it does not trust, and a session's is a new one.
        all.push(("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned()));
    }
    all
}

/// A host that has the agent and amplihack on its PATH.
fn host_with_agent(cell: &Cell<'_>, network: &Network) -> Host {
    let packages = workspace().join("agents/node_modules");
    let packages = packages.canonicalize().unwrap();
    network.tool("amplihack", amplihack());
    let link = workspace().join("agents/bin").join(cell.agent.name()).canonicalize().unwrap();
    let inside = PathBuf::from(PACKAGES).join(link.strip_prefix(&packages).unwrap());
    std::os::unix::fs::symlink(inside, network.tools().join(cell.agent.name())).unwrap();
    // Copilot reads the certificates that every machine has, whatever its model's address.
    let spec =
        Spec::default().disk_mib(2048).bind(&packages, PACKAGES).bind(Path::new("/etc/ssl"), "/etc/ssl");
    let host = network.host_with("box", spec);
    host.exec(&format!("{} --version", cell.agent)).assert_code(0);
    host
}

/// Puts the files below `prepared` into the home of the host's user.
fn moves_in(host: &Host, prepared: &Path) {
    let mut copy = Command::new("/bin/cp");
    copy.arg("-r").arg(prepared.join(".")).arg(host.home());
    Run::new(copy).output().assert_code(0);
    host.exec_as_superuser("chown -R azureuser: /home/azureuser").assert_code(0);
}
