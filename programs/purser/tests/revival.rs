//! Accounts that are closed and revived within one transaction, and lamports that keep them alive.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::system_instruction;
use purser::PolicyArgs;
use purser_policy::TAG_SECONDS;
use solana_instruction::Instruction;

use crate::support::{
    keys, only, open_policy, Payment, Proposal, Who, World, AGENT_ID, BALANCE, NOON, PAYEE,
};

fn gift(to: Pubkey) -> Instruction {
    system_instruction::transfer(&Who::Stranger.key(), &to, 1_000_000_000)
}

fn proposal(world: &World) -> Proposal {
    world.propose(PolicyArgs { allowlist: only(&keys(3), &[]), ..open_policy() })
}

#[test]
fn a_draft_that_was_closed_or_applied_is_not_revived_by_lamports() {
    let mut world = World::new();
    let draft = world.main.draft;
    let proposal = proposal(&world);
    world.seal(&proposal, Who::PolicyAuthority);
    for end in [proposal.close(), proposal.apply()] {
        for again in [proposal.write(0, 3), proposal.apply(), proposal.close()] {
            let calls = [end.instruction(), gift(draft), again.instruction()];
            assert!(world.clone().send(&calls, Who::FeePayer).is_err());
        }
        let mut world = world.clone();
        world.accept_all(&[end.instruction(), gift(draft)], Who::FeePayer);
        let left = world.account(&draft);
        assert_eq!((left.owner, left.data.len()), (anchor_lang::system_program::ID, 0));
    }
}

#[test]
fn a_draft_that_is_closed_and_opened_in_one_transaction_begins_from_nothing() {
    let mut world = World::new();
    world.delay(60);
    let proposal = proposal(&world);
    world.seal(&proposal, Who::PolicyAuthority);
    world.set_clock(NOON + 59);
    world.accept_all(&[proposal.close().instruction(), proposal.open().instruction()], Who::FeePayer);
    let data = world.account(&world.main.draft).data;
    assert!(data[purser::state::PolicyDraft::BYTES..].iter().all(|byte| *byte == 0));
    world.set_clock(NOON + 60);
    world.refuse(&proposal.apply(), purser::error::PurserError::DraftIncomplete);
}

#[test]
fn an_agent_does_not_come_back_with_what_it_knew_nor_with_its_draft() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment { amount: BALANCE, ..Payment::default() }));
    world.accept(&main.halt());
    let proposal = proposal(&world);
    world.seal(&proposal, Who::PolicyAuthority);
    world.set_clock(NOON + TAG_SECONDS);
    let anew = main.create_agent(AGENT_ID).signed_by(Who::Admin);
    let calls = [main.close_agent(), anew].map(|call| call.instruction());
    for late in
        [proposal.apply(), proposal.close(), main.transfer(Payment { to: PAYEE, ..Payment::default() })]
    {
        let all = [&calls[..], &[gift(main.draft), late.instruction()]].concat();
        assert!(world.clone().send(&all, Who::FeePayer).is_err());
    }
    world.accept_all(&calls, Who::FeePayer);
    let agent = world.agent();
    assert_eq!((agent.policy_version, agent.halted_by, agent.payments), (1, 0, 0));
    assert!(world.svm.get_account(&main.draft).is_none());
}
