//! The balances of token accounts from the first transaction to the last, and what left in each 24 hours, summed without any of
//! the program's tricks.

use std::collections::VecDeque;

use anchor_lang::prelude::Pubkey;
use purser_client::{LandedWell, transfer_arguments};
use purser_policy::{DAY_SECONDS, Limit, UsdcAmount};

use super::tokens::moved_at;
use super::{Movement, Place, Replay, usdc};
use crate::check::Check;

/// The token account of an audited account.
#[derive(Debug, Clone)]
pub(super) struct Purse {
    pub agent: Pubkey,
    pub first: Option<u64>,
    /// After the last transaction that named it.
    pub balance: Option<u64>,
}

impl Purse {
    pub fn of(agent: Pubkey) -> Self {
        Self { agent, first: None, balance: None }
    }
}

/// Payments of the last 24 hours.
#[derive(Debug, Default)]
pub(super) struct Day {
    payments: VecDeque<(i64, u64)>,
    sum: u128,
}

impl Day {
    /// What left in the 24 hours up to and including this payment. Payments of age 24 hours and more do not count.
    fn spent(&mut self, time: i64, amount: UsdcAmount) -> u128 {
        while let Some((paid_at, paid)) = self.payments.front().copied() {
            if time.saturating_sub(paid_at) < DAY_SECONDS {
                break;
            }
            self.payments.pop_front();
            self.sum -= u128::from(paid);
        }
        self.payments.push_back((time, amount.micros()));
        self.sum += u128::from(amount.micros());
        self.sum
    }
}

impl Replay {
    /// Counts the money that a transaction moved, and compares it with the balances of token accounts before and after.
    pub(super) fn count_money(&mut self, place: &Place, landed: &LandedWell, movements: &[Movement]) {
        for movement in movements {
            if self.audited.contains(&movement.agent()) {
                self.count_out(place, movement);
            }
        }
        let purses: Vec<Pubkey> = self.purses.keys().copied().collect();
        let named = landed.balances.iter().map(|balance| balance.token_account);
        for token_account in named.filter(|named| purses.binary_search(named).is_ok()) {
            self.count_purse(place, landed, movements, token_account);
        }
        for movement in movements {
            let agent = movement.agent();
            let token_account = self.at.token_account(&agent);
            let is_named = landed.balances.iter().any(|balance| balance.token_account == token_account);
            let out = movement.out_of(&agent).unwrap_or_default();
            let Some(purse) = self.purses.get_mut(&token_account).filter(|_| !is_named && !out.is_zero())
            else {
                continue;
            };
            // What is not shown is not known. It goes on by what follows.
            purse.balance = purse.balance.map(|held| held.saturating_sub(out.micros()));
            let signature = &place.signature;
            let why =
                format!("money left by {signature}, and the node shows no balance of the token account");
            self.unchecked(Check::Balances, why);
        }
    }

    fn count_out(&mut self, place: &Place, movement: &Movement) {
        let agent = movement.agent();
        match movement {
            Movement::Payment { payment, cap } => {
                let spent = self.days.entry(agent).or_default().spent(place.time, payment.amount);
                self.examined(Check::RollingDay, u64::from(*cap != Limit::Unlimited));
                if let Limit::AtMost(cap) = cap
                    && spent > u128::from(cap.micros())
                {
                    let text = format!(
                        "{} USDC left in the 24 hours up to payment {}; the limit was {cap}.",
                        usdc(spent),
                        payment.number
                    );
                    self.mismatch(Check::RollingDay, Some(agent), Some(place), text);
                }
                let life = self.outcome.lives.entry(agent).or_default();
                life.payments += 1;
                life.paid += u128::from(payment.amount.micros());
                if payment.grant.is_some() {
                    self.outcome.by_grants += u128::from(payment.amount.micros());
                }
            }
            Movement::Withdrawal { amount, .. } => {
                let life = self.outcome.lives.entry(agent).or_default();
                life.withdrawn += u128::from(amount.micros());
                if amount.is_zero() {
                    return;
                }
            }
            Movement::Deposit { .. } => {}
        }
        self.outcome.movements.push((place.clone(), movement.clone()));
    }

    /// One token account: its balance is the one before, minus what instructions took out, plus what came in.
    fn count_purse(
        &mut self,
        place: &Place,
        landed: &LandedWell,
        movements: &[Movement],
        token_account: Pubkey,
    ) {
        let Some(balance) = landed.balances.iter().find(|it| it.token_account == token_account) else {
            return;
        };
        let Some(purse) = self.purses.get_mut(&token_account) else { return };
        let (agent, shown, after) = (purse.agent, balance.before.micros(), balance.after.micros());
        // An account begins empty.
        let known = purse.balance.unwrap_or_default();
        // The embedded network leaves some balances out of its answers: what was held before follows from what was moved.
        let is_left_out = shown == 0
            && moved_at(landed, &token_account)
                .is_some_and(|(came, left)| u128::from(known) + came == u128::from(after) + left);
        let before = if is_left_out { known } else { shown };
        purse.first.get_or_insert(before);
        purse.balance = Some(after);
        self.examined(Check::Balances, 1);
        if known != before {
            let text = format!(
                "The token account held {} USDC before this transaction, and {} after the one before it: what changed it is not \
                 among the transactions.",
                UsdcAmount::from_micros(before),
                UsdcAmount::from_micros(known)
            );
            self.mismatch(Check::Balances, Some(agent), Some(place), text);
        }
        let out: u128 =
            movements.iter().filter_map(|it| it.out_of(&agent)).map(|it| u128::from(it.micros())).sum();
        // What left may have come in the same transaction.
        match (u128::from(after) + out).checked_sub(u128::from(before)) {
            None => {
                let text = format!(
                    "The token account went from {} to {} USDC, and instructions of the program took out {} in all: money left \
                     that none of them explains.",
                    UsdcAmount::from_micros(before),
                    balance.after,
                    usdc(out)
                );
                self.mismatch(Check::Balances, Some(agent), Some(place), text);
            }
            Some(0) => {}
            Some(came) => {
                let source = sole_source(landed, &token_account);
                let amount = UsdcAmount::from_micros(u64::try_from(came).unwrap_or(u64::MAX));
                self.outcome.lives.entry(agent).or_default().deposited += came;
                let transfer = sole_transfer(landed, &token_account, amount);
                let deposit = Movement::Deposit { agent, amount, source, transfer };
                self.outcome.movements.push((place.clone(), deposit));
            }
        }
    }
}

/// The single transfer that made a deposit of this amount; `None` if money came in another way too.
fn sole_transfer(landed: &LandedWell, own: &Pubkey, came: UsdcAmount) -> Option<([u8; 16], Vec<u8>)> {
    let paid = landed.calls.iter().filter(|called| called.accounts.get(4) == Some(own));
    let mut transfers = paid.filter_map(|called| transfer_arguments(&called.data));
    match (transfers.next(), transfers.next()) {
        (Some(it), None) if it.amount == came.micros() => Some((it.transfer_id, it.memo)),
        _ => None,
    }
}

/// The single token account, besides `own`, that money left.
fn sole_source(landed: &LandedWell, own: &Pubkey) -> Option<Pubkey> {
    let mut sources = landed.balances.iter().filter(|it| it.after < it.before && it.token_account != *own);
    match (sources.next(), sources.next()) {
        (Some(source), None) => Some(source.token_account),
        _ => None,
    }
}
