//! Money that leaves: payments within policy, and the admin's withdrawals.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use purser::events::{TransferExecuted, Withdrawn};
use purser::instruction;
use purser::state::{Authority, Operator};
use purser_client::{Called, arguments, decode_event, transfer_arguments};
use purser_policy::{
    AccountState, DAY_SECONDS, Limit, PaidTags, Policy, Rule, RuleOutcome, STRETCH_SECONDS_MAX,
    TransferRequest, UsdcAmount, Violation, Waived, check_granted, explain, is_timely, record, tag_of,
};

use super::step::Step;
use super::{AgentBook, MomentKind, Movement, Payment};
use crate::check::{Check, broken};

/// Where an extended payment names its grant and its budget.
const GRANT_PLACE: usize = 6;
const BUDGET_PLACE: usize = 7;

/// Every check that a payment goes through here under a policy: one without a limit has none to look at.
fn decided(policy: &Policy) -> impl Iterator<Item = Check> + use<> {
    let is_looked_at = |rule: &Rule| *rule == Rule::Paused || policy.value(*rule).is_set();
    let rules: Vec<Check> = Rule::ALL.into_iter().filter(is_looked_at).map(Check::of).collect();
    [Check::Numbering, Check::PaidOnce].into_iter().chain(rules)
}

impl Step<'_> {
    pub(super) fn transfer(&mut self, called: &Called) -> Option<()> {
        let transfer = transfer_arguments(&called.data)?;
        let (address, source, destination) =
            (*called.accounts.get(2)?, *called.accounts.get(3)?, *called.accounts.get(4)?);
        let signer = self.signer(called, Some(address))?;
        let (Some(operator), Some(mut book)) = (self.operator(), self.agent(address)) else {
            return Some(());
        };
        if !operator.transfer_authorities().contains(&signer) {
            let text =
                format!("{signer} signed a payment, and was no transfer authority of the operator then.");
            self.mismatch(Check::Signer, Some(address), text);
        }
        for check in decided(&book.policy()) {
            self.examine(check, Some(address));
        }
        self.examine(Check::Log, Some(address));
        let logged = self.take(TransferExecuted::DISCRIMINATOR);
        let logged = logged.and_then(|payload| decode_event::<TransferExecuted>(&payload));
        if logged.is_none() {
            self.missing(Some(address), "TransferExecuted");
        }
        let owner = self.balance(&destination).and_then(|balance| balance.owner);
        let owner = owner.or(logged.as_ref().map(|event| event.recipient_owner));
        let recipient_owner = owner.unwrap_or_default();
        self.accounts_fit(address, &book, [source, destination, recipient_owner]);
        self.number(address, &mut book, logged.as_ref());

        let request = TransferRequest {
            tag: tag_of(&transfer.transfer_id),
            asked_at: transfer.asked_at.into(),
            amount: UsdcAmount::from_micros(transfer.amount),
            memo: &transfer.memo,
            recipient: destination.as_array(),
            recipient_owner: recipient_owner.as_array(),
        };
        let is_extended = called.data.starts_with(instruction::TransferExtended::DISCRIMINATOR);
        // The program's own address stands for none.
        let named = |place| {
            let key = called.accounts.get(place).filter(|_| is_extended);
            key.copied().filter(|key| *key != called.program)
        };
        let (grant, budget) = (named(GRANT_PLACE), named(BUDGET_PLACE));
        let waived = self.waived(grant, address, (&operator, &book), &request);
        let opening = grant.and_then(|grant| self.world.grants.get(&grant));
        let approved_by = opening.map(|book| (book.grant.opened_by(), book.opener));
        let spent = self.decide(address, &operator, &mut book, (&request, waived), transfer.asked_at);
        let number = book.agent.payments;
        if book.agent.count_month(&mut book.tail, request.amount, book.agent.clock(self.now)).is_err() {
            let text = format!("Payment {number} went past the account's limit for 30 days.");
            self.mismatch(Check::DailyLimit, Some(address), text);
        }
        let event = TransferExecuted {
            agent: address,
            number,
            transfer_id: transfer.transfer_id,
            amount: transfer.amount,
            recipient: destination,
            recipient_owner,
            policy_version: book.agent.policy_version,
            spent_in_window: spent.micros(),
            memo: transfer.memo.clone(),
        };
        if let Some(logged) = logged {
            self.same_payment(&book, &event, &logged);
        }
        if let Some(grant) = grant {
            self.grant_used(grant, (address, number), (transfer.transfer_id, request.amount));
        }
        self.budget_used(budget, address, (&operator, &book), number, request.amount);
        // What a grant let past the daily limit is bound by the grant.
        let cap =
            if waived.has(Waived::DAILY_LIMIT) { Limit::Unlimited } else { book.policy().max_daily_spend };
        self.has_moved(address, source, destination, request.amount);
        self.found.recipients.push((address, destination));
        self.world.agents.insert(address, book);
        let payment = Payment {
            agent: address,
            number,
            amount: request.amount,
            recipient: destination,
            owner,
            transfer_id: transfer.transfer_id,
            memo: transfer.memo,
            policy_version: event.policy_version,
            grant,
            approved_by,
        };
        self.found.movements.push(Movement::Payment { payment, cap });
        Some(())
    }

    /// Decides the payment again, and counts it either way, because it was made. Returns the amount spent, this one included.
    fn decide(
        &mut self,
        address: Pubkey,
        operator: &Operator,
        book: &mut AgentBook,
        (request, waived): (&TransferRequest, Waived),
        asked_at: u32,
    ) -> UsdcAmount {
        let (agent, now) = (book.agent, self.now);
        if !is_timely(asked_at, agent.clock(now)) {
            let text = "A payment took effect later than an hour after it was asked for, or too long before.";
            self.mismatch(Check::PaidOnce, Some(address), text.to_owned());
        }
        let state = AccountState {
            halted: operator.halted_by | agent.halted_by != 0,
            policy: book.agent.policy.with(book.agent.list(&book.tail)),
            window: agent.window(),
            tags: PaidTags(&book.buckets),
        };
        let decided = check_granted(&state, request, now, |_| Ok::<_, Violation>(waived));
        let refusals = if decided.is_ok() { Vec::new() } else { broken_rules(&state, request, waived, now) };
        book.agent.payments = book.agent.payments.saturating_add(1);
        let (window, buckets) = (book.agent.window_mut(), &mut book.buckets);
        let spent = match decided {
            Ok(cleared) => {
                let spent = cleared.spent_after();
                cleared.record(window, buckets);
                spent
            }
            Err(_) => {
                let at = window.effective(now);
                let spent = window.spent(at).saturating_add(request.amount);
                window.record(at, request.amount);
                if let Some(place) = PaidTags(buckets).place(request.tag, at) {
                    record(buckets, place, request.tag, at);
                }
                spent
            }
        };
        let (number, version) = (book.agent.payments, book.agent.policy_version);
        for (check, what) in refusals {
            let text = format!(
                "Payment {number} of {} USDC was made although policy version {version} refuses it: {what}.",
                request.amount
            );
            self.mismatch(check, Some(address), text);
        }
        spent
    }

    /// The log numbers payments, so a skipped number is a payment that was not shown. If the log was cut off, the next one that
    /// is logged, or the account as it stands, shows the same.
    fn number(&mut self, address: Pubkey, book: &mut AgentBook, logged: Option<&TransferExecuted>) {
        let expected = book.agent.payments.saturating_add(1);
        let number = logged.map_or(expected, |event| event.number);
        if number < expected {
            let text =
                format!("The log numbers a payment {number}; it is number {expected} by what was signed.");
            self.mismatch(Check::Numbering, Some(address), text);
        }
        if number <= expected {
            return;
        }
        let last = number - 1;
        let missing = match last {
            last if last == expected => format!("Payment {expected} is"),
            last => format!("Payments {expected} to {last} are"),
        };
        let text = format!("{missing} missing: the log of this one says number {number}.");
        self.mismatch(Check::Numbering, Some(address), text);
        book.agent.payments = last;
        book.unsure_until = Some(self.now.saturating_add(DAY_SECONDS + STRETCH_SECONDS_MAX));
    }

    /// Compares the logged payment field by field.
    fn same_payment(&mut self, book: &AgentBook, expected: &TransferExecuted, logged: &TransferExecuted) {
        let address = expected.agent;
        let mut differs = |what: &str, logged: String, expected: String| {
            if logged != expected {
                let text = format!("The log says {what} {logged}; by what was signed it is {expected}.");
                self.mismatch(Check::Log, Some(address), text);
            }
        };
        let usdc = |micros| format!("{} USDC", UsdcAmount::from_micros(micros));
        let text = |memo: &[u8]| format!("{:?}", String::from_utf8_lossy(memo));
        differs("that the account is", logged.agent.to_string(), expected.agent.to_string());
        differs("that the amount is", usdc(logged.amount), usdc(expected.amount));
        differs("that the recipient is", logged.recipient.to_string(), expected.recipient.to_string());
        let (logged_owner, owner) = (logged.recipient_owner, expected.recipient_owner);
        differs("that the recipient's owner is", logged_owner.to_string(), owner.to_string());
        differs("that the memo is", text(&logged.memo), text(&expected.memo));
        let id = |id: [u8; 16]| u128::from_be_bytes(id).to_string();
        differs("that the transfer's id is", id(logged.transfer_id), id(expected.transfer_id));
        let version = |version: u32| version.to_string();
        differs(
            "that the policy's version is",
            version(logged.policy_version),
            version(expected.policy_version),
        );
        if book.unsure_until.is_none_or(|until| until < self.now) {
            let (logged, expected) = (usdc(logged.spent_in_window), usdc(expected.spent_in_window));
            if logged != expected {
                let text = format!(
                    "The log says that {logged} left in 24 hours; by what was signed it is {expected}."
                );
                self.mismatch(Check::DailyLimit, Some(address), text);
            }
        }
    }

    fn accounts_fit(&mut self, address: Pubkey, book: &AgentBook, [source, destination, owner]: [Pubkey; 3]) {
        self.examine(Check::Balances, Some(address));
        if source != book.agent.token_account {
            let text =
                format!("A payment was taken from {source}, which is not the account's own token account.");
            self.mismatch(Check::Balances, Some(address), text);
        }
        if owner == address || destination == source {
            let text = "A payment went to a token account of the account itself.".to_owned();
            self.mismatch(Check::Allowlist, Some(address), text);
        }
    }

    pub(super) fn withdraw(&mut self, called: &Called) -> Option<()> {
        let instruction::Withdraw { amount } = arguments(&called.data)?;
        let place = |place: usize| called.accounts.get(place).copied();
        let (agent, source, mint, recipient) = (place(2)?, place(3)?, place(4)?, place(5)?);
        let (admin, _) = self.role(called, Some(agent), Authority::Administer)?;
        let Some(book) = self.agent(agent) else { return Some(()) };
        // For a mint other than USDC, only the log knows who owned the recipient.
        let logged = self.logged.front().and_then(|payload| decode_event::<Withdrawn>(payload));
        let owner = self.balance(&recipient).and_then(|balance| balance.owner);
        let recipient_owner = owner.or(logged.map(|event| event.recipient_owner)).unwrap_or_default();
        let event = Withdrawn {
            operator: self.address,
            agent,
            source,
            mint,
            amount,
            recipient,
            recipient_owner,
            admin,
        };
        self.expect(Some(agent), &event, "Withdrawn");
        let taken = match mint == self.at.usdc_mint {
            true => format!("{} USDC", UsdcAmount::from_micros(amount)),
            false => format!("{amount} units of {mint}"),
        };
        self.tells(
            MomentKind::Withdrawn,
            Some(agent),
            format!("{taken} were withdrawn to {recipient}, of {recipient_owner}, by {admin}."),
        );
        // Another mint may have another token program.
        if source == book.agent.token_account
            || self.landed.token_calls.iter().any(|it| it.accounts.contains(&source))
        {
            self.has_moved(agent, source, recipient, UsdcAmount::from_micros(amount));
        }
        if source == book.agent.token_account {
            let amount = UsdcAmount::from_micros(amount);
            self.found.recipients.push((agent, recipient));
            let owner = Some(recipient_owner).filter(|owner| *owner != Pubkey::default());
            self.found.movements.push(Movement::Withdrawal { agent, amount, recipient, owner, admin });
        }
        Some(())
    }
}

/// Every rule that refuses the payment, in the policy's words.
fn broken_rules(
    state: &AccountState,
    request: &TransferRequest,
    waived: Waived,
    now: i64,
) -> Vec<(Check, String)> {
    let is_paid = state.tags.contains(request.tag, state.window.effective(now).min(request.asked_at));
    let paid = is_paid.then(|| (Check::PaidOnce, broken(&Violation::DuplicateTransfer)));
    let of_rules =
        explain(state, request, now).into_iter().filter_map(|RuleOutcome { rule, violation, .. }| {
            let violation = violation.filter(|_| !waived.has(rule.waiver()))?;
            Some((Check::of(rule), broken(&violation)))
        });
    paid.into_iter().chain(of_rules).collect()
}
