//! What thieves make of an approval, each with the outcome that the tables of docs/trust/approvals.md name.

use purser::error::PurserError;
use purser_client::TransferOrder;
use purser_policy::id_with_tag;
use purser_tests::agent::random_tag;
use purser_tests::clock::{HostClock, unix_of};
use purser_tests::settings::Webhooks;
use purser_tests::{Client, until};

use super::*;
use crate::window::{DAY, stands_at};

/// The system program's answer where something is at an address already.
const TAKEN: u32 = 0;

pub(super) fn refused(error: PurserError) -> DirectOutcome {
    DirectOutcome::Refused(error.into())
}

impl Scene {
    async fn shared() -> Self {
        Self::on(TestNetwork::shared().await, &settings()).await
    }

    /// The memo says `said`, the grant beside it says `terms`; the approver signs both.
    pub(super) async fn opens(&self, said: (Pubkey, GrantTerms), of: (Pubkey, GrantTerms)) -> DirectOutcome {
        let (program, wallet) = (self.operator.chain.program(), self.approver.pubkey());
        let both = |(agent, terms): (Pubkey, GrantTerms)| {
            let at = (self.operator.address, agent);
            program.approve(wallet, wallet, wallet, at, terms.tag.unwrap_or(1), terms)
        };
        let ([memo, _], [_, open]) = (both(said), both(of));
        self.operator.chain.all_land(&[memo, open], &[&self.approver]).await
    }

    /// A thief of the transfer key pays by the grant with this id.
    pub(super) async fn thief_pays(
        &self,
        grant: u64,
        tag: u64,
        to: Pubkey,
        micros: u64,
        memo: &str,
    ) -> DirectOutcome {
        let (chain, thief) = (&self.operator.chain, self.app.transfer_authority());
        let order = TransferOrder {
            operator: self.operator.address,
            agent: self.ada.address,
            source: self.ada.token_account,
            destination: to,
            transfer_id: id_with_tag([0; 8], tag),
            asked_at: chain.now().await as u32,
            amount: micros,
            memo,
        };
        let grant = chain.program().grant_address(&self.ada.address, grant);
        let pays = chain.program().transfer_extended(thief.pubkey(), &order, Some(grant), None);
        chain.lands(pays, thief).await
    }

    async fn removes_the_approver(&self) {
        let admin = self.app.admin();
        let program = self.operator.chain.program();
        let remove = program.remove_approver(admin.pubkey(), self.operator.address, self.approver.pubkey());
        let removed = self.operator.chain.lands(remove, admin).await;
        assert!(matches!(removed, DirectOutcome::Settled(_)), "{removed:?}");
    }

    /// Asks again until the answer is that it is settled.
    async fn asks_until_settled(&self, key: &str) -> Answer {
        let mut asked = self.asks(key).await;
        for _ in 0..300 {
            if asked.status == 200 {
                return asked.is_settled();
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            asked = self.asks(key).await;
        }
        panic!("{}", asked.text);
    }
}

/// Whether a node says that the program refuses the transaction so.
pub(super) fn is_refused(sent: &Value, error: PurserError) -> bool {
    let code = u32::from(error);
    let said = sent["error"].to_string().replace(['"', '\\'], "");
    [format!("Custom({code})"), format!("Custom:{code}"), format!("0x{code:x}")]
        .iter()
        .any(|form| said.contains(form))
}

#[tokio::test]
async fn approval_that_is_sent_or_signed_again_opens_nothing_and_pays_nothing_more() {
    let settings = AppSettings { sections: UNPAID, ..settings() };
    let scene = Scene::on(TestNetwork::shared().await, &settings).await;
    let asked = scene.asks("a").await.has_status(202);
    let (tag, terms) = scene.terms_of(&asked).await;
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    // The same bytes are the same transaction.
    scene.signs(&given).await;
    let again = scene.opens((scene.ada.address, terms), (scene.ada.address, terms)).await;
    assert_eq!(again, DirectOutcome::Refused(TAKEN), "one grant for a payment");
    assert_eq!(scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.status, 409);
    // With the service's key: neither the same payment, nor another by the same grant.
    let payee = scene.payee;
    let twice = scene.thief_pays(tag, tag, payee, 30_000_000, "invoice 7").await;
    assert_eq!(twice, refused(PurserError::DuplicateTransfer));
    let other = scene.thief_pays(tag, random_tag(), payee, 30_000_000, "invoice 7").await;
    assert_eq!(other, refused(PurserError::GrantMismatch));
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn what_is_swapped_beside_the_memo_is_refused_by_the_program() {
    let scene = Scene::shared().await;
    let other = scene.operator.creates_account("Bob").await;
    other.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let asked = scene.asks("a").await.has_status(202);
    let (_, terms) = scene.terms_of(&asked).await;
    let said = (scene.ada.address, terms);
    let thief = GrantPayee::TokenAccount(scene.operator.chain.new_payee().await.0);
    for (what, swapped) in [
        ("payee", (scene.ada.address, GrantTerms { payee: thief, ..terms })),
        ("amount", (scene.ada.address, GrantTerms { amount: terms.amount + 1, ..terms })),
        ("end", (scene.ada.address, GrantTerms { expires_at: terms.expires_at + 1, ..terms })),
        ("account", (other.address, terms)),
    ] {
        let outcome = scene.opens(said, swapped).await;
        assert_eq!(outcome, refused(PurserError::ApprovalMemoMismatch), "{what}");
    }
    // What is no single payment under the policy in force, or past the daily limit, no approver opens.
    let later = terms.policy_version.map(|version| version + 1);
    for (what, loose, expected) in [
        ("other policy", GrantTerms { policy_version: later, ..terms }, PurserError::GrantTermsInvalid),
        ("any policy", GrantTerms { policy_version: None, ..terms }, PurserError::GrantTermsInvalid),
        ("any payment", GrantTerms { tag: None, ..terms }, PurserError::GrantTermsInvalid),
        ("any memo", GrantTerms { memo_hash: None, ..terms }, PurserError::GrantTermsInvalid),
        ("ended", GrantTerms { expires_at: 1, ..terms }, PurserError::GrantTermsInvalid),
        ("past the day", GrantTerms { beyond_daily_limit: true, ..terms }, PurserError::Unauthorized),
    ] {
        let of = (scene.ada.address, loose);
        assert_eq!(scene.opens(of, of).await, refused(expected), "{what}");
    }
    assert_eq!((scene.state_of(&asked).await.as_str(), scene.paid().await), ("pending", 0));
}

#[tokio::test]
async fn stolen_server_that_has_another_payment_signed_pays_neither() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    let (tag, terms) = scene.terms_of(&asked).await;
    let (thief, _) = scene.operator.chain.new_payee().await;
    // It shows one payment and has another signed whole: the wallet's memo names the thief. Whoever signs that all the same has
    // approved it, for one payment, and what was asked for is not paid by it.
    let words = GrantTerms { payee: GrantPayee::TokenAccount(thief), ..terms }.approval(&scene.ada.address);
    assert!(words.contains(&thief.to_string()) && !words.contains(&scene.payee.to_string()), "{words}");
    // Where it keeps to what the memo says and swaps what it does not: the payment's own memo, and which payment it is.
    let memo_hash = Some(Sha256::digest(b"invoice 8").into());
    let of = (scene.ada.address, GrantTerms { memo_hash, ..terms });
    assert!(matches!(scene.opens(of, of).await, DirectOutcome::Settled(_)));
    let of = (scene.ada.address, GrantTerms { tag: Some(tag ^ 1), ..terms });
    assert!(matches!(scene.opens(of, of).await, DirectOutcome::Settled(_)));
    // Two looks of the service, and nothing covers what it was asked for.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!((scene.state_of(&asked).await.as_str(), scene.paid().await), ("pending", 0));
    for (to, micros, memo) in [
        (thief, 30_000_000, "invoice 8"),
        (scene.payee, 29_000_000, "invoice 8"),
        (scene.payee, 30_000_000, "invoice 7"),
    ] {
        let outcome = scene.thief_pays(tag, tag, to, micros, memo).await;
        assert_eq!(outcome, refused(PurserError::GrantMismatch), "{to} {micros} {memo}");
    }
    // An operator's no ends it; the grants end with the policy that they name.
    let path = format!("/v1/approvals/{}/reject", asked.text_of("transfer_id"));
    scene.operator.client.post(&path, &json!({})).await.has_status(200);
    scene.ada.sets_policy(json!({ "max_single_transfer": 1, "allowed_counterparties": [] })).await;
    let outcome = scene.thief_pays(tag, tag, scene.payee, 30_000_000, "invoice 8").await;
    assert_eq!(outcome, refused(PurserError::GrantMismatch));
}

#[tokio::test]
async fn stolen_server_whose_other_payment_is_signed_whole_makes_that_one_once_and_no_other() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    let (tag, terms) = scene.terms_of(&asked).await;
    let (mine, _) = scene.operator.chain.new_payee().await;
    // Under a tag of its own, and under that of the payment that it showed.
    for (stolen, paid) in [(random_tag(), 20_000_000), (tag, 40_000_000)] {
        let payee = GrantPayee::TokenAccount(mine);
        let of = (scene.ada.address, GrantTerms { payee, amount: 20_000_000, tag: Some(stolen), ..terms });
        assert!(matches!(scene.opens(of, of).await, DirectOutcome::Settled(_)));
        let more = scene.thief_pays(stolen, stolen, mine, 20_000_001, "invoice 7").await;
        assert_eq!(more, refused(PurserError::GrantMismatch));
        let once = scene.thief_pays(stolen, stolen, mine, 20_000_000, "invoice 7").await;
        assert!(matches!(once, DirectOutcome::Settled(_)), "{once:?}");
        let twice = scene.thief_pays(stolen, stolen, mine, 20_000_000, "invoice 7").await;
        assert_eq!(twice, refused(PurserError::DuplicateTransfer));
        assert_eq!(scene.operator.chain.usdc_micros(&mine).await, paid);
    }
    // Nobody is told that what was shown is paid.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    let shown = scene.operator.client.get(&format!("/v1/transfers/{}", asked.text_of("transfer_id"))).await;
    assert_ne!(shown["status"], "settled", "{}", shown.text);
    assert_eq!(scene.paid().await, 0);
}

#[tokio::test]
async fn approval_under_a_policy_that_has_changed_opens_nothing_and_the_transfer_ends_as_void() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    scene.ada.sets_policy(json!({ "max_single_transfer": 2, "allowed_counterparties": [] })).await;
    let sent = scene.signs(&given).await;
    assert!(is_refused(&sent, PurserError::GrantTermsInvalid), "{sent}");
    scene.becomes(&asked, "void").await;
    assert_eq!(scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.status, 409);
    assert_eq!(scene.paid().await, 0);
    // The same request is decided anew, and can be approved.
    let anew = scene.asks("a").await.has_status(202);
    let given = scene.given_to(&page_of(&anew), &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["result"].is_string());
    scene.becomes(&anew, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn approval_that_comes_after_its_end_opens_nothing_and_pays_nothing() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..settings() };
    let scene = Scene::on(TestNetwork::own(), &settings).await;
    let asked = scene.asks("a").await.has_status(202);
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    let now = scene.operator.chain.now().await;
    stands_at(&scene.ada, now + DAY + 60).await;
    let sent = scene.signs(&given).await;
    assert!(is_refused(&sent, PurserError::GrantTermsInvalid), "{sent}");
    scene.becomes(&asked, "expired").await;
    assert_eq!(scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.status, 409);
    let shown = scene.app.client().get(&page_of(&asked)).await.has_status(200);
    assert!(!shown.text.contains("solana:"), "no code any more: {}", shown.text);
    assert_eq!(scene.paid().await, 0);
}

#[tokio::test]
async fn key_that_is_used_again_after_a_day_is_approved_again_for_another_payment() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), sections: UNPAID, ..settings() };
    let scene = Scene::on(TestNetwork::own(), &settings).await;
    for day in 1..=2 {
        let asked = scene.asks("a").await.has_status(202);
        let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
        assert!(scene.signs(&given).await["result"].is_string());
        scene.becomes(&asked, "used").await;
        assert_eq!(scene.paid().await, day * 30_000_000);
        // The grant is spent, and stands there until it makes room for the next.
        let now = scene.operator.chain.now().await;
        stands_at(&scene.ada, now + DAY + 600).await;
    }
}

#[tokio::test]
async fn person_who_is_asked_late_has_no_longer_than_the_key() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..settings() };
    let scene = Scene::on(TestNetwork::own(), &settings).await;
    let payment = || scene.ada.pays("30").to(&scene.payee).memo("invoice 7").key("a");
    payment().await.is_error(402, "policy_violation");
    let refused_at = scene.operator.chain.now().await;
    stands_at(&scene.ada, refused_at + DAY - 3_600).await;
    let asked = payment().field("approval", json!("request")).await.has_status(202);
    let ends = unix_of(asked.text_of("approval_expires_at"));
    let key_ends = refused_at + DAY;
    assert!((key_ends - 360..=key_ends - 299).contains(&ends), "{}", asked.text);
    stands_at(&scene.ada, refused_at + DAY + 60).await;
    scene.becomes(&asked, "expired").await;
}

#[tokio::test]
async fn two_relayers_that_see_one_grant_pay_once_and_say_the_same() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    scene.app.crashes();
    // Each has a database of its own, in which the transfer waits.
    let second = scene.app.twin(&settings());
    scene.app.starts();
    let scene = scene.reconnected();
    let beside = Client::new(&second.base_url(), Some(scene.operator.client.key()));
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
    until("both say used", async || beside.get(&path).await["state"] == "used").await;
    let [one, other] = [scene.operator.client.get(&path).await, beside.get(&path).await];
    assert_eq!(one["tx_signature"], other["tx_signature"]);
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn database_from_before_the_approval_or_from_before_the_request_does_not_pay_it_again() {
    let scene = Scene::shared().await;
    scene.app.crashes();
    let from_before = scene.app.saved_database();
    scene.app.starts();
    let scene = scene.reconnected();
    let asked = scene.asks("a").await.has_status(202);
    scene.app.crashes();
    let waiting = scene.app.saved_database();
    scene.app.starts();
    let scene = scene.reconnected();
    let given = scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.has_status(200);
    assert!(scene.signs(&given).await["result"].is_string());
    scene.becomes(&asked, "used").await;
    let signature = scene.asks_until_settled("a").await.text_of("tx_signature").to_owned();

    scene.app.crashes();
    scene.app.restores_database(&waiting);
    scene.app.starts();
    let scene = scene.reconnected();
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.asks_until_settled("a").await.text_of("tx_signature"), signature);

    scene.app.crashes();
    scene.app.restores_database(&from_before);
    scene.app.starts();
    let scene = scene.reconnected();
    assert_eq!(scene.asks_until_settled("a").await.text_of("tx_signature"), signature);
    assert_eq!(scene.paid().await, 30_000_000);
}

#[tokio::test]
async fn thief_of_an_approver_keeps_to_its_limits_pays_nothing_alone_and_ends_with_the_approver() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    let (_, terms) = scene.terms_of(&asked).await;
    let (mine, _) = scene.operator.chain.new_payee().await;
    let ada = scene.ada.address;
    let of = |amount, tag| {
        let terms = GrantTerms { payee: GrantPayee::TokenAccount(mine), amount, tag: Some(tag), ..terms };
        (ada, terms)
    };
    let large = of(50_000_001, random_tag());
    assert_eq!(scene.opens(large, large).await, refused(PurserError::ApproverLimitExceeded));
    // 200 USDC in 24 hours, by at most 50 at once.
    let tags = [(); 4].map(|()| random_tag());
    for tag in tags {
        let grant = of(50_000_000, tag);
        assert!(matches!(scene.opens(grant, grant).await, DirectOutcome::Settled(_)));
    }
    let fifth = of(1, random_tag());
    assert_eq!(scene.opens(fifth, fifth).await, refused(PurserError::ApproverLimitExceeded));
    // No payment was asked for that these cover: the service makes none. With its key as well, what was approved is paid.
    assert_eq!(scene.operator.chain.usdc_micros(&mine).await, 0);
    let paid = scene.thief_pays(tags[0], tags[0], mine, 50_000_000, "invoice 7").await;
    assert!(matches!(paid, DirectOutcome::Settled(_)), "{paid:?}");
    scene.removes_the_approver().await;
    let late = scene.thief_pays(tags[1], tags[1], mine, 50_000_000, "invoice 7").await;
    assert_eq!(late, refused(PurserError::GrantMismatch));
    let gone = of(1, random_tag());
    assert!(!matches!(scene.opens(gone, gone).await, DirectOutcome::Settled(_)));
    assert_eq!(scene.given_to(&page_of(&asked), &scene.approver.pubkey()).await.status, 403);
    assert_eq!(scene.operator.chain.usdc_micros(&mine).await, 50_000_000);
}

#[tokio::test]
async fn link_of_another_service_shows_nothing_and_no_host_but_the_configured_one_is_in_the_code() {
    let scene = Scene::shared().await;
    let asked = scene.asks("a").await.has_status(202);
    scene.app.crashes();
    // The same transfer in the same database, behind another key.
    let other = scene.app.twin(&AppSettings { webhooks: Webhooks::WithAnotherKey, ..settings() });
    scene.app.starts();
    let scene = scene.reconnected();
    let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
    let its = Client::new(&other.base_url(), Some(scene.operator.client.key())).get(&path).await;
    let (ours, foreign) = (page_of(&asked), page_of(&its.has_status(200)));
    assert_ne!(ours, foreign);
    let client = scene.app.client();
    client.get(&foreign).await.has_status(404);
    client.get(&format!("{foreign}/pay")).await.has_status(404);
    scene.given_to(&foreign, &scene.approver.pubkey()).await.has_status(404);
    // Whatever host the request names, the code leads to the configured address.
    let of_host = |path: &str| {
        let request = client.request(reqwest::Method::GET, path).header("host", "evil.example");
        request.header("x-forwarded-host", "evil.example")
    };
    for path in [ours.clone(), format!("{ours}/pay")] {
        let shown = client.sends(of_host(&path)).await;
        assert!(!shown.text.contains("evil.example"), "{}", shown.text);
        assert!(shown.text.contains("pay.example.com"), "{}", shown.text);
    }
    // An approver of somebody else is none here.
    let stranger = Scene::shared().await;
    let refused = scene.given_to(&ours, &stranger.approver.pubkey()).await.has_status(403);
    assert!(refused["transaction"].is_null());
}
