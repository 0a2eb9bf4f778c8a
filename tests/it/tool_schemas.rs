//! What stands between an MCP server and a model takes the tools as they are: OpenAI refuses a whole request for one schema that
//! it cannot compile, and converters drop what they do not know.

use purser_tests::network::temp_folder;
use purser_tests::{AppSettings, TestApp, TestNetwork, foreign};
use serde_json::Value;
use tokio::process::Command;

use crate::mcp::tools_of;

#[tokio::test]
async fn every_tool_compiles_for_constrained_decoding_and_survives_the_converters() {
    let settings = AppSettings { sections: "[mcp]\noperator_tools = true\n", ..AppSettings::default() };
    let operator = TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await;
    let key = operator.creates_account_with("Ada", "1").await.new_key().await;
    let tools = [tools_of(&key).await, tools_of(&operator.client).await].concat();
    let said = format!("{} tools\n", tools.len());
    let folder = temp_folder();
    let file = folder.path().join("tools.json");
    std::fs::write(&file, Value::from(tools).to_string()).expect("the folder is writable");
    if let Some(python) = foreign::python() {
        let mut checks = Command::new(python.join("python"));
        checks.arg(foreign::file("tool_schemas.py")).arg(&file).kill_on_drop(true);
        assert_eq!(foreign::printed(checks).await, said);
    }
    if let Some(modules) = foreign::node_modules() {
        let mut checks = Command::new("node");
        checks
            .arg(foreign::file("tool_schemas.mjs"))
            .arg(&file)
            .env("PURSER_NODE_MODULES", modules)
            .kill_on_drop(true);
        assert_eq!(foreign::printed(checks).await, said);
    }
}
