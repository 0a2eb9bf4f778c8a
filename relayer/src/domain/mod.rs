//! Purser's vocabulary: pure values, parsed once at the edge and trusted afterwards.
//! Knows `purser_policy`, an id crate and a time crate; never tokio, sqlx, axum or Solana types.

mod account;
mod address;
mod amount;
mod balance;
mod body;
mod cell;
mod chain_wins;
mod cidrs;
mod claim;
mod counterparties;
mod delivery;
mod denial;
mod destination;
mod event;
mod failure;
mod halt;
mod history;
mod idempotency;
mod ids;
mod invalid;
mod key;
mod memo;
mod network;
mod operator;
mod page;
mod payments;
mod pending;
mod policy;
mod policy_version;
mod principal;
mod quotas;
mod recipient;
mod rejection;
mod request;
mod retention;
pub(crate) mod schema;
mod sealing;
mod session;
mod spent;
mod stop;
mod time;
mod transfer;
mod transfer_state;
mod webhook;
mod webhook_secret;
mod x402;

pub use account::{
    Account, AccountChange, AccountName, AccountPlace, AccountStatus, METADATA_BYTES_MAX, METADATA_KEYS_MAX,
    Metadata, MetadataChange, NAME_CHARS_MAX, Provisioning,
};
pub use address::{Address, AddressError};
pub use amount::{amount_from_json, amount_from_text, amount_to_json, limit_from_json, limit_to_json};
pub use balance::{BalanceSeen, KnownBalance, PaidBefore};
pub use body::{no_json, param_of, read_body};
pub use cell::{CellName, CellNameError};
pub use chain_wins::{Contradiction, PaymentMade, PaymentMeans};
pub use cidrs::{AllowedCidrs, CIDRS_MAX, read_range};
pub use claim::{Claim, Reuse, UsedKey};
pub use counterparties::{AllowlistEntry, Counterparties, CounterpartyKind};
pub use delivery::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, DeliveryStatus, RETRY_DELAYS, Unanswered,
};
pub use denial::{
    Denial, DenialDocument, DenialHead, DenialSignature, Refused, Unsigned as UnsignedDenial, denials_filter,
};
pub use destination::{DestinationRules, URL_CHARS_MAX, WebhookUrl, may_reach};
pub use event::{Event, EventType, HaltSet, PolicySet, SetBy, Subject};
pub use failure::{Failure, FailureCode};
pub use halt::{Halt, HaltScope, HaltedBy};
pub use history::{
    Counterparty, EntryKind, EntryOutcome, HistoryEntry, HistoryFilter, HistoryStatus, Party, PlacedEntry,
    entry_id, happened_at, own_settlement, position_after,
};
pub use idempotency::{
    Fingerprint, IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_SECONDS, IdempotencyKey, transfer_tag,
};
pub use ids::{AccountId, EntryId, EventId, IdError, KeyId, OperatorId, TransferId, WebhookId, new_agent_id};
pub use invalid::{Invalid, check_name};
pub use key::{ApiKey, HashedKey, KeyHint, KeyRole, KeyScope, PlainKey};
pub use memo::{MEMO_CHARS_MAX, Memo};
pub use network::Network;
pub use operator::{Operator, OperatorName};
pub use page::{Cursor, Page, PageLimit, PageRequest};
pub use payments::{KnownPayments, PaymentNumber};
pub use pending::PendingPolicy;
pub(crate) use policy::Fields as PolicyUpdateFields;
pub use policy::{PolicyFields, PolicyUpdate, SpendingPolicy};
pub use policy_version::{Asking, PolicyReason, PolicyVersion, REASON_CHARS_MAX};
pub use principal::Principal;
pub use purser_policy::{Limit, UsdcAmount};
pub use quotas::{QuotaExceeded, Quotas};
pub use recipient::{RECIPIENT_CHARS_MAX, Recipient};
pub use rejection::{CheckedRule, Checks, Rejection, RejectionReason, RuleCheck};
pub use request::{AnswerKey, Drawn, RequestFingerprint, Seed, StoredAnswer, StoredBody};
pub use retention::{REQUESTS_KEPT, Retention, TooOld};
pub use session::{SESSION_IDLE_MAX, SESSION_LIFE_MAX, Session, SessionToken};
pub use spent::Spent;
pub use stop::{Stop, Stopped};
pub use time::Timestamp;
pub use transfer::{Transfer, TransferFilter, TransferRequest};
pub use transfer_state::{Settlement, SignedTransfer, TransferState, TransferStatus, WrongState};
pub use webhook::{
    DisabledReason, EndpointHealth, FAILING_MAX, FAILURES_MAX, SECRET_OVERLAP, Subscription,
    WEBHOOK_ACCOUNTS_MAX, WEBHOOKS_MAX, Webhook, WebhookStatus,
};
pub use webhook_secret::{SealedSecret, SealingKey, SealingKeyError, Unsealable, WebhookSecret};
pub use x402::{
    Offer, PURCHASE_BODY_BYTES_MAX, PaidResource, Purchase, PurchaseMethod, RESOURCE_BYTES_MAX, Receipt,
    ResourceBody, Terms, from_header,
};
