//! A transaction on either database.

use futures::future::BoxFuture;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::connections::Connections;
use super::postgres::PostgresPrimary;
use super::{Result, StoreError};

/// A transaction on either database, which [`Pools::write`](super::pools::Pools::write) commits.
pub(super) enum Transaction<'c> {
    Sqlite(&'c mut rusqlite::Connection),
    Postgres(&'c mut PgConnection),
}

/// Runs `work` in a transaction on Postgres, and commits it unless it fails.
pub(super) async fn transact<T, F>(pool: &Connections<PostgresPrimary>, work: F) -> Result<T>
where
    F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
{
    let mut lent = pool.lend().await?;
    let done = async {
        let mut tx = lent.connection()?.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        match work(&mut Transaction::Postgres(&mut tx)).await {
            Ok(done) => {
                tx.commit().await?;
                Ok(done)
            }
            Err(error @ StoreError::Unavailable { .. }) => Err(error),
            Err(error) => {
                // Rolls back now, because rows stay locked until the driver does so.
                tx.rollback().await?;
                Err(error)
            }
        }
    }
    .await;
    lent.give_back(&done);
    done
}
