//! A relayer over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use purser_replay::AuditError;
use purser_replay::history::{Api, RelayerTransport};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

const TIMEOUT: Duration = Duration::from_secs(60);

struct HttpRelayer {
    client: Client,
    base: String,
    key: String,
}

/// `base`: with or without `/v1`.
pub fn relayer_at(base: &Url, key: String) -> Result<Api, AuditError> {
    let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).build();
    let client =
        client.map_err(|error| AuditError::Refused(format!("cannot make an HTTP client: {error}")))?;
    let base = base.as_str().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    Ok(Api::over(HttpRelayer { client, base, key }))
}

#[async_trait]
impl RelayerTransport for HttpRelayer {
    async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<(u16, Vec<u8>), String> {
        let failed = |error: reqwest::Error| error.to_string();
        let asked = self.client.get(format!("{}{path}", self.base)).query(query).bearer_auth(&self.key);
        let answer = asked.send().await.map_err(failed)?;
        let status = answer.status().as_u16();
        Ok((status, answer.bytes().await.map_err(failed)?.into()))
    }
}
