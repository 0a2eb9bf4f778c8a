use anchor_lang::error::ErrorCode;
use anchor_lang::prelude::{AccountMeta, Pubkey};
use anchor_lang::Event;
use anchor_spl::token;
use purser::error::PurserError;
use purser::events::{AgentCreated, PolicySet};
use purser::state::{Agent, StoredPolicy};
use purser::{PolicyArgs, Rules};
use purser_policy::{PaidTags, SpendWindow, TagBucket};
use solana_account::Account;
use solana_instruction_error::InstructionError;

use crate::support::{
    address, all_rules, any_signer, assert_policy, attack, entries, ignored, keys, only, open_policy,
    operator, program, record, signer, token_account, Call, Expected, Payment, Place, TokenAccountState, Who,
    World, BALANCE, MINT, NOON, PAYEE, PAYEE_OWNER, WALLETS,
};

const ID: [u8; 16] = *b"a fresh account!";
const TOKEN_ACCOUNT_BYTES: usize = 165;

fn fresh() -> Place {
    Place::new(Who::Admin, 0, ID)
}

fn create() -> Call {
    fresh().create_agent(ID)
}

fn create_with(policy: &PolicyArgs) -> Call {
    fresh().create_agent_with(ID, policy.clone())
}

/// The expected agent, with the stored policy `policy`.
fn expected(now: i64, policy: StoredPolicy) -> Agent {
    let place = fresh();
    let seeds: [&[u8]; 3] = [b"agent", place.operator.as_ref(), &ID];
    let (address, bump) = Pubkey::find_program_address(&seeds, &purser::ID);
    assert_eq!(address, place.agent);
    Agent {
        version: 4,
        bump,
        halted_by: 0,
        reserved: 0,
        voided_at: 0,
        policy_version: 1,
        operator: place.operator,
        agent_id: ID,
        token_account: place.source,
        rent_refund: Who::Payer.key(),
        policy_updated_at: now.clamp(0, u32::MAX.into()) as u32,
        policy,
        window: [0; 62],
        payments: 0,
    }
}

#[track_caller]
fn assert_created(world: &World, now: i64) {
    assert_created_with(world, now, &open_policy());
}

/// Checks the agent and its token account.
#[track_caller]
fn assert_created_with(world: &World, now: i64, policy: &PolicyArgs) {
    let place = fresh();
    let account = world.account(&place.agent);
    assert_eq!(account.owner, purser::ID);
    let (wallets, token_accounts) = entries(&policy.allowlist);
    assert_eq!(account.data.len(), Agent::BYTES + 192 + 32 * (wallets.len() + token_accounts.len()));
    let view = Agent::read(&account.data).expect("an agent");
    assert_policy(view.policy(), policy);
    let agent = view.agent;
    assert_eq!(agent, expected(now, agent.policy));
    assert_eq!(agent.window(), &SpendWindow::EMPTY);
    assert_eq!((agent.payments, view.tags()), (0, Some(PaidTags(&[TagBucket::EMPTY]))));
    assert_eq!(world.account(&place.source).owner, token::ID);
    let token = world.token(&place.source);
    assert_eq!((token.mint, token.owner, token.state), (MINT, place.agent, TokenAccountState::Initialized));
    assert!(token.delegate.is_none() && token.close_authority.is_none() && token.is_native.is_none());
}

/// Policies from empty to complete.
fn policies() -> Vec<PolicyArgs> {
    let full = PolicyArgs {
        rules: Rules { max_daily_spend: Some(u64::MAX), paused: true, ..all_rules() },
        allowlist: only(&keys(3), &keys(2)),
    };
    let list = |allowlist| PolicyArgs { allowlist, ..open_policy() };
    vec![
        open_policy(),
        full,
        PolicyArgs { rules: Rules { max_daily_spend: Some(0), ..Rules::OPEN }, ..open_policy() },
        list(only(&[], &[])),
        list(only(&[PAYEE_OWNER], &[])),
        list(only(&[], &keys(12))),
    ]
}

#[test]
fn an_agent_is_created_with_its_policy_its_token_account_and_two_events() {
    for who in [Who::PolicyAuthority, Who::Admin] {
        for policy in policies() {
            let mut world = World::new();
            let (own, before) = (world.lamports(&who.key()), world.lamports(&Who::Payer.key()));
            let outcome = world.accept(&create_with(&policy).signed_by(who));
            assert_created_with(&world, NOON, &policy);
            assert_eq!(world.balance(&fresh().source), 0);
            let created = AgentCreated {
                operator: world.main.operator,
                agent: fresh().agent,
                agent_id: ID,
                token_account: fresh().source,
            };
            let set = PolicySet {
                operator: world.main.operator,
                agent: fresh().agent,
                policy_version: 1,
                policy: record(&policy),
                signer: who.key(),
            };
            outcome.emitted_all(&[created.data(), set.data()]);
            let bytes = world.account(&fresh().agent).data.len();
            let rent = world.rent(bytes) + world.rent(TOKEN_ACCOUNT_BYTES);
            assert_eq!(world.lamports(&Who::Payer.key()), before - rent);
            assert_eq!(world.lamports(&who.key()), own);
        }
    }
}

#[test]
fn the_first_transfer_obeys_the_policy_that_the_agent_began_with() {
    for (policy, answer) in [
        (
            PolicyArgs { rules: Rules { max_single_transfer: Some(4), ..Rules::OPEN }, ..open_policy() },
            PurserError::SingleLimitExceeded,
        ),
        (
            PolicyArgs { rules: Rules { max_daily_spend: Some(4), ..Rules::OPEN }, ..open_policy() },
            PurserError::DailyLimitExceeded,
        ),
        (
            PolicyArgs { rules: Rules { require_memo: true, ..Rules::OPEN }, ..open_policy() },
            PurserError::MemoRequired,
        ),
        (PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() }, PurserError::Paused),
        (PolicyArgs { allowlist: only(&keys(3), &[]), ..open_policy() }, PurserError::RecipientNotAllowed),
    ] {
        let mut world = World::new();
        let place = fresh();
        world.accept(&create_with(&policy));
        world.fund(place.source, 10);
        world.refuse(&place.transfer(Payment { amount: 5, ..Payment::default() }), answer);
    }
    let mut world = World::new();
    let place = fresh();
    let policy = PolicyArgs {
        rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN },
        allowlist: only(&[], &[PAYEE]),
    };
    world.accept(&create_with(&policy));
    world.fund(place.source, 10);
    world.accept(&place.transfer(Payment { amount: 5, ..Payment::default() }));
}

#[test]
fn a_bad_list_is_refused_before_anything_is_paid() {
    let mut world = World::new();
    // The refusal names the list even if the payer cannot pay for the account.
    world.edit(Who::Payer.key(), |account| account.lamports = 1_000_000);
    let [one, two] = [Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32])];
    for list in [vec![two, one], vec![one, one]] {
        for allowlist in [only(&list, &[]), only(&[], &list)] {
            let call = create_with(&PolicyArgs { allowlist, ..open_policy() });
            world.refuse(&call, PurserError::AllowlistNotSorted);
        }
    }
    world.refuse(&create(), Expected::TOO_FEW_LAMPORTS);
}

#[test]
fn where_loosened_policies_wait_the_admin_alone_creates_an_agent_where_usdc_lies() {
    let mut world = World::new();
    let place = fresh();
    let early = token_account(token::ID, MINT, place.agent, 1, TokenAccountState::Initialized);
    world.put(place.source, early);
    world.clone().accept(&create());
    world.delay(1);
    let nobody = PolicyArgs { allowlist: only(&[], &[]), ..open_policy() };
    for (policy, pays) in [
        (open_policy(), true),
        (
            PolicyArgs {
                rules: Rules { max_daily_spend: Some(1), require_memo: true, ..Rules::OPEN },
                ..open_policy()
            },
            true,
        ),
        (PolicyArgs { allowlist: only(&[PAYEE_OWNER], &[]), ..open_policy() }, true),
        (
            PolicyArgs {
                allowlist: only(&[], &keys(12)),
                rules: Rules { max_single_transfer: Some(1), ..Rules::OPEN },
            },
            true,
        ),
        // Nothing passes these, and to loosen them waits.
        (PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() }, false),
        (PolicyArgs { rules: Rules { max_daily_spend: Some(0), ..Rules::OPEN }, ..open_policy() }, false),
        (PolicyArgs { rules: Rules { max_single_transfer: Some(0), ..Rules::OPEN }, ..open_policy() }, false),
        (nobody, false),
    ] {
        world.clone().accept(&create_with(&policy).signed_by(Who::Admin));
        if pays {
            world.refuse(&create_with(&policy), PurserError::AccountNotEmpty);
            continue;
        }
        let mut world = world.clone();
        world.accept(&create_with(&policy));
        assert!(world
            .send(&[place.transfer(Payment { amount: 1, ..Payment::default() }).instruction()], Who::FeePayer)
            .is_err());
        world.refuse(&place.set_policy(1, open_policy()), PurserError::LooseningMustWait);
    }
    world.fund(place.source, 0);
    world.accept(&create());
}

#[test]
fn an_agent_costs_at_most_the_goal_at_5080_lamports_a_byte() {
    let overhead = 128;
    let bytes = (Agent::BYTES + 192 + overhead) + (TOKEN_ACCOUNT_BYTES + overhead);
    assert!(bytes * 5_080 <= 6_500_000, "{} lamports", bytes * 5_080);
}

#[test]
fn nobody_else_creates_an_agent() {
    let mut world = World::new();
    for who in Who::but(&[Who::PolicyAuthority, Who::Admin]) {
        world.refuse_as(&format!("{who:?}"), &create().signed_by(who), PurserError::Unauthorized);
    }
}

#[test]
fn an_agent_is_created_once_and_keeps_its_state() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.transfer(Payment::default()));
    world.refuse(&main.create_agent(crate::support::AGENT_ID), Expected::ALREADY_IN_USE);
}

#[test]
fn lamports_sent_ahead_do_not_block_an_agent_address() {
    for lamports in [1, 890_880, 1_000_000_000] {
        let mut world = World::new();
        let place = fresh();
        for address in [place.agent, place.source] {
            world.put(address, Account { lamports, ..Account::default() });
        }
        world.accept(&create());
        assert_created(&world, NOON);
        assert_eq!(world.lamports(&place.agent), lamports.max(world.rent(Agent::BYTES + 192)));
        assert_eq!(world.lamports(&place.source), lamports.max(world.rent(TOKEN_ACCOUNT_BYTES)));
    }
}

#[test]
fn a_token_account_that_stands_there_already_is_taken_over_with_its_usdc() {
    let mut world = World::new();
    let place = fresh();
    let early = token_account(token::ID, MINT, place.agent, 55, TokenAccountState::Initialized);
    world.put(place.source, early);
    world.accept(&create());
    assert_created(&world, NOON);
    assert_eq!(world.balance(&place.source), 55);
    world.accept(&place.transfer(Payment { amount: 55, ..Payment::default() }));
}

#[test]
fn a_token_account_of_somebody_else_or_another_mint_at_that_address_is_refused() {
    let mut world = World::new();
    let place = fresh();
    let initialized = TokenAccountState::Initialized;
    let owner = Who::Stranger.key();
    world.put(place.source, token_account(token::ID, MINT, owner, 0, initialized));
    // "Associated token account owner does not match address derivation".
    world.refuse(&create(), Expected(InstructionError::Custom(0)));
    let other = token_account(token::ID, crate::support::OTHER_MINT, place.agent, 0, initialized);
    world.put(place.source, other);
    world.refuse(&create(), InstructionError::InvalidAccountData);
}

#[test]
fn an_agent_is_created_whatever_the_clock_says() {
    for now in [i64::MIN, -1, 0, 1, i64::MAX] {
        let mut world = World::new();
        world.set_clock(now);
        world.accept(&create());
        assert_created(&world, now);
    }
}

#[test]
fn every_agent_id_has_its_own_agent() {
    let mut world = World::new();
    for id in [[0; 16], [1; 16], [0xff; 16]] {
        let place = Place::new(Who::Admin, 0, id);
        world.accept(&place.create_agent(id));
        let agent = Agent::read(&world.account(&place.agent).data).expect("an agent").agent;
        assert_eq!(agent.agent_id, id);
    }
    assert_eq!(world.balance(&world.main.source), BALANCE);
}

#[test]
fn an_agent_id_that_is_not_in_the_address_is_refused() {
    let mut world = World::new();
    world.refuse(&fresh().create_agent(*b"some other agent"), ErrorCode::ConstraintSeeds);
    for bytes in 8..create().data.len() {
        let mut short = create();
        short.data.truncate(bytes);
        world.refuse_as(&format!("{bytes} bytes"), &short, ErrorCode::InstructionDidNotDeserialize);
    }
}

#[test]
fn another_token_account_is_refused_even_with_the_right_one_at_hand() {
    let mut world = World::new();
    let second = token_account(token::ID, MINT, fresh().agent, 0, TokenAccountState::Initialized);
    let address = Pubkey::new_from_array([9; 32]);
    world.put(address, second);
    let mut call = create().with(4, address);
    call.accounts.push(AccountMeta::new(fresh().source, false));
    world.refuse(&call, InstructionError::MissingAccount);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    // Named as the refund address too, the payer would be writable by that.
    attack(
        &World::new(),
        &create().with(6, Who::Admin.key()).with(7, Who::Stranger.key()),
        &[
            signer("authority", PurserError::Unauthorized).accepts(&["admin"]),
            any_signer("payer"),
            operator(ErrorCode::ConstraintSeeds).but(&["truncated_operator"], ErrorCode::ConstraintSeeds),
            address("agent", ErrorCode::ConstraintSeeds)
                .but(&["system_program", "purser_program", "clock"], ErrorCode::ConstraintSeeds),
            address("token_account", InstructionError::MissingAccount),
            address("usdc_mint", PurserError::WrongMint),
            address("rent_refund", PurserError::WrongRentRefund).accepts(&WALLETS).accepts(&["draft"]),
            ignored("closed_rent_refund").but(&["system_program", "clock"], ErrorCode::ConstraintMut),
            program("token_program"),
            program("associated_token_program"),
            program("system_program"),
        ],
    );
}
