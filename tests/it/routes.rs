//! Every route, and who may use it. The router's own text is read, so that no route can be forgotten here.

use std::collections::BTreeSet;
use std::fs;

use purser_tests::binaries::workspace;
use reqwest::Method;

/// Which keys open a route. None is opened without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    /// Operator keys only; an agent key is answered with 403.
    Operator,
    /// Operator keys, and agent keys where they concern the agent's own account.
    OperatorAndAgent,
}

/// A route with its path template.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub opens: Opens,
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

const fn route(method: &'static str, path: &'static str, opens: Opens) -> Route {
    Route { method, path, opens }
}

/// All routes that need a key.
pub const ROUTES: [Route; 31] = [
    route("POST", "/v1/accounts", Opens::Operator),
    route("GET", "/v1/accounts", Opens::Operator),
    route("GET", "/v1/accounts/{id}", Opens::OperatorAndAgent),
    route("PATCH", "/v1/accounts/{id}", Opens::Operator),
    route("GET", "/v1/accounts/{id}/balance", Opens::OperatorAndAgent),
    route("GET", "/v1/accounts/{id}/policy", Opens::Operator),
    route("PUT", "/v1/accounts/{id}/policy", Opens::Operator),
    route("PATCH", "/v1/accounts/{id}/policy", Opens::Operator),
    route("DELETE", "/v1/accounts/{id}/policy/pending", Opens::Operator),
    route("GET", "/v1/accounts/{id}/policy/versions", Opens::Operator),
    route("GET", "/v1/accounts/{id}/limits", Opens::OperatorAndAgent),
    route("GET", "/v1/accounts/{id}/transactions", Opens::OperatorAndAgent),
    route("POST", "/v1/accounts/{id}/keys", Opens::Operator),
    route("GET", "/v1/accounts/{id}/keys", Opens::Operator),
    route("DELETE", "/v1/keys/{id}", Opens::Operator),
    route("POST", "/v1/halt", Opens::Operator),
    route("POST", "/v1/transfers", Opens::OperatorAndAgent),
    route("GET", "/v1/transfers", Opens::OperatorAndAgent),
    route("POST", "/v1/transfers/preview", Opens::OperatorAndAgent),
    route("GET", "/v1/transfers/{id}", Opens::OperatorAndAgent),
    route("GET", "/v1/events", Opens::Operator),
    route("GET", "/v1/events/{id}", Opens::Operator),
    route("POST", "/v1/webhooks", Opens::Operator),
    route("GET", "/v1/webhooks", Opens::Operator),
    route("GET", "/v1/webhooks/{id}", Opens::Operator),
    route("PATCH", "/v1/webhooks/{id}", Opens::Operator),
    route("DELETE", "/v1/webhooks/{id}", Opens::Operator),
    route("POST", "/v1/webhooks/{id}/rotate_secret", Opens::Operator),
    route("POST", "/v1/webhooks/{id}/test", Opens::Operator),
    route("GET", "/v1/webhooks/{id}/deliveries", Opens::Operator),
    route("POST", "/v1/webhooks/{id}/replay", Opens::Operator),
];

/// Routes that anyone may ask, without a key.
const PUBLIC: [(&str, &str); 1] = [("GET", "/healthz")];

#[test]
fn every_route_of_the_router_is_in_the_matrix() {
    let known: BTreeSet<(String, String)> = ROUTES
        .iter()
        .map(|route| (route.method, route.path))
        .chain(PUBLIC)
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    let source = workspace().join("relayer/src/http/mod.rs");
    let text = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    assert_eq!(routes_in(&text), known);
}

#[test]
fn routes_are_read_from_the_text_of_a_router() {
    let text = r#"Router::new().route("/v1/a", post(a::create).get(a::list)).route(
        "/v1/a/{id}",
        delete(a::remove))"#;
    let expected = [("DELETE", "/v1/a/{id}"), ("GET", "/v1/a"), ("POST", "/v1/a")];
    let expected = expected.map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(routes_in(text), BTreeSet::from(expected));
}

/// The methods and paths of every `.route("path", method(handler)...)`.
fn routes_in(router: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for call in router.split(".route(").skip(1) {
        let mut quoted = call.splitn(3, '"');
        let (Some(_), Some(path), Some(handlers)) = (quoted.next(), quoted.next(), quoted.next()) else {
            panic!("a route without a path: {call}");
        };
        // Handlers end where the parenthesis of `.route(` closes.
        let mut depth = 1;
        let end = handlers.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        let handlers = &handlers[..end.expect("the call of route closes")];
        let before = found.len();
        for method in ["get", "post", "put", "patch", "delete", "any", "head", "options"] {
            if handlers.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == method)
                && (handlers.contains(&format!(" {method}("))
                    || handlers.contains(&format!(".{method}("))
                    || handlers.contains(&format!("\n{method}(")))
            {
                found.insert((method.to_uppercase(), path.to_owned()));
            }
        }
        assert!(found.len() > before, "no method read for {path}: {handlers}");
    }
    found
}
