//! The program as sBPF in LiteSVM, without signatures, blockhashes and history, which cost time and show nothing here.

use anchor_lang::prelude::Pubkey;
use anchor_lang::system_program;
use anchor_spl::token::spl_token::state::{Account as TokenState, AccountState, Mint};
use base64::prelude::{Engine, BASE64_STANDARD};
use litesvm::LiteSVM;
use solana_account::{Account, AccountSharedData};
use solana_clock::Clock;
use solana_instruction_error::InstructionError;
use solana_message::Message;
use solana_program_pack::Pack;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;

use crate::call::Call;
use crate::cast::{CAST, FEE_PAYER, MINTS};
use crate::oracle::{Answer, Model, Refusal, Token};

/// The Unix second at which a world begins.
pub const NOON: i64 = 1_800_000_000;
/// The lamports of people and of token accounts: enough for any run.
const LAMPORTS: u64 = 1_000_000_000_000_000;

#[derive(Clone)]
pub struct Chain {
    pub svm: LiteSVM,
    clock: Clock,
}

impl Chain {
    /// A chain with everything except operators and agents.
    pub fn new(program: &[u8]) -> Self {
        let svm =
            LiteSVM::new().with_transaction_history(0).with_sigverify(false).with_blockhash_check(false);
        let clock = svm.get_sysvar::<Clock>();
        let mut chain = Self { svm, clock };
        chain.svm.add_program(purser::ID, program).expect("a program");
        for person in CAST.people.iter().chain([&FEE_PAYER]) {
            let lamports = if *person == FEE_PAYER { u64::MAX / 2 } else { LAMPORTS };
            chain.put(*person, account(system_program::ID, vec![], lamports));
        }
        for (address, program, decimals) in MINTS {
            let mut data = vec![0; Mint::LEN];
            Mint { supply: u64::MAX, decimals, is_initialized: true, ..Mint::default() }
                .pack_into_slice(&mut data);
            chain.put(address, account(program, data, LAMPORTS));
        }
        for (address, token) in &CAST.recipients {
            chain.put_token(address, token, LAMPORTS);
        }
        chain.set_clock(NOON);
        chain
    }

    /// The oracle's model of this chain.
    pub fn model(&self) -> Model {
        let rent = |bytes| self.svm.minimum_balance_for_rent_exemption(bytes);
        Model {
            now: NOON,
            operators: Default::default(),
            agents: Default::default(),
            drafts: Default::default(),
            grants: Default::default(),
            approvers: Default::default(),
            budgets: Default::default(),
            closed: Default::default(),
            tokens: CAST.recipients.iter().cloned().collect(),
            mints: MINTS.iter().map(|(mint, program, _)| (*mint, *program)).collect(),
            lamports: CAST.people.iter().map(|person| (*person, LAMPORTS)).collect(),
            rent: (rent(0), rent(1) - rent(0)),
            broken: None,
        }
    }

    pub fn set_clock(&mut self, unix_timestamp: i64) {
        if self.clock.unix_timestamp != unix_timestamp {
            self.clock.unix_timestamp = unix_timestamp;
            self.svm.set_sysvar(&self.clock);
        }
    }

    pub fn put(&mut self, address: Pubkey, account: Account) {
        self.svm.set_account(address, account).expect("no sysvar and no program");
    }

    pub fn put_token(&mut self, address: &Pubkey, token: &Token, lamports: u64) {
        let mut data = vec![0; TokenState::LEN];
        let state = if token.frozen { AccountState::Frozen } else { AccountState::Initialized };
        let Token { mint, owner, amount, program, .. } = *token;
        TokenState { mint, owner, amount, state, ..TokenState::default() }.pack_into_slice(&mut data);
        self.put(*address, account(program, data, lamports));
    }

    pub fn account(&self, address: &Pubkey) -> Option<&AccountSharedData> {
        self.svm.accounts_db().get_account_ref(address)
    }

    pub fn answer(&mut self, call: &Call) -> Answer {
        let instructions = call.instructions();
        let own = (instructions.len() - 1) as u8;
        let message = Message::new(&instructions, Some(&FEE_PAYER));
        match self.svm.send_transaction(Transaction::new_unsigned(message)) {
            Ok(done) => Ok(events(&done.logs)),
            Err(failed) => Err(match failed.err {
                TransactionError::InstructionError(at, InstructionError::Custom(code)) if at == own => {
                    Refusal::Code(code)
                }
                TransactionError::InstructionError(at, error) if at == own => {
                    Refusal::Other(format!("{error:?}"))
                }
                error => Refusal::Other(format!("the transaction: {error:?}")),
            }),
        }
    }
}

fn account(owner: Pubkey, data: Vec<u8>, lamports: u64) -> Account {
    Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX }
}

/// The program's events. None of the programs that it calls logs data.
fn events(logs: &[String]) -> Vec<Vec<u8>> {
    let data = logs.iter().filter_map(|line| line.strip_prefix("Program data: "));
    data.map(|data| BASE64_STANDARD.decode(data).expect("event data is base64")).collect()
}
