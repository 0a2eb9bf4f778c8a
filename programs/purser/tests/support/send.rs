use anchor_lang::prelude::Pubkey;
use anchor_lang::{Discriminator, Event};
use purser::instruction;
use purser::state::Agent;
use solana_account::Account;
use solana_instruction::Instruction;
use solana_transaction::Transaction;
use solana_transaction_error::TransactionError;

use super::call::LATEST;
use super::events::emitted_by;
use super::{Call, Expected, Who, World};

/// What a transaction did that its accounts do not show.
#[derive(Debug)]
pub struct Outcome {
    /// Events of the program as bytes: discriminator and fields.
    pub events: Vec<Vec<u8>>,
    /// Length of the whole signed transaction.
    pub transaction_bytes: usize,
    pub compute_units: u64,
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

    /// The same, saying `what` it was.
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

    /// Sends `instructions` in one transaction. Whatever fails may change nothing but the fee payer's lamports.
    pub fn send(
        &mut self,
        instructions: &[Instruction],
        fee_payer: Who,
    ) -> Result<Outcome, (TransactionError, Vec<String>)> {
        self.svm.expire_blockhash();
        let instructions: Vec<_> = instructions.iter().map(|one| self.with_sequence(one.clone())).collect();
        let mut transaction = Transaction::new_with_payer(&instructions, Some(&fee_payer.key()));
        let needed = usize::from(transaction.message.header.num_required_signatures);
        let signers: Vec<_> = transaction.message.account_keys[..needed]
            .iter()
            .map(|key| Who::with_key(key).expect("a key that signs").pair())
            .collect();
        transaction.sign(&signers, self.svm.latest_blockhash());
        let message = &transaction.message;
        let transaction_bytes = 1 + 64 * needed + message.serialize().len();
        let touched: Vec<Pubkey> = message.account_keys[1..].to_vec();
        let before = self.accounts(&touched);
        match self.svm.send_transaction(transaction) {
            Ok(done) => Ok(Outcome {
                events: emitted_by(&purser::ID, &done.logs),
                transaction_bytes,
                compute_units: done.compute_units_consumed,
            }),
            Err(failed) => {
                assert!(before == self.accounts(&touched), "a failed transaction changed an account");
                Err((failed.err, failed.meta.logs))
            }
        }
    }

    /// With the agent's sequence as it is now, where a transfer asks for that.
    fn with_sequence(&self, mut instruction: Instruction) -> Instruction {
        let place = instruction::Transfer::DISCRIMINATOR.len() + size_of::<[u8; 16]>();
        let is_transfer = instruction.data.starts_with(instruction::Transfer::DISCRIMINATOR);
        if let Some(sequence) = instruction.data.get_mut(place..place + 4).filter(|_| is_transfer) {
            if *sequence == LATEST.to_le_bytes() {
                let agent = instruction.accounts.get(2).and_then(|agent| self.svm.get_account(&agent.pubkey));
                let agent = agent.and_then(|account| Agent::read(&account.data));
                let now = agent.map_or(0, |view| view.agent.tags().sequence());
                sequence.copy_from_slice(&now.to_le_bytes());
            }
        }
        instruction
    }

    pub fn accounts(&self, keys: &[Pubkey]) -> Vec<Option<Account>> {
        keys.iter().map(|key| self.svm.get_account(key)).collect()
    }
}
