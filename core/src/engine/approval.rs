//! A transfer that waits for a person. It is looked at now and then, by whichever process comes first: nobody holds it meanwhile.
//! It is paid by a grant alone, also where the policy would allow it by now.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::time::Duration;

use super::decide::{Decision, Payment, decide, failing, invalid_recipient};
use super::error::PaymentError;
use super::task::{End, PaymentTask, Step, Stepped, WasPaid, allowed_by};
use super::{PaymentEngine, Rejected};
use crate::crash_point;
use crate::{
    ApprovalEnd, ApprovalWanted, FailureCode, LedgerError, Network, OperatorId, Payer, Rejection, Timestamp,
    Transfer, TransferId, TransferState, agreed_now,
};

const UNANSWERED: &str =
    "Nobody approved it in time; nothing was paid. Send the same request again to ask once more.";
/// The pause between two looks: a twentieth of the time since the request, within these.
const SOONEST: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(60);
/// How many transfers of one operator are read for by themselves in one pass of the sweeper; the others come in the next ones.
const LOOKS_MAX: usize = 20;

impl PaymentTask {
    /// Whether a person may be asked about this refusal. Not for bytes that somebody else waits for.
    pub(super) fn may_ask(&self, transfer: &Transfer, rejection: &Rejection) -> bool {
        let is_new = matches!(transfer.state, TransferState::Claimed) && transfer.fee_payer.is_none();
        is_new && transfer.approval.is_wanted(rejection)
    }

    /// Pays by a grant if there is one that covers it, ends what nobody can approve any more, and leaves everything else waiting.
    pub(super) async fn look_for_grant(&mut self, transfer: Transfer, wanted: &ApprovalWanted) -> Stepped {
        let destination = match self.destination(&transfer.request.to).await? {
            Ok(destination) => destination,
            Err(message) => return self.fail(transfer, invalid_recipient(message, self.now())).await,
        };
        // It is asked for at its first signature.
        let asked = Payment { asked_at: None, ..Payment::of(&transfer, destination) };
        let view = match self.read_for(&asked, true).await {
            Ok(view) => view,
            Err(error) => {
                tracing::info!(transfer_id = %transfer.id, %error, "cannot look for a grant; retrying");
                return self.wait_longer(transfer).await;
            }
        };
        crash_point!("granted.after");
        // The chain's clock may have gone back since its claim.
        let claimed_at = transfer.asked_at.map(|claimed_at| claimed_at.min(view.account_now()));
        match self.was_paid(&Transfer { asked_at: claimed_at, ..transfer.clone() }, &view).await? {
            WasPaid::No => {}
            WasPaid::Yes(made) => return self.settle_as_made(transfer, destination, *made).await,
            WasPaid::Unread => {
                self.chain.look_again();
                return self.wait_longer(transfer).await;
            }
        }
        let grant_ends_at = wanted.grant_ends_at(transfer.created_at, transfer.asked_at);
        if wanted.is_over_at(grant_ends_at, self.agreed_now().await) {
            return self.fail(transfer, self.failure(FailureCode::ApprovalExpired, UNANSWERED)).await;
        }
        if let Some(why) = void_for(wanted, &view) {
            return self.void(transfer, &why).await;
        }
        if view.granted.is_none() {
            return self.wait_longer(transfer).await;
        }
        let Ok(now) = self.chain.asking_second().await else { return self.wait_longer(transfer).await };
        let asked_at = view.window.effective(now);
        let ahead = asked_at.saturating_sub(self.now().unix_seconds());
        if transfer.approved_before(ahead).is_none_or(|end| asked_at >= end) {
            return self.fail(transfer, self.failure(FailureCode::ApprovalExpired, UNANSWERED)).await;
        }
        match decide(&view, &asked, self.now()) {
            (Decision::Sign, _) => {
                let asked = Transfer { asked_at: Some(asked_at), ..transfer.clone() };
                match self.signed(&asked, destination, &view).await {
                    Ok(signed) => self.store(allowed_by(&view, asked), signed).await,
                    // Until it is signed, its second is that of the claim.
                    Err(fault) => match failing(&fault, self.now()) {
                        Some(failure) => {
                            let end = End::Failed(failure);
                            self.end_unpaid(allowed_by(&view, transfer), destination, end).await
                        }
                        None => self.wait_longer(transfer).await,
                    },
                }
            }
            // The grant stays: the same request finds it.
            (Decision::Failing(failure, _), _) => self.fail(transfer, failure).await,
            (Decision::NoRoom, _) => {
                // As soon as there is some, it is paid.
                if let Err(error) = self.make_room(&transfer, &view).await {
                    tracing::info!(transfer_id = %transfer.id, %error, "cannot make room for an approved transfer; retrying");
                }
                self.wait_longer(transfer).await
            }
            // Past what the grant waives, such as the daily limit: as long as it lasts, that may change.
            (Decision::Rejected(_) | Decision::AlreadyMade, _) => self.wait_longer(transfer).await,
        }
    }

    /// Nobody holds it until the next look.
    async fn wait_longer(&mut self, transfer: Transfer) -> Stepped {
        let now = self.now();
        let next_look = now.after(pause(&transfer, now));
        self.outside.ledger.renew_leases(transfer.operator_id, &[transfer.id], next_look).await?;
        Ok(Step::Left(transfer))
    }
}

/// Until a transfer that waits is looked at again, in whole seconds.
fn pause(transfer: &Transfer, now: Timestamp) -> Duration {
    Duration::from_secs(transfer.created_at.until(now).as_secs() / 20).clamp(SOONEST, LATEST)
}

/// Why what a person was asked holds no longer.
fn void_for(wanted: &ApprovalWanted, view: &crate::ChainView) -> Option<String> {
    if let Some(halt) = view.halt {
        return Some(halt.to_string());
    }
    if view.policy.paused {
        return Some("The account was paused while it waited for approval.".into());
    }
    let is_same = wanted.rejection.policy_version == Some(view.policy_version);
    (!is_same).then(|| "The policy was changed while it waited for approval.".into())
}

impl PaymentEngine {
    /// Takes up those of these transfers, which wait for a person, for which something was granted, paid, stopped or changed, or whose time is
    /// up. The others wait on.
    pub(super) async fn look_at(&self, network: Network, waiting: Vec<(Payer, Transfer)>) {
        if let Err(error) = self.try_look_at(network, waiting).await {
            tracing::warn!(%error, "cannot look at transfers that wait for approval; retrying later");
        }
    }

    async fn try_look_at(
        &self,
        network: Network,
        waiting: Vec<(Payer, Transfer)>,
    ) -> Result<(), PaymentError> {
        let chain = self.chain(network)?;
        let agreed = agreed_now(&**chain, self.outside.clock.now()).await;
        let changed = chain.worth_a_look(&waiting).await.unwrap_or_else(|error| {
            tracing::info!(%error, "cannot look for grants; retrying");
            Vec::new()
        });
        let now = self.outside.clock.now();
        let mut looks: BTreeMap<OperatorId, usize> = BTreeMap::new();
        let mut others: BTreeMap<(OperatorId, Duration), Vec<TransferId>> = BTreeMap::new();
        let changed = changed.into_iter().chain(repeat(false));
        for ((payer, transfer), has_changed) in waiting.into_iter().zip(changed) {
            let TransferState::PendingApproval(wanted) = &transfer.state else { continue };
            let grant_ends_at = wanted.grant_ends_at(transfer.created_at, transfer.asked_at);
            let is_due = has_changed || wanted.is_over_at(grant_ends_at, agreed);
            let looks = looks.entry(payer.operator_id).or_default();
            if is_due && *looks < LOOKS_MAX {
                *looks += 1;
                self.take_up(payer, transfer)?;
            } else {
                let pause = if is_due { SOONEST } else { pause(&transfer, now) };
                others.entry((transfer.operator_id, pause)).or_default().push(transfer.id);
            }
        }
        for ((operator, pause), ids) in others {
            self.outside.ledger.renew_leases(operator, &ids, now.after(pause)).await?;
        }
        Ok(())
    }

    /// Ends the wait of a transfer for a person, unpaid.
    pub async fn end_approval(
        &self,
        operator: OperatorId,
        id: TransferId,
        end: ApprovalEnd,
    ) -> Result<Rejected, PaymentError> {
        loop {
            let transfer = self.find(operator, id).await?;
            let TransferState::PendingApproval(_) = &transfer.state else {
                return Ok(Rejected::TooLate(Box::new(transfer)));
            };
            let now = self.outside.clock.now();
            let failure = crate::Failure {
                code: end.code(),
                message: end.message().to_owned(),
                failed_at: now,
                retry_at: None,
            };
            let failed = transfer.state.fail(failure).map_err(LedgerError::from)?;
            match self.outside.ledger.mark(&transfer, failed, now).await {
                Ok(marked) => {
                    self.outside.observer.ended(&marked);
                    return Ok(Rejected::Done(Box::new(marked)));
                }
                // Paid, ended or changed at this moment: look again.
                Err(LedgerError::Superseded) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
