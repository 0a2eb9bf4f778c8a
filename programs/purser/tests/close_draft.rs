use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::events::DraftClosed;
use purser::state::PolicyDraft;
use purser::PolicyArgs;

use crate::support::{
    address, agent, attack, draft, keys, many_keys, only, open_policy, operator, signer, Proposal, Who, World,
};

const MAY: [Who; 3] = [Who::Guardian, Who::PolicyAuthority, Who::Admin];

fn opened(count: usize) -> (World, Proposal) {
    let mut world = World::new();
    let allowlist = only(&many_keys(count), &[]);
    let proposal = world.propose(PolicyArgs { allowlist, ..open_policy() });
    world.accept(&proposal.open());
    (world, proposal)
}

#[test]
fn closing_a_draft_gives_its_rent_to_whoever_paid_it_and_says_so() {
    for who in MAY {
        let (mut world, proposal) = opened(256);
        let main = world.main;
        let before = world.lamports(&Who::DraftPayer.key());
        let own = world.lamports(&who.key());
        let outcome = world.accept(&proposal.close().signed_by(who));
        assert_eq!(world.svm.get_account(&main.draft), None);
        assert_eq!(world.lamports(&Who::DraftPayer.key()), before + world.rent(PolicyDraft::bytes(256)));
        assert_eq!(world.lamports(&who.key()), own);
        outcome.emitted(DraftClosed {
            operator: main.operator,
            agent: main.agent,
            hash: proposal.args.hash,
            signer: who.key(),
        });
    }
}

#[test]
fn a_draft_is_closed_whether_complete_or_not_and_leaves_the_policy_alone() {
    for written in [0, 1, 2] {
        for who in MAY {
            let (mut world, proposal) = opened(2);
            let before = world.agent_view();
            world.accept(&proposal.write(0, written));
            world.accept(&proposal.close().signed_by(who));
            assert_eq!(world.agent_view(), before);
            world.refuse(&proposal.close(), ErrorCode::AccountOwnedByWrongProgram);
        }
    }
}

#[test]
fn nobody_else_closes_a_draft() {
    let (mut world, proposal) = opened(2);
    for written in [false, true] {
        if written {
            world.accept(&proposal.write(0, 2));
        }
        for who in Who::but(&MAY) {
            let call = proposal.close().signed_by(who);
            world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
        }
    }
}

#[test]
fn a_draft_that_was_opened_since_is_not_closed_in_place_of_another() {
    let (mut world, first) = opened(2);
    world.accept(&first.close());
    let second = world.propose(PolicyArgs { allowlist: only(&keys(2), &[]), ..open_policy() });
    world.accept(&second.open());
    world.refuse(&first.close(), PurserError::DraftMismatch);
    world.accept(&second.close());
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let (world, proposal) = opened(2);
    attack(
        &world,
        &proposal.close(),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin", "guardian"]),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
            draft(PurserError::DraftMismatch),
            address("rent_refund", PurserError::WrongRentRefund),
        ],
    );
}
