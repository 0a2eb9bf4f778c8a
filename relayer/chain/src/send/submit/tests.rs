//! The loop against a scripted node, on a clock that moves only when every task waits.

use super::*;
use crate::send::cross_check;
use crate::send::flight::Followed;
use purser_rpc::COMPARE_EVERY;
use purser_rpc::node_fault::NodeFault;
use purser_rpc::scripted_node::{ScriptedNode, status};
use serde_json::json;

const LAST_VALID: u64 = 150;
const PAYER: Pubkey = Pubkey::new_from_array([7; 32]);
const TRANSACTION: Followed<'static> = Followed {
    bytes: b"signed bytes",
    signature: "signature",
    last_valid_block_height: LAST_VALID,
    payer: PAYER,
};

fn start(node: &ScriptedNode) -> Arc<Submitter> {
    start_with(&[node])
}

fn start_with(nodes: &[&ScriptedNode]) -> Arc<Submitter> {
    start_with_life(nodes, Duration::ZERO)
}

/// Bytes live for `life` at least.
fn start_with_life(nodes: &[&ScriptedNode], life: Duration) -> Arc<Submitter> {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let transports = nodes.iter().map(|node| node.boxed()).collect();
    let rpc = Arc::new(Rpc::over(transports, Vec::new(), tasks.clone()));
    let (submitter, sightings) = Submitter::new(rpc.clone(), life, tasks.clone());
    let submitter = Arc::new(submitter);
    if let Some(sightings) = sightings {
        let checked = submitter.clone();
        let on_checked = move |signature: &str, landing| checked.cross_checked(signature, landing);
        tasks.spawn(cross_check::run(rpc, sightings, on_checked, stop.clone()));
    }
    let (looping, stops) = (submitter.clone(), stop.clone());
    tasks.spawn(async move { looping.run(stops).await });
    let comparing = submitter.rpc.clone();
    if nodes.len() > 1 {
        tasks.spawn(async move {
            loop {
                comparing.compare_nodes().await;
                tokio::time::sleep(COMPARE_EVERY).await;
            }
        });
    }
    submitter
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Follows in the background; `try_now` says whether it has ended.
struct Following(tokio::task::JoinHandle<Landing>);

impl Following {
    fn begin(submitter: &Arc<Submitter>, commitment: Commitment) -> Self {
        let submitter = submitter.clone();
        Self(TaskTracker::new().spawn(async move { submitter.follow(TRANSACTION, commitment).await }))
    }

    fn is_open(&self) -> bool {
        !self.0.is_finished()
    }

    async fn end(self) -> Landing {
        tokio::time::timeout(Duration::from_secs(10), self.0).await.expect("still in flight").unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn transaction_settles_at_the_commitment_and_not_below_it() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    let following = Following::begin(&submitter, Commitment::Finalized);
    node.set(|node| node.recent = status("confirmed", Value::Null));
    after(5).await;
    assert!(following.is_open());
    node.set(|node| node.recent = status("finalized", Value::Null));
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
    assert_eq!(submitter.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_landed_failure_is_final_with_its_code() {
    let node = ScriptedNode::default();
    let following = Following::begin(&start(&node), Commitment::Confirmed);
    node.set(|node| {
        node.recent = status("confirmed", json!({ "InstructionError": [2, { "Custom": 6001 }] }))
    });
    let Landing::Failed { slot: 77, fault } = following.end().await else { panic!("not failed") };
    assert_eq!(fault.code, Some(6001));
}

#[tokio::test(start_paused = true)]
async fn the_same_bytes_are_sent_again_while_the_node_does_not_know_them() {
    let node = ScriptedNode::default();
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(9).await;
    let sent = node.get(|node| node.sent.clone());
    assert!((3..=5).contains(&sent.len()), "{sent:?}");
    let bytes = base64::engine::general_purpose::STANDARD.encode(TRANSACTION.bytes);
    assert!(sent.iter().all(|transaction| *transaction == bytes));
    node.set(|node| node.recent = status("processed", Value::Null));
    after(1).await;
    let known = node.get(|node| node.sent.len());
    after(20).await;
    assert_eq!(node.get(|node| node.sent.len()), known);
    assert!(following.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_holds_up_a_bounded_number_of_sends_and_each_flight_once() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    node.set(|node| node.hangs_on = Some("sendTransaction"));
    let begin = |number: usize| {
        let signature = format!("signature {number}");
        let followed = Followed { bytes: signature.as_bytes(), signature: &signature, ..TRANSACTION };
        drop(submitter.register(followed, Commitment::Finalized));
    };
    (0..10).for_each(begin);
    // A call times out after 10 s.
    after(9).await;
    assert_eq!(node.calls("sendTransaction"), 10, "none is sent again before the answer");
    (10..300).for_each(begin);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(node.calls("sendTransaction"), RESENDS_AT_ONCE);
    node.set(|node| node.hangs_on = None);
    after(20).await;
    let sent: HashSet<String> = node.get(|node| node.sent.iter().cloned().collect());
    assert_eq!(sent.len(), 300, "all have their turn");
}

#[tokio::test(start_paused = true)]
async fn transaction_expires_only_past_its_last_valid_finalized_height() {
    let node = ScriptedNode::default();
    let following = Following::begin(&start(&node), Commitment::Finalized);
    node.set(|node| node.finalized = LAST_VALID);
    after(60).await;
    assert!(following.is_open());
    assert_eq!(node.get(|node| node.history_searches), 0);
    node.set(|node| node.finalized = LAST_VALID + 1);
    assert!(matches!(following.end().await, Landing::Expired { slot } if slot > 0));
}

#[tokio::test(start_paused = true)]
async fn transaction_in_the_node_history_has_not_expired() {
    let node = ScriptedNode::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1_000;
        node.history = status("finalized", Value::Null);
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_node_behind_the_finalized_tip_cannot_expire_anything() {
    let node = ScriptedNode::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1;
        node.statuses_slot = Some(LAST_VALID);
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(60).await;
    assert!(following.is_open());
    assert!(node.get(|node| node.history_searches) > 0);
    node.set(|node| node.statuses_slot = None);
    assert!(matches!(following.end().await, Landing::Expired { slot } if slot > 0));
}

#[tokio::test(start_paused = true)]
async fn a_node_without_history_or_answers_ends_nothing() {
    let node = ScriptedNode::default();
    node.set(|node| {
        node.finalized = LAST_VALID + 1;
        node.history_off = true;
    });
    let following = Following::begin(&start(&node), Commitment::Finalized);
    after(60).await;
    node.set(|node| node.fault = Some(NodeFault::Unreachable));
    after(600).await;
    assert!(following.is_open());
    node.set(|node| {
        node.fault = None;
        node.recent = status("finalized", Value::Null);
    });
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn going_away_does_not_stop_the_following_and_asking_again_joins_it() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    let given_up =
        tokio::time::timeout(Duration::from_secs(1), submitter.follow(TRANSACTION, Commitment::Finalized));
    assert!(given_up.await.is_err());
    assert_eq!(submitter.in_flight(), 1);
    let [first, second] = [(); 2].map(|()| Following::begin(&submitter, Commitment::Finalized));
    after(1).await;
    assert_eq!(submitter.in_flight(), 1);
    submitter.land(TRANSACTION.signature, Landing::Landed { slot: 5 });
    assert_eq!(first.end().await, Landing::Landed { slot: 5 });
    assert_eq!(second.end().await, Landing::Landed { slot: 5 });
}

#[tokio::test(start_paused = true)]
async fn many_in_flight_are_asked_for_together_and_nothing_is_asked_when_idle() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    after(60).await;
    assert_eq!(node.get(|node| node.calls.len()), 0);
    let names: Vec<String> = (0..300).map(|index| format!("signature {index}")).collect();
    let follows = names
        .iter()
        .map(|signature| submitter.follow(Followed { signature, ..TRANSACTION }, Commitment::Confirmed));
    node.set(|node| node.recent = status("confirmed", Value::Null));
    let begun = Instant::now();
    let landings = futures::future::join_all(follows).await;
    assert!(landings.iter().all(|landing| *landing == Landing::Landed { slot: 77 }));
    assert!(begun.elapsed() <= POLL_YOUNG * 2, "{:?}", begun.elapsed());
    assert!(node.calls("getSignatureStatuses") <= 4);
}

#[tokio::test(start_paused = true)]
async fn silence_is_reported_only_while_something_is_in_flight_and_ends_nothing() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    let limit = Duration::from_secs(10);
    let silent_within = |seconds| tokio::time::timeout(Duration::from_secs(seconds), submitter.silent(limit));
    node.set(|node| node.fault = Some(NodeFault::Unreachable));
    assert!(silent_within(60).await.is_err(), "nothing is asked, so nothing is silent");
    let following = Following::begin(&submitter, Commitment::Finalized);
    assert!(silent_within(9).await.is_err());
    assert!(silent_within(5).await.is_ok());
    node.set(|node| node.fault = None);
    after(5).await;
    assert!(silent_within(60).await.is_err());
    assert!(following.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_is_silent_from_when_it_was_asked() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    node.set(|node| node.hangs = true);
    let _following = Following::begin(&submitter, Commitment::Finalized);
    let silent = submitter.silent(Duration::from_secs(10));
    assert!(tokio::time::timeout(Duration::from_secs(11), silent).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn subscribed_landing_is_not_polled_and_its_bytes_are_sent_once() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    submitter.listening(PAYER, Commitment::Confirmed);
    submitter.listening(PAYER, Commitment::Finalized);
    submitter.send(TRANSACTION, Commitment::Finalized).await.unwrap();
    let following = Following::begin(&submitter, Commitment::Finalized);
    after(1).await;
    submitter.noticed(0, TRANSACTION.signature, Commitment::Confirmed, 70, Some(&Value::Null), None);
    after(6).await;
    assert!(following.is_open(), "confirmed is not finalized");
    submitter.noticed(0, TRANSACTION.signature, Commitment::Finalized, 77, Some(&Value::Null), None);
    assert_eq!(following.end().await, Landing::Landed { slot: 70 }, "where it was first seen");
    assert_eq!(node.get(|node| node.calls.clone()), ["sendTransaction"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_websocket_costs_one_poll_and_a_missed_notice_a_slow_one() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    submitter.listening(PAYER, Commitment::Confirmed);
    let following = Following::begin(&submitter, Commitment::Confirmed);
    node.set(|node| node.recent = status("confirmed", Value::Null));
    after(1).await;
    assert!(following.is_open(), "the websocket is waited for");
    let begun = Instant::now();
    submitter.on_socket_lost();
    following.end().await;
    assert!(begun.elapsed() <= POLL_YOUNG * 2, "{:?}", begun.elapsed());

    submitter.listening(PAYER, Commitment::Confirmed);
    let missed = Followed { signature: "missed", ..TRANSACTION };
    let begun = Instant::now();
    assert_eq!(submitter.follow(missed, Commitment::Confirmed).await, Landing::Landed { slot: 77 });
    assert!(begun.elapsed() > POLL_YOUNG * 4, "{:?}", begun.elapsed());
    assert!(begun.elapsed() <= Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn landing_without_a_notice_is_polled() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    // Another payer's transactions, another commitment, and a subscription that began after this one may have landed.
    submitter.listening(Pubkey::default(), Commitment::Confirmed);
    submitter.listening(PAYER, Commitment::Finalized);
    let following = Following::begin(&submitter, Commitment::Confirmed);
    tokio::task::yield_now().await;
    submitter.listening(PAYER, Commitment::Confirmed);
    node.set(|node| node.recent = status("confirmed", Value::Null));
    let begun = Instant::now();
    following.end().await;
    assert!(begun.elapsed() <= POLL_YOUNG * 2, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_contradicts_itself_is_asked_about_at_once() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    submitter.listening(PAYER, Commitment::Confirmed);
    let following = Following::begin(&submitter, Commitment::Confirmed);
    tokio::task::yield_now().await;
    let err = json!({ "InstructionError": [1, { "Custom": 6001 }] });
    node.set(|node| node.recent = status("confirmed", err.clone()));
    let begun = Instant::now();
    submitter.noticed(0, TRANSACTION.signature, Commitment::Confirmed, 5, None, None);
    assert_eq!(following.end().await, Landing::at(77, &err));
    assert!(begun.elapsed() <= POLL_YOUNG * 2, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn landing_reported_before_anybody_asks_is_kept() {
    let node = ScriptedNode::default();
    let submitter = start_with(&[&node]);
    submitter.send(TRANSACTION, Commitment::Confirmed).await.unwrap();
    let err = json!({ "InstructionError": [1, { "Custom": 6001 }] });
    submitter.noticed(0, TRANSACTION.signature, Commitment::Confirmed, 5, Some(&err), None);
    let landing = submitter.follow(TRANSACTION, Commitment::Confirmed).await;
    assert_eq!(landing, Landing::at(5, &err));
    assert_eq!(submitter.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_log_says_of_a_payment_is_kept_from_the_notice_of_its_landing() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    let following = Following::begin(&submitter, Commitment::Finalized);
    after(1).await;
    let paid = |number| Some(LoggedPayment { transfer_id: [7; 16], number });
    let notice = |commitment, slot, paid| {
        submitter.noticed(0, TRANSACTION.signature, commitment, slot, Some(&Value::Null), paid)
    };
    // A fork may drop this one.
    notice(Commitment::Confirmed, 70, paid(3));
    assert_eq!(submitter.logged(TRANSACTION.signature), None);
    notice(Commitment::Finalized, 77, paid(4));
    following.end().await;
    assert_eq!(submitter.logged(TRANSACTION.signature), paid(4));
}

#[tokio::test(start_paused = true)]
async fn landing_that_a_second_node_denies_is_not_settled() {
    let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
    liar.set(|node| node.recent = status("finalized", Value::Null));
    honest.set(|node| node.finalized = 100);
    let submitter = start_with(&[&liar, &honest]);
    let following = Following::begin(&submitter, Commitment::Finalized);
    submitter.noticed(0, TRANSACTION.signature, Commitment::Finalized, 77, Some(&Value::Null), None);
    after(120).await;
    assert!(following.is_open());
    honest.set(|node| node.recent = status("finalized", Value::Null));
    after(60).await;
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn landing_far_ahead_of_every_other_node_is_not_settled() {
    let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
    honest.set(|node| node.finalized = 100);
    let submitter = start_with(&[&liar, &honest]);
    let following = Following::begin(&submitter, Commitment::Finalized);
    submitter.noticed(0, TRANSACTION.signature, Commitment::Finalized, u64::MAX, Some(&Value::Null), None);
    after(5).await;
    assert!(following.is_open());
}

#[tokio::test(start_paused = true)]
async fn slot_of_a_landing_is_the_earlier_of_what_two_nodes_say() {
    let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
    honest.set(|node| node.recent = status("finalized", Value::Null));
    let submitter = start_with(&[&liar, &honest]);
    let following = Following::begin(&submitter, Commitment::Finalized);
    after(1).await;
    submitter.noticed(0, TRANSACTION.signature, Commitment::Finalized, 1 << 40, Some(&Value::Null), None);
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn landing_in_a_slot_to_come_waits_until_another_node_has_come_as_far() {
    let err = json!({ "InstructionError": [1, { "Custom": 6001 }] });
    for told in [Value::Null, err] {
        let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
        liar.set(|node| node.finalized = 100);
        honest.set(|node| node.finalized = 100);
        let submitter = start_with(&[&liar, &honest]);
        let following = Following::begin(&submitter, Commitment::Finalized);
        submitter.noticed(0, TRANSACTION.signature, Commitment::Finalized, 150, Some(&told), None);
        for slot in 101..=150 {
            honest.set(|node| node.finalized = slot);
            after(2).await;
            assert!(following.is_open(), "{told} at {slot}");
        }
        honest.set(|node| node.recent = status("finalized", Value::Null));
        liar.set(|node| node.recent = status("finalized", Value::Null));
        after(60).await;
        assert_eq!(following.end().await, Landing::Landed { slot: 77 });
    }
}

#[tokio::test(start_paused = true)]
async fn landing_is_confirmed_by_the_same_result_at_the_same_commitment_alone() {
    let err = |code: u32| json!({ "InstructionError": [1, { "Custom": code }] });
    let (node, other) = (ScriptedNode::default(), ScriptedNode::default());
    node.set(|node| node.recent = status("finalized", err(6001)));
    other.set(|node| (node.finalized, node.recent) = (70, status("confirmed", err(6001))));
    let following = Following::begin(&start_with(&[&node, &other]), Commitment::Finalized);
    after(30).await;
    assert!(following.is_open(), "a fork may drop what is confirmed");
    other.set(|node| (node.finalized, node.recent) = (80, status("finalized", err(6002))));
    after(30).await;
    assert!(following.is_open(), "another error");
    other.set(|node| node.recent = status("finalized", err(6001)));
    after(60).await;
    assert_eq!(following.end().await, Landing::at(77, &err(6001)));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_node_that_stands_still() {
    let (node, stuck) = (ScriptedNode::default(), ScriptedNode::default());
    node.set(|node| node.recent = status("finalized", Value::Null));
    stuck.set(|node| node.finalized = 70);
    let following = Following::begin(&start_with(&[&node, &stuck]), Commitment::Finalized);
    after(50).await;
    assert!(following.is_open());
    after(15).await;
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_second_node_that_is_down_denies_nothing() {
    let (node, down) = (ScriptedNode::default(), ScriptedNode::default());
    down.set(|node| node.fault = Some(NodeFault::Unreachable));
    node.set(|node| node.recent = status("finalized", Value::Null));
    let following = Following::begin(&start_with(&[&node, &down]), Commitment::Finalized);
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_landing_waits_once_for_a_second_node_however_often_it_is_seen() {
    let (node, tasks) = (ScriptedNode::default(), TaskTracker::new());
    let rpc = Arc::new(Rpc::over(vec![node.boxed(), node.boxed()], Vec::new(), tasks.clone()));
    let (submitter, sightings) = Submitter::new(rpc, Duration::ZERO, tasks);
    let mut sightings = sightings.expect("there are two nodes");
    submitter.send(TRANSACTION, Commitment::Confirmed).await.unwrap();
    let sees = || {
        submitter.noticed(0, TRANSACTION.signature, Commitment::Confirmed, 77, Some(&Value::Null), None);
    };
    (0..3).for_each(|_| sees());
    assert!(sightings.try_recv().is_ok() && sightings.try_recv().is_err());
    submitter.cross_checked(TRANSACTION.signature, None);
    (0..3).for_each(|_| sees());
    assert!(sightings.try_recv().is_ok() && sightings.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_second_node_that_hangs_holds_a_landing_up_for_seconds() {
    let (node, hangs) = (ScriptedNode::default(), ScriptedNode::default());
    hangs.set(|node| node.hangs = true);
    node.set(|node| node.recent = status("finalized", Value::Null));
    let following = Following::begin(&start_with(&[&node, &hangs]), Commitment::Finalized);
    after(4).await;
    assert!(!following.is_open());
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_height_that_one_of_two_nodes_claims_expires_nothing() {
    let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
    liar.set(|node| node.finalized = LAST_VALID + 1_000);
    honest.set(|node| node.finalized = LAST_VALID);
    let following = Following::begin(&start_with(&[&liar, &honest]), Commitment::Finalized);
    for slot in LAST_VALID - 100..=LAST_VALID {
        honest.set(|node| node.finalized = slot);
        after(1).await;
    }
    assert!(following.is_open());
    assert!(!honest.get(|node| node.sent.is_empty()), "it gets what the other may keep");
    honest.set(|node| node.finalized = LAST_VALID + 1);
    assert_eq!(following.end().await, Landing::Expired { slot: LAST_VALID + 1 });
}

#[tokio::test(start_paused = true)]
async fn what_a_second_node_finds_in_its_history_has_not_expired() {
    let (liar, honest) = (ScriptedNode::default(), ScriptedNode::default());
    [&liar, &honest].iter().for_each(|node| node.set(|node| node.finalized = LAST_VALID + 1));
    honest.set(|node| node.history = status("finalized", Value::Null));
    let following = Following::begin(&start_with(&[&liar, &honest]), Commitment::Finalized);
    after(3).await;
    assert!(liar.get(|node| node.history_searches) > 0);
    // The landing is denied by the node that hides it, and so neither believed nor forgotten.
    assert!(following.is_open());
    liar.set(|node| node.history = status("finalized", Value::Null));
    after(40).await;
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_still_for_a_minute_has_no_say_in_expiry() {
    let (node, still) = (ScriptedNode::default(), ScriptedNode::default());
    still.set(|node| node.finalized = LAST_VALID);
    let following = Following::begin(&start_with(&[&node, &still]), Commitment::Finalized);
    let mut expired_after = None;
    for second in 0..90 {
        node.set(|node| node.finalized = LAST_VALID + 1 + second);
        after(1).await;
        if !following.is_open() {
            expired_after.get_or_insert(second);
        }
    }
    assert!(expired_after.is_some_and(|second| (55..75).contains(&second)), "{expired_after:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_expires_before_the_shortest_life_of_a_blockhash_has_passed() {
    let node = ScriptedNode::default();
    node.set(|node| node.finalized = LAST_VALID + 1_000);
    let submitter = start_with_life(&[&node], Duration::from_secs(30));
    let following = Following::begin(&submitter, Commitment::Finalized);
    after(29).await;
    assert!(following.is_open());
    after(4).await;
    assert!(!following.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_deaf_node_holds_up_a_few_transactions_and_gets_no_first_sends_for_a_while() {
    let (deaf, hears) = (ScriptedNode::default(), ScriptedNode::default());
    let submitter = start_with(&[&deaf, &hears]);
    // A poll that does not know the bytes is at slot 70, and they land in 77 once the second node has them.
    [&deaf, &hears].iter().for_each(|node| node.set(|node| node.finalized = 70));
    let lands = async |name: &str| {
        let followed = Followed { bytes: name.as_bytes(), signature: name, ..TRANSACTION };
        let [at_first, at_second] = [&deaf, &hears].map(|node| node.get(|node| node.sent.len()));
        submitter.send(followed, Commitment::Confirmed).await.unwrap();
        let has_it = || hears.get(|node| node.sent.len()) > at_second;
        let begun = Instant::now();
        while !has_it() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        [&deaf, &hears]
            .iter()
            .for_each(|node| node.set(|node| node.recent = status("confirmed", Value::Null)));
        assert_eq!(submitter.follow(followed, Commitment::Confirmed).await, Landing::Landed { slot: 77 });
        [&deaf, &hears].iter().for_each(|node| node.set(|node| node.recent = None));
        (begun.elapsed(), deaf.get(|node| node.sent.len()) > at_first)
    };
    for name in ["one", "two", "three"] {
        let (took, first_was_asked) = lands(name).await;
        assert!(first_was_asked && took >= Duration::from_secs(2), "{name}: {took:?}");
        assert!(took < Duration::from_secs(3), "{name}: {took:?}");
    }
    let (took, first_was_asked) = lands("four").await;
    assert!(!first_was_asked && took < Duration::from_secs(1), "{took:?}");
    after(35).await;
    assert!(lands("five").await.1, "it is tried again");
    after(35).await;
    assert!(!lands("six").await.1, "one more failure is enough now, and the pause is twice as long");
}

#[tokio::test(start_paused = true)]
async fn congestion_is_no_nodes_fault() {
    let (first, second) = (ScriptedNode::default(), ScriptedNode::default());
    let submitter = start_with(&[&first, &second]);
    [&first, &second].iter().for_each(|node| node.set(|node| node.finalized = 70));
    for number in 0..6 {
        let name = format!("lost {number}");
        let followed = Followed { bytes: name.as_bytes(), signature: &name, ..TRANSACTION };
        submitter.send(followed, Commitment::Confirmed).await.unwrap();
        after(3).await;
        // Nobody's bytes land; those of this node alone then do.
        submitter.land(&name, Landing::Expired { slot: 70 });
        let name = format!("lands {number}");
        let followed = Followed { bytes: name.as_bytes(), signature: &name, ..TRANSACTION };
        let before = second.get(|node| node.sent.len());
        submitter.send(followed, Commitment::Confirmed).await.unwrap();
        submitter.noticed(0, &name, Commitment::Confirmed, 77, Some(&Value::Null), None);
        assert_eq!(second.get(|node| node.sent.len()), before, "{name}: the first one gets it alone");
        submitter.land(&name, Landing::Landed { slot: 77 });
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_sent_again_after_they_landed_are_followed_anew() {
    let node = ScriptedNode::default();
    let submitter = start(&node);
    submitter.send(TRANSACTION, Commitment::Confirmed).await.unwrap();
    submitter.noticed(0, TRANSACTION.signature, Commitment::Confirmed, 77, Some(&Value::Null), None);
    assert_eq!(submitter.follow(TRANSACTION, Commitment::Confirmed).await, Landing::Landed { slot: 77 });
    // A fork dropped them.
    submitter.send(TRANSACTION, Commitment::Confirmed).await.unwrap();
    let following = Following::begin(&submitter, Commitment::Confirmed);
    after(5).await;
    assert!(following.is_open());
    node.set(|node| node.recent = status("confirmed", Value::Null));
    assert_eq!(following.end().await, Landing::Landed { slot: 77 });
}
