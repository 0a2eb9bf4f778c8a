//! The report for a terminal.

use std::fmt::{Result as Written, Write};

use super::{
    AccountReport, CheckReport, KeysReport, LooseningReport, ProgramReport, Reference, Remark, Report,
};

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
    writeln!(out, "network        {}, genesis hash {}", report.network, report.genesis_hash)?;
    writeln!(out, "mint           {}, {}", report.mint, report.usdc_mint)?;
    writeln!(out, "read from      {}", report.read_from)?;
    let until = report.until_time.as_deref().unwrap_or("date unknown");
    writeln!(
        out,
        "up to          slot {}, {until}; {} transactions",
        report.until_slot, report.transactions
    )?;
    let from = report.from_time.as_deref().unwrap_or("date unknown");
    writeln!(out, "from           {from}, the operator's creation; by {}", report.tool)?;
    writeln!(out, "signatures     SHA-256 {}", report.inputs_sha256)?;
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
    writeln!(out, "\nChecks")?;
    for check in &report.checks {
        checked(out, check)?;
    }
    writeln!(out, "\nAccounts")?;
    for account in &report.accounts {
        lived(out, account)?;
    }
    writeln!(out, "\nWhat was in force when")?;
    for moment in &report.timeline {
        let whose = moment.account.as_ref().map_or(String::new(), |account| format!("{account}: "));
        writeln!(out, "  - {} {whose}{}", moment.at.time, moment.text)?;
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
        (Some(true), _) => "the committed build".to_owned(),
        (Some(false), Some(hash)) => format!("ANOTHER BUILD than the committed one, sha256 {hash}"),
        (Some(false) | None, _) => "its build could not be read".to_owned(),
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
    if let Some(policy) = &account.policy {
        writeln!(out, "      policy {policy}")?;
    }
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
