//! What the token program was told: each call of the program moves exactly what its signed instruction says, to whom it says;
//! what a recipient gained is what was moved to it; and nobody gets a right over an account's money.

use anchor_lang::prelude::Pubkey;
use purser_client::{LandedWell, TokenCall};
use purser_policy::UsdcAmount;

use super::found::Move;
use super::step::Step;
use super::{MomentKind, Place, Replay, TimelineEntry};
use crate::check::Check;

/// What an instruction of the token program does, as far as it matters here.
enum Deed {
    Moves(Move),
    /// Somebody else may move money, or gets the account.
    GivesRight(&'static str),
    /// Makes, closes or measures accounts.
    Keeps,
    /// Changes balances in another way, or cannot be read.
    Other,
}

/// By the numbers of the SPL Token interface.
fn deed(call: &TokenCall) -> Deed {
    let (Some((number, rest)), accounts) = (call.data.split_first(), &call.accounts) else {
        return Deed::Other;
    };
    let moves = |destination: usize| {
        let amount = u64::from_le_bytes(*rest.first_chunk()?);
        let (source, destination) = (*accounts.first()?, *accounts.get(destination)?);
        Some(Move { source, destination, amount: UsdcAmount::from_micros(amount) })
    };
    match number {
        3 => moves(1).map_or(Deed::Other, Deed::Moves),
        12 => moves(2).map_or(Deed::Other, Deed::Moves),
        4 | 13 => Deed::GivesRight("let somebody else move money of"),
        6 => Deed::GivesRight("gave somebody else an authority over"),
        // Accounts are initialised and closed, frozen and thawed, lose a delegate, are measured.
        0..=2 | 5 | 9..=11 | 16..=22 => Deed::Keeps,
        _ => Deed::Other,
    }
}

impl Step<'_> {
    /// Compares what a call had moved with what its instruction says.
    pub(super) fn moved(&mut self, call: usize, expected: &[(Option<Pubkey>, Move)]) {
        let (mut moved, mut others) = (Vec::new(), 0_usize);
        for made in self.landed.token_calls.iter().filter(|it| it.made_by == Some(call)) {
            match deed(made) {
                Deed::Moves(one) => moved.push(one),
                // Named by the scan of the transaction, if the account is an agent's.
                Deed::Keeps | Deed::GivesRight(_) => {}
                Deed::Other => others += 1,
            }
        }
        for (agent, expected) in expected {
            self.examine(Check::Recipients, *agent);
            let Move { destination, amount, .. } = expected;
            let Some(at) = moved.iter().position(|one| one == expected) else {
                let text = match moved.first() {
                    Some(Move { destination: other, amount: made, .. }) => format!(
                        "{amount} USDC were to go to {destination}; the program moved {made} USDC to {other}."
                    ),
                    None => {
                        format!("{amount} USDC were to go to {destination}, and the program moved nothing.")
                    }
                };
                self.mismatch(Check::Recipients, *agent, text);
                moved.clear();
                continue;
            };
            moved.remove(at);
        }
        let agent = expected.first().and_then(|(agent, _)| *agent);
        for Move { source, destination, amount } in moved {
            let text = format!(
                "The program moved {amount} USDC from {source} to {destination}, which no instruction says."
            );
            self.mismatch(Check::Recipients, agent, text);
        }
        if others > 0 {
            let text =
                format!("The program told the token program {others} thing(s) that no instruction needs.");
            self.mismatch(Check::Recipients, agent, text);
        }
    }
}

impl Replay {
    /// What recipients gained, and rights over the audited token accounts that were given away.
    pub(super) fn follow_money(
        &mut self,
        place: &Place,
        landed: &LandedWell,
        recipients: &[(Pubkey, Pubkey)],
    ) {
        for call in &landed.token_calls {
            let of = call.accounts.first().and_then(|account| self.purses.get(account));
            if let (Some(purse), Deed::GivesRight(what)) = (of, deed(call)) {
                let to = match call.data.first() {
                    Some(6) => call.data.get(3..).and_then(|key| key.first_chunk()).copied(),
                    Some(13) => call.accounts.get(2).map(Pubkey::to_bytes),
                    _ => call.accounts.get(1).map(Pubkey::to_bytes),
                };
                let to = to.map_or("nobody".to_owned(), |key| Pubkey::new_from_array(key).to_string());
                let (agent, text) =
                    (purse.agent, format!("An instruction {what} the account's money: {to}."));
                let (kind, place, account) = (MomentKind::RightGiven, place.clone(), Some(agent));
                self.mismatch(Check::Recipients, account, Some(&place), text.clone());
                self.outcome.timeline.push(TimelineEntry { kind, place, account, text });
            }
        }
        for (agent, recipient) in recipients {
            // The audited accounts' own balances are followed from one transaction to the next.
            if !self.purses.contains_key(recipient) {
                self.gained(place, landed, *agent, recipient);
            }
        }
    }

    fn gained(&mut self, place: &Place, landed: &LandedWell, agent: Pubkey, recipient: &Pubkey) {
        // Minted or burned: its gain says nothing.
        let Some((came, left)) = moved_at(landed, recipient) else { return };
        let shown = landed.balances.iter().find(|balance| balance.token_account == *recipient);
        let Some(shown) = shown else {
            // What is not shown is not known: the embedded network leaves some balances out.
            let why =
                format!("{recipient} was paid in {}, and the node shows no balance of it", place.signature);
            return self.unchecked(Check::Recipients, why);
        };
        let (before, after) = (u128::from(shown.before.micros()), u128::from(shown.after.micros()));
        if before == 0 && after + left > came && !is_begun(landed, recipient) {
            let why = format!("the node leaves out what {recipient} held before {}", place.signature);
            return self.unchecked(Check::Recipients, why);
        }
        if before + came != after + left {
            let text = format!(
                "{recipient} went from {} to {} USDC; by what was moved, {} came and {} left.",
                shown.before,
                shown.after,
                super::usdc(came),
                super::usdc(left)
            );
            self.mismatch(Check::Recipients, Some(agent), Some(place), text);
        }
    }
}

/// What the token program moved to an account and out of it. `None`: its balance was changed in another way, too.
pub(super) fn moved_at(landed: &LandedWell, account: &Pubkey) -> Option<(u128, u128)> {
    let (mut came, mut left) = (0, 0);
    for call in landed.token_calls.iter().filter(|call| call.accounts.contains(account)) {
        match deed(call) {
            Deed::Moves(Move { source, destination, amount }) => {
                came += if destination == *account { u128::from(amount.micros()) } else { 0 };
                left += if source == *account { u128::from(amount.micros()) } else { 0 };
            }
            Deed::Keeps | Deed::GivesRight(_) => {}
            Deed::Other => return None,
        }
    }
    Some((came, left))
}

/// Whether a token account was made in a transaction, so that it held nothing before: `InitializeAccount`, in any of its forms.
fn is_begun(landed: &LandedWell, account: &Pubkey) -> bool {
    let begins = |call: &TokenCall| matches!(call.data.first(), Some(1 | 16 | 18));
    landed.token_calls.iter().any(|call| begins(call) && call.accounts.first() == Some(account))
}
