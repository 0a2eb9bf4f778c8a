//! What accounts and budgets last looked like on the chain, for pages while no node answers. It decides nothing: neither halts that
//! were lifted nor what a budget has left is in the database, so this is kept in memory, up to a bound, and ends with the process.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::budgets::{BudgetView, SeenBudget};
use purser_model::{
    AccountId, AccountStatus, BudgetId, Halt, Network, Operator, OperatorId, SpendingPolicy, Timestamp,
    UsdcAmount,
};

/// How many accounts, and how many budgets, are remembered: past that the one that was seen first is forgotten.
const REMEMBERED_MAX: usize = 10_000;

/// An account as the chain last showed it.
#[derive(Debug, Clone)]
pub struct SeenAccount {
    /// When the reading began.
    pub at: Timestamp,
    pub operator_id: OperatorId,
    pub network: Network,
    pub status: AccountStatus,
    pub halt: Option<Halt>,
    /// What had left in the 24 hours before.
    pub spent: UsdcAmount,
    pub policy: SpendingPolicy,
    pub budget: Option<BudgetId>,
}

/// Clones share what they remember.
#[derive(Clone, Default)]
pub(crate) struct LastSeen(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    accounts: HashMap<AccountId, Arc<SeenAccount>>,
    budgets: HashMap<BudgetId, SeenBudget>,
}

impl LastSeen {
    pub fn account(&self, id: AccountId) -> Option<Arc<SeenAccount>> {
        self.all().accounts.get(&id).cloned()
    }

    /// Those of the network.
    pub fn accounts(&self, network: Network) -> Vec<Arc<SeenAccount>> {
        self.all().accounts.values().filter(|seen| seen.network == network).cloned().collect()
    }

    pub fn note_account(&self, id: AccountId, seen: SeenAccount) {
        put(&mut self.all().accounts, id, Arc::new(seen), REMEMBERED_MAX, |seen| seen.at);
    }

    /// It was closed.
    pub fn forget_account(&self, id: AccountId) {
        self.all().accounts.remove(&id);
    }

    /// Those of the network.
    pub fn budgets(&self, network: Network) -> Vec<SeenBudget> {
        self.all().budgets.values().filter(|seen| seen.network == network).cloned().collect()
    }

    /// The operator's, by their numbers.
    pub fn budgets_of(&self, operator: OperatorId) -> Vec<SeenBudget> {
        let of = |seen: &&SeenBudget| seen.operator_id == operator;
        let mut found: Vec<_> = self.all().budgets.values().filter(of).cloned().collect();
        found.sort_by_key(|seen| seen.view.number);
        found
    }

    /// These were read, from `at` on; what was looked for and is not among them was closed.
    pub fn note_budgets(
        &self,
        operator: &Operator,
        looked_for: &HashSet<BudgetId>,
        read: &[BudgetView],
        at: Timestamp,
    ) {
        let mut all = self.all();
        all.budgets.retain(|id, seen| seen.at > at || !looked_for.contains(id));
        for view in read {
            let (operator_id, network) = (operator.id, operator.network);
            let seen = SeenBudget { at, operator_id, network, view: view.clone() };
            put(&mut all.budgets, view.budget_id, seen, REMEMBERED_MAX, |seen| seen.at);
        }
    }

    fn all(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock()
    }
}

/// Remembers a value, unless a later reading is known; where that is one too many, forgets the oldest.
fn put<K: Copy + Eq + Hash, V>(
    all: &mut HashMap<K, V>,
    key: K,
    value: V,
    most: usize,
    at: impl Fn(&V) -> Timestamp,
) {
    if all.get(&key).is_some_and(|known| at(known) > at(&value)) {
        return;
    }
    all.insert(key, value);
    if all.len() > most {
        let oldest = all.iter().min_by_key(|(_, value)| at(value)).map(|(key, _)| *key);
        oldest.and_then(|key| all.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_that_began_earlier_and_ended_later_replaces_nothing() {
        let mut all = HashMap::new();
        for (second, what) in [(10, "before"), (20, "after"), (15, "overtaken"), (20, "again")] {
            put(&mut all, 1, (Timestamp::from_unix_seconds(second), what), 3, |(at, _)| *at);
        }
        assert_eq!(all[&1].1, "again");
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let mut all = HashMap::new();
        for (key, second) in [(1, 10), (2, 5), (3, 20), (2, 30), (4, 15)] {
            put(&mut all, key, Timestamp::from_unix_seconds(second), 3, |at| *at);
        }
        let mut left: Vec<i32> = all.into_keys().collect();
        left.sort_unstable();
        assert_eq!(left, [2, 3, 4]);
    }
}
