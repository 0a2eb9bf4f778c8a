use purser_client::{Deployment, TransferOrder};
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::{Keypair, Signature, Signer};
use solana_sdk::transaction::Transaction;

/// Pays 1.50 USDC from the account `agent_id` of `operator`; `authority` is one of the operator's transfer authorities.
pub async fn pay(
    rpc: &RpcClient,
    deployment: Deployment,
    authority: &Keypair,
    (operator, agent_id): (Pubkey, [u8; 16]),
    recipient: Pubkey,
    (transfer_id, asked_at): ([u8; 16], u32),
) -> Result<Signature, Box<dyn std::error::Error + Send + Sync>> {
    let agent = deployment.agent_address(&operator, &agent_id);
    let order = TransferOrder {
        operator,
        agent,
        source: deployment.token_account(&agent),
        destination: deployment.token_account(&recipient),
        transfer_id,
        asked_at,
        amount: 1_500_000,
        memo: "coffee",
    };
    let transfer = deployment.transfer(authority.pubkey(), &order);
    let blockhash = rpc.get_latest_blockhash().await?;
    let payer = authority.pubkey();
    let transaction = Transaction::new_signed_with_payer(&[transfer], Some(&payer), &[authority], blockhash);
    Ok(rpc.send_and_confirm_transaction(&transaction).await?)
}
