//! Comparing what every account holds with what its history says, a hundred accounts a question.

use futures::StreamExt;

use super::{IndexError, Indexer};
use crate::chain::BALANCES_MAX;
use crate::domain::{AccountId, Address, UsdcAmount};
use crate::store::{Ledger, Whose, in_ledger};

/// Accounts that are looked into side by side.
const LOOKED_INTO_AT_ONCE: usize = 4;
/// In so many sweeps an account must be off by the same, before its whole past is read for it. Nodes list
/// transactions a little later than they show balances.
const SWEEPS_BEFORE_DOUBT: u32 = 3;

/// What an account held at a slot.
#[derive(Clone, Copy)]
struct Sight {
    account: AccountId,
    token_account: Address,
    balance: UsdcAmount,
    slot: u64,
}

impl Indexer {
    /// Every account once.
    pub(super) async fn sweep(&self) -> Result<(), IndexError> {
        let began_at = self.parts.ambient.now();
        let (mut after, mut interrupted) = (None, Ok(()));
        loop {
            let ledgers = self.parts.store.list_ledgers(self.network, after, BALANCES_MAX).await?;
            let Some(last) = ledgers.last() else { break };
            after = Some(last.account_id);
            let looked_into = self.sweep_some(&ledgers).await?;
            // One account's trouble is not the others'.
            interrupted = looked_into.into_iter().fold(interrupted, Result::and);
            if ledgers.len() < BALANCES_MAX {
                break;
            }
        }
        self.parts.store.mark_swept(self.network, began_at).await?;
        interrupted
    }

    /// The accounts that hold more, as nodes tell.
    pub(super) async fn look_at_deposits(&self) -> Result<(), IndexError> {
        let mut looked_into = Vec::new();
        for risen in self.parts.history.take_risen().chunks(BALANCES_MAX) {
            let ledgers = self.parts.store.find_ledgers(self.network, risen).await?;
            looked_into.extend(self.sweep_some(&ledgers).await?);
        }
        // One account's trouble is not the others'.
        looked_into.into_iter().fold(Ok(()), Result::and)
    }

    /// Gives how looking into accounts went.
    async fn sweep_some(&self, ledgers: &[Ledger]) -> Result<Vec<Result<(), IndexError>>, IndexError> {
        let token_accounts: Vec<Address> = ledgers.iter().map(|ledger| ledger.token_account).collect();
        let read = self.parts.history.balances(&token_accounts).await?;
        let seen = token_accounts.iter().copied().zip(read.amounts.iter().copied());
        self.parts.history.watch_deposits(seen);
        let (mut changed, mut suspects) = (Vec::new(), Vec::new());
        for (ledger, balance) in ledgers.iter().zip(read.amounts) {
            // A node that lags behind the one before it has nothing to tell.
            if read.slot < ledger.seen_slot {
                continue;
            }
            if ledger.seen != in_ledger(balance) {
                changed.push((ledger.account_id, balance));
            }
            if ledger.difference(balance) != 0 {
                let Ledger { account_id: account, token_account, .. } = *ledger;
                suspects.push(Sight { account, token_account, balance, slot: read.slot });
            }
        }
        let looked_into: Vec<_> = suspects.into_iter().map(|sight| self.look_into(sight)).collect();
        let looked_into: Vec<_> =
            futures::stream::iter(looked_into).buffer_unordered(LOOKED_INTO_AT_ONCE).collect().await;
        for (account, _) in &changed {
            self.observe(ledgers, *account).await?;
        }
        self.parts.store.mark_seen(read.slot, &changed).await?;
        Ok(looked_into)
    }

    /// Finds the transactions that make up a difference.
    async fn look_into(&self, sight: Sight) -> Result<(), IndexError> {
        let whose = Whose::Account(sight.account);
        if self.difference(sight).await? == 0 {
            self.memory.solved(sight.account);
            return Ok(());
        }
        self.walk(sight.token_account, whose).await?;
        let difference = self.difference(sight).await?;
        if difference == 0 {
            self.memory.solved(sight.account);
            return Ok(());
        }
        if self.memory.puzzle(sight.account, difference) < SWEEPS_BEFORE_DOUBT {
            return Ok(());
        }
        self.walk_all(sight.token_account, whose).await?;
        let difference = self.difference(sight).await?;
        if difference != 0 {
            tracing::warn!(account_id = %sight.account, micros = difference,
                "an account holds what no transaction of its past explains");
            self.parts.store.mark_unexplained(sight.account, difference).await?;
        }
        self.memory.solved(sight.account);
        Ok(())
    }

    /// What the chain held at that slot, less what is accounted for by then. In micro-USDC.
    async fn difference(&self, sight: Sight) -> Result<i64, IndexError> {
        let ledger = self.parts.store.find_ledger_at(self.network, sight.account, sight.slot).await?;
        Ok(ledger.map_or(0, |ledger| ledger.difference(sight.balance)))
    }

    /// Tells those who watch balances. The present one is read for it: a sweep sees what was final a while ago.
    async fn observe(&self, ledgers: &[Ledger], account: AccountId) -> Result<(), IndexError> {
        let Some(ledger) = ledgers.iter().find(|ledger| ledger.account_id == account) else { return Ok(()) };
        let Some(operator) = self.parts.store.find_operator(ledger.operator_id).await? else { return Ok(()) };
        if let Some(account) = self.parts.store.find_account(operator.id, account).await? {
            self.parts.events.look_at_balance(&operator, &account).await?;
        }
        Ok(())
    }
}
