//! What one process remembers between cycles. It may all be lost: it only saves calls.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use purser_model::{AccountId, Address, Operator, OperatorId};
use purser_store::Mark;

/// How many transactions are remembered as read before all are forgotten at once.
const READ_MAX: usize = 50_000;
/// The pause before the accounts of an operator are listed again: the first while some are unknown, and the longest.
const LISTING_PAUSE: Duration = Duration::from_secs(1);
const LISTING_PAUSE_MAX: Duration = Duration::from_secs(3_600);

#[derive(Default)]
pub(super) struct Memory {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    last_operator: Option<OperatorId>,
    /// Transactions read for an address, with nothing in them that history would show.
    read: HashSet<(Address, Mark)>,
    /// Addresses whose whole past is wanted, and whether it has been read since.
    pasts: HashMap<Address, bool>,
    /// Operators whose limits were looked at before, and whether one of their payments was read since.
    limits: HashMap<OperatorId, bool>,
    /// Agents whose policy changed.
    changed: HashSet<Address>,
    /// When the accounts of an operator are to be listed next.
    listings: HashMap<OperatorId, NextListing>,
    /// Accounts whose history does not add up.
    differences: HashMap<AccountId, UnexplainedDifference>,
    /// How often a transaction was missing although its slot was final.
    missing: HashMap<String, u32>,
}

/// When an operator's accounts are to be listed next, and how often in a row some were unknown.
struct NextListing {
    due_at: Instant,
    times_in_row: u32,
}

/// An account's difference, in how many cycles it stayed the same, and the last of them.
struct UnexplainedDifference {
    micros: i64,
    cycles: u32,
    last_cycle: u32,
}

impl Memory {
    /// The operators whose turn it is, in rotation.
    pub fn next_operators(&self, operators: &[Operator], operators_max: usize) -> Vec<Operator> {
        let mut state = self.state();
        let after = state.last_operator;
        let begin = operators.iter().position(|operator| Some(operator.id) > after).unwrap_or(0);
        let (later, first) = operators.split_at(begin);
        let next: Vec<Operator> = first.iter().chain(later).take(operators_max).cloned().collect();
        state.last_operator = next.last().map(|operator| operator.id);
        next
    }

    pub fn was_read(&self, address: &Address, transaction: &Mark) -> bool {
        self.state().read.contains(&(*address, transaction.clone()))
    }

    pub fn mark_read(&self, address: &Address, transactions: impl IntoIterator<Item = Mark>) {
        let mut state = self.state();
        if state.read.len() > READ_MAX {
            state.read.clear();
        }
        state.read.extend(transactions.into_iter().map(|transaction| (*address, transaction)));
    }

    /// Forgets all reads after entries were taken back: their transactions may land again.
    pub fn forget_read(&self) {
        self.state().read.clear();
    }

    /// The whole past of an address is wanted. Returns whether it was not before.
    pub fn wants_past(&self, address: &Address) -> bool {
        let mut state = self.state();
        let is_new = !state.pasts.contains_key(address);
        state.pasts.entry(*address).or_insert(false);
        is_new
    }

    /// A walk came to the first transaction of an address.
    pub fn past_was_read(&self, address: &Address) {
        if let Some(is_read) = self.state().pasts.get_mut(address) {
            *is_read = true;
        }
    }

    /// Whether the past that was wanted has been read. Then it is no longer wanted.
    pub fn takes_past(&self, address: &Address) -> bool {
        let mut state = self.state();
        let is_read = state.pasts.get(address) == Some(&true);
        if is_read {
            state.pasts.remove(address);
        }
        is_read
    }

    /// Payments of this operator were read.
    pub fn mark_paid(&self, operator: OperatorId) {
        self.state().limits.insert(operator, true);
    }

    /// Whether payments of this operator were read since this was asked last, or it was never asked.
    pub fn takes_paid(&self, operator: OperatorId) -> bool {
        self.state().limits.insert(operator, false).unwrap_or(true)
    }

    pub fn mark_changed(&self, agents: impl IntoIterator<Item = Address>) {
        self.state().changed.extend(agents);
    }

    pub fn take_changed(&self) -> Vec<Address> {
        self.state().changed.drain().collect()
    }

    /// Whether the accounts of this operator are to be listed now.
    pub fn is_listing_due(&self, operator: OperatorId) -> bool {
        self.state().listings.get(&operator).is_none_or(|next| next.due_at <= Instant::now())
    }

    /// The accounts of this operator were listed. While some stay unknown they are listed again, ever more rarely: a node that has
    /// pruned their first transactions never shows them. Returns how often in a row some were unknown.
    pub fn listed(&self, operator: OperatorId, are_all_known: bool) -> u32 {
        let mut state = self.state();
        let times = state.listings.get(&operator).map_or(0, |last| last.times_in_row);
        let times_in_row = if are_all_known { 0 } else { times.saturating_add(1) };
        let pause = match times_in_row {
            0 => LISTING_PAUSE_MAX,
            times => LISTING_PAUSE.saturating_mul(1 << (times - 1).min(16)).min(LISTING_PAUSE_MAX),
        };
        state.listings.insert(operator, NextListing { due_at: Instant::now() + pause, times_in_row });
        times_in_row
    }

    /// In how many cycles, this one included, the account was off by this amount. Several looks within a cycle count once.
    pub fn record_mismatch(&self, account: AccountId, micros: i64, cycle: u32) -> u32 {
        let mut state = self.state();
        let anew = UnexplainedDifference { micros, cycles: 1, last_cycle: cycle };
        let mismatch = match state.differences.remove(&account) {
            Some(known) if known.micros == micros && known.last_cycle == cycle => known,
            Some(known) if known.micros == micros => {
                UnexplainedDifference { cycles: known.cycles.saturating_add(1), ..anew }
            }
            Some(_) | None => anew,
        };
        let cycles = mismatch.cycles;
        state.differences.insert(account, mismatch);
        cycles
    }

    /// The account's records and its balance agree, or their difference was explained.
    pub fn forget_mismatch(&self, account: AccountId) {
        self.state().differences.remove(&account);
    }

    /// Counts one more miss, and returns the total.
    pub fn missing(&self, signature: &str) -> u32 {
        let mut state = self.state();
        let times = state.missing.entry(signature.to_owned()).or_default();
        *times += 1;
        *times
    }

    pub fn found(&self, signature: &str) {
        self.state().missing.remove(signature);
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{Label, Network, Timestamp};

    #[test]
    fn mismatch_counts_once_a_cycle_however_often_the_account_is_read() {
        let memory = Memory::default();
        let account = AccountId::from_bytes([1; 16]);
        let looks = [(5, 1), (5, 1), (5, 2), (5, 2), (6, 2), (6, 3)];
        assert_eq!(
            looks.map(|(micros, cycle)| memory.record_mismatch(account, micros, cycle)),
            [1, 1, 2, 2, 1, 2]
        );
        memory.forget_mismatch(account);
        assert_eq!(memory.record_mismatch(account, 6, 4), 1);
    }

    #[test]
    fn every_operator_has_its_turn() {
        let operator = |number: u8| Operator {
            id: OperatorId::from_bytes([number; 16]),
            network: Network::Test,
            name: Label::parse("operator").expect("valid"),
            address: Address::from_bytes([number; 32]),
            requires_reason: false,
            created_at: Timestamp::from_unix_seconds(0),
        };
        let operators: Vec<Operator> = (1..=5).map(operator).collect();
        let memory = Memory::default();
        let next = |operators: &[Operator]| -> Vec<u8> {
            memory.next_operators(operators, 2).iter().map(|operator| operator.id.bytes()[0]).collect()
        };
        assert_eq!([next(&operators), next(&operators), next(&operators)], [[1, 2], [3, 4], [5, 1]]);
        // Operators that are gone are skipped.
        assert_eq!(next(&operators[2..]), [3, 4]);
        assert_eq!(next(&operators[..1]), [1]);
        assert!(next(&[]).is_empty());
    }
}
