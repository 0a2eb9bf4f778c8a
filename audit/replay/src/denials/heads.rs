//! The heads of an operator's denials on Solana: memos signed by its policy authority, and by those before it.

use std::collections::BTreeSet;

use anchor_lang::prelude::Pubkey;
use futures::{StreamExt, TryStreamExt, stream};
use purser_client::{WireInstruction, WireLanded, WireMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::hash;
use crate::AuditError;
use crate::archive::Line;
use crate::node::Node;
use crate::replay::Span;
use crate::signed::{self, Signed};

const MEMO_PROGRAM: Pubkey = Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const BEGINS: &str = "purser denials v1 ";
/// How many transactions are requested at the same time.
const AT_ONCE: usize = 8;

/// What Solana says about the end of a chain at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    pub number: u64,
    pub sha256: String,
    pub slot: u64,
    /// Unix seconds, as given by the node.
    pub block_time: Option<i64>,
    pub signature: String,
    #[serde(skip)]
    pub(super) hash: [u8; 32],
}

/// The heads of an operator, the latest first of each key.
pub(super) struct HeadsOnChain {
    pub heads: Vec<Head>,
    /// The keys whose memos were read.
    keys: Vec<Pubkey>,
    pub host: String,
}

impl HeadsOnChain {
    pub fn signers(&self) -> String {
        self.keys.iter().map(Pubkey::to_string).collect::<Vec<_>>().join(" and ")
    }
}

/// Reads the memos of every key that was the operator's policy authority, each of the time in which it was.
pub(super) async fn find(
    nodes: &[Node],
    authorities: &[Span<Pubkey>],
    operator: &Pubkey,
) -> Result<HeadsOnChain, AuditError> {
    let (mut heads, mut keys): (Vec<Head>, Vec<Pubkey>) = (Vec::new(), Vec::new());
    for Span { what: key, from, until } in authorities {
        let is_in_time =
            |slot: u64| from.slot <= slot && until.as_ref().is_none_or(|until| slot <= until.slot);
        for node in nodes {
            heads.extend(
                heads_of(node, key, operator).await?.into_iter().filter(|head| is_in_time(head.slot)),
            );
        }
        if !keys.contains(key) {
            keys.push(*key);
        }
    }
    let mut seen = BTreeSet::new();
    heads.retain(|head| seen.insert(head.signature.clone()));
    let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
    Ok(HeadsOnChain { heads, keys, host: hosts.join(", ") })
}

async fn heads_of(node: &Node, signer: &Pubkey, operator: &Pubkey) -> Result<Vec<Head>, AuditError> {
    let lines = node.signatures(signer, None, None).await?;
    let is_well = |line: &&Line| line.err.is_none();
    // If a node lists memos, the other transactions need not be fetched.
    let tells = lines.iter().any(|line| line.memo.is_some());
    let says = |line: &&Line| line.memo.as_ref().map_or(!tells, |memo| memo.contains(BEGINS));
    let asked = lines.iter().filter(is_well).filter(says);
    let read = stream::iter(asked.map(|line| async move {
        let transaction = node.transaction(&line.signature).await?;
        Ok::<_, AuditError>(transaction.and_then(|transaction| head_in(&transaction, line, signer, operator)))
    }));
    let heads: Vec<Option<Head>> = read.buffered(AT_ONCE).try_collect().await?;
    Ok(heads.into_iter().flatten().collect())
}

/// The head that a transaction states, if the signer signed it.
fn head_in(transaction: &Value, line: &Line, signer: &Pubkey, operator: &Pubkey) -> Option<Head> {
    // A node cannot invent what the signature covers, nor show another transaction in its place.
    let is_failed = !transaction["meta"]["err"].is_null();
    let landed = WireLanded::deserialize(transaction).ok()?;
    let is_asked_for = landed.transaction.signatures.first() == Some(&line.signature);
    if !is_asked_for || is_failed || signed::check(&landed) != Signed::Well {
        return None;
    }
    let WireMessage { header, account_keys, instructions, .. } = landed.transaction.message;
    let (program, signer) = (MEMO_PROGRAM.to_string(), signer.to_string());
    let signatures = usize::from(header.num_required_signatures);
    let is_ours = |instruction: &&WireInstruction| {
        let signed_by = |at: &usize| *at < signatures && account_keys.get(*at) == Some(&signer);
        account_keys.get(instruction.program_id_index) == Some(&program)
            && instruction.accounts.iter().any(signed_by)
    };
    instructions.iter().filter(is_ours).find_map(|instruction| {
        let data = bs58::decode(&instruction.data).into_vec().ok()?;
        let (number, sha256) = stated(std::str::from_utf8(&data).ok()?, operator)?;
        Some(Head {
            number,
            hash: hash(sha256)?,
            sha256: sha256.to_owned(),
            slot: line.slot,
            block_time: line.block_time,
            signature: line.signature.clone(),
        })
    })
}

/// Number and hash in a memo about the operator.
fn stated<'a>(memo: &'a str, operator: &Pubkey) -> Option<(u64, &'a str)> {
    let mut words = memo.strip_prefix(BEGINS)?.split(' ');
    let (of, number, sha256) = (words.next()?, words.next()?, words.next()?);
    let is_whole = words.next().is_none() && of.parse::<Pubkey>().ok()? == *operator;
    Some((number.parse().ok().filter(|_| is_whole)?, sha256))
}
