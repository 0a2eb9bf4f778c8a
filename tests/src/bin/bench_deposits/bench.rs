//! One network, a relayer with many accounts, and the phases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::StreamExt;
use purser_tests::random::Random;
use purser_tests::{AppSettings, Client, Node, TestApp, TestNetwork, Wallet};
use serde_json::json;
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_rpc_client_api::config::RpcSendTransactionConfig;
use solana_sdk::hash::Hash;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::report::Row;
use crate::shown::Deposits;

/// In the order of the table.
pub const PHASES: [&str; 9] = [
    "quiet",
    "steady",
    "burst",
    "new accounts",
    "websockets cut",
    "notices left out",
    "restarted",
    "quiet unsubscribed",
    "steady unsubscribed",
];
/// The default interval.
const INDEXER_INTERVAL: Duration = Duration::from_secs(10);
const SLOT: Duration = Duration::from_millis(200);
/// A validator notifies of a final change this many slots after the change.
const SLOTS_UNTIL_FINAL: u32 = 32;
const CREATED_AT_ONCE: usize = 1_024;
/// By then all subscriptions stand, and the relayer has processed what it found with them.
const CALM_AFTER: Duration = Duration::from_secs(180);
const QUIET: Duration = Duration::from_secs(60);
const BURST: u32 = 200;
const NEW_ACCOUNTS: usize = 20;
const CUT_EVERY: Duration = Duration::from_secs(5);
const LEFT_OUT_PER_MILLE: u64 = 100;
/// How long the last deposits of a phase may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A blockhash lives 30 s.
const BLOCKHASH_FOR: Duration = Duration::from_secs(5);

/// What to measure.
pub struct Options {
    pub accounts: u64,
    pub per_second: u32,
    pub seconds: u32,
    /// Some of [`PHASES`].
    pub phases: Vec<String>,
    pub answers_after: Duration,
    pub commitment: &'static str,
}

/// An account that gets deposits.
#[derive(Clone)]
struct Account {
    id: String,
    token_account: Pubkey,
}

struct Bench<'a> {
    options: &'a Options,
    node: Node,
    app: Arc<TestApp>,
    /// Whether the relayer subscribes to token accounts.
    is_subscribed: bool,
    /// With the operator's key, at the relayer's current address.
    client: Client,
    accounts: Vec<Account>,
    rpc: Arc<RpcClient>,
    /// The wallet that pays the deposits.
    wallet: Wallet,
    sent: u32,
    random: Random,
}

/// Makes the accounts over the API, and runs the phases.
pub async fn measures_all(options: &Options, extension: impl Fn(&str, &str) -> Node) -> Result<Vec<Row>> {
    let network = TestNetwork::slow();
    let node = extension(&network.rpc_url, &network.ws_url);
    node.tells_after(if options.commitment == "finalized" { SLOT * SLOTS_UNTIL_FINAL } else { SLOT });
    node.serves_token_accounts();
    let settings = AppSettings {
        commitment: options.commitment,
        rpc_url: Some(node.rpc_url.clone()),
        ws_url: Some(node.ws_url.clone()),
        requests_per_second: 1_000_000,
        burst: 1_000_000,
        indexer_interval_ms: INDEXER_INTERVAL.as_millis().try_into().context("short")?,
        quotas: Some((100_000, 1_000)),
        ..AppSettings::default()
    };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let operator = app.new_operator().await;
    let wallet = Wallet::with(&operator.chain, "1000000").await;
    let mut bench = Bench {
        options,
        node,
        client: operator.client.clone(),
        app,
        is_subscribed: true,
        accounts: Vec::new(),
        rpc: Arc::new(RpcClient::new_with_commitment(network.rpc_url.clone(), CommitmentConfig::confirmed())),
        wallet,
        sent: 0,
        random: Random::from(1),
    };
    bench.creates_accounts().await;
    bench.node.answers_after(options.answers_after);
    eprintln!("subscribing");
    sleep(CALM_AFTER).await;
    let mut rows = Vec::new();
    for phase in PHASES.into_iter().filter(|phase| options.phases.iter().any(|asked| asked == phase)) {
        if phase.ends_with("unsubscribed") && bench.is_subscribed {
            bench.goes_on_unsubscribed(&settings).await?;
        }
        let row = bench.measures(phase).await.with_context(|| phase.to_owned())?;
        let (p95, calls) = (row.p95_ms.unwrap_or_default(), row.rpc_calls_per_minute);
        eprintln!("{phase}: {} deposits, p95 {p95} ms, {calls} RPC calls a minute", row.deposits);
        rows.push(row);
    }
    Ok(rows)
}

impl Bench<'_> {
    async fn creates_accounts(&mut self) {
        eprintln!("creating {} accounts", self.options.accounts);
        let begun = Instant::now();
        let client = &self.client;
        let created = futures::stream::iter(0..self.options.accounts)
            .map(|number| async move { creates(client, &format!("Account {number}")).await })
            .buffer_unordered(CREATED_AT_ONCE);
        self.accounts = created.collect().await;
        eprintln!("created in {:.0} s", begun.elapsed().as_secs_f64());
    }

    /// Replaces the relayer by one on the same database that subscribes to no token account.
    async fn goes_on_unsubscribed(&mut self, settings: &AppSettings) -> Result<()> {
        ensure!(self.app.stops(Duration::from_secs(60)).await, "the relayer does not stop");
        let none = ("PURSER__NETWORKS__TEST__DEPOSIT_SUBSCRIPTIONS_MAX", "0".to_owned());
        self.app = self.app.twin(&AppSettings { environment: vec![none], ..settings.clone() });
        self.client = Client::new(&self.app.base_url(), Some(self.client.key()));
        self.is_subscribed = false;
        sleep(CALM_AFTER).await;
        Ok(())
    }

    async fn measures(&mut self, phase: &'static str) -> Result<Row> {
        if phase.starts_with("restarted") {
            ensure!(self.app.stops(Duration::from_secs(60)).await, "the relayer does not stop");
            self.app.starts();
            self.client = Client::new(&self.app.base_url(), Some(self.client.key()));
        }
        let (begun, calls) = (Instant::now(), self.node.calls());
        let deposits = Deposits::new(self.options.commitment);
        let mut watching = JoinSet::new();
        watching.spawn(deposits.clone().watches_chain(Arc::clone(&self.rpc)));
        watching.spawn(deposits.clone().watches_relayer(self.client.clone()));
        let steady = (self.options.per_second, self.options.seconds * self.options.per_second);
        match phase {
            "quiet" | "quiet unsubscribed" => sleep(QUIET).await,
            "burst" => self.sends(&deposits, (BURST, BURST)).await?,
            "new accounts" => self.sends_to_new(&deposits).await?,
            "websockets cut" => self.sends_while_cut(&deposits, steady).await?,
            "notices left out" => {
                self.node.leaves_out(LEFT_OUT_PER_MILLE);
                self.sends(&deposits, steady).await?;
            }
            _ => self.sends(&deposits, steady).await?,
        }
        let all_shown = async {
            while deposits.open() > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            // When patience runs out, the times show what is missing.
            _ = timeout(PATIENCE, all_shown) => {}
            Some(ended) = watching.join_next() => ended?.and_then(|()| bail!("the relayer ended its stream"))?,
        }
        self.node.leaves_out(0);
        let (times, first) = deposits.times()?;
        let calls = self.node.calls() - calls;
        Ok(Row::of(phase, times, first.map(|at| at.duration_since(begun)), calls, begun.elapsed()))
    }

    /// Sends `count` deposits, `per_second` a second, each to a random account.
    async fn sends(&mut self, deposits: &Deposits, (per_second, count): (u32, u32)) -> Result<()> {
        let mut next = interval(Duration::from_secs(1) / per_second);
        next.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut sending = JoinSet::new();
        let mut blockhash = (self.rpc.get_latest_blockhash().await?, Instant::now());
        for _ in 0..count {
            next.tick().await;
            if blockhash.1.elapsed() > BLOCKHASH_FOR {
                blockhash = (self.rpc.get_latest_blockhash().await?, Instant::now());
            }
            let chosen = self.random.below(self.options.accounts);
            let account = self.accounts[usize::try_from(chosen)?].clone();
            let transaction = self.pays(&account, blockhash.0);
            sending.spawn(send(
                self.node.clone(),
                Arc::clone(&self.rpc),
                deposits.clone(),
                transaction,
                account,
            ));
        }
        while let Some(sent) = sending.join_next().await {
            sent??;
        }
        Ok(())
    }

    async fn sends_while_cut(&mut self, deposits: &Deposits, steady: (u32, u32)) -> Result<()> {
        let extension = self.node.clone();
        let cutting = tokio::spawn(async move {
            loop {
                sleep(CUT_EVERY).await;
                extension.cuts_websockets();
            }
        });
        let sent = self.sends(deposits, steady).await;
        cutting.abort();
        sent
    }

    /// Sends each new account a deposit as soon as its creation is answered.
    async fn sends_to_new(&mut self, deposits: &Deposits) -> Result<()> {
        let client = self.client.clone();
        let mut creating: JoinSet<Account> = JoinSet::new();
        for number in 0..NEW_ACCOUNTS {
            let client = client.clone();
            creating.spawn(async move { creates(&client, &format!("New {number}")).await });
        }
        while let Some(account) = creating.join_next().await {
            let account = account?;
            let transaction = self.pays(&account, self.rpc.get_latest_blockhash().await?);
            send(self.node.clone(), Arc::clone(&self.rpc), deposits.clone(), transaction, account).await?;
        }
        Ok(())
    }

    /// Each deposit has its own amount, so that no two transactions are the same.
    fn pays(&mut self, account: &Account, blockhash: Hash) -> Transaction {
        self.sent += 1;
        let transfer = self.wallet.transfer(&format!("0.{:06}", self.sent), &account.token_account);
        let keypair = &self.wallet.keypair;
        Transaction::new_signed_with_payer(&[transfer], Some(&keypair.pubkey()), &[keypair], blockhash)
    }
}

async fn creates(client: &Client, name: &str) -> Account {
    let created = client.post("/v1/accounts", &json!({ "name": name })).await.has_status(201);
    let token_account = created.text_of("usdc_token_account").parse().expect("addresses are base58");
    Account { id: created.text_of("account_id").to_owned(), token_account }
}

async fn send(
    node: Node,
    rpc: Arc<RpcClient>,
    deposits: Deposits,
    transaction: Transaction,
    account: Account,
) -> Result<()> {
    deposits.sends(transaction.signatures[0], &account.id);
    let config = RpcSendTransactionConfig { skip_preflight: true, ..RpcSendTransactionConfig::default() };
    let sent = async { Ok(rpc.send_transaction_with_config(&transaction, config).await.map(drop)?) };
    node.tells_of(&account.token_account, sent).await
}
