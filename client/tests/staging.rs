//! A policy's way through a draft, held against drafts in every state. They are written here as the program writes them.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::instruction::Instruction;
use purser::constants::LAYOUT_VERSION;
use purser::state::{DraftView, Operator, PolicyDraft, StoredPolicy};
use purser_client::{
    Deployment, DraftAccounts, INLINE_ENTRIES_MAX, OnChainPolicy, OwnedAllowlist, Proposal, RentRefunds,
    Staging, StepKind, must_wait,
};
use purser_policy::{Limit, UsdcAmount};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_sdk::message::Message;

/// Longest transaction that the network carries.
const TRANSACTION_BYTES_MAX: usize = 1_232;
const SIGNATURE_BYTES: usize = 64;

fn key(number: u16) -> Pubkey {
    let mut bytes = [7; 32];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    Pubkey::new_from_array(bytes)
}

/// With `count` entries, every third of them a token account.
fn proposal(count: u16) -> Proposal {
    let (token_accounts, wallets) =
        (1000..1000 + count).map(|number| key(number).to_bytes()).partition(|entry| entry[1] % 3 == 0);
    let allowlist = OwnedAllowlist::only(wallets, token_accounts);
    let max_daily_spend = Limit::AtMost(UsdcAmount::from_micros(u64::MAX));
    let max_single_transfer = max_daily_spend;
    let policy =
        OnChainPolicy { max_single_transfer, max_daily_spend, allowlist, ..OnChainPolicy::default() };
    Proposal { agent: key(1), expected_version: 3, policy }
}

fn staging(proposal: &Proposal) -> Staging<'_> {
    let deployment = Deployment { program: purser::ID, usdc_mint: key(2) };
    Staging { deployment, authority: key(3), payer: key(4), rent_refund: key(4), operator: key(5), proposal }
}

/// The draft of `of` once `written` of its entries are in it.
fn draft(of: &Proposal, written: usize) -> DraftView {
    let entries = of.entries();
    let body = PolicyDraft {
        version: LAYOUT_VERSION,
        bump: 255,
        entry_count: entries.len() as u16,
        written: written as u16,
        sealed: u8::from(written == entries.len()),
        reserved: 0,
        sealed_at: 0,
        expected_version: of.expected_version,
        sealed_delay_seconds: 0,
        agent: of.agent,
        rent_refund: key(6),
        hash: of.hash(),
        policy: StoredPolicy::from(&of.policy.as_policy()),
    };
    let mut data = [PolicyDraft::DISCRIMINATOR, bytemuck::bytes_of(&body)].concat();
    data.extend(entries.iter().take(written).flat_map(|entry| entry.to_bytes()));
    data.resize(PolicyDraft::bytes(body.entry_count), 0);
    PolicyDraft::read(&data).unwrap()
}

/// The bytes of a transaction with this instruction, compute-budget instructions and as many signatures as it takes.
fn transaction_bytes(instruction: Instruction, payer: &Pubkey) -> usize {
    let budget = [
        ComputeBudgetInstruction::set_compute_unit_price(u64::MAX),
        ComputeBudgetInstruction::set_compute_unit_limit(u32::MAX),
        ComputeBudgetInstruction::set_loaded_accounts_data_size_limit(u32::MAX),
    ];
    let message = Message::new(&[&budget[..], &[instruction]].concat(), Some(payer));
    let signatures = usize::from(message.header.num_required_signatures);
    1 + signatures * SIGNATURE_BYTES + message.serialize().len()
}

#[test]
fn every_step_fits_a_transaction() {
    let proposal = proposal(256);
    let apart = staging(&proposal);
    for staging in [apart, Staging { payer: apart.authority, ..apart }] {
        let steps = staging.steps(Some(&draft(&crate::proposal(3), 3)));
        let apply = staging.apply(RentRefunds { agent: key(6), draft: key(7) });
        for step in steps.into_iter().map(|step| step.instruction).chain([apply]) {
            let bytes = transaction_bytes(step, &staging.payer);
            assert!(bytes <= TRANSACTION_BYTES_MAX, "{bytes}");
        }
    }
}

#[test]
fn the_longest_inline_list_fits_a_transaction() {
    let proposal = proposal(INLINE_ENTRIES_MAX as u16);
    let Staging { deployment, authority, payer, operator, .. } = staging(&proposal);
    let at = DraftAccounts { authority, operator, agent: proposal.agent };
    let set = deployment.set_policy(at, payer, key(6), 3, &proposal.policy);
    assert!(transaction_bytes(set, &payer) <= TRANSACTION_BYTES_MAX);
    let create =
        deployment.create_agent(authority, authority, authority, operator, [9; 16], &proposal.policy);
    assert!(transaction_bytes(create, &authority) <= TRANSACTION_BYTES_MAX);
    // A refund address of its own takes the place of one entry, and its index.
    let proposal = crate::proposal(INLINE_ENTRIES_MAX as u16 - 2);
    let create = deployment.create_agent(authority, authority, key(6), operator, [9; 16], &proposal.policy);
    assert!(transaction_bytes(create, &authority) <= TRANSACTION_BYTES_MAX);
}

#[test]
fn a_list_is_opened_and_written_whole() {
    for (count, apart, alone) in [(0, 1, 1), (1, 2, 2), (23, 2, 2), (24, 3, 2), (25, 3, 3), (256, 13, 12)] {
        let proposal = proposal(count);
        let staging = staging(&proposal);
        assert_eq!(staging.steps(None).len(), apart, "{count} entries");
        let alone_signed = Staging { payer: staging.authority, ..staging };
        assert_eq!(alone_signed.steps(None).len(), alone, "{count} entries");
    }
}

#[test]
fn a_broken_run_is_gone_on_with() {
    let proposal = proposal(60);
    let staging = staging(&proposal);
    let all = staging.steps(None);
    assert_eq!(staging.steps(Some(&draft(&proposal, 0))), all[1..]);
    assert_eq!(staging.steps(Some(&draft(&proposal, 23))), all[2..]);
    assert!(staging.steps(Some(&draft(&proposal, 60))).is_empty());
}

#[test]
fn whoever_begins_anew_discards_a_draft_of_the_same_policy_too() {
    let proposal = proposal(60);
    let staging = staging(&proposal);
    for written in [0, 23, 60] {
        let steps = staging.anew(Some(&draft(&proposal, written)));
        assert_eq!(steps[0].kind, StepKind::Close);
        assert_eq!(steps[1..], staging.steps(None));
    }
    assert_eq!(staging.anew(None), staging.steps(None));
}

#[test]
fn another_draft_is_given_up_first() {
    let proposal = proposal(30);
    let staging = staging(&proposal);
    let all = staging.steps(None);
    // Of another policy, and of this one with something else written to it.
    let mut other = crate::proposal(30);
    other.policy.paused = true;
    let mut spoiled = draft(&crate::proposal(40), 24);
    spoiled.draft.hash = proposal.hash();
    spoiled.draft.policy.wallet_count = 3;
    for found in [draft(&other, 30), spoiled] {
        let steps = staging.steps(Some(&found));
        assert_eq!(steps.len(), all.len() + 1);
        assert_eq!(steps[1..], all);
    }
}

#[test]
fn only_loosening_waits_and_never_for_the_admin() {
    let mut operator: Operator = bytemuck::Zeroable::zeroed();
    (operator.admin, operator.policy_authority) = (key(1), key(2));
    let (open, tight) = (OnChainPolicy::default(), proposal(2).policy);
    let waits = |operator: &Operator, signer: &Pubkey, new: &OnChainPolicy, old: &OnChainPolicy| {
        must_wait(operator, signer, &new.as_policy(), &old.as_policy())
    };
    assert!(!waits(&operator, &key(2), &open, &tight));
    operator.loosening_delay_seconds = 1;
    assert!(waits(&operator, &key(2), &open, &tight));
    assert!(!waits(&operator, &key(2), &tight, &open));
    assert!(!waits(&operator, &key(1), &open, &tight));
}
