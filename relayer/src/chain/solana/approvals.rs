//! What an approver signs with its own wallet.

use async_trait::async_trait;
use purser::state::Approver;
use purser_client::purser::{GrantPayee, GrantTerms};
use sha2::{Digest, Sha256};
use solana_message::Message;

use crate::chain::read::decode::to_pubkey;
use crate::chain::solana::SolanaChain;
use crate::chain::{ApprovalOrder, ApproveChain, ChainError};

#[async_trait]
impl ApproveChain for SolanaChain {
    async fn approval(&self, order: &ApprovalOrder) -> Result<Option<Vec<u8>>, ChainError> {
        let deployment = &self.instructions.0;
        let (approver, operator) = (to_pubkey(&order.approver), to_pubkey(&order.operator));
        let registered = deployment.approver_address(&operator, &approver);
        let found = self.accounts(&[registered]).await?.into_iter().next().flatten();
        let is_ours = found
            .is_some_and(|found| found.owner == deployment.program && Approver::read(&found.data).is_some());
        let Ok(policy_version) = u32::try_from(order.policy_version) else { return Ok(None) };
        if !is_ours {
            return Ok(None);
        }
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(to_pubkey(&order.payee)),
            amount: order.amount.micros(),
            expires_at: order.expires_at,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(order.tag),
            memo_hash: Some(Sha256::digest(order.memo.as_bytes()).into()),
            policy_version: Some(policy_version),
        };
        let at = (operator, to_pubkey(&order.agent));
        let instructions = deployment.approve(approver, approver, approver, at, order.tag, terms);
        let recent = self.clock.recent().await?;
        let message = Message::new_with_blockhash(&instructions, Some(&approver), &recent.blockhash);
        // One signature, which is the wallet's to fill in.
        Ok(Some([&[1], [0; 64].as_slice(), &message.serialize()].concat()))
    }
}
