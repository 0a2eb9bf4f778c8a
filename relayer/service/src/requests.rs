//! Named requests: one that is repeated under its name is carried out once and answered alike.

use std::sync::Arc;

use std::future::Future;
use std::time::Duration;

use super::error::{RequestConflict, ServiceError};
use crate::Inside;
use purser_model::{
    AnswerKey, Fingerprint, IdempotencyKey, KeyId, Operator, REQUESTS_KEPT, Seed, SeededRandom, StoredAnswer,
    StoredBody, Timestamp,
};
use purser_store::{Due, NewRequest, RequestClaim, RequestState};

/// After this long without a sign from its process, another may take a request over. What a request makes follows from
/// its name, so two that carry it out at once make the same thing.
const LEASE: Duration = Duration::from_secs(30);

/// A request with its name.
#[derive(Debug, Clone)]
pub struct NamedRequest {
    pub idempotency_key: IdempotencyKey,
    pub fingerprint: Fingerprint,
    /// The API key that the request came with.
    pub key_id: KeyId,
    pub answer_key: AnswerKey,
}

/// What a request finds under its name.
pub enum RequestStart {
    /// Nothing yet: carry it out.
    Run(Box<Run>),
    /// The request was carried out: status and body.
    Answered(u16, String),
}

/// A request in flight under its name; [`end`] records the outcome.
pub struct Run {
    claim: NewRequest,
    is_first: bool,
    seed: Seed,
    answer_key: AnswerKey,
    /// The random bits it makes things from.
    pub drawn: SeededRandom,
}

/// The outcome of a request.
#[derive(Debug)]
pub enum RequestOutcome {
    /// It succeeded: status and body.
    Answered { status: u16, body: String, shows_secret: bool },
    /// It was refused: nothing was done.
    Refused,
    /// Something may have been done.
    Unknown,
}

/// Takes the name, or finds what it stands for. RequestConflict: it stands for another request, or its answer shows
/// a secret that another API key asked for. RequestRunning: the request is in flight.
pub async fn begin(
    inside: &Arc<Inside>,
    operator: &Operator,
    asked: NamedRequest,
) -> Result<RequestStart, ServiceError> {
    let conflict = |conflict| Err(ServiceError::RequestConflict(conflict));
    let now = inside.clock.now();
    let mut claim = NewRequest {
        operator_id: operator.id,
        idempotency_key: asked.idempotency_key,
        fingerprint: asked.fingerprint,
        key_id: asked.key_id,
        seed: Seed::new(inside.clock.random()),
        lease: format!("{:032x}", inside.clock.id_bits()),
        now,
        lease_expires_at: now.after(LEASE),
        forgotten_before: None,
    };
    let answer_key = asked.answer_key;
    let mut claimed = inside.store.requests.claim_request(&claim).await?;
    if claimed == RequestClaim::MayBeForgotten {
        claim.forgotten_before = Some(forgotten_before(inside, operator, now).await);
        claimed = inside.store.requests.claim_request(&claim).await?;
    }
    match claimed {
        RequestClaim::Mine { seed, drawn_at, is_first } => {
            let drawn = answer_key.draw(seed, drawn_at);
            Ok(RequestStart::Run(Box::new(Run { claim, is_first, seed, answer_key, drawn })))
        }
        RequestClaim::Answered { seed, answer: StoredAnswer { status, body } } => match body {
            StoredBody::Plain(body) => Ok(RequestStart::Answered(status, body)),
            StoredBody::Sealed(sealed) => match answer_key.open(seed, &sealed) {
                Some(body) => Ok(RequestStart::Answered(status, body)),
                None => conflict(RequestConflict::OtherApiKey),
            },
        },
        RequestClaim::Running | RequestClaim::MayBeForgotten => Err(ServiceError::RequestRunning),
        RequestClaim::Conflict => conflict(RequestConflict::OtherRequest),
        RequestClaim::OfOtherApiKey => conflict(RequestConflict::OtherApiKey),
    }
}

/// Before which names are free again: by our clock and the chain's. While they disagree none is, since one clock that
/// is ahead must not make anything a second time.
async fn forgotten_before(inside: &Arc<Inside>, operator: &Operator, now: Timestamp) -> Timestamp {
    let agreed = match inside.chains.get(operator.network) {
        Ok(network) => network.agreed_now(now).await,
        Err(_) => None,
    };
    Timestamp::from_unix_seconds(agreed.unwrap_or(i64::MIN)).before(REQUESTS_KEPT)
}

/// Carries a request out, and shows that its process is at it for as long as that takes.
pub async fn hold<T>(inside: &Arc<Inside>, run: &Run, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(LEASE / 3) => {}
        }
        if let Err(error) =
            inside.store.requests.lease_request(&run.claim, inside.clock.now().after(LEASE)).await
        {
            tracing::warn!(%error, "cannot extend the lease of a request");
        }
    }
}

/// Where a named request of the operator stands.
pub async fn state(
    inside: &Arc<Inside>,
    operator: &Operator,
    key: &IdempotencyKey,
) -> Result<RequestState, ServiceError> {
    Ok(inside
        .store
        .requests
        .find_request_state(operator.id, key, Due::within(inside.clock.now(), LEASE))
        .await?)
}

/// Records the outcome. If that fails, the next caller repeats the request from the same seed.
pub async fn end(inside: &Arc<Inside>, run: Box<Run>, ending: RequestOutcome) {
    let Run { claim, is_first, seed, answer_key, .. } = *run;
    let written = match ending {
        RequestOutcome::Answered { status, body, shows_secret } => {
            let body = if shows_secret {
                StoredBody::Sealed(answer_key.seal(seed, &body, &inside.clock.random()))
            } else {
                StoredBody::Plain(body)
            };
            inside.store.requests.mark_request_answered(&claim, &StoredAnswer { status, body }).await
        }
        RequestOutcome::Refused if is_first => inside.store.requests.delete_request(&claim).await,
        // An earlier try may have had an effect.
        RequestOutcome::Refused | RequestOutcome::Unknown => {
            inside.store.requests.lease_request(&claim, inside.clock.now()).await
        }
    };
    if let Err(error) = written {
        tracing::warn!(%error, "cannot record the outcome of a request");
    }
}
