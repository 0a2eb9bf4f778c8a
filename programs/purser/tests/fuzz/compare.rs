//! Compares the chain's accounts with the oracle's.

use anchor_lang::prelude::Pubkey;
use anchor_spl::token::spl_token::state::{Account as TokenState, AccountState};
use purser::state as stored;
use solana_account::ReadableAccount;
use solana_program_pack::Pack;

use crate::cast::CAST;
use crate::chain::Chain;
use crate::oracle::{
    as_u64, Agent, Approver, Budget, Draft, Grant, Model, Opener, Operator, Policy, Role, Token, Window,
    SPANS,
};

/// The differences, for people to read.
pub type Differences = Vec<String>;

struct Differing<'a> {
    of: &'a str,
    found: &'a mut Differences,
}

impl Differing<'_> {
    fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, chain: T, oracle: T) {
        if chain != oracle {
            self.found.push(format!("{}.{what}: the chain has {chain:?}, the oracle {oracle:?}", self.of));
        }
    }
}

/// Compares everything that both sides know.
pub fn everything(chain: &Chain, model: &Model) -> Differences {
    let known = model.operators.keys().chain(model.agents.keys()).chain(model.drafts.keys());
    let known = known.chain(model.closed.keys()).chain(model.grants.keys()).chain(model.approvers.keys());
    let known = known.chain(model.budgets.keys());
    let known = known.chain(model.tokens.keys()).chain(model.lamports.keys()).chain(&CAST.everything);
    known.flat_map(|key| one(chain, model, key)).collect()
}

/// Compares the account at `key`.
pub fn one(chain: &Chain, model: &Model, key: &Pubkey) -> Differences {
    let mut found = Vec::new();
    let account = chain.account(key);
    let data = account.map_or(&[][..], |account| account.data());
    if let Some(lamports) = model.lamports.get(key) {
        let has = account.map_or(0, ReadableAccount::lamports);
        Differing { of: "account", found: &mut found }.check("lamports", has, *lamports);
    }
    if let Some(expected) = model.operators.get(key) {
        match stored::Operator::read(data) {
            Some(operator) => operators(&operator, expected, &mut found),
            None => found.push("the operator cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.agents.get(key) {
        match stored::Agent::read(data) {
            Some(view) => agents(&view, data.len(), expected, &mut found),
            None => found.push("the agent cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.drafts.get(key) {
        match stored::PolicyDraft::read(data) {
            Some(view) => drafts(&view, data, expected, &mut found),
            None => found.push("the draft cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.closed.get(key) {
        match stored::ClosedAgent::read(data).filter(|_| data.len() == stored::ClosedAgent::BYTES) {
            Some(closed) => Differing { of: "closed agent", found: &mut found }.check(
                "fields",
                (closed.rent_refund, i64::from(closed.second)),
                *expected,
            ),
            None => found.push("what is left of the agent cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.grants.get(key) {
        match stored::Grant::read(data).filter(|_| data.len() == stored::Grant::BYTES) {
            Some(grant) => grants(&grant, expected, &mut found),
            None => found.push("the grant cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.budgets.get(key) {
        match stored::Budget::read(data).filter(|_| data.len() == stored::Budget::BYTES) {
            Some(budget) => budgets(&budget, expected, &mut found),
            None => found.push("the budget cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.approvers.get(key) {
        match stored::Approver::read(data).filter(|_| data.len() == stored::Approver::BYTES) {
            Some(approver) => approvers(&approver, expected, &mut found),
            None => found.push("the approver cannot be read".to_owned()),
        }
    } else if let Some(expected) = model.tokens.get(key) {
        let state = TokenState::unpack_from_slice(data).unwrap_or_default();
        let program = account.map(|account| *account.owner()).unwrap_or_default();
        let TokenState { mint, owner, amount, state, .. } = state;
        let token = Token { program, mint, owner, amount, frozen: state == AccountState::Frozen };
        Differing { of: "token", found: &mut found }.check("account", &token, expected);
    } else if account.is_some_and(|account| *account.owner() == purser::ID) {
        found.push("the chain has an account of the program that the oracle does not know".to_owned());
    }
    found.into_iter().map(|difference| format!("{key}: {difference}")).collect()
}

fn operators(found: &stored::Operator, expected: &Operator, differences: &mut Differences) {
    let mut differing = Differing { of: "operator", found: differences };
    let some = |key: Pubkey| Some(key).filter(|key| *key != Pubkey::default());
    let operator = Operator {
        id: found.id,
        created_by: found.created_by,
        admin: found.admin,
        pending_admin: some(found.pending_admin),
        policy_authority: found.policy_authority,
        guardian: some(found.guardian),
        transfer_authorities: found.transfer_authorities().to_vec(),
        delay: found.loosening_delay_seconds,
        mint: found.usdc_mint,
        halted_by: role(found.halted_by),
        approvers_voided_at: found.approvers_voided_at,
    };
    differing.check("fields", &operator, expected);
    let free = found.transfer_authorities.iter().skip(expected.transfer_authorities.len());
    differing.check("free places", free.copied().all(|key| key == Pubkey::default()), true);
}

fn role(number: u8) -> Option<Role> {
    [None, Some(Role::Admin), Some(Role::PolicyAuthority), Some(Role::Guardian)][usize::from(number)]
}

fn agents(view: &stored::AgentView, bytes: usize, expected: &Agent, differences: &mut Differences) {
    let agent = &view.agent;
    let mut differing = Differing { of: "agent", found: differences };
    differing.check("operator", agent.operator, expected.operator);
    differing.check("agent_id", agent.agent_id, expected.id);
    differing.check("token_account", agent.token_account, expected.token_account);
    differing.check("rent_refund", agent.rent_refund, expected.rent_refund);
    differing.check("policy_version", agent.policy_version, expected.version);
    differing.check("policy_updated_at", i64::from(agent.policy_updated_at), expected.updated_at);
    differing.check("halted_by", role(agent.halted_by), expected.halted_by);
    differing.check("voided_at", i64::from(agent.voided_at), expected.voided_at);
    differing.check("length", bytes, expected.bytes());
    differing.check("policy", &policy(&view.policy()), &expected.policy);
    let bounds = u8::from(expected.by_grant_only)
        | u8::from(expected.month.is_some()) << 1
        | u8::from(expected.budget.is_some()) << 2;
    differing.check("budget", view.bounds().budget, expected.budget);
    differing.check("bounds", agent.policy.bounds, bounds);
    let month = view.month().map(|month| (month.cap, month.window[0] as i64, month.window[1..].to_vec()));
    let stored = expected.month.as_ref().map(|month| {
        let (latest, sums) = month.stored();
        (month.cap, latest, sums.to_vec())
    });
    differing.check("month", month, stored);
    differing.check("window", window(&agent.window), spans(&expected.window));
    differing.check("payments", agent.payments, expected.payments);
    let now = expected.window.latest;
    let Some(tags) = view.tags() else { return differing.check("tags", false, true) };
    differing.check("buckets", tags.0.len(), expected.table.0.len());
    for (tag, paid_at) in expected.table.kept(now) {
        differing.check("tag", tags.contains(tag, paid_at + 86_399), true);
        differing.check("tag after a day", tags.contains(tag, paid_at + 86_400), false);
    }
    differing.check("tags", tags.len(now), expected.table.kept(now).count());
}

fn grants(found: &stored::Grant, expected: &Grant, differences: &mut Differences) {
    let some = |number: u64| Some(number).filter(|number| *number != 0);
    let grant = Grant {
        operator: found.operator,
        agent: found.agent,
        id: found.id,
        payee: match found.flags & 8 {
            0 => (Some(found.payee), None),
            _ => (None, Some(found.payee)),
        },
        left: found.left,
        expires_at: found.expires_at,
        past: [1, 2, 4].map(|bit| found.flags & bit != 0),
        tag: some(found.tag),
        version: some(found.policy_version.into()).map(|version| version as u32),
        rent_refund: found.rent_refund,
        memo_hash: Some(found.memo_hash).filter(|hash| *hash != [0; 32]),
        opener: match (found.flags >> 4) & 3 {
            0 => Opener::Admin,
            1 => Opener::PolicyAuthority,
            _ => Opener::Approver,
        },
        opened_at: found.opened_at,
        delay: found.opened_delay_seconds,
    };
    Differing { of: "grant", found: differences }.check("fields", &grant, expected);
}

fn budgets(found: &stored::Budget, expected: &Budget, differences: &mut Differences) {
    let mut differing = Differing { of: "budget", found: differences };
    let some = |cap: u64| Some(cap).filter(|cap| *cap != u64::MAX);
    differing.check("id", (found.operator, found.id), (expected.operator, expected.id));
    differing.check("caps", (found.max_daily_spend, some(found.max_30_day_spend)), expected.caps);
    let waiting =
        ((found.waiting_daily, some(found.waiting_30_day)), found.raised_at, found.raised_delay_seconds);
    differing.check("waiting", Some(waiting).filter(|(_, at, _)| *at != 0), expected.waiting);
    differing.check("day", window(&found.window), spans(&expected.day));
    let (latest, sums) = expected.month.stored();
    differing.check("month", (found.month[0] as i64, &found.month[1..]), (latest, &sums[..]));
}

fn approvers(found: &stored::Approver, expected: &Approver, differences: &mut Differences) {
    let mut differing = Differing { of: "approver", found: differences };
    let keys = (found.operator, found.key, found.max_grant, found.max_daily);
    differing.check("keys", keys, (expected.operator, expected.key, expected.max_grant, expected.max_daily));
    differing.check("removed", found.removed != 0, expected.removed);
    differing.check("window", window(&found.window), spans(&expected.granted));
}

fn spans(window: &Window) -> (i64, Vec<(u32, u64)>) {
    let spans = window.spans.iter().map(|(last, amount)| (*last as u32, as_u64(*amount))).collect();
    (window.latest, spans)
}

/// Newest second, number of spans, then twelve bytes for each span: its last second and its amount.
fn window(words: &[u64]) -> (i64, Vec<(u32, u64)>) {
    let bytes: Vec<u8> = words.iter().skip(2).flat_map(|word| word.to_le_bytes()).collect();
    let count = (words[1] as usize).min(SPANS);
    let spans = bytes.chunks_exact(12).take(count).map(|span| {
        let (last, amount) = span.split_at(4);
        let amount = amount.try_into().expect("eight bytes");
        (u32::from_le_bytes(last.try_into().expect("four bytes")), u64::from_le_bytes(amount))
    });
    (words[0] as i64, spans.collect())
}

fn drafts(view: &stored::DraftView, data: &[u8], expected: &Draft, differences: &mut Differences) {
    let draft = &view.draft;
    let mut differing = Differing { of: "draft", found: differences };
    differing.check("agent", draft.agent, expected.agent);
    differing.check("rent_refund", draft.rent_refund, expected.rent_refund);
    differing.check("hash", draft.hash, expected.hash);
    differing.check("expected_version", draft.expected_version, expected.expected_version);
    differing.check("entry_count", usize::from(draft.entry_count), expected.count);
    differing.check("written", usize::from(draft.written), expected.entries.len());
    differing.check("sealed", draft.is_sealed(), expected.sealed.is_some());
    let sealed = (draft.sealed_at, draft.sealed_delay_seconds);
    differing.check("sealed_at", sealed, expected.sealed.unwrap_or_default());
    if expected.sealed.is_some() {
        differing.check("policy", &policy(&view.policy()), &expected.policy);
    }
    let entries = data[stored::PolicyDraft::BYTES..].chunks_exact(32).take(expected.entries.len());
    let entries: Vec<_> = entries.map(|entry| Pubkey::try_from(entry).expect("32 bytes")).collect();
    differing.check("entries", &entries, &expected.entries);
}

/// The policy as the client crate reads it.
fn policy(policy: &purser_policy::Policy) -> Policy {
    let limit = |limit| match limit {
        purser_policy::Limit::Unlimited => None,
        purser_policy::Limit::AtMost(amount) => Some(purser_policy::UsdcAmount::micros(amount)),
    };
    let keys = |entries: &[[u8; 32]]| entries.iter().copied().map(Pubkey::new_from_array).collect();
    let (wallets, token_accounts) = policy.allowlist.entries();
    Policy {
        single: limit(policy.max_single_transfer),
        daily: limit(policy.max_daily_spend),
        memo: policy.require_memo,
        paused: policy.paused,
        only: match policy.allowlist {
            purser_policy::Allowlist::Anyone => None,
            purser_policy::Allowlist::Only(_) => {
                Some(crate::oracle::Only { wallets: keys(wallets), token_accounts: keys(token_accounts) })
            }
        },
    }
}
