//! The tags of an account's payments: those that were made from here, and those that only the chain knew.

use futures::FutureExt;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::query::{places, query};
use super::{Store, StoreError};
use crate::domain::{Account, Timestamp};

const TABLE: Table = Table("landed_tags");

/// A payment on the chain that was not made from here, or may not have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LandedTag {
    pub tag: u64,
    pub landed_at: Timestamp,
    /// The history was read whole from it on: every payment before it is known too.
    pub is_read: bool,
}

impl Store {
    /// Which of the tags belong to payments that the account's latest transfers (1,000) made or may be making, and
    /// whether the payment was made by them for certain. A transfer that ended with a payment found on the chain made none.
    pub async fn find_made_tags(
        &self,
        account: &Account,
        tags: &[u64],
    ) -> Result<Vec<(u64, bool)>, StoreError> {
        let sql = format!(
            "SELECT tag, CAST(MAX(CASE WHEN state = 'settled' THEN 1 ELSE 0 END) AS BIGINT) FROM (
                 SELECT tag, state, signed_bytes FROM transfers WHERE operator_id = $1 AND account_id = $2
                 ORDER BY transfer_id DESC LIMIT 1000) latest
             WHERE state IN ('signed', 'sent', 'settled') AND signed_bytes IS NOT NULL AND tag IN ({})
             GROUP BY tag",
            places(3, tags.len())
        );
        if tags.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(String, i64)> = query(AssertSqlSafe(sql))
            .bind(account.operator_id.to_string())
            .bind(account.id.to_string())
            .bind_all(tags.iter().map(|tag| in_hex(*tag)))
            .fetch_all(self.reader())
            .await?;
        rows.iter().map(|(tag, settled)| Ok((from_hex(tag)?, *settled == 1))).collect()
    }

    /// What was kept of payments that landed at `since` or later.
    pub async fn list_landed_tags(
        &self,
        account: &Account,
        since: Timestamp,
    ) -> Result<Vec<LandedTag>, StoreError> {
        const SQL: &str = "SELECT tag, landed_at, is_read FROM landed_tags
             WHERE account_id = $1 AND landed_at >= $2";
        let rows: Vec<(String, String, bool)> =
            query(SQL).bind(account.id.to_string()).bind(since.to_string()).fetch_all(self.reader()).await?;
        let read = |(tag, landed_at, is_read): &(String, String, bool)| {
            let landed_at = TABLE.read("landed_at", landed_at)?;
            Ok(LandedTag { tag: from_hex(tag)?, landed_at, is_read: *is_read })
        };
        rows.iter().map(read).collect()
    }

    /// Keeps what landed, and lets go of what landed before `since`.
    pub async fn keep_landed_tags(
        &self,
        account: &Account,
        landed: &[LandedTag],
        since: Timestamp,
    ) -> Result<(), StoreError> {
        const FORGET: &str = "DELETE FROM landed_tags WHERE account_id = $1 AND landed_at < $2";
        const KEEP: &str =
            "INSERT INTO landed_tags (account_id, tag, landed_at, is_read) VALUES ($1, $2, $3, $4)
             ON CONFLICT (account_id, tag) DO UPDATE SET
                 landed_at = CASE WHEN landed_tags.landed_at < excluded.landed_at
                     THEN excluded.landed_at ELSE landed_tags.landed_at END,
                 is_read = landed_tags.is_read OR excluded.is_read";
        let (account, landed) = (account.id.to_string(), landed.to_vec());
        self.write(move |tx| {
            async move {
                query(FORGET).bind(account.as_str()).bind(since.to_string()).execute(&mut *tx).await?;
                for LandedTag { tag, landed_at, is_read } in landed {
                    let keep = query(KEEP).bind(account.as_str()).bind(in_hex(tag));
                    keep.bind(landed_at.to_string()).bind(is_read).execute(&mut *tx).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }
}

pub(super) fn in_hex(tag: u64) -> String {
    format!("{tag:016x}")
}

fn from_hex(tag: &str) -> Result<u64, StoreError> {
    u64::from_str_radix(tag, 16).map_err(|_| TABLE.unreadable("tag"))
}
