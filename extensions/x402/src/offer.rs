//! Payments by x402, version 2, scheme `exact` on Solana: the server's offer, and the payment handed to it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_model::{Address, Network, Terms, TransferId, UsdcAmount};
use purser_service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::purchase::Purchase;

/// Most bytes of a resource that are returned and kept.
pub const RESOURCE_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of our memo and the server's together that fit one transaction.
const MEMO_BYTES_MAX: usize = 560;
/// Most characters of a seller's reason, and of a field of its offer, that a message quotes.
const REASON_CHARS_MAX: usize = 2_000;
const FIELD_CHARS_MAX: usize = 200;
/// An extension by which a seller recognises a payment that comes twice.
const PAYMENT_IDENTIFIER: &str = "payment-identifier";
const VERSION: u8 = 2;
const SCHEME: &str = "exact";

/// A server's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidResource {
    pub status: u16,
    pub content_type: Option<String>,
    /// Where a redirect leads. It is not followed.
    #[serde(default)]
    pub location: Option<String>,
    /// The beginning of the body.
    pub body: ResourceBody,
    /// The body was longer.
    pub is_cut: bool,
    /// The decoded header `PAYMENT-REQUIRED`: an offer, or why a payment was refused.
    #[serde(skip)]
    pub required: Option<Vec<u8>>,
    /// The decoded header `PAYMENT-RESPONSE`.
    pub receipt: Option<Receipt>,
}

impl PaidResource {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// As it is kept with its transfer.
    pub fn to_json(&self) -> String {
        // Text and numbers always serialise to JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Internal: it was not written by [`Self::to_json`].
    pub fn of_json(json: &str) -> Result<Self, ServiceError> {
        serde_json::from_str(json).map_err(|error| {
            tracing::error!(%error, "what was kept of a purchase cannot be read");
            ServiceError::Internal
        })
    }

    /// That the server did not take the payment it holds, as a sentence with its own words. `None`: it took it, or may still.
    pub fn refused(&self) -> Option<String> {
        const TOO_SLOW_OR_TOO_MANY: [u16; 2] = [408, 429];
        if !matches!(self.status, 400..=499) || TOO_SLOW_OR_TOO_MANY.contains(&self.status) {
            return None;
        }
        let reason = self.refusal().or_else(|| self.receipt.as_ref()?.error_reason.clone());
        let reason = reason.or_else(|| self.reason_in_body());
        let words = quoted(&reason.unwrap_or_default(), REASON_CHARS_MAX);
        let said = if words.is_empty() { String::new() } else { format!(": \"{words}\"") };
        Some(format!("The seller refused the payment with status {}{said}.", self.status))
    }

    /// Why the server refused the payment, in its own words.
    pub fn refusal(&self) -> Option<String> {
        let required: Required<'_> = serde_json::from_slice(self.required.as_deref()?).ok()?;
        required.error
    }

    /// What a body in JSON says of an error.
    fn reason_in_body(&self) -> Option<String> {
        let ResourceBody::Text(text) = &self.body else { return None };
        let body: Value = serde_json::from_str(text).ok()?;
        ["error", "errorReason", "message"]
            .into_iter()
            .find_map(|field| body[field].as_str().map(str::to_owned))
    }
}

/// At most [`RESOURCE_BYTES_MAX`] bytes: as text if they are text without control characters (tabs and line ends apart), each of which
/// would be six bytes of JSON; otherwise in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceBody {
    Text(String),
    Base64(String),
}

impl Default for ResourceBody {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<Vec<u8>> for ResourceBody {
    fn from(bytes: Vec<u8>) -> Self {
        let is_odd = |byte: u8| byte.is_ascii_control() && !b"\t\r\n".contains(&byte);
        match String::from_utf8(bytes) {
            Ok(text) if text.bytes().any(is_odd) => Self::Base64(STANDARD.encode(text)),
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(STANDARD.encode(error.as_bytes())),
        }
    }
}

/// The facilitator's report of a payment. We do not rely on it: the chain shows whether it was paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub success: bool,
    #[serde(default)]
    pub transaction: Option<String>,
    #[serde(default)]
    pub network: Option<String>,
    #[serde(default)]
    pub payer: Option<String>,
    #[serde(default, rename = "errorReason")]
    pub error_reason: Option<String>,
}

/// Other people's words within a sentence of ours: bounded, on one line, without what ends a quotation or changes its direction.
fn quoted(words: &str, chars_max: usize) -> String {
    let is_plain = |character: &char| {
        !character.is_control()
            && !matches!(character, '"' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    words.chars().filter(is_plain).take(chars_max).collect::<String>().trim().to_owned()
}

/// A seller's offer: the header `PAYMENT-REQUIRED` over HTTP, the result of a tool call over MCP.
#[derive(Deserialize)]
struct Required<'a> {
    #[serde(rename = "x402Version")]
    version: u8,
    #[serde(default)]
    error: Option<String>,
    #[serde(default, borrow)]
    resource: Option<&'a RawValue>,
    #[serde(default, borrow)]
    accepts: Vec<&'a RawValue>,
    #[serde(default, borrow)]
    extensions: Option<&'a RawValue>,
}

/// An entry of `accepts` with the scheme that we pay.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requirements {
    scheme: String,
    network: String,
    amount: String,
    asset: String,
    pay_to: String,
    #[serde(default)]
    extra: Extra,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extra {
    fee_payer: Option<String>,
    memo: Option<String>,
}

/// A payment that a server asks for and that we can make.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The wallet whose USDC token account gets the payment.
    pub pay_to: Address,
    pub amount: UsdcAmount,
    /// Who pays the fee and sends the transaction.
    pub terms: Terms,
    /// The entry as received; it goes back unchanged.
    accepted: Box<RawValue>,
    resource: Option<Box<RawValue>>,
    extensions: Option<Box<RawValue>>,
}

/// A payment: the header `PAYMENT-SIGNATURE` over HTTP, `_meta["x402/payment"]` over MCP.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PaymentPayload<'a> {
    #[serde(rename = "x402Version")]
    version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a RawValue>,
    accepted: &'a RawValue,
    payload: SignedPayment,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct SignedPayment {
    transaction: String,
}

/// The x402 name of a network (CAIP-2). Every test network is devnet there, wherever its nodes are.
const fn chain_id(network: Network) -> &'static str {
    match network {
        Network::Live => "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        Network::Test => "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    }
}

/// Whether a seller means the network: some write its usual name in place of the genesis hash.
fn is_named(network: Network, name: &str) -> bool {
    let usual: &[&str] = match network {
        Network::Live => &["solana:mainnet", "solana:mainnet-beta"],
        Network::Test => &["solana:devnet"],
    };
    name == chain_id(network) || usual.contains(&name)
}

impl Offer {
    /// The cheapest entry of an offer that can be paid for this purchase, or why there is none and what was offered.
    /// `signs_here` recognises our own keys: as fee payer, one would pay for what others send.
    pub fn choose(
        required: Option<&[u8]>,
        purchase: &Purchase,
        network: Network,
        usdc_mint: &Address,
        signs_here: impl Fn(&Address) -> bool,
    ) -> Result<Self, String> {
        let Some(required) = required else {
            return Err(
                "The server asks for a payment without an x402 offer, in `PAYMENT-REQUIRED` or in the body."
                    .into(),
            );
        };
        let required: Required<'_> = serde_json::from_slice(required).map_err(|_| {
            "That is not an x402 offer: no object with `x402Version` and `accepts`.".to_owned()
        })?;
        if required.version != VERSION {
            return Err(format!("The offer is of x402 version {}; version 2 is paid.", required.version));
        }
        let id = chain_id(network);
        let ours = required.accepts.iter().filter_map(|raw| {
            let entry: Requirements = serde_json::from_str(raw.get()).ok()?;
            (entry.scheme == SCHEME
                && is_named(network, &entry.network)
                && entry.asset.parse() == Ok(*usdc_mint))
            .then(|| Self::of_entry(&required, raw, entry, purchase, &signs_here))
        });
        let (payable, refused): (Vec<_>, Vec<_>) = ours.partition(Result::is_ok);
        if let Some(cheapest) = payable.into_iter().flatten().min_by_key(|offer| offer.amount) {
            return Ok(cheapest);
        }
        let reason = refused
            .into_iter()
            .find_map(Result::err)
            .unwrap_or_else(|| format!("The offer asks for nothing in USDC by scheme `{SCHEME}` on `{id}`."));
        Err(format!("{reason} Offered: {}.", offered(&required.accepts)))
    }

    fn of_entry(
        required: &Required<'_>,
        accepted: &RawValue,
        entry: Requirements,
        purchase: &Purchase,
        signs_here: &impl Fn(&Address) -> bool,
    ) -> Result<Self, String> {
        let unreadable = |field: &str| format!("The offer's `{field}` cannot be read.");
        let micros = entry.amount.parse::<u64>().ok().filter(|micros| *micros > 0);
        let amount = micros.map(UsdcAmount::from_micros).ok_or_else(|| unreadable("amount"))?;
        if amount > purchase.max_amount {
            let most = purchase.max_amount;
            return Err(format!(
                "The offer asks for {amount} USDC, which is more than `max_amount`, {most}."
            ));
        }
        let fee_payer = entry.extra.fee_payer.as_deref().and_then(|text| text.parse::<Address>().ok());
        let fee_payer = fee_payer.ok_or_else(|| unreadable("extra.feePayer"))?;
        if signs_here(&fee_payer) {
            return Err("The offer names a key of this service as the fee payer.".into());
        }
        let memo = entry.extra.memo.filter(|memo| !memo.is_empty());
        let own = purchase.memo.as_ref().map_or(0, |memo| memo.as_str().len());
        if own + memo.as_ref().map_or(0, String::len) > MEMO_BYTES_MAX {
            return Err(format!(
                "The server's memo and yours are more than {MEMO_BYTES_MAX} bytes together."
            ));
        }
        Ok(Self {
            pay_to: entry.pay_to.parse().map_err(|_| unreadable("payTo"))?,
            amount,
            terms: Terms { fee_payer, memo },
            accepted: accepted.to_owned(),
            resource: required.resource.map(RawValue::to_owned),
            extensions: required.extensions.map(RawValue::to_owned),
        })
    }

    /// The payment over the signed bytes of a transfer, for the seller. The same transfer and bytes give the same payment.
    pub fn payment(&self, id: TransferId, transaction: &[u8]) -> Box<RawValue> {
        let extensions = self.extensions.as_deref().map(|declared| with_identifier(declared, id));
        let payment = PaymentPayload {
            version: VERSION,
            resource: self.resource.as_deref(),
            accepted: &self.accepted,
            payload: SignedPayment { transaction: STANDARD.encode(transaction) },
            extensions: extensions.as_deref(),
        };
        // Texts and values that were JSON always serialise to JSON.
        serde_json::value::to_raw_value(&payment).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

/// The entries of an offer for people: `10000 of EPjF... by exact on solana:...`.
fn offered(accepts: &[&RawValue]) -> String {
    const SHOWN_MAX: usize = 5;
    let shown = accepts.iter().take(SHOWN_MAX).map(|raw| {
        let entry: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let said = |field: &str| {
            entry[field].as_str().map_or_else(|| "?".to_owned(), |text| quoted(text, FIELD_CHARS_MAX))
        };
        format!("{} of {} by {} on {}", said("amount"), said("asset"), said("scheme"), said("network"))
    });
    let shown = shown.collect::<Vec<_>>().join("; ");
    match accepts.len() {
        0 => "nothing".to_owned(),
        more if more > SHOWN_MAX => format!("{shown}; and {} more", more - SHOWN_MAX),
        _ => shown,
    }
}

/// The extensions as declared, with the transfer's id as the payment's identifier if one is asked for.
fn with_identifier(declared: &RawValue, id: TransferId) -> Box<RawValue> {
    let mut extensions: Value = serde_json::from_str(declared.get()).unwrap_or_default();
    match extensions.get_mut(PAYMENT_IDENTIFIER).and_then(|extension| extension.get_mut("info")) {
        Some(Value::Object(info)) => {
            info.insert("id".to_owned(), id.to_string().into());
            serde_json::value::to_raw_value(&extensions).unwrap_or_else(|_| declared.to_owned())
        }
        _ => declared.to_owned(),
    }
}

#[cfg(test)]
mod tests;
