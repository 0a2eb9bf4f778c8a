//! One change for many accounts, each on record by itself: for REST, and for other extensions.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use purser_api::web::{ApiError, OnRecord, part_on_record};
use purser_model::wire::{Fields, PolicyFields};
use purser_model::{Invalid, Operator, Selection};
use purser_service::audit_scope::AuditScope;
use purser_service::{Planned, RulesInForce, ServiceError, Will};

use crate::many::{Many, ManyChange, ManyDone};

/// How many accounts are changed at once.
const AT_ONCE: usize = 16;
/// After so many failures of what every change needs, the rest is not tried, unless it stops something.
const FAILURES_MAX: usize = 2 * AT_ONCE;
/// The most that is shown of before and after: with the rest, an answer has to fit what is kept of a request.
pub(crate) const SHOWN_BYTES_MAX: usize = 400 * 1024;

/// A planned change, and what differs of the account.
pub struct Compared {
    pub planned: Planned,
    pub before: Fields,
    pub after: Fields,
}

/// An account with the end of its change.
pub struct Changed {
    pub compared: Compared,
    pub done: Result<ManyDone, ServiceError>,
}

/// What the change would do to each of the accounts. Changes nothing. Invalid: also where before and after are too long to show.
pub async fn compare(
    many: &Many,
    operator: &Operator,
    selection: &Selection,
    change: &ManyChange,
    is_dry_run: bool,
) -> Result<Vec<Compared>, ServiceError> {
    let planned = many.plan(operator, selection, change, is_dry_run).await?;
    let compared: Vec<Compared> = planned.into_iter().map(differing).collect();
    let bytes: usize = compared.iter().map(|one| one.before.bytes() + one.after.bytes()).sum();
    if bytes > SHOWN_BYTES_MAX {
        let message =
            "changes lists of counterparties that are too long to be shown together: choose fewer accounts";
        return Err(Invalid::new("accounts", message).into());
    }
    Ok(compared)
}

fn differing(planned: Planned) -> Compared {
    let (before, after) = match &planned.rules {
        Some((before, after)) => Fields::differing(&shown(before), &shown(after)),
        None => Default::default(),
    };
    Compared { planned, before, after }
}

/// What may be paid, as a change of a policy names it.
fn shown(rules: &RulesInForce) -> Fields {
    let RulesInForce { policy, bounds, is_halted } = rules;
    let mut fields = Fields::of(&PolicyFields(policy.clone()));
    fields.set("max_30_day_spend", bounds.max_30_day_spend.map(purser_model::wire::schema::UsdcLimit));
    fields.set("budget_id", bounds.budget.map(|budget| budget.to_string()));
    fields.set("halted", is_halted);
    fields
}

/// Carries out what was compared, within the operator's turn, each account on record. What is so already, or was refused before, is answered as it is.
pub async fn change(
    many: &Many,
    (operator, on_record): (&Operator, &OnRecord),
    change: &ManyChange,
    asked: Option<&Fields>,
    compared: Vec<Compared>,
) -> Vec<Changed> {
    let failures = AtomicUsize::new(0);
    let one = |compared: Compared| {
        let failures = &failures;
        async move {
            let planned = &compared.planned;
            let done = match &planned.will {
                Ok(Will::BeUnchanged) => Ok(ManyDone::Unchanged),
                Err(error) if !change.asks_chain(planned) => Err(error.clone()),
                _ if !change.is_stop() && failures.load(Ordering::Relaxed) >= FAILURES_MAX => {
                    Err(ServiceError::ChainUnavailable { retryable: true })
                }
                Ok(Will::Apply | Will::Wait) | Err(_) => {
                    let name = match change {
                        ManyChange::Policy(_) => "update_policy",
                        ManyChange::Halt => "halt_account",
                    };
                    let key_id = on_record.key_id;
                    let work = async |scope: &AuditScope| {
                        many.carry_out(operator, planned, change, (key_id, scope)).await
                    };
                    let part = (name, planned.id, asked, change.is_stop());
                    part_on_record(&many.inside, (operator, on_record), part, work).await
                }
            };
            if done.as_ref().is_err_and(concerns_all) {
                failures.fetch_add(1, Ordering::Relaxed);
            }
            Changed { compared, done }
        }
    };
    futures::stream::iter(compared).map(one).buffered(AT_ONCE).collect().await
}

/// Whether no other account would fare better.
fn concerns_all(error: &ServiceError) -> bool {
    ApiError::from(error.clone()).in_words().0.is_server_error()
}
