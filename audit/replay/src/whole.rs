//! Whether nothing is missing that an audit reads or saves, and whether it is of one time.

use std::collections::BTreeSet;

use anchor_lang::prelude::Pubkey;

use crate::AuditError;
use crate::archive::{Archive, CLOCK, LISTS, PARTS, TRANSACTIONS};
use crate::check::Check;
use crate::gather::clock_time;
use crate::node::clock_slot;
use crate::replay::{KeyRole, Outcome, Span, date};
use crate::scope::Scope;

/// How many seconds a block's date may be away from the clock in it.
const CLOCKS_APART_MAX: u64 = 60;

/// How many slots the end of what was read may be away from the chain's own clock: about a minute.
const SLOTS_APART_MAX: u64 = 150;
/// Accounts of this program are lookup tables, which transactions name.
const LOOKUP_TABLES: Pubkey = Pubkey::from_str_const("AddressLookupTab1e1111111111111111111111111");

/// Checks that the archive holds everything that an audit saves. A missing file leaves the audit incomplete; a surplus file is
/// named.
pub fn check(scope: &Scope, archive: &Archive, outcome: &mut Outcome) -> Result<(), AuditError> {
    let mut newest = 0;
    for address in scope.accounts() {
        match archive.account(&address)? {
            Some(snapshot) => newest = newest.max(snapshot.slot),
            None => outcome
                .leaves_open(Check::State, format!("{address} was not saved as it stands on the chain")),
        }
    }
    for address in scope.lists() {
        if !archive.has_signatures(&address)? {
            outcome.leaves_open(Check::State, format!("the transactions of {address} were not saved"));
        }
    }
    if newest != scope.manifest.until_slot {
        let why = format!(
            "what was read is said to end with slot {}, and the newest account in it is of slot {newest}",
            scope.manifest.until_slot
        );
        outcome.leaves_open(Check::Dates, why);
    }
    outcome.surplus = surplus(scope, archive, outcome)?;
    for agent in scope.listed.iter().flatten().filter(|agent| !scope.agents.contains(agent)) {
        let why = format!("the account {agent} stands on the chain, and is not among those saved");
        outcome.leaves_open(Check::State, why);
    }
    if let Some(listed) = scope.listed.as_ref().filter(|_| scope.account.is_none()) {
        let open = outcome.lives.iter().filter(|(_, life)| life.created.is_some() && life.closed.is_none());
        let unlisted: Vec<_> =
            open.map(|(agent, _)| *agent).filter(|agent| !listed.contains(agent)).collect();
        for agent in unlisted {
            let why = format!("no node lists the account {agent}, which was created and never closed");
            outcome.leaves_open(Check::State, why);
        }
    }
    let unread = outcome.beside.iter().filter(|address| !scope.beside.contains(address));
    for address in unread.copied().collect::<Vec<_>>() {
        let why =
            format!("{address}, a grant, an approver or a budget, was not saved as it stands on the chain");
        outcome.leaves_open(Check::State, why);
    }
    if scope.account.is_none() {
        let created = outcome.owners.values().copied().collect::<BTreeSet<_>>();
        for agent in created.iter().filter(|agent| !scope.agents.contains(agent)) {
            outcome.leaves_open(
                Check::State,
                format!("the account {agent} was created, and is not among those saved"),
            );
        }
    }
    if scope.account.is_none() && scope.listed.is_none() {
        let why = "no node listed the program's accounts (getProgramAccounts), so an account whose every transaction is \
                   hidden does not show";
        outcome.leaves_open(Check::State, why.to_owned());
    }
    if let Some(contradictions) = &scope.manifest.contradictions {
        *outcome.examined.entry(Check::Nodes).or_default() += outcome.transactions;
        for text in contradictions {
            outcome.leaves_open(Check::Nodes, text.clone());
        }
    }
    fits_the_clock(scope, archive, outcome)?;
    let text = |until: i64, last: i64| {
        let [until, last] = [until, last].map(date);
        format!("What was read ends at {until}, and its newest transaction is of {last}.")
    };
    match (scope.manifest.until_time, outcome.last_time) {
        (Some(until), Some(last)) if until < last.saturating_sub(1) => {
            outcome.finds(Check::Dates, Some(text(until, last)))
        }
        (Some(_), _) => {}
        (None, _) => {
            outcome.leaves_open(Check::Dates, "when that was which was read is not known".to_owned());
        }
    }
    Ok(())
}

/// Files that this audit does not need, such as grants that were closed since an earlier one.
fn surplus(scope: &Scope, archive: &Archive, outcome: &Outcome) -> Result<Vec<String>, AuditError> {
    let (accounts, mut lists) = (scope.accounts(), scope.lists());
    let mut transactions = BTreeSet::new();
    // Those of every policy authority, with heads of refusals.
    let is_authority = |role: &&Span<(KeyRole, Pubkey)>| role.what.0 == KeyRole::PolicyAuthority;
    lists.extend(outcome.roles.iter().filter(is_authority).map(|role| role.what.1));
    for address in &lists {
        transactions.extend(archive.signatures(address)?.into_iter().map(|line| line.signature));
    }
    let mut surplus = Vec::new();
    for part in PARTS {
        for name in archive.names(part)? {
            let address: Option<Pubkey> = name.parse().ok();
            let is_part = match (part, address) {
                (TRANSACTIONS, _) => transactions.contains(&name),
                (LISTS, Some(address)) => lists.contains(&address),
                (_, Some(address)) if accounts.contains(&address) => true,
                (_, Some(address)) => {
                    let account = archive.account(&address)?.and_then(|snapshot| snapshot.account);
                    account.is_some_and(|account| account.owner() == Some(LOOKUP_TABLES))
                }
                (_, None) => false,
            };
            surplus.extend((!is_part).then(|| format!("{part}/{name}.json")));
        }
    }
    surplus.sort();
    Ok(surplus)
}

/// The date of the last slot, held against the chain's own clock, which was read with the accounts.
fn fits_the_clock(scope: &Scope, archive: &Archive, outcome: &mut Outcome) -> Result<(), AuditError> {
    let clock = archive.account(&CLOCK)?.and_then(|snapshot| snapshot.account);
    let stands = clock.as_ref().and_then(clock_time);
    if let Some(slot) = clock.as_ref().and_then(clock_slot)
        && slot.abs_diff(scope.manifest.until_slot) > SLOTS_APART_MAX
    {
        let until = scope.manifest.until_slot;
        let why = format!(
            "what was read is said to end with slot {until}, and the chain's clock in it is of slot {slot}"
        );
        outcome.leaves_open(Check::Dates, why);
    }
    if let (Some(stands), Some(until)) = (stands, scope.manifest.until_time)
        && stands.abs_diff(until) > CLOCKS_APART_MAX
    {
        let [stands, until] = [stands, until].map(date);
        outcome.leaves_open(
            Check::Dates,
            format!(
                "the node dates what it answered at {until}, and the chain's clock in that answer says {stands}: it may be old"
            ),
        );
    }
    Ok(())
}
