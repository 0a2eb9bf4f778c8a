use super::*;
use crate::{AccountId, Memo, Recipient, TransferRequest, UsdcAmount};

fn request() -> TransferRequest {
    TransferRequest {
        from: AccountId::from_bytes([1; 16]),
        to: Recipient::parse("11111111111111111111111111111111").expect("valid"),
        amount: UsdcAmount::from_micros(1_500_000),
        memo: None,
    }
}

#[test]
fn every_parameter_changes_the_fingerprint() {
    let memo = |text| Some(Memo::parse(text).expect("valid"));
    let original = Fingerprint::of(&request());
    for changed in [
        TransferRequest { from: AccountId::from_bytes([2; 16]), ..request() },
        TransferRequest { to: Recipient::Unreadable("1".into()), ..request() },
        TransferRequest { to: wallet(1, 0), ..request() },
        TransferRequest { amount: UsdcAmount::from_micros(1_500_001), ..request() },
        TransferRequest { memo: memo("x"), ..request() },
    ] {
        assert_ne!(Fingerprint::of(&changed), original, "{changed:?}");
    }
    let same = TransferRequest { memo: memo(""), ..request() };
    assert_eq!(Fingerprint::of(&same), original);
}

/// The request's token account has 32 zero bytes.
fn wallet(wallet: u8, token_account: u8) -> Recipient {
    let [wallet, token_account] = [wallet, token_account].map(|byte| Address::from_bytes([byte; 32]));
    Recipient::Wallet { wallet, token_account }
}

#[test]
fn wallet_is_another_request_than_its_token_account_or_its_own_address_as_a_text() {
    let of = |to| Fingerprint::of(&TransferRequest { to, ..request() });
    let named = of(wallet(1, 2));
    assert_ne!(named, of(wallet(3, 2)));
    for byte in [1, 2] {
        assert_ne!(named, of(Recipient::TokenAccount(Address::from_bytes([byte; 32]))));
    }
    assert_ne!(named, of(Recipient::Unreadable(Address::from_bytes([1; 32]).to_string())));
}

#[test]
fn text_cannot_move_between_recipient_and_memo() {
    let with = |to: &str, memo: &str| {
        Fingerprint::of(&TransferRequest {
            to: Recipient::parse(to).expect("valid"),
            memo: Some(Memo::parse(memo).expect("valid")),
            ..request()
        })
    };
    assert_ne!(with("ab", "c"), with("a", "bc"));
}

#[test]
fn tag_depends_on_operator_account_and_key() {
    let key = |text| IdempotencyKey::parse(text).expect("valid");
    let (one, two) = (Address::from_bytes([1; 32]), Address::from_bytes([2; 32]));
    let tag = transfer_tag(&one, &two, &key("a"));
    assert_eq!(tag, transfer_tag(&one, &two, &key("a")));
    for other in [
        transfer_tag(&two, &one, &key("a")),
        transfer_tag(&one, &one, &key("a")),
        transfer_tag(&one, &two, &key("b")),
    ] {
        assert_ne!(tag, other);
    }
}

#[test]
fn keys_have_one_to_128_characters() {
    assert!(IdempotencyKey::parse("é".repeat(128)).is_ok());
    for text in ["", "a\0", &"a".repeat(129)] {
        assert!(IdempotencyKey::parse(text).is_err(), "{text:?}");
    }
}
