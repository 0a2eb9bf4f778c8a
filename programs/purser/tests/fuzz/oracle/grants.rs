//! Grants: leave to pay one payee beyond the policy.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::{GrantClosed, GrantOpened, GrantsVoided};
use purser::{GrantPayee, GrantTerms, OpenedBy};
use solana_sha256_hasher::hash;

use super::rent::check_refund;
use super::{code, ensure, Agent, Answer, Model, Operator, Refusal, Role, DAY};
use crate::call::Payment;
use crate::cast;

pub(super) const GRANT_BYTES: usize = 8 + 216;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub id: u64,
    /// Wallet, or token account.
    pub payee: (Option<Pubkey>, Option<Pubkey>),
    pub left: u64,
    pub expires_at: i64,
    /// List, single limit, daily limit.
    pub past: [bool; 3],
    pub tag: Option<u64>,
    pub version: Option<u32>,
    pub rent_refund: Pubkey,
    pub memo_hash: Option<[u8; 32]>,
    pub opener: Opener,
    pub opened_at: i64,
    /// Of the operator, at that moment.
    pub delay: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    Admin,
    PolicyAuthority,
    Approver,
}

impl Grant {
    /// Which rules the payment may break. `now`: by the agent's window.
    pub(super) fn lets_past(
        &self,
        address: &Pubkey,
        (operator, agent): (&Operator, &Agent),
        payment: &Payment,
        recipient: [&Pubkey; 2],
        now: i64,
    ) -> Result<[bool; 3], Refusal> {
        let [account, owner] = recipient;
        let own = self.agent == *address && self.opened_at > agent.voided_at;
        let version = self.version.is_none_or(|version| version == agent.version);
        let payee = match self.payee {
            (Some(wallet), None) => wallet == *owner,
            (None, Some(token_account)) => token_account == *account,
            _ => unreachable!("one payee"),
        };
        let whole = self.tag.is_none_or(|tag| tag == payment.tag() && self.left == payment.amount);
        let memo = self.memo_hash.is_none_or(|expected| expected == hash(&payment.memo).to_bytes());
        let approved = self.opener != Opener::Approver || self.opened_at > operator.approvers_voided_at;
        ensure(own && version && payee && whole && memo && approved, code::GRANT_MISMATCH)?;
        ensure(now < self.expires_at, code::GRANT_EXPIRED)?;
        ensure(payment.amount <= self.left, code::GRANT_EXCEEDED)?;
        let loosens = self.past.contains(&true) || agent.by_grant_only;
        if self.opener == Opener::PolicyAuthority && loosens {
            let ripens = !(self.delay == 0 && operator.delay > 0);
            let waits = i64::from(self.delay.max(operator.delay));
            ensure(ripens && now >= self.opened_at + waits, code::LOOSENING_MUST_WAIT)?;
        }
        Ok(self.past)
    }
}

impl Model {
    fn grant(&self, key: &Pubkey) -> Result<&Grant, Refusal> {
        self.grants.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    pub(super) fn open_grant(
        &mut self,
        id: u64,
        terms: &GrantTerms,
        memo: Option<&str>,
        slots: &[Pubkey],
    ) -> Answer {
        let [signer, payer, operator_address, address, key, rent_refund, approver, sysvar] = slots else {
            unreachable!("eight slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        // The program's own address stands for no approver.
        let approver = Some(approver).filter(|approver| **approver != purser::ID);
        if approver.is_some_and(|approver| !self.approvers.contains_key(approver)) {
            return Err(self.not_of_the_kind(approver.expect("one")));
        }
        ensure(*key == cast::grant_address(address, id), code::CONSTRAINT_SEEDS)?;
        let opener = match approver {
            Some(_) => Opener::Approver,
            None if operator.setter(signer)? == Role::Admin => Opener::Admin,
            None => Opener::PolicyAuthority,
        };
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        let mut now = agent.window.effective(self.now);
        if let Some(approver) = approver {
            now = self.approvers[approver].granted.effective(now);
        }
        let time = terms.expires_at > now && terms.expires_at - now <= 30 * DAY;
        let sound = terms.amount > 0 && terms.tag != Some(0) && terms.policy_version != Some(0);
        ensure(time && sound && terms.memo_hash != Some([0; 32]), code::GRANT_TERMS_INVALID)?;
        if opener != Opener::Admin {
            ensure(!terms.beyond_daily_limit, code::UNAUTHORIZED)?;
            ensure(operator.halted_by.is_none() && agent.halted_by.is_none(), code::HALTED)?;
        }
        if let Some(approver) = approver {
            let keys = [signer, operator_address, approver, sysvar];
            self.check_approval(keys, (address, agent), terms, memo, now)?;
        }
        ensure(!self.grants.contains_key(key), code::ALREADY_IN_USE)?;
        check_refund(rent_refund)?;
        let voided_by_approver = approver.is_some() && now <= operator.approvers_voided_at;
        ensure(now > agent.voided_at && !voided_by_approver, code::GRANT_TOO_EARLY)?;
        let grant = Grant {
            operator: *operator_address,
            agent: *address,
            id,
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
            memo_hash: terms.memo_hash,
            opener,
            opened_at: now,
            delay: operator.delay,
        };
        if let Some(approver) = approver {
            self.approvers.get_mut(approver).expect("known").granted.record(now, terms.amount);
        }
        self.grants.insert(*key, grant);
        let missing = self.rent(GRANT_BYTES).saturating_sub(self.lamports(key));
        self.pay(payer, key, missing);
        let event = GrantOpened {
            operator: *operator_address,
            agent: *address,
            grant: *key,
            id,
            terms: *terms,
            opened_by: match opener {
                Opener::Admin => OpenedBy::Admin,
                Opener::PolicyAuthority => OpenedBy::PolicyAuthority,
                Opener::Approver => OpenedBy::Approver,
            },
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
        let now = self.now;
        let agent = self.agents.get_mut(address).expect("known");
        agent.voided_at = agent.voided_at.max(agent.window.effective(now));
        let event = GrantsVoided {
            operator: *operator_address,
            agent: *address,
            voided_at: agent.voided_at,
            signer: *signer,
        };
        Ok(vec![event.data()])
    }
}
