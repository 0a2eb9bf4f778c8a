//! Keeps two cores busy, to expose tests that count on quick answers.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

pub const CORES: usize = 2;

/// Our own threads: they end with this value, and with our process however that ends.
pub struct Load {
    enough: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub fn start() -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let busy = || {
            let enough = Arc::clone(&enough);
            thread::spawn(move || {
                let mut turns = 0_u64;
                while !enough.load(Ordering::Relaxed) {
                    turns = black_box(turns.wrapping_add(1));
                }
            })
        };
        let threads = (0..CORES).map(|_| busy()).collect();
        Self { enough, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
