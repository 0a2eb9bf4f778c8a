//! Payments are numbered: a missing one is noticed, an accepted one is carried out, and nothing is paid twice because of it.

use std::future::IntoFuture;
use std::time::Duration;

use purser_client::TransferOrder;
use purser_policy::id_with_tag;
use purser_tests::chain::DirectOutcome;
use purser_tests::{Agent, AppSettings, TestApp, TestNetwork};
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

const MEMO_PROGRAM: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// More payments than an account remembers tags.
const MANY: usize = 20;

/// Pays without the relayer, in a transaction whose log is full before the payment's event.
async fn pays_with_a_cut_log(agent: &Agent, payee: &Pubkey, tag: u64) {
    let chain = &agent.operator.chain;
    let authority = agent.operator.app().transfer_authority();
    let order = TransferOrder {
        operator: agent.operator.address,
        agent: agent.address,
        source: chain.usdc_account_of(&agent.address),
        destination: *payee,
        transfer_id: id_with_tag([0; 8], tag),
        sequence: chain.agent(&agent.address).await.agent.tags().sequence(),
        amount: 1_000_000,
        memo: "",
    };
    let memo = Instruction { program_id: MEMO_PROGRAM, accounts: Vec::new(), data: Vec::new() };
    let mut instructions = vec![memo; 55];
    instructions.push(chain.program().transfer(authority.pubkey(), &order));
    let landing = chain.all_land(&instructions, &[authority]).await;
    assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
}

#[tokio::test]
async fn payments_whose_logs_were_cut_are_counted_and_hold_nothing_up() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    for number in 0..MANY as u64 {
        if number % 5 == 2 {
            pays_with_a_cut_log(&agent, &payee, 1_000 + number).await;
        } else {
            agent.pays_directly("1", &payee, "").await;
        }
    }
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, (MANY as u64 + 1) * 1_000_000);
}

#[tokio::test]
async fn burst_that_a_stop_cuts_off_is_carried_out_by_the_next_process() {
    let requests = if std::env::var_os("PURSER_TEST_LONG").is_some() { 20_000 } else { 600 };
    let settings = AppSettings {
        deadline_seconds: 1,
        commitment: "finalized",
        pending_per_account: 200,
        ..AppSettings::default()
    };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let mut agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let payments: Vec<_> = (0..requests).map(|_| agent.pays("0.000001").to(&payee)).collect();
    let sending: Vec<_> = payments.into_iter().map(|payment| tokio::spawn(payment.into_future())).collect();
    let mut accepted = Vec::new();
    let mut refused = 0;
    for answer in sending {
        let answer = answer.await.expect("the request is answered");
        match answer.status {
            200 | 202 => accepted.push(answer.text_of("transfer_id").to_owned()),
            _ => {
                answer.is_error(429, "too_many_pending");
                refused += 1;
            }
        }
    }
    assert!(accepted.len() >= 200 && refused > 0, "{} accepted, {refused} refused", accepted.len());
    assert!(app.stops(Duration::from_secs(30)).await, "the server ends by itself");
    app.starts();
    agent.operator = operator.reconnected();
    for transfer in &accepted {
        crate::transfers::settles(&agent, transfer).await;
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, accepted.len() as u64);
}
