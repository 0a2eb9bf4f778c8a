//! Solvency: what a relayer says that each account holds, and what its token account holds.

use anchor_lang::prelude::Pubkey;
use purser_client::Deployment;
use purser_policy::UsdcAmount;

use super::{Api, Compared};
use crate::AuditError;
use crate::check::Check;
use crate::node::Node;
use crate::replay::{Mismatch, Outcome};

/// How often an account is asked for whose money moves meanwhile.
const TRIES: u32 = 3;
/// Where a token account's amount is, in the layout of SPL Token.
const AMOUNT_AT: usize = 64;

/// What an account holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub agent: Pubkey,
    pub purse: u64,
    /// As the relayer says it.
    pub stated: String,
}

/// Asks the relayer for each balance, and holds it against the token account. `newer`: entries of its history that are newer
/// than the audit; without a node, they explain a difference.
pub async fn compare(
    api: &Api,
    agents: &[Pubkey],
    at: &Deployment,
    with: Compared<'_>,
    newer: u64,
    outcome: &mut Outcome,
) -> Result<Vec<Held>, AuditError> {
    let mut all = Vec::new();
    for agent in agents {
        let life = outcome.lives.get(agent).filter(|life| life.closed.is_none());
        let Some(last) = life.map(|life| life.last_balance.unwrap_or_default()) else { continue };
        let id = with.account_ids.of(agent);
        let Some((held, is_settled)) = ask(api, at, with.node, (*agent, &id, last)).await? else {
            let why = format!("the key does not open the balance of {id}, or the relayer does not know it");
            outcome.leaves_open(Check::Solvency, why);
            continue;
        };
        *outcome.examined.entry(Check::Solvency).or_default() += 1;
        let purse = UsdcAmount::from_micros(held.purse);
        let differs = held.stated != purse.to_string();
        if differs && (with.node.is_some() || newer == 0) && is_settled {
            let text = format!(
                "The relayer says that the account holds {} USDC; its token account holds {purse}.",
                held.stated
            );
            let account = Some(*agent);
            outcome.mismatches.push(Mismatch { check: Check::Solvency, account, place: None, text });
        } else if differs {
            outcome
                .leaves_open(Check::Solvency, format!("the balance of {id} changed while it was compared"));
        }
        all.push(held);
    }
    Ok(all)
}

/// What an account holds by relayer and chain, and whether nothing moved in between. A relayer is ahead of what is final.
async fn ask(
    api: &Api,
    at: &Deployment,
    node: Option<&Node>,
    (agent, id, last): (Pubkey, &str, u64),
) -> Result<Option<(Held, bool)>, AuditError> {
    let (mut purse, mut tries) = (last, 0);
    loop {
        let Some(stated) = api.balance(id).await? else { return Ok(None) };
        let is_same = stated == UsdcAmount::from_micros(purse).to_string();
        let Some(node) = node.filter(|_| !is_same) else {
            return Ok(Some((Held { agent, purse, stated }, true)));
        };
        node.settle().await?;
        let before = std::mem::replace(&mut purse, now(node, &at.token_account(&agent)).await?);
        let is_settled = before == purse;
        tries += 1;
        if is_settled || stated == UsdcAmount::from_micros(purse).to_string() || tries == TRIES {
            return Ok(Some((Held { agent, purse, stated }, is_settled)));
        }
    }
}

async fn now(node: &Node, token_account: &Pubkey) -> Result<u64, AuditError> {
    let account = node.accounts(&[*token_account]).await?.pop().and_then(|(_, account)| account);
    let data = account.and_then(|account| account.bytes()).unwrap_or_default();
    Ok(data.get(AMOUNT_AT..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u64::from_le_bytes(*it)))
}
