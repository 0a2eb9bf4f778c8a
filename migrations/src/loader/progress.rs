//! The progress of a long step: a bar for people, or a line at each quarter if stderr is a file.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// Progress of one step, on stderr.
pub struct Progress {
    bar: ProgressBar,
    what: &'static str,
    /// Quarters printed so far; only without a terminal.
    quarters: Option<u64>,
}

impl Progress {
    /// `total` in the units that `set` counts.
    pub fn start(what: &'static str, total: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_length(total);
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} ({eta} left)") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        Self { bar, what, quarters: (!terminal).then_some(0) }
    }

    pub fn set(&mut self, done: u64) {
        self.bar.set_position(done);
        let total = self.bar.length().unwrap_or(0).max(1);
        let quarters = done.saturating_mul(4) / total;
        if self.quarters.is_some_and(|said| quarters > said) {
            self.quarters = Some(quarters);
            say(&format!("{}: {done}/{total}", self.what));
        }
    }

    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Prints one line about a step that begins, on stderr. If nobody reads it, the step goes on all the same.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
