//! The server: takes requests in any dialect, writes them down, answers as the run's scenario says.

use std::collections::HashMap;
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

use super::answer::answer;
use super::delivery::{Delivery, judge};
use super::dialect::Said;
use super::log::{Log, Recorded};
use super::route::prefix;
use super::script::{DEFAULT_COMMAND, Scenario, Script, Totals};

/// How long a stop waits for answers under way.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// A running model server on 127.0.0.1. It stops when it is dropped or its runtime ends.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Option<JoinHandle<io::Result<()>>>,
}

impl ModelServer {
    /// Binds a free port of 127.0.0.1 and serves it on the current tokio runtime.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL that makes a client part of `run` in `scenario`. Clients append `/v1/messages` and the like.
    pub fn base_url(&self, scenario: Scenario, run: &str) -> String {
        format!("http://{}{}", self.address, prefix(scenario, run))
    }

    /// Sets the command of this run's tool calls in the named scenarios.
    pub fn command(&self, run: &str, command: &str) {
        self.shared.run(run, |run| command.clone_into(&mut run.command));
    }

    /// Sets what [`Scenario::Script`] says in this run.
    pub fn script(&self, run: &str, script: Script) {
        self.shared.run(run, |run| run.script = Some(script));
    }

    /// This run's requests, oldest first. Beyond 4096 requests or 256 MiB the oldest requests or bodies are dropped.
    pub fn requests(&self, run: &str) -> Vec<Arc<Recorded>> {
        self.shared.run(run, |run| run.log.all())
    }

    /// Requests to paths that name no scenario and run.
    pub fn strays(&self) -> Vec<Arc<Recorded>> {
        self.shared.lock().strays.all()
    }

    /// What this run's replies reported, summed.
    pub fn usage(&self, run: &str) -> Totals {
        self.shared.run(run, |run| run.totals)
    }

    /// Every text of this run's model calls with its role, oldest call first; later calls repeat earlier texts.
    pub fn said(&self, run: &str) -> Vec<Said> {
        self.requests(run).iter().flat_map(|request| request.said()).collect()
    }

    /// The texts of role `user` in this run's model calls.
    pub fn prompts(&self, run: &str) -> Vec<String> {
        self.said(run).into_iter().filter(|said| said.role == "user").map(|said| said.text).collect()
    }

    /// The texts of any role that contain `marker`.
    pub fn find_text(&self, run: &str, marker: &str) -> Vec<Said> {
        self.said(run).into_iter().filter(|said| said.text.contains(marker)).collect()
    }

    /// Whether and how `expected` arrived in this run as a prompt.
    pub fn delivered(&self, run: &str, expected: &str) -> Delivery {
        judge(&self.said(run), expected)
    }

    /// Waits until this run has had `count` model calls. False if the server stopped before.
    pub async fn reached(&self, run: &str, count: u64) -> bool {
        let mut calls = self.shared.run(run, |run| run.calls.subscribe());
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

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    answer(&shared, request).await
}

/// What the handlers and the server's owner share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<Everything>,
    /// True from the moment the server stops; silent answers end then.
    pub stopping: watch::Sender<bool>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { state: Mutex::default(), stopping: watch::Sender::new(false) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Everything {
    runs: HashMap<String, Run>,
    pub strays: Log,
}

/// One run: what it was told to say and what it has seen.
#[derive(Debug)]
pub(crate) struct Run {
    command: String,
    script: Option<Script>,
    pub log: Log,
    pub totals: Totals,
    /// Replies that were given a number.
    numbered: u64,
    /// Model calls so far.
    pub calls: watch::Sender<u64>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            command: DEFAULT_COMMAND.to_owned(),
            script: None,
            log: Log::default(),
            totals: Totals::default(),
            numbered: 0,
            calls: watch::Sender::new(0),
        }
    }
}

impl Run {
    /// The number of the next reply: what names a message or a call is its own, as with a real model, also among nested agents.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    /// The script of a scenario in this run; `None` if it is [`Scenario::Script`] and none was registered.
    pub(crate) fn script(&self, scenario: Scenario) -> Option<Script> {
        scenario.script(&self.command).or_else(|| self.script.clone())
    }
}

impl Shared {
    /// A panic in another holder leaves the log as it was: it is still worth reading.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Everything> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at or changes one run, which begins when it is first named.
    pub(crate) fn run<T>(&self, name: &str, look: impl FnOnce(&mut Run) -> T) -> T {
        look(self.lock().runs.entry(name.to_owned()).or_default())
    }
}
