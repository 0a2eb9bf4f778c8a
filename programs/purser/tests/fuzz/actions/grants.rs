//! Grants: opened with terms near their edges, used within and beyond them, closed and voided.

use anchor_lang::prelude::Pubkey;
use purser::{GrantPayee, GrantTerms, OperatorUpdate};
use solana_sdk_ids::sysvar;
use solana_sha256_hasher::hash;

use super::{Actions, Scene, Sight};
use crate::call::{Args, Call};
use crate::cast::{approver_address, CAST};
use crate::oracle::{approval, Agent, Grant, Model, Opener, DAY};

impl Actions {
    /// Opens, closes or voids.
    pub(super) fn grant(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        if self.one_in(25) {
            let slots = [self.halter(scene), place.operator, place.address];
            return Call::new(Args::VoidGrants, slots);
        }
        // Mostly where there is none, or one that pays nothing any more.
        let is_idle =
            |key: &Pubkey| sight.model.grants.get(key).is_none_or(|grant| !could_pay(grant, agent, sight.at));
        let idle = place.grants.iter().position(is_idle);
        let id = idle.filter(|_| !self.one_in(4)).unwrap_or_else(|| self.below(3));
        let key = place.grants[id];
        if let Some(grant) = sight.model.grants.get(&key) {
            let over = grant.left == 0 || sight.at >= grant.expires_at;
            let signer = if over { self.person() } else { self.halter(scene) };
            let refund = self.mostly(grant.rent_refund);
            return Call::new(Args::CloseGrant, [signer, place.operator, key, refund]);
        }
        let payee = self.destination(scene);
        let payee = CAST.recipients[..14].iter().find(|(account, _)| *account == payee);
        let (account, token) = payee.unwrap_or_else(|| &CAST.recipients[self.below(14)]);
        // Where grants alone pay, one that waives nothing opens as much as any.
        let waives = !agent.by_grant_only || self.one_in(2);
        let mut terms = GrantTerms {
            payee: if self.one_in(2) {
                GrantPayee::Wallet(token.owner)
            } else {
                GrantPayee::TokenAccount(*account)
            },
            amount: if self.one_in(30) { 0 } else { 1 + self.random.below(2_000) },
            expires_at: self.end(sight.at),
            beyond_allowlist: waives && !self.one_in(3),
            beyond_single_limit: waives && !self.one_in(3),
            beyond_daily_limit: waives && self.one_in(4),
            tag: self.one_in(4).then(|| self.fresh_tag()),
            memo_hash: self.one_in(4).then(|| self.memo_hash(agent)),
            policy_version: self.one_in(4).then(|| agent.version.saturating_sub(u32::from(self.one_in(10)))),
        };
        let slots = |signer, payer, refund, [approver, sysvar]: [Pubkey; 2]| {
            [signer, payer, place.operator, place.address, key, refund, approver, sysvar]
        };
        let (payer, refund) = (self.person(), self.person());
        // Of one in six the approver is another operator's.
        let other = self.one_in(6);
        let approvers = sight.model.approvers.iter();
        let approvers: Vec<_> =
            approvers.filter(|(_, known)| (known.operator != place.operator) == other).collect();
        if approvers.is_empty() || self.one_in(2) {
            let signer = match self.random.below(4) {
                0 => self.admin(operator),
                1 => self.setter(operator),
                _ => operator.policy_authority,
            };
            terms.beyond_daily_limit &= signer != operator.policy_authority || self.one_in(8);
            let slots = slots(signer, payer, refund, [purser::ID; 2]);
            return Call::new(Args::OpenGrant { id: id as u64, terms, memo: None }, slots);
        }
        let (approver, known) = approvers[self.below(approvers.len())];
        // Mostly as an approver has to.
        terms.beyond_daily_limit &= self.one_in(8);
        if !self.one_in(12) {
            terms.tag = Some(self.fresh_tag());
        }
        if !self.one_in(12) {
            terms.memo_hash = Some(self.memo_hash(agent));
        }
        if !self.one_in(12) {
            terms.policy_version = Some(agent.version);
        }
        let left = known.max_daily.saturating_sub(known.granted.spent(sight.at));
        match self.random.below(8) {
            0 => terms.amount = known.max_grant.saturating_add(self.random.below(2)),
            1..3 => terms.amount = left.max(1).saturating_add(self.random.below(2)),
            _ => terms.amount = terms.amount.min(known.max_grant / 3).max(1),
        }
        let memo = match self.random.below(16) {
            0 => None,
            1 => Some("Purser: let".to_owned()),
            2 => Some(approval(&place.operator, &terms)),
            3 => Some(approval(&place.address, &GrantTerms { amount: terms.amount ^ 1, ..terms })),
            4 => Some(approval(&place.address, &GrantTerms { expires_at: terms.expires_at ^ 1, ..terms })),
            _ => Some(approval(&place.address, &terms)),
        };
        let signer = self.mostly(known.key);
        let sysvar = if self.one_in(40) { sysvar::clock::ID } else { sysvar::instructions::ID };
        let slots = slots(signer, payer, refund, [*approver, sysvar]);
        Call::new(Args::OpenGrant { id: id as u64, terms, memo }, slots)
    }

    /// Makes somebody an approver, changes or removes one.
    pub(super) fn approver(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let Scene { place, operator, .. } = scene;
        let approvers = approvers_of(sight.model, &place.operator);
        let known = (!approvers.is_empty()).then(|| approvers[self.below(approvers.len())]);
        let key = known.filter(|_| !self.one_in(3)).unwrap_or_else(|| self.person());
        let address = approver_address(&place.operator, &key);
        let admin = self.admin(operator);
        if known == Some(key) && self.one_in(3) {
            return Call::new(Args::RemoveApprover, [admin, place.operator, address]);
        }
        let max_grant = self.random.below(2_000);
        let max_daily = self.random.below(6_000);
        Call::new(Args::SetApprover { key, max_grant, max_daily }, [admin, place.operator, address])
    }

    /// The hash of a memo that payments by a grant will have.
    fn memo_hash(&mut self, agent: &Agent) -> [u8; 32] {
        if self.one_in(40) {
            return [0; 32];
        }
        let memo = self.memo(&agent.policy);
        let hash = hash(&memo).to_bytes();
        self.memos.insert(hash, memo);
        hash
    }

    /// A payment by one of the grants, mostly such as that is for.
    pub(super) fn transfer_extended(&mut self, scene: &Scene, sight: &mut Sight) -> Call {
        let Some(key) = self.grant_to_use(scene, sight) else { return self.grant(scene, sight) };
        let (mut slots, mut payment) = self.payment(scene, sight);
        if let Some(grant) = sight.model.grants.get(&key) {
            if grant.opener == Opener::PolicyAuthority && scene.operator.delay == 0 && self.one_in(12) {
                // From now on something waits: what was opened before never loosens.
                let delay = Some(1 + self.random.below(3_000) as u32);
                let update = OperatorUpdate { loosening_delay_seconds: delay, ..OperatorUpdate::default() };
                return Call::new(Args::UpdateOperator(update), [scene.operator.admin, scene.place.operator]);
            }
            if grant.opener == Opener::PolicyAuthority && self.one_in(2) {
                // Around the moment from which it may loosen.
                let waits = i64::from(grant.delay.max(scene.operator.delay));
                let ripe = grant.opened_at + waits - 1 + self.random.below(3) as i64;
                let far = if self.calm { 20 * self.tempo as i64 } else { 2 * DAY };
                sight.at = if (sight.at..sight.at + far).contains(&ripe) { ripe } else { sight.at };
            }
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
            let memo = grant.memo_hash.and_then(|hash| self.memos.get(&hash).cloned());
            if let Some(memo) = memo.filter(|_| !self.one_in(12)) {
                payment.memo = memo;
            }
        }
        let key = match self.random.below(60) {
            0 => CAST.agents[self.below(CAST.agents.len())].grants[0],
            1 => CAST.everything[self.below(CAST.everything.len())],
            2..8 => purser::ID,
            _ => key,
        };
        let more = [self.mint(scene), key, self.budget_of(scene)];
        Call::new(Args::TransferExtended(payment), [&slots[..], &more].concat())
    }

    /// Mostly one of the agent's own that could pay; at times one of another agent that could, if it were its own. `None`: it is
    /// time to open one.
    fn grant_to_use(&mut self, scene: &Scene, sight: &Sight) -> Option<Pubkey> {
        let Scene { place, agent, .. } = scene;
        let (others, any) = (self.one_in(4), self.one_in(16));
        let grants = sight.model.grants.iter().filter(|(_, grant)| {
            (grant.agent != place.address) == others && (any || could_pay(grant, agent, sight.at))
        });
        let grants: Vec<_> = grants.map(|(key, _)| *key).collect();
        match grants.len() {
            0 => (!self.one_in(2)).then(|| place.grants[self.below(3)]),
            count => Some(grants[self.below(count)]),
        }
    }

    fn paid_by(&mut self, grant: &Grant) -> Option<Pubkey> {
        let pays = |(account, owner): (Pubkey, Pubkey)| match grant.payee {
            (Some(wallet), _) => wallet == owner,
            (_, token_account) => token_account == Some(account),
        };
        let recipients = CAST.recipients.iter().map(|(account, token)| (*account, token.owner));
        // The valid ones come first in the cast.
        let among = if self.one_in(12) { CAST.recipients.len() } else { 14 };
        let matching: Vec<_> = recipients.take(among).filter(|recipient| pays(*recipient)).collect();
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
        // Both halves differ from tag to tag, as those of a hash do.
        self.next_tag.wrapping_mul(0x9E37_79B9_7F4A_7C15)
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

/// Whether the grant is open for this agent, were it for it.
fn could_pay(grant: &Grant, agent: &Agent, at: i64) -> bool {
    let is_version = grant.version.is_none_or(|version| version == agent.version);
    grant.left > 0 && at < grant.expires_at && grant.opened_at > agent.voided_at && is_version
}

/// The keys of the operator's approvers.
fn approvers_of(model: &Model, operator: &Pubkey) -> Vec<Pubkey> {
    let own = model.approvers.values().filter(|approver| approver.operator == *operator);
    own.map(|approver| approver.key).collect()
}
