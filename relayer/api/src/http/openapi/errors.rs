//! Errors: an example of each code, made by the code that answers it, and which codes each route can answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use ulid::Ulid;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{Components, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::{component, headers, needs_key};
use crate::web::code::Code;
use crate::web::error::{ApiError, ErrorBody, Unpaid};
use crate::web::headers::ONCE;
use crate::web::request_id::RequestId;
use purser_model::{
    Approval, CheckedRule, Checks, Failure, FailureCode, Invalid, Limit, QuotaExceeded, Rejection,
    RejectionReason, RuleCheck, Timestamp, TransferId, TransferState, TransferStatus, UsdcAmount,
};
use purser_service::{Forbidden, Resource, ServiceError, Unauthorized};

/// The extension in which a route names the codes that do not follow from its shape.
const ERRORS: &str = "x-errors";
/// 2026-01-31T12:00:00Z.
const NOON: i64 = 1_769_860_800;

/// Adds an example of every code.
pub(super) fn describe(components: &mut Components) {
    for code in Code::ALL.iter().copied() {
        let (when, _) = code.description();
        let example = ExampleBuilder::new().summary(when).value(Some(example_of(code))).build();
        components.examples.insert(code.as_str().to_owned(), RefOr::T(example));
    }
    components.schemas.insert(ErrorBody::name().into_owned(), ErrorBody::schema());
    let mut named = Vec::new();
    ErrorBody::schemas(&mut named);
    components.schemas.extend(named);
    // No route answers with it: it is for methods that a path does not have.
    response_of(&BTreeSet::from([Code::MethodNotAllowed]), components);
}

/// Adds the errors that a route can answer.
pub(super) fn add(operation: &mut Operation, components: &mut Components) {
    let mut by_status: BTreeMap<u16, BTreeSet<Code>> = BTreeMap::new();
    for code in codes_of(operation) {
        by_status.entry(code.status().as_u16()).or_default().insert(code);
    }
    for (status, codes) in by_status {
        let response = response_of(&codes, components);
        operation.responses.responses.entry(status.to_string()).or_insert(response);
    }
}

/// Every code that an operation can answer: those that it names, and those that follow from its shape.
fn codes_of(operation: &mut Operation) -> BTreeSet<Code> {
    let named = operation.extensions.as_mut().and_then(|extensions| extensions.remove(ERRORS));
    let named: Vec<String> = named.and_then(|named| serde_json::from_value(named).ok()).unwrap_or_default();
    let mut codes: BTreeSet<Code> =
        Code::ALL.iter().copied().filter(|code| named.iter().any(|name| name == code.as_str())).collect();
    let parameters = operation.parameters.iter().flatten();
    let has_id = parameters.into_iter().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    });
    if operation.extensions.as_mut().is_some_and(|extensions| extensions.remove(ONCE).is_some()) {
        codes.extend([Code::IdempotencyConflict, Code::IdempotencyInProgress]);
    }
    codes.extend([Code::InternalError, Code::Timeout]);
    if needs_key(operation) {
        codes.extend([Code::InvalidRequest, Code::Unauthorized, Code::Forbidden]);
        codes.extend([Code::RateLimited, Code::ServiceUnavailable]);
    }
    if has_id {
        codes.insert(Code::NotFound);
    }
    if operation.request_body.is_some() {
        codes.extend([Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType]);
    }
    codes
}

/// The response with these codes, which all have one status, as a component.
fn response_of(codes: &BTreeSet<Code>, components: &mut Components) -> RefOr<Response> {
    let name = codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(".");
    if !components.responses.contains_key(&name) {
        let lines = codes.iter().map(|code| {
            let (when, what_to_do) = code.description();
            format!("`{}`: {when} {what_to_do}", code.as_str())
        });
        let examples = codes.iter().map(|code| (code.as_str(), component("examples", code.as_str())));
        let content = ContentBuilder::new()
            .schema(Some(component::<utoipa::openapi::Schema>("schemas", &ErrorBody::name())))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(lines.collect::<Vec<_>>().join("\n\n"))
            .content("application/json", content)
            .build();
        headers::put(&mut response, &headers_of(codes));
        components.responses.insert(name.clone(), RefOr::T(response));
    }
    component("responses", &name)
}

fn headers_of(codes: &BTreeSet<Code>) -> Vec<&'static str> {
    let mut names = vec![headers::X_REQUEST_ID];
    let has = |code: Code| codes.contains(&code);
    if has(Code::Unauthorized) {
        names.push(headers::WWW_AUTHENTICATE);
    }
    if has(Code::RateLimited) || has(Code::ServiceUnavailable) || has(Code::IdempotencyInProgress) {
        names.push(headers::RETRY_AFTER);
    }
    // These are answered before the key is checked, or after the answer was given up.
    if ![Code::Unauthorized, Code::Timeout, Code::MethodNotAllowed].into_iter().any(has) {
        names.extend(headers::rate_limit());
    }
    names
}

/// The body of a code, as the service makes it.
pub(super) fn example_of(code: Code) -> Value {
    let (body, _) = example(code).into_body(RequestId::of(ulid(1)));
    serde_json::to_value(body).unwrap_or_default()
}

/// An error with this code.
fn example(code: Code) -> ApiError {
    match code {
        Code::InvalidRequest => Invalid::new("amount", "must be at least 0.000001").into(),
        Code::QuotaExceeded => ServiceError::QuotaExceeded(QuotaExceeded::Accounts(10_000)).into(),
        Code::Unauthorized => ServiceError::Unauthorized(Unauthorized::UnknownKey).into(),
        Code::PolicyViolation => rejected(
            RejectionReason::DailyLimitExceeded,
            "15.00 USDC is over what is left of the account's daily limit: 44.00 of 50.00 USDC were spent in the last 24 hours.",
            CheckedRule::MaxDailySpend,
            Some(Timestamp::from_unix_seconds(NOON + 3_600)),
        ),
        Code::AccountPaused => {
            let message = "The account's policy has paused all outgoing transfers.";
            rejected(RejectionReason::Paused, message, CheckedRule::Paused, None)
        }
        Code::InsufficientBalance => failed(FailureCode::InsufficientBalance, "The account holds 1.000000."),
        Code::AccountFrozen => {
            failed(FailureCode::AccountFrozen, "The issuer of USDC has frozen the account.")
        }
        Code::ApprovalRejected => {
            failed(FailureCode::ApprovalRejected, "The operator rejected it; nothing was paid.")
        }
        Code::ApprovalExpired => {
            failed(FailureCode::ApprovalExpired, "Nobody approved it in time; nothing was paid.")
        }
        Code::ApprovalVoid => failed(
            FailureCode::ApprovalVoid,
            "The policy was changed while it waited for approval. Nothing was paid.",
        ),
        Code::ApprovalClosed => ServiceError::ApprovalClosed(TransferStatus::Settled).into(),
        Code::Forbidden => ServiceError::Forbidden(Forbidden::OperatorKeyNeeded).into(),
        Code::NotFound => ServiceError::NotFound(Resource::Account).into(),
        Code::MethodNotAllowed => ApiError::MethodNotAllowed,
        Code::RequestTimeout => ApiError::BodyTimeout,
        Code::IdempotencyConflict => ServiceError::IdempotencyConflict(None).into(),
        Code::LikelyDuplicate => {
            ServiceError::LikelyDuplicate(TransferId::from_bytes(ulid(4).to_bytes())).into()
        }
        Code::IdempotencyInProgress => ServiceError::RequestRunning.into(),
        Code::PolicyChanged => ServiceError::PolicyChanged.into(),
        Code::PayloadTooLarge => ApiError::BodyTooLarge,
        Code::UnsupportedMediaType => ApiError::UnsupportedMediaType,
        Code::InvalidRecipient => {
            failed(FailureCode::InvalidRecipient, "The recipient is not a USDC token account.")
        }
        Code::RecipientHasNoTokenAccount => {
            let message = "The wallet has no USDC token account yet; nothing was paid.";
            failed(FailureCode::RecipientHasNoTokenAccount, message)
        }
        Code::OfferRefused => {
            let message = "The offer asks for 2.000000 USDC, which is more than `max_amount`, 1.000000.";
            ApiError::OfExtension(code, message.into())
        }
        Code::PaymentRefused => {
            let message = "The seller refused the payment with status 402: \"invalid_exact_svm_payload\". Nothing was paid.";
            failed(FailureCode::PaymentRefused, message)
        }
        Code::RateLimited => ApiError::RateLimited { retry_after_seconds: 1 },
        Code::TooManyPending => ServiceError::TooManyPending.into(),
        Code::TooManyRefusals => ServiceError::TooManyRefusals { retry_after_seconds: 3_600 }.into(),
        Code::AccountFull => failed(
            FailureCode::AccountFull,
            "The account has made as many payments in a day as it has room to remember; nothing was paid.",
        ),
        Code::InternalError => ServiceError::Internal.into(),
        Code::NotConfigured => ServiceError::NotConfigured.into(),
        Code::TransferFailed => failed(FailureCode::TransferFailed, "The transaction failed on the chain."),
        Code::ServerUnreachable => {
            ApiError::OfExtension(code, "The server did not answer in time. Nothing was paid.".into())
        }
        Code::ServiceUnavailable => ServiceError::StoreUnavailable.into(),
        Code::SolanaUnavailable => ServiceError::ChainUnavailable { retryable: true }.into(),
        Code::AuthorityRotated => ServiceError::AuthorityRotated.into(),
        Code::FeePayerEmpty => ServiceError::FeePayerEmpty.into(),
        Code::SignerUnavailable => ServiceError::SignerUnavailable.into(),
        Code::Timeout => ApiError::Timeout,
    }
}

fn rejected(
    reason: RejectionReason,
    message: &str,
    broken: CheckedRule,
    retry_at: Option<Timestamp>,
) -> ApiError {
    let rejection = Rejection {
        reason,
        message: message.to_owned(),
        checks: checks(broken),
        policy_version: Some(1),
        retry_at,
        rejected_at: Timestamp::from_unix_seconds(NOON),
    };
    ended(TransferState::Rejected(rejection), None)
}

fn failed(code: FailureCode, message: &str) -> ApiError {
    let failed_at = Timestamp::from_unix_seconds(NOON);
    let retry_at = (code == FailureCode::AccountFull).then(|| failed_at.after(Duration::from_secs(3_600)));
    let failure = Failure { code, message: message.to_owned(), failed_at, retry_at };
    ended(TransferState::Failed(failure), Some(checks(CheckedRule::Balance)))
}

/// Limits of the examples, and how much of each is used, in USDC.
const LIMITED: [(CheckedRule, u64, u64); 5] = [
    (CheckedRule::MaxSingleTransfer, 25, 0),
    (CheckedRule::MaxDailySpend, 50, 44),
    (CheckedRule::Max30DaySpend, 500, 130),
    (CheckedRule::Budget, 1_000, 310),
    (CheckedRule::Balance, 1, 0),
];

fn checks(broken: CheckedRule) -> Checks {
    let check = |rule: CheckedRule| {
        let usdc = |amount: u64| UsdcAmount::from_micros(amount * 1_000_000);
        let limited = LIMITED.into_iter().find(|(limited, ..)| *limited == rule);
        let (limit, used) = limited
            .map_or((Limit::Unlimited, usdc(0)), |(_, limit, used)| (Limit::AtMost(usdc(limit)), usdc(used)));
        RuleCheck { rule, ok: rule != broken, limit, used }
    };
    Checks(CheckedRule::ALL.map(check).to_vec())
}

fn ended(state: TransferState, checks: Option<Checks>) -> ApiError {
    let unpaid = Unpaid {
        id: TransferId::from_bytes(ulid(4).to_bytes()),
        state,
        refusal: None,
        approval: Approval::Never,
    };
    ApiError::Transfer(Box::new(unpaid), checks)
}

/// The same ULID for the same number, from long ago.
fn ulid(number: u128) -> Ulid {
    Ulid::from_parts(NOON.unsigned_abs() * 1_000, number * 0x9e37_79b9_7f4a_7c15_f39c)
}
