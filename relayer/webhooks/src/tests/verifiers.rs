//! The verifiers of Standard Webhooks from npm and PyPI read what we send. `PURSER_NODE_MODULES` names a folder with the
//! first, `PURSER_PYTHON` an interpreter that has the second; `.ci/run` installs both. Without them the test says that it
//! had nothing to ask.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::Payload;
use purser_model::*;

const NODE: &str = r#"
const { Webhook } = require("standardwebhooks");
const crypto = require("crypto");
const input = JSON.parse(require("fs").readFileSync(0));
for (const { secret, body, headers } of input) {
  let own = crypto.createHmac("sha256", secret).update(body).digest("hex") === headers["x-service-signature"];
  let standard = true;
  try { new Webhook(secret).verify(body, headers); } catch (error) { standard = false; }
  console.log(`${own} ${standard}`);
}
"#;

const PYTHON: &str = r#"
import hashlib, hmac, json, sys
from standardwebhooks import Webhook
for one in json.load(sys.stdin):
    secret, body, headers = one["secret"], one["body"], one["headers"]
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    own = hmac.compare_digest(signature, headers["x-service-signature"])
    try:
        Webhook(secret).verify(body, headers)
        standard = True
    except Exception:
        standard = False
    print(str(own).lower(), str(standard).lower())
"#;

/// A delivery made now, also signed with the previous secret, in the form that the programs read.
fn delivery(secret: &WebhookSecret, previous: Option<&WebhookSecret>) -> serde_json::Value {
    let now = (purser_store::SystemClock::SYSTEM.now)();
    let event =
        Event::webhook_test(OperatorId::from_bytes([1; 16]), WebhookId::from_bytes([2; 16]), now, u128::MAX);
    let payload = Payload::new(event.id, event.envelope().get().into(), now, secret, previous);
    let headers: serde_json::Map<String, serde_json::Value> =
        payload.headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let body = String::from_utf8(payload.body).expect("UTF-8");
    serde_json::json!({ "secret": secret.expose(), "body": body, "headers": headers })
}

/// A good delivery, then ones that must be refused, then one that the previous secret still verifies.
fn cases() -> (Vec<serde_json::Value>, Vec<&'static str>) {
    let (secret, other) = (WebhookSecret::new(&[7; 32]), WebhookSecret::new(&[255; 32]));
    let good = delivery(&secret, None);
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let body = text(&good["body"]);
    let mut byte = good.clone();
    byte["body"] = body.replacen("webhook.test", "webhook.tesT", 1).into();
    let mut space = good.clone();
    space["body"] = format!("{body} ").into();
    let mut id = good.clone();
    id["headers"]["webhook-id"] = "evt_other".into();
    let mut old = good.clone();
    let seconds: i64 = text(&good["headers"]["webhook-timestamp"]).parse().expect("a number");
    old["headers"]["webhook-timestamp"] = (seconds - 600).to_string().into();
    let mut stranger = good.clone();
    stranger["secret"] = other.expose().into();
    let mut rotated = delivery(&secret, Some(&other));
    rotated["secret"] = other.expose().into();
    let cases = vec![good, byte, space, id, old, stranger, rotated];
    let verdicts = vec![
        "true true",
        "false false",
        "false false",
        // Only the standard signature covers id and time.
        "true false",
        "true false",
        "false false",
        // Only the new secret signs `X-Service-Signature`.
        "false true",
    ];
    (cases, verdicts)
}

fn agrees(mut verifier: Command) {
    let (cases, verdicts) = cases();
    let mut child =
        verifier.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the verifier starts");
    let input = serde_json::to_vec(&cases).expect("JSON");
    child.stdin.take().expect("piped").write_all(&input).expect("the verifier reads");
    let output = child.wait_with_output().expect("the verifier ends");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed.lines().collect::<Vec<_>>(), verdicts);
}

#[test]
fn the_verifier_from_npm_accepts_our_deliveries_and_refuses_a_changed_byte() {
    let Some(modules) = std::env::var_os("PURSER_NODE_MODULES") else {
        eprintln!("not asked: PURSER_NODE_MODULES is not set");
        return;
    };
    let mut node = Command::new("node");
    node.args(["-e", NODE]).env("NODE_PATH", modules);
    agrees(node);
}

#[test]
fn the_verifier_from_pypi_accepts_our_deliveries_and_refuses_a_changed_byte() {
    let Some(python) = std::env::var_os("PURSER_PYTHON") else {
        eprintln!("not asked: PURSER_PYTHON is not set");
        return;
    };
    let mut python = Command::new(python);
    python.args(["-c", PYTHON]);
    agrees(python);
}
