use anyhow::{Context, Result};
use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;

use super::key::{begin, end};
use super::operator::with_chain;
use super::output::{Format, print_one};
use purser_model::{Action, HaltedBy, OperatorId};
use purser_relayer::config::Config;
use purser_service::SystemClock;
use purser_service::audit_scope::AuditScope;
use purser_store::Store;

#[derive(Debug, Args)]
pub(super) struct HaltArgs {
    /// The operator's id, `op_...`
    #[arg(long, value_name = "ID")]
    operator: OperatorId,
}

/// Halts every account of an operator with the configured policy authority. Only the operator's admin resumes them.
pub(super) async fn run(config: &Config, format: Format, arguments: HaltArgs) -> Result<()> {
    let store = Store::open(config.database.url.expose_secret()).await?;
    let operator = store.operators.find_operator(arguments.operator).await?.context("no such operator")?;
    // A halt waits for no record.
    let clock = SystemClock::of(&store);
    let on_record = begin(&store, &clock, operator.id, "halt").await;
    let (confirmed, halted_by) = with_chain(config, operator.network, async |chain| {
        let on_chain =
            chain.read_operator(&operator.address).await?.context("the operator is not on the chain")?;
        let scope = AuditScope::new((&store, &clock), on_record.as_ref().ok());
        let confirmed = chain.recorded(&scope).halt(&on_chain, None).await?;
        // It is halted even if this read fails; then, as far as we know, by us.
        let read = chain.read_operator(&operator.address).await;
        let halted_by = read.ok().flatten().and_then(|operator| operator.halted_by);
        Ok((confirmed, halted_by.unwrap_or(HaltedBy::PolicyAuthority)))
    })
    .await?;
    let recorded = match on_record {
        Ok(action) => {
            let done = Action { tx_signature: Some(confirmed.signature.clone()), ..action };
            end(&store, &clock, done).await
        }
        Err(error) => Err(error),
    };
    store.close().await;
    if let Err(error) = recorded {
        eprintln!("The halt is not among the actions: {error:#}");
    }
    print_one(
        format,
        &[
            ("operator_id", json!(operator.id.to_string())),
            ("halted", json!(true)),
            ("halted_by", json!(halted_by.as_str())),
            ("tx_signature", json!(confirmed.signature)),
        ],
    )
}
