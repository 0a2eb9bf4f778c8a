//! Transfers: with memos of every script, and with all rules on.

use purser::{Bounds, BudgetCaps, GrantPayee, GrantTerms};
use purser_client::{DraftAccounts, OwnedAllowlist, TransferOrder};
use purser_policy::{id_with_tag, SPANS_MAX};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::bench::Bench;
use crate::keys::Keys;
use crate::scenario::{rules, Fixture, DAY_SECONDS, USDC};
use crate::Result;

const MEMO_20_CHARACTERS: &str = "invoice 2025-000042!";

/// Plain transfers, by memo. Returns how many were made.
pub fn memos(bench: &mut Bench, fixture: &Fixture) -> Result<u32> {
    let memos = [
        ("transfer", String::new()),
        ("transfer_memo_20_ascii", MEMO_20_CHARACTERS.to_owned()),
        ("transfer_memo_200_ascii", "a".repeat(200)),
        ("transfer_memo_400_bytes_cyrillic", "ж".repeat(200)),
        ("transfer_memo_600_bytes_cjk", "支".repeat(200)),
        ("transfer_memo_800_bytes_emoji", "\u{1f4b8}".repeat(200)),
        ("transfer_memo_500_bytes_mixed", "aж支\u{1f4b8}".repeat(50)),
    ];
    // The first transfer in an empty window costs less than later ones.
    bench.run(pay(bench.now(), fixture, &fixture.payers[0], 0, ""), &fixture.payers[0])?;
    for (made, (name, memo)) in (1..).zip(&memos) {
        fixture.fill_tags(bench)?;
        let transfer = pay(bench.now(), fixture, &fixture.payers[0], made, memo);
        bench.measure_transfer(name, transfer, &fixture.payers[0], memo.len())?;
    }
    let made = 1 + memos.len() as u32;
    fixture.fill_tags(bench)?;
    let order = order(bench.now(), fixture, made, MEMO_20_CHARACTERS);
    let checked = fixture.at.transfer_checked(fixture.payers[0].pubkey(), &order);
    bench.measure_transfer(
        "transfer_checked_memo_20_ascii",
        checked,
        &fixture.payers[0],
        order.memo.len(),
    )?;
    Ok(made + 1)
}

/// All rules on and a full window, by allowlist; `before` transfers were made earlier. Returns how many were made here.
pub fn rules_on(bench: &mut Bench, keys: &Keys, fixture: &Fixture, before: u32) -> Result<u32> {
    let (wallet, account) = (fixture.recipient, fixture.destination);
    let wallets = |entries| OwnedAllowlist::only(entries, Vec::new());
    let accounts = |entries| OwnedAllowlist::only(Vec::new(), entries);
    let first = &fixture.payers[0];
    // A listed wallet costs more: it is looked up after the token account.
    let cases = [
        ("transfer_all_rules", wallets(keys.entries(32, wallet)), first),
        ("transfer_all_rules_listed_account", accounts(keys.entries(32, account)), first),
        ("transfer_all_rules_16_and_16", both(keys, wallet), first),
        ("transfer_all_rules_1_entry", wallets(keys.entries(1, wallet)), first),
        ("transfer_all_rules_256_entries", wallets(keys.entries(256, wallet)), first),
        ("transfer_all_rules_256_look_alikes", wallets(keys.look_alikes(256, wallet)), first),
        ("transfer_all_rules_eighth_authority", wallets(keys.entries(32, wallet)), &fixture.payers[1]),
    ];
    let mut made = 0;
    for (round, (name, allowlist, payer)) in cases.into_iter().enumerate() {
        fixture.apply(bench, &rules(allowlist), None)?;
        if round == 0 {
            bench.advance(2 * DAY_SECONDS);
            for spend in 0..SPANS_MAX as u32 {
                fixture.fill_tags(bench)?;
                bench.run(pay(bench.now(), fixture, first, before + made, MEMO_20_CHARACTERS), first)?;
                bench.advance(uneven_gap_seconds(spend));
                made += 1;
            }
        }
        require_full_window(bench, fixture)?;
        fixture.fill_tags(bench)?;
        let transfer = pay(bench.now(), fixture, payer, before + made, MEMO_20_CHARACTERS);
        bench.measure_transfer(name, transfer, payer, MEMO_20_CHARACTERS.len())?;
        made += 1;
        bench.advance(1);
    }
    Ok(made + granted(bench, fixture, before + made)?)
}

/// The same rules, two of which a grant waives: the list and the single limit. Returns how many were made.
fn granted(bench: &mut Bench, fixture: &Fixture, after: u32) -> Result<u32> {
    let at = fixture.at;
    fixture.apply(bench, &rules(OwnedAllowlist::only(Vec::new(), Vec::new())), None)?;
    let (admin, payer) = (fixture.admin.pubkey(), &fixture.payers[0]);
    let terms = GrantTerms {
        payee: GrantPayee::Wallet(fixture.recipient),
        amount: 10 * USDC,
        expires_at: bench.now() + DAY_SECONDS,
        beyond_allowlist: true,
        beyond_single_limit: true,
        beyond_daily_limit: false,
        tag: None,
        memo_hash: None,
        policy_version: None,
    };
    let open = at.open_grant(admin, admin, admin, (fixture.operator, fixture.agent), 1, terms);
    bench.measure("open_grant", open, &fixture.admin)?;
    require_full_window(bench, fixture)?;
    fixture.fill_tags(bench)?;
    let grant = at.grant_address(&fixture.agent, 1);
    let order = order(bench.now(), fixture, after, MEMO_20_CHARACTERS);
    let transfer = at.transfer_extended(payer.pubkey(), &order, Some(grant), None);
    bench.measure_transfer("transfer_all_rules_granted", transfer, payer, MEMO_20_CHARACTERS.len())?;
    let by_budget = budgeted(bench, fixture, after + 1)?;
    let close = at.close_grant(admin, fixture.operator, grant, admin);
    bench.measure("close_grant", close, &fixture.admin)?;
    Ok(1 + by_budget)
}

/// All rules, in the extended form with a cap for 30 days, and then through a budget whose window is full too. Returns how many
/// were made.
fn budgeted(bench: &mut Bench, fixture: &Fixture, after: u32) -> Result<u32> {
    let at = fixture.at;
    let keys = OwnedAllowlist::only(vec![fixture.recipient.to_bytes()], Vec::new());
    fixture.apply(bench, &rules(keys), None)?;
    let (admin, payer) = (fixture.admin.pubkey(), &fixture.payers[0]);
    let accounts = DraftAccounts { authority: admin, operator: fixture.operator, agent: fixture.agent };
    let view =
        purser::state::Agent::read(&bench.data(&fixture.agent)).ok_or("the agent has another layout")?;
    let refund = view.agent.rent_refund;
    let mut made = 0;
    let mut bounds = Bounds { max_30_day_spend: Some(1_000_000 * USDC), ..Bounds::default() };
    bench.measure(
        "set_bounds_month",
        at.set_bounds(accounts, admin, refund, bounds, None),
        &fixture.admin,
    )?;
    let mut pays = |bench: &mut Bench, name: Option<&'static str>, budget| -> Result<()> {
        fixture.fill_tags(bench)?;
        let order = order(bench.now(), fixture, after + made, MEMO_20_CHARACTERS);
        let transfer = at.transfer_extended(payer.pubkey(), &order, None, budget);
        made += 1;
        match name {
            Some(name) => bench.measure(name, transfer, payer),
            None => bench.run(transfer, payer).map(drop),
        }
    };
    pays(bench, Some("transfer_all_rules_month"), None)?;
    let caps = BudgetCaps { max_daily_spend: 1_000_000 * USDC, max_30_day_spend: Some(1_000_000 * USDC) };
    bench.measure("set_budget", at.set_budget(admin, fixture.operator, 1, caps, None), &fixture.admin)?;
    let budget = Some(at.budget_address(&fixture.operator, 1));
    bounds = Bounds { budget, max_30_day_spend: None, ..bounds };
    bench.measure(
        "set_bounds_budget",
        at.set_bounds(accounts, admin, refund, bounds, None),
        &fixture.admin,
    )?;
    for spend in 0..SPANS_MAX as u32 {
        pays(bench, None, budget)?;
        bench.advance(uneven_gap_seconds(spend));
    }
    pays(bench, Some("transfer_all_rules_budget"), budget)?;
    bench.run(at.set_bounds(accounts, admin, refund, Bounds::default(), None), &fixture.admin)?;
    Ok(made)
}

fn both(keys: &Keys, wallet: anchor_lang::prelude::Pubkey) -> OwnedAllowlist {
    let others = keys.entries(32, wallet);
    OwnedAllowlist::only(others[16..].to_vec(), others[..16].to_vec())
}

/// The agent's next transfer, after `after` others.
fn pay(now: i64, fixture: &Fixture, authority: &Keypair, after: u32, memo: &str) -> Instruction {
    fixture.at.transfer(authority.pubkey(), &order(now, fixture, after, memo))
}

fn order<'a>(now: i64, fixture: &Fixture, after: u32, memo: &'a str) -> TransferOrder<'a> {
    let transfer_id = id_with_tag([0; 8], mixed(u64::from(after) + 1));
    TransferOrder {
        operator: fixture.operator,
        agent: fixture.agent,
        source: fixture.source,
        destination: fixture.destination,
        transfer_id,
        asked_at: now as u32,
        amount: USDC,
        memo,
    }
}

/// SplitMix64: tags are hashes.
pub fn mixed(number: u64) -> u64 {
    let word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The same for every key set, so that only keys make a difference; all of them stay within 24 hours.
fn uneven_gap_seconds(spend: u32) -> i64 {
    1_400 + i64::from(spend * 7 % 11) * 45
}

/// The window must hold one payment in each span: otherwise the next figure is not for a full window.
fn require_full_window(bench: &Bench, fixture: &Fixture) -> Result<()> {
    let view =
        purser::state::Agent::read(&bench.data(&fixture.agent)).ok_or("the agent has another layout")?;
    let now = bench.now();
    let spent = view.agent.window().spent(now).micros();
    if spent >= SPANS_MAX as u64 * USDC {
        return Ok(());
    }
    Err(format!("the window holds {spent} micro-USDC, not the payments of {SPANS_MAX} seconds"))
}
