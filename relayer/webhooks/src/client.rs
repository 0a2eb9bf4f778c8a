//! One POST to somebody else's server: guarded, bounded in time and size, without redirects.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout_at};

use super::payload::Payload;
use super::resolver::Resolve;
use super::resolver::{GuardedResolver, NotReachable};
use purser_base::lookup::NoRoom;
use purser_model::{AttemptOutcome, DestinationRules, Unanswered, WebhookUrl};

/// How long an attempt may take: resolving, connecting, sending and reading the answer.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an answer's body is read, in bytes; it is kept for the operator.
const BODY_BYTES_MAX: usize = 1_024;
const IDLE_CONNECTION: Duration = Duration::from_secs(10);

/// Carries a payload to a URL.
#[async_trait]
pub trait Post: Send + Sync + 'static {
    /// Makes one attempt, which has an outcome within 10 s. NoRoom: none was made, and the receiver is not to blame.
    async fn post(&self, url: &WebhookUrl, payload: Payload) -> Result<AttemptOutcome, NoRoom>;
}

/// HTTP, to destinations that the rules allow.
pub struct HttpClient {
    http: reqwest::Client,
    rules: Arc<DestinationRules>,
}

impl HttpClient {
    /// A client that only connects to addresses that `resolve` gave and `rules` allow.
    /// Errors: the TLS roots cannot be set up.
    pub fn new(resolve: Arc<dyn Resolve>, rules: Arc<DestinationRules>) -> Result<Self, reqwest::Error> {
        let http = guarded(resolve, rules.clone())
            .timeout(ATTEMPT_TIMEOUT)
            .user_agent(concat!("Purser-Webhooks/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { http, rules })
    }
}

/// A client that connects only to addresses that `resolve` gave and `rules` allow, and follows no redirects. The caller must
/// check a URL whose host is an address.
pub(super) fn guarded(resolve: Arc<dyn Resolve>, rules: Arc<DestinationRules>) -> reqwest::ClientBuilder {
    let client = reqwest::Client::builder();
    // Only the public authorities vouch for receivers, whatever this machine trusts besides.
    #[cfg(feature = "trusts-machine")]
    let client = client.tls_built_in_native_certs(false);
    client
        .dns_resolver(Arc::new(GuardedResolver { resolve, rules }))
        .redirect(Policy::none())
        // A proxy would resolve names itself.
        .no_proxy()
        .pool_idle_timeout(IDLE_CONNECTION)
        .pool_max_idle_per_host(4)
        .referer(false)
}

#[async_trait]
impl Post for HttpClient {
    async fn post(&self, url: &WebhookUrl, payload: Payload) -> Result<AttemptOutcome, NoRoom> {
        // The resolver is not asked about hosts that are addresses already.
        if url.check(&self.rules).is_err() {
            return Ok(AttemptOutcome::Unanswered(Unanswered::Refused));
        }
        let deadline = Instant::now() + ATTEMPT_TIMEOUT;
        let mut request = self.http.post(url.as_str()).body(payload.body);
        for (name, value) in payload.headers {
            request = request.header(name, value);
        }
        Ok(match timeout_at(deadline, request.send()).await {
            Err(_) => AttemptOutcome::Unanswered(Unanswered::TimedOut),
            Ok(Err(error)) => AttemptOutcome::Unanswered(reason(&error)?),
            Ok(Ok(answer)) => {
                let status = answer.status().as_u16();
                let (bytes, _) = beginning(answer, BODY_BYTES_MAX, deadline).await;
                // No database text can hold a NUL.
                let body = String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}");
                AttemptOutcome::Answered { status, body }
            }
        })
    }
}

/// The beginning of the body, and whether there was more. The status has already decided; this keeps what comes in time.
pub(super) async fn beginning(
    mut answer: reqwest::Response,
    bytes_max: usize,
    deadline: Instant,
) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    while bytes.len() <= bytes_max {
        match timeout_at(deadline, answer.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            Ok(Ok(None)) => return (bytes, false),
            Ok(Err(_)) | Err(_) => break,
        }
    }
    bytes.truncate(bytes_max);
    (bytes, true)
}

pub(super) fn reason(error: &reqwest::Error) -> Result<Unanswered, NoRoom> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        match current.downcast_ref::<NotReachable>() {
            Some(NotReachable::Refused) => return Ok(Unanswered::Refused),
            Some(NotReachable::NotResolved) => return Ok(Unanswered::NotResolved),
            Some(NotReachable::NoRoom(no_room)) => return Err(*no_room),
            None => cause = current.source(),
        }
    }
    Ok(if error.is_timeout() {
        Unanswered::TimedOut
    } else if error.is_connect() {
        Unanswered::NotConnected
    } else {
        Unanswered::Broken
    })
}
