//! One change of many accounts: their policies, or a halt. Each is answered, and is on record, as if it were asked for alone.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use purser_api::web::{
    ApiError, Code, ErrorBody, HasChanged, Json as Body, OnRecord, OperatorOnly, RequestId,
};
use purser_model::wire::schema::{PolicyVersionNumber, Signature, UsdcLimit, changed, one_of, reference};
use purser_model::wire::{Fields, PolicyFields, WarningBody, schema::written};
use purser_model::{
    AccountFilter, AccountId, AccountStatus, BudgetId, Invalid, Label, Operator, PolicyUpdate, Selection,
    Tag, Timestamp,
};
use purser_service::{Planned, ServiceError, Will};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::change::{Changed, Compared, change, compare};
use crate::many::{Many, ManyChange, ManyDone};

/// Which accounts: `ids`, `versions`, `all`, or `tag`, `status` or both; 1,000 at most.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccountSelection)]
pub struct SelectionBody {
    /// These.
    #[schema(min_items = 1, max_items = 1000)]
    ids: Option<Vec<AccountId>>,
    /// These, each only while its policy has this version: what a dry run showed, and nothing else.
    versions: Option<BTreeMap<String, PolicyVersionNumber>>,
    /// Those with this tag.
    tag: Option<Tag>,
    /// Those of this status.
    status: Option<AccountStatus>,
    /// `true`: every account.
    all: Option<bool>,
}

impl TryFrom<SelectionBody> for Selection {
    type Error = Invalid;

    fn try_from(body: SelectionBody) -> Result<Self, Invalid> {
        let SelectionBody { ids, versions, tag, status, all } = body;
        let all = all.filter(|all| *all);
        let filter = AccountFilter { status, tag };
        let is_filtered = filter != AccountFilter::default();
        match (ids, versions, all) {
            (Some(ids), None, None) if !is_filtered => {
                named("accounts.ids", ids.into_iter().map(|id| (id, None)).collect())
            }
            (None, Some(versions), None) if !is_filtered => {
                let read = |(id, version): (&String, &PolicyVersionNumber)| {
                    Ok((Invalid::unless(&format!("accounts.versions.{id}"), id)?, Some(version.0)))
                };
                named("accounts.versions", versions.iter().map(read).collect::<Result<_, Invalid>>()?)
            }
            (None, None, Some(_)) if !is_filtered => Ok(Self::Filtered(filter)),
            (None, None, None) if is_filtered => Ok(Self::Filtered(filter)),
            _ => {
                let message = "must say which accounts in one way: `ids`, `versions`, `all`, or `tag`, `status` or both";
                Err(Invalid::new("accounts", message))
            }
        }
    }
}

fn named(param: &str, named: BTreeMap<AccountId, Option<u64>>) -> Result<Selection, Invalid> {
    if named.is_empty() {
        return Err(Invalid::new(param, "must name at least one account"));
    }
    Ok(Selection::Named(named))
}

/// A change of many policies.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangePolicies)]
pub struct ChangePoliciesBody {
    /// Which of them.
    accounts: SelectionBody,
    /// What to change of each.
    policy: PolicyOfMany,
    /// `true`: only say what it would do.
    #[serde(default)]
    dry_run: bool,
}

/// A halt of many accounts.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HaltAccounts)]
pub struct HaltAccountsBody {
    /// Which of them.
    accounts: SelectionBody,
    /// `true`: only say what it would do.
    #[serde(default)]
    dry_run: bool,
}

/// The policy of a change of many: the versions stand beside it.
#[derive(Deserialize)]
struct PolicyOfMany(Box<RawValue>);

/// Fields of an account that a change of many can change.
#[derive(Serialize)]
struct PartsOfAccount(Fields);

/// How the change of one account ended, or would end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ManyOutcome {
    Applied,
    /// It loosens something, and waits.
    Pending,
    /// It was so already.
    Unchanged,
    Failed,
}

written! {
    ManyOutcome = "ManyOutcome": one_of(
        "`pending` waits for the loosening delay; `unchanged` was so already; `failed` has an `error`; after one of the 5xx kind, read the account: the change may have landed.",
        ["applied", "pending", "unchanged", "failed"],
    );
    PolicyOfMany = "PolicyOfMany": changed::<PolicyUpdate>(|policy| {
        policy.description = Some("Fields that are left out stay as they are.".to_owned());
        policy.properties.remove("expected_version");
    }), like PolicyUpdate;
    PartsOfAccount = "AccountParts": changed::<PolicyFields>(|parts| {
        parts.description = Some("Only what differs.".to_owned());
        parts.required.clear();
        let boolean = |what: &str| ObjectBuilder::new().schema_type(Type::Boolean).description(Some(what)).build();
        parts.properties.insert("max_30_day_spend".to_owned(), or_null(reference::<UsdcLimit>()));
        parts.properties.insert("budget_id".to_owned(), or_null(reference::<BudgetId>()));
        parts.properties.insert("halted".to_owned(), boolean("Whether the account itself is halted.").into());
    }), like PolicyFields;
}

fn or_null(schema: utoipa::openapi::Ref) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::schema::OneOfBuilder;
    OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::Null)).item(schema).into()
}

/// What became of each account, or would.
#[derive(Serialize, ToSchema)]
#[schema(as = ManyChanged)]
pub struct ManyResponse {
    /// Whether nothing was done.
    dry_run: bool,
    /// How many accounts were changed.
    applied: usize,
    /// How many wait.
    pending: usize,
    /// How many were so already.
    unchanged: usize,
    /// How many failed.
    failed: usize,
    /// Each of them.
    #[schema(max_items = 1000)]
    accounts: Vec<OneResponse>,
}

/// What became of one account, or would.
#[derive(Serialize, ToSchema)]
#[schema(as = OneChanged)]
struct OneResponse {
    account_id: AccountId,
    /// `null` where there is no such account.
    #[schema(required)]
    name: Option<Label>,
    outcome: ManyOutcome,
    /// The policy version that was looked at: `accounts.versions` takes it.
    #[schema(required)]
    version: Option<PolicyVersionNumber>,
    /// What differs, before.
    before: PartsOfAccount,
    /// What differs, after.
    after: PartsOfAccount,
    /// Rules after the change that can never match. Not looked at for halts and pauses.
    #[schema(max_items = 8)]
    warnings: Vec<WarningBody>,
    /// When what is pending can take effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    effective_at: Option<Timestamp>,
    /// Of the change on the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ErrorBody>,
}

/// How it came out for one account.
struct AccountResult {
    outcome: ManyOutcome,
    effective_at: Option<Timestamp>,
    tx_signature: Option<String>,
    error: Option<ServiceError>,
}

impl AccountResult {
    const fn so(outcome: ManyOutcome) -> Self {
        Self { outcome, effective_at: None, tx_signature: None, error: None }
    }

    fn failed(error: ServiceError) -> Self {
        Self { error: Some(error), ..Self::so(ManyOutcome::Failed) }
    }

    fn would(planned: &Planned) -> Self {
        match &planned.will {
            Ok(Will::Apply) => Self::so(ManyOutcome::Applied),
            Ok(Will::Wait) => Self::so(ManyOutcome::Pending),
            Ok(Will::BeUnchanged) => Self::so(ManyOutcome::Unchanged),
            Err(error) => Self::failed(error.clone()),
        }
    }

    fn did(done: Result<ManyDone, ServiceError>) -> Self {
        match done {
            Ok(ManyDone::Applied { tx_signature }) => {
                Self { tx_signature: Some(tx_signature), ..Self::so(ManyOutcome::Applied) }
            }
            Ok(ManyDone::Waits { effective_at }) => Self { effective_at, ..Self::so(ManyOutcome::Pending) },
            Ok(ManyDone::Unchanged) => Self::so(ManyOutcome::Unchanged),
            Err(error) => Self::failed(error),
        }
    }
}

fn answer(dry_run: bool, id: RequestId, all: Vec<(Compared, AccountResult)>) -> Response {
    let count = |outcome| all.iter().filter(|(_, result)| result.outcome == outcome).count();
    let (applied, pending) = (count(ManyOutcome::Applied), count(ManyOutcome::Pending));
    let (unchanged, failed) = (count(ManyOutcome::Unchanged), count(ManyOutcome::Failed));
    let one = |(compared, result): (Compared, AccountResult)| {
        let Compared { planned, before, after } = compared;
        let AccountResult { outcome, effective_at, tx_signature, error } = result;
        OneResponse {
            account_id: planned.id,
            name: planned.name,
            outcome,
            version: planned.version.map(PolicyVersionNumber),
            before: PartsOfAccount(before),
            after: PartsOfAccount(after),
            warnings: WarningBody::all(&planned.warnings),
            effective_at,
            tx_signature: tx_signature.map(Signature::from),
            error: error.map(|error| ApiError::from(error).into_body(id).0),
        }
    };
    let accounts = all.into_iter().map(one).collect();
    let body = ManyResponse { dry_run, applied, pending, unchanged, failed, accounts };
    (Extension(HasChanged(!dry_run)), Json(body)).into_response()
}

struct AskedOfMany {
    accounts: SelectionBody,
    change: ManyChange,
    /// As it was sent, for the record.
    fields: Option<Fields>,
    dry_run: bool,
}

async fn carry_out(
    many: Many,
    (operator, on_record): (Operator, OnRecord),
    id: RequestId,
    asked: AskedOfMany,
) -> Result<Response, ApiError> {
    let selection = Selection::try_from(asked.accounts)?;
    let _turn = if asked.dry_run { None } else { Some(many.turn(&operator, &asked.change).await) };
    let compared = compare(&many, &operator, &selection, &asked.change, asked.dry_run).await?;
    let all = if asked.dry_run {
        let would = |compared: Compared| {
            let would = AccountResult::would(&compared.planned);
            (compared, would)
        };
        compared.into_iter().map(would).collect()
    } else {
        let fields = asked.fields.as_ref();
        let of = (&operator, &on_record);
        let changed = change(&many, of, &asked.change, fields, compared).await;
        changed.into_iter().map(|Changed { compared, done }| (compared, AccountResult::did(done))).collect()
    };
    Ok(answer(asked.dry_run, id, all))
}

/// Change the policies of many accounts
///
/// As a PATCH of each account's policy: `accounts` says which, and each is answered. A dry run changes nothing and answers what
/// differs before and after, and the version of each policy; given back in `accounts.versions`, exactly that is changed, and an
/// account that somebody else changed meanwhile fails alone. What is so already is left alone, so the same request can be sent
/// again. With hundreds of accounts it may take longer than an answer may: it goes on, and the same request under its
/// `Idempotency-Key` gets the answer.
#[utoipa::path(
    post, path = "/v1/bulk/policy", operation_id = "change_policies", tag = "Policies",
    request_body = ChangePoliciesBody,
    responses((status = 200, body = ManyResponse, description = "What became of each account, or would.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn policies(
    State(many): State<Many>,
    OperatorOnly(operator): OperatorOnly,
    on_record: OnRecord,
    Extension(id): Extension<RequestId>,
    Body(body): Body<ChangePoliciesBody>,
) -> Result<Response, ApiError> {
    let PolicyOfMany(json) = body.policy;
    let update = PolicyUpdate::from_json(json.get().as_bytes()).map_err(|error| error.within("policy"))?;
    if update.expected_version.is_some() {
        let message = "is another one for each account: see `accounts.versions`";
        return Err(Invalid::new("policy.expected_version", message).into());
    }
    let fields = Fields::of_json(json.get().as_bytes());
    let asked = AskedOfMany {
        accounts: body.accounts,
        change: ManyChange::Policy(update),
        fields,
        dry_run: body.dry_run,
    };
    carry_out(many, (operator, on_record), id, asked).await
}

/// Halt many accounts
///
/// As a halt of each: only the operator's admin resumes them, each by itself, with its own wallet. `POST /v1/halt` stops all of them
/// in one transaction. For the answer, and for what takes long, see the same of policies.
#[utoipa::path(
    post, path = "/v1/bulk/halt", operation_id = "halt_accounts", tag = "Halts",
    request_body = HaltAccountsBody,
    responses((status = 200, body = ManyResponse, description = "What became of each account, or would.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["halt"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn halts(
    State(many): State<Many>,
    OperatorOnly(operator): OperatorOnly,
    on_record: OnRecord,
    Extension(id): Extension<RequestId>,
    Body(body): Body<HaltAccountsBody>,
) -> Result<Response, ApiError> {
    let change = ManyChange::Halt;
    let asked = AskedOfMany { accounts: body.accounts, change, fields: None, dry_run: body.dry_run };
    carry_out(many, (operator, on_record), id, asked).await
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;
    use crate::change::SHOWN_BYTES_MAX;
    use purser_api::web::ANSWER_BYTES_MAX;
    use purser_model::{NAME_CHARS_MAX, SELECTED_MAX};
    use purser_policy::Warning;

    #[tokio::test]
    async fn largest_answer_fits_what_is_kept_of_a_request() {
        // Quotes take two bytes in JSON, and these letters four.
        let name = Label::parse("\u{1F600}".repeat(NAME_CHARS_MAX)).expect("a name");
        let shown = || {
            let mut fields = Fields::default();
            fields.set("allowed_counterparties", "x".repeat(SHOWN_BYTES_MAX / SELECTED_MAX / 2));
            fields
        };
        let refused = |number: usize| {
            let error = ServiceError::PauseHolds(Box::new(ServiceError::InvalidRecipient("y".repeat(500))));
            let planned = Planned {
                id: AccountId::from_bytes(
                    [number.to_le_bytes(), [7; 8]].concat().try_into().expect("16 bytes"),
                ),
                name: Some(name.clone()),
                version: Some(u64::MAX),
                expected_version: u64::MAX,
                delay_seconds: u32::MAX,
                rules: None,
                will: Err(error.clone()),
                warnings: Warning::ALL.to_vec(),
            };
            (Compared { planned, before: shown(), after: shown() }, AccountResult::failed(error))
        };
        let answer = answer(false, RequestId::generate(), (0..SELECTED_MAX).map(refused).collect());
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.expect("an answer").len();
        assert!((1 << 20..=ANSWER_BYTES_MAX).contains(&bytes), "{bytes}");
    }
}
