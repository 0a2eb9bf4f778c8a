//! Why an instruction is refused. The codes are part of the interface: append, never reorder.

use anchor_lang::prelude::*;
use purser_policy::Violation;

/// Declares the errors. On chain they are bare codes: the name and the text that Anchor would build for its log make a tenth of the
/// program, and the IDL has both.
macro_rules! errors {
    ($($(#[$text:meta])* $name:ident,)*) => {
        #[cfg(not(target_os = "solana"))]
        #[error_code]
        #[derive(PartialEq, Eq)]
        pub enum PurserError {
            $($(#[$text])* $name,)*
        }

        #[cfg(target_os = "solana")]
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum PurserError {
            $($name,)*
        }

        impl PurserError {
            /// The error with this on-chain code, 6000 and up.
            pub fn from_code(code: u32) -> Option<Self> {
                [$(Self::$name),*].into_iter().find(|error| u32::from(*error) == code)
            }
        }
    };
}

errors! {
    // 6000-6006: policy, in order of precedence; one for each `Violation`.
    #[msg("A transfer with this tag was made within the last 24 hours")]
    DuplicateTransfer,
    #[msg("The policy pauses the account")]
    Paused,
    #[msg("The policy requires a memo")]
    MemoRequired,
    #[msg("The memo has more than 800 bytes")]
    MemoTooLong,
    #[msg("The recipient is not on the allowlist")]
    RecipientNotAllowed,
    #[msg("The amount is above the largest single transfer")]
    SingleLimitExceeded,
    #[msg("The amount and what left in the last 24 hours are above the daily limit")]
    DailyLimitExceeded,

    // 6007-: everything else.
    #[msg("The account holds less than the amount")]
    InsufficientBalance,
    #[msg("This key may not do this")]
    Unauthorized,
    #[msg("The agent belongs to another operator")]
    WrongOperator,
    #[msg("The mint is not the operator's USDC mint: a legacy SPL Token mint with six decimals")]
    WrongMint,
    #[msg("The source is not the agent's own USDC token account")]
    WrongSource,
    #[msg("The recipient is not an initialised account of the SPL Token program")]
    RecipientNotTokenAccount,
    #[msg("The recipient holds another mint than the operator's USDC mint")]
    RecipientWrongMint,
    #[msg("The recipient's token account is frozen")]
    RecipientFrozen,
    #[msg("The recipient is the agent's own token account")]
    RecipientIsSource,
    #[msg("The amount is zero")]
    AmountZero,
    #[msg("The tag is zero")]
    TagZero,
    #[msg("Admin, policy authority and each transfer authority must be different keys, and the guardian none of the latter")]
    KeysNotDistinct,
    #[msg("The allowlist has more than 256 entries")]
    AllowlistTooLong,
    #[msg("The allowlist is not sorted in strictly ascending order")]
    AllowlistNotSorted,
    #[msg("The draft is not the one that was asked for, or does not hold what it was opened for")]
    DraftMismatch,
    #[msg("The draft is not complete")]
    DraftIncomplete,
    #[msg("Draft entries must be written in order, within the count that the draft was opened for")]
    DraftOutOfOrder,
    #[msg("The account paid within the last 25 hours, or the budget counts payments: close it later")]
    SpendWindowNotEmpty,
    #[msg("The address holds USDC already, and loosened policies wait here: only the admin creates it with a policy that pays")]
    AccountNotEmpty,
    #[msg("The account has a layout that this program does not know")]
    UnknownLayout,
    #[msg("The policy version cannot grow further")]
    PolicyVersionExhausted,
    #[msg("The instruction has too few accounts, or data that cannot be read")]
    MalformedInstruction,
    // Not in use any more: the code is not given to another error.
    #[msg("So many transfers were made since this one was signed that it could be a second one: look for its tag, sign anew")]
    StaleSequence,
    // One more policy violation: after `DuplicateTransfer`, before `Paused`.
    #[msg("The operator or the agent account is halted; only the admin can resume it")]
    Halted,
    #[msg("The policy, bounds or caps were changed since they were read: read them again")]
    PolicyChanged,
    #[msg("This loosens the policy, and the operator lets that wait: seal it in a draft, apply it when its time has come")]
    LooseningMustWait,
    #[msg("An operator has one to eight transfer authorities")]
    TransferAuthorityCount,
    #[msg("The loosening delay is above 30 days")]
    LooseningDelayTooLong,
    #[msg("Rent goes back to its refund address: the account given is another one, or no wallet")]
    WrongRentRefund,
    #[msg("An account was closed here: whoever lists it means that one, so only the admin creates it anew")]
    AgentClosed,
    #[msg("The grant is for another account, payee, payment or version of the policy, or was voided")]
    GrantMismatch,
    #[msg("The grant has expired")]
    GrantExpired,
    #[msg("Less is left of the grant than the amount")]
    GrantExceeded,
    #[msg("A grant is for more than nothing and ends within 30 days; an approver's is for one payment, memo and policy")]
    GrantTermsInvalid,
    #[msg("The grant is above what this approver may grant at once, or in 24 hours")]
    ApproverLimitExceeded,
    #[msg("A memo that says what is approved must come right before an approver's grant, in the transaction itself")]
    ApprovalMemoMismatch,
    #[msg("The account pays by transfer_extended alone")]
    ExtendedTransferRequired,
    #[msg("The account pays by grants alone")]
    GrantRequired,
    #[msg("The amount and what left in the last 30 days are above the account's limit for them")]
    MonthLimitExceeded,
    #[msg("The account pays through its budget: the one given is another, or it has none")]
    BudgetMismatch,
    #[msg("The amount and what left through the budget are above what it allows in 24 hours or 30 days")]
    BudgetExceeded,
    // One more violation: after all others.
    #[msg("The account cannot remember one more payment: give it more buckets, or wait")]
    PaidTagsFull,
    #[msg("An account has at least 1 bucket, gains at most 53 at once, and keeps those that its recent payments need")]
    TagBucketCount,
    #[msg("The payment was asked for an hour ago or longer, or too far in the future: ask anew")]
    RequestTooOld,
    #[msg("Grants were revoked in this second: open the grant a second later")]
    GrantTooEarly,
}

#[cfg(target_os = "solana")]
impl From<PurserError> for u32 {
    fn from(error: PurserError) -> Self {
        anchor_lang::error::ERROR_CODE_OFFSET + error as u32
    }
}

#[cfg(target_os = "solana")]
impl From<PurserError> for Error {
    #[cold]
    #[inline(never)]
    fn from(error: PurserError) -> Self {
        ProgramError::Custom(error.into()).into()
    }
}

impl From<Violation> for PurserError {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::DuplicateTransfer => Self::DuplicateTransfer,
            Violation::Halted => Self::Halted,
            Violation::Paused => Self::Paused,
            Violation::MemoRequired => Self::MemoRequired,
            Violation::MemoTooLong => Self::MemoTooLong,
            Violation::RecipientNotAllowed => Self::RecipientNotAllowed,
            Violation::SingleLimitExceeded { .. } => Self::SingleLimitExceeded,
            Violation::DailyLimitExceeded { .. } => Self::DailyLimitExceeded,
            Violation::PaidTagsFull => Self::PaidTagsFull,
        }
    }
}
