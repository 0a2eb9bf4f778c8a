//! Budgets, where an account names one.

use purser_model::{BudgetId, Limit, Operator, PageRequest, UsdcAmount};
use purser_service::{BudgetView, Services, budgets};

use super::text::limit_text;

/// Up to how many budgets are offered where an account is to name one.
const OFFERED: u32 = 1_000;

/// The operator's budgets, to choose from and to be named by their numbers.
#[derive(Default)]
pub struct KnownBudgets(Vec<BudgetView>);

impl KnownBudgets {
    /// None where the chain does not answer: a page comes all the same, and names a budget by its id.
    pub async fn of(services: &Services, operator: &Operator) -> Self {
        let listed = budgets::list(&services.inside, operator, PageRequest::first(OFFERED)).await;
        Self(listed.map(|page| page.items).unwrap_or_default())
    }

    pub fn all(&self) -> &[BudgetView] {
        &self.0
    }

    /// What names it on a page.
    pub fn text(&self, id: Option<BudgetId>) -> String {
        let Some(id) = id else { return "None".to_owned() };
        let known = self.0.iter().find(|budget| budget.budget_id == id);
        known.map_or_else(|| id.to_string(), |budget| format!("Budget {}", budget.number))
    }

    /// What a form names and none of them is: one that was closed.
    pub fn unknown<'a>(&self, named: &'a str) -> Option<&'a str> {
        let is_known = self.0.iter().any(|budget| budget.budget_id.to_string() == named);
        Some(named).filter(|named| !named.is_empty() && *named != "none" && !is_known)
    }
}

/// A cap for 30 days, for people.
pub fn month_text(cap: Option<UsdcAmount>) -> String {
    limit_text(cap.map_or(Limit::Unlimited, Limit::AtMost))
}
