//! Grants, approvers, bounds and budgets, whoever signs.

use anchor_lang::prelude::Pubkey;
use anchor_lang::{Discriminator, Event};
use bytemuck::Zeroable;
use purser::events::{
    ApproverRemoved, ApproverSet, BoundsSet, BudgetClosed, BudgetSet, GrantClosed, GrantOpened, GrantsVoided,
};
use purser::state::{Approver, Budget, Grant};
use purser::{Bounds, BudgetCaps, GrantTerms, OpenedBy};
use solana_sdk::instruction::Instruction;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use super::{MICROS, TestChain};

impl TestChain {
    /// Opens the one grant, whoever signs.
    pub fn opens_grant(&mut self, terms: GrantTerms, key: &Keypair) {
        self.passes_revocations();
        let (operator, agent, signer) = (self.operator, self.agent, key.pubkey());
        let call = self.at.open_grant(signer, signer, signer, (operator, agent), 1, terms);
        let grant = self.at.grant_address(&agent, 1);
        let is_admin = signer == self.operator_state.admin;
        let opened_by = if is_admin { OpenedBy::Admin } else { OpenedBy::PolicyAuthority };
        self.begins_grant(&terms, opened_by, signer);
        let event = GrantOpened { operator, agent, grant, id: 1, terms, opened_by, signer };
        self.lands(&call, key, &[event.data()], None);
    }

    /// Makes this key an approver for up to 5 USDC at once and 8 in a day.
    pub fn sets_approver(&mut self, key: &Pubkey) {
        let admin = self.admin.insecure_clone();
        let (max_grant, max_daily) = (5 * MICROS, 8 * MICROS);
        let call = self.at.set_approver(admin.pubkey(), self.operator, *key, max_grant, max_daily);
        let (operator, version) = (self.operator, purser::constants::LAYOUT_VERSION);
        let seeds: [&[u8]; 3] = [b"approver", operator.as_array(), key.as_array()];
        let (_, bump) = Pubkey::find_program_address(&seeds, &purser::ID);
        let new = Approver { version, bump, operator, key: *key, max_grant, max_daily, ..Approver::zeroed() };
        self.approver.get_or_insert(new).removed = 0;
        let event =
            ApproverSet { operator: self.operator, key: *key, max_grant, max_daily, admin: admin.pubkey() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    pub fn removes_approver(&mut self, key: &Pubkey) -> String {
        let admin = self.admin.insecure_clone();
        let call = self.at.remove_approver(admin.pubkey(), self.operator, *key);
        if let Some(approver) = &mut self.approver {
            approver.removed = 1;
        }
        self.operator_state.approvers_voided_at = self.operator_state.approvers_voided_at.max(self.now);
        let voided_at = self.operator_state.approvers_voided_at;
        let event = ApproverRemoved { operator: self.operator, key: *key, voided_at, admin: admin.pubkey() };
        self.lands(&call, &admin, &[event.data()], None)
    }

    /// Opens the one grant as an approver, whoever signs. The tag is the one of the next payment.
    pub fn approves(&mut self, terms: GrantTerms, key: &Keypair) -> String {
        let shown = terms.approval(&self.agent);
        self.approves_showing(terms, key, Some(shown))
    }

    /// The same with another text before it, or none.
    pub fn approves_showing(&mut self, terms: GrantTerms, key: &Keypair, shown: Option<String>) -> String {
        self.passes_revocations();
        let (operator, agent, signer) = (self.operator, self.agent, key.pubkey());
        let [memo, call] = self.at.approve(signer, signer, signer, (operator, agent), 1, terms);
        let memo = shown.map(|shown| Instruction { data: shown.into_bytes(), ..memo });
        let calls: Vec<Instruction> = memo.into_iter().chain([call]).collect();
        let grant = self.at.grant_address(&agent, 1);
        let opened_by = OpenedBy::Approver;
        if let Some(approver) = &mut self.approver {
            let _ = approver.grants(terms.amount, self.now);
        }
        self.begins_grant(&terms, opened_by, signer);
        let event = GrantOpened { operator, agent, grant, id: 1, terms, opened_by, signer };
        self.all_land(&calls, key, &[event.data()], None)
    }

    /// No grant is opened in a second in which others were revoked.
    fn passes_revocations(&mut self) {
        let revoked = i64::from(self.agent_state.voided_at).max(self.operator_state.approvers_voided_at);
        self.now = self.now.max(revoked + 1);
    }

    pub(super) fn begins_grant(&mut self, terms: &GrantTerms, opened_by: OpenedBy, rent_refund: Pubkey) {
        let (operator, agent) = (self.operator, self.agent);
        let seeds: [&[u8]; 3] = [b"grant", agent.as_array(), &1_u64.to_le_bytes()];
        let (_, bump) = Pubkey::find_program_address(&seeds, &purser::ID);
        let version = purser::constants::LAYOUT_VERSION;
        let mut grant = Grant { version, bump, id: 1, operator, agent, rent_refund, ..Grant::zeroed() };
        grant.set_terms(terms, opened_by, &self.operator_state, self.agent_state.clock(self.now));
        self.grant = Some(grant);
    }

    /// Closes the one grant, whoever signs.
    pub fn closes_grant(&mut self, key: &Keypair) {
        let (operator, agent, signer) = (self.operator, self.agent, key.pubkey());
        let grant = self.at.grant_address(&agent, 1);
        let call = self.at.close_grant(signer, operator, grant, signer);
        let left = self.grant.take().map_or(0, |grant| grant.left);
        let event = GrantClosed { operator, agent, grant, left, signer };
        self.lands(&call, key, &[event.data()], None);
    }

    /// Closes the one grant and opens it again, in one transaction.
    pub fn reopens_grant(&mut self, terms: GrantTerms, key: &Keypair) {
        self.passes_revocations();
        let (operator, agent, signer) = (self.operator, self.agent, key.pubkey());
        let grant = self.at.grant_address(&agent, 1);
        let closes = self.at.close_grant(signer, operator, grant, signer);
        let opens = self.at.open_grant(signer, signer, signer, (operator, agent), 1, terms);
        let left = self.grant.as_ref().map_or(0, |grant| grant.left);
        let closed = GrantClosed { operator, agent, grant, left, signer };
        self.begins_grant(&terms, OpenedBy::Admin, signer);
        let opened = GrantOpened { operator, agent, grant, id: 1, terms, opened_by: OpenedBy::Admin, signer };
        self.all_land(&[closes, opens], key, &[closed.data(), opened.data()], None);
    }

    /// Replaces what binds the account beside its policy, whoever signs.
    pub fn sets_bounds(&mut self, bounds: Bounds, key: &Keypair) -> String {
        self.sets_bounds_over(None, bounds, key)
    }

    /// The same, of a change that says what binds the account so far, whether or not that is so.
    pub fn sets_bounds_over(&mut self, expected: Option<Bounds>, bounds: Bounds, key: &Keypair) -> String {
        let (authority, operator, agent) = (key.pubkey(), self.operator, self.agent);
        let at = purser_client::DraftAccounts { authority, operator, agent };
        let call = self.at.set_bounds(at, authority, self.policy_key.pubkey(), bounds, expected);
        self.tail = self.agent_state.set_bounds(&bounds, &self.tail);
        let event = BoundsSet { operator, agent, bounds, signer: authority };
        self.lands(&call, key, &[event.data()], None)
    }

    /// Makes the one budget, or gives it another cap for a day, whoever signs.
    pub fn sets_budget(&mut self, micros: u64, key: &Keypair) -> Pubkey {
        self.sets_budget_by(micros, key);
        self.budget()
    }

    /// The same; returns the transaction.
    pub fn sets_budget_by(&mut self, micros: u64, key: &Keypair) -> String {
        self.sets_budget_over(None, micros, key)
    }

    /// The same, of a change that says which caps are in force, whether or not they are.
    pub fn sets_budget_over(&mut self, expected: Option<BudgetCaps>, micros: u64, key: &Keypair) -> String {
        let caps = BudgetCaps { max_daily_spend: micros, max_30_day_spend: None };
        let (operator, signer) = (self.operator, key.pubkey());
        let call = self.at.set_budget(signer, operator, 1, caps, expected);
        let waits = key.pubkey() != self.admin.pubkey()
            && self.operator_state.loosening_delay_seconds > 0
            && caps.loosens(&self.budget.caps(&self.operator_state, self.now));
        let seeds: [&[u8]; 3] = [b"budget", operator.as_array(), &1_u64.to_le_bytes()];
        self.budget.bump = Pubkey::find_program_address(&seeds, &purser::ID).1;
        (self.budget.version, self.budget.id) = (purser::constants::LAYOUT_VERSION, 1);
        (self.budget.operator, self.has_budget) = (operator, true);
        self.budget.set_caps(&caps, waits, &self.operator_state, self.now);
        let budget = self.at.budget_address(&operator, 1);
        let loosens_at = self.budget.loosens_at(&self.operator_state);
        let event = BudgetSet { operator, budget, id: 1, caps, loosens_at, signer };
        self.lands(&call, key, &[event.data()], None)
    }

    pub fn grant_address(&self) -> Pubkey {
        self.at.grant_address(&self.agent, 1)
    }

    pub fn approver_address(&self, key: &Pubkey) -> Pubkey {
        self.at.approver_address(&self.operator, key)
    }

    /// The address of the one budget.
    pub fn budget(&self) -> Pubkey {
        self.at.budget_address(&self.operator, 1)
    }

    /// Closes the one budget, whatever counts in it.
    pub fn closes_budget(&mut self) {
        let (operator, admin) = (self.operator, self.admin.insecure_clone());
        let budget = self.at.budget_address(&operator, 1);
        let call = self.at.close_budget(admin.pubkey(), operator, budget);
        let event = BudgetClosed { operator, budget, admin: admin.pubkey() };
        (self.budget, self.has_budget) = (Budget::zeroed(), false);
        self.lands(&call, &admin, &[event.data()], None);
    }

    pub fn voids_grants(&mut self) -> String {
        let key = self.policy_key.insecure_clone();
        let (authority, operator, agent) = (key.pubkey(), self.operator, self.agent);
        let call = self.at.void_grants(purser_client::DraftAccounts { authority, operator, agent });
        let voided_at = self.agent_state.void_grants(self.now).into();
        self.lands(
            &call,
            &key,
            &[GrantsVoided { operator, agent, voided_at, signer: authority }.data()],
            None,
        )
    }

    /// Grant, approver and budget as they stand.
    pub(super) fn beside(&self) -> Vec<(Pubkey, Vec<u8>)> {
        let grant = self.grant.as_ref().map(|grant| {
            let data = [Grant::DISCRIMINATOR, bytemuck::bytes_of(grant)].concat();
            (self.at.grant_address(&self.agent, 1), data)
        });
        let approver = self.approver.as_ref().map(|approver| {
            let data = [Approver::DISCRIMINATOR, bytemuck::bytes_of(approver)].concat();
            (self.at.approver_address(&self.operator, &approver.key), data)
        });
        let budget = self.has_budget.then(|| {
            let data = [Budget::DISCRIMINATOR, bytemuck::bytes_of(&self.budget)].concat();
            (self.at.budget_address(&self.operator, 1), data)
        });
        [grant, approver, budget].into_iter().flatten().collect()
    }
}
