//! Routes the websocket's notices: landings to the submitter, accounts to the watched, time to the clock,
//! and uses of the program to the indexer.

use crate::history::program_event::{self, ProgramEvent};
use crate::live::block_times::BlockTimes;
use crate::live::clock::ChainClock;
use crate::live::connection::Connection;
use crate::live::watched::Watched;
use crate::send::flight::LoggedPayment;
use crate::send::submit::Submitter;
use purser_client::EventLog;
use purser_rpc::sysvar;
use purser_rpc::topics::{Notice, Topic};
use purser_rpc::websocket::Listener;
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
            // Deposits have their own sockets.
            Topic::WholeAccount { .. } => {}
            // Something may have happened before the subscription.
            Topic::Naming { account, .. } if *account == self.program => self.activity.notify_one(),
            Topic::Naming { account, commitment } => self.submitter.listening(*account, *commitment),
        }
    }

    fn connected(&self) {
        self.connection.connected();
    }

    fn missing(&self, topics: usize) {
        self.connection.missing(topics);
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
            Notice::Account { key, account } => {
                self.watched.changed(&self.program, &key, account, slot);
            }
            Notice::Landed { naming, signature, .. } if naming == self.program => {
                // The indexer has to read others' transactions. Of ours, the caller that waits for them wakes it if need be.
                if !self.submitter.is_ours(&signature) {
                    self.activity.notify_one();
                }
            }
            Notice::Landed { commitment, signature, err, logs, .. } => {
                let paid = payment_in(&self.program, &logs);
                self.submitter.noticed(node, &signature, commitment, slot, err.as_ref(), paid);
            }
        }
    }

    fn lost(&self) {
        self.connection.lost();
        self.submitter.on_socket_lost();
        self.watched.lost();
    }
}

/// The payment that a whole log shows, if it shows nothing else: a transaction of ours makes one. Another program's lines never
/// count.
fn payment_in(program: &Pubkey, logs: &[String]) -> Option<LoggedPayment> {
    let log = EventLog::read(program, logs);
    if log.incomplete {
        return None;
    }
    match program_event::from_events(&log)[..] {
        [ProgramEvent::TransferExecuted { transfer_id, number: Some(number), .. }] => {
            Some(LoggedPayment { transfer_id, number })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchor_lang::Event;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use purser::events::TransferExecuted;

    const PROGRAM: Pubkey = Pubkey::new_from_array([5; 32]);
    const OTHER: Pubkey = Pubkey::new_from_array([6; 32]);

    fn event(number: u64) -> String {
        let event = TransferExecuted {
            agent: OTHER,
            transfer_id: [7; 16],
            number,
            amount: 5,
            recipient: OTHER,
            recipient_owner: OTHER,
            memo: Vec::new(),
            policy_version: 1,
            spent_in_window: 5,
        };
        format!("Program data: {}", STANDARD.encode(event.data()))
    }

    fn within(program: Pubkey, depth: usize, lines: &[String]) -> Vec<String> {
        let around = |line: String| std::iter::once(line);
        around(format!("Program {program} invoke [{depth}]"))
            .chain(lines.iter().cloned())
            .chain(around(format!("Program {program} success")))
            .collect()
    }

    #[test]
    fn a_number_comes_from_the_programs_own_line_in_a_whole_log_alone() {
        let number = |logs: &[String]| payment_in(&PROGRAM, logs).map(|paid| paid.number);
        let paid = within(PROGRAM, 1, &[event(3)]);
        assert_eq!(payment_in(&PROGRAM, &paid), Some(LoggedPayment { transfer_id: [7; 16], number: 3 }));
        assert_eq!(number(&within(OTHER, 1, &[event(9)])), None, "another program's line");
        let beside = [within(OTHER, 1, &[event(9)]), paid.clone()].concat();
        assert_eq!(number(&beside), Some(3));
        let called = within(PROGRAM, 1, &[within(OTHER, 2, &[event(9)]), vec![event(3)]].concat());
        assert_eq!(number(&called), Some(3), "what it calls says nothing in its name");
        assert_eq!(number(&within(PROGRAM, 1, &[format!("Program log: {}", event(9))])), None);
        assert_eq!(number(&[paid.clone(), paid.clone()].concat()), None, "said twice");
        let cut = [paid[..2].to_vec(), vec!["Log truncated".to_owned()]].concat();
        assert_eq!(number(&cut), None);
        assert_eq!(number(&paid[..2]), None);
        assert_eq!(number(&[]), None);
    }
}
