//! Compares what every account holds with its history, a hundred accounts per call.

use std::sync::atomic::Ordering;

use futures::StreamExt;

use super::walk::Walked;
use super::{IndexError, Indexer};
use purser_chain::BALANCES_MAX;
use purser_model::{AccountId, Address, OperatorId, UsdcAmount};
use purser_store::{Ledger, WalkOwner, in_ledger};

/// Batches of reported accounts compared concurrently: a reconnect reports all accounts at once.
const LOOKS_AT_ONCE: usize = 4;
/// Accounts of one batch looked into concurrently.
const LOOKED_INTO_AT_ONCE: usize = 16;
/// An account must be off by the same amount in this many cycles before its whole past is read. Nodes list
/// transactions a little later than they show balances.
const CYCLES_BEFORE_DOUBT: u32 = 3;

/// What an account held at a slot.
#[derive(Clone, Copy)]
struct Sight {
    operator: OperatorId,
    account: AccountId,
    token_account: Address,
    balance: UsdcAmount,
    slot: u64,
}

impl Indexer {
    /// Checks every account once.
    pub(super) async fn sweep(&self) -> Result<(), IndexError> {
        let began_at = self.parts.clock.now();
        let (mut after, mut interrupted) = (None, Ok(()));
        loop {
            let ledgers = self.parts.index.list_ledgers(self.network, after, BALANCES_MAX).await?;
            let Some(last) = ledgers.last() else { break };
            after = Some(last.account_id);
            let looked_into = self.sweep_some(&ledgers).await?;
            // One account's failure must not stop the others.
            interrupted = looked_into.into_iter().fold(interrupted, Result::and);
            if ledgers.len() < BALANCES_MAX {
                break;
            }
        }
        self.parts.index.mark_swept(self.network, began_at).await?;
        interrupted
    }

    /// Checks the accounts whose balance rose, as nodes report.
    pub(super) async fn look_at_deposits(&self, risen: &[Address]) -> Result<(), IndexError> {
        let look = |risen| async move {
            let ledgers = self.parts.index.find_ledgers(self.network, risen).await?;
            self.sweep_some(&ledgers).await
        };
        let looks: Vec<_> = risen.chunks(BALANCES_MAX).map(look).collect();
        let looked: Vec<_> = futures::stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE).collect().await;
        // One account's failure must not stop the others.
        let each = looked.into_iter().flat_map(|looked| looked.unwrap_or_else(|error| vec![Err(error)]));
        each.fold(Ok(()), Result::and)
    }

    /// Returns how each look into an account went.
    async fn sweep_some(&self, ledgers: &[Ledger]) -> Result<Vec<Result<(), IndexError>>, IndexError> {
        let token_accounts: Vec<Address> = ledgers.iter().map(|ledger| ledger.token_account).collect();
        let read = self.parts.history.balances(&token_accounts).await?;
        self.parts.history.watch_deposits(&token_accounts);
        let (mut changed, mut suspects, mut explained) = (Vec::new(), Vec::new(), Vec::new());
        for (ledger, balance) in ledgers.iter().zip(read.amounts) {
            // A node that lags behind the previous one adds nothing new.
            if ledger.was_seen_after(read.slot) {
                continue;
            }
            if ledger.seen != in_ledger(balance) {
                changed.push(((ledger.operator_id, ledger.account_id), balance));
            }
            let Ledger { operator_id: operator, account_id: account, token_account, .. } = *ledger;
            if ledger.difference(balance) == 0 {
                explained.push((token_account, balance));
            } else {
                suspects.push(Sight { operator, account, token_account, balance, slot: read.slot });
            }
        }
        let looked_into: Vec<_> =
            suspects.iter().map(|sight| async move { (sight, self.look_into(*sight).await) }).collect();
        let looked_into: Vec<_> =
            futures::stream::iter(looked_into).buffer_unordered(LOOKED_INTO_AT_ONCE).collect().await;
        let adds_up = |(sight, left): &(&Sight, Result<i64, IndexError>)| {
            matches!(left, Ok(0)).then_some((sight.token_account, sight.balance))
        };
        explained.extend(looked_into.iter().filter_map(adds_up));
        self.parts.history.explained(explained);
        for ((_, account), _) in &changed {
            self.observe(ledgers, *account).await?;
        }
        self.parts.index.mark_seen(read.slot, &changed).await?;
        Ok(looked_into.into_iter().map(|(_, left)| left.map(|_| ())).collect())
    }

    /// Finds the transactions that explain a difference, and returns the rest in micro-USDC.
    async fn look_into(&self, sight: Sight) -> Result<i64, IndexError> {
        let whose = WalkOwner::Account(sight.account);
        if self.difference(sight).await? == 0 {
            self.memory.forget_mismatch(sight.account);
            return Ok(0);
        }
        let walked = self.walk(sight.token_account, whose).await?;
        let difference = self.difference(sight).await?;
        if difference == 0 {
            self.memory.forget_mismatch(sight.account);
            return Ok(0);
        }
        if walked == Walked::PartOfTheWay {
            // The explanation may be in what is still to be read.
            return Ok(difference);
        }
        let cycle = self.cycles.load(Ordering::Relaxed);
        if self.memory.record_mismatch(sight.account, difference, cycle) < CYCLES_BEFORE_DOUBT {
            return Ok(difference);
        }
        if self.walk_all(sight.token_account, whose).await? == Walked::PartOfTheWay {
            return Ok(difference);
        }
        let difference = self.difference(sight).await?;
        if difference != 0 {
            tracing::warn!(account_id = %sight.account, micros = difference,
                "no transaction explains an account's balance");
            self.parts.index.mark_unexplained((sight.operator, sight.account), difference).await?;
        }
        self.memory.forget_mismatch(sight.account);
        Ok(0)
    }

    /// The balance on chain at that slot, less what history explains up to it, in micro-USDC.
    async fn difference(&self, sight: Sight) -> Result<i64, IndexError> {
        let ledger = self.parts.index.find_ledger_at(self.network, sight.account, sight.slot).await?;
        Ok(ledger.map_or(0, |ledger| ledger.difference(sight.balance)))
    }

    /// Notifies those who watch balances. Reads the present balance for it, because a sweep sees what was final a while ago.
    async fn observe(&self, ledgers: &[Ledger], account: AccountId) -> Result<(), IndexError> {
        let Some(ledger) = ledgers.iter().find(|ledger| ledger.account_id == account) else { return Ok(()) };
        let Some(operator) = self.parts.operators.find_operator(ledger.operator_id).await? else {
            return Ok(());
        };
        if let Some(account) = self.parts.accounts.find_account(operator.id, account).await? {
            purser_service::events::look_at_balance(&self.parts.inside, &operator, &account).await?;
        }
        Ok(())
    }
}
