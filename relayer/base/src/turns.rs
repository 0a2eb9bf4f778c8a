//! Changes of one thing, one after another.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

type OneTurn = tokio::sync::Mutex<()>;

/// Lets one change of a thing be made at a time within this process. Between processes, the versions on chain decide.
pub struct OneAtATime<K>(Arc<Mutex<HashMap<K, Weak<OneTurn>>>>);

impl<K: Eq + Hash> OneAtATime<K> {
    pub fn of(&self, id: K) -> Arc<OneTurn> {
        let mut turns = self.0.lock();
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(&id).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(id, Arc::downgrade(&turn));
        turn
    }
}

impl<K> Clone for OneAtATime<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for OneAtATime<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}
