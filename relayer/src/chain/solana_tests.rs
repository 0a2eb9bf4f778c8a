//! Who signs transfers.

use super::super::signer::FileSigner;
use super::*;
use solana_sdk::signature::Keypair;

fn signer() -> Arc<dyn Signer> {
    Arc::new(FileSigner::from_bytes(&Keypair::new().to_bytes()).expect("a keypair"))
}

fn of(signer: &dyn Signer) -> Address {
    Address::from_bytes(signer.public_key())
}

/// A chain on a node that nobody asks.
fn chain(transfer: Vec<Arc<dyn Signer>>) -> Result<SolanaChain, ChainError> {
    let settings = ChainSettings {
        rpc_urls: vec!["http://127.0.0.1:1".into()],
        rpc_proxy: None,
        ws_urls: Vec::new(),
        program_id: Address::from_bytes(purser::ID.to_bytes()),
        usdc_mint: Address::from_bytes([9; 32]),
        commitment: Commitment::Confirmed,
        priority_fee_micro_lamports: 0,
        genesis_hash: None,
        program_check: ProgramCheck::Off,
    };
    let tasks = Tasks::default();
    tasks.stop.cancel();
    SolanaChain::new(Network::Test, settings, ChainSigners { policy: signer(), transfer }, &tasks)
}

#[tokio::test]
async fn transfer_signers_that_the_operator_names_take_turns() {
    let signers: Vec<_> = (0..3).map(|_| signer()).collect();
    let [one, two, three] = [0, 1, 2].map(|index| of(&*signers[index]));
    let chain = chain(signers).expect("a chain");
    let next = |named: &[Address]| chain.transfer_signer(named).map(of);
    let turns: Vec<_> = (0..6).map(|_| next(&[three, two, one]).expect("one of ours")).collect();
    assert_eq!(turns, [one, two, three, one, two, three]);
    let stranger = Address::from_bytes([7; 32]);
    for _ in 0..4 {
        assert_eq!(next(&[stranger, two]), Ok(two), "a key that is being rotated out, or in");
    }
    assert!(matches!(next(&[stranger]), Err(ChainError::Misconfigured(_))));
    assert!(matches!(next(&[]), Err(ChainError::Misconfigured(_))));
}

#[tokio::test]
async fn a_chain_needs_a_transfer_signer() {
    assert!(matches!(chain(Vec::new()), Err(ChainError::Misconfigured(_))));
}
