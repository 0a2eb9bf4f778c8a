//! Shows on stderr what is under way: a redrawn line on a terminal, a line from time to time elsewhere.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How long a reader without a terminal waits for a line: at first, and once the step has taken minutes.
const OFTEN: Duration = Duration::from_secs(10);
const SELDOM: Duration = Duration::from_secs(30);
const MINUTES: Duration = Duration::from_secs(60);

pub struct Progress {
    step: String,
    begun: Instant,
    display: Display,
}

enum Display {
    OnTerminal(ProgressBar),
    InLines(Speaker),
}

impl Progress {
    /// Announces the step at once.
    pub fn begin(step: impl Into<String>) -> Self {
        let step = step.into();
        let display = on_terminal(&step).unwrap_or_else(|| {
            eprintln!("{step}");
            Display::InLines(Speaker::start(None))
        });
        Self { step, begun: Instant::now(), display }
    }

    /// For steps that may be short: without a terminal, the step is named only once it takes long.
    pub fn begin_quietly(step: impl Into<String>) -> Self {
        let step = step.into();
        let display =
            on_terminal(&step).unwrap_or_else(|| Display::InLines(Speaker::start(Some(step.clone()))));
        Self { step, begun: Instant::now(), display }
    }

    pub fn show(&self, how_far: String) {
        match &self.display {
            Display::OnTerminal(bar) => bar.set_message(format!("{}: {how_far}", self.step)),
            Display::InLines(speaker) => {
                *speaker.how_far.lock().unwrap_or_else(PoisonError::into_inner) = how_far;
            }
        }
    }

    /// Writes a line that stays, clear of the redrawn line.
    pub fn beside(&self, write: impl FnOnce()) {
        match &self.display {
            Display::OnTerminal(bar) => bar.suspend(write),
            Display::InLines(_) => write(),
        }
    }

    /// Ends the output, and returns how long the step took.
    pub fn end(self) -> Duration {
        self.begun.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::OnTerminal(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn on_terminal(step: &str) -> Option<Display> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(step.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(Display::OnTerminal(bar))
}

/// The thread that reports progress now and then.
struct Speaker {
    how_far: Arc<Mutex<String>>,
    goes_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Speaker {
    fn start(mut name: Option<String>) -> Self {
        let how_far = Arc::new(Mutex::new(String::new()));
        let (goes_on, ended) = channel();
        let thread = thread::spawn({
            let how_far = Arc::clone(&how_far);
            move || speak(&mut name, &how_far, &ended)
        });
        Self { how_far, goes_on: Some(goes_on), thread: Some(thread) }
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        drop(self.goes_on.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn speak(name: &mut Option<String>, how_far: &Mutex<String>, ended: &Receiver<()>) {
    let begun = Instant::now();
    let mut pause = OFTEN;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
        if let Some(name) = name.take() {
            eprintln!("{name}");
        }
        let how_far = how_far.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let after = begun.elapsed();
        eprintln!(
            "  after {} s{}",
            after.as_secs(),
            if how_far.is_empty() { how_far } else { format!(": {how_far}") }
        );
        pause = if after < MINUTES { OFTEN } else { SELDOM };
    }
}
