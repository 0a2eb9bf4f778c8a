//! Leave to pay beyond the policy.

use purser_policy::{
    check_granted, record, AccountState, Allowlist, Grant, GrantRefusal, Limit, PaidTags, Payee, Policy,
    SpendWindow, TagBucket, TransferRequest, UsdcAmount, Violation, Waived,
};

const PAYEE: [u8; 32] = [1; 32];
const ACCOUNT: [u8; 32] = [2; 32];

fn micros(amount: u64) -> UsdcAmount {
    UsdcAmount::from_micros(amount)
}

fn request(tag: u64, amount: u64) -> TransferRequest<'static> {
    TransferRequest {
        tag,
        asked_at: 0,
        amount: micros(amount),
        memo: b"",
        recipient: &ACCOUNT,
        recipient_owner: &PAYEE,
    }
}

fn grant() -> Grant<'static> {
    let waived = Waived::ALLOWLIST;
    Grant { payee: Payee::Wallet(&PAYEE), left: micros(10), expires_at: 100, tag: None, waived }
}

#[test]
fn a_grant_covers_its_payee_up_to_what_is_left_and_before_its_end() {
    let token_account = Grant { payee: Payee::TokenAccount(&ACCOUNT), ..grant() };
    for grant in [grant(), token_account] {
        assert_eq!(grant.waives_for(&request(1, 10), 99), Ok(Waived::ALLOWLIST));
        assert_eq!(grant.waives_for(&request(1, 11), 99), Err(GrantRefusal::Exceeded));
        assert_eq!(grant.waives_for(&request(1, 11), 100), Err(GrantRefusal::Expired));
    }
    let other = Err(GrantRefusal::OtherPayment);
    for payee in [Payee::Wallet(&ACCOUNT), Payee::TokenAccount(&PAYEE)] {
        assert_eq!(Grant { payee, ..grant() }.waives_for(&request(1, 10), 100), other);
    }
    let bound = Grant { tag: Some(7), ..grant() };
    assert_eq!(bound.waives_for(&request(7, 10), 99), Ok(Waived::ALLOWLIST));
    for request in [request(8, 10), request(7, 9), request(7, 11)] {
        assert_eq!(bound.waives_for(&request, 99), other);
    }
}

#[test]
fn each_waiver_passes_its_own_rule_and_no_other() {
    let nobody = Policy {
        max_single_transfer: Limit::AtMost(micros(1)),
        max_daily_spend: Limit::AtMost(micros(1)),
        allowlist: Allowlist::stored(&[], &[]),
        ..Policy::OPEN
    };
    let (window, empty) = (SpendWindow::EMPTY, [TagBucket::EMPTY]);
    let tags = PaidTags(&empty);
    let state = AccountState { halted: false, policy: nobody, window: &window, tags };
    let refused = |waived, state: &AccountState| {
        check_granted(state, &request(1, 5), 0, |_| Ok::<_, Violation>(waived)).err()
    };
    let all = Waived::from_bits(u8::MAX);
    assert_eq!(refused(Waived::NOTHING, &state), Some(Violation::RecipientNotAllowed));
    let single = refused(Waived::ALLOWLIST, &state);
    assert!(matches!(single, Some(Violation::SingleLimitExceeded { .. })));
    let daily = refused(Waived::ALLOWLIST.and(Waived::SINGLE_LIMIT, true), &state);
    assert!(matches!(daily, Some(Violation::DailyLimitExceeded { .. })));
    assert_eq!(refused(all, &state), None);
    // None of them passes a halt, a pause, a missing memo or a tag that was paid.
    assert_eq!(refused(all, &AccountState { halted: true, ..state }), Some(Violation::Halted));
    let paused = Policy { paused: true, ..nobody };
    assert_eq!(refused(all, &AccountState { policy: paused, ..state }), Some(Violation::Paused));
    let memo = Policy { require_memo: true, ..nobody };
    assert_eq!(refused(all, &AccountState { policy: memo, ..state }), Some(Violation::MemoRequired));
    let mut paid = empty;
    record(&mut paid, tags.place(1, 0).expect("room"), 1, 0);
    assert_eq!(
        refused(all, &AccountState { tags: PaidTags(&paid), ..state }),
        Some(Violation::DuplicateTransfer)
    );
}
