use super::*;
use crate::domain::{Action, ActionFilter, ActionId, ActionOutcome};

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
        before: None,
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
    actions.mark_action_ended(&begun).await.expect("written");
    actions.delete_action(&begun).await.expect("done");
    let listed = read().await.expect("read").pop().expect("what is done stays").action;
    assert_eq!((listed.outcome, listed.made_id), (ActionOutcome::Done, begun.made_id));
    assert_eq!((listed.address, listed.created_at), (begun.address, at(5)));
    let refused = action(&fixture, "revoke_key", "key_1", 6);
    actions.insert_action(&refused).await.expect("inserted");
    actions.delete_action(&refused).await.expect("deleted");
    assert_eq!(names(&fixture, &ActionFilter::default()).await, ["create_key"]);
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
    let stranger = operator(9).id;
    assert!(actions.list_actions(stranger, &all, None, 9).await.expect("read").is_empty());
    let mut theirs = action(&fixture, "halt", "acct_1", 9);
    theirs.operator_id = stranger;
    actions.delete_action(&Action { id: made.id, ..theirs.clone() }).await.expect("done");
    assert_eq!(names(&fixture, &all).await.len(), 5, "nobody deletes another's");
}
