//! The commands of `docs/build/mcp.md`, as printed. Agent hosts ask a model what to do next: here a local script answers in the
//! model's place, with the APIs of OpenAI and Anthropic.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::{env, fs};

use axum::extract::State;
use axum::http::Uri;
use axum::{Json, Router};
use purser_tests::binaries::workspace;
use purser_tests::network::temp_folder;
use purser_tests::{Agent, Client, Operator, foreign, page};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The model's calls in order: every tool, and the payment twice.
const TOOLS: [&str; 8] = [
    "get_account",
    "get_balance",
    "get_limits",
    "preview_transfer",
    "send_transfer",
    "send_transfer",
    "get_transfer",
    "list_transactions",
];

/// Decides which tool is called next.
struct Model {
    payee: String,
    /// How often each tool was called.
    called: Mutex<BTreeMap<&'static str, usize>>,
}

impl Model {
    /// The next tool and its arguments, after `answers` answers. `read` is the whole conversation so far.
    fn next(&self, answers: usize, read: &str) -> Option<(&'static str, Value)> {
        let tool = *TOOLS.get(answers)?;
        *self.called.lock().expect("no test panicked").entry(tool).or_default() += 1;
        let payment = json!({ "to": self.payee, "amount": "0.25" });
        let arguments = match tool {
            "preview_transfer" => payment,
            "send_transfer" => {
                let mut payment = payment;
                payment["idempotency_key"] = "tea".into();
                payment
            }
            "get_transfer" => {
                let at = read.rfind("txn_").expect("a payment was made");
                json!({ "transfer_id": read[at..at + 30] })
            }
            _ => json!({}),
        };
        Some((tool, arguments))
    }
}

async fn says(State(model): State<Arc<Model>>, uri: Uri, Json(asked): Json<Value>) -> Json<Value> {
    let read = format!("{}{}", asked["input"], asked["messages"]);
    let items = |name: &str| asked[name].as_array().cloned().unwrap_or_default();
    let answer = match uri.path() {
        "/responses" => {
            let answers = items("input").iter().filter(|item| item["type"] == "function_call_output").count();
            let said = match model.next(answers, &read) {
                Some((tool, arguments)) => json!({
                    "type": "function_call", "id": format!("fc_{answers}"), "call_id": format!("call_{answers}"),
                    "name": tool, "arguments": arguments.to_string(), "status": "completed",
                }),
                None => json!({
                    "type": "message", "id": "msg", "role": "assistant", "status": "completed",
                    "content": [{ "type": "output_text", "text": "Paid.", "annotations": [] }],
                }),
            };
            json!({
                "id": "resp", "object": "response", "created_at": 0, "model": "scripted", "status": "completed",
                "output": [said], "parallel_tool_calls": false, "tool_choice": "auto", "tools": [],
            })
        }
        "/chat/completions" => {
            let answers = items("messages").iter().filter(|message| message["role"] == "tool").count();
            let (message, reason) = match model.next(answers, &read) {
                Some((tool, arguments)) => {
                    let function = json!({ "name": tool, "arguments": arguments.to_string() });
                    let call =
                        json!({ "id": format!("call_{answers}"), "type": "function", "function": function });
                    (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
                }
                None => (json!({ "role": "assistant", "content": "Paid." }), "stop"),
            };
            let choice = json!({ "index": 0, "finish_reason": reason, "message": message });
            json!({ "id": "chat", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice] })
        }
        "/v1/messages" => {
            let results = |message: &Value| {
                let parts = message["content"].as_array().into_iter().flatten();
                parts.filter(|part| part["type"] == "tool_result").count()
            };
            let answers: usize = items("messages").iter().map(results).sum();
            let (part, reason) = match model.next(answers, &read) {
                Some((tool, arguments)) => (
                    json!({ "type": "tool_use", "id": format!("toolu_{answers}"), "name": tool, "input": arguments }),
                    "tool_use",
                ),
                None => (json!({ "type": "text", "text": "Paid." }), "end_turn"),
            };
            json!({
                "id": "msg", "type": "message", "role": "assistant", "model": "scripted", "content": [part],
                "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
            })
        }
        other => panic!("no model is asked at {other}"),
    };
    Json(answer)
}

/// The page's part with this heading, and its only code block in this language.
fn block(heading: &str, language: &str) -> String {
    let page = fs::read_to_string(workspace().join("docs/build/mcp.md")).expect("the page is there");
    let part = page.split("\n## ").find(|part| part.starts_with(heading));
    let part = part.unwrap_or_else(|| panic!("no part is called {heading}"));
    let blocks: Vec<&str> = part.split(&format!("```{language}\n")).skip(1).collect();
    let [block] = blocks[..] else { panic!("one block in {language} under {heading}, not {}", blocks.len()) };
    block.split("```").next().expect("a block ends").to_owned()
}

struct Scene {
    agent: Agent,
    key: Client,
    payee: solana_sdk::pubkey::Pubkey,
    model: Arc<Model>,
    model_url: String,
}

impl Scene {
    async fn new() -> Scene {
        let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
        let key = agent.new_key().await;
        let (payee, _) = agent.operator.chain.new_payee().await;
        let model = Arc::new(Model { payee: payee.to_string(), called: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a local port is free");
        let model_url = format!("http://{}", listener.local_addr().expect("the listener is bound"));
        let router = Router::new().fallback(says).with_state(Arc::clone(&model));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Scene { agent, key, payee, model, model_url }
    }

    /// Saves `text` as `name`, runs `line`, and returns its output.
    async fn runs(&self, name: &str, text: &str, line: &str, programs: &[PathBuf]) -> String {
        let folder = temp_folder();
        fs::write(folder.path().join(name), text).expect("the folder is writable");
        if let Some(modules) = env::var_os("PURSER_NODE_MODULES") {
            let link = folder.path().join("node_modules");
            std::os::unix::fs::symlink(modules, link).expect("the folder is writable");
        }
        let mut shell = foreign::shell(folder.path(), programs, line);
        shell.env("PURSER_MCP_URL", format!("{}/mcp", self.agent.operator.app().base_url()));
        shell.env("PURSER_AGENT_KEY", self.key.key()).env("PURSER_PAYEE", self.payee.to_string());
        for service in ["OPENAI", "ANTHROPIC"] {
            shell.env(format!("{service}_BASE_URL"), &self.model_url);
            shell.env(format!("{service}_API_KEY"), "of-no-use");
        }
        foreign::printed(shell).await
    }

    async fn paid(&self) -> u64 {
        self.agent.operator.chain.usdc_micros(&self.payee).await
    }

    /// Runs one of the page's hosts, which calls every tool and pays once.
    async fn hosts(&self, heading: &str, programs: PathBuf) {
        self.calls_every_tool("ada.py", &block(heading, "python"), "python ada.py", programs).await;
    }

    async fn calls_every_tool(&self, name: &str, text: &str, line: &str, programs: PathBuf) {
        let printed = self.runs(name, text, line, &[programs]).await;
        assert_eq!(printed, "Paid.\n", "{name}");
        let called = self.model.called.lock().expect("no test panicked").clone();
        assert_eq!(called.values().sum::<usize>(), TOOLS.len(), "{name}: {called:?}");
        assert_eq!(called.len(), 7, "{name}: {called:?}");
        assert_eq!(self.paid().await, 250_000, "{name}");
    }
}

#[tokio::test]
async fn plain_loop_of_the_page_pays_once() {
    let scene = Scene::new().await;
    let printed = scene.runs("loop.py", &block("A plain loop", "python"), "python3 loop.py", &[]).await;
    assert_eq!(printed.matches("False settled txn_").count(), 3, "{printed}");
    assert_eq!(scene.paid().await, 250_000);
}

#[tokio::test]
async fn package_of_python_pays_as_the_page_says() {
    let Some(python) = foreign::python() else { return };
    let scene = Scene::new().await;
    let text = block("The MCP package of Python", "python");
    for mode in ["auto", "legacy"] {
        let text = text.replace("mode=\"auto\"", &format!("mode=\"{mode}\""));
        let printed = scene.runs("ada.py", &text, "python ada.py", std::slice::from_ref(&python)).await;
        assert_eq!(printed, "settled\n", "{mode}");
    }
    assert_eq!(scene.paid().await, 250_000, "one name in both eras is one payment");
}

#[tokio::test]
async fn package_of_npm_pays_as_the_page_says() {
    let Some(modules) = foreign::node_modules() else { return };
    let scene = Scene::new().await;
    let text = block("The MCP packages of npm", "js");
    let printed = scene.runs("ada.mjs", &text, "node ada.mjs", &[modules.join(".bin")]).await;
    assert!(printed.contains("max_single_transfer"), "{printed}");
}

#[tokio::test]
async fn process_of_the_page_answers_on_its_standard_output() {
    let scene = Scene::new().await;
    let line = block("Clients that start a process", "sh");
    let printed = scene.runs("unused", "", &line, &[]).await;
    let answer: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(answer["result"]["structuredContent"]["balance_usdc"], "100.000000", "{printed}");
}

/// The configurations for hosts that people copy from `docs/start/quickstart.md`, with an address and a key of this service.
#[tokio::test]
async fn configurations_of_hosts_lead_to_the_tools() {
    let scene = Scene::new().await;
    let url = format!("{}/mcp", scene.agent.operator.app().base_url());
    let blocks = page::blocks("docs/start/quickstart.md", "json")
        .into_iter()
        .filter(|block| block.contains("ervers\""));
    let mut hosts = 0;
    for block in blocks {
        let block =
            block.replace("http://127.0.0.1:8080/mcp", &url).replace("psr_ag_test_...", scene.key.key());
        let whole: Value = serde_json::from_str(&block).expect("JSON");
        let servers = whole.get("mcpServers").or(whole.get("servers")).expect("servers");
        let server = &servers["purser"];
        let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let answer: Value = if let Some(command) = server["command"].as_str() {
            assert_eq!(command, "/path/to/purser");
            let words: Vec<&str> =
                server["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let folder = temp_folder();
            let mut shell = foreign::shell(folder.path(), &[], "printf '%s\\n' \"$0\" | purser \"$@\"");
            shell.arg(ask.to_string()).args(words);
            shell.env("PURSER_AGENT_KEY", server["env"]["PURSER_AGENT_KEY"].as_str().expect("a key"));
            serde_json::from_str(&foreign::printed(shell).await).expect("JSON")
        } else {
            let post = reqwest::Client::new().post(server["url"].as_str().expect("an address"));
            let post =
                post.header("Authorization", server["headers"]["Authorization"].as_str().expect("a header"));
            let post = post.header("Content-Type", "application/json").body(ask.to_string());
            let text = post.send().await.expect("an answer").text().await.expect("text");
            serde_json::from_str(&text).expect("JSON")
        };
        assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(8), "{answer}");
        hosts += 1;
    }
    assert_eq!(hosts, 3);
}

#[tokio::test]
async fn claude_calls_every_tool_and_pays_once() {
    let Some(python) = foreign::python() else { return };
    Scene::new().await.hosts("Claude", python).await;
}

#[tokio::test]
async fn openai_agent_calls_every_tool_and_pays_once() {
    let Some(python) = foreign::python() else { return };
    Scene::new().await.hosts("An OpenAI agent", python).await;
}

#[tokio::test]
async fn langchain_calls_every_tool_and_pays_once() {
    let Some(python) = foreign::langchain() else { return };
    let example = example("python/examples/langchain_agent.py");
    assert!(example.ends_with(&block("LangChain", "python")), "the page and the example are one program");
    Scene::new().await.calls_every_tool("ada.py", &example, "python ada.py", python).await;
}

#[tokio::test]
async fn ai_sdk_calls_every_tool_and_pays_once() {
    let Some(modules) = foreign::node_modules() else { return };
    let example = example("typescript/examples/mcp-agent.ts");
    // A module by its name, in a folder without a package.
    Scene::new().await.calls_every_tool("ada.mts", &example, "node ada.mts", modules.join(".bin")).await;
}

fn example(file: &str) -> String {
    fs::read_to_string(workspace().join("sdk").join(file)).expect("the SDK is there")
}

/// In parallel and in sequence, in both eras: retries under one name pay once.
const RETRIES: &str = r#"
import asyncio, os
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    headers = {"Authorization": f"Bearer {os.environ['PURSER_AGENT_KEY']}"}
    order = {"to": os.environ["PURSER_PAYEE"], "amount": "0.25", "idempotency_key": "tea"}
    ids = set()
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        for mode in "auto", "legacy":
            transport = streamable_http_client(os.environ["PURSER_MCP_URL"], http_client=http)
            async with Client(transport, mode=mode) as purser:
                pay = lambda: purser.call_tool("send_transfer", order)
                answers = await asyncio.gather(*(pay() for _ in range(25)))
                answers += [await pay() for _ in range(25)]
                ids.update((paid.structured_content["status"], paid.structured_content["transfer_id"]) for paid in answers)
    print(ids)

asyncio.run(main())
"#;

#[tokio::test]
async fn hundred_retries_of_a_client_pay_once() {
    let Some(python) = foreign::python() else { return };
    let scene = Scene::new().await;
    let printed = scene.runs("retries.py", RETRIES, "python retries.py", &[python]).await;
    assert_eq!(printed.matches("txn_").count(), 1, "{printed}");
    assert!(printed.starts_with("{('settled', 'txn_"), "{printed}");
    assert_eq!(scene.paid().await, 250_000);
}
