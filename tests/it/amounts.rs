//! What is a valid amount: exact decimal text, and nothing else.

use purser_tests::Operator;
use serde_json::json;

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

#[tokio::test]
async fn text_that_is_no_amount_is_invalid() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let texts = [
        "0",
        "0.0",
        "0.000000",
        "-0",
        "-1",
        "+1",
        "1e3",
        "1E3",
        "1e-3",
        "0.0000001",
        "1.0000000",
        "NaN",
        "Infinity",
        "inf",
        " 1",
        "1 ",
        "1.",
        ".5",
        ".",
        "",
        " ",
        "1,5",
        "1_000",
        "0x10",
        "1.2.3",
        "--1",
        "1\u{0}",
        "１",
        "٣",
        "18446744073709.551616",
        "18446744073710",
        "99999999999999999999999999999999999999999999",
        "1/2",
        "$1",
        "1 USDC",
        "\u{feff}1",
        "1\n",
        "null",
        "true",
    ];
    for text in texts {
        let refused = agent.pays(text).to(&payee).await;
        assert_eq!(refused.status, 400, "{text:?}: {}", refused.text);
        refused.blames("amount");
        agent.previews(text).to(&payee).await.blames("amount");
    }
    assert_eq!(agent.balance_micros().await, 1_000_000);
}

#[tokio::test]
async fn amount_must_be_a_string() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    for amount in [
        json!(1),
        json!(1.5),
        json!(0),
        json!(-1),
        json!(true),
        json!(null),
        json!(["1"]),
        json!({ "usdc": "1" }),
    ] {
        agent.pays("1").field("amount", amount).to(&payee).await.blames("amount");
    }
    agent.pays("1").without("amount").to(&payee).await.blames("amount");
}
