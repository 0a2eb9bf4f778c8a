//! What nodes tell by themselves: `socket` is the websocket, `topics` what can be subscribed to, `watched` the accounts that it
//! keeps up to date, `deposits` the token accounts whose rise it tells, `clock` and `block_times` the chain's time, `prices`
//! what others pay for landing.

pub mod block_times;
pub mod clock;
pub mod deposits;
pub mod prices;
pub mod socket;
pub mod topics;
pub mod watched;
