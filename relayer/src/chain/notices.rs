//! Whom the websocket's notices go to: landings to the submitter, accounts to the watched, time to the clock,
//! the program's doings to whoever reads the past.

use super::clock::ChainClock;
use super::decode;
use super::socket::Listener;
use super::submit::Submitter;
use super::topics::{Notice, Topic};
use super::watched::Watched;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use tokio::sync::Notify;

pub(super) struct Notices {
    pub submitter: Arc<Submitter>,
    pub watched: Arc<Watched>,
    pub clock: Arc<ChainClock>,
    pub program: Pubkey,
    /// Whoever reads the past: something may be new.
    pub activity: Arc<Notify>,
}

impl Listener for Notices {
    fn subscribed(&self, topic: &Topic) {
        match topic {
            Topic::Signature { signature, commitment } => self.submitter.listening(signature, *commitment),
            Topic::Account(key) => self.watched.subscribed(key),
            // What happened while nobody told is there to be read.
            Topic::Program { .. } => self.activity.notify_one(),
        }
    }

    fn notice(&self, node: usize, slot: u64, notice: Notice) {
        match notice {
            Notice::Signature { signature, commitment, err } => {
                self.submitter.noticed(node, &signature, commitment, slot, &err);
            }
            Notice::Account { key: decode::CLOCK, account } => {
                if let Some(now) = decode::unix_timestamp(&account.data) {
                    self.clock.time_seen(slot, now);
                }
            }
            Notice::Account { key, account } => self.watched.changed(&self.program, &key, account),
            Notice::Program => self.activity.notify_one(),
        }
    }

    fn lost(&self) {
        self.submitter.deaf();
        self.watched.lost();
    }
}
