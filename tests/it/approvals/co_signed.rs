//! The service pays for approvers, by its signature beside theirs: within bounds, and its SOL comes back.

use futures::future::join_all;
use purser::error::PurserError;
use purser_tests::clock::HostClock;
use purser_tests::{Client, Proxy, TestDatabase};
use solana_sdk::signature::Signature;

use super::attacks::refused;
use super::*;
use crate::window::{DAY, stands_at};

/// The fee for one signature.
const FEE: u64 = 5_000;
/// Before the message of a transaction with two signatures.
const BEFORE_MESSAGE: usize = 1 + 2 * 64;

impl Scene {
    /// With an approver whose wallet holds no SOL.
    pub(super) async fn poor(settings: &AppSettings) -> Self {
        Self::poor_on(TestNetwork::shared().await, settings).await
    }

    async fn poor_on(network: Arc<TestNetwork>, settings: &AppSettings) -> Self {
        let scene = Self::on(network, settings).await;
        scene.operator.chain.sets_lamports(&scene.approver.pubkey(), 0).await;
        scene
    }

    /// The SOL of the wallet that pays for approvers.
    async fn purse(&self) -> u64 {
        self.operator.chain.lamports(&self.app.policy_authority().pubkey()).await
    }

    /// What the wallet is given to sign.
    async fn bytes_for(&self, asked: &Answer, wallet: &Pubkey) -> Vec<u8> {
        let given = self.given_to(&page_of(asked), wallet).await.has_status(200);
        STANDARD.decode(given.text_of("transaction")).expect("base64")
    }

    async fn bytes(&self, asked: &Answer) -> Vec<u8> {
        self.bytes_for(asked, &self.approver.pubkey()).await
    }

    /// The same, if the service pays for it. `None`: the wallet has to, and is told so if it cannot.
    async fn co_signed_for(&self, asked: &Answer, wallet: &Pubkey) -> Option<Vec<u8>> {
        let given = self.given_to(&page_of(asked), wallet).await;
        if given.status == 409 {
            assert!(given.text_of("message").contains("too little SOL"), "{}", given.text);
            return None;
        }
        let given = given.has_status(200);
        Some(STANDARD.decode(given.text_of("transaction")).expect("base64")).filter(|bytes| is_paid(bytes))
    }

    async fn co_signed(&self, asked: &Answer) -> Option<Vec<u8>> {
        self.co_signed_for(asked, &self.approver.pubkey()).await
    }

    /// Why the wallet gets nothing to sign.
    async fn refused_to(&self, asked: &Answer, wallet: &Pubkey) -> String {
        let given = self.given_to(&page_of(asked), wallet).await.has_status(409);
        given.text_of("message").to_owned()
    }

    /// The approver signs these, and sends.
    async fn signs_bytes(&self, bytes: &[u8]) -> Value {
        self.sends(&signed_by(&self.approver, bytes).expect("its signature is missing")).await
    }

    /// A second approver.
    async fn another_approver(&self) -> Pubkey {
        let (key, admin) = (Keypair::new().pubkey(), self.app.admin());
        let program = self.operator.chain.program();
        let sets = program.set_approver(admin.pubkey(), self.operator.address, key, 50_000_000, 50_000_000);
        let set = self.operator.chain.lands(sets, admin).await;
        assert!(matches!(set, DirectOutcome::Settled(_)), "{set:?}");
        key
    }

    async fn is_there(&self, account: &Pubkey) -> bool {
        self.operator.chain.data(account).await.is_some_and(|data| !data.is_empty())
    }
}

/// Whether the service has signed it as the payer; else it has no signature yet.
fn is_paid(bytes: &[u8]) -> bool {
    match bytes[0] {
        1 => assert_eq!(bytes[1..65], [0; 64]),
        2 => assert_eq!(bytes[65..129], [0; 64]),
        count => panic!("{count} signatures"),
    }
    bytes[0] == 2
}

#[tokio::test]
async fn approver_without_sol_approves_the_payment_is_made_and_the_services_sol_comes_back() {
    let scene = Scene::poor(&settings()).await;
    let chain = scene.operator.chain.clone();
    let before = scene.purse().await;
    let asked = scene.asks("a").await.has_status(202);
    let (tag, terms) = scene.terms_of(&asked).await;
    let bytes = scene.bytes(&asked).await;
    assert!(is_paid(&bytes));
    let payer = scene.app.policy_authority().pubkey();
    let signature = Signature::try_from(&bytes[1..65]).expect("64 bytes");
    assert!(signature.verify(payer.as_ref(), &bytes[BEFORE_MESSAGE..]));
    let keys: Vec<&[u8]> = bytes[BEFORE_MESSAGE + 4..].chunks(32).take(2).collect();
    assert_eq!(keys, [payer.as_ref(), scene.approver.pubkey().as_ref()], "who signs");
    // Without the approver's signature nothing lands, and nothing is spent.
    assert!(scene.sends(&bytes).await["error"].is_object());
    assert_eq!(scene.purse().await, before);

    let grant = chain.program().grant_address(&scene.ada.address, tag);
    assert!(scene.signs_bytes(&bytes).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
    until("the grant is closed", async || !scene.is_there(&grant).await).await;
    assert_eq!(scene.purse().await, before - 2 * FEE, "two signatures, and no rent");
    assert_eq!(chain.lamports(&scene.approver.pubkey()).await, 0);

    // The approver opens the same again, at its own cost: with the service's key too it pays nothing more.
    chain.funds(&scene.approver.pubkey(), 1).await;
    let again = scene.opens((scene.ada.address, terms), (scene.ada.address, terms)).await;
    assert!(matches!(again, DirectOutcome::Settled(_)), "{again:?}");
    let twice = scene.thief_pays(tag, tag, scene.payee, 30_000_000, "invoice 7").await;
    assert_eq!(twice, refused(PurserError::DuplicateTransfer));
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn service_pays_the_configured_price_for_the_units_of_an_approval() {
    let price = ("PURSER__NETWORKS__TEST__PRIORITY_FEE_MICRO_LAMPORTS", "1000000".to_owned());
    let scene = Scene::poor(&AppSettings { environment: vec![price], ..settings() }).await;
    let before = scene.purse().await;
    let asked = scene.asks("a").await.has_status(202);
    let bytes = scene.bytes(&asked).await;
    assert!(is_paid(&bytes));
    assert!(scene.signs_bytes(&bytes).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    // 250,000 units at one lamport each.
    until("the rent is back", async || scene.purse().await == before - 2 * FEE - 250_000).await;
}

#[tokio::test]
async fn link_that_many_follow_costs_the_chain_and_other_tenants_little() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let behind =
        AppSettings { rpc_url: Some(proxy.url()), ws_url: Some(network.ws_url.clone()), ..settings() };
    let scene = Scene::poor_on(network, &behind).await;
    let other = scene.app.new_operator().await;
    let agent = other.creates_account_with("Ben", "10").await;
    let (payee, _) = other.chain.new_payee().await;
    let page = page_of(&scene.asks("a").await.has_status(202));
    let calls = || proxy.calls().values().sum::<u64>();
    let client = scene.app.client();
    let body = json!({ "account": scene.approver.pubkey().to_string() });
    let before = calls();
    let pay = format!("{page}/pay");
    let posts = join_all((0..300).map(|_| client.post(&pay, &body)));
    let gets = join_all((0..300).map(|_| client.get(&page)));
    let (posts, gets, paid) = tokio::join!(posts, gets, agent.pays("1").to(&payee));
    paid.is_settled();
    let of = |status: u16| posts.iter().chain(&gets).filter(|answer| answer.status == status).count();
    assert_eq!(of(200) + of(429), 600);
    assert!((1..=60).contains(&of(200)), "{} followed the link", of(200));
    // Each that was given something caused a few calls; the rest is the payment, and what the service reads anyway.
    let caused = calls() - before;
    assert!(caused < 200, "{caused} calls");
}

#[tokio::test]
async fn one_at_a_time_is_given_out_three_in_all_and_then_the_approver_pays() {
    let scene = Scene::poor(&settings()).await;
    let before = scene.purse().await;
    let asked = scene.asks("a").await.has_status(202);
    let (other, stranger) = (scene.another_approver().await, Keypair::new().pubkey());
    let all = join_all((0..8).map(|_| scene.bytes(&asked))).await;
    let mut last = all[0].clone();
    assert!(is_paid(&last));
    assert!(all.iter().all(|bytes| *bytes == last), "the same for all who ask at once");
    assert_eq!(scene.bytes(&asked).await, last, "and again");
    assert!(scene.co_signed_for(&asked, &other).await.is_none(), "another approver pays meanwhile");
    scene.given_to(&page_of(&asked), &stranger).await.has_status(403);
    for _ in 2..=3 {
        let before = last.clone();
        until("another, once that has expired", async || {
            last = scene.bytes(&asked).await;
            last != before
        })
        .await;
        assert!(is_paid(&last));
        let late = scene.signs_bytes(&before).await;
        assert!(late["error"].is_object(), "what has expired lands no more: {late}");
    }
    until("there is no fourth", async || scene.co_signed(&asked).await.is_none()).await;
    assert!(scene.co_signed_for(&asked, &other).await.is_none(), "nor for another approver");
    assert_eq!(scene.purse().await, before, "nothing was spent");
    scene.operator.chain.funds(&scene.approver.pubkey(), 1).await;
    let unsigned = scene.bytes(&asked).await;
    assert!(scene.signs_bytes(&unsigned).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    assert_eq!((scene.paid().await, scene.purse().await), (30_000_000, before));
}

#[tokio::test]
async fn what_was_given_out_by_a_clock_that_was_ahead_is_given_out_anew_once_it_has_expired() {
    let clock = HostClock::new();
    clock.is_ahead(1_800);
    let scene = Scene::poor(&AppSettings { host_clock: Some(clock.clone()), ..settings() }).await;
    let asked = scene.asks("a").await.has_status(202);
    let first = scene.bytes(&asked).await;
    clock.is_ahead(0);
    let mut last = first.clone();
    until("another, once that has expired", async || {
        last = scene.bytes(&asked).await;
        last != first
    })
    .await;
    assert!(is_paid(&last));
    assert!(scene.signs_bytes(&last).await["result"].is_string());
    scene.becomes(&asked, "used").await;
}

#[tokio::test]
async fn second_approver_within_a_minute_pays_if_it_can_and_else_is_paid_for_after_that() {
    let scene = Scene::poor(&settings()).await;
    let asked = scene.asks("a").await.has_status(202);
    let (poor, rich) = (scene.another_approver().await, scene.another_approver().await);
    scene.operator.chain.funds(&rich, 1).await;
    let first = scene.co_signed(&asked).await.expect("the service pays for the first");
    assert!(scene.refused_to(&asked, &poor).await.contains("in a minute"));
    assert!(!is_paid(&scene.bytes_for(&asked, &rich).await), "it has what it takes");
    assert_eq!(scene.co_signed(&asked).await.as_ref(), Some(&first), "the first gets the same again");
    // It never signs.
    until("the second is paid for", async || scene.co_signed_for(&asked, &poor).await.is_some()).await;
    assert!(scene.refused_to(&asked, &scene.approver.pubkey()).await.contains("in a minute"));
}

#[tokio::test]
async fn wallet_that_nobody_pays_for_is_told_what_it_needs_before_it_signs_in_vain() {
    let sections = "[quotas]\napprovals_per_operator_daily = 0\n";
    let scene = Scene::poor(&AppSettings { sections, ..settings() }).await;
    let (asked, wallet) = (scene.asks("a").await.has_status(202), scene.approver.pubkey());
    // Nothing; less than fee and deposit; what would leave less than an account needs.
    for lamports in [0, 1_000_000, 2_500_000] {
        scene.operator.chain.sets_lamports(&wallet, lamports).await;
        let message = scene.refused_to(&asked, &wallet).await;
        assert!(message.contains("0.0024 SOL") && !message.contains("in a minute"), "{lamports}: {message}");
    }
    scene.operator.chain.sets_lamports(&wallet, 3_500_000).await;
    let unsigned = scene.bytes(&asked).await;
    assert!(!is_paid(&unsigned) && scene.signs_bytes(&unsigned).await["result"].is_string());
    scene.becomes(&asked, "used").await;
}

#[tokio::test]
async fn past_the_operators_number_for_a_day_the_approver_pays_and_what_has_not_landed_does_not_count() {
    let sections = "[quotas]\napprovals_per_operator_daily = 1\n";
    let scene = Scene::poor(&AppSettings { sections, ..settings() }).await;
    let [one, other] = [scene.asks("a").await.has_status(202), scene.asks("b").await.has_status(202)];
    assert!(is_paid(&scene.bytes(&one).await));
    assert!(scene.co_signed(&other).await.is_none(), "one a day");
    // Nobody signs the first. Once it cannot land any more, there is room.
    let mut given = None;
    until("there is room again", async || {
        given = scene.co_signed(&other).await;
        given.is_some()
    })
    .await;
    let given = given.expect("there is room");
    assert!(scene.co_signed(&one).await.is_none());
    assert!(scene.signs_bytes(&given).await["result"].is_string());
    scene.becomes(&other, "used").await;
    let grant_is_closed =
        async || scene.operator.client.get(&scene.ada.path("/grants")).await["data"] == json!([]);
    until("its grant is closed", grant_is_closed).await;
    tokio::time::sleep(std::time::Duration::from_secs(12)).await;
    assert!(scene.co_signed(&one).await.is_none(), "it counts for a day");
}

#[tokio::test]
async fn service_pays_for_nothing_without_sol_and_for_no_account_that_is_stopped() {
    let scene = Scene::poor(&settings()).await;
    let (chain, payer) = (&scene.operator.chain, scene.app.policy_authority().pubkey());
    let asked = scene.asks("a").await.has_status(202);
    let has = scene.purse().await;
    chain.sets_lamports(&payer, 10_000_000).await;
    assert!(scene.co_signed(&asked).await.is_none(), "it keeps that for policies");
    chain.sets_lamports(&payer, has).await;
    until("it has SOL again", async || scene.co_signed(&asked).await.is_some()).await;

    let other = scene.asks("b").await.has_status(202);
    chain.halts(scene.operator.address, None, scene.app.admin()).await;
    let given = scene.given_to(&page_of(&other), &scene.approver.pubkey()).await;
    if given.status == 200 {
        let bytes = STANDARD.decode(given.text_of("transaction")).expect("base64");
        assert!(!is_paid(&bytes), "a halt stops it");
    } else {
        given.has_status(409);
    }
}

#[tokio::test]
async fn relayer_that_is_started_anew_gives_out_the_same_and_never_what_somebody_wrote_into_its_database() {
    let scene = Scene::poor_on(TestNetwork::slow(), &settings()).await;
    let [one, other] = [scene.asks("a").await.has_status(202), scene.asks("b").await.has_status(202)];
    let [given, others] = [scene.bytes(&one).await, scene.bytes(&other).await];
    assert!(is_paid(&given) && is_paid(&others));
    scene.app.crashes();
    scene.app.starts();
    assert_eq!(scene.bytes(&one).await, given, "it was on record before it was given out");

    let mut emptied = given.clone();
    // The wallet would give its SOL away: whoever writes the database has no key of the service's.
    let last = emptied.len() - 1;
    emptied[last] ^= 1;
    scene.app.crashes();
    let file = rusqlite::Connection::open(scene.app.folder().join("purser.db")).expect("opened");
    for written in [emptied, others, Vec::new()] {
        let set = "UPDATE co_signatures SET signed_bytes = ?1 WHERE transfer_id = ?2";
        let written = (STANDARD.encode(written), one.text_of("transfer_id"));
        assert_eq!(file.execute(set, written).expect("written"), 1);
        scene.app.starts();
        assert!(scene.co_signed(&one).await.is_none(), "the wallet gets what it pays for by itself");
        scene.app.crashes();
    }
}

#[tokio::test]
async fn approval_that_lands_after_a_no_pays_nothing_and_its_rent_comes_back_at_its_end() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..settings() };
    let scene = Scene::poor_on(TestNetwork::own(), &settings).await;
    let before = scene.purse().await;
    let asked = scene.asks("a").await.has_status(202);
    let (tag, _) = scene.terms_of(&asked).await;
    let bytes = scene.bytes(&asked).await;
    assert!(is_paid(&bytes));
    let path = format!("/v1/approvals/{}/reject", asked.text_of("transfer_id"));
    scene.operator.client.post(&path, &json!({})).await.has_status(200);
    assert_eq!(scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.status, 409);
    assert!(scene.signs_bytes(&bytes).await["result"].is_string());
    let grant = scene.operator.chain.program().grant_address(&scene.ada.address, tag);
    until("it has landed", async || scene.is_there(&grant).await).await;
    assert!(scene.purse().await < before - 2_000_000, "its rent");
    // The clocks stand at their second: a look that comes between the two puts the next off.
    let mut at = scene.operator.chain.now().await + DAY;
    until("its rent is back", async || {
        at += 700;
        stands_at(&scene.ada, at).await;
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        scene.purse().await == before - 2 * FEE
    })
    .await;
    assert_eq!(scene.paid().await, 0);
}

#[tokio::test]
async fn two_relayers_on_one_postgres_give_out_one() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..settings() };
    let scene = Scene::poor(&settings).await;
    let second = scene.app.twin(&settings);
    let beside = Client::new(&second.base_url(), None);
    for key in ["a", "b", "c"] {
        let asked = scene.asks(key).await.has_status(202);
        let page = page_of(&asked);
        let body = json!({ "account": scene.approver.pubkey().to_string() });
        let asks = async |number: u32| match number % 2 {
            0 => scene.given_to(&page, &scene.approver.pubkey()).await.has_status(200),
            _ => beside.post(&format!("{page}/pay"), &body).await.has_status(200),
        };
        let given = join_all((0..6).map(asks)).await;
        let bytes: Vec<&str> = given.iter().map(|answer| answer.text_of("transaction")).collect();
        assert!(bytes.iter().all(|one| *one == bytes[0]), "{bytes:?}");
        assert!(is_paid(&STANDARD.decode(bytes[0]).expect("base64")));
        assert!(scene.signs(&given[0]).await["result"].is_string());
        scene.becomes(&asked, "used").await;
    }
    assert_eq!(scene.paid().await, 90_000_000);
}
