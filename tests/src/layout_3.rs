//! Accounts of the program's layout 3, which version 0.1.0 wrote, in the layout of today. No network but a kept one has any: the
//! program itself reads one layout alone.

use std::path::Path;

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use purser::state::{Agent, Operator};
use serde_json::{Value, json};

const VERSION_AT: usize = 8;
const OLD: u8 = 3;
/// Where an agent's fields began to differ: the seconds of its policy, the reserved bytes of the policy, the payments.
const UPDATED_AT: usize = 128;
const TAG_BUCKETS_AT: usize = 156;
const PAYMENTS_AT: usize = 656;
/// The number of payments, 16 tags and 16 seconds.
const TAGS_END: usize = 856;
/// Lamports that a byte costs at most.
const RENT_A_BYTE: u64 = 6_960;

/// Rewrites the accounts that the program owns in the database of a kept network.
pub fn convert_network(chain: &Path, program: &Pubkey) {
    let database = rusqlite::Connection::open(chain).expect("it opens");
    let rows: Vec<(String, String)> = {
        let mut all = database.prepare("SELECT key, value FROM accounts").expect("a table");
        let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        rows.map(|row| row.expect("a row")).collect()
    };
    for (key, value) in rows {
        let mut account: Value = serde_json::from_str(&value).expect("JSON");
        let bytes = |of: &Value| -> Option<Vec<u8>> {
            of.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
        };
        let (owner, data) = (bytes(&account["owner"]), bytes(&account["data"]));
        let (Some(owner), Some(data)) = (owner, data) else { continue };
        if owner != program.to_bytes() || data.get(VERSION_AT) != Some(&OLD) {
            continue;
        }
        let converted = convert(&data);
        let more = converted.len().saturating_sub(data.len()) as u64;
        let lamports = account["lamports"].as_u64().expect("lamports") + more * RENT_A_BYTE;
        account["lamports"] = json!(lamports);
        account["data"] = json!(converted);
        let changed = "UPDATE accounts SET value = ?2 WHERE key = ?1";
        database.execute(changed, (key, account.to_string())).expect("written");
    }
}

/// An account's data in the layout of today. Grants that were revoked before would count again: a kept network has none.
fn convert(data: &[u8]) -> Vec<u8> {
    let mut new = data.to_vec();
    new[VERSION_AT] = purser::constants::LAYOUT_VERSION;
    if data.starts_with(Operator::DISCRIMINATOR) {
        // The count of removed approvers.
        new[VERSION_AT + 3] = 0;
        new.extend([0; 8]);
    } else if data.starts_with(Agent::DISCRIMINATOR) {
        new[VERSION_AT + 3] = 0;
        // Seconds of 32 bits, and no revoked grants.
        new[UPDATED_AT + 4..UPDATED_AT + 8].fill(0);
        let bounds = data[TAG_BUCKETS_AT - 1];
        let before_list = if bounds & 2 == 0 { 0 } else { 264 } + if bounds & 4 == 0 { 0 } else { 32 };
        let wallets = u16::from_le_bytes([data[TAG_BUCKETS_AT - 4], data[TAG_BUCKETS_AT - 3]]);
        let entries = (data.len() - TAGS_END - before_list) / 32;
        new[TAG_BUCKETS_AT..TAG_BUCKETS_AT + 2].copy_from_slice(&1u16.to_le_bytes());
        let token_accounts = entries as u16 - wallets;
        new[TAG_BUCKETS_AT + 2..TAG_BUCKETS_AT + 4].copy_from_slice(&token_accounts.to_le_bytes());
        // The tags stand last now.
        let (payments, tags) = (PAYMENTS_AT + 8, data[PAYMENTS_AT + 8..TAGS_END].to_vec());
        new.truncate(payments);
        new.extend_from_slice(&data[TAGS_END..]);
        new.extend(tags);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_a_kept_network_can_be_read_afterwards() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("upgrade/0.1.0/sqlite/chain.sqlite");
        let folder = tempfile::tempdir().expect("a folder");
        let chain = folder.path().join("chain.sqlite");
        std::fs::copy(kept, &chain).expect("copied");
        convert_network(&chain, &purser::ID);
        let database = rusqlite::Connection::open(&chain).expect("it opens");
        let mut all = database.prepare("SELECT value FROM accounts").expect("a table");
        let values = all.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        let (mut agents, mut operators) = (0, 0);
        for value in values {
            let account: Value = serde_json::from_str(&value.expect("a row")).expect("JSON");
            let Some(data) = account["data"].as_array() else { continue };
            let data: Vec<u8> = data.iter().map(|byte| byte.as_u64().expect("a byte") as u8).collect();
            if data.starts_with(Agent::DISCRIMINATOR) {
                let view = Agent::read(&data).expect("an agent of today's layout");
                assert_eq!(view.agent.data_len(), data.len());
                let kept = view.tags().expect("the whole account").entries().count() as u64;
                assert_eq!(kept, view.agent.payments.min(16));
                agents += 1;
            } else if data.starts_with(Operator::DISCRIMINATOR) {
                let operator = Operator::read(&data).expect("an operator of today's layout");
                assert_eq!((data.len(), operator.approvers_voided_at), (Operator::BYTES, 0));
                operators += 1;
            }
        }
        assert!(agents > 0 && operators > 0, "{agents} agents, {operators} operators");
    }
}
