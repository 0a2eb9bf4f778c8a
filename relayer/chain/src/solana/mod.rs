//! What can be asked of one Solana network with our program on it, and done there. What a payment needs is in [`purser_core::Chain`].

mod approvals;
mod authorities;
mod bounds;
mod execute;
mod notices;
mod provision;
mod reads;
mod room;
mod settings;
mod staging;
mod stops;
mod verify;

pub use approvals::{ApprovalOrder, ForApprover, GrantPayer, PaidGrant};
pub use execute::{Recorded, SendRecorder};
pub use settings::{ChainSettings, ChainSigners};

use crate::live::block_times::BlockTimes;
use crate::live::clock::ChainClock;
use crate::live::connection::Connection;
use crate::live::deposits::Deposits;
use crate::live::prices::{self, Prices};
use crate::live::resolver;
use crate::live::watched::Watched;
use crate::read::decode::to_pubkey;
use crate::send::cross_check;
use crate::send::flight::Landing;
use crate::send::in_flight::InFlightTransfers;
use crate::send::submit::Submitter;
use crate::sign::instructions::{Instructions, transfer_fee};
use crate::sign::payers::Payers;
use crate::sign::signer::address;
use crate::sign::signing::{self, CallSigners, Distinct};
use crate::solana::notices::Notices;
use crate::{
    ChainError, ChainFault, ChainView, Commitment, Confirmed, OperatorOnChain, Outcome, UnsignedTransfer,
    clocks_agree,
};
use async_trait::async_trait;
use purser_base::tasks::Tasks;
use purser_base::traces::step;
use purser_base::turns::OneAtATime;
use purser_client::{AccountIds, Deployment};
use purser_core::{Payer, Payment, REQUEST_AHEAD_SECONDS, Room, Transfer};
use purser_model::{Network, SignedTransfer, Terms};
use purser_rpc::sysvar;
use purser_rpc::topics::Topic;
use purser_rpc::websocket::{self, Subscriber};
use purser_rpc::wire::{FinalizedTip, RawAccount};
use purser_rpc::{COMPARE_EVERY, Calls, NoClient, Rpc, Through};
use solana_sdk::pubkey::Pubkey;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

const SILENCE_MAX: Duration = Duration::from_secs(10);
const TIP_AGE_MAX: Duration = Duration::from_secs(2);

/// One Solana network with our program on it.
pub struct SolanaChain {
    pub network: Network,
    pub(crate) settings: ChainSettings,
    pub(crate) rpc: Arc<Rpc>,
    pub(crate) clock: Arc<ChainClock>,
    submitter: Arc<Submitter>,
    pub(crate) instructions: Instructions,
    pub(crate) signers: ChainSigners,
    /// Counts transfers so that signers take turns.
    pub(crate) transfer_turn: AtomicUsize,
    pub(crate) payers: Payers,
    pub(crate) prices: Arc<Prices>,
    distinct: Distinct,
    /// The newest slot at which a write of ours landed; no read may be older.
    written_slot: AtomicU64,
    /// The finalized tip of all nodes that transfers wait for together, and when it was asked for.
    waited_for: tokio::sync::Mutex<Option<(Instant, FinalizedTip)>>,
    /// One draft at a time per agent. Another process may replace it in between; the program then refuses by the hash, and nothing changes.
    pub(crate) draft_turns: OneAtATime<Pubkey>,
    pub(crate) watched: Arc<Watched>,
    pub(crate) transfers_in_flight: InFlightTransfers,
    rooms: room::Rooms,
    block_times: Arc<BlockTimes>,
    pub(crate) deposits: Arc<Deposits>,
    /// Notified when the websocket reports a use of the program.
    pub(crate) activity: Arc<Notify>,
    connection: Arc<Connection>,
    /// How long a node may be silent before callers stop waiting for a confirmation.
    pub(crate) silence_max: Duration,
}

impl SolanaChain {
    /// Starts the network's background tasks on `tasks`, until they are stopped; asks no node yet.
    pub fn new(
        network: Network,
        settings: ChainSettings,
        signers: ChainSigners,
        tasks: &Tasks,
    ) -> Result<Self, ChainError> {
        let calls = Calls {
            through: settings.rpc_proxy.clone().map_or(Through::Nothing, Through::Proxy),
            resolver: resolver(),
            span: |method| step!("rpc", rpc.method = method),
            ..Calls::default()
        };
        let no_client = |error| {
            ChainError::Misconfigured(match error {
                NoClient::Proxy => "`rpc_proxy` is not the URL of a proxy".to_owned(),
                NoClient::Client(_) => error.to_string(),
            })
        };
        let rpc = Rpc::new(&settings.rpc_urls, &calls, tasks.tracker.clone()).map_err(no_client)?;
        Self::over(rpc, network, settings, signers, tasks)
    }

    /// The same over these nodes.
    pub(crate) fn over(
        rpc: Rpc,
        network: Network,
        settings: ChainSettings,
        signers: ChainSigners,
        tasks: &Tasks,
    ) -> Result<Self, ChainError> {
        let (tracker, stop) = (&tasks.tracker, &tasks.stop);
        signers.check()?;
        let rpc = Arc::new(rpc);
        let clock = Arc::new(ChainClock::new(rpc.clone()));
        let instructions = Instructions(Deployment {
            program: to_pubkey(&settings.program_id),
            usdc_mint: to_pubkey(&settings.usdc_mint),
        });
        let (subscriber, wishes) = Subscriber::new();
        let subscriber = if settings.ws_urls.is_empty() { Subscriber::none() } else { subscriber };
        let (submitter, sightings) = Submitter::new(rpc.clone(), settings.shortest_life(), tracker.clone());
        let submitter = Arc::new(submitter);
        let watched = Arc::new(Watched::new(subscriber.clone()));
        tasks.keep("chain clock", {
            let (clock, stop) = (clock.clone(), stop.clone());
            async move { clock.keep_fresh(stop).await }
        });
        let prices = Arc::new(Prices::new(settings.priority_fee));
        if !prices.is_fixed() {
            let (prices, rpc) = (prices.clone(), rpc.clone());
            tasks.every("prices", prices::LOOK_EVERY, move || {
                let (prices, rpc) = (prices.clone(), rpc.clone());
                async move { prices.look(&rpc).await }
            });
        }
        tasks.keep("submitter", {
            let (submitter, stop) = (submitter.clone(), stop.clone());
            async move { submitter.run(stop).await }
        });
        if rpc.nodes() > 1 {
            let rpc = rpc.clone();
            tasks.every("node comparison", COMPARE_EVERY, move || {
                let rpc = rpc.clone();
                async move {
                    rpc.compare_nodes().await;
                    Ok::<(), Infallible>(())
                }
            });
        }
        tasks.start({
            let (rpc, stop) = (rpc.clone(), stop.clone());
            async move {
                stop.cancelled().await;
                for (node, figures) in rpc.figures().iter().enumerate() {
                    tracing::info!(%network, node, calls = figures.summary(), "rpc calls since the start");
                }
            }
        });
        if let Some(sightings) = sightings {
            let (rpc, submitter, stop) = (rpc.clone(), submitter.clone(), stop.clone());
            let on_checked = move |signature: &str, landing| submitter.cross_checked(signature, landing);
            tasks.keep("cross-check", cross_check::run(rpc, sightings, on_checked, stop));
        }
        let activity = Arc::new(Notify::new());
        let block_times = Arc::new(BlockTimes::new());
        let connection = Arc::new(Connection::new(network));
        if !settings.ws_urls.is_empty() {
            // Reports the time with every slot, so that nobody has to ask a node for it.
            subscriber.subscribe(Topic::Account(sysvar::CLOCK));
            let (program, commitment) = (instructions.0.program, settings.commitment);
            subscriber.subscribe(Topic::Naming { account: program, commitment });
            for signer in signers.policy.iter().chain(&signers.transfer) {
                // Confirmed as well: confirmed transactions need not be sent again.
                for commitment in [Commitment::Confirmed, commitment] {
                    subscriber.subscribe(Topic::Naming { account: address(&**signer), commitment });
                }
            }
            let notices = Notices {
                submitter: submitter.clone(),
                watched: watched.clone(),
                clock: clock.clone(),
                block_times: block_times.clone(),
                program: instructions.0.program,
                activity: activity.clone(),
                connection: connection.clone(),
            };
            tasks.keep(
                "websocket",
                websocket::run(settings.ws_urls.clone(), resolver(), wishes, notices, stop.clone()),
            );
        }
        let deposits = Deposits::new(
            settings.ws_urls.clone(),
            settings.commitment,
            settings.deposit_subscriptions_max,
            tasks.clone(),
        );
        let own = signers.policy.iter().chain(&signers.transfer).map(|signer| address(&**signer));
        let ours = settings.rent_payers.iter().chain(&settings.rent_refund).copied();
        let payers = Payers::new(own.collect(), ours.collect());
        Ok(Self {
            network,
            settings,
            rpc,
            clock,
            submitter,
            instructions,
            signers,
            transfer_turn: AtomicUsize::new(0),
            payers,
            prices,
            distinct: Distinct::from(rand::random()),
            written_slot: AtomicU64::new(0),
            waited_for: tokio::sync::Mutex::default(),
            draft_turns: OneAtATime::default(),
            watched,
            transfers_in_flight: InFlightTransfers::default(),
            rooms: room::Rooms::default(),
            block_times,
            deposits: Arc::new(deposits),
            activity,
            connection,
            silence_max: SILENCE_MAX,
        })
    }

    /// Each websocket by the place of its node, and what is wrong with it: see [`websocket::probe`].
    pub async fn look_at_websockets(&self) -> Vec<(usize, Result<(), &'static str>)> {
        let urls = self.settings.ws_urls.iter();
        let resolver = resolver();
        let probe = async |(node, url): &(usize, String)| (*node, websocket::probe(url, &resolver).await);
        futures::future::join_all(urls.map(probe)).await
    }

    /// The ids of agent accounts on our cluster, once it is known.
    pub fn account_ids(&self) -> Result<AccountIds, ChainError> {
        let unknown =
            || ChainError::Unavailable { during: "verify", reason: "the cluster is not known".into() };
        self.rpc.genesis().and_then(AccountIds::on).ok_or_else(unknown)
    }

    /// Transactions that are sent and not yet final.
    pub fn in_flight(&self) -> usize {
        self.submitter.in_flight()
    }

    /// The finalized tip of all nodes, at most [`TIP_AGE_MAX`] old: however many transfers wait for others to send them, they ask once.
    async fn waited_tip(&self) -> Result<FinalizedTip, ChainError> {
        let mut known = self.waited_for.lock().await;
        if let Some((_, tip)) = known.filter(|(asked_at, _)| asked_at.elapsed() < TIP_AGE_MAX) {
            return Ok(tip);
        }
        let asked_at = Instant::now();
        let tip = self.rpc.finalized_tips().await?.lowest();
        *known = Some((asked_at, tip));
        Ok(tip)
    }

    /// The oldest slot that a read may return.
    pub fn written_slot(&self) -> u64 {
        self.written_slot.load(Ordering::Relaxed)
    }

    /// Accounts in the order asked, no older than our own last write.
    pub async fn accounts(&self, keys: &[Pubkey]) -> Result<Vec<Option<RawAccount>>, ChainError> {
        Ok(self.rpc.accounts(keys, self.written_slot()).await?.value)
    }

    /// Writes `memo` on the chain through the memo program, signed by a policy authority of the operator, and waits for the
    /// commitment. Writing it twice does no harm.
    pub async fn write_memo(&self, operator: &OperatorOnChain, memo: &str) -> Result<Confirmed, ChainError> {
        let call = self.instructions.memo(address(self.policy_signer(operator)?), memo);
        self.unrecorded().execute_for_policy(operator, call, self.settings.commitment).await
    }

    /// Signs a transfer whose fee another pays, on that payer's terms; the signature is the transfer authority's only.
    /// `AuthorityRotated`: the chain was read, and nothing was signed.
    pub async fn sign_for(
        &self,
        order: &UnsignedTransfer,
        terms: &Terms,
    ) -> Result<SignedTransfer, ChainFault> {
        // Another pays the fee.
        let authority = self.signer_of_transfer(order, 0).await?;
        let price = self.price_of_transfer(order).await;
        let recent = self.clock.recent().await?;
        let instructions = self.instructions.transfer_for(address(authority), order, terms, price);
        let payer = to_pubkey(&terms.fee_payer);
        let signed = signing::sign_for(&instructions, authority, &payer, recent).await?;
        Ok(signed.until(recent.last_valid_block_height))
    }
}

#[async_trait]
impl purser_core::Signer for SolanaChain {
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault> {
        let price = self.price_of_transfer(order).await;
        let signer =
            self.signer_of_transfer(order, transfer_fee(&order.memo, order.tag_buckets, price)).await?;
        let recent = self.clock.recent().await?;
        let call = self.instructions.transfer(address(signer), order);
        let signed = self.sign(call, CallSigners::one(signer), recent, price).await?;
        self.transfers_in_flight.signed(order, &signed.signature);
        Ok(signed.until(recent.last_valid_block_height))
    }
}

#[async_trait]
impl purser_core::Chain for SolanaChain {
    async fn now(&self) -> Result<i64, ChainFault> {
        Ok(self.clock.now().await?)
    }

    async fn read_for_transfer(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainFault> {
        Ok(self.transfer_view(payer, payment, with_grant).await?)
    }

    async fn worth_a_look(&self, waiting: &[(Payer, Transfer)]) -> Result<Vec<bool>, ChainFault> {
        Ok(self.changed_approvals(waiting).await?)
    }

    fn known_for_transfer(&self, payer: &Payer, payment: &Payment<'_>) -> Option<ChainView> {
        self.known_transfer_view(payer, payment)
    }

    async fn has_passed(&self, block_height: u64, signed_before: Instant) -> Result<bool, ChainFault> {
        if signed_before.elapsed() < self.settings.shortest_life() {
            return Ok(false);
        }
        let tip = self.waited_tip().await?;
        let has_passed = block_height < tip.block_height;
        if has_passed {
            self.written_slot.fetch_max(tip.slot, Ordering::Relaxed);
        }
        Ok(has_passed)
    }

    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainFault> {
        Ok(self.submitter.send(self.followed(signed), self.settings.commitment).await?)
    }

    async fn outcome(&self, signed: &SignedTransfer) -> Outcome {
        let landing = self.follow(self.followed(signed), self.settings.commitment).await;
        let outcome = match landing {
            Landing::Landed { slot } => return Outcome::Settled { slot },
            Landing::Failed { fault, .. } => fault.of_transfer(),
            Landing::Expired { .. } => Outcome::Expired,
        };
        self.transfers_in_flight.not_paid(&signed.signature);
        outcome
    }

    fn logged_number(&self, signed: &SignedTransfer, transfer_id: [u8; 16]) -> Option<u64> {
        let logged = self.submitter.logged(&signed.signature)?;
        (logged.transfer_id == transfer_id).then_some(logged.number)
    }

    async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainFault> {
        Ok(self.block_times.of(&self.rpc, slot).await?)
    }

    fn look_again(&self) {
        self.activity.notify_one();
    }

    async fn agreed_now(&self, host_now: i64) -> Option<i64> {
        let now = self.clock.now().await.ok()?;
        let mut others = self.rpc.clocks()?.into_iter();
        let agree = clocks_agree(now, host_now) && others.all(|other| clocks_agree(other, host_now));
        agree.then(|| now.min(host_now))
    }

    async fn asking_second(&self) -> Result<i64, ChainFault> {
        let now = self.clock.now().await?;
        let others = self.rpc.clocks().unwrap_or_default();
        let clocks = others.iter().copied().chain([now]);
        let newest = clocks.clone().max().unwrap_or(now);
        Ok(clocks.filter(|clock| newest.saturating_sub(*clock) <= REQUEST_AHEAD_SECONDS).min().unwrap_or(now))
    }

    async fn make_room(&self, payer: &Payer, seen_buckets: usize) -> Result<Room, ChainFault> {
        Ok(self.give_room(payer, seen_buckets).await?)
    }

    async fn make_room_ahead(&self, payer: &Payer) {
        self.give_room_ahead(payer).await;
    }
}

#[cfg(test)]
mod tests;
