//! The virtual machine for measurements, and how it measures one transaction.

use std::collections::HashSet;

use anchor_lang::prelude::Pubkey;
use anchor_spl::token::{self, spl_token};
use litesvm::LiteSVM;
use purser_client::{transfer_units, LOADED_BYTES};
use solana_account::Account;
use solana_clock::Clock;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::Message;
use solana_signer::Signer;
use solana_transaction::Transaction;

use crate::account_bytes::{account, mint_account, token_account, TokenAccountState};
use crate::Result;

const START_SECOND: i64 = 1_800_000_000;
/// A `Transfer` costs about 80 units in p-token and about 4,600 in the program it replaced.
const P_TOKEN_TRANSFER_UNITS_MAX: u64 = 500;

/// Compute units that a block reserves (agave, `cost-model/src/block_cost_limits.rs`).
const SIGNATURE_UNITS: u64 = 720;
const WRITE_LOCK_UNITS: u64 = 300;
const DATA_BYTES_A_UNIT: u64 = 4;
const LOADED_PAGE_BYTES: u64 = 32 * 1024;
const LOADED_PAGE_UNITS: u64 = 8;

/// The cost of one transaction.
pub struct Sample {
    pub name: &'static str,
    pub units: u64,
    pub tx_bytes: usize,
    pub reserved_cu: Option<u64>,
    /// Bytes of data that the transaction added to accounts.
    pub account_bytes: u64,
    pub accounts_created: u64,
}

pub struct Bench {
    pub svm: LiteSVM,
    now: i64,
    pub samples: Vec<Sample>,
    /// Length of the agent account that pays.
    pub agent_bytes: u64,
}

impl Bench {
    /// Mainnet's features and programs, and the program to measure.
    pub fn new(elf: &[u8]) -> Result<Self> {
        let mut svm = LiteSVM::default()
            .with_feature_set(LiteSVM::mainnet_feature_set())
            .with_feature_accounts()
            .with_builtins()
            .with_lamports(u64::MAX / 2)
            .with_sysvars()
            .with_default_programs()
            .with_sigverify(false);
        svm.add_program(purser::ID, elf).map_err(|error| format!("the program does not load: {error}"))?;
        let mut bench = Self { svm, now: START_SECOND, samples: Vec::new(), agent_bytes: 0 };
        bench.advance(0);
        bench.require_p_token()?;
        Ok(bench)
    }

    pub fn now(&self) -> i64 {
        self.now
    }

    /// Moves the clock forward.
    pub fn advance(&mut self, seconds: i64) {
        self.now += seconds;
        let clock = Clock { unix_timestamp: self.now, ..self.svm.get_sysvar::<Clock>() };
        self.svm.set_sysvar(&clock);
        self.svm.expire_blockhash();
    }

    /// Runs an instruction that must succeed, alone in its transaction, and keeps what it cost.
    pub fn measure(&mut self, name: &'static str, instruction: Instruction, payer: &Keypair) -> Result<()> {
        let written: Vec<Pubkey> =
            instruction.accounts.iter().filter(|meta| meta.is_writable).map(|meta| meta.pubkey).collect();
        let before: Vec<Option<usize>> = written.iter().map(|address| self.data_len(address)).collect();
        let tx_bytes = sent_bytes(&instruction, &payer.pubkey());
        let units = self.run(instruction, payer).map_err(|error| format!("{name}: {error}"))?;
        let (mut account_bytes, mut accounts_created) = (0, 0);
        for (address, before) in written.iter().zip(before) {
            let after = self.data_len(address).unwrap_or(0);
            account_bytes += after.saturating_sub(before.unwrap_or(0)) as u64;
            accounts_created += u64::from(before.is_none() && after > 0);
        }
        self.samples.push(Sample {
            name,
            units,
            tx_bytes,
            reserved_cu: None,
            account_bytes,
            accounts_created,
        });
        Ok(())
    }

    /// [`Bench::measure`] for a transfer with a memo of this length, with the client's budget for it.
    pub fn measure_transfer(
        &mut self,
        name: &'static str,
        instruction: Instruction,
        payer: &Keypair,
        memo_bytes: usize,
    ) -> Result<()> {
        let limit = transfer_units(memo_bytes);
        let message = message(&instruction, &payer.pubkey());
        let data_bytes: u64 = message.instructions.iter().map(|call| call.data.len() as u64).sum();
        let none_reserved = None::<&HashSet<Pubkey>>;
        let write_locks = (0..message.account_keys.len())
            .filter(|index| message.is_maybe_writable_with_reserved_addresses(*index, none_reserved));
        let pages = u64::from(LOADED_BYTES).div_ceil(LOADED_PAGE_BYTES);
        let reserved = SIGNATURE_UNITS
            + WRITE_LOCK_UNITS * write_locks.count() as u64
            + data_bytes / DATA_BYTES_A_UNIT
            + u64::from(limit)
            + LOADED_PAGE_UNITS * pages;
        self.measure(name, instruction, payer)?;
        if let Some(sample) = self.samples.last_mut() {
            sample.reserved_cu = Some(reserved);
            // The runtime charges a call 4 units for each KB of each account in it.
            if sample.units > u64::from(limit) + self.agent_bytes / 250 {
                return Err(format!("{name}: {} units, and the client asks for {limit}", sample.units));
            }
        }
        Ok(())
    }

    /// Runs an instruction that must succeed; returns its compute units.
    pub fn run(&mut self, instruction: Instruction, payer: &Keypair) -> Result<u64> {
        let blockhash = self.svm.latest_blockhash();
        let transaction =
            Transaction::new_signed_with_payer(&[instruction], Some(&payer.pubkey()), &[payer], blockhash);
        let outcome = self.svm.send_transaction(transaction);
        self.svm.expire_blockhash();
        match outcome {
            Ok(done) => Ok(done.compute_units_consumed),
            Err(failed) => {
                let last = failed.meta.logs.iter().rev().find(|line| line.contains("Error")).cloned();
                Err(format!("{}; {}", failed.err, last.unwrap_or_default()))
            }
        }
    }

    /// Changes an account without the program.
    pub fn edit(&mut self, address: &Pubkey, change: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let mut account = self.svm.get_account(address).ok_or("no account")?;
        change(&mut account.data)?;
        self.put(*address, account)
    }

    pub fn data(&self, address: &Pubkey) -> Vec<u8> {
        self.svm.get_account(address).map(|account| account.data).unwrap_or_default()
    }

    pub fn put_wallet(&mut self, address: Pubkey) -> Result<()> {
        let wallet = account(anchor_lang::system_program::ID, Vec::new());
        self.put(address, Account { lamports: 100_000_000_000, ..wallet })
    }

    pub fn put_mint(&mut self, address: Pubkey) -> Result<()> {
        self.put(address, mint_account(token::ID, purser::constants::USDC_DECIMALS, true))
    }

    /// A token account as it is after receiving `amount`.
    pub fn put_token_account(
        &mut self,
        address: Pubkey,
        mint: Pubkey,
        owner: Pubkey,
        amount: u64,
    ) -> Result<()> {
        self.put(address, token_account(token::ID, mint, owner, amount, TokenAccountState::Initialized))
    }

    fn put(&mut self, address: Pubkey, account: Account) -> Result<()> {
        self.svm.set_account(address, account).map_err(|error| format!("cannot write {address}: {error}"))
    }

    fn data_len(&self, address: &Pubkey) -> Option<usize> {
        self.svm.get_account(address).filter(|account| account.lamports > 0).map(|account| account.data.len())
    }

    /// Figures with the old token program would say nothing about mainnet.
    fn require_p_token(&mut self) -> Result<()> {
        let (owner, mint) = (Keypair::new(), Pubkey::new_unique());
        let (from, to) = (Pubkey::new_unique(), Pubkey::new_unique());
        self.put_wallet(owner.pubkey())?;
        self.put_mint(mint)?;
        self.put_token_account(from, mint, owner.pubkey(), 10)?;
        self.put_token_account(to, mint, owner.pubkey(), 0)?;
        let transfer = spl_token::instruction::transfer(&token::ID, &from, &to, &owner.pubkey(), &[], 1)
            .map_err(|error| format!("cannot build a token transfer: {error}"))?;
        let units = self.run(transfer, &owner)?;
        if units > P_TOKEN_TRANSFER_UNITS_MAX {
            return Err(format!("the token program is not p-token: a transfer costs {units} units"));
        }
        Ok(())
    }
}

/// As clients send it: budget and price come first.
fn message(instruction: &Instruction, payer: &Pubkey) -> Message {
    let instructions = [
        ComputeBudgetInstruction::set_compute_unit_limit(10_000),
        ComputeBudgetInstruction::set_compute_unit_price(1_000),
        ComputeBudgetInstruction::set_loaded_accounts_data_size_limit(LOADED_BYTES),
        instruction.clone(),
    ];
    Message::new(&instructions, Some(payer))
}

/// Length of the transaction that clients send.
fn sent_bytes(instruction: &Instruction, payer: &Pubkey) -> usize {
    let message = message(instruction, payer);
    1 + 64 * usize::from(message.header.num_required_signatures) + message.serialize().len()
}
