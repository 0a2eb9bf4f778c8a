//! A Solana wallet with USDC, for what anybody can do without the relayer.

use sha2::{Digest, Sha256};
use solana_sdk::instruction::{AccountMeta, Instruction};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::{SeedDerivable, Signer};

use crate::agent::Agent;
use crate::chain::{Chain, DirectOutcome, TOKEN_PROGRAM};
use crate::money::micros;
use crate::waits::until;

/// Instructions of the token program.
const TRANSFER: u8 = 3;
const MINT_TO: u8 = 7;
const TRANSFER_CHECKED: u8 = 12;
const BATCH: u8 = 255;

/// A wallet that pays its own fees.
pub struct Wallet {
    chain: Chain,
    pub keypair: Keypair,
    /// Its USDC token account.
    pub token_account: Pubkey,
}

impl Wallet {
    /// A new wallet that holds `usdc` and some SOL.
    pub async fn with(chain: &Chain, usdc: &str) -> Wallet {
        let keypair = Keypair::new();
        chain.funds(&keypair.pubkey(), 1).await;
        let token_account = chain.sets_usdc(&keypair.pubkey(), micros(usdc)).await;
        Wallet { chain: chain.clone(), keypair, token_account }
    }

    /// A plain `transfer` of this wallet's money.
    pub fn transfer(&self, usdc: &str, to: &Pubkey) -> Instruction {
        let accounts = vec![writable(&self.token_account), writable(to), self.owner()];
        token_instruction(TRANSFER, micros(usdc), &[], accounts)
    }

    /// A `transfer_checked`.
    pub fn transfer_checked(&self, usdc: &str, to: &Pubkey) -> Instruction {
        let mint = AccountMeta::new_readonly(self.chain.usdc_mint, false);
        let accounts = vec![writable(&self.token_account), mint, writable(to), self.owner()];
        token_instruction(TRANSFER_CHECKED, micros(usdc), &[6], accounts)
    }

    /// Several transfers of this wallet's money in one `batch` instruction.
    pub fn batch(&self, transfers: &[Instruction]) -> Instruction {
        let mut data = vec![BATCH];
        for transfer in transfers {
            data.extend([transfer.accounts.len(), transfer.data.len()].map(|count| count as u8));
            data.extend(&transfer.data);
        }
        let accounts = transfers.iter().flat_map(|transfer| transfer.accounts.clone()).collect();
        Instruction { program_id: TOKEN_PROGRAM, accounts, data }
    }

    /// Sends instructions as a version 0 transaction with a new lookup table for `looked_up`, and returns its signature.
    pub async fn does_by_lookup(&self, instructions: &[Instruction], looked_up: &[Pubkey]) -> String {
        let table = self.chain.makes_lookup_table(&self.keypair, looked_up).await;
        match self.chain.all_land_by_lookup(instructions, &self.keypair, table).await {
            DirectOutcome::Settled(signature) => signature.to_string(),
            other => panic!("the wallet's transaction did not land well: {other:?}"),
        }
    }

    /// Sends instructions as one transaction, and returns its signature.
    pub async fn does(&self, instructions: &[Instruction]) -> String {
        match self.chain.all_land(instructions, &[&self.keypair]).await {
            DirectOutcome::Settled(signature) => signature.to_string(),
            other => panic!("the wallet's transaction did not land well: {other:?}"),
        }
    }

    fn owner(&self) -> AccountMeta {
        AccountMeta::new_readonly(self.keypair.pubkey(), true)
    }
}

/// Mints USDC to a token account, in a transaction of its own, and returns its signature.
pub async fn mints(chain: &Chain, usdc: &str, to: &Pubkey) -> String {
    let authority = mint_authority(&chain.usdc_mint);
    let accounts =
        vec![writable(&chain.usdc_mint), writable(to), AccountMeta::new_readonly(authority.pubkey(), true)];
    let instruction = token_instruction(MINT_TO, micros(usdc), &[], accounts);
    match chain.all_land(&[instruction], &[&authority]).await {
        DirectOutcome::Settled(signature) => signature.to_string(),
        other => panic!("minting did not land well: {other:?}"),
    }
}

/// Signs a transaction as a phone does that was given it: in the wallet's own place, which is empty. `None`: it has no such place.
pub fn signed_by(wallet: &Keypair, transaction: &[u8]) -> Option<Vec<u8>> {
    const SIGNATURE: usize = 64;
    let count = usize::from(*transaction.first()?);
    let message_at = 1 + count * SIGNATURE;
    let message = transaction.get(message_at..)?;
    // A header of three bytes, and how many keys there are; those that sign come first.
    let keys = message.get(4..)?.chunks(32).take(count);
    let place = keys.into_iter().position(|key| key == wallet.pubkey().as_ref())?;
    let at = 1 + place * SIGNATURE;
    let mut signed = transaction.to_vec();
    let room = signed.get_mut(at..at + SIGNATURE).filter(|room| room.iter().all(|byte| *byte == 0))?;
    room.copy_from_slice(wallet.sign_message(message).as_ref());
    Some(signed)
}

/// Waits until all that is on the chain is final: something later is.
pub async fn finalizes_all(chain: &Chain) {
    let (payee, _) = chain.new_payee().await;
    let last = mints(chain, "1", &payee).await;
    until("the newest transaction is final", async || chain.is_finalized(&last).await).await;
}

/// Withdraws from an agent's account as the operator's admin, and returns the transaction's signature.
pub async fn withdraws(agent: &Agent, usdc: &str, to: &Pubkey, admin: &Keypair) -> String {
    let chain = &agent.operator.chain;
    let program = chain.program();
    let (from, amount) = (program.usdc_of(&agent.address), micros(usdc));
    let withdraw = program.withdraw(admin.pubkey(), agent.operator.address, agent.address, from, *to, amount);
    match chain.lands(withdraw, admin).await {
        DirectOutcome::Settled(signature) => signature.to_string(),
        other => panic!("the withdrawal did not land well: {other:?}"),
    }
}

/// Anyone can mint on a localnet: see its README.
fn mint_authority(mint: &Pubkey) -> Keypair {
    let mut seed = Sha256::new();
    seed.update(b"purser-localnet:mint-authority");
    seed.update(mint.as_ref());
    Keypair::from_seed(&seed.finalize()).expect("a seed has 32 bytes")
}

fn writable(address: &Pubkey) -> AccountMeta {
    AccountMeta::new(*address, false)
}

fn token_instruction(code: u8, amount: u64, rest: &[u8], accounts: Vec<AccountMeta>) -> Instruction {
    let data = [&[code], &amount.to_le_bytes()[..], rest].concat();
    Instruction { program_id: TOKEN_PROGRAM, accounts, data }
}
