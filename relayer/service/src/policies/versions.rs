//! All versions of a policy, and who asked for each.

use crate::Inside;
use crate::ServiceError;
use crate::audit_scope::AuditScope;
use purser_model::wire::PolicyVersion;
use purser_model::{AccountId, Asking, Operator, Page, PageRequest};
use std::sync::Arc;

/// The versions of an account's policy that the indexer read, newest first. NotFound: the account.
pub async fn versions(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    request: PageRequest,
) -> Result<Page<PolicyVersion>, ServiceError> {
    let listing = request.of(format!("policy_versions|{}|{id}", operator.id))?;
    super::find(inside, operator, id).await?;
    let (before, rows_max) = (listing.after, listing.rows_max());
    let rows = inside.store.policies.list_policy_versions(operator.id, id, before, rows_max).await?;
    Ok(listing.page(rows, |last| last.version.0))
}

/// One version of an account's policy. `None`: the indexer has not read it.
pub async fn version(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    version: u64,
) -> Result<Option<PolicyVersion>, ServiceError> {
    let below = Some(version.saturating_add(1));
    let found = inside.store.policies.list_policy_versions(operator.id, id, below, 1).await?;
    Ok(found.into_iter().find(|found| found.version.0 == version))
}

/// Records who asked for a change. The change stands even when this write fails.
pub(super) async fn note_asking(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    done_by: &str,
    (asking, scope): (&Asking, &AuditScope),
) {
    let noted =
        inside.store.policies.insert_policy_asking(operator.id, id, done_by, asking, scope.action_id()).await;
    if let Err(error) = noted {
        tracing::warn!(account_id = %id, %error, "cannot record who asked for a policy");
    }
}
