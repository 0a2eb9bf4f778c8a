//! Withdrawals by the admin.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use anchor_spl::token;
use purser::events::Withdrawn;

use super::{code, ensure, Answer, Model, Refusal};
use crate::cast::TOKEN_2022;

impl Model {
    pub(super) fn withdraw(&mut self, amount: u64, slots: &[Pubkey]) -> Answer {
        let [signer, operator_address, address, source, mint, destination, program] = slots else {
            unreachable!("seven slots")
        };
        let operator = self.operator(operator_address)?;
        let agent = self.agent(address)?;
        ensure(amount > 0, code::AMOUNT_ZERO)?;
        operator.admin(signer)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        self.check_withdrawal([address, source, mint, destination, program], amount)?;
        self.move_tokens(source, destination, amount);
        let event = Withdrawn {
            operator: *operator_address,
            agent: *address,
            source: *source,
            mint: *mint,
            amount,
            recipient: *destination,
            recipient_owner: self.tokens[destination].owner,
            admin: *signer,
        };
        Ok(vec![event.data()])
    }

    /// `way`: agent, source, mint, destination, token program.
    pub(super) fn check_withdrawal(&self, way: [&Pubkey; 5], amount: u64) -> Result<(), Refusal> {
        let [agent, source, mint, destination, program] = way;
        ensure([token::ID, TOKEN_2022].contains(program), code::WRONG_SOURCE)?;
        let from = self.tokens.get(source).filter(|from| from.program == *program && from.owner == *agent);
        let from = from.ok_or(code::WRONG_SOURCE)?;
        ensure(from.amount >= amount, code::INSUFFICIENT_BALANCE)?;
        ensure(source != destination, code::RECIPIENT_IS_SOURCE)?;
        self.payable(destination, program, &from.mint)?;
        // The program accepts any sufficiently long account of a token program as a mint. The token programs check more, and
        // Token-2022 checks the owner first.
        let account = self.tokens.get(mint).map(|account| account.program);
        let mint_program = self.mints.get(mint).copied().or(account).ok_or(code::WRONG_MINT)?;
        ensure(!from.frozen, code::ACCOUNT_FROZEN)?;
        if *program == TOKEN_2022 && mint_program != TOKEN_2022 {
            return Err(Refusal::Other("IncorrectProgramId".to_owned()));
        }
        ensure(*mint == from.mint, code::MINT_MISMATCH)
    }
}
