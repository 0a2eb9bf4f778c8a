//! Policies and halts, as transactions set them. We announce them before we record that their transactions were
//! read: after a crash they are read again, and nothing is announced twice.

use std::time::Duration;

use super::book::Parties;
use super::{IndexError, Indexer};
use purser_chain::{
    BALANCES_MAX, ChainError, LandedRecord, LoggedPolicy, PolicyCall, PolicySetTo, PolicyStep, ProgramEvent,
};
use purser_model::{
    Address, HaltScope, HaltSet, HaltedBy, OperatorId, Party, PolicySet, SetBy, SpendingPolicy, Timestamp,
};

/// Accounts whose halt is announced per transaction.
const HALTED_AT_ONCE: u32 = 200;
/// A halt that is read later than this is no news: it comes from reading an account's past.
const HALT_IS_NEWS: Duration = Duration::from_secs(24 * 60 * 60);

impl Indexer {
    /// Records what these transactions did to policies and halts; they must come in the chain's order.
    pub(super) async fn note_policies<'a>(
        &self,
        records: impl Iterator<Item = &'a (LandedRecord, i64)>,
        parties: &Parties,
    ) -> Result<(), IndexError> {
        for (record, block_time) in records {
            let at = Timestamp::from_unix_seconds(*block_time);
            let mut setting = record.policy_steps.iter().filter(|step| step.what.sets());
            for event in &record.events {
                match event {
                    ProgramEvent::PolicyChanged { agent, logged, .. } => {
                        let called = setting.next().filter(|step| step.agent == *agent);
                        if let Some(party) = parties.of_agent(agent) {
                            self.note_policy(record, at, (agent, &party), logged.as_ref(), called).await?;
                        }
                    }
                    ProgramEvent::HaltChanged { operator, agent, is_halted: true, by } => {
                        self.note_halt(record, at, (operator, agent.as_ref()), *by, parties).await?;
                    }
                    ProgramEvent::HaltChanged { is_halted: false, .. }
                    | ProgramEvent::AgentCreated { .. }
                    | ProgramEvent::TransferExecuted { .. }
                    | ProgramEvent::Withdrawn { .. }
                    | ProgramEvent::AgentClosed { .. } => {}
                }
            }
        }
        Ok(())
    }

    async fn note_policy(
        &self,
        record: &LandedRecord,
        at: Timestamp,
        (agent, party): (&Address, &Party),
        logged: Option<&LoggedPolicy>,
        called: Option<&PolicyStep>,
    ) -> Result<(), IndexError> {
        let (version, policy) = self.policy_set(record, at, (agent, party), logged, called).await?;
        let Some(version) = version else {
            tracing::error!(account_id = %party.account_id, signature = record.signature,
                "a policy changed to an unknown version");
            return Ok(());
        };
        let signer = logged.map(|logged| logged.signer).or(called.map(|step| step.signer));
        let set = PolicySet {
            operator_id: party.operator_id,
            account_id: party.account_id,
            version,
            policy,
            by: Some(SetBy { signer, signature: record.signature.clone(), at }),
        };
        Ok(self.parts.policies.insert_policy(&set, self.parts.clock.now()).await?)
    }

    /// Which version a transaction set, and what it says. From the instruction, which is signed for; a log can be cut or emptied.
    async fn policy_set(
        &self,
        record: &LandedRecord,
        at: Timestamp,
        (agent, party): (&Address, &Party),
        logged: Option<&LoggedPolicy>,
        called: Option<&PolicyStep>,
    ) -> Result<(Option<u64>, Option<SpendingPolicy>), IndexError> {
        let version = logged.map(|logged| logged.version);
        let account = (party.operator_id, party.account_id);
        let set = logged.map(|logged| &logged.set);
        match (called.map(|step| &step.what), set) {
            (Some(PolicyCall::Born(policy)), _) => Ok((Some(1), Some(policy.clone()))),
            (Some(PolicyCall::Set { expected_version, policy }), _) => {
                Ok((Some(expected_version.saturating_add(1)), Some(policy.clone())))
            }
            (Some(PolicyCall::Applied { hash }), _) | (_, Some(PolicySetTo::InDraft { hash })) => {
                match self.parts.history.applied_draft(record, agent, *hash).await? {
                    Some((applied, policy)) => Ok((Some(applied), Some(policy))),
                    None => Ok((version, None)),
                }
            }
            (Some(PolicyCall::Paused(paused)), _) | (_, Some(PolicySetTo::Paused(paused))) => {
                let version = match version {
                    Some(version) => Some(version),
                    None => self.parts.policies.find_missing_version(account, &record.signature, at).await?,
                };
                let Some(version) = version else { return Ok((None, None)) };
                let before = self.parts.policies.find_policy(account, version.saturating_sub(1)).await?;
                match before {
                    Some(before) => Ok((Some(version), Some(SpendingPolicy { paused: *paused, ..before }))),
                    None => Ok((Some(version), self.policy_in_force(agent, record.slot, version).await?)),
                }
            }
            (_, Some(PolicySetTo::Whole(policy))) => Ok((version, Some(policy.clone()))),
            // Only what sets a policy belongs to a change.
            (Some(PolicyCall::Opened(_) | PolicyCall::Written { .. } | PolicyCall::Closed) | None, None) => {
                Ok((None, None))
            }
        }
    }

    /// The policy in force, if it is this version still.
    async fn policy_in_force(
        &self,
        agent: &Address,
        slot: u64,
        wanted: u64,
    ) -> Result<Option<SpendingPolicy>, IndexError> {
        let read = self.parts.history.policies(&[*agent], slot).await?;
        let Some((version, policy)) = read.into_iter().next().flatten() else { return Ok(None) };
        if version < wanted {
            let reason = "a node shows an older policy than the one in its log".to_owned();
            return Err(ChainError::Unavailable { during: "getMultipleAccounts", reason }.into());
        }
        Ok((version == wanted).then_some(policy))
    }

    async fn note_halt(
        &self,
        record: &LandedRecord,
        at: Timestamp,
        (operator, agent): (&Address, Option<&Address>),
        by: Option<HaltedBy>,
        parties: &Parties,
    ) -> Result<(), IndexError> {
        let now = self.parts.clock.now();
        if at.after(HALT_IS_NEWS) < now {
            return Ok(());
        }
        let halt = |operator_id: OperatorId, scope| HaltSet {
            operator_id,
            scope,
            by,
            signature: record.signature.clone(),
            at,
        };
        if let Some(agent) = agent {
            let Some(party) = parties.of_agent(agent) else { return Ok(()) };
            let halt = halt(party.operator_id, HaltScope::Account);
            return Ok(self.parts.policies.announce_halt(&halt, &[party.account_id], now).await?);
        }
        let Some(operator) = self.parts.operators.find_operator_by_address(self.network, operator).await?
        else {
            return Ok(());
        };
        let halt = halt(operator.id, HaltScope::Operator);
        let mut after = None;
        loop {
            let accounts = self.parts.index.list_haltable(operator.id, after, HALTED_AT_ONCE).await?;
            let Some(last) = accounts.last() else { return Ok(()) };
            after = Some(*last);
            self.parts.policies.announce_halt(&halt, &accounts, now).await?;
        }
    }

    /// Reads the policies of accounts without a known one, so that later changes have a policy to start from.
    pub(super) async fn learn_policies(&self) -> Result<(), IndexError> {
        let mut after = None;
        loop {
            let accounts = self.parts.policies.list_without_policy(self.network, after, BALANCES_MAX).await?;
            let Some((last, _)) = accounts.last() else { return Ok(()) };
            after = Some(*last);
            let agents: Vec<Address> = accounts.iter().map(|(_, agent)| *agent).collect();
            let parties: Parties =
                self.parts.index.find_parties(self.network, &agents).await?.into_iter().collect();
            let read = self.parts.history.policies(&agents, 0).await?;
            for (agent, policy) in agents.iter().zip(read) {
                let (Some((version, policy)), Some(party)) = (policy, parties.of_agent(agent)) else {
                    continue;
                };
                let set = PolicySet {
                    operator_id: party.operator_id,
                    account_id: party.account_id,
                    version,
                    policy: Some(policy),
                    by: None,
                };
                self.parts.policies.insert_policy(&set, self.parts.clock.now()).await?;
            }
        }
    }
}
