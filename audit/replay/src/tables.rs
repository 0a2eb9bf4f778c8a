//! Lookup tables: a signature covers which places of a table a transaction takes, and not what stands there. A table only grows,
//! so what it holds now is what it held then.

use anchor_lang::prelude::Pubkey;
use purser_client::WireLanded;
use serde::Deserialize;
use serde_json::Value;

use crate::AuditError;
use crate::archive::{Archive, SavedAccount};

/// What comes before the addresses of a table.
const HEADER_BYTES: usize = 56;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireLookup {
    pub account_key: String,
    pub writable_indexes: Vec<u8>,
    pub readonly_indexes: Vec<u8>,
}

/// The lookups of a message; `None` if they cannot be read.
pub(crate) fn lookups(message: &Value) -> Option<Vec<WireLookup>> {
    Some(Option::<Vec<WireLookup>>::deserialize(message).ok()?.unwrap_or_default())
}

/// Whether the node told the truth about addresses from tables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    Well,
    /// The table, which holds something else.
    Wrong(String),
    /// The table, which was closed since or was not saved.
    Unknown(String),
}

pub(crate) fn check(landed: &WireLanded, archive: &Archive) -> Result<Looked, AuditError> {
    let lookups = lookups(&landed.transaction.message.address_table_lookups).unwrap_or_default();
    let (mut writable, mut readonly) = (Vec::new(), Vec::new());
    for WireLookup { account_key, writable_indexes, readonly_indexes } in &lookups {
        let address = account_key.parse::<Pubkey>().ok();
        let table = address.map(|address| archive.account(&address)).transpose()?.flatten();
        let data = table.and_then(|table| table.account).as_ref().and_then(SavedAccount::bytes);
        let at = |index: &u8| {
            let key = data.as_ref()?.get(HEADER_BYTES + usize::from(*index) * 32..)?.first_chunk()?;
            Some(Pubkey::new_from_array(*key).to_string())
        };
        let held = |indexes: &[u8]| indexes.iter().map(at).collect::<Option<Vec<_>>>();
        let (Some(first), Some(second)) = (held(writable_indexes), held(readonly_indexes)) else {
            return Ok(Looked::Unknown(account_key.clone()));
        };
        writable.extend(first);
        readonly.extend(second);
    }
    if landed.loaded_addresses() == [writable.as_slice(), readonly.as_slice()] {
        return Ok(Looked::Well);
    }
    Ok(Looked::Wrong(lookups.into_iter().map(|it| it.account_key).collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::archive::{Memory, Snapshot};

    #[test]
    fn addresses_are_those_that_the_table_holds_at_the_places_that_were_signed() {
        let archive = Archive::over(Memory::default());
        let [table, first, second] = [1, 2, 3].map(|byte| Pubkey::new_from_array([byte; 32]));
        let looked = |loaded: Value| {
            let transaction = json!({ "slot": 1, "version": 0,
                "transaction": { "signatures": [], "message": { "accountKeys": [], "instructions": [],
                    "addressTableLookups": [
                        { "accountKey": table.to_string(), "writableIndexes": [1], "readonlyIndexes": [0] }] } },
                "meta": { "loadedAddresses": loaded } });
            check(&WireLanded::deserialize(transaction).expect("it is read"), &archive)
                .expect("memory is readable")
        };
        let told = json!({ "writable": [second.to_string()], "readonly": [first.to_string()] });
        assert_eq!(looked(told.clone()), Looked::Unknown(table.to_string()));
        let data = [&[0; HEADER_BYTES][..], first.as_array(), second.as_array()].concat();
        let saved = SavedAccount { owner: first.to_string(), data: STANDARD.encode(data) };
        let snapshot = Snapshot { slot: 1, account: Some(saved) };
        archive.save_account(&table, &snapshot).expect("memory is writable");
        assert_eq!(looked(told), Looked::Well);
        let lied = json!({ "writable": [first.to_string()], "readonly": [second.to_string()] });
        assert_eq!(looked(lied), Looked::Wrong(table.to_string()));
        assert_eq!(looked(Value::Null), Looked::Wrong(table.to_string()));
    }
}
