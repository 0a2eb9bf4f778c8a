//! Places on a transfer's way where a test can have the process die, as it could die anywhere.
//!
//! Only with the cargo feature `fault-injection`, which no build that is shipped has: without it a crash point is
//! nothing. With it, `PURSER_CRASH_AT=NAME:N` aborts the process the Nth time that it comes to the point NAME.

/// Comes to the crash point of this name.
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(feature = "fault-injection")]
        $crate::crash_point::reached($name);
    };
}
pub(crate) use crash_point;

/// How far a test has this host's clock go ahead: `PURSER_HOST_CLOCK_AHEAD` names a file that holds the seconds.
#[cfg(feature = "fault-injection")]
pub(crate) fn host_clock_ahead() -> std::time::Duration {
    let file = std::env::var_os("PURSER_HOST_CLOCK_AHEAD");
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    std::time::Duration::from_secs(text.trim().parse().unwrap_or(0))
}

#[cfg(not(feature = "fault-injection"))]
pub(crate) const fn host_clock_ahead() -> std::time::Duration {
    std::time::Duration::ZERO
}

#[cfg(feature = "fault-injection")]
pub(crate) fn reached(name: &str) {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static CHOSEN: OnceLock<Option<(String, AtomicI64)>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let text = std::env::var("PURSER_CRASH_AT").ok()?;
        let (name, arrival) = text.split_once(':')?;
        Some((name.to_owned(), AtomicI64::new(arrival.parse().ok()?)))
    });
    if let Some((at, arrivals_left)) = chosen
        && at == name
        && arrivals_left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        let _ = writeln!(std::io::stderr(), "crash point {name}");
        std::process::abort();
    }
}
