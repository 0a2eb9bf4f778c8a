//! The past of one network, as the indexer reads it: signatures of an address, transactions, balances, and finality.
//! Everything is read at the settlement commitment.

pub mod drafts;
pub mod grants_opened;
pub mod landed;
pub mod policy_steps;
pub mod program_event;

use crate::history::landed::LandedRecord;
use crate::live::deposits::Deposits;
use crate::read::decode::{self, to_address, to_pubkey};
use crate::send::cross_check::{Sighting, cross_check};
use crate::send::flight::Landing;
use crate::{AgentAddresses, ChainError, Commitment};
use anchor_lang::Discriminator;
use parking_lot::Mutex;
use purser::state::Agent;
use purser_client::{AccountIds, Deployment, Landed, WireLanded};
use purser_model::{AccountId, Address, Network, SpendingPolicy};
use purser_policy::UsdcAmount;
use purser_rpc::wire::RawAccount;
use purser_rpc::{ACCOUNTS_MAX, Rpc, STATUSES_MAX};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use tokio::sync::Notify;

/// Most token accounts per call.
pub const BALANCES_MAX: usize = ACCOUNTS_MAX;
/// Most transactions per call to `standings`.
pub const STANDINGS_MAX: usize = STATUSES_MAX;

/// Reads one network's past. Cheap to clone.
#[derive(Clone)]
pub struct SolanaHistory {
    pub(crate) network: Network,
    pub(crate) account_ids: AccountIds,
    pub(crate) rpc: Arc<Rpc>,
    pub(crate) program: Pubkey,
    pub(crate) usdc_mint: Pubkey,
    pub(crate) commitment: Commitment,
    /// Notified when something may be new.
    pub(crate) activity: Arc<Notify>,
    pub(crate) deposits: Arc<Deposits>,
}

/// A page of an address's signatures, newest first.
#[derive(Debug, Clone, Copy)]
pub struct SignaturePage<'a> {
    pub address: &'a Address,
    /// Older than this one.
    pub before: Option<&'a str>,
    /// Newer than this one, where the node knows it.
    pub until: Option<&'a str>,
    pub lines_max: usize,
}

/// One transaction of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureLine {
    /// Base58.
    pub signature: String,
    pub slot: u64,
    /// Unix seconds.
    pub block_time: Option<i64>,
    /// It failed: it paid its fee and did nothing else.
    pub failed: bool,
    /// It reached the requested commitment. Some nodes list transactions that have not.
    pub reached: bool,
    /// Its slot can no longer be forked away.
    pub finalized: bool,
}

/// The result of asking for a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// The node does not know it, or did not keep it whole.
    Unknown,
    Failed,
    Found(Box<LandedRecord>),
}

/// Token balances at one slot, in the order asked; an absent account holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balances {
    pub slot: u64,
    pub amounts: Vec<UsdcAmount>,
}

/// How final a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureStanding {
    Unknown,
    /// Seen, but may still be forked away.
    Open,
    Finalized {
        slot: u64,
    },
}

/// The standing of some transactions, and how far their node has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureStandings {
    /// Every slot up to this one is final.
    pub finalized_slot: u64,
    /// In the order asked.
    pub each: Vec<SignatureStanding>,
}

impl SolanaHistory {
    pub const fn network(&self) -> Network {
        self.network
    }

    /// The id of an agent account.
    pub fn account_id_of(&self, agent: &Address) -> AccountId {
        AccountId::from_bytes(self.account_ids.bytes_of(&to_pubkey(agent)))
    }

    /// Where an agent of the operator and its USDC are, by its id. Whoever shows us others made them up.
    pub fn addresses_of(&self, operator: &Address, agent_id: &[u8; 16]) -> AgentAddresses {
        let Self { program, usdc_mint, .. } = *self;
        let deployment = Deployment { program, usdc_mint };
        let agent = deployment.agent_address(&to_pubkey(operator), agent_id);
        let token_account = to_address(&deployment.token_account(&agent));
        AgentAddresses { agent: to_address(&agent), token_account }
    }

    /// Returns when something may be new; never without a websocket. One waiter at a time.
    pub async fn activity(&self) {
        self.activity.notified().await;
    }

    /// Makes [`SolanaHistory::activity`] return once more.
    pub fn look_again(&self) {
        self.activity.notify_one();
    }

    /// The token accounts whose balance has risen, as nodes report, once there are any. An account repeats for a while, until its
    /// balance is [explained](SolanaHistory::explained). One waiter at a time.
    pub async fn risen(&self) -> Vec<Address> {
        self.deposits.risen().await.iter().map(decode::to_address).collect()
    }

    /// The histories of these token accounts explain their balances.
    pub fn explained(&self, held: impl IntoIterator<Item = (Address, UsdcAmount)>) {
        self.deposits.explained(held.into_iter().map(|(account, balance)| (to_pubkey(&account), balance)));
    }

    /// From now on nodes report rises of these token accounts.
    pub fn watch_deposits(&self, token_accounts: &[Address]) {
        self.deposits.watch(token_accounts.iter().map(to_pubkey));
    }

    /// Whether what we read here is final, not only confirmed.
    pub const fn is_final(&self) -> bool {
        match self.commitment {
            Commitment::Finalized => true,
            Commitment::Confirmed => false,
        }
    }

    /// The page that `page` describes. A node that does not know `before` returns nothing: see
    /// [`SolanaHistory::standings`].
    pub async fn signatures(&self, page: SignaturePage<'_>) -> Result<Vec<SignatureLine>, ChainError> {
        let address = to_pubkey(page.address);
        let lines = self
            .rpc
            .signatures_of(&address, page.before, page.until, page.lines_max, self.commitment)
            .await?;
        let line = |line: purser_rpc::wire::SignatureInfo| SignatureLine {
            slot: line.slot,
            block_time: line.block_time,
            failed: line.err.is_some(),
            reached: line.reached(self.commitment),
            finalized: line.is_finalized(self.commitment),
            signature: line.signature,
        };
        Ok(lines.into_iter().map(line).collect())
    }

    /// The agent accounts of an operator that stand on the chain, whatever its history shows. Not every node lists them.
    pub async fn agents(&self, operator: &Address) -> Result<Vec<Address>, ChainError> {
        const METHOD: &str = "getProgramAccounts";
        let begins = |offset: usize, bytes: &[u8]| json!({ "memcmp": { "offset": offset, "bytes": bs58::encode(bytes).into_string() } });
        let operator_at = Agent::DISCRIMINATOR.len() + std::mem::offset_of!(Agent, operator);
        let config = json!({
            "encoding": "base64", "commitment": self.commitment.as_str(), "dataSlice": { "offset": 0, "length": 0 },
            "filters": [begins(0, Agent::DISCRIMINATOR), begins(operator_at, operator.as_bytes())],
        });
        let found: Vec<Value> = self.rpc.ask(METHOD, json!([self.program.to_string(), config])).await?;
        Ok(found.iter().filter_map(|account| account["pubkey"].as_str()?.parse().ok()).collect())
    }

    /// What a transaction did.
    pub async fn transaction(&self, signature: &str) -> Result<Looked, ChainError> {
        const DURING: &str = "getTransaction";
        let params = json!([
            signature,
            {
                "encoding": "json",
                "maxSupportedTransactionVersion": 1,
                "commitment": self.commitment.as_str(),
            }
        ]);
        let (node, answer): (usize, Option<Value>) = self.rpc.ask_any(DURING, params).await?;
        let Some(answer) = answer else { return Ok(Looked::Unknown) };
        // An unknown form must not make us take the node for broken, and leave all others unread.
        let Ok(answer) = serde_json::from_value::<WireLanded>(answer) else { return Ok(Looked::Unknown) };
        match answer.read(&self.program, &self.usdc_mint, signature) {
            None => Ok(Looked::Unknown),
            Some(Landed::Failed) => Ok(Looked::Failed),
            Some(Landed::Well(landed)) => {
                let mut record = LandedRecord::of(landed, &self.program, (signature, node));
                if record.block_time.is_none() {
                    record.block_time = self.block_time(record.slot).await?;
                }
                Ok(Looked::Found(Box::new(record)))
            }
        }
    }

    /// When a block was made, unix seconds by the chain's clock; `None` if the node does not know.
    pub async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainError> {
        Ok(self.rpc.block_time(slot).await?)
    }

    /// What up to [`BALANCES_MAX`] token accounts hold.
    pub async fn balances(&self, token_accounts: &[Address]) -> Result<Balances, ChainError> {
        let keys: Vec<Pubkey> = token_accounts.iter().map(to_pubkey).collect();
        let read = self.rpc.accounts_at(self.commitment, &keys, 0).await?;
        let amount = |account: &Option<_>| account.as_ref().and_then(decode::balance);
        let amounts = read.value.iter().map(|account| amount(account).unwrap_or(UsdcAmount::ZERO)).collect();
        Ok(Balances { slot: read.slot, amounts })
    }

    /// Whether up to [`BALANCES_MAX`] agents are paused or have a halt of their own, by the newest confirmed state; `None`
    /// where no agent of ours is.
    pub async fn paused(&self, agents: &[Address]) -> Result<Vec<Option<bool>>, ChainError> {
        let keys: Vec<Pubkey> = agents.iter().map(to_pubkey).collect();
        let read = self.rpc.accounts(&keys, 0).await?;
        let paused = |(key, account): (&Pubkey, &Option<RawAccount>)| {
            let agent = decode::agent(&self.program, key, account.as_ref()?, (key, None))?;
            Some(agent.policy.paused || agent.halted_by.is_some())
        };
        Ok(keys.iter().zip(&read.value).map(paused).collect())
    }

    /// The policies of up to [`BALANCES_MAX`] agents with their versions, read at `slot` or later; `None` where no agent of
    /// ours is.
    pub async fn policies(
        &self,
        agents: &[Address],
        slot: u64,
    ) -> Result<Vec<Option<(u64, SpendingPolicy)>>, ChainError> {
        let keys: Vec<Pubkey> = agents.iter().map(to_pubkey).collect();
        let read = self.rpc.accounts_at(self.commitment, &keys, slot).await?;
        let policy = |(key, account): (&Pubkey, &Option<RawAccount>)| {
            let agent = decode::agent(&self.program, key, account.as_ref()?, (key, None))?;
            Some((agent.policy_version, agent.policy))
        };
        Ok(keys.iter().zip(&read.value).map(policy).collect())
    }

    /// Those of these records, by their signatures, that other nodes than the one that showed them deny, or have not come as far as. A
    /// single node is trusted.
    pub async fn denied(&self, records: &[&LandedRecord]) -> Vec<String> {
        let denied = Mutex::new(Vec::new());
        if self.rpc.nodes() < 2 {
            return Vec::new();
        }
        for node in 0..self.rpc.nodes() {
            let shown = records.iter().filter(|record| record.node == node);
            let sightings: Vec<Sighting> = shown
                .map(|record| Sighting {
                    signature: record.signature.clone(),
                    landing: Landing::Landed { slot: record.slot },
                    commitment: self.commitment,
                    node,
                })
                .collect();
            let on_checked = |signature: &str, landing: Option<Landing>| {
                if landing.is_none() {
                    denied.lock().push(signature.to_owned());
                }
            };
            for sightings in sightings.chunks(STATUSES_MAX) {
                let behind = cross_check(&self.rpc, node, sightings.to_vec(), &on_checked).await;
                denied.lock().extend(behind.into_iter().map(|sighting| sighting.signature));
            }
        }
        denied.into_inner()
    }

    /// Whether a transaction that was seen in `slot` is gone for good: every node that moves has finalized that slot, and none knows
    /// the transaction.
    pub async fn is_gone(&self, signature: &str, slot: u64) -> Result<bool, ChainError> {
        let tips = self.rpc.finalized_tips().await?;
        if tips.lowest().slot < slot {
            return Ok(false);
        }
        let known = self.rpc.search_everywhere(&[signature.to_owned()], &tips).await?;
        Ok(known.iter().all(Option::is_none))
    }

    /// The standing of up to [`STANDINGS_MAX`] transactions, however old.
    pub async fn standings(&self, signatures: &[String]) -> Result<SignatureStandings, ChainError> {
        // The tip is read first: a signature that is unknown afterwards was unknown when this slot was already final.
        let tip = self.rpc.finalized_tip().await?;
        let statuses = self.rpc.statuses(signatures, true).await?;
        let standing = |status: &Option<purser_rpc::wire::SignatureStatus>| match status {
            None => SignatureStanding::Unknown,
            Some(status) if status.reached(Commitment::Finalized) => {
                SignatureStanding::Finalized { slot: status.slot }
            }
            Some(_) => SignatureStanding::Open,
        };
        let each = statuses.value.iter().map(standing).collect();
        Ok(SignatureStandings { finalized_slot: tip.slot.min(statuses.slot), each })
    }
}

#[cfg(any(test, feature = "testing"))]
mod told;
