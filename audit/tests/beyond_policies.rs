//! What is paid beyond a policy, on a chain whose program lets everything pass: grants, approvers, bounds, budgets. What they allow
//! holds and is told; what they do not is found, by its name.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser::{Bounds, BudgetCaps, GrantPayee, GrantTerms};
use purser_audit::check::Check;
use purser_audit::report::{html, text};
use purser_policy::{DAY_SECONDS, id_with_tag};
use serde_json::json;
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{BEGIN, MICROS, PAYEE, Paying, TestChain, audited, broken, found, strict};

/// 5 USDC to the stranger beyond the list, and no further.
fn granted() -> GrantTerms {
    GrantTerms {
        payee: GrantPayee::Wallet(STRANGER),
        amount: 5 * MICROS,
        expires_at: BEGIN + 20 * DAY_SECONDS,
        beyond_allowlist: true,
        beyond_single_limit: false,
        beyond_daily_limit: false,
        tag: None,
        memo_hash: None,
        policy_version: None,
    }
}

const STRANGER: Pubkey = Pubkey::new_from_array([99; 32]);

#[test]
fn payments_past_the_list_by_a_grant_until_it_is_spent() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    let by_grant = |usdc| Paying { to: STRANGER, by_grant: true, ..Paying::usdc(usdc) };
    chain.pays(&by_grant(3));
    chain.pays(&by_grant(2));
    chain.pays(&Paying::usdc(1));
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    chain.pays(&by_grant(1));
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::Allowlist], "{}", text(&report));
    assert!(found(&report, Check::Allowlist).contains("did not cover it"));
}

#[test]
fn payment_by_a_grant_that_was_voided() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    chain.voids_grants();
    chain.pays(&Paying { to: STRANGER, by_grant: true, ..Paying::usdc(1) });
    assert_eq!(broken(&chain.audited()), [Check::Allowlist]);
}

/// A number of eight bits would come back to what it was.
#[test]
fn payment_by_a_grant_that_was_voided_256_times() {
    for voids in [255, 256, 257] {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        chain.opens_grant(granted(), &admin);
        (0..voids).for_each(|_| drop(chain.voids_grants()));
        assert_eq!(broken(&chain.audited()), []);
        chain.pays(&by_grant(1));
        let report = chain.audited();
        assert_eq!(broken(&report), [Check::Allowlist], "{voids}: {}", text(&report));
    }
}

/// What comes before a payment may fill the log.
#[test]
fn payment_by_a_grant_and_a_budget_whose_events_a_full_log_cut_off_is_counted_by_what_was_signed() {
    for kept in 0..3 {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        let budget = chain.sets_budget(9 * MICROS, &admin);
        chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &admin);
        chain.opens_grant(granted(), &admin);
        let first = chain.pays(&by_grant(5));
        let cut = |chain: &TestChain| {
            chain.saves();
            chain.spoils(&format!("transactions/{first}"), |transaction| {
                let lines = transaction["meta"]["logMessages"].as_array_mut().expect("a log");
                lines.truncate(1 + kept);
                lines.push(json!("Log truncated"));
            });
            audited(chain.folder.path())
        };
        let report = cut(&chain);
        assert!(report.holds && report.complete, "{kept}: {}", text(&report));
        assert!(report.verdict.contains("5.000000 USDC left by grants"), "{}", report.verdict);
        // The budget has 4 USDC left, and the grant nothing.
        chain.pays(&Paying::usdc(5));
        assert_eq!(broken(&cut(&chain)), [Check::DailyLimit]);
        chain.pays(&by_grant(1));
        assert!(broken(&cut(&chain)).contains(&Check::Allowlist));
    }
}

#[test]
fn grants_that_only_the_admin_opens() {
    let thief = TestChain::new(&strict(), 0).policy_key.insecure_clone();
    let mut chain = TestChain::new(&strict(), 0);
    chain.opens_grant(GrantTerms { beyond_daily_limit: true, ..granted() }, &thief);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
    let mut chain = TestChain::new(&strict(), 0);
    chain.halts();
    chain.opens_grant(granted(), &thief);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
    let mut chain = TestChain::new(&strict(), 0);
    let stranger = Keypair::new_from_array([77; 32]);
    chain.opens_grant(granted(), &stranger);
    assert_eq!(broken(&chain.audited()), [Check::Signer]);
}

#[test]
fn ledger_names_who_opened_the_grant_of_a_payment() {
    let approver = Keypair::new_from_array([41; 32]);
    let mut chain = TestChain::new(&strict(), 0);
    let (admin, policy_key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    chain.sets_approver(&approver.pubkey());
    for opener in [&admin, &policy_key] {
        chain.opens_grant(granted(), opener);
        chain.pays(&by_grant(1));
        chain.closes_grant(opener);
    }
    chain.approves(approval(&chain, 2), &approver);
    chain.pays(&by_grant(2));
    chain.pays(&Paying::usdc(1));
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    let payments = report.ledger.iter().filter(|entry| entry.kind == "payment");
    let by: Vec<_> = payments.map(|entry| (entry.approved_as, entry.approved_by)).collect();
    let approved = |role, key: &Keypair| (Some(role), Some(key.pubkey()));
    assert_eq!(
        by,
        [
            approved("admin", &admin),
            approved("policy_authority", &policy_key),
            approved("approver", &approver),
            (None, None)
        ]
    );
}

#[test]
fn payment_by_a_grant_of_the_policy_authority_that_had_to_wait() {
    let by_grant = || Paying { to: STRANGER, by_grant: true, ..Paying::usdc(1) };
    for (waits, expected) in [(3_598, &[Check::Allowlist][..]), (3_600, &[])] {
        let mut chain = TestChain::new(&strict(), 3_600);
        let policy_key = chain.policy_key.insecure_clone();
        chain.opens_grant(granted(), &policy_key);
        chain.now += waits;
        chain.pays(&by_grant());
        let report = chain.audited();
        assert_eq!(broken(&report), expected, "{}", text(&report));
    }
}

#[test]
fn payments_of_an_account_that_pays_by_grants_alone() {
    let mut chain = TestChain::new(&strict(), 3_600);
    let (admin, policy_key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    let by_grants = Bounds { by_grant_only: true, ..Bounds::default() };
    chain.sets_bounds(by_grants, &policy_key);
    chain.opens_grant(granted(), &admin);
    let transfer = ulid::Ulid::from_bytes(id_with_tag([0; 8], chain.next_tag()));
    chain.pays(&Paying { to: STRANGER, by_grant: true, ..Paying::usdc(1) });
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    let told: Vec<_> = report.timeline.iter().map(|it| it.text.clone()).collect();
    let begins = format!("Payment 1 of 1.000000 USDC, txn_{transfer}, was made by the grant ");
    let ends = format!(", opened by the admin {}.", admin.pubkey());
    let is_it = |text: &&String| text.starts_with(&begins) && text.ends_with(&ends);
    assert_eq!(told.iter().filter(is_it).count(), 1, "{told:?}");
    chain.pays(&Paying::usdc(1));
    assert_eq!(broken(&chain.audited()), [Check::Allowlist]);
    let mut chain = TestChain::new(&strict(), 3_600);
    chain.sets_bounds(by_grants, &policy_key);
    chain.sets_bounds(Bounds::default(), &policy_key);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
}

#[test]
fn payments_past_the_cap_of_30_days() {
    let capped = |usdc: u64| Bounds { max_30_day_spend: Some(usdc * MICROS), ..Bounds::default() };
    let mut chain = TestChain::new(&strict(), 0);
    let policy_key = chain.policy_key.insecure_clone();
    chain.sets_bounds(capped(50), &policy_key);
    for _ in 0..5 {
        chain.now += DAY_SECONDS + 1;
        chain.pays(&Paying::usdc(10));
    }
    // A policy that is replaced meanwhile keeps what was counted.
    chain.sets_policy(&strict(), &policy_key);
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    chain.now += 25 * DAY_SECONDS;
    chain.pays(&Paying::usdc(1));
    assert_eq!(broken(&chain.audited()), [Check::DailyLimit]);
    let mut chain = TestChain::new(&strict(), 60);
    chain.sets_bounds(capped(50), &policy_key);
    chain.sets_bounds(capped(51), &policy_key);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
}

#[test]
fn payments_through_a_budget_and_past_it() {
    let mut chain = TestChain::new(&strict(), 0);
    let (admin, policy_key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &policy_key);
    chain.pays(&Paying::usdc(10));
    chain.pays(&Paying::usdc(5));
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    chain.pays(&Paying::usdc(1));
    assert_eq!(broken(&chain.audited()), [Check::DailyLimit]);
    // Around it.
    let mut chain = TestChain::new(&strict(), 0);
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &policy_key);
    chain.pays(&Paying { is_plain: true, ..Paying::usdc(1) });
    let report = chain.audited();
    assert!(broken(&report).contains(&Check::DailyLimit), "{}", text(&report));
    // Made by a key that makes none.
    let mut chain = TestChain::new(&strict(), 0);
    chain.sets_budget(1, &policy_key);
    assert_eq!(broken(&chain.audited()), [Check::Signer]);
    // Left for none, under a delay.
    let mut chain = TestChain::new(&strict(), 60);
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &policy_key);
    chain.sets_bounds(Bounds::default(), &policy_key);
    assert_eq!(broken(&chain.audited()), [Check::PolicyChanges]);
}

/// One payment of so many USDC to the stranger, with the memo "m".
fn approval(chain: &TestChain, usdc: u64) -> GrantTerms {
    GrantTerms {
        amount: usdc * MICROS,
        tag: Some(chain.next_tag()),
        memo_hash: Some(Sha256::digest("m").into()),
        policy_version: Some(1),
        ..granted()
    }
}

#[test]
fn payments_that_an_approver_let_pass() {
    let approver = Keypair::new_from_array([78; 32]);
    let key = approver.pubkey();
    let by_grant = |usdc| Paying { to: STRANGER, by_grant: true, ..Paying::usdc(usdc) };
    let mut chain = TestChain::new(&strict(), 3_600);
    chain.sets_approver(&key);
    for usdc in [5, 3] {
        chain.approves(approval(&chain, usdc), &approver);
        chain.pays(&by_grant(usdc));
        chain.closes_grant(&approver);
    }
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    // More than 8 USDC in a day, and more than 5 at once.
    let mut more = TestChain::new(&strict(), 0);
    more.sets_approver(&key);
    for usdc in [5, 4] {
        more.approves(approval(&more, usdc), &approver);
        let admin = more.admin.insecure_clone();
        more.closes_grant(&admin);
    }
    assert_eq!(broken(&more.audited()), [Check::PolicyChanges]);
    let mut more = TestChain::new(&strict(), 0);
    more.sets_approver(&key);
    more.approves(approval(&more, 6), &approver);
    assert_eq!(broken(&more.audited()), [Check::PolicyChanges]);
    // Not for one payment.
    let mut loose = TestChain::new(&strict(), 0);
    loose.sets_approver(&key);
    loose.approves(GrantTerms { memo_hash: None, ..approval(&loose, 1) }, &approver);
    assert_eq!(broken(&loose.audited()), [Check::PolicyChanges]);
    // Removed since, and before.
    let mut removed = TestChain::new(&strict(), 0);
    removed.sets_approver(&key);
    removed.approves(approval(&removed, 1), &approver);
    removed.removes_approver(&key);
    removed.pays(&by_grant(1));
    assert_eq!(broken(&removed.audited()), [Check::Allowlist]);
    let mut removed = TestChain::new(&strict(), 0);
    removed.sets_approver(&key);
    removed.removes_approver(&key);
    removed.approves(approval(&removed, 1), &approver);
    assert_eq!(broken(&removed.audited()), [Check::PolicyChanges]);
    // In a halt.
    let mut halted = TestChain::new(&strict(), 0);
    halted.sets_approver(&key);
    halted.halts();
    halted.approves(approval(&halted, 1), &approver);
    assert_eq!(broken(&halted.audited()), [Check::PolicyChanges]);
    // Another memo than the one that was approved.
    let mut other = TestChain::new(&strict(), 0);
    other.sets_approver(&key);
    other.approves(approval(&other, 1), &approver);
    other.pays(&Paying { memo: "n", ..by_grant(1) });
    assert_eq!(broken(&other.audited()), [Check::Allowlist]);
}

/// 5 USDC to the stranger by the grant.
fn by_grant(usdc: u64) -> Paying {
    Paying { to: STRANGER, by_grant: true, ..Paying::usdc(usdc) }
}

#[test]
fn grants_that_the_program_does_not_open() {
    let opens = |terms: GrantTerms| {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        chain.opens_grant(terms, &admin);
        chain.audited()
    };
    for terms in [
        // For ever, or over before it began.
        GrantTerms { expires_at: BEGIN + 31 * DAY_SECONDS, ..granted() },
        GrantTerms { expires_at: BEGIN - 1, ..granted() },
        GrantTerms { amount: 0, ..granted() },
        // As stored: for any payment, any memo, any version.
        GrantTerms { tag: Some(0), ..granted() },
        GrantTerms { memo_hash: Some([0; 32]), ..granted() },
        GrantTerms { policy_version: Some(0), ..granted() },
    ] {
        let report = opens(terms);
        assert_eq!(broken(&report), [Check::PolicyChanges], "{terms:?}\n{}", text(&report));
    }
    assert_eq!(broken(&opens(granted())), []);
}

#[test]
fn grant_that_was_filled_again_while_it_was_open() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    chain.pays(&by_grant(5));
    chain.opens_grant(granted(), &admin);
    chain.pays(&by_grant(5));
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::PolicyChanges], "{}", text(&report));
    assert!(found(&report, Check::PolicyChanges).contains("one that is open stands there"));
    // Closed in between, it is another one.
    let mut chain = TestChain::new(&strict(), 0);
    chain.opens_grant(granted(), &admin);
    chain.pays(&by_grant(5));
    chain.closes_grant(&Keypair::new_from_array([5; 32]));
    chain.opens_grant(granted(), &admin);
    chain.pays(&by_grant(5));
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
}

#[test]
fn grant_that_a_stranger_closed_before_it_was_over() {
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    chain.opens_grant(granted(), &admin);
    chain.closes_grant(&Keypair::new_from_array([5; 32]));
    assert_eq!(broken(&chain.audited()), [Check::Signer]);
    chain.pays(&by_grant(1));
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::Signer, Check::Allowlist, Check::Log, Check::State]);
    assert!(found(&report, Check::State).contains("its opening was not read"), "{}", text(&report));
}

#[test]
fn payments_by_a_grant_that_is_over_or_for_somebody_else_or_of_another_amount() {
    let opened = |terms: GrantTerms| {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        chain.opens_grant(terms, &admin);
        chain
    };
    let mut over = opened(granted());
    over.now += 20 * DAY_SECONDS + 1;
    over.pays(&by_grant(1));
    let mut other = opened(granted());
    other.pays(&Paying { to: PAYEE, ..by_grant(1) });
    let tag = other.next_tag();
    let mut part = opened(GrantTerms { tag: Some(tag - 1), ..granted() });
    part.pays(&by_grant(4));
    // For a version of the policy that is no more.
    let mut older = opened(GrantTerms { policy_version: Some(1), ..granted() });
    let key = older.policy_key.insecure_clone();
    older.sets_policy(&strict(), &key);
    older.pays(&by_grant(1));
    for chain in [over, other, part, older] {
        let report = chain.audited();
        assert_eq!(broken(&report), [Check::Allowlist], "{}", text(&report));
        assert!(found(&report, Check::Allowlist).contains("did not cover it"), "{}", text(&report));
    }
}

#[test]
fn approval_that_the_approvers_wallet_did_not_show() {
    let approver = Keypair::new_from_array([78; 32]);
    let approved = |shown: Option<&str>| {
        let mut chain = TestChain::new(&strict(), 0);
        chain.sets_approver(&approver.pubkey());
        let terms = approval(&chain, 3);
        let own = terms.approval(&chain.agent);
        let shown = shown.map(|shown| own.replace("3.000000", shown));
        chain.approves_showing(terms, &approver, shown);
        chain.pays(&by_grant(3));
        chain.audited()
    };
    assert_eq!(broken(&approved(Some("3.000000"))), []);
    for shown in [None, Some("0.010000")] {
        let report = approved(shown);
        assert_eq!(broken(&report), [Check::PolicyChanges], "{}", text(&report));
        assert!(found(&report, Check::PolicyChanges).contains("did not show it"));
    }
}

#[test]
fn approval_that_another_program_called() {
    let approver = Keypair::new_from_array([78; 32]);
    let mut chain = TestChain::new(&strict(), 0);
    chain.sets_approver(&approver.pubkey());
    let terms = approval(&chain, 3);
    let signature = chain.approves(terms, &approver);
    chain.saves();
    // As a node would show it: what the approver signed was a call of something else.
    chain.spoils(&format!("transactions/{signature}"), |transaction| {
        let message = &mut transaction["transaction"]["message"];
        let calls = message["instructions"].as_array_mut().expect("a list");
        let mut inner = calls.pop().expect("the call");
        inner["stackHeight"] = json!(2);
        transaction["meta"]["innerInstructions"] = json!([{ "index": 0, "instructions": [inner] }]);
    });
    let report = audited(chain.folder.path());
    assert_eq!(broken(&report), [Check::Signatures, Check::PolicyChanges], "{}", text(&report));
}

#[test]
fn bounds_that_were_loosened_and_tightened_again_are_told_with_what_left_meanwhile() {
    let capped = |usdc: u64| Bounds { max_30_day_spend: Some(usdc * MICROS), ..Bounds::default() };
    let mut chain = TestChain::new(&strict(), 0);
    let key = chain.policy_key.insecure_clone();
    chain.sets_bounds(capped(5), &key);
    chain.pays(&Paying::usdc(5));
    chain.sets_bounds(Bounds::default(), &key);
    chain.pays(&Paying::usdc(9));
    chain.sets_bounds(capped(5), &key);
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    let [loosening] = &report.loosenings[..] else { panic!("{}", text(&report)) };
    assert_eq!(loosening.what, ["the cap for 30 days from 5.000000 USDC to none"]);
    assert_eq!((loosening.payments, loosening.paid_usdc.as_str()), (1, "9.000000"));
    assert!(report.verdict.contains("1 policy was loosened, and 9.000000 USDC left meanwhile"));
}

#[test]
fn policy_in_force_is_shown_with_all_that_binds_the_account() {
    let approver = Keypair::new_from_array([78; 32]).pubkey();
    let mut chain = TestChain::new(&strict(), 3_600);
    let (admin, key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_approver(&approver);
    chain.now += 60;
    chain.sets_bounds(
        Bounds { by_grant_only: true, max_30_day_spend: Some(50 * MICROS), budget: Some(budget) },
        &admin,
    );
    chain.now += 60;
    chain.sets_budget(20 * MICROS, &key);
    chain.removes_approver(&approver);
    let report = chain.audited();
    assert_eq!(broken(&report), [], "{}", text(&report));
    let policy = report.accounts[0].policy.as_deref().expect("a policy");
    let binds = format!("by grants alone, at most 50.000000 USDC in 30 days, through the budget {budget}");
    assert!(policy.ends_with(&binds), "{policy}");
    assert_eq!(report.limits.len(), 1);
    assert_eq!(report.limits[0].terms, binds);
    let waiting = report.budgets[1].waiting.as_ref().expect("the raise waits");
    assert_eq!(
        (report.budgets[1].max_daily_usdc.as_str(), waiting.max_daily_usdc.as_str()),
        ("15.000000", "20.000000")
    );
    let approvers: Vec<_> = report.approvers.iter().map(|it| (&it.key, it.until.is_some())).collect();
    assert_eq!(approvers, [(&approver.to_string(), true)]);
    for shown in [text(&report), html(&report)] {
        for said in ["Budgets over time", "Approvers over time", &binds] {
            assert!(shown.contains(said), "{said} is not in {shown}");
        }
    }
}

#[test]
fn what_left_by_grants_and_through_raised_budgets_is_in_the_first_line() {
    let mut chain = TestChain::new(&strict(), 0);
    let (admin, key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    chain.opens_grant(granted(), &key);
    chain.pays(&by_grant(5));
    chain.sets_budget(15 * MICROS, &admin);
    assert!(chain.audited().verdict.ends_with(" 5.000000 USDC left by grants."));
    chain.sets_budget(900 * MICROS, &key);
    chain.sets_budget(15 * MICROS, &key);
    let report = chain.audited();
    assert!(report.holds && report.complete, "{}", text(&report));
    assert!(report.verdict.ends_with(" 5.000000 USDC left by grants. A budget was raised."));
}

#[test]
fn node_that_hides_what_took_grants_or_bounds_back() {
    let approver = Keypair::new_from_array([78; 32]);
    let mut chain = TestChain::new(&strict(), 0);
    let (admin, key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    chain.opens_grant(granted(), &admin);
    let voided = chain.voids_grants();
    chain.sets_approver(&approver.pubkey());
    let removed = chain.removes_approver(&approver.pubkey());
    let bound = chain.sets_bounds(Bounds { by_grant_only: true, ..Bounds::default() }, &key);
    assert_eq!(broken(&chain.audited()), []);
    chain.sets_budget(15 * MICROS, &admin);
    let less = chain.sets_budget_by(5 * MICROS, &key);
    assert_eq!(broken(&chain.audited()), []);
    for hidden in [voided, removed, bound, less] {
        let kept = chain.lists();
        chain.hides(&hidden);
        let report = chain.audited();
        assert_eq!(broken(&report), [Check::State], "{}", text(&report));
        chain.set_lists(kept);
    }
}

#[test]
fn grant_approver_and_budget_stand_as_what_was_signed_adds_up_to() {
    let approver = Keypair::new_from_array([78; 32]);
    let mut chain = TestChain::new(&strict(), 0);
    let admin = chain.admin.insecure_clone();
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_approver(&approver.pubkey());
    chain.opens_grant(granted(), &admin);
    assert_eq!(broken(&chain.audited()), []);
    let places = [budget, chain.approver_address(&approver.pubkey()), chain.grant_address()];
    for place in places {
        chain.saves();
        let file = format!("accounts/{place}");
        chain.spoils(&file, |snapshot| snapshot["account"] = serde_json::Value::Null);
        let report = audited(chain.folder.path());
        assert_eq!(broken(&report), [Check::State], "{}", text(&report));
        std::fs::remove_file(chain.folder.path().join(format!("{file}.json"))).expect("it was saved");
        let report = audited(chain.folder.path());
        assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
    }
    chain.saves();
    // Nor does it help to leave them out of what is said to be there.
    chain.spoils("audit", |manifest| manifest["beside"] = json!([]));
    let report = audited(chain.folder.path());
    assert_eq!((report.holds, report.complete), (true, false), "{}", text(&report));
}

#[test]
fn budget_that_was_closed_while_payments_counted_in_it_and_raised_in_a_halt() {
    let mut chain = TestChain::new(&strict(), 0);
    let (admin, key) = (chain.admin.insecure_clone(), chain.policy_key.insecure_clone());
    let budget = chain.sets_budget(15 * MICROS, &admin);
    chain.sets_bounds(Bounds { budget: Some(budget), ..Bounds::default() }, &key);
    chain.pays(&Paying::usdc(10));
    chain.closes_budget();
    let report = chain.audited();
    assert_eq!(broken(&report), [Check::DailyLimit], "{}", text(&report));
    let mut halted = TestChain::new(&strict(), 3_600);
    halted.sets_budget(15 * MICROS, &admin);
    halted.halts();
    halted.sets_budget(20 * MICROS, &key);
    assert!(broken(&halted.audited()).contains(&Check::PolicyChanges));
}

#[test]
fn bounds_and_caps_that_were_replaced_though_others_stood_there() {
    let scene = |bounds: Option<u64>, caps: Option<u64>| {
        let mut chain = TestChain::new(&strict(), 0);
        let admin = chain.admin.insecure_clone();
        chain.sets_budget(15 * MICROS, &admin);
        let cap = |usdc: u64| Bounds { max_30_day_spend: Some(usdc * MICROS), ..Bounds::default() };
        chain.sets_bounds(cap(50), &admin);
        chain.sets_bounds_over(bounds.map(cap), cap(60), &admin);
        let named = caps.map(|usdc| BudgetCaps { max_daily_spend: usdc * MICROS, max_30_day_spend: None });
        chain.sets_budget_over(named, 20 * MICROS, &admin);
        chain.audited()
    };
    for (bounds, caps) in [(None, None), (Some(50), Some(15))] {
        assert_eq!(broken(&scene(bounds, caps)), []);
    }
    for (bounds, caps) in [(Some(40), None), (None, Some(9))] {
        let report = scene(bounds, caps);
        assert_eq!(broken(&report), [Check::PolicyChanges]);
        assert!(found(&report, Check::PolicyChanges).contains("not those which the change names"));
    }
}
