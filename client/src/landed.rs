//! A landed transaction of any version, as a node returns it: the calls of our program, the log, and the USDC that its
//! accounts held before and after.
//!
//! Money is read from the balances, which a node gives for every transaction, so no instruction, log or version of the
//! token program has to be understood. The transaction is read in `json` encoding, field by field: versions unknown to this
//! build say the same things in the same places.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use anchor_lang::{AnchorDeserialize, Discriminator};
use purser::constants::MEMO_PROGRAM;
use purser::instruction;
use purser_policy::UsdcAmount;
use serde::Deserialize;
use serde_json::Value;

/// The result of a landed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// It did nothing but pay its fee.
    Failed,
    /// It succeeded.
    Well(LandedWell),
}

/// A transaction that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedWell {
    /// Where it landed.
    pub slot: u64,
    /// Unix seconds.
    pub block_time: Option<i64>,
    /// The keys that signed it, the fee payer first.
    pub signers: Vec<Pubkey>,
    /// Every call of our program, in the order in which they began.
    pub calls: Vec<Called>,
    /// Memos that stand right before one of them in the message, by its place in [`LandedWell::calls`].
    pub memos: BTreeMap<usize, Vec<u8>>,
    /// Whether the node kept inner instructions.
    pub keeps_inner: bool,
    /// Every call of the token program, in the same order.
    pub token_calls: Vec<TokenCall>,
    /// The lines of the log, for [`crate::EventLog`]; `None` if the node did not keep them.
    pub log: Option<Vec<String>>,
    /// Every USDC token account in the transaction.
    pub balances: Vec<TokenBalance>,
}

/// An instruction of our program: its accounts in order, and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The deployment that was asked for.
    pub program: Pubkey,
    /// In the order of the instruction.
    pub accounts: Vec<Pubkey>,
    /// For [`arguments`].
    pub data: Vec<u8>,
    /// Called by another program, so no signature covers it.
    pub is_inner: bool,
}

/// An instruction of the token program, of any account and mint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCall {
    /// The call of our program that made it, by its place in [`LandedWell::calls`].
    pub made_by: Option<usize>,
    /// In the order of the instruction.
    pub accounts: Vec<Pubkey>,
    /// Its number in the token program's interface, and its arguments.
    pub data: Vec<u8>,
}

/// A token account before and after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBalance {
    /// Its address.
    pub token_account: Pubkey,
    /// The wallet that owns it, if the node says so.
    pub owner: Option<Pubkey>,
    /// Zero if it did not exist.
    pub before: UsdcAmount,
    /// Zero if it was closed.
    pub after: UsdcAmount,
}

/// The arguments of the instruction `I`; `None` if `data` belongs to another one. The program allows extra bytes after its
/// arguments, so this does too.
pub fn arguments<I: Discriminator + AnchorDeserialize>(data: &[u8]) -> Option<I> {
    I::deserialize(&mut data.strip_prefix(I::DISCRIMINATOR)?).ok()
}

/// The arguments of a transfer, in any of its forms: all have the same ones, and the same accounts in the first five places.
pub fn transfer_arguments(data: &[u8]) -> Option<instruction::Transfer> {
    let checked = || {
        let instruction::TransferChecked { transfer_id, asked_at, amount, memo } = arguments(data)?;
        Some(instruction::Transfer { transfer_id, asked_at, amount, memo })
    };
    let extended = || {
        let instruction::TransferExtended { transfer_id, asked_at, amount, memo } = arguments(data)?;
        Some(instruction::Transfer { transfer_id, asked_at, amount, memo })
    };
    arguments(data).or_else(checked).or_else(extended)
}

/// The answer of `getTransaction` in `json` encoding. [`WireLanded::read`] needs only what every version says; the rest is for
/// whoever checks signatures, and has a default where it is missing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireLanded {
    /// `"legacy"` or a number; a node that was not asked for versions says nothing.
    #[serde(default)]
    pub version: Value,
    slot: u64,
    #[serde(default)]
    block_time: Option<i64>,
    meta: Option<WireMeta>,
    /// Message and signatures.
    pub transaction: WireTransaction,
}

/// The transaction that was sent.
#[derive(Debug, Deserialize)]
pub struct WireTransaction {
    /// Base58, the fee payer's first.
    pub signatures: Vec<String>,
    /// What they sign.
    pub message: WireMessage,
}

/// What the signatures of a transaction cover.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireMessage {
    /// How many of the keys sign, and how many are only read.
    #[serde(default)]
    pub header: WireHeader,
    /// Base58, without those of lookup tables.
    pub account_keys: Vec<String>,
    /// Base58.
    #[serde(default)]
    pub recent_blockhash: String,
    /// Without those that programs called.
    pub instructions: Vec<WireInstruction>,
    /// As the node gives them: their form belongs to the version.
    #[serde(default)]
    pub address_table_lookups: Value,
}

/// How the keys of a message are used: those that sign come first.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireHeader {
    /// Keys that sign.
    pub num_required_signatures: u8,
    /// The last of those that sign.
    pub num_readonly_signed_accounts: u8,
    /// The last of the others.
    pub num_readonly_unsigned_accounts: u8,
}

/// An instruction of any program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireInstruction {
    /// The program's place among the keys.
    pub program_id_index: usize,
    /// Places of its accounts.
    pub accounts: Vec<usize>,
    /// Base58.
    pub data: String,
    /// How deep it was called: 1 for what the message holds. Old nodes say nothing.
    #[serde(default)]
    pub stack_height: Option<u32>,
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
    owner: Option<String>,
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

/// The accounts from lookup tables; account indexes continue over these, writable ones first.
#[derive(Debug, Default, Deserialize)]
struct WireLoaded {
    writable: Vec<String>,
    readonly: Vec<String>,
}

impl WireLanded {
    /// What the node says that lookup tables hold at the places that the message names: writable ones, then the others. No
    /// signature covers it.
    pub fn loaded_addresses(&self) -> [&[String]; 2] {
        let loaded = self.meta.as_ref().and_then(|meta| meta.loaded_addresses.as_ref());
        loaded.map_or([&[], &[]], |loaded| [&loaded.writable, &loaded.readonly])
    }

    /// `None`: not the requested transaction, or one that this node did not keep whole.
    pub fn read(self, program: &Pubkey, usdc_mint: &Pubkey, signature: &str) -> Option<Landed> {
        let Self { slot, block_time, meta, transaction, .. } = self;
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
        let balances = balances(&keys, usdc_mint, &meta.pre_token_balances?, &meta.post_token_balances?)?;
        let inner = meta.inner_instructions.as_deref();
        let (calls, token_calls, memos) =
            calls(program, &keys, &message.instructions, inner.unwrap_or_default())?;
        Some(Landed::Well(LandedWell {
            slot,
            block_time,
            signers: keys.iter().take(message.header.num_required_signatures.into()).copied().collect(),
            calls,
            memos,
            token_calls,
            keeps_inner: inner.is_some(),
            log: meta.log_messages,
            balances,
        }))
    }
}

/// Every account of the mint, in no particular order.
fn balances(
    keys: &[Pubkey],
    mint: &Pubkey,
    before: &[WireBalance],
    after: &[WireBalance],
) -> Option<Vec<TokenBalance>> {
    let mut found: BTreeMap<usize, TokenBalance> = BTreeMap::new();
    let (program, mint) = (anchor_spl::token::ID.to_string(), mint.to_string());
    let is_usdc = |balance: &WireBalance| {
        balance.program_id.as_ref().is_none_or(|id| *id == program) && balance.mint == mint
    };
    let sides =
        before.iter().map(|balance| (true, balance)).chain(after.iter().map(|balance| (false, balance)));
    for (is_before, balance) in sides.filter(|(_, balance)| is_usdc(balance)) {
        let amount = UsdcAmount::from_micros(balance.ui_token_amount.amount.parse().ok()?);
        let token_account = *keys.get(balance.account_index)?;
        let zero = UsdcAmount::ZERO;
        let entry = found.entry(balance.account_index);
        let known = entry.or_insert(TokenBalance { token_account, owner: None, before: zero, after: zero });
        known.owner = balance.owner.as_ref().and_then(|owner| owner.parse().ok()).or(known.owner);
        if is_before {
            known.before = amount;
        } else {
            known.after = amount;
        }
    }
    Some(found.into_values().collect())
}

/// A call of our program while what it calls is listed.
enum Open {
    /// Everything in its instruction is its own.
    Outer(usize),
    /// What is deeper than this is its own.
    Deeper(usize, u32),
    /// The node does not say how deep calls are: the next one is its own, of the others nobody knows.
    Next(usize),
}

/// Calls of our program and of the token program, and the memos right before the former.
type Calls = (Vec<Called>, Vec<TokenCall>, BTreeMap<usize, Vec<u8>>);

/// Every call of our program and of the token program, in the order in which they began: each instruction, then its inner
/// ones; and the memos right before calls of our program.
fn calls(
    program: &Pubkey,
    keys: &[Pubkey],
    instructions: &[WireInstruction],
    inner: &[WireInner],
) -> Option<Calls> {
    let (mut calls, mut token_calls, mut memos) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut before: Option<&WireInstruction> = None;
    for (index, outer) in instructions.iter().enumerate() {
        let memo = before.replace(outer).filter(|it| keys.get(it.program_id_index) == Some(&MEMO_PROGRAM));
        if let Some(memo) = memo.filter(|_| keys.get(outer.program_id_index) == Some(program)) {
            memos.insert(calls.len(), bs58::decode(&memo.data).into_vec().ok()?);
        }
        let within = inner.iter().filter(|inner| inner.index == index).flat_map(|inner| &inner.instructions);
        let mut open = None;
        for (is_inner, instruction) in std::iter::once((false, outer)).chain(within.map(|it| (true, it))) {
            let made_by = match (open.take(), instruction.stack_height) {
                (Some(Open::Outer(call)), _) => {
                    open = Some(Open::Outer(call));
                    Some(call)
                }
                (Some(Open::Deeper(call, height)), Some(own)) if own > height => {
                    open = Some(Open::Deeper(call, height));
                    Some(call)
                }
                (Some(Open::Next(call)), _) => Some(call),
                (Some(Open::Deeper(..)) | None, _) => None,
            };
            let called = keys.get(instruction.program_id_index);
            if called != Some(program) && called != Some(&anchor_spl::token::ID) {
                continue;
            }
            let accounts = instruction.accounts.iter().map(|index| keys.get(*index).copied());
            let accounts = accounts.collect::<Option<_>>()?;
            let data = bs58::decode(&instruction.data).into_vec().ok()?;
            if called == Some(program) {
                open = Some(match (is_inner, instruction.stack_height) {
                    (false, _) => Open::Outer(calls.len()),
                    (true, Some(height)) => Open::Deeper(calls.len(), height),
                    (true, None) => Open::Next(calls.len()),
                });
                calls.push(Called { program: *program, accounts, data, is_inner });
            } else {
                token_calls.push(TokenCall { made_by, accounts, data });
            }
        }
    }
    Some((calls, token_calls, memos))
}
