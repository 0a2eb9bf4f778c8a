//! The token accounts as they stand: whose they are, what they hold, and who else may move it.

use anchor_lang::prelude::Pubkey;
use purser_policy::UsdcAmount;

use super::Replay;
use super::standing::Stands;
use crate::archive::SavedAccount;
use crate::check::Check;

const TOKEN_PROGRAM: Pubkey = Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");

/// An account of the token program, in the layout of SPL Token.
struct TokenAccount {
    mint: Pubkey,
    owner: Pubkey,
    amount: u64,
    /// Who may move how much.
    delegate: Option<(Pubkey, u64)>,
    is_frozen: bool,
    close_authority: Option<Pubkey>,
}

impl TokenAccount {
    fn read(data: &[u8]) -> Option<Self> {
        let key = |at: usize| Some(Pubkey::new_from_array(*data.get(at..)?.first_chunk()?));
        let number = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let option =
            |at: usize| Some(if data.get(at..at + 4)? == [0; 4] { None } else { Some(key(at + 4)?) });
        let delegated = number(121)?;
        Some(Self {
            mint: key(0)?,
            owner: key(32)?,
            amount: number(64)?,
            delegate: option(72)?.map(|delegate| (delegate, delegated)),
            is_frozen: *data.get(108)? == 2,
            close_authority: option(129)?,
        })
    }
}

impl Replay {
    /// `known`: the balance after the last transaction.
    pub(super) fn purse_stands(&self, agent: Pubkey, known: u64, account: Option<&SavedAccount>) -> Stands {
        let examined = vec![Check::Balances, Check::State];
        let mut wrong = Vec::new();
        let data = account.and_then(SavedAccount::bytes);
        let read = data.and_then(|data| TokenAccount::read(&data));
        let held = read.as_ref().map_or(0, |account| account.amount);
        if held != known {
            let [held, known] = [held, known].map(UsdcAmount::from_micros);
            let text = format!("The token account holds {held} USDC; by its transactions it is {known}.");
            wrong.push((Check::Balances, Some(agent), text));
        }
        let Some(read) = read else {
            if self.world.agents.contains_key(&agent) {
                let text = "The account has no token account on the chain.".to_owned();
                wrong.push((Check::State, Some(agent), text));
            }
            return Stands { examined, wrong, ..Stands::default() };
        };
        let TokenAccount { mint, owner, delegate, is_frozen, close_authority, .. } = read;
        let program = account.and_then(SavedAccount::owner);
        let is_usdc = program == Some(TOKEN_PROGRAM) && mint == self.at.usdc_mint;
        let rights = [
            (!is_usdc)
                .then(|| "The token account is none of the operator's mint at the token program.".to_owned()),
            (owner != agent)
                .then(|| format!("The token account is owned by {owner}, which may move all of it.")),
            delegate.map(|(delegate, micros)| {
                let amount = UsdcAmount::from_micros(micros);
                format!("{delegate} may move {amount} USDC out of the token account, past every policy.")
            }),
            close_authority.map(|key| format!("{key} may close the token account.")),
        ];
        wrong.extend(rights.into_iter().flatten().map(|text| (Check::State, Some(agent), text)));
        Stands { examined, wrong, frozen: is_frozen.then_some(agent), ..Stands::default() }
    }
}
