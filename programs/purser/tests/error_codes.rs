use purser::error::PurserError::{self, *};
use purser_policy::{UsdcAmount, Violation};

/// Clients know these codes: new ones may be added, existing ones never change.
const CODES: [(PurserError, u32); 52] = [
    (DuplicateTransfer, 6000),
    (Paused, 6001),
    (MemoRequired, 6002),
    (MemoTooLong, 6003),
    (RecipientNotAllowed, 6004),
    (SingleLimitExceeded, 6005),
    (DailyLimitExceeded, 6006),
    (InsufficientBalance, 6007),
    (Unauthorized, 6008),
    (WrongOperator, 6009),
    (WrongMint, 6010),
    (WrongSource, 6011),
    (RecipientNotTokenAccount, 6012),
    (RecipientWrongMint, 6013),
    (RecipientFrozen, 6014),
    (RecipientIsSource, 6015),
    (AmountZero, 6016),
    (TagZero, 6017),
    (KeysNotDistinct, 6018),
    (AllowlistTooLong, 6019),
    (AllowlistNotSorted, 6020),
    (DraftMismatch, 6021),
    (DraftIncomplete, 6022),
    (DraftOutOfOrder, 6023),
    (SpendWindowNotEmpty, 6024),
    (AccountNotEmpty, 6025),
    (UnknownLayout, 6026),
    (PolicyVersionExhausted, 6027),
    (MalformedInstruction, 6028),
    (StaleSequence, 6029),
    (Halted, 6030),
    (PolicyChanged, 6031),
    (LooseningMustWait, 6032),
    (TransferAuthorityCount, 6033),
    (LooseningDelayTooLong, 6034),
    (WrongRentRefund, 6035),
    (AgentClosed, 6036),
    (GrantMismatch, 6037),
    (GrantExpired, 6038),
    (GrantExceeded, 6039),
    (GrantTermsInvalid, 6040),
    (ApproverLimitExceeded, 6041),
    (ApprovalMemoMismatch, 6042),
    (ExtendedTransferRequired, 6043),
    (GrantRequired, 6044),
    (MonthLimitExceeded, 6045),
    (BudgetMismatch, 6046),
    (BudgetExceeded, 6047),
    (PaidTagsFull, 6048),
    (TagBucketCount, 6049),
    (RequestTooOld, 6050),
    (GrantTooEarly, 6051),
];

#[test]
fn every_error_keeps_its_code() {
    for (error, code) in CODES {
        assert_eq!(u32::from(error), code);
        assert!(PurserError::from_code(code) == Some(error), "{code}");
    }
    for unknown in [0, 2000, 5999, 6052, u32::MAX] {
        assert!(PurserError::from_code(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn every_violation_has_its_error_in_the_order_of_precedence() {
    let zero = UsdcAmount::ZERO;
    let violations = [
        Violation::DuplicateTransfer,
        Violation::Halted,
        Violation::Paused,
        Violation::MemoRequired,
        Violation::MemoTooLong,
        Violation::RecipientNotAllowed,
        Violation::SingleLimitExceeded { limit: zero, amount: zero },
        Violation::DailyLimitExceeded { limit: zero, used: zero, amount: zero },
        Violation::PaidTagsFull,
    ];
    assert!(violations.is_sorted());
    // A later violation has the next free code, but keeps its place in the order.
    for (violation, code) in
        violations.into_iter().zip([6000, 6030, 6001, 6002, 6003, 6004, 6005, 6006, 6048])
    {
        assert_eq!(u32::from(PurserError::from(violation)), code);
    }
}
