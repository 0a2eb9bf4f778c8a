//! Purser's vocabulary: pure values, parsed once at the edge and trusted afterwards. The words of the payment engine are
//! `purser_core`'s. [`wire`] has the values as JSON. Never knows tokio, sqlx, axum or Solana types.
//! Start at `account.rs` and `event.rs`: most of the rest is said of one of these.

mod account;
mod action;
mod amount;
mod approval;
mod balance;
mod body;
mod budget;
mod cell;
mod chain_id;
mod cidrs;
mod co_signature;
mod counterparties;
mod delivery;
mod denial;
mod destination;
mod event;
mod grant;
mod history;
mod key;
mod label;
mod name;
mod operator;
mod page;
mod passkey;
mod payee;
mod pending;
mod policy;
mod policy_version;
mod principal;
mod quotas;
mod request;
mod retention;
mod scopes;
mod sealing;
mod secrets;
mod selection;
mod session;
mod spent;
mod stop;
mod tags;
mod terms;
mod transfer_filter;
mod transfer_sums;
mod webhook;
mod webhook_secret;
pub mod wire;

pub use account::{
    Account, AccountChange, AccountFilter, AccountPlace, AccountStatus, ApprovalRule, CreateAccount,
    DuplicateRule, METADATA_BYTES_MAX, METADATA_KEYS_MAX, Metadata, MetadataChange, ShownStatus,
};
pub use action::{
    ACTIONS_OF_LIMITS, Action, ActionFilter, ActionOutcome, ActionWord, ListedAction, SentTransaction,
};
pub use amount::{amount_from_json, amount_from_text, amount_to_json, limit_from_json};
pub use approval::{ApprovalFilter, ApprovalState};
pub use balance::{Balance, BalanceSeen, KnownBalance};
pub use body::{no_json, param_of, present, read_body};
pub use budget::UpdateBudget;
pub use cell::CellName;
pub use chain_id::{BudgetId, GrantId};
pub use cidrs::{AllowedCidrs, CIDRS_MAX, read_range};
pub use co_signature::{CO_SIGNATURES_MAX, CoSignature, CoSigned};
pub use counterparties::{AllowlistEntry, Counterparties, CounterpartyKind, entries, of_entries};
pub use delivery::{
    Attempt, AttemptOutcome, BlockedBy, Delivery, DeliveryState, DeliveryStatus, RETRY_DELAYS, ReplayScope,
    Unanswered,
};
pub use denial::{Denial, DenialHead, Refused, denials_filter};
pub use destination::{DestinationRules, URL_CHARS_MAX, WebhookUrl, may_reach};
pub use event::{Event, EventType, HaltSet, PolicySet, SetBy, Subject};
pub use grant::{GrantOpened, GrantOpener, GrantState, GrantTerms};
pub use history::{
    Counterparty, Direction, EntryKind, EntryOutcome, HistoryEntry, HistoryFilter, HistoryStatus, MemoFrom,
    Party, PaymentNumber, PlacedEntry, entry_id, own_settlement, position_after,
};
pub use key::{ApiKey, CreateKey, CreateOperatorKey, HashedKey, KeyHint, KeyHolder, KeyRole, PlainKey};
pub use label::check_name;
pub use name::{Label, NAME_CHARS_MAX};
pub use operator::{OpenDefence, Operator};
pub use page::{Cursor, Listing, Page, PageRequest};
pub use passkey::{CEREMONY_MAX, Ceremony, PASSKEYS_PER_KEY_MAX, Passkey, PasskeyUse};
pub use payee::AskedPayee;
pub use pending::PendingPolicy;
pub use policy::{PolicyUpdate, has_no_limit};
pub use policy_version::{Asking, PolicyReason, REASON_CHARS_MAX};
pub use principal::Principal;
pub use purser_core::{
    AccountId, ActionId, Address, Approval, ApprovalEnd, ApprovalRequested, ApprovalWanted, CheckedRule,
    Checks, Claim, Contradiction, EntryId, EventId, Failure, FailureCode, Fingerprint, Halt, HaltScope,
    HaltedBy, IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_SECONDS, IdempotencyKey, Invalid, KeyId, Limit,
    MEMO_CHARS_MAX, Memo, Network, OperatorId, ParseError, PasskeyId, PaymentMade, PaymentMeans,
    RECIPIENT_CHARS_MAX, Recipient, Rejection, RejectionReason, Reuse, RuleCheck, Settlement, SignedTransfer,
    Timestamp, Transfer, TransferId, TransferRequest, TransferState, TransferStatus, UsdcAmount, UsedKey,
    WebhookId, WrongState, check_text, happened_at, new_agent_id, transfer_tag, usdc_text,
};
pub use purser_policy::{AllowedRecipients, Rule, RuleValue, SpendingPolicy, Warning};
pub use quotas::{NoTokenAccount, QuotaExceeded, Quotas};
pub use request::{AnswerKey, Seed, SeededRandom, StoredAnswer, StoredBody, request_fingerprint};
pub use retention::{REQUESTS_KEPT, Retention, TooOld};
pub use scopes::{Scope, Scopes};
pub use selection::{SELECTED_MAX, Selection};
pub use session::{
    SESSION_IDLE_MAX, SESSION_LIFE_MAX, SESSIONS_PER_KEY_MAX, Session, SessionId, SessionToken,
};
pub use spent::{LimitUsed, Spent, WatchedLimit};
pub use stop::{Halted, Stop, Stopped};
pub use tags::{TAG_CHARS_MAX, TAGS_MAX, Tag, Tags};
pub use terms::Terms;
pub use transfer_filter::TransferFilter;
pub use transfer_sums::{PaidBefore, PaidInDay};
pub use webhook::{
    CreateWebhook, Delivering, DisabledReason, EndpointHealth, FAILING_MAX, FAILURES_MAX, SECRET_OVERLAP,
    Subscription, UpdateWebhook, WEBHOOK_ACCOUNTS_MAX, WEBHOOKS_MAX, Webhook, WebhookStatus,
};
pub use webhook_secret::{SealedSecret, SealingKey, WebhookSecret};
