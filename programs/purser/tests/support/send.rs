use anchor_lang::prelude::{AccountMeta, Pubkey};
use anchor_lang::{Discriminator, Event};
use purser::instruction;
use purser::state::Agent;
use solana_account::Account;
use solana_instruction::Instruction;
use solana_message::compiled_instruction::CompiledInstruction;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;

use super::events::emitted_by;
use super::{Call, Expected, Who, World, NOW};

/// The effects of a transaction that its accounts do not show.
#[derive(Debug)]
pub struct Outcome {
    /// Events of the program as bytes: discriminator and fields.
    pub events: Vec<Vec<u8>>,
    /// Length of the whole signed transaction.
    pub transaction_bytes: usize,
    pub compute_units: u64,
    /// The calls that the first instruction made.
    pub inner: Vec<Instruction>,
}

impl Outcome {
    /// Exactly this event was emitted, and no other.
    #[track_caller]
    pub fn emitted(&self, event: impl Event) {
        self.emitted_all(&[event.data()]);
    }

    /// Exactly these events were emitted, as bytes and in this order.
    #[track_caller]
    pub fn emitted_all(&self, events: &[Vec<u8>]) {
        assert_eq!(self.events, events);
    }
}

pub type Sent = Result<Outcome, (TransactionError, Vec<String>)>;

impl World {
    /// Sends `call`, which must succeed.
    #[track_caller]
    pub fn accept(&mut self, call: &Call) -> Outcome {
        self.accept_all(&[call.instruction()], Who::FeePayer)
    }

    /// Sends `instructions` as one transaction, which must succeed.
    #[track_caller]
    pub fn accept_all(&mut self, instructions: &[Instruction], fee_payer: Who) -> Outcome {
        match self.send(instructions, fee_payer) {
            Ok(outcome) => outcome,
            Err((error, logs)) => panic!("refused with {error:?}:\n{}", logs.join("\n")),
        }
    }

    /// Sends `call`, which must fail with `expected` and change no account.
    #[track_caller]
    pub fn refuse(&mut self, call: &Call, expected: impl Into<Expected>) {
        self.refuse_as("the call", call, expected);
    }

    /// The same; `what` describes the case.
    #[track_caller]
    pub fn refuse_as(&mut self, what: &str, call: &Call, expected: impl Into<Expected>) {
        let expected = expected.into();
        match self.send(&[call.instruction()], Who::FeePayer) {
            Ok(outcome) => panic!("{what} was accepted: {outcome:?}; expected {expected:?}"),
            Err((TransactionError::InstructionError(0, error), logs)) => {
                assert_eq!(Expected(error), expected, "{what}:\n{}", logs.join("\n"));
            }
            Err((error, logs)) => panic!("{what}: {error:?}, expected {expected:?}:\n{}", logs.join("\n")),
        }
    }

    /// Sends `instructions` in one transaction. A failure may change nothing but the fee payer's lamports.
    ///
    /// Transfers also run in their other form on a copy of this world: both forms must have the same effects.
    #[track_caller]
    pub fn send(&mut self, instructions: &[Instruction], fee_payer: Who) -> Sent {
        let instructions = &instructions.iter().map(|one| self.asked_now(one)).collect::<Vec<_>>()[..];
        let is_transfer = |one: &Instruction| {
            one.program_id == purser::ID && one.data.starts_with(instruction::Transfer::DISCRIMINATOR)
        };
        if !instructions.iter().any(is_transfer) {
            return self.send_as_it_is(instructions, fee_payer);
        }
        let mut other = self.clone();
        let sent = self.send_as_it_is(instructions, fee_payer);
        let checked = |one: &Instruction| match is_transfer(one) {
            true => Call { accounts: one.accounts.clone(), data: one.data.clone() }.checked().instruction(),
            false => one.clone(),
        };
        let checked: Vec<_> = instructions.iter().map(checked).collect();
        match (&sent, other.send_as_it_is(&checked, fee_payer)) {
            (Ok(plain), Ok(checked)) => assert_eq!(plain.events, checked.events),
            (Err((plain, _)), Err((checked, _))) => assert_eq!(*plain, checked),
            (plain, checked) => panic!("a transfer: {plain:?}; by TransferChecked: {checked:?}"),
        }
        let named: Vec<Pubkey> =
            instructions.iter().flat_map(|one| &one.accounts).map(|meta| meta.pubkey).collect();
        assert!(self.accounts(&named) == other.accounts(&named), "the other form left something else");
        sent
    }

    /// A transfer that is asked for [`NOW`] with the second of the account's clock; anything else as it is.
    fn asked_now(&self, one: &Instruction) -> Instruction {
        let mut one = one.clone();
        let at = [
            instruction::Transfer::DISCRIMINATOR,
            instruction::TransferChecked::DISCRIMINATOR,
            instruction::TransferExtended::DISCRIMINATOR,
        ]
        .into_iter()
        .find_map(|begins| one.data.starts_with(begins).then_some(begins.len() + 16));
        let Some(asked_at) = at.and_then(|at| one.data.get_mut(at..at + 4)) else { return one };
        if one.program_id == purser::ID && *asked_at == NOW.to_le_bytes() {
            let agent = one.accounts.get(2).and_then(|meta| self.svm.get_account(&meta.pubkey));
            let agent = agent.and_then(|account| Agent::read(&account.data));
            let now = agent.map_or(self.now(), |view| view.agent.clock(self.now()));
            asked_at.copy_from_slice(&u32::try_from(now.max(0)).unwrap_or(u32::MAX).to_le_bytes());
        }
        one
    }

    fn send_as_it_is(&mut self, instructions: &[Instruction], fee_payer: Who) -> Sent {
        self.svm.expire_blockhash();
        let mut transaction = Transaction::new_with_payer(instructions, Some(&fee_payer.key()));
        let needed = usize::from(transaction.message.header.num_required_signatures);
        let signers: Vec<_> = transaction.message.account_keys[..needed]
            .iter()
            .map(|key| Who::with_key(key).expect("a key that signs").pair())
            .collect();
        transaction.sign(&signers, self.svm.latest_blockhash());
        let message = &transaction.message;
        let transaction_bytes = 1 + 64 * needed + message.serialize().len();
        let (keys, touched) = (message.account_keys.clone(), message.account_keys[1..].to_vec());
        let before = self.accounts(&touched);
        match self.svm.send_transaction(transaction) {
            Ok(done) => Ok(Outcome {
                events: emitted_by(&purser::ID, &done.logs),
                transaction_bytes,
                compute_units: done.compute_units_consumed,
                inner: done.inner_instructions.first().map_or(Vec::new(), |inner| {
                    inner.iter().map(|called| as_called(&called.instruction, &keys)).collect()
                }),
            }),
            Err(failed) => {
                assert!(before == self.accounts(&touched), "a failed transaction changed an account");
                Err((failed.err, failed.meta.logs))
            }
        }
    }

    pub fn accounts(&self, keys: &[Pubkey]) -> Vec<Option<Account>> {
        keys.iter().map(|key| self.svm.get_account(key)).collect()
    }
}

/// Without account permissions, which a log of calls does not record.
fn as_called(called: &CompiledInstruction, keys: &[Pubkey]) -> Instruction {
    let accounts = called.accounts.iter().map(|at| AccountMeta::new_readonly(keys[usize::from(*at)], false));
    Instruction {
        program_id: keys[usize::from(called.program_id_index)],
        accounts: accounts.collect(),
        data: called.data.clone(),
    }
}
