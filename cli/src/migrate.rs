use anyhow::Result;
use secrecy::ExposeSecret;
use serde_json::json;

use super::output::{Format, print_one};
use purser_relayer::config::Config;
use purser_store::Store;

pub(super) async fn run(config: &Config, format: Format) -> Result<()> {
    let store = Store::open(config.database.url.expose_secret()).await?;
    let versions = store.list_migrations().await?;
    store.close().await;
    let database = json!(store.kind());
    print_one(format, &[("database", database), ("schema_version", json!(versions.last()))])
}
