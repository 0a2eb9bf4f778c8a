use std::sync::Arc;

use crate::error::ServiceError;
use crate::{ExplorerUrl, Inside};
use purser_model::{GrantOpened, Page, Transfer};

/// Returns the page on which a transfer is approved. `None`: the service has no such pages.
pub type ApprovalPage = Arc<dyn Fn(&Transfer) -> Option<String> + Send + Sync>;

/// A transfer, with what does not stand in its row.
#[derive(Debug, Clone)]
pub struct TransferView {
    pub transfer: Transfer,
    pub explorer: ExplorerUrl,
    /// The page for whoever approves it, if a person was asked.
    pub approval_url: Option<String>,
    /// The grant that did, once a grant let it through and the indexer has read that.
    pub approved_by: Option<GrantOpened>,
}

/// Looks up what is shown with transfers.
#[derive(Clone)]
pub struct TransferViews {
    inside: Arc<Inside>,
    /// `None`: nobody is asked in this build.
    approval_page: Option<ApprovalPage>,
}

impl TransferViews {
    pub(crate) fn new(inside: Arc<Inside>, approval_page: Option<ApprovalPage>) -> Self {
        Self { inside, approval_page }
    }

    /// Returns whether the build has an extension that asks people.
    pub(super) fn asks_people(&self) -> bool {
        self.approval_page.is_some()
    }

    pub async fn one(&self, transfer: Transfer) -> Result<TransferView, ServiceError> {
        let page = Page { items: vec![transfer], next: None };
        self.page(page).await?.items.pop().ok_or(ServiceError::Internal)
    }

    /// Of one operator.
    pub async fn page(&self, page: Page<Transfer>) -> Result<Page<TransferView>, ServiceError> {
        let first = page.items.first().map(|transfer| (transfer.operator_id, transfer.network));
        let Some((operator, network)) = first else {
            return Ok(Page { items: Vec::new(), next: page.next });
        };
        let explorer = self.inside.chains.get(network)?.explorer.clone();
        let mut approved = self.inside.store.transfers.find_approved_by(operator, &page.items).await?;
        Ok(page.map(|transfer| {
            let asked = self.approval_page.as_ref().filter(|_| transfer.approval.requested().is_some());
            TransferView {
                explorer: explorer.clone(),
                approval_url: asked.and_then(|page| page(&transfer)),
                approved_by: approved.remove(&transfer.id),
                transfer,
            }
        }))
    }
}
