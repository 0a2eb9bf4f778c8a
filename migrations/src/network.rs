//! The cluster: what is read from it, and transactions that the wallet signs.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use anchor_client::Cluster;
use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, bail, ensure};
use solana_commitment_config::CommitmentConfig;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_sdk::account::Account;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use crate::arguments::ClusterArgs;
use crate::failure;
use crate::submit;

const CLOCK_SYSVAR: Pubkey = pubkey!("SysvarC1ock11111111111111111111111111111111");
/// Accounts that one request may name.
const ACCOUNTS_AT_ONCE: usize = 100;
const RPC_TIMEOUT: Duration = Duration::from_secs(30);

/// A cluster, read at one commitment.
pub struct Network {
    pub url: String,
    pub rpc: RpcClient,
    pub commitment: CommitmentConfig,
    /// Micro-lamports per compute unit.
    priority_fee: u64,
    wallet_file: Option<std::path::PathBuf>,
}

impl Network {
    /// Does not yet speak to the cluster.
    pub fn connect(args: &ClusterArgs) -> Result<Self> {
        let url = args.url.as_deref().ok_or_else(|| {
            anyhow!("no cluster: pass --url (or set ANCHOR_PROVIDER_URL, as `anchor run` does)")
        })?;
        let cluster = Cluster::from_str(url).map_err(|_| {
            anyhow!("\"{url}\" is no cluster: pass an http(s) address, localnet, devnet, testnet or mainnet")
        })?;
        let commitment = CommitmentConfig::from(args.commitment);
        let url = cluster.url().to_string();
        Ok(Self {
            rpc: RpcClient::new_with_timeout_and_commitment(url.clone(), RPC_TIMEOUT, commitment),
            url,
            commitment,
            priority_fee: args.priority_fee,
            wallet_file: args.wallet.clone(),
        })
    }

    pub async fn account(&self, address: &Pubkey) -> Result<Option<Account>> {
        let [account] = self.accounts(&[*address]).await?;
        Ok(account)
    }

    /// At most 100 accounts, as they are at one moment.
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

    /// Accounts, the chain's Unix second beside them.
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

    /// Lamports that an account of `bytes` must hold.
    pub async fn rent(&self, bytes: usize) -> Result<u64> {
        let answer = self.rpc.get_minimum_balance_for_rent_exemption(bytes).await;
        answer.map_err(|error| failure::explain_read(&error, &self.url))
    }

    /// Instructions that come first in every transaction.
    fn fees(&self) -> Vec<Instruction> {
        match self.priority_fee {
            0 => Vec::new(),
            price => vec![ComputeBudgetInstruction::set_compute_unit_price(price)],
        }
    }

    /// The wallet's address.
    pub fn wallet_address(&self) -> Result<Pubkey> {
        self.wallet().map(|wallet| wallet.pubkey())
    }

    fn wallet(&self) -> Result<Keypair> {
        let file = self.wallet_file.as_deref().ok_or_else(|| {
            anyhow!("no wallet: pass --wallet FILE (or set ANCHOR_WALLET, as `anchor run` does)")
        })?;
        read_keypair(file).context("no wallet to sign with (--wallet FILE, or ANCHOR_WALLET)")
    }

    /// This cluster with the wallet that signs and pays.
    pub fn signing(&self) -> Result<Signing<'_>> {
        Ok(Signing { network: self, wallet: self.wallet()? })
    }
}

/// A cluster and the wallet that signs and pays.
pub struct Signing<'a> {
    pub network: &'a Network,
    wallet: Keypair,
}

impl Signing<'_> {
    pub fn address(&self) -> Pubkey {
        self.wallet.pubkey()
    }

    /// Sends one instruction, signed by the wallet alone, and waits for the commitment.
    pub async fn call(&self, instruction: Instruction) -> Result<Signature> {
        self.send(&[instruction], &[]).await.map_err(|refusal| refusal.explain(&self.address()))
    }

    /// Sends instructions in one transaction; `also` signs beside the wallet.
    pub async fn send(
        &self,
        instructions: &[Instruction],
        also: &[&Keypair],
    ) -> Result<Signature, submit::Refusal> {
        let latest = self.network.rpc.get_latest_blockhash().await;
        let blockhash = latest
            .map_err(|error| submit::Refusal::other(failure::explain_read(&error, &self.network.url)))?;
        let instructions = [self.network.fees().as_slice(), instructions].concat();
        let mut signers = vec![&self.wallet];
        signers.extend(also);
        let payer = self.address();
        let transaction =
            Transaction::new_signed_with_payer(&instructions, Some(&payer), &signers, blockhash);
        submit::submit(self.network, &transaction).await
    }

    /// An unsent transaction of `instruction` with a blockhash of the caller's.
    pub fn sign(&self, instruction: Instruction, blockhash: solana_sdk::hash::Hash) -> Transaction {
        let mut instructions = self.network.fees();
        instructions.push(instruction);
        Transaction::new_signed_with_payer(&instructions, Some(&self.address()), &[&self.wallet], blockhash)
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
