//! The heads of an operator's denials on Solana: memos signed by its policy authority.

use anchor_lang::prelude::Pubkey;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::hash;
use crate::AuditError;
use crate::archive::Line;
use crate::gather::operator_state;
use crate::node::Node;
use crate::signed::{self, Signed};

const MEMO_PROGRAM: Pubkey = solana_sdk::pubkey!("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
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

/// The heads of an operator, the latest first.
pub(super) struct HeadsOnChain {
    pub heads: Vec<Head>,
    /// The key whose memos were read.
    pub signer: Pubkey,
    pub host: String,
}

/// Reads the memos of the operator's current policy authority.
pub(super) async fn find(
    node: &Node,
    program: &Pubkey,
    operator: &Pubkey,
) -> Result<HeadsOnChain, AuditError> {
    let signer = operator_state(node, program, operator).await?.policy_authority;
    let lines = node.signatures(&signer, None).await?;
    let is_well = |line: &&Line| line.err.is_none();
    // If a node lists memos, the other transactions need not be fetched.
    let tells = lines.iter().any(|line| line.memo.is_some());
    let says = |line: &&Line| line.memo.as_ref().map_or(!tells, |memo| memo.contains(BEGINS));
    let asked = lines.iter().filter(is_well).filter(says);
    let read = stream::iter(asked.map(|line| async move {
        let transaction = node.transaction(&line.signature).await?;
        Ok::<_, AuditError>(
            transaction.and_then(|transaction| head_in(&transaction, line, &signer, operator)),
        )
    }));
    let heads: Vec<Option<Head>> = read.buffered(AT_ONCE).try_collect().await?;
    Ok(HeadsOnChain { heads: heads.into_iter().flatten().collect(), signer, host: node.host() })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    header: Header,
    account_keys: Vec<String>,
    instructions: Vec<MemoInstruction>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    num_required_signatures: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemoInstruction {
    program_id_index: usize,
    accounts: Vec<usize>,
    data: String,
}

/// The head that a transaction states, if the signer signed it.
fn head_in(transaction: &Value, line: &Line, signer: &Pubkey, operator: &Pubkey) -> Option<Head> {
    // A node cannot invent what the signature covers, nor show another transaction in its place.
    let is_asked_for = transaction["transaction"]["signatures"][0] == line.signature.as_str();
    if !is_asked_for || !transaction["meta"]["err"].is_null() || signed::check(transaction) != Signed::Well {
        return None;
    }
    let message = Message::deserialize(&transaction["transaction"]["message"]).ok()?;
    let Message { header, account_keys, instructions } = message;
    let (program, signer) = (MEMO_PROGRAM.to_string(), signer.to_string());
    let is_ours = |instruction: &&MemoInstruction| {
        let signed_by =
            |at: &usize| *at < header.num_required_signatures && account_keys.get(*at) == Some(&signer);
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
