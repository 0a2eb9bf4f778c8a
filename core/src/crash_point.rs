//! Points on a transfer's way where a test can make the process die, as it could die anywhere.
//!
//! They exist only with the cargo feature `fault-injection`, which no shipped build has: without it a crash point is nothing.
//! With it, `PURSER_CRASH_AT=NAME:N` aborts the process when it reaches the point NAME for the Nth time, and
//! `PURSER_PANIC_AT=NAME:N` panics there.

/// Reaches the crash point of this name.
#[cfg(feature = "fault-injection")]
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {
        $crate::crash_point::reached($name);
    };
}

/// There is no crash point in this build.
#[cfg(not(feature = "fault-injection"))]
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {};
}

/// A process reaches this point: here a test may have chosen to end it.
#[cfg(feature = "fault-injection")]
pub fn reached(name: &str) {
    use std::io::Write;
    use std::sync::OnceLock;

    static CRASH: OnceLock<Option<Chosen>> = OnceLock::new();
    static PANIC: OnceLock<Option<Chosen>> = OnceLock::new();

    if Chosen::is_at(CRASH.get_or_init(|| Chosen::read("PURSER_CRASH_AT")), name) {
        let _ = writeln!(std::io::stderr(), "crash point {name}");
        std::process::abort();
    }
    if Chosen::is_at(PANIC.get_or_init(|| Chosen::read("PURSER_PANIC_AT")), name) {
        panic!("panic point {name}");
    }
}

/// A point, and how often the process has yet to reach it.
#[cfg(feature = "fault-injection")]
struct Chosen {
    name: String,
    arrivals_left: std::sync::atomic::AtomicI64,
}

#[cfg(feature = "fault-injection")]
impl Chosen {
    fn read(variable: &str) -> Option<Self> {
        let text = std::env::var(variable).ok()?;
        let (name, arrival) = text.split_once(':')?;
        let arrivals_left = std::sync::atomic::AtomicI64::new(arrival.parse().ok()?);
        Some(Self { name: name.to_owned(), arrivals_left })
    }

    fn is_at(chosen: &Option<Self>, name: &str) -> bool {
        chosen.as_ref().is_some_and(|chosen| {
            chosen.name == name && chosen.arrivals_left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 1
        })
    }
}
