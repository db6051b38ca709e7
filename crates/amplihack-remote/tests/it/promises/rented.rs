//! Machines that are rented: asked for in azlin's words, by a runner in memory whose machines are all this one.

use std::path::Path;
use std::sync::{Arc, Mutex};

use amplihack_remote::{
    Backend, Client, CommandOutput, ExecOptions, LocalRunner, RemoteCommandRunner, RemoteError, StartOptions,
    VMOptions, VMSize,
};
use async_trait::async_trait;
use serde_json::json;

use crate::client::Here;

struct Rented {
    machine: LocalRunner,
    calls: Mutex<Vec<String>>,
    names: Mutex<Vec<String>>,
}

#[async_trait]
impl RemoteCommandRunner for Rented {
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError> {
        let mut names = self.names.lock().unwrap();
        match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["new", "--name", name, ..] => names.push(name.to_owned()),
            ["kill", name, ..] => names.retain(|known| known != name),
            _ => {}
        }
        let list =
            names.iter().map(|name| json!({"name": name, "power_state": "VM running", "ip": "10.0.0.9"}));
        let stdout = json!({ "vms": list.collect::<Vec<_>>() }).to_string();
        self.calls.lock().unwrap().push(args.join(" "));
        Ok(CommandOutput { status: 0, stdout, stderr: String::new() })
    }

    async fn connect(&self, vm: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        self.machine.connect(vm, command).await
    }

    async fn transfer(&self, source: &Path, vm: &str, destination: &Path) -> Result<(), RemoteError> {
        self.machine.transfer(source, vm, destination).await
    }
}

struct World {
    here: Here,
    client: Client,
    runner: Arc<Rented>,
}

impl World {
    fn new() -> Self {
        let here = Here::new();
        let machine = LocalRunner::new(here.sandbox.home().join("vm"), here.sandbox.env());
        let runner = Arc::new(Rented { machine, calls: Mutex::default(), names: Mutex::default() });
        let mut client = here.client.clone();
        client.backend = Some(Backend::Azlin);
        client.runner = Some(Arc::clone(&runner) as _);
        Self { here, client, runner }
    }

    async fn exec(&self, vm_options: VMOptions) {
        let options = ExecOptions { vm_options, ..self.here.exec("x") };
        assert_eq!(self.client.exec(options).await.unwrap().exit_code, 0);
    }

    /// The calls of azlin that begin so.
    fn calls(&self, verb: &str) -> Vec<String> {
        let calls = self.runner.calls.lock().unwrap();
        calls.iter().filter(|call| call.starts_with(verb)).cloned().collect()
    }

    fn has(&self, part: &str) {
        let new = self.calls("new ");
        assert!(new.len() == 1 && new[0].contains(part), "{new:?}");
    }
}

#[tokio::test]
async fn a_machine_is_made_by_azlin_in_the_size_that_was_asked_for() {
    let world = World::new();
    world.exec(VMOptions { size: "Standard_D4s_v3".to_owned(), ..VMOptions::default() }).await;
    world.has("--vm-size Standard_D4s_v3 ");
}

#[tokio::test]
async fn a_machine_is_made_in_the_region_that_was_asked_for() {
    let world = World::new();
    world.exec(VMOptions { region: Some("westus2".to_owned()), ..VMOptions::default() }).await;
    world.has("--region westus2 ");
}

#[tokio::test]
async fn more_words_for_azlin_reach_it() {
    let world = World::new();
    world.exec(VMOptions { azlin_extra_args: vec!["--public".to_owned()], ..VMOptions::default() }).await;
    world.has(" --public");
}

#[tokio::test]
async fn a_machine_is_deleted_after_its_results_came_home() {
    let world = World::new();
    world.exec(VMOptions::default()).await;
    assert_eq!(world.calls("kill ").len(), 1);
}

#[tokio::test]
async fn a_machine_that_is_to_stay_stays() {
    let world = World::new();
    world.exec(VMOptions { keep_vm: true, ..VMOptions::default() }).await;
    assert_eq!(world.calls("kill "), [""; 0]);
}

#[tokio::test]
async fn a_machine_that_is_there_is_used_again() {
    let world = World::new();
    world.exec(VMOptions { keep_vm: true, ..VMOptions::default() }).await;
    world.exec(VMOptions { keep_vm: true, ..VMOptions::default() }).await;
    assert_eq!(world.calls("new ").len(), 1);
}

#[tokio::test]
async fn a_machine_of_its_own_is_made_on_request() {
    let world = World::new();
    world.exec(VMOptions { keep_vm: true, ..VMOptions::default() }).await;
    world.exec(VMOptions { no_reuse: true, ..VMOptions::default() }).await;
    assert_eq!(world.calls("new ").len(), 2);
}

#[tokio::test]
async fn a_machine_that_is_named_is_the_one_that_is_used() {
    let world = World::new();
    world.runner.names.lock().unwrap().push("mine".to_owned());
    world.exec(VMOptions { vm_name: Some("mine".to_owned()), ..VMOptions::default() }).await;
    assert_eq!(world.calls("new "), [""; 0]);
}

/// Where the state has it that the one machine is reached.
fn address(world: &World) -> serde_json::Value {
    let state: serde_json::Value =
        serde_json::from_slice(&std::fs::read(world.here.state()).unwrap()).unwrap();
    state["vm_pool"].as_object().unwrap().values().next().unwrap()["address"].clone()
}

#[tokio::test]
async fn a_tunnel_that_is_named_is_the_way_to_the_machine() {
    let world = World::new();
    world.exec(VMOptions { tunnel_port: Some(2222), keep_vm: true, ..VMOptions::default() }).await;
    assert_eq!(address(&world)["port"], 2222);
}

async fn start(world: &World, size: VMSize, region: Option<&str>, tunnel_port: Option<u16>) {
    let options =
        StartOptions { size, region: region.map(str::to_owned), tunnel_port, ..world.here.start(&["x"]) };
    assert!(world.client.start_sessions(options).await.unwrap().rows[0].outcome.is_ok());
}

#[tokio::test]
async fn the_tier_of_a_start_is_the_machine_that_azlin_makes() {
    let world = World::new();
    start(&world, VMSize::M, None, None).await;
    world.has("--vm-size Standard_E8s_v5 ");
}

#[tokio::test]
async fn the_region_of_a_start_is_that_of_the_machine() {
    let world = World::new();
    start(&world, VMSize::S, Some("westeurope"), None).await;
    world.has("--region westeurope ");
}

#[tokio::test]
async fn the_tunnel_of_a_start_is_the_way_to_the_machine() {
    let world = World::new();
    start(&world, VMSize::S, None, Some(2200)).await;
    assert_eq!(address(&world)["port"], 2200);
}

#[tokio::test]
async fn a_runner_in_memory_stands_for_everything_outside() {
    let world = World::new();
    world.exec(VMOptions::default()).await;
    assert!(!world.runner.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_runner_azlin_itself_is_called() {
    let world = World::new();
    let calls = world.here.sandbox.root().join("azlin-calls");
    let script = format!("#!/bin/sh\necho \"$*\" >>{}\necho no >&2\nexit 1\n", calls.display());
    let program = world.here.sandbox.write("bin/azlin", script);
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut client = Client::new(
        &world.here.sandbox.env().clone().with_variable("AMPLIHACK_REMOTE_RETRY_BUDGET_SECS", "0"),
        &world.here.sandbox.work(),
    )
    .unwrap();
    client.backend = Some(Backend::Azlin);
    let error = client.exec(world.here.exec("x")).await.unwrap_err();
    assert!(matches!(error, RemoteError::Provisioning(_)), "{error:?}");
    let calls = std::fs::read_to_string(calls).unwrap_or_default();
    assert!(calls.lines().any(|call| call.starts_with("new --name amplihack-")), "{calls}");
}
