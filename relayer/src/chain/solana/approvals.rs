//! What an approver signs with its own wallet.

use async_trait::async_trait;
use purser::state::{Approver, Grant};
use purser_client::purser::{GrantPayee, GrantTerms};
use purser_rpc::{RawAccount, sysvar};
use sha2::{Digest, Sha256};
use solana_message::Message;

use crate::chain::read::decode::to_pubkey;
use crate::chain::solana::SolanaChain;
use crate::chain::{ApprovalOrder, ApproveChain, ChainError, ForApprover};

#[async_trait]
impl ApproveChain for SolanaChain {
    async fn approval(&self, order: &ApprovalOrder) -> Result<ForApprover, ChainError> {
        let deployment = &self.instructions.0;
        let (approver, operator) = (to_pubkey(&order.approver), to_pubkey(&order.operator));
        let agent = to_pubkey(&order.agent);
        let registered = deployment.approver_address(&operator, &approver);
        let place = deployment.grant_address(&agent, order.tag);
        let mut found = self.accounts(&[registered, place, sysvar::CLOCK]).await?.into_iter();
        let [registered, earlier, clock] = [(); 3].map(|()| found.next().flatten());
        let ours = |account: RawAccount| (account.owner == deployment.program).then_some(account.data);
        let is_registered = registered.and_then(ours).is_some_and(|data| Approver::read(&data).is_some());
        let Ok(policy_version) = u32::try_from(order.policy_version) else {
            return Ok(ForApprover::Stranger);
        };
        if !is_registered {
            return Ok(ForApprover::Stranger);
        }
        let now = clock.and_then(|clock| sysvar::unix_timestamp(&clock.data));
        // One that has ended, of a payment of another day under the same key, makes room by anybody's hand, in the same transaction. One
        // that is spent sooner has paid this.
        let room = match earlier.and_then(ours).and_then(|data| Grant::read(&data)) {
            Some(grant) if now.is_none_or(|now| now < grant.expires_at) => return Ok(ForApprover::Taken),
            Some(grant) => Some(deployment.close_grant(approver, operator, place, grant.rent_refund)),
            None => None,
        };
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
        let opens = deployment.approve(approver, approver, approver, (operator, agent), order.tag, terms);
        // The memo stands right before the grant.
        let instructions: Vec<_> = room.into_iter().chain(opens).collect();
        let recent = self.clock.recent().await?;
        let message = Message::new_with_blockhash(&instructions, Some(&approver), &recent.blockhash);
        // One signature, which is the wallet's to fill in.
        Ok(ForApprover::Transaction([&[1], [0; 64].as_slice(), &message.serialize()].concat()))
    }
}
