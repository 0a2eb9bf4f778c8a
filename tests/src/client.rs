//! One HTTP request and what came back.

use std::ops::Index;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// The fields an error body may have (design: "error body").
const ERROR_FIELDS: [&str; 11] = [
    "error",
    "message",
    "request_id",
    "param",
    "transfer_id",
    "status",
    "retryable",
    "retry_at",
    "approvable",
    "rent_lamports",
    "checks",
];

/// Speaks to one relayer with one API key, or with none.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    key: Option<String>,
}

impl Client {
    /// A client of the relayer at `base_url` (without `/v1`). Make one per test: connections live in the test's runtime.
    pub fn new(base_url: &str, key: Option<&str>) -> Client {
        Client::over(reqwest::Client::new(), base_url, key)
    }

    /// The same with a prepared HTTP client, for example one that resolves a made-up host name.
    pub fn over(http: reqwest::Client, base_url: &str, key: Option<&str>) -> Client {
        Client { http, base_url: base_url.to_owned(), key: key.map(str::to_owned) }
    }

    /// The same relayer with another key.
    pub fn with_key(&self, key: &str) -> Client {
        Client { key: Some(key.to_owned()), ..self.clone() }
    }

    /// The same relayer without a key.
    pub fn without_key(&self) -> Client {
        Client { key: None, ..self.clone() }
    }

    /// The API key in use.
    pub fn key(&self) -> &str {
        self.key.as_deref().expect("this client has a key")
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.sends(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.sends(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.sends(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.sends(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.sends(self.request(Method::PATCH, path).json(body)).await
    }

    /// Sends a request until the service reaches Solana. For the set-up of a test: a busy machine may starve the tests' network, and
    /// nothing was done then.
    pub(crate) async fn asks_on(&self, method: Method, path: &str, body: &Value) -> Answer {
        for _ in 0..40 {
            let answer = self.sends(self.request(method.clone(), path).json(body)).await;
            if answer.body["error"] != "solana_unavailable" {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        self.sends(self.request(method, path).json(body)).await
    }

    /// Sends these bytes unchanged as `application/json`.
    pub async fn sends_bytes(&self, method: Method, path: &str, bytes: impl Into<Vec<u8>>) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        self.sends(request.body(bytes.into())).await
    }

    /// A request with the key's header, to be completed by the test.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base_url));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request; panics when there is no HTTP answer at all.
    pub async fn sends(&self, request: RequestBuilder) -> Answer {
        self.tries(request).await.unwrap_or_else(|error| panic!("the relayer does not answer: {error:?}"))
    }

    /// Sends a request; an error when there is no HTTP answer.
    pub async fn tries(&self, request: RequestBuilder) -> Result<Answer, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, headers, text, body })
    }
}

/// An HTTP answer, read completely.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    pub body: Value,
}

impl Answer {
    /// Asserts the status and returns itself.
    #[track_caller]
    pub fn has_status(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Asserts a settled transfer and returns itself.
    #[track_caller]
    pub fn is_settled(self) -> Answer {
        assert_eq!((self.status, self.body["status"].as_str()), (200, Some("settled")), "{}", self.text);
        self
    }

    /// Asserts an error of the spec's table in the one error format, and returns itself.
    #[track_caller]
    pub fn is_error(self, status: u16, code: &str) -> Answer {
        assert_eq!((self.status, self.body["error"].as_str()), (status, Some(code)), "{}", self.text);
        self.has_error_shape()
    }

    /// Asserts `invalid_request` for this parameter.
    #[track_caller]
    pub fn blames(self, param: &str) -> Answer {
        let answer = self.is_error(400, "invalid_request");
        assert_eq!(answer.body["param"].as_str(), Some(param), "{}", answer.text);
        answer
    }

    /// Asserts that this is an error body: `error`, `message`, `request_id`, and no field beyond those of the design.
    #[track_caller]
    pub fn has_error_shape(self) -> Answer {
        let content_type = self.header("content-type").unwrap_or_default();
        assert!(content_type.starts_with("application/json"), "{content_type}: {}", self.text);
        for field in ["error", "message", "request_id"] {
            assert!(
                self.body[field].as_str().is_some_and(|text| !text.is_empty()),
                "no {field}: {}",
                self.text
            );
        }
        let fields = self.body.as_object().expect("an error body is an object");
        for field in fields.keys() {
            assert!(ERROR_FIELDS.contains(&field.as_str()), "unexpected field {field}: {}", self.text);
        }
        self
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A text field.
    #[track_caller]
    pub fn text_of(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_else(|| panic!("no text {field:?} in {}", self.text))
    }

    /// The entry of `checks` for one rule.
    #[track_caller]
    pub fn check(&self, rule: &str) -> &Value {
        let checks = self.body["checks"].as_array().unwrap_or_else(|| panic!("no checks in {}", self.text));
        let found = checks.iter().find(|check| check["rule"] == rule);
        found.unwrap_or_else(|| panic!("no check {rule:?} in {}", self.text))
    }

    /// The rules of `checks` that are not ok, in order.
    #[track_caller]
    pub fn failed_checks(&self) -> Vec<&str> {
        let checks = self.body["checks"].as_array().unwrap_or_else(|| panic!("no checks in {}", self.text));
        let failed = checks.iter().filter(|check| check["ok"] == false);
        failed.map(|check| check["rule"].as_str().expect("a check names its rule")).collect()
    }

    /// The body without the times at which balances were read: those differ in every answer.
    pub fn without_moments(&self) -> Value {
        fn strip(value: &mut Value) {
            match value {
                Value::Object(fields) => {
                    fields.remove("balance_as_of");
                    fields.values_mut().for_each(strip);
                }
                Value::Array(items) => items.iter_mut().for_each(strip),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let mut body = self.body.clone();
        strip(&mut body);
        body
    }

    /// The body without the fields that differ between two answers to the same question.
    pub fn without_request_id(&self) -> Value {
        let mut body = self.body.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("request_id");
        }
        body
    }
}

impl Index<&str> for Answer {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        &self.body[field]
    }
}
