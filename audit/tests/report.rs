//! What a report says: from when to when, what left meanwhile, and in the form that its schema describes.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::path::PathBuf;

use purser_audit::ledger::{write_csv, write_xlsx};
use purser_audit::replay::date;
use purser_audit::report::{Finding, Period, Report, Verdict, html, signed_usdc, text};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use purser_tests::foreign;
use serde_json::{Value, json};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{BEGIN, PAYEE, Paying, TestChain};

/// Limits that were lifted for a minute, in which 900 USDC left; then another policy authority, and a halt.
fn eventful() -> (TestChain, Keypair) {
    let tight = OnChainPolicy {
        max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(10_000_000)),
        max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(20_000_000)),
        ..OnChainPolicy::default()
    };
    let mut chain = TestChain::new(&tight, 0);
    let pays = |chain: &mut TestChain, amount| {
        chain.now += 30;
        chain.pays(&Paying::usdc(amount))
    };
    pays(&mut chain, 5);
    let key = chain.policy_key.insecure_clone();
    chain.sets_policy(&OnChainPolicy::default(), &key);
    pays(&mut chain, 900);
    chain.now += 30;
    chain.sets_policy(&tight, &key);
    let next = Keypair::new_from_array([5; 32]);
    chain.now += 60;
    chain.rotates_policy_key(&next);
    chain.now += 60;
    chain.halts();
    (chain, next)
}

#[test]
fn report_says_who_held_which_key_what_left_under_each_policy_and_what_was_halted() {
    let (chain, next) = eventful();
    let report = chain.audited();
    assert!(report.holds, "{}", text(&report));
    let account = &report.accounts[0];
    let left: Vec<(u32, u64, &str, bool)> = account
        .policies
        .iter()
        .map(|it| (it.version, it.payments, it.paid_usdc.as_str(), it.until.is_some()))
        .collect();
    assert_eq!(left, [(1, 1, "5.000000", true), (2, 1, "900.000000", true), (3, 0, "0.000000", false)]);
    assert_eq!(
        (account.out_usdc.as_str(), account.deposited_usdc.as_str()),
        ("905.000000", "1000000.000000")
    );
    assert_eq!(report.totals.out_usdc, account.out_usdc);
    assert_eq!(report.totals.last_balance_usdc, "999095.000000");
    assert_eq!(report.loosenings.len(), 1);

    let roles = |name: &str| -> Vec<(String, Option<String>)> {
        let of = report.roles.iter().filter(|it| it.role.words() == name);
        of.map(|it| (it.key.clone(), it.until.as_ref().map(|until| until.time.clone()))).collect()
    };
    let authorities = roles("policy authority");
    assert_eq!(authorities.len(), 2);
    assert!(authorities[0].1.is_some(), "the first one ended: {authorities:?}");
    assert_eq!(authorities[1], (next.pubkey().to_string(), None));
    assert_eq!(roles("admin"), [(chain.admin.pubkey().to_string(), None)]);
    assert_eq!(report.delays.iter().map(|it| it.seconds).collect::<Vec<_>>(), [0]);
    let halt = &report.halts[0];
    assert_eq!(
        (&halt.account, &halt.by, halt.until.is_none()),
        (&None, &chain.admin.pubkey().to_string(), true)
    );

    let shown = text(&report);
    let span = format!("from {} to {}", account.policies[1].from.time, account.policies[2].from.time);
    for said in [
        format!("version 2 {span}: 900.000000 USDC left, in 1 payments"),
        format!("policy authority {}, from", next.pubkey()),
        format!("the operator by {}, from", chain.admin.pubkey()),
        "All 1 accounts".to_owned(),
        report.archive_sha256.clone(),
    ] {
        assert!(shown.contains(&said), "{said} is not in\n{shown}");
    }
    let page = html(&report);
    assert!(page.contains(&format!("Version 2, {span}")), "{page}");
    // No policy asked for a memo.
    let memo = report.checks.iter().find(|it| it.title == "Memo").expect("every check is reported");
    assert_eq!(memo.result, Verdict::NothingToCheck);
    assert!(page.contains("<section class=\"vacuous\"><h3>Memo"), "{page}");
}

#[test]
fn first_page_says_what_a_partner_signs() {
    let (mut chain, _) = eventful();
    chain.withdraws(7_000_000, &PAYEE);
    let report = chain.audited();
    let (operator, from) = (&report.operator, report.from_time.as_deref().expect("a date"));
    let until = report.until_time.as_deref().expect("a date");
    let said = [
        format!("the operator {operator} with all its accounts: 1"),
        format!("{from}, the operator's creation, to {until} (slot {})", report.until_slot),
        "905.000000 USDC, in 2 payments".to_owned(),
        "7.000000 USDC".to_owned(),
        "the committed build; may be replaced by nobody".to_owned(),
        "Memo; Allowlist".to_owned(),
        "SOL (fees, rent, and whom rent goes back to)".to_owned(),
    ];
    let told: Vec<&str> = report.timeline.iter().map(|it| it.text.as_str()).collect();
    assert!(told.iter().any(|it| it.starts_with("7.000000 USDC were withdrawn to ")), "{told:?}");
    let (shown, page) = (text(&report), html(&report));
    let first = shown.split("\nChecks\n").next().expect("a page");
    let first_page = page.split("</main>").next().expect("a page");
    for said in said {
        assert!(first.contains(&said), "{said} is not in {first}");
        assert!(first_page.contains(&said.replace('\'', "&#39;")), "{said} is not in {first_page}");
    }
    for line in ["\nClient       ____", "\nAuditor      ____", "\nPlace, date  ____", "\nSignature    ____"] {
        assert!(first.contains(line), "{line} is not in {first}");
    }
    assert!(first.lines().any(|line| line.starts_with("Exceptions ") && line.ends_with(" none")), "{first}");
    assert!(first.contains(&report.archive_sha256), "{first}");
    assert!(first_page.contains("class=\"verdict holds\""), "{first_page}");
    // An audit of which a part could not be done is not green, and says what is left open.
    chain.spoils("audit", |manifest| manifest["standing"] = Value::Null);
    let report = support::audited(chain.folder.path());
    assert!(html(&report).contains("class=\"verdict open\""));
    let shown = text(&report);
    let first = shown.split("\nChecks\n").next().expect("a page");
    assert!(first.contains("Accounts on the chain: not checked: no node listed"), "{first}");
}

#[test]
fn equal_lines_are_folded() {
    let chain = TestChain::new(&OnChainPolicy::default(), 0);
    let mut report = chain.audited();
    let check = report.checks.iter_mut().find(|it| it.title == "Signers").expect("every check is reported");
    let finding = |text: &str| Finding { account: None, text: text.to_owned(), at: None };
    check.findings = ["one", "other", "one", "one"].map(finding).to_vec();
    let shown = text(&report);
    for said in ["  - Signers: one (3 times)", "  - Signers: other", "! one (3 times; the first of them:)"] {
        assert_eq!(shown.matches(said).count(), 1, "{said}: {shown}");
    }
    assert_eq!(html(&report).matches("<li>one (3 times; the first of them:)").count(), 1);
    let moment = report.timeline[0].clone();
    report.timeline = vec![moment.clone(), moment.clone(), moment];
    assert_eq!(text(&report).matches("(3 times; the first of them:)").count(), 2);
}

/// Every movement, with a memo that is a formula, as CSV and as a workbook that other software reads.
#[test]
fn ledger_has_every_movement_and_its_sums_by_month_and_counterparty() {
    const FORMULA: &str = "=HYPERLINK(\"https://thief.example\");\u{1b}[2J";
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let first = chain.pays(&Paying { memo: FORMULA, ..Paying::usdc(2) });
    chain.pays(&Paying::usdc(3));
    chain.now += 40 * 86_400;
    chain.pays(&Paying::usdc(4));
    chain.withdraws(7_000_000, &PAYEE);
    let report = chain.audited();
    assert_eq!(report.ledger.len(), 5, "a deposit, three payments and a withdrawal");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("ledger.csv");
    let [sums, accounts] = write_csv(&file, &report).expect("the folder is writable");
    let [ledger, sums, accounts] =
        [&file, &sums, &accounts].map(|file| std::fs::read_to_string(file).expect("it was written"));
    assert!(ledger.starts_with("\u{feff}\"date_utc\",\"account\",\"type\""), "{ledger}");
    let line = ledger.lines().find(|line| line.contains(&first)).expect("the payment");
    let payee = chain.purse_of(&PAYEE);
    assert!(
        line.contains(&format!("\"payment\",1,2.000000,999998.000000,\"{payee}\",\"{PAYEE}\"")),
        "{line}"
    );
    assert!(line.contains("\"'=HYPERLINK(\"\"https://thief.example\"\");\\u{1b}[2J\",1,"), "{line}");
    assert_eq!(ledger.lines().count(), 6);
    let balances: Vec<&str> = ledger.lines().skip(1).filter_map(|line| line.split(',').nth(5)).collect();
    assert_eq!(
        balances,
        ["1000000.000000", "999998.000000", "999995.000000", "999991.000000", "999984.000000"],
        "{ledger}"
    );
    let months = |kind: &str| -> Vec<String> {
        let of = sums.lines().filter(|line| line.contains(&format!("\"{kind}\"")));
        of.map(|line| line.rsplit(',').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(months("payment"), ["5.000000 2", "4.000000 1"], "{sums}");
    assert_eq!(months("withdrawal"), ["7.000000 1"]);
    let of_the_account =
        format!("\"{}\",0.000000,1000000.000000,3,9.000000,7.000000,999984.000000", chain.agent);
    assert!(accounts.contains(&of_the_account), "{accounts}");
    let book = folder.path().join("ledger.xlsx");
    write_xlsx(&book, &report).expect("the folder is writable");
    let Some(python) = foreign::python() else { return };
    let read = "import sys, zipfile, re\n\
                book = zipfile.ZipFile(sys.argv[1])\n\
                sheets = [book.read(f'xl/worksheets/sheet{n}.xml').decode() for n in (1, 2, 3, 4)]\n\
                assert not any('<f>' in sheet for sheet in sheets), 'a formula'\n\
                print([len(re.findall('<row ', sheet)) for sheet in sheets])";
    let output = std::process::Command::new(python.join("python")).args(["-c", read]).arg(&book).output();
    let output = output.expect("python starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed.trim(), "[6, 5, 3, 16]", "{}", String::from_utf8_lossy(&output.stderr));
}

/// Three payments on three days: 2, 3 and 4 USDC. The deposit of 1,000,000 came on the first.
#[test]
fn period_narrows_totals_and_ledger_and_no_check() {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    for usdc in [2, 3, 4] {
        chain.pays(&Paying::usdc(usdc));
        chain.now += 86_400;
    }
    let whole = chain.audited();
    // The chain begins in the middle of a day.
    let [first, second, third] =
        [0, 1, 2].map(|days| date(BEGIN + days * 86_400).chars().take(10).collect::<String>());
    let of = |from: Option<&String>, to: Option<&String>| {
        let mut report = whole.clone();
        let day = |day: &String| day.parse().expect("a day");
        report.narrow_to(Period::of_days(from.map(day), to.map(day)).expect("a period"));
        report
    };
    for (from, to, opening, deposited, paid, closing, entries) in [
        (None, None, "0", "1000000", "9", "999991", 4),
        (Some(&second), None, "999998", "0", "7", "999991", 2),
        (Some(&second), Some(&second), "999998", "0", "3", "999995", 1),
        (None, Some(&first), "0", "1000000", "2", "999998", 2),
        (Some(&third), Some(&third), "999995", "0", "4", "999991", 1),
    ] {
        let report = of(from, to);
        let sums = &report.period.all;
        let expected = [opening, deposited, paid, closing].map(|whole| format!("{whole}.000000"));
        let counted =
            [&sums.opening_balance_usdc, &sums.deposited_usdc, &sums.paid_usdc, &sums.closing_balance_usdc];
        assert_eq!(counted.map(String::clone), expected, "{from:?} to {to:?}");
        assert_eq!(&report.period.accounts[0].sums, sums);
        assert_eq!(report.ledger.len(), entries, "{from:?} to {to:?}");
        let last = report.ledger.last().map(|entry| signed_usdc(entry.balance));
        assert_eq!(last.as_ref(), Some(&sums.closing_balance_usdc), "{from:?} to {to:?}");
        assert_eq!(json!(report.checks), json!(whole.checks));
        assert_eq!(report.totals.paid_usdc, "9.000000");
    }
    let shown = text(&of(Some(&second), Some(&second)));
    let first_page = shown.split("\nChecks\n").next().expect("a page");
    let said = format!("{second} to {second}, both days included (UTC)");
    for said in [said.as_str(), "3.000000 USDC, in 1 payments", "999998.000000 USDC"] {
        assert!(first_page.contains(said), "{said} is not in {first_page}");
    }
    assert!(!shown.contains("NOT OVER"), "{shown}");
    let row = format!(
        "account {}, USDC at the beginning 999998.000000, came in 0.000000, payments 1, USDC paid 3.000000, taken out by the \
         admin 0.000000, at the end 999995.000000",
        chain.agent
    );
    assert!(shown.contains(&row), "{shown}");
    // A period that goes on is no month that can be closed.
    let today: String = date(chain.now).chars().take(10).collect();
    let open = of(None, Some(&today));
    assert!(!open.period.days.is_over && text(&open).contains("NOT OVER"), "{}", text(&open));
    assert!(html(&open).contains("NOT OVER"));
}

#[test]
fn account_that_was_resumed_or_whose_policy_authority_came_back_has_both_times() {
    let (mut chain, _) = eventful();
    chain.now += 60;
    chain.resumes();
    let first = Keypair::new_from_array([2; 32]);
    chain.rotates_policy_key(&first);
    let report = chain.audited();
    assert!(report.holds, "{}", text(&report));
    let halt = &report.halts[0];
    assert!(halt.until.is_some() && halt.resumed_by == Some(chain.admin.pubkey().to_string()), "{halt:?}");
    let times = report.roles.iter().filter(|it| it.key == first.pubkey().to_string());
    assert_eq!(times.map(|it| it.until.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn same_past_has_the_same_root_and_anything_else_another() {
    let (chain, _) = eventful();
    let report = chain.audited();
    assert_eq!(report.archive_sha256, support::audited(chain.folder.path()).archive_sha256);
    chain.spoils(&format!("transactions/{}", chain.deposit()), |transaction| {
        transaction["meta"]["logMessages"] = Value::Null;
    });
    let other = support::audited(chain.folder.path());
    assert_eq!(report.inputs_sha256, other.inputs_sha256, "the signatures are the same");
    assert_ne!(report.archive_sha256, other.archive_sha256);
}

fn schema() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/trust/audit-report.schema.json")
}

/// Every form of a report that tests make, against the schema that is published.
#[tokio::test]
async fn reports_are_what_their_schema_says() {
    let (chain, _) = eventful();
    let mut reports = tokio::task::spawn_blocking(move || {
        let honest = chain.audited();
        chain.spoils(&format!("transactions/{}", chain.deposit()), |transaction| {
            transaction["transaction"]["message"]["instructions"][0]["data"] = "111".into();
        });
        let spoilt = support::audited(chain.folder.path());
        chain.spoils("audit", |manifest| manifest["standing"] = Value::Null);
        let mut withdrawn = TestChain::new(&OnChainPolicy::default(), 86_400);
        withdrawn.withdraws(7_000_000, &PAYEE);
        [honest, spoilt, support::audited(chain.folder.path()), withdrawn.audited()]
    })
    .await
    .expect("they are made");
    reports[0].tool_sha256 = Some("00".repeat(32));
    let day = "2096-10-02".parse().ok();
    reports[1].narrow_to(Period::of_days(day, day).expect("a period"));
    assert_eq!(reports[3].withdrawals.len(), 1);
    assert_eq!(reports[3].withdrawals[0].recipient_owner, Some(PAYEE.to_string()));
    assert_eq!(
        reports.each_ref().map(|it| (it.holds, it.complete)),
        [(true, true), (false, true), (false, false), (true, true)]
    );
    validates(&reports).await;
}

async fn validates(reports: &[Report]) {
    let Some(python) = foreign::python() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = tokio::process::Command::new(python.join("python"));
    command.arg(foreign::file("schema.py")).arg(schema());
    for (at, report) in reports.iter().enumerate() {
        let file = folder.path().join(format!("{at}.json"));
        std::fs::write(&file, serde_json::to_string(report).expect("JSON")).expect("the folder is writable");
        command.arg(file);
    }
    foreign::printed(command).await;
}
