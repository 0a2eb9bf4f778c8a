//! Budgets: made, changed, used, closed.

use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{BUDGET_SEED, LAYOUT_VERSION};
use purser::events::{BudgetClosed, BudgetSet, BudgetUsed};
use purser::instruction;
use purser::state::{Authority, Budget, Operator, Role};
use purser_client::{Called, arguments};
use purser_policy::UsdcAmount;

use super::step::Step;
use super::{AgentBook, BudgetTerms, MomentKind};
use crate::check::Check;

impl Step<'_> {
    pub(super) fn set_budget(&mut self, called: &Called) -> Option<()> {
        let instruction::SetBudget { id, caps, expected } = arguments(&called.data)?;
        let address = *called.accounts.get(2)?;
        let (signer, role) = self.role(called, None, Authority::Halt)?;
        let Some(operator) = self.operator() else { return Some(()) };
        let seeds: [&[u8]; 3] = [BUDGET_SEED, self.address.as_ref(), &id.to_le_bytes()];
        let (derived, bump) = Pubkey::find_program_address(&seeds, &self.at.program);
        self.examine(Check::State, None);
        if derived != address {
            let text = "A budget was made at an address that is not its own.".to_owned();
            self.mismatch(Check::State, None, text);
        }
        let known = self.world.budgets.get(&address).copied();
        let ended = self.world.ended_budgets.remove(&address);
        if known.is_none() && role != Role::Admin {
            let text = format!("{signer} made a budget, which only the admin does.");
            self.mismatch(Check::Signer, None, text);
        }
        let new = Budget { version: LAYOUT_VERSION, bump, id, operator: self.address, ..Budget::zeroed() };
        let mut budget = known.unwrap_or(new);
        let current = budget.caps(&operator, self.now);
        if expected.is_some_and(|expected| expected != current) {
            let text =
                format!("{signer} replaced caps of a budget that are not those which the change names.");
            self.mismatch(Check::PolicyChanges, None, text);
        }
        let loosens = caps.loosens(&current);
        let waits = loosens && role != Role::Admin && operator.loosening_delay_seconds > 0;
        if known.is_some() && loosens && (role == Role::Guardian || waits && operator.halted_by != 0) {
            let text = format!("{signer} raised a budget that it could not raise.");
            self.mismatch(Check::PolicyChanges, None, text);
        }
        budget.set_caps(&caps, waits, &operator, self.now);
        self.world.budgets.insert(address, budget);
        let loosens_at = budget.loosens_at(&operator);
        let event = BudgetSet { operator: self.address, budget: address, id, caps, loosens_at, signer };
        self.expect(None, &event, "BudgetSet");
        let usdc = UsdcAmount::from_micros;
        let month =
            caps.max_30_day_spend.map_or(String::new(), |cap| format!(" and {} in 30 days", usdc(cap)));
        let day = usdc(caps.max_daily_spend);
        let from = loosens_at
            .map_or(String::new(), |at| format!(", of which what is more waits until {}", super::date(at)));
        // One that is new binds nobody yet, unless accounts name one that stood there before.
        let is_raised = match ended {
            Some(ended) => caps.loosens(&ended),
            None => loosens && known.is_some(),
        };
        let held = budget.caps(&operator, self.now);
        let waiting = loosens_at.map(|at| (caps, at));
        self.found.budgets.push((address, Some(BudgetTerms { caps: held, waiting })));
        self.found.budgets_raised += u64::from(is_raised);
        self.tells(
            if is_raised { MomentKind::BoundsLoosened } else { MomentKind::BoundsSet },
            None,
            format!("The budget {address} was set to {day} USDC a day{month} by {signer}{from}."),
        );
        Some(())
    }

    pub(super) fn close_budget(&mut self, called: &Called) -> Option<()> {
        let budget = *called.accounts.get(2)?;
        let (admin, _) = self.role(called, None, Authority::Administer)?;
        let known = self.world.budgets.remove(&budget);
        let operator = self.operator();
        let caps = known.zip(operator).map(|(known, operator)| known.caps(&operator, self.now));
        self.world.ended_budgets.extend(caps.map(|caps| (budget, caps)));
        self.found.budgets.push((budget, None));
        if !known.is_some_and(|known| known.is_empty(self.now)) {
            let text = format!("The budget {budget} was closed while payments counted in it.");
            self.mismatch(Check::DailyLimit, None, text);
        }
        self.expect(None, &BudgetClosed { operator: self.address, budget, admin }, "BudgetClosed");
        self.tells(MomentKind::BoundsSet, None, format!("The budget {budget} was closed by {admin}."));
        Some(())
    }

    /// Counts a payment in the budget that its account names.
    pub(super) fn budget_used(
        &mut self,
        named: Option<Pubkey>,
        agent: Pubkey,
        (operator, book): (&Operator, &AgentBook),
        number: u64,
        amount: UsdcAmount,
    ) {
        let own = book.agent.budget(&book.tail).map(|key| Pubkey::new_from_array(*key));
        if named != own {
            let text = format!("Payment {number} did not go through the account's budget.");
            self.mismatch(Check::DailyLimit, Some(agent), text);
        }
        // The payment is recorded by now, at the account's own clock.
        let (Some(address), now) = (own, book.agent.clock(self.now)) else { return };
        let Some(budget) = self.world.budgets.get_mut(&address) else {
            let text = format!("The budget {address} was used, and its beginning was not read.");
            return self.mismatch(Check::State, Some(agent), text);
        };
        let spent = budget.spend(amount, operator, now);
        let spent_in_window = budget.window().spent(now).micros();
        if spent.is_err() {
            let text = format!("Payment {number} of {amount} USDC went past the budget {address}.");
            self.mismatch(Check::DailyLimit, Some(agent), text);
        }
        let event = BudgetUsed { agent, number, budget: address, spent_in_window };
        self.expect(Some(agent), &event, "BudgetUsed");
    }
}
