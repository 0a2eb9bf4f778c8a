//! The traits through which the payment engine reaches the world: ledger, chain, clock, observer and tasks.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::chain::clocks_agree;
use super::{
    AccountId, Address, ChainFault, ChainView, Claim, ClaimClock, IdempotencyKey, Network, NewTransfer,
    OperatorId, Outcome, Payer, Payment, PaymentMade, RefusalLimits, SignedTransfer, Timestamp, Transfer,
    TransferId, TransferState, UnsignedTransfer, UsdcAmount, UsedKey, WrongState,
};

/// How long reading the clocks may take.
const CLOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Why a ledger failed a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Another worker moved the transfer on since the caller read it: read it again.
    #[error("the transfer has moved on")]
    Superseded,
    /// The account or the operator has as many transfers that wait for a person as it may. Nothing was written.
    #[error("too many transfers of the account or its operator wait for approval")]
    TooManyApprovals,
    /// A write may have taken effect.
    #[error("{0}")]
    Unavailable(String),
    #[error(transparent)]
    WrongState(#[from] WrongState),
    /// A fault of ours.
    #[error("{0}")]
    Failed(String),
}

/// What becomes of the idempotency key of a transfer that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivesBack {
    /// An earlier use stands for the key again.
    ItsUse,
    /// Earlier uses too stand for nothing: they ended, and asked for something else than what the chain has.
    TheKey,
}

/// Our records: transfers, what their keys stand for, and payments that were read on the chain.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Takes the idempotency key for a new try and stores that in its first step, or returns what the key stands for: one transaction.
    /// Exactly one of any number of identical requests is `New` (or `Retry`). `TooManyApprovals`: nothing was claimed.
    async fn claim(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim, LedgerError>;

    /// The latest use of an idempotency key.
    async fn find_used_key(
        &self,
        operator: OperatorId,
        network: Network,
        key: &IdempotencyKey,
    ) -> Result<Option<UsedKey>, LedgerError>;

    async fn find_transfer(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<Transfer>, LedgerError>;

    /// Moves a transfer on, announces it and adds its history, in one transaction. `Superseded`: nothing was written.
    async fn mark(
        &self,
        transfer: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError>;

    /// Fails a transfer like `mark` and gives its key back, in one transaction: while a transfer is under way, nobody else may
    /// begin under its key.
    async fn give_up(
        &self,
        transfer: &Transfer,
        failed: TransferState,
        gives_back: GivesBack,
        now: Timestamp,
    ) -> Result<Transfer, LedgerError>;

    /// The payer's newest payment with `tag` whose bytes name a second after `asked_after`, if our records hold one. The program holds
    /// that second to its own clock; the date of a payment is what one node says.
    async fn find_payment(
        &self,
        payer: &Payer,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>, LedgerError>;

    /// Who pays this transfer; `None` if they are unknown.
    async fn find_payer(&self, transfer: &Transfer) -> Result<Option<Payer>, LedgerError>;

    /// The token account of any operator's account on this network that can be paid.
    async fn find_payee(&self, network: Network, id: AccountId) -> Result<Option<Address>, LedgerError>;

    /// Leases up to `rows_max` unfinished transfers that nobody holds at `now`, longest abandoned first.
    async fn take_unfinished(
        &self,
        network: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, LedgerError>;

    /// Renews this process's leases among these. Keeps a lease that another has taken meanwhile.
    async fn renew_leases(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
        lease_expires_at: Timestamp,
    ) -> Result<(), LedgerError>;

    /// Ends this process's lease on a transfer.
    async fn release_lease(
        &self,
        operator: OperatorId,
        id: TransferId,
        now: Timestamp,
    ) -> Result<(), LedgerError>;
}

/// Whether an account can remember more payments of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Made,
    /// It has as many places as it may.
    None,
}

/// Signs transfers.
#[async_trait]
pub trait Signer: Send + Sync + 'static {
    /// Sends nothing. Store the result before anybody else sees it. `AuthorityRotated`, `FeePayerEmpty`: the chain was read, and
    /// nothing was signed.
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault>;
}

/// What a payment needs of one Solana network.
#[async_trait]
pub trait Chain: Signer {
    /// The chain's clock, unix seconds, cached for less than 1 s.
    async fn now(&self) -> Result<i64, ChainFault>;

    /// Reads operator, agent, source, destination and clock in one call, at one slot; the wallet too, if the payment names one; and
    /// with `with_grant`, the grant under the payment's tag, if it covers the payment.
    async fn read_for_transfer(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainFault>;

    /// For each of these transfers, which wait for a person: whether a grant, a payment, a halt, a pause or another policy is there, so that
    /// a read for it alone is worth its cost. A few calls for all of them.
    async fn worth_a_look(&self, waiting: &[(Payer, Transfer)]) -> Result<Vec<bool>, ChainFault> {
        Ok(vec![true; waiting.len()])
    }

    /// The same as [`Chain::read_for_transfer`] from what we know, without asking a node; our transfers in flight count as made. It may be
    /// a moment old, or wrong: enough to go ahead on, never to refuse on. `None` when part of it is not known.
    fn known_for_transfer(&self, _payer: &Payer, _payment: &Payment<'_>) -> Option<ChainView> {
        None
    }

    /// Whether a transaction with this last valid block height, signed before that moment, can no longer land. Reads made after
    /// that show whether it did.
    async fn has_passed(&self, block_height: u64, signed_before: Instant) -> Result<bool, ChainFault>;

    /// Sends the stored bytes once. An error does not say whether they land: ask `outcome`.
    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainFault>;

    /// Follows the bytes to their outcome and re-sends them meanwhile. Dropping the future does not stop the following;
    /// a second call for the same signature joins it.
    async fn outcome(&self, signed: &SignedTransfer) -> Outcome;

    /// The number of the payment under this transfer id, if the notice that showed these bytes landed had its event.
    fn logged_number(&self, signed: &SignedTransfer, transfer_id: [u8; 16]) -> Option<u64> {
        let _ = (signed, transfer_id);
        None
    }

    /// When the block of `slot` was made, unix seconds by the chain's clock. Each slot is asked for once.
    async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainFault>;

    /// Wakes whoever reads the chain's past: something is missing.
    fn look_again(&self) {}

    /// The second at which the chain is asked for a transfer now: the earliest that a node reports within 300 s of the newest one. The
    /// host's clock has no part in it.
    async fn asking_second(&self) -> Result<i64, ChainFault> {
        self.now().await
    }

    /// Has the account remember more payments of a day, if its operator may pay for that. Does nothing if it has more buckets by now
    /// than the caller has seen.
    async fn make_room(&self, payer: &Payer, seen_buckets: usize) -> Result<Room, ChainFault>;

    /// The same ahead of its need: a payment was made, and nobody waits.
    async fn make_room_ahead(&self, payer: &Payer) {
        let _ = payer;
    }

    /// The earlier of the chain's clock (unix seconds) and `our_now`, if both agree with each other and with every
    /// node's clock. No node can move it alone. Whatever has expired by it has expired by both.
    async fn agreed_now(&self, our_now: i64) -> Option<i64> {
        let now = self.now().await.ok()?;
        clocks_agree(now, our_now).then(|| now.min(our_now))
    }
}

/// See [`Chain::agreed_now`]. While the chain's clock cannot be read promptly, nothing expires.
pub async fn agreed_now(chain: &(impl Chain + ?Sized), our_now: Timestamp) -> Option<i64> {
    timeout(CLOCK_PATIENCE, chain.agreed_now(our_now.unix_seconds())).await.ok().flatten()
}

/// Time and randomness.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// The random bits that make an id unique.
    fn id_bits(&self) -> u128;
}

/// Is told what happens, to count and announce it. Nothing that it does may fail a payment.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// Bytes of ours are stored for the first time, or were found stored.
    fn submitted(&self, transfer: &Transfer);

    /// It has ended here.
    fn ended(&self, transfer: &Transfer);

    /// A payment bears a transfer's tag and is not that transfer.
    fn contradicted(&self, transfer: &Transfer);

    /// A balance that was read before a payment.
    async fn balance_read(&self, payer: &Payer, balance: UsdcAmount, read_at: Timestamp);

    /// A payment has changed the payer's balance and used up part of its limits.
    fn paid(&self, payer: &Payer);
}

/// Work that runs to its end though nobody waits for it.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work in the background.
pub trait Tasks: Send + Sync + 'static {
    fn start(&self, work: Work);
}

/// Everything that the payment engine needs of the world.
#[derive(Clone)]
pub struct Outside {
    pub ledger: Arc<dyn Ledger>,
    pub chains: BTreeMap<Network, Arc<dyn Chain>>,
    pub clock: Arc<dyn Clock>,
    pub observer: Arc<dyn Observer>,
    pub tasks: Arc<dyn Tasks>,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
    /// How long a caller waits for a transfer's end.
    pub deadline: Duration,
    pub refusals: RefusalLimits,
}
