//! The accounts of a [`Script`] as a node answers them.

use super::{MINT, NOW, Script, ScriptedNetwork, instructions};
use crate::read::decode::{SYSTEM_PROGRAM, TOKEN_PROGRAM, to_address, to_pubkey};
use crate::sign::signer::address;
use crate::{AgentOnChain, Destination, DraftOnChain};
use anchor_lang::{Discriminator, prelude::Pubkey};
use base64::Engine;
use bytemuck::{Pod, Zeroable, bytes_of, cast_slice};
use purser::constants::LAYOUT_VERSION;
use purser::state::{Agent, Budget, Grant, Operator, PolicyDraft, Role, StoredPolicy};
use purser::{GrantPayee, GrantTerms, OpenedBy};
use purser_core::{BudgetState, NotWallet};
use purser_model::{Address, HaltedBy, SpendingPolicy};
use purser_policy::Waived;
use purser_rpc::sysvar;
use serde_json::{Value, json};

/// States of a token account: not initialised, initialised, frozen.
const STATES: [u8; 3] = [0, 1, 2];

impl ScriptedNetwork {
    /// The account at this address, or null.
    pub(super) fn account(&self, script: &Script, key: &Value) -> Value {
        let key: Pubkey = key.as_str().and_then(|text| text.parse().ok()).expect("an address");
        match self.found(script, &key) {
            Some((owner, data)) => {
                let data = base64::engine::general_purpose::STANDARD.encode(data);
                let owner = owner.to_string();
                let is_program = script.destinations.get(&to_address(&key))
                    == Some(&Destination::NotWallet(NotWallet::Program));
                json!({ "data": [data, "base64"], "owner": owner, "executable": is_program, "lamports": script.lamports })
            }
            None => Value::Null,
        }
    }

    fn found(&self, script: &Script, key: &Pubkey) -> Option<(Pubkey, Vec<u8>)> {
        let at = to_address(key);
        if *key == sysvar::CLOCK {
            let mut data = vec![0; 40];
            data[32..].copy_from_slice(&script.now.to_le_bytes());
            return Some((SYSTEM_PROGRAM, data));
        }
        if [address(&*self.policy), address(&*self.transfer)].contains(key) {
            return Some((SYSTEM_PROGRAM, Vec::new()));
        }
        if script.operators.contains(&at) {
            return Some((purser::ID, account_of(&self.operator(script), &[])));
        }
        if let Some(agent) = script.agents.get(&at) {
            return Some((purser::ID, agent_data(agent)));
        }
        if let Some(agent) = script.agents.values().find(|agent| agent.token_account == at) {
            let state = STATES[if agent.is_frozen { 2 } else { 1 }];
            return Some((TOKEN_PROGRAM, token_data(MINT, &agent.address, agent.balance.micros(), state)));
        }
        if let Some(budget) = script.budgets.get(&at) {
            let operator = script
                .agents
                .values()
                .next()
                .map_or_else(Pubkey::default, |agent| to_pubkey(&agent.operator));
            return Some((purser::ID, account_of(&budget_of(budget, operator), &[])));
        }
        if let Some(found) = script.destinations.get(&at) {
            return destination(found);
        }
        let drafts = script.drafts.iter();
        let draft = drafts.filter(|(agent, _)| instructions().0.draft_address(&to_pubkey(agent)) == *key);
        if let Some((agent, draft)) = draft.last() {
            return Some((purser::ID, draft_data(agent, draft)));
        }
        let grants = script
            .agents
            .values()
            .flat_map(|agent| script.grants.iter().map(move |(tag, waived)| (agent, tag, waived)));
        let mut grants = grants.filter(|(agent, tag, _)| {
            instructions().0.grant_address(&to_pubkey(&agent.address), **tag) == *key
        });
        let (agent, _, waived) = grants.next()?;
        Some((purser::ID, account_of(&grant_of(agent, *waived, &self.operator(script)), &[])))
    }

    fn operator(&self, script: &Script) -> Operator {
        let mut operator = Operator::zeroed();
        operator.version = LAYOUT_VERSION;
        operator.halted_by = halted_by(script.operator_halted);
        operator.loosening_delay_seconds = script.loosening_delay;
        operator.admin = Pubkey::new_from_array([1; 32]);
        operator.policy_authority =
            script.policy_authority.as_ref().map_or_else(|| address(&*self.policy), to_pubkey);
        operator.usdc_mint = MINT;
        operator.set_transfer_authorities(&[address(&*self.transfer)]).expect("one key");
        operator
    }
}

fn account_of<T: Discriminator + Pod>(body: &T, tail: &[u8]) -> Vec<u8> {
    [T::DISCRIMINATOR, bytes_of(body), tail].concat()
}

fn halted_by(by: Option<HaltedBy>) -> u8 {
    let role = |by| match by {
        HaltedBy::Admin => Role::Admin,
        HaltedBy::PolicyAuthority => Role::PolicyAuthority,
        HaltedBy::Guardian => Role::Guardian,
    };
    by.map_or(0, |by| role(by).halt_number())
}

fn entries(policy: &SpendingPolicy) -> Vec<u8> {
    let policy = policy.as_policy();
    let (wallets, token_accounts) = policy.allowlist.entries();
    [cast_slice::<_, u8>(wallets), cast_slice(token_accounts)].concat()
}

fn agent_data(shown: &AgentOnChain) -> Vec<u8> {
    let mut agent = Agent::zeroed();
    agent.version = LAYOUT_VERSION;
    agent.halted_by = halted_by(shown.halted_by);
    agent.policy_version = u32::try_from(shown.policy_version).expect("a version");
    agent.operator = to_pubkey(&shown.operator);
    agent.token_account = to_pubkey(&shown.token_account);
    agent.rent_refund = to_pubkey(&shown.rent_refund);
    agent.policy_updated_at = u32::try_from(shown.policy_updated_at).expect("a second");
    agent.policy.tag_buckets = u16::try_from(shown.tags.len()).expect("few");
    agent.set_policy(&shown.policy.as_policy());
    *agent.window_mut() = shown.window;
    agent.payments = shown.payments;
    let mut front = agent.set_bounds(&(&shown.bounds()).into(), &entries(&shown.policy));
    if let Some(month) = &shown.month {
        let window = bytes_of(&month.window);
        front[8..8 + window.len()].copy_from_slice(window);
    }
    account_of(&agent, &[&front, cast_slice(&shown.tags)].concat())
}

fn draft_data(agent: &Address, shown: &DraftOnChain) -> Vec<u8> {
    let entries = entries(&shown.policy);
    let mut draft = PolicyDraft::zeroed();
    draft.version = LAYOUT_VERSION;
    draft.entry_count = u16::try_from(entries.len() / 32).expect("few");
    draft.written = draft.entry_count;
    draft.sealed = u8::from(shown.sealed_at.is_some());
    draft.sealed_at = shown.sealed_at.unwrap_or_default();
    draft.expected_version = u32::try_from(shown.expected_version).expect("a version");
    draft.sealed_delay_seconds = shown.sealed_delay_seconds;
    draft.agent = to_pubkey(agent);
    draft.rent_refund = to_pubkey(&shown.rent_refund);
    draft.hash = shown.hash;
    draft.policy = StoredPolicy::from(&shown.policy.as_policy());
    account_of(&draft, &entries)
}

fn grant_of(agent: &AgentOnChain, waived: Waived, operator: &Operator) -> Grant {
    let mut grant = Grant::zeroed();
    grant.version = LAYOUT_VERSION;
    grant.operator = to_pubkey(&agent.operator);
    grant.agent = to_pubkey(&agent.address);
    let terms = GrantTerms {
        payee: GrantPayee::Wallet(to_pubkey(&ScriptedNetwork::owner_of_payee(1))),
        amount: 1_000_000_000,
        expires_at: i64::MAX,
        beyond_allowlist: waived.has(Waived::ALLOWLIST),
        beyond_single_limit: waived.has(Waived::SINGLE_LIMIT),
        beyond_daily_limit: waived.has(Waived::DAILY_LIMIT),
        tag: None,
        memo_hash: None,
        policy_version: None,
    };
    grant.set_terms(&terms, OpenedBy::Admin, operator, NOW);
    grant
}

fn budget_of(state: &BudgetState, operator: Pubkey) -> Budget {
    let mut budget = Budget::zeroed();
    budget.version = LAYOUT_VERSION;
    budget.id = 1;
    budget.operator = operator;
    budget.max_daily_spend = state.daily_cap.micros();
    budget.max_30_day_spend = u64::MAX;
    budget
}

fn token_data(mint: Pubkey, owner: &Address, amount: u64, state: u8) -> Vec<u8> {
    let mut data = [mint.as_ref(), owner.as_bytes(), &amount.to_le_bytes(), &[0; 93]].concat();
    data[108] = state;
    data
}

fn destination(shown: &Destination) -> Option<(Pubkey, Vec<u8>)> {
    let nobody = Address::from_bytes([5; 32]);
    let token = |mint, owner, state: usize| Some((TOKEN_PROGRAM, token_data(mint, owner, 0, STATES[state])));
    match shown {
        Destination::TokenAccount { owner } => token(MINT, owner, 1),
        Destination::OtherMint => token(Pubkey::new_from_array([6; 32]), &nobody, 1),
        Destination::Frozen => token(MINT, &nobody, 2),
        Destination::Uninitialized => token(MINT, &nobody, 0),
        Destination::NotTokenAccount | Destination::NotWallet(_) => {
            Some((Pubkey::new_from_array([6; 32]), vec![1]))
        }
        Destination::Wallet { .. } | Destination::Vault { .. } => Some((SYSTEM_PROGRAM, Vec::new())),
        Destination::Missing | Destination::NoTokenAccount => None,
    }
}
