//! A key that another service holds. Each signature has a time limit and is checked against the public key before use. The signer
//! remembers how the service last behaved, so that callers can pass over one that is away.

use crate::ChainError;
use crate::sign::backend::{self, Backend};
use crate::sign::signer::Signer;
use crate::sign::source::RemoteKey;
use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use solana_message::{Message, VersionedMessage};
use solana_sdk::signature::Signature;
use solana_sdk::transaction::VersionedTransaction;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// After a service stays silent to the end of the limit, it is not asked for this long: callers fail at once.
const NOT_ASKED_FOR: Duration = Duration::from_secs(1);
/// How long a signature, or a check, counts as proof that the service is there.
const SHOWN_FOR: Duration = Duration::from_secs(60);

/// Signs by asking a service.
pub struct RemoteSigner {
    role: &'static str,
    key: RemoteKey,
    /// Connects at first use, and again after a failure, because the credential may have been renewed.
    backend: tokio::sync::Mutex<Option<Backend>>,
    state: Mutex<SignerState>,
}

#[derive(Default)]
struct SignerState {
    /// Why the last use or check failed.
    problem: Option<String>,
    served_at: Option<Instant>,
    silent_at: Option<Instant>,
}

impl RemoteSigner {
    /// Asks no service yet.
    pub fn new(role: &'static str, key: RemoteKey) -> Self {
        Self { role, key, backend: tokio::sync::Mutex::default(), state: Mutex::default() }
    }

    async fn backend(&self) -> Result<Backend, String> {
        let mut made = self.backend.lock().await;
        if let Some(backend) = &*made {
            return Ok(backend.clone());
        }
        let backend = backend::connect(&self.key).await?;
        Ok(made.insert(backend).clone())
    }

    async fn ask(&self, message: &[u8]) -> Result<[u8; 64], String> {
        let unreadable = |_| "the message is not a transaction's".to_owned();
        let legacy: Message = bincode::deserialize(message).map_err(unreadable)?;
        let signatures = vec![Signature::default(); usize::from(legacy.header.num_required_signatures)];
        let mut transaction = VersionedTransaction { signatures, message: VersionedMessage::Legacy(legacy) };
        let backend = self.backend().await?;
        let signed = backend.sign_transaction(&mut transaction).await;
        let (_, signature) = signed.map_err(|error| backend::describe(&error))?.into_signed_transaction();
        if signature.verify(self.key.public_key.as_bytes(), message) {
            Ok(signature.into())
        } else {
            Err("its signature is not one of the configured public key".to_owned())
        }
    }

    async fn check(&self) -> Result<(), String> {
        let backend = self.backend().await?;
        let is_available = backend.is_available().await;
        let problem = "does not answer, refuses us, or holds another key than the configured one";
        if is_available { Ok(()) } else { Err(problem.to_owned()) }
    }

    /// Runs within the limit, and remembers the result.
    async fn within_limit<T>(&self, asked: impl Future<Output = Result<T, String>>) -> Option<T> {
        let limit = self.key.time_limit;
        let outcome = timeout(limit, asked).await;
        let is_silent = outcome.is_err();
        let silence = |_| Err(format!("no answer within {} ms", limit.as_millis()));
        match outcome.unwrap_or_else(silence) {
            Ok(done) => {
                self.record_served();
                Some(done)
            }
            Err(problem) => {
                self.record_failed(problem, is_silent);
                // Another caller that holds the lock is still connecting to the same service.
                if let Ok(mut made) = self.backend.try_lock() {
                    *made = None;
                }
                None
            }
        }
    }

    fn record_served(&self) {
        let mut state = self.state();
        if state.problem.is_some() {
            let (role, kind) = (self.role, self.key.service.kind());
            tracing::info!(role, address = %self.key.public_key, kind, "the signer is available again");
        }
        *state = SignerState { served_at: Some(Instant::now()), ..SignerState::default() };
    }

    fn record_failed(&self, problem: String, is_silent: bool) {
        let mut state = self.state();
        if state.problem.as_ref() != Some(&problem) {
            let (role, kind) = (self.role, self.key.service.kind());
            tracing::warn!(role, address = %self.key.public_key, kind, problem, "the signer did not sign");
        }
        state.problem = Some(problem);
        state.silent_at = is_silent.then(Instant::now);
    }

    fn state(&self) -> MutexGuard<'_, SignerState> {
        self.state.lock()
    }
}

#[async_trait]
impl Signer for RemoteSigner {
    fn public_key(&self) -> [u8; 32] {
        self.key.public_key.bytes()
    }

    async fn sign(&self, message: &[u8]) -> Result<[u8; 64], ChainError> {
        let unavailable = ChainError::SignerUnavailable { address: self.key.public_key };
        if self.state().silent_at.is_some_and(|at| at.elapsed() < NOT_ASKED_FOR) {
            return Err(unavailable);
        }
        self.within_limit(self.ask(message)).await.ok_or(unavailable)
    }

    fn is_away(&self) -> bool {
        self.state().problem.is_some()
    }

    async fn look(&self) {
        let is_shown = {
            let state = self.state();
            state.problem.is_none() && state.served_at.is_some_and(|at| at.elapsed() < SHOWN_FOR)
        };
        if !is_shown {
            self.within_limit(self.check()).await;
        }
    }
}

#[cfg(all(test, feature = "signer-vault"))]
mod tests;
