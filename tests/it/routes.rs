//! Every route, and who may use it. Checked against the OpenAPI document, which has every route: see the tests.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use purser_tests::Operator;
use purser_tests::binaries::{self, workspace};
use reqwest::Method;
use serde_json::Value;

/// Which keys a route accepts. None works without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    /// Operator keys only; an agent key is answered with 403.
    Operator,
    /// Operator keys, and agent keys for their own account.
    OperatorAndAgent,
    /// The same, but it ends the key that asks: tests/it/keys.rs.
    Once,
}

/// A route with its path template.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub opens: Opens,
    /// A key needs one of them, or `admin`.
    pub scopes: &'static [&'static str],
}

impl Route {
    pub fn method(&self) -> Method {
        Method::from_bytes(self.method.as_bytes()).expect("routes have known methods")
    }

    /// True when the route reads a request body.
    pub fn takes_body(&self) -> bool {
        matches!(self.method, "POST" | "PUT" | "PATCH")
    }
}

const fn route(
    method: &'static str,
    path: &'static str,
    opens: Opens,
    scopes: &'static [&'static str],
) -> Route {
    Route { method, path, opens, scopes }
}

/// Every scope of a key.
pub const SCOPES: [&str; 6] = ["read", "pay", "policy", "halt", "reject-approvals", "admin"];

const READ: &[&str] = &["read"];
const PAY: &[&str] = &["pay"];
const READ_OR_PAY: &[&str] = &["read", "pay"];
const POLICY: &[&str] = &["policy"];
const HALT: &[&str] = &["halt"];
const POLICY_OR_HALT: &[&str] = &["policy", "halt"];
const ADMIN: &[&str] = &["admin"];
const REJECTS: &[&str] = &["reject-approvals", "policy"];
const ENDS_APPROVALS: &[&str] = &["pay", "reject-approvals", "policy"];
/// Whatever a key may do, but for `read` alone.
const CHANGES: &[&str] = &["pay", "policy", "halt", "reject-approvals"];
const ANY: &[&str] = &["read", "pay", "policy", "halt", "reject-approvals"];

/// All routes that need a key.
pub const ROUTES: &[Route] = &[
    route("POST", "/v1/accounts", Opens::Operator, ADMIN),
    route("GET", "/v1/accounts", Opens::Operator, READ),
    route("GET", "/v1/accounts/{id}", Opens::OperatorAndAgent, READ),
    route("PATCH", "/v1/accounts/{id}", Opens::Operator, ADMIN),
    route("GET", "/v1/accounts/{id}/balance", Opens::OperatorAndAgent, READ),
    route("GET", "/v1/accounts/{id}/policy", Opens::Operator, READ),
    route("PUT", "/v1/accounts/{id}/policy", Opens::Operator, POLICY),
    route("PATCH", "/v1/accounts/{id}/policy", Opens::Operator, POLICY),
    route("DELETE", "/v1/accounts/{id}/policy/pending", Opens::Operator, POLICY),
    route("GET", "/v1/accounts/{id}/policy/versions", Opens::Operator, READ),
    route("GET", "/v1/accounts/{id}/grants", Opens::OperatorAndAgent, READ),
    route("DELETE", "/v1/accounts/{id}/grants", Opens::Operator, POLICY_OR_HALT),
    route("DELETE", "/v1/accounts/{id}/grants/{grant_id}", Opens::Operator, POLICY_OR_HALT),
    route("GET", "/v1/budgets", Opens::Operator, READ),
    route("GET", "/v1/budgets/{id}", Opens::Operator, READ),
    route("PATCH", "/v1/budgets/{id}", Opens::Operator, POLICY),
    route("GET", "/v1/accounts/{id}/limits", Opens::OperatorAndAgent, READ),
    route("GET", "/v1/accounts/{id}/transactions", Opens::OperatorAndAgent, READ),
    route("POST", "/v1/accounts/{id}/keys", Opens::Operator, CHANGES),
    route("GET", "/v1/accounts/{id}/keys", Opens::Operator, READ),
    route("POST", "/v1/keys", Opens::Operator, CHANGES),
    route("GET", "/v1/keys", Opens::Operator, READ),
    route("DELETE", "/v1/keys/{id}", Opens::Operator, ANY),
    route("DELETE", "/v1/keys/self", Opens::Once, ANY),
    route("POST", "/v1/halt", Opens::Operator, HALT),
    route("POST", "/v1/accounts/{id}/halt", Opens::Operator, HALT),
    route("POST", "/v1/bulk/policy", Opens::Operator, POLICY),
    route("POST", "/v1/bulk/halt", Opens::Operator, HALT),
    route("GET", "/v1/actions", Opens::Operator, READ),
    route("GET", "/v1/denials", Opens::Operator, READ),
    route("POST", "/v1/transfers", Opens::OperatorAndAgent, PAY),
    route("GET", "/v1/transfers", Opens::OperatorAndAgent, READ),
    route("POST", "/v1/transfers/preview", Opens::OperatorAndAgent, READ_OR_PAY),
    route("GET", "/v1/transfers/{id}", Opens::OperatorAndAgent, READ_OR_PAY),
    route("GET", "/v1/approvals", Opens::OperatorAndAgent, READ),
    route("GET", "/v1/approvals/{id}", Opens::OperatorAndAgent, READ_OR_PAY),
    route("DELETE", "/v1/approvals/{id}", Opens::OperatorAndAgent, ENDS_APPROVALS),
    route("POST", "/v1/approvals/{id}/reject", Opens::Operator, REJECTS),
    route("POST", "/v1/x402/payments", Opens::OperatorAndAgent, PAY),
    route("GET", "/v1/events", Opens::Operator, READ),
    route("GET", "/v1/events/{id}", Opens::Operator, READ),
    route("POST", "/v1/webhooks", Opens::Operator, ADMIN),
    route("GET", "/v1/webhooks", Opens::Operator, READ),
    route("GET", "/v1/webhooks/{id}", Opens::Operator, READ),
    route("PATCH", "/v1/webhooks/{id}", Opens::Operator, ADMIN),
    route("DELETE", "/v1/webhooks/{id}", Opens::Operator, ADMIN),
    route("POST", "/v1/webhooks/{id}/rotate_secret", Opens::Operator, ADMIN),
    route("POST", "/v1/webhooks/{id}/test", Opens::Operator, ADMIN),
    route("GET", "/v1/webhooks/{id}/deliveries", Opens::Operator, READ),
    route("POST", "/v1/webhooks/{id}/replay", Opens::Operator, ADMIN),
];

/// The OpenAPI document, as the command prints it.
pub fn document() -> Value {
    let printed = Command::new(binaries::relayer()).arg("openapi").output().expect("purser starts");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    serde_json::from_slice(&printed.stdout).expect("JSON")
}

#[test]
fn every_route_of_the_document_is_in_the_matrix_with_the_keys_and_scopes_that_open_it() {
    let document = document();
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let keys = operation["security"].as_array().expect("which keys");
            let has = |name: &str| keys.iter().any(|key| key.get(name).is_some());
            if !has("operator_key") {
                continue;
            }
            let opens = if has("agent_key") { "both" } else { "operator" };
            let scopes = operation["x-scopes"].as_array().expect("which scopes").clone();
            described.insert((method.to_uppercase(), path.clone(), opens, Value::from(scopes).to_string()));
        }
    }
    let known = ROUTES.iter().map(|route| {
        let opens = match route.opens {
            Opens::Operator => "operator",
            Opens::OperatorAndAgent | Opens::Once => "both",
        };
        let scopes = Value::from(route.scopes).to_string();
        (route.method.to_owned(), route.path.to_owned(), opens, scopes)
    });
    assert_eq!(known.collect::<BTreeSet<_>>(), described);
}

/// `routes!` requires a description for each handler; the other ways to add a route do not. The admin listener is no part of the API.
#[test]
fn no_route_is_added_without_its_description() {
    let mut folders = ["relayer/api/src/web", "relayer/api/src/http", "extensions/mcp/src"]
        .map(|folder| workspace().join(folder))
        .to_vec();
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    folders.push(path);
                }
                continue;
            }
            if path.ends_with("http/admin.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("UTF-8");
            for way in [".route(", ".route_service(", ".nest(", ".nest_service(", "fallback_service("] {
                assert!(!text.contains(way), "{} adds a route with `{way}`", path.display());
            }
            read += 1;
        }
    }
    assert!(read >= 20, "{read} files");
}

#[tokio::test]
async fn service_shows_the_document_that_the_command_prints() {
    let operator = Operator::shared().await;
    let shown = operator.client.without_key().get("/openapi.json").await.has_status(200);
    assert_eq!(serde_json::from_str::<Value>(&shown.text).expect("JSON"), document());
}
