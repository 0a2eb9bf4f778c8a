//! Where a test can make the process die, and a clock that a test can set. They exist only with the cargo feature
//! `fault-injection`, which no shipped build has: see `purser_core::crash_point`. A task reaches `task NAME` at each poll: see `tasks.rs`.

use std::time::SystemTime;

pub use purser_core::crash_point;
#[cfg(feature = "fault-injection")]
pub use purser_core::crash_point::reached;

/// This host's clock as a test sets it: `PURSER_HOST_CLOCK_AHEAD` names a file with the seconds, negative for behind.
#[cfg(feature = "fault-injection")]
pub fn host_clock(now: SystemTime) -> SystemTime {
    let file = std::env::var_os("PURSER_HOST_CLOCK_AHEAD");
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let ahead: i64 = text.trim().parse().unwrap_or(0);
    let by = std::time::Duration::from_secs(ahead.unsigned_abs());
    if ahead < 0 { now - by } else { now + by }
}

#[cfg(not(feature = "fault-injection"))]
pub const fn host_clock(now: SystemTime) -> SystemTime {
    now
}
