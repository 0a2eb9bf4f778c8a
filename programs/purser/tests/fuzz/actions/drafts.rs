//! Drafts, from opening to applying.

use anchor_lang::prelude::Pubkey;

use super::{Actions, Scene, Sight};
use crate::call::{draft_args, Args, Call};
use crate::oracle::{draft_hash, Draft, Only, Policy};

/// Entries that fit in a transaction.
const PART: usize = 28;

impl Actions {
    pub(super) fn draft(&mut self, scene: &Scene, sight: &mut Sight) -> Call {
        match sight.model.drafts.get(&scene.place.draft) {
            None => self.open_draft(scene),
            Some(draft) if self.one_in(10) => self.close_draft(scene, draft),
            Some(_) if self.one_in(20) => self.open_draft(scene),
            Some(draft) if draft.sealed.is_none() && !self.one_in(12) => self.write_draft(scene, draft),
            Some(draft) => self.apply_draft(scene, draft, sight),
        }
    }

    fn open_draft(&mut self, scene: &Scene) -> Call {
        let place = scene.place;
        let mut policy = self.policy(&scene.agent.policy);
        if self.one_in(12) {
            policy.only = Some(self.long_list());
        }
        let expected_version = self.version(scene.agent.version);
        let mut hash = draft_hash(&place.address, expected_version, &policy);
        if self.one_in(15) {
            // The hash of another policy.
            hash = draft_hash(
                &place.address,
                expected_version,
                &Policy { paused: !policy.paused, ..policy.clone() },
            );
        }
        let args = draft_args(&policy, expected_version, hash);
        self.plans.insert(place.draft, policy);
        let slots = [
            self.setter(scene.operator),
            self.person(),
            place.operator,
            place.address,
            place.draft,
            self.person(),
        ];
        Call::new(Args::OpenDraft(args), slots)
    }

    /// More entries than fit in a transaction; rarely more than the maximum.
    fn long_list(&mut self) -> Only {
        let count = if self.one_in(10) { 256 + self.below(2) } else { 10 + self.below(50) };
        let mut all: Vec<_> = (0..count as u16)
            .map(|number| {
                let [high, low] = number.to_be_bytes();
                Pubkey::new_from_array(std::array::from_fn(|at| [9, high, low][at.saturating_sub(29)]))
            })
            .collect();
        let token_accounts = all.split_off(self.below(all.len()));
        Only { wallets: all, token_accounts }
    }

    fn write_draft(&mut self, scene: &Scene, draft: &Draft) -> Call {
        let place = scene.place;
        let plan = self.plans.get(&place.draft).and_then(|policy| policy.only.clone()).unwrap_or_default();
        let entries = plan.entries();
        let start = match self.random.below(15) {
            0 => draft.entries.len().saturating_sub(1),
            1 => draft.entries.len() + 1,
            _ => draft.entries.len(),
        };
        let rest = entries.get(start..).unwrap_or(&[]);
        let rest = &rest[..rest.len().min(PART)];
        let count = if self.one_in(3) { self.below(rest.len() + 1) } else { rest.len() };
        let mut part = rest[..count].to_vec();
        if self.one_in(15) {
            let stranger = self.person();
            match part.last_mut() {
                Some(last) => *last = stranger,
                None => part.push(stranger),
            }
        }
        let hash = self.hash(draft);
        let slots = [self.setter(scene.operator), place.operator, place.address, place.draft];
        Call::new(Args::WriteDraft { hash, start: start as u16, entries: part }, slots)
    }

    fn apply_draft(&mut self, scene: &Scene, draft: &Draft, sight: &mut Sight) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        if let (Some((sealed_at, delay_then)), true) = (draft.sealed, self.one_in(2)) {
            let delay = [delay_then, operator.delay][self.below(2)];
            let due = sealed_at + i64::from(delay) - 1 + self.random.below(3) as i64;
            sight.at = sight.at.max(due);
        }
        let slots = [
            self.setter(operator),
            self.person(),
            place.operator,
            place.address,
            place.draft,
            self.mostly(agent.rent_refund),
            self.mostly(draft.rent_refund),
        ];
        Call::new(Args::ApplyDraft { hash: self.hash(draft) }, slots)
    }

    fn close_draft(&mut self, scene: &Scene, draft: &Draft) -> Call {
        let Scene { place, operator, .. } = scene;
        let signer = match operator.guardian {
            Some(guardian) if self.one_in(2) => guardian,
            _ => self.setter(operator),
        };
        let hash = self.hash(draft);
        let slots = [signer, place.operator, place.address, place.draft, self.mostly(draft.rent_refund)];
        Call::new(Args::CloseDraft { hash }, slots)
    }

    fn hash(&mut self, draft: &Draft) -> [u8; 32] {
        let mut hash = draft.hash;
        if self.one_in(25) {
            hash[self.below(32)] ^= 1;
        }
        hash
    }
}
