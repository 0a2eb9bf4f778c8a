//! Grants: leave to pay one payee beyond the policy.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::{GrantClosed, GrantOpened, GrantsVoided};
use purser::{GrantPayee, GrantTerms};

use super::rent::check_refund;
use super::{code, ensure, Agent, Answer, Model, Refusal, DAY};
use crate::call::Payment;
use crate::cast;

pub(super) const GRANT_BYTES: usize = 8 + 168;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub id: u64,
    pub epoch: u8,
    /// Wallet, or token account.
    pub payee: (Option<Pubkey>, Option<Pubkey>),
    pub left: u64,
    pub expires_at: i64,
    /// List, single limit, daily limit.
    pub past: [bool; 3],
    pub tag: Option<u64>,
    pub version: Option<u32>,
    pub rent_refund: Pubkey,
}

impl Grant {
    /// Which rules the payment may break. `now`: by the agent's window.
    pub(super) fn lets_past(
        &self,
        address: &Pubkey,
        agent: &Agent,
        payment: &Payment,
        recipient: [&Pubkey; 2],
        now: i64,
    ) -> Result<[bool; 3], Refusal> {
        let [account, owner] = recipient;
        let own = self.agent == *address && self.epoch == agent.grant_epoch;
        let version = self.version.is_none_or(|version| version == agent.version);
        let payee = match self.payee {
            (Some(wallet), None) => wallet == *owner,
            (None, Some(token_account)) => token_account == *account,
            _ => unreachable!("one payee"),
        };
        let whole = self.tag.is_none_or(|tag| tag == payment.tag() && self.left == payment.amount);
        ensure(own && version && payee && whole, code::GRANT_MISMATCH)?;
        ensure(now < self.expires_at, code::GRANT_EXPIRED)?;
        ensure(payment.amount <= self.left, code::GRANT_EXCEEDED)?;
        Ok(self.past)
    }
}

impl Model {
    fn grant(&self, key: &Pubkey) -> Result<&Grant, Refusal> {
        self.grants.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    pub(super) fn open_grant(&mut self, id: u64, terms: &GrantTerms, slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, address, key, rent_refund] = slots else {
            unreachable!("six slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        ensure(*key == cast::grant_address(address, id), code::CONSTRAINT_SEEDS)?;
        ensure(!self.grants.contains_key(key), code::ALREADY_IN_USE)?;
        ensure(operator.admin == *signer, code::UNAUTHORIZED)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        check_refund(rent_refund)?;
        let time = terms.expires_at > self.now && terms.expires_at - self.now <= 30 * DAY;
        let sound = terms.amount > 0 && terms.tag != Some(0) && terms.policy_version != Some(0);
        ensure(time && sound, code::GRANT_TERMS_INVALID)?;
        let grant = Grant {
            operator: *operator_address,
            agent: *address,
            id,
            epoch: agent.grant_epoch,
            payee: match terms.payee {
                GrantPayee::Wallet(key) => (Some(key), None),
                GrantPayee::TokenAccount(key) => (None, Some(key)),
            },
            left: terms.amount,
            expires_at: terms.expires_at,
            past: [terms.beyond_allowlist, terms.beyond_single_limit, terms.beyond_daily_limit],
            tag: terms.tag,
            version: terms.policy_version,
            rent_refund: *rent_refund,
        };
        self.grants.insert(*key, grant);
        let missing = self.rent(GRANT_BYTES).saturating_sub(self.lamports(key));
        self.pay(payer, key, missing);
        let event = GrantOpened {
            operator: *operator_address,
            agent: *address,
            grant: *key,
            id,
            terms: *terms,
            signer: *signer,
        };
        Ok(vec![event.data()])
    }

    pub(super) fn close_grant(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, key, rent_refund] = slots else { unreachable!("four slots") };
        let operator = self.operator(operator_address)?;
        let grant = self.grant(key)?.clone();
        ensure(grant.operator == *operator_address, code::WRONG_OPERATOR)?;
        let over = grant.left == 0 || self.now >= grant.expires_at;
        let may = over
            || [Some(operator.admin), Some(operator.policy_authority), operator.guardian]
                .contains(&Some(*signer));
        ensure(may, code::UNAUTHORIZED)?;
        ensure(grant.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        self.grants.remove(key);
        self.sweep(key, rent_refund);
        let event = GrantClosed {
            operator: *operator_address,
            agent: grant.agent,
            grant: *key,
            left: grant.left,
            signer: *signer,
        };
        Ok(vec![event.data()])
    }

    pub(super) fn void_grants(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        let may = [Some(operator.admin), Some(operator.policy_authority), operator.guardian]
            .contains(&Some(*signer));
        ensure(may, code::UNAUTHORIZED)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        let agent = self.agents.get_mut(address).expect("known");
        agent.grant_epoch = agent.grant_epoch.wrapping_add(1);
        let event = GrantsVoided {
            operator: *operator_address,
            agent: *address,
            grant_epoch: agent.grant_epoch,
            signer: *signer,
        };
        Ok(vec![event.data()])
    }
}
