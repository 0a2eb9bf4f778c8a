//! Who held which key, how long loosened policies waited, what was halted, what bound accounts beside their policies, approvers
//! and budgets: each from one transaction to another.

use anchor_lang::prelude::Pubkey;
use purser::Bounds;
use purser::state::Operator;

use super::{Halt, KeyRole, Place, Replay, Span};

impl Replay {
    pub(super) fn follow_operator(&mut self, place: &Place, operator: &Operator) {
        let one = [
            (KeyRole::Admin, operator.admin),
            (KeyRole::PendingAdmin, operator.pending_admin),
            (KeyRole::PolicyAuthority, operator.policy_authority),
            (KeyRole::Guardian, operator.guardian),
        ];
        let transfer = operator.transfer_authorities().iter().map(|key| (KeyRole::TransferAuthority, *key));
        let all = one.into_iter().chain(transfer).filter(|(_, key)| *key != Pubkey::default());
        hold(&mut self.outcome.roles, place, all.collect());
        hold(&mut self.outcome.delays, place, vec![operator.loosening_delay_seconds]);
    }

    pub(super) fn follow_halt(
        &mut self,
        place: &Place,
        (account, halts, by): (Option<Pubkey>, bool, Pubkey),
    ) {
        let open = |span: &&mut Span<Halt>| span.until.is_none() && span.what.account == account;
        let current = self.outcome.halts.iter_mut().rev().find(open);
        match (current, halts) {
            (None, true) => {
                let what = Halt { account, by, resumed_by: None };
                self.outcome.halts.push(Span { what, from: place.clone(), until: None });
            }
            (Some(halt), false) => {
                (halt.until, halt.what.resumed_by) = (Some(place.clone()), Some(by));
            }
            (Some(_), true) | (None, false) => {}
        }
    }

    pub(super) fn follow_limits(&mut self, place: &Place, agent: Pubkey, bounds: Bounds) {
        let binds = (bounds != Bounds::default()).then_some(bounds);
        turns(&mut self.outcome.limits, place, agent, binds);
    }

    /// What ends with an account.
    pub(super) fn end_held(&mut self, place: &Place, agent: Pubkey) {
        let halts = self.outcome.halts.iter_mut().filter(|span| span.until.is_none());
        for halt in halts.filter(|span| span.what.account == Some(agent)) {
            halt.until = Some(place.clone());
        }
        self.follow_limits(place, agent, Bounds::default());
    }
}

/// Ends what was so of one thing, unless it is so still, and begins what is so from now on.
pub(super) fn turns<T: PartialEq>(
    spans: &mut Vec<Span<(Pubkey, T)>>,
    place: &Place,
    of: Pubkey,
    now: Option<T>,
) {
    if let Some(open) = spans.iter_mut().rev().find(|span| span.until.is_none() && span.what.0 == of) {
        if Some(&open.what.1) == now.as_ref() {
            return;
        }
        open.until = Some(place.clone());
    }
    spans.extend(now.map(|now| Span { what: (of, now), from: place.clone(), until: None }));
}

/// Ends what is no more, and begins what was not before.
fn hold<T: PartialEq>(spans: &mut Vec<Span<T>>, place: &Place, now: Vec<T>) {
    for span in spans.iter_mut().filter(|span| span.until.is_none() && !now.contains(&span.what)) {
        span.until = Some(place.clone());
    }
    for what in now {
        if !spans.iter().any(|span| span.until.is_none() && span.what == what) {
            spans.push(Span { what, from: place.clone(), until: None });
        }
    }
}
