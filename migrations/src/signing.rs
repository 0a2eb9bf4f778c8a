//! Who signs and pays, and how transactions are built from instructions.

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use crate::failure;
use crate::landing::{self, GoodUntil, Refusal};
use crate::network::Network;

/// A cluster with its signer and payer.
pub struct Signing<'a> {
    pub network: &'a Network,
    address: Pubkey,
    /// `None` if somebody else signs the printed transaction.
    wallet: Option<Keypair>,
}

impl Network {
    /// This cluster, with its signer and payer.
    pub fn signing(&self) -> Result<Signing<'_>> {
        Ok(match self.signer {
            Some(address) => Signing::without_key(self, address),
            None => Signing::with_key(self, self.wallet()?),
        })
    }
}

impl<'a> Signing<'a> {
    pub fn with_key(network: &'a Network, wallet: Keypair) -> Self {
        Self { network, address: wallet.pubkey(), wallet: Some(wallet) }
    }

    pub fn without_key(network: &'a Network, address: Pubkey) -> Self {
        Self { network, address, wallet: None }
    }

    pub fn address(&self) -> Pubkey {
        self.address
    }

    fn wallet(&self) -> Result<&Keypair> {
        self.wallet.as_ref().with_context(|| {
            format!("the key of {} is not here: print the transaction with --unsigned", self.address)
        })
    }

    /// The instructions that begin every transaction, then these.
    pub fn priced(&self, instructions: &[Instruction]) -> Vec<Instruction> {
        let price = match self.network.priority_fee {
            0 => None,
            price => Some(ComputeBudgetInstruction::set_compute_unit_price(price)),
        };
        price.into_iter().chain(instructions.iter().cloned()).collect()
    }

    /// The message of one transaction, which the signer pays for.
    pub fn message(&self, instructions: &[Instruction], blockhash: Hash) -> Message {
        Message::new_with_blockhash(&self.priced(instructions), Some(&self.address), &blockhash)
    }

    pub async fn latest_blockhash(&self) -> Result<Hash> {
        let latest = self.network.rpc.get_latest_blockhash().await;
        latest.map_err(|error| failure::explain_read(&error, &self.network.url))
    }

    /// The fee in lamports of a transaction with these instructions, without rent.
    pub async fn fee(&self, instructions: &[Instruction]) -> Result<u64> {
        let message = self.message(instructions, self.latest_blockhash().await?);
        let fee = self.network.rpc.get_fee_for_message(&message).await;
        fee.map_err(|error| failure::explain_read(&error, &self.network.url))
    }

    /// Sends one instruction, signed by the wallet alone, and waits for the commitment.
    pub async fn call(&self, instruction: Instruction) -> Result<Signature> {
        self.send(&[instruction], &[]).await.map_err(|refusal| refusal.explain(&self.address))
    }

    /// Sends instructions in one transaction; `also` signs besides the wallet.
    pub async fn send(&self, instructions: &[Instruction], also: &[&Keypair]) -> Result<Signature, Refusal> {
        let mut signers = vec![self.wallet().map_err(Refusal::other)?];
        signers.extend(also);
        let blockhash = self.latest_blockhash().await.map_err(Refusal::other)?;
        let transaction = Transaction::new(&signers, self.message(instructions, blockhash), blockhash);
        let good_until = GoodUntil::from_now(self.network).await.map_err(Refusal::other)?;
        landing::land(self.network, &transaction, good_until).await
    }

    /// An unsent transaction of `instruction` with the caller's blockhash.
    pub fn sign(&self, instruction: Instruction, blockhash: Hash) -> Result<Transaction> {
        let message = self.message(&[instruction], blockhash);
        let mut transaction = Transaction::new_unsigned(message);
        let signed = transaction.try_sign(&[self.wallet()?], blockhash);
        signed.map_err(|error| anyhow!("the wallet cannot sign: {error}"))?;
        Ok(transaction)
    }
}
