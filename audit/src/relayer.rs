//! A relayer over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use purser_replay::AuditError;
use purser_replay::history::{Api, RelayerTransport};
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};

const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a relayer is asked that says it is asked too often, and how long it is waited for in between.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

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
        let ask =
            || self.client.get(format!("{}{path}", self.base)).query(query).bearer_auth(&self.key).send();
        let mut answer = ask().await.map_err(failed)?;
        for _ in 1..TRIES {
            if answer.status() != StatusCode::TOO_MANY_REQUESTS {
                break;
            }
            let asked = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            tokio::time::sleep(asked.map_or(PAUSE, Duration::from_secs).min(PAUSE_MAX)).await;
            answer = ask().await.map_err(failed)?;
        }
        let status = answer.status().as_u16();
        Ok((status, answer.bytes().await.map_err(failed)?.into()))
    }
}
