//! What another machine says: answers of the far side, of ssh, of azlin, of a scheduler.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use amplihack_fuzz::{Scratch, Target, linear, run, seeds, words};
use amplihack_remote::azlin::{self, AzlinCli, AzlinFailure};
use amplihack_remote::protocol::CollectedResults;
use amplihack_remote::{
    CommandOutput, FarSide, RemoteCommandRunner, RemoteError, is_host_name, is_session_id,
};
use async_trait::async_trait;

const ID: &str = "sess-20260101-000000-0001";

const SEEDS: &[&str] = &[
    "amplihack-runner 1\nprotocol 1\nmachine x86_64\nboot b\ncores 2\nmemory_mb 10\nfree_mb 20\nhome /root\nprogram git git version 2\nmissing x\n",
    "Welcome!\n\namplihack-runner 1\nsess-20260101-000000-0001 ended 7 100 200 42\nsess-20260101-000000-0002 running - 5 - 0\n",
    "amplihack-runner 1\nresults 5 0000000000000000000000000000000000000000000000000000000000000000 wip/sess-20260101-000000-0001\nwarning w\n",
    "amplihack-runner 1\nstarted\n",
    "amplihack-runner 1\nended 0\n",
    "amplihack-runner 1\n12345\n",
    "amplihack-runner: 66 there is no session\nssh: connect to host h port 22: Connection refused\nkex_exchange_identification: Connection closed by remote host\n",
    "[{\"name\":\"amplihack-u-20260502-030405\",\"status\":\"running\",\"public_ip\":\"10.0.0.1\",\"resource_group\":\"rg\"}]",
    "note\n{\"vms\":[{\"name\":\"a\",\"power_state\":\"VM running\",\"ip\":\"10.0.0.1\",\"tags\":{}}]}",
    "ERROR: (QuotaExceeded) Operation could not be completed as it results in exceeding approved quota\n",
];

const DICTIONARY: &[&str] = &[
    "amplihack-runner ",
    "amplihack-runner 1\n",
    "amplihack-runner: ",
    " ",
    "- ",
    "protocol ",
    "machine ",
    "cores ",
    "program ",
    "missing ",
    ID,
    " ended ",
    " killed ",
    " running ",
    " waiting ",
    " lost ",
    " absent ",
    "results ",
    "warning ",
    "started\n",
    "already\n",
    "stored\n",
    "removed\n",
    "ended ",
    "-9223372036854775808",
    "253402300800",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "\"status\":",
    "ERROR",
    "Permission denied",
    "Host key verification failed",
    "Connection timed out",
    "Could not resolve hostname",
    "AuthorizationFailed",
    "SkuNotAvailable",
    "TooManyRequests",
    "\0",
    "\u{1b}[31m",
];

/// A machine that answers everything with the same bytes.
struct Parrot(Mutex<CommandOutput>);

impl Parrot {
    fn answer(&self) -> CommandOutput {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl RemoteCommandRunner for Parrot {
    async fn azlin(&self, _: &[String]) -> Result<CommandOutput, RemoteError> {
        Ok(self.answer())
    }

    async fn connect(&self, _: &str, _: &str) -> Result<CommandOutput, RemoteError> {
        Ok(self.answer())
    }

    async fn transfer(&self, _: &Path, _: &str, _: &Path) -> Result<(), RemoteError> {
        Ok(())
    }

    async fn run_piped(
        &self,
        _: &str,
        _: &str,
        _: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let answer = self.answer();
        if let Some(output) = output {
            std::fs::write(output, &answer.stdout).expect("a scratch file can be written");
        }
        Ok(answer)
    }
}

/// Nothing of this waits for anything.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn main() -> std::process::ExitCode {
    let target = Target {
        name: "remote_wire",
        seeds: seeds::texts(SEEDS),
        dictionary: words::json_and(DICTIONARY),
        longest: 128 << 10,
        most: |len| linear(200, 40, len),
    };
    let scratch = Scratch::new();
    let parrot = Arc::new(Parrot(Mutex::default()));
    let far = FarSide::new(Arc::clone(&parrot) as Arc<dyn RemoteCommandRunner>, "m");
    let file = scratch.path().join("results");
    run(target, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        // Answers, and what a machine complains when it has none.
        for status in [0, [65, 74, 127, 255][bytes.len() % 4]] {
            *parrot.0.lock().unwrap_or_else(PoisonError::into_inner) =
                CommandOutput { status, stdout: text.clone(), stderr: text.clone() };
            answers(&far, &file);
            machines(&parrot);
        }
    })
}

/// Each verb's answer.
fn answers(far: &FarSide, file: &Path) {
    if let Ok(probe) = now(far.probe_machine(&["git"])) {
        assert!(probe.protocol > 0 && !probe.machine.is_empty());
    }
    if let Ok(all) = now(far.observe_sessions(&[ID])) {
        assert!(all.iter().all(|one| is_session_id(&one.id)));
    }
    let digest = "0".repeat(64);
    if let Ok(has) = now(far.stored_digests(&[digest.as_str()])) {
        assert!(has.iter().all(|one| *one == digest));
    }
    let _ = (
        now(far.read_log(ID, 0, Duration::ZERO)),
        now(far.read_setup_log(ID)),
        now(far.end_session(ID, Duration::ZERO)),
        now(far.remove_session(ID)),
    );
    if let Ok(number) = now(far.submit_job("job", &[ID], &[])) {
        assert!(number.bytes().all(|byte| byte.is_ascii_digit()));
    }
    let _ = std::fs::remove_file(file);
    if let Ok(collected) = now(far.collect_results(ID)) {
        assert!(collected.bytes == 0 || collected.sha256.len() == 64);
        fetch(far, &collected, file);
    }
    fetch(far, &CollectedResults { bytes: 5, sha256: digest, wip: None, left: Vec::new() }, file);
}

/// What comes home has the bytes that were announced, or is not kept.
fn fetch(far: &FarSide, collected: &CollectedResults, file: &Path) {
    match now(far.fetch_results(ID, collected, file)) {
        Ok(()) => {
            let there = amplihack_remote::package::PackageArtifact::from_file(file).expect("it is there");
            assert_eq!(there.sha256, collected.sha256);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// What azlin says of machines.
fn machines(parrot: &Parrot) {
    let answer = parrot.answer();
    if let Ok(vms) = azlin::parse_machine_list(&answer.stdout) {
        for vm in &vms {
            let _ = (vm.is_running(), vm.public_address(), is_host_name(&vm.name));
        }
    }
    let failure = AzlinFailure::from_output(&answer);
    let _ = failure.name();
    if !failure.is_transient() || answer.status == 0 {
        let _ = now(AzlinCli::new(parrot, Duration::ZERO).list_machines());
    }
}
