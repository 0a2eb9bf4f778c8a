//! Which keys sign and pay for transfers.

use super::*;
use crate::chain::live::prices::PriceBounds;
use crate::chain::sign::signer::{FileSigner, Signer};
use crate::chain::{AgentAddresses, ProgramCheck};
use crate::domain::SpendingPolicy;
use purser_policy::RecentTags;
use solana_sdk::signature::Keypair;
use std::sync::Mutex;

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
        rpc_proxy: None,
        ws_urls: Vec::new(),
        program_id: Address::from_bytes(purser::ID.to_bytes()),
        usdc_mint: Address::from_bytes([9; 32]),
        commitment: Commitment::Confirmed,
        priority_fee: PriceBounds { least: 0, most: 0 },
        genesis_hash: None,
        program_check: ProgramCheck::Off,
        rent_payers: Vec::new(),
        rent_refund: None,
        deposit_subscriptions_max: 0,
        shortest_slot: std::time::Duration::ZERO,
        keypairs_here: Vec::new(),
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

/// A node where each call takes a block, and an account that has these tags.
#[derive(Clone)]
struct NodeWith(Arc<Mutex<(u64, RecentTags, Vec<&'static str>)>>);

impl NodeWith {
    fn agent(tags: &RecentTags) -> serde_json::Value {
        use anchor_lang::Discriminator;
        let mut data = vec![0; purser::state::Agent::BYTES];
        data[..8].copy_from_slice(purser::state::Agent::DISCRIMINATOR);
        data[8] = purser::constants::LAYOUT_VERSION;
        let mut put = |at: usize, value: u64| {
            let at = core::mem::offset_of!(purser::state::Agent, tags) + 8 + at * 8;
            data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(0, tags.recorded());
        for (number, tag) in tags.numbered() {
            put(1 + usize::try_from((number - 1) % 16).expect("small"), tag);
        }
        let data = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, data);
        serde_json::json!({ "data": [data, "base64"], "owner": purser::ID.to_string(), "lamports": 1, "executable": false })
    }

    fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().expect("not poisoned").2)
    }
}

#[async_trait]
impl purser_rpc::transport::Transport for NodeWith {
    async fn call(
        &self,
        method: &'static str,
        params: serde_json::Value,
    ) -> Result<serde_json::Value, purser_rpc::CallError> {
        let mut node = self.0.lock().expect("not poisoned");
        let (slot, tags, asked) = &mut *node;
        asked.push(method);
        *slot += 1;
        let options = params.as_array().and_then(|params| params.last());
        let least = options.and_then(|options| options["minContextSlot"].as_u64());
        if least.is_some_and(|least| *slot < least) {
            return Err(purser_rpc::CallError::Node(purser_rpc::NodeFault::Lagging));
        }
        let value = match method {
            "getLatestBlockhash" => {
                let hash = solana_sdk::hash::Hash::new_from_array([1; 32]).to_string();
                serde_json::json!({ "blockhash": hash, "lastValidBlockHeight": *slot + 150 })
            }
            _ => serde_json::json!([Self::agent(tags)]),
        };
        Ok(serde_json::json!({ "context": { "slot": *slot }, "value": value }))
    }
}

fn paid(tags: impl IntoIterator<Item = u64>) -> RecentTags {
    let mut recent = RecentTags::EMPTY;
    tags.into_iter().for_each(|tag| recent.record(tag, 1_000));
    recent
}

#[tokio::test]
async fn what_a_payment_counts_is_read_once_more_after_its_block_and_not_for_each_payment() {
    let node = NodeWith(Arc::new(Mutex::new((100, paid(1..=5), Vec::new()))));
    let rpc = Arc::new(Rpc::over(vec![Box::new(node.clone())], Vec::new(), Default::default()));
    let clock = Arc::new(ChainClock::new(rpc.clone()));
    let chain = SolanaChain { rpc, clock, ..chain(vec![signer()]).expect("a chain") };
    let [operator, agent, destination] = [[1; 32], [2; 32], [3; 32]].map(Address::from_bytes);
    let order = |counted: RecentTags, counted_in| UnsignedTransfer {
        counted,
        counted_in,
        may_lag: 3,
        operator,
        transfer_authorities: Vec::new(),
        agent: AgentAddresses { agent, token_account: destination },
        destination,
        transfer_id: [9; 16],
        amount: purser_policy::UsdcAmount::from_micros(1),
        memo: String::new(),
        beyond: None,
        has_expired: false,
    };
    let over = async |order: &UnsignedTransfer| {
        chain.block_for(order).await.map(|(recent, order)| (recent.slot, order.sequence()))
    };
    let both = ["getLatestBlockhash", "getMultipleAccounts"];

    assert_eq!(over(&order(paid([]), 100)).await, Ok((101, 0)));
    assert_eq!(node.asked(), both[..1], "nothing is counted that could go");
    assert_eq!(over(&order(paid(1..=5), 60)).await, Ok((101, 5)));
    assert_eq!(node.asked(), [""; 0], "what is counted is final");
    assert_eq!(over(&order(paid(1..=5), 101)).await, Ok((101, 5)));
    assert_eq!(node.asked(), both[1..], "the block is new enough");

    // Three payments more, and then the fourth.
    assert_eq!(over(&order(paid(1..=8), 103)).await, Ok((101, 5)), "counts what was paid by then");
    assert_eq!(node.asked(), [""; 0]);
    node.0.lock().expect("not poisoned").1 = paid(1..=9);
    assert_eq!(over(&order(paid(1..=9), 103)).await, Ok((103, 9)));
    assert_eq!(node.asked(), both);

    // A fork dropped 7 and what came after it, and others pay in their place.
    let forked = paid((1..=6).chain([17, 18, 19, 20]));
    node.0.lock().expect("not poisoned").1 = forked;
    assert_eq!(over(&order(forked, 105)).await, Ok((105, 10)), "the block before is not of its chain");
    node.0.lock().expect("not poisoned").1 = paid(1..=6);
    let lost = over(&order(paid((1..=6).chain(17..=24)), 107)).await;
    assert!(matches!(lost, Err(ChainError::Unavailable { during: "transfer", .. })), "{lost:?}");
}
