//! What happens to policies that wait.

use serde::Serialize;

use super::{Event, EventType, Subject, id_of, raw};
use crate::domain::{PendingPolicy, PolicyFields, SpendingPolicy, Timestamp};

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

impl Event {
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
            subject: Subject::Policy { account_id },
            event_type,
            created_at: now,
            data: raw(data),
        }
    }
}
