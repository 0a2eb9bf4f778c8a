//! Operators and their keys.

use anchor_lang::prelude::Pubkey;
use purser::{OperatorKeys, OperatorUpdate};

use super::{Actions, Scene};
use crate::call::{Args, Call};
use crate::cast::{OperatorPlace, CAST, MINT, MINTS};

const DELAYS: [u32; 8] = [0, 0, 0, 1, 600, 3_600, 86_400, 30 * 86_400];

impl Actions {
    pub(super) fn create_operator(&mut self, place: &OperatorPlace) -> Call {
        let people = self.people(&[place.admin]);
        let keys = OperatorKeys {
            policy_authority: people[0],
            transfer_authorities: self.transfer_authorities(&people[2..]),
            guardian: Some(people[1]).filter(|_| !self.one_in(4)),
            loosening_delay_seconds: self.delay(),
        };
        let mint = if self.one_in(1_000) { MINTS[self.below(MINTS.len())].0 } else { MINT };
        Call::new(Args::CreateOperator { id: place.id, keys }, [place.admin, place.address, mint])
    }

    pub(super) fn update_operator(&mut self, scene: &Scene) -> Call {
        let operator = scene.operator;
        let people = self.people(&[operator.admin, operator.policy_authority]);
        let mut update = OperatorUpdate::default();
        match self.random.below(12) {
            0..3 => update.loosening_delay_seconds = Some(self.delay()),
            3 => update.guardian = Some(self.guardian(operator.policy_authority)),
            4 => update.policy_authority = Some(people[0]),
            5 => update.pending_admin = Some(self.guardian(operator.policy_authority)),
            6 => {
                update.policy_authority = Some(self.guardian(operator.admin));
                update.guardian = Some(people[1]);
                update.loosening_delay_seconds = Some(self.delay());
                update.transfer_authorities = Some(self.transfer_authorities(&people[2..]));
            }
            _ => {
                let apart = |key: &&Pubkey| Some(**key) != operator.guardian;
                let people: Vec<_> = people.iter().filter(apart).copied().collect();
                update.transfer_authorities = Some(self.transfer_authorities(&people));
            }
        }
        let signer = self.admin(operator);
        Call::new(Args::UpdateOperator(update), [signer, scene.place.operator])
    }

    pub(super) fn accept_admin(&mut self, scene: &Scene) -> Call {
        let pending = scene.operator.pending_admin.unwrap_or(scene.operator_place.admin);
        Call::new(Args::AcceptAdmin, [self.mostly(pending), scene.place.operator])
    }

    /// Someone, no one, or a key that already has another role.
    fn guardian(&mut self, other: Pubkey) -> Pubkey {
        match self.random.below(8) {
            0 | 1 => Pubkey::default(),
            2 => other,
            _ => self.person(),
        }
    }

    /// Everybody but `others`, in some order.
    fn people(&mut self, others: &[Pubkey]) -> Vec<Pubkey> {
        let mut people: Vec<_> = CAST.people.iter().filter(|key| !others.contains(key)).copied().collect();
        for at in (1..people.len()).rev() {
            people.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        people
    }

    fn transfer_authorities(&mut self, people: &[Pubkey]) -> Vec<Pubkey> {
        let count = match self.random.below(16) {
            0 => 0,
            1 => 9,
            2 | 3 => 8,
            _ => 1 + self.below(4),
        };
        let mut keys = people[..count].to_vec();
        if count > 1 && self.one_in(12) {
            keys[1] = if self.one_in(2) { keys[0] } else { Pubkey::default() };
        }
        keys
    }

    fn delay(&mut self) -> u32 {
        let delay = DELAYS[self.below(DELAYS.len())];
        if self.one_in(6) {
            delay + 1
        } else {
            delay
        }
    }
}
