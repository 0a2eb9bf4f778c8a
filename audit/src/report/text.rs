//! The report for a terminal.

use std::fmt::{Result as Written, Write};

use super::{AccountReport, CheckReport, ProgramReport, Reference, Remark, Report};

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &Report) -> Written {
    writeln!(out, "{}\n", report.verdict)?;
    writeln!(out, "operator       {}", report.operator)?;
    if let Some(account) = &report.account {
        writeln!(out, "account        {account}")?;
    }
    writeln!(out, "cluster        {} (genesis hash)", report.genesis_hash)?;
    writeln!(out, "read from      {}", report.read_from)?;
    let until = report.until_time.as_deref().unwrap_or("date unknown");
    writeln!(
        out,
        "up to          slot {}, {until}; {} transactions",
        report.until_slot, report.transactions
    )?;
    program(out, &report.program)?;
    writeln!(out, "\nChecks")?;
    for check in &report.checks {
        checked(out, check)?;
    }
    writeln!(out, "\nAccounts")?;
    for account in &report.accounts {
        lived(out, account)?;
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

fn program(out: &mut String, program: &ProgramReport) -> Written {
    let build = match (program.is_committed_build, &program.sha256) {
        (Some(true), _) => "the committed build".to_owned(),
        (Some(false), Some(hash)) => format!("ANOTHER BUILD than the committed one, sha256 {hash}"),
        (Some(false) | None, _) => "its build could not be read".to_owned(),
    };
    let slot = program.changed_in_slot.map_or("?".to_owned(), |slot| slot.to_string());
    let authority = program.upgrade_authority.as_deref().unwrap_or("nobody");
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
    for finding in &check.findings {
        let account =
            finding.account.as_ref().map_or(String::new(), |account| format!("account {account}: "));
        writeln!(out, "      ! {account}{}", finding.text)?;
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
    let AccountReport { payments, paid_usdc, withdrawn_usdc, deposited_usdc, policy_versions, .. } = account;
    writeln!(
        out,
        "      {payments} payments of {paid_usdc} USDC; {deposited_usdc} came in, {withdrawn_usdc} taken out by the admin; \
         {policy_versions} policy versions"
    )?;
    let balance = |balance: &Option<String>| balance.clone().unwrap_or_else(|| "no".to_owned());
    let (first, last) = (balance(&account.first_balance_usdc), balance(&account.last_balance_usdc));
    writeln!(out, "      balance from {first} to {last} USDC, on {}", account.token_account)?;
    for (what, at) in [("created", &account.created), ("closed", &account.closed)] {
        if let Some(at) = at {
            writeln!(out, "      {what} {}", reference(at))?;
        }
    }
    Ok(())
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
