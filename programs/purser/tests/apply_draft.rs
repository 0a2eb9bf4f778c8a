//! Policies that do not fit a transaction: staged in a draft, then put in force at once.

use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::PolicySet;
use purser::state::{Agent, PolicyDraft};
use purser::{AllowlistArg, PolicyArgs, Rules};

use crate::support::{
    address, agent, any_signer, assert_policy, attack, draft, keys, many_keys, only, open_policy, operator,
    program, signer, Payment, Proposal, Who, World, NOON, PAYEE,
};

/// `wallets` wallets with the payee's among them, and `token_accounts` token accounts.
fn policy(wallets: usize, token_accounts: usize) -> PolicyArgs {
    let token_accounts = &many_keys(token_accounts + 1)[..token_accounts];
    let allowlist = only(&many_keys(wallets.max(1))[..wallets], token_accounts);
    PolicyArgs { rules: Rules { max_daily_spend: Some(9_000_000), ..Rules::OPEN }, allowlist }
}

#[test]
fn a_policy_of_256_entries_is_taken_over_at_once_and_its_draft_is_closed() {
    for who in [Who::PolicyAuthority, Who::Admin] {
        for (wallets, token_accounts) in [(256, 0), (0, 256), (100, 156)] {
            let mut world = World::new();
            let main = world.main;
            let proposal = world.sealed(policy(wallets, token_accounts));
            let before = world.agent();
            let had = [who, Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key()));
            world.set_clock(NOON + 3);
            let outcome = world.accept(&proposal.apply().signed_by(who));
            let view = world.agent_view();
            assert_policy(view.policy(), &proposal.policy);
            let expected = Agent {
                policy: view.agent.policy,
                policy_version: before.policy_version + 1,
                policy_updated_at: NOON as u32 + 3,
                ..before
            };
            assert_eq!(view.agent, expected);
            let data = world.account(&main.agent).data;
            assert_eq!(data.len(), Agent::BYTES + 192 + 256 * 32);
            let written: Vec<u8> = proposal.entries.iter().flat_map(Pubkey::to_bytes).collect();
            assert_eq!(data[Agent::BYTES..data.len() - 192], written);
            assert_eq!(world.svm.get_account(&main.draft), None);
            let growth = world.rent(256 * 32) - world.rent(0);
            let back = world.rent(PolicyDraft::bytes(256));
            let has = [who, Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key()));
            assert_eq!(has, [had[0], had[1] - growth, had[2] + back]);
            assert_eq!(world.lamports(&main.agent), world.rent(data.len()));
            outcome.emitted(PolicySet {
                operator: main.operator,
                agent: main.agent,
                policy_version: 2,
                policy: proposal.record(),
                signer: who.key(),
            });
        }
    }
}

#[test]
fn an_agent_with_256_entries_pays_those_and_nobody_else_and_can_shrink_again() {
    let mut world = World::new();
    let main = world.main;
    let start = [Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key()));
    let proposal = world.sealed(policy(200, 56));
    world.accept(&proposal.apply());
    world.accept(&main.transfer(Payment::default()));
    let to_sibling = Payment { tag: 2, to: world.sibling.source, ..Payment::default() };
    world.refuse(&main.transfer(to_sibling), PurserError::RecipientNotAllowed);
    world.accept(&main.set_policy(2, open_policy()));
    assert_eq!(world.account(&main.agent).data.len(), Agent::BYTES + 192);
    assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES + 192));
    assert_eq!([Who::Payer, Who::DraftPayer].map(|who| world.lamports(&who.key())), start);
    world.accept(&main.transfer(to_sibling));
}

#[test]
fn a_short_or_empty_list_or_none_is_as_good() {
    let of = |allowlist| PolicyArgs { allowlist, rules: Rules { require_memo: true, ..Rules::OPEN } };
    for policy in
        [of(AllowlistArg::Anyone), of(only(&[], &[])), of(only(&keys(1), &[])), of(only(&keys(1), &keys(2)))]
    {
        let mut world = World::new();
        let proposal = world.sealed(policy);
        world.accept(&proposal.apply());
        assert_policy(world.agent_view().policy(), &proposal.policy);
    }
}

#[test]
fn an_incomplete_draft_is_refused() {
    let mut world = World::new();
    let proposal = world.propose(policy(51, 0));
    world.accept(&proposal.open());
    for (start, end) in [(0, 0), (0, 25), (25, 50)] {
        world.accept(&proposal.write(start, end));
        for who in [Who::PolicyAuthority, Who::Admin] {
            world.refuse(&proposal.apply().signed_by(who), PurserError::DraftIncomplete);
        }
    }
    world.accept(&proposal.write(50, 51));
    world.accept(&proposal.apply());
}

#[test]
fn nobody_else_applies_a_draft() {
    let mut world = World::new();
    let proposal = world.sealed(policy(2, 0));
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        world.refuse_as(&format!("{who:?}"), &proposal.apply().signed_by(who), PurserError::Unauthorized);
    }
}

#[test]
fn a_draft_is_used_once() {
    let mut world = World::new();
    let proposal = world.sealed(policy(2, 0));
    world.accept(&proposal.apply());
    world.refuse(&proposal.apply(), ErrorCode::AccountOwnedByWrongProgram);
    world.refuse(&proposal.open(), PurserError::PolicyChanged);
}

#[test]
fn the_draft_of_another_agent_is_refused() {
    let mut world = World::new();
    let main = world.main;
    for place in [world.sibling, world.twin, world.foreign] {
        let theirs = PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() };
        let proposal = Proposal::new(place, 1, theirs);
        let call = main.apply_draft(proposal.args.hash).with(4, place.draft);
        world.refuse(&call, PurserError::DraftMismatch);
    }
}

#[test]
fn a_draft_is_applied_by_its_own_hash_and_no_other() {
    let mut world = World::new();
    let proposal = world.sealed(policy(2, 0));
    let other = world.propose(policy(3, 0));
    for hash in [[0; 32], other.args.hash] {
        world.refuse(&world.main.apply_draft(hash), PurserError::DraftMismatch);
    }
    world.accept(&proposal.apply());
}

#[test]
fn a_policy_that_changed_since_is_not_overwritten() {
    let changes: [fn(&World) -> crate::support::Call; 3] = [
        |world| {
            world.main.set_policy(
                1,
                PolicyArgs { rules: Rules { require_memo: true, ..Rules::OPEN }, ..open_policy() },
            )
        },
        |world| world.main.set_paused(true),
        // Even a change to the same value.
        |world| world.main.set_paused(false),
    ];
    for change in changes {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let mut world = World::new();
            let proposal = world.sealed(policy(2, 0));
            world.accept(&change(&world));
            let before = world.agent_view();
            world.refuse(&proposal.apply().signed_by(who), PurserError::PolicyChanged);
            assert_eq!(world.agent_view(), before);
            world.accept(&proposal.close());
        }
    }
}

#[test]
fn a_longer_list_replaces_a_shorter_and_the_other_way_round() {
    let mut world = World::new();
    let main = world.main;
    for (wallets, token_accounts) in [(1, 0), (1, 199), (3, 0), (256, 0), (0, 30), (56, 200), (0, 1)] {
        let proposal = world.sealed(policy(wallets, token_accounts));
        world.accept(&proposal.apply());
        assert_policy(world.agent_view().policy(), &proposal.policy);
        assert_eq!(
            world.lamports(&main.agent),
            world.rent(Agent::BYTES + 192 + 32 * (wallets + token_accounts))
        );
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let mut world = World::new();
    let proposal = world.sealed(PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() });
    attack(
        &world,
        &proposal.apply().with(1, Who::Stranger.key()),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            any_signer("payer"),
            operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::DraftMismatch),
            draft(PurserError::DraftMismatch),
            address("rent_refund", PurserError::WrongRentRefund),
            address("draft_rent_refund", PurserError::WrongRentRefund),
            program("system_program"),
        ],
    );
}
