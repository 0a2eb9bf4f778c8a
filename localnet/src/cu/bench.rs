//! The virtual machine that is measured on, and how one transaction is measured.

use litesvm::LiteSVM;
use solana_clock::Clock;
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_message::Message;
use solana_program_pack::Pack;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use solana_transaction::Transaction;
use spl_token_interface::instruction::transfer as token_transfer;
use spl_token_interface::state::{Account as TokenAccount, AccountState, Mint};
use surfpool_core::solana_account::Account;

use crate::amount::USDC_DECIMALS;
use crate::cu::instructions::{SYSTEM_PROGRAM, TOKEN_PROGRAM};
use crate::error::{Context, Error, Result};

const START_SECOND: i64 = 1_800_000_000;
/// A `Transfer` costs about 80 units in p-token and about 4,600 in the program it replaced.
const P_TOKEN_TRANSFER_UNITS_MAX: u64 = 500;

/// What one transaction cost.
pub struct Sample {
    pub name: &'static str,
    pub units: u64,
    /// Bytes of the whole transaction as clients send it: compute limit, compute price, the instruction.
    pub tx_bytes: usize,
    /// Bytes of data that the transaction added to accounts.
    pub account_bytes: u64,
    pub accounts_created: u64,
}

pub struct Bench {
    pub svm: LiteSVM,
    pub program: Pubkey,
    now: i64,
    pub samples: Vec<Sample>,
}

impl Bench {
    /// Mainnet's features and programs, and the program to measure.
    pub fn new(program: Pubkey, elf: &[u8]) -> Result<Self> {
        let mut svm = LiteSVM::default()
            .with_feature_set(LiteSVM::mainnet_feature_set())
            .with_feature_accounts()
            .with_builtins()
            .with_lamports(u64::MAX / 2)
            .with_sysvars()
            .with_default_programs()
            .with_sigverify(false);
        svm.add_program(program, elf).context("the program does not load")?;
        let mut bench = Self { svm, program, now: START_SECOND, samples: Vec::new() };
        bench.advance(0);
        bench.require_p_token()?;
        Ok(bench)
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
        let units = self.run(instruction, payer).map_err(|error| Error::new(format!("{name}: {error}")))?;
        let (mut account_bytes, mut accounts_created) = (0, 0);
        for (address, before) in written.iter().zip(before) {
            let after = self.data_len(address).unwrap_or(0);
            account_bytes += after.saturating_sub(before.unwrap_or(0)) as u64;
            accounts_created += u64::from(before.is_none() && after > 0);
        }
        self.samples.push(Sample { name, units, tx_bytes, account_bytes, accounts_created });
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
                Err(Error::new(format!("{}; {}", failed.err, last.unwrap_or_default())))
            }
        }
    }

    pub fn data(&self, address: &Pubkey) -> Vec<u8> {
        self.svm.get_account(address).map(|account| account.data).unwrap_or_default()
    }

    pub fn put_wallet(&mut self, address: Pubkey) -> Result<()> {
        self.put(address, 100_000_000_000, Vec::new(), SYSTEM_PROGRAM)
    }

    pub fn put_mint(&mut self, address: Pubkey, authority: Pubkey) -> Result<()> {
        let mut data = vec![0; Mint::LEN];
        let mint = Mint {
            mint_authority: Some(authority).into(),
            supply: u64::MAX / 2,
            decimals: USDC_DECIMALS as u8,
            is_initialized: true,
            freeze_authority: None.into(),
        };
        Mint::pack(mint, &mut data).context("cannot write a mint")?;
        self.put(address, 1_000_000_000, data, TOKEN_PROGRAM)
    }

    /// A token account as it is after receiving `amount`.
    pub fn put_token_account(
        &mut self,
        address: Pubkey,
        mint: Pubkey,
        owner: Pubkey,
        amount: u64,
    ) -> Result<()> {
        let mut data = vec![0; TokenAccount::LEN];
        let state = AccountState::Initialized;
        let account = TokenAccount { mint, owner, amount, state, ..TokenAccount::default() };
        TokenAccount::pack(account, &mut data).context("cannot write a token account")?;
        self.put(address, 1_000_000_000, data, TOKEN_PROGRAM)
    }

    fn put(&mut self, address: Pubkey, lamports: u64, data: Vec<u8>, owner: Pubkey) -> Result<()> {
        let account = Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
        self.svm.set_account(address, account).context(format!("cannot write {address}"))
    }

    fn data_len(&self, address: &Pubkey) -> Option<usize> {
        self.svm.get_account(address).filter(|account| account.lamports > 0).map(|account| account.data.len())
    }

    /// Figures with the old token program would say nothing about mainnet.
    fn require_p_token(&mut self) -> Result<()> {
        let (owner, mint) = (Keypair::new(), Pubkey::new_unique());
        let (from, to) = (Pubkey::new_unique(), Pubkey::new_unique());
        self.put_wallet(owner.pubkey())?;
        self.put_mint(mint, owner.pubkey())?;
        self.put_token_account(from, mint, owner.pubkey(), 10)?;
        self.put_token_account(to, mint, owner.pubkey(), 0)?;
        let transfer = token_transfer(&TOKEN_PROGRAM, &from, &to, &owner.pubkey(), &[], 1)
            .context("cannot build a token transfer")?;
        let units = self.run(transfer, &owner)?;
        if units > P_TOKEN_TRANSFER_UNITS_MAX {
            return Err(Error::new(format!(
                "the token program is not p-token: a transfer costs {units} units"
            )));
        }
        Ok(())
    }
}

/// Length of the transaction that clients send: one signature, a legacy message, compute limit and price first.
fn sent_bytes(instruction: &Instruction, payer: &Pubkey) -> usize {
    let instructions = [
        ComputeBudgetInstruction::set_compute_unit_limit(10_000),
        ComputeBudgetInstruction::set_compute_unit_price(1_000),
        instruction.clone(),
    ];
    let message = Message::new(&instructions, Some(payer));
    1 + 64 * usize::from(message.header.num_required_signatures) + message.serialize().len()
}
