//! Links to the page on which an approval is shown to people who have no key. A link names one transfer, and shows it; it approves
//! nothing, and opens nothing else.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use purser_model::{OperatorId, SealingKey, Transfer, TransferId};

const ID_BYTES: usize = 16;
const PURPOSE: &[u8] = b"purser:approval-link:v1";

/// Makes such links, and reads them.
#[derive(Debug, Clone)]
pub struct ApprovalLinks {
    /// The service's address as people reach it, without a slash at the end.
    public_url: Arc<str>,
    key: Arc<SealingKey>,
}

impl ApprovalLinks {
    pub fn new(public_url: &str, key: Arc<SealingKey>) -> Self {
        Self { public_url: public_url.trim_end_matches('/').into(), key }
    }

    /// The page of a transfer.
    pub fn of(&self, transfer: &Transfer) -> String {
        self.page(&self.token(transfer.operator_id, transfer.id))
    }

    /// The page that has this token.
    fn page(&self, token: &str) -> String {
        format!("{}/approve/{token}", self.public_url)
    }

    fn token(&self, operator: OperatorId, transfer: TransferId) -> String {
        let ids = [operator.bytes(), transfer.bytes()].concat();
        URL_SAFE_NO_PAD.encode([ids.as_slice(), &self.key.tag(PURPOSE, &ids)].concat())
    }

    /// The transfer that a token of ours names.
    pub(crate) fn read(&self, token: &str) -> Option<(OperatorId, TransferId)> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (ids, tag) = bytes.split_at_checked(2 * ID_BYTES)?;
        let (operator, transfer) = ids.split_first_chunk::<ID_BYTES>()?;
        let ids_named =
            (OperatorId::from_bytes(*operator), TransferId::from_bytes(transfer.try_into().ok()?));
        self.key.is_tag(PURPOSE, ids, tag).then_some(ids_named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(byte: u8) -> ApprovalLinks {
        let key = SealingKey::parse(&hex::encode([byte; 32])).expect("a key");
        ApprovalLinks::new("https://pay.example/", Arc::new(key))
    }

    #[test]
    fn a_link_is_good_for_its_own_transfer_and_of_its_own_service() {
        let (operator, transfer) = (OperatorId::from_bytes([1; 16]), TransferId::from_bytes([2; 16]));
        let token = links(1).token(operator, transfer);
        assert_eq!(links(1).page(&token), format!("https://pay.example/approve/{token}"));
        assert_eq!(links(1).read(&token), Some((operator, transfer)));
        assert_eq!(links(2).read(&token), None);
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("text");
            assert!(changed == token || links(1).read(&changed).is_none(), "{changed}");
        }
        assert_eq!(links(1).read(&token[..40]), None);
        assert_eq!(links(1).read(""), None);
    }
}
