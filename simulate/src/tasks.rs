//! Tasks of a process.

use std::sync::{Arc, Mutex, PoisonError};

use purser_core::{Tasks, Work};
use tokio::task::JoinSet;

/// What runs in a process. All of it ends with the process, wherever it waits.
#[derive(Clone, Default)]
pub struct SimTasks(Arc<Mutex<JoinSet<()>>>);

impl SimTasks {
    pub fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).spawn(work);
    }

    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = JoinSet::new();
    }
}

impl Tasks for SimTasks {
    fn start(&self, work: Work) {
        self.run(work);
    }
}
