//! Tasks of a process.

use parking_lot::Mutex;
use std::sync::Arc;

use purser_core::{Tasks, Work};
use tokio::task::JoinSet;

/// What runs in a process. All of it ends with the process, wherever it waits.
#[derive(Clone, Default)]
pub struct SimTasks(Arc<Mutex<JoinSet<()>>>);

impl SimTasks {
    pub fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().spawn(work);
    }

    pub fn end(&self) {
        *self.0.lock() = JoinSet::new();
    }
}

impl Tasks for SimTasks {
    fn start(&self, work: Work) {
        self.run(work);
    }
}
