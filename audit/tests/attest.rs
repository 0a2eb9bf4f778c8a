//! An attestation proves what its key signed, and nothing else.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use purser_audit::attest::{AttestError, attest, verify};
use purser_audit::report::{Period, Report};
use purser_client::OnChainPolicy;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{Paying, TestChain};

const TYPE: &str = "application/vnd.in-toto+json";

fn keys() -> [Keypair; 2] {
    [31, 32].map(|byte| Keypair::new_from_array([byte; 32]))
}

fn signed() -> (Report, Value) {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    chain.pays(&Paying::usdc(9));
    let report = chain.audited();
    let json = serde_json::to_string(&report).expect("JSON");
    let envelope = attest(&report, &json, &keys()[0]).expect("JSON");
    (report, serde_json::from_str(&envelope).expect("JSON"))
}

fn payload(envelope: &Value) -> Vec<u8> {
    STANDARD.decode(envelope["payload"].as_str().expect("text")).expect("base64")
}

/// What DSSE has signed.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

fn verified(envelope: &Value) -> Result<purser_audit::attest::Statement, AttestError> {
    verify(envelope.to_string().as_bytes(), &keys()[0].pubkey())
}

/// The payload, changed and signed for good by the first key.
fn signs_anew(envelope: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut statement: Value = serde_json::from_slice(&payload(envelope)).expect("JSON");
    change(&mut statement);
    let payload = statement.to_string().into_bytes();
    let signature = keys()[0].sign_message(&encoded(TYPE, &payload));
    json!({ "payload": STANDARD.encode(&payload), "payloadType": TYPE,
        "signatures": [{ "sig": STANDARD.encode(signature) }] })
}

#[test]
fn attestation_says_what_was_audited_by_what_and_with_which_result() {
    let (report, envelope) = signed();
    assert_eq!(envelope["payloadType"], TYPE);
    assert_eq!(envelope["signatures"][0]["keyid"], keys()[0].pubkey().to_string());
    let statement: Value = serde_json::from_slice(&payload(&envelope)).expect("JSON");
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["subject"][0]["digest"]["sha256"], report.archive_sha256);
    let audited = verified(&envelope).expect("it was signed by that key").predicate;
    assert_eq!((audited.holds, audited.complete, &audited.verdict), (true, true, &report.verdict));
    assert_eq!((&audited.operator, audited.until_slot), (&report.operator, report.until_slot));
    assert_eq!((&audited.genesis_hash, &audited.program), (&report.genesis_hash, &report.program.program));
}

#[test]
fn period_is_signed_and_an_attestation_that_names_none_still_counts() {
    let (mut report, whole) = signed();
    let period = |envelope: &Value| {
        let statement = verified(envelope).expect("it was signed by that key");
        let shown = statement.shown();
        let (_, said) = shown.into_iter().find(|(name, _)| *name == "period").expect("it is shown");
        said.as_str().expect("text").to_owned()
    };
    assert_eq!(period(&whole), "the whole past");
    let day = Some("2026-11-01".parse().expect("a day"));
    report.narrow_to(Period::of_days(day, day).expect("a period"));
    let of_a_day: Value =
        serde_json::from_str(&attest(&report, "{}", &keys()[0]).expect("JSON")).expect("JSON");
    let days = &verified(&of_a_day).expect("it was signed by that key").predicate.period;
    assert_eq!(days.as_ref(), Some(&report.period.days));
    assert!(period(&of_a_day).starts_with("2026-11-01 to 2026-11-01, both days included (UTC)"));
    // Nobody makes a month of it.
    let mut changed = of_a_day.clone();
    let told = String::from_utf8(payload(&of_a_day)).expect("text");
    changed["payload"] = json!(STANDARD.encode(told.replace("2026-11-01", "2026-10-01")));
    assert_eq!(verified(&changed), Err(AttestError::NotSigned(keys()[0].pubkey())));
    let earlier = signs_anew(&of_a_day, |statement| {
        let predicate = statement["predicate"].as_object_mut().expect("an object");
        predicate.remove("period").expect("it was signed");
    });
    assert_eq!(period(&earlier), "not signed by that version: see the report");
}

#[test]
fn changed_verdict_other_bytes_another_type_and_another_key_prove_nothing() {
    let (_, good) = signed();
    let [key, other] = keys();
    let not_signed = Err(AttestError::NotSigned(key.pubkey()));

    let mut changed = good.clone();
    let told = String::from_utf8(payload(&good)).expect("text");
    assert!(told.contains("\"holds\":true"));
    changed["payload"] = json!(STANDARD.encode(told.replace("\"holds\":true", "\"holds\":false")));
    assert_eq!(verified(&changed), not_signed);
    // White space is a change, too.
    changed["payload"] = json!(STANDARD.encode(format!("{told} ")));
    assert_eq!(verified(&changed), not_signed);

    // Signatures over the payload alone, and over the payload as another type.
    let bytes = payload(&good);
    for signed in [bytes.clone(), STANDARD.encode(&bytes).into_bytes(), encoded("text/plain", &bytes)] {
        let mut moved = good.clone();
        moved["signatures"][0]["sig"] = json!(STANDARD.encode(key.sign_message(&signed)));
        assert_eq!(verified(&moved), not_signed);
    }
    // Another type, also if it was signed as that.
    let mut typed = good.clone();
    typed["payloadType"] = json!("text/plain");
    let is_other = |result: Result<_, AttestError>| matches!(result, Err(AttestError::OtherPayload(_)));
    assert!(is_other(verified(&typed).map(drop)));
    typed["signatures"][0]["sig"] = json!(STANDARD.encode(key.sign_message(&encoded("text/plain", &bytes))));
    assert!(is_other(verified(&typed).map(drop)));

    let theirs = verify(good.to_string().as_bytes(), &other.pubkey());
    assert_eq!(theirs, Err(AttestError::NotSigned(other.pubkey())));
    // Whoever signed it, the key that is named beside proves nothing.
    let mut claimed = good.clone();
    claimed["signatures"][0]["sig"] = json!(STANDARD.encode(other.sign_message(&encoded(TYPE, &bytes))));
    assert_eq!(verified(&claimed), not_signed);
    let mut unnamed = good.clone();
    unnamed["signatures"][0]["keyid"] = json!(other.pubkey().to_string());
    assert!(verified(&unnamed).is_ok(), "the signature is the key's, whatever is named");
}

#[test]
fn signatures_of_others_beside_the_keys_own_neither_help_nor_harm() {
    let (_, good) = signed();
    let [key, other] = keys();
    let bytes = encoded(TYPE, &payload(&good));
    let own = good["signatures"][0].clone();
    let theirs =
        json!({ "keyid": key.pubkey().to_string(), "sig": STANDARD.encode(other.sign_message(&bytes)) });
    let broken = json!({ "sig": "not base64" });
    let with = |signatures: Value| {
        let mut envelope = good.clone();
        envelope["signatures"] = signatures;
        verified(&envelope)
    };
    assert!(with(json!([theirs, own])).is_ok());
    assert!(with(json!([broken, own])).is_ok());
    let not_signed = AttestError::NotSigned(key.pubkey());
    assert_eq!(with(json!([theirs, theirs])), Err(not_signed));
    assert_eq!(with(json!([])), Err(AttestError::NotSigned(key.pubkey())));
    assert!(matches!(with(json!(vec![own.clone(); 17])), Err(AttestError::NoEnvelope(_))));
    // DSSE allows the other alphabet.
    let url_safe = URL_SAFE.encode(STANDARD.decode(own["sig"].as_str().expect("text")).expect("base64"));
    assert!(with(json!([{ "sig": url_safe }])).is_ok());
}

#[test]
fn envelope_that_says_a_thing_twice_or_nothing_is_refused() {
    let (_, good) = signed();
    let text = good.to_string();
    let twice = text.replacen('{', "{\"payload\":\"e30=\",", 1);
    let result = verify(twice.as_bytes(), &keys()[0].pubkey());
    assert!(matches!(&result, Err(AttestError::NoEnvelope(why)) if why.contains("duplicate")), "{result:?}");
    for broken in ["", "{}", "[]", "{\"payload\":1}"] {
        assert!(matches!(verify(broken.as_bytes(), &keys()[0].pubkey()), Err(AttestError::NoEnvelope(_))));
    }
    let mut spoilt = good;
    spoilt["payload"] = json!("***");
    assert!(matches!(verified(&spoilt), Err(AttestError::NoEnvelope(_))));
}

#[test]
fn other_statements_of_the_same_key_are_no_attestation_of_an_audit() {
    let (_, good) = signed();
    assert!(verified(&signs_anew(&good, |_| ())).is_ok());
    type Changes = fn(&mut Value);
    let changes: [Changes; 5] = [
        |statement| statement["predicateType"] = json!("https://slsa.dev/provenance/v1"),
        |statement| statement["_type"] = json!("https://in-toto.io/Statement/v0.1"),
        |statement| statement["subject"] = json!([]),
        |statement| {
            let subject = statement["subject"][0].clone();
            statement["subject"].as_array_mut().expect("a list").push(subject);
        },
        |statement| drop(statement["predicate"].as_object_mut().expect("an object").remove("holds")),
    ];
    for change in changes {
        let result = verified(&signs_anew(&good, change));
        assert!(matches!(result, Err(AttestError::NoStatement(_))), "{result:?}");
    }
}

#[test]
fn verdict_about_one_account_says_nothing_of_its_operator() {
    let (report, envelope) = signed();
    let operator = report.operator.parse().expect("an address");
    let [account, stranger] = [report.accounts[0].address.parse().expect("an address"), keys()[1].pubkey()];
    let whole = verified(&envelope).expect("it is signed");
    assert_eq!(whole.is_about(Some(&operator), None), Ok(()));
    assert_eq!(whole.is_about(None, None), Ok(()));
    let alone =
        signs_anew(&envelope, |statement| statement["predicate"]["account"] = json!(account.to_string()));
    let alone = verified(&alone).expect("it is signed");
    assert_eq!(alone.is_about(Some(&operator), Some(&account)), Ok(()));
    assert_eq!(alone.is_about(None, Some(&account)), Ok(()));
    for (statement, operator, account) in [
        (&whole, Some(&stranger), None),
        (&whole, Some(&operator), Some(&account)),
        (&alone, Some(&operator), None),
        (&alone, Some(&operator), Some(&stranger)),
    ] {
        assert!(matches!(statement.is_about(operator, account), Err(AttestError::OtherSubject(_))));
    }
    let hostile = signs_anew(&envelope, |statement| {
        statement["predicate"]["operator"] = json!("\u{1b}[2Jgood");
    });
    let why = verified(&hostile).expect("it is signed").is_about(Some(&operator), None).expect_err("another");
    assert!(!why.to_string().contains('\u{1b}'), "{why:?}");
}

/// A signer can put any text into an attestation, and a terminal would obey it.
#[test]
fn escape_sequences_of_a_signer_reach_no_terminal() {
    let (_, good) = signed();
    for words in ["\u{1b}[2Jholds", "\u{9b}2Jholds", "holds\u{202e}sdloh", "a\rb\nc"] {
        let hostile = signs_anew(&good, |statement| {
            for field in ["verdict", "operator", "account", "program", "tool", "made_at", "until_time"] {
                statement["predicate"][field] = json!(words);
            }
            statement["predicate"]["period"]["first_day"] = json!(words);
            statement["subject"][0]["digest"]["sha256"] = json!(words);
        });
        let statement = verified(&hostile).expect("it is signed");
        let hostile = ['\u{1b}', '\u{9b}', '\u{202e}', '\r', '\n'];
        for (name, value) in statement.shown() {
            assert!(!value.as_str().unwrap_or_default().contains(hostile), "{name}: {value:?}");
        }
        let json = statement.json().expect("JSON");
        assert!(!json.contains(hostile), "{json:?}");
        // A machine reads what was signed.
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON")["predicate"]["verdict"], words);
    }
}
