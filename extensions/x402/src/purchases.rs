//! Resources paid for by x402. The payment is an ordinary transfer with one difference: the seller that asked for it
//! gets the signed bytes, and its facilitator sends them. We speak with its server, or the caller does and hands us the offer.
//! The price is known only once a server answers, so a key stands for what is bought, not for what is paid.

use std::time::Duration;

use purser_model::{Invalid, OperatorId, Principal, TransferId, TransferRequest, TransferState, WebhookUrl};
use purser_service::{
    FetchPlace, Fetches, HandOvers, HandedOver, KeyState, PaidOn, Reply, ServiceError, Services, Started,
    Tasks, TransferAnswer, WhenSigned,
};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use crate::error::PurchaseError;
use crate::header::to_header;
use crate::offer::{Offer, PaidResource};
use crate::purchase::{Purchase, ResourceRequest, Seller};
use crate::seller::{self, PAYMENT_REQUIRED};

/// How long asking for an offer may take.
const OFFER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to settle a payment and answer with the resource.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(30);
/// How often to check what another request under the same key has bought.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// The outcome of a purchase.
#[derive(Debug, Clone)]
pub(crate) struct PurchaseAnswer {
    /// `None`: the server asked for no payment.
    pub transfer: Option<TransferAnswer>,
    /// The server's last answer, where it is known.
    pub resource: Option<PaidResource>,
    /// The signed payment, where the caller hands it to the seller.
    pub payment: Option<Box<RawValue>>,
}

/// Purchases by x402.
#[derive(Clone)]
pub(crate) struct Purchases {
    hand_overs: HandOvers,
    fetches: Fetches,
    tasks: Tasks,
}

impl Purchases {
    pub fn new(services: &Services) -> Self {
        let Services { inside, hand_overs, fetches, .. } = services.clone();
        Self { hand_overs, fetches, tasks: inside.tasks.clone() }
    }

    /// Parses the URL of a resource. Invalid: it may not be reached.
    pub fn parse_url(&self, text: &str) -> Result<WebhookUrl, Invalid> {
        self.fetches.parse_url(text)
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
    ) -> Result<PurchaseAnswer, PurchaseError> {
        let deadline = self.hand_overs.deadline();
        // Checked before the server is asked again: nothing is bought twice, whatever the price is now.
        let key = &purchase.idempotency_key;
        let opened = self.hand_overs.open(principal, purchase.from, key, purchase.fingerprint()).await?;
        let opening = match opened {
            KeyState::Earlier(started) => return self.again(principal, &purchase, started, deadline).await,
            KeyState::New(opening) => opening,
        };
        let network = self.hand_overs.network(principal)?;
        let asked = match &purchase.seller {
            Seller::Server(asked) => asked.clone(),
            Seller::AnyKey { offer } => {
                let offer = choose(&network, &purchase, Some(offer.as_bytes()))?;
                let (handed_over, when_signed) = payment_of(&network, &purchase, &offer);
                let started = self.hand_overs.start(principal, opening, handed_over, deadline).await?;
                // Ends without a signature if nothing may be paid, or if another request has the key.
                let _ = timeout_at(deadline, when_signed).await;
                return self.again(principal, &purchase, started, deadline).await;
            }
        };
        let operator = principal.operator_id();
        let place = self.fetches.take_place(operator, OFFER_PATIENCE).await?;
        let resource = seller::ask(&place, &asked, None, OFFER_PATIENCE).await?;
        if resource.status != PAYMENT_REQUIRED {
            return Ok(PurchaseAnswer { transfer: None, resource: Some(resource), payment: None });
        }
        let offer = choose(&network, &purchase, resource.required.as_deref())?;
        let (handed_over, when_signed) = payment_of(&network, &purchase, &offer);
        // From here the work runs to its end even if the client is gone: signed bytes are handed over, the resource is kept.
        let this = self.clone();
        let handing_over = self
            .tasks
            .start(async move { this.hand_over(operator, place, &asked, &offer, when_signed).await });
        let started = self.hand_overs.start(principal, opening, handed_over, deadline).await?;
        if !matches!(started, Started::Ours(..)) {
            return self.answer(principal, started, deadline).await;
        }
        let resource = timeout_at(deadline, handing_over).await.ok().and_then(Result::ok).flatten();
        // A server that did not take the payment may still settle it; the chain shows it within a minute.
        let is_refused = resource.as_ref().is_some_and(|resource| !resource.is_success());
        let deadline = if is_refused { Instant::now() } else { deadline };
        let mut transfer = self.hand_overs.answer(principal, started, deadline).await?;
        transfer.view.transfer.refusal = resource.as_ref().and_then(PaidResource::refused);
        Ok(PurchaseAnswer { transfer: Some(transfer), resource, payment: None })
    }

    /// Hands the signed bytes to the server, and keeps its answer. `None`: nothing was signed, or it did not answer.
    async fn hand_over(
        &self,
        operator: OperatorId,
        place: FetchPlace,
        asked: &ResourceRequest,
        offer: &Offer,
        when_signed: WhenSigned,
    ) -> Option<PaidResource> {
        let (id, signed) = self.hand_overs.signed(when_signed).await?;
        let payment = to_header(&offer.payment(id, &signed.bytes));
        let fetched = seller::ask(&place, asked, Some(payment), HAND_OVER_PATIENCE);
        let resource = match self.tasks.stop.run_until_cancelled(fetched).await? {
            Ok(resource) => resource,
            Err(error) => {
                tracing::info!(transfer_id = %id, %error, "a seller did not answer a payment");
                return None;
            }
        };
        let bought = resource.is_success().then(|| resource.to_json());
        let reply = Reply { refusal: resource.refused(), given: bought };
        self.hand_overs.keep(operator, id, reply).await;
        Some(resource)
    }

    /// The purchase under the key: with its payment where the caller hands that over, with what it has bought otherwise.
    async fn again(
        &self,
        principal: &Principal,
        purchase: &Purchase,
        started: Started,
        deadline: Instant,
    ) -> Result<PurchaseAnswer, PurchaseError> {
        let Seller::AnyKey { offer } = &purchase.seller else {
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
        let transfer = self.hand_overs.answer(principal, started, deadline).await?;
        let id = transfer.view.transfer.id;
        let bytes = self.hand_overs.find_bytes(operator.id, id).await?;
        // The key stands for this offer, of which the same entry is chosen each time.
        let offer = choose(&self.hand_overs.network(principal)?, purchase, Some(offer.as_bytes())).ok();
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
            let found = self.hand_overs.find(operator, id).await?;
            match found.map(|transfer| transfer.state) {
                Some(TransferState::Signed(_) | TransferState::Sent { .. }) => return Ok(true),
                Some(TransferState::Claimed) => {}
                // Nobody is asked about a purchase: somebody waits for its bytes.
                Some(
                    TransferState::PendingApproval(_)
                    | TransferState::Settled(_)
                    | TransferState::Rejected(_)
                    | TransferState::Failed(_),
                )
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
    ) -> Result<PurchaseAnswer, PurchaseError> {
        // What the seller has refused is not waited for.
        let refused = match &started {
            Started::Ours(id, _) | Started::Others(id) => {
                let found = self.hand_overs.find(principal.operator_id(), *id).await?;
                found.is_some_and(|transfer| transfer.refusal.is_some())
            }
            Started::Over(_) => false,
        };
        let deadline = if refused { Instant::now() } else { deadline };
        let transfer = self.hand_overs.answer(principal, started, deadline).await?;
        let paid = &transfer.view.transfer;
        loop {
            let given = self.hand_overs.find_given(paid.operator_id, paid.id).await?;
            let resource = given.map(|json| PaidResource::of_json(&json)).transpose()?;
            // The payment may settle before the server answers.
            let is_expected = match &paid.state {
                TransferState::Settled(settlement) => {
                    self.hand_overs.is_within(settlement.settled_at, HAND_OVER_PATIENCE)
                }
                TransferState::Claimed
                | TransferState::PendingApproval(_)
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
fn choose(network: &PaidOn, purchase: &Purchase, required: Option<&[u8]>) -> Result<Offer, PurchaseError> {
    let signs_here = |address: &_| network.signs_with(address);
    Offer::choose(required, purchase, network.network(), &network.usdc_mint(), signs_here)
        .map_err(PurchaseError::OfferRefused)
}

/// The transfer that pays an offer.
fn payment_of(network: &PaidOn, purchase: &Purchase, offer: &Offer) -> (HandedOver, WhenSigned) {
    let request = TransferRequest {
        from: purchase.from,
        to: network.recipient(offer.pay_to),
        amount: offer.amount,
        memo: purchase.memo.clone(),
    };
    HandedOver::new(purchase.idempotency_key.clone(), request, purchase.fingerprint(), offer.terms.clone())
}
