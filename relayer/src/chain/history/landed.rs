//! A landed transaction of any version, read for what it did to us: what our program did, and which USDC moved.
//!
//! Money is read from the balances before and after, which the node writes down for every transaction: no instruction,
//! log or version of the token program has to be understood for it. Read in `json` encoding, field by field: versions
//! that this build has never heard of say the same things in the same places.

use crate::chain::history::events::EventLog;
use crate::chain::history::program_event::{self, Called, ProgramEvent};
use crate::chain::read::decode::{TOKEN_PROGRAM, to_address};
use crate::domain::Address;
use purser_policy::UsdcAmount;
use serde::Deserialize;
use serde_json::Value;
use solana_sdk::pubkey::Pubkey;
use std::collections::BTreeMap;

/// What a transaction that landed well did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedRecord {
    /// Base58.
    pub signature: String,
    pub slot: u64,
    /// Unix seconds.
    pub block_time: Option<i64>,
    /// In the order in which it happened.
    pub events: Vec<ProgramEvent>,
    /// Every USDC token account whose balance changed.
    pub flows: Vec<Flow>,
}

/// A token account's balance before and after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    pub token_account: Address,
    pub before: UsdcAmount,
    pub after: UsdcAmount,
}

/// How a landed transaction is to be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// It did nothing but pay its fee.
    Failed,
    Well(LandedRecord),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireLanded {
    slot: u64,
    #[serde(default)]
    block_time: Option<i64>,
    meta: Option<WireMeta>,
    transaction: WireTransaction,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTransaction {
    signatures: Vec<String>,
    message: WireMessage,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMessage {
    account_keys: Vec<String>,
    instructions: Vec<WireInstruction>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInstruction {
    program_id_index: usize,
    accounts: Vec<usize>,
    /// Base58.
    data: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    #[serde(default)]
    err: Option<Value>,
    #[serde(default)]
    log_messages: Option<Vec<String>>,
    #[serde(default)]
    pre_token_balances: Option<Vec<WireBalance>>,
    #[serde(default)]
    post_token_balances: Option<Vec<WireBalance>>,
    #[serde(default)]
    inner_instructions: Option<Vec<WireInner>>,
    #[serde(default)]
    loaded_addresses: Option<WireLoaded>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireBalance {
    account_index: usize,
    mint: String,
    #[serde(default)]
    program_id: Option<String>,
    ui_token_amount: WireAmount,
}

#[derive(Debug, Deserialize)]
struct WireAmount {
    amount: String,
}

#[derive(Debug, Deserialize)]
struct WireInner {
    index: usize,
    instructions: Vec<WireInstruction>,
}

/// What came through lookup tables; the indexes of accounts count on over these, writable ones first.
#[derive(Debug, Default, Deserialize)]
struct WireLoaded {
    writable: Vec<String>,
    readonly: Vec<String>,
}

impl WireLanded {
    /// `None`: not the transaction that was asked for, or one that this node did not keep whole.
    pub fn read(self, program: &Pubkey, usdc_mint: &Pubkey, signature: &str) -> Option<Landed> {
        let Self { slot, block_time, meta, transaction } = self;
        if transaction.signatures.first().map(String::as_str) != Some(signature) {
            return None;
        }
        let meta = meta?;
        if meta.err.is_some() {
            return Some(Landed::Failed);
        }
        let loaded = meta.loaded_addresses.unwrap_or_default();
        let message = transaction.message;
        let keys: Vec<Pubkey> = message
            .account_keys
            .iter()
            .chain(&loaded.writable)
            .chain(&loaded.readonly)
            .map(|key| key.parse().ok())
            .collect::<Option<_>>()?;
        let flows = flows(&keys, usdc_mint, &meta.pre_token_balances?, &meta.post_token_balances?)?;
        let log = meta.log_messages.map(|lines| EventLog::read(program, &lines));
        let logged = log.filter(|log| !log.incomplete).map(|log| program_event::from_events(&log));
        let inner = meta.inner_instructions.as_deref();
        let calls = calls(program, &keys, &message.instructions, inner.unwrap_or_default())?;
        let called = program_event::from_instructions(&calls);
        // Each instruction logs what it did, once. Where a node tells otherwise, lines were lost, doubled or made up on
        // the way; what was called is covered by signatures. Only a node that did not keep all calls is taken by its log.
        let events = match logged {
            Some(logged) if program_event::are_same(&logged, &called) || inner.is_none() => logged,
            Some(_) => {
                tracing::warn!(signature, slot, "a node's log does not say what was called");
                called
            }
            None => called,
        };
        let signature = signature.to_owned();
        Some(Landed::Well(LandedRecord { signature, slot, block_time, events, flows }))
    }
}

/// The changes of every account of the mint, in no particular order.
fn flows(keys: &[Pubkey], mint: &Pubkey, before: &[WireBalance], after: &[WireBalance]) -> Option<Vec<Flow>> {
    let mut changes: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    let usdc = |balance: &&WireBalance| {
        let of_token_program = balance.program_id.as_ref().is_none_or(|id| *id == TOKEN_PROGRAM.to_string());
        of_token_program && balance.mint == mint.to_string()
    };
    for balance in before.iter().filter(usdc) {
        changes.entry(balance.account_index).or_default().0 = balance.ui_token_amount.amount.parse().ok()?;
    }
    for balance in after.iter().filter(usdc) {
        changes.entry(balance.account_index).or_default().1 = balance.ui_token_amount.amount.parse().ok()?;
    }
    let changed = changes.into_iter().filter(|(_, (before, after))| before != after);
    changed
        .map(|(index, (before, after))| {
            let [before, after] = [before, after].map(UsdcAmount::from_micros);
            Some(Flow { token_account: to_address(keys.get(index)?), before, after })
        })
        .collect()
}

/// Every call of our program in the order in which they began: each instruction, then what was called from within it.
fn calls(
    program: &Pubkey,
    keys: &[Pubkey],
    instructions: &[WireInstruction],
    inner: &[WireInner],
) -> Option<Vec<Called>> {
    let within = |index: usize| {
        inner.iter().filter(move |inner| inner.index == index).flat_map(|inner| &inner.instructions)
    };
    instructions
        .iter()
        .enumerate()
        .flat_map(|(index, instruction)| std::iter::once(instruction).chain(within(index)))
        .filter(|instruction| keys.get(instruction.program_id_index) == Some(program))
        .map(|instruction| {
            let accounts = instruction.accounts.iter().map(|index| keys.get(*index).copied());
            let data = bs58::decode(&instruction.data).into_vec().ok()?;
            Some(Called { program: *program, accounts: accounts.collect::<Option<_>>()?, data })
        })
        .collect()
}

#[cfg(test)]
mod tests;
