//! A history for tests, told by closures.

use super::*;
use purser_base::tasks::Tasks;
use purser_rpc::scripted_node::AnsweringNode;

fn account_ids() -> AccountIds {
    AccountIds::on(&Pubkey::default().to_string()).expect("32 bytes")
}

impl SolanaHistory {
    /// The id of an agent account in what is [told](SolanaHistory::told_by).
    pub fn told_id_of(agent: &Address) -> AccountId {
        AccountId::from_bytes(account_ids().bytes_of(&to_pubkey(agent)))
    }

    /// The program at its own address, on a node that gives these answers; `None` is no answer.
    pub fn told_by(
        answer: impl Fn(&'static str, &Value) -> Option<Value> + Send + Sync + 'static,
        usdc_mint: Address,
        commitment: Commitment,
    ) -> Self {
        Self {
            network: Network::Test,
            account_ids: account_ids(),
            rpc: Arc::new(Rpc::over(vec![Box::new(AnsweringNode(answer))], Vec::new(), Default::default())),
            program: purser::ID,
            usdc_mint: to_pubkey(&usdc_mint),
            commitment,
            activity: Arc::default(),
            deposits: Arc::new(Deposits::new(Vec::new(), commitment, 0, Tasks::default())),
        }
    }
}
