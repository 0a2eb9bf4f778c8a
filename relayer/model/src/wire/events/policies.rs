//! Events of policies, pending or in force, and of halted accounts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id_of;
use crate::wire::policy::PolicyFields;
use crate::wire::schema::{PolicyVersionNumber, Signature};
use crate::{
    AccountId, Address, Event, EventType, HaltScope, HaltSet, HaltedBy, PendingPolicy, PolicySet, SetBy,
    SpendingPolicy, Subject, Timestamp,
};

#[derive(Serialize, ToSchema)]
pub struct PendingData {
    account_id: AccountId,
    /// The policy that waits.
    policy: PolicyFields,
    /// When it can take effect.
    effective_at: Timestamp,
    /// Whose signature put it there.
    signer: Address,
}

#[derive(Serialize, ToSchema)]
pub struct AppliedData {
    account_id: AccountId,
    /// The policy that is in force.
    policy: PolicyFields,
    version: PolicyVersionNumber,
    /// `null` where the service does not know by which transaction.
    #[schema(required)]
    tx_signature: Option<Signature>,
}

#[derive(Serialize, ToSchema)]
pub struct ChangedData {
    account_id: AccountId,
    /// The latest version before it that is known.
    #[schema(required)]
    before: Option<VersionData>,
    /// The version that is in force.
    after: VersionData,
    /// Whose signature set it; `null` if unknown.
    #[schema(required)]
    signer: Option<Address>,
    tx_signature: Signature,
    changed_at: Timestamp,
}

/// A policy and which version of the account's it is.
#[derive(Serialize, ToSchema)]
#[schema(as = NumberedPolicy)]
pub struct VersionData {
    version: PolicyVersionNumber,
    /// What it says; `null` if it could not be read.
    #[schema(required)]
    policy: Option<PolicyFields>,
}

#[derive(Serialize, ToSchema)]
pub struct HaltedData {
    account_id: AccountId,
    scope: HaltScope,
    /// `null` if unknown.
    #[schema(required)]
    halted_by: Option<HaltedBy>,
    tx_signature: Signature,
    halted_at: Timestamp,
}

/// The same, as it is read again.
#[derive(Deserialize)]
struct HaltSaid {
    scope: String,
    halted_by: Option<String>,
    tx_signature: String,
    halted_at: String,
}

/// A halt that was announced.
#[derive(Debug, Clone)]
pub struct AnnouncedHalt {
    pub scope: HaltScope,
    /// `None` if unknown.
    pub by: Option<HaltedBy>,
    pub tx_signature: String,
    pub at: Timestamp,
}

impl Event {
    /// A transaction put `set` in force; `before` is the latest known version before it.
    pub fn policy_changed(
        set: &PolicySet,
        by: &SetBy,
        before: Option<&(u64, SpendingPolicy)>,
        now: Timestamp,
    ) -> Self {
        let version = |version: u64, policy: Option<&SpendingPolicy>| VersionData {
            version: PolicyVersionNumber(version),
            policy: policy.cloned().map(PolicyFields),
        };
        let data = ChangedData {
            account_id: set.account_id,
            before: before.map(|(number, policy)| version(*number, Some(policy))),
            after: version(set.version, set.policy.as_ref()),
            signer: by.signer,
            tx_signature: by.signature.as_str().into(),
            changed_at: by.at,
        };
        let fact = format!("{}|{}|{}", by.signature, set.account_id, set.version);
        Self::of_account((set.operator_id, set.account_id), EventType::PolicyChanged, &fact, &data, now)
    }

    /// The account cannot pay until the admin lifts the halt.
    pub fn account_halted(halt: &HaltSet, account_id: AccountId, now: Timestamp) -> Self {
        let data = HaltedData {
            account_id,
            scope: halt.scope,
            halted_by: halt.by,
            tx_signature: halt.signature.as_str().into(),
            halted_at: halt.at,
        };
        let fact = format!("{}|{account_id}|{}", halt.signature, halt.scope);
        Self::of_account((halt.operator_id, account_id), EventType::AccountHalted, &fact, &data, now)
    }

    /// The halt that it announces. `None`: it announces none.
    pub fn halt(&self) -> Option<AnnouncedHalt> {
        let said: HaltSaid = serde_json::from_str(self.data.get()).ok()?;
        let halt = AnnouncedHalt {
            scope: HaltScope::from_stored(&said.scope)?,
            by: said.halted_by.as_deref().and_then(HaltedBy::from_stored),
            tx_signature: said.tx_signature,
            at: said.halted_at.parse().ok()?,
        };
        (self.event_type == EventType::AccountHalted).then_some(halt)
    }

    /// The proposal is on the chain with `policy`, signed by `signer`, and can take effect at `effective_at`.
    pub fn policy_pending(
        pending: &PendingPolicy,
        policy: &SpendingPolicy,
        effective_at: Timestamp,
        signer: &Address,
        now: Timestamp,
    ) -> Self {
        let data = PendingData {
            account_id: pending.account_id,
            policy: PolicyFields(policy.clone()),
            effective_at,
            signer: *signer,
        };
        Self::of_policy(pending, EventType::PolicyPending, &data, now)
    }

    /// The proposal is in force as this version. Has no signature (base58) when somebody else may have applied it.
    pub fn policy_applied(
        pending: &PendingPolicy,
        policy: &SpendingPolicy,
        version: u64,
        tx_signature: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let account_id = pending.account_id;
        let tx_signature = tx_signature.map(Signature::from);
        let data = AppliedData {
            account_id,
            policy: PolicyFields(policy.clone()),
            version: PolicyVersionNumber(version),
            tx_signature,
        };
        Self::of_policy(pending, EventType::PolicyApplied, &data, now)
    }

    fn of_policy(
        pending: &PendingPolicy,
        event_type: EventType,
        data: &impl Serialize,
        now: Timestamp,
    ) -> Self {
        let account_id = pending.account_id;
        let id = id_of(&[&account_id.bytes()[..], &pending.hash].concat(), event_type, now);
        Self::new(id, (pending.operator_id, Subject::Account { account_id }), event_type, data, now)
    }
}
