//! The service as one value: builds and starts every part, and stops them all within a deadline.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use futures::future::try_join_all;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use secrecy::ExposeSecret;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::config::{
    CommitmentConfig, Config, NetworkConfig, ProgramCheckConfig, QuotasConfig, Sections, WebhooksConfig,
};
use purser_api::Version;
use purser_api::http::{self, HttpExtensions};
use purser_api::web::{HttpSettings, TrustedProxies};
use purser_base::metrics::Metrics;
use purser_base::shares::Outgoing;
pub use purser_chain::Signer;
use purser_chain::{
    ChainError, ChainSettings, ChainSigners, Commitment, FileSigner, KeySource, PriceBounds, ProgramCheck,
    SolanaChain, keypairs_in,
};
use purser_indexer::{Indexer, IndexerParts};
use purser_model::{Address, DestinationRules, Network, Quotas, Retention, SealingKey};
use purser_service::{
    ApprovalPage, Chains, ExplorerUrl, NetworkParts, PendingLimits, ReadLimiter, RefusalLimits, Services,
    Setup, SystemClock, Tasks, WebhookParts,
};
use purser_store::{Store, StoreError};
use purser_webhooks::{Deliverer, Dispatcher, Fetcher, HttpClient, SystemResolver};

/// How long answers under way get to finish once a stop was requested.
const DRAIN: Duration = Duration::from_secs(10);
/// How much of that settlements get; the rest is for answering how far each transfer has come.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a stop takes at most. The next start finishes what is left.
const STOP_DEADLINE: Duration = Duration::from_secs(15);
/// Few clients ask for the state of the process, and none for long.
const ADMIN_CONNECTIONS_MAX: usize = 32;
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// How many intervals of the indexer pass between two looks at the conditions: a minute, as it is by default.
const INTERVALS_BETWEEN_CONDITIONS: u32 = 6;

/// Why the service cannot run. Each error says in one line what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("network {network}: {problem}")]
    Chain { network: Network, problem: ChainError },
    #[error("network {0} is not configured")]
    NotConfigured(Network),
    #[error("cannot listen on {address}: {problem}")]
    Listen { address: SocketAddr, problem: std::io::Error },
    #[error("`webhooks.{key}`: {problem}")]
    WebhookKey { key: &'static str, problem: String },
    #[error("`denials.keypair`: {0}")]
    DenialsKey(ChainError),
    #[error("the client for webhooks cannot be made: {0}")]
    WebhookClient(reqwest::Error),
    #[error("the server ended: {0}")]
    Server(std::io::Error),
    #[error("the task `{0}` panicked, and the process ends to be started anew")]
    Fallen(&'static str),
}

/// The extensions of a build, as its configuration has them.
pub trait Extensions: Sections {
    /// Makes them, once in a process, and starts their tasks.
    fn build(&self, services: &Services, parts: ExtensionParts) -> impl HttpExtensions;

    /// The pages on which transfers are approved. `None`: none of them asks people.
    fn approval_page(&self, parts: &ExtensionParts) -> Option<ApprovalPage> {
        let _ = parts;
        None
    }
}

/// The parts of the service that extensions get, as far as they are configured.
pub struct ExtensionParts {
    /// The key of [`Sections::refusals_key`].
    pub refusals: Option<Arc<dyn Signer>>,
    /// What all relayers seal with.
    pub sealing: Option<Arc<SealingKey>>,
    /// The service's address as people reach it.
    pub public_url: Option<String>,
}

/// A running service.
pub struct App {
    url: String,
    admin_url: Option<String>,
    store: Store,
    tasks: Tasks,
    stop_delay: Duration,
    server: JoinHandle<std::io::Result<()>>,
}

impl App {
    /// Checks everything that the service needs, and starts it with these extensions. When this returns, it serves.
    pub async fn start(
        config: &Config,
        version: Version,
        extensions: &impl Extensions,
    ) -> Result<Self, StartError> {
        let tasks = Tasks::default();
        let started = Self::build(config, tasks.clone(), version, extensions).await;
        if started.is_err() {
            tasks.stop.cancel();
        }
        started
    }

    async fn build(
        config: &Config,
        tasks: Tasks,
        version: Version,
        extensions: &impl Extensions,
    ) -> Result<Self, StartError> {
        let files = raise_open_files();
        let outgoing = Outgoing::of_files(files);
        // First, because it fails fastest; requests are served only once everything is up.
        let (listener, url) = listen(config.server.listen)?;
        let admin = config.server.admin_listen.map(listen).transpose()?;
        let metrics = Metrics::default();
        let webhooks = webhook_parts(&config.webhooks)?;
        let refusals_key = refusals_key(extensions.refusals_key())?;
        let store = Store::open(config.database.url.expose_secret()).await?;
        let quotas = config.quotas;
        let networks = config.networks.iter().map(|(network, config)| {
            let (tasks, quotas) = (&tasks, &quotas);
            async move {
                let chain = Arc::new(connect(network, config, quotas, tasks).await?);
                let explorer = ExplorerUrl::new(&explorer_template(network, config));
                let history = chain.history().map_err(|problem| StartError::Chain { network, problem })?;
                Ok::<(NetworkParts, _), StartError>((NetworkParts { chain, explorer }, history))
            }
        });
        let networks = try_join_all(networks).await?;
        let moves_money = |key: &Address| networks.iter().any(|(parts, _)| parts.chain.signs_with(key));
        if refusals_key.as_deref().map(address_of).as_ref().is_some_and(moves_money) {
            let problem = "it is a policy authority or a transfer authority too; make one of its own: purser keygen FILE";
            return Err(StartError::DenialsKey(ChainError::Misconfigured(problem.into())));
        }
        let parts = ExtensionParts {
            refusals: refusals_key,
            sealing: webhooks.sealing_key.clone(),
            public_url: config.server.public_url.clone(),
        };
        let chains = Chains::new(networks.iter().map(|(parts, _)| parts.clone()));
        let services = Services::new(Setup {
            store: store.clone(),
            chains,
            tasks: tasks.clone(),
            clock: SystemClock::of(&store),
            transfer_deadline: Duration::from_secs(config.transfers.deadline_seconds),
            pending: PendingLimits {
                per_account: count_of(config.transfers.pending_per_account),
                per_operator: count_of(config.transfers.pending_per_operator),
            },
            refusals: RefusalLimits {
                per_account: config.transfers.refusals_per_account_daily.get(),
                per_operator: config.transfers.refusals_per_operator_daily.get(),
            },
            approval_page: extensions.approval_page(&parts),
            webhooks: webhooks.clone(),
            fetch: Arc::new(fetcher(&webhooks)?),
            outgoing: outgoing.clone(),
            read_limiter: ReadLimiter::new(config.rate_limit.reads_per_second),
            keys_max: config.keys.per_operator_max.get(),
            cell: config.keys.cell.clone(),
            retention: Retention { refusals_are_signed: parts.refusals.is_some(), ..config.retention.kept() },
            quotas: Quotas {
                accounts: config.quotas.accounts_per_operator,
                allowlist_entries: config.quotas.allowlist_entries_per_operator,
                approvals_daily: config.quotas.approvals_per_operator_daily,
                actions_daily: config.quotas.actions_per_key_daily.get(),
                token_accounts_daily: config.quotas.token_accounts_per_operator_daily,
                token_accounts_per_account_daily: config.quotas.token_accounts_per_account_daily,
                token_account_min_payment: config.quotas.token_account_min_payment,
            },
            metrics: metrics.clone(),
        });
        services.reconcile();
        services.watch(Duration::from_millis(config.indexer.interval_ms) * INTERVALS_BETWEEN_CONDITIONS);
        deliver_webhooks(&store, &webhooks, &tasks, (outgoing, metrics.clone()))?;
        for (_, history) in networks {
            let indexer = Indexer::new(IndexerParts {
                history,
                accounts: store.accounts.clone(),
                entries: store.history.clone(),
                index: store.index.clone(),
                operators: store.operators.clone(),
                policies: store.policies.clone(),
                inside: services.inside.clone(),
                clock: SystemClock::of(&store),
                metrics: metrics.clone(),
                interval: Duration::from_millis(config.indexer.interval_ms),
            });
            let stop = tasks.stop.clone();
            tasks.keep("indexer", async move { indexer.run(stop).await });
        }
        let settings = HttpSettings {
            request_timeout: Duration::from_secs(config.server.request_timeout_seconds),
            requests_per_second: config.rate_limit.requests_per_second,
            burst: config.rate_limit.burst,
            operator_times: config.rate_limit.operator_times,
            unknown_keys_per_second: config.keys.unknown_per_second,
            trusted_proxies: TrustedProxies::new(&config.server.trusted_proxies),
            public_url: config.server.public_url.clone().unwrap_or_else(|| local_url(&url)),
            metrics,
        };
        let router = http::router(&services, settings, &extensions.build(&services, parts));
        let router = router.layer(middleware::from_fn_with_state(tasks.leaving.clone(), say_leaving));
        let connections_max =
            config.server.connections_max.map_or_else(http::default_connections_max, NonZeroUsize::get);
        tracing::info!(connections_max, files, "connection limit and open-file limit");
        let serving = http::serve(listener, connections_max, router, tasks.closing.clone(), DRAIN);
        let server = tasks.tracker.spawn(serving);
        let admin_url = admin.map(|(listener, url)| {
            serve_admin(listener, &services, &tasks, version);
            url
        });
        let stop_delay = Duration::from_secs(config.server.stop_delay_seconds);
        Ok(Self { url, admin_url, store, tasks, stop_delay, server })
    }

    /// Where `/metrics` and `/readyz` are served, if anywhere.
    pub fn admin_url(&self) -> Option<&str> {
        self.admin_url.as_deref()
    }

    /// The service's own address, without a path: `http://127.0.0.1:8080`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the server ends by itself, which it only does on an error, or until a task panics that the service cannot do
    /// without.
    pub async fn failed(&mut self) -> StartError {
        tokio::select! {
            ended = &mut self.server => match ended {
                Ok(Err(error)) => StartError::Server(error),
                Ok(Ok(())) => StartError::Server(std::io::Error::other("the listener closed")),
                Err(panic) => StartError::Server(std::io::Error::other(panic)),
            },
            task = self.tasks.fallen() => StartError::Fallen(task),
        }
    }

    /// Takes no more requests and lets those under way finish (a transfer that takes longer is answered as it stands). Then it
    /// stops the background tasks, gives back its leases and closes the database, all within 15 s. The next start finishes
    /// transfers that are signed but not final.
    /// Before that it goes on for `server.stop_delay_seconds`, and is not ready: whoever balances load sends nothing more here.
    pub async fn stop(self) {
        self.tasks.leaving.cancel();
        if !self.stop_delay.is_zero() && !self.server.is_finished() {
            tracing::info!(
                seconds = self.stop_delay.as_secs(),
                "not ready any more; taking requests until the stop"
            );
            tokio::time::sleep(self.stop_delay).await;
        }
        let deadline = Instant::now() + STOP_DEADLINE;
        let patience = Instant::now() + PATIENCE;
        self.tasks.closing.cancel();
        let mut server = self.server;
        // It has already ended after `failed`; a finished handle must not be polled again.
        if !server.is_finished() && timeout_at(patience, &mut server).await.is_err() {
            // Clients that still wait for a settlement learn how far it has come, rather than being cut off.
            self.tasks.stop.cancel();
            if timeout_at(deadline, server).await.is_err() {
                tracing::warn!("some requests did not finish in time");
            }
        }
        self.tasks.stop.cancel();
        self.tasks.tracker.close();
        if timeout_at(deadline, self.tasks.tracker.wait()).await.is_err() {
            let unfinished = self.tasks.tracker.len();
            tracing::warn!(
                unfinished,
                "some tasks did not finish in time; the next start resumes their work"
            );
        }
        let now = SystemClock::of(&self.store).now();
        match timeout_at(deadline, self.store.transfers.release_leases(now)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => tracing::warn!("cannot release this process's leases; they will expire"),
        }
        if timeout_at(deadline, self.store.close()).await.is_err() {
            tracing::warn!("the database did not close in time");
        }
    }
}

/// Once the process is to stop, asks clients to connect anew, which leads them elsewhere.
async fn say_leaving(State(leaving): State<CancellationToken>, request: Request, next: Next) -> Response {
    // HTTP/2 has a frame for that, which the end of the listener sends.
    let has_header = request.version() < axum::http::Version::HTTP_2;
    let mut response = next.run(request).await;
    if has_header && leaving.is_cancelled() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Lets the process open as many files as the system allows: the usual soft limit of 1,024 is for programs that use `select`.
/// Returns how many it may open.
fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(error) => {
            tracing::warn!(%error, "cannot raise the open-file limit");
            limit.current.unwrap_or(u64::MAX)
        }
    }
}

fn listen(address: SocketAddr) -> Result<(TcpListener, String), StartError> {
    let failed = |problem| StartError::Listen { address, problem };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, format!("http://{bound}")))
}

/// How a browser on this machine reaches what listens at `url`.
fn local_url(url: &str) -> String {
    let port = url.rsplit(':').next().unwrap_or_default();
    format!("http://localhost:{port}")
}

/// Serves until the very end: while requests drain, it says that no more should be sent here.
fn serve_admin(listener: TcpListener, services: &Services, tasks: &Tasks, version: Version) {
    let router = http::admin_router(services, version);
    let serving = http::serve(listener, ADMIN_CONNECTIONS_MAX, router, tasks.stop.clone(), ADMIN_DRAIN);
    tasks.keep("admin listener", async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the admin listener ended");
        }
    });
}

/// Connects to one network: reads its keys and checks its cluster, program and mint. Its tasks run until `tasks.stop`.
pub async fn connect(
    network: Network,
    config: &NetworkConfig,
    quotas: &QuotasConfig,
    tasks: &Tasks,
) -> Result<SolanaChain, StartError> {
    let chain = chain_of(network, config, quotas, tasks)?;
    chain.verify().await.map_err(|problem| StartError::Chain { network, problem })?;
    Ok(chain)
}

/// The same, with its keys read and no request to its nodes yet.
pub fn chain_of(
    network: Network,
    config: &NetworkConfig,
    quotas: &QuotasConfig,
    tasks: &Tasks,
) -> Result<SolanaChain, StartError> {
    let failed = |problem| StartError::Chain { network, problem };
    let signers = |role, keys: &[KeySource]| {
        keys.iter().map(|key| key.open(role)).collect::<Result<_, _>>().map_err(failed)
    };
    let signers = ChainSigners {
        policy: signers("policy authority", &config.policy_authority_keypair)?,
        transfer: signers("transfer authority", &config.transfer_authority_keypair)?,
    };
    let settings = ChainSettings {
        rpc_urls: std::iter::once(&config.rpc_url)
            .chain(&config.rpc_urls)
            .map(|url| url.expose_secret().to_owned())
            .collect(),
        rpc_proxy: config.rpc_proxy.as_ref().map(|proxy| proxy.expose_secret().to_owned()),
        ws_urls: websockets(config),
        program_id: config.program_id.unwrap_or(Address::from_bytes(purser::ID.to_bytes())),
        usdc_mint: config.usdc_mint,
        commitment: match config.commitment {
            CommitmentConfig::Confirmed => Commitment::Confirmed,
            CommitmentConfig::Finalized => Commitment::Finalized,
        },
        shortest_slot: Duration::from_millis(config.shortest_slot_ms.into()),
        priority_fee: PriceBounds {
            least: config.priority_fee_micro_lamports,
            most: config.priority_fee_micro_lamports_max.unwrap_or(config.priority_fee_micro_lamports),
        },
        genesis_hash: config.genesis_hash.clone(),
        program_check: match config.program_check {
            ProgramCheckConfig::Off => ProgramCheck::Off,
            ProgramCheckConfig::Warn => ProgramCheck::Warn,
            ProgramCheckConfig::Refuse => ProgramCheck::Refuse,
        },
        rent_payers: config.rent_payers.clone(),
        rent_refund: config.rent_refund,
        tag_buckets_max: quotas.tag_buckets_per_account,
        deposit_subscriptions_max: config.deposit_subscriptions_max,
        keypairs_here: keypairs_in(folders_of_keys(config)),
    };
    SolanaChain::new(network, settings, signers, tasks).map_err(failed)
}

/// Where our keys of this network lie, and where Solana's tools keep a wallet.
fn folders_of_keys(config: &NetworkConfig) -> impl Iterator<Item = PathBuf> {
    let sources = config.policy_authority_keypair.iter().chain(&config.transfer_authority_keypair);
    let beside = sources.filter_map(KeySource::file).filter_map(|file| file.parent());
    // A relative file may lie in the working directory, whose name is empty then.
    let beside = beside.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let home = std::env::home_dir().map(|home| home.join(".config/solana"));
    beside.map(Path::to_owned).chain(home)
}

/// Each websocket with the place of its node: `rpc_url` is 0, then come `rpc_urls`.
fn websockets(config: &NetworkConfig) -> Vec<(usize, String)> {
    let first = config.ws_url.iter().map(|url| (0, url));
    let further = config.ws_urls.iter().enumerate().map(|(place, url)| (place + 1, url));
    let all = first.chain(further).map(|(node, url)| (node, url.expose_secret().to_owned()));
    all.filter(|(_, url)| !url.is_empty()).collect()
}

/// The parts that webhooks need, read and checked.
pub fn webhook_parts(config: &WebhooksConfig) -> Result<WebhookParts, StartError> {
    let read = match (&config.secret_key, &config.secret_key_file) {
        (Some(text), _) => Some(("secret_key", Ok(text.expose_secret().to_owned()))),
        (None, Some(file)) => {
            let read = purser_base::secret_file::check(file)
                .and_then(|()| std::fs::read_to_string(file).map_err(|error| error.to_string()));
            Some(("secret_key_file", read.map_err(|problem| format!("{}: {problem}", file.display()))))
        }
        (None, None) => None,
    };
    let sealing_key = match read {
        None => None,
        Some((key, text)) => {
            let text = text.map_err(|problem| StartError::WebhookKey { key, problem })?;
            let parsed = SealingKey::parse(&text);
            let failed = |error| StartError::WebhookKey { key, problem: format!("{error}") };
            Some(Arc::new(parsed.map_err(failed)?))
        }
    };
    let rules = DestinationRules {
        allow_http: config.allow_http,
        ports: config.ports.clone(),
        open_ranges: config.open_ranges.clone(),
    };
    Ok(WebhookParts { sealing_key, rules: Arc::new(rules), resolve: Arc::new(SystemResolver::default()) })
}

/// What signs refusals, if anything does.
pub fn refusals_key(file: Option<&Path>) -> Result<Option<Arc<dyn Signer>>, StartError> {
    let Some(file) = file else {
        tracing::info!("refusals are not signed: denials.keypair is not set");
        return Ok(None);
    };
    let key = FileSigner::from_file("denials", file).map_err(StartError::DenialsKey)?;
    Ok(Some(Arc::new(key)))
}

/// The public half of a key.
pub fn address_of(key: &dyn Signer) -> Address {
    Address::from_bytes(key.public_key())
}

/// Starts the deliveries, if there is a key to sign them with.
fn deliver_webhooks(
    store: &Store,
    webhooks: &WebhookParts,
    tasks: &Tasks,
    shared: (Outgoing, Metrics),
) -> Result<(), StartError> {
    let Some(sealing_key) = webhooks.sealing_key.clone() else {
        tracing::info!("webhooks are off: neither webhooks.secret_key_file nor webhooks.secret_key is set");
        return Ok(());
    };
    let client = HttpClient::new(webhooks.resolve.clone(), webhooks.rules.clone());
    let client = Arc::new(client.map_err(StartError::WebhookClient)?);
    let clock = SystemClock::of(store);
    let clock = Arc::new(move || clock.now());
    let Store { webhooks, deliveries, events, .. } = store.clone();
    let deliverer = Deliverer::new((webhooks, deliveries), sealing_key, client, clock, tasks, shared);
    let dispatcher = Dispatcher::new(deliverer, events, tasks.clone());
    tasks.keep("dispatcher", dispatcher.run_until_stopped());
    Ok(())
}

fn fetcher(webhooks: &WebhookParts) -> Result<Fetcher, StartError> {
    // Look-ups of its own: an operator's agents cannot hold up its webhooks.
    let resolve = Arc::new(SystemResolver::default());
    Fetcher::new(resolve, webhooks.rules.clone()).map_err(StartError::WebhookClient)
}

fn explorer_template(network: Network, config: &NetworkConfig) -> String {
    config.explorer_url.clone().unwrap_or_else(|| {
        let cluster = match network {
            Network::Test => "?cluster=devnet",
            Network::Live => "",
        };
        format!("https://explorer.solana.com/tx/{{signature}}{cluster}")
    })
}

fn count_of(number: NonZeroU32) -> usize {
    usize::try_from(number.get()).unwrap_or(usize::MAX)
}
