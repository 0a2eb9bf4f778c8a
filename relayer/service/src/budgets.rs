//! Budgets: what several accounts may spend together. They stand on the chain alone, where the admin makes and closes them; the
//! policy authority changes their caps.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::error::{Forbidden, Resource, ServiceError, after_sending, after_writing};
use super::limits::{DailyLimit, MonthLimit};
use super::reads::{addresses, read_operator, window_now};
use crate::Inside;
use crate::audit_scope::AuditScope;
use crate::parts::finish;
use crate::planned::ACCOUNTS_PER_READ;
use purser_chain::{BudgetOnChain, Caps, Confirmed, OperatorOnChain};
use purser_core::MonthCap;
use purser_model::wire::WarningBody;
use purser_model::wire::schema::{Signature, UsdcLimit};
use purser_model::{
    AccountFilter, Address, BudgetId, Limit, Network, Operator, OperatorId, Page, PageRequest, SELECTED_MAX,
    Timestamp, UpdateBudget, UsdcAmount,
};
use purser_policy::{Warning, budget_warnings};

/// How often a change is tried again on what others set meanwhile.
const TRIES_MAX: u32 = 3;

/// What several accounts may spend together. They name it in their policies.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Budget)]
pub struct BudgetView {
    pub budget_id: BudgetId,
    /// Among the operator's budgets, as its own commands name it.
    #[schema(minimum = 0)]
    pub number: u64,
    solana_address: Address,
    /// Most that may leave through it in any 24 hours.
    pub max_daily_spend: UsdcLimit,
    /// Most in any 30 days; `null` for no limit.
    #[schema(required)]
    pub max_30_day_spend: Option<UsdcLimit>,
    pub limits: BudgetUse,
    /// Higher caps that wait to take these ones' place; `null` without any.
    #[schema(required)]
    pub pending: Option<PendingCaps>,
    /// By which transaction its caps were just changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    /// Of a change: the rules that can never match with these caps. They hold all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 8)]
    warnings: Option<Vec<WarningBody>>,
}

/// How much of a budget is used, whichever account paid.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct BudgetUse {
    pub max_daily_spend: DailyLimit,
    pub max_30_day_spend: MonthLimit,
}

/// A budget as the chain last showed it.
#[derive(Debug, Clone)]
pub struct SeenBudget {
    /// When it was read.
    pub at: Timestamp,
    pub operator_id: OperatorId,
    pub network: Network,
    pub view: BudgetView,
}

/// Caps that wait.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = PendingBudget)]
pub struct PendingCaps {
    pub max_daily_spend: UsdcLimit,
    #[schema(required)]
    pub max_30_day_spend: Option<UsdcLimit>,
    /// When they take effect; `null`: never, with the operator's delay as it is.
    #[schema(required)]
    pub effective_at: Option<Timestamp>,
}

/// What a change of a budget's caps would do.
#[derive(Debug, Clone)]
pub struct BudgetComparison {
    pub before: Caps,
    pub after: Caps,
    /// Rules that can never match with it.
    pub warnings: Vec<Warning>,
    /// The delay in seconds; `None`: none.
    pub waits: Option<u32>,
}

/// These caps with what is to change of them.
fn changed(caps: Caps, update: &UpdateBudget) -> Caps {
    Caps {
        max_daily_spend: update.max_daily_spend.unwrap_or(caps.max_daily_spend),
        max_30_day_spend: match update.max_30_day_spend {
            None => caps.max_30_day_spend,
            Some(Limit::Unlimited) => None,
            Some(Limit::AtMost(cap)) => Some(cap),
        },
    }
}

impl BudgetView {
    pub(super) fn of(budget: &BudgetOnChain, now: i64) -> Self {
        let (state, caps) = (&budget.state, budget.caps());
        let month = MonthCap { cap: UsdcAmount::ZERO, window: budget.month };
        Self {
            budget_id: BudgetId(state.address),
            number: budget.number,
            solana_address: state.address,
            max_daily_spend: UsdcLimit(caps.max_daily_spend),
            max_30_day_spend: caps.max_30_day_spend.map(UsdcLimit),
            limits: BudgetUse {
                max_daily_spend: DailyLimit::of(Some(caps.max_daily_spend), &state.window, now),
                max_30_day_spend: MonthLimit::of(caps.max_30_day_spend, month, now),
            },
            pending: budget.raise.map(|raise| PendingCaps {
                max_daily_spend: UsdcLimit(raise.caps.max_daily_spend),
                max_30_day_spend: raise.caps.max_30_day_spend.map(UsdcLimit),
                effective_at: raise.effective_at.map(Timestamp::from_unix_seconds),
            }),
            tx_signature: None,
            warnings: None,
        }
    }

    /// True for the answer to a change that raises a cap and therefore waits.
    pub fn waits(&self) -> bool {
        self.tx_signature.is_some() && self.pending.is_some()
    }
}

/// By their numbers. TooManyReads: the operator's turn does not come soon.
pub async fn list(
    inside: &Arc<Inside>,
    operator: &Operator,
    request: PageRequest,
) -> Result<Page<BudgetView>, ServiceError> {
    let listing = request.of::<u64>(format!("budgets|{}", operator.id))?;
    inside.read_limiter.take(operator.id).await?;
    let at = inside.clock.now();
    let chain = inside.chain(operator.network)?;
    let found = chain.read_budgets(&operator.address).await?;
    let now = window_now(&inside.chains, &inside.clock, operator).await?;
    let views: Vec<_> = found.iter().map(|budget| BudgetView::of(budget, now)).collect();
    let before = last_seen(inside, operator).iter().map(|seen| seen.view.budget_id).collect();
    inside.last_seen.note_budgets(operator, &before, &views, at);
    let rest = views.into_iter().filter(|budget| listing.after.is_none_or(|after| budget.number > after));
    Ok(listing.page(rest.take(listing.rows_max() as usize).collect(), |last| last.number))
}

/// How this process saw the operator's budgets last, by their numbers: for pages while the chain does not answer.
pub fn last_seen(inside: &Arc<Inside>, operator: &Operator) -> Vec<SeenBudget> {
    inside.last_seen.budgets_of(operator.id)
}

/// NotFound: it is not there, or another operator's.
pub async fn get(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
) -> Result<BudgetView, ServiceError> {
    inside.read_limiter.take(operator.id).await?;
    let at = inside.clock.now();
    let found = find(inside, operator, id).await?;
    let now = window_now(&inside.chains, &inside.clock, operator).await?;
    let view = BudgetView::of(&found, now);
    inside.last_seen.note_budgets(operator, &HashSet::new(), std::slice::from_ref(&view), at);
    Ok(view)
}

/// Previews [`update`] and changes nothing. Errors as there.
pub async fn compare(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
    update: UpdateBudget,
) -> Result<BudgetComparison, ServiceError> {
    inside.read_limiter.take(operator.id).await?;
    let before = find(inside, operator, id).await?.caps();
    let after = changed(before, &update);
    let on_chain = read_operator(&inside.chains, operator).await?;
    let waits = delay(&on_chain, &before, &after)?;
    let warnings = warnings(inside, operator, id, &after).await;
    Ok(BudgetComparison { before, after, warnings, waits })
}

/// Lower caps hold at once; what is raised waits in the budget for the operator's loosening delay. Either drops what waited.
/// NotFound: as for [`get`]. Forbidden: nothing begins to wait in a halt.
pub async fn update(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
    update: UpdateBudget,
    scope: &AuditScope,
) -> Result<BudgetView, ServiceError> {
    if update == UpdateBudget::default() {
        let view = get(inside, operator, id).await?;
        return Ok(BudgetView { warnings: Some(Vec::new()), ..view });
    }
    let work = {
        let (inside, operator, scope) = (inside.clone(), operator.clone(), scope.clone());
        async move {
            // The chain sets both caps at once, so the one that is left out must be what the change before this one made it.
            let writer = inside.budget_turns.of(id);
            let turn = writer.lock().await;
            let mut tries_left = TRIES_MAX;
            let confirmed = loop {
                match set(&inside, &operator, id, update, &scope).await {
                    // The caps that are left out are to be what they are now.
                    Err(ServiceError::PolicyChanged) if tries_left > 0 => tries_left -= 1,
                    set => break set?,
                }
            };
            scope.landed(&confirmed);
            let after = find(&inside, &operator, id).await.map_err(after_writing)?;
            drop(turn);
            let now = window_now(&inside.chains, &inside.clock, &operator).await.map_err(after_writing)?;
            let view = BudgetView::of(&after, now);
            let caps = after.raise.map_or_else(|| after.caps(), |raise| raise.caps);
            let warnings = warnings(&inside, &operator, id, &caps).await;
            let tx_signature = Some(confirmed.signature.into());
            Ok(BudgetView { tx_signature, warnings: Some(WarningBody::all(&warnings)), ..view })
        }
    };
    finish(&inside.tasks, work).await
}

/// PolicyChanged: others changed the caps meanwhile.
async fn set(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
    update: UpdateBudget,
    scope: &AuditScope,
) -> Result<Confirmed, ServiceError> {
    let before = find(inside, operator, id).await?;
    let current = before.caps();
    let caps = changed(current, &update);
    let on_chain = read_operator(&inside.chains, operator).await?;
    delay(&on_chain, &current, &caps)?;
    let chain = inside.chain(operator.network)?;
    let set = chain.recorded(scope).set_budget(&on_chain, &before, &caps).await;
    set.map_err(after_sending)
}

/// Warnings about these caps. Those that need the accounts' limits are left out while these cannot be read.
async fn warnings(inside: &Arc<Inside>, operator: &Operator, id: BudgetId, caps: &Caps) -> Vec<Warning> {
    let limits = single_limits(inside, operator, id).await.unwrap_or_default();
    budget_warnings(caps.limits(), &limits).collect()
}

/// The single-transfer limits of the accounts that pay through it. None of an operator with more accounts than a change of many
/// takes.
async fn single_limits(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
) -> Result<Vec<Limit>, ServiceError> {
    let rows_max = u32::try_from(SELECTED_MAX).unwrap_or(u32::MAX).saturating_add(1);
    let all = AccountFilter::default();
    let rows = inside.store.accounts.list_accounts(operator.id, all, None, rows_max).await?;
    if rows.len() > SELECTED_MAX {
        return Ok(Vec::new());
    }
    let chain = inside.chain(operator.network)?;
    let mut limits = Vec::new();
    for rows in rows.chunks(ACCOUNTS_PER_READ) {
        inside.read_limiter.take(operator.id).await?;
        let places: Vec<_> = rows.iter().map(addresses).collect();
        let agents = chain.read_agents(&places).await?;
        let named = agents.into_iter().flatten().filter(|agent| agent.bounds().budget == Some(id));
        limits.extend(named.map(|agent| agent.policy.max_single_transfer));
    }
    Ok(limits)
}

async fn find(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: BudgetId,
) -> Result<BudgetOnChain, ServiceError> {
    let chain = inside.chain(operator.network)?;
    let found = chain.read_budget(&operator.address, &id.0).await?;
    found.ok_or(ServiceError::NotFound(Resource::Budget))
}

/// How long the change waits, in seconds; `None`: it does not. Forbidden: nothing begins to wait in a halt.
fn delay(operator: &OperatorOnChain, before: &Caps, after: &Caps) -> Result<Option<u32>, ServiceError> {
    let delay = Some(operator.loosening_delay_seconds).filter(|delay| *delay > 0 && after.loosens(before));
    if delay.is_some() && operator.halted_by.is_some() {
        return Err(ServiceError::Forbidden(Forbidden::Halted));
    }
    Ok(delay)
}
