//! Token accounts that the service creates for payees: each is reserved within the quotas before it is sent.

use std::time::Duration;

use futures::FutureExt;

use super::operators::lock_operator;
use super::query::{Query, columns, sql};
use super::{Accounts, Due, Result};
use purser_model::{
    AccountId, Address, IdempotencyKey, NoTokenAccount, OperatorId, Quotas, Timestamp, UsdcAmount,
};

/// How long a reservation counts.
const DAY: Duration = Duration::from_secs(86_400);

/// A token account that is to be created for a payment.
#[derive(Debug, Clone)]
pub struct NewTokenAccount {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub wallet: Address,
    pub idempotency_key: IdempotencyKey,
    /// Of the payment.
    pub amount: UsdcAmount,
    pub created_at: Timestamp,
    pub lease_expires_at: Timestamp,
}

/// What became of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAccountReservation {
    Made,
    /// Somebody creates this wallet's token account for the operator already.
    Running,
    Refused(NoTokenAccount),
}

impl Accounts {
    /// Reserves a token account within the quotas before it is sent to the chain. The operator's row is held, so that no two reservations
    /// count the same room, through whichever relayer.
    pub async fn reserve_token_account(
        &self,
        new: &NewTokenAccount,
        quotas: Quotas,
    ) -> Result<TokenAccountReservation> {
        let NewTokenAccount { operator_id: operator, wallet, created_at: now, .. } = *new;
        let due = Due::of_lease(now, new.lease_expires_at);
        let running = sql! {
            "SELECT COUNT(*) FROM token_account_creations
             WHERE operator_id = {operator} AND created_at > {since} AND wallet = {wallet} AND NOT {is_over}",
            operator, since = now.before(DAY), wallet, is_over = due.has_come("lease_expires_at")
        };
        let counts = counts(operator, new.account_id, now);
        let insert = sql! {
            "INSERT INTO token_account_creations {row}",
            row = columns! {
                operator_id = operator, new.account_id, wallet, new.idempotency_key, created_at = now,
                new.lease_expires_at
            }
        };
        let amount = new.amount;
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if running.count(&mut *tx).await? > 0 {
                    return Ok(TokenAccountReservation::Running);
                }
                let [of_operator, of_account] = counts;
                let made = [of_operator.count(&mut *tx).await?, of_account.count(&mut *tx).await?];
                if let Some(refused) = quotas.refuses_token_account(amount, made) {
                    return Ok(TokenAccountReservation::Refused(refused));
                }
                insert.run(tx).await?;
                Ok(TokenAccountReservation::Made)
            }
            .boxed()
        })
        .await
    }

    /// Why a token account could not be reserved now. For previews: nothing is written.
    pub async fn refuses_token_account(
        &self,
        (operator, account): (OperatorId, AccountId),
        amount: UsdcAmount,
        now: Timestamp,
        quotas: Quotas,
    ) -> Result<Option<NoTokenAccount>> {
        let mut made = [0; 2];
        for (made, count) in made.iter_mut().zip(counts(operator, account, now)) {
            *made = count.count(self.reader()).await?;
        }
        Ok(quotas.refuses_token_account(amount, made))
    }

    /// A creation has come to its end: others may reserve for this wallet again. It still counts.
    pub async fn end_token_account(&self, new: &NewTokenAccount, now: Timestamp) -> Result<()> {
        sql! {
            "UPDATE token_account_creations SET lease_expires_at = {now}
             WHERE operator_id = {operator_id} AND created_at = {created_at} AND wallet = {wallet}
                 AND idempotency_key = {idempotency_key} AND lease_expires_at > {now}",
            now, new.operator_id, new.created_at, new.wallet, new.idempotency_key
        }
        .run(self.writer())
        .await
    }

    /// Gives a reservation back: nothing was created, and nothing of it can land any more.
    pub async fn delete_token_account(&self, new: &NewTokenAccount) -> Result<()> {
        sql! {
            "DELETE FROM token_account_creations
             WHERE operator_id = {operator_id} AND created_at = {created_at} AND wallet = {wallet}
                 AND idempotency_key = {idempotency_key}",
            new.operator_id, new.created_at, new.wallet, new.idempotency_key
        }
        .run(self.writer())
        .await
    }
}

/// How many were reserved within a day: of the operator, and of one of its accounts.
fn counts(operator: OperatorId, account: AccountId, now: Timestamp) -> [Query; 2] {
    let since = now.before(DAY);
    [
        sql! {
            "SELECT COUNT(*) FROM token_account_creations
             WHERE operator_id = {operator} AND created_at > {since}",
            operator, since
        },
        sql! {
            "SELECT COUNT(*) FROM token_account_creations
             WHERE operator_id = {operator} AND created_at > {since} AND account_id = {account}",
            operator, since, account
        },
    ]
}
