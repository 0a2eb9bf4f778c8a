//! Policies, pauses and halts.

use anchor_lang::prelude::Pubkey;

use super::{Actions, Scene};
use crate::call::{Args, Call};
use crate::cast::{AgentPlace, CAST};
use crate::oracle::{Only, Operator, Policy};

impl Actions {
    pub(super) fn set_policy(&mut self, scene: &Scene) -> Call {
        let policy = self.policy(&scene.agent.policy);
        let signer = self.setter(scene.operator);
        self.set_to(scene, signer, policy)
    }

    /// Signed by the admin, so that they apply at once. A day's payments reach these limits, and hardly anything else is refused.
    pub(super) fn set_limits(&mut self, scene: &Scene) -> Call {
        let daily = Some(2_000 + self.random.below(100_000)).filter(|_| !self.one_in(5));
        let policy = Policy { daily, ..Policy::default() };
        self.set_to(scene, scene.operator.admin, policy)
    }

    fn set_to(&mut self, scene: &Scene, signer: Pubkey, policy: Policy) -> Call {
        let Scene { place, agent, .. } = scene;
        let expected_version = self.version(agent.version);
        let slots = [signer, self.person(), place.operator, place.address, self.mostly(agent.rent_refund)];
        Call::new(Args::SetPolicy { expected_version, policy }, slots)
    }

    pub(super) fn version(&mut self, right: u32) -> u32 {
        match self.random.below(20) {
            0 => right.wrapping_sub(1),
            1 => right.wrapping_add(1),
            _ => right,
        }
    }

    /// A new policy, or the current one with one change.
    pub(super) fn policy(&mut self, current: &Policy) -> Policy {
        let mut policy = if self.one_in(3) { Policy::default() } else { current.clone() };
        for _ in 0..1 + self.below(3) {
            match self.random.below(8) {
                0 | 1 => policy.single = self.limit(current.single, 1_000),
                2 | 3 => policy.daily = self.limit(current.daily, 60_000),
                4 => policy.memo = self.one_in(3),
                5 => policy.paused = self.one_in(6),
                _ => policy.only = self.allowlist(current.only.as_ref()),
            }
        }
        policy
    }

    fn limit(&mut self, current: Option<u64>, about: u64) -> Option<u64> {
        match (self.random.below(8), current) {
            (0 | 1, _) => None,
            (2, Some(limit)) => Some(limit.saturating_add(1)),
            (3, Some(limit)) => Some(limit.saturating_sub(1)),
            (4, _) if self.one_in(20) => Some(u64::MAX - self.random.below(2)),
            _ => Some(self.random.below(about)),
        }
    }

    fn allowlist(&mut self, current: Option<&Only>) -> Option<Only> {
        if self.one_in(3) {
            return None;
        }
        let mut only = current.filter(|_| self.one_in(2)).cloned().unwrap_or_default();
        let entries = if only.len() > 0 { 1 } else { self.below(4) };
        for _ in 0..entries {
            let (address, token) = &CAST.recipients[self.below(20)];
            let (list, entry) = match self.random.below(10) {
                0..5 => (&mut only.wallets, token.owner),
                5..9 => (&mut only.token_accounts, *address),
                // The wrong kind for this address.
                _ => (&mut only.wallets, *address),
            };
            match list.iter().position(|known| *known == entry) {
                Some(at) => drop(list.remove(at)),
                None => list.push(entry),
            }
        }
        only.wallets.sort();
        only.token_accounts.sort();
        if self.one_in(30) {
            only.wallets.reverse();
            only.token_accounts.extend(only.token_accounts.first().copied());
        }
        Some(only)
    }

    pub(super) fn set_paused(&mut self, scene: &Scene) -> Call {
        let slots = [self.setter(scene.operator), scene.place.operator, scene.place.address];
        Call::new(Args::SetPaused(self.one_in(2)), slots)
    }

    pub(super) fn unpause(&mut self, operator: &Operator, place: &AgentPlace) -> Call {
        Call::new(Args::SetPaused(false), [self.setter(operator), place.operator, place.address])
    }

    pub(super) fn halt(&mut self, scene: &Scene) -> Call {
        let Scene { place, operator, .. } = scene;
        let signer = match self.random.below(8) {
            0 => self.person(),
            1 | 2 => operator.admin,
            3 | 4 => operator.policy_authority,
            _ => operator.guardian.unwrap_or(operator.policy_authority),
        };
        let agent = if self.one_in(3) { purser::ID } else { place.address };
        if self.one_in(8) {
            let any = self.one_in(4);
            let others: Vec<_> =
                CAST.agents.iter().filter(|other| any || other.operator == place.operator).collect();
            let more = [0, 1].map(|_| others[self.below(others.len())].address);
            let slots = [&[self.admin(operator), place.operator, agent], &more[..]].concat();
            return Call::new(Args::ResumeMore, slots);
        }
        Call::new(Args::Halt { resume: self.one_in(3) }, [signer, place.operator, agent])
    }

    /// `agent`: the program's own address to resume the operator.
    pub(super) fn resume(&mut self, operator: &Operator, place: &AgentPlace, agent: Pubkey) -> Call {
        Call::new(Args::Halt { resume: true }, [self.admin(operator), place.operator, agent])
    }
}
