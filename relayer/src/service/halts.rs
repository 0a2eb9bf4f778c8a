use super::Parts;
use super::error::{ServiceError, from_chain};
use super::reads::read_operator;
use crate::domain::{HaltedBy, Operator};

/// An operator that has been halted.
#[derive(Debug, Clone)]
pub struct HaltView {
    /// Whoever halted it first.
    pub halted_by: HaltedBy,
    /// Base58.
    pub tx_signature: String,
}

/// Halts: every account of an operator stops at once. To resume them takes the admin's own wallet.
#[derive(Clone)]
pub struct Halts {
    parts: Parts,
}

impl Halts {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// Halts every account of the operator; one that is halted stays so. Goes on to its end when nobody waits for it.
    pub async fn halt(&self, operator: &Operator) -> Result<HaltView, ServiceError> {
        let (parts, operator) = (self.parts.clone(), operator.clone());
        self.parts
            .tasks
            .finish(async move {
                // It says which of our keys may.
                let on_chain = read_operator(&parts, &operator).await?;
                let halted = parts.chains.get(operator.network)?.chain.halt(&on_chain).await;
                let confirmed = halted.map_err(|error| from_chain(operator.network, &error, false))?;
                // It is halted, whether or not this can be read: then by us, as far as is known.
                let read = read_operator(&parts, &operator).await;
                let halted_by = read.ok().and_then(|operator| operator.halted_by);
                Ok(HaltView {
                    halted_by: halted_by.unwrap_or(HaltedBy::PolicyAuthority),
                    tx_signature: confirmed.signature,
                })
            })
            .await
    }
}
