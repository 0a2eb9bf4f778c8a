//! What every crate of the relayer stands on: tasks that a stop waits for, what is counted and traced, places that operators share,
//! turns, look-ups, secret files, crash points. Knows nothing of accounts, payments, the chain or the database.
//! Start at [`tasks`]: everything that runs longer than a request is one.

#[cfg(any(test, feature = "testing"))]
pub mod captured_log;
pub mod crash_point;
pub mod lookup;
pub mod metrics;
pub mod secret_file;
pub mod shares;
pub mod tasks;
pub mod traces;
pub mod turns;
