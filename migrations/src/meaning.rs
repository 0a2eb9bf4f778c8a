//! What a transaction does, decoded from its bytes alone. The program's committed IDL names its instructions; of other programs,
//! only the few instructions that these commands use are known. Anything else cannot be read, and so is not sent.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, ensure};
use purser_policy::UsdcAmount;
use serde_json::{Map, Value, json};
use solana_sdk::message::Message;
use solana_sdk::pubkey;

use crate::agent::facts::hex;

const IDL: &str = include_str!("../../programs/purser/idl/purser.json");
const MEMO: Pubkey = pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const COMPUTE_BUDGET: Pubkey = pubkey!("ComputeBudget111111111111111111111111111111");
/// `SystemInstruction::AdvanceNonceAccount`.
pub const ADVANCE_NONCE: [u8; 4] = [4, 0, 0, 0];
/// Instructions of the upgradeable loader.
const SET_AUTHORITY: [u8; 4] = [4, 0, 0, 0];
const CLOSE: [u8; 4] = [5, 0, 0, 0];
/// First byte of `SetComputeUnitPrice`, before its u64.
const UNIT_PRICE: u8 = 3;

/// Each instruction with its arguments and accounts by name. Fails on an unknown instruction.
pub fn of(message: &Message, program: &Pubkey) -> Result<Value> {
    let idl: Value = serde_json::from_str(IDL).context("the committed IDL is not JSON")?;
    let instructions = message.instructions.iter().enumerate();
    let meanings = instructions.map(|(index, instruction)| {
        let key = |index: &u8| message.account_keys.get(usize::from(*index)).copied();
        let called = key(&instruction.program_id_index).context("a program is named that is not there")?;
        let accounts: Option<Vec<Pubkey>> = instruction.accounts.iter().map(key).collect();
        let accounts = accounts.context("an account is named that is not there")?;
        let data = &instruction.data;
        let known = match called {
            called if called == *program => of_purser(&idl, program, data, &accounts),
            called if called == COMPUTE_BUDGET => of_compute_budget(data),
            called if called == MEMO => {
                std::str::from_utf8(data).ok().map(|text| json!({ "memo": { "text": text } }))
            }
            called if called == bpf_loader_upgradeable::ID => of_loader(data, &accounts),
            called if called == anchor_lang::system_program::ID && data[..] == ADVANCE_NONCE => {
                named("advance_nonce", &["nonce", "recent_blockhashes", "authority"], &accounts)
            }
            _ => None,
        };
        known.with_context(|| {
            format!(
                "instruction {} is one of the program {called} that no command here makes: what it does is not known, so it \
                 is not sent",
                index + 1
            )
        })
    });
    let meanings: Vec<Value> = meanings.collect::<Result<_>>()?;
    ensure!(!meanings.is_empty(), "the transaction does nothing");
    Ok(Value::Array(meanings))
}

fn of_compute_budget(data: &[u8]) -> Option<Value> {
    let (tag, price) = data.split_first()?;
    let price = u64::from_le_bytes(price.try_into().ok()?);
    (*tag == UNIT_PRICE).then(|| json!({ "set_compute_unit_price": { "micro_lamports": price } }))
}

fn of_loader(data: &[u8], accounts: &[Pubkey]) -> Option<Value> {
    match (<[u8; 4]>::try_from(data).ok()?, accounts.len()) {
        (SET_AUTHORITY, 2) => named("drop_upgrade_authority", &["program_data", "authority"], accounts),
        (SET_AUTHORITY, _) => {
            named("set_upgrade_authority", &["program_data", "authority", "new_authority"], accounts)
        }
        (CLOSE, _) => named("close_buffer", &["buffer", "rent_back_to", "authority"], accounts),
        _ => None,
    }
}

/// Names the accounts, if there are as many as names.
fn named(instruction: &str, names: &[&str], accounts: &[Pubkey]) -> Option<Value> {
    let facts =
        || names.iter().zip(accounts).map(|(name, key)| ((*name).to_string(), json!(key.to_string())));
    (names.len() == accounts.len()).then(|| json!({ instruction: facts().collect::<Map<_, _>>() }))
}

/// An instruction of the Purser program: arguments first, then accounts.
fn of_purser(idl: &Value, program: &Pubkey, data: &[u8], accounts: &[Pubkey]) -> Option<Value> {
    let (discriminator, mut rest) = data.split_at_checked(8)?;
    let all = idl["instructions"].as_array()?;
    let instruction = all.iter().find(|instruction| instruction["discriminator"] == json!(discriminator))?;
    let mut facts = fields(idl, &instruction["args"], &mut rest)?;
    let names = instruction["accounts"].as_array()?;
    let (given, more) = accounts.split_at_checked(names.len())?;
    // The program would ignore extra bytes or accounts, but they mean nothing, except where more agents are resumed.
    let name = instruction["name"].as_str()?;
    (rest.is_empty() && (more.is_empty() || name == "resume")).then_some(())?;
    if !more.is_empty() {
        let more: Vec<String> = more.iter().map(ToString::to_string).collect();
        facts.insert("more_agents".to_string(), json!(more));
    }
    for (account, key) in names.iter().zip(given) {
        // A missing optional account is written as the program's address.
        let is_given = account["optional"] != json!(true) || key != program;
        facts.insert(account["name"].as_str()?.to_string(), json!(is_given.then(|| key.to_string())));
    }
    Some(json!({ name: facts }))
}

fn fields(idl: &Value, fields: &Value, bytes: &mut &[u8]) -> Option<Map<String, Value>> {
    let mut facts = Map::new();
    for field in fields.as_array()? {
        let name = field["name"].as_str()?;
        let value = value(idl, &field["type"], bytes)?;
        match (name, &value) {
            (
                "max_single_transfer" | "max_daily_spend" | "max_grant" | "max_daily",
                Value::Number(micros),
            ) => {
                let amount = UsdcAmount::from_micros(micros.as_u64()?);
                facts.insert(format!("{name}_usdc"), json!(amount.to_string()));
            }
            _ => {
                facts.insert(name.to_string(), value);
            }
        }
    }
    Some(facts)
}

/// A value of a type that the IDL names.
fn value(idl: &Value, of: &Value, bytes: &mut &[u8]) -> Option<Value> {
    if let Some(name) = of.as_str() {
        return primitive(name, bytes);
    }
    if let Some(inner) = of.get("option") {
        return match take::<1>(bytes)? {
            [0] => Some(Value::Null),
            [1] => value(idl, inner, bytes),
            _ => None,
        };
    }
    if let Some(inner) = of.get("vec") {
        let length = u32::from_le_bytes(take(bytes)?);
        return (0..length).map(|_| value(idl, inner, bytes)).collect();
    }
    if let Some([element, length]) = of.get("array").and_then(Value::as_array).map(Vec::as_slice) {
        // The instructions' only arrays are hashes and ids.
        (element == "u8").then_some(())?;
        let (taken, rest) = bytes.split_at_checked(usize::try_from(length.as_u64()?).ok()?)?;
        *bytes = rest;
        return Some(json!(hex(taken)));
    }
    let name = &of["defined"]["name"];
    let defined = idl["types"].as_array()?.iter().find(|defined| defined["name"] == *name)?;
    match defined["type"]["kind"].as_str()? {
        "struct" => fields(idl, &defined["type"]["fields"], bytes).map(Value::Object),
        "enum" => {
            let [index] = take::<1>(bytes)?;
            let variant = defined["type"]["variants"].get(usize::from(index))?;
            let name = variant["name"].as_str()?;
            match variant.get("fields") {
                None => Some(json!(name)),
                Some(inner) => Some(json!({ name: fields(idl, inner, bytes)? })),
            }
        }
        _ => None,
    }
}

fn primitive(name: &str, bytes: &mut &[u8]) -> Option<Value> {
    Some(match name {
        "bool" => match take::<1>(bytes)? {
            [0] => json!(false),
            [1] => json!(true),
            _ => return None,
        },
        "u8" => json!(u8::from_le_bytes(take(bytes)?)),
        "u16" => json!(u16::from_le_bytes(take(bytes)?)),
        "u32" => json!(u32::from_le_bytes(take(bytes)?)),
        "i64" => json!(i64::from_le_bytes(take(bytes)?)),
        "u64" => json!(u64::from_le_bytes(take(bytes)?)),
        "pubkey" => json!(Pubkey::new_from_array(take(bytes)?).to_string()),
        _ => return None,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
