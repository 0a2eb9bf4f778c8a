//! The report for a terminal.

use std::fmt::{Result as Written, Write};

use super::parts::{SIGNED, Table, folded, runs};
use super::{
    AccountReport, CheckReport, KeysReport, LooseningReport, ProgramReport, Reference, Remark, Report,
    TotalsReport,
};

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> Written {
    first_page(out, report)?;
    writeln!(out, "\nChecks")?;
    for check in &report.checks {
        checked(out, check)?;
    }
    writeln!(out, "\nWhat was read")?;
    writeln!(out, "mint           {}, {}", report.mint, report.usdc_mint)?;
    writeln!(out, "signatures     SHA-256 {} of {} transactions", report.inputs_sha256, report.transactions)?;
    program(out, &report.program)?;
    if let Some(keys) = &report.keys {
        held(out, keys)?;
    }
    if !report.loosenings.is_empty() {
        writeln!(out, "\nLoosened policies")?;
    }
    for loosening in &report.loosenings {
        loosened(out, loosening)?;
    }
    rows(out, &report.by_account())?;
    writeln!(out, "\nAccounts")?;
    for account in &report.accounts {
        lived(out, account)?;
    }
    totals(out, &report.totals)?;
    relayer(out, report)?;
    over_time(out, report)?;
    writeln!(out, "\nWhat was in force when")?;
    for (moment, count) in runs(&report.timeline) {
        let whose = moment.account.as_ref().map_or(String::new(), |account| format!("{account}: "));
        writeln!(out, "  - {} {whose}{}{}", moment.at.time, moment.text, times(count))?;
        writeln!(out, "      {}", reference(&moment.at))?;
    }
    if !report.remarks.is_empty() {
        writeln!(out, "\nTo be known")?;
    }
    for remark in &report.remarks {
        remarked(out, remark)?;
    }
    writeln!(out, "\nNot seen by this audit")?;
    for unseen in &report.unseen {
        writeln!(out, "  - {unseen}")?;
    }
    Ok(())
}

/// What a partner reads, and signs.
fn first_page(out: &mut String, report: &Report) -> Written {
    writeln!(out, "{}\n", report.verdict)?;
    for (what, said) in report.first_page() {
        writeln!(out, "{what:<42} {said}")?;
    }
    let exceptions = report.exceptions();
    let none = if exceptions.is_empty() { "none" } else { "these" };
    writeln!(out, "{:<42} {none}", "Exceptions")?;
    for exception in exceptions {
        writeln!(out, "  - {exception}")?;
    }
    for line in SIGNED {
        writeln!(out, "\n{line:<12} {}", "_".repeat(40))?;
    }
    Ok(())
}

/// How often something is so, where that is more than once.
fn times(count: usize) -> String {
    if count > 1 { format!(" ({count} times; the first of them:)") } else { String::new() }
}

fn held(out: &mut String, keys: &KeysReport) -> Written {
    writeln!(out, "\nKeys")?;
    writeln!(out, "  admin                {}", keys.admin)?;
    if let Some(pending) = &keys.pending_admin {
        writeln!(out, "  offered to           {pending}")?;
    }
    writeln!(out, "  policy authority     {}", keys.policy_authority)?;
    writeln!(out, "  guardian             {}", keys.guardian.as_deref().unwrap_or("none"))?;
    writeln!(out, "  transfer authorities {}", keys.transfer_authorities.join(" "))?;
    let halted = if keys.halted { "; HALTED" } else { "" };
    writeln!(out, "  loosened policies wait {} seconds{halted}", keys.loosening_delay_seconds)
}

fn loosened(out: &mut String, loosening: &LooseningReport) -> Written {
    let LooseningReport { account, what, from, until, payments, paid_usdc, signer, .. } = loosening;
    let until = until.as_ref().map_or("now, and still so", |until| &until.time);
    writeln!(out, "  - {account}: {}, from {} to {until}", what.join(", "), from.time)?;
    writeln!(out, "      {paid_usdc} USDC left meanwhile, in {payments} payments; signed by {signer}")?;
    writeln!(out, "      {}", reference(from))
}

fn program(out: &mut String, program: &ProgramReport) -> Written {
    let build = match (program.is_committed_build, &program.sha256) {
        (Some(false), Some(hash)) => format!("{}, sha256 {hash}", program.build()),
        (Some(_) | None, _) => program.build().to_owned(),
    };
    let slot = program.changed_in_slot.map_or("?".to_owned(), |slot| slot.to_string());
    let authority = program.upgradeable_by();
    writeln!(
        out,
        "program        {}: {build}; last changed in slot {slot}; upgradeable by {authority}",
        program.program
    )?;
    for upgrade in &program.upgrades {
        let by = upgrade.authority.as_deref().unwrap_or("?");
        writeln!(out, "               {} by {by}: {}", upgrade.what, reference(&upgrade.at))?;
    }
    Ok(())
}

fn checked(out: &mut String, check: &CheckReport) -> Written {
    writeln!(out, "  {:<36} {:<16} {:>8}", check.title, check.result.words(), check.examined)?;
    for (finding, count) in folded(&check.findings) {
        let account =
            finding.account.as_ref().map_or(String::new(), |account| format!("account {account}: "));
        writeln!(out, "      ! {account}{}{}", finding.text, times(count))?;
        if let Some(at) = &finding.at {
            writeln!(out, "        {}", reference(at))?;
        }
    }
    for why in &check.unchecked {
        writeln!(out, "      ? {why}")?;
    }
    Ok(())
}

fn lived(out: &mut String, account: &AccountReport) -> Written {
    writeln!(out, "  {} ({})", account.address, account.account_id)?;
    let AccountReport { payments, paid_usdc, withdrawn_usdc, deposited_usdc, policies, .. } = account;
    writeln!(
        out,
        "      {payments} payments of {paid_usdc} USDC; {deposited_usdc} came in, {withdrawn_usdc} taken out by the admin; \
         {} policy versions",
        policies.len()
    )?;
    if let Some(policy) = &account.policy {
        writeln!(out, "      policy {policy}")?;
    }
    let balance = |balance: &Option<String>| balance.clone().unwrap_or_else(|| "no".to_owned());
    let (first, last) = (balance(&account.first_balance_usdc), balance(&account.last_balance_usdc));
    writeln!(out, "      balance from {first} to {last} USDC, on {}", account.token_account)?;
    for policy in policies {
        let left = format!("{} USDC left, in {} payments", policy.paid_usdc, policy.payments);
        writeln!(out, "      version {} {}: {left}", policy.version, span(&policy.from, &policy.until))?;
    }
    for (what, at) in [("created", &account.created), ("closed", &account.closed)] {
        if let Some(at) = at {
            writeln!(out, "      {what} {}", reference(at))?;
        }
    }
    Ok(())
}

fn totals(out: &mut String, totals: &TotalsReport) -> Written {
    let TotalsReport { accounts, payments, paid_usdc, withdrawn_usdc, out_usdc, deposited_usdc, .. } = totals;
    writeln!(out, "\nAll {accounts} accounts")?;
    writeln!(out, "  came in   {deposited_usdc} USDC")?;
    writeln!(
        out,
        "  left      {out_usdc} USDC: {paid_usdc} in {payments} payments, {withdrawn_usdc} taken out by the admin"
    )?;
    writeln!(out, "  hold      {} USDC", totals.last_balance_usdc)
}

fn relayer(out: &mut String, report: &Report) -> Written {
    let Some(solvency) = &report.solvency else { return Ok(()) };
    let stated = solvency.stated_usdc.as_deref().unwrap_or("no amount");
    writeln!(out, "\nBalances by the relayer")?;
    writeln!(
        out,
        "  {stated} USDC stated, {} USDC held, on {} accounts",
        solvency.purses_usdc,
        solvency.accounts.len()
    )?;
    for balance in solvency.accounts.iter().filter(|it| it.purse_usdc != it.stated_usdc) {
        writeln!(
            out,
            "  - {}: {} stated, {} held",
            balance.account, balance.stated_usdc, balance.purse_usdc
        )?;
    }
    Ok(())
}

/// Keys, delays and halts, each from when to when; and what the admin took out.
fn over_time(out: &mut String, report: &Report) -> Written {
    writeln!(out, "\nKeys and delays over time")?;
    for role in &report.roles {
        writeln!(out, "  - {} {}, {}", role.role.words(), role.key, span(&role.from, &role.until))?;
    }
    for delay in &report.delays {
        let when = span(&delay.from, &delay.until);
        writeln!(out, "  - loosened policies wait {} seconds, {when}", delay.seconds)?;
    }
    for table in report.over_time() {
        rows(out, &table)?;
    }
    if !report.halts.is_empty() {
        writeln!(out, "\nHalts")?;
    }
    for halt in &report.halts {
        let whose = halt.account.as_deref().unwrap_or("the operator");
        let resumed = halt.resumed_by.as_ref().map_or(String::new(), |by| format!(", resumed by {by}"));
        writeln!(out, "  - {whose} by {}, {}{resumed}", halt.by, span(&halt.from, &halt.until))?;
    }
    if !report.withdrawals.is_empty() {
        writeln!(out, "\nWithdrawals")?;
    }
    for withdrawal in &report.withdrawals {
        let owner = withdrawal.recipient_owner.as_deref().unwrap_or("unknown");
        writeln!(
            out,
            "  - {} USDC from {} to {}, owned by {owner}, by {}",
            withdrawal.amount_usdc, withdrawal.account, withdrawal.recipient, withdrawal.admin
        )?;
        writeln!(out, "      {}", reference(&withdrawal.at))?;
    }
    Ok(())
}

fn rows(out: &mut String, table: &Table) -> Written {
    writeln!(out, "\n{}", table.title)?;
    for row in &table.rows {
        let cells: Vec<String> =
            table.heads.iter().zip(row).map(|(head, cell)| format!("{head} {cell}")).collect();
        writeln!(out, "  - {}", cells.join(", "))?;
    }
    Ok(())
}

fn span(from: &Reference, until: &Option<Reference>) -> String {
    format!("from {} to {}", from.time, until.as_ref().map_or("now", |until| &until.time))
}

fn remarked(out: &mut String, remark: &Remark) -> Written {
    writeln!(out, "  - {}", remark.text)?;
    for at in &remark.at {
        writeln!(out, "      {}", reference(at))?;
    }
    if remark.more > 0 {
        writeln!(out, "      and {} more", remark.more)?;
    }
    Ok(())
}

fn reference(at: &Reference) -> String {
    let link = at.explorer.as_deref().unwrap_or(&at.signature);
    format!("{} slot {} {link}", at.time, at.slot)
}
