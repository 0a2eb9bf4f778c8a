//! Named requests: claimed before any work starts, with their answers kept.

use macro_rules_attribute::derive;

use super::columns::Table;
use super::due::Due;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{
    IdempotencyKey, KeyId, OperatorId, REQUESTS_KEPT, RequestFingerprint, Seed, StoredAnswer, StoredBody,
    Timestamp,
};

const TABLE: Table = Table("requests");

/// A request under a name that may or may not be free.
#[derive(Debug, Clone)]
pub struct NewRequest {
    pub operator_id: OperatorId,
    pub idempotency_key: IdempotencyKey,
    pub fingerprint: RequestFingerprint,
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

#[derive(Debug, ByName!)]
struct RequestRow {
    fingerprint: String,
    key_id: String,
    seed: String,
    lease_expires_at: String,
    status_code: Option<i64>,
    answer: Option<String>,
    is_sealed: bool,
    created_at: String,
}

impl RequestRow {
    fn seed(&self) -> Result<Seed, StoreError> {
        Seed::from_hex(&self.seed).ok_or_else(|| TABLE.unreadable("seed"))
    }

    fn answer(&self) -> Result<Option<StoredAnswer>, StoreError> {
        let (Some(status), Some(text)) = (self.status_code, &self.answer) else { return Ok(None) };
        let status = u16::try_from(status).map_err(|_| TABLE.unreadable("status_code"))?;
        let body =
            if self.is_sealed { StoredBody::Sealed(text.clone()) } else { StoredBody::Plain(text.clone()) };
        Ok(Some(StoredAnswer { status, body }))
    }
}

impl Store {
    /// Takes a name, or returns what it stands for.
    pub async fn claim_request(&self, new: &NewRequest) -> Result<RequestClaim, StoreError> {
        if self.insert_request(new).await? {
            return Ok(RequestClaim::Mine { seed: new.seed, drawn_at: new.now, is_first: true });
        }
        // It vanished between the two statements: its holder found nothing to do.
        let found = self.find_request(new.operator_id, &new.idempotency_key).await?;
        let Some(row) = found else { return Ok(RequestClaim::Running) };
        let created_at: Timestamp = TABLE.read("created_at", &row.created_at)?;
        if new.forgotten_before.is_none() && created_at <= new.now.before(REQUESTS_KEPT) {
            return Ok(RequestClaim::MayBeForgotten);
        }
        if row.fingerprint != new.fingerprint.to_hex() {
            return Ok(RequestClaim::Conflict);
        }
        if let Some(answer) = row.answer()? {
            return Ok(RequestClaim::Answered { seed: row.seed()?, answer });
        }
        let lease_expires_at: Timestamp = TABLE.read("lease_expires_at", &row.lease_expires_at)?;
        if !Due::of_lease(new.now, new.lease_expires_at).has(lease_expires_at) {
            return Ok(RequestClaim::Running);
        }
        if row.key_id != new.key_id.to_string() {
            return Ok(RequestClaim::OfOtherApiKey);
        }
        if !self.take_request(new, &row).await? {
            return Ok(RequestClaim::Running);
        }
        Ok(RequestClaim::Mine { seed: row.seed()?, drawn_at: created_at, is_first: false })
    }

    /// Inserts the request if its name is free, or free again. `false` otherwise.
    async fn insert_request(&self, new: &NewRequest) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO requests
                 (operator_id, idempotency_key, fingerprint, key_id, seed, lease, lease_expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (operator_id, idempotency_key) DO UPDATE SET
                 fingerprint = excluded.fingerprint, key_id = excluded.key_id, seed = excluded.seed,
                 lease = excluded.lease, lease_expires_at = excluded.lease_expires_at, status_code = NULL,
                 answer = NULL, is_sealed = FALSE, created_at = excluded.created_at
             WHERE requests.created_at <= $9";
        let touched = query(SQL)
            .bind(new.operator_id.to_string())
            .bind(new.idempotency_key.as_str())
            .bind(new.fingerprint.to_hex())
            .bind(new.key_id.to_string())
            .bind(new.seed.to_hex())
            .bind(new.lease.as_str())
            .bind(new.lease_expires_at.to_string())
            .bind(new.now.to_string())
            .bind(new.forgotten_before.map(|before| before.to_string()).unwrap_or_default())
            .execute(self.writer())
            .await?;
        Ok(touched == 1)
    }

    /// Where the request under a name stands.
    pub async fn find_request_state(
        &self,
        operator: OperatorId,
        key: &IdempotencyKey,
        lease: Due,
    ) -> Result<RequestState, StoreError> {
        let Some(row) = self.find_request(operator, key).await? else { return Ok(RequestState::Left) };
        if let Some(answer) = row.answer()? {
            return Ok(RequestState::Answered(answer));
        }
        let lease_expires_at: Timestamp = TABLE.read("lease_expires_at", &row.lease_expires_at)?;
        Ok(if lease.has(lease_expires_at) { RequestState::Left } else { RequestState::Running })
    }

    async fn find_request(
        &self,
        operator: OperatorId,
        key: &IdempotencyKey,
    ) -> Result<Option<RequestRow>, StoreError> {
        const SQL: &str =
            "SELECT fingerprint, key_id, seed, lease_expires_at, status_code, answer, is_sealed, created_at
             FROM requests WHERE operator_id = $1 AND idempotency_key = $2";
        query(SQL).bind(operator.to_string()).bind(key.as_str()).fetch_optional(self.reader()).await
    }

    /// Takes over a request whose lease has expired. `false` when somebody else did.
    async fn take_request(&self, new: &NewRequest, seen: &RequestRow) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE requests SET lease = $3, lease_expires_at = $4
             WHERE operator_id = $1 AND idempotency_key = $2 AND seed = $5 AND status_code IS NULL
                 AND lease_expires_at = $6";
        let touched = query(SQL)
            .bind(new.operator_id.to_string())
            .bind(new.idempotency_key.as_str())
            .bind(new.lease.as_str())
            .bind(new.lease_expires_at.to_string())
            .bind(seen.seed.as_str())
            .bind(seen.lease_expires_at.as_str())
            .execute(self.writer())
            .await?;
        Ok(touched == 1)
    }

    /// Stores a request's answer, unless somebody else has taken the request over.
    pub async fn mark_request_answered(
        &self,
        new: &NewRequest,
        answer: &StoredAnswer,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE requests SET status_code = $4, answer = $5, is_sealed = $6
             WHERE operator_id = $1 AND idempotency_key = $2 AND lease = $3 AND status_code IS NULL";
        let (text, is_sealed) = match &answer.body {
            StoredBody::Plain(text) => (text, false),
            StoredBody::Sealed(text) => (text, true),
        };
        query(SQL)
            .bind(new.operator_id.to_string())
            .bind(new.idempotency_key.as_str())
            .bind(new.lease.as_str())
            .bind(i64::from(answer.status))
            .bind(text.as_str())
            .bind(is_sealed)
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Sets until when nobody else takes the request over. Now: something may have been done, the name stays taken, and the
    /// next caller goes on.
    pub async fn lease_request(&self, new: &NewRequest, until: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE requests SET lease_expires_at = $4
             WHERE operator_id = $1 AND idempotency_key = $2 AND lease = $3 AND status_code IS NULL";
        query(SQL)
            .bind(new.operator_id.to_string())
            .bind(new.idempotency_key.as_str())
            .bind(new.lease.as_str())
            .bind(until.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Nothing was done: frees the name.
    pub async fn delete_request(&self, new: &NewRequest) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM requests
             WHERE operator_id = $1 AND idempotency_key = $2 AND lease = $3 AND status_code IS NULL";
        query(SQL)
            .bind(new.operator_id.to_string())
            .bind(new.idempotency_key.as_str())
            .bind(new.lease.as_str())
            .execute(self.writer())
            .await?;
        Ok(())
    }
}
