//! What a transaction would change, according to the cluster: it simulates the transaction, and every account that the
//! transaction may write is read before and after.

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow};
use purser::state::{Agent, Approver, Budget, ClosedAgent, Grant, Operator, PolicyDraft};
use serde_json::{Value, json};
use solana_loader_v3_interface::state::UpgradeableLoaderState;
use solana_rpc_client_api::config::{RpcSimulateTransactionAccountsConfig, RpcSimulateTransactionConfig};
use solana_sdk::account::Account;
use solana_sdk::message::Message;
use solana_sdk::transaction::Transaction;

use crate::agent::facts::{hex, in_usdc, rules, timestamp};
use crate::failure;
use crate::grant::facts::{of_approver, of_budget, terms};
use crate::landing::Refusal;
use crate::loader::buffer::is_buffer;
use crate::loader::program::DeployedProgram;
use crate::network::Network;
use crate::operator::show::{keys, role};
use crate::report::Table;
use crate::tokens::{Holding, decimal, decimals, sol};

/// One value that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What the account is: `operator`, `account`, `wallet`.
    pub kind: &'static str,
    pub address: Pubkey,
    pub what: String,
    pub before: Value,
    pub after: Value,
}

/// The blockhash for the simulation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blockhash {
    /// The cluster's newest.
    Any,
    /// The transaction's own, which must still be valid.
    Own,
}

/// What a transaction would change, or why it would be refused. Signatures are not checked.
pub async fn of(
    network: &Network,
    transaction: &Transaction,
    blockhash: Blockhash,
) -> Result<Vec<Effect>, Refusal> {
    let addresses = writable(&transaction.message);
    let before = network.many_accounts(&addresses).await.map_err(Refusal::other)?;
    let after = tried(network, transaction, &addresses, blockhash).await?;
    let mut effects = Vec::new();
    for (address, (before, after)) in addresses.iter().zip(before.into_iter().zip(after)) {
        let compared = compared(network, address, before, after).await;
        effects.extend(compared.map_err(Refusal::other)?);
    }
    Ok(effects)
}

/// The table of the report.
pub fn table(effects: Vec<Effect>) -> Table {
    let row = |effect: Effect| {
        let Effect { kind, address, what, before, after } = effect;
        vec![json!(kind), json!(address.to_string()), json!(what), before, after]
    };
    Table {
        name: "changes",
        columns: vec!["kind", "address", "what", "before", "after"],
        headings: 2,
        rows: effects.into_iter().map(row).collect(),
    }
}

/// The facts of one account that differ before and after.
pub fn differing(
    kind: &'static str,
    address: Pubkey,
    before: &[(&'static str, Value)],
    after: &[(&'static str, Value)],
) -> Vec<Effect> {
    let of = |facts: &[(&'static str, Value)], name| {
        facts.iter().find(|(other, _)| *other == name).map_or(Value::Null, |(_, value)| value.clone())
    };
    let gone = before.iter().filter(|(name, _)| !after.iter().any(|(other, _)| other == name));
    let names = after.iter().chain(gone).map(|(name, _)| *name);
    let effects = names.map(|name| Effect {
        kind,
        address,
        what: name.to_string(),
        before: of(before, name),
        after: of(after, name),
    });
    effects.filter(|effect| effect.before != effect.after).collect()
}

fn writable(message: &Message) -> Vec<Pubkey> {
    let header = &message.header;
    let signed = usize::from(header.num_required_signatures);
    let last_signed = signed.saturating_sub(header.num_readonly_signed_accounts.into());
    let last = message.account_keys.len().saturating_sub(header.num_readonly_unsigned_accounts.into());
    let is_writable = |index: usize| index < last_signed || (signed..last).contains(&index);
    let keys = message.account_keys.iter().enumerate();
    keys.filter(|(index, _)| is_writable(*index)).map(|(_, key)| *key).collect()
}

async fn tried(
    network: &Network,
    transaction: &Transaction,
    addresses: &[Pubkey],
    blockhash: Blockhash,
) -> Result<Vec<Option<Account>>, Refusal> {
    let config = RpcSimulateTransactionConfig {
        replace_recent_blockhash: blockhash == Blockhash::Any,
        commitment: Some(network.commitment),
        accounts: Some(RpcSimulateTransactionAccountsConfig {
            encoding: None,
            addresses: addresses.iter().map(ToString::to_string).collect(),
        }),
        ..RpcSimulateTransactionConfig::default()
    };
    let answer = network.rpc.simulate_transaction_with_config(transaction, config).await;
    let answer = answer.map_err(|error| match error.get_transaction_error() {
        Some(refused) => Refusal::Transaction(refused),
        None => Refusal::Other(failure::explain_read(&error, &network.url)),
    })?;
    if let Some(error) = answer.value.err {
        return Err(Refusal::Transaction(error.into()));
    }
    let accounts = answer.value.accounts.filter(|accounts| accounts.len() == addresses.len());
    let accounts = accounts.ok_or_else(|| {
        Refusal::Other(anyhow!("{} does not say what a transaction would leave behind", network.url))
    })?;
    let decoded = accounts.into_iter().map(|account| match account {
        None => Ok(None),
        Some(account) => account.decode::<Account>().map(Some).context("an account cannot be read"),
    });
    decoded.collect::<Result<_>>().map_err(Refusal::Other)
}

async fn compared(
    network: &Network,
    address: &Pubkey,
    before: Option<Account>,
    after: Option<Account>,
) -> Result<Vec<Effect>> {
    // An account without lamports does not exist.
    let [before, after] = [before, after].map(|account| account.filter(|account| account.lamports > 0));
    let kind =
        after.as_ref().or(before.as_ref()).map_or("account", |account| kind(network, address, account));
    let before = facts(network, address, before.as_ref()).await?;
    let after = facts(network, address, after.as_ref()).await?;
    Ok(differing(kind, *address, &before, &after))
}

fn kind(network: &Network, address: &Pubkey, account: &Account) -> &'static str {
    let data = &account.data;
    if account.owner == anchor_lang::system_program::ID {
        return if data.is_empty() { "wallet" } else { "nonce" };
    }
    if account.owner == network.program {
        return match () {
            () if Agent::read(data).is_some() => "account",
            () if ClosedAgent::read(data).is_some() => "closed account",
            () if Operator::read(data).is_some() => "operator",
            () if Grant::read(data).is_some() => "grant",
            () if Approver::read(data).is_some() => "approver",
            () if Budget::read(data).is_some() => "budget",
            () => "draft",
        };
    }
    match Holding::read(address, account) {
        Some(_) => "token account",
        None if is_buffer(account) => "buffer",
        None if DeployedProgram::parse(*address, account).is_some() => "program data",
        None => "other",
    }
}

/// The facts about an account that people care about; empty if there is no account.
async fn facts(
    network: &Network,
    address: &Pubkey,
    account: Option<&Account>,
) -> Result<Vec<(&'static str, Value)>> {
    let Some(account) = account else { return Ok(Vec::new()) };
    let mut facts = match account.owner == network.program {
        true => of_program(network, address, &account.data).await?,
        false => Vec::new(),
    };
    if let Some(holding) = Holding::read(address, account) {
        let balance = decimal(holding.units, decimals(network, &holding.mint).await?);
        facts.extend([
            ("mint", json!(holding.mint.to_string())),
            ("owner", json!(holding.owner.to_string())),
            ("balance", json!(balance)),
        ]);
    } else if is_buffer(account) {
        facts.push((
            "program_bytes",
            json!(account.data.len() - UpgradeableLoaderState::size_of_buffer_metadata()),
        ));
    } else if let Some(program) = DeployedProgram::parse(*address, account) {
        let authority = program.upgrade_authority.map(|authority| authority.to_string());
        facts.push(("upgrade_authority", json!(authority)));
    }
    facts.push(("sol", json!(sol(account.lamports))));
    Ok(facts)
}

/// When grants were last revoked together, if ever.
fn revoked_at(second: i64) -> Option<String> {
    (second != 0).then(|| timestamp(second))
}

/// An account of the Purser program.
async fn of_program(network: &Network, address: &Pubkey, data: &[u8]) -> Result<Vec<(&'static str, Value)>> {
    if let Some(view) = Agent::read(data) {
        let agent = &view.agent;
        let id = [
            ("account_id", json!(network.account_ids().await?.of(address))),
            ("operator", json!(agent.operator.to_string())),
        ];
        let state = [
            ("halted_by", json!(role(agent.halted_by))),
            ("policy_version", json!(agent.policy_version)),
            ("grants_revoked_at", json!(revoked_at(agent.voided_at.into()))),
            ("tag_buckets", json!(agent.policy.tag_buckets)),
            ("by_grant_only", json!(agent.pays_by_grant_only())),
            ("max_30_days_usdc", json!(in_usdc(view.bounds().max_30_day_spend))),
            ("budget", json!(view.bounds().budget.map(|budget| budget.to_string()))),
        ];
        return Ok(id.into_iter().chain(rules(&view.policy())).chain(state).collect());
    }
    if let Some(operator) = Operator::read(data) {
        let revoked = [("approvers_grants_revoked_at", json!(revoked_at(operator.approvers_voided_at)))];
        return Ok(keys(&operator).into_iter().chain(revoked).collect());
    }
    if let Some(grant) = Grant::read(data) {
        return Ok(terms(&grant));
    }
    if let Some(approver) = Approver::read(data) {
        return Ok(of_approver(&approver, network.time().await?).into());
    }
    if let Some(budget) = Budget::read(data) {
        let operator = network.account(&budget.operator).await?;
        let operator = operator.and_then(|account| Operator::read(&account.data));
        let operator = operator.with_context(|| format!("{} is not an operator", budget.operator))?;
        return Ok(of_budget(&budget, &operator, network.time().await?).into());
    }
    let Some(draft) = PolicyDraft::read(data) else { return Ok(Vec::new()) };
    let mut facts = vec![
        ("hash", json!(hex(&draft.draft.hash))),
        ("over_policy_version", json!(draft.draft.expected_version)),
        ("sealed", json!(draft.draft.is_sealed())),
    ];
    if draft.draft.is_sealed() {
        facts.extend(rules(&draft.policy()));
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use solana_sdk::hash::Hash;
    use solana_sdk::instruction::{AccountMeta, Instruction};

    use super::*;

    #[test]
    fn unchanged_fields_are_omitted_and_added_or_removed_ones_are_listed() {
        let before = [("stays", json!(1)), ("changes", json!("a")), ("goes", json!(true))];
        let after = [("stays", json!(1)), ("changes", json!("b")), ("comes", json!([]))];
        let effects = differing("account", Pubkey::default(), &before, &after);
        let printed: Vec<_> =
            effects.iter().map(|effect| (effect.what.as_str(), &effect.before, &effect.after)).collect();
        let expected = [
            ("changes", &json!("a"), &json!("b")),
            ("comes", &Value::Null, &json!([])),
            ("goes", &json!(true), &Value::Null),
        ];
        assert_eq!(printed, expected);
    }

    #[test]
    fn accounts_that_are_only_read_are_not_compared() {
        let [payer, other_signer, written, read] =
            [1, 2, 3, 4].map(|seed| Pubkey::new_from_array([seed; 32]));
        let accounts = vec![
            AccountMeta::new_readonly(other_signer, true),
            AccountMeta::new(written, false),
            AccountMeta::new_readonly(read, false),
        ];
        let call = Instruction { program_id: Pubkey::new_from_array([9; 32]), accounts, data: Vec::new() };
        let message = Message::new_with_blockhash(&[call], Some(&payer), &Hash::default());
        assert_eq!(writable(&message), [payer, written]);
    }
}
