//! Signed refusals: each refused transfer joins its operator's chain of denials, whose head is written on Solana from
//! time to time.
//!
//! The chain is derived from stored rows in the background: a refusal waits for nothing, and the next start signs what
//! a crash left unsigned. When several relayers compete, one extends a chain and the others look again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;

use purser_base::crash_point::crash_point;
use purser_chain::Signer;
use purser_model::{
    Address, Denial, Network, Operator, OperatorId, Page, PageRequest, Refused, denials_filter,
};
use purser_service::{Inside, ServiceError, Services, read_operator};
use purser_store::{Due, StoreError};

/// How often to look for unsigned refusals.
const SIGN_EVERY: Duration = Duration::from_secs(1);
/// How many are signed in one batch, or read per page when a caller wants all of them.
const ROWS_AT_ONCE: u32 = 100;
/// How often to look for due heads, unless a shorter interval is configured.
const LOOK_FOR_HEADS_EVERY: Duration = Duration::from_secs(10);
/// How long a relayer has to write a head; after that another try begins.
const HEAD_TAKES_MAX: Duration = Duration::from_secs(60);

/// What it takes to sign refusals.
#[derive(Clone)]
pub struct DenialParts {
    /// This key moves no money; no operator names it as an authority.
    pub key: Arc<dyn Signer>,
    /// How often to write the head of a grown chain on Solana; `None`: never.
    pub head_interval: Option<Duration>,
}

impl DenialParts {
    /// The public half of the key.
    pub fn address(&self) -> Address {
        Address::from_bytes(self.key.public_key())
    }
}

/// Operators' signed refusals.
#[derive(Clone)]
pub struct Denials {
    inside: Arc<Inside>,
    /// `None`: refusals are not signed.
    parts: Option<DenialParts>,
}

impl Denials {
    /// Without `parts`, refusals are not signed.
    pub fn new(services: &Services, parts: Option<DenialParts>) -> Self {
        Self { inside: services.inside.clone(), parts }
    }

    /// The operator's denials above this number, newest first. NotConfigured: refusals are not signed here.
    pub async fn list(
        &self,
        operator: &Operator,
        above: u64,
        request: PageRequest,
    ) -> Result<Page<Denial>, ServiceError> {
        self.parts()?;
        let listing = request.of(denials_filter(operator.id, above))?;
        let (below, rows_max) = (listing.after, listing.rows_max());
        let rows = self.inside.store.denials.list_denials(operator.id, above, below, rows_max).await?;
        Ok(listing.page(rows, |last| last.number))
    }

    /// The denials above a number, in order, page by page; each page is read on demand. Errors as [`Denials::list`].
    pub fn all(
        &self,
        operator: &Operator,
        above: u64,
    ) -> Result<impl Stream<Item = Result<Vec<Denial>, ServiceError>> + use<>, ServiceError> {
        self.parts()?;
        let (denials, operator) = (self.inside.store.denials.clone(), operator.id);
        Ok(futures::stream::try_unfold(Some(above), move |above| {
            let denials = denials.clone();
            async move {
                let Some(above) = above else { return Ok(None) };
                let rows = denials.list_denials_up(operator, above, ROWS_AT_ONCE).await?;
                let is_full = rows.len() >= ROWS_AT_ONCE as usize;
                let next = rows.last().filter(|_| is_full).map(|last| last.number);
                Ok(Some((rows, next)))
            }
        }))
    }

    fn parts(&self) -> Result<&DenialParts, ServiceError> {
        self.parts.as_ref().ok_or(ServiceError::NotConfigured)
    }

    /// If there is a key, signs refusals and writes heads until the stop.
    pub fn sign_until_stopped(&self) {
        let Ok(parts) = self.parts() else { return };
        let head_interval = parts.head_interval;
        let this = self.clone();
        self.inside.tasks.every("denials", SIGN_EVERY, move || {
            let denials = this.clone();
            async move { denials.sign().await }
        });
        let Some(interval) = head_interval else { return };
        let this = self.clone();
        self.inside.tasks.every("denial heads", interval.min(LOOK_FOR_HEADS_EVERY), move || {
            let denials = this.clone();
            async move { denials.write_heads().await }
        });
    }

    /// Signs all refusals that have no denial yet.
    pub async fn sign(&self) -> Result<(), ServiceError> {
        let parts = self.parts()?;
        while !self.inside.tasks.stop.is_cancelled() {
            let refused = self.inside.store.denials.list_undenied(ROWS_AT_ONCE).await?;
            let is_full = refused.len() >= ROWS_AT_ONCE as usize;
            let mut by_operator: BTreeMap<OperatorId, Vec<Refused>> = BTreeMap::new();
            for one in refused {
                by_operator.entry(one.transfer.operator_id).or_default().push(one);
            }
            let mut is_ahead = true;
            for (operator, refused) in by_operator {
                is_ahead &= self.go_on(parts, operator, &refused).await?;
            }
            if !is_full || !is_ahead {
                break;
            }
        }
        Ok(())
    }

    /// Extends an operator's chain. False: another relayer extended it first, and nothing was done.
    async fn go_on(
        &self,
        parts: &DenialParts,
        operator: OperatorId,
        refused: &[Refused],
    ) -> Result<bool, ServiceError> {
        let mut head = self.inside.store.denials.find_denial_head(operator).await?;
        let mut denials = Vec::with_capacity(refused.len());
        for one in refused {
            let Some(document) = Denial::document_of(one, &head, parts.address()) else { continue };
            let signature = parts.key.sign(document.as_bytes()).await?;
            let denial = Denial::signed(&head, one.transfer.id, document, signature);
            head = denial.head();
            denials.push(denial);
        }
        crash_point!("denials.before");
        let appended = self.inside.store.denials.append_denials(operator, &denials).await;
        crash_point!("denials.after");
        match appended {
            Ok(()) => Ok(true),
            Err(StoreError::AlreadyThere | StoreError::Superseded | StoreError::Contended) => {
                tracing::info!(%operator, "another relayer continued this chain of denials");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes every due head on Solana.
    pub async fn write_heads(&self) -> Result<(), ServiceError> {
        let Some(interval) = self.parts()?.head_interval else { return Ok(()) };
        for network in self.inside.chains.networks() {
            for operator in self.inside.store.denials.list_due_heads(network, self.due(interval)).await? {
                if self.inside.tasks.stop.is_cancelled() {
                    return Ok(());
                }
                if let Err(error) = self.write_head(interval, network, &operator).await {
                    tracing::warn!(operator = %operator.id, %error, "cannot write the head of an operator's denials");
                }
            }
        }
        Ok(())
    }

    async fn write_head(
        &self,
        interval: Duration,
        network: Network,
        operator: &Operator,
    ) -> Result<(), ServiceError> {
        let due = self.due(interval);
        if !self.inside.store.denials.claim_head(operator.id, due, due.now.after(HEAD_TAKES_MAX)).await? {
            return Ok(());
        }
        let head = self.inside.store.denials.find_denial_head(operator.id).await?;
        let chain = self.inside.chain(network)?;
        let on_chain = read_operator(&self.inside.chains, operator).await?;
        let written = chain.write_memo(&on_chain, &head.memo(&operator.address)).await?;
        crash_point!("denial_head.after");
        let next_at = self.inside.clock.now().after(interval);
        self.inside.store.denials.mark_head(operator.id, head.number, &written.signature, next_at).await?;
        tracing::info!(operator = %operator.id, number = head.number, signature = written.signature, "a head of denials is on the chain");
        Ok(())
    }

    fn due(&self, interval: Duration) -> Due {
        Due::within(self.inside.clock.now(), interval.max(HEAD_TAKES_MAX))
    }
}
