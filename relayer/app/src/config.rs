//! The configuration, read once at the start: a TOML file, which `PURSER__SECTION__KEY` in the environment overrides. The
//! environment alone can set everything.

mod keys;
mod read;
mod values;

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};

pub use self::read::{ConfigError, Sections};
pub use self::values::texts;
use self::values::{
    addresses, from_text, numbers, optional_from_text, optional_secret, ranges, secret, secrets,
};
use purser_chain::KeySource;
use purser_model::{Address, CellName, Network, Quotas, Retention, UsdcAmount};

/// Everything that can be set but for the sections of extensions. Unknown keys are refused.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default)]
    pub server: ServerConfig,
    pub database: DatabaseConfig,
    #[serde(default)]
    pub transfers: TransfersConfig,
    pub networks: NetworksConfig,
    #[serde(default)]
    pub rate_limit: RateLimitConfig,
    #[serde(default)]
    pub keys: KeysConfig,
    #[serde(default)]
    pub webhooks: WebhooksConfig,
    #[serde(default)]
    pub indexer: IndexerConfig,
    #[serde(default)]
    pub retention: RetentionConfig,
    #[serde(default)]
    pub quotas: QuotasConfig,
}

/// `[server]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Port 0 takes any free port.
    pub listen: SocketAddr,
    /// The service's address as people reach it, such as `https://pay.example.com`: for links to approvals. Without it, and without a
    /// key for webhooks, approvals have no links.
    pub public_url: Option<String>,
    /// Where `/metrics`, `/readyz` and `/healthz` are served to whoever runs the service; without it, nowhere. They need no key,
    /// so this must be an address that only the operators of the service reach.
    pub admin_listen: Option<SocketAddr>,
    /// How long it goes on taking requests after a stop was requested, while `/readyz` and `/healthz` say that none should be sent
    /// here any more. At most 300.
    pub stop_delay_seconds: u64,
    /// No request takes longer. More than `transfers.deadline_seconds`, at most 600.
    pub request_timeout_seconds: u64,
    /// How many clients may be connected at once. By default half of the files that the process may have open, at most
    /// 8,192.
    pub connections_max: Option<NonZeroUsize>,
    /// Ranges (`10.0.0.0/8`) or addresses of proxies whose `X-Forwarded-For` is trusted; none by default. A list, or text with
    /// commas. Anything that connects from there can claim any address.
    #[serde(deserialize_with = "ranges")]
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: None,
            admin_listen: None,
            stop_delay_seconds: 0,
            request_timeout_seconds: 60,
            connections_max: None,
            trusted_proxies: Vec::new(),
        }
    }
}

/// `[database]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(try_from = "AskedDatabase")]
pub struct DatabaseConfig {
    /// `sqlite:///path/purser.db`. A secret, because such URLs may hold a password.
    pub url: SecretString,
}

/// The same as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedDatabase {
    #[serde(deserialize_with = "secret")]
    url: SecretString,
    /// Holds the password, which is read for each connection: so it can be changed while the service runs.
    password_file: Option<PathBuf>,
}

impl TryFrom<AskedDatabase> for DatabaseConfig {
    type Error = &'static str;

    fn try_from(AskedDatabase { url, password_file }: AskedDatabase) -> Result<Self, &'static str> {
        let Some(file) = password_file else { return Ok(Self { url }) };
        let with_file = purser_store::with_password_file(url.expose_secret(), &file);
        let with_file = with_file.ok_or("`database.password_file` goes with a `database.url` of Postgres")?;
        Ok(Self { url: with_file.into() })
    }
}

/// `[transfers]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransfersConfig {
    /// How long POST /v1/transfers waits for settlement before it answers 202.
    pub deadline_seconds: u64,
    /// How many transfers of one account, and of one operator, may wait or be under way in this process. Beyond that, POST
    /// /v1/transfers answers 429.
    pub pending_per_account: NonZeroU32,
    pub pending_per_operator: NonZeroU32,
    /// How many transfers of one account, and of one operator, may be refused in 24 hours: each is kept. Beyond that, one
    /// that would be refused is answered 429 before it is claimed.
    pub refusals_per_account_daily: NonZeroU32,
    pub refusals_per_operator_daily: NonZeroU32,
}

impl Default for TransfersConfig {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            deadline_seconds: 30,
            pending_per_account: number(500),
            pending_per_operator: number(2_000),
            refusals_per_account_daily: number(1_000),
            refusals_per_operator_daily: number(10_000),
        }
    }
}

/// `[networks]`: at least one of the two.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworksConfig {
    pub test: Option<NetworkConfig>,
    pub live: Option<NetworkConfig>,
}

impl NetworksConfig {
    /// The configured networks.
    pub fn iter(&self) -> impl Iterator<Item = (Network, &NetworkConfig)> {
        Network::ALL.into_iter().filter_map(|network| self.get(network).map(|config| (network, config)))
    }

    /// One network's section.
    pub fn get(&self, network: Network) -> Option<&NetworkConfig> {
        match network {
            Network::Test => self.test.as_ref(),
            Network::Live => self.live.as_ref(),
        }
    }
}

/// `[networks.test]` or `[networks.live]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// JSON-RPC of a Solana node. A secret, because such URLs often hold a provider's key.
    #[serde(deserialize_with = "secret")]
    pub rpc_url: SecretString,
    /// JSON-RPC of further nodes, in the order in which they are tried when those before fail. A list, or text with
    /// commas.
    #[serde(default, deserialize_with = "secrets")]
    pub rpc_urls: Vec<SecretString>,
    /// Websocket of the node at `rpc_url`. Without one, the relayer polls for settlement.
    #[serde(default, deserialize_with = "optional_secret")]
    pub ws_url: Option<SecretString>,
    /// Websockets of the nodes in `rpc_urls`, in the same order; an empty text for a node without one.
    #[serde(default, deserialize_with = "secrets")]
    pub ws_urls: Vec<SecretString>,
    /// A proxy (`http://host:3128`) for requests to nodes other than those on this machine. Websockets do not use it. Without
    /// it no proxy is used, whatever the environment says.
    #[serde(default, deserialize_with = "optional_secret")]
    pub rpc_proxy: Option<SecretString>,
    /// Where the Purser program is deployed, if not at its own address.
    #[serde(default, deserialize_with = "optional_from_text")]
    pub program_id: Option<Address>,
    #[serde(deserialize_with = "from_text")]
    pub usdc_mint: Address,
    /// The keys that create agents and set policies: a keypair file's path, a table that names another place, or a list of both.
    /// Each operator's account on the chain names its key, and new operators get the first.
    #[serde(deserialize_with = "keys::read")]
    pub policy_authority_keypair: Vec<KeySource>,
    /// Keys that only transfer within policy. Those that an operator's account names share its work, up to eight.
    #[serde(deserialize_with = "keys::read")]
    pub transfer_authority_keypair: Vec<KeySource>,
    /// Wallets, besides the policy authorities, that may get rent back, such as one that was rotated out. The service pays for
    /// a longer list only if the account's rent goes back to such a wallet or authority.
    #[serde(default, deserialize_with = "addresses")]
    pub rent_payers: Vec<Address>,
    /// A cold wallet that gets the rent back of what the service pays for from now on. None: the policy authority that pays.
    #[serde(default, deserialize_with = "optional_from_text")]
    pub rent_refund: Option<Address>,
    /// When a transfer counts as settled.
    #[serde(default)]
    pub commitment: CommitmentConfig,
    /// No slot of the network is shorter. Signed bytes never count as expired before 150 of these have passed.
    #[serde(default = "shortest_slot_ms")]
    pub shortest_slot_ms: u32,
    /// The price per compute unit: always this, or at least this if there is a maximum.
    #[serde(default)]
    pub priority_fee_micro_lamports: u64,
    /// The price follows what others pay for the same accounts, up to this. None: it does not follow.
    pub priority_fee_micro_lamports_max: Option<u64>,
    /// How many token accounts get a subscription on `ws_url`, so that deposits show at once: a thousand per connection.
    /// Deposits to the others show when balances are compared, every `indexer.interval_ms`.
    #[serde(default = "deposit_subscriptions_max")]
    pub deposit_subscriptions_max: usize,
    /// If given, the cluster must have this genesis hash.
    pub genesis_hash: Option<String>,
    /// What to do at the start when the program on chain is not this relayer's build.
    #[serde(default)]
    pub program_check: ProgramCheckConfig,
    /// The URL of a transaction's page, with `{signature}` in it. The default is Solana Explorer, for `test` on devnet.
    pub explorer_url: Option<String>,
}

const fn shortest_slot_ms() -> u32 {
    200
}

const fn deposit_subscriptions_max() -> usize {
    10_000
}

/// The commitment that the chain must reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitmentConfig {
    Confirmed,
    #[default]
    Finalized,
}

/// See `program_check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramCheckConfig {
    Off,
    #[default]
    Warn,
    Refuse,
}

/// `[indexer]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IndexerConfig {
    /// How often deposits and the activity of wallets are polled, at least 100. A cycle sends a node one request per 100
    /// accounts.
    pub interval_ms: u64,
}

impl Default for IndexerConfig {
    fn default() -> Self {
        Self { interval_ms: 10_000 }
    }
}

/// `[retention]`: after how many days finished records are deleted; 0 keeps them for ever.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// Attempts to deliver events.
    pub attempts_days: u32,
    /// Events with their deliveries and attempts.
    pub events_days: u32,
    /// Finished transfers, with refusals in the history. Events are deleted first, so this is at least `events_days`.
    pub transfers_days: u32,
    /// The same for transfers that were rejected or failed: these may go sooner. Signed denials stay.
    pub refusals_days: u32,
    /// Who changed what.
    pub actions_days: u32,
    /// The same for sign-ins and sign-outs: these may go sooner.
    pub sign_ins_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            attempts_days: 30,
            events_days: 90,
            transfers_days: 0,
            refusals_days: 0,
            actions_days: 0,
            sign_ins_days: 0,
        }
    }
}

impl RetentionConfig {
    /// In the form that the services take.
    pub fn kept(&self) -> Retention {
        let kept = Retention::of_days(self.attempts_days, self.events_days, self.transfers_days);
        kept.with_refusals_of_days(self.refusals_days)
            .with_actions_of_days(self.actions_days)
            .with_sign_ins_of_days(self.sign_ins_days)
    }

    /// An idempotency key lives for a day, and a chain's clock may be a little behind.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (name, days) in [
            ("retention.transfers_days", self.transfers_days),
            ("retention.refusals_days", self.refusals_days),
        ] {
            if days == 1 {
                return Err((name, "must be 0, or 2 or more"));
            }
            if days > 0 && !(1..=days).contains(&self.events_days) {
                return Err((
                    "retention.events_days",
                    "must be from 1 to retention.transfers_days and to retention.refusals_days, where those are not 0",
                ));
            }
        }
        Ok(())
    }
}

/// `[quotas]`, per operator: what the service pays rent for
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuotasConfig {
    pub accounts_per_operator: u32,
    pub allowlist_entries_per_operator: u32,
    /// How many grants the service pays for approvers in 24 hours; 0: none, they pay by themselves.
    pub approvals_per_operator_daily: u32,
    /// How many changes one key may make in 24 hours. What stops, revokes, drops or says no is not counted.
    pub actions_per_key_daily: NonZeroU32,
    /// How many buckets for tags of payments, of 16 each, an account may have at the service's cost.
    pub tag_buckets_per_account: u32,
    /// How many token accounts of payees the service creates in 24 hours, for the payments of an operator and of an account; 0: none.
    pub token_accounts_per_operator_daily: u32,
    pub token_accounts_per_account_daily: u32,
    /// The smallest payment for which it creates one, in USDC.
    #[serde(deserialize_with = "from_text")]
    pub token_account_min_payment: UsdcAmount,
}

impl Default for QuotasConfig {
    fn default() -> Self {
        let quotas = Quotas::default();
        Self {
            accounts_per_operator: quotas.accounts,
            allowlist_entries_per_operator: quotas.allowlist_entries,
            approvals_per_operator_daily: quotas.approvals_daily,
            actions_per_key_daily: NonZeroU32::new(quotas.actions_daily).unwrap_or(NonZeroU32::MIN),
            tag_buckets_per_account: 64,
            token_accounts_per_operator_daily: quotas.token_accounts_daily,
            token_accounts_per_account_daily: quotas.token_accounts_per_account_daily,
            token_account_min_payment: quotas.token_account_min_payment,
        }
    }
}

/// `[rate_limit]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimitConfig {
    /// Of one API key.
    pub requests_per_second: NonZeroU32,
    pub burst: NonZeroU32,
    /// How many times as much all keys of one operator may ask together.
    pub operator_times: NonZeroU32,
    /// How often all keys of one operator together may have the chain read to look at it: previews, balances, limits, accounts.
    /// Payments, stops and policies do not count.
    pub reads_per_second: NonZeroU32,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            requests_per_second: number(50),
            burst: number(100),
            operator_times: number(10),
            reads_per_second: number(50),
        }
    }
}

/// `[keys]`: API keys
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeysConfig {
    /// How many unrevoked keys an operator may have, including those of its accounts. `purser key create` may exceed it.
    pub per_operator_max: NonZeroU32,
    /// How many unknown keys a second are looked up in the database; the burst is twice as many.
    pub unknown_per_second: NonZeroU32,
    /// The name of this cell, 1 to 16 of a-z and 0-9: keys made here carry it, and keys of another cell are refused.
    #[serde(deserialize_with = "optional_from_text")]
    pub cell: Option<CellName>,
}

impl Default for KeysConfig {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self { per_operator_max: number(20_000), unknown_per_second: number(1_000), cell: None }
    }
}

/// `[webhooks]`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// Seals the secrets of webhooks: 32 bytes in base64 or hex. Without one, no webhook can be registered.
    #[serde(deserialize_with = "optional_secret")]
    pub secret_key: Option<SecretString>,
    /// A file that holds that key.
    pub secret_key_file: Option<PathBuf>,
    /// Whether URLs may begin with `http://`. For development.
    pub allow_http: bool,
    /// Allowed ports of webhooks; empty for any.
    #[serde(deserialize_with = "numbers")]
    pub ports: Vec<u16>,
    /// Ranges (`127.0.0.0/8`) that are reachable although they are not public. For development.
    #[serde(deserialize_with = "ranges")]
    pub open_ranges: Vec<IpNet>,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self {
            secret_key: None,
            secret_key_file: None,
            allow_http: false,
            ports: vec![443, 8443],
            open_ranges: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
