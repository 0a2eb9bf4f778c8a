use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::output::{Format, print_list, print_made, print_one};
use purser_model::{
    Action, ActionOutcome, AllowedCidrs, ApiKey, CellName, CreateKey, Invalid, KeyHolder, KeyId, Label,
    OperatorId, Scope, Scopes,
};
use purser_relayer::config::Config;
use purser_service::{NewKey, SystemClock, make_key};
use purser_store::Store;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create an operator key; it is shown once
    Create(CreateKeyArgs),
    /// List an operator's keys, agent keys too
    List(List),
    /// Revoke a key, at once and for good
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(super) struct CreateKeyArgs {
    /// The operator's id, `op_...`
    #[arg(long, value_name = "ID")]
    operator: OperatorId,
    /// A label
    #[arg(long)]
    name: Option<String>,
    /// When it ends, such as 2027-01-31T12:00:00Z; without it, never
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,
    /// A range that it may be used from, such as 203.0.113.0/24; several times for several, without it from anywhere
    #[arg(long = "allowed-cidr", value_name = "RANGE")]
    allowed_cidrs: Vec<String>,
    /// What it may do, with commas between: read, pay, policy, halt, reject-approvals; without them admin, which is everything
    #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
    scopes: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// The operator's id, `op_...`
    #[arg(long, value_name = "ID")]
    operator: OperatorId,
}

#[derive(Debug, Args)]
pub(super) struct Revoke {
    /// The key's id, `key_...`
    key: KeyId,
}

pub(super) async fn run(config: &Config, format: Format, command: KeyCommand) -> Result<()> {
    let store = Store::open(config.database.url.expose_secret()).await?;
    let done = match command {
        KeyCommand::Create(arguments) => create(&store, config.keys.cell.as_ref(), format, arguments).await,
        KeyCommand::List(arguments) => list(&store, format, arguments.operator).await,
        KeyCommand::Revoke(arguments) => revoke(&store, format, arguments.key).await,
    };
    store.close().await;
    done
}

async fn create(
    store: &Store,
    cell: Option<&CellName>,
    format: Format,
    arguments: CreateKeyArgs,
) -> Result<()> {
    let CreateKeyArgs { operator, name, expires_at, allowed_cidrs, scopes } = arguments;
    let operator = store.operators.find_operator(operator).await?.context("no such operator")?;
    let cidrs = (!allowed_cidrs.is_empty()).then_some(allowed_cidrs);
    let clock = SystemClock::of(store);
    let (drawn, now) = (clock.draw(), clock.now());
    let scopes = (!scopes.is_empty()).then_some(scopes);
    let asked = CreateKey {
        name: name.map(Label::parse).transpose()?,
        expires_at: expires_at.map(|text| Invalid::unless("expires_at", &text)).transpose()?,
        allowed_cidrs: cidrs.as_deref().map(AllowedCidrs::parse).transpose()?,
        scopes: scopes.as_deref().map(Scopes::parse).transpose()?,
    };
    let NewKey { record: key, plain } = make_key(asked, (&operator, KeyHolder::Operator), cell, &drawn, now)?;
    let creating = begin(store, &clock, operator.id, "create_operator_key").await?;
    store.keys.insert_key(&key, &plain.hash()).await?;
    end(store, &clock, Action { made_id: key.id.to_string().parse().ok(), ..creating }).await?;
    let made = [
        json!(key.id.to_string()),
        json!(plain.expose()),
        json!(operator.id.to_string()),
        json!(operator.network.as_str()),
        words(key.scopes),
    ];
    print_made(format, "operator_key", &["id", "key", "operator_id", "network", "scopes"], &[made.to_vec()])
}

async fn list(store: &Store, format: Format, operator: OperatorId) -> Result<()> {
    store.operators.find_operator(operator).await?.context("no such operator")?;
    let rows: Vec<Vec<Value>> = store.keys.list_keys(operator).await?.iter().map(row).collect();
    print_list(format, &NAMES, &rows)
}

async fn revoke(store: &Store, format: Format, id: KeyId) -> Result<()> {
    let operator = store.keys.find_key(id).await?.context("no such key")?.operator_id;
    let clock = SystemClock::of(store);
    let revoking = begin(store, &clock, operator, "revoke_key").await?;
    let key = store.keys.mark_key_revoked(operator, id, clock.now()).await?.context("no such key")?;
    end(store, &clock, Action { object_id: id.to_string().parse().ok(), ..revoking }).await?;
    let fields: Vec<(&str, Value)> = NAMES.into_iter().zip(row(&key)).collect();
    print_one(format, &fields)
}

/// The command line stands on record as well, with no key.
pub(super) async fn begin(
    store: &Store,
    clock: &SystemClock,
    operator: OperatorId,
    name: &str,
) -> Result<Action> {
    let drawn = clock.draw();
    let action = Action::new(operator, name.parse()?, drawn.at, drawn.id_bits);
    store.actions.insert_action(&action).await?;
    Ok(action)
}

pub(super) async fn end(store: &Store, clock: &SystemClock, action: Action) -> Result<()> {
    let done = Action { outcome: ActionOutcome::Done, ..action };
    Ok(store.actions.mark_action_ended(&done, clock.now()).await?)
}

const NAMES: [&str; 11] = [
    "id",
    "hint",
    "account_id",
    "name",
    "created_at",
    "expires_at",
    "revoked_at",
    "last_used_at",
    "allowed_cidrs",
    "scopes",
    "made_by",
];

fn words(scopes: Scopes) -> Value {
    scopes.list().map(Scope::as_str).collect()
}

fn row(key: &ApiKey) -> Vec<Value> {
    vec![
        json!(key.id.to_string()),
        json!(key.hint.as_str()),
        json!(key.holder.account_id().map(|id| id.to_string())),
        json!(key.name),
        json!(key.created_at.to_string()),
        json!(key.expires_at.map(|at| at.to_string())),
        json!(key.revoked_at.map(|at| at.to_string())),
        json!(key.last_used_at.map(|at| at.to_string())),
        json!(key.allowed_cidrs.as_ref().map(AllowedCidrs::texts)),
        words(key.scopes),
        json!(key.made_by.map(|id| id.to_string())),
    ]
}
