//! What a relayer answers.

use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::AuditError;

/// How a relayer is reached.
#[async_trait]
pub trait RelayerTransport: Send + Sync {
    /// Status and body of a GET, with the API key, of this path with this query.
    async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<(u16, Vec<u8>), String>;
}

/// A relayer.
pub struct Api(pub(super) Box<dyn RelayerTransport>);

#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
    cursor: Option<String>,
    has_more: bool,
}

/// An entry of a history.
#[derive(Deserialize)]
pub(super) struct WireEntry {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub amount_usdc: String,
    pub counterparty: Option<String>,
    pub memo: Option<String>,
    pub transfer_id: Option<String>,
    pub tx_signature: Option<String>,
    /// Of a rejected one.
    pub message: Option<String>,
    pub created_at: String,
    pub visible_at: String,
}

#[derive(Deserialize)]
pub(super) struct WireAccount {
    pub account_id: String,
    pub solana_address: String,
    pub created_at: String,
}

#[derive(Deserialize)]
struct WireBalance {
    balance_usdc: String,
}

/// A signed refusal, as far as a history says the same.
#[derive(Deserialize)]
pub(super) struct WireDenial {
    pub denial: Denial,
}

#[derive(Deserialize)]
pub(super) struct Denial {
    pub account_id: String,
    pub amount_micro_usdc: String,
    pub message: String,
    pub rejected_at: String,
    pub transfer_id: String,
}

impl Api {
    pub fn over(transport: impl RelayerTransport + 'static) -> Self {
        Self(Box::new(transport))
    }

    /// The latest visible first; `None` if the key does not give access.
    pub(super) async fn history(&self, id: &str) -> Result<Option<Vec<WireEntry>>, AuditError> {
        let path = format!("/v1/accounts/{id}/transactions");
        self.pages("GET /v1/accounts/:id/transactions", &path, &[("status", "all")]).await
    }

    pub(super) async fn accounts(&self) -> Result<Option<Vec<WireAccount>>, AuditError> {
        self.pages("GET /v1/accounts", "/v1/accounts", &[]).await
    }

    /// What the relayer says that an account holds now; `None` if the key does not give access.
    pub(super) async fn balance(&self, id: &str) -> Result<Option<String>, AuditError> {
        let path = format!("/v1/accounts/{id}/balance");
        let answer: Option<WireBalance> = self.ask("GET /v1/accounts/:id/balance", &path, &[]).await?;
        Ok(answer.map(|answer| answer.balance_usdc))
    }

    /// `None` too if the relayer does not sign refusals.
    pub(super) async fn denials(&self) -> Result<Option<Vec<WireDenial>>, AuditError> {
        self.pages("GET /v1/denials", "/v1/denials", &[]).await
    }

    async fn pages<T: DeserializeOwned>(
        &self,
        what: &'static str,
        path: &str,
        fixed: &[(&str, &str)],
    ) -> Result<Option<Vec<T>>, AuditError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let mut query = vec![("limit", "100".to_owned())];
            query.extend(fixed.iter().map(|(name, value)| (*name, (*value).to_owned())));
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page: Option<Page<T>> = self.ask(what, path, &query).await?;
            let Some(page) = page else { return Ok(None) };
            all.extend(page.data);
            cursor = page.cursor.filter(|_| page.has_more);
            if cursor.is_none() {
                return Ok(Some(all));
            }
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        what: &'static str,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Option<T>, AuditError> {
        let failed = |why: String| AuditError::Node { host: "the relayer".to_owned(), method: what, why };
        let (status, body) = self.0.get(path, query).await.map_err(failed)?;
        match status {
            200 => serde_json::from_slice(&body).map(Some).map_err(|error| failed(error.to_string())),
            403 | 404 | 501 => Ok(None),
            401 => Err(failed("the relayer does not know the key".into())),
            status => Err(failed(format!("HTTP {status}"))),
        }
    }
}
