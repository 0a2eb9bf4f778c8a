//! Budgets: caps that several agents share.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::{BudgetClosed, BudgetSet};
use purser::BudgetCaps;

use super::{code, ensure, Answer, Model, Month, Operator, Refusal, Role, Window};
use crate::cast;

pub(super) const BUDGET_BYTES: usize = 8 + 8 + 8 + 32 + 4 * 8 + 16 + 496 + 256;

#[derive(Clone, Debug)]
pub struct Budget {
    pub operator: Pubkey,
    pub id: u64,
    /// For a day, and for 30.
    pub caps: (u64, Option<u64>),
    /// The caps that wait, since when, and the operator's delay at that moment.
    pub waiting: Option<((u64, Option<u64>), i64, u32)>,
    pub day: Window,
    pub month: Month,
}

impl Budget {
    /// When those that wait are in force, if ever.
    fn ripe_at(&self, operator: &Operator) -> Option<i64> {
        let (_, since, delay) = self.waiting?;
        let never = delay == 0 && operator.delay > 0;
        (!never).then(|| since + i64::from(delay.max(operator.delay)))
    }

    fn in_force(&self, operator: &Operator, now: i64) -> (u64, Option<u64>) {
        match (self.waiting, self.ripe_at(operator)) {
            (Some((caps, ..)), Some(at)) if now >= at => caps,
            _ => self.caps,
        }
    }

    /// The caps in force, as the program takes them.
    pub fn shown(&self, operator: &Operator, now: i64) -> BudgetCaps {
        let (max_daily_spend, max_30_day_spend) = self.in_force(operator, now);
        BudgetCaps { max_daily_spend, max_30_day_spend }
    }

    pub(super) fn allows(&self, amount: u64, operator: &Operator, now: i64) -> bool {
        let (day, month) = self.in_force(operator, now);
        let fits = |spent: u64, cap: u64| u128::from(spent) + u128::from(amount) <= u128::from(cap);
        fits(self.day.spent(now), day) && fits(self.month.spent(now), month.unwrap_or(u64::MAX))
    }
}

impl Model {
    fn budget(&self, key: &Pubkey) -> Result<&Budget, Refusal> {
        self.budgets.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    pub(super) fn set_budget(
        &mut self,
        id: u64,
        caps: &BudgetCaps,
        expected: Option<BudgetCaps>,
        slots: &[Pubkey],
    ) -> Answer {
        let [signer, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?.clone();
        ensure(*address == cast::budget_address(operator_address, id), code::CONSTRAINT_SEEDS)?;
        let role = operator.halter(signer)?;
        let now = self.now;
        let old = self.budgets.get(address);
        ensure(old.is_some() || role == Role::Admin, code::UNAUTHORIZED)?;
        let current = old.map_or((0, Some(0)), |old| old.in_force(&operator, now));
        if let Some(BudgetCaps { max_daily_spend, max_30_day_spend }) = expected {
            ensure((max_daily_spend, max_30_day_spend) == current, code::POLICY_CHANGED)?;
        }
        // A cap of everything there is counts as none.
        let month = caps.max_30_day_spend.filter(|cap| *cap < u64::MAX);
        let new = (caps.max_daily_spend, month);
        let least = |one: Option<u64>, other: Option<u64>| {
            one.map_or(other, |one| Some(one.min(other.unwrap_or(one))))
        };
        let loosens = new.0 > current.0 || least(new.1, current.1) != new.1;
        ensure(!loosens || role != Role::Guardian, code::UNAUTHORIZED)?;
        let waits = loosens && role != Role::Admin && operator.delay > 0;
        ensure(!waits || operator.halted_by.is_none(), code::HALTED)?;
        if old.is_none() {
            let missing = self.rent(BUDGET_BYTES).saturating_sub(self.lamports(address));
            self.pay(signer, address, missing);
        }
        let budget = self.budgets.entry(*address).or_insert_with(|| Budget {
            operator: *operator_address,
            id,
            caps: new,
            waiting: None,
            day: Window::default(),
            month: Month::default(),
        });
        budget.waiting = waits.then_some((new, now, operator.delay));
        budget.caps = if waits { (new.0.min(current.0), least(new.1, current.1)) } else { new };
        let event = BudgetSet {
            operator: *operator_address,
            budget: *address,
            id,
            caps: *caps,
            loosens_at: budget.ripe_at(&operator),
            signer: *signer,
        };
        Ok(vec![event.data()])
    }

    pub(super) fn close_budget(&mut self, slots: &[Pubkey]) -> Answer {
        let [admin, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?;
        let budget = self.budget(address)?;
        operator.admin(admin)?;
        ensure(budget.operator == *operator_address, code::WRONG_OPERATOR)?;
        let empty = budget.day.is_empty(self.now) && budget.month.spent(self.now) == 0;
        ensure(empty, code::SPEND_WINDOW_NOT_EMPTY)?;
        self.budgets.remove(address);
        self.sweep(address, admin);
        Ok(vec![BudgetClosed { operator: *operator_address, budget: *address, admin: *admin }.data()])
    }
}
