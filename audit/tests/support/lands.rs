//! What a node keeps of a transaction.

use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser_audit::archive::Line;
use serde_json::{Value, json};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;

use super::{MINT, TestChain, anchor_spl_token};

impl TestChain {
    pub(super) fn lands(
        &mut self,
        call: &Instruction,
        key: &Keypair,
        events: &[Vec<u8>],
        money: Option<(u64, Pubkey)>,
    ) -> String {
        self.all_land(std::slice::from_ref(call), key, events, money)
    }

    /// Signs, and writes down what a node would. The last instruction is the one that does something. `money`: what the account
    /// held before, and whom it paid.
    pub(super) fn all_land(
        &mut self,
        calls: &[Instruction],
        key: &Keypair,
        events: &[Vec<u8>],
        money: Option<(u64, Pubkey)>,
    ) -> String {
        self.slot += 1;
        // Makes equal calls differ.
        let blockhash = Hash::new_from_array(std::array::from_fn(|at| (self.slot >> (8 * (at % 8))) as u8));
        let message = Message::new_with_blockhash(calls, Some(&key.pubkey()), &blockhash);
        let signature: Signature = key.sign_message(&message.serialize());
        let keys: Vec<String> = message.account_keys.iter().map(Pubkey::to_string).collect();
        let instructions: Vec<Value> = message
            .instructions
            .iter()
            .map(|it| {
                json!({ "programIdIndex": it.program_id_index, "accounts": it.accounts,
                    "data": bs58::encode(&it.data).into_string() })
            })
            .collect();
        let (before, after) = self.balances(&keys, money);
        let place = calls.iter().position(|call| call.program_id == purser::ID).unwrap_or_default();
        let inner = self.inner(&keys, (money, place));
        let program = calls.last().expect("an instruction").program_id;
        let begin = format!("Program {program} invoke [1]");
        let data = events.iter().map(|event| format!("Program data: {}", STANDARD.encode(event)));
        let end =
            if events.is_empty() { "Log truncated".to_owned() } else { format!("Program {program} success") };
        let log: Vec<String> = std::iter::once(begin).chain(data).chain([end]).collect();
        let header = &message.header;
        let transaction = json!({
            "slot": self.slot, "blockTime": self.now, "version": "legacy",
            "transaction": { "signatures": [signature.to_string()], "message": {
                "header": { "numRequiredSignatures": header.num_required_signatures,
                    "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
                    "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts },
                "accountKeys": keys, "recentBlockhash": blockhash.to_string(), "instructions": instructions,
            } },
            "meta": { "err": null, "logMessages": log, "innerInstructions": inner,
                "preTokenBalances": before, "postTokenBalances": after },
        });
        let signature = signature.to_string();
        self.archive.save_transaction(&signature, &transaction).expect("the folder is writable");
        let line = self.line(&signature);
        if program == purser::ID {
            self.of_operator.push(line.clone());
        }
        if calls.iter().flat_map(|call| &call.accounts).any(|meta| meta.pubkey == self.agent) {
            self.of_agent.push(line.clone());
        }
        if money.is_some() {
            self.of_purse.push(line);
        }
        signature
    }

    pub(super) fn line(&self, signature: &str) -> Line {
        Line {
            signature: signature.into(),
            slot: self.slot,
            block_time: Some(self.now),
            err: None,
            memo: None,
        }
    }

    /// What the call at this place has the token program do.
    pub(super) fn inner(&self, keys: &[String], (money, place): (Option<(u64, Pubkey)>, usize)) -> Value {
        let at = |key: &Pubkey| keys.iter().position(|it| *it == key.to_string());
        let paid = money.and_then(|(held, payee)| Some((held.checked_sub(self.balance)?, payee)));
        let Some((amount, payee)) = paid.filter(|(amount, _)| *amount > 0) else { return json!([]) };
        let places = [self.at.token_account(&self.agent), self.purse_of(&payee), self.agent];
        let accounts: Vec<usize> = places.iter().filter_map(at).collect();
        let data = [&[3][..], &amount.to_le_bytes()].concat();
        json!([{ "index": place, "instructions": [{ "programIdIndex": at(&anchor_spl_token()), "accounts": accounts,
            "data": bs58::encode(data).into_string(), "stackHeight": 2 }] }])
    }

    pub(super) fn balances(&self, keys: &[String], money: Option<(u64, Pubkey)>) -> (Vec<Value>, Vec<Value>) {
        let Some((held, payee)) = money else { return (Vec::new(), Vec::new()) };
        let balance = |token_account: Pubkey, owner: Pubkey, micros: u64| {
            let index = keys.iter().position(|key| *key == token_account.to_string())?;
            Some(json!({ "accountIndex": index, "mint": MINT.to_string(), "owner": owner.to_string(),
                "uiTokenAmount": { "amount": micros.to_string() } }))
        };
        let (purse, paid) = (self.at.token_account(&self.agent), held.saturating_sub(self.balance));
        let side = |own: u64, theirs: u64| {
            let both = [balance(purse, self.agent, own), balance(self.purse_of(&payee), payee, theirs)];
            both.into_iter().flatten().collect()
        };
        (side(held, 5), side(self.balance, 5 + paid))
    }
}
