//! The cluster: what is read from it, and who signs.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anchor_client::Cluster;
use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, bail, ensure};
use purser_client::{AccountIds, Deployment};
use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::account::Account;
use solana_sdk::pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::sync::OnceCell;

use crate::arguments::ClusterArgs;
use crate::failure;

const CLOCK_SYSVAR: Pubkey = pubkey!("SysvarC1ock11111111111111111111111111111111");
/// How many accounts one request may name.
const ACCOUNTS_AT_ONCE: usize = 100;
const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// A cluster, read at one commitment.
pub struct Network {
    pub url: String,
    pub rpc: RpcClient,
    pub commitment: CommitmentConfig,
    pub program: Pubkey,
    pub mode: Mode,
    /// A durable nonce account, for unsigned transactions.
    pub nonce: Option<Pubkey>,
    /// Micro-lamports per compute unit.
    pub priority_fee: u64,
    wallet_file: Option<PathBuf>,
    account_ids: OnceCell<AccountIds>,
    /// After `--signer`: somebody else, who signs the printed transaction.
    pub signer: Option<Pubkey>,
}

/// What to do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Preview it, without doing anything.
    Show,
    /// Print its transaction for somebody else to sign.
    Unsigned,
    Do,
}

impl Network {
    /// Makes no request to the cluster yet.
    pub fn connect(args: &ClusterArgs) -> Result<Self> {
        let url = args.url.as_deref().ok_or_else(|| {
            anyhow!("no cluster: pass --url (or set ANCHOR_PROVIDER_URL, as `anchor run` does)")
        })?;
        let cluster = Cluster::from_str(url).map_err(|_| {
            anyhow!(
                "\"{url}\" is not a cluster: pass an http(s) address, localnet, devnet, testnet or mainnet"
            )
        })?;
        let commitment = CommitmentConfig::from(args.commitment);
        let url = cluster.url().to_string();
        Ok(Self {
            rpc: RpcClient::new_with_timeout_and_commitment(url.clone(), RPC_TIMEOUT, commitment),
            url,
            commitment,
            program: args.program_id.unwrap_or(purser::ID),
            mode: match (args.change.yes, args.change.unsigned) {
                (true, _) => Mode::Do,
                (false, true) => Mode::Unsigned,
                (false, false) => Mode::Show,
            },
            nonce: args.change.nonce,
            priority_fee: args.priority_fee,
            wallet_file: args.wallet.clone(),
            account_ids: OnceCell::new(),
            signer: args.change.signer,
        })
    }

    pub async fn account(&self, address: &Pubkey) -> Result<Option<Account>> {
        let [account] = self.accounts(&[*address]).await?;
        Ok(account)
    }

    /// At most 100 accounts, all read at one moment.
    pub async fn accounts<const N: usize>(&self, addresses: &[Pubkey; N]) -> Result<[Option<Account>; N]> {
        let answer = self.rpc.get_multiple_accounts_with_commitment(addresses, self.commitment).await;
        let accounts = answer.map_err(|error| failure::explain_read(&error, &self.url))?.value;
        accounts
            .try_into()
            .map_err(|_| anyhow!("{} answers with another number of accounts than asked for", self.url))
    }

    /// Any number of accounts.
    pub async fn many_accounts(&self, addresses: &[Pubkey]) -> Result<Vec<Option<Account>>> {
        let mut accounts = Vec::with_capacity(addresses.len());
        for part in addresses.chunks(ACCOUNTS_AT_ONCE) {
            let answer = self.rpc.get_multiple_accounts_with_commitment(part, self.commitment).await;
            accounts.extend(answer.map_err(|error| failure::explain_read(&error, &self.url))?.value);
        }
        ensure!(accounts.len() == addresses.len(), "{} answers with too few accounts", self.url);
        Ok(accounts)
    }

    /// Accounts, together with the chain's Unix second.
    pub async fn accounts_and_time<const N: usize>(
        &self,
        addresses: &[Pubkey; N],
    ) -> Result<([Option<Account>; N], i64)> {
        Ok((self.accounts(addresses).await?, self.time().await?))
    }

    /// The chain's Unix second.
    pub async fn time(&self) -> Result<i64> {
        let clock = self.account(&CLOCK_SYSVAR).await?.context("the cluster has no clock")?;
        let seconds = clock.data.get(32..40).and_then(|bytes| bytes.try_into().ok());
        seconds.map(i64::from_le_bytes).context("the cluster's clock has an unknown layout")
    }

    /// The lamports that an account of `bytes` must hold.
    pub async fn rent(&self, bytes: usize) -> Result<u64> {
        let answer = self.rpc.get_minimum_balance_for_rent_exemption(bytes).await;
        answer.map_err(|error| failure::explain_read(&error, &self.url))
    }

    /// The lamports that a wallet holds.
    pub async fn balance(&self, wallet: &Pubkey) -> Result<u64> {
        let answer = self.rpc.get_balance(wallet).await;
        answer.map_err(|error| failure::explain_read(&error, &self.url))
    }

    pub async fn genesis_hash(&self) -> Result<String> {
        let answer = self.rpc.get_genesis_hash().await;
        Ok(answer.map_err(|error| failure::explain_read(&error, &self.url))?.to_string())
    }

    /// The ids of agent accounts on this cluster.
    pub async fn account_ids(&self) -> Result<AccountIds> {
        let ask = || async {
            let genesis_hash = self.genesis_hash().await?;
            AccountIds::on(&genesis_hash).with_context(|| format!("{} has no genesis hash", self.url))
        };
        self.account_ids.get_or_try_init(ask).await.copied()
    }

    /// The program with the mint of one operator.
    pub fn deployment(&self, usdc_mint: Pubkey) -> Deployment {
        Deployment { program: self.program, usdc_mint }
    }

    /// The signer: the wallet, or the address after `--signer`.
    pub fn signer_address(&self) -> Result<Pubkey> {
        match self.signer {
            Some(signer) => Ok(signer),
            None => Ok(self.wallet()?.pubkey()),
        }
    }

    /// The keypair in the file after `--wallet`.
    pub fn wallet(&self) -> Result<Keypair> {
        let file = self.wallet_file.as_deref().ok_or_else(|| {
            anyhow!("no wallet: pass --wallet FILE (or set ANCHOR_WALLET, as `anchor run` does)")
        })?;
        read_keypair(file).context("no wallet to sign with (--wallet FILE, or ANCHOR_WALLET)")
    }
}

/// A keypair file as the Solana tools write it: a JSON array of 64 numbers.
pub fn read_keypair(file: &Path) -> Result<Keypair> {
    let expanded = match (file.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => file.to_path_buf(),
    };
    let shown = expanded.display();
    let text = std::fs::read_to_string(&expanded)
        .with_context(|| format!("cannot read the keypair file {shown}"))?;
    let bytes: Vec<u8> = match serde_json::from_str(&text) {
        Ok(bytes) => bytes,
        // The cause would quote the file, which holds a secret.
        Err(_) => bail!("{shown} is not a keypair file (a JSON array of 64 numbers)"),
    };
    Keypair::try_from(bytes.as_slice())
        .map_err(|_| anyhow!("{shown} is not a keypair file (a JSON array of 64 numbers)"))
}
