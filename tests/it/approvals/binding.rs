//! What an approval binds, by a suite that others wrote: cases APB-001 to 003 of PyPI `agent-security-harness`. Its four operations are
//! those of this service: an approver opens the grant for one payment, an agent pays, the settled payments say what ran, and what is
//! denied is paid from an account that is paused, which no grant passes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use purser_tests::network::temp_folder;
use purser_tests::{agent::unique_key, foreign};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use super::*;

/// Each payment's, in micro-USDC.
const AMOUNT: u64 = 2_000_000;
/// In which the service has looked for a grant.
const LOOKED_WITHIN: Duration = Duration::from_secs(8);

struct Runtime {
    scene: Scene,
    /// Paused.
    denying: Agent,
    state: Mutex<Calls>,
}

/// By the text of their arguments.
#[derive(Default)]
struct Calls {
    denied: HashSet<String>,
    approved: HashMap<String, VecDeque<String>>,
    used: HashMap<String, String>,
    /// By the memo of the payment.
    arguments: HashMap<String, Value>,
}

impl Runtime {
    async fn new(scene: Scene) -> Self {
        let denying = scene.operator.creates_account("Denying").await;
        mints(&scene.operator.chain, "100", &denying.token_account).await;
        denying.sets_policy(json!({ "max_single_transfer": 1, "paused": true })).await;
        Self { scene, denying, state: Mutex::default() }
    }

    async fn does(&self, request: &Value) -> Value {
        let arguments = &request["args"];
        match request["op"].as_str() {
            Some("profile") => json!({ "_status": 200, "single_use": true }),
            Some("declare") => {
                self.state.lock().await.denied.insert(request["deny"]["args"].to_string());
                json!({ "_status": 200, "declared": true })
            }
            Some("executions") => json!({ "_status": 200, "executions": self.executions().await }),
            Some("approve") => json!({ "_status": 200, "approved": self.approves(arguments).await }),
            Some("call") => json!({ "_status": self.calls(arguments).await }),
            _ => json!({ "_status": 400 }),
        }
    }

    async fn account_for(&self, arguments: &Value) -> &Agent {
        let is_denied = self.state.lock().await.denied.contains(&arguments.to_string());
        if is_denied { &self.denying } else { &self.scene.ada }
    }

    /// The approver opens the grant for one call with these arguments, before anybody asks.
    async fn approves(&self, arguments: &Value) -> bool {
        let (key, memo) = (unique_key(), memo_of(arguments));
        let (scene, agent) = (&self.scene, self.account_for(arguments).await.address);
        let chain = &scene.operator.chain;
        let tag = tag_under(&scene.operator.address, &agent, &key);
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(scene.payee),
            amount: AMOUNT,
            expires_at: chain.now().await + 3_600,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(tag),
            memo_hash: Some(Sha256::digest(&memo).into()),
            policy_version: Some(chain.agent(&agent).await.agent.policy_version),
        };
        let (wallet, at) = (scene.approver.pubkey(), (scene.operator.address, agent));
        let opens = chain.program().approve(wallet, wallet, wallet, at, tag, terms);
        let landed = chain.all_land(&opens, &[&scene.approver]).await;
        self.state.lock().await.approved.entry(arguments.to_string()).or_default().push_back(key);
        matches!(landed, DirectOutcome::Settled(_))
    }

    /// Under the key that was approved; without one under the last that was, and under a new one.
    async fn calls(&self, arguments: &Value) -> u16 {
        let text = arguments.to_string();
        let keys = {
            let mut state = self.state.lock().await;
            state.arguments.insert(memo_of(arguments), arguments.clone());
            match state.approved.get_mut(&text).and_then(VecDeque::pop_front) {
                Some(key) => {
                    state.used.insert(text, key.clone());
                    vec![key]
                }
                None => state.used.get(&text).cloned().into_iter().chain([unique_key()]).collect(),
            }
        };
        let mut status = 403;
        for key in keys {
            status = self.pays(arguments, &key).await;
        }
        status
    }

    async fn pays(&self, arguments: &Value, key: &str) -> u16 {
        let agent = self.account_for(arguments).await;
        let payment = agent.pays("2").to(&self.scene.payee).memo(&memo_of(arguments)).key(key);
        let asked = payment.field("approval", json!("request")).await;
        if asked.status != 202 {
            return asked.status;
        }
        let id = asked.text_of("transfer_id").to_owned();
        let began = std::time::Instant::now();
        while began.elapsed() < LOOKED_WITHIN {
            if self.scene.operator.client.get(&format!("/v1/transfers/{id}")).await["status"] == "settled" {
                return 200;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // Nobody approved it: the agent takes it back.
        self.scene.operator.client.delete(&format!("/v1/approvals/{id}")).await.has_status(204);
        403
    }

    /// The oldest first.
    async fn executions(&self) -> Vec<Value> {
        let listed = self.scene.operator.client.get("/v1/transfers?status=settled&limit=100").await;
        let state = self.state.lock().await;
        let settled = listed["data"].as_array().expect("a list").iter().rev();
        let ran = settled.map(|transfer| {
            let memo = transfer["memo"].as_str().expect("a memo");
            json!({ "tool": "send_transfer", "args": state.arguments[memo] })
        });
        ran.collect()
    }
}

fn memo_of(arguments: &Value) -> String {
    arguments["path"].as_str().expect("a path").to_owned()
}

/// As docs/dev/decisions/0005 says: who approves ahead of the request needs to know it.
fn tag_under(operator: &Pubkey, agent: &Pubkey, key: &str) -> u64 {
    let text = [b"purser:tag:v1", operator.as_ref(), agent.as_ref(), key.as_bytes()].concat();
    let hash = Sha256::digest(text);
    u64::from_le_bytes(*hash.first_chunk().expect("32 bytes")).max(1)
}

async fn answers(State(runtime): State<Arc<Runtime>>, Json(request): Json<Value>) -> Json<Value> {
    Json(runtime.does(&request).await)
}

#[tokio::test]
async fn approval_binds_its_arguments_once_and_passes_no_rule_that_no_grant_waives() {
    let Some(python) = foreign::python() else { return };
    let folder = temp_folder();
    let has_suite = "python -c 'import protocol_tests.approval_binding_harness'";
    let found = foreign::shell(folder.path(), std::slice::from_ref(&python), has_suite).output().await;
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("not run: agent-security-harness is not installed");
        return;
    }
    let scene = Scene::on(TestNetwork::shared().await, &settings()).await;
    let runtime = Arc::new(Runtime::new(scene).await);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a local port is free");
    let url = format!("http://{}/", listener.local_addr().expect("the listener is bound"));
    let router = Router::new().route("/", post(answers)).with_state(Arc::clone(&runtime));
    let served = tokio::spawn(async move { axum::serve(listener, router).await });
    let mut suite = foreign::shell(folder.path(), &[python], "python \"$SUITE\"");
    suite.env("URL", url).env("SUITE", foreign::file("approval_binding.py"));
    let printed = foreign::printed(suite).await;
    served.abort();
    let cases: Value = serde_json::from_str(printed.lines().last().unwrap_or_default()).expect("JSON");
    let passed: Vec<_> =
        cases.as_array().expect("cases").iter().map(|it| (&it["case"], &it["passed"])).collect();
    let all = [json!("APB-001"), json!("APB-002"), json!("APB-003")];
    assert_eq!(passed, all.each_ref().map(|case| (case, &Value::Bool(true))), "{cases}");
    // What it was told ran is what left.
    let ran = runtime.executions().await.len() as u64;
    assert_eq!((ran, runtime.scene.paid().await), (5, 5 * AMOUNT));
}
