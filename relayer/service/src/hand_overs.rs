//! Transfers whose signed bytes somebody else sends, for extensions: who is paid, or who pays the fee for it. All else about them is
//! as with any transfer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{AskedTransfer, Duplicates, HandOver, OtherSender, PendingPlace, Signer, Started};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::NetworkParts;
use super::error::ServiceError;
use super::reads::find_payer;
use super::transfers::{TransferAnswer, Transfers};
use crate::Inside;
use purser_base::crash_point::crash_point;
use purser_chain::{ChainFault, SolanaChain, UnsignedTransfer, is_on_curve};
use purser_model::{
    Account, AccountId, Address, Approval, Fingerprint, IdempotencyKey, Network, OperatorId, Principal,
    Recipient, SignedTransfer, Terms, Timestamp, Transfer, TransferId, TransferRequest,
};

/// Where the signed bytes arrive once they are stored; never, if nothing is signed here.
pub type WhenSigned = oneshot::Receiver<(TransferId, SignedTransfer)>;

/// A transfer for somebody else to send.
pub struct HandedOver {
    pub transfer: TransferRequest,
    pub idempotency_key: IdempotencyKey,
    /// What its key stands for, which may be more or less than the transfer.
    pub fingerprint: Fingerprint,
    pub terms: Terms,
    signed: oneshot::Sender<(TransferId, SignedTransfer)>,
}

impl HandedOver {
    pub fn new(
        idempotency_key: IdempotencyKey,
        transfer: TransferRequest,
        fingerprint: Fingerprint,
        terms: Terms,
    ) -> (Self, WhenSigned) {
        let (signed, when_signed) = oneshot::channel();
        (Self { transfer, idempotency_key, fingerprint, terms, signed }, when_signed)
    }
}

/// What stands under a key.
pub enum KeyState {
    Earlier(Started),
    /// Nothing: here is a place for it.
    New(Box<Opening>),
}

/// A place among the pending for a transfer of this account.
pub struct Opening {
    account: Account,
    place: PendingPlace,
}

/// What those whom the bytes are handed to have said.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Why they do not take them.
    pub refusal: Option<String>,
    /// What they gave for them.
    pub given: Option<String>,
}

/// The network of a payment.
pub struct PaidOn(Arc<SolanaChain>);

/// Transfers that somebody else sends.
#[derive(Clone)]
pub struct HandOvers {
    inside: Arc<Inside>,
    transfer_deadline: Duration,
    transfers: Transfers,
}

impl HandOvers {
    pub(super) fn new(inside: Arc<Inside>, transfer_deadline: Duration, transfers: Transfers) -> Self {
        Self { inside, transfer_deadline, transfers }
    }

    /// When a request that comes now is to be answered.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.transfer_deadline
    }

    /// The network of whoever asks.
    pub fn network(&self, principal: &Principal) -> Result<PaidOn, ServiceError> {
        let NetworkParts { chain, .. } = self.inside.chains.get(principal.operator().network)?;
        Ok(PaidOn(chain.clone()))
    }

    /// What stands under the key, for who may pay from the account. TooManyPending: nothing, and there is no place for it.
    pub async fn open(
        &self,
        principal: &Principal,
        from: AccountId,
        key: &IdempotencyKey,
        fingerprint: Fingerprint,
    ) -> Result<KeyState, ServiceError> {
        let account = find_payer(&self.inside.store.accounts, principal, from).await?;
        let place = self.transfers.try_place(principal, from, key);
        if let Some(started) = self.transfers.find_started(principal, key, fingerprint, Approval::Off).await?
        {
            return Ok(KeyState::Earlier(started));
        }
        let place = place.ok_or(ServiceError::TooManyPending)?;
        Ok(KeyState::New(Box::new(Opening { account, place })))
    }

    /// Claims a transfer and starts it: decided, signed on the terms, stored, and followed to its end. A likely duplicate is not
    /// refused: prices repeat.
    pub async fn start(
        &self,
        principal: &Principal,
        opening: Box<Opening>,
        handed_over: HandedOver,
        deadline: Instant,
    ) -> Result<Started, ServiceError> {
        let HandedOver { transfer, idempotency_key, fingerprint, terms, signed } = handed_over;
        let Opening { account, place } = *opening;
        let sender = OtherSender { fee_payer: terms.fee_payer, fingerprint };
        let PaidOn(chain) = self.network(principal)?;
        let sent_by = (sender, HandOver { signer: Arc::new(OnTerms { chain, terms }), signed });
        let asked = AskedTransfer {
            idempotency_key,
            request: transfer,
            duplicates: Duplicates::default(),
            approval: Approval::Off,
        };
        self.transfers.start(principal, account, asked, place, deadline, Some(sent_by)).await
    }

    /// The bytes to be handed over. `None`: nothing is signed here.
    pub async fn signed(&self, when_signed: WhenSigned) -> Option<(TransferId, SignedTransfer)> {
        let signed = when_signed.await.ok()?;
        crash_point!("handed_over.after");
        Some(signed)
    }

    /// The transfer's state by the deadline.
    pub async fn answer(
        &self,
        principal: &Principal,
        started: Started,
        deadline: Instant,
    ) -> Result<TransferAnswer, ServiceError> {
        self.transfers.answer(principal, started, deadline).await
    }

    /// The transfer as it is recorded.
    pub async fn find(&self, operator: OperatorId, id: TransferId) -> Result<Option<Transfer>, ServiceError> {
        Ok(self.inside.store.transfers.find_transfer(operator, id).await?)
    }

    /// The bytes that were signed for a transfer, as long as they are kept.
    pub async fn find_bytes(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<Vec<u8>>, ServiceError> {
        Ok(self.inside.store.transfers.find_signed_bytes(operator, id).await?)
    }

    /// Keeps a reply with its transfer.
    pub async fn keep(&self, operator: OperatorId, id: TransferId, reply: Reply) {
        crash_point!("bought.before");
        if let Some(refusal) = reply.refusal
            && let Err(error) = self.inside.store.transfers.keep_refusal(operator, id, &refusal).await
        {
            tracing::warn!(transfer_id = %id, %error, "cannot record that a transfer's bytes were refused");
        }
        if let Some(given) = reply.given
            && let Err(error) = self.inside.store.transfers.keep_given(operator, id, &given).await
        {
            tracing::warn!(transfer_id = %id, %error, "cannot store what was given for a transfer");
        }
    }

    /// What was given for a transfer, as it was kept.
    pub async fn find_given(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<String>, ServiceError> {
        Ok(self.inside.store.transfers.find_given(operator, id).await?)
    }

    /// Whether that moment is at most so long ago.
    pub fn is_within(&self, at: Timestamp, duration: Duration) -> bool {
        self.inside.clock.now() <= at.after(duration)
    }
}

impl PaidOn {
    pub fn network(&self) -> Network {
        self.0.network
    }

    pub fn usdc_mint(&self) -> Address {
        self.0.usdc_mint()
    }

    /// Whom a payment to this owner of a USDC token account goes to. A wallet is checked like one that a transfer names; what a program
    /// owns, such as an account of this service, is paid at its token account as it is.
    pub fn recipient(&self, owner: Address) -> Recipient {
        let token_account = self.0.usdc_account_of(&owner);
        if is_on_curve(&owner) {
            Recipient::Wallet { wallet: owner, token_account }
        } else {
            Recipient::TokenAccount(token_account)
        }
    }

    /// Whether the address is a key of ours.
    pub fn signs_with(&self, address: &Address) -> bool {
        self.0.signs_with(address)
    }
}

/// Signs for whoever sends the bytes.
struct OnTerms {
    chain: Arc<SolanaChain>,
    terms: Terms,
}

#[async_trait]
impl Signer for OnTerms {
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault> {
        self.chain.sign_for(order, &self.terms).await
    }
}
