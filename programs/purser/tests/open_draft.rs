use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::Pubkey;
use purser::error::PurserError;
use purser::events::DraftSealed;
use purser::state::PolicyDraft;
use purser::{AllowlistArg, DraftArgs, EntryCounts, PolicyArgs, Rules};
use solana_account::Account;

use crate::support::{
    address, agent, any_signer, attack, many_keys, only, open_policy, operator, program, signer, Expected,
    Proposal, Who, World, NOON, WALLETS,
};

fn proposal(world: &World, wallets: usize, token_accounts: usize) -> Proposal {
    let allowlist =
        only(&many_keys(wallets + 1)[..wallets], &many_keys(token_accounts + 1)[..token_accounts]);
    world.propose(PolicyArgs { rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN }, allowlist })
}

#[track_caller]
fn assert_opened(world: &World, proposal: &Proposal) {
    let main = world.main;
    let account = world.account(&main.draft);
    let (address, bump) = Pubkey::find_program_address(&[b"draft", main.agent.as_ref()], &purser::ID);
    assert_eq!((address, account.owner), (main.draft, purser::ID));
    let entry_count = proposal.entries.len() as u16;
    let view = PolicyDraft::read(&account.data).expect("a draft");
    let sealed = u8::from(entry_count == 0);
    let expected = PolicyDraft {
        version: 4,
        bump,
        entry_count,
        written: 0,
        sealed,
        reserved: 0,
        sealed_at: if sealed == 1 { NOON } else { 0 },
        expected_version: proposal.args.expected_version,
        sealed_delay_seconds: u32::from(sealed) * world.operator().loosening_delay_seconds,
        agent: main.agent,
        rent_refund: Who::DraftPayer.key(),
        hash: proposal.args.hash,
        policy: view.draft.policy,
    };
    assert_eq!(view.draft, expected);
    assert_eq!(stored_policy(&account), crate::support::stored(&proposal.policy));
    assert_eq!(account.data.len(), 152 + 32 * usize::from(entry_count));
    assert!(account.data[PolicyDraft::BYTES..].iter().all(|byte| *byte == 0));
}

/// The stored policy, the last field of a draft.
fn stored_policy(account: &Account) -> [u8; 24] {
    account.data[PolicyDraft::BYTES - 24..PolicyDraft::BYTES].try_into().expect("24 bytes")
}

#[test]
fn a_draft_has_room_for_exactly_its_entries_and_its_payer_pays() {
    for (wallets, token_accounts) in [(1, 0), (0, 1), (25, 1), (255, 0), (200, 56), (0, 256), (256, 0)] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let mut world = World::new();
            let (own, before) = (world.lamports(&who.key()), world.lamports(&Who::DraftPayer.key()));
            let proposal = proposal(&world, wallets, token_accounts);
            let outcome = world.accept(&proposal.open().signed_by(who));
            assert_opened(&world, &proposal);
            assert_eq!(outcome.events.len(), 0);
            let rent = world.rent(PolicyDraft::bytes((wallets + token_accounts) as u16));
            assert_eq!(world.lamports(&Who::DraftPayer.key()), before - rent);
            assert_eq!(world.lamports(&who.key()), own);
        }
    }
}

#[test]
fn a_draft_without_entries_is_sealed_at_once() {
    for allowlist in [AllowlistArg::Anyone, only(&[], &[])] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let mut world = World::new();
            world.delay(60);
            let policy =
                PolicyArgs { allowlist: allowlist.clone(), rules: Rules { paused: true, ..Rules::OPEN } };
            let proposal = world.propose(policy);
            let outcome = world.accept(&proposal.open().signed_by(who));
            assert_opened(&world, &proposal);
            outcome.emitted(DraftSealed {
                operator: world.main.operator,
                agent: world.main.agent,
                hash: proposal.args.hash,
                expected_version: 1,
                policy: proposal.record(),
                sealed_at: NOON,
                loosens_at: NOON + 60,
                signer: who.key(),
            });
            world.accept(&proposal.apply().signed_by(Who::Admin));
            crate::support::assert_policy(world.agent_view().policy(), &proposal.policy);
        }
    }
}

#[test]
fn a_draft_without_entries_under_another_hash_is_refused() {
    let mut world = World::new();
    let right = world.propose(open_policy()).args;
    let only_nobody = Some(EntryCounts { wallets: 0, token_accounts: 0 });
    for wrong in [
        DraftArgs { hash: [0; 32], ..right.clone() },
        DraftArgs { rules: Rules { paused: true, ..right.rules }, ..right.clone() },
        DraftArgs { entries: only_nobody, ..right.clone() },
        DraftArgs { rules: Rules { max_single_transfer: Some(0), ..right.rules }, ..right.clone() },
    ] {
        let call = world.main.open_draft(wrong);
        world.refuse(&call, PurserError::DraftMismatch);
    }
    let mut elsewhere = right;
    elsewhere.hash = Proposal::new(world.sibling, 1, open_policy()).args.hash;
    let call = world.main.open_draft(elsewhere);
    world.refuse(&call, PurserError::DraftMismatch);
}

#[test]
fn more_than_256_entries_are_refused() {
    let mut world = World::new();
    let right = world.propose(open_policy()).args;
    let max = u16::MAX;
    for (wallets, token_accounts) in
        [(257, 0), (0, 257), (256, 1), (1, 256), (129, 128), (max, 0), (max, 1), (max, max), (0x8000, 0x8000)]
    {
        let entries = Some(EntryCounts { wallets, token_accounts });
        let call = world.main.open_draft(DraftArgs { entries, ..right.clone() });
        world.refuse_as(&format!("{entries:?}"), &call, PurserError::AllowlistTooLong);
    }
}

#[test]
fn a_draft_against_another_version_of_the_policy_is_refused() {
    let mut world = World::new();
    world.policy(|policy| policy.rules.require_memo = true);
    assert_eq!(world.version(), 2);
    for version in [0, 1, 3, u32::MAX] {
        for who in [Who::PolicyAuthority, Who::Admin] {
            let stale = Proposal::new(world.main, version, open_policy());
            world.refuse_as(&format!("{version}"), &stale.open().signed_by(who), PurserError::PolicyChanged);
        }
    }
    world.accept(&Proposal::new(world.main, 2, open_policy()).open());
}

#[test]
fn nobody_else_opens_a_draft() {
    let mut world = World::new();
    let proposal = proposal(&world, 1, 0);
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        world.refuse_as(&format!("{who:?}"), &proposal.open().signed_by(who), PurserError::Unauthorized);
    }
}

#[test]
fn an_agent_has_one_draft_at_a_time() {
    let mut world = World::new();
    let (two, three) = (proposal(&world, 2, 0), proposal(&world, 3, 0));
    world.accept(&two.open());
    for sealed in [false, true] {
        if sealed {
            world.accept(&two.write(0, 2));
        }
        world.refuse(&two.open(), Expected::ALREADY_IN_USE);
        world.refuse(&three.open().signed_by(Who::Admin), Expected::ALREADY_IN_USE);
    }
    world.accept(&two.close());
    world.accept(&three.open());
    assert_opened(&world, &three);
}

#[test]
fn lamports_sent_ahead_do_not_block_a_draft() {
    for lamports in [1, 890_880, 1_000_000_000] {
        let mut world = World::new();
        let main = world.main;
        world.put(main.draft, Account { lamports, ..Account::default() });
        let proposal = proposal(&world, 3, 0);
        world.accept(&proposal.open());
        assert_opened(&world, &proposal);
        assert_eq!(world.lamports(&main.draft), lamports.max(world.rent(PolicyDraft::bytes(3))));
    }
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let world = World::new();
    for call in [
        proposal(&world, 2, 0).open(),
        world.propose(PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() }).open(),
    ] {
        attack(
            &world,
            // Named as the refund address too, the payer would be writable by that.
            &call.with(5, Who::Stranger.key()),
            &[
                signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
                any_signer("payer"),
                operator(PurserError::Unauthorized).but(&["twin_operator"], PurserError::WrongOperator),
                agent(ErrorCode::ConstraintSeeds).but(&["truncated_agent"], ErrorCode::ConstraintSeeds),
                address("draft", ErrorCode::ConstraintSeeds)
                    .but(&["system_program", "purser_program", "clock"], ErrorCode::ConstraintSeeds),
                address("rent_refund", PurserError::WrongRentRefund).accepts(&WALLETS),
                program("system_program"),
            ],
        );
    }
}
