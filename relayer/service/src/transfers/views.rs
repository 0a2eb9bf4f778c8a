use std::sync::Arc;

use crate::Inside;
use crate::error::ServiceError;
use crate::{ApprovalLinks, ExplorerUrl};
use purser_model::{ApprovedBy, Page, Transfer};

/// A transfer, with what does not stand in its row.
#[derive(Debug, Clone)]
pub struct TransferView {
    pub transfer: Transfer,
    pub explorer: ExplorerUrl,
    /// The page for whoever approves it, if a person was asked.
    pub approval_url: Option<String>,
    /// Who did, once a grant let it through and the indexer has read that.
    pub approved_by: Option<ApprovedBy>,
}

/// Looks up what is shown with transfers.
#[derive(Clone)]
pub struct TransferViews {
    inside: Arc<Inside>,
    links: Option<ApprovalLinks>,
}

impl TransferViews {
    pub fn new(inside: Arc<Inside>, links: Option<ApprovalLinks>) -> Self {
        Self { inside, links }
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
            let links = self.links.as_ref().filter(|_| transfer.approval.requested().is_some());
            TransferView {
                explorer: explorer.clone(),
                approval_url: links.map(|links| links.of(&transfer)),
                approved_by: approved.remove(&transfer.id),
                transfer,
            }
        }))
    }
}
