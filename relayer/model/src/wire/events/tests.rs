use super::*;
use crate::{
    Address, IdempotencyKey, KeyId, Memo, Network, Recipient, TransferId, TransferRequest, TransferState,
};

const AT: fn() -> Timestamp = || Timestamp::from_unix_seconds(1_700_000_000);

fn transfer() -> Transfer {
    Transfer {
        id: TransferId::from_bytes([1; 16]),
        operator_id: OperatorId::from_bytes([2; 16]),
        network: Network::Test,
        key_id: KeyId::from_bytes([3; 16]),
        idempotency_key: IdempotencyKey::parse("k").expect("valid"),
        request: TransferRequest {
            from: AccountId::from_bytes([4; 16]),
            to: Recipient::TokenAccount(Address::from_bytes([5; 32])),
            amount: UsdcAmount::from_micros(1_500_000),
            memo: Some(Memo::parse("a \"b\" \u{1F600}").expect("valid")),
        },
        fee_payer: None,
        refusal: None,
        approval: crate::Approval::Never,
        policy_version: None,
        reopened: 0,
        asked_at: Some(0),
        earlier_valid_until: None,
        state: TransferState::Claimed,
        created_at: AT(),
        updated_at: AT(),
    }
}

#[test]
fn an_envelope_has_the_four_fields_of_the_interface_and_its_data_too() {
    let settlement = Settlement { signature: "sig".into(), settled_at: AT(), slot: 9, number: None };
    let event = Event::transfer_settled(&transfer(), &settlement, AT());
    let read: serde_json::Value = serde_json::from_str(event.envelope().get()).expect("JSON");
    assert_eq!(
        read,
        serde_json::json!({
            "id": event.id.to_string(),
            "type": "transfer.settled",
            "created_at": "2023-11-14T22:13:20.000000Z",
            "data": {
                "transfer_id": transfer().id.to_string(),
                "account_id": transfer().request.from.to_string(),
                "to": transfer().request.to.text(),
                "to_wallet": null,
                "amount_usdc": "1.500000",
                "memo": "a \"b\" \u{1F600}",
                "idempotency_key": "k",
                "tx_signature": "sig",
                "settled_at": "2023-11-14T22:13:20.000000Z",
            },
        })
    );
    assert!(event.id.to_string().starts_with("evt_"));
}

#[test]
fn payee_that_was_named_as_a_wallet_is_told_with_its_token_account() {
    let [wallet, token_account] = [6, 7].map(|byte| Address::from_bytes([byte; 32]));
    let mut paid = transfer();
    paid.request.to = Recipient::Wallet { wallet, token_account };
    let event = Event::transfer_initiated(&paid, "sig", AT());
    let read: serde_json::Value = serde_json::from_str(event.data.get()).expect("JSON");
    assert_eq!(read["to"], token_account.to_string());
    assert_eq!(read["to_wallet"], wallet.to_string());
}

#[test]
fn a_memo_survives_in_the_data() {
    let event = Event::transfer_initiated(&transfer(), "sig", AT());
    let read: serde_json::Value = serde_json::from_str(event.data.get()).expect("JSON");
    assert_eq!(read["memo"], "a \"b\" \u{1F600}");
    assert_eq!(read["amount_usdc"], "1.500000");
}

#[test]
fn the_same_fact_is_the_same_event_and_another_fact_another() {
    let one = Event::transfer_initiated(&transfer(), "sig", AT());
    assert_eq!(one.id, Event::transfer_initiated(&transfer(), "sig", AT()).id);
    let settlement = Settlement { signature: "sig".into(), settled_at: AT(), slot: 9, number: None };
    assert_ne!(one.id, Event::transfer_settled(&transfer(), &settlement, AT()).id);
}

#[test]
fn every_type_keeps_its_name() {
    for known in EventType::ALL {
        assert_eq!(known.as_str().parse(), Ok(known));
    }
    for other in ["", "transfer", "transfer.lost", "Transfer.settled"] {
        assert!(other.parse::<EventType>().is_err(), "{other}");
    }
}

#[test]
fn a_step_is_another_fact_once_the_transfer_was_reopened() {
    let settlement = Settlement { signature: "sig".into(), settled_at: AT(), slot: 9, number: None };
    let settled = |reopened| Event::transfer_settled(&Transfer { reopened, ..transfer() }, &settlement, AT());
    assert_eq!(settled(0).fact, None);
    assert_eq!((settled(1).id, settled(1).fact), (settled(1).id, settled(1).fact));
    assert_ne!((settled(1).id, settled(1).fact), (settled(2).id, settled(2).fact));
    assert_ne!(settled(0).id, settled(1).id);
}

#[test]
fn only_the_failure_of_a_reopened_transfer_is_announced() {
    let failed = TransferState::Failed(crate::Failure {
        code: crate::FailureCode::TransferExpired,
        message: "expired".into(),
        failed_at: AT(),
        retry_at: None,
    });
    let announced = |reopened| Event::of_step(&Transfer { reopened, ..transfer() }, &failed, AT());
    assert!(announced(0).is_empty());
    let [event] = &announced(1)[..] else { panic!("{:?}", announced(1)) };
    assert_eq!(event.event_type, EventType::TransferFailed);
}

#[test]
fn what_a_person_was_asked_ends_with_one_event_that_says_why() {
    let requested =
        crate::ApprovalRequested { reason: crate::RejectionReason::SingleLimitExceeded, expires_at: AT() };
    let asked = Transfer { approval: crate::Approval::Requested(requested), ..transfer() };
    for (code, event_type) in [
        (crate::FailureCode::ApprovalRejected, Some("approval.rejected")),
        (crate::FailureCode::ApprovalWithdrawn, Some("approval.rejected")),
        (crate::FailureCode::ApprovalExpired, Some("approval.expired")),
        (crate::FailureCode::ApprovalVoid, Some("approval.void")),
        (crate::FailureCode::InsufficientBalance, None),
    ] {
        let failure = Failure { code, message: "why".into(), failed_at: AT(), retry_at: None };
        let events = Event::of_step(&asked, &TransferState::Failed(failure), AT());
        let types: Vec<&str> = events.iter().map(|event| event.event_type.as_str()).collect();
        assert_eq!(types, event_type.into_iter().collect::<Vec<_>>());
        for event in events {
            let read: serde_json::Value = serde_json::from_str(event.data.get()).expect("JSON");
            assert_eq!(
                (&read["message"], &read["rejection_reason"]),
                (&"why".into(), &"single_limit_exceeded".into())
            );
        }
    }
}
