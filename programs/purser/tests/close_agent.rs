use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::events::AgentClosed;
use purser::state::Agent;
use purser::AllowlistArg;
use purser_policy::{RecentTags, SpendWindow};

use crate::support::{
    address, agent, attack, operator, program, signer, Payment, TokenAccountState, Who, World, AGENT_ID,
    BALANCE, DAY, NOON, PAYEE,
};

fn emptied() -> World {
    let mut world = World::new();
    let call = world.main.withdraw(BALANCE, PAYEE);
    world.accept(&call);
    world
}

/// The agent paid its whole balance at noon.
fn spent() -> World {
    let mut world = World::new();
    let call = world.main.transfer(Payment { amount: BALANCE, tag: 77, ..Payment::default() });
    world.accept(&call);
    world
}

#[test]
fn closing_an_empty_agent_gives_all_rent_to_the_admin_and_says_so() {
    let mut world = emptied();
    let main = world.main;
    world.policy(|policy| policy.allowlist = AllowlistArg::Only(vec![PAYEE]));
    let rent = world.lamports(&main.agent) + world.lamports(&main.source);
    assert_eq!(world.lamports(&main.agent), world.rent(Agent::BYTES + 32));
    let before = world.lamports(&Who::Admin.key());
    let outcome = world.accept(&main.close_agent());
    assert_eq!(world.accounts(&[main.agent, main.source]), [None, None]);
    assert_eq!(world.lamports(&Who::Admin.key()), before + rent);
    outcome.emitted(AgentClosed { operator: main.operator, agent: main.agent, agent_id: AGENT_ID });
}

#[test]
fn nobody_but_the_admin_closes_an_agent() {
    let mut world = emptied();
    for who in Who::ALL.into_iter().filter(|who| *who != Who::Admin) {
        let call = world.main.close_agent().signed_by(who);
        world.refuse_as(&format!("{who:?}"), &call, PurserError::Unauthorized);
    }
}

#[test]
fn an_agent_that_holds_usdc_is_not_closed() {
    let mut world = World::new();
    for balance in [1, BALANCE, u64::MAX] {
        world.fund(world.main.source, balance);
        let call = world.main.close_agent();
        world.refuse(&call, PurserError::AccountNotEmpty);
    }
}

#[test]
fn closing_and_creating_anew_cannot_reset_the_window() {
    let mut world = spent();
    let main = world.main;
    for now in [NOON, NOON + 1, NOON + DAY - 1, NOON - 1, 0, i64::MIN] {
        world.set_clock(now);
        world.refuse_as(&format!("at {now}"), &main.close_agent(), PurserError::SpendWindowNotEmpty);
    }
    world.set_clock(NOON + DAY);
    world.accept(&main.close_agent());
    world.accept(&main.create_agent(AGENT_ID));
    let agent = world.agent();
    assert_eq!((agent.window(), agent.tags()), (&SpendWindow::EMPTY, &RecentTags::EMPTY));
    assert_eq!((agent.policy_version, agent.flags), (1, 0));
    // By then the tag would be free again anyway.
    world.fund(main.source, BALANCE);
    world.accept(&main.transfer(Payment { tag: 77, ..Payment::default() }));
}

#[test]
fn a_closed_agent_answers_nothing_and_pays_nobody() {
    let mut world = emptied();
    let main = world.main;
    world.accept(&main.close_agent());
    let gone = ErrorCode::AccountOwnedByWrongProgram;
    world.refuse(&main.close_agent(), gone);
    world.refuse(&main.set_paused(true), gone);
    world.refuse(&main.withdraw(1, PAYEE), gone);
    world.refuse(&main.set_policy(World::open_policy(), None), gone);
    world.refuse(&main.transfer(Payment::default()), PurserError::UnknownLayout);
}

#[test]
fn closing_and_creating_anew_in_one_transaction_cannot_reset_the_window_either() {
    let mut world = spent();
    let main = world.main;
    let calls = [main.close_agent(), main.create_agent(AGENT_ID)].map(|call| call.instruction());
    assert!(world.send(&calls, Who::FeePayer).is_err());
    world.set_clock(NOON + DAY);
    world.accept_all(&calls, Who::FeePayer);
    assert_eq!(world.agent().window(), &SpendWindow::EMPTY);
}

#[test]
fn lamports_sent_in_the_closing_transaction_do_not_keep_an_agent_alive() {
    let mut world = emptied();
    let main = world.main;
    let gift = anchor_lang::solana_program::system_instruction::transfer(
        &Who::Stranger.key(),
        &main.agent,
        1_000_000_000,
    );
    world.accept_all(&[main.close_agent().instruction(), gift], Who::FeePayer);
    let left = world.account(&main.agent);
    assert_eq!((left.owner, left.data.len()), (anchor_lang::system_program::ID, 0));
    world.accept(&main.create_agent(AGENT_ID));
    assert_eq!(world.agent().policy_version, 1);
}

#[test]
fn a_frozen_token_account_keeps_its_agent() {
    let mut world = emptied();
    let source = world.main.source;
    world.edit_token(source, |state| state.state = TokenAccountState::Frozen);
    let call = world.main.close_agent();
    // A frozen account that is empty may be closed, says the token program: nothing is lost.
    world.accept(&call);
    assert_eq!(world.svm.get_account(&source), None);
}

#[test]
fn every_wrong_account_in_every_slot_is_refused() {
    let mut world = emptied();
    let sibling = world.sibling.source;
    world.fund(sibling, 0);
    attack(
        &world,
        &world.main.close_agent(),
        &[
            signer("admin", PurserError::Unauthorized),
            operator(PurserError::WrongOperator),
            agent(PurserError::WrongOperator).but(&["sibling_agent"], PurserError::WrongSource),
            address("token_account", PurserError::WrongSource),
            program("token_program"),
        ],
    );
}
