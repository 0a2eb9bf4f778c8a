//! Transfers in every state, and a preview of one.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use purser_api::web::ApiError;
use purser_model::{
    AccountId, AllowedRecipients, AskedPayee, CheckedRule, Checks, Failure, FailureCode, IdempotencyKey,
    Invalid, Limit, Memo, Page, Recipient, Rejection, RejectionReason, RuleCheck, RuleValue, SpendingPolicy,
    TransferFilter, TransferId, TransferRequest, TransferState, TransferStatus, UsdcAmount, amount_from_text,
};
use purser_service::{Preview, Services, TransferView, policies};

use super::days::{Day, by_day, total};
use super::form::Form;
use super::names::{Names, Shown};
use super::page::{Complaint, Frame, PageError, PageId, QueryParams, Section, page};
use super::session::Signed;
use super::text::{filters, reason_text, spaced, value_text};
use super::which::{Unclear, which};

const LIMIT: u32 = 50;
const PATH: &str = "/dashboard/transfers";

#[derive(Template)]
#[template(path = "transfers.html")]
struct TransfersPage {
    frame: Frame,
    days: Vec<Day<TransferView>>,
    names: Names,
    asked: QueryParams,
    /// The filter by account may mean several, or none: nothing is listed then.
    unclear: Option<Unclear>,
    next: Option<String>,
}

impl Day<TransferView> {
    /// What was paid.
    fn settled(&self) -> UsdcAmount {
        let settled = self.entries.iter().map(|view| &view.transfer);
        let settled = settled.filter(|transfer| transfer.state.status() == TransferStatus::Settled);
        total(settled.map(|transfer| transfer.request.amount))
    }
}

impl TransfersPage {
    /// Whether one of the filters is set that are folded away.
    fn has_more(&self) -> bool {
        ["since", "until", "idempotency_key"].iter().any(|name| self.asked.given(name).is_some())
    }
}

fn filter(asked: &QueryParams, account: Option<AccountId>) -> Result<TransferFilter, Invalid> {
    let key = asked.given("idempotency_key").map(IdempotencyKey::parse).transpose()?;
    Ok(TransferFilter {
        account,
        status: asked.read("status")?,
        idempotency_key: key,
        reason: asked.read("reason")?,
        since: asked.moment("since")?,
        until: asked.moment("until")?,
    })
}

pub async fn show(
    State(services): State<Arc<Services>>,
    signed: Signed,
    asked: QueryParams,
) -> Result<Response, PageError> {
    let kept = ["status", "reason", "since", "until", "idempotency_key"];
    let which = which(&services, &signed, &asked, ("account_id", PATH, &kept)).await?;
    let (account, unclear) = which.parts();
    let filter = filter(&asked, account)?;
    let request = asked.page(LIMIT);
    let transfers = match &unclear {
        Some(_) => Page { items: Vec::new(), next: None },
        None => services.transfers.list(&signed.principal, filter, request).await?,
    };
    let frame = signed.frame(Section::Transfers);
    let next = asked.next(PATH, transfers.next.as_ref());
    let names = named(&transfers.items).named(&services, &signed.operator).await?;
    let days = by_day(transfers.items, |view| view.transfer.created_at, next.is_some());
    Ok(page(&TransfersPage { frame, days, names, asked, unclear, next }, None))
}

/// Whose names transfers are shown with.
pub fn named(transfers: &[TransferView]) -> Shown {
    let mut shown = Shown::default();
    for view in transfers {
        shown.account(view.transfer.request.from);
        shown.recipient(&view.transfer.request.to);
        shown.key(view.transfer.key_id);
    }
    shown
}

/// Why it was refused, or what failed.
fn why(view: &TransferView) -> Option<String> {
    let why = match &view.transfer.state {
        TransferState::Rejected(rejection) => reason_text(rejection.reason),
        TransferState::PendingApproval(wanted) => reason_text(wanted.rejection.reason),
        TransferState::Failed(failure) => spaced(failure.code.as_str()),
        TransferState::Claimed
        | TransferState::Signed(_)
        | TransferState::Sent { .. }
        | TransferState::Settled(_) => return None,
    };
    Some(why)
}

#[derive(Template)]
#[template(path = "transfer.html")]
struct TransferPage {
    frame: Frame,
    view: TransferView,
    names: Names,
    /// What its policy version allowed, if that was read.
    policy: Option<SpendingPolicy>,
}

/// What a rule said of a transfer that policy let pass.
struct PassedRule {
    rule: CheckedRule,
    verdict: Verdict,
    /// What it allowed; `None`: that is not on record.
    allowed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The rule refuses such a payment, and a grant let it pass.
    PassedByGrant,
    Failed,
}

impl TransferPage {
    /// How each rule judged a rejected transfer.
    fn checks(&self) -> &[RuleCheck] {
        match &self.view.transfer.state {
            TransferState::PendingApproval(wanted) => &wanted.rejection.checks.0,
            TransferState::Rejected(rejection) => &rejection.checks.0,
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Failed(_) => &[],
        }
    }

    /// Every rule, once all those of the policy have passed.
    fn passed(&self) -> Vec<PassedRule> {
        let transfer = &self.view.transfer;
        let (is_judged, was_covered) = match &transfer.state {
            TransferState::Claimed | TransferState::PendingApproval(_) | TransferState::Rejected(_) => {
                (false, false)
            }
            TransferState::Settled(_) => (true, true),
            TransferState::Signed(_) | TransferState::Sent { .. } => {
                (transfer.policy_version.is_some(), true)
            }
            // What a person was asked about has not passed.
            TransferState::Failed(_) if transfer.approval.requested().is_some() => (false, false),
            TransferState::Failed(failure) => (transfer.policy_version.is_some(), !is_of_balance(failure)),
        };
        if !is_judged {
            return Vec::new();
        }
        // What bound the account beside its policy is not on record.
        let rules = CheckedRule::ALL.into_iter().filter(|rule| !rule.is_bound());
        let passed = rules.map(|rule| PassedRule {
            rule,
            verdict: if !was_covered && rule == CheckedRule::Balance {
                Verdict::Failed
            } else if self.needed_grant(rule) {
                Verdict::PassedByGrant
            } else {
                Verdict::Passed
            },
            allowed: self.policy.as_ref().and_then(|policy| allowed(policy, rule)),
        });
        passed.collect()
    }

    /// Whether a grant let it pass this rule, as far as that is on record: it was refused by the rule at first, or its amount is above
    /// the limit.
    fn needed_grant(&self, rule: CheckedRule) -> bool {
        let transfer = &self.view.transfer;
        let limit = self.policy.as_ref().map(|policy| policy.max_single_transfer);
        let is_above = || matches!(limit, Some(Limit::AtMost(limit)) if limit < transfer.request.amount);
        transfer.approval.requested().is_some_and(|requested| requested.reason.rule() == rule)
            || (rule == CheckedRule::MaxSingleTransfer && is_above())
    }

    /// Who judged it when, as far as that is on record.
    fn words(&self) -> String {
        let unread = if self.policy.is_none() { " (what that allowed is not on record here)" } else { "" };
        let by = self.view.transfer.policy_version.map(|version| format!("version {version} of the policy"));
        let by = by.map(|by| match &self.view.transfer.state {
            TransferState::PendingApproval(_) | TransferState::Rejected(_) => by,
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Failed(_) => by + unread,
        });
        if let Some(requested) = self.view.transfer.approval.requested() {
            return self.words_of_approval(requested.reason, by);
        }
        match (&self.view.transfer.state, by) {
            // It has an approval.
            (TransferState::PendingApproval(_), _) => String::new(),
            (TransferState::Claimed, _) => "Nothing has been checked yet.".to_owned(),
            (TransferState::Signed(_) | TransferState::Sent { .. }, Some(by)) => {
                format!("Every rule passed before it was signed, by {by}. The chain checks each again.")
            }
            (TransferState::Signed(_) | TransferState::Sent { .. }, None) => {
                "The chain checks every rule before it pays.".to_owned()
            }
            (TransferState::Settled(_), Some(by)) => {
                format!("Every rule passed before it was signed, by {by}, and again on the chain.")
            }
            (TransferState::Settled(_), None) => {
                "Every rule passed on the chain; by which version of the policy is not on record here."
                    .to_owned()
            }
            (TransferState::Rejected(_), Some(by)) => format!("By {by}."),
            (TransferState::Rejected(_), None) => {
                "The chain refused it; by which version of the policy is not on record here.".to_owned()
            }
            (TransferState::Failed(_), Some(by)) => {
                format!("Every rule of the policy passed, by {by}. What failed after that is said above.")
            }
            (TransferState::Failed(_), None) => {
                "It failed before the policy had allowed or refused it.".to_owned()
            }
        }
    }
}

impl TransferPage {
    /// A person was asked about it.
    fn words_of_approval(&self, reason: RejectionReason, by: Option<String>) -> String {
        let by = by.map_or_else(String::new, |by| format!(" by {by}"));
        let asked = format!("The policy refused it{by} ({}), and a person was asked.", reason.as_str());
        let then = match &self.view.transfer.state {
            TransferState::Claimed | TransferState::PendingApproval(_) => "Nobody has answered yet.",
            TransferState::Signed(_) | TransferState::Sent { .. } => {
                "A grant covers it; the chain checks that too."
            }
            TransferState::Settled(_) => "A grant covered it on the chain.",
            TransferState::Rejected(_) => "The chain refused it.",
            TransferState::Failed(_) => "What became of that is said above.",
        };
        format!("{asked} {then}")
    }
}

/// Whether the money was missing, or frozen.
fn is_of_balance(failure: &Failure) -> bool {
    match failure.code {
        FailureCode::InsufficientBalance | FailureCode::AccountFrozen => true,
        FailureCode::InvalidRecipient
        | FailureCode::RecipientHasNoTokenAccount
        | FailureCode::SolanaUnavailable
        | FailureCode::TransferFailed
        | FailureCode::TransferExpired
        | FailureCode::PaymentRefused
        | FailureCode::Interrupted
        | FailureCode::ApprovalRejected
        | FailureCode::ApprovalWithdrawn
        | FailureCode::ApprovalExpired
        | FailureCode::ApprovalVoid
        | FailureCode::AuthorityRotated
        | FailureCode::FeePayerEmpty
        | FailureCode::SignerUnavailable
        | FailureCode::AccountFull => false,
    }
}

/// What a policy allows by this rule; `None` for what is none of its rules.
fn allowed(policy: &SpendingPolicy, rule: CheckedRule) -> Option<String> {
    let value = policy.value(rule.of_policy()?);
    let RuleValue::Payees(payees @ AllowedRecipients::Only { .. }) = value else {
        return Some(value_text(&value));
    };
    Some(match payees.len() {
        1 => "1 recipient".to_owned(),
        count => format!("{count} recipients"),
    })
}

pub async fn one(
    State(services): State<Arc<Services>>,
    signed: Signed,
    PageId(id): PageId<TransferId>,
) -> Result<Response, PageError> {
    let view = services.transfers.get(&signed.principal, id).await?;
    let account = view.transfer.request.from;
    let version = match view.transfer.policy_version {
        Some(version) => policies::version(&services.inside, &signed.operator, account, version).await?,
        None => None,
    };
    let policy = version.and_then(|version| version.policy).map(|policy| policy.0);
    let names = named(std::slice::from_ref(&view)).named(&services, &signed.operator).await?;
    let frame = signed.frame(Section::Transfers);
    Ok(page(&TransferPage { frame, view, names, policy }, None))
}

#[derive(Template)]
#[template(path = "preview.html")]
struct PreviewPage {
    frame: Frame,
    form: Form,
    verdict: Option<PreviewVerdict>,
    complaint: Option<Complaint>,
}

/// The result of a preview.
struct PreviewVerdict {
    /// Why it would be refused; `None`: it would be paid.
    refused: Option<String>,
    /// The service would create the payee's token account first.
    creates_token_account: bool,
    checks: Checks,
}

impl From<Preview> for PreviewVerdict {
    fn from(preview: Preview) -> Self {
        match preview {
            Preview::Allowed(checks) => Self { refused: None, creates_token_account: false, checks },
            Preview::Creating(checks) => Self { refused: None, creates_token_account: true, checks },
            Preview::Rejected(rejection) => {
                let Rejection { message, checks, .. } = rejection;
                Self { refused: Some(message), creates_token_account: false, checks }
            }
            Preview::Failing(failure, checks) => {
                Self { refused: Some(failure.message), creates_token_account: false, checks }
            }
        }
    }
}

pub async fn ask(signed: Signed, asked: QueryParams) -> Response {
    let form = Form::of(vec![("from", asked.given("from").unwrap_or_default().to_owned())]);
    let frame = signed.frame(Section::Transfers);
    page(&PreviewPage { frame, form, verdict: None, complaint: None }, None)
}

pub async fn preview(
    State(services): State<Arc<Services>>,
    signed: Signed,
    form: Form,
) -> Result<Response, PageError> {
    let frame = signed.frame(Section::Transfers);
    let (verdict, complaint) = match judge(&services, &signed, &form).await {
        Ok(preview) => (Some(PreviewVerdict::from(preview)), None),
        Err(error) => (None, Some(complaint_of(error)?)),
    };
    let shown = PreviewPage { frame, form, verdict, complaint };
    Ok(page(&shown, shown.complaint.as_ref()))
}

async fn judge(services: &Services, signed: &Signed, form: &Form) -> Result<Preview, ApiError> {
    let asked = asked_for(services, signed, form)?;
    // Left unchecked, the account's own setting holds.
    let create_token_account = form.given("create_token_account").map(|_| true);
    Ok(services.transfers.preview(&signed.principal, asked, create_token_account).await?)
}

fn asked_for(services: &Services, signed: &Signed, form: &Form) -> Result<TransferRequest, ApiError> {
    let required = |field: &'static str| form.given(field).ok_or_else(|| Invalid::new(field, "is required"));
    let to = match form.given("to_is_wallet") {
        Some(_) => AskedPayee::Wallet(Invalid::unless("to", required("to")?)?),
        None => AskedPayee::Text(Recipient::parse(required("to")?.to_owned())?),
    };
    Ok(TransferRequest {
        from: Invalid::unless("from", required("from")?)?,
        to: services.transfers.recipient(&signed.principal, to)?,
        amount: amount_from_text("amount", required("amount")?)?,
        memo: form.given("memo").map(|memo| Memo::parse(memo.to_owned())).transpose()?,
    })
}

/// An unknown account or recipient is an error in its field, not a missing page.
fn complaint_of(error: ApiError) -> Result<Complaint, PageError> {
    use purser_service::{Resource, ServiceError};
    match error {
        ApiError::Service(ServiceError::NotFound(Resource::Payer)) => {
            Complaint::of(Invalid::new("from", "is not one of your accounts"))
        }
        ApiError::Service(ServiceError::InvalidRecipient(message)) => {
            let complaint = Complaint::of(ServiceError::InvalidRecipient(message))?;
            Ok(Complaint { field: "to".to_owned(), ..complaint })
        }
        error => Complaint::of(error),
    }
}
