//! What no single node decides: that bytes can no longer land, or that a payment is gone.
//!
//! Every node that moves must agree. One that stands still for a minute is set aside; one that claims to be ahead sets nobody
//! aside.

use crate::node_fault::{NodeFault, RpcError};
use crate::wire::{FinalizedTip, SignatureStatus};
use crate::{Rpc, read};
use serde_json::json;

/// The finalized tip of every node that moves; there is at least one.
pub struct FinalizedTips(Vec<(usize, FinalizedTip)>);

impl FinalizedTips {
    /// What all of them have reached.
    pub fn lowest(&self) -> FinalizedTip {
        let all = || self.0.iter().map(|(_, tip)| *tip);
        FinalizedTip {
            slot: all().map(|tip| tip.slot).min().unwrap_or(0),
            block_height: all().map(|tip| tip.block_height).min().unwrap_or(0),
        }
    }
}

/// A status, and the node that knows it.
pub type Known = (usize, SignatureStatus);

impl Rpc {
    /// Unavailable: a node that moves does not answer, or none moves.
    pub async fn finalized_tips(&self) -> Result<FinalizedTips, RpcError> {
        const METHOD: &str = "getEpochInfo";
        let params = json!([{ "commitment": "finalized" }]);
        let params = &params;
        let asked = self.nodes.moving().into_iter().map(|number| async move {
            let answered = self.call_among(METHOD, params, |node| node == number).await?;
            Ok::<_, RpcError>((number, read(METHOD, answered.value)?))
        });
        let tips = futures::future::try_join_all(asked).await?;
        if tips.is_empty() {
            return Err(unavailable("no node moves"));
        }
        Ok(FinalizedTips(tips))
    }

    /// What the nodes of `tips` know of up to [`STATUSES_MAX`](super::STATUSES_MAX) signatures, in the order asked, each as of its
    /// tip or later. `None`: none of them knows it, and at least one has searched its whole history.
    pub async fn search_everywhere(
        &self,
        signatures: &[String],
        tips: &FinalizedTips,
    ) -> Result<Vec<Option<Known>>, RpcError> {
        let asked = tips.0.iter().map(|(number, tip)| async move {
            let of = |node: usize| node == *number;
            let (searched, whole) = match self.statuses_of(signatures, true, of).await {
                Ok(searched) => (searched, true),
                // A node that keeps no history still knows what is recent.
                Err(_) => (self.statuses_of(signatures, false, of).await?, false),
            };
            // Behind a balancer it may be another node, which has not come so far.
            if searched.slot < tip.slot {
                return Err(unavailable("a node is behind its own tip"));
            }
            Ok((*number, searched.value, whole))
        });
        let answers = futures::future::try_join_all(asked).await?;
        if !answers.iter().any(|(.., whole)| *whole) {
            return Err(unavailable("no node has a history"));
        }
        let mut known = vec![None; signatures.len()];
        for (number, statuses, _) in answers {
            for (known, status) in known.iter_mut().zip(statuses) {
                *known = known.take().or(status.map(|status| (number, status)));
            }
        }
        Ok(known)
    }
}

fn unavailable(reason: &'static str) -> RpcError {
    NodeFault::NoAgreement(reason).of("agreement of all nodes")
}
