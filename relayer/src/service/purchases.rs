//! Resources paid for by x402. The payment is an ordinary transfer with one difference: the seller that asked for it
//! gets the signed bytes, and its facilitator sends them. We speak with its server, or the caller does and hands us the offer.
//! The price is known only once a server answers, so a key stands for what is bought, not for what is paid.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{Duplicates, HandOver, OtherSender, Signer, Started};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::ServiceError;
use super::reads::find_payer;
use super::transfers::{TransferAnswer, Transfers};
use super::{Ambient, Chains, NetworkParts, Parts, Tasks};
use crate::chain::{Chain, ChainFault, UnsignedTransfer};
use crate::crash_point::crash_point;
use crate::domain::{
    DestinationRules, Invalid, Offer, OperatorId, PaidResource, Principal, Purchase, Recipient,
    ResourceRequest, Seller, SignedTransfer, Terms, TransferId, TransferRequest, TransferState, WebhookUrl,
    to_header,
};
use crate::lookup::LOOKED_UP_FOR;
use crate::shares::Outgoing;
use crate::store;

const PAYMENT_REQUIRED: u16 = 402;
/// How long asking for an offer may take.
const OFFER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to settle a payment and answer with the resource.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(30);
/// How often to check what another request under the same key has bought.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Fetches resources from other people's servers.
#[async_trait]
pub trait Fetch: Send + Sync + 'static {
    /// Sends the request once, with the header `PAYMENT-SIGNATURE` if there is a payment, and waits at most
    /// `patience`. NotFetched: there was no answer. NoRoom: nobody was asked.
    async fn fetch(
        &self,
        asked: &ResourceRequest,
        payment: Option<String>,
        patience: Duration,
    ) -> Result<PaidResource, ServiceError>;
}

/// Signs for a facilitator, which pays the fee and sends the bytes.
struct OnTerms {
    chain: Arc<dyn Chain>,
    terms: Terms,
}

#[async_trait]
impl Signer for OnTerms {
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault> {
        self.chain.sign_for(order, &self.terms).await
    }
}

/// The outcome of a purchase.
#[derive(Debug, Clone)]
pub struct PurchaseAnswer {
    /// `None`: the server asked for no payment.
    pub transfer: Option<TransferAnswer>,
    /// The server's last answer, where it is known.
    pub resource: Option<PaidResource>,
    /// The signed payment, where the caller hands it to the seller.
    pub payment: Option<Box<RawValue>>,
}

/// Purchases by x402.
#[derive(Clone)]
pub struct Purchases {
    rows: store::Transfers,
    accounts: store::Accounts,
    chains: Chains<dyn Chain>,
    ambient: Ambient,
    tasks: Tasks,
    transfer_deadline: Duration,
    rules: Arc<DestinationRules>,
    outgoing: Outgoing,
    transfers: Transfers,
    fetch: Arc<dyn Fetch>,
}

impl Purchases {
    pub(super) fn new(parts: &Parts, transfers: Transfers) -> Self {
        let Parts { store, chains, ambient, tasks, transfer_deadline, webhooks, outgoing, fetch, .. } =
            parts.clone();
        let store::Store { transfers: rows, accounts, .. } = store;
        let rules = webhooks.rules;
        Self { rows, accounts, chains, ambient, tasks, transfer_deadline, rules, outgoing, transfers, fetch }
    }

    /// Parses the URL of a resource. Invalid: it may not be reached.
    pub fn parse_url(&self, text: &str) -> Result<WebhookUrl, Invalid> {
        WebhookUrl::parse(text, &self.rules)
    }

    /// Asks for a resource, and pays for it if the server wants that. Waits for the payment's end up to the deadline;
    /// the payment runs on when the caller leaves. For an offer that the caller has, waits for the signature only.
    ///
    /// NotFetched: the server did not answer; nothing was paid. NoRoom: it was not asked. OfferRefused: it asks for a payment that cannot or may
    /// not be made. Other errors as for a transfer.
    pub async fn pay(
        &self,
        principal: &Principal,
        purchase: Purchase,
    ) -> Result<PurchaseAnswer, ServiceError> {
        let deadline = Instant::now() + self.transfer_deadline;
        let account = find_payer(&self.accounts, principal, purchase.from).await?;
        let network = self.chains.get(principal.operator().network)?.clone();
        let key = &purchase.idempotency_key;
        let place = self.transfers.try_place(principal, purchase.from, key);
        // Checked before the server is asked again: nothing is bought twice, whatever the price is now.
        if let Some(started) = self.transfers.find_started(principal, key, purchase.fingerprint()).await? {
            return self.again(principal, &purchase, started, deadline).await;
        }
        let place = place.ok_or(ServiceError::TooManyPending)?;
        let operator = principal.operator().id;
        let asked = match &purchase.seller {
            Seller::Server(asked) => asked.clone(),
            Seller::Caller { offer } => {
                let offer = choose(&network, &purchase, Some(offer.as_bytes()))?;
                let (signed, when_signed) = oneshot::channel();
                let (request, sent_by) = payment_of(&network, &purchase, &offer, signed);
                let asked = (request, Duplicates::default());
                let start = self.transfers.start(principal, account, asked, place, deadline, Some(sent_by));
                let started = start.await?;
                // Ends without a signature if nothing may be paid, or if another request has the key.
                let _ = timeout_at(deadline, when_signed).await;
                return self.again(principal, &purchase, started, deadline).await;
            }
        };
        let connecting = timeout(OFFER_PATIENCE, self.outgoing.purchases.take(Some(operator)));
        let connection = connecting.await.map_err(|_| ServiceError::NoRoom)?;
        let asking = self.fetch.fetch(&asked, None, OFFER_PATIENCE);
        let resource = LOOKED_UP_FOR.scope(operator, asking).await?;
        if resource.status != PAYMENT_REQUIRED {
            return Ok(PurchaseAnswer { transfer: None, resource: Some(resource), payment: None });
        }
        let offer = choose(&network, &purchase, resource.required.as_deref())?;
        let (signed, when_signed) = oneshot::channel();
        let (request, sent_by) = payment_of(&network, &purchase, &offer, signed);
        // From here the work runs to its end even if the client is gone: signed bytes are handed over, the resource is kept.
        let this = self.clone();
        let handed_over = self.tasks.start(LOOKED_UP_FOR.scope(operator, async move {
            let _connection = connection;
            this.hand_over(operator, &asked, &offer, when_signed).await
        }));
        // Prices repeat.
        let asked = (request, Duplicates::default());
        let started = self.transfers.start(principal, account, asked, place, deadline, Some(sent_by)).await?;
        if !matches!(started, Started::Ours(..)) {
            return self.answer(principal, started, deadline).await;
        }
        let resource = timeout_at(deadline, handed_over).await.ok().and_then(Result::ok).flatten();
        // A server that did not take the payment may still settle it; the chain shows it within a minute.
        let is_refused = resource.as_ref().is_some_and(|resource| !resource.is_success());
        let deadline = if is_refused { Instant::now() } else { deadline };
        let mut transfer = self.transfers.answer(principal, started, deadline).await?;
        transfer.view.transfer.refusal = resource.as_ref().and_then(PaidResource::refused);
        Ok(PurchaseAnswer { transfer: Some(transfer), resource, payment: None })
    }

    /// Hands the signed bytes to the server, and keeps its answer. `None`: nothing was signed, or it did not answer.
    async fn hand_over(
        &self,
        operator: OperatorId,
        asked: &ResourceRequest,
        offer: &Offer,
        when_signed: oneshot::Receiver<(TransferId, SignedTransfer)>,
    ) -> Option<PaidResource> {
        let (id, signed) = when_signed.await.ok()?;
        let payment = to_header(&offer.payment(id, &signed.bytes));
        crash_point!("handed_over.after");
        let fetched = self.fetch.fetch(asked, Some(payment), HAND_OVER_PATIENCE);
        let resource = match self.tasks.stop.run_until_cancelled(fetched).await? {
            Ok(resource) => resource,
            Err(error) => {
                tracing::info!(transfer_id = %id, %error, "a seller did not answer a payment");
                return None;
            }
        };
        crash_point!("bought.before");
        if let Some(refusal) = resource.refused()
            && let Err(error) = self.rows.keep_refusal(operator, id, &refusal).await
        {
            tracing::warn!(transfer_id = %id, %error, "cannot record that a seller refused");
        }
        if resource.is_success()
            && let Err(error) = self.rows.keep_resource(operator, id, &resource).await
        {
            tracing::warn!(transfer_id = %id, %error, "cannot store what was bought");
        }
        Some(resource)
    }

    /// The purchase under the key: with its payment where the caller hands that over, with what it has bought otherwise.
    async fn again(
        &self,
        principal: &Principal,
        purchase: &Purchase,
        started: Started,
        deadline: Instant,
    ) -> Result<PurchaseAnswer, ServiceError> {
        let Seller::Caller { offer } = &purchase.seller else {
            return self.answer(principal, started, deadline).await;
        };
        let operator = principal.operator();
        let deadline = match &started {
            Started::Ours(id, _) | Started::Others(id)
                if self.is_signed(operator.id, *id, deadline).await? =>
            {
                Instant::now()
            }
            Started::Ours(..) | Started::Others(_) | Started::Over(_) => deadline,
        };
        let transfer = self.transfers.answer(principal, started, deadline).await?;
        let id = transfer.view.transfer.id;
        let bytes = self.rows.find_signed_bytes(operator.id, id).await?;
        // The key stands for this offer, of which the same entry is chosen each time.
        let offer = choose(self.chains.get(operator.network)?, purchase, Some(offer.as_bytes())).ok();
        let payment = bytes.zip(offer).map(|(bytes, offer)| offer.payment(id, &bytes));
        Ok(PurchaseAnswer { transfer: Some(transfer), resource: None, payment })
    }

    /// Waits until a transfer has its bytes, or its caller no longer waits; false if it ended before that.
    async fn is_signed(
        &self,
        operator: OperatorId,
        id: TransferId,
        deadline: Instant,
    ) -> Result<bool, ServiceError> {
        loop {
            let found = self.rows.find_transfer(operator, id).await?;
            match found.map(|transfer| transfer.state) {
                Some(TransferState::Signed(_) | TransferState::Sent { .. }) => return Ok(true),
                Some(TransferState::Claimed) => {}
                Some(TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_))
                | None => return Ok(false),
            }
            let pause = self.tasks.stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY));
            if pause.await.is_none() || Instant::now() >= deadline {
                return Ok(true);
            }
        }
    }

    /// The earlier purchase under the key, and what it has bought.
    async fn answer(
        &self,
        principal: &Principal,
        started: Started,
        deadline: Instant,
    ) -> Result<PurchaseAnswer, ServiceError> {
        // What the seller has refused is not waited for.
        let refused = match &started {
            Started::Ours(id, _) | Started::Others(id) => {
                let found = self.rows.find_transfer(principal.operator_id(), *id).await?;
                found.is_some_and(|transfer| transfer.refusal.is_some())
            }
            Started::Over(_) => false,
        };
        let deadline = if refused { Instant::now() } else { deadline };
        let transfer = self.transfers.answer(principal, started, deadline).await?;
        let paid = &transfer.view.transfer;
        loop {
            let resource = self.rows.find_resource(paid.operator_id, paid.id).await?;
            // The payment may settle before the server answers.
            let is_expected = match &paid.state {
                TransferState::Settled(settlement) => {
                    self.ambient.now() <= settlement.settled_at.after(HAND_OVER_PATIENCE)
                }
                TransferState::Claimed
                | TransferState::Signed(_)
                | TransferState::Sent { .. }
                | TransferState::Rejected(_)
                | TransferState::Failed(_) => false,
            };
            if resource.is_some() || !is_expected || Instant::now() >= deadline {
                return Ok(PurchaseAnswer { transfer: Some(transfer), resource, payment: None });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The entry to pay of a seller's offer. OfferRefused: there is none.
fn choose(
    network: &NetworkParts,
    purchase: &Purchase,
    required: Option<&[u8]>,
) -> Result<Offer, ServiceError> {
    let chain = &network.chain;
    let signs_here = |address: &_| chain.signs_with(address);
    Offer::choose(required, purchase, chain.network(), &chain.usdc_mint(), signs_here)
        .map_err(ServiceError::OfferRefused)
}

/// The transfer that pays an offer. Its bytes go through `signed`.
fn payment_of(
    network: &NetworkParts,
    purchase: &Purchase,
    offer: &Offer,
    signed: oneshot::Sender<(TransferId, SignedTransfer)>,
) -> (TransferRequest, (OtherSender, HandOver)) {
    let request = TransferRequest {
        from: purchase.from,
        to: Recipient::TokenAccount(network.chain.usdc_account_of(&offer.pay_to)),
        amount: offer.amount,
        memo: purchase.memo.clone(),
        idempotency_key: purchase.idempotency_key.clone(),
    };
    let sender = OtherSender { fee_payer: offer.terms.fee_payer, fingerprint: purchase.fingerprint() };
    let signer = Arc::new(OnTerms { chain: network.chain.clone(), terms: offer.terms.clone() });
    (request, (sender, HandOver { signer, signed }))
}
