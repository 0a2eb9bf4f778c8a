//! A second opinion: where there are several nodes, none of them alone says that a transaction landed.
//!
//! Another node confirms it, or at least does not deny it. A node denies a landing when it has seen the slot and knows
//! the signature neither recently nor in its history, or knows another result.

use crate::chain::ChainError;
use crate::chain::rpc::wire::SignatureStatus;
use crate::chain::rpc::{Rpc, STATUSES_MAX};
use crate::chain::send::flight::Landing;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How far (30 s of slots) a landing may be ahead of what another node has seen and still be believed.
const SLOTS_AHEAD_MAX: u64 = 150;

/// What a node says of a signature.
#[derive(Debug, Clone)]
pub struct Claim {
    pub signature: String,
    pub landing: Landing,
    /// By its place in the configuration.
    pub node: usize,
}

/// What the others say to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opinion {
    Confirms,
    Denies,
    Silent,
}

/// Hears claims until `stop`, and passes on to `believe` those that stand.
pub async fn run(
    rpc: Arc<Rpc>,
    mut claims: mpsc::UnboundedReceiver<Claim>,
    believe: impl Fn(&str, Landing),
    stop: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            // Whatever came while the last were heard is heard together.
            _ = claims.recv_many(&mut batch, STATUSES_MAX) => {}
        }
        if batch.is_empty() {
            return;
        }
        while let Some(node) = batch.first().map(|claim| claim.node) {
            let (same, others) = batch.into_iter().partition(|claim: &Claim| claim.node == node);
            batch = others;
            if stop.run_until_cancelled(hear(&rpc, node, same, &believe)).await.is_none() {
                return;
            }
        }
    }
}

/// Asks the other nodes, one after the other, until each claim of `node` is confirmed.
async fn hear(rpc: &Rpc, node: usize, mut claims: Vec<Claim>, believe: &impl Fn(&str, Landing)) {
    let mut denied = vec![false; claims.len()];
    for other in (0..rpc.nodes()).filter(|other| *other != node) {
        let Ok(opinions) = opinions(rpc, other, &claims).await else { continue };
        let mut left = Vec::new();
        let mut left_denied = Vec::new();
        for ((claim, opinion), denied) in claims.into_iter().zip(opinions).zip(denied) {
            if opinion == Opinion::Confirms {
                believe(&claim.signature, claim.landing);
                continue;
            }
            left.push(claim);
            left_denied.push(denied || opinion == Opinion::Denies);
        }
        (claims, denied) = (left, left_denied);
        if claims.is_empty() {
            return;
        }
    }
    for (claim, denied) in claims.into_iter().zip(denied) {
        if !denied {
            believe(&claim.signature, claim.landing);
            continue;
        }
        tracing::warn!(
            node,
            signature = claim.signature,
            "other nodes deny what an RPC node says of a transaction"
        );
        rpc.blame_contradicted(node);
    }
}

async fn opinions(rpc: &Rpc, other: usize, claims: &[Claim]) -> Result<Vec<Opinion>, ChainError> {
    let signatures: Vec<String> = claims.iter().map(|claim| claim.signature.clone()).collect();
    let recent = rpc.statuses_of(&signatures, false, |node| node == other).await?;
    let mut opinions = Vec::with_capacity(claims.len());
    for (claim, status) in claims.iter().zip(recent.value) {
        let opinion = match opinion(claim, status, recent.slot) {
            Opinion::Denies => {
                // It may have forgotten: the history knows.
                let signature = std::slice::from_ref(&claim.signature);
                let searched = rpc.statuses_of(signature, true, |node| node == other).await?;
                let status = searched.value.into_iter().next().flatten();
                self::opinion(claim, status, searched.slot)
            }
            opinion => opinion,
        };
        opinions.push(opinion);
    }
    Ok(opinions)
}

/// What a status, told at `slot`, says to a claim.
fn opinion(claim: &Claim, status: Option<SignatureStatus>, slot: u64) -> Opinion {
    let landed_at = match claim.landing {
        Landing::Landed { slot } | Landing::Failed { slot, .. } => slot,
        Landing::Expired { .. } => return Opinion::Silent,
    };
    match status.as_ref().map(Landing::of) {
        Some(told) if std::mem::discriminant(&told) == std::mem::discriminant(&claim.landing) => {
            Opinion::Confirms
        }
        Some(_) => Opinion::Denies,
        None if slot >= landed_at || slot.saturating_add(SLOTS_AHEAD_MAX) < landed_at => Opinion::Denies,
        None => Opinion::Silent,
    }
}
