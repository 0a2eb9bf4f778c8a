//! Signs, records, sends and follows.

use async_trait::async_trait;

use crate::live::clock::Recent;
use crate::send::flight::{Followed, Landing};
use crate::sign::instructions::Call;
use crate::sign::signer::address;
use crate::sign::signing::{self, CallSigners, SignedBytes};
use crate::solana::SolanaChain;
use crate::{ChainError, Commitment, Confirmed};
use purser_model::SignedTransfer;
use solana_sdk::pubkey::Pubkey;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a pause or a halt waits for its record.
const STOP_RECORDED_IN: Duration = Duration::from_secs(1);

/// Records the transactions of changes before they are sent, so that nobody has to guess later how a change ended.
#[async_trait]
pub trait SendRecorder: Send + Sync {
    /// Records one, by its base58 signature. `is_step`: it only prepares a change. `Unrecorded`: it must not be sent.
    async fn record(
        &self,
        signature: &str,
        last_valid_block_height: u64,
        is_step: bool,
    ) -> Result<(), ChainError>;
}

/// The chain as one who changes it sees it: each transaction is recorded before it is sent.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    chain: &'a SolanaChain,
    /// `None`: nobody asks later what became of it.
    recorder: Option<&'a dyn SendRecorder>,
}

impl Deref for Recorded<'_> {
    type Target = SolanaChain;

    fn deref(&self) -> &SolanaChain {
        self.chain
    }
}

impl SolanaChain {
    /// For a change on record.
    pub fn recorded<'a>(&'a self, recorder: &'a dyn SendRecorder) -> Recorded<'a> {
        Recorded { chain: self, recorder: Some(recorder) }
    }

    /// For what the service does on its own behalf, as a worker that closes what is over, and for what has a record elsewhere, as
    /// transfers have.
    pub fn unrecorded(&self) -> Recorded<'_> {
        Recorded { chain: self, recorder: None }
    }
}

impl Recorded<'_> {
    /// Signs, records, sends and follows one call to `commitment`. Unavailable: the node is gone, and the call may have landed.
    pub async fn execute(
        &self,
        call_signers: CallSigners<'_>,
        call: Call,
        commitment: Commitment,
    ) -> Result<Confirmed, ChainError> {
        let recent = self.clock.recent().await?;
        let written: Vec<Pubkey> = call
            .instruction
            .accounts
            .iter()
            .filter(|account| account.is_writable)
            .map(|account| account.pubkey)
            .collect();
        self.payers.signed(&address(call_signers.authority), call.rent);
        let price = self.price_of(&call);
        let (is_step, stops) = (call.is_step, call.stops);
        let signed = self.sign(call, call_signers, recent, price).await?;
        self.record(&signed.signature, recent.last_valid_block_height, is_step, stops).await?;
        let followed = Followed {
            bytes: &signed.bytes,
            signature: &signed.signature,
            last_valid_block_height: recent.last_valid_block_height,
            payer: address(call_signers.payer),
        };
        if let Err(error) = self.submitter.send(followed, commitment).await {
            // We cannot know whether it left. The loop sends it again and finds out.
            tracing::debug!(%error, signature = signed.signature, "first send failed");
        }
        let landing = tokio::select! {
            landing = self.follow(followed, commitment) => landing,
            // It may still land. The caller learns that now instead of waiting for a node that is gone.
            () = self.submitter.silent(self.silence_max) => {
                let reason = format!("no answer for {} s", self.silence_max.as_secs());
                return Err(ChainError::Unavailable { during: "confirmation", reason });
            }
        };
        self.watched.forget(&written);
        match landing {
            Landing::Landed { slot } => {
                // Histories and events follow from what the indexer reads, also of our own changes.
                self.activity.notify_one();
                Ok(Confirmed { signature: signed.signature, slot })
            }
            Landing::Failed { fault, .. } => Err(fault.into()),
            Landing::Expired { .. } => Err(ChainError::Expired),
        }
    }

    /// Records a transaction before anybody can see it. A pause or a halt is sent even if that fails.
    pub(super) async fn record(
        &self,
        signature: &str,
        last_valid_block_height: u64,
        is_step: bool,
        stops: bool,
    ) -> Result<(), ChainError> {
        let Some(recorder) = self.recorder else { return Ok(()) };
        let recording = recorder.record(signature, last_valid_block_height, is_step);
        if !stops {
            return recording.await;
        }
        match tokio::time::timeout(STOP_RECORDED_IN, recording).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => {
                tracing::error!(
                    signature,
                    "cannot record the transaction of a pause or a halt; sending it anyway"
                );
            }
        }
        Ok(())
    }
}

impl SolanaChain {
    pub(super) async fn sign(
        &self,
        call: Call,
        call_signers: CallSigners<'_>,
        recent: Recent,
        price: u64,
    ) -> Result<SignedBytes, ChainError> {
        let written = call.instruction.accounts.iter().filter(|account| account.is_writable);
        self.prices.writes(written.map(|account| account.pubkey).chain([address(call_signers.payer)]));
        self.payers.signed(&address(call_signers.payer), call.fee(1, price));
        signing::sign(call, &self.distinct, call_signers, recent, price).await
    }

    pub(super) fn followed<'a>(&self, signed: &'a SignedTransfer) -> Followed<'a> {
        Followed {
            bytes: &signed.bytes,
            signature: &signed.signature,
            last_valid_block_height: signed.last_valid_block_height,
            // Bytes that are not ours never get here; no notice would come for them.
            payer: signing::payer_of(&signed.bytes).unwrap_or_default(),
        }
    }

    pub(super) async fn follow(&self, followed: Followed<'_>, commitment: Commitment) -> Landing {
        let landing = self.submitter.follow(followed, commitment).await;
        match landing {
            // Later reads must show the transaction's effect, or the state that made it fail.
            Landing::Landed { slot } | Landing::Failed { slot, .. } | Landing::Expired { slot } => {
                self.written_slot.fetch_max(slot, Ordering::Relaxed);
            }
        }
        landing
    }
}
