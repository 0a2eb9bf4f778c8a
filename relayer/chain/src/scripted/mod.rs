//! A network for tests: the real [`SolanaChain`] over one node in this process, whose accounts, clock and faults a test sets.
//!
//! The node does to the accounts what the program does, as far as services ask for it, and decides no payment: how each ends is
//! [scripted](Script::outcomes). What the program itself decides is tested on LiteSVM.

mod accounts;
mod program;

use crate::read::decode::{to_address, to_pubkey};
use crate::send::fault::Fault;
use crate::sign::instructions::Instructions;
use crate::sign::signer::{FileSigner, Signer};
use crate::solana::{ChainSettings, ChainSigners, SolanaChain};
use crate::{
    AgentOnChain, ChainError, Commitment, Destination, DraftOnChain, Outcome, PriceBounds, ProgramCheck,
    Refusal, SentEnd, SignedTransfer, UnsignedTransfer,
};
use async_trait::async_trait;
use base64::Engine;
use parking_lot::{Mutex, MutexGuard};
use purser_base::tasks::Tasks;
use purser_client::Deployment;
use purser_core::BudgetState;
use purser_model::{Address, HaltedBy, Network};
use purser_policy::Waived;
use purser_rpc::node_fault::{CallError, NodeFault};
use purser_rpc::transport::Transport;
use purser_rpc::{Rpc, sysvar};
use serde_json::{Value, json};
use solana_message::Message;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::transaction::Transaction;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The Unix second of its clock at the start.
pub const NOW: i64 = 1_790_000_000;

const GENESIS: Pubkey = Pubkey::new_from_array([7; 32]);
const MINT: Pubkey = Pubkey::new_from_array([4; 32]);
/// The last block height at which signed bytes can land, and the two heights that the node reports.
const LAST_VALID: u64 = 250;
const HEIGHT_WHILE_HELD: u64 = 100;
const HEIGHT: u64 = 1_000;
/// How many polls do not show what is lost, and how long a caller waits meanwhile: less than lies between two of them.
const LOST_POLLS: u32 = 3;
const SILENCE_MAX: Duration = Duration::from_millis(300);

/// Accounts, outcomes of transactions, and faults, as a test sets them.
pub struct Script {
    pub unreachable: bool,
    pub now: i64,
    pub operators: HashSet<Address>,
    pub operator_halted: Option<HaltedBy>,
    pub loosening_delay: u32,
    /// Another key that the operators name in place of ours.
    pub policy_authority: Option<Address>,
    /// In each wallet of ours.
    pub lamports: u64,
    pub agents: HashMap<Address, AgentOnChain>,
    /// By agent.
    pub drafts: HashMap<Address, DraftOnChain>,
    /// Accounts at other addresses.
    pub destinations: HashMap<Address, Destination>,
    /// By tag: what a grant of 1,000 USDC for the owner of payee 1 waives.
    pub grants: HashMap<u64, Waived>,
    /// By address; one that is not listed is closed.
    pub budgets: HashMap<Address, BudgetState>,
    /// The number of coming changes that take effect, but whose callers give up before they are shown.
    pub answers_lost: usize,
    /// How transfers end, in order; once they run out, everything settles.
    pub outcomes: VecDeque<Outcome>,
    /// Answers to the next questions for the time of a block; afterwards it is `now`.
    pub block_times: VecDeque<Option<i64>>,
    /// Transfers land only while this is false.
    pub held: bool,
    /// Reads of accounts are answered only while this is false.
    pub reads_held: bool,
    /// How often what a transfer needs was read, or was to be read.
    pub reads: usize,
    /// How often accounts were read otherwise.
    pub agent_reads: usize,
    /// How often the reader of the chain's past was woken.
    pub wanted: usize,
    /// How often an account was given room.
    pub rooms: usize,
    /// Policies are written only while this is false.
    pub policies_held: bool,
    /// How many policies are being written.
    pub policies_under_way: usize,
    /// Accounts are created only while this is false.
    pub creations_held: bool,
    /// How many accounts are being created.
    pub creations_under_way: usize,
    /// So many of the next new addresses have USDC lying there already, for good.
    pub addresses_taken: usize,
    pub taken: HashSet<Address>,
    /// Transfers that were signed, whether or not they were sent.
    pub orders: Vec<UnsignedTransfer>,
    /// Transfers that were sent, each time.
    pub sent: Vec<SignedTransfer>,
    pub memos: Vec<String>,
    /// How often something was halted.
    pub halts: usize,
    /// How transactions ended, whatever the node saw of them. One that it never saw and that is no signature is final.
    pub ends: HashMap<String, SentEnd>,
    slot: u64,
    blockhashes: u64,
    drafts_opened: HashMap<Address, program::OpenedDraft>,
    /// Transfers that have not ended.
    waiting: Vec<String>,
    ended: HashMap<String, Landed>,
}

/// A transaction that the node has seen.
struct Landed {
    slot: u64,
    /// The program's code; `None` if it succeeded.
    refused: Option<u32>,
    polls_lost: u32,
}

/// A network that follows a [`Script`].
pub struct ScriptedNetwork {
    script: Mutex<Script>,
    released: Notify,
    policy: Arc<FileSigner>,
    transfer: Arc<FileSigner>,
    chains: Mutex<Vec<Arc<SolanaChain>>>,
}

/// A lock on the script. When it is dropped, every chain reads the clock anew.
pub struct Scripting<'a> {
    network: &'a ScriptedNetwork,
    script: MutexGuard<'a, Script>,
}

impl Deref for Scripting<'_> {
    type Target = Script;

    fn deref(&self) -> &Script {
        &self.script
    }
}

impl DerefMut for Scripting<'_> {
    fn deref_mut(&mut self) -> &mut Script {
        &mut self.script
    }
}

impl Drop for Scripting<'_> {
    fn drop(&mut self) {
        self.network.chains.lock().iter().for_each(|chain| chain.clock.forget_time());
    }
}

fn new_signer() -> Arc<FileSigner> {
    Arc::new(FileSigner::from_bytes(&Keypair::new().to_bytes()).expect("a keypair"))
}

fn instructions() -> Instructions {
    Instructions(Deployment { program: purser::ID, usdc_mint: MINT })
}

/// Of a chain that names no node.
pub(crate) fn settings() -> ChainSettings {
    ChainSettings {
        rpc_urls: Vec::new(),
        rpc_proxy: None,
        ws_urls: Vec::new(),
        program_id: to_address(&purser::ID),
        usdc_mint: to_address(&MINT),
        commitment: Commitment::Confirmed,
        shortest_slot: Duration::ZERO,
        priority_fee: PriceBounds { least: 0, most: 0 },
        genesis_hash: None,
        program_check: ProgramCheck::Off,
        rent_payers: Vec::new(),
        rent_refund: None,
        tag_buckets_max: 64,
        deposit_subscriptions_max: 0,
        keypairs_here: Vec::new(),
    }
}

/// A wallet's address, another for each number.
pub fn wallet_at(number: u16) -> Address {
    let of = |salt: u8| {
        let mut bytes = [salt; 32];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Pubkey::new_from_array(bytes)
    };
    let found = (0..=u8::MAX).map(of).find(Pubkey::is_on_curve);
    to_address(&found.expect("every second point is on the curve"))
}

/// An address that is no wallet's, another for each number.
pub fn vault_at(number: u8) -> Address {
    let found = (0..=u8::MAX).map(|salt| {
        Pubkey::new_from_array([[number; 31].as_slice(), &[salt]].concat().try_into().expect("32"))
    });
    to_address(
        &found.into_iter().find(|key| !key.is_on_curve()).expect("every second point is off the curve"),
    )
}

impl ScriptedNetwork {
    /// With these operators.
    pub fn new(operators: impl IntoIterator<Item = Address>) -> Arc<Self> {
        let script = Script {
            unreachable: false,
            now: NOW,
            operators: operators.into_iter().collect(),
            operator_halted: None,
            loosening_delay: 0,
            policy_authority: None,
            lamports: 100_000_000_000,
            agents: HashMap::new(),
            drafts: HashMap::new(),
            destinations: HashMap::new(),
            grants: HashMap::new(),
            budgets: HashMap::new(),
            answers_lost: 0,
            outcomes: VecDeque::new(),
            block_times: VecDeque::new(),
            held: false,
            reads_held: false,
            reads: 0,
            agent_reads: 0,
            wanted: 0,
            rooms: 0,
            policies_held: false,
            policies_under_way: 0,
            creations_held: false,
            creations_under_way: 0,
            addresses_taken: 0,
            taken: HashSet::new(),
            orders: Vec::new(),
            sent: Vec::new(),
            memos: Vec::new(),
            halts: 0,
            ends: HashMap::new(),
            slot: 7,
            blockhashes: 0,
            drafts_opened: HashMap::new(),
            waiting: Vec::new(),
            ended: HashMap::new(),
        };
        Arc::new(Self {
            script: Mutex::new(script),
            released: Notify::new(),
            policy: new_signer(),
            transfer: new_signer(),
            chains: Mutex::default(),
        })
    }

    /// The chain as one process sees it. Its tasks end with those.
    pub fn chain(self: &Arc<Self>, tasks: &Tasks) -> Arc<SolanaChain> {
        let signers = ChainSigners {
            policy: vec![self.policy.clone()],
            transfer: vec![Arc::new(Recording(self.clone()))],
        };
        let rpc = Rpc::over(vec![Box::new(Node(self.clone()))], vec![Arc::default()], tasks.tracker.clone());
        rpc.require_genesis(&GENESIS.to_string());
        let mut chain = SolanaChain::over(rpc, Network::Test, settings(), signers, tasks)
            .expect("settings that are right");
        chain.silence_max = SILENCE_MAX;
        let chain = Arc::new(chain);
        self.chains.lock().push(chain.clone());
        let (network, activity) = (self.clone(), chain.activity.clone());
        tasks.start({
            let stop = tasks.stop.clone();
            async move {
                while stop.run_until_cancelled(activity.notified()).await.is_some() {
                    network.script.lock().wanted += 1;
                }
            }
        });
        chain
    }

    /// Waits until every change has been heard of, also those whose answers were lost.
    pub async fn is_heard(&self) {
        let is_under_way = |chain: &Arc<SolanaChain>| chain.in_flight() > 0;
        while self.chains.lock().iter().any(is_under_way) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn script(&self) -> Scripting<'_> {
        Scripting { network: self, script: self.script.lock() }
    }

    /// Lets what is held happen.
    pub fn release(&self) {
        {
            let mut script = self.script.lock();
            script.held = false;
            script.reads_held = false;
            script.policies_held = false;
            script.creations_held = false;
        }
        self.released.notify_waiters();
    }

    /// Waits until the script matches `what`; panics after 20 s.
    pub async fn comes_to(&self, what: impl Fn(&Script) -> bool) {
        for _ in 0..4_000 {
            if what(&self.script.lock()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come about within 20 s");
    }

    /// A token account that can be paid, another for each number.
    pub fn payee(&self, number: u8) -> Address {
        let address = Address::from_bytes([[number].as_slice(), &[77; 31]].concat().try_into().expect("32"));
        let owner = Self::owner_of_payee(number);
        self.script.lock().destinations.insert(address, Destination::TokenAccount { owner });
        address
    }

    pub fn owner_of_payee(number: u8) -> Address {
        wallet_at(0x7700 + u16::from(number))
    }

    pub fn usdc_account_of(&self, owner: &Address) -> Address {
        to_address(&instructions().0.token_account(&to_pubkey(owner)))
    }

    pub fn policy_authority(&self) -> Address {
        Address::from_bytes(self.policy.public_key())
    }

    async fn until_not(&self, is_held: impl Fn(&Script) -> bool) {
        loop {
            let released = self.released.notified();
            if !is_held(&self.script.lock()) {
                return;
            }
            released.await;
        }
    }
}

/// Signs as the transfer authority, and keeps what it signed in [`Script::orders`].
struct Recording(Arc<ScriptedNetwork>);

#[async_trait]
impl Signer for Recording {
    fn public_key(&self) -> [u8; 32] {
        self.0.transfer.public_key()
    }

    async fn sign(&self, message: &[u8]) -> Result<[u8; 64], ChainError> {
        let signature = self.0.transfer.sign(message).await?;
        let message: Message = bincode::deserialize(message).expect("a legacy message");
        if let Some(order) = program::transfer_in(&message) {
            self.0.script.lock().orders.push(order);
        }
        Ok(signature)
    }
}

/// The node.
struct Node(Arc<ScriptedNetwork>);

#[async_trait]
impl Transport for Node {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        let network = &*self.0;
        if method == "getMultipleAccounts" {
            network.script.lock().counts_read(&params);
            network.until_not(|script| script.reads_held).await;
        }
        if network.script.lock().unreachable {
            return Err(CallError::Node(NodeFault::Unreachable));
        }
        if method == "sendTransaction" {
            return network.receives(params[0].as_str().expect("base64")).await;
        }
        let mut script = network.script.lock();
        let at_slot =
            |script: &Script, value: Value| json!({ "context": { "slot": script.slot }, "value": value });
        Ok(match method {
            "getGenesisHash" => json!(GENESIS.to_string()),
            "getEpochInfo" => {
                let height = if script.held { HEIGHT_WHILE_HELD } else { HEIGHT };
                json!({ "absoluteSlot": script.slot, "blockHeight": height })
            }
            "getLatestBlockhash" => {
                script.blockhashes += 1;
                let mut hash = [1; 32];
                hash[..8].copy_from_slice(&script.blockhashes.to_le_bytes());
                let hash = Pubkey::new_from_array(hash).to_string();
                at_slot(&script, json!({ "blockhash": hash, "lastValidBlockHeight": LAST_VALID }))
            }
            "getMultipleAccounts" => {
                let keys = params[0].as_array().expect("a list").iter();
                let accounts: Vec<Value> = keys.map(|key| network.account(&script, key)).collect();
                at_slot(&script, json!(accounts))
            }
            "getAccountInfo" => at_slot(&script, network.account(&script, &params[0])),
            "getSignatureStatuses" => {
                let searches = params[1]["searchTransactionHistory"] == json!(true);
                let signatures = params[0].as_array().expect("a list").iter();
                let signatures = signatures.map(|signature| signature.as_str().expect("text").to_owned());
                let statuses = script.statuses(&signatures.collect::<Vec<_>>(), searches)?;
                at_slot(&script, statuses)
            }
            "getBlockTime" => {
                let now = script.now;
                json!(script.block_times.pop_front().unwrap_or(Some(now)))
            }
            "getProgramAccounts" => json!([]),
            other => panic!("nobody scripted {other}"),
        })
    }
}

impl ScriptedNetwork {
    async fn receives(&self, transaction: &str) -> Result<Value, CallError> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(transaction).expect("base64");
        let transaction: Transaction = bincode::deserialize(&bytes).expect("a legacy transaction");
        let signature = transaction.signatures[0].to_string();
        let message = transaction.message;
        if program::transfer_in(&message).is_some() {
            let mut script = self.script.lock();
            let has_ended = script.ended.contains_key(&signature) || script.ends.contains_key(&signature);
            if !has_ended && !script.waiting.contains(&signature) {
                script.waiting.push(signature.clone());
            }
            let last_valid_block_height = LAST_VALID;
            script.sent.push(SignedTransfer { bytes, signature: signature.clone(), last_valid_block_height });
            return Ok(json!(signature));
        }
        if self.script.lock().ended.contains_key(&signature) {
            return Ok(json!(signature));
        }
        if program::sets_policy(&message) {
            self.script.lock().policies_under_way += 1;
            self.until_not(|script| script.policies_held).await;
            self.script.lock().policies_under_way -= 1;
        }
        if program::creates_agent(&message) {
            self.script.lock().creations_under_way += 1;
            self.until_not(|script| script.creations_held).await;
            self.script.lock().creations_under_way -= 1;
        }
        let mut script = self.script.lock();
        let refused = program::execute(&mut script, &message).err();
        let is_lost = refused.is_none() && script.answers_lost > 0;
        script.answers_lost -= usize::from(is_lost);
        script.lands(signature.clone(), refused, if is_lost { LOST_POLLS } else { 0 });
        Ok(json!(signature))
    }
}

impl Script {
    fn counts_read(&mut self, params: &Value) {
        let keys = params[0].as_array().expect("a list").iter();
        let keys: Vec<Pubkey> =
            keys.map(|key| key.as_str().and_then(|key| key.parse().ok()).expect("a key")).collect();
        if !keys.iter().any(|key| self.agents.contains_key(&to_address(key))) {
            return;
        }
        match keys.contains(&sysvar::CLOCK) {
            true => self.reads += 1,
            false => self.agent_reads += 1,
        }
    }

    fn lands(&mut self, signature: String, refused: Option<u32>, polls_lost: u32) {
        self.slot += 1;
        self.ended.insert(signature, Landed { slot: self.slot, refused, polls_lost });
    }

    /// Ends the transfers that wait, unless they are held.
    fn ends_waiting(&mut self) {
        if self.held {
            return;
        }
        for signature in std::mem::take(&mut self.waiting) {
            let outcome = self.outcomes.pop_front().unwrap_or(Outcome::Settled { slot: 0 });
            match outcome {
                Outcome::Settled { .. } => self.lands(signature, None, 0),
                Outcome::Refused(refusal) => self.lands(signature, Some(code_of(refusal)), 0),
                Outcome::Failed { code, .. } => self.lands(signature, Some(code.unwrap_or(u32::MAX)), 0),
                Outcome::Expired => {
                    self.ends.insert(signature, SentEnd::Expired);
                }
            }
        }
    }

    fn statuses(&mut self, signatures: &[String], searches: bool) -> Result<Value, CallError> {
        self.ends_waiting();
        let mut statuses = Vec::new();
        for signature in signatures {
            let seen = self.ended.get_mut(signature);
            if !searches
                && let Some(seen) = seen
                && seen.polls_lost > 0
            {
                seen.polls_lost -= 1;
                return Err(CallError::Node(NodeFault::Slow));
            }
            let seen = self.ended.get(signature);
            let (slot, refused) = seen.map_or((1, None), |seen| (seen.slot, seen.refused));
            let status = |word: &str, refused: Option<u32>| {
                let err = refused.map(|code| json!({ "InstructionError": [2, { "Custom": code }] }));
                json!({ "slot": slot, "confirmations": null, "err": err, "confirmationStatus": word })
            };
            let is_signature = signature.parse::<Signature>().is_ok();
            statuses.push(match self.ends.get(signature) {
                Some(SentEnd::Landed) => status("finalized", None),
                Some(SentEnd::Failed) => status("finalized", Some(u32::MAX)),
                Some(SentEnd::Open) => status("confirmed", refused),
                Some(SentEnd::Expired) => Value::Null,
                None if seen.is_none() && is_signature => Value::Null,
                None => status("finalized", refused),
            });
        }
        Ok(json!(statuses))
    }
}

/// A code that means this refusal: the program's own, or the token program's.
fn code_of(refusal: Refusal) -> u32 {
    let means = |code: &u32| {
        let fault = Fault { code: Some(*code), text: String::new() };
        fault.of_transfer() == Outcome::Refused(refusal)
    };
    (6_000..6_100).chain([1, 17]).find(means).expect("every refusal has a code")
}
