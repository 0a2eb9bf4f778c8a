//! Transfers that wait for a person: listed, described for whoever approves, refused. Nothing here approves: a grant does, which takes
//! the signature of an approver's own wallet.

use std::sync::Arc;

use purser_chain::{ApprovalOrder, ForApprover};
use purser_model::wire::schema::PolicyVersionNumber;
use purser_model::{
    Account, Address, ApprovalEnd, ApprovalFilter, ApprovalState, ApprovalWanted, GrantTerms, Operator, Page,
    PageRequest, PaidBefore, Principal, Transfer, TransferId, TransferState,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{Forbidden, Inside, Resource, ServiceError, Services, TransferView, Transfers};

use crate::co_signatures::CoSignatures;
use crate::links::ApprovalLinks;

/// A transfer about which a person was asked.
#[derive(Debug, Clone)]
pub struct ApprovalView {
    pub transfer: TransferView,
    /// Set while it waits.
    pub asked: Option<ApprovalAsked>,
}

/// What a person is asked about a transfer that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalAsked {
    pub terms: GrantTerms,
    /// What the account had paid to the same payee when it was first looked at.
    pub paid_before: PaidBefore,
}

/// What a link leads to.
#[derive(Debug, Clone)]
pub struct LinkedApproval {
    pub view: TransferView,
    pub operator: Operator,
    pub account: Account,
    /// Set while it waits.
    pub asked: Option<ApprovalAsked>,
}

/// Approvals. There is one in a process: its clones share the grants that are being prepared.
#[derive(Clone)]
pub struct Approvals {
    inside: Arc<Inside>,
    transfers: Transfers,
    links: Option<ApprovalLinks>,
    co_signatures: CoSignatures,
}

impl Approvals {
    /// Without `links`, approvals have no pages.
    pub fn new(services: &Services, links: Option<ApprovalLinks>) -> Self {
        let (inside, transfers) = (services.inside.clone(), services.transfers.clone());
        Self { co_signatures: CoSignatures::new(inside.clone()), inside, transfers, links }
    }

    /// Closes grants that the service paid for once they are over, until the stop.
    pub fn close_grants_until_stopped(&self) {
        self.co_signatures.look_until_stopped();
    }

    /// Newest first: all accounts' for an operator, its own account's for an agent.
    pub async fn list(
        &self,
        principal: &Principal,
        filter: ApprovalFilter,
        request: PageRequest,
    ) -> Result<Page<TransferView>, ServiceError> {
        let operator = principal.operator();
        let listing = request.of(filter.text(operator.id))?;
        let account = match principal {
            Principal::Agent { account_id, .. }
                if filter.account.is_some_and(|asked| asked != *account_id) =>
            {
                return Err(ServiceError::Forbidden(Forbidden::OtherAccount));
            }
            Principal::Agent { account_id, .. } => Some(*account_id),
            Principal::Operator { .. } => filter.account,
        };
        let filter = ApprovalFilter { account, ..filter };
        let (after, rows_max) = (listing.after, listing.rows_max());
        let rows = self.inside.store.transfers.list_approvals(operator.id, &filter, after, rows_max).await?;
        self.transfers.views.page(listing.page(rows, |last| last.id)).await
    }

    /// Counts the transfers of all accounts that wait for a person, up to `max`.
    pub async fn count_waiting(&self, operator: &Operator, max: u32) -> Result<u32, ServiceError> {
        let filter = ApprovalFilter { account: None, state: Some(ApprovalState::Pending) };
        let rows = self.inside.store.transfers.list_approvals(operator.id, &filter, None, max).await?;
        Ok(u32::try_from(rows.len()).unwrap_or(max))
    }

    /// NotFound: no such transfer that the caller may see, or nobody was asked about it.
    pub async fn get(&self, principal: &Principal, id: TransferId) -> Result<ApprovalView, ServiceError> {
        let transfer = self.find(principal, id).await?;
        let account = self.payer(&transfer).await?;
        let asked = self.asked(principal.operator(), &account, &transfer).await?;
        Ok(ApprovalView { transfer: self.transfers.views.one(transfer).await?, asked })
    }

    /// Says no, or takes the question back. NotFound: as for [`Approvals::get`]. ApprovalClosed: it does not wait any more.
    pub async fn end(
        &self,
        principal: &Principal,
        id: TransferId,
        end: ApprovalEnd,
        scope: &AuditScope,
    ) -> Result<TransferView, ServiceError> {
        let transfer = self.find(principal, id).await?;
        self.transfers.end_approval(transfer.operator_id, id, end, scope).await
    }

    /// What a link leads to. NotFound: it is none of ours, or what it names is gone. TooManyReads: it is followed too often.
    pub async fn linked(&self, token: &str) -> Result<LinkedApproval, ServiceError> {
        let named = self.links.as_ref().and_then(|links| links.read(token));
        let (operator_id, id) = named.ok_or(ServiceError::NotFound(Resource::Approval))?;
        self.inside.read_limiter.follow_link(id)?;
        let gone = || ServiceError::NotFound(Resource::Approval);
        let transfer = self.inside.store.transfers.find_transfer(operator_id, id).await?.ok_or_else(gone)?;
        let operator = self.inside.store.operators.find_operator(operator_id).await?.ok_or_else(gone)?;
        let account = self.payer(&transfer).await?;
        let asked = self.asked(&operator, &account, &transfer).await?;
        Ok(LinkedApproval { view: self.transfers.views.one(transfer).await?, operator, account, asked })
    }

    /// What this wallet signs to approve what a link leads to; the service pays for it within bounds. `Stranger` also where no approver can approve it. ApprovalClosed: nobody
    /// can any more. TooManyReads: too many ask.
    pub async fn transaction(&self, token: &str, wallet: Address) -> Result<ForApprover, ServiceError> {
        let LinkedApproval { view, operator, asked, .. } = self.linked(token).await?;
        let transfer = &view.transfer;
        let TransferState::PendingApproval(wanted) = &transfer.state else {
            return Err(ServiceError::ApprovalClosed(transfer.state.status()));
        };
        let (Some(ApprovalAsked { terms, .. }), Some(policy_version)) =
            (asked, wanted.rejection.policy_version)
        else {
            return Ok(ForApprover::Stranger);
        };
        if !wanted.rejection.is_for_approvers() {
            return Ok(ForApprover::Stranger);
        }
        let order = ApprovalOrder {
            approver: wallet,
            operator: terms.operator,
            agent: terms.account,
            payee: terms.payee,
            amount: transfer.request.amount,
            memo: transfer.request.memo.as_ref().map_or_else(String::new, |memo| memo.as_str().to_owned()),
            tag: terms.tag,
            policy_version,
            // By the chain's clock, which judges it.
            expires_at: wanted.grant_ends_at(transfer.created_at, transfer.asked_at),
        };
        // In the operator's turn, as every read that its agents can cause.
        self.inside.read_limiter.take(operator.id).await?;
        self.co_signatures.prepare(transfer, &order).await
    }

    async fn find(&self, principal: &Principal, id: TransferId) -> Result<Transfer, ServiceError> {
        let found = self.inside.store.transfers.find_transfer(principal.operator_id(), id).await?;
        let asked = found.filter(|transfer| {
            principal.may_see(transfer.request.from) && transfer.approval.requested().is_some()
        });
        asked.ok_or(ServiceError::NotFound(Resource::Approval))
    }

    /// The account that pays.
    async fn payer(&self, transfer: &Transfer) -> Result<Account, ServiceError> {
        let accounts = &self.inside.store.accounts;
        let found = accounts.find_account(transfer.operator_id, transfer.request.from).await?;
        found.ok_or(ServiceError::NotFound(Resource::Approval))
    }

    /// `None`: it does not wait, or its payee cannot be paid any more.
    async fn asked(
        &self,
        operator: &Operator,
        account: &Account,
        transfer: &Transfer,
    ) -> Result<Option<ApprovalAsked>, ServiceError> {
        let TransferState::PendingApproval(ApprovalWanted { rejection, .. }) = &transfer.state else {
            return Ok(None);
        };
        let payee = self.transfers.payee(operator, account, &transfer.request.to).await?;
        let Some(payee) = payee else { return Ok(None) };
        let terms = GrantTerms {
            operator: operator.address,
            account: account.address,
            payee,
            tag: transfer.id.tag(),
            policy_version: rejection.policy_version.map(PolicyVersionNumber),
        };
        let paid_before = self
            .inside
            .store
            .history
            .find_paid_before((operator.id, account.id, transfer.id), &payee)
            .await?;
        Ok(Some(ApprovalAsked { terms, paid_before }))
    }
}
