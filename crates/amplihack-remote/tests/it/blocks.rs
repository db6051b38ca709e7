//! The lower-level pieces, each used without the client.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amplihack_remote::azlin::{AzlinCli, AzlinVmRequest};
use amplihack_remote::protocol::FarState;
use amplihack_remote::{CommandOutput, RemoteCommandRunner, RemoteError};
use async_trait::async_trait;

use crate::support::Place;

/// azlin, and what it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

#[async_trait]
impl RemoteCommandRunner for Asked {
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError> {
        self.0.lock().unwrap().push(args.join(" "));
        let stdout = r#"{"vms": [{"name": "amplihack-one", "power_state": "VM running"}]}"#.to_owned();
        Ok(CommandOutput { status: 0, stdout, stderr: String::new() })
    }
    async fn connect(&self, _: &str, _: &str) -> Result<CommandOutput, RemoteError> {
        Ok(CommandOutput::default())
    }
    async fn transfer(&self, _: &Path, _: &str, _: &Path) -> Result<(), RemoteError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_machine_is_asked_for_by_its_name() {
    let asked = Arc::new(Asked::default());
    let azlin = AzlinCli::new(asked.as_ref(), Duration::ZERO);
    let wanted =
        AzlinVmRequest { name: "amplihack-one", size: "Standard_D8s_v3", region: "eastus", extra: &[] };
    assert_eq!(azlin.create_machine(&wanted).await.unwrap().name, "amplihack-one");
    let calls = asked.0.lock().unwrap();
    let new = "new --name amplihack-one --vm-size Standard_D8s_v3 --region eastus --yes --no-auto-connect";
    assert_eq!(calls[0], new);
}

#[tokio::test]
async fn a_program_is_run_on_a_machine() {
    let place = Place::new(Path::new("/bin/sh"));
    place.store().await;
    let spec = place.session(1, "echo here; exit 4");
    assert_eq!(place.done(&spec).await, FarState::Ended(4));
    let read = place.far.read_log(&spec.id, 0, Duration::ZERO).await.unwrap();
    assert_eq!(read.bytes, b"here\n");
}
