//! Operators: who holds which key, and what is halted.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use anchor_spl::token;
use purser::events::{HaltSet, OperatorCreated, OperatorRecord, OperatorUpdated};
use purser::{OperatorKeys, OperatorUpdate};

use super::{code, ensure, Answer, Model, Operator, Refusal, Role};
use crate::cast;

const OPERATOR_BYTES: usize = 8 + 472;
const TRANSFER_AUTHORITIES_MAX: usize = 8;
const DELAY_MAX: u32 = 30 * 86_400;

impl Operator {
    /// The signer's role in this operator.
    fn role(&self, signer: &Pubkey) -> Option<Role> {
        if *signer == self.admin {
            Some(Role::Admin)
        } else if *signer == self.policy_authority {
            Some(Role::PolicyAuthority)
        } else if Some(*signer) == self.guardian {
            Some(Role::Guardian)
        } else {
            None
        }
    }

    pub(super) fn admin(&self, signer: &Pubkey) -> Result<(), Refusal> {
        ensure(self.role(signer) == Some(Role::Admin), code::UNAUTHORIZED)
    }

    /// Admin or policy authority.
    pub(super) fn setter(&self, signer: &Pubkey) -> Result<Role, Refusal> {
        let role = self.role(signer).filter(|role| *role != Role::Guardian);
        Ok(role.ok_or(code::UNAUTHORIZED)?)
    }

    /// A role that may halt.
    pub(super) fn halter(&self, signer: &Pubkey) -> Result<Role, Refusal> {
        Ok(self.role(signer).ok_or(code::UNAUTHORIZED)?)
    }

    fn set_transfer_authorities(&mut self, keys: &[Pubkey]) -> Result<(), Refusal> {
        let count = (1..=TRANSFER_AUTHORITIES_MAX).contains(&keys.len());
        ensure(count && !keys.contains(&Pubkey::default()), code::TRANSFER_AUTHORITY_COUNT)?;
        self.transfer_authorities = keys.to_vec();
        Ok(())
    }

    fn check(&self) -> Result<(), Refusal> {
        let both = self.policy_authority != Pubkey::default() && self.policy_authority != self.admin;
        let mut own = self.transfer_authorities.clone();
        own.sort();
        own.dedup();
        let apart = own.len() == self.transfer_authorities.len();
        let others = [Some(self.admin), Some(self.policy_authority), self.guardian];
        let plain = !own.iter().any(|key| others.contains(&Some(*key)));
        ensure(both && apart && plain, code::KEYS_NOT_DISTINCT)?;
        ensure(self.delay <= DELAY_MAX, code::LOOSENING_DELAY_TOO_LONG)
    }

    fn record(&self) -> OperatorRecord {
        OperatorRecord {
            admin: self.admin,
            pending_admin: self.pending_admin.unwrap_or_default(),
            policy_authority: self.policy_authority,
            guardian: self.guardian.unwrap_or_default(),
            transfer_authorities: self.transfer_authorities.clone(),
            loosening_delay_seconds: self.delay,
        }
    }
}

/// `None` for the default key.
fn some(key: Pubkey) -> Option<Pubkey> {
    Some(key).filter(|key| *key != Pubkey::default())
}

pub(super) fn role_number(role: Role) -> purser::state::Role {
    match role {
        Role::Admin => purser::state::Role::Admin,
        Role::PolicyAuthority => purser::state::Role::PolicyAuthority,
        Role::Guardian => purser::state::Role::Guardian,
    }
}

impl Model {
    pub(super) fn create_operator(&mut self, id: u64, keys: &OperatorKeys, slots: &[Pubkey]) -> Answer {
        let [admin, address, mint] = slots else { unreachable!("three slots") };
        ensure(*address == cast::operator_address(admin, id), code::CONSTRAINT_SEEDS)?;
        ensure(*mint != cast::NINE_DECIMALS && self.mints.get(mint) == Some(&token::ID), code::WRONG_MINT)?;
        ensure(!self.operators.contains_key(address), code::ALREADY_IN_USE)?;
        let mut operator = Operator {
            id,
            created_by: *admin,
            admin: *admin,
            pending_admin: None,
            policy_authority: keys.policy_authority,
            guardian: keys.guardian.and_then(some),
            transfer_authorities: vec![],
            delay: keys.loosening_delay_seconds,
            mint: *mint,
            halted_by: None,
            approvers_voided_at: 0,
        };
        operator.set_transfer_authorities(&keys.transfer_authorities)?;
        operator.check()?;
        let event = OperatorCreated { operator: *address, id, usdc_mint: *mint, keys: operator.record() };
        self.operators.insert(*address, operator);
        self.pay(admin, address, self.rent(OPERATOR_BYTES));
        Ok(vec![event.data()])
    }

    pub(super) fn update_operator(&mut self, update: &OperatorUpdate, slots: &[Pubkey]) -> Answer {
        let [admin, address] = slots else { unreachable!("two slots") };
        let mut operator = self.operator(address)?.clone();
        operator.admin(admin)?;
        if let Some(key) = update.policy_authority {
            operator.policy_authority = key;
        }
        if let Some(key) = update.guardian {
            operator.guardian = some(key);
        }
        if let Some(key) = update.pending_admin {
            operator.pending_admin = some(key);
        }
        if let Some(delay) = update.loosening_delay_seconds {
            operator.delay = delay;
        }
        if let Some(keys) = &update.transfer_authorities {
            operator.set_transfer_authorities(keys)?;
        }
        self.replace_operator(*address, operator)
    }

    pub(super) fn accept_admin(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, address] = slots else { unreachable!("two slots") };
        let mut operator = self.operator(address)?.clone();
        ensure(operator.pending_admin == Some(*signer), code::UNAUTHORIZED)?;
        operator.admin = *signer;
        operator.pending_admin = None;
        self.replace_operator(*address, operator)
    }

    fn replace_operator(&mut self, address: Pubkey, operator: Operator) -> Answer {
        operator.check()?;
        let event = OperatorUpdated { operator: address, keys: operator.record() };
        self.operators.insert(address, operator);
        Ok(vec![event.data()])
    }

    /// A usual resume, and then each further agent as by one of its own.
    pub(super) fn resume_more(&mut self, slots: &[Pubkey]) -> Answer {
        let [signer, address, _, more @ ..] = slots else { unreachable!("five slots") };
        let mut trial = self.clone();
        let mut events = trial.halt(true, &slots[..3])?;
        for agent in more {
            ensure(*agent != purser::ID, code::OWNED_BY_WRONG_PROGRAM)?;
            events.extend(trial.halt(true, &[*signer, *address, *agent])?);
        }
        *self = trial;
        Ok(events)
    }

    /// To halt the operator itself, the agent's slot holds the program's own address.
    pub(super) fn halt(&mut self, resume: bool, slots: &[Pubkey]) -> Answer {
        let [signer, address, agent] = slots else { unreachable!("three slots") };
        let operator = self.operator(address)?;
        let agent = Some(*agent).filter(|agent| *agent != purser::ID);
        let known = agent.map(|agent| self.agent(&agent)).transpose()?;
        let role = operator.halter(signer)?;
        if resume {
            operator.admin(signer)?;
        }
        ensure(known.is_none_or(|agent| agent.operator == *address), code::WRONG_OPERATOR)?;
        let halted_by = match agent {
            Some(agent) => &mut self.agents.get_mut(&agent).expect("known").halted_by,
            None => &mut self.operators.get_mut(address).expect("known").halted_by,
        };
        // The first one that halted stays named.
        *halted_by = if resume { None } else { halted_by.or(Some(role)) };
        let halted_by = halted_by.map(role_number);
        Ok(vec![HaltSet { operator: *address, agent, halted_by, signer: *signer }.data()])
    }
}
