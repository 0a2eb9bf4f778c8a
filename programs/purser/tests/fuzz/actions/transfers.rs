//! Payments: near limits, repeated, late, to listed recipients and to those that only look listed.

use anchor_lang::prelude::Pubkey;

use super::{Actions, Scene, Sight};
use crate::call::{Args, Call, Payment};
use crate::cast::{CAST, MINTS};
use crate::oracle::Policy;

impl Actions {
    pub(super) fn transfer(&mut self, scene: &Scene, sight: &mut Sight) -> Call {
        // Where grants alone pay, most payments name one.
        if scene.agent.by_grant_only && !self.one_in(8) {
            return self.transfer_extended(scene, sight);
        }
        let is_bounded = scene.agent.month.is_some() || scene.agent.budget.is_some();
        if is_bounded && !self.one_in(20) {
            let (slots, payment) = self.payment(scene, sight);
            let slots = [&slots[..], &[self.mint(scene), purser::ID, self.budget_of(scene)]].concat();
            return Call::new(Args::TransferExtended(payment), slots);
        }
        let (slots, payment) = self.payment(scene, sight);
        if self.one_in(2) {
            return Call::new(Args::Transfer(payment), slots);
        }
        Call::new(Args::TransferChecked(payment), [&slots[..], &[self.mint(scene)]].concat())
    }

    /// The agent's budget, if it has one; rarely another one.
    pub(super) fn budget_of(&mut self, scene: &Scene) -> Pubkey {
        match self.random.below(60) {
            0 => purser::ID,
            1 => CAST.operators[self.below(3)].budgets[self.below(2)],
            2 => CAST.everything[self.below(CAST.everything.len())],
            _ => scene.agent.budget.unwrap_or(purser::ID),
        }
    }

    pub(super) fn mint(&mut self, scene: &Scene) -> Pubkey {
        if self.one_in(60) {
            MINTS[self.below(MINTS.len())].0
        } else {
            scene.operator.mint
        }
    }

    /// Everything but the form.
    pub(super) fn payment(&mut self, scene: &Scene, sight: &Sight) -> ([Pubkey; 5], Payment) {
        let Scene { place, operator, agent, .. } = scene;
        let signer = match self.random.below(50) {
            0 => self.person(),
            1 if self.one_in(4) => operator.admin,
            _ => operator.transfer_authorities[self.below(operator.transfer_authorities.len())],
        };
        let destination = self.destination(scene);
        let mut transfer_id: [u8; 16] = std::array::from_fn(|_| self.random.next() as u8);
        transfer_id[8..].copy_from_slice(&self.tag(scene).to_le_bytes());
        let payment = Payment {
            transfer_id,
            asked_at: self.asked_at(scene, sight),
            amount: self.amount(scene, sight),
            memo: self.memo(&agent.policy),
        };
        let slots = [signer, place.operator, place.address, place.source, destination];
        (slots, payment)
    }

    pub(super) fn destination(&mut self, scene: &Scene) -> Pubkey {
        if self.one_in(60) {
            let agent = &CAST.agents[self.below(CAST.agents.len())];
            return [agent.source, agent.address, scene.place.source][self.below(3)];
        }
        if self.one_in(30) {
            return scene.place.others[self.below(3)];
        }
        let any = CAST.recipients[self.below(CAST.recipients.len())].0;
        // The valid ones come first in the cast.
        let common = CAST.recipients[self.below(14)].0;
        let Some(only) = &scene.agent.policy.only else { return if self.one_in(15) { any } else { common } };
        if only.len() == 0 || self.one_in(6) {
            return if self.one_in(3) { any } else { common };
        }
        let entry = only.entries()[self.below(only.len())];
        let mut matching =
            CAST.recipients.iter().filter(|(address, token)| *address == entry || token.owner == entry);
        let which = self.below(2);
        let first = matching.next();
        matching.nth(which).or(first).map_or(any, |(address, _)| *address)
    }

    /// A new tag, or that of an earlier payment: a recent one, or one about as old as the program remembers.
    fn tag(&mut self, scene: &Scene) -> u64 {
        let tags = &scene.agent.tags;
        let back = match self.random.below(100) {
            0 if self.one_in(4) => return 0,
            1..4 => self.below(16),
            4..10 => 13 + self.below(5),
            10..12 => self.below(40),
            _ => usize::MAX,
        };
        match tags.iter().rev().nth(back) {
            Some((tag, _)) => *tag,
            None => {
                self.next_tag += 1;
                // Both halves differ from tag to tag, as those of a hash do.
                self.next_tag.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            }
        }
    }

    /// Now, by the account's clock; sometimes earlier or later, about as far as is allowed.
    fn asked_at(&mut self, scene: &Scene, sight: &Sight) -> u32 {
        let now = scene.agent.window.effective(sight.at);
        let asked_at = match self.random.below(40) {
            0 => now - 3_598 - self.random.below(4) as i64,
            1 => now + 298 + self.random.below(4) as i64,
            2..5 => now - self.random.below(3_600) as i64,
            5..7 => now + self.random.below(300) as i64,
            7 if self.one_in(4) => self.random.next() as u32 as i64,
            _ => now,
        };
        asked_at.clamp(0, u32::MAX.into()) as u32
    }

    fn amount(&mut self, scene: &Scene, sight: &Sight) -> u64 {
        let policy = &scene.agent.policy;
        let balance = sight.model.tokens.get(&scene.place.source).map_or(0, |token| token.amount);
        let spent = scene.agent.window.spent(sight.at);
        let left = policy.daily.map(|most| most.saturating_sub(spent));
        let month = scene.agent.month.as_ref();
        let month = month.map(|month| month.cap.saturating_sub(month.spent(sight.at)));
        let budget = scene.agent.budget.and_then(|key| sight.model.budgets.get(&key));
        let budget = budget.map(|budget| budget.caps.0.saturating_sub(budget.day.spent(sight.at)));
        let about = [3, 60, 300, 3_000][self.below(4)];
        let plain = 1 + self.random.below(about);
        let amount = match self.random.below(100) {
            0 if self.one_in(3) => 0,
            1..4 => balance + self.random.below(2),
            4..7 => policy.single.unwrap_or(plain).saturating_add(self.random.below(2)),
            7..15 => left.unwrap_or(plain).max(1).saturating_add(self.random.below(2)),
            27..31 if month.is_some() => month.unwrap_or(plain).max(1).saturating_add(self.random.below(2)),
            31..35 if budget.is_some() => budget.unwrap_or(plain).max(1).saturating_add(self.random.below(2)),
            // About half of what is left, so that payments reach the limits.
            15..18 => left.unwrap_or(plain).div_ceil(2).max(1),
            25 => u64::MAX - self.random.below(2),
            26 if balance > 1 << 40 => balance,
            _ => plain,
        };
        let small_enough = |most: &u64| amount > most.saturating_mul(2) && amount == plain;
        policy.single.filter(small_enough).map_or(amount, |most| 1 + self.random.below(most.max(1)))
    }

    /// Characters of one to four bytes, uniform or mixed, some at the length limit; rarely invalid UTF-8.
    pub(super) fn memo(&mut self, policy: &Policy) -> Vec<u8> {
        const CHARACTERS: [&str; 5] = ["x", "é", "€", "🪙", "\u{7f}"];
        let wanted = if policy.memo { !self.one_in(12) } else { self.one_in(4) };
        if !wanted {
            return Vec::new();
        }
        let chars = if self.one_in(16) { 150 + self.below(50) } else { 1 + self.below(80) };
        let (first, kinds) = (self.below(5), 1 + self.below(4));
        let mut memo = Vec::new();
        for _ in 0..chars {
            let character = CHARACTERS[(first + self.below(kinds)) % 5];
            memo.extend(character.as_bytes());
        }
        if self.one_in(16) {
            memo.resize(799 + self.below(3), b'x');
        }
        if self.one_in(60) {
            let at = self.below(memo.len());
            memo[at] = [0x80, 0xc0, 0xff, 0xed][self.below(4)];
        }
        memo
    }
}
