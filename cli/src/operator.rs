use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::init::GuardianChoice;
use super::output::{Format, print_list, print_made, print_one};
use purser_chain::{SolanaChain, rent_of};
use purser_model::{Address, Label, Network, Operator, OperatorId, UsdcAmount};
use purser_relayer::app::{StartError, connect};
use purser_relayer::config::Config;
use purser_service::{SystemClock, Tasks};
use purser_store::{Held, Store, StoreError};

/// More bytes than a Solana keypair file of 64 numbers can have.
const KEYPAIR_FILE_BYTES_MAX: u64 = 4_096;

#[derive(Debug, Subcommand)]
pub(super) enum OperatorCommand {
    /// Create an operator on the chain and in the database; doing it again changes nothing
    Create(CreateOperatorArgs),
    /// Make a wallet an approver of an operator, or change its limits; `anchor run approver-add` does the same
    Approver(Approver),
    /// Add an operator that a wallet created on the chain
    Add(Add),
    /// Change the settings of an operator
    Set(SetOperatorArgs),
    /// List the operators, with the accounts and allowlist entries that the service pays rent for
    List,
}

#[derive(Debug, Args)]
pub(super) struct CreateOperatorArgs {
    /// `test` or `live`
    #[arg(long)]
    network: Network,
    /// A label
    #[arg(long)]
    name: String,
    /// Keypair file of the admin, who owns the operator and pays for its account; used once, not stored
    #[arg(long, value_name = "FILE")]
    admin_keypair: PathBuf,
    /// Tells several operators of one admin apart
    #[arg(long, default_value_t = 0)]
    id: u64,
    /// Address of a key that may halt, and never resume
    #[arg(long, value_name = "ADDRESS|none")]
    guardian: Option<GuardianChoice>,
    /// How long policies that loosen anything wait: seconds, or 90m, 24h, 2d; 0 for not at all
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    loosening_delay: u32,
}

#[derive(Debug, Args)]
pub(super) struct Approver {
    /// `test` or `live`; without it, the one that is configured
    #[arg(long)]
    network: Option<Network>,
    /// The operator's account on the chain
    #[arg(long, value_name = "ADDRESS")]
    operator: Address,
    /// Keypair file of the admin, who pays for the approver's account; used once, not stored
    #[arg(long, value_name = "FILE")]
    admin_keypair: PathBuf,
    /// The wallet of the person who approves
    #[arg(long, value_name = "ADDRESS")]
    key: Address,
    /// Most USDC that it may approve at once
    #[arg(long, value_name = "USDC")]
    max_grant: UsdcAmount,
    /// Most USDC that it may approve in any 24 hours
    #[arg(long, value_name = "USDC")]
    max_daily: UsdcAmount,
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// `test` or `live`; without it, the one that is configured
    #[arg(long)]
    network: Option<Network>,
    /// A label; without it, the beginning of the address
    #[arg(long)]
    name: Option<String>,
    /// The operator's account on the chain
    #[arg(long, value_name = "ADDRESS")]
    address: Address,
}

#[derive(Debug, Args)]
pub(super) struct SetOperatorArgs {
    /// The operator's id, `op_...`
    #[arg(value_name = "OPERATOR")]
    operator: OperatorId,
    /// Whether changes of policies need a reason; pauses and halts never do
    #[arg(long, value_name = "true|false", action = clap::ArgAction::Set)]
    require_reason: bool,
}

pub(super) async fn run(config: &Config, format: Format, command: OperatorCommand) -> Result<()> {
    let store = Store::open(config.database.url.expose_secret()).await?;
    let done = match command {
        OperatorCommand::Create(arguments) => create(config, &store, format, arguments).await,
        OperatorCommand::Approver(arguments) => set_approver(config, format, arguments).await,
        OperatorCommand::Add(arguments) => add(config, &store, format, arguments).await,
        OperatorCommand::Set(arguments) => set(&store, format, arguments).await,
        OperatorCommand::List => list(&store, format).await,
    };
    store.close().await;
    done
}

async fn create(config: &Config, store: &Store, format: Format, arguments: CreateOperatorArgs) -> Result<()> {
    let name = Label::parse(arguments.name)?;
    let secret = read_keypair("admin keypair", &arguments.admin_keypair)?;
    let CreateOperatorArgs { network, id, guardian, loosening_delay, .. } = arguments;
    let address = with_chain(config, network, async |chain| {
        let guardian = guardian.and_then(GuardianChoice::key);
        Ok(chain.create_operator(&secret, id, guardian, loosening_delay).await?)
    })
    .await?;
    let operator = find_or_insert(store, network, name, address).await?;
    print_made(format, "operator", &NAMES, &[fields(&operator).map(|(_, value)| value).to_vec()])
}

async fn set_approver(config: &Config, format: Format, arguments: Approver) -> Result<()> {
    let Approver { network, operator, admin_keypair, key, max_grant, max_daily } = arguments;
    let secret = read_keypair("admin keypair", &admin_keypair)?;
    let network = network.map_or_else(|| only_network(config), Ok)?;
    let set = with_chain(config, network, async |chain| {
        Ok(chain.set_approver(&secret, &operator, &key, [max_grant, max_daily]).await?)
    })
    .await?;
    let fields = [
        ("operator", json!(operator.to_string())),
        ("key", json!(key.to_string())),
        ("max_grant_usdc", json!(max_grant.to_string())),
        ("max_daily_usdc", json!(max_daily.to_string())),
        ("tx_signature", json!(set.signature)),
    ];
    print_one(format, &fields)
}

async fn add(config: &Config, store: &Store, format: Format, arguments: Add) -> Result<()> {
    let address = arguments.address;
    let short = || address.to_string().chars().take(8).collect();
    let name = Label::parse(arguments.name.unwrap_or_else(short))?;
    let network = arguments.network.map_or_else(|| only_network(config), Ok)?;
    with_chain(config, network, async |chain| {
        let Some(found) = chain.read_operator(&address).await? else {
            bail!("there is no operator at {address} on network {network}");
        };
        Ok(chain.same_authorities(&found)?)
    })
    .await?;
    let operator = find_or_insert(store, network, name, address).await?;
    print_made(format, "operator", &NAMES, &[fields(&operator).map(|(_, value)| value).to_vec()])
}

async fn set(store: &Store, format: Format, arguments: SetOperatorArgs) -> Result<()> {
    let SetOperatorArgs { operator, require_reason } = arguments;
    if !store.operators.set_requires_reason(operator, require_reason).await? {
        bail!("no such operator");
    }
    print_one(
        format,
        &[("operator_id", json!(operator.to_string())), ("requires_reason", json!(require_reason))],
    )
}

fn only_network(config: &Config) -> Result<Network> {
    let mut networks = config.networks.iter().map(|(network, _)| network);
    match (networks.next(), networks.next()) {
        (Some(network), None) => Ok(network),
        (None, _) | (Some(_), Some(_)) => bail!("two networks are configured: name one with --network"),
    }
}

async fn list(store: &Store, format: Format) -> Result<()> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for operator in store.operators.list_operators().await? {
        let Held { accounts, allowlist_entries } = store.accounts.count_held(operator.id).await?;
        let held =
            [accounts, allowlist_entries, rent_of(accounts, allowlist_entries)].map(|number| json!(number));
        rows.push(fields(&operator).into_iter().map(|(_, value)| value).chain(held).collect());
    }
    let names = [&NAMES[..], &HELD_NAMES].concat();
    print_list(format, &names, &rows)
}

/// What the service pays rent for, and how much.
const HELD_NAMES: [&str; 3] = ["accounts", "allowlist_entries", "rent_lamports"];

const NAMES: [&str; 6] = ["operator_id", "network", "name", "address", "requires_reason", "created_at"];

fn fields(operator: &Operator) -> [(&'static str, Value); 6] {
    let values = [
        json!(operator.id.to_string()),
        json!(operator.network.as_str()),
        json!(operator.name.as_str()),
        json!(operator.address.to_string()),
        json!(operator.requires_reason),
        json!(operator.created_at.to_string()),
    ];
    let mut values = values.into_iter();
    NAMES.map(|name| (name, values.next().unwrap_or_default()))
}

async fn find_or_insert(store: &Store, network: Network, name: Label, address: Address) -> Result<Operator> {
    let now = SystemClock::of(store).now();
    let mut random = [0; 16];
    (SystemClock::SYSTEM.fill_random)(&mut random);
    let id = OperatorId::new(now, u128::from_le_bytes(random));
    let operator = Operator { id, network, name, address, requires_reason: false, created_at: now };
    match store.operators.insert_operator(&operator).await {
        Ok(()) => Ok(operator),
        Err(StoreError::AlreadyThere) => store
            .operators
            .find_operator_by_address(network, &address)
            .await?
            .context("the operator is there and cannot be found"),
        Err(error) => Err(error.into()),
    }
}

/// Connects to one network for the length of `work`.
pub(super) async fn with_chain<T>(
    config: &Config,
    network: Network,
    work: impl AsyncFnOnce(&SolanaChain) -> Result<T>,
) -> Result<T> {
    let section = config.networks.get(network).ok_or(StartError::NotConfigured(network))?;
    let tasks = Tasks::default();
    let done = match connect(network, section, &config.quotas, &tasks).await {
        Ok(chain) => work(&chain).await,
        Err(error) => Err(error.into()),
    };
    tasks.stop.cancel();
    done
}

/// A number of seconds, or of minutes, hours or days by their first letter.
fn seconds(text: &str) -> Result<u32, String> {
    let units = [('s', 1), ('m', 60), ('h', 60 * 60), ('d', 24 * 60 * 60)];
    let unit = units.into_iter().find_map(|(letter, seconds)| Some((text.strip_suffix(letter)?, seconds)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let number = number.parse::<u32>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| "must be a number of seconds, or such as 90m, 24h or 2d".to_owned())
}

pub(super) fn read_keypair(what: &str, file: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let named = || format!("{what} {}", file.display());
    let size = std::fs::metadata(file).with_context(named)?.len();
    purser_base::secret_file::check(file).map_err(|problem| anyhow!("{}: {problem}", named()))?;
    if size > KEYPAIR_FILE_BYTES_MAX {
        bail!("{}: is not a keypair (too long)", named());
    }
    let text = Zeroizing::new(std::fs::read(file).with_context(named)?);
    let bytes: Vec<u8> = match serde_json::from_slice(&text) {
        Ok(bytes) => bytes,
        // The parser's own message could quote the file.
        Err(_) => bail!("{}: is not a JSON array of 64 numbers from 0 to 255", named()),
    };
    Ok(Zeroizing::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_seconds_or_says_its_unit() {
        let read = ["0", "3600", "90s", "90m", "24h", "2d", "4294967295"].map(|text| seconds(text).ok());
        assert_eq!(read, [0, 3_600, 90, 5_400, 86_400, 172_800, u32::MAX].map(Some));
        for text in ["", "h", "-1", "1.5h", "1w", "4294967296", "50000d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
