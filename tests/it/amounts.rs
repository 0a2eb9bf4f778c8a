//! Amounts are paid exactly. What is none is tested at the router.

use purser_tests::Operator;

#[tokio::test]
async fn smallest_and_largest_amount_settle_exactly() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "18446744073709.551615").await;
    let (first, _) = operator.chain.new_payee().await;
    let settled = agent.pays("0.000001").to(&first).await.is_settled();
    assert_eq!(settled["amount_usdc"], "0.000001");
    assert_eq!(operator.chain.usdc_micros(&first).await, 1);
    agent.holds("18446744073709.551615").await;
    let (second, _) = operator.chain.new_payee().await;
    let settled = agent.pays("18446744073709.551615").to(&second).await.is_settled();
    assert_eq!(settled["amount_usdc"], "18446744073709.551615");
    assert_eq!(operator.chain.usdc_micros(&second).await, u64::MAX);
    assert_eq!(agent.balance_micros().await, 0);
}

#[tokio::test]
async fn amounts_with_fewer_decimals_or_leading_zeros_are_exact() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let mut expected = 0;
    for (text, micros) in [
        ("1", 1_000_000),
        ("0.1", 100_000),
        ("2.5", 2_500_000),
        ("0.123456", 123_456),
        ("3.000000", 3_000_000),
    ] {
        agent.pays(text).to(&payee).await.is_settled();
        expected += micros;
        assert_eq!(operator.chain.usdc_micros(&payee).await, expected, "{text}");
    }
}
