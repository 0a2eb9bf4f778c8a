//! Payments.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use anchor_spl::token;
use purser::events::{BudgetUsed, GrantUsed, TransferExecuted};

use super::{as_u64, code, ensure, Agent, Answer, Model, Refusal, DAY, STRETCH};
use crate::call::Payment;

/// Tags of more than a day, for the actions to choose from.
const TAGS_KEPT: usize = 60;
const MEMO_BYTES_MAX: usize = 800;

impl Agent {
    /// Whether a payment with this tag is less than a day old by now and by the second at which this one was asked for.
    fn has_paid(&self, payment: &Payment, now: i64) -> bool {
        let at = self.window.effective(now).min(payment.asked_at.into());
        self.table.paid_at(payment.tag()).is_some_and(|paid_at| at - paid_at < DAY)
    }

    fn check_policy(
        &self,
        amount: u64,
        memo: &[u8],
        now: i64,
        recipient: [&Pubkey; 2],
        past: [bool; 3],
    ) -> Result<(), Refusal> {
        let [past_list, past_single, past_daily] = past;
        let [account, owner] = recipient;
        let policy = &self.policy;
        ensure(!policy.paused, code::PAUSED)?;
        ensure(!(policy.memo && memo.is_empty()), code::MEMO_REQUIRED)?;
        ensure(memo.len() <= MEMO_BYTES_MAX, code::MEMO_TOO_LONG)?;
        ensure(past_list || policy.allows(account, owner), code::RECIPIENT_NOT_ALLOWED)?;
        ensure(past_single || policy.single.is_none_or(|most| amount <= most), code::SINGLE_LIMIT_EXCEEDED)?;
        let after = u128::from(self.window.spent(now)) + u128::from(amount);
        ensure(
            past_daily || policy.daily.is_none_or(|most| after <= u128::from(most)),
            code::DAILY_LIMIT_EXCEEDED,
        )
    }
}

impl Model {
    pub(super) fn transfer(&mut self, payment: &Payment, slots: &[Pubkey], signed: bool) -> Answer {
        self.transfer_by(payment, slots, signed, None)
    }

    /// The last slots are the grant and the budget, or none: the program's own address.
    pub(super) fn transfer_extended(&mut self, payment: &Payment, slots: &[Pubkey], signed: bool) -> Answer {
        let (more, slots) =
            slots.split_last_chunk::<2>().map(|(slots, more)| (more, slots)).expect("eight slots");
        let [grant, budget] = more.map(|key| Some(key).filter(|key| *key != purser::ID));
        self.transfer_by(payment, slots, signed, Some((grant, budget)))
    }

    /// `extended`: the grant and the budget of the extended form.
    fn transfer_by(
        &mut self,
        payment: &Payment,
        slots: &[Pubkey],
        signed: bool,
        extended: Option<(Option<Pubkey>, Option<Pubkey>)>,
    ) -> Answer {
        let (grant, budget) = extended.unwrap_or_default();
        let [signer, operator_address, address, source, destination, mint @ ..] = slots else {
            unreachable!("five slots, and the mint of a checked one")
        };
        let tag = payment.tag();
        let Payment { transfer_id, asked_at, amount, memo } = payment.clone();
        ensure(tag != 0, code::TAG_ZERO)?;
        ensure(amount != 0, code::AMOUNT_ZERO)?;
        let operator = self.operators.get(operator_address).ok_or(code::UNKNOWN_LAYOUT)?;
        ensure(signed && operator.transfer_authorities.contains(signer), code::UNAUTHORIZED)?;
        let agent = self.agents.get(address).ok_or(code::UNKNOWN_LAYOUT)?;
        ensure(agent.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(agent.token_account == *source, code::WRONG_SOURCE)?;
        let recipient_owner = self.payable(destination, &token::ID, &operator.mint)?.owner;
        ensure(recipient_owner != *address, code::RECIPIENT_IS_SOURCE)?;
        let now = agent.window.effective(self.now);
        let age = now - i64::from(asked_at);
        ensure((-300..3_600).contains(&age), code::REQUEST_TOO_OLD)?;
        ensure(!agent.has_paid(payment, self.now), code::DUPLICATE_TRANSFER)?;
        let past = match &grant {
            Some(grant) => {
                let grant = self.grants.get(grant).ok_or(code::UNKNOWN_LAYOUT)?;
                let recipient = [destination, &recipient_owner];
                grant.lets_past(address, (operator, agent), payment, recipient, now)?
            }
            None => {
                let is_bounded = agent.by_grant_only || agent.month.is_some() || agent.budget.is_some();
                ensure(extended.is_some() || !is_bounded, code::EXTENDED_TRANSFER_REQUIRED)?;
                ensure(!agent.by_grant_only, code::GRANT_REQUIRED)?;
                [false; 3]
            }
        };
        ensure(operator.halted_by.is_none() && agent.halted_by.is_none(), code::HALTED)?;
        agent.check_policy(amount, &memo, self.now, [destination, &recipient_owner], past)?;
        let mut table = agent.table.clone();
        ensure(table.put(tag, now), code::PAID_TAGS_FULL)?;
        let within = agent.month.as_ref().is_none_or(|month| month.allows(amount, now));
        ensure(within, code::MONTH_LIMIT_EXCEEDED)?;
        ensure(extended.is_none() || budget == agent.budget, code::BUDGET_MISMATCH)?;
        if let Some(budget) = &budget {
            let budget = self.budgets.get(budget).ok_or(code::UNKNOWN_LAYOUT)?;
            ensure(budget.operator == *operator_address, code::WRONG_OPERATOR)?;
            ensure(budget.allows(amount, operator, now), code::BUDGET_EXCEEDED)?;
        }
        let from = &self.tokens[source];
        ensure(from.amount >= amount, code::INSUFFICIENT_BALANCE)?;
        ensure(!from.frozen, code::ACCOUNT_FROZEN)?;
        ensure(mint.iter().all(|mint| *mint == operator.mint), code::MINT_MISMATCH)?;

        self.move_tokens(source, destination, amount);
        let agent = self.agents.get_mut(address).expect("known");
        agent.table = table;
        let spent_in_window = agent.window.spent(now).saturating_add(amount);
        agent.window.record(now, amount);
        if let Some(month) = &mut agent.month {
            month.record(now, amount);
        }
        agent.payments += 1;
        agent.tags.push_back((tag, agent.window.latest));
        if agent.tags.len() > TAGS_KEPT {
            agent.tags.pop_front();
        }
        if past[2] {
            agent.past_the_cap = Some(agent.window.latest);
        }
        let broken = agent.broken_promise(spent_in_window);
        let event = TransferExecuted {
            agent: *address,
            number: agent.payments,
            transfer_id,
            amount,
            recipient: *destination,
            recipient_owner,
            policy_version: agent.version,
            spent_in_window,
            memo,
        };
        let number = agent.payments;
        self.broken = self.broken.take().or(broken);
        let mut events = vec![event.data()];
        if let Some(key) = &grant {
            let grant = self.grants.get_mut(key).expect("known");
            grant.left -= amount;
            let used = GrantUsed { agent: *address, number, grant: *key, left: grant.left };
            events.push(used.data());
        }
        if let Some(key) = &budget {
            let budget = self.budgets.get_mut(key).expect("known");
            budget.day.record(now, amount);
            budget.month.record(now, amount);
            let spent_in_window = budget.day.spent(now);
            let used = BudgetUsed { agent: *address, number, budget: *key, spent_in_window };
            events.push(used.data());
        }
        Ok(events)
    }
}

impl Agent {
    /// Checks the rule's own promises: no more than the cap leaves in any 24 hours, and every spend counts for less than the
    /// maximum stretch longer. Returns what is wrong.
    fn broken_promise(&self, spent: u64) -> Option<String> {
        let left = self.window.left_within(DAY);
        let stretched = as_u64(self.window.left_within(DAY + STRETCH - 1));
        // What a grant let past the cap still counts, for a day and the stretch.
        let excused = self.past_the_cap.is_some_and(|at| self.window.latest - at <= DAY + STRETCH);
        if !excused && self.policy.daily.is_some_and(|cap| left > u128::from(cap)) {
            Some(format!("{left} left within a day, above the cap"))
        } else if as_u64(left) > spent || spent > stretched {
            Some(format!("{spent} counted; {left} left within a day, {stretched} within a stretched one"))
        } else {
            None
        }
    }
}
