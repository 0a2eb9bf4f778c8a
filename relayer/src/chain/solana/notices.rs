//! Routes the websocket's notices: landings to the submitter, accounts to the watched, time to the clock,
//! and uses of the program to the indexer.

use crate::chain::live::block_times::BlockTimes;
use crate::chain::live::clock::ChainClock;
use crate::chain::live::socket::{Connection, Listener};
use crate::chain::live::topics::{Notice, Topic};
use crate::chain::live::watched::Watched;
use crate::chain::rpc::sysvar;
use crate::chain::send::submit::Submitter;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use tokio::sync::Notify;

pub struct Notices {
    pub submitter: Arc<Submitter>,
    pub watched: Arc<Watched>,
    pub clock: Arc<ChainClock>,
    pub block_times: Arc<BlockTimes>,
    pub program: Pubkey,
    /// Wakes the indexer when something may be new.
    pub activity: Arc<Notify>,
    pub connection: Arc<Connection>,
}

impl Listener for Notices {
    fn subscribed(&self, topic: &Topic) {
        match topic {
            Topic::Account(key) => self.watched.subscribed(key),
            Topic::Balance { .. } => {}
            // Something may have happened before the subscription.
            Topic::Naming { account, .. } if *account == self.program => self.activity.notify_one(),
            Topic::Naming { account, commitment } => self.submitter.listening(*account, *commitment),
        }
    }

    fn connected(&self) {
        self.connection.connected();
    }

    fn notice(&self, node: usize, slot: u64, notice: Notice) {
        match notice {
            Notice::Account { key: sysvar::CLOCK, account } => {
                // Uses the clock's own slot: not every node dates its notices.
                if let Some((slot, now)) = sysvar::slot_and_time(&account.data) {
                    self.clock.time_seen(slot, now);
                    self.block_times.notice(slot, now);
                }
            }
            // Deposits have their own sockets.
            Notice::Balance { .. } => {}
            Notice::Account { key, account } => self.watched.changed(&self.program, &key, account),
            Notice::Landed { naming, signature, .. } if naming == self.program => {
                // The indexer has to read others' transactions. Ours are recorded by the caller that waits for them.
                if !self.submitter.is_ours(&signature) {
                    self.activity.notify_one();
                }
            }
            Notice::Landed { commitment, signature, err, .. } => {
                self.submitter.noticed(node, &signature, commitment, slot, err.as_ref());
            }
        }
    }

    fn lost(&self) {
        self.connection.lost();
        self.submitter.on_socket_lost();
        self.watched.lost();
    }
}
