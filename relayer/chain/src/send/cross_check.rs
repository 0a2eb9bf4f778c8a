//! With several nodes, no single one decides that a transaction landed.
//!
//! Another node confirms the landing, or at least does not deny it. A node denies a landing when it has seen the slot and finds
//! the signature neither in its recent memory nor in its history, or when it has another result.

use crate::ChainError;
use crate::send::flight::Landing;
use purser_rpc::wire::SignatureStatus;
use purser_rpc::{Rpc, STATUSES_MAX};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How far (30 s of slots) a landing may be ahead of another node's view and still be accepted.
const SLOTS_AHEAD_MAX: u64 = 150;

/// A landing that one node has reported.
#[derive(Debug, Clone)]
pub struct Sighting {
    pub signature: String,
    pub landing: Landing,
    /// The node's place in the configuration.
    pub node: usize,
}

/// What another node says to a sighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opinion {
    Confirms,
    Denies,
    Silent,
}

/// Cross-checks sightings until `stop`. Hands each to `on_checked`: its landing if that holds, `None` if other nodes deny it.
pub async fn run(
    rpc: Arc<Rpc>,
    mut sightings: mpsc::UnboundedReceiver<Sighting>,
    on_checked: impl Fn(&str, Option<Landing>),
    stop: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            // Sightings that arrived during the last cross-check are checked together.
            _ = sightings.recv_many(&mut batch, STATUSES_MAX) => {}
        }
        if batch.is_empty() {
            return;
        }
        while let Some(node) = batch.first().map(|sighting| sighting.node) {
            let (same, others) = batch.into_iter().partition(|sighting: &Sighting| sighting.node == node);
            batch = others;
            if stop.run_until_cancelled(cross_check(&rpc, node, same, &on_checked)).await.is_none() {
                return;
            }
        }
    }
}

/// Asks the other nodes, one after the other, until each sighting of `node` is confirmed. Each is handed to `on_checked` once.
pub async fn cross_check(
    rpc: &Rpc,
    node: usize,
    mut sightings: Vec<Sighting>,
    on_checked: &impl Fn(&str, Option<Landing>),
) {
    let mut denied = vec![false; sightings.len()];
    for other in (0..rpc.nodes()).filter(|other| *other != node) {
        let Ok(opinions) = opinions(rpc, other, &sightings).await else { continue };
        let mut left = Vec::new();
        let mut left_denied = Vec::new();
        for ((sighting, opinion), denied) in sightings.into_iter().zip(opinions).zip(denied) {
            if opinion == Opinion::Confirms {
                on_checked(&sighting.signature, Some(sighting.landing));
                continue;
            }
            left.push(sighting);
            left_denied.push(denied || opinion == Opinion::Denies);
        }
        (sightings, denied) = (left, left_denied);
        if sightings.is_empty() {
            return;
        }
    }
    for (sighting, denied) in sightings.into_iter().zip(denied) {
        if !denied {
            on_checked(&sighting.signature, Some(sighting.landing));
            continue;
        }
        tracing::warn!(
            node,
            signature = sighting.signature,
            "other nodes contradict an RPC node about a transaction"
        );
        rpc.blame_contradicted(node);
        on_checked(&sighting.signature, None);
    }
}

async fn opinions(rpc: &Rpc, other: usize, sightings: &[Sighting]) -> Result<Vec<Opinion>, ChainError> {
    let signatures: Vec<String> = sightings.iter().map(|sighting| sighting.signature.clone()).collect();
    let recent = rpc.statuses_of(&signatures, false, |node| node == other).await?;
    let mut opinions = Vec::with_capacity(sightings.len());
    for (sighting, status) in sightings.iter().zip(recent.value) {
        let opinion = match opinion(sighting, status, recent.slot) {
            Opinion::Denies => {
                // The node's recent memory may have dropped it; its history has not.
                let signature = std::slice::from_ref(&sighting.signature);
                let searched = rpc.statuses_of(signature, true, |node| node == other).await?;
                let status = searched.value.into_iter().next().flatten();
                self::opinion(sighting, status, searched.slot)
            }
            opinion => opinion,
        };
        opinions.push(opinion);
    }
    Ok(opinions)
}

/// What a status, read at `slot`, says to a sighting.
fn opinion(sighting: &Sighting, status: Option<SignatureStatus>, slot: u64) -> Opinion {
    let landed_at = match sighting.landing {
        Landing::Landed { slot } | Landing::Failed { slot, .. } => slot,
        Landing::Expired { .. } => return Opinion::Silent,
    };
    match status.as_ref().map(Landing::of) {
        Some(read) if std::mem::discriminant(&read) == std::mem::discriminant(&sighting.landing) => {
            Opinion::Confirms
        }
        Some(_) => Opinion::Denies,
        None if slot >= landed_at || slot.saturating_add(SLOTS_AHEAD_MAX) < landed_at => Opinion::Denies,
        None => Opinion::Silent,
    }
}
