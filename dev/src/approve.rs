//! Stands in for the phone of the demo's approver: the two requests of a wallet, the signature, and the sending. The service has no part
//! in the key.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};

use super::api::{self, Api};
use super::keys;

/// How long the service may take to see the grant and pay.
const PAID_WITHIN: Duration = Duration::from_secs(60);
const SIGNATURE_BYTES: usize = 64;
const KEY_BYTES: usize = 32;
/// A message's header, and how many keys follow; those that sign come first.
const BEFORE_KEYS: usize = 3 + 1;

/// The transfer once it is settled, and what to say of it. Fails if it ends otherwise, or not in time.
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
    let signed = signed_by(&approver, &STANDARD.decode(bytes)?)
        .context("the transaction has no place for the signature of this wallet")?;
    let options =
        json!([STANDARD.encode(signed), { "encoding": "base64", "preflightCommitment": "processed" }]);
    let signature = api::call(rpc_url, "sendTransaction", &options)?;
    let until = Instant::now() + PAID_WITHIN;
    loop {
        let paid = operator.get(&format!("/transfers/{transfer}"))?;
        let is_under_way = paid["status"] == "pending_approval" || paid["status"] == "submitted";
        if !is_under_way || Instant::now() >= until {
            let said = outcome(&paid, &label, &signature)?;
            return Ok((paid, said));
        }
        sleep(Duration::from_millis(200));
    }
}

/// What to say of a transfer that was approved. Fails unless it is settled.
fn outcome(paid: &Value, label: &Value, signature: &Value) -> Result<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (status, by) = (text(&paid["status"]), text(signature));
    if status == "settled" {
        return Ok(format!("{}: approved by {by}; the transfer is settled", text(&label["label"])));
    }
    let why = paid["message"].as_str().unwrap_or("The service may not see the grant yet; its log says more.");
    bail!("signed ({by}), and not paid: the transfer is {status}. {why}")
}

/// The transaction with the wallet's signature in its own place. Before the message stand how many signatures there are, and these:
/// the service's is made where it pays. `None`: the wallet's is not asked for.
fn signed_by(wallet: &SigningKey, transaction: &[u8]) -> Option<Vec<u8>> {
    let count = usize::from(*transaction.first()?);
    let message = transaction.get(1 + count * SIGNATURE_BYTES..)?;
    let mut keys = message.get(BEFORE_KEYS..)?.chunks(KEY_BYTES).take(count);
    let place = keys.position(|key| key == wallet.verifying_key().as_bytes())?;
    let at = 1 + place * SIGNATURE_BYTES;
    let mut signed = transaction.to_vec();
    signed.get_mut(at..at + SIGNATURE_BYTES)?.copy_from_slice(&wallet.sign(message).to_bytes());
    Some(signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_succeeds_only_if_the_transfer_is_settled() {
        let label = json!({ "label": "Purser: Acme" });
        let of = |paid: Value| outcome(&paid, &label, &json!("5sig"));
        let said = of(json!({ "status": "settled" })).expect("settled");
        assert_eq!(said, "Purser: Acme: approved by 5sig; the transfer is settled");
        for (paid, named) in [
            (json!({ "status": "pending_approval" }), "its log"),
            (json!({ "status": "submitted" }), "submitted"),
            (json!({ "status": "rejected", "message": "Past the limit." }), "Past the limit."),
            (json!({ "status": "failed", "message": "It was void." }), "It was void."),
        ] {
            let error = of(paid).expect_err("not paid").to_string();
            assert!(error.contains("not paid") && error.contains(named), "{error}");
        }
    }
}
