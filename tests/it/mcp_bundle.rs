//! The bundle that a desktop host installs with one click (`deploy/mcpb/`), as the format's own tool checks and packs it, and as a
//! host starts it. `PURSER_NODE_MODULES` names a folder with that tool; without it the test says so and skips.

use std::fs;
use std::os::unix::fs::symlink;

use purser_tests::binaries::{relayer, workspace};
use purser_tests::network::temp_folder;
use purser_tests::{Operator, foreign};

/// What a host does: fills in what it asked the user for, starts the command, and speaks MCP on its streams.
const HOST: &str = r#"
const { env } = process;
const { readFileSync } = await import("node:fs");
const sdk = env.PURSER_NODE_MODULES + "/@modelcontextprotocol/sdk/dist/esm/client";
const { Client } = await import(`${sdk}/index.js`);
const { StdioClientTransport } = await import(`${sdk}/stdio.js`);
const manifest = JSON.parse(readFileSync("installed/manifest.json", "utf8"));
const answers = { url: env.PURSER_MCP_URL, agent_key: env.PURSER_AGENT_KEY };
for (const [name, option] of Object.entries(manifest.user_config)) {
  if (option.required && answers[name] === undefined) throw new Error(`nobody answers ${name}`);
}
const filled = (text) => text
  .replaceAll("${__dirname}", process.cwd() + "/installed")
  .replaceAll(/\$\{user_config\.(\w+)\}/g, (_, name) => answers[name]);
const { command, args, env: variables } = manifest.server.mcp_config;
const given = Object.fromEntries(Object.entries(variables).map(([name, text]) => [name, filled(text)]));
const client = new Client({ name: "host", version: "1" });
await client.connect(new StdioClientTransport({ command: filled(command), args: args.map(filled), env: given }));
const order = { to: env.PURSER_PAYEE, amount: "1", idempotency_key: "by the bundle" };
for (let attempt = 0; attempt < 2; attempt++) {
  const answer = await client.callTool({ name: "send_transfer", arguments: order });
  console.log(answer.structuredContent.status);
}
await client.close();
"#;

#[tokio::test]
async fn bundle_for_desktop_hosts_is_valid_and_pays_once() {
    let Some(modules) = foreign::node_modules() else { return };
    let agent = Operator::shared().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let folder = temp_folder();
    let bundle = folder.path().join("bundle");
    fs::create_dir_all(bundle.join("server")).expect("the folder is writable");
    fs::copy(workspace().join("deploy/mcpb/manifest.json"), bundle.join("manifest.json"))
        .expect("there is a manifest");
    // A line in place of a hundred megabytes: the tool packs files, and the relayer is tested everywhere else.
    let starter = format!("#!/bin/sh\nexec {} \"$@\"\n", relayer().display());
    fs::write(bundle.join("server/purser"), starter).expect("the folder is writable");
    symlink(&modules, folder.path().join("node_modules")).expect("the folder is writable");
    fs::write(folder.path().join("host.mjs"), HOST).expect("the folder is writable");
    let line = "chmod +x bundle/server/purser
        mcpb validate bundle/manifest.json >&2
        mcpb pack bundle purser.mcpb >&2
        mcpb unpack purser.mcpb installed >&2
        node host.mjs";
    let mut shell = foreign::shell(folder.path(), &[modules.join(".bin")], line);
    shell.env("PURSER_NODE_MODULES", &modules);
    shell.env("PURSER_MCP_URL", format!("{}/mcp", agent.operator.app().base_url()));
    shell.env("PURSER_AGENT_KEY", agent.new_key().await.key()).env("PURSER_PAYEE", payee.to_string());
    assert_eq!(foreign::printed(shell).await, "settled\nsettled\n");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}
