//! The byte layout of accounts, and how the program treats accounts with another layout.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Discriminator;
use purser::error::PurserError;
use purser::instruction;
use purser::state::{Agent, Approver, Budget, Grant, Operator, PolicyDraft};
use purser::{Bounds, GrantPayee, GrantTerms, OperatorUpdate, PolicyArgs};

use crate::support::{
    all_rules, attack_layouts, keys, only, open_policy, stored, terms, Call, Expected, Payment, Who, World,
    AGENT_ID, BALANCE, MINT, NOON, PAYEE,
};

/// Reads fields in order.
struct Fields(Vec<u8>);

impl Fields {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field: Vec<u8> = self.0.drain(..N).collect();
        field.try_into().expect("N bytes")
    }

    fn key(&mut self) -> Pubkey {
        Pubkey::new_from_array(self.take())
    }
}

fn all_fields() -> PolicyArgs {
    PolicyArgs { rules: all_rules(), allowlist: only(&keys(2), &[PAYEE]) }
}

#[test]
fn an_operator_is_480_bytes_in_this_order() {
    let mut world = World::new();
    world.update(OperatorUpdate {
        pending_admin: Some(Who::NewAdmin.key()),
        transfer_authorities: Some(vec![Who::TransferAuthority.key(), Who::Second.key()]),
        loosening_delay_seconds: Some(2_592_000),
        ..OperatorUpdate::default()
    });
    world.set_clock(NOON + 4);
    world.accept(&world.main.set_approver(Who::Stranger, 1, 2));
    world.accept(&world.main.remove_approver(Who::Stranger));
    world.accept(&world.main.halt_operator());
    let data = world.account(&world.main.operator).data;
    assert_eq!((data.len(), Operator::BYTES), (480, 480));
    let mut fields = Fields(data);
    assert_eq!(fields.take::<8>(), Operator::DISCRIMINATOR);
    let bump =
        Pubkey::find_program_address(&[b"operator", Who::Admin.key().as_ref(), &[0; 8]], &purser::ID).1;
    assert_eq!(fields.take(), [4, bump, 3, 0]);
    assert_eq!(fields.take(), 2_592_000u32.to_le_bytes());
    assert_eq!(fields.take(), 0u64.to_le_bytes());
    for key in [
        Who::Admin.key(),
        Who::Admin.key(),
        Who::NewAdmin.key(),
        Who::PolicyAuthority.key(),
        Who::Guardian.key(),
        MINT,
        Who::TransferAuthority.key(),
        Who::Second.key(),
    ] {
        assert_eq!(fields.key(), key);
    }
    assert_eq!(fields.take(), [0; 6 * 32]);
    assert_eq!(fields.take(), (NOON + 4).to_le_bytes());
    assert!(fields.0.is_empty());
}

#[test]
fn an_agent_is_664_bytes_and_32_for_each_entry_and_192_for_16_tags_in_this_order() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| *policy = all_fields());
    world.set_clock(NOON + 5);
    for (tag, second) in [(11, 5), (12, 6)] {
        world.set_clock(NOON + second);
        world.accept(&main.transfer(Payment { tag, amount: 3, memo: "m", ..Payment::default() }));
    }
    world.accept(&main.void_grants());
    world.accept(&main.halt().signed_by(Who::PolicyAuthority));
    let data = world.account(&main.agent).data;
    assert_eq!((data.len(), Agent::BYTES), (664 + 3 * 32 + 192, 664));
    let mut fields = Fields(data);
    assert_eq!(fields.take::<8>(), Agent::DISCRIMINATOR);
    let bump = Pubkey::find_program_address(&[b"agent", main.operator.as_ref(), &AGENT_ID], &purser::ID).1;
    assert_eq!(fields.take(), [4, bump, 2, 0]);
    assert_eq!(fields.take(), 2u32.to_le_bytes());
    assert_eq!(fields.key(), main.operator);
    assert_eq!(fields.take(), AGENT_ID);
    assert_eq!((fields.key(), fields.key()), (main.source, Who::Payer.key()));
    assert_eq!([fields.take(), fields.take()], [NOON as u32, NOON as u32 + 6].map(u32::to_le_bytes));
    let mut policy = stored(&all_fields());
    // One bucket, and one token account behind the two wallets.
    (policy[20], policy[22]) = (1, 1);
    assert_eq!(fields.take(), policy);
    // The spend window: its newest second, the number of spans, and 40 spans.
    assert_eq!(fields.take(), (NOON + 6).to_le_bytes());
    assert_eq!(fields.take(), 2u64.to_le_bytes());
    let _spans: [u8; 40 * 12] = fields.take();
    // The total number of payments.
    assert_eq!(fields.take(), 2u64.to_le_bytes());
    let entries: Vec<Pubkey> = keys(2).into_iter().chain([PAYEE]).collect();
    for entry in entries {
        assert_eq!(fields.key(), entry);
    }
    // 16 tags, their 16 seconds.
    assert_eq!([fields.take(), fields.take()], [11u64, 12].map(u64::to_le_bytes));
    assert_eq!(fields.take(), [0; 14 * 8]);
    let seconds = [NOON as u32 + 5, NOON as u32 + 6];
    assert_eq!([fields.take(), fields.take()], seconds.map(u32::to_le_bytes));
    assert_eq!(fields.0, [0; 14 * 4]);
}

#[test]
fn a_draft_is_152_bytes_and_32_for_each_entry_in_this_order() {
    let mut world = World::new();
    let main = world.main;
    world.policy(|policy| *policy = all_fields());
    world.delay(7);
    for sealed in [false, true] {
        let mut world = world.clone();
        let proposal = world.propose(all_fields());
        world.accept(&proposal.open());
        world.set_clock(NOON + 9);
        world.accept(&proposal.write(0, if sealed { 3 } else { 2 }));
        let data = world.account(&main.draft).data;
        assert_eq!((data.len(), PolicyDraft::BYTES), (152 + 3 * 32, 152));
        let mut fields = Fields(data);
        assert_eq!(fields.take::<8>(), PolicyDraft::DISCRIMINATOR);
        let bump = Pubkey::find_program_address(&[b"draft", main.agent.as_ref()], &purser::ID).1;
        assert_eq!(fields.take(), [4, bump, 3, 0, if sealed { 3 } else { 2 }, 0, u8::from(sealed), 0]);
        assert_eq!(fields.take(), (if sealed { NOON + 9 } else { 0i64 }).to_le_bytes());
        assert_eq!(fields.take(), 2u32.to_le_bytes());
        assert_eq!(fields.take(), (if sealed { 7u32 } else { 0 }).to_le_bytes());
        assert_eq!((fields.key(), fields.key()), (main.agent, Who::DraftPayer.key()));
        assert_eq!(fields.take(), proposal.args.hash);
        assert_eq!(fields.take(), stored(&all_fields()));
        let mut entries: Vec<u8> = proposal.entries.iter().flat_map(Pubkey::to_bytes).collect();
        if !sealed {
            entries[64..].fill(0);
        }
        assert_eq!(fields.0, entries);
    }
}

#[test]
fn a_grant_is_224_bytes_in_this_order() {
    let mut world = World::new();
    let main = world.main;
    world.delay(3_600);
    let payee = GrantPayee::TokenAccount(PAYEE);
    let terms =
        GrantTerms { payee, tag: Some(7), policy_version: Some(9), memo_hash: Some([8; 32]), ..terms() };
    let terms = GrantTerms { beyond_single_limit: false, ..terms };
    world.accept(&main.open_grant(5, terms));
    let data = world.account(&main.grant(5)).data;
    assert_eq!((data.len(), Grant::BYTES), (224, 224));
    let mut fields = Fields(data);
    assert_eq!(fields.take::<8>(), Grant::DISCRIMINATOR);
    let seeds: [&[u8]; 3] = [b"grant", main.agent.as_ref(), &5u64.to_le_bytes()];
    let bump = Pubkey::find_program_address(&seeds, &purser::ID).1;
    assert_eq!(fields.take(), [4, bump, 0b1101, 0]);
    assert_eq!(fields.take(), 9u32.to_le_bytes());
    assert_eq!([fields.take(), fields.take()], [5, terms.amount].map(u64::to_le_bytes));
    assert_eq!(fields.take(), terms.expires_at.to_le_bytes());
    assert_eq!(fields.take(), 7u64.to_le_bytes());
    for key in [main.operator, main.agent, PAYEE, Who::DraftPayer.key()] {
        assert_eq!(fields.key(), key);
    }
    assert_eq!(fields.take(), NOON.to_le_bytes());
    assert_eq!(fields.take(), 3_600u32.to_le_bytes());
    assert_eq!(fields.take(), [0; 4]);
    assert_eq!(fields.take(), [8; 32]);
    assert!(fields.0.is_empty());
}

#[test]
fn an_approver_is_592_bytes_in_this_order() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_approver(Who::Stranger, 5, 6));
    let data = world.account(&main.approver(Who::Stranger)).data;
    assert_eq!((data.len(), Approver::BYTES), (592, 592));
    let mut fields = Fields(data);
    assert_eq!(fields.take::<8>(), Approver::DISCRIMINATOR);
    let key = Who::Stranger.key();
    let seeds: [&[u8]; 3] = [b"approver", main.operator.as_ref(), key.as_ref()];
    let bump = Pubkey::find_program_address(&seeds, &purser::ID).1;
    assert_eq!(fields.take(), [4, bump, 0, 0, 0, 0, 0, 0]);
    assert_eq!([fields.take(), fields.take()], [5, 6].map(u64::to_le_bytes));
    assert_eq!((fields.key(), fields.key()), (main.operator, key));
    assert_eq!(fields.0, [0; 496]);
}

#[test]
fn a_budget_is_856_bytes_in_this_order() {
    let mut world = World::new();
    let main = world.main;
    world.accept(&main.set_budget(5, 6, Some(7)));
    world.delay(3_600);
    world.accept(&main.set_budget(5, 8, None).signed_by(Who::PolicyAuthority));
    let data = world.account(&main.budget(5)).data;
    assert_eq!((data.len(), Budget::BYTES), (856, 856));
    let mut fields = Fields(data);
    assert_eq!(fields.take::<8>(), Budget::DISCRIMINATOR);
    let seeds: [&[u8]; 3] = [b"budget", main.operator.as_ref(), &5u64.to_le_bytes()];
    let bump = Pubkey::find_program_address(&seeds, &purser::ID).1;
    assert_eq!(fields.take(), [4, bump, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fields.take(), 5u64.to_le_bytes());
    assert_eq!(fields.key(), main.operator);
    for number in [6, 7, 8, u64::MAX] {
        assert_eq!(fields.take(), number.to_le_bytes());
    }
    assert_eq!(fields.take(), NOON.to_le_bytes());
    assert_eq!(fields.take(), 3_600u64.to_le_bytes());
    assert_eq!(fields.0, [0; 496 + 256]);
}

#[test]
fn hash_of_a_proposal_is_the_one_that_clients_compute() {
    for policy in [open_policy(), all_fields(), PolicyArgs { allowlist: only(&[], &[]), ..open_policy() }] {
        let view = policy.policy().expect("in order");
        let (agent, version) = (Pubkey::new_from_array([3; 32]), 0x0102_0304);
        assert_eq!(
            PolicyDraft::hash_of(&agent, version, &view),
            crate::support::hash(&agent, version, &policy)
        );
    }
}

/// Every instruction on the main agent that would succeed, with the accounts of this program that it reads.
fn calls(world: &mut World) -> Vec<(&'static str, Call)> {
    let main = world.main;
    world.update(OperatorUpdate { pending_admin: Some(Who::NewAdmin.key()), ..OperatorUpdate::default() });
    let policy = PolicyArgs { allowlist: only(&keys(2), &[]), ..open_policy() };
    let proposal = world.propose(policy.clone());
    vec![
        ("update_operator", main.update_operator(OperatorUpdate::default())),
        ("accept_admin", main.accept_admin()),
        ("create_agent", crate::support::Place::new(Who::Admin, 0, [7; 16]).create_agent([7; 16])),
        ("set_policy", main.set_policy(1, policy)),
        ("open_draft", proposal.open()),
        ("set_paused", main.set_paused(true)),
        ("halt", main.halt()),
        ("halt_operator", main.halt_operator()),
        ("resume", main.resume()),
        ("resume_operator", main.resume_operator()),
        ("transfer", main.transfer(Payment::default())),
        ("withdraw", main.withdraw(BALANCE, PAYEE)),
        ("close_agent", main.close_agent()),
        ("open_grant", main.open_grant(1, terms())),
        ("void_grants", main.void_grants()),
        ("set_bounds", main.set_bounds(true)),
        ("set_tag_buckets", main.set_tag_buckets(2)),
        ("set_approver", main.set_approver(Who::Stranger, 1, 1)),
        ("set_budget", main.set_budget(1, 1, None)),
        ("set_rent_refund", main.set_rent_refund(Who::Stranger.key())),
    ]
}

#[test]
fn every_instruction_refuses_accounts_of_another_layout_and_of_too_few_bytes() {
    let mut world = World::new();
    for (name, call) in calls(&mut world) {
        attack_layouts(&world, name, &call);
    }
    world.accept(&world.main.open_grant(1, terms()));
    let granted = Payment { tag: 9, amount: 1, ..Payment::default() };
    attack_layouts(&world, "transfer_granted", &world.main.transfer_granted(granted, 1));
    attack_layouts(&world, "close_grant", &world.main.close_grant(1));
    world.accept(&world.main.set_approver(Who::Stranger, 1, 1));
    attack_layouts(&world, "set_approver again", &world.main.set_approver(Who::Stranger, 2, 2));
    world.accept(&world.main.set_budget(1, 9, None));
    attack_layouts(&world, "set_budget again", &world.main.set_budget(1, 8, None));
    attack_layouts(&world, "close_budget", &world.main.close_budget(1));
    {
        let (mut world, main) = (world.clone(), world.main);
        let budget = Some(main.budget(1));
        world.accept(&main.bounds(Bounds { budget, ..Bounds::default() }));
        let payment = Payment { tag: 8, amount: 1, ..Payment::default() };
        attack_layouts(&world, "transfer through a budget", &main.transfer_through(payment, None, budget));
    }
    attack_layouts(&world, "remove_approver", &world.main.remove_approver(Who::Stranger));
    let proposal = world.propose(PolicyArgs { allowlist: only(&keys(2), &[]), ..open_policy() });
    world.accept(&proposal.open());
    attack_layouts(&world, "write_draft", &proposal.write(0, 1));
    attack_layouts(&world, "the last write_draft", &proposal.write(0, 2));
    attack_layouts(&world, "close_draft", &proposal.close());
    world.accept(&proposal.write(0, 2));
    attack_layouts(&world, "apply_draft", &proposal.apply());
    attack_layouts(&world, "close_draft of a sealed one", &proposal.close());
    attack_layouts(&world, "close_agent with a draft", &world.main.close_agent());
}

#[test]
fn an_account_of_the_layout_before_is_refused() {
    let mut world = World::new();
    let call = world.main.transfer(Payment::default());
    for key in [world.main.operator, world.main.agent] {
        let mut world = world.clone();
        world.edit(key, |account| account.data[8] = 3);
        world.refuse(&call, PurserError::UnknownLayout);
    }
    let agent = world.main.agent;
    world.edit(agent, |account| account.data[8] = 3);
    assert!(Agent::read(&world.account(&agent).data).is_none());
    world.refuse(&world.main.close_agent(), Expected::from(PurserError::UnknownLayout));
}

#[test]
fn no_other_instruction_begins_like_a_transfer() {
    let transfer = instruction::Transfer::DISCRIMINATOR;
    assert_eq!(transfer.len(), 4);
    let others: [&[u8]; 27] = [
        instruction::TransferChecked::DISCRIMINATOR,
        instruction::CreateOperator::DISCRIMINATOR,
        instruction::UpdateOperator::DISCRIMINATOR,
        instruction::AcceptAdmin::DISCRIMINATOR,
        instruction::CreateAgent::DISCRIMINATOR,
        instruction::SetPolicy::DISCRIMINATOR,
        instruction::OpenDraft::DISCRIMINATOR,
        instruction::WriteDraft::DISCRIMINATOR,
        instruction::ApplyDraft::DISCRIMINATOR,
        instruction::CloseDraft::DISCRIMINATOR,
        instruction::SetPaused::DISCRIMINATOR,
        instruction::Halt::DISCRIMINATOR,
        instruction::Resume::DISCRIMINATOR,
        instruction::Withdraw::DISCRIMINATOR,
        instruction::CloseAgent::DISCRIMINATOR,
        instruction::SetRentRefund::DISCRIMINATOR,
        instruction::ReclaimRent::DISCRIMINATOR,
        instruction::OpenGrant::DISCRIMINATOR,
        instruction::CloseGrant::DISCRIMINATOR,
        instruction::VoidGrants::DISCRIMINATOR,
        instruction::TransferExtended::DISCRIMINATOR,
        instruction::SetBounds::DISCRIMINATOR,
        instruction::SetTagBuckets::DISCRIMINATOR,
        instruction::SetApprover::DISCRIMINATOR,
        instruction::RemoveApprover::DISCRIMINATOR,
        instruction::SetBudget::DISCRIMINATOR,
        instruction::CloseBudget::DISCRIMINATOR,
    ];
    for (index, other) in others.iter().enumerate() {
        assert!(other.len() == 8 && !other.starts_with(transfer));
        assert!(others[index + 1..].iter().all(|again| again != other));
    }
}
