//! Whether a transaction's signatures cover its contents. The signed message is rebuilt byte by byte from what was read:
//! nobody between the signer and this audit can have changed an instruction, an amount or a memo.

use anchor_lang::prelude::Pubkey;
use purser_client::{WireInstruction, WireLanded, WireMessage};
use serde_json::Value;
use solana_hash::Hash;
use solana_message::compiled_instruction::CompiledInstruction;
use solana_message::v0::{self, MessageAddressTableLookup};
use solana_message::{Message, MessageHeader, VersionedMessage};
use solana_signature::Signature;

use crate::tables::{WireLookup, lookups};

/// The result of checking a transaction's signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    Well,
    /// The data that was read is not what was signed.
    Wrong(&'static str),
    /// This build cannot rebuild a message of this version.
    UnknownVersion,
    /// Unsigned, and does nothing but give SOL: so local networks answer `requestAirdrop`.
    Airdrop,
}

/// Checks every signature of a transaction.
pub fn check(landed: &WireLanded) -> Signed {
    let (signatures, message) = (&landed.transaction.signatures, &landed.transaction.message);
    let is_legacy = match &landed.version {
        Value::Null => message.address_table_lookups.is_null(),
        Value::String(word) if word == "legacy" => true,
        Value::Number(number) if number.as_u64() == Some(0) => false,
        _ => return Signed::UnknownVersion,
    };
    let signers = usize::from(message.header.num_required_signatures);
    let only_gives = only_gives_sol(message);
    let Some(message) = put_together(message, is_legacy) else {
        return Signed::Wrong("it cannot be put together as it was signed");
    };
    let keys = message.static_account_keys();
    if signers == 0 || signatures.len() != signers || keys.len() < signers {
        return Signed::Wrong("it does not carry the signatures that it says it needs");
    }
    let bytes = message.serialize();
    let is_signed = |(signature, key): (&String, &Pubkey)| {
        signature.parse::<Signature>().is_ok_and(|signature| signature.verify(key.as_ref(), &bytes))
    };
    if signatures.iter().zip(keys).all(is_signed) {
        Signed::Well
    } else if only_gives {
        Signed::Airdrop
    } else {
        Signed::Wrong("a signature does not fit what it says")
    }
}

/// Whether every instruction is a transfer of the system program.
fn only_gives_sol(message: &WireMessage) -> bool {
    let system = Pubkey::default().to_string();
    message.instructions.iter().all(|instruction| {
        let data = bs58::decode(&instruction.data).into_vec().unwrap_or_default();
        message.account_keys.get(instruction.program_id_index) == Some(&system)
            && data.starts_with(&[2, 0, 0, 0])
    })
}

fn put_together(message: &WireMessage, is_legacy: bool) -> Option<VersionedMessage> {
    let header = MessageHeader {
        num_required_signatures: message.header.num_required_signatures,
        num_readonly_signed_accounts: message.header.num_readonly_signed_accounts,
        num_readonly_unsigned_accounts: message.header.num_readonly_unsigned_accounts,
    };
    let account_keys = message.account_keys.iter().map(|key| key.parse().ok()).collect::<Option<_>>()?;
    let recent_blockhash: Hash = message.recent_blockhash.parse().ok()?;
    let instruction = |instruction: &WireInstruction| {
        let accounts = instruction.accounts.iter().map(|index| u8::try_from(*index).ok());
        Some(CompiledInstruction {
            program_id_index: instruction.program_id_index.try_into().ok()?,
            accounts: accounts.collect::<Option<_>>()?,
            data: bs58::decode(&instruction.data).into_vec().ok()?,
        })
    };
    let instructions = message.instructions.iter().map(instruction).collect::<Option<_>>()?;
    if is_legacy {
        return Some(VersionedMessage::Legacy(Message {
            header,
            account_keys,
            recent_blockhash,
            instructions,
        }));
    }
    let lookup = |lookup: WireLookup| {
        Some(MessageAddressTableLookup {
            account_key: lookup.account_key.parse().ok()?,
            writable_indexes: lookup.writable_indexes,
            readonly_indexes: lookup.readonly_indexes,
        })
    };
    let lookups = lookups(&message.address_table_lookups)?;
    let address_table_lookups = lookups.into_iter().map(lookup).collect::<Option<_>>()?;
    Some(VersionedMessage::V0(v0::Message {
        header,
        account_keys,
        recent_blockhash,
        instructions,
        address_table_lookups,
    }))
}
