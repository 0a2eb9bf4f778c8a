//! What every extension over HTTP shares, REST among them: who asks and how often, bodies, ids, errors, and how a request is done once.

pub(crate) mod accept;
mod action;
mod acts;
pub(crate) mod auth;
pub(crate) mod body;
mod client_address;
mod csv;
mod entry;
pub(crate) mod error;
pub(crate) mod error_body;
pub mod file;
pub(crate) mod headers;
pub(crate) mod once;
pub(crate) mod page;
mod rate_limit;
pub(crate) mod request_id;
pub(crate) mod stops;
mod strangers;
mod transfer;
pub(crate) mod unpaid;

use std::num::NonZeroU32;
use std::time::Duration;

pub use self::accept::is_wanted;
pub use self::action::actions_as_file;
pub use self::acts::{Act, OnRecord, on_record, part_on_record, request_name};
pub use self::auth::{AnyKey, Guard, OperatorOnly, OverRate, log_caller};
pub use self::body::{Json, NoFields, Nothing, check_json, receive};
pub(crate) use self::client_address::Peer;
pub use self::client_address::{ClientAddress, TrustedProxies};
pub use self::entry::{EntryResponse, all_entries_as_file, entries_as_file};
pub use self::error::{ApiError, Code};
pub use self::error_body::ErrorBody;
pub use self::file::FileFormat;
pub use self::headers::{IdempotencyKeyHeader, name_once};
pub use self::once::{
    ANSWER_BYTES_MAX, HasChanged, RequestRandom, carry_out, idempotency_header, mark_replayed, shown_once,
};
pub use self::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, PathId, page_parameters, query_parameter};
pub use self::request_id::RequestId;
pub use self::transfer::{TransferResponse, named_once, required};
use purser_base::metrics::Metrics;
pub use purser_model::wire::Fields;

/// Largest request body, in bytes.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// HTTP settings.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// No answer takes longer than this.
    pub request_timeout: Duration,
    /// The steady rate of one key, in requests a second.
    pub requests_per_second: NonZeroU32,
    /// How many requests one key may make at once.
    pub burst: NonZeroU32,
    /// How many times as much all keys of one operator may ask together.
    pub operator_times: NonZeroU32,
    /// How many unknown keys are looked up a second.
    pub unknown_keys_per_second: NonZeroU32,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
    /// Where browsers reach the service: `server.public_url`, or this machine at its port.
    pub public_url: String,
    pub metrics: Metrics,
}
