//! What became of actions whose process ended on the way, as far as versions of policies and halts show it. It is read with each list,
//! and stored nowhere.

use std::time::Duration;

use crate::{Inside, ServiceError};
use purser_model::{
    AccountId, Action, ActionFilter, ActionOutcome, AllowedRecipients, Counterparties, Event, HaltScope,
    HaltedBy, ListedAction, Operator, PolicyUpdate, PolicyVersion, Timestamp,
};

const REPLACES: &str = "replace_policy";
const POLICY_CHANGES: [&str; 2] = ["update_policy", REPLACES];
const HALTS: &str = "halt_account";
/// A younger action may be under way.
const UNDER_WAY: Duration = Duration::from_secs(180);
/// A change of an action lands within this, by the block's time.
const LANDS_WITHIN: Duration = Duration::from_secs(600);
/// By how much the chain's clock may be behind ours.
const CLOCKS: Duration = Duration::from_secs(60);
/// Up to how many versions of an account are looked through.
const VERSIONS_MAX: u32 = 50;
/// Up to how many actions on the same account are compared.
const ACTIONS_MAX: u32 = 50;

/// Completes those that were carried out with their transactions.
pub async fn complete(
    inside: &Inside,
    operator: &Operator,
    actions: &mut [ListedAction],
) -> Result<(), ServiceError> {
    let begun_before = inside.ambient.now().before(UNDER_WAY);
    for ListedAction { action, .. } in actions {
        if action.outcome == ActionOutcome::Unknown
            && action.created_at < begun_before
            && let Some(signature) = find_transaction(inside, operator, action).await?
        {
            action.outcome = ActionOutcome::Done;
            action.tx_signature = Some(signature);
        }
    }
    Ok(())
}

async fn find_transaction(
    inside: &Inside,
    operator: &Operator,
    action: &Action,
) -> Result<Option<String>, ServiceError> {
    let object = action.object_id.as_ref().map(ToString::to_string);
    let Some(account) = object.and_then(|id| id.parse::<AccountId>().ok()) else { return Ok(None) };
    match action.name.to_string().as_str() {
        name if POLICY_CHANGES.contains(&name) => find_version(inside, operator, action, account).await,
        HALTS => find_halt(inside, operator, action, account).await,
        _ => Ok(None),
    }
}

async fn find_version(
    inside: &Inside,
    operator: &Operator,
    action: &Action,
    account: AccountId,
) -> Result<Option<String>, ServiceError> {
    let policies = &inside.store.policies;
    let versions = policies.list_policy_versions(operator.id, account, None, VERSIONS_MAX).await?;
    if let Some(version) = versions.iter().find(|version| version.action_id == Some(action.id)) {
        return Ok(Some(version.by.signature.clone()));
    }
    let chain = &inside.chains.get(operator.network)?.chain;
    let may_be_ours = |version: &&PolicyVersion| {
        version.action_id.is_none() && version.by.signer.is_some_and(|signer| chain.signs_with(&signer))
    };
    // The oldest first.
    let mut fitting = versions.iter().rev().filter(may_be_ours);
    let Some(version) = fitting.find(|version| set(action, version) == Some(true)) else { return Ok(None) };
    let signature = &version.by.signature;
    let is_sole = is_sole(inside, operator, action, signature, |other| set(other, version) != Some(false));
    Ok(is_sole.await?.then(|| signature.clone()))
}

/// Whether the action set the version. `None`: that does not follow from what it asked for.
fn set(action: &Action, version: &PolicyVersion) -> Option<bool> {
    if !POLICY_CHANGES.contains(&action.name.to_string().as_str()) || !landed_in_time(action, version.by.at) {
        return Some(false);
    }
    let asked = PolicyUpdate::from_json(action.after.as_ref()?.get().as_bytes()).ok()?;
    let policy = version.policy.as_ref()?;
    let allowlist = match &asked.allowed_counterparties {
        None => None,
        Some(Counterparties::Anyone) => Some(AllowedRecipients::Anyone),
        Some(Counterparties::Only(_)) => return None,
    };
    if asked.max_30_day_spend.is_some() || asked.budget.is_some() {
        return None;
    }
    let is_replaced = action.name.to_string() == REPLACES;
    let after = if is_replaced { asked.replace(allowlist, policy) } else { asked.merge(allowlist, policy) };
    Some(after == *policy && asked.expected_version.is_none_or(|expected| version.version > expected))
}

async fn find_halt(
    inside: &Inside,
    operator: &Operator,
    action: &Action,
    account: AccountId,
) -> Result<Option<String>, ServiceError> {
    let events = inside.store.events.list_latest_halts(operator.id, &[account]).await?;
    let Some(halt) = events.iter().find_map(Event::halt) else { return Ok(None) };
    let is_ours = halt.scope == HaltScope::Account && halt.by == Some(HaltedBy::PolicyAuthority);
    let halts = |action: &Action| action.name.to_string() == HALTS && landed_in_time(action, halt.at);
    if !is_ours || !halts(action) {
        return Ok(None);
    }
    let is_sole = is_sole(inside, operator, action, &halt.tx_signature, halts).await?;
    Ok(is_sole.then_some(halt.tx_signature))
}

fn landed_in_time(action: &Action, at: Timestamp) -> bool {
    at >= action.created_at.before(CLOCKS) && at <= action.created_at.after(LANDS_WITHIN)
}

/// Whether the transaction is on record for no action, and was sent by no other like this one whose end is unknown too.
async fn is_sole(
    inside: &Inside,
    operator: &Operator,
    action: &Action,
    signature: &str,
    may_have_sent: impl Fn(&Action) -> bool,
) -> Result<bool, ServiceError> {
    let actions = &inside.store.actions;
    if !actions.find_actions_of(operator.id, &[signature.to_owned()]).await?.is_empty() {
        return Ok(false);
    }
    let near = ActionFilter {
        object_id: action.object_id.clone(),
        since: Some(action.created_at.before(LANDS_WITHIN)),
        until: Some(action.created_at.after(LANDS_WITHIN)),
        ..ActionFilter::default()
    };
    let near = actions.list_actions(operator.id, &near, None, ACTIONS_MAX).await?;
    let may_be_others = near.iter().any(|ListedAction { action: other, .. }| {
        other.id != action.id && other.outcome == ActionOutcome::Unknown && may_have_sent(other)
    });
    Ok(!may_be_others && near.len() < ACTIONS_MAX as usize)
}
