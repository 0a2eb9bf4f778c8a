//! Approvers: who else may let a payment pass, how much, and what the transaction has to say.

use anchor_lang::prelude::Pubkey;
use anchor_lang::Event;
use purser::events::{ApproverRemoved, ApproverSet};
use purser::{GrantPayee, GrantTerms};
use solana_sdk_ids::sysvar;

use super::{code, ensure, Agent, Answer, Model, Operator, Refusal, Window};
use crate::cast;

pub(super) const APPROVER_BYTES: usize = 8 + 8 + 2 * 8 + 2 * 32 + 496;

#[derive(Clone, Debug)]
pub struct Approver {
    pub operator: Pubkey,
    pub key: Pubkey,
    pub max_grant: u64,
    pub max_daily: u64,
    pub removed: bool,
    pub granted: Window,
}

impl Operator {
    /// Whether a key may be an approver's: none of the server's, nor the admin's or the guardian's.
    fn may_approve(&self, key: &Pubkey) -> bool {
        let others = [Pubkey::default(), self.admin, self.policy_authority];
        !others.contains(key) && self.guardian != Some(*key) && !self.transfer_authorities.contains(key)
    }
}

impl Model {
    fn approver(&self, key: &Pubkey) -> Result<&Approver, Refusal> {
        self.approvers.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    pub(super) fn set_approver(
        &mut self,
        key: &Pubkey,
        max_grant: u64,
        max_daily: u64,
        slots: &[Pubkey],
    ) -> Answer {
        let [admin, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?;
        ensure(*address == cast::approver_address(operator_address, key), code::CONSTRAINT_SEEDS)?;
        operator.admin(admin)?;
        ensure(operator.may_approve(key), code::KEYS_NOT_DISTINCT)?;
        if !self.approvers.contains_key(address) {
            let missing = self.rent(APPROVER_BYTES).saturating_sub(self.lamports(address));
            self.pay(admin, address, missing);
        }
        let approver = self.approvers.entry(*address).or_insert_with(|| Approver {
            operator: *operator_address,
            key: *key,
            max_grant,
            max_daily,
            removed: false,
            granted: Window::default(),
        });
        approver.removed = false;
        (approver.max_grant, approver.max_daily) = (max_grant, max_daily);
        let event =
            ApproverSet { operator: *operator_address, key: *key, max_grant, max_daily, admin: *admin };
        Ok(vec![event.data()])
    }

    pub(super) fn remove_approver(&mut self, slots: &[Pubkey]) -> Answer {
        let [admin, operator_address, address] = slots else { unreachable!("three slots") };
        let operator = self.operator(operator_address)?;
        let approver = self.approver(address)?;
        operator.admin(admin)?;
        ensure(approver.operator == *operator_address, code::WRONG_OPERATOR)?;
        ensure(!approver.removed, code::UNAUTHORIZED)?;
        let (key, now) = (approver.key, approver.granted.effective(self.now));
        self.approvers.get_mut(address).expect("known").removed = true;
        let operator = self.operators.get_mut(operator_address).expect("known");
        operator.approvers_voided_at = operator.approvers_voided_at.max(now);
        let voided_at = operator.approvers_voided_at;
        Ok(vec![ApproverRemoved { operator: *operator_address, key, voided_at, admin: *admin }.data()])
    }

    /// That the approver in the slot may open this grant now.
    pub(super) fn check_approval(
        &self,
        [signer, operator_address, address, sysvar]: [&Pubkey; 4],
        (agent_address, agent): (&Pubkey, &Agent),
        terms: &GrantTerms,
        memo: Option<&str>,
        now: i64,
    ) -> Result<(), Refusal> {
        let operator = self.operator(operator_address)?;
        let approver = self.approver(address)?;
        ensure(approver.operator == *operator_address, code::WRONG_OPERATOR)?;
        let may = approver.key == *signer && !approver.removed && operator.may_approve(signer);
        ensure(may, code::UNAUTHORIZED)?;
        let one = terms.tag.is_some() && terms.memo_hash.is_some();
        ensure(one && terms.policy_version == Some(agent.version), code::GRANT_TERMS_INVALID)?;
        let said = memo == Some(&approval(agent_address, terms));
        ensure(said && *sysvar == sysvar::instructions::ID, code::APPROVAL_MEMO_MISMATCH)?;
        let day = u128::from(approver.granted.spent(now)) + u128::from(terms.amount);
        let within = terms.amount <= approver.max_grant && day <= u128::from(approver.max_daily);
        ensure(within, code::APPROVER_LIMIT_EXCEEDED)
    }
}

/// What wallets show of an approval.
pub fn approval(agent: &Pubkey, terms: &GrantTerms) -> String {
    let payee = match terms.payee {
        GrantPayee::Wallet(key) => format!("wallet {key}"),
        GrantPayee::TokenAccount(key) => format!("token account {key}"),
    };
    let usdc = format!("{}.{:06} USDC", terms.amount / 1_000_000, terms.amount % 1_000_000);
    format!("Purser: let {agent} pay {usdc} to the {payee} until {} UTC", moment(terms.expires_at))
}

/// By counting years and months one by one.
fn moment(second: i64) -> String {
    // No grant lasts so long, and counting would.
    let second = second.clamp(0, 100_000_000_000);
    let (mut days, time) = (second / 86_400, second % 86_400);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (month, day) = (month + 1, days + 1);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}
