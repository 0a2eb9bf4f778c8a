//! Grants that the service pays for. It signs as the payer of a transaction that an approver still has to sign: without that nothing
//! lands, and nothing is spent. Each is recorded before it is given out, so that for one approval there is one at a time, and few in
//! all. Once a grant is spent or has ended, it is closed, and its rent comes back.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use purser_base::turns::OneAtATime;
use purser_chain::{ApprovalOrder, ForApprover, GrantPayer, PaidGrant, SignatureStanding};
use purser_core::Chain as _;
use purser_model::{CO_SIGNATURES_MAX, CoSignature, CoSigned, Network, OperatorId, Transfer, TransferId};
use purser_service::{Inside, ServiceError};
use purser_store::{Due, StoreError};

/// How long one counts against its operator's number.
const DAY: Duration = Duration::from_secs(86_400);
/// How long after one was made it is looked at first, and at most until it is looked at again: half its age lies between.
const LOOK_AFTER: Duration = Duration::from_secs(5);
const LOOK_AFTER_MAX: Duration = Duration::from_secs(600);
/// How often to look for those that are due.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long a worker may take over one. Others look at it after that.
const LOOK: Duration = Duration::from_secs(120);
/// Looked at in one pass, at the same time.
const ROWS_MAX: u32 = 20;
/// Nothing that was signed so long ago can land, whatever a process remembers.
const OLD: Duration = Duration::from_secs(3_600);

/// Pays for grants, and gets their rent back.
#[derive(Clone)]
pub struct CoSignatures {
    inside: Arc<Inside>,
    /// Of each transfer, one transaction at a time is prepared: others get the same, or pay by themselves.
    preparing: OneAtATime<TransferId>,
}

impl CoSignatures {
    pub fn new(inside: Arc<Inside>) -> Self {
        Self { inside, preparing: OneAtATime::default() }
    }

    /// What the wallet of `order` signs to approve this transfer, which waits. While one that was given out can land, the same bytes
    /// for the same wallet. Past the bounds the wallet gets what it pays for by itself.
    pub async fn prepare(
        &self,
        transfer: &Transfer,
        order: &ApprovalOrder,
    ) -> Result<ForApprover, ServiceError> {
        let preparing = self.preparing.of(transfer.id);
        let _preparing = preparing.lock().await;
        let given =
            self.inside.store.co_signatures.list_co_signatures(transfer.operator_id, transfer.id).await?;
        // Asked before the grant's place is read: what has landed by then is seen there.
        let may_land = match given.last() {
            Some(last) if !self.has_passed(transfer.network, last).await? => Some(last),
            Some(_) | None => None,
        };
        let is_left = u32::try_from(given.len()).is_ok_and(|count| count < CO_SIGNATURES_MAX)
            && self.has_room(transfer.operator_id).await?;
        let payer = match may_land {
            None if is_left => GrantPayer::Service,
            None | Some(_) => GrantPayer::Approver,
        };
        match (self.ask(transfer.network, order, payer).await?, may_land) {
            (ForApprover::CoSigned(ours), _) => self.give_out(transfer, order, given.len(), ours).await,
            (prepared @ (ForApprover::Unsigned(_) | ForApprover::Poor { .. }), Some(last)) => {
                let given = self.given_before(transfer.network, order, last)?;
                Ok(given.unwrap_or_else(|| retried_later(prepared, is_left)))
            }
            (prepared, _) => Ok(prepared),
        }
    }

    /// Records what was signed, after `before` others of its transfer. What another request or relayer was faster with is given out in
    /// its place.
    async fn give_out(
        &self,
        transfer: &Transfer,
        order: &ApprovalOrder,
        before: usize,
        co_signed: CoSigned,
    ) -> Result<ForApprover, ServiceError> {
        let now = self.inside.clock.now();
        let new = CoSignature {
            operator_id: transfer.operator_id,
            transfer_id: transfer.id,
            number: u32::try_from(before).map_or(u32::MAX, |before| before.saturating_add(1)),
            approver: order.approver,
            co_signed,
            created_at: now,
        };
        let room = (now.before(DAY), self.inside.quotas.approvals_daily);
        match self.inside.store.co_signatures.insert_co_signature(&new, now.after(LOOK_AFTER), room).await {
            Ok(()) => {
                let CoSignature { transfer_id, number, approver, .. } = &new;
                tracing::info!(%transfer_id, number, %approver, "the service pays for an approval, if its approver signs");
                Ok(ForApprover::CoSigned(new.co_signed))
            }
            Err(StoreError::AlreadyThere | StoreError::Full | StoreError::Superseded) => {
                let given = self
                    .inside
                    .store
                    .co_signatures
                    .list_co_signatures(transfer.operator_id, transfer.id)
                    .await?;
                let made = given.get(before).map(|made| self.given_before(transfer.network, order, made));
                match made.transpose()?.flatten() {
                    Some(made) => Ok(made),
                    None => {
                        let prepared = self.ask(transfer.network, order, GrantPayer::Approver).await?;
                        Ok(retried_later(prepared, true))
                    }
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was given out before, where it is for the same wallet.
    fn given_before(
        &self,
        network: Network,
        order: &ApprovalOrder,
        made: &CoSignature,
    ) -> Result<Option<ForApprover>, ServiceError> {
        let chain = self.inside.chain(network)?;
        let is_same = made.approver == order.approver && chain.has_co_signed(order, &made.co_signed);
        Ok(is_same.then(|| ForApprover::CoSigned(made.co_signed.clone())))
    }

    async fn ask(
        &self,
        network: Network,
        order: &ApprovalOrder,
        payer: GrantPayer,
    ) -> Result<ForApprover, ServiceError> {
        let chain = self.inside.chain(network)?;
        Ok(chain.approval(order, payer).await?)
    }

    async fn has_room(&self, operator: OperatorId) -> Result<bool, ServiceError> {
        let since = self.inside.clock.now().before(DAY);
        let count = self.inside.store.co_signatures.count_co_signatures(operator, since).await?;
        Ok(count < u64::from(self.inside.quotas.approvals_daily))
    }

    /// Whether it cannot land any more. Reads after that show whether it did.
    async fn has_passed(&self, network: Network, row: &CoSignature) -> Result<bool, ServiceError> {
        let chain = self.inside.chain(network)?;
        let age = Due::since(self.inside.clock.now()).age(row.created_at, OLD);
        let signed_before = Instant::now().checked_sub(age).unwrap_or_else(Instant::now);
        Ok(chain.has_passed(row.co_signed.signed.last_valid_block_height, signed_before).await?)
    }

    /// Looks at what became of those that are due, of every process, until the stop. Closing a grant takes as long as the network
    /// does.
    pub fn look_until_stopped(&self) {
        let this = self.clone();
        self.inside.tasks.every("co-signatures", LOOK_EVERY, move || {
            let co_signatures = this.clone();
            async move { co_signatures.look().await }
        });
    }

    /// One pass. What fails is left for a later one and does not stop the rest.
    async fn look(&self) -> Result<(), ServiceError> {
        let now = self.inside.clock.now();
        let due =
            self.inside.store.co_signatures.take_co_signatures(now, LOOK, LOOK_AFTER_MAX, ROWS_MAX).await?;
        join_all(due.iter().map(|row| self.look_at(row))).await.into_iter().collect()
    }

    async fn look_at(&self, row: &CoSignature) -> Result<(), ServiceError> {
        let Some(operator) = self.inside.store.operators.find_operator(row.operator_id).await? else {
            return Ok(self.inside.store.co_signatures.mark_co_signature_ended(row, false).await?);
        };
        let network = operator.network;
        let chain = self.inside.chain(network)?;
        // In this order: see `prepare`.
        let has_passed = self.has_passed(network, row).await?;
        let given =
            self.inside.store.co_signatures.list_co_signatures(row.operator_id, row.transfer_id).await?;
        // The grant of one approval is looked at for the last of them.
        let is_last = given.last().is_none_or(|last| last.number == row.number);
        let grant = if is_last {
            chain.reclaim_grant(&operator.address, &row.co_signed.grant).await?
        } else {
            PaidGrant::Absent
        };
        if has_passed && grant == PaidGrant::Absent {
            let standing = chain.standing(&row.co_signed.signed.signature).await?;
            let is_unspent = standing == SignatureStanding::Unknown;
            return Ok(self.inside.store.co_signatures.mark_co_signature_ended(row, is_unspent).await?);
        }
        if grant == PaidGrant::Closed {
            tracing::info!(transfer_id = %row.transfer_id, "a grant is over; the service has its rent back");
        }
        let now = self.inside.clock.now();
        let pause = (row.created_at.until(now) / 2).clamp(LOOK_AFTER, LOOK_AFTER_MAX);
        Ok(self.inside.store.co_signatures.put_off_co_signature(row, now.after(pause)).await?)
    }
}

/// Says whether we may pay for a wallet without SOL later.
fn retried_later(prepared: ForApprover, later: bool) -> ForApprover {
    match prepared {
        ForApprover::Poor { .. } => ForApprover::Poor { later },
        ForApprover::Unsigned(_) | ForApprover::CoSigned(_) | ForApprover::Stranger | ForApprover::Taken => {
            prepared
        }
    }
}
