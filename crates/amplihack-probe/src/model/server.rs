//! The server: takes requests in any dialect, writes them down, answers as the run's scenario says.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::answer::answer_request;
use super::delivery::{ObservedDelivery, find_delivery};
use super::dialect::RequestText;
use super::log::{RecordedRequest, RequestLog};
use super::route::base_path;
use super::script::{DEFAULT_COMMAND, ModelScenario, ModelScript, RunUsageTotals, ScriptedMessage};

/// The time that a stop waits for answers under way.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// A running model server on 127.0.0.1. It stops when it is dropped or its runtime ends.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ModelServerState>,
    serving: Option<JoinHandle<io::Result<()>>>,
}

impl ModelServer {
    /// Binds a free port of 127.0.0.1 and serves it on the current tokio runtime.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ModelServerState::default());
        let router = Router::new().fallback(handle_request).with_state(Arc::clone(&shared));
        // Events are small: without this each would wait for the one before it to be acknowledged. A socket that
        // refuses the option still serves.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let mut stopping = shared.stopping.subscribe();
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
            // An error means that the sender is gone, which is a stop too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        });
        let serving = tokio::spawn(async move { serving.await });
        Ok(Self { address, shared, serving: Some(serving) })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL that makes a client part of `run` in `scenario`. Clients append `/v1/messages` and the like.
    pub fn base_url(&self, scenario: ModelScenario, run: &str) -> String {
        format!("http://{}{}", self.address, base_path(scenario, run))
    }

    /// Sets the command of this run's tool calls in the named scenarios.
    pub fn set_command(&self, run: &str, command: &str) {
        self.shared.with_run(run, |run| command.clone_into(&mut run.command));
    }

    /// Sets what [`ModelScenario::Script`] says in this run.
    pub fn set_script(&self, run: &str, script: ModelScript) {
        self.shared.with_run(run, |run| run.script = Some(script));
    }

    /// Requests of this run, oldest first. Beyond 4096 requests or 256 MiB the oldest requests or bodies are dropped.
    pub fn requests(&self, run: &str) -> Vec<Arc<RecordedRequest>> {
        self.shared.with_run(run, |run| run.log.all_requests())
    }

    /// The names of all tools that this run's requests offered to the model, with their namespaces.
    pub fn offered_tools(&self, run: &str) -> BTreeSet<String> {
        self.requests(run).iter().flat_map(|request| request.offered_tools()).collect()
    }

    /// The names of the tools of which this run's replies called one, with their namespaces.
    pub fn called_tools(&self, run: &str) -> BTreeSet<String> {
        self.shared.with_run(run, |run| run.called.clone())
    }

    /// Requests to paths that name no scenario and run.
    pub fn stray_requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.shared.lock().strays.all_requests()
    }

    /// Tokens that this run's replies reported, summed.
    pub fn usage(&self, run: &str) -> RunUsageTotals {
        self.shared.with_run(run, |run| run.totals)
    }

    /// Every text of this run's model calls with its role, oldest call first; later calls repeat earlier texts.
    pub fn request_texts(&self, run: &str) -> Vec<RequestText> {
        self.requests(run).iter().flat_map(|request| request.request_texts()).collect()
    }

    /// The texts of role `user` in this run's model calls.
    pub fn prompts(&self, run: &str) -> Vec<String> {
        self.request_texts(run).into_iter().filter(|said| said.role == "user").map(|said| said.text).collect()
    }

    /// The texts of any role that contain `marker`.
    pub fn find_text(&self, run: &str, marker: &str) -> Vec<RequestText> {
        self.request_texts(run).into_iter().filter(|said| said.text.contains(marker)).collect()
    }

    /// The form in which `expected` arrived in this run as a prompt, if it did.
    pub fn observed_delivery(&self, run: &str, expected: &str) -> ObservedDelivery {
        find_delivery(&self.request_texts(run), expected)
    }

    /// Waits until this run has had `count` model calls. False if the server stopped before.
    pub async fn wait_for_calls(&self, run: &str, count: u64) -> bool {
        let mut calls = self.shared.with_run(run, |run| run.calls.subscribe());
        let mut stopping = self.shared.stopping.subscribe();
        tokio::select! {
            reached = calls.wait_for(|calls| *calls >= count) => reached.is_ok(),
            _ = stopping.wait_for(|stopping| *stopping) => false,
        }
    }

    /// Stops taking requests, gives answers under way a second, and returns when the port is free.
    pub async fn stop(mut self) {
        self.shared.stopping.send_replace(true);
        if let Some(mut serving) = self.serving.take()
            && tokio::time::timeout(STOP_GRACE, &mut serving).await.is_err()
        {
            serving.abort();
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.send_replace(true);
    }
}

async fn handle_request(State(shared): State<Arc<ModelServerState>>, request: Request) -> Response {
    answer_request(&shared, request).await
}

/// State that the handlers and the server's owner share.
#[derive(Debug)]
pub(crate) struct ModelServerState {
    state: Mutex<ServerRuns>,
    /// True from the moment the server stops; silent answers end then.
    pub stopping: watch::Sender<bool>,
}

impl Default for ModelServerState {
    fn default() -> Self {
        Self { state: Mutex::default(), stopping: watch::Sender::new(false) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ServerRuns {
    runs: HashMap<String, ServerRun>,
    pub strays: RequestLog,
}

/// A run at the server: its script, and the requests that it had.
#[derive(Debug)]
pub(crate) struct ServerRun {
    command: String,
    script: Option<ModelScript>,
    pub log: RequestLog,
    pub totals: RunUsageTotals,
    /// Replies that were given a number.
    numbered: u64,
    /// Tools that any request offered, without their namespaces.
    offered: BTreeSet<String>,
    /// Tools that any reply called, with their namespaces.
    pub called: BTreeSet<String>,
    /// Messages whose failure was answered once; the next time they are said.
    pub failed: Vec<ScriptedMessage>,
    /// Model calls so far.
    pub calls: watch::Sender<u64>,
}

impl Default for ServerRun {
    fn default() -> Self {
        Self {
            command: DEFAULT_COMMAND.to_owned(),
            script: None,
            log: RequestLog::default(),
            totals: RunUsageTotals::default(),
            numbered: 0,
            offered: BTreeSet::new(),
            called: BTreeSet::new(),
            failed: Vec::new(),
            calls: watch::Sender::new(0),
        }
    }
}

impl ServerRun {
    /// The number of the next reply: what names a message or a call is its own, as with a real model, also among nested agents.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    /// Takes note that `message` fails now; false if it failed before.
    pub(crate) fn fail_once(&mut self, message: &ScriptedMessage) -> bool {
        let is_new = !self.failed.contains(message);
        if is_new {
            self.failed.push(message.clone());
        }
        is_new
    }

    /// Takes note of what a request offers; returns what this run was ever offered.
    pub(crate) fn record_offer(&mut self, tools: &[&str]) -> BTreeSet<String> {
        self.offered.extend(tools.iter().map(|tool| (*tool).to_owned()));
        self.offered.clone()
    }

    /// The script of a scenario in this run; `None` if it is [`ModelScenario::Script`] and none was registered.
    pub(crate) fn script_for(&self, scenario: ModelScenario) -> Option<ModelScript> {
        scenario.to_script(&self.command).or_else(|| self.script.clone())
    }
}

impl ModelServerState {
    /// A panic in another holder leaves the log as it was: it is still worth reading.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ServerRuns> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at or changes one run, which begins when it is first named.
    pub(crate) fn with_run<T>(&self, name: &str, look: impl FnOnce(&mut ServerRun) -> T) -> T {
        look(self.lock().runs.entry(name.to_owned()).or_default())
    }
}
