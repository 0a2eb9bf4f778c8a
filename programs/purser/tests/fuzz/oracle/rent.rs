//! Who gets rent back.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::RentRefundSet;

use super::agents::{CLOSED_BYTES, ENTRY_BYTES};
use super::drafts::DRAFT_BYTES;
use super::grants::GRANT_BYTES;
use super::{code, ensure, Answer, Model, Refusal};
use crate::cast::CAST;

/// Rent goes back to wallets.
pub(super) fn check_refund(key: &Pubkey) -> Result<(), Refusal> {
    ensure(CAST.people.contains(key), code::WRONG_RENT_REFUND)
}

impl Model {
    pub(super) fn set_rent_refund(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, operator, address, new] = slots else { unreachable!("four slots") };
        self.operator(operator)?;
        let agent = self.agent(address)?;
        ensure(agent.operator == *operator, code::WRONG_OPERATOR)?;
        ensure(agent.rent_refund == *signer, code::WRONG_RENT_REFUND)?;
        check_refund(new)?;
        self.agents.get_mut(address).expect("known").rent_refund = *new;
        Ok(vec![RentRefundSet { operator: *operator, agent: *address, rent_refund: *new }.data()])
    }

    pub(super) fn reclaim_rent(&mut self, slots: &[Pubkey]) -> Answer {
        let [address, to] = slots else { unreachable!("two slots") };
        let (refund, bytes) = if let Some(agent) = self.agents.get(address) {
            (agent.rent_refund, agent.bytes())
        } else if let Some(draft) = self.drafts.get(address) {
            (draft.rent_refund, DRAFT_BYTES + ENTRY_BYTES * draft.count)
        } else if let Some(grant) = self.grants.get(address) {
            (grant.rent_refund, GRANT_BYTES)
        } else if let Some((refund, _)) = self.closed.get(address) {
            (*refund, CLOSED_BYTES)
        } else {
            return Err(code::UNKNOWN_LAYOUT.into());
        };
        ensure(refund == *to, code::WRONG_RENT_REFUND)?;
        let surplus = self.lamports(address).saturating_sub(self.rent(bytes));
        self.pay(address, to, surplus);
        Ok(vec![])
    }
}
