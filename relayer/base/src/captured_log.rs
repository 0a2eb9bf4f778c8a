//! Captures the log of a test, so that the test can read it.

use parking_lot::Mutex;
use std::io::{self, Write};
use std::sync::Arc;

use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

/// What this thread logs from now on, which includes all tasks of a test.
pub struct CapturedLog {
    written: Written,
    _subscribed: DefaultGuard,
    /// Keeps a second subscriber alive. With only one, callsites that other tests' threads hit first would stay silent here too.
    _another: Dispatch,
}

impl CapturedLog {
    pub fn start() -> Self {
        let written = Written::default();
        let subscriber = tracing_subscriber::fmt().with_max_level(Level::DEBUG).with_ansi(false);
        let subscriber = Dispatch::new(subscriber.with_writer(written.clone()).finish());
        let another = Dispatch::new(tracing_subscriber::registry());
        let subscribed = tracing::dispatcher::set_default(&subscriber);
        Self { written, _subscribed: subscribed, _another: another }
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.written.0.lock().clone()).expect("UTF-8")
    }

    /// The lines so far that contain this text.
    pub fn lines_with(&self, text: &str) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
