//! Agents: created, given policies, paused, closed.

use std::collections::VecDeque;

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use anchor_spl::token;
use purser::events::{
    AgentClosed, AgentCreated, BoundsSet, DraftClosed, PausedSet, PolicySet, TagBucketsSet,
};
use purser::Bounds;

use super::month::MONTH_BYTES;
use super::rent::check_refund;
use super::table::KEPT;
use super::{code, ensure, Agent, Answer, Model, Policy, Refusal, Role, Table, Window};
use crate::cast;

pub(super) const AGENT_BYTES: usize = 664;
const BUCKET_BYTES: usize = 192;
pub(super) const ENTRY_BYTES: usize = 32;
const TOKEN_ACCOUNT_BYTES: usize = 165;
/// What stays of a closed agent.
pub(super) const CLOSED_BYTES: usize = 8 + 8 + 32;

impl Agent {
    pub fn bounds(&self) -> Bounds {
        let max_30_day_spend = self.month.as_ref().map(|month| month.cap);
        Bounds { by_grant_only: self.by_grant_only, max_30_day_spend, budget: self.budget }
    }

    /// Length of its account.
    pub fn bytes(&self) -> usize {
        let month = if self.month.is_some() { MONTH_BYTES } else { 0 };
        let budget = if self.budget.is_some() { 32 } else { 0 };
        AGENT_BYTES
            + month
            + budget
            + ENTRY_BYTES * self.policy.entry_count()
            + BUCKET_BYTES * self.table.0.len()
    }
}

impl Model {
    pub(super) fn create_agent(&mut self, id: &[u8; 16], policy: &Policy, slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, address, token_account, mint, rent_refund, closed_refund] =
            slots
        else {
            unreachable!("eight slots")
        };
        let operator = self.operator(operator_address)?;
        ensure(*address == cast::agent_address(operator_address, id), code::CONSTRAINT_SEEDS)?;
        policy.check()?;
        let role = operator.setter(signer)?;
        ensure(*mint == operator.mint, code::WRONG_MINT)?;
        let closed = self.closed.get(address).copied();
        ensure(role == Role::Admin || closed.is_none(), code::AGENT_CLOSED)?;
        ensure(!self.agents.contains_key(address), code::ALREADY_IN_USE)?;
        ensure(closed.is_none_or(|(refund, _)| refund == *closed_refund), code::WRONG_RENT_REFUND)?;
        let right = cast::token_account_address(address, mint);
        // The associated token program derives which account to create, and the call does not contain it.
        let missing = || Refusal::Other("MissingAccount".to_owned());
        if *token_account != right {
            return Err(missing());
        }
        check_refund(rent_refund)?;
        let balance = self.tokens.get(token_account).map_or(0, |account| account.amount);
        let may_hold = role == Role::Admin || operator.delay == 0 || policy.refuses_all();
        ensure(may_hold || balance == 0, code::ACCOUNT_NOT_EMPTY)?;

        let bytes = AGENT_BYTES + ENTRY_BYTES * policy.entry_count() + BUCKET_BYTES;
        if let Some((refund, _)) = closed {
            self.pay(address, &refund, self.lamports(address));
        }
        let missing = self.rent(bytes).saturating_sub(self.lamports(address));
        self.pay(payer, address, missing);
        if !self.tokens.contains_key(token_account) {
            self.pay(payer, token_account, self.rent(TOKEN_ACCOUNT_BYTES));
            self.tokens.insert(*token_account, Self::empty_token_account(*address));
        }
        let agent = Agent {
            operator: *operator_address,
            id: *id,
            token_account: *token_account,
            rent_refund: *rent_refund,
            version: 1,
            updated_at: self.now,
            halted_by: None,
            policy: policy.clone(),
            window: Window::beginning(closed.map_or(0, |(_, second)| second)),
            payments: 0,
            voided_at: closed.map_or(0, |(_, second)| second),
            by_grant_only: false,
            month: None,
            budget: None,
            past_the_cap: None,
            tags: VecDeque::new(),
            table: Table::new(),
        };
        self.agents.insert(*address, agent);
        self.closed.remove(address);
        let created = AgentCreated {
            operator: *operator_address,
            agent: *address,
            agent_id: *id,
            token_account: *token_account,
        };
        Ok(vec![created.data(), self.policy_set(address, None, signer)])
    }

    pub(super) fn set_policy(&mut self, expected: u32, policy: &Policy, slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, address, rent_refund] = slots else {
            unreachable!("five slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        policy.check()?;
        let role = operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(agent.version == expected, code::POLICY_CHANGED)?;
        let at_once = role == Role::Admin || operator.delay == 0 || !policy.loosens(&agent.policy);
        ensure(at_once, code::LOOSENING_MUST_WAIT)?;
        ensure(agent.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        self.put_in_force(address, policy.clone(), payer);
        Ok(vec![self.policy_set(address, None, signer)])
    }

    pub(super) fn put_in_force(&mut self, address: &Pubkey, policy: Policy, payer: &Pubkey) {
        let now = self.now;
        let agent = self.agents.get_mut(address).expect("known");
        let before = agent.bytes();
        agent.policy = policy;
        agent.version += 1;
        agent.updated_at = now;
        self.resized(address, before, payer);
    }

    pub(super) fn policy_set(&self, address: &Pubkey, draft: Option<[u8; 32]>, signer: &Pubkey) -> Vec<u8> {
        let agent = &self.agents[address];
        let event = PolicySet {
            operator: agent.operator,
            agent: *address,
            policy_version: agent.version,
            policy: agent.policy.record(draft),
            signer: *signer,
        };
        event.data()
    }

    pub(super) fn set_paused(&mut self, paused: bool, slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        let role = operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        let loosens = agent.policy.paused && !paused;
        ensure(!loosens || role == Role::Admin || operator.delay == 0, code::LOOSENING_MUST_WAIT)?;
        let now = self.now;
        let agent = self.agents.get_mut(address).expect("known");
        agent.policy.paused = paused;
        agent.version += 1;
        agent.updated_at = now;
        let event = PausedSet {
            operator: *operator_address,
            agent: *address,
            paused,
            policy_version: agent.version,
            signer: *signer,
        };
        Ok(vec![event.data()])
    }

    pub(super) fn set_bounds(
        &mut self,
        bounds: Bounds,
        expected: Option<Bounds>,
        slots: &[Pubkey],
    ) -> Answer {
        let Bounds { by_grant_only, max_30_day_spend: cap, budget } = bounds;
        let [signer, payer, operator_address, address, rent_refund, shown] = slots else {
            unreachable!("six slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        // The program's own address stands for no budget.
        let shown = Some(shown).filter(|key| **key != purser::ID);
        let shown = match shown {
            Some(key) => Some((key, self.budgets.get(key).ok_or_else(|| self.not_of_the_kind(key))?)),
            None => None,
        };
        let role = operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(expected.is_none_or(|expected| expected == agent.bounds()), code::POLICY_CHANGED)?;
        let raises = agent.month.as_ref().is_some_and(|month| cap.is_none_or(|cap| cap > month.cap));
        let leaves = agent.budget.is_some() && agent.budget != budget;
        let loosens = agent.by_grant_only && !by_grant_only || raises || leaves;
        ensure(!loosens || role == Role::Admin || operator.delay == 0, code::LOOSENING_MUST_WAIT)?;
        if let Some(named) = budget {
            let (_, shown) = shown.filter(|(key, _)| **key == named).ok_or(code::BUDGET_MISMATCH)?;
            ensure(shown.operator == *operator_address, code::WRONG_OPERATOR)?;
        }
        ensure(agent.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        let before = agent.bytes();
        let agent = self.agents.get_mut(address).expect("known");
        agent.by_grant_only = by_grant_only;
        agent.budget = budget;
        agent.month = cap.map(|cap| agent.month.take().unwrap_or_default().with_cap(cap));
        self.resized(address, before, payer);
        let (operator, agent, signer) = (*operator_address, *address, *signer);
        Ok(vec![BoundsSet { operator, agent, bounds, signer }.data()])
    }

    pub(super) fn set_tag_buckets(&mut self, buckets: u16, slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, address, rent_refund] = slots else {
            unreachable!("five slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(agent.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        let count = usize::from(buckets);
        ensure(count > 0 && count <= agent.table.0.len() + 53, code::TAG_BUCKET_COUNT)?;
        let (before, now) = (agent.bytes(), agent.window.effective(self.now));
        let mut table = agent.table.clone();
        ensure(table.resize(count, now), code::TAG_BUCKET_COUNT)?;
        self.agents.get_mut(address).expect("known").table = table;
        self.resized(address, before, payer);
        let event = TagBucketsSet { operator: *operator_address, agent: *address, buckets };
        Ok(vec![event.data()])
    }

    /// `payer` pays for a longer account. What a shorter one frees goes to its refund address.
    fn resized(&mut self, address: &Pubkey, before: usize, payer: &Pubkey) {
        let agent = &self.agents[address];
        let (bytes, rent_refund) = (agent.bytes(), agent.rent_refund);
        let (rent, has) = (self.rent(bytes), self.lamports(address));
        if has < rent {
            self.pay(payer, address, rent - has);
        } else if bytes < before {
            self.pay(address, &rent_refund, has - rent);
        }
    }

    pub(super) fn close_agent(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, address, token_account, mint, destination, rent_refund, draft, draft_rent_refund] =
            slots
        else {
            unreachable!("nine slots")
        };
        let operator = self.operator(operator_address)?;
        ensure(*draft == cast::draft_address(address), code::CONSTRAINT_SEEDS)?;
        operator.admin(signer)?;
        let agent = self.agent(address)?.clone();
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(agent.token_account == *token_account, code::WRONG_SOURCE)?;
        ensure(agent.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        let now = agent.window.effective(self.now);
        ensure(agent.payments == 0 || now - agent.window.latest >= KEPT, code::SPEND_WINDOW_NOT_EMPTY)?;
        let balance = self.tokens[token_account].amount;
        if balance > 0 {
            // In another token account of the agent itself nobody could reach it.
            let to = self.tokens.get(destination).filter(|to| to.program == token::ID);
            ensure(to.is_none_or(|to| to.owner != *address), code::RECIPIENT_IS_SOURCE)?;
            let way = [address, token_account, mint, destination, &token::ID];
            self.check_withdrawal(way, balance)?;
        }
        let waiting = self.drafts.get(draft);
        ensure(waiting.is_none_or(|draft| draft.rent_refund == *draft_rent_refund), code::WRONG_RENT_REFUND)?;

        if balance > 0 {
            self.move_tokens(token_account, destination, balance);
        }
        let mut events = vec![];
        self.tokens.remove(token_account);
        self.sweep(token_account, rent_refund);
        if let Some(closed) = self.drafts.remove(draft) {
            self.sweep(draft, draft_rent_refund);
            let event = DraftClosed {
                operator: *operator_address,
                agent: *address,
                hash: closed.hash,
                signer: *signer,
            };
            events.push(event.data());
        }
        self.agents.remove(address);
        self.closed.insert(*address, (*signer, now.max(agent.voided_at)));
        self.sweep(address, rent_refund);
        self.pay(signer, address, self.rent(CLOSED_BYTES));
        let event = AgentClosed {
            operator: *operator_address,
            agent: *address,
            agent_id: agent.id,
            payments: agent.payments,
            swept: balance,
            recipient: *destination,
            admin: *signer,
        };
        events.push(event.data());
        Ok(events)
    }
}
