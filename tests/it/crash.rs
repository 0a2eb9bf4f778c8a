//! A short crash run, like the long ones of `cargo xtask crash`, and each network fault on its own.

use std::io::Write;
use std::time::Duration;

use futures::future::join_all;
use purser_tests::agent::unique_key;
use purser_tests::crash::weights::Weights;
use purser_tests::crash::{self, Options, Report};
use purser_tests::proxy::faults::Fault;
use purser_tests::proxy::outcomes::Outcome;
use purser_tests::{Agent, AppSettings, Operator, Proxy, TestApp, TestNetwork};

const RUNS: u64 = 216;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_made_exactly_once_whatever_dies_fails_or_is_asked_again() {
    let options = Options { runs: RUNS, seed: 20, round: None, jobs: 2, weights: Weights::default() };
    let report = crash::run(options, |_, _| ()).await;
    assert!(report.is_clean(), "{}", report.failures.join("\n"));
    assert_eq!(report.runs, RUNS);
    let deaths = report.met.iter().filter(|(what, _)| what.starts_with("crash point") || *what == "kill -9");
    assert!(deaths.map(|(_, count)| count).sum::<u64>() >= 3, "nobody died: {:?}", report.met);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_made_exactly_once_while_nodes_lie_databases_are_put_back_and_keys_change() {
    let weights =
        Weights { clock: 100, history: 100, restore: 100, rotation: 100, skew: 100, ..Weights::NONE };
    runs_clean(Options { runs: 144, seed: 21, round: None, jobs: 2, weights }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_made_exactly_once_while_a_node_lies_about_its_height_and_another_drops_transactions() {
    let weights = Weights { height: 100, deaf: 100, ..Weights::NONE };
    runs_clean(Options { runs: 144, seed: 23, round: None, jobs: 2, weights }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_made_exactly_once_while_forks_drop_them_and_another_operator_copies_the_accounts() {
    let weights = Weights { fork: 100, copy: 100, ..Weights::NONE };
    let report = runs_clean(Options { runs: 144, seed: 24, round: None, jobs: 2, weights }).await;
    assert!(report.met.contains_key("a fork dropped what was settled"), "{:?}", report.met);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_are_used_again_the_day_after_freeze_no_account_and_pay_once_a_day() {
    let weights = Weights { reuse: 100, ..Weights::NONE };
    runs_clean(Options { runs: 144, seed: 25, round: None, jobs: 2, weights }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_that_a_person_approves_are_made_exactly_once_and_those_that_one_refuses_never() {
    let weights = Weights { people: 100, restore: 40, fork: 40, ..Weights::NONE };
    let report = runs_clean(Options { runs: 144, seed: 26, round: None, jobs: 2, weights }).await;
    for what in ["a person approved", "a person said no"] {
        assert!(report.met.contains_key(what), "{what}: {:?}", report.met);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_made_exactly_once_when_disks_fill_up_and_empty() {
    let weights = Weights { disk: 100, ..Weights::NONE };
    let report = runs_clean(Options { runs: 144, seed: 22, round: None, jobs: 2, weights }).await;
    if let Some(none) = report.met.keys().find(|what| what.starts_with("full disk: none")) {
        // Bypasses the test runner, which hides what passing tests print.
        let _ = writeln!(std::io::stderr(), "skipped: {none}");
    }
}

async fn runs_clean(options: Options) -> Report {
    let report = crash::run(options, |_, _| ()).await;
    assert!(report.is_clean(), "{}", report.failures.join("\n"));
    assert_eq!(report.runs, options.runs);
    report
}

/// Its own relayer behind a proxy, and an agent with 1,000 USDC.
async fn behind_a_proxy() -> (Proxy, Operator, Agent) {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), deadline_seconds: 5, ..AppSettings::default() };
    let operator = TestApp::start(network, &settings).await.new_operator().await;
    let agent = operator.creates_account_with("Ada", "1000").await;
    (proxy, operator, agent)
}

#[tokio::test]
async fn every_fault_of_the_wire_on_every_call_may_delay_a_payment_and_never_doubles_it() {
    let (proxy, operator, agent) = behind_a_proxy().await;
    let (payee, _) = operator.chain.new_payee().await;
    let faults = [
        Fault::Dropped,
        Fault::Delayed(Duration::from_millis(300)),
        Fault::Reset,
        Fault::HalfOpen,
        Fault::Truncated,
        Fault::Duplicated,
        Fault::Overtaken,
        Fault::Misdelivered,
        Fault::Status(429),
        Fault::Status(503),
    ];
    for method in ["getMultipleAccounts", "getLatestBlockhash", "sendTransaction", "getSignatureStatuses"] {
        proxy.faults().orders(method, faults);
    }
    const PAYMENTS: usize = 30;
    let payments = join_all((0..PAYMENTS).map(|_| agent.pays("1").to(&payee).insists())).await;
    for payment in &payments {
        assert!(operator.chain.has_settled(payment.text_of("tx_signature")).await);
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, PAYMENTS as u64 * 1_000_000);
}

#[tokio::test]
async fn every_outcome_of_the_network_ends_in_one_payment() {
    let (proxy, operator, agent) = behind_a_proxy().await;
    let (payee, _) = operator.chain.new_payee().await;
    let never = Outcome::Dropped { sends: u32::MAX };
    let a_while = Duration::from_millis(1_500);
    let outcomes = [
        vec![Outcome::Lands],
        vec![Outcome::Dropped { sends: 1 }],
        vec![never],
        vec![never, never],
        vec![Outcome::ReplyLost],
        vec![Outcome::Late(a_while)],
        vec![Outcome::AtLastValidHeight],
        vec![Outcome::AfterLastValidHeight],
        vec![Outcome::Unknown(a_while)],
        vec![Outcome::UnknownInHistory(9 * a_while)],
    ];
    let payments = outcomes.iter().map(|outcomes| {
        let mark = unique_key();
        proxy.outcomes().orders(&mark, outcomes.iter().copied());
        agent.pays("1").to(&payee).memo(&mark).insists()
    });
    for answer in join_all(payments).await {
        assert!(operator.chain.has_settled(answer.text_of("tx_signature")).await);
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, outcomes.len() as u64 * 1_000_000);
}

#[tokio::test]
async fn answer_to_somebody_elses_question_settles_nothing() {
    let (proxy, operator, agent) = behind_a_proxy().await;
    let (payee, _) = operator.chain.new_payee().await;
    // The first status answer is kept back for another call. It is the first payment's, and good.
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxy
        .faults()
        .orders("getSignatureStatuses", [Fault::Delayed(Duration::from_millis(300)), Fault::Misdelivered]);
    agent.pays("1").to(&payee).await.is_settled();
    let mark = unique_key();
    proxy.outcomes().orders(&mark, [Outcome::Dropped { sends: u32::MAX }]);
    proxy.faults().orders("getSignatureStatuses", [Fault::Misdelivered; 40]);
    let answer = agent.pays("2").to(&payee).memo(&mark).await;
    assert_ne!(answer.status, 200, "nothing was paid: {}", answer.text);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}
