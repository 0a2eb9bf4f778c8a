//! Which grants a transaction opened, by what was called: the wallet signed for that, and a log can be cut or emptied.

use crate::read::decode::to_address;
use purser::instruction;
use purser_client::{Called, arguments};
use purser_model::Address;

/// Where the agent stands among the accounts; the authority is the first.
const AGENT_PLACE: usize = 3;

/// A grant that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantCall {
    pub agent: Address,
    /// For an approval, the tag of its transfer.
    pub id: u64,
    /// The approver, the admin or the policy authority.
    pub signer: Address,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
}

/// Those of a successful transaction, in order.
pub fn grants_opened(calls: &[Called]) -> Vec<GrantCall> {
    calls.iter().filter_map(grant_opened).collect()
}

fn grant_opened(called: &Called) -> Option<GrantCall> {
    let instruction::OpenGrant { id, terms } = arguments(&called.data)?;
    let at = |place: usize| called.accounts.get(place).map(to_address);
    Some(GrantCall { agent: at(AGENT_PLACE)?, id, signer: at(0)?, expires_at: terms.expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_client::Deployment;
    use purser_client::purser::{GrantPayee, GrantTerms};
    use solana_sdk::instruction::Instruction;
    use solana_sdk::pubkey::Pubkey;

    fn called(instruction: Instruction) -> Called {
        let Instruction { program_id, accounts, data } = instruction;
        let accounts = accounts.iter().map(|meta| meta.pubkey).collect();
        Called { program: program_id, accounts, data, is_inner: false }
    }

    #[test]
    fn grant_is_of_whom_signed_for_it_whoever_pays() {
        let [wallet, payer, operator, agent, admin] = [1, 2, 3, 4, 5].map(|byte| Pubkey::from([byte; 32]));
        let program = Deployment { program: purser::ID, usdc_mint: Pubkey::from([8; 32]) };
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(Pubkey::from([9; 32])),
            amount: 1,
            expires_at: 1_800_000_000,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(7),
            memo_hash: Some([6; 32]),
            policy_version: Some(1),
        };
        let [memo, by_approver] = program.approve(wallet, payer, payer, (operator, agent), 7, terms);
        let by_admin = program.open_grant(admin, admin, admin, (operator, agent), 8, terms);
        let close = program.close_grant(payer, operator, program.grant_address(&agent, 7), payer);
        let opened = grants_opened(&[memo, by_approver, close, by_admin].map(called));
        let grant = |signer: Pubkey, id| GrantCall {
            agent: to_address(&agent),
            id,
            signer: to_address(&signer),
            expires_at: 1_800_000_000,
        };
        assert_eq!(opened, [grant(wallet, 7), grant(admin, 8)]);
    }
}
