//! Which keys sign and pay for transfers.

use super::*;
use crate::sign::signer::{FileSigner, Signer};
use purser_model::{Address, SpendingPolicy};
use solana_sdk::signature::Keypair;

fn signer() -> Arc<dyn Signer> {
    Arc::new(FileSigner::from_bytes(&Keypair::new().to_bytes()).expect("a keypair"))
}

fn of(signer: &dyn Signer) -> Address {
    Address::from_bytes(signer.public_key())
}

/// A chain whose node is never asked.
fn chain(transfer: Vec<Arc<dyn Signer>>) -> Result<SolanaChain, ChainError> {
    let settings = ChainSettings {
        rpc_urls: vec!["http://127.0.0.1:1".into()],
        usdc_mint: Address::from_bytes([9; 32]),
        ..crate::scripted::settings()
    };
    let tasks = Tasks::default();
    tasks.stop.cancel();
    SolanaChain::new(Network::Test, settings, ChainSigners { policy: vec![signer()], transfer }, &tasks)
}

fn holding(lamports: u64) -> Option<RawAccount> {
    Some(RawAccount { owner: Pubkey::default(), executable: false, lamports, data: Vec::new() })
}

#[tokio::test]
async fn transfer_signers_that_the_operator_names_and_that_can_pay_take_turns() {
    let signers: Vec<_> = (0..3).map(|_| signer()).collect();
    let [one, two, three] = [0, 1, 2].map(|index| of(&*signers[index]));
    let chain = chain(signers).expect("a chain");
    let operator = Address::from_bytes([8; 32]);
    let next = |named: &[Address]| chain.transfer_signer(&operator, named, 5_000).map(of);
    let turns: Vec<_> = (0..6).map(|_| next(&[three, two, one]).expect("one of ours")).collect();
    assert_eq!(turns, [one, two, three, one, two, three]);
    let stranger = Address::from_bytes([7; 32]);
    for _ in 0..4 {
        assert_eq!(next(&[stranger, two]), Ok(two), "a key that is being rotated out, or in");
    }
    assert!(matches!(next(&[stranger]), Err(ChainError::AuthorityRotated { .. })));
    assert!(matches!(next(&[]), Err(ChainError::AuthorityRotated { .. })));
    // The policy key's wallet is first.
    chain.payers.saw(&[holding(0), holding(895_880), holding(895_879), None]);
    for _ in 0..4 {
        assert_eq!(next(&[one, two, three]), Ok(one));
    }
    assert!(matches!(next(&[two, three]), Err(ChainError::FeePayerEmpty { lamports: 4_999, .. })));
}

#[tokio::test]
async fn another_key_pays_for_what_stops_something_and_for_nothing_else() {
    let chain = chain(vec![signer(), signer()]).expect("a chain");
    let policy = &*chain.signers.policy[0];
    let [pubkey, other] = [[1; 32], [2; 32]].map(Pubkey::new_from_array);
    let at = purser_client::DraftAccounts { authority: address(policy), operator: pubkey, agent: other };
    let stopping =
        [chain.instructions.set_paused(at, true), chain.instructions.halt(address(policy), pubkey, None)];
    let create = chain.instructions.create_agent(
        address(policy),
        address(policy),
        pubkey,
        [4; 16],
        &SpendingPolicy::default(),
    );
    chain.payers.saw(&[holding(1_000_000_000), None, None]);
    for call in stopping.iter().chain([&create]) {
        assert_eq!(
            chain.call_signers(policy, call).map(|call_signers| of(call_signers.payer)),
            Ok(of(policy))
        );
    }
    // Enough for a fee, not for an account.
    chain.payers.saw(&[holding(2_000_000), None, None]);
    assert!(matches!(chain.call_signers(policy, &create), Err(ChainError::FeePayerEmpty { .. })));
    chain.payers.saw(&[None, None, holding(1_000_000)]);
    for call in &stopping {
        let call_signers = chain
            .call_signers(policy, call)
            .map(|call_signers| (of(call_signers.authority), of(call_signers.payer)));
        assert_eq!(call_signers, Ok((of(policy), of(&*chain.signers.transfer[1]))));
    }
    assert!(matches!(chain.call_signers(policy, &create), Err(ChainError::FeePayerEmpty { .. })));
    chain.payers.saw(&[None, None, None]);
    assert!(matches!(chain.call_signers(policy, &stopping[0]), Err(ChainError::FeePayerEmpty { .. })));
}

#[tokio::test]
async fn a_chain_needs_a_transfer_signer_that_is_no_policy_signer() {
    assert!(matches!(chain(Vec::new()), Err(ChainError::Misconfigured(_))));
}

/// A recorder that fails, or never answers.
struct Broken {
    hangs: bool,
}

#[async_trait]
impl SendRecorder for Broken {
    async fn record(&self, _: &str, _: u64, _: bool) -> Result<(), ChainError> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Err(ChainError::Unrecorded)
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_sent_unless_it_stops_something() {
    for hangs in [false, true] {
        let chain = chain(vec![signer()]).expect("a chain");
        let recorder = Broken { hangs };
        let chain = chain.recorded(&recorder);
        let stop = chain.record("signature", 1, false, true).await;
        assert_eq!(stop, Ok(()), "hangs: {hangs}");
        let change = tokio::time::timeout(
            std::time::Duration::from_secs(3_600),
            chain.record("signature", 1, false, false),
        );
        assert_eq!(change.await.ok(), (!hangs).then_some(Err(ChainError::Unrecorded)));
    }
}
