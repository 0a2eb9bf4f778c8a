//! The receiver in Rust of `docs/build/webhooks.md`, where it must stand word for word.
#![expect(clippy::disallowed_methods, reason = "it has no drain")]

use std::collections::HashSet;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::sync::mpsc;

type Work = mpsc::UnboundedSender<serde_json::Value>;

async fn receive(
    State((secret, work)): State<(String, Work)>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let given =
        headers.get("x-service-signature").and_then(|value| hex::decode(value).ok()).unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length is a key");
    mac.update(&body);
    // Compares in constant time.
    if mac.verify_slice(&given).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    let Ok(event) = serde_json::from_slice(&body) else { return StatusCode::BAD_REQUEST };
    match work.send(event) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[tokio::main]
async fn main() {
    let secret = std::env::var("PURSER_WEBHOOK_SECRET").expect("the secret");
    let (work, mut waiting) = mpsc::unbounded_channel::<serde_json::Value>();
    tokio::spawn(async move {
        let mut seen = HashSet::new(); // a unique column of your database
        while let Some(event) = waiting.recv().await {
            if seen.insert(event["id"].to_string()) {
                println!("{} {}", event["type"], event["data"]);
            }
        }
    });
    let router = Router::new().route("/purser", post(receive)).with_state((secret, work));
    let listener = tokio::net::TcpListener::bind("0.0.0.0:3000").await.expect("a port");
    axum::serve(listener, router).await.expect("served");
}
