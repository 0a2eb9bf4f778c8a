//! Which scope opens which route.

use axum::body::Body;
use axum::http::{Method, Request};
use axum::middleware::{Next, from_fn};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;

use super::{Described, Relayer, described_routes};
use crate::http::scopes::check_scopes;
use purser_model::{Address, KeyId, Label, Network, Operator, OperatorId, Principal, Scope, Scopes};
use purser_service::{SystemClock, keys};

#[tokio::test]
async fn every_route_of_the_router_opens_to_the_scopes_that_its_description_names() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    for scope in Scope::ALL {
        let made = relayer.post("/v1/keys", &json!({ "scopes": [scope.as_str()] })).await;
        let key = made.body["key"].as_str().expect("a key").to_owned();
        for Described { method, path, scopes, .. } in described_routes() {
            if path == "/v1/keys/self" {
                continue;
            }
            // Nothing that there is: it is refused in another way, if it is not refused for the scope.
            let path = path.replace("{id}", if path.starts_with("/v1/accounts") { &account } else { "none" });
            let body = matches!(method.as_str(), "POST" | "PUT" | "PATCH").then_some("[]");
            let answer = relayer.send(&method, &path, &key, body).await;
            let lacks = answer.body["message"].as_str().is_some_and(|message| message.contains("scope"));
            let is_open = scope == Scope::Admin || scopes.contains(&scope);
            assert_eq!(lacks, !is_open, "{scope}: {method} {path}: {}", answer.text);
            assert_ne!(answer.status, 405, "{method} {path}");
            if lacks {
                assert_eq!(answer.error(), (403, "forbidden"), "{method} {path}");
            }
        }
    }
}

/// A request to routes of which only `GET /known` is described, for `admin`.
async fn asked(principal: Option<Principal>, method: Method, path: &str) -> u16 {
    #[utoipa::path(get, path = "/known", security(("operator_key" = [])), extensions(("x-scopes" = json!(["admin"]))))]
    async fn known() {}
    #[utoipa::path(get, path = "/silent", security(("operator_key" = [])))]
    async fn silent() {}
    #[utoipa::path(get, path = "/wrong", security(("operator_key" = [])), extensions(("x-scopes" = json!(["admin", "all"]))))]
    async fn wrong() {}
    let routes = OpenApiRouter::default()
        .routes(utoipa_axum::routes!(known))
        .routes(utoipa_axum::routes!(silent))
        .routes(utoipa_axum::routes!(wrong))
        .route("/known", post(async || ()))
        .route("/unknown", get(async || ()));
    let routes = check_scopes(routes).route_layer(from_fn(move |mut request: Request<Body>, next: Next| {
        if let Some(principal) = principal.clone() {
            request.extensions_mut().insert(principal);
        }
        next.run(request)
    }));
    let (router, _) = routes.split_for_parts();
    let request = Request::builder().method(method).uri(path).body(Body::empty()).expect("a request");
    router.oneshot(request).await.expect("infallible").status().as_u16()
}

#[tokio::test]
async fn what_no_description_names_is_closed_to_every_key() {
    let operator = Operator {
        id: OperatorId::from_bytes([1; 16]),
        network: Network::Test,
        name: Label::parse("Acme").expect("valid"),
        address: Address::from_bytes([1; 32]),
        requires_reason: false,
        created_at: SystemClock::SYSTEM.now(),
    };
    let key_id = KeyId::from_bytes([1; 16]);
    let holding = |scopes| Some(Principal::Operator { operator: operator.clone(), key_id, scopes });
    let admin = holding(Scopes::ALL);
    let all_but_admin = holding(Scopes::of(&Scope::ALL[..5]));
    assert_eq!(asked(admin.clone(), Method::GET, "/known").await, 200);
    assert_eq!(asked(admin.clone(), Method::HEAD, "/known").await, 200);
    assert_eq!(asked(all_but_admin.clone(), Method::GET, "/known").await, 403);
    assert_eq!(asked(all_but_admin, Method::HEAD, "/known").await, 403);
    assert_eq!(asked(None, Method::GET, "/known").await, 401, "nobody has asked who it is");
    let agent = Principal::Agent {
        operator: operator.clone(),
        account_id: purser_model::AccountId::from_bytes([1; 16]),
        key_id,
        scopes: Scopes::of(&[Scope::Admin]),
    };
    assert_eq!(asked(Some(agent), Method::GET, "/known").await, 403, "whatever scopes it had");
    for path in ["/silent", "/wrong", "/unknown"] {
        assert_eq!(asked(admin.clone(), Method::GET, path).await, 403, "{path}");
    }
    assert_eq!(asked(admin.clone(), Method::POST, "/known").await, 405, "there, but not described");
    assert_eq!(asked(admin, Method::DELETE, "/known").await, 405);
}

#[tokio::test]
async fn only_a_key_that_halts_or_sets_policies_draws_on_the_rate_of_stops() {
    let relayer = Relayer::start().await;
    for (scopes, may_stop) in
        [(json!(["read"]), false), (json!(["read", "pay"]), false), (json!(["halt"]), true)]
    {
        let made = relayer.post("/v1/keys", &json!({ "scopes": scopes })).await;
        let key = made.body["key"].as_str().expect("a key");
        let found = purser_model::PlainKey::parse(key).expect("a key");
        let principal = keys::authenticate(&relayer.services.inside, &found, || None).await.expect("known");
        assert_eq!(principal.may_stop(), may_stop);
    }
}

fn ids(listed: &Value) -> Vec<&str> {
    listed["data"].as_array().expect("a list").iter().map(|key| key["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_repeated_request_makes_one_key_and_the_list_has_it_without_its_secret() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let agents = relayer.agent_key(&account).await;
    let body = json!({ "name": "monitor", "scopes": ["halt", "read", "halt"] }).to_string();
    let asks = async || {
        let request = Request::builder().method("POST").uri("/v1/keys").header("idempotency-key", "one");
        let request = request
            .header("authorization", format!("Bearer {}", relayer.key))
            .header("content-type", "application/json");
        relayer.answer(request.body(Body::from(body.clone())).expect("a request")).await
    };
    let (first, again) = (asks().await, asks().await);
    assert_eq!((first.status.as_u16(), &first.body), (201, &again.body));
    assert_eq!(first.body["scopes"], json!(["read", "halt"]), "in order, and once");
    let listed = relayer.get("/v1/keys?limit=1").await;
    assert_eq!(ids(&listed.body), [first.body["id"].as_str().expect("an id")]);
    assert!(
        !listed.text.contains(first.body["key"].as_str().expect("a key")) && !listed.text.contains(&agents)
    );
    let cursor = listed.body["cursor"].as_str().expect("a second page");
    let rest = relayer.get(&format!("/v1/keys?cursor={cursor}")).await;
    assert_eq!(rest.body["data"].as_array().map(Vec::len), Some(1), "{}", rest.text);
    assert_eq!(rest.body["data"][0]["scopes"], json!(["admin"]));
    assert_eq!(rest.body["data"][0]["made_by"], Value::Null);
    assert_eq!(first.body["made_by"], rest.body["data"][0]["id"]);
    let of_account = relayer.get(&format!("/v1/accounts/{account}/keys?cursor={cursor}")).await;
    assert_eq!(of_account.error(), (400, "invalid_request"), "a cursor of another list");
}
