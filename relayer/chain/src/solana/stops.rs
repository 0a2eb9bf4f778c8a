//! Pauses and halts. Nothing else that we do depends on them, so they are signed anew as long as they expire.

use crate::read::decode::to_pubkey;
use crate::sign::instructions::Call;
use crate::sign::signer::address;
use crate::solana::Recorded;
use crate::{ChainError, Confirmed, OperatorOnChain};
use purser_model::Address;

/// How often a pause or a halt is signed anew. Expiry takes half a minute.
const STOP_EXPIRIES_MAX: u32 = 10;

impl Recorded<'_> {
    /// Pauses the agent at any policy version, and waits for the commitment. For this and for a halt, a policy authority without
    /// SOL is no obstacle: another of our keys pays. Both are signed anew when they expire before they land.
    pub async fn pause(&self, operator: &OperatorOnChain, agent: &Address) -> Result<Confirmed, ChainError> {
        let call = self.instructions.set_paused(self.policy_accounts(operator, agent)?, true);
        self.execute_stop(operator, call).await
    }

    /// Halts one agent, or every agent of the operator when `agent` is `None`, and waits for the commitment. Only the admin's own
    /// wallet can resume.
    pub async fn halt(
        &self,
        operator: &OperatorOnChain,
        agent: Option<&Address>,
    ) -> Result<Confirmed, ChainError> {
        let authority = address(self.policy_signer(operator)?);
        let call = self.instructions.halt(authority, to_pubkey(&operator.address), agent.map(to_pubkey));
        self.execute_stop(operator, call).await
    }

    async fn execute_stop(&self, operator: &OperatorOnChain, call: Call) -> Result<Confirmed, ChainError> {
        let mut expiries_left = STOP_EXPIRIES_MAX;
        loop {
            match self.execute_for_policy(operator, call.clone(), self.settings.commitment).await {
                Err(ChainError::Expired) if expiries_left > 0 => {
                    expiries_left -= 1;
                    tracing::warn!(operator = %operator.address, "a pause or a halt expired; signing it again");
                }
                done => return done,
            }
        }
    }
}
