//! A server between a relayer and a shop (the road). It records payments, and can lose them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PAYMENT: &str = "payment-signature";
const PASSED_ON: [&str; 4] = ["payment-required", "payment-response", "content-type", "location"];

/// What happens to payments on the way to the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payments {
    Arrive,
    /// The sender gets a 500.
    GetLost,
    /// The shop gets each of them twice at the same time.
    ArriveTwice,
    /// They arrive, but the answer does not come back.
    AreNotAnswered,
    /// The sender gets a 402, and whoever refused keeps them.
    AreRefused,
}

/// A server between a relayer and a shop.
pub struct Road {
    pub url: String,
    state: Arc<Mutex<Kept>>,
}

struct Kept {
    shop: String,
    payments: Payments,
    handed_over: Vec<String>,
    asked: usize,
    /// What `/offer` asks for.
    offer: Value,
}

type Shared = State<Arc<Mutex<Kept>>>;

impl Road {
    pub async fn to(shop: &str) -> Road {
        let kept = Kept {
            shop: shop.to_owned(),
            payments: Payments::Arrive,
            handed_over: Vec::new(),
            asked: 0,
            offer: json!({}),
        };
        let state = Arc::new(Mutex::new(kept));
        let router = Router::new()
            .route("/report", any(report))
            .route("/free", any(free))
            .route("/bytes", get(async || vec![0xff_u8, 0]))
            .route("/long", get(async || "x".repeat(100_000)))
            .route("/moved", get(async || (StatusCode::FOUND, [("location", "/report")])))
            .route("/offer", get(offer))
            .with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a local port is free");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Road { url: format!("http://{address}"), state }
    }

    pub fn payments(&self, payments: Payments) {
        self.state.lock().expect("unbroken").payments = payments;
    }

    pub fn offers(&self, offer: Value) {
        self.state.lock().expect("unbroken").offer = offer;
    }

    /// The payments that were sent, as headers.
    pub fn handed_over(&self) -> Vec<String> {
        self.state.lock().expect("unbroken").handed_over.clone()
    }

    /// How many requests for the report came.
    pub fn asked(&self) -> usize {
        self.state.lock().expect("unbroken").asked
    }

    /// Delivers a payment to the shop; returns the status.
    pub async fn brings(&self, payment: &str) -> u16 {
        let shop = self.state.lock().expect("unbroken").shop.clone();
        let request = reqwest::Client::new().get(shop).header(PAYMENT, payment);
        request.send().await.expect("the shop answers").status().as_u16()
    }
}

async fn report(State(state): Shared, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let payment = headers.get(PAYMENT).map(|value| value.to_str().expect("ASCII").to_owned());
    let (shop, payments) = {
        let mut kept = state.lock().expect("unbroken");
        kept.asked += 1;
        kept.handed_over.extend(payment.clone());
        (kept.shop.clone(), kept.payments)
    };
    let request = || {
        let mut request = reqwest::Client::new().request(method.clone(), &shop).body(body.clone());
        if let Some(payment) = &payment {
            request = request.header(PAYMENT, payment);
        }
        request.send()
    };
    if payment.is_none() || payments == Payments::Arrive {
        return passed_on(request().await.expect("the shop answers")).await;
    }
    match payments {
        Payments::ArriveTwice => {
            let (one, other) = tokio::join!(request(), request());
            let (one, other) = (one.expect("an answer"), other.expect("an answer"));
            passed_on(if one.status().is_success() { one } else { other }).await
        }
        Payments::AreNotAnswered => {
            request().await.expect("the shop answers");
            StatusCode::BAD_GATEWAY.into_response()
        }
        Payments::AreRefused => StatusCode::PAYMENT_REQUIRED.into_response(),
        Payments::Arrive | Payments::GetLost => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn passed_on(answer: reqwest::Response) -> Response {
    let status = answer.status().as_u16();
    let headers = answer.headers().clone();
    let mut response =
        (StatusCode::from_u16(status).expect("a status"), answer.bytes().await.expect("a body"))
            .into_response();
    for name in PASSED_ON {
        if let Some(value) = headers.get(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// Answers anyone, without payment, with the request it got.
async fn free(method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let kind = headers.get("content-type").map(|value| value.to_str().expect("ASCII").to_owned());
    let sent = String::from_utf8(body.to_vec()).expect("text");
    axum::Json(json!({ "method": method.as_str(), "sent": sent, "kind": kind })).into_response()
}

async fn offer(State(state): Shared) -> Response {
    let required = json!({ "x402Version": 2, "accepts": [state.lock().expect("unbroken").offer] });
    (StatusCode::PAYMENT_REQUIRED, [("payment-required", STANDARD.encode(required.to_string()))])
        .into_response()
}
