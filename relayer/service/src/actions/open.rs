//! How actions ended whose process was killed, or answered 5xx. Their transactions were recorded before they were sent, and the chain
//! says what became of those.

use std::time::Duration;

use crate::{Inside, ServiceError};
use purser_chain::SentEnd;
use purser_model::{ActionId, ActionOutcome, Network, OperatorId, SentTransaction, Timestamp};
use purser_store::Due;

/// The process that sent a younger transaction may still follow it.
const FOLLOWED_FOR: Duration = Duration::from_secs(180);
/// Nodes may have deleted older transactions: one that they do not know may have landed.
const REMEMBERED_FOR: Duration = Duration::from_secs(6 * 3_600);
/// Actions of a network looked at in one pass.
const ACTIONS_MAX: u32 = 100;

/// One pass over the open actions of every process. Those of a network that does not answer are left for the next pass.
pub(super) async fn look(inside: &Inside) -> Result<(), ServiceError> {
    let now = inside.clock.now();
    let due = Due { now: now.before(FOLLOWED_FOR), ..Due::since(now) };
    let mut looked = Ok(());
    for network in inside.chains.networks() {
        looked = looked.and(look_on(inside, network, due).await);
    }
    looked
}

async fn look_on(inside: &Inside, network: Network, due: Due) -> Result<(), ServiceError> {
    for open in inside.store.actions.list_open_actions(network, due, ACTIONS_MAX).await? {
        look_at(inside, network, open).await?;
    }
    Ok(())
}

async fn look_at(
    inside: &Inside,
    network: Network,
    (operator_id, action_id): (OperatorId, ActionId),
) -> Result<(), ServiceError> {
    let (actions, now) = (&inside.store.actions, inside.clock.now());
    let sent = actions.list_action_transactions(action_id).await?;
    let Some(newest) = sent.iter().map(|sent| sent.sent_at).max() else { return Ok(()) };
    let chain = inside.chain(network)?;
    let ends = chain.ends_of(&sent, Due::since(now).age(newest, REMEMBERED_FOR)).await?;
    let Some((outcome, signature)) = outcome_of(&sent, &ends, now) else { return Ok(()) };
    let looked_up: Vec<String> = sent.iter().map(|sent| sent.signature.clone()).collect();
    if actions.mark_action_found((operator_id, action_id), outcome, signature, &looked_up, now).await? {
        tracing::info!(%action_id, outcome = outcome.as_str(), signature, "found out how an interrupted action ended");
    }
    Ok(())
}

/// How the action ended, and the transaction that made its change. `None`: a transaction is open, so this is not decided.
fn outcome_of<'a>(
    sent: &'a [SentTransaction],
    ends: &[SentEnd],
    now: Timestamp,
) -> Option<(ActionOutcome, Option<&'a str>)> {
    let each = || sent.iter().zip(ends);
    if each().any(|(_, end)| *end == SentEnd::Open) {
        return None;
    }
    let change = each().rfind(|(sent, end)| **end == SentEnd::Landed && !sent.is_step);
    if let Some((change, _)) = change {
        return Some((ActionOutcome::Done, Some(&change.signature)));
    }
    let may_be_forgotten = |(sent, end): (&SentTransaction, &SentEnd)| {
        *end == SentEnd::Expired && Due::since(now).age(sent.sent_at, REMEMBERED_FOR) == REMEMBERED_FOR
    };
    let is_unknown = each().any(may_be_forgotten);
    Some((if is_unknown { ActionOutcome::Unknown } else { ActionOutcome::Unchanged }, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_790_000_000;

    /// The outcome of an action that sent these, each this many seconds ago.
    fn outcome(sent: &[(SentEnd, bool, u64)]) -> Option<(ActionOutcome, Option<String>)> {
        let now = Timestamp::from_unix_seconds(NOW);
        let ends: Vec<SentEnd> = sent.iter().map(|(end, ..)| *end).collect();
        let transaction = |(number, (_, is_step, age)): (usize, &(SentEnd, bool, u64))| SentTransaction {
            signature: number.to_string(),
            last_valid_block_height: 1,
            is_step: *is_step,
            sent_at: now.before(Duration::from_secs(*age)),
        };
        let sent: Vec<SentTransaction> = sent.iter().enumerate().map(transaction).collect();
        let found = outcome_of(&sent, &ends, now)?;
        Some((found.0, found.1.map(str::to_owned)))
    }

    #[test]
    fn action_is_done_if_a_transaction_that_changes_something_landed() {
        let by = |number: &str| Some((ActionOutcome::Done, Some(number.to_owned())));
        assert_eq!(outcome(&[(SentEnd::Landed, false, 200)]), by("0"));
        assert_eq!(outcome(&[(SentEnd::Expired, false, 300), (SentEnd::Landed, false, 200)]), by("1"));
        // Its limits were changed, and its policy was not: something was done.
        assert_eq!(outcome(&[(SentEnd::Landed, false, 300), (SentEnd::Failed, false, 200)]), by("0"));
        assert_eq!(outcome(&[(SentEnd::Landed, true, 300), (SentEnd::Landed, false, 200)]), by("1"));
        assert_eq!(outcome(&[(SentEnd::Landed, false, 1_000_000)]), by("0"), "however old");
    }

    #[test]
    fn action_is_unchanged_if_no_transaction_changed_anything_or_can() {
        let unchanged = Some((ActionOutcome::Unchanged, None));
        assert_eq!(outcome(&[(SentEnd::Expired, false, 200)]), unchanged);
        assert_eq!(outcome(&[(SentEnd::Failed, false, 200), (SentEnd::Expired, false, 190)]), unchanged);
        // A draft was written and never applied.
        assert_eq!(outcome(&[(SentEnd::Landed, true, 300), (SentEnd::Expired, false, 200)]), unchanged);
        assert_eq!(outcome(&[(SentEnd::Landed, true, 300)]), unchanged);
        assert_eq!(
            outcome(&[(SentEnd::Failed, false, 1_000_000)]),
            unchanged,
            "nodes remember that it failed"
        );
    }

    #[test]
    fn action_stays_open_or_unknown_where_the_chain_cannot_say() {
        assert_eq!(outcome(&[(SentEnd::Landed, false, 300), (SentEnd::Open, false, 200)]), None);
        let unknown = Some((ActionOutcome::Unknown, None));
        assert_eq!(outcome(&[(SentEnd::Expired, false, 22_000)]), unknown);
        assert_eq!(outcome(&[(SentEnd::Failed, false, 22_000), (SentEnd::Expired, false, 22_000)]), unknown);
    }
}
