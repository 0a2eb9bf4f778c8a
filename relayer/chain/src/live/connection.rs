//! Whether a network's websocket is connected, and reports what it was asked for.

use crate::WEBSOCKET_DOWN_MAX;
use parking_lot::{Mutex, MutexGuard};
use purser_model::Network;
use std::time::Duration;
use tokio::time::Instant;

/// How long the websocket has not been connected. Says so in the log when that takes long, once, and when it is over.
#[derive(Debug)]
pub struct Connection {
    network: Network,
    state: Mutex<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    lost_at: Option<Instant>,
    is_said: bool,
    topics_missing: usize,
}

impl Connection {
    pub fn new(network: Network) -> Self {
        let state = ConnectionState { lost_at: Some(Instant::now()), is_said: false, topics_missing: 0 };
        Self { network, state: Mutex::new(state) }
    }

    /// Zero while it is connected.
    pub fn down_for(&self) -> Duration {
        self.state().lost_at.map_or(Duration::ZERO, |at| at.elapsed())
    }

    /// How many subscriptions were refused, and not granted since.
    pub fn topics_missing(&self) -> usize {
        self.state().topics_missing
    }

    pub fn missing(&self, topics: usize) {
        self.state().topics_missing = topics;
    }

    pub fn connected(&self) {
        let mut state = self.state();
        state.lost_at = None;
        if std::mem::take(&mut state.is_said) {
            tracing::info!(network = %self.network, "a websocket is connected again");
        }
    }

    /// It was lost, or could not be connected once more.
    pub fn lost(&self) {
        let mut state = self.state();
        let down_for = state.lost_at.get_or_insert_with(Instant::now).elapsed();
        if down_for >= WEBSOCKET_DOWN_MAX && !std::mem::replace(&mut state.is_said, true) {
            tracing::warn!(
                network = %self.network,
                seconds = down_for.as_secs(),
                "no websocket connects; polling for landings and deposits, which takes longer. `purser doctor` says \
                 which does not answer"
            );
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock()
    }
}
