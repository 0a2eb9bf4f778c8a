//! Grants, approvers and budgets as they stand, compared with the replay's result. Only their moments may be a second apart, since a
//! node may date blocks by their end.

use anchor_lang::prelude::Pubkey;
use purser::state::{Approver, Budget, Grant};

use super::Replay;
use super::standing::{Stands, bytes, is_same_window, same};

impl Replay {
    pub(super) fn beside_stands(&self, address: Pubkey, chain: Option<Vec<u8>>) -> Stands {
        let (what, account, chain, replayed) = if let Some(book) = self.world.grants.get(&address) {
            let chain = chain.map(|data| as_grant(data, &book.grant));
            ("grant", Some(book.grant.agent), chain, Some(bytes(&book.grant, &[])))
        } else if let Some(approver) = self.world.approvers.get(&address) {
            ("approver", None, chain.map(|data| as_approver(data, approver)), Some(bytes(approver, &[])))
        } else if let Some(budget) = self.world.budgets.get(&address) {
            ("budget", None, chain.map(|data| as_budget(data, budget)), Some(bytes(budget, &[])))
        } else {
            ("grant, approver or budget", None, chain, None)
        };
        same(account, &format!("{what} {address}"), chain, replayed)
    }
}

/// What stands on the chain, with the moments of the replay where they are close.
fn as_grant(data: Vec<u8>, replayed: &Grant) -> Vec<u8> {
    let Some(mut grant) = Grant::read(&data) else { return data };
    moment(&mut grant.opened_at, replayed.opened_at);
    bytes(&grant, &[])
}

fn as_approver(data: Vec<u8>, replayed: &Approver) -> Vec<u8> {
    let Some(mut approver) = Approver::read(&data) else { return data };
    if is_same_window(approver.window(), replayed.window()) {
        approver.window = replayed.window;
    }
    bytes(&approver, &[])
}

fn as_budget(data: Vec<u8>, replayed: &Budget) -> Vec<u8> {
    let Some(mut budget) = Budget::read(&data) else { return data };
    moment(&mut budget.raised_at, replayed.raised_at);
    if is_same_window(budget.window(), replayed.window()) {
        budget.window = replayed.window;
    }
    let newest = budget.window().effective(i64::MIN);
    if budget.month().spent(newest) == replayed.month().spent(newest) {
        budget.month = replayed.month;
    }
    bytes(&budget, &[])
}

fn moment(stands: &mut i64, replayed: i64) {
    if stands.abs_diff(replayed) <= 1 {
        *stands = replayed;
    }
}
