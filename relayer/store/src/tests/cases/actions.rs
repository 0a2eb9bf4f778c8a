use futures::FutureExt;
use sqlx::Executor;

use super::webhooks::{sealed, webhook};
use super::*;
use crate::Due;
use crate::Transaction;
use purser_model::wire::ActionResponse;
use purser_model::{
    Action, ActionFilter, ActionId, ActionOutcome, Event, SentTransaction, SessionToken, Stop, Stopped,
    Subject,
};

/// What somebody does to this object at that second.
pub(super) fn action(fixture: &Fixture, name: &str, object: &str, seconds: i64) -> Action {
    Action {
        id: ActionId::new(at(seconds), 7),
        operator_id: fixture.operator.id,
        name: name.parse().expect("a word"),
        outcome: ActionOutcome::Unknown,
        key_id: Some(fixture.key.id),
        session_id: None,
        address: Some("2001:db8::1".parse().expect("an address")),
        object_id: object.parse().ok(),
        made_id: None,
        after: None,
        tx_signature: None,
        request_id: None,
        created_at: at(seconds),
    }
}

async fn names(fixture: &Fixture, filter: &ActionFilter) -> Vec<String> {
    let listed = fixture.store.actions.list_actions(fixture.operator.id, filter, None, 100).await;
    listed.expect("read").into_iter().map(|listed| listed.action.name.to_string()).collect()
}

#[tokio::test]
async fn an_action_is_listed_from_its_beginning_and_how_it_ended_is_written_once() {
    let Some(fixture) = fixture().await else { return };
    let actions = &fixture.store.actions;
    let mut begun = action(&fixture, "create_key", "acct_1", 5);
    actions.insert_action(&begun).await.expect("inserted");
    let read = async || actions.list_actions(fixture.operator.id, &ActionFilter::default(), None, 9).await;
    let listed = read().await.expect("read").pop().expect("there");
    assert_eq!(listed.action.outcome, ActionOutcome::Unknown);
    assert_eq!(
        (listed.key_name.as_deref(), listed.key_hint),
        (Some("laptop"), Some(fixture.key.hint.clone()))
    );
    begun.outcome = ActionOutcome::Done;
    begun.made_id = "key_1".parse().ok();
    actions.mark_action_ended(&begun, at(6)).await.expect("written");
    actions.delete_action(&begun).await.expect("done");
    let listed = read().await.expect("read").pop().expect("what is done stays").action;
    assert_eq!((listed.outcome, listed.made_id), (ActionOutcome::Done, begun.made_id));
    assert_eq!((listed.address, listed.created_at), (begun.address, at(5)));
    let refused = action(&fixture, "revoke_key", "key_1", 6);
    actions.insert_action(&refused).await.expect("inserted");
    actions.delete_action(&refused).await.expect("deleted");
    assert_eq!(names(&fixture, &ActionFilter::default()).await, ["create_key"]);
}

/// A transaction of an action at that second.
fn sent(signature: &str, seconds: i64) -> SentTransaction {
    let signature = signature.to_owned();
    SentTransaction { signature, last_valid_block_height: u64::MAX, is_step: false, sent_at: at(seconds) }
}

#[tokio::test]
async fn action_is_open_while_its_transactions_are_on_record_and_ends_once() {
    let Some(fixture) = fixture().await else { return };
    let (actions, operator) = (&fixture.store.actions, fixture.operator.id);
    let [over, refused, found, unchanged, lost] = [1, 2, 3, 4, 5].map(|second| {
        let action = action(&fixture, "update_policy", "acct_1", second);
        (action.id, action)
    });
    for (id, action) in [&over, &refused, &found, &unchanged, &lost] {
        actions.insert_action(action).await.expect("inserted");
        for signature in ["a", "b"] {
            let sent = sent(&format!("{id}-{signature}"), 10);
            actions.insert_action_transaction((operator, *id), &sent).await.expect("inserted");
        }
    }
    let open = async |now| {
        let open = actions.list_open_actions(Network::Test, Due::since(at(now)), 100).await.expect("read");
        open.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    let all = [over.0, refused.0, found.0, unchanged.0, lost.0];
    assert!(open(9).await.is_empty(), "they sent something since");
    assert_eq!((open(10).await, open(-100).await), (all.to_vec(), all.to_vec()), "a clock was ahead");

    // Their own processes end two of them.
    let done = Action { outcome: ActionOutcome::Done, ..over.1.clone() };
    actions.mark_action_ended(&done, at(12)).await.expect("written");
    actions.delete_action(&refused.1).await.expect("deleted");
    assert_eq!(open(11).await, [found.0, unchanged.0, lost.0]);

    // Others are looked up; a transaction that was sent meanwhile stays.
    let later = sent("later", 13);
    actions.insert_action_transaction((operator, unchanged.0), &later).await.expect("inserted");
    let finds = async |id, outcome, signature| {
        let looked_up = ["a", "b"].map(|signature| format!("{id}-{signature}"));
        let found = actions.mark_action_found((operator, id), outcome, signature, &looked_up, at(20)).await;
        found.expect("written")
    };
    assert!(finds(found.0, ActionOutcome::Done, Some("b")).await);
    assert!(finds(unchanged.0, ActionOutcome::Unchanged, None).await);
    assert!(!finds(unchanged.0, ActionOutcome::Unchanged, None).await, "another relayer found it");
    assert!(!finds(lost.0, ActionOutcome::Unknown, None).await);
    assert!(!finds(over.0, ActionOutcome::Unchanged, None).await, "it is done");
    assert_eq!(open(100).await, [unchanged.0]);
    assert_eq!(actions.list_action_transactions(unchanged.0).await.expect("read"), [later]);
    let outcomes = async || {
        let all = ActionFilter::default();
        let listed = actions.list_actions(operator, &all, None, 10).await.expect("read");
        listed.into_iter().rev().map(|listed| listed.action.outcome).collect::<Vec<_>>()
    };
    let [done, none, unknown] = [ActionOutcome::Done, ActionOutcome::Unchanged, ActionOutcome::Unknown];
    assert_eq!(outcomes().await, [done, done, none, unknown]);
    assert_eq!(announced(&fixture).await.len(), 3);

    // It was not: a later transaction landed, or its process knows better than whoever looked.
    assert!(finds(unchanged.0, ActionOutcome::Done, Some("later")).await);
    assert_eq!(outcomes().await, [done, done, done, unknown]);
    // What is known already outlives an answer that says nothing.
    actions.mark_action_ended(&found.1, at(21)).await.expect("written");
    let filter = ActionFilter { id: Some(found.0), ..ActionFilter::default() };
    let listed = actions.list_actions(operator, &filter, None, 1).await.expect("read").pop().expect("there");
    assert_eq!((listed.action.outcome, listed.action.tx_signature.as_deref()), (done, Some("b")));
}

#[tokio::test]
async fn action_that_stopped_something_stays_open_until_its_stop_is_final() {
    let Some(fixture) = fixture().await else { return };
    let (actions, operator_id) = (&fixture.store.actions, fixture.operator.id);
    let halting = action(&fixture, "halt", "", 1);
    actions.insert_action(&halting).await.expect("inserted");
    for signature in ["expired", "landed"] {
        let sent = sent(signature, 10);
        actions.insert_action_transaction((operator_id, halting.id), &sent).await.expect("inserted");
    }
    let what = Stopped::Halted(None);
    let (action_id, tx_signature) = (Some(halting.id), "landed".to_owned());
    let halt = Stop { operator_id, action_id, what, tx_signature, landed_at: at(11) };
    actions.insert_stop(&halt).await.expect("updated");
    // Nor can one without a record be lost.
    let what = Stopped::Paused(fixture.account.id);
    let pause =
        Stop { action_id: None, what, tx_signature: "pause".to_owned(), landed_at: at(12), ..halt.clone() };
    actions.insert_stop(&pause).await.expect("inserted");
    let open = actions.list_open_actions(Network::Test, Due::since(at(100)), 10).await.expect("read");
    assert!(open.is_empty(), "a stop is followed, and not looked up");

    let done =
        Action { outcome: ActionOutcome::Done, tx_signature: Some("landed".to_owned()), ..halting.clone() };
    actions.mark_action_ended(&done, at(13)).await.expect("written");
    assert!(actions.list_action_transactions(halting.id).await.expect("read").is_empty());
    assert_eq!(actions.list_stops(10).await.expect("read"), [halt.clone(), pause.clone()]);

    actions.mark_stopped_again(&halt, "again", at(14)).await.expect("written");
    let again = Stop { tx_signature: "again".to_owned(), landed_at: at(14), ..halt };
    assert_eq!(actions.list_stops(10).await.expect("read"), [pause.clone(), again.clone()]);
    let filter = ActionFilter { id: Some(halting.id), ..ActionFilter::default() };
    let listed =
        actions.list_actions(operator_id, &filter, None, 1).await.expect("read").pop().expect("there");
    assert_eq!(listed.action.tx_signature.as_deref(), Some("again"));

    actions.delete_pauses(operator_id, fixture.account.id).await.expect("deleted");
    let final_now = ["again".to_owned()];
    let of = (operator_id, halting.id);
    let found = actions.mark_action_found(of, ActionOutcome::Done, Some("again"), &final_now, at(15)).await;
    assert!(!found.expect("written"), "its process said so");
    assert!(actions.list_stops(10).await.expect("read").is_empty());
}

/// The events of actions, newest first.
async fn announced(fixture: &Fixture) -> Vec<Event> {
    let of_actions = Some(EventType::ActionRecorded);
    fixture.store.events.list_events(fixture.operator.id, of_actions, None, None, 10).await.expect("listed")
}

/// The actions as the API lists them, newest first.
async fn listed(fixture: &Fixture) -> Vec<String> {
    let all = ActionFilter::default();
    let listed = fixture.store.actions.list_actions(fixture.operator.id, &all, None, 10).await.expect("read");
    let json = |listed| serde_json::to_string(&ActionResponse::from(listed)).expect("JSON");
    listed.into_iter().map(json).collect()
}

fn payloads(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.data.get().to_owned()).collect()
}

/// Alters the tables, as no statement of the store does.
async fn alters(fixture: &Fixture, change: &'static str) {
    let altered = fixture.store.write(move |tx| {
        async move {
            match tx {
                Transaction::Sqlite(on) => on.execute_batch(change)?,
                Transaction::Postgres(on) => on.execute(change).await.map(|_| ())?,
            }
            Ok(())
        }
        .boxed()
    });
    altered.await.expect("altered");
}

#[tokio::test]
async fn how_an_action_ended_is_announced_once_as_it_is_listed() {
    let Some(fixture) = fixture().await else { return };
    let actions = &fixture.store.actions;
    let refused = action(&fixture, "revoke_key", "key_1", 1);
    actions.insert_action(&refused).await.expect("inserted");
    actions.delete_action(&refused).await.expect("deleted");
    actions.mark_action_ended(&refused, at(1)).await.expect("nothing to write");
    let mut done = action(&fixture, "update_policy", "acct_1", 2);
    done.tx_signature = Some("signature".to_owned());
    actions.insert_action(&done).await.expect("inserted");
    assert!(announced(&fixture).await.is_empty(), "neither what was refused nor what runs");
    done.outcome = ActionOutcome::Done;
    for seconds in [3, 4] {
        actions.mark_action_ended(&done, at(seconds)).await.expect("written");
    }
    let unknown = action(&fixture, "halt", "acct_1", 5);
    actions.insert_action(&unknown).await.expect("inserted");
    actions.mark_action_ended(&unknown, at(6)).await.expect("written");
    let signing_in = action(&fixture, "sign_in", "psk_1", 7);
    let token = SessionToken::new([7; 32]).hash();
    assert!(fixture.store.sessions.insert_session(&token, &signing_in, None).await.expect("inserted"));
    let events = announced(&fixture).await;
    assert_eq!(payloads(&events), listed(&fixture).await);
    assert_eq!(events.iter().map(|event| event.created_at).collect::<Vec<_>>(), [at(7), at(6), at(3)]);
    assert!(events.iter().all(|event| event.subject == Subject::Operator));
    let found = fixture.store.events.find_event(fixture.operator.id, events[0].id).await.expect("read");
    assert_eq!(found.expect("there").envelope().get(), events[0].envelope().get());
    let of_account =
        fixture.store.events.list_events(fixture.operator.id, None, Some(fixture.account.id), None, 9);
    assert!(of_account.await.expect("listed").is_empty());
    assert!(
        fixture
            .store
            .events
            .list_events(operator(9).id, None, None, None, 9)
            .await
            .expect("listed")
            .is_empty()
    );
}

#[tokio::test]
async fn an_action_ends_with_its_event_or_not_at_all() {
    let Some(fixture) = fixture().await else { return };
    let actions = &fixture.store.actions;
    let mut begun = action(&fixture, "create_key", "acct_1", 1);
    actions.insert_action(&begun).await.expect("inserted");
    begun.outcome = ActionOutcome::Done;
    let signing_in = action(&fixture, "sign_in", "psk_1", 2);
    let token = SessionToken::new([7; 32]).hash();
    alters(&fixture, "ALTER TABLE events RENAME TO events_gone").await;
    actions.mark_action_ended(&begun, at(3)).await.expect_err("no event can be written");
    let refused = fixture.store.sessions.insert_session(&token, &signing_in, None).await;
    refused.expect_err("no event can be written");
    alters(&fixture, "ALTER TABLE events_gone RENAME TO events").await;
    assert!(fixture.store.sessions.find_session(&token).await.expect("read").is_none());
    let all = ActionFilter::default();
    let on_record = actions.list_actions(fixture.operator.id, &all, None, 9).await.expect("read");
    let on_record: Vec<_> = on_record.iter().map(|listed| listed.action.outcome).collect();
    assert_eq!(on_record, [ActionOutcome::Unknown]);
    assert!(announced(&fixture).await.is_empty());
    actions.mark_action_ended(&begun, at(4)).await.expect("written");
    assert_eq!(payloads(&announced(&fixture).await), listed(&fixture).await);
}

#[tokio::test]
async fn an_action_is_delivered_to_webhooks_that_name_its_type_and_no_account() {
    let Some(fixture) = fixture().await else { return };
    let subscribed = |events: &[EventType], accounts: &[AccountId]| {
        Subscription::new(events.to_vec(), accounts.to_vec(), None).expect("valid")
    };
    let account = fixture.account.id;
    let subscriptions = [
        subscribed(&[EventType::ActionRecorded], &[]),
        subscribed(&[EventType::ActionRecorded], &[account]),
        subscribed(&[EventType::PolicyChanged], &[]),
    ];
    for (number, subscription) in (1..).zip(subscriptions) {
        let webhook = Webhook { subscription, ..webhook(&fixture, number, None) };
        let secret = sealed("sealed");
        let inserted = fixture.store.webhooks.insert_webhook(&webhook, &secret, WEBHOOKS_MAX);
        inserted.await.expect("inserted");
    }
    let done = action(&fixture, "update_account", &account.to_string(), 1);
    fixture.store.actions.insert_action(&done).await.expect("inserted");
    fixture.store.actions.mark_action_ended(&done, at(2)).await.expect("written");
    fixture.store.events.place_waiting(at(2)).await.expect("placed");
    for (number, count) in [(1, 1), (2, 0), (3, 0)] {
        let id = WebhookId::from_bytes([number; 16]);
        let deliveries =
            fixture.store.deliveries.list_deliveries(fixture.operator.id, id, None, None, 9).await;
        assert_eq!(deliveries.expect("listed").len(), count, "{number}");
    }
    assert_eq!(
        fixture.store.events.hinted_webhooks().await.into_iter().collect::<Vec<_>>(),
        [WebhookId::from_bytes([1; 16])]
    );
}

#[tokio::test]
async fn actions_are_found_by_name_object_key_and_span_and_by_their_operator_alone() {
    let Some(fixture) = fixture().await else { return };
    let actions = &fixture.store.actions;
    let mut made = action(&fixture, "create_account", "nothing", 1);
    (made.object_id, made.made_id) = (None, "acct_1".parse().ok());
    actions.insert_action(&made).await.expect("inserted");
    for (name, object, seconds) in
        [("create_key", "acct_1", 2), ("revoke_key", "key_9", 3), ("halt", "acct_2", 4)]
    {
        actions.insert_action(&action(&fixture, name, object, seconds)).await.expect("inserted");
    }
    let mut by_shell = action(&fixture, "create_operator_key", "key_3", 5);
    by_shell.key_id = None;
    actions.insert_action(&by_shell).await.expect("inserted");
    let all = ActionFilter::default();
    let everything = ["create_operator_key", "halt", "revoke_key", "create_key", "create_account"];
    assert_eq!(names(&fixture, &all).await, everything);
    let of = |object: &str| ActionFilter { object_id: object.parse().ok(), ..all.clone() };
    assert_eq!(names(&fixture, &of("acct_1")).await, ["create_key", "create_account"]);
    assert_eq!(names(&fixture, &ActionFilter { name: "halt".parse().ok(), ..all.clone() }).await, ["halt"]);
    assert_eq!(names(&fixture, &ActionFilter { name: "halt".parse().ok(), ..of("acct_1") }).await, [""; 0]);
    let by_key = ActionFilter { key_id: Some(fixture.key.id), ..all.clone() };
    assert_eq!(names(&fixture, &by_key).await, everything[1..]);
    let between = ActionFilter { since: Some(at(2)), until: Some(at(4)), ..all.clone() };
    assert_eq!(names(&fixture, &between).await, ["halt", "revoke_key"]);
    let of_both = ActionFilter { key_id: Some(fixture.key.id), since: Some(at(1)), ..of("acct_1") };
    assert_eq!(names(&fixture, &of_both).await, ["create_key"]);
    let page = actions.list_actions(fixture.operator.id, &all, None, 2).await.expect("read");
    let after = page.last().map(|listed| listed.action.id);
    let next = actions.list_actions(fixture.operator.id, &all, after, 9).await.expect("read");
    assert_eq!((page.len(), next.len()), (2, 3));
    assert_eq!(names(&fixture, &ActionFilter { id: Some(made.id), ..all.clone() }).await, ["create_account"]);
    let stranger = operator(9).id;
    assert!(actions.list_actions(stranger, &all, None, 9).await.expect("read").is_empty());
    let unknown = ActionFilter { id: Some(made.id), name: "halt".parse().ok(), ..all.clone() };
    assert!(names(&fixture, &unknown).await.is_empty());
    let mut theirs = action(&fixture, "halt", "acct_1", 9);
    theirs.operator_id = stranger;
    actions.delete_action(&Action { id: made.id, ..theirs.clone() }).await.expect("done");
    assert_eq!(names(&fixture, &all).await.len(), 5, "nobody deletes another's");
}

#[tokio::test]
async fn a_halt_and_a_transaction_lead_to_the_first_action_of_their_operator() {
    let Some(fixture) = fixture().await else { return };
    let (store, operator_id) = (&fixture.store, fixture.operator.id);
    let theirs = operator(30);
    store.operators.insert_operator(&theirs).await.expect("inserted");
    for (seconds, of, signature) in
        [(5, operator_id, "one"), (4, operator_id, "one"), (3, theirs.id, "one"), (2, operator_id, "two")]
    {
        let mut done = action(&fixture, "halt_account", "acct_1", seconds);
        (done.operator_id, done.key_id, done.tx_signature) = (of, None, Some(signature.to_owned()));
        store.actions.insert_action(&done).await.expect("inserted");
    }
    let asked = ["one", "two", "three"].map(str::to_owned);
    let mut found = store.actions.find_actions_of(operator_id, &asked).await.expect("read");
    found.sort();
    let expected =
        [("one", 4), ("two", 2)].map(|(of, at_second)| (of.to_owned(), ActionId::new(at(at_second), 7)));
    assert_eq!(found, expected);
    assert!(store.actions.find_actions_of(operator_id, &[]).await.expect("read").is_empty());

    let other = account(&fixture.operator, 50);
    store.accounts.insert_account(&other).await.expect("inserted");
    let halts = |signature: &str, seconds: i64| HaltSet {
        operator_id,
        scope: HaltScope::Account,
        by: None,
        signature: signature.to_owned(),
        at: at(seconds),
    };
    for (signature, seconds) in [("one", 1), ("two", 2)] {
        let halt = halts(signature, seconds);
        let halted = [fixture.account.id];
        store.policies.announce_halt(&halt, &halted, at(seconds)).await.expect("announced");
    }
    let latest = async |of: OperatorId| {
        store.events.list_latest_halts(of, &[other.id, fixture.account.id]).await.expect("read")
    };
    let halted = latest(operator_id).await;
    assert_eq!(halted.len(), 1, "the other was never halted");
    assert_eq!(halted[0].subject, Subject::Account { account_id: fixture.account.id });
    let halt = halted[0].halt().expect("a halt");
    assert_eq!((halt.scope, halt.tx_signature.as_str()), (HaltScope::Account, "two"));
    assert!(latest(theirs.id).await.is_empty());
}
