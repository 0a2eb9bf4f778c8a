//! A program of somebody else that calls ours, as a multisig does: it sends an instruction on, and signs it by an address
//! of its own.

use anchor_lang::prelude::{AccountMeta, Pubkey};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_program_runtime::declare_process_instruction;
use solana_program_runtime::solana_sbpf::program::BuiltinFunctionDefinition;

use super::{Call, World};

const CALLER: Pubkey = Pubkey::new_from_array([201; 32]);

// Native, since no other program is at hand. The runtime checks its calls as it checks those of any program: it signs for
// addresses that its own id and their seeds give, and for whoever signed the transaction.
declare_process_instruction!(Caller, 1_000, |invoke_context| {
    let (instruction, vault, bump) = {
        let context = invoke_context.transaction_context.get_current_instruction_context()?;
        let data = context.get_instruction_data();
        let (vault, data) = data.split_first().ok_or(InstructionError::InvalidInstructionData)?;
        let (signer, bump) = address(*vault);
        let mut accounts = Vec::new();
        for at in 1..context.get_number_of_instruction_accounts() {
            let pubkey = *context.get_key_of_instruction_account(at)?;
            let is_signer = pubkey == signer || context.is_instruction_account_signer(at)?;
            let is_writable = context.is_instruction_account_writable(at)?;
            accounts.push(AccountMeta { pubkey, is_signer, is_writable });
        }
        let program_id = *context.get_key_of_instruction_account(0)?;
        (Instruction { program_id, accounts, data: data.to_vec() }, *vault, bump)
    };
    invoke_context.native_invoke_signed(instruction, &[&[b"vault", &[vault], &[bump]]])
});

fn address(vault: u8) -> (Pubkey, u8) {
    Pubkey::find_program_address(&[b"vault", &[vault]], &CALLER)
}

/// The address that the calling program signs by for its vault with this number.
pub fn vault(number: u8) -> Pubkey {
    address(number).0
}

impl World {
    /// A world in which that program runs.
    pub fn with_caller() -> Self {
        let mut world = Self::new();
        world.svm.add_builtin(CALLER, Caller::register);
        world
    }
}

impl Call {
    /// The call as that program sends it on, signed for the vault with this number.
    pub fn by_caller(&self, number: u8) -> Instruction {
        let mut accounts = vec![AccountMeta::new_readonly(purser::ID, false)];
        accounts.extend(self.accounts.iter().map(|meta| AccountMeta {
            is_signer: meta.is_signer && meta.pubkey != vault(number),
            ..meta.clone()
        }));
        Instruction { program_id: CALLER, accounts, data: [&[number], &self.data[..]].concat() }
    }
}
