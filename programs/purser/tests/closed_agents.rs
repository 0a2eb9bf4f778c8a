//! What a closed agent leaves at its address: whoever listed that address meant the account that it was.

use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::state::{Agent, ClosedAgent};
use purser::{OperatorUpdate, PolicyArgs, Rules};
use purser_policy::SpendWindow;

use crate::support::{
    only, open_policy, token_account_address, Expected, Payment, Who, World, BALANCE, DAY, MINT, NOON, PAYEE,
};

const SIBLING_ID: [u8; 16] = *b"a second account";

/// The main agent pays its closed sibling and nobody else: by its wallet, or by its token account.
fn listed(delay: u32, by_wallet: bool) -> World {
    let mut world = World::new();
    let sibling = world.sibling;
    world.fund(sibling.source, 0);
    let (wallet, token_account) = ([sibling.agent], [sibling.source]);
    world.policy(|policy| {
        policy.allowlist = if by_wallet { only(&wallet, &[]) } else { only(&[], &token_account) };
    });
    world.accept(&sibling.close_agent());
    world.delay(delay);
    world
}

#[test]
fn a_closed_account_on_a_list_does_not_open_that_list_to_the_policy_and_transfer_keys() {
    for delay in [0, 3_600] {
        for by_wallet in [false, true] {
            let mut world = listed(delay, by_wallet);
            let sibling = world.sibling;
            for (policy, held) in [
                (open_policy(), None),
                (open_policy(), Some(0)),
                (PolicyArgs { rules: Rules { paused: true, ..Rules::OPEN }, ..open_policy() }, Some(1)),
                (PolicyArgs { allowlist: only(&[], &[]), ..open_policy() }, None),
            ] {
                let mut world = world.clone();
                if let Some(held) = held {
                    // Anyone may make the token account of any address again.
                    let empty = world.account(&world.main.source);
                    world.put(sibling.source, empty);
                    world.edit_token(sibling.source, |token| {
                        (token.owner, token.amount) = (sibling.agent, held)
                    });
                }
                let anew = sibling.create_agent_with(SIBLING_ID, policy.clone());
                world.refuse(&anew, PurserError::AgentClosed);
                for other in Who::but(&[Who::Admin, Who::PolicyAuthority]) {
                    world.refuse(&anew.clone().signed_by(other), PurserError::Unauthorized);
                }
            }
            let pay = world.main.transfer(Payment { to: sibling.source, ..Payment::default() });
            assert!(world.send(&[pay.instruction()], Who::FeePayer).is_err());

            // The admin alone knows what it does.
            world.accept(&sibling.create_agent(SIBLING_ID).signed_by(Who::Admin));
            world.accept(&world.main.transfer(Payment { to: sibling.source, ..Payment::default() }));
        }
    }
}

#[test]
fn closing_and_creating_anew_in_one_transaction_takes_the_admins_signature_for_both() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.withdraw(BALANCE, PAYEE));
    let id = crate::support::AGENT_ID;
    let by =
        |who: Who| [main.close_agent(), main.create_agent(id).signed_by(who)].map(|call| call.instruction());
    assert!(world.send(&by(Who::PolicyAuthority), Who::FeePayer).is_err());
    world.accept_all(&by(Who::Admin), Who::FeePayer);
    assert_eq!(world.agent().policy_version, 1);
}

#[test]
fn a_closed_agent_is_48_bytes_of_which_only_the_second_is_the_agents() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| policy.allowlist = only(&[], &[PAYEE]));
    world.accept(&main.transfer(Payment { amount: BALANCE, memo: "m", ..Payment::default() }));
    world.set_clock(NOON + DAY + 3_600);
    world.accept(&main.close_agent());
    let left = world.account(&main.agent);
    assert_eq!((left.data.len(), left.lamports), (48, world.rent(48)));
    assert_eq!(left.data[8..12], [4, 0, 0, 0]);
    assert_eq!(left.data[12..16], (NOON as u32 + 90_000).to_le_bytes());
    assert_eq!(left.data[16..], Who::Admin.key().to_bytes());
    assert!(Agent::read(&left.data).is_none() && ClosedAgent::read(&left.data).is_some());
}

#[test]
fn the_admin_creates_over_it_with_nothing_of_the_old_agent_in_the_new_one() {
    let mut world = listed(3_600, true);
    let sibling = world.sibling;
    let kept = world.lamports(&sibling.agent);
    let before = [Who::Payer, Who::Admin].map(|who| world.lamports(&who.key()));
    let policy = PolicyArgs {
        rules: Rules { max_daily_spend: Some(5), ..Rules::OPEN },
        allowlist: only(&[PAYEE], &[]),
    };
    world.accept(&sibling.create_agent_with(SIBLING_ID, policy).signed_by(Who::Admin));
    let data = world.account(&sibling.agent).data;
    let agent = Agent::read(&data).expect("an agent").agent;
    assert_eq!((agent.policy_version, agent.halted_by, agent.payments), (1, 0, 0));
    // Its clock goes on where that of the old one was.
    assert_eq!((*agent.window(), agent.payments), (SpendWindow::beginning(NOON), 0));
    let rent = world.rent(Agent::BYTES + 192 + 32) + world.rent(165);
    let after = [Who::Payer, Who::Admin].map(|who| world.lamports(&who.key()));
    assert_eq!(after, [before[0] - rent, before[1] + kept]);
    assert_eq!(sibling.source, token_account_address(&sibling.agent, &MINT));
    // And an agent that stands there is not created once more, by nobody.
    for who in [Who::Admin, Who::PolicyAuthority] {
        world.refuse(&sibling.create_agent(SIBLING_ID).signed_by(who), Expected::ALREADY_IN_USE);
    }
}

#[test]
fn what_a_closed_agent_holds_goes_to_the_admin_that_closed_it_also_after_another_one_took_over() {
    let mut world = listed(0, true);
    let (main, sibling) = (world.main, world.sibling);
    // Sent to it by whomever: `reclaim_rent` gives that to the same wallet.
    world.edit(sibling.agent, |account| account.lamports += 5_000);
    let kept = world.lamports(&sibling.agent);
    world.update(OperatorUpdate { pending_admin: Some(Who::Stranger.key()), ..OperatorUpdate::default() });
    world.accept(&main.accept_admin().signed_by(Who::Stranger));
    let anew = sibling.create_agent(SIBLING_ID).signed_by(Who::Stranger);
    for other in [Who::Stranger.key(), Who::Payer.key(), PAYEE, purser::ID] {
        world.refuse(&anew.clone().with(7, other), PurserError::WrongRentRefund);
    }
    let before = [Who::Admin, Who::Stranger].map(|who| world.lamports(&who.key()));
    world.accept(&anew);
    let after = [Who::Admin, Who::Stranger].map(|who| world.lamports(&who.key()));
    assert_eq!(after, [before[0] + kept, before[1]]);
    let bytes = world.account(&sibling.agent).data.len();
    assert_eq!(world.lamports(&sibling.agent), world.rent(bytes));
}

#[test]
fn a_closed_agent_is_no_agent_to_any_instruction() {
    let mut world = listed(0, true);
    let sibling = world.sibling;
    let gone = ErrorCode::AccountDiscriminatorMismatch;
    for call in [
        sibling.set_policy(1, open_policy()),
        sibling.set_paused(true),
        sibling.halt(),
        sibling.resume(),
        sibling.withdraw(1, PAYEE),
        sibling.close_agent(),
        sibling.close_draft([0; 32]),
        sibling.write_draft([0; 32], 0, &[]),
        sibling.apply_draft([0; 32]),
    ] {
        world.refuse(&call, gone);
    }
    world.refuse(&sibling.transfer(Payment::default()), PurserError::UnknownLayout);
    world.refuse(&world.main.close_agent().with(2, sibling.agent), ErrorCode::ConstraintSeeds);
}
