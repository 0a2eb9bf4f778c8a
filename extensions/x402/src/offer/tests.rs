use purser_model::{AccountId, DestinationRules, IdempotencyKey, Memo, WebhookUrl};
use serde_json::{Value, json};

use super::*;
use crate::header::{from_header, to_header};
use crate::purchase::{PurchaseMethod, ResourceRequest, Seller};

const NETWORK: Network = Network::Test;

fn mint() -> Address {
    Address::from_bytes([4; 32])
}

fn key(byte: u8) -> String {
    Address::from_bytes([byte; 32]).to_string()
}

fn purchase() -> Purchase {
    Purchase {
        from: AccountId::from_bytes([1; 16]),
        seller: Seller::Server(report()),
        max_amount: UsdcAmount::from_micros(250_000),
        memo: None,
        idempotency_key: IdempotencyKey::parse("k").expect("valid"),
    }
}

fn report() -> ResourceRequest {
    ResourceRequest {
        url: WebhookUrl::parse("https://example.com/report", &DestinationRules::default()).expect("public"),
        method: PurchaseMethod::Get,
        body: None,
    }
}

/// The payment as JSON of an offer over bytes.
fn paid(offer: &Offer, bytes: &[u8]) -> (String, Value) {
    let payment = offer.payment(TransferId::from_bytes([1; 16]), bytes);
    assert_eq!(from_header(to_header(&payment).as_bytes()).as_deref(), Some(payment.get().as_bytes()));
    (payment.get().to_owned(), serde_json::from_str(payment.get()).expect("JSON"))
}

fn entry() -> Value {
    json!({
        "scheme": "exact", "network": chain_id(NETWORK), "amount": "250000", "asset": mint().to_string(),
        "payTo": key(7), "maxTimeoutSeconds": 60, "extra": { "feePayer": key(8), "factor": 1.10 },
    })
}

fn required(accepts: &[Value]) -> Vec<u8> {
    let required = json!({ "x402Version": 2, "resource": { "url": "u" }, "accepts": accepts });
    required.to_string().into_bytes()
}

fn chosen(required: &[u8]) -> Result<Offer, String> {
    let ours = Address::from_bytes([9; 32]);
    Offer::choose(Some(required), &purchase(), NETWORK, &mint(), |address| *address == ours)
}

/// The entry with one field changed.
fn with(path: &str, value: Value) -> Value {
    let mut entry = entry();
    *entry.pointer_mut(path).expect("a field") = value;
    entry
}

fn refused(entry: &Value) -> String {
    chosen(&required(std::slice::from_ref(entry))).expect_err("refused")
}

#[test]
fn the_cheapest_entry_that_can_be_paid_is_chosen_and_goes_back_as_it_came() {
    let others = [
        json!({ "scheme": "exact", "network": "eip155:8453", "amount": "1" }),
        with("/scheme", json!("upto")),
        with("/asset", json!(key(5))),
        with("/network", json!(chain_id(Network::Live))),
        json!("nonsense"),
    ];
    let cheaper = with("/amount", json!("249999"));
    let unpayable = with("/payTo", json!("nobody"));
    let all: Vec<Value> = others.into_iter().chain([entry(), cheaper.clone(), unpayable]).collect();
    let offer = chosen(&required(&all)).expect("payable");
    assert_eq!(offer.pay_to, Address::from_bytes([7; 32]));
    assert_eq!(offer.amount.micros(), 249_999);
    assert_eq!(offer.terms, Terms { fee_payer: Address::from_bytes([8; 32]), memo: None });
    let (text, payment) = paid(&offer, &[1, 2]);
    assert!(text.contains(&cheaper.to_string()), "digit by digit: {text}");
    assert_eq!(payment["x402Version"], 2);
    assert_eq!(payment["resource"], json!({ "url": "u" }));
    assert_eq!(payment["payload"], json!({ "transaction": "AQI=" }));
}

#[test]
fn network_may_be_called_by_its_usual_name_and_by_no_other() {
    let offered = with("/network", json!("solana:devnet"));
    let offer = chosen(&required(std::slice::from_ref(&offered))).expect("payable");
    assert_eq!(paid(&offer, &[1]).1["accepted"], offered, "it goes back as it came");
    for other in
        ["solana:mainnet", "solana:mainnet-beta", "solana", "devnet", "Solana:devnet", "solana:testnet"]
    {
        assert!(refused(&with("/network", json!(other))).contains("nothing in USDC"), "{other}");
    }
    for name in ["solana:mainnet", "solana:mainnet-beta", chain_id(Network::Live)] {
        assert!(is_named(Network::Live, name) && !is_named(Network::Test, name), "{name}");
    }
}

#[test]
fn an_offer_above_the_most_that_may_be_paid_is_refused() {
    assert!(refused(&with("/amount", json!("250001"))).contains("max_amount"));
    for amount in ["0", "-1", "0.25", "1e3", "", " 1", "18446744073709551616"] {
        assert!(refused(&with("/amount", json!(amount))).contains("`amount`"), "{amount}");
    }
    // In this scheme an amount is not a number.
    assert!(refused(&with("/amount", json!(1))).contains("nothing in USDC"));
}

#[test]
fn what_was_offered_is_said_in_plain_words() {
    let other = json!({ "scheme": "exact", "network": "eip155:8453", "amount": "1\u{202e}\n\"", "asset": "0x".repeat(500) });
    let said = chosen(&required(&[other, with("/amount", json!("250001"))])).expect_err("too much");
    assert!(
        said.starts_with(
            "The offer asks for 0.250001 USDC, which is more than `max_amount`, 0.250000. Offered: 1 of 0x0x"
        ),
        "{said}"
    );
    assert!(said.ends_with(&format!("; 250001 of {} by exact on {}.", mint(), chain_id(NETWORK))), "{said}");
    assert!(said.chars().count() < 1_000);
    let many = vec![json!({}); 7];
    assert!(chosen(&required(&many)).expect_err("none").ends_with("; and 2 more."));
}

#[test]
fn a_payment_identifier_is_the_transfers_id() {
    let mut offer: Value = serde_json::from_slice(&required(&[entry()])).expect("JSON");
    offer["extensions"] = json!({
        "payment-identifier": { "info": { "required": true }, "schema": {} }, "other": { "info": { "a": 1 } },
    });
    let offer = chosen(offer.to_string().as_bytes()).expect("payable");
    let id = TransferId::from_bytes([1; 16]);
    let (_, payment) = paid(&offer, &[1]);
    let info = &payment["extensions"]["payment-identifier"]["info"];
    assert_eq!(info, &json!({ "required": true, "id": id.to_string() }));
    assert!((16..=128).contains(&id.to_string().len()));
    assert_eq!(payment["extensions"]["other"], json!({ "info": { "a": 1 } }));
}

#[test]
fn a_refusal_is_told_in_the_sellers_words_bounded_and_on_one_line() {
    let answered = |status, error: &str| PaidResource {
        status,
        required: Some(json!({ "x402Version": 2, "error": error, "accepts": [] }).to_string().into_bytes()),
        ..PaidResource::default()
    };
    let said = answered(402, "no\n\"smart\u{202e}\" wallets").refused();
    assert_eq!(said.as_deref(), Some("The seller refused the payment with status 402: \"nosmart wallets\"."));
    let whole = "insufficient_funds: ".repeat(50);
    let said = answered(402, &whole).refused().expect("refused");
    assert!(said.contains(whole.trim()), "whole: {said}");
    let long = answered(402, &"x".repeat(5_000)).refused().expect("refused");
    assert!(long.chars().count() < 2_100);
    for (body, reason) in [
        (r#"{"error":"out of stock"}"#, ": \"out of stock\""),
        (r#"{"message":"closed on Sundays"}"#, ": \"closed on Sundays\""),
        (r#"{"error":{"code":7}}"#, ""),
        ("<html>", ""),
    ] {
        let body = ResourceBody::Text(body.to_owned());
        let refused = PaidResource { status: 403, body, ..PaidResource::default() }.refused();
        let expected = format!("The seller refused the payment with status 403{reason}.");
        assert_eq!(refused, Some(expected));
    }
    let bare = PaidResource { status: 400, ..PaidResource::default() };
    assert_eq!(bare.refused().as_deref(), Some("The seller refused the payment with status 400."));
    // It may have been taken, or may be yet.
    for status in [200, 202, 302, 408, 429, 500, 502] {
        assert_eq!(answered(status, "no").refused(), None, "{status}");
    }
}

#[test]
fn a_key_of_ours_pays_nobodys_fee() {
    assert!(refused(&with("/extra/feePayer", json!(key(9)))).contains("a key of this service"));
    assert!(refused(&with("/extra/feePayer", json!("nobody"))).contains("feePayer"));
    assert!(refused(&with("/extra", json!({}))).contains("feePayer"));
}

#[test]
fn answers_without_an_offer_of_this_version_are_distinguished() {
    assert!(chosen(b"{").expect_err("no JSON").contains("not an x402 offer"));
    assert!(chosen(br#"{"x402Version":1,"accepts":[]}"#).expect_err("old").contains("version 1"));
    assert!(chosen(&required(&[])).expect_err("empty").contains("nothing in USDC"));
    let none = Offer::choose(None, &purchase(), NETWORK, &mint(), |_| false);
    assert!(none.expect_err("no header").contains("PAYMENT-REQUIRED"));
    assert!(refused(&with("/payTo", json!("nobody"))).contains("payTo"));
}

#[test]
fn memos_that_do_not_fit_one_transaction_are_refused() {
    let memo = |bytes| with("/extra", json!({ "feePayer": key(8), "memo": "x".repeat(bytes) }));
    let offer = chosen(&required(&[memo(MEMO_BYTES_MAX)])).expect("fits");
    assert_eq!(offer.terms.memo.map(|memo| memo.len()), Some(MEMO_BYTES_MAX));
    assert!(refused(&memo(MEMO_BYTES_MAX + 1)).contains("bytes together"));
}

#[test]
fn a_purchase_is_another_one_when_anything_but_its_key_differs() {
    let server = |change: fn(&mut ResourceRequest)| {
        let mut asked = report();
        change(&mut asked);
        Purchase { seller: Seller::Server(asked), ..purchase() }.fingerprint().to_hex()
    };
    let caller = |offer: &str| {
        Purchase { seller: Seller::AnyKey { offer: offer.to_owned() }, ..purchase() }.fingerprint().to_hex()
    };
    let of = |change: fn(&mut Purchase)| {
        let mut purchase = purchase();
        change(&mut purchase);
        purchase.fingerprint().to_hex()
    };
    let same = of(|_| {});
    assert_eq!(
        of(|purchase| purchase.idempotency_key = IdempotencyKey::parse("other").expect("valid")),
        same
    );
    let all = [
        same,
        of(|purchase| purchase.from = AccountId::from_bytes([2; 16])),
        server(|asked| asked.method = PurchaseMethod::Post),
        server(|asked| asked.body = Some("1".into())),
        of(|purchase| purchase.memo = Some(Memo::parse("1").expect("valid"))),
        of(|purchase| purchase.max_amount = UsdcAmount::from_micros(1)),
        server(|asked| {
            asked.url =
                WebhookUrl::parse("https://example.com/", &DestinationRules::default()).expect("public");
        }),
        caller("{}"),
        caller(r#"{"a": 1, "b": 2}"#),
    ];
    assert_eq!(caller(r#"{"b":2,"a":1}"#), caller(r#"{"a": 1, "b": 2}"#), "however it is written down");
    let different: std::collections::HashSet<&String> = all.iter().collect();
    assert_eq!(different.len(), all.len());
}

#[test]
fn bytes_are_text_or_base64() {
    assert_eq!(ResourceBody::from(b"{}".to_vec()), ResourceBody::Text("{}".into()));
    assert_eq!(ResourceBody::from(vec![0xff, 0]), ResourceBody::Base64("/wA=".into()));
    assert_eq!(ResourceBody::from(b"a\tb\r\n".to_vec()), ResourceBody::Text("a\tb\r\n".into()));
    assert_eq!(ResourceBody::from(vec![1, 1, 1]), ResourceBody::Base64("AQEB".into()));
}

#[test]
fn an_offer_is_read_from_an_object_from_a_text_and_from_a_header() {
    let read = |given: Value| {
        let given = serde_json::value::to_raw_value(&given).expect("JSON");
        Seller::of_offer(&given).map(|seller| match seller {
            Seller::AnyKey { offer } => offer,
            Seller::Server(_) => panic!("nobody is asked"),
        })
    };
    let offer: Value = serde_json::from_slice(&required(&[entry()])).expect("JSON");
    let text = offer.to_string();
    for given in [offer, json!(format!(" {text}")), json!(STANDARD.encode(&text))] {
        let read = read(given).expect("an offer");
        assert_eq!(chosen(read.as_bytes()).expect("payable").amount.micros(), 250_000);
    }
    for given in
        [json!([]), json!(1), json!(null), json!("{"), json!("no offer"), json!("AAAA"), json!("W10=")]
    {
        assert_eq!(read(given).expect_err("none").param(), "offer");
    }
}
