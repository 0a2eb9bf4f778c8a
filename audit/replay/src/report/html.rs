//! The report as one HTML file: no script, nothing fetched, and fit for printing.

use std::fmt::{Result as Written, Write};

use super::parts::{SIGNED, Table, folded, runs};
use super::{CheckReport, Reference, Report, Verdict};

const STYLE: &str = include_str!("report.css");

/// The report as a self-contained page.
pub fn html(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = page(&mut out, report);
    out
}

fn page(out: &mut String, report: &Report) -> Written {
    let class = match (report.holds, report.complete) {
        (false, _) => "fails",
        (true, false) => "open",
        (true, true) => "holds",
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Audit of {}</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <style>{STYLE}</style></head><body>\
         <main><h1>Audit of a Purser operator</h1><p class=\"verdict {class}\">{}</p>",
        escaped(report.account.as_ref().unwrap_or(&report.operator)),
        escaped(&report.verdict)
    )?;
    first_page(out, report)?;
    out.push_str("</main><h2>What was checked</h2>");
    for check in &report.checks {
        checked(out, check)?;
    }
    about(out, report)?;
    in_force(out, report)?;
    accounts(out, report)?;
    over_time(out, report)?;
    program(out, report)?;
    if !report.remarks.is_empty() {
        out.push_str("<h2>To be known</h2><ul>");
        for remark in &report.remarks {
            write!(out, "<li>{}", escaped(&remark.text))?;
            for at in &remark.at {
                write!(out, "<br>{}", reference(at))?;
            }
            if remark.more > 0 {
                write!(out, "<br>and {} more", remark.more)?;
            }
            out.push_str("</li>");
        }
        out.push_str("</ul>");
    }
    out.push_str("<h2>Not seen by this audit</h2><ul>");
    for unseen in &report.unseen {
        write!(out, "<li>{}</li>", escaped(unseen))?;
    }
    out.push_str("</ul></body></html>\n");
    Ok(())
}

/// What a partner reads, and signs.
fn first_page(out: &mut String, report: &Report) -> Written {
    table(out, &report.first_page())?;
    out.push_str("<h2>Exceptions</h2>");
    let exceptions = report.exceptions();
    if exceptions.is_empty() {
        out.push_str("<p>None.</p>");
    }
    for exception in exceptions {
        write!(out, "<p>{}</p>", escaped(&exception))?;
    }
    out.push_str("<table class=\"signed\">");
    for line in SIGNED {
        write!(out, "<tr><th>{line}</th><td></td></tr>")?;
    }
    out.push_str("</table>");
    Ok(())
}

fn about(out: &mut String, report: &Report) -> Written {
    out.push_str("<h2>What was read</h2>");
    let rows = [
        ("Mint", format!("{}, {}", report.mint, report.usdc_mint)),
        ("Transactions", report.transactions.to_string()),
        ("SHA-256 of their signatures", report.inputs_sha256.clone()),
    ];
    table(out, &rows)
}

/// Keys, what was loosened, and what was in force when.
fn in_force(out: &mut String, report: &Report) -> Written {
    if let Some(keys) = &report.keys {
        out.push_str("<h2>Keys</h2>");
        let none = || "none".to_owned();
        let rows = [
            ("Admin", keys.admin.clone()),
            ("Offered to", keys.pending_admin.clone().unwrap_or_else(none)),
            ("Policy authority", keys.policy_authority.clone()),
            ("Guardian", keys.guardian.clone().unwrap_or_else(none)),
            ("Transfer authorities", keys.transfer_authorities.join(" ")),
            ("Loosened policies wait", format!("{} seconds", keys.loosening_delay_seconds)),
            ("Halted", if keys.halted { "yes" } else { "no" }.to_owned()),
        ];
        table(out, &rows)?;
    }
    if !report.loosenings.is_empty() {
        out.push_str("<h2>Loosened policies</h2><ul>");
    }
    for loosening in &report.loosenings {
        let until = loosening.until.as_ref().map_or("now, and still so", |until| &until.time);
        write!(
            out,
            "<li><code>{}</code> {}, from {} to {}. {} USDC left meanwhile, in {} payments; signed by <code>{}</code><br>{}</li>",
            escaped(&loosening.account),
            escaped(&loosening.what.join(", ")),
            escaped(&loosening.from.time),
            escaped(until),
            loosening.paid_usdc,
            loosening.payments,
            escaped(&loosening.signer),
            reference(&loosening.from)
        )?;
    }
    if !report.loosenings.is_empty() {
        out.push_str("</ul>");
    }
    out.push_str("<h2>What was in force when</h2><ul>");
    for (moment, count) in runs(&report.timeline) {
        let account =
            moment.account.as_ref().map_or(String::new(), |it| format!("<code>{}</code> ", escaped(it)));
        let text = escaped(&moment.text);
        write!(out, "<li>{account}{text}{}<br>{}</li>", times(count), reference(&moment.at))?;
    }
    out.push_str("</ul>");
    Ok(())
}

fn checked(out: &mut String, check: &CheckReport) -> Written {
    let class = match check.result {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "fails",
        Verdict::NothingToCheck => "vacuous",
        Verdict::Incomplete => "open",
    };
    write!(
        out,
        "<section class=\"{class}\"><h3>{} <span>{}</span></h3><p>{} <small>{} looked at.</small></p>",
        escaped(check.title),
        escaped(check.result.words()),
        escaped(check.means),
        check.examined
    )?;
    if !check.findings.is_empty() {
        out.push_str("<ol>");
        for (finding, count) in folded(&check.findings) {
            let account =
                finding.account.as_ref().map_or(String::new(), |it| format!("<code>{}</code> ", escaped(it)));
            write!(out, "<li>{account}{}{}", escaped(&finding.text), times(count))?;
            if let Some(at) = &finding.at {
                write!(out, "<br>{}", reference(at))?;
            }
            out.push_str("</li>");
        }
        out.push_str("</ol>");
    }
    for why in &check.unchecked {
        write!(out, "<p>Not checked: {}</p>", escaped(why))?;
    }
    out.push_str("</section>");
    Ok(())
}

/// How often something is so, where that is more than once.
fn times(count: usize) -> String {
    if count > 1 { format!(" ({count} times; the first of them:)") } else { String::new() }
}

fn accounts(out: &mut String, report: &Report) -> Written {
    grid(out, &report.by_account())?;
    out.push_str("<h2>Accounts</h2>");
    for account in &report.accounts {
        write!(out, "<h3><code>{}</code></h3>", escaped(&account.address))?;
        let balance = |balance: &Option<String>| balance.clone().unwrap_or_else(|| "none".to_owned());
        let rows = [
            ("Id", account.account_id.clone()),
            ("Token account", account.token_account.clone()),
            ("Payments", format!("{}, {} USDC", account.payments, account.paid_usdc)),
            ("Deposits", format!("{} USDC", account.deposited_usdc)),
            ("Taken out by the admin", format!("{} USDC", account.withdrawn_usdc)),
            ("Left in all", format!("{} USDC", account.out_usdc)),
            ("First balance", balance(&account.first_balance_usdc)),
            ("Last balance", balance(&account.last_balance_usdc)),
            ("Policy", account.policy.clone().unwrap_or_else(|| "none".to_owned())),
        ];
        table(out, &rows)?;
        out.push_str("<ul>");
        for policy in &account.policies {
            write!(
                out,
                "<li>Version {}, {}: {}. {} USDC left, in {} payments. Signed by <code>{}</code><br>{}</li>",
                policy.version,
                span(&policy.from, &policy.until),
                escaped(&policy.terms),
                policy.paid_usdc,
                policy.payments,
                escaped(&policy.signer),
                reference(&policy.from)
            )?;
        }
        out.push_str("</ul>");
        for (what, at) in [("Created", &account.created), ("Closed", &account.closed)] {
            if let Some(at) = at {
                write!(out, "<p>{what} {}</p>", reference(at))?;
            }
        }
    }
    let totals = &report.totals;
    write!(out, "<h3>All {} accounts</h3>", totals.accounts)?;
    let rows = [
        ("Payments", format!("{}, {} USDC", totals.payments, totals.paid_usdc)),
        ("Deposits", format!("{} USDC", totals.deposited_usdc)),
        ("Taken out by the admin", format!("{} USDC", totals.withdrawn_usdc)),
        ("Left in all", format!("{} USDC", totals.out_usdc)),
        ("Last balance", format!("{} USDC", totals.last_balance_usdc)),
    ];
    table(out, &rows)?;
    if let Some(solvency) = &report.solvency {
        out.push_str("<h3>Balances by the relayer</h3>");
        let stated = solvency.stated_usdc.as_deref().unwrap_or("no amount");
        let all = ("All", format!("{stated} USDC stated, {} USDC held", solvency.purses_usdc));
        let each = solvency.accounts.iter();
        let each = each.map(|it| {
            (it.account.as_str(), format!("{} USDC stated, {} USDC held", it.stated_usdc, it.purse_usdc))
        });
        let rows: Vec<(&str, String)> = std::iter::once(all).chain(each).collect();
        table(out, &rows)?;
    }
    Ok(())
}

/// Keys, delays and halts, each from when to when; and what the admin took out.
fn over_time(out: &mut String, report: &Report) -> Written {
    out.push_str("<h2>Keys and delays over time</h2><ul>");
    for role in &report.roles {
        let when = span(&role.from, &role.until);
        write!(out, "<li>{} <code>{}</code>, {when}</li>", role.role.words(), escaped(&role.key))?;
    }
    for delay in &report.delays {
        let when = span(&delay.from, &delay.until);
        write!(out, "<li>loosened policies wait {} seconds, {when}</li>", delay.seconds)?;
    }
    out.push_str("</ul>");
    beside(out, report)?;
    out.push_str("<h2>Halts</h2><ul>");
    for halt in &report.halts {
        let whose = halt.account.as_deref().unwrap_or("the operator");
        let resumed = halt.resumed_by.as_ref();
        let resumed =
            resumed.map_or(String::new(), |by| format!(", resumed by <code>{}</code>", escaped(by)));
        write!(
            out,
            "<li><code>{}</code> by <code>{}</code>, {}{resumed}<br>{}</li>",
            escaped(whose),
            escaped(&halt.by),
            span(&halt.from, &halt.until),
            reference(&halt.from)
        )?;
    }
    out.push_str("</ul><h2>Withdrawals</h2><ul>");
    for withdrawal in &report.withdrawals {
        write!(
            out,
            "<li>{} USDC from <code>{}</code> to <code>{}</code>, owned by <code>{}</code>, by <code>{}</code><br>{}</li>",
            withdrawal.amount_usdc,
            escaped(&withdrawal.account),
            escaped(&withdrawal.recipient),
            escaped(withdrawal.recipient_owner.as_deref().unwrap_or("unknown")),
            escaped(&withdrawal.admin),
            reference(&withdrawal.at)
        )?;
    }
    out.push_str("</ul>");
    Ok(())
}

/// Budgets, approvers, and what bound accounts beside their policies.
fn beside(out: &mut String, report: &Report) -> Written {
    for table in report.over_time() {
        grid(out, &table)?;
    }
    Ok(())
}

fn grid(out: &mut String, Table { title, heads, rows }: &Table) -> Written {
    write!(out, "<h2>{}</h2><table><tr>", escaped(title))?;
    for head in *heads {
        write!(out, "<th>{head}</th>")?;
    }
    for row in rows {
        out.push_str("</tr><tr>");
        for cell in row {
            write!(out, "<td>{}</td>", escaped(cell))?;
        }
    }
    out.push_str("</tr></table>");
    Ok(())
}

fn span(from: &Reference, until: &Option<Reference>) -> String {
    let until = until.as_ref().map_or("now", |until| &until.time);
    format!("from {} to {}", escaped(&from.time), escaped(until))
}

fn program(out: &mut String, report: &Report) -> Written {
    let program = &report.program;
    out.push_str("<h2>Program</h2>");
    let rows = [
        ("Address", program.program.clone()),
        ("Build", program.build().to_owned()),
        ("SHA-256", program.sha256.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("SHA-256 of the committed build", program.committed_sha256.clone()),
        (
            "Last changed in slot",
            program.changed_in_slot.map_or("unknown".to_owned(), |slot| slot.to_string()),
        ),
        ("Upgrade authority", program.upgradeable_by().to_owned()),
    ];
    table(out, &rows)?;
    for upgrade in &program.upgrades {
        let by = upgrade.authority.as_deref().unwrap_or("?");
        write!(out, "<p>{} by <code>{}</code><br>{}</p>", upgrade.what, escaped(by), reference(&upgrade.at))?;
    }
    Ok(())
}

fn table(out: &mut String, rows: &[(&str, String)]) -> Written {
    out.push_str("<table>");
    for (name, value) in rows {
        write!(out, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value))?;
    }
    out.push_str("</table>");
    Ok(())
}

/// A link also shows its signature, because it cannot be followed on paper.
fn reference(at: &Reference) -> String {
    let signature = escaped(&at.signature);
    let shown = match &at.explorer {
        Some(link) => format!("<a href=\"{}\"><code>{signature}</code></a>", escaped(link)),
        None => format!("<code>{signature}</code>"),
    };
    format!("<small>{} slot {} {shown}</small>", escaped(&at.time), at.slot)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
