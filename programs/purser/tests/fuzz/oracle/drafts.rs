//! Staged policies: opened by their hash, written in parts, sealed, applied.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::{DraftClosed, DraftSealed, DraftWritten};
use purser::DraftArgs;
use solana_sha256_hasher::hash;

use super::agents::ENTRY_BYTES;
use super::rent::check_refund;
use super::{code, ensure, Answer, Draft, Model, Only, Policy, Refusal, Role};
use crate::cast;

pub(super) const DRAFT_BYTES: usize = 8 + 144;
const ENTRIES_MAX: usize = 256;

/// A draft's name: SHA-256 of the agent's address, the version that the policy was written against (u32), the number
/// of entries (u16), the policy (24 bytes) and the entries, little-endian.
pub fn draft_hash(agent: &Pubkey, expected_version: u32, policy: &Policy) -> [u8; 32] {
    let only = policy.only.clone().unwrap_or_default();
    let mut bytes = agent.to_bytes().to_vec();
    bytes.extend(expected_version.to_le_bytes());
    bytes.extend((only.len() as u16).to_le_bytes());
    bytes.extend(policy.single.unwrap_or(0).to_le_bytes());
    bytes.extend(policy.daily.unwrap_or(0).to_le_bytes());
    bytes.extend((only.wallets.len() as u16).to_le_bytes());
    let flags =
        [policy.paused, policy.memo, policy.single.is_some(), policy.daily.is_some(), policy.only.is_some()];
    bytes.push(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
    bytes.extend([0; 5]);
    for entry in only.entries() {
        bytes.extend(entry.to_bytes());
    }
    hash(&bytes).to_bytes()
}

impl Draft {
    fn check(&self, agent: &Pubkey, hash: &[u8; 32]) -> Result<(), Refusal> {
        ensure(self.agent == *agent && self.hash == *hash, code::DRAFT_MISMATCH)
    }

    /// Once everything is written: the draft's policy, if its hash matches.
    fn seal(&mut self, now: i64, delay: u32) -> Result<(), Refusal> {
        if let Some(only) = &mut self.policy.only {
            let (wallets, token_accounts) = self.entries.split_at(self.wallets);
            *only = Only { wallets: wallets.to_vec(), token_accounts: token_accounts.to_vec() };
        }
        self.policy.check()?;
        let written = draft_hash(&self.agent, self.expected_version, &self.policy);
        ensure(written == self.hash, code::DRAFT_MISMATCH)?;
        self.sealed = Some((now, delay));
        Ok(())
    }
}

impl Model {
    pub(super) fn open_draft(&mut self, args: &DraftArgs, slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, agent_address, address, rent_refund] = slots else {
            unreachable!("six slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(agent_address)?;
        ensure(*address == cast::draft_address(agent_address), code::CONSTRAINT_SEEDS)?;
        let count =
            |counts: purser::EntryCounts| usize::from(counts.wallets) + usize::from(counts.token_accounts);
        let count = args.entries.map_or(0, count);
        operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(agent.version == args.expected_version, code::POLICY_CHANGED)?;
        ensure(count <= ENTRIES_MAX, code::ALLOWLIST_TOO_LONG)?;
        ensure(!self.drafts.contains_key(address), code::ALREADY_IN_USE)?;
        check_refund(rent_refund)?;
        let mut draft = Draft {
            agent: *agent_address,
            rent_refund: *rent_refund,
            hash: args.hash,
            expected_version: args.expected_version,
            policy: Policy {
                single: args.rules.max_single_transfer,
                daily: args.rules.max_daily_spend,
                memo: args.rules.require_memo,
                paused: args.rules.paused,
                only: args.entries.map(|_| Only::default()),
            },
            wallets: args.entries.map_or(0, |counts| usize::from(counts.wallets)),
            count,
            entries: vec![],
            sealed: None,
        };
        let mut events = vec![];
        if count == 0 {
            draft.seal(self.now, operator.delay)?;
            events.push(self.sealed(&draft, operator_address, signer));
        }
        self.drafts.insert(*address, draft);
        self.pay(payer, address, self.rent(DRAFT_BYTES + ENTRY_BYTES * count));
        Ok(events)
    }

    pub(super) fn write_draft(
        &mut self,
        hash: &[u8; 32],
        start: u16,
        entries: &[Pubkey],
        slots: &[Pubkey],
    ) -> Answer {
        let [signer, operator_address, agent_address, address] = slots else { unreachable!("four slots") };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(agent_address)?;
        let mut draft = self.draft(address)?.clone();
        operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        draft.check(agent_address, hash)?;
        let next = usize::from(start) == draft.entries.len() && draft.sealed.is_none();
        ensure(next && draft.entries.len() + entries.len() <= draft.count, code::DRAFT_OUT_OF_ORDER)?;
        draft.entries.extend(entries);
        let written = DraftWritten { agent: *agent_address, hash: *hash, start, entries: entries.to_vec() };
        let mut events = vec![written.data()];
        if draft.entries.len() == draft.count {
            draft.seal(self.now, operator.delay)?;
            events.push(self.sealed(&draft, operator_address, signer));
        }
        self.drafts.insert(*address, draft);
        Ok(events)
    }

    pub(super) fn apply_draft(&mut self, hash: &[u8; 32], slots: &[Pubkey]) -> Answer {
        let [signer, payer, operator_address, agent_address, address, rent_refund, draft_rent_refund] = slots
        else {
            unreachable!("seven slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(agent_address)?;
        let draft = self.draft(address)?.clone();
        let role = operator.setter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        draft.check(agent_address, hash)?;
        let (sealed_at, delay_then) = draft.sealed.ok_or(code::DRAFT_INCOMPLETE)?;
        ensure(agent.version == draft.expected_version, code::POLICY_CHANGED)?;
        ensure(draft.rent_refund == *draft_rent_refund, code::WRONG_RENT_REFUND)?;
        let has_delay = operator.delay > 0 || delay_then > 0;
        if role != Role::Admin && has_delay && draft.policy.loosens(&agent.policy) {
            ensure(operator.halted_by.is_none() && agent.halted_by.is_none(), code::HALTED)?;
            let waited = self.now - sealed_at;
            let enough = [delay_then, operator.delay].iter().all(|delay| waited >= i64::from(*delay));
            ensure(delay_then > 0 && enough, code::LOOSENING_MUST_WAIT)?;
        }
        ensure(agent.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        self.put_in_force(agent_address, draft.policy, payer);
        self.drafts.remove(address);
        self.sweep(address, draft_rent_refund);
        Ok(vec![self.policy_set(agent_address, Some(*hash), signer)])
    }

    pub(super) fn close_draft(&mut self, hash: &[u8; 32], slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, agent_address, address, rent_refund] = slots else {
            unreachable!("five slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(agent_address)?;
        let draft = self.draft(address)?;
        operator.halter(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        draft.check(agent_address, hash)?;
        ensure(draft.rent_refund == *rent_refund, code::WRONG_RENT_REFUND)?;
        self.drafts.remove(address);
        self.sweep(address, rent_refund);
        let event =
            DraftClosed { operator: *operator_address, agent: *agent_address, hash: *hash, signer: *signer };
        Ok(vec![event.data()])
    }

    fn sealed(&self, draft: &Draft, operator: &Pubkey, signer: &Pubkey) -> Vec<u8> {
        let (sealed_at, delay) = draft.sealed.expect("sealed");
        let event = DraftSealed {
            operator: *operator,
            agent: draft.agent,
            hash: draft.hash,
            expected_version: draft.expected_version,
            policy: draft.policy.record(Some(draft.hash)),
            sealed_at,
            loosens_at: sealed_at + i64::from(delay),
            signer: *signer,
        };
        event.data()
    }
}
