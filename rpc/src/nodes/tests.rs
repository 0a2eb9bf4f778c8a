use super::*;
use crate::scripted_node::ScriptedNode;
use crate::transport::Patience;

fn nodes(of: &[&ScriptedNode]) -> Nodes {
    Nodes::new(of.iter().map(|node| node.boxed()).collect(), Patience::default().timeout, TaskTracker::new())
}

async fn ask(nodes: &Nodes) -> Result<usize, CallError> {
    nodes.call_among("getEpochInfo", &Value::Null, |_| true).await.map(|answered| answered.node)
}

fn down(node: &ScriptedNode, fault: NodeFault) {
    node.set(|node| node.fault = Some(fault));
}

#[tokio::test(start_paused = true)]
async fn the_first_node_is_asked_until_it_fails_and_again_after_its_rest() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    let nodes = nodes(&[&first, &second]);
    assert_eq!(ask(&nodes).await, Ok(0));
    for fault in [NodeFault::Unreachable, NodeFault::Slow, NodeFault::Unhealthy, NodeFault::Unreadable] {
        down(&first, fault);
        assert_eq!(ask(&nodes).await, Ok(1), "{fault:?}");
        let asked = first.get(|node| node.calls.len());
        assert_eq!(ask(&nodes).await, Ok(1), "{fault:?}");
        assert_eq!(first.get(|node| node.calls.len()), asked, "a resting node is left alone");
        first.set(|node| node.fault = None);
        sleep(REST_MAX).await;
        assert_eq!(ask(&nodes).await, Ok(0), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_costs_one_attempt() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    first.set(|node| node.hangs = true);
    let nodes = nodes(&[&first, &second]);
    let begun = Instant::now();
    assert_eq!(ask(&nodes).await, Ok(1));
    assert_eq!(begun.elapsed(), ATTEMPT_TIMEOUT);
    let begun = Instant::now();
    assert_eq!(ask(&nodes).await, Ok(1));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn fault_is_reported_once_every_node_was_asked_and_failed() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    down(&first, NodeFault::Unhealthy);
    down(&second, NodeFault::Unreachable);
    let nodes = nodes(&[&first, &second]);
    assert_eq!(ask(&nodes).await, Err(CallError::Node(NodeFault::Unreachable)));
    second.set(|node| node.fault = None);
    assert_eq!(ask(&nodes).await, Ok(1), "resting nodes are asked when there is no other");
}

#[tokio::test(start_paused = true)]
async fn refusal_of_a_call_counts_once_every_node_gives_it() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    let no_such_method = CallError::Refused { code: -32601, message: String::new(), data: Value::Null };
    let refuse = |node: &ScriptedNode| node.set(|node| node.refusal = Some(no_such_method.clone()));
    let nodes = nodes(&[&first, &second]);
    refuse(&first);
    assert_eq!(ask(&nodes).await, Ok(1));
    down(&second, NodeFault::Unreachable);
    assert_eq!(ask(&nodes).await, Err(CallError::Node(NodeFault::Unreachable)));
    second.set(|node| node.fault = None);
    refuse(&second);
    assert_eq!(ask(&nodes).await, Err(no_such_method.clone()));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_a_node_asks_for_is_kept_but_not_for_sends() {
    let node = ScriptedNode::default();
    let nodes = nodes(&[&node]);
    down(&node, NodeFault::RateLimited { retry_after: Some(Duration::from_secs(4)) });
    assert!(ask(&nodes).await.is_err());
    node.set(|node| node.fault = None);
    assert!(matches!(ask(&nodes).await, Err(CallError::Node(NodeFault::RateLimited { .. }))));
    assert_eq!(node.calls("getEpochInfo"), 1);
    sleep(Duration::from_secs(4)).await;
    assert_eq!(ask(&nodes).await, Ok(0));
    down(&node, NodeFault::RateLimited { retry_after: Some(Duration::from_secs(4)) });
    assert!(ask(&nodes).await.is_err());
    node.set(|node| node.fault = None);
    assert_eq!(nodes.send(&json!(["bytes"])).await, Ok(Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_lagging_node_is_asked_again_for_a_moment() {
    let node = ScriptedNode::default();
    let nodes = nodes(&[&node]);
    down(&node, NodeFault::Lagging);
    let catch_up = async {
        sleep(LAGGING_PAUSE * 2).await;
        node.set(|node| node.fault = None);
    };
    let (answer, ()) = tokio::join!(ask(&nodes), catch_up);
    assert_eq!(answer, Ok(0));
    down(&node, NodeFault::Lagging);
    assert_eq!(ask(&nodes).await, Err(CallError::Node(NodeFault::Lagging)));
}

#[tokio::test(start_paused = true)]
async fn a_send_goes_to_one_node_that_takes_it_and_to_all_otherwise() {
    let [first, second, third] = [(); 3].map(|()| ScriptedNode::default());
    let nodes = nodes(&[&first, &second, &third]);
    let sent = || [&first, &second, &third].map(|node| node.get(|node| node.sent.len()));
    assert_eq!(nodes.send(&json!(["bytes"])).await, Ok(Some(0)));
    assert_eq!(sent(), [1, 0, 0]);
    first.set(|node| node.hangs = true);
    let begun = Instant::now();
    assert_eq!(nodes.send(&json!(["bytes"])).await, Ok(None));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(sent(), [1, 1, 1]);
    assert_eq!(begun.elapsed(), SEND_PATIENCE + Duration::from_secs(1));
    for node in [&second, &third] {
        down(node, NodeFault::Unreachable);
    }
    assert!(nodes.send(&json!(["bytes"])).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_node_of_another_cluster_is_never_used_even_if_it_came_back_as_one() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    first.set(|node| node.genesis = "ours");
    second.set(|node| node.genesis = "theirs");
    let nodes = nodes(&[&first, &second]);
    nodes.require_genesis("ours");
    assert_eq!(ask(&nodes).await, Ok(0));
    down(&first, NodeFault::Unreachable);
    assert_eq!(ask(&nodes).await, Err(CallError::Node(NodeFault::OtherCluster)));
    assert_eq!(second.calls("getEpochInfo"), 0);
    first.set(|node| (node.fault, node.genesis) = (None, "theirs"));
    sleep(REST_MAX).await;
    assert_eq!(ask(&nodes).await, Err(CallError::Node(NodeFault::OtherCluster)));
    assert!(nodes.send(&json!(["bytes"])).await.is_err());
    assert!(first.get(|node| node.sent.is_empty()) && second.get(|node| node.sent.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_node_far_behind_two_others_is_asked_last() {
    let [first, second, third] = [(); 3].map(|()| ScriptedNode::default());
    first.set(|node| node.finalized = 1_000);
    second.set(|node| node.finalized = 1_000 + SLOTS_BEHIND_MAX);
    third.set(|node| node.finalized = 9_000);
    let nodes = nodes(&[&first, &second, &third]);
    nodes.compare().await;
    assert_eq!(ask(&nodes).await, Ok(0), "what one node claims is not believed");
    second.set(|node| node.finalized += 1);
    nodes.compare().await;
    assert_eq!(ask(&nodes).await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_still_is_asked_last_and_set_aside_after_a_minute() {
    let [still, second] = [(); 2].map(|()| ScriptedNode::default());
    still.set(|node| node.finalized = 9_000);
    let nodes = nodes(&[&still, &second]);
    for slot in 0..15 {
        second.set(|node| node.finalized = slot);
        nodes.compare().await;
        let (asked, moving) =
            if slot < 2 { (0, vec![0, 1]) } else { (1, if slot < 12 { vec![0, 1] } else { vec![1] }) };
        assert_eq!((ask(&nodes).await, nodes.moving()), (Ok(asked), moving), "at {slot}");
        sleep(COMPARE_EVERY).await;
    }
    second.set(|node| node.hangs = true);
    still.set(|node| node.finalized += 1);
    nodes.compare().await;
    assert_eq!(nodes.moving(), [0, 1], "silence for a moment is no standstill");
}

#[tokio::test(start_paused = true)]
async fn clocks_of_several_nodes_are_known_for_a_while_after_they_were_read() {
    let [first, second] = [(); 2].map(|()| ScriptedNode::default());
    first.set(|node| node.clock = 1_000);
    second.set(|node| node.clock = 90_000);
    let alone = nodes(&[&first]);
    assert_eq!(alone.clocks(), Some(Vec::new()), "one node has no other to agree with");
    let nodes = nodes(&[&first, &second]);
    assert_eq!(nodes.clocks(), None, "nothing is known yet");
    nodes.compare().await;
    assert_eq!(nodes.clocks(), Some(vec![1_000, 90_000]));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(nodes.clocks(), Some(vec![1_010, 90_010]));
    down(&second, NodeFault::Unreachable);
    sleep(CLOCK_AGE_MAX).await;
    assert_eq!(nodes.clocks(), None);
    nodes.compare().await;
    assert_eq!(nodes.clocks(), Some(vec![1_000]));
}
