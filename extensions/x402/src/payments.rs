use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use purser_api::web::{
    AnyKey, ApiError, Code, IdempotencyKeyHeader, Json as Body, TransferResponse, idempotency_header,
    mark_replayed, named_once, required,
};
use purser_model::wire::schema::{Signature, UsdcText};
use purser_model::{AccountId, IdempotencyKey, Invalid, Memo};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::offer::{PaidResource, Receipt, ResourceBody};
use crate::purchase::{PURCHASE_BODY_BYTES_MAX, Purchase, PurchaseMethod, ResourceRequest, Seller};
use crate::purchases::{PurchaseAnswer, Purchases};
use crate::schema::{OfferJson, PaymentJson, ResourceBodyText, ResourceUrlText};

/// Something to be bought by x402.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateX402Payment)]
pub struct CreatePurchaseBody {
    /// The account that pays.
    from: AccountId,
    /// Where the resource is, for the service to ask. Either this or `offer`.
    #[schema(value_type = Option<ResourceUrlText>)]
    url: Option<String>,
    /// What a seller asks for, where you speak with it yourself. Either this or `url`.
    #[schema(value_type = Option<OfferJson>)]
    offer: Option<Box<RawValue>>,
    /// How `url` is asked for; `GET` where it is not said.
    #[schema(value_type = Option<PurchaseMethod>)]
    method: Option<String>,
    /// Sent to `url` as `application/json`, byte by byte. At most 32,768 bytes.
    #[schema(value_type = Option<String>, max_length = 32768)]
    body: Option<String>,
    /// No more than this is paid.
    max_amount: UsdcText,
    /// What the payment says on the chain, for everybody to read.
    memo: Option<Memo>,
    #[schema(required, nullable = false)]
    idempotency_key: Option<IdempotencyKey>,
}

impl CreatePurchaseBody {
    /// `header` is the `Idempotency-Key` header; if the body has one too, both must agree.
    pub(crate) fn into_purchase(
        self,
        header: Option<String>,
        purchases: &Purchases,
    ) -> Result<Purchase, Invalid> {
        let idempotency_key = required("idempotency_key", named_once(self.idempotency_key, header)?)?;
        let seller = match (self.url, self.offer) {
            (Some(url), None) => Seller::Server(resource_request(&url, self.method, self.body, purchases)?),
            (None, Some(offer)) => {
                let of_url = [("method", self.method.is_some()), ("body", self.body.is_some())];
                if let Some((field, _)) = of_url.into_iter().find(|(_, is_given)| *is_given) {
                    return Err(Invalid::new(
                        field,
                        "goes with `url`: with `offer` you ask the seller yourself",
                    ));
                }
                Seller::of_offer(&offer)?
            }
            (Some(_), Some(_)) => {
                return Err(Invalid::new("offer", "goes with no `url`: one of the two says what to pay"));
            }
            (None, None) => return Err(Invalid::new("url", "is required, or `offer` in its place")),
        };
        Ok(Purchase {
            from: self.from,
            seller,
            max_amount: self.max_amount.0,
            memo: self.memo,
            idempotency_key,
        })
    }
}

fn resource_request(
    url: &str,
    method: Option<String>,
    body: Option<String>,
    purchases: &Purchases,
) -> Result<ResourceRequest, Invalid> {
    let method = method.as_deref().map_or(Ok(PurchaseMethod::Get), PurchaseMethod::parse)?;
    if body.as_ref().is_some_and(|body| body.len() > PURCHASE_BODY_BYTES_MAX) {
        return Err(Invalid::new("body", format!("must be at most {PURCHASE_BODY_BYTES_MAX} bytes")));
    }
    if body.is_some() && method == PurchaseMethod::Get {
        return Err(Invalid::new("body", "goes with no `GET`"));
    }
    Ok(ResourceRequest { url: purchases.parse_url(url)?, method, body })
}

/// What a purchase has come to.
#[derive(Serialize, ToSchema)]
#[schema(as = X402Payment)]
pub struct PurchaseResponse {
    /// The payment; `null` where the server asked for none.
    #[schema(required)]
    transfer: Option<TransferResponse>,
    /// What the server answered; `null` where that is not known, or not kept any longer.
    #[schema(required)]
    resource: Option<ResourceResponse>,
    /// What the server says of the payment. Whether it was made says `transfer`.
    #[schema(required)]
    receipt: Option<ReceiptResponse>,
    /// The signed payment, for you to hand to the seller. Only where you gave an `offer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<PaymentJson>,
}

/// A server's answer.
#[derive(Serialize, ToSchema)]
#[schema(as = Resource)]
struct ResourceResponse {
    /// The HTTP status.
    #[schema(minimum = 100, maximum = 999)]
    status: u16,
    /// As the server names its form.
    #[schema(required, max_length = 256)]
    content_type: Option<String>,
    /// Where a redirect leads. It is not followed: buy there with a new `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    location: Option<String>,
    /// At most 65,536 bytes, in this encoding.
    body: ResourceBodyText,
    /// `utf-8`: the body is the text. `base64`: it is not text.
    encoding: ResourceEncoding,
    /// There was more of it.
    truncated: bool,
    /// Why a payment was not taken, in the server's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65536)]
    refusal: Option<String>,
}

/// How bytes are written.
#[derive(Serialize, ToSchema)]
enum ResourceEncoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// A facilitator's receipt.
#[derive(Serialize, ToSchema)]
#[schema(as = X402Receipt)]
struct ReceiptResponse {
    /// Whether it says that the payment was made.
    success: bool,
    /// The transaction's signature.
    #[schema(required)]
    transaction: Option<Signature>,
    /// Where, by its CAIP-2 name.
    #[schema(required, max_length = 65536)]
    network: Option<String>,
    /// Whose money it was: the account's `solana_address`.
    #[schema(required, max_length = 65536)]
    payer: Option<String>,
    /// Why there was no payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65536)]
    error_reason: Option<String>,
}

impl From<PaidResource> for ResourceResponse {
    fn from(resource: PaidResource) -> Self {
        let refusal = resource.refusal();
        let (encoding, body) = match resource.body {
            ResourceBody::Text(text) => (ResourceEncoding::Utf8, text),
            ResourceBody::Base64(text) => (ResourceEncoding::Base64, text),
        };
        let PaidResource { status, content_type, location, is_cut: truncated, .. } = resource;
        Self { status, content_type, location, body: ResourceBodyText(body), encoding, truncated, refusal }
    }
}

impl From<Receipt> for ReceiptResponse {
    fn from(receipt: Receipt) -> Self {
        let Receipt { success, transaction, network, payer, error_reason } = receipt;
        Self { success, transaction: transaction.map(Signature::from), network, payer, error_reason }
    }
}

impl PurchaseResponse {
    fn is_open(&self) -> bool {
        self.transfer.as_ref().is_some_and(TransferResponse::is_submitted)
    }
}

/// A payment that was rejected or failed is an error.
impl TryFrom<PurchaseAnswer> for PurchaseResponse {
    type Error = ApiError;

    fn try_from(answer: PurchaseAnswer) -> Result<Self, ApiError> {
        let receipt = answer.resource.as_ref().and_then(|resource| resource.receipt.clone());
        Ok(Self {
            transfer: answer.transfer.map(TransferResponse::try_from).transpose()?,
            resource: answer.resource.map(ResourceResponse::from),
            receipt: receipt.map(ReceiptResponse::from),
            payment: answer.payment.map(PaymentJson),
        })
    }
}

/// Buy by x402
///
/// Asks a server for a resource. If it answers 402 with an offer (x402 version 2, scheme `exact`, USDC on this network) of at
/// most `max_amount`, the account pays within its policy, and the resource is answered. A key stands for this purchase: sent
/// again under it, the same is answered, and not paid again. Most facilitators refuse smart wallets, such as the account is,
/// unless they are told otherwise: the server then answers with the payment in its hands that it does not take it, which is
/// `payment_refused` with the server's whole reason. Until its transaction can no longer land, about a minute, the transfer is `submitted`.
///
/// With `offer` in place of `url` the service asks nobody: it signs the offer's cheapest entry that it can pay, and answers with
/// `payment` for you to hand to the seller (`_meta["x402/payment"]` over MCP, in base64 the header `PAYMENT-SIGNATURE`). The same
/// request is answered with the same payment; `GET /v1/transfers/{id}` says whether it settled.
#[utoipa::path(
    post, path = "/v1/x402/payments", operation_id = "create_x402_payment", tag = "Transfers",
    params(IdempotencyKeyHeader),
    request_body = CreatePurchaseBody,
    responses(
        (status = 200, body = PurchaseResponse, description = "Bought, now or under this key before; or the server asked for no payment.",
            headers(("Idempotent-Replayed" = String, description = "`true` for a repeated request."))),
        (status = 202, body = PurchaseResponse, description = "Handed to the seller, or signed for you to hand over, and not settled yet.",
            headers(("Idempotent-Replayed" = String, description = "`true` for a repeated request."))),
    ),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["pay"])), ("x-errors" = json!([
        Code::PolicyViolation, Code::AccountPaused, Code::InsufficientBalance, Code::AccountFrozen, Code::NotFound,
        Code::IdempotencyConflict, Code::InvalidRecipient, Code::RecipientHasNoTokenAccount, Code::OfferRefused,
        Code::PaymentRefused, Code::TooManyPending,
        Code::TooManyRefusals, Code::ServerUnreachable,
        Code::AccountFull, Code::TransferFailed, Code::SolanaUnavailable, Code::AuthorityRotated, Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(purchases): State<Purchases>,
    AnyKey(principal): AnyKey,
    headers: HeaderMap,
    Body(body): Body<CreatePurchaseBody>,
) -> Result<Response, ApiError> {
    let purchase = body.into_purchase(idempotency_header(&headers)?, &purchases)?;
    // Boxed: every layer around a handler copies its future.
    let answer = Box::pin(purchases.pay(&principal, purchase)).await?;
    let is_replayed = answer.transfer.as_ref().is_some_and(|transfer| transfer.replayed);
    let bought = PurchaseResponse::try_from(answer)?;
    let status = if bought.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
    let mut response = (status, Json(bought)).into_response();
    if is_replayed {
        mark_replayed(&mut response);
    }
    Ok(response)
}
