//! A way to end a run from elsewhere, for whoever watches its guard.

use std::sync::Arc;

use tokio::sync::Notify;

/// Ends the run that it was given to in its [`RunSpec`](crate::RunSpec), from any thread. Clones end the same run.
#[derive(Debug, Clone, Default)]
pub struct RunStopper {
    told: Arc<Notify>,
}

impl RunStopper {
    /// Ends the run, also one that has not started: its processes are killed, and its end is
    /// [`EndCause::Unguarded`](crate::EndCause::Unguarded).
    pub fn stop_run(&self) {
        self.told.notify_one();
    }

    /// Waits until the run is to be ended. Cancel-safe.
    pub(crate) async fn wait_for_stop(&self) {
        self.told.notified().await;
    }
}
