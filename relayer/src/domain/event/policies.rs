//! What happens to policies, those that wait and those in force, and to accounts that are halted.

use serde::Serialize;

use super::{Event, EventType, Subject, id_of, raw};
use crate::domain::{
    AccountId, Address, HaltScope, HaltedBy, OperatorId, PendingPolicy, PolicyFields, SpendingPolicy,
    Timestamp,
};

#[derive(Serialize)]
struct PendingData {
    account_id: String,
    policy: PolicyFields,
    effective_at: String,
}

#[derive(Serialize)]
struct AppliedData<'a> {
    account_id: String,
    policy: PolicyFields,
    version: u64,
    tx_signature: Option<&'a str>,
}

#[derive(Serialize)]
struct ChangedData<'a> {
    account_id: String,
    before: Option<VersionData>,
    after: VersionData,
    signer: Option<String>,
    tx_signature: &'a str,
    changed_at: String,
}

#[derive(Serialize)]
struct VersionData {
    version: u64,
    policy: PolicyFields,
}

#[derive(Serialize)]
struct HaltedData<'a> {
    account_id: String,
    scope: &'static str,
    halted_by: Option<&'static str>,
    tx_signature: &'a str,
    halted_at: String,
}

/// A policy that a transaction put in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySet {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub version: u64,
    pub policy: SpendingPolicy,
    /// What set it. `None`: it was found in force.
    pub by: Option<SetBy>,
}

/// A transaction that set a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetBy {
    /// `None` where nobody can tell.
    pub signer: Option<Address>,
    /// Base58.
    pub signature: String,
    pub at: Timestamp,
}

/// A transaction that halted accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaltSet {
    pub operator_id: OperatorId,
    pub scope: HaltScope,
    /// `None` where nobody can tell.
    pub by: Option<HaltedBy>,
    /// Base58.
    pub signature: String,
    pub at: Timestamp,
}

impl Event {
    /// `set` is in force, by a transaction; `before`: the latest version before it that is known.
    pub fn policy_changed(
        set: &PolicySet,
        by: &SetBy,
        before: Option<&(u64, SpendingPolicy)>,
        now: Timestamp,
    ) -> Self {
        let version = |version: u64, policy: &SpendingPolicy| VersionData { version, policy: policy.into() };
        let data = ChangedData {
            account_id: set.account_id.to_string(),
            before: before.map(|(number, policy)| version(*number, policy)),
            after: version(set.version, &set.policy),
            signer: by.signer.map(|signer| signer.to_string()),
            tx_signature: &by.signature,
            changed_at: by.at.to_string(),
        };
        let fact = format!("{}|{}|{}", by.signature, set.account_id, set.version);
        Self::of_account((set.operator_id, set.account_id), EventType::PolicyChanged, &fact, &data, now)
    }

    /// The account cannot pay until the admin resumes it.
    pub fn account_halted(halt: &HaltSet, account_id: AccountId, now: Timestamp) -> Self {
        let data = HaltedData {
            account_id: account_id.to_string(),
            scope: halt.scope.as_str(),
            halted_by: halt.by.map(HaltedBy::as_str),
            tx_signature: &halt.signature,
            halted_at: halt.at.to_string(),
        };
        let fact = format!("{}|{account_id}|{}", halt.signature, halt.scope.as_str());
        Self::of_account((halt.operator_id, account_id), EventType::AccountHalted, &fact, &data, now)
    }

    /// The proposal is on the chain, says `policy`, and can take effect at `effective_at`.
    pub fn policy_pending(
        pending: &PendingPolicy,
        policy: &SpendingPolicy,
        effective_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        let data = PendingData {
            account_id: pending.account_id.to_string(),
            policy: policy.into(),
            effective_at: effective_at.to_string(),
        };
        Self::of_policy(pending, EventType::PolicyPending, &data, now)
    }

    /// The proposal is in force as this version. Without a signature (base58) where somebody else may have applied it.
    pub fn policy_applied(
        pending: &PendingPolicy,
        policy: &SpendingPolicy,
        version: u64,
        tx_signature: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let account_id = pending.account_id.to_string();
        let data = AppliedData { account_id, policy: policy.into(), version, tx_signature };
        Self::of_policy(pending, EventType::PolicyApplied, &data, now)
    }

    fn of_policy(
        pending: &PendingPolicy,
        event_type: EventType,
        data: &impl Serialize,
        now: Timestamp,
    ) -> Self {
        let account_id = pending.account_id;
        Self {
            id: id_of(&[&account_id.bytes()[..], &pending.hash].concat(), event_type, now),
            operator_id: pending.operator_id,
            subject: Subject::Account { account_id },
            event_type,
            created_at: now,
            fact: None,
            data: raw(data),
        }
    }
}
