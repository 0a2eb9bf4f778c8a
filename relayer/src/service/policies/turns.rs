use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::domain::AccountId;

/// Serialises writes to an account's policy, so that concurrent changes of this process do not collide on the chain.
/// Between processes, the policy's version decides.
#[derive(Clone, Default)]
pub(super) struct Writers(Arc<Mutex<HashMap<AccountId, Weak<tokio::sync::Mutex<()>>>>>);

impl Writers {
    pub fn of(&self, id: AccountId) -> Arc<tokio::sync::Mutex<()>> {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|_, writer| writer.strong_count() > 0);
        if let Some(writer) = writers.get(&id).and_then(Weak::upgrade) {
            return writer;
        }
        let writer = Arc::default();
        writers.insert(id, Arc::downgrade(&writer));
        writer
    }
}
