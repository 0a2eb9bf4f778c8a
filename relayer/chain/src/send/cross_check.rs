//! With several nodes, no single one decides that a transaction landed.
//!
//! Another node confirms the landing, or at least does not deny it. A node denies a landing when it has come as far and finds the
//! signature neither in its recent memory nor in its history, or when it has another result. One that has not come as far
//! is asked again until it has: else a node could say what it likes of a slot that is still to come.

use crate::send::flight::Landing;
use crate::{ChainError, Commitment};
use purser_rpc::wire::SignatureStatus;
use purser_rpc::{Rpc, STATUSES_MAX};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A landing that is further ahead of another node's view (30 s of slots) is denied.
const SLOTS_AHEAD_MAX: u64 = 150;
/// The pause before a node is asked again that has not come as far.
const BEHIND_PAUSE: Duration = Duration::from_millis(100);

/// A landing that one node has reported.
#[derive(Debug, Clone)]
pub struct Sighting {
    pub signature: String,
    pub landing: Landing,
    /// The commitment that it has reached, by the node's word.
    pub commitment: Commitment,
    /// The node's place in the configuration.
    pub node: usize,
}

/// What another node says to a sighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opinion {
    /// It knows the same landing, in this slot.
    Confirms {
        slot: u64,
    },
    Denies,
    /// It has not come as far.
    Behind,
    Silent,
}

/// Cross-checks sightings until `stop`. Hands each to `on_checked`: its landing if that holds, `None` if other nodes deny it.
pub async fn run(
    rpc: Arc<Rpc>,
    mut sightings: mpsc::UnboundedReceiver<Sighting>,
    on_checked: impl Fn(&str, Option<Landing>),
    stop: CancellationToken,
) {
    let (mut batch, mut behind) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            // Sightings that arrived during the last cross-check are checked together.
            received = sightings.recv_many(&mut batch, STATUSES_MAX) => {
                if received == 0 {
                    return;
                }
            }
            () = tokio::time::sleep(BEHIND_PAUSE), if !behind.is_empty() => {}
        }
        batch.append(&mut behind);
        while let Some(node) = batch.first().map(|sighting: &Sighting| sighting.node) {
            let (mut same, others) =
                batch.into_iter().partition::<Vec<_>, _>(|sighting| sighting.node == node);
            batch = others;
            batch.extend(same.split_off(same.len().min(STATUSES_MAX)));
            let checked = stop.run_until_cancelled(cross_check(&rpc, node, same, &on_checked)).await;
            let Some(left) = checked else { return };
            behind.extend(left);
        }
    }
}

/// Asks the other nodes, one after the other, until each sighting of `node` is confirmed. Each is handed to `on_checked` once, except
/// those that are returned: no node confirms or denies them yet, and one has not come as far.
pub async fn cross_check(
    rpc: &Rpc,
    node: usize,
    sightings: Vec<Sighting>,
    on_checked: &impl Fn(&str, Option<Landing>),
) -> Vec<Sighting> {
    let mut open: Vec<(Sighting, Opinion)> =
        sightings.into_iter().map(|sighting| (sighting, Opinion::Silent)).collect();
    for other in (0..rpc.nodes()).filter(|other| *other != node) {
        if open.is_empty() {
            return Vec::new();
        }
        let Ok(opinions) = opinions(rpc, other, &open).await else { continue };
        let mut left = Vec::new();
        for ((sighting, before), opinion) in open.into_iter().zip(opinions) {
            match (opinion, before) {
                // A slot that one node alone names would keep us from reading at others.
                (Opinion::Confirms { slot }, _) => {
                    on_checked(&sighting.signature, Some(sighting.landing.not_after(slot)));
                }
                (Opinion::Denies, _) | (_, Opinion::Denies) => left.push((sighting, Opinion::Denies)),
                (Opinion::Behind, _) | (_, Opinion::Behind) => left.push((sighting, Opinion::Behind)),
                (Opinion::Silent, _) => left.push((sighting, Opinion::Silent)),
            }
        }
        open = left;
    }
    let mut behind = Vec::new();
    for (sighting, opinion) in open {
        match opinion {
            Opinion::Confirms { .. } | Opinion::Silent => {
                on_checked(&sighting.signature, Some(sighting.landing));
            }
            Opinion::Behind => behind.push(sighting),
            Opinion::Denies => {
                tracing::warn!(
                    node,
                    signature = sighting.signature,
                    "other nodes contradict an RPC node about a transaction"
                );
                rpc.blame_contradicted(node);
                on_checked(&sighting.signature, None);
            }
        }
    }
    behind
}

async fn opinions(
    rpc: &Rpc,
    other: usize,
    sightings: &[(Sighting, Opinion)],
) -> Result<Vec<Opinion>, ChainError> {
    let signatures: Vec<String> = sightings.iter().map(|(sighting, _)| sighting.signature.clone()).collect();
    let recent = rpc.statuses_of(&signatures, false, |node| node == other).await?;
    let said = sightings.iter().zip(recent.value);
    let mut opinions: Vec<Opinion> =
        said.map(|((sighting, _), status)| opinion(sighting, status, recent.slot)).collect();
    // The node's recent memory may have dropped them; its history has not.
    let denied: Vec<usize> = (0..opinions.len()).filter(|at| opinions[*at] == Opinion::Denies).collect();
    if !denied.is_empty() {
        let signatures: Vec<String> = denied.iter().map(|at| signatures[*at].clone()).collect();
        let searched = rpc.statuses_of(&signatures, true, |node| node == other).await?;
        for (at, status) in denied.into_iter().zip(searched.value) {
            opinions[at] = opinion(&sightings[at].0, status, searched.slot);
        }
    }
    for opinion in &mut opinions {
        // Nobody waits for a node that stands still.
        if *opinion == Opinion::Behind && !rpc.moves(other) {
            *opinion = Opinion::Silent;
        }
    }
    Ok(opinions)
}

/// What a status, read at `slot`, says to a sighting.
fn opinion(sighting: &Sighting, status: Option<SignatureStatus>, slot: u64) -> Opinion {
    let landed_at = match sighting.landing {
        Landing::Landed { slot } | Landing::Failed { slot, .. } => slot,
        Landing::Expired { .. } => return Opinion::Silent,
    };
    match status {
        Some(status) if status.is_short_of(sighting.commitment) => Opinion::Behind,
        Some(status) if Landing::of(&status).has_result_of(&sighting.landing) => {
            Opinion::Confirms { slot: status.slot }
        }
        Some(_) => Opinion::Denies,
        None if slot >= landed_at || slot.saturating_add(SLOTS_AHEAD_MAX) < landed_at => Opinion::Denies,
        None => Opinion::Behind,
    }
}
