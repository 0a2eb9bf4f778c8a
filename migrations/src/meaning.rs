//! What a transaction does, decoded from its bytes alone. The program's committed IDL names its instructions; of other programs,
//! only the few instructions that these commands use are known. Anything else cannot be read, and so is not sent.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::bpf_loader_upgradeable;
use anyhow::{Context, Result, ensure};
use purser_policy::UsdcAmount;
use serde_json::{Map, Value, json};
use solana_sdk::message::Message;
use solana_sdk::pubkey;

use crate::agent::facts::{hex, timestamp};

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
/// Fields in micro-USDC.
const USDC: [&str; 6] =
    ["amount", "max_single_transfer", "max_daily_spend", "max_30_day_spend", "max_grant", "max_daily"];

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
                "instruction {} is one of the program {called} that these commands cannot read: what it does is not known, so it \
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
    let all = idl["instructions"].as_array()?;
    // The one of `transfer` is half as long as the others.
    let (instruction, mut rest) = all.iter().find_map(|instruction| {
        let discriminator: Vec<u8> = serde_json::from_value(instruction["discriminator"].clone()).ok()?;
        Some((instruction, data.strip_prefix(discriminator.as_slice())?))
    })?;
    let name = instruction["name"].as_str()?;
    let types = idl["types"].as_array()?;
    let mut facts = fields(Call { name, types }, &instruction["args"], &mut rest)?;
    let names = instruction["accounts"].as_array()?;
    let (given, more) = accounts.split_at_checked(names.len())?;
    // The program would ignore extra bytes or accounts, but they mean nothing, except where more agents are resumed.
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

/// An instruction whose arguments are read.
#[derive(Clone, Copy)]
struct Call<'a> {
    name: &'a str,
    /// What the IDL defines.
    types: &'a [Value],
}

impl Call<'_> {
    fn is_usdc(self, field: &str) -> bool {
        // What is withdrawn may be of any mint.
        USDC.contains(&field) && (self.name, field) != ("withdraw", "amount")
    }
}

fn fields(call: Call, fields: &Value, bytes: &mut &[u8]) -> Option<Map<String, Value>> {
    let mut facts = Map::new();
    for field in fields.as_array()? {
        let name = field["name"].as_str()?;
        let value = value(call, &field["type"], bytes)?;
        let (name, value) = match (name, value.as_u64(), value.as_i64()) {
            (name, Some(micros), _) if call.is_usdc(name) => {
                (format!("{name}_usdc"), json!(UsdcAmount::from_micros(micros).to_string()))
            }
            ("expires_at", _, Some(second)) => (name.to_string(), json!(timestamp(second))),
            _ => (name.to_string(), value),
        };
        facts.insert(name, value);
    }
    Some(facts)
}

/// A value of a type that the IDL names.
fn value(call: Call, of: &Value, bytes: &mut &[u8]) -> Option<Value> {
    if let Some(name) = of.as_str() {
        return primitive(name, bytes);
    }
    if let Some(inner) = of.get("option") {
        return match take::<1>(bytes)? {
            [0] => Some(Value::Null),
            [1] => value(call, inner, bytes),
            _ => None,
        };
    }
    if let Some(inner) = of.get("vec") {
        let length = u32::from_le_bytes(take(bytes)?);
        return (0..length).map(|_| value(call, inner, bytes)).collect();
    }
    if let Some([element, length]) = of.get("array").and_then(Value::as_array).map(Vec::as_slice) {
        // The instructions' only arrays are hashes and ids.
        (element == "u8").then_some(())?;
        let (taken, rest) = bytes.split_at_checked(usize::try_from(length.as_u64()?).ok()?)?;
        *bytes = rest;
        return Some(json!(hex(taken)));
    }
    let name = &of["defined"]["name"];
    let defined = call.types.iter().find(|defined| defined["name"] == *name)?;
    match defined["type"]["kind"].as_str()? {
        "struct" => fields(call, &defined["type"]["fields"], bytes).map(Value::Object),
        "enum" => {
            let [index] = take::<1>(bytes)?;
            let variant = defined["type"]["variants"].get(usize::from(index))?;
            let name = variant["name"].as_str()?;
            match variant["fields"].as_array().map(Vec::as_slice) {
                None => Some(json!(name)),
                // A field without a name is a type alone.
                Some([only]) if only["name"].is_null() => Some(json!({ name: value(call, only, bytes)? })),
                Some(_) => Some(json!({ name: fields(call, &variant["fields"], bytes)? })),
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
        // The instructions' only bytes are memos.
        "bytes" => {
            let length = usize::try_from(u32::from_le_bytes(take(bytes)?)).ok()?;
            let (taken, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            json!(std::str::from_utf8(taken).ok()?)
        }
        _ => return None,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use purser_client::{Deployment, TransferOrder};

    use super::*;

    #[test]
    fn every_instruction_of_the_program_is_known() {
        let idl: Value = serde_json::from_str(IDL).unwrap();
        for instruction in idl["instructions"].as_array().unwrap() {
            let name = instruction["name"].as_str().unwrap();
            let begin: Vec<u8> = serde_json::from_value(instruction["discriminator"].clone()).unwrap();
            let accounts = vec![Pubkey::default(); instruction["accounts"].as_array().unwrap().len()];
            // Zeros are options and lists without anything, and the first variants.
            let of_zeros = |length| {
                let data = [begin.clone(), vec![0; length]].concat();
                of_purser(&idl, &purser::ID, &data, &accounts)
            };
            let known = (0..1_000).find_map(of_zeros);
            assert!(known.is_some_and(|known| known[name].is_object()), "{name}");
        }
    }

    #[test]
    fn payment_by_a_grant_is_read_with_its_amount_and_memo() {
        let [authority, operator, agent, destination, grant] =
            [1, 2, 3, 4, 5].map(|seed| Pubkey::new_from_array([seed; 32]));
        let deployment = Deployment { program: purser::ID, usdc_mint: Pubkey::new_from_array([6; 32]) };
        let source = deployment.token_account(&agent);
        let order = TransferOrder {
            operator,
            agent,
            source,
            destination,
            transfer_id: [7; 16],
            asked_at: 8,
            amount: 2_500_000,
            memo: "tea",
        };
        let pay = deployment.transfer_extended(authority, &order, Some(grant), None);
        let does = of(&Message::new(&[pay], Some(&authority)), &purser::ID).unwrap();
        let pays = &does[0]["transfer_extended"];
        assert_eq!((&pays["amount_usdc"], &pays["memo"]), (&json!("2.500000"), &json!("tea")));
        assert_eq!((&pays["grant"], &pays["budget"]), (&json!(grant.to_string()), &Value::Null));
        assert_eq!(pays["destination"], json!(destination.to_string()));
    }
}
