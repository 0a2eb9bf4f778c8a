use super::*;
use purser_rpc::node_fault::CallError;
use purser_rpc::transport::Transport;
use serde_json::Value;
use std::sync::Arc;

fn fees(paid: &[u64]) -> Vec<SlotFee> {
    let fee = |(slot, fee): (u64, &u64)| SlotFee { slot, prioritization_fee: *fee };
    (1..).zip(paid).map(fee).collect()
}

#[test]
fn price_is_what_was_enough_in_nine_of_ten_of_the_latest_slots() {
    assert_eq!(enough(Vec::new()), 0);
    assert_eq!(enough(fees(&[7])), 7);
    assert_eq!(enough(fees(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 1_000])), 9, "one slot is not the market");
    let mut rising = vec![1_000_000; 100];
    rising.extend([5; SLOTS]);
    assert_eq!(enough(fees(&rising)), 5, "what was paid long ago does not count");
}

#[test]
fn price_stays_within_its_bounds() {
    let prices = Prices::new(PriceBounds { least: 10, most: 100 });
    for (level, price) in [(0, 10), (10, 10), (55, 55), (100, 100), (u64::MAX, 100)] {
        prices.level.store(level, Ordering::Relaxed);
        assert_eq!(prices.now(), price);
    }
    let fixed = Prices::new(PriceBounds { least: 0, most: 0 });
    fixed.level.store(5, Ordering::Relaxed);
    assert_eq!(fixed.now(), 0);
}

#[test]
fn accounts_that_are_asked_about_are_bounded_and_those_written_last_stay() {
    let key = |number: u16| {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&number.to_le_bytes());
        Pubkey::new_from_array(bytes)
    };
    let prices = Prices::new(PriceBounds { least: 0, most: 1 });
    for number in 0..1_000 {
        prices.writes([key(number), key(9_999)]);
    }
    assert_eq!(prices.written().len(), ACCOUNTS_MAX);
    assert!(prices.written().contains_key(&key(999)) && prices.written().contains_key(&key(9_999)));
    let fixed = Prices::new(PriceBounds { least: 7, most: 7 });
    fixed.writes([key(1)]);
    assert!(fixed.written().is_empty(), "nothing is kept where nothing is asked");
}

#[tokio::test]
async fn nodes_are_asked_about_what_is_written_and_the_last_price_outlasts_their_failures() {
    use purser_rpc::node_fault::NodeFault;

    struct Market(Mutex<Vec<Value>>);
    #[async_trait::async_trait]
    impl Transport for Market {
        async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
            assert_eq!(method, "getRecentPrioritizationFees");
            let mut asked = self.0.lock();
            asked.push(params);
            match asked.len() {
                1 => Ok(json!([{ "slot": 1, "prioritizationFee": 42 }])),
                _ => Err(CallError::Node(NodeFault::Unhealthy)),
            }
        }
    }
    let market = Arc::new(Market(Mutex::default()));
    struct Shared(Arc<Market>);
    #[async_trait::async_trait]
    impl Transport for Shared {
        async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
            self.0.call(method, params).await
        }
    }
    let rpc = Rpc::over(vec![Box::new(Shared(market.clone()))], Vec::new(), Default::default());
    let prices = Prices::new(PriceBounds { least: 1, most: 1_000 });
    let account = Pubkey::new_from_array([7; 32]);
    prices.writes([account]);
    prices.look(&rpc).await.expect("looked");
    assert_eq!(prices.now(), 42);
    assert_eq!(market.0.lock()[0], json!([[account.to_string()]]));
    prices.look(&rpc).await.expect_err("a node that fails");
    assert_eq!(prices.now(), 42);
}

#[tokio::test]
async fn first_payment_to_a_destination_pays_what_others_pay_there_though_nobody_competes_for_our_accounts() {
    /// Others pay 500 for this account, and nothing for any other.
    struct Market(Pubkey, Arc<AtomicU64>);
    #[async_trait::async_trait]
    impl Transport for Market {
        async fn call(&self, _: &'static str, params: Value) -> Result<Value, CallError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let is_hot = params.to_string().contains(&self.0.to_string());
            Ok(json!([{ "slot": 1, "prioritizationFee": if is_hot { 500 } else { 0 } }]))
        }
    }
    let [ours, hot, cold] = [1, 2, 3].map(|byte| Pubkey::new_from_array([byte; 32]));
    let asked = Arc::new(AtomicU64::new(0));
    let rpc = Rpc::over(vec![Box::new(Market(hot, asked.clone()))], Vec::new(), Default::default());
    let prices = Prices::new(PriceBounds { least: 0, most: 300 });
    prices.writes([ours]);
    prices.look(&rpc).await.expect("looked");
    assert_eq!(prices.now_for(&rpc, &cold).await, 0);
    assert_eq!(prices.now_for(&rpc, &hot).await, 300, "within the bounds");
    let before = asked.load(Ordering::Relaxed);
    prices.writes([hot]);
    assert_eq!(prices.now_for(&rpc, &hot).await, 300);
    assert_eq!(asked.load(Ordering::Relaxed), before, "the next look asks about it with the others");
    prices.look(&rpc).await.expect("looked");
    assert_eq!(prices.now(), 300);

    let fixed = Prices::new(PriceBounds { least: 7, most: 7 });
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(fixed.now_for(&rpc, &hot).await, 7);
    assert_eq!(asked.load(Ordering::Relaxed), before, "nothing is asked where the price is fixed");
}
