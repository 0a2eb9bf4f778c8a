use super::*;
use purser_client::{Deployment, DraftAccounts, Proposal, RentRefunds};
use purser_model::AllowedRecipients;
use solana_sdk::instruction::Instruction;

const AT: Deployment = Deployment { program: purser::ID, usdc_mint: Pubkey::new_from_array([8; 32]) };

fn called(instruction: Instruction) -> Called {
    let Instruction { program_id, accounts, data } = instruction;
    let accounts = accounts.iter().map(|meta| meta.pubkey).collect();
    Called { program: program_id, accounts, data, is_inner: false }
}

fn accounts() -> DraftAccounts {
    let [authority, operator, agent] = [11, 12, 13].map(|byte| Pubkey::new_from_array([byte; 32]));
    DraftAccounts { authority, operator, agent }
}

fn long() -> SpendingPolicy {
    let wallets = (0..40).map(|byte| [byte; 32]).collect();
    SpendingPolicy {
        require_memo: true,
        ..SpendingPolicy::default().over(AllowedRecipients::only(wallets, vec![]))
    }
}

#[test]
fn every_instruction_about_a_policy_says_what_it_does_and_who_signed_it() {
    let at = accounts();
    let (policy, hash) = (long(), [7; 32]);
    let proposal = Proposal { agent: at.agent, expected_version: 3, policy: policy.clone() };
    let payers = RentRefunds { agent: at.authority, draft: at.authority };
    let entries = proposal.entries();
    let calls = [
        AT.set_policy(at, at.authority, at.authority, 3, &policy),
        AT.set_paused(at, true),
        AT.open_draft(at.authority, at.authority, at.authority, at.operator, &proposal),
        AT.write_draft(at, hash, 20, &entries[20..]),
        AT.apply_draft(at, at.authority, payers, hash),
        AT.close_draft(at, at.authority, hash),
    ];
    let steps = policy_steps(&calls.map(called));
    let expected = [
        PolicyCall::Set { expected_version: 3, policy },
        PolicyCall::Paused(true),
        PolicyCall::Opened(proposal.as_args()),
        PolicyCall::Written { hash, start: 20, entries: entries[20..].to_vec() },
        PolicyCall::Applied { hash },
        PolicyCall::Closed,
    ];
    assert_eq!(steps.iter().map(|step| step.what.clone()).collect::<Vec<_>>(), expected);
    let named = (to_address(&at.agent), to_address(&at.authority));
    assert!(steps.iter().all(|step| (step.agent, step.signer) == named));
}
