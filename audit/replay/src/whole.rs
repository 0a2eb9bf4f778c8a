//! Whether nothing is missing that an audit reads or saves, and whether it is of one time.

use std::collections::BTreeSet;

use crate::AuditError;
use crate::archive::Archive;
use crate::check::Check;
use crate::gather::clock_time;
use crate::node::CLOCK;
use crate::replay::{Outcome, date};
use crate::scope::Scope;

/// How many seconds a block's date may be away from the clock in it.
const CLOCKS_APART_MAX: u64 = 60;

/// Whether nothing is missing that an audit saves. What is missing was not checked.
pub fn check(scope: &Scope, archive: &Archive, outcome: &mut Outcome) -> Result<(), AuditError> {
    for address in scope.standing() {
        if archive.account(&address)?.is_none() {
            outcome.leaves_open(Check::State, format!("{address} was not saved as it stands on the chain"));
        }
    }
    let unread = outcome.beside.iter().filter(|address| !scope.beside.contains(address));
    for address in unread.copied().collect::<Vec<_>>() {
        let why =
            format!("{address}, a grant, an approver or a budget, was not saved as it stands on the chain");
        outcome.leaves_open(Check::State, why);
    }
    if scope.manifest.account.is_none() {
        let created = outcome.owners.values().copied().collect::<BTreeSet<_>>();
        for agent in created.iter().filter(|agent| !scope.agents.contains(agent)) {
            outcome.leaves_open(
                Check::State,
                format!("the account {agent} was created, and is not among those saved"),
            );
        }
    }
    if scope.manifest.account.is_none() && scope.manifest.standing.is_none() {
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

/// The date of the last slot, held against the chain's own clock, which was read with the accounts.
fn fits_the_clock(scope: &Scope, archive: &Archive, outcome: &mut Outcome) -> Result<(), AuditError> {
    let clock = archive.account(&CLOCK)?.and_then(|snapshot| snapshot.account);
    let stands = clock.as_ref().and_then(clock_time);
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
