//! A chain of the test's own, as an audit would have saved it: transactions signed for real, logs, balances and accounts as a
//! program leaves them that lets everything pass. So whatever breaks a rule is consistent in all but the rule.

mod auditor;
mod page;

use std::collections::BTreeMap;
use std::path::Path;

use anchor_lang::prelude::Pubkey;
use anchor_lang::{Discriminator, Event};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytemuck::Zeroable;
use purser::events::{
    AgentCreated, AllowlistRecord, ApproverRemoved, ApproverSet, BoundsSet, BudgetClosed, BudgetSet,
    BudgetUsed, GrantClosed, GrantOpened, GrantUsed, GrantsVoided, HaltSet, OperatorCreated, OperatorUpdated,
    PolicyRecord, PolicySet, TransferExecuted, Withdrawn,
};
use purser::state::{Agent, Approver, Budget, Grant, Operator, Role, StoredPolicy};
use purser::{
    AllowlistArg, Bounds, BudgetCaps, GrantTerms, OpenedBy, OperatorKeys, OperatorUpdate, PolicyArgs,
};
use purser_audit::archive::{Archive, Beside, Line, Manifest, SavedAccount, Snapshot};
use purser_audit::folder::archive_in;
use purser_audit::report::Report;
use purser_audit::{AuditError, Request, Source, audit};
use purser_client::{Deployment, OnChainPolicy, TokenSource, TransferOrder, UPGRADEABLE_LOADER, args_of};
use purser_policy::{UsdcAmount, id_with_tag};
use serde_json::{Value, json};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;
use tempfile::TempDir;

pub const MICROS: u64 = 1_000_000;
const MINT: Pubkey = Pubkey::new_from_array([77; 32]);
/// A wallet that is paid.
pub const PAYEE: Pubkey = Pubkey::new_from_array([88; 32]);
/// Later than any clock that runs this test.
pub const BEGIN: i64 = 4_000_000_000;
/// The committed build.
const PROGRAM: &[u8] = include_bytes!("../../../programs/purser/idl/purser.so");

pub struct TestChain {
    pub folder: TempDir,
    archive: Archive,
    at: Deployment,
    pub admin: Keypair,
    pub policy_key: Keypair,
    pub transfer_key: Keypair,
    pub operator: Pubkey,
    pub agent: Pubkey,
    operator_state: Operator,
    agent_state: Agent,
    tail: Vec<u8>,
    pub now: i64,
    slot: u64,
    balance: u64,
    of_operator: Vec<Line>,
    of_agent: Vec<Line>,
    of_purse: Vec<Line>,
    /// Heads of refusals, by the key that signed them.
    of_keys: BTreeMap<Pubkey, Vec<Line>>,
    next_tag: u64,
    /// The one budget.
    budget: Budget,
    /// Whether it was made.
    has_budget: bool,
    /// The one grant.
    grant: Option<Grant>,
    approver: Option<Approver>,
}

/// A payment to be made.
pub struct Paying {
    pub micros: u64,
    pub memo: &'static str,
    pub to: Pubkey,
    pub tag: Option<u64>,
    /// Whether the log keeps its event.
    pub is_logged: bool,
    /// Whether it names the grant that was opened.
    pub by_grant: bool,
    /// Whether it takes the plain form, which knows neither grants nor bounds.
    pub is_plain: bool,
}

impl Paying {
    pub fn usdc(amount: u64) -> Self {
        Self {
            micros: amount * MICROS,
            memo: "m",
            to: PAYEE,
            tag: None,
            is_logged: true,
            by_grant: false,
            is_plain: false,
        }
    }
}

impl TestChain {
    /// An operator with one account under this policy, that holds 1,000,000 USDC. Loosened policies wait `delay` seconds.
    pub fn new(policy: &OnChainPolicy, delay: u32) -> Self {
        Self::begun_at(BEGIN, policy, delay)
    }

    /// Such a chain that begins at this Unix second.
    pub fn begun_at(now: i64, policy: &OnChainPolicy, delay: u32) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let archive = archive_in(folder.path()).expect("the folder is writable");
        let at = Deployment { program: purser::ID, usdc_mint: MINT };
        let [admin, policy_key, transfer_key] = [1, 2, 3].map(|byte| Keypair::new_from_array([byte; 32]));
        let operator = at.operator_address(&admin.pubkey(), 1);
        let mut chain = Self {
            folder,
            archive,
            at,
            operator,
            agent: at.agent_address(&operator, &[9; 16]),
            admin,
            policy_key,
            transfer_key,
            operator_state: Operator::zeroed(),
            agent_state: Agent::zeroed(),
            tail: Vec::new(),
            now,
            slot: 100,
            balance: 0,
            of_operator: Vec::new(),
            of_agent: Vec::new(),
            of_purse: Vec::new(),
            of_keys: BTreeMap::new(),
            next_tag: 1,
            has_budget: false,
            grant: None,
            approver: None,
            budget: Budget::zeroed(),
        };
        chain.creates_operator(delay);
        chain.creates_agent(policy);
        chain.deposits(1_000_000 * MICROS);
        chain
    }

    fn creates_operator(&mut self, loosening_delay_seconds: u32) {
        let keys = OperatorKeys {
            policy_authority: self.policy_key.pubkey(),
            transfer_authorities: vec![self.transfer_key.pubkey()],
            guardian: None,
            loosening_delay_seconds,
        };
        let admin = self.admin.insecure_clone();
        let call = self.at.create_operator(admin.pubkey(), 1, keys.clone());
        let (creator, id) = (admin.pubkey(), 1_u64.to_le_bytes());
        let seeds: [&[u8]; 3] = [b"operator", creator.as_array(), &id];
        let mut state = Operator {
            version: purser::constants::LAYOUT_VERSION,
            bump: Pubkey::find_program_address(&seeds, &purser::ID).1,
            loosening_delay_seconds,
            id: 1,
            created_by: admin.pubkey(),
            admin: admin.pubkey(),
            policy_authority: keys.policy_authority,
            usdc_mint: MINT,
            ..Operator::zeroed()
        };
        state.transfer_authorities[0] = self.transfer_key.pubkey();
        self.operator_state = state;
        let event =
            OperatorCreated { operator: self.operator, id: 1, usdc_mint: MINT, keys: (&state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    fn creates_agent(&mut self, policy: &OnChainPolicy) {
        let key = self.policy_key.insecure_clone();
        let call =
            self.at.create_agent(key.pubkey(), key.pubkey(), key.pubkey(), self.operator, [9; 16], policy);
        let token_account = self.at.token_account(&self.agent);
        let seeds: [&[u8]; 3] = [b"agent", self.operator.as_array(), &[9; 16]];
        self.agent_state = Agent {
            version: purser::constants::LAYOUT_VERSION,
            bump: Pubkey::find_program_address(&seeds, &purser::ID).1,
            policy_version: 1,
            operator: self.operator,
            agent_id: [9; 16],
            token_account,
            rent_refund: key.pubkey(),
            policy_updated_at: self.now,
            policy: StoredPolicy::from(&policy.as_policy()),
            ..Agent::zeroed()
        };
        self.tail = tail(policy);
        let begin = self.of_operator.len();
        let created =
            AgentCreated { operator: self.operator, agent: self.agent, agent_id: [9; 16], token_account };
        let set = self.policy_set(policy, &key);
        self.lands(&call, &key, &[created.data(), set], None);
        // It makes the token account too.
        self.of_purse.extend_from_slice(&self.of_operator[begin..]);
    }

    /// Money comes, by a wallet's transaction that does not name the operator.
    pub fn deposits(&mut self, micros: u64) {
        let wallet = Keypair::new_from_array([4; 32]);
        let to = self.at.token_account(&self.agent);
        let accounts = vec![solana_sdk::instruction::AccountMeta::new(to, false)];
        let call = Instruction { program_id: anchor_spl_token(), accounts, data: vec![7] };
        let before = self.balance;
        self.balance += micros;
        self.lands(&call, &wallet, &[], Some((before, PAYEE)));
    }

    /// The transaction of the first deposit.
    pub fn deposit(&self) -> String {
        self.of_purse[1].signature.clone()
    }

    pub fn mint(&self) -> Pubkey {
        MINT
    }

    /// The USDC account of a wallet.
    pub fn purse_of(&self, owner: &Pubkey) -> Pubkey {
        self.at.token_account(owner)
    }

    /// Pays, whatever the policy says.
    pub fn pays(&mut self, paying: &Paying) -> String {
        let key = self.transfer_key.insecure_clone();
        self.pays_by(paying, &key)
    }

    pub fn pays_by(&mut self, paying: &Paying, key: &Keypair) -> String {
        self.next_tag += 1;
        let transfer_id = id_with_tag([0; 8], paying.tag.unwrap_or(self.next_tag));
        let destination = self.at.token_account(&paying.to);
        let order = TransferOrder {
            operator: self.operator,
            agent: self.agent,
            source: self.at.token_account(&self.agent),
            destination,
            transfer_id,
            sequence: self.agent_state.tags().sequence(),
            amount: paying.micros,
            memo: paying.memo,
        };
        let grant = self.at.grant_address(&self.agent, 1);
        let is_bounded = self.agent_state.policy.is_bounded();
        let budget = self.agent_state.budget(&self.tail).map(|key| Pubkey::new_from_array(*key));
        let call = match (paying.by_grant, is_bounded && !paying.is_plain) {
            (false, false) => self.at.transfer(key.pubkey(), &order),
            (by_grant, _) => {
                let grant = by_grant.then_some(grant);
                self.at.transfer_extended(key.pubkey(), &order, grant, budget)
            }
        };
        let (now, amount) = (self.now, UsdcAmount::from_micros(paying.micros));
        let (window, tags) = self.agent_state.ledger_mut();
        let spent = window.spent(now).saturating_add(amount);
        window.record(now, amount);
        tags.record(purser_policy::tag_of(&transfer_id), now);
        let _ = self.agent_state.count_month(&mut self.tail, amount, now);
        let event = TransferExecuted {
            agent: self.agent,
            number: self.agent_state.tags().recorded(),
            transfer_id,
            amount: paying.micros,
            recipient: destination,
            recipient_owner: paying.to,
            policy_version: self.agent_state.policy_version,
            spent_in_window: spent.micros(),
            memo: paying.memo.into(),
        };
        let before = self.balance;
        self.balance -= paying.micros;
        let mut events = vec![event.data()];
        if paying.by_grant {
            let left = self.grant.as_mut().map_or(0, |grant| {
                grant.left = grant.left.saturating_sub(paying.micros);
                grant.left
            });
            let used = GrantUsed { agent: self.agent, number: event.number, grant, left };
            events.push(used.data());
        }
        if let Some(budget) = budget {
            let operator = self.operator_state;
            let _ = self.budget.spend(amount, &operator, now);
            let spent_in_window = self.budget.window().spent(now).micros();
            events
                .push(BudgetUsed { agent: self.agent, number: event.number, budget, spent_in_window }.data());
        }
        if !paying.is_logged {
            events.clear();
        }
        self.lands(&call, key, &events, Some((before, paying.to)))
    }

    /// Replaces the policy, whatever delays say.
    pub fn sets_policy(&mut self, policy: &OnChainPolicy, key: &Keypair) -> String {
        let version = self.agent_state.policy_version;
        let at = purser_client::DraftAccounts {
            authority: key.pubkey(),
            operator: self.operator,
            agent: self.agent,
        };
        let call = self.at.set_policy(at, key.pubkey(), self.policy_key.pubkey(), version, policy);
        self.agent_state.policy_version += 1;
        self.agent_state.policy_updated_at = self.now;
        self.agent_state.set_policy(&policy.as_policy());
        self.tail.truncate(self.agent_state.list_at());
        self.tail.extend(tail(policy));
        let event = self.policy_set(policy, key);
        self.lands(&call, key, &[event], None)
    }

    /// Opens the one grant, whoever signs.
    pub fn opens_grant(&mut self, terms: GrantTerms, key: &Keypair) {
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
        self.approver.get_or_insert(new);
        let event =
            ApproverSet { operator: self.operator, key: *key, max_grant, max_daily, admin: admin.pubkey() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    pub fn removes_approver(&mut self, key: &Pubkey) -> String {
        let admin = self.admin.insecure_clone();
        let call = self.at.remove_approver(admin.pubkey(), self.operator, *key);
        self.approver = None;
        self.operator_state.approver_epoch += 1;
        let approver_epoch = self.operator_state.approver_epoch;
        let event =
            ApproverRemoved { operator: self.operator, key: *key, approver_epoch, admin: admin.pubkey() };
        self.lands(&call, &admin, &[event.data()], None)
    }

    /// Opens the one grant as an approver, whoever signs. The tag is the one of the next payment.
    pub fn approves(&mut self, terms: GrantTerms, key: &Keypair) -> String {
        let shown = terms.approval(&self.agent);
        self.approves_showing(terms, key, Some(shown))
    }

    /// The same with another text before it, or none.
    pub fn approves_showing(&mut self, terms: GrantTerms, key: &Keypair, shown: Option<String>) -> String {
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

    fn begins_grant(&mut self, terms: &GrantTerms, opened_by: OpenedBy, rent_refund: Pubkey) {
        let (operator, agent) = (self.operator, self.agent);
        let seeds: [&[u8]; 3] = [b"grant", agent.as_array(), &1_u64.to_le_bytes()];
        let (_, bump) = Pubkey::find_program_address(&seeds, &purser::ID);
        let version = purser::constants::LAYOUT_VERSION;
        let mut grant = Grant { version, bump, id: 1, operator, agent, rent_refund, ..Grant::zeroed() };
        grant.set_terms(terms, opened_by, (&self.operator_state, &self.agent_state), self.now);
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

    /// Replaces what binds the account beside its policy, whoever signs.
    pub fn sets_bounds(&mut self, bounds: Bounds, key: &Keypair) -> String {
        let (authority, operator, agent) = (key.pubkey(), self.operator, self.agent);
        let at = purser_client::DraftAccounts { authority, operator, agent };
        let call = self.at.set_bounds(at, authority, self.policy_key.pubkey(), bounds);
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
        let caps = BudgetCaps { max_daily_spend: micros, max_30_day_spend: None };
        let (operator, signer) = (self.operator, key.pubkey());
        let call = self.at.set_budget(signer, operator, 1, caps);
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

    pub fn policy_version(&self) -> u32 {
        self.agent_state.policy_version
    }

    /// The tag of the next payment.
    pub fn next_tag(&self) -> u64 {
        self.next_tag + 1
    }

    pub fn voids_grants(&mut self) -> String {
        let key = self.policy_key.insecure_clone();
        let (authority, operator, agent) = (key.pubkey(), self.operator, self.agent);
        let call = self.at.void_grants(purser_client::DraftAccounts { authority, operator, agent });
        self.agent_state.grant_epoch += 1;
        let grant_epoch = self.agent_state.grant_epoch;
        self.lands(
            &call,
            &key,
            &[GrantsVoided { operator, agent, grant_epoch, signer: authority }.data()],
            None,
        )
    }

    /// Halts the operator.
    pub fn halts(&mut self) {
        let admin = self.admin.insecure_clone();
        let call = self.at.halt(admin.pubkey(), self.operator, None);
        self.operator_state.halted_by = 1;
        let event = HaltSet {
            operator: self.operator,
            agent: None,
            halted_by: Some(Role::Admin),
            signer: admin.pubkey(),
        };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// Lifts the operator's halt.
    pub fn resumes(&mut self) {
        let admin = self.admin.insecure_clone();
        let call = self.resume_call();
        self.operator_state.halted_by = 0;
        let (operator, signer) = (self.operator, admin.pubkey());
        let event = HaltSet { operator, agent: None, halted_by: None, signer };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// The admin takes money out, to this wallet.
    pub fn withdraws(&mut self, micros: u64, to: &Pubkey) -> String {
        let admin = self.admin.insecure_clone();
        let (source, recipient) = (self.at.token_account(&self.agent), self.at.token_account(to));
        let from = TokenSource { token_account: source, mint: MINT, token_program: anchor_spl_token() };
        let call = self.at.withdraw(admin.pubkey(), self.operator, self.agent, from, recipient, micros);
        let event = Withdrawn {
            operator: self.operator,
            agent: self.agent,
            source,
            mint: MINT,
            amount: micros,
            recipient,
            recipient_owner: *to,
            admin: admin.pubkey(),
        };
        let before = self.balance;
        self.balance -= micros;
        self.lands(&call, &admin, &[event.data()], Some((before, *to)))
    }

    /// An unsigned gift of SOL to the operator, as local networks answer `requestAirdrop`.
    pub fn gets_an_airdrop(&mut self) -> String {
        let faucet = Keypair::new_from_array([6; 32]);
        let accounts = vec![
            solana_sdk::instruction::AccountMeta::new(faucet.pubkey(), true),
            solana_sdk::instruction::AccountMeta::new(self.operator, false),
        ];
        let data = [&2_u32.to_le_bytes()[..], &5_u64.to_le_bytes()].concat();
        let signature =
            self.lands(&Instruction { program_id: Pubkey::default(), accounts, data }, &faucet, &[], None);
        // Whatever was signed, it was not this.
        self.spoils(&format!("transactions/{signature}"), |transaction| {
            transaction["transaction"]["message"]["recentBlockhash"] = json!(PAYEE.to_string());
        });
        let line = self.line(&signature);
        self.of_operator.push(line);
        signature
    }

    /// A stranger's transaction that names the operator, and does nothing with it.
    pub fn mentions_operator(&mut self, stranger: &Keypair) -> String {
        let accounts = vec![solana_sdk::instruction::AccountMeta::new_readonly(self.operator, false)];
        let call = Instruction { program_id: Pubkey::new_from_array([55; 32]), accounts, data: vec![1] };
        let signature = self.lands(&call, stranger, &[], None);
        let line = self.line(&signature);
        self.of_operator.push(line);
        signature
    }

    /// The admin's call that resumes the operator.
    pub fn resume_call(&self) -> Instruction {
        self.at.resume(self.admin.pubkey(), self.operator, None)
    }

    /// The admin gives the policy authority's place to this key.
    pub fn rotates_policy_key(&mut self, key: &Keypair) {
        let admin = self.admin.insecure_clone();
        let update = OperatorUpdate { policy_authority: Some(key.pubkey()), ..OperatorUpdate::default() };
        let call = self.at.update_operator(admin.pubkey(), self.operator, update);
        self.operator_state.policy_authority = key.pubkey();
        self.policy_key = key.insecure_clone();
        let event = OperatorUpdated { operator: self.operator, keys: (&self.operator_state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    pub fn offers_the_admins_place(&mut self, key: &Keypair) {
        let admin = self.admin.insecure_clone();
        let update = OperatorUpdate { pending_admin: Some(key.pubkey()), ..OperatorUpdate::default() };
        let call = self.at.update_operator(admin.pubkey(), self.operator, update);
        self.operator_state.pending_admin = key.pubkey();
        let event = OperatorUpdated { operator: self.operator, keys: (&self.operator_state).into() };
        self.lands(&call, &admin, &[event.data()], None);
    }

    /// Writes the head of a chain of refusals.
    pub fn writes_head(&mut self, number: usize, sha256: &str) {
        let key = self.policy_key.insecure_clone();
        let accounts = vec![solana_sdk::instruction::AccountMeta::new_readonly(key.pubkey(), true)];
        let data = format!("purser denials v1 {} {number} {sha256}", self.operator).into_bytes();
        let memo = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
        let signature = self.lands(&Instruction { program_id: memo, accounts, data }, &key, &[], None);
        let line = self.line(&signature);
        self.of_keys.entry(key.pubkey()).or_default().push(line);
    }

    fn policy_set(&self, policy: &OnChainPolicy, key: &Keypair) -> Vec<u8> {
        let PolicyArgs { max_single_transfer, max_daily_spend, require_memo, paused, allowlist } =
            args_of(policy);
        let allowlist = match allowlist {
            AllowlistArg::Anyone => AllowlistRecord::Anyone,
            AllowlistArg::Only { wallets, token_accounts } => {
                AllowlistRecord::Only { wallets, token_accounts }
            }
        };
        let policy = PolicyRecord { max_single_transfer, max_daily_spend, require_memo, paused, allowlist };
        let (operator, agent) = (self.operator, self.agent);
        let policy_version = self.agent_state.policy_version;
        PolicySet { operator, agent, policy_version, policy, signer: key.pubkey() }.data()
    }

    fn lands(
        &mut self,
        call: &Instruction,
        key: &Keypair,
        events: &[Vec<u8>],
        money: Option<(u64, Pubkey)>,
    ) -> String {
        self.all_land(std::slice::from_ref(call), key, events, money)
    }

    /// Signs, and writes down what a node would. The last instruction is the one that does something. `money`: what the account
    /// held before, and whom it paid.
    fn all_land(
        &mut self,
        calls: &[Instruction],
        key: &Keypair,
        events: &[Vec<u8>],
        money: Option<(u64, Pubkey)>,
    ) -> String {
        self.slot += 1;
        // Makes equal calls differ.
        let blockhash = Hash::new_from_array(std::array::from_fn(|at| (self.slot >> (8 * (at % 8))) as u8));
        let message = Message::new_with_blockhash(calls, Some(&key.pubkey()), &blockhash);
        let signature: Signature = key.sign_message(&message.serialize());
        let keys: Vec<String> = message.account_keys.iter().map(Pubkey::to_string).collect();
        let instructions: Vec<Value> = message
            .instructions
            .iter()
            .map(|it| {
                json!({ "programIdIndex": it.program_id_index, "accounts": it.accounts,
                    "data": bs58::encode(&it.data).into_string() })
            })
            .collect();
        let (before, after) = self.balances(&keys, money);
        let inner = self.inner(&keys, money);
        let program = calls.last().expect("an instruction").program_id;
        let begin = format!("Program {program} invoke [1]");
        let data = events.iter().map(|event| format!("Program data: {}", STANDARD.encode(event)));
        let end =
            if events.is_empty() { "Log truncated".to_owned() } else { format!("Program {program} success") };
        let log: Vec<String> = std::iter::once(begin).chain(data).chain([end]).collect();
        let header = &message.header;
        let transaction = json!({
            "slot": self.slot, "blockTime": self.now, "version": "legacy",
            "transaction": { "signatures": [signature.to_string()], "message": {
                "header": { "numRequiredSignatures": header.num_required_signatures,
                    "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
                    "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts },
                "accountKeys": keys, "recentBlockhash": blockhash.to_string(), "instructions": instructions,
            } },
            "meta": { "err": null, "logMessages": log, "innerInstructions": inner,
                "preTokenBalances": before, "postTokenBalances": after },
        });
        let signature = signature.to_string();
        self.archive.save_transaction(&signature, &transaction).expect("the folder is writable");
        let line = self.line(&signature);
        if program == purser::ID {
            self.of_operator.push(line.clone());
        }
        if calls.iter().flat_map(|call| &call.accounts).any(|meta| meta.pubkey == self.agent) {
            self.of_agent.push(line.clone());
        }
        if money.is_some() {
            self.of_purse.push(line);
        }
        signature
    }

    fn line(&self, signature: &str) -> Line {
        Line {
            signature: signature.into(),
            slot: self.slot,
            block_time: Some(self.now),
            err: None,
            memo: None,
        }
    }

    /// What a payment has the token program do.
    fn inner(&self, keys: &[String], money: Option<(u64, Pubkey)>) -> Value {
        let at = |key: &Pubkey| keys.iter().position(|it| *it == key.to_string());
        let paid = money.and_then(|(held, payee)| Some((held.checked_sub(self.balance)?, payee)));
        let Some((amount, payee)) = paid.filter(|(amount, _)| *amount > 0) else { return json!([]) };
        let places = [self.at.token_account(&self.agent), self.at.token_account(&payee), self.agent];
        let accounts: Vec<usize> = places.iter().filter_map(at).collect();
        let data = [&[3][..], &amount.to_le_bytes()].concat();
        json!([{ "index": 0, "instructions": [{ "programIdIndex": at(&anchor_spl_token()), "accounts": accounts,
            "data": bs58::encode(data).into_string(), "stackHeight": 2 }] }])
    }

    fn balances(&self, keys: &[String], money: Option<(u64, Pubkey)>) -> (Vec<Value>, Vec<Value>) {
        let Some((held, payee)) = money else { return (Vec::new(), Vec::new()) };
        let balance = |token_account: Pubkey, owner: Pubkey, micros: u64| {
            let index = keys.iter().position(|key| *key == token_account.to_string())?;
            Some(json!({ "accountIndex": index, "mint": MINT.to_string(), "owner": owner.to_string(),
                "uiTokenAmount": { "amount": micros.to_string() } }))
        };
        let (purse, paid) = (self.at.token_account(&self.agent), held.saturating_sub(self.balance));
        let side = |own: u64, theirs: u64| {
            let both =
                [balance(purse, self.agent, own), balance(self.at.token_account(&payee), payee, theirs)];
            both.into_iter().flatten().collect()
        };
        (side(held, 5), side(self.balance, 5 + paid))
    }

    /// Takes all but the operator's creation out of all lists, as a node does that hides an account as a whole.
    pub fn hides_the_account(&mut self) {
        self.of_operator.truncate(1);
        self.of_agent.clear();
        self.of_purse.clear();
    }

    /// Takes everything before a transaction out of all lists, as a node does that keeps the newest blocks.
    pub fn prunes_before(&mut self, signature: &str) {
        self.of_operator = from(&self.of_operator, signature);
        self.of_agent = from(&self.of_agent, signature);
        self.of_purse = from(&self.of_purse, signature);
    }

    pub fn prunes_purse_before(&mut self, signature: &str) {
        self.of_purse = from(&self.of_purse, signature);
    }

    /// Takes the dates out of all lists.
    pub fn forgets_dates(&mut self) {
        for line in self.of_operator.iter_mut().chain(&mut self.of_agent).chain(&mut self.of_purse) {
            line.block_time = None;
        }
    }

    /// The log's line of an event, which any program can write.
    pub fn event_line(&self) -> String {
        let event = HaltSet { operator: self.operator, agent: None, halted_by: None, signer: PAYEE };
        format!("Program data: {}", STANDARD.encode(event.data()))
    }

    /// The lists as they are, to be put back by [`Self::set_lists`].
    pub fn lists(&self) -> [Vec<Line>; 3] {
        [self.of_operator.clone(), self.of_agent.clone(), self.of_purse.clone()]
    }

    pub fn set_lists(&mut self, lists: [Vec<Line>; 3]) {
        [self.of_operator, self.of_agent, self.of_purse] = lists;
    }

    /// Takes a transaction out of all lists, as a node does that hides it.
    pub fn hides(&mut self, signature: &str) {
        self.of_operator.retain(|line| line.signature != signature);
        self.of_agent.retain(|line| line.signature != signature);
        self.of_purse.retain(|line| line.signature != signature);
    }

    /// Tampers with a saved file: a path inside the folder, without its ending.
    pub fn spoils(&self, file: &str, spoil: impl FnOnce(&mut Value)) {
        let path = self.folder.path().join(format!("{file}.json"));
        let mut value = serde_json::from_slice(&std::fs::read(&path).expect("it was saved")).expect("JSON");
        spoil(&mut value);
        std::fs::write(path, value.to_string()).expect("the folder is writable");
    }

    /// Tampers with the token account as it stands.
    pub fn spoils_purse(&self, spoil: impl FnOnce(&mut Vec<u8>)) {
        let purse = self.at.token_account(&self.agent);
        self.spoils(&format!("accounts/{purse}"), |snapshot| {
            let mut data =
                STANDARD.decode(snapshot["account"]["data"].as_str().expect("data")).expect("base64");
            spoil(&mut data);
            snapshot["account"]["data"] = json!(STANDARD.encode(data));
        });
    }

    /// Tampers with the program as it stands.
    pub fn spoils_program(&self, spoil: impl FnOnce(&mut [u8])) {
        let data_at = Pubkey::find_program_address(&[purser::ID.as_ref()], &UPGRADEABLE_LOADER).0;
        self.spoils(&format!("accounts/{data_at}"), |snapshot| {
            let mut data =
                STANDARD.decode(snapshot["account"]["data"].as_str().expect("data")).expect("base64");
            spoil(&mut data);
            snapshot["account"]["data"] = json!(STANDARD.encode(data));
        });
    }

    /// Audits it all. The report says which checks do not hold.
    pub fn audited(&self) -> Report {
        self.saves();
        audited(self.folder.path())
    }

    /// Grant, approver and budget as they stand.
    fn beside(&self) -> Vec<(Pubkey, Vec<u8>)> {
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

    /// Writes down lists and accounts, as an audit would have saved them.
    pub fn saves(&self) {
        let account = |data: Vec<u8>, owner: Pubkey| Snapshot {
            slot: self.slot,
            account: Some(SavedAccount { owner: owner.to_string(), data: STANDARD.encode(data) }),
        };
        let save = |address: Pubkey, snapshot: Snapshot| {
            self.archive.save_account(&address, &snapshot).expect("the folder is writable");
        };
        let operator = [Operator::DISCRIMINATOR, bytemuck::bytes_of(&self.operator_state)].concat();
        assert!(Operator::read(&operator).is_some(), "in the program's layout");
        let agent = [Agent::DISCRIMINATOR, bytemuck::bytes_of(&self.agent_state), &self.tail].concat();
        let purse = self.at.token_account(&self.agent);
        let mut token =
            [MINT.as_array().as_slice(), self.agent.as_array(), &self.balance.to_le_bytes()].concat();
        token.resize(165, 0);
        // Initialised.
        token[108] = 1;
        save(self.operator, account(operator, purser::ID));
        save(self.agent, account(agent, purser::ID));
        save(purse, account(token, anchor_spl_token()));
        let data_at = Pubkey::find_program_address(&[purser::ID.as_ref()], &UPGRADEABLE_LOADER).0;
        let program = [&2_u32.to_le_bytes(), data_at.as_array().as_slice()].concat();
        save(purser::ID, account(program, UPGRADEABLE_LOADER));
        // In slot 0, and nobody may replace it.
        let header = [&3_u32.to_le_bytes()[..], &[0; 41]].concat();
        save(data_at, account([&header, PROGRAM].concat(), UPGRADEABLE_LOADER));
        save(self.at.draft_address(&self.agent), Snapshot { slot: self.slot, account: None });
        let beside = self.beside();
        for (address, data) in &beside {
            save(*address, account(data.clone(), purser::ID));
        }
        let newest_first = |lines: &[Line]| lines.iter().rev().cloned().collect::<Vec<_>>();
        for (address, lines) in
            [(self.operator, &self.of_operator), (self.agent, &self.of_agent), (purse, &self.of_purse)]
        {
            self.archive.save_signatures(&address, &newest_first(lines)).expect("the folder is writable");
        }
        for (address, lines) in &self.of_keys {
            self.archive.save_signatures(address, &newest_first(lines)).expect("the folder is writable");
        }
        let manifest = Manifest {
            version: 0,
            genesis_hash: Pubkey::default().to_string(),
            program: purser::ID.to_string(),
            operator: self.operator.to_string(),
            account: None,
            until_slot: self.slot,
            until_time: Some(self.now),
            agents: vec![self.agent.to_string()],
            standing: Some(vec![self.agent.to_string()]),
            beside: Some(Beside {
                until_slot: self.slot,
                addresses: beside.iter().map(|(address, _)| address.to_string()).collect(),
            }),
            contradictions: None,
        };
        self.archive.finish(manifest).expect("the folder is writable");
    }
}

/// A list from this transaction on.
fn from(lines: &[Line], signature: &str) -> Vec<Line> {
    lines.iter().skip_while(|line| line.signature != signature).cloned().collect()
}

/// Audits a directory.
pub fn audited(folder: &Path) -> Report {
    tried(folder).expect("it can be done")
}

/// Audits a directory, if that can be done. The page says the same, and so does an auditor of somebody else's hands.
pub fn tried(folder: &Path) -> Result<Report, AuditError> {
    let request = Request { source: Source::Saved(folder.to_owned()), api: None, explorer: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let audited = runtime.block_on(audit(request, &|_| {}));
    page::says_the_same(folder, &audited);
    auditor::says_the_same(folder, &audited);
    audited
}

fn anchor_spl_token() -> Pubkey {
    Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
}

fn tail(policy: &OnChainPolicy) -> Vec<u8> {
    let policy = policy.as_policy();
    let (wallets, token_accounts) = policy.allowlist.entries();
    wallets.iter().chain(token_accounts).flatten().copied().collect()
}
