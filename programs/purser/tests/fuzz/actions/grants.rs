//! Grants: opened with terms near their edges, used within and beyond them, closed and voided.

use anchor_lang::prelude::Pubkey;
use purser::{GrantPayee, GrantTerms};

use super::{Actions, Scene, Sight};
use crate::call::{Args, Call};
use crate::cast::CAST;
use crate::oracle::{Grant, DAY};

impl Actions {
    /// Opens, closes or voids.
    pub(super) fn grant(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        let id = self.below(3);
        let key = place.grants[id];
        if self.one_in(25) {
            let slots = [self.halter(scene), place.operator, place.address];
            return Call::new(Args::VoidGrants, slots);
        }
        if let Some(grant) = sight.model.grants.get(&key) {
            let over = grant.left == 0 || sight.at >= grant.expires_at;
            let signer = if over { self.person() } else { self.halter(scene) };
            let refund = self.mostly(grant.rent_refund);
            return Call::new(Args::CloseGrant, [signer, place.operator, key, refund]);
        }
        let (account, token) = &CAST.recipients[self.below(14)];
        let terms = GrantTerms {
            payee: if self.one_in(2) {
                GrantPayee::Wallet(token.owner)
            } else {
                GrantPayee::TokenAccount(*account)
            },
            amount: if self.one_in(30) { 0 } else { 1 + self.random.below(2_000) },
            expires_at: self.end(sight.at),
            beyond_allowlist: !self.one_in(3),
            beyond_single_limit: !self.one_in(3),
            beyond_daily_limit: self.one_in(3),
            tag: self.one_in(4).then(|| self.fresh_tag()),
            policy_version: self.one_in(4).then(|| agent.version.saturating_sub(u32::from(self.one_in(10)))),
        };
        let slots = [self.admin(operator), self.person(), place.operator, place.address, key, self.person()];
        Call::new(Args::OpenGrant { id: id as u64, terms }, slots)
    }

    /// A payment by one of the grants, mostly such as that is for.
    pub(super) fn transfer_granted(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let (mut slots, mut payment) = self.payment(scene, sight);
        let key = scene.place.grants[self.below(3)];
        if let Some(grant) = sight.model.grants.get(&key) {
            if !self.one_in(12) {
                slots[4] = self.paid_by(grant).unwrap_or(slots[4]);
            }
            let about = 1 + grant.left / (1 + self.random.below(6));
            match self.random.below(12) {
                0 => {}
                1 => payment.amount = grant.left.saturating_add(1),
                2..5 => payment.amount = grant.left.max(1),
                _ => payment.amount = 1 + self.random.below(about),
            }
            if let Some(tag) = grant.tag.filter(|_| !self.one_in(8)) {
                payment.transfer_id[8..].copy_from_slice(&tag.to_le_bytes());
                payment.amount = grant.left.max(1).saturating_add(u64::from(self.one_in(12)));
            }
        }
        let key = match self.random.below(60) {
            0 => CAST.agents[self.below(CAST.agents.len())].grants[0],
            1 => CAST.everything[self.below(CAST.everything.len())],
            _ => key,
        };
        Call::new(Args::TransferGranted(payment), [&slots[..], &[self.mint(scene), key]].concat())
    }

    fn paid_by(&mut self, grant: &Grant) -> Option<Pubkey> {
        let pays = |(account, owner): (Pubkey, Pubkey)| match grant.payee {
            (Some(wallet), _) => wallet == owner,
            (_, token_account) => token_account == Some(account),
        };
        let recipients = CAST.recipients.iter().map(|(account, token)| (*account, token.owner));
        let matching: Vec<_> = recipients.filter(|recipient| pays(*recipient)).collect();
        (!matching.is_empty()).then(|| matching[self.below(matching.len())].0)
    }

    /// Around now, within a few days, and around 30 days.
    fn end(&mut self, now: i64) -> i64 {
        match self.random.below(12) {
            0 => now - 1 + self.random.below(3) as i64,
            1 => now + 30 * DAY - 1 + self.random.below(3) as i64,
            2 => [i64::MIN, i64::MAX][self.below(2)],
            3..6 => now + self.random.below(3_000) as i64,
            _ => now + self.random.below(5 * DAY as u64) as i64,
        }
    }

    fn fresh_tag(&mut self) -> u64 {
        if self.one_in(20) {
            return 0;
        }
        self.next_tag += 1;
        self.next_tag
    }

    /// Guardian, policy authority or admin; rarely someone else.
    fn halter(&mut self, scene: &Scene) -> Pubkey {
        if self.one_in(3) {
            scene.operator.guardian.unwrap_or(scene.operator.admin)
        } else {
            self.setter(scene.operator)
        }
    }
}
