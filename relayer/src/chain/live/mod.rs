//! What nodes report unasked. `socket` is the websocket, `topics` what it can subscribe to, `watched` the accounts that it keeps
//! up to date, `deposits` the token accounts whose rises it reports, `clock` and `block_times` the chain's time, `prices` what
//! others pay for landing.

pub mod block_times;
pub mod clock;
pub mod deposits;
pub mod prices;
pub mod socket;
pub mod topics;
pub mod watched;
