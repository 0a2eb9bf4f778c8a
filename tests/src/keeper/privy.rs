//! Privy's wallet API: https://docs.privy.io/api-reference/wallets/solana/sign-transaction

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Answered, Desk, is};
use crate::request::Request;

pub const SECRET: &str = "privy-app-secret";
const APP: &str = "cm0purserapp";
const WALLET: &str = "id2tptkqrxd39qo9j423etij";

pub fn settings(url: &str, secret_file: &str) -> Vec<(&'static str, String)> {
    vec![
        ("KIND", "privy".into()),
        ("URL", format!("{url}/v1")),
        ("APP", APP.into()),
        ("WALLET", WALLET.into()),
        ("CREDENTIAL_FILE", secret_file.into()),
    ]
}

pub fn answers(desk: &Desk, asked: &Request) -> Answered {
    let basic = format!("Basic {}", STANDARD.encode(format!("{APP}:{SECRET}")));
    is(asked.header("authorization")?, &basic)?;
    is(asked.header("privy-app-id")?, APP)?;
    let wallet = format!("/v1/wallets/{WALLET}");
    match asked.route() {
        ("GET", path) if path == wallet => Ok(json!({
            "id": WALLET, "address": desk.address(), "chain_type": "solana", "policy_ids": [], "owner_id": null,
            "additional_signers": [], "exported_at": null, "imported_at": null, "created_at": 1741834854578_u64,
        })),
        ("POST", path) if path == format!("{wallet}/rpc") => {
            let body = asked.json()?;
            is(&body["method"], &json!("signTransaction"))?;
            let parameters = &body["params"];
            is(&parameters["encoding"], &json!("base64"))?;
            let unsigned = parameters["transaction"].as_str().ok_or("no transaction")?;
            let unsigned = STANDARD.decode(unsigned).map_err(|_| "no base64")?;
            let signed = STANDARD.encode(desk.signs_transaction(&unsigned)?);
            let data = json!({ "signed_transaction": signed, "encoding": "base64" });
            Ok(json!({ "method": "signTransaction", "data": data }))
        }
        _ => Err("no such route".into()),
    }
}
