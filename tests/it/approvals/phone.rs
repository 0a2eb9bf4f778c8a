//! A wallet that others wrote: npm `@solana/pay`, as published.

use purser_tests::foreign;
use purser_tests::network::temp_folder;

use super::*;

#[tokio::test]
async fn solana_pay_reads_the_code_and_its_wallet_approves() {
    let Some(modules) = foreign::solana_pay() else { return };
    let scene = Scene::poor(&settings()).await;
    let asked = scene.asks("a").await.has_status(202);
    let shown = scene.app.client().get(&page_of(&asked)).await.has_status(200);
    let code = shown.text.split("href=\"").find_map(|rest| {
        let link = rest.split('"').next()?;
        link.starts_with("solana:").then(|| link.to_owned())
    });
    let folder = temp_folder();
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).expect("a folder");
    std::fs::write(folder.path().join("phone.mjs"), include_str!("phone.mjs")).expect("writable");
    let phone = json!({
        "code": code.expect("a link for wallets"), "public_url": PUBLIC_URL, "service": scene.app.base_url(),
        "rpc_url": scene.operator.network().rpc_url, "wallet": scene.approver.to_bytes().to_vec(),
    });
    let newer: Vec<_> = foreign::node_modules().map(|modules| modules.join(".bin")).into_iter().collect();
    let mut node = foreign::shell(folder.path(), &newer, "node phone.mjs");
    node.env("PHONE", phone.to_string());
    let printed = foreign::printed(node).await;
    let printed: Value = serde_json::from_str(printed.trim()).expect("JSON");
    assert_eq!(printed["link"], format!("{}/pay", asked.text_of("approval_url")));
    assert!(
        printed["label"]["label"].as_str().is_some_and(|label| label.starts_with("Purser: ")),
        "{printed}"
    );
    scene.becomes(&asked, "used").await;
    assert_eq!(scene.paid().await, 30_000_000);
}
