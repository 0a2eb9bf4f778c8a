//! Whom the websocket's notices go to: landings to the submitter, accounts to the watched, time to the clock.

use super::clock::ChainClock;
use super::decode;
use super::socket::Listener;
use super::submit::Submitter;
use super::topics::{Notice, Topic};
use super::watched::Watched;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;

pub(super) struct Notices {
    pub submitter: Arc<Submitter>,
    pub watched: Arc<Watched>,
    pub clock: Arc<ChainClock>,
    pub program: Pubkey,
}

impl Listener for Notices {
    fn subscribed(&self, topic: &Topic) {
        match topic {
            Topic::Signature { signature, commitment } => self.submitter.listening(signature, *commitment),
            Topic::Account(key) => self.watched.subscribed(key),
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
        }
    }

    fn lost(&self) {
        self.submitter.deaf();
        self.watched.lost();
    }
}
