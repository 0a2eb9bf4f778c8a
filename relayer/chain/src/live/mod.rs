//! What nodes report unasked. `connection` is whether the websocket stands, `watched` the accounts that it keeps up to date,
//! `deposits` the token accounts whose rises it reports, `clock` and `block_times` the chain's time, `prices` what
//! others pay for landing.

pub mod block_times;
pub mod clock;
pub mod connection;
pub mod deposits;
pub mod prices;
pub mod watched;

use purser_base::lookup::Lookups;
use purser_rpc::Resolver;
use std::sync::LazyLock;

/// Threads that resolve the names of nodes.
const LOOKUPS_AT_ONCE: usize = 16;

/// Shared by all nodes and their websockets.
pub fn resolver() -> Resolver {
    static LOOKUPS: LazyLock<Resolver> = LazyLock::new(|| Resolver::new(Lookups::new(2 * LOOKUPS_AT_ONCE)));
    LOOKUPS.clone()
}
