//! Third-party MCP clients call every tool. `PURSER_NODE_MODULES` names a folder that has them; `.ci/run`
//! installs them. Without it the test says so and skips.

use purser_tests::Operator;
use tokio::process::Command;

/// One client of each era. Prints a line for each call: the tool, whether the call was refused, and the payment's status.
const CLIENTS: &str = r#"
const { env } = process;
const modules = env.PURSER_NODE_MODULES + "/@modelcontextprotocol";
const headers = { Authorization: `Bearer ${env.PURSER_AGENT_KEY}` };
const url = new URL(env.PURSER_MCP_URL);
const connect = {
  new: async () => {
    const { Client, StreamableHTTPClientTransport } = await import(`${modules}/client/dist/index.mjs`);
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return client;
  },
  old: async () => {
    const { Client } = await import(`${modules}/sdk/dist/esm/client/index.js`);
    const http = await import(`${modules}/sdk/dist/esm/client/streamableHttp.js`);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new http.StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return client;
  },
};
const client = await connect[env.ERA]();
const session = client.transport.sessionId === undefined ? "without" : "with";
console.log(`${session} a session, ${(await client.listTools()).tools.length} tools`);
const call = async (name, args = {}) => {
  const answer = await client.callTool({ name, arguments: args });
  console.log(name, answer.isError === true, answer.structuredContent.status ?? "");
  return answer.structuredContent;
};
const to = env.PURSER_PAYEE;
const payment = { to, amount: "1", memo: env.ERA, idempotency_key: env.ERA };
await call("get_account");
await call("get_balance");
await call("get_limits");
await call("preview_transfer", { to, amount: "1" });
const paid = await call("send_transfer", payment);
await call("send_transfer", payment);
await call("get_transfer", { transfer_id: paid.transfer_id });
await call("list_transactions", { limit: 5 });
await call("send_transfer", { to, amount: "30", idempotency_key: env.ERA + " too much" });
await client.close();
"#;

const CALLS: &str = "\
get_account false active
get_balance false 
get_limits false 
preview_transfer false 
send_transfer false settled
send_transfer false settled
get_transfer false settled
list_transactions false 
send_transfer true rejected
";

/// Clients with a key that is not valid, each as a program that sends the key and as a host that expects OAuth. Prints what
/// each throws, on a line of its own.
const REFUSED: &str = r#"
const { env } = process;
const modules = env.PURSER_NODE_MODULES;
const url = new URL(env.PURSER_MCP_URL);
const headers = { Authorization: `Bearer ${env.PURSER_AGENT_KEY}` };
const redirectUrl = "http://127.0.0.1:1/callback";
const authProvider = {
  redirectUrl, clientMetadata: { client_name: "host", redirect_uris: [redirectUrl] },
  clientInformation() {}, saveClientInformation() {}, tokens() {}, saveTokens() {}, saveCodeVerifier() {},
  codeVerifier: () => "v", state: () => "s", redirectToAuthorization: () => console.log("a browser is opened"),
};
const { Client, StreamableHTTPClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
const old = await import(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/index.js`);
const http = await import(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js`);
const { createMCPClient } = await import(`${modules}/@ai-sdk/mcp/dist/index.js`);
const clients = {
  client: (more) => new Client({ name: "t", version: "1" })
    .connect(new StreamableHTTPClientTransport(url, { requestInit: { headers }, ...more })),
  sdk: (more) => new old.Client({ name: "t", version: "1" })
    .connect(new http.StreamableHTTPClientTransport(url, { requestInit: { headers }, ...more })),
  ai: (more) => createMCPClient({ transport: { type: "http", url: String(url), headers, ...more } }),
};
for (const [name, connect] of Object.entries(clients)) {
  for (const [how, more] of [["key", {}], ["oauth", { authProvider }]]) {
    const told = await connect(more).then(() => "connected", (error) => error.message);
    console.log(name, how, told.replaceAll("\n", " "));
  }
}
process.exit();
"#;

#[tokio::test]
async fn user_of_a_key_that_is_not_valid_is_told_what_to_configure() {
    let Some(modules) = std::env::var_os("PURSER_NODE_MODULES") else {
        eprintln!("PURSER_NODE_MODULES is not set: no foreign client called");
        return;
    };
    let agent = Operator::shared().await.creates_account("Ada").await;
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", REFUSED]).kill_on_drop(true);
    node.env("PURSER_NODE_MODULES", &modules)
        .env("PURSER_AGENT_KEY", format!("psr_ag_test_{}", "1".repeat(43)));
    node.env("PURSER_MCP_URL", format!("{}/mcp", agent.operator.app().base_url()));
    let output = node.output().await.expect("node starts");
    let (printed, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for client in ["client", "sdk", "ai"] {
        for (how, said) in [("key", "unauthorized"), ("oauth", "Purser does not use OAuth")] {
            let begin = format!("{client} {how} ");
            let told = printed.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
            assert!(told.contains(said), "{client} {how}: {printed}{complaint}");
        }
    }
    assert!(!printed.contains("a browser is opened"), "{printed}");
}

#[tokio::test]
async fn clients_of_both_eras_call_every_tool_and_pay_once() {
    let Some(modules) = std::env::var_os("PURSER_NODE_MODULES") else {
        eprintln!("PURSER_NODE_MODULES is not set: no foreign client called");
        return;
    };
    let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
    agent.sets_policy(serde_json::json!({ "max_single_transfer": 25 })).await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let key = agent.new_key().await;
    for (era, session) in [("new", "without"), ("old", "with")] {
        let mut node = Command::new("node");
        node.args(["--input-type=module", "-e", CLIENTS]).kill_on_drop(true);
        node.env("PURSER_NODE_MODULES", &modules).env("ERA", era);
        node.env("PURSER_MCP_URL", format!("{}/mcp", agent.operator.app().base_url()));
        node.env("PURSER_AGENT_KEY", key.key()).env("PURSER_PAYEE", payee.to_string());
        let output = node.output().await.expect("node starts");
        let (printed, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(printed, format!("{session} a session, 8 tools\n{CALLS}"), "{era}: {complaint}");
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 2_000_000);
}
