use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;
use crate::{
    AccountId, CheckedRule, Checks, IdempotencyKey, KeyId, Network, OperatorId, Recipient, Rejection,
    RejectionReason, Timestamp, Transfer, TransferId, TransferRequest,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000 + seconds)
}

fn refused(number: u8) -> Refused {
    let rejection = Rejection {
        reason: RejectionReason::SingleLimitExceeded,
        message: "\"12.5\" is above \\ \u{1}\n\u{7f} max_single_transfer \u{1F600}".into(),
        checks: Checks(vec![
            RuleCheck {
                rule: CheckedRule::MaxSingleTransfer,
                ok: false,
                limit: Limit::AtMost(UsdcAmount::from_micros(5_000_000)),
                used: UsdcAmount::ZERO,
            },
            RuleCheck {
                rule: CheckedRule::MaxDailySpend,
                ok: true,
                limit: Limit::Unlimited,
                used: UsdcAmount::MAX,
            },
        ]),
        policy_version: Some(7),
        retry_at: None,
        rejected_at: at(1),
    };
    Refused {
        transfer: Transfer {
            id: TransferId::from_bytes([number; 16]),
            operator_id: OperatorId::from_bytes([1; 16]),
            network: Network::Test,
            key_id: KeyId::from_bytes([2; 16]),
            idempotency_key: IdempotencyKey::parse("k").expect("valid"),
            request: TransferRequest {
                from: AccountId::from_bytes([3; 16]),
                to: Recipient::TokenAccount(Address::from_bytes([9; 32])),
                amount: UsdcAmount::MAX,
                memo: None,
            },
            fee_payer: None,
            refusal: None,
            approval: crate::Approval::Never,
            policy_version: rejection.policy_version,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state: TransferState::Rejected(rejection),
            created_at: at(0),
            updated_at: at(1),
        },
        account: Address::from_bytes([4; 32]),
        operator: Address::from_bytes([5; 32]),
    }
}

fn signed(refused: &Refused, before: &DenialHead) -> Denial {
    let document = Denial::document_of(refused, before, Address::from_bytes([7; 32])).expect("refused");
    Denial::signed(before, refused.transfer.id, document, [8; 64])
}

/// `serde_json` maps sort by name at every depth, and write texts as RFC 8785 does.
#[test]
fn a_document_and_its_line_are_in_the_form_of_rfc_8785() {
    let first = signed(&refused(1), &DenialHead::default());
    let parsed: Value = serde_json::from_str(&first.document).expect("JSON");
    assert_eq!(serde_json::to_string(&parsed).expect("text"), first.document);
    let names: Vec<&String> = parsed.as_object().expect("an object").keys().collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(first.document.contains(r#""amount_micro_usdc":"18446744073709551615""#), "{}", first.document);
    assert!(first.document.contains("\\u0001\\n\u{7f} max"), "{}", first.document);
    let line = first.line();
    let parsed: Value = serde_json::from_str(line.get()).expect("JSON");
    assert_eq!(serde_json::to_string(&parsed).expect("text"), line.get());
}

#[test]
fn each_names_the_one_before_by_number_hash_and_transfer() {
    let first = signed(&refused(1), &DenialHead::default());
    let second = signed(&refused(2), &first.head());
    let of = |denial: &Denial| serde_json::from_str::<Value>(&denial.document).expect("JSON");
    assert_eq!((of(&first)["number"].as_u64(), of(&second)["number"].as_u64()), (Some(1), Some(2)));
    assert_eq!(of(&first)["previous_sha256"], "0".repeat(64));
    assert!(of(&first)["previous_transfer_id"].is_null());
    assert_eq!(of(&second)["previous_sha256"], hex::encode(Sha256::digest(first.document.as_bytes())));
    assert_eq!(of(&second)["previous_transfer_id"], of(&first)["transfer_id"]);
    let memo = second.head().memo(&Address::from_bytes([5; 32]));
    assert!(memo.len() <= 150 && memo.starts_with("purser denials v1 "), "{memo}");
}

#[test]
fn transfer_that_was_not_refused_has_no_denial() {
    let mut open = refused(1);
    open.transfer.state = TransferState::Claimed;
    assert!(Denial::document_of(&open, &DenialHead::default(), Address::from_bytes([7; 32])).is_none());
}
