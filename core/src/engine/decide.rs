//! The decision before signing: first what is at the recipient's address, then `purser_policy`, then what binds the account beside
//! its policy, then the balance, then whether a wallet has a token account.

use purser_policy::{
    AccountState, PaidTags, TransferRequest as PolicyRequest, Violation, Waived, check_granted, explain,
};

use crate::caps::Excess;
use crate::{
    Address, Beyond, ChainFault, ChainView, CheckedRule, Checks, Destination, Failure, FailureCode, Limit,
    NotWallet, Recipient, Rejection, RejectionReason, RuleCheck, TOKEN_ACCOUNT_RENT_LAMPORTS, Timestamp,
    Transfer, TransferRequest, UsdcAmount, usdc_text,
};

const WITHOUT_GRANT: &str = "The account pays only by grants, and no grant covers this payment.";

/// For every account id that cannot be paid, whatever the reason: the account may be another operator's, about which we
/// disclose nothing.
pub(super) const NO_PAYEE: &str = "The recipient is not an account of this service that can be paid.";

/// A payment to decide on, with its recipient resolved.
pub struct Payment<'a> {
    pub tag: u64,
    /// See [`Transfer::asked_at`]. `None`: now, by the account's clock.
    pub asked_at: Option<i64>,
    /// The token account that its recipient resolved to.
    pub destination: Address,
    pub request: &'a TransferRequest,
}

impl<'a> Payment<'a> {
    pub fn of(transfer: &'a Transfer, destination: Address) -> Self {
        Self { tag: transfer.id.tag(), asked_at: transfer.asked_at, destination, request: &transfer.request }
    }
}

/// What to do with a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Sign,
    /// The chain has made this same payment within the last 24 hours.
    AlreadyMade,
    /// All rules allow it, and the account cannot remember one more payment.
    NoRoom,
    Rejected(Rejection),
    /// It would fail on the chain, so it is not sent. No checks when there is no recipient to check.
    Failing(Failure, Option<Checks>),
}

/// Decides from one view. `at` is the time of a rejection or failure.
pub fn decide(view: &ChainView, payment: &Payment, at: Timestamp) -> (Decision, Checks) {
    let owner = match owner_of(&view.destination, &payment.request.to) {
        Ok(owner) => owner,
        Err(message) => {
            return (Decision::Failing(invalid_recipient(message, at), None), Checks::default());
        }
    };
    let amount = payment.request.amount;
    let state = AccountState {
        halted: view.halt.is_some(),
        policy: view.policy.as_policy(),
        window: &view.window,
        tags: PaidTags(&view.tags),
    };
    let request = PolicyRequest {
        tag: payment.tag,
        asked_at: payment.asked_at.unwrap_or_else(|| view.account_now()),
        amount,
        memo: payment.request.memo().as_bytes(),
        recipient: payment.destination.as_bytes(),
        recipient_owner: owner.as_bytes(),
    };
    let has_grant = view.granted.is_some();
    let mut checks = Checks::from(explain(&state, &request, view.now));
    if let Some(Beyond { needs_grant: true, .. }) = view.beyond {
        let (limit, used) = (Limit::Unlimited, UsdcAmount::ZERO);
        checks.0.push(RuleCheck { rule: CheckedRule::ByGrantOnly, ok: has_grant, limit, used });
    }
    checks.0.extend(view.caps.checks(amount, view.now));
    checks.0.push(balance_check(view, amount));
    let rejected = |reason, message: String, retry_at| {
        let (checks, policy_version) = (checks.clone(), Some(view.policy_version));
        Decision::Rejected(Rejection { reason, message, checks, policy_version, retry_at, rejected_at: at })
    };
    let waived = view.granted.map_or(Waived::NOTHING, |granted| granted.waived);
    let judged = check_granted(&state, &request, view.now, |_| Ok::<_, Violation>(waived));
    // Room comes last: what the account may not pay, or cannot, needs none.
    let allowed = if judged == Err(Violation::PaidTagsFull) { Decision::NoRoom } else { Decision::Sign };
    let decision = match judged {
        Err(violation) if violation != Violation::PaidTagsFull => {
            match RejectionReason::of(&violation, view.halt) {
                None => Decision::AlreadyMade,
                Some((reason, message)) => {
                    let passes_at = violation.passes_at(&view.window, view.now);
                    rejected(reason, message, passes_at.map(Timestamp::from_unix_seconds))
                }
            }
        }
        Ok(_) | Err(_) if !has_grant && view.beyond.is_some_and(|beyond| beyond.needs_grant) => {
            rejected(RejectionReason::GrantRequired, WITHOUT_GRANT.into(), None)
        }
        Ok(_) | Err(_) => match view.caps.exceeded_by(amount, view.now) {
            Some(Excess { reason, message, retry_at }) => rejected(reason, message, retry_at),
            None if view.is_frozen => Decision::Failing(frozen(at), Some(checks.clone())),
            None if view.balance < amount => {
                Decision::Failing(insufficient(amount, Some(view.balance), at), Some(checks.clone()))
            }
            None if view.destination == Destination::NoTokenAccount => {
                Decision::Failing(no_token_account(payment, at), Some(checks.clone()))
            }
            None => allowed,
        },
    };
    (decision, checks)
}

/// The owner of the token account that is paid, or why nothing can be paid there. A wallet will own the account that it does not have
/// yet.
fn owner_of(destination: &Destination, to: &Recipient) -> Result<Address, String> {
    match (destination, to) {
        // Its owner gave it away: the money would be somebody else's.
        (Destination::TokenAccount { owner }, Recipient::Wallet { wallet, token_account })
            if owner != wallet =>
        {
            Err(format!(
                "The wallet does not own its USDC token account any more: {token_account} belongs to {owner}."
            ))
        }
        (Destination::TokenAccount { owner }, _) => Ok(*owner),
        (Destination::NoTokenAccount, Recipient::Wallet { wallet, .. }) => Ok(*wallet),
        (other, to) => Err(describe(other, to)),
    }
}

/// The spendable balance, as a rule beside those of the policy. Nothing of a frozen balance can be spent.
fn balance_check(view: &ChainView, amount: UsdcAmount) -> RuleCheck {
    let spendable = if view.is_frozen { UsdcAmount::ZERO } else { view.balance };
    RuleCheck {
        rule: CheckedRule::Balance,
        ok: amount <= spendable,
        limit: Limit::AtMost(spendable),
        used: UsdcAmount::ZERO,
    }
}

/// The failure of a transfer out of a token account that the issuer of USDC has frozen.
pub(super) fn frozen(failed_at: Timestamp) -> Failure {
    let message = "The account's USDC token account is frozen by the issuer of USDC; nothing can leave it.";
    Failure { code: FailureCode::AccountFrozen, message: message.into(), failed_at, retry_at: None }
}

/// The failure of a transfer to something that cannot be paid.
pub(super) fn invalid_recipient(message: impl Into<String>, failed_at: Timestamp) -> Failure {
    Failure { code: FailureCode::InvalidRecipient, message: message.into(), failed_at, retry_at: None }
}

/// The failure of a transfer to a wallet without a USDC token account, which nothing else forbids.
fn no_token_account(payment: &Payment<'_>, failed_at: Timestamp) -> Failure {
    let message = format!(
        "The wallet has no USDC token account yet; nothing was paid. Once {} is created, which takes {TOKEN_ACCOUNT_RENT_LAMPORTS} \
         lamports of rent, send the same request again.",
        payment.destination
    );
    Failure { code: FailureCode::RecipientHasNoTokenAccount, message, failed_at, retry_at: None }
}

/// The failure of a transfer beyond the balance.
pub(super) fn insufficient(amount: UsdcAmount, balance: Option<UsdcAmount>, failed_at: Timestamp) -> Failure {
    let message = match balance {
        Some(balance) => {
            let (balance, amount) = (usdc_text(balance), usdc_text(amount));
            format!("The account holds {balance} USDC, less than the {amount} USDC of this payment.")
        }
        None => {
            let amount = usdc_text(amount);
            format!("The account held less than {amount} USDC when the transfer reached the chain.")
        }
    };
    Failure { code: FailureCode::InsufficientBalance, message, failed_at, retry_at: None }
}

/// The failure of a transfer of an account that cannot remember it.
pub(super) fn full(frees_at: Option<Timestamp>, failed_at: Timestamp) -> Failure {
    let message = "The account has made as many payments in a day as it has room to remember; nothing was paid. Its operator can give \
                   it more room."
        .into();
    Failure { code: FailureCode::AccountFull, message, failed_at, retry_at: frees_at }
}

/// The message of a transfer that none of our keys may sign.
pub(super) const ROTATED: &str = "The operator's account no longer names a transfer authority of this service; nothing was paid. Send the same request \
     again once its keys agree.";
const EMPTY: &str =
    "The service's wallet has no SOL for the fee right now; nothing was paid. Send the same request again.";
const DAMAGED: &str = "The account cannot pay: its on-chain account is missing or damaged. Nothing was paid.";

/// The failure of a transfer that a fault of the chain ends. `None`: it is tried again.
pub(super) fn failing(fault: &ChainFault, failed_at: Timestamp) -> Option<Failure> {
    let (code, message) = match fault {
        ChainFault::AuthorityRotated => (FailureCode::AuthorityRotated, ROTATED),
        ChainFault::FeePayerEmpty => (FailureCode::FeePayerEmpty, EMPTY),
        ChainFault::Refused(_) => (FailureCode::TransferFailed, DAMAGED),
        ChainFault::SignerUnavailable | ChainFault::Unavailable(_) => return None,
    };
    Some(Failure { code, message: message.into(), failed_at, retry_at: None })
}

fn describe(destination: &Destination, to: &Recipient) -> String {
    match to {
        Recipient::Agent(_) => return NO_PAYEE.into(),
        Recipient::TokenAccount(_) | Recipient::Wallet { .. } | Recipient::Unreadable(_) => {}
    }
    match destination {
        Destination::TokenAccount { .. } => "The recipient is a USDC token account.".into(),
        Destination::Missing | Destination::NoTokenAccount => {
            "There is no account at the recipient's address.".into()
        }
        Destination::Wallet { usdc_token_account } => format!(
            "The recipient is a wallet, not a USDC token account. Pay it as {{\"wallet\": \"{to}\"}}: that pays its USDC token \
             account, {usdc_token_account}."
        ),
        Destination::Vault { usdc_token_account }
        | Destination::NotWallet(NotWallet::Vault { usdc_token_account }) => format!(
            "The recipient's address is no wallet's: it is a program's, such as a vault or an account of this service. Its USDC token \
             account is {usdc_token_account}; if it exists, pay that by its address. Pay an account of this service by its id."
        ),
        Destination::NotWallet(NotWallet::TokenAccount) => {
            "The recipient was named as a wallet, and is a token account. Name the wallet that owns it."
                .into()
        }
        Destination::NotWallet(NotWallet::Program) => {
            "The recipient was named as a wallet, and is a program.".into()
        }
        Destination::NotWallet(NotWallet::OfProgram) => {
            "The recipient was named as a wallet, and is an account that a program owns.".into()
        }
        Destination::OtherMint => "The recipient is a token account of another mint than USDC.".into(),
        Destination::Frozen => "The recipient is a USDC token account that is frozen.".into(),
        Destination::Uninitialized => "The recipient is a token account that is not initialized.".into(),
        Destination::NotTokenAccount => "The recipient is an account, but not a USDC token account.".into(),
    }
}

/// A rejection by the chain whose numbers can no longer be read.
pub(super) fn rejection_without_numbers(
    reason: RejectionReason,
    checks: Checks,
    rejected_at: Timestamp,
) -> Rejection {
    let message = reason.without_numbers();
    Rejection { reason, message, checks, policy_version: None, retry_at: None, rejected_at }
}
