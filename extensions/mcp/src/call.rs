//! From the arguments of a tool to the request of its operation.

use axum::body::Body;
use axum::http::{HeaderName, Method, Request, header};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::document::Operation;
use crate::tools::{FROM, KeyIn, PathId, REMOVE, TO, TO_IS_WALLET, Tool};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Behind its prefix, an account's id has so many characters.
const ID_CHARS: usize = 26;

/// What is wrong with an argument.
#[derive(Debug)]
pub(crate) struct Wrong {
    param: String,
    problem: String,
}

impl Wrong {
    fn new(param: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { param: param.into(), problem: problem.into() }
    }

    /// In the form of REST's errors.
    pub fn body(&self, request_id: &str) -> Value {
        let Self { param, problem } = self;
        let message = format!("`{param}` {problem}");
        json!({ "error": "invalid_request", "message": message, "param": param, "request_id": request_id })
    }
}

impl Tool {
    /// The request of its operation. `own_account` is the account of the caller's key.
    pub fn request(
        &self,
        operation: &Operation,
        mut arguments: JsonObject,
        own_account: Option<&str>,
    ) -> Result<Request<Body>, Wrong> {
        let path = self.path(operation, &mut arguments, own_account)?;
        let mut request = Request::builder().method(&operation.method);
        if let Some((KeyIn::Header, _)) = self.key {
            let Some(Value::String(key)) = arguments.remove("idempotency_key") else {
                return Err(Wrong::new("idempotency_key", "is required, as a text"));
            };
            request = request.header(IDEMPOTENCY_KEY, key.as_bytes());
        }
        if self.is_from_own_account()
            && let Some(account) = own_account
            && arguments.insert(FROM.to_owned(), account.into()).is_some()
        {
            return Err(Wrong::new(FROM, "is not an argument: the key names the account that pays"));
        }
        for field in self.set {
            if arguments.insert((*field).to_owned(), true.into()).is_some() {
                return Err(Wrong::new(*field, "is not an argument of this tool"));
            }
        }
        self.name_wallet(&mut arguments)?;
        self.remove(operation, &mut arguments)?;
        if let (false, Some(unknown)) = (operation.takes_something(), arguments.keys().next()) {
            return Err(Wrong::new(unknown.clone(), "is not an argument of this tool"));
        }
        let (path, body) = if operation.method == Method::GET {
            (format!("{path}{}", query(arguments)?), Body::empty())
        } else {
            let body = Value::Object(arguments).to_string();
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::CONTENT_LENGTH, body.len());
            (path, Body::from(body))
        };
        request.uri(path).body(body).map_err(|_| Wrong::new("idempotency_key", "has control characters"))
    }

    /// The operation's path, with the id that belongs there.
    fn path(
        &self,
        operation: &Operation,
        arguments: &mut JsonObject,
        own_account: Option<&str>,
    ) -> Result<String, Wrong> {
        let id = match self.path_id {
            None => own_account.unwrap_or_default().to_owned(),
            Some(kind) => {
                let (name, prefix) = kind.argument();
                let Some(Value::String(id)) = arguments.remove(name) else {
                    return Err(Wrong::new(name, "is required, as a text"));
                };
                if kind == PathId::Account && !is_id(&id, prefix) {
                    let problem = format!("is not the id of an account, which begins with `{prefix}`");
                    return Err(Wrong::new(name, problem));
                }
                id
            }
        };
        // Nothing gets out of its segment.
        let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        Ok(operation.path.replace("{id}", &id))
    }

    /// Names a payee as a wallet, as REST has it.
    fn name_wallet(&self, arguments: &mut JsonObject) -> Result<(), Wrong> {
        if !self.has_payee {
            return Ok(());
        }
        match (arguments.remove(TO_IS_WALLET), arguments.get_mut(TO)) {
            (None | Some(Value::Null | Value::Bool(false)), _) => Ok(()),
            (Some(Value::Bool(true)), Some(to @ Value::String(_))) => {
                *to = json!({ "wallet": to.take() });
                Ok(())
            }
            (Some(Value::Bool(true)), _) => Err(Wrong::new(TO, "is required, as a text")),
            (Some(_), _) => Err(Wrong::new(TO_IS_WALLET, "must be true or false")),
        }
    }

    /// Sets what is to be removed to `null`, as REST has it.
    fn remove(&self, operation: &Operation, arguments: &mut JsonObject) -> Result<(), Wrong> {
        if !self.removes {
            return Ok(());
        }
        let names = match arguments.remove(REMOVE) {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(names)) => names,
            Some(_) => return Err(Wrong::new(REMOVE, "must be a list of texts")),
        };
        for name in names {
            let known = self.removable(operation).find(|known| name == *known);
            let names = || self.removable(operation).collect::<Vec<_>>().join("`, `");
            let name = known.ok_or_else(|| Wrong::new(REMOVE, format!("may name `{}`", names())))?;
            if arguments.insert(name.to_owned(), Value::Null).is_some_and(|given| !given.is_null()) {
                return Err(Wrong::new(name, "cannot be both set and removed"));
            }
        }
        Ok(())
    }
}

fn is_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        let is_letter = |letter: u8| letter.is_ascii_uppercase() || letter.is_ascii_digit();
        rest.len() == ID_CHARS && rest.bytes().all(is_letter)
    })
}

fn query(arguments: JsonObject) -> Result<String, Wrong> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments {
        match value {
            Value::String(text) => query.append_pair(&name, &text),
            Value::Number(number) => query.append_pair(&name, &number.to_string()),
            Value::Null => &mut query,
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err(Wrong::new(name, "must be a text or a number"));
            }
        };
    }
    let query = query.finish();
    Ok(if query.is_empty() { query } else { format!("?{query}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::object;
    use crate::tools::{FOR_AGENTS, FOR_OPERATORS};

    const ID: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn operation(id: &str) -> Operation {
        let (method, path, has_body, properties) = match id {
            "list_accounts" => (Method::GET, "/v1/accounts", false, json!({ "limit": {}, "cursor": {} })),
            "create_account" => (Method::POST, "/v1/accounts", true, json!({})),
            "get_account" => (Method::GET, "/v1/accounts/{id}", false, json!({})),
            "get_policy" => (Method::GET, "/v1/accounts/{id}/policy", false, json!({})),
            "update_policy" => (Method::PATCH, "/v1/accounts/{id}/policy", true, json!({})),
            "get_transfer" => (Method::GET, "/v1/transfers/{id}", false, json!({})),
            _ => (Method::POST, "/v1/transfers", true, json!({})),
        };
        let takes = json!({ "properties": properties });
        let nullable = vec!["max_daily_spend".to_owned()];
        Operation { method, path: path.to_owned(), takes, nullable, has_body, answers: Value::Null }
    }

    fn request(tools: &[Tool], name: &str, arguments: Value) -> Result<(String, String), Wrong> {
        let tool = tools.iter().find(|tool| tool.name == name).expect("a tool");
        let own = std::ptr::eq(tools, FOR_AGENTS).then_some(ID);
        tool.request(&operation(tool.operation), object(arguments), own)
            .map(|request| (request.method().to_string(), request.uri().to_string()))
    }

    #[test]
    fn a_tool_is_the_request_of_its_route() {
        let asked = |tool, arguments| request(FOR_OPERATORS, tool, arguments).expect("a request");
        let list = asked("list_accounts", json!({ "limit": 5, "cursor": "a/b&status=paused" }));
        assert_eq!(list.1, "/v1/accounts?cursor=a%2Fb%26status%3Dpaused&limit=5");
        assert_eq!(
            asked("get_policy", json!({ "account_id": ID })),
            ("GET".into(), format!("/v1/accounts/{ID}/policy"))
        );
        let update = asked("update_policy", json!({ "account_id": ID, "paused": true }));
        assert_eq!(update, ("PATCH".into(), format!("/v1/accounts/{ID}/policy")));
        assert_eq!(asked("create_account", json!({ "idempotency_key": "a", "name": "b" })).0, "POST");
        let own = request(FOR_AGENTS, "get_account", json!({})).expect("a request");
        assert_eq!(own.1, format!("/v1/accounts/{ID}"));
    }

    #[test]
    fn nothing_but_an_account_gets_into_a_path_and_nothing_unknown_past_it() {
        let request = |tool, arguments| request(FOR_OPERATORS, tool, arguments);
        for id in [json!("../webhooks"), json!("acct_01/../x"), json!(""), json!(null), json!(["x"])] {
            request("get_account", json!({ "account_id": id })).expect_err("no account");
        }
        request("get_account", json!({})).expect_err("none");
        request("get_account", json!({ "account_id": ID, "x": 1 })).expect_err("unknown");
        for remove in [json!("paused"), json!(["paused"]), json!([7])] {
            request("update_policy", json!({ "account_id": ID, "remove": remove })).expect_err("no rule");
        }
        let both = json!({ "account_id": ID, "max_daily_spend": "5", "remove": ["max_daily_spend"] });
        request("update_policy", both).expect_err("set and removed");
        request("create_account", json!({ "name": "b" })).expect_err("no key");
        request("create_account", json!({ "name": "b", "idempotency_key": "a\nb" })).expect_err("two lines");
    }

    #[test]
    fn payee_is_named_as_a_wallet_where_that_is_said() {
        let named = |mut arguments: Value| {
            let tool = FOR_AGENTS.iter().find(|tool| tool.name == "send_transfer").expect("a tool");
            let mut taken = object(arguments.take());
            tool.name_wallet(&mut taken).map(|()| Value::Object(taken))
        };
        let plain = json!({ "to": "x", "amount": "1" });
        for said in [json!(false), json!(null)] {
            let asked = json!({ "to": "x", "amount": "1", "to_is_wallet": said });
            assert_eq!(named(asked).expect("a request"), plain);
        }
        let asked = json!({ "to": "x", "amount": "1", "to_is_wallet": true });
        assert_eq!(named(asked).expect("a request"), json!({ "to": { "wallet": "x" }, "amount": "1" }));
        for (wrong, param) in [
            (json!({ "to": "x", "to_is_wallet": "true" }), "to_is_wallet"),
            (json!({ "to_is_wallet": true }), "to"),
            (json!({ "to": { "wallet": "x" }, "to_is_wallet": true }), "to"),
        ] {
            assert_eq!(named(wrong).expect_err("wrong").body("req_1")["param"], param);
        }
    }

    #[test]
    fn an_agent_names_neither_its_account_nor_another_path() {
        let asked = request(FOR_AGENTS, "get_transfer", json!({ "transfer_id": "../accounts/x" }));
        assert_eq!(asked.expect("a request").1, "/v1/transfers/..%2Faccounts%2Fx");
        let wrong = request(FOR_AGENTS, "send_transfer", json!({ "from": ID })).expect_err("from");
        assert_eq!(wrong.body("req_1")["param"], "from");
    }
}
