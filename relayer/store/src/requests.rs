//! Named requests: claimed before any work starts, with their answers kept.

use super::due::Due;
use super::query::{columns, sql};
use super::row::{Listed, row};
use super::stored::OrEmpty;
use super::{Requests, Result};
use purser_model::{
    Fingerprint, IdempotencyKey, KeyId, OperatorId, REQUESTS_KEPT, Seed, StoredAnswer, StoredBody, Timestamp,
};

/// A request under a name that may or may not be free.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub operator_id: OperatorId,
    pub idempotency_key: IdempotencyKey,
    pub fingerprint: Fingerprint,
    pub key_id: KeyId,
    /// Used if the name is free.
    pub seed: Seed,
    /// Unique to this caller.
    pub lease: String,
    pub now: Timestamp,
    pub lease_expires_at: Timestamp,
    /// Names first used before this are free again, by every clock; `None`: those clocks were not asked yet.
    pub forgotten_before: Option<Timestamp>,
}

/// What a request finds under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestClaim {
    /// The caller is to carry it out, with this seed, drawn at this time; `is_first`: nobody has started it before.
    Mine { seed: Seed, drawn_at: Timestamp, is_first: bool },
    /// It was carried out.
    Answered { seed: Seed, answer: StoredAnswer },
    /// It is in flight.
    Running,
    /// The name was used for another request.
    Conflict,
    /// It was begun with another API key, and is not finished.
    OfOtherApiKey,
    /// By our clock alone its name is free again.
    MayBeForgotten,
}

/// Where a named request stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    Running,
    Answered(StoredAnswer),
    /// It ended without an answer that is kept, or its process is gone, or there is none.
    Left,
}

/// A request under its name.
struct FoundRequest {
    fingerprint: String,
    key_id: KeyId,
    seed: Seed,
    lease_expires_at: Timestamp,
    answer: Option<StoredAnswer>,
    created_at: Timestamp,
}

row! { FoundRequest {
    fingerprint, key_id, seed, lease_expires_at, created_at,
    answer(status_code, answer, is_sealed) = {
        let kind = if is_sealed { StoredBody::Sealed } else { StoredBody::Plain };
        Option::zip(status_code, answer).map(|(status, text)| StoredAnswer { status, body: kind(text) })
    },
}}

impl Requests {
    /// Takes a name, or returns what it stands for.
    pub async fn claim_request(&self, new: &NewRequest) -> Result<RequestClaim> {
        if self.insert_request(new).await? {
            return Ok(RequestClaim::Mine { seed: new.seed, drawn_at: new.now, is_first: true });
        }
        // It vanished between the two statements: its holder found nothing to do.
        let found = self.find_request(new.operator_id, &new.idempotency_key).await?;
        let Some(found) = found else { return Ok(RequestClaim::Running) };
        let FoundRequest { seed, created_at, .. } = found;
        if new.forgotten_before.is_none() && created_at <= new.now.before(REQUESTS_KEPT) {
            return Ok(RequestClaim::MayBeForgotten);
        }
        if found.fingerprint != new.fingerprint.to_hex() {
            return Ok(RequestClaim::Conflict);
        }
        if let Some(answer) = found.answer {
            return Ok(RequestClaim::Answered { seed, answer });
        }
        if !Due::of_lease(new.now, new.lease_expires_at).has(found.lease_expires_at) {
            return Ok(RequestClaim::Running);
        }
        if found.key_id != new.key_id {
            return Ok(RequestClaim::OfOtherApiKey);
        }
        if !self.take_request(new, seed, found.lease_expires_at).await? {
            return Ok(RequestClaim::Running);
        }
        Ok(RequestClaim::Mine { seed, drawn_at: created_at, is_first: false })
    }

    /// Inserts the request if its name is free, or free again. `false` otherwise.
    async fn insert_request(&self, new: &NewRequest) -> Result<bool> {
        sql! {
            "INSERT INTO requests {row}
             ON CONFLICT (operator_id, idempotency_key) DO UPDATE SET
                 fingerprint = excluded.fingerprint, key_id = excluded.key_id, seed = excluded.seed,
                 lease = excluded.lease, lease_expires_at = excluded.lease_expires_at, status_code = NULL,
                 answer = NULL, is_sealed = FALSE, created_at = excluded.created_at
             WHERE requests.created_at <= {forgotten_before}",
            row = columns! {
                new.operator_id, new.idempotency_key, new.fingerprint, new.key_id, new.seed, new.lease,
                new.lease_expires_at, created_at = new.now
            },
            forgotten_before = OrEmpty(new.forgotten_before)
        }
        .touches(self.writer())
        .await
    }

    /// Where the request under a name stands.
    pub async fn find_request_state(
        &self,
        operator: OperatorId,
        key: &IdempotencyKey,
        lease: Due,
    ) -> Result<RequestState> {
        let Some(found) = self.find_request(operator, key).await? else { return Ok(RequestState::Left) };
        Ok(match found.answer {
            Some(answer) => RequestState::Answered(answer),
            None if lease.has(found.lease_expires_at) => RequestState::Left,
            None => RequestState::Running,
        })
    }

    async fn find_request(&self, operator: OperatorId, key: &IdempotencyKey) -> Result<Option<FoundRequest>> {
        sql! {
            "SELECT {columns} FROM requests WHERE operator_id = {operator} AND idempotency_key = {key}",
            columns = FoundRequest::COLUMNS, operator, key
        }
        .fetch_optional(self.reader())
        .await
    }

    /// Takes over a request whose lease has expired. `false` when somebody else did.
    async fn take_request(&self, new: &NewRequest, seed: Seed, seen: Timestamp) -> Result<bool> {
        sql! {
            "UPDATE requests SET lease = {lease}, lease_expires_at = {lease_expires_at}
             WHERE operator_id = {operator_id} AND idempotency_key = {idempotency_key} AND seed = {seed}
                 AND status_code IS NULL AND lease_expires_at = {seen}",
            new.lease, new.lease_expires_at, new.operator_id, new.idempotency_key, seed, seen
        }
        .touches(self.writer())
        .await
    }

    /// Stores a request's answer, unless somebody else has taken the request over.
    pub async fn mark_request_answered(&self, new: &NewRequest, answer: &StoredAnswer) -> Result<()> {
        let (text, is_sealed) = match &answer.body {
            StoredBody::Plain(text) => (text, false),
            StoredBody::Sealed(text) => (text, true),
        };
        sql! {
            "UPDATE requests SET status_code = {status}, answer = {text}, is_sealed = {is_sealed}
             WHERE operator_id = {operator_id} AND idempotency_key = {idempotency_key} AND lease = {lease}
                 AND status_code IS NULL",
            answer.status, text, is_sealed, new.operator_id, new.idempotency_key, new.lease
        }
        .run(self.writer())
        .await
    }

    /// Sets until when nobody else takes the request over. Now: something may have been done, the name stays taken, and the
    /// next caller goes on.
    pub async fn lease_request(&self, new: &NewRequest, until: Timestamp) -> Result<()> {
        sql! {
            "UPDATE requests SET lease_expires_at = {until}
             WHERE operator_id = {operator_id} AND idempotency_key = {idempotency_key} AND lease = {lease}
                 AND status_code IS NULL",
            until, new.operator_id, new.idempotency_key, new.lease
        }
        .run(self.writer())
        .await
    }

    /// Nothing was done: frees the name.
    pub async fn delete_request(&self, new: &NewRequest) -> Result<()> {
        sql! {
            "DELETE FROM requests
             WHERE operator_id = {operator_id} AND idempotency_key = {idempotency_key} AND lease = {lease}
                 AND status_code IS NULL",
            new.operator_id, new.idempotency_key, new.lease
        }
        .run(self.writer())
        .await
    }
}
