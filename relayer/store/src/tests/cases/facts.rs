//! On-chain facts of accounts are announced once, whoever reads them and in whatever order.

use super::webhooks::webhook;
use super::*;
use crate::{Mark, Readings, WalkOwner};

fn micros(amount: u64) -> UsdcAmount {
    UsdcAmount::from_micros(amount)
}

/// A payment of the fixture's account as the indexer reads it.
fn payment(fixture: &Fixture, name: &str, amount: u64, spent: u64, policy_version: u64) -> HistoryEntry {
    HistoryEntry {
        id: entry_id(name, fixture.account.id, 0),
        operator_id: fixture.operator.id,
        account_id: fixture.account.id,
        network: fixture.operator.network,
        kind: EntryKind::Transfer,
        amount: micros(amount),
        counterparty: Some(Counterparty::TokenAccount(Address::from_bytes([9; 32]))),
        memo: None,
        transfer_id: None,
        asked_at: Some(at(100).unix_seconds()),
        number: Some(PaymentNumber::CutOff),
        spent: Some(Spent { in_window: micros(spent), policy_version }),
        outcome: EntryOutcome::Settled { signature: name.into(), slot: 7 },
        created_at: at(100),
    }
}

async fn reads(fixture: &Fixture, entries: Vec<HistoryEntry>) {
    let readings = Readings { entries, read_at: Some(at(101)), ..Readings::default() };
    fixture.store.index.insert_readings(fixture.operator.network, &readings, None).await.expect("written");
}

fn policy(fixture: &Fixture, version: u64, cap: u64, signature: Option<&str>) -> PolicySet {
    PolicySet {
        operator_id: fixture.operator.id,
        account_id: fixture.account.id,
        version,
        policy: Some(SpendingPolicy {
            max_daily_spend: Limit::AtMost(micros(cap)),
            allowlist: AllowedRecipients::only(vec![[4; 32]], vec![[5; 32]]),
            ..SpendingPolicy::default()
        }),
        by: signature.map(|signature| SetBy {
            signer: Some(Address::from_bytes([6; 32])),
            signature: signature.into(),
            at: at(50),
        }),
    }
}

async fn inserts_policy(fixture: &Fixture, set: &PolicySet) {
    fixture.store.policies.insert_policy(set, at(60)).await.expect("kept");
}

async fn watches(fixture: &Fixture) {
    let webhook = webhook(fixture, 1, None);
    let secret = SealedSecret::from_stored("sealed".to_owned());
    fixture.store.webhooks.insert_webhook(&webhook, &secret, WEBHOOKS_MAX).await.expect("inserted");
}

/// The data of the announced events of a type, oldest first.
async fn announced(fixture: &Fixture, event_type: EventType) -> Vec<serde_json::Value> {
    let listed =
        fixture.store.events.list_events(fixture.operator.id, Some(event_type), None, None, 100).await;
    let mut events = listed.expect("listed");
    events.reverse();
    events.iter().map(|event| serde_json::from_str(event.data.get()).expect("JSON")).collect()
}

async fn percents(fixture: &Fixture) -> Vec<u64> {
    let data = announced(fixture, EventType::LimitThreshold).await;
    let mut percents: Vec<u64> = data.iter().filter_map(|data| data["threshold_percent"].as_u64()).collect();
    percents.sort_unstable();
    percents
}

#[tokio::test]
async fn limit_is_announced_by_the_payment_that_reaches_it_whichever_is_read_first() {
    for policy_first in [true, false] {
        let Some(fixture) = fixture().await else { return };
        watches(&fixture).await;
        let set = policy(&fixture, 3, 100, Some("sig"));
        let payments = || {
            let pays = |name, amount, spent, version| payment(&fixture, name, amount, spent, version);
            // The last was under another policy, which is unknown.
            vec![pays("c", 1, 81, 3), pays("b", 2, 80, 3), pays("a", 78, 78, 3), pays("z", 100, 100, 2)]
        };
        if policy_first {
            inserts_policy(&fixture, &set).await;
        }
        reads(&fixture, payments()).await;
        if !policy_first {
            assert!(percents(&fixture).await.is_empty());
        }
        // Repeatedly: after a crash, by another process, when a policy becomes known.
        for _ in 0..2 {
            inserts_policy(&fixture, &set).await;
            reads(&fixture, payments()).await;
        }
        assert_eq!(percents(&fixture).await, [80]);
        let [event] = &announced(&fixture, EventType::LimitThreshold).await[..] else { panic!("one") };
        assert_eq!((&event["tx_signature"], &event["spent_usdc"]), (&"b".into(), &"0.000080".into()));
        reads(&fixture, vec![payment(&fixture, "d", 19, 100, 3), payment(&fixture, "e", 40, 90, 3)]).await;
        assert_eq!(
            percents(&fixture).await,
            [80, 80, 100],
            "what rolled out of the window can be reached again"
        );
    }
}

#[tokio::test]
async fn limit_is_announced_once_by_processes_that_read_at_the_same_time() {
    let Some(fixture) = fixture().await else { return };
    watches(&fixture).await;
    let other = fixture.reopen().await;
    for round in 0..10 {
        let name = format!("payment-{round}");
        let entries = vec![payment(&fixture, &name, 90, 90, 3)];
        let readings = Readings { entries, read_at: Some(at(101)), ..Readings::default() };
        let set = policy(&fixture, 3, 100, Some("sig"));
        let network = fixture.operator.network;
        let (one, two, three, four) = tokio::join!(
            fixture.store.index.insert_readings(network, &readings, None),
            other.index.insert_readings(network, &readings, None),
            fixture.store.policies.insert_policy(&set, at(60)),
            other.policies.insert_policy(&set, at(60)),
        );
        for read in [one, two] {
            assert!(read.expect("written").is_empty());
        }
        for done in [three, four] {
            done.expect("written");
        }
    }
    assert_eq!(percents(&fixture).await, [80; 10]);
    assert_eq!(announced(&fixture, EventType::PolicyChanged).await.len(), 1);
}

#[tokio::test]
async fn spending_is_read_only_where_somebody_wants_to_know_and_from_then_on() {
    let Some(fixture) = fixture().await else { return };
    inserts_policy(&fixture, &policy(&fixture, 3, 100, None)).await;
    let network = fixture.operator.network;
    let mark = |name: &str| Mark { signature: name.into(), slot: 7 };
    let known = async |name: &str| {
        let whose = WalkOwner::Account(fixture.account.id);
        let found = fixture.store.index.find_known(network, whose, &[mark(name)]).await.expect("found");
        found.contains_key(&mark(name))
    };
    let unread = |name: &str| HistoryEntry { spent: None, ..payment(&fixture, name, 90, 90, 3) };
    reads(&fixture, vec![unread("a"), payment(&fixture, "b", 90, 90, 3)]).await;
    assert!(known("a").await && known("b").await && percents(&fixture).await.is_empty());
    watches(&fixture).await;
    // Paid long before the webhook of second 0 subscribed: left alone.
    let old = HistoryEntry { created_at: at(-301), ..unread("old") };
    reads(&fixture, vec![old]).await;
    assert!(known("old").await);
    assert!(!known("a").await, "to be read again");
    reads(&fixture, vec![payment(&fixture, "a", 90, 90, 3)]).await;
    assert!(known("a").await);
    assert_eq!(percents(&fixture).await, [80]);
}

#[tokio::test]
async fn policy_change_is_announced_with_the_one_before_and_not_again() {
    let Some(fixture) = fixture().await else { return };
    let changes = async || announced(&fixture, EventType::PolicyChanged).await;
    // Neither a new account's first policy nor one found in force is a change.
    inserts_policy(&fixture, &policy(&fixture, 1, 10, Some("birth"))).await;
    inserts_policy(&fixture, &policy(&fixture, 4, 40, None)).await;
    assert!(changes().await.is_empty());
    // Then the transaction that set it is read after all, twice.
    for _ in 0..2 {
        inserts_policy(&fixture, &policy(&fixture, 4, 40, Some("four"))).await;
    }
    inserts_policy(&fixture, &policy(&fixture, 5, 50, Some("five"))).await;
    let events = changes().await;
    assert_eq!(events.len(), 2, "{events:#?}");
    assert_eq!((&events[0]["before"]["version"], &events[0]["after"]["version"]), (&1.into(), &4.into()));
    assert_eq!(events[1]["before"], events[0]["after"]);
    assert_eq!(
        events[1]["after"]["policy"]["counterparty_kinds"],
        serde_json::json!(["wallet", "token_account"])
    );
    assert_eq!(events[1]["tx_signature"], "five");
    // A change of yesterday that is read after a newer one is not announced.
    let mut old = policy(&fixture, 3, 30, Some("three"));
    if let Some(by) = &mut old.by {
        by.at = at(-90_000);
    }
    inserts_policy(&fixture, &old).await;
    assert_eq!(changes().await.len(), 2);
    let kept =
        fixture.store.policies.find_policy((fixture.operator.id, fixture.account.id), 5).await.expect("read");
    assert_eq!(kept, policy(&fixture, 5, 50, None).policy);
    // After a fork, another transaction sets the version, maybe to the same. One that could not be read is announced too.
    for cap in [50, 51] {
        inserts_policy(&fixture, &policy(&fixture, 5, cap, Some(&format!("fork-{cap}")))).await;
    }
    for _ in 0..2 {
        let unread = PolicySet { policy: None, ..policy(&fixture, 6, 60, Some("six")) };
        inserts_policy(&fixture, &unread).await;
    }
    let events = changes().await;
    let told = |signature: &str| {
        let mut found = events.iter().filter(|event| event["tx_signature"] == signature);
        found
            .next()
            .map(|event| (&event["before"]["version"], &event["after"]["version"], &event["after"]["policy"]))
    };
    assert_eq!(events.len(), 5, "{events:#?}");
    let (before, after, forked) = told("fork-51").expect("announced");
    assert_eq!((before, after, &forked["max_daily_spend"]), (&4.into(), &5.into(), &0.000051.into()));
    assert_eq!(told("six"), Some((&5.into(), &6.into(), &serde_json::Value::Null)));
}

#[tokio::test]
async fn money_is_announced_with_its_entry_to_whose_it_is() {
    let Some(fixture) = fixture().await else { return };
    let stranger = operator(30);
    let foreign = account(&stranger, 40);
    fixture.store.operators.insert_operator(&stranger).await.expect("inserted");
    fixture.store.accounts.insert_account(&foreign).await.expect("inserted");
    watches(&fixture).await;
    let theirs = Webhook {
        id: WebhookId::from_bytes([2; 16]),
        operator_id: stranger.id,
        subscription: Subscription::new(vec![EventType::DepositSettled], Vec::new(), None).expect("valid"),
        ..webhook(&fixture, 2, None)
    };
    let secret = SealedSecret::from_stored("sealed".to_owned());
    fixture.store.webhooks.insert_webhook(&theirs, &secret, WEBHOOKS_MAX).await.expect("inserted");
    // A payment from here to an account of another operator.
    let mut new = fixture.transfer(1, "a");
    new.transfer.request.to = Recipient::TokenAccount(foreign.token_account);
    let claimed = fixture.claim_new(&new, 0).await;
    let signed = fixture.store.transfers.mark_signed(&claimed, signed(1), at(1)).await.expect("signed");
    let settlement = Settlement { signature: "signature-1".into(), ..settlement(3) };
    fixture.store.transfers.mark_settled(&signed, settlement, at(3)).await.expect("settled");
    let of = async |operator: OperatorId, event_type| {
        fixture.store.events.list_events(operator, Some(event_type), None, None, 10).await.expect("listed")
    };
    let [deposit] = &of(stranger.id, EventType::DepositSettled).await[..] else { panic!("one deposit") };
    assert_eq!(deposit.subject.account_id(), Some(foreign.id));
    assert!(of(fixture.operator.id, EventType::DepositSettled).await.is_empty());
    fixture.store.events.place_waiting(at(3)).await.expect("placed");
    let delivered = async |operator: OperatorId, webhook| {
        let listed = fixture
            .store
            .deliveries
            .list_deliveries(operator, webhook, None, None, 10)
            .await
            .expect("listed");
        listed.into_iter().map(|delivery| delivery.event_type).collect::<Vec<_>>()
    };
    assert_eq!(delivered(stranger.id, theirs.id).await, [EventType::DepositSettled]);
    // The indexer reads the same: nothing is announced again.
    let mut entry = payment(&fixture, "signature-1", 12_500_000, 1, 1);
    entry.id = entry_id("signature-1", foreign.id, 0);
    (entry.operator_id, entry.account_id, entry.kind) = (stranger.id, foreign.id, EntryKind::Deposit);
    (entry.number, entry.spent) = (None, None);
    reads(&fixture, vec![entry.clone()]).await;
    assert_eq!(of(stranger.id, EventType::DepositSettled).await.len(), 1);
    // A withdrawal and a separate deposit are announced.
    let mut withdrawal = payment(&fixture, "w", 5, 1, 1);
    (withdrawal.kind, withdrawal.number, withdrawal.spent) = (EntryKind::Withdrawal, None, None);
    entry.id = entry_id("d", foreign.id, 0);
    for _ in 0..2 {
        reads(&fixture, vec![withdrawal.clone(), entry.clone()]).await;
    }
    assert_eq!(of(stranger.id, EventType::DepositSettled).await.len(), 2);
    assert_eq!(of(fixture.operator.id, EventType::WithdrawalSettled).await.len(), 1);
}

#[tokio::test]
async fn halt_is_announced_once_for_each_account() {
    let Some(fixture) = fixture().await else { return };
    let second = account(&fixture.operator, 20);
    fixture.store.accounts.insert_account(&second).await.expect("inserted");
    watches(&fixture).await;
    let all = fixture.store.index.list_haltable(fixture.operator.id, None, 10).await.expect("listed");
    assert_eq!(all, [fixture.account.id, second.id]);
    let rest =
        fixture.store.index.list_haltable(fixture.operator.id, Some(all[0]), 10).await.expect("listed");
    assert_eq!(rest, [second.id]);
    let halt = |signature: &str| HaltSet {
        operator_id: fixture.operator.id,
        scope: HaltScope::Operator,
        by: Some(HaltedBy::Guardian),
        signature: signature.into(),
        at: at(9),
    };
    for signature in ["one", "one", "two"] {
        fixture.store.policies.announce_halt(&halt(signature), &all, at(10)).await.expect("announced");
    }
    let events = announced(&fixture, EventType::AccountHalted).await;
    assert_eq!(events.len(), 4, "{events:#?}");
    assert_eq!((&events[0]["halted_by"], &events[0]["scope"]), (&"guardian".into(), &"operator".into()));
}
