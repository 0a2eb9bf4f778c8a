//! Stands in for the phone of the demo's approver: the two requests of a wallet, the signature, and the sending. The service has no part
//! in the key.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer;
use serde_json::{Value, json};

use super::api::{self, Api};
use super::keys;

/// How long the service may take to see the grant and pay.
const PAID_WITHIN: Duration = Duration::from_secs(60);
/// Before a transaction's message: how many signatures it has, and here one that is not made yet.
const BEFORE_MESSAGE: usize = 1 + 64;

/// The transfer at its end, and what to say of it.
pub fn approve(operator: &Api<'_>, rpc_url: &str, folder: &Path, transfer: &str) -> Result<(Value, String)> {
    let approver = keys::read_approver(folder)?;
    let wallet = bs58::encode(approver.verifying_key().as_bytes()).into_string();
    let approval = operator.get(&format!("/approvals/{transfer}"))?;
    let link = approval["approval_url"].as_str().context("the approval has no link")?;
    let token = link.rsplit('/').next().context("the link names nothing")?;
    let page = Api { base_url: operator.base_url.trim_end_matches("/v1"), key: operator.key };
    let label = page.get(&format!("/approve/{token}/pay"))?;
    let given = page.post(&format!("/approve/{token}/pay"), &json!({ "account": wallet }))?;
    let bytes = given["transaction"].as_str().context("there is no transaction to sign")?;
    let bytes = STANDARD.decode(bytes)?;
    ensure!(bytes.len() > BEFORE_MESSAGE && bytes[0] == 1, "the transaction is not for one signature");
    let message = &bytes[BEFORE_MESSAGE..];
    let signed = [&[1], approver.sign(message).to_bytes().as_slice(), message].concat();
    let options =
        json!([STANDARD.encode(signed), { "encoding": "base64", "preflightCommitment": "processed" }]);
    let signature = api::call(rpc_url, "sendTransaction", &options)?;
    let until = Instant::now() + PAID_WITHIN;
    loop {
        let paid = operator.get(&format!("/transfers/{transfer}"))?;
        let status = paid["status"].as_str().unwrap_or_default().to_owned();
        if !["pending_approval", "submitted"].contains(&status.as_str()) || Instant::now() >= until {
            let by = signature.as_str().unwrap_or_default();
            let of = label["label"].as_str().unwrap_or_default();
            return Ok((paid, format!("{of}: approved by {by}; the transfer is {status}")));
        }
        sleep(Duration::from_millis(200));
    }
}
