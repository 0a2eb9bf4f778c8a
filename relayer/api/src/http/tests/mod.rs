//! REST over a real database and the real chain crate: see `testing`.

mod accounts;
mod actions;
mod addresses;
mod answers;
mod bad_requests;
mod decisions;
mod error_codes;
mod faults;
mod halts;
mod log;
mod names;
mod once;
mod paid_before;
mod pending;
mod policies;
mod policy_fields;
mod previews;
mod refusals;
mod scopes;
mod transfers;
mod wallets;

use utoipa::openapi::OpenApi;

use super::testing::{
    ACCOUNTS_MAX, ACTIONS_MAX, Answer, NoExtensions, REFUSALS, Relayer, comes_about, operator_key,
    policy_with, settings,
};
use purser_model::Scope;

/// A described route that needs a key.
struct Described {
    method: String,
    path: String,
    scopes: Vec<Scope>,
    /// Agent keys open it for their own account.
    is_for_agents: bool,
}

fn described_routes() -> Vec<Described> {
    let document = serde_json::to_value(super::document(OpenApi::default())).expect("JSON");
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let Some(scopes) = operation["x-scopes"].as_array() else { continue };
            let scopes = scopes.iter().map(|scope| scope.as_str().expect("a word").parse().expect("a scope"));
            let keys = operation["security"].as_array().expect("a list");
            routes.push(Described {
                method: method.to_uppercase(),
                path: path.clone(),
                scopes: scopes.collect(),
                is_for_agents: keys.iter().any(|key| key.get("agent_key").is_some()),
            });
        }
    }
    assert!(routes.len() > 30);
    routes
}
