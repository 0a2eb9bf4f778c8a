use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

type OneTurn = tokio::sync::Mutex<()>;

/// Serialises the changes of one thing within this process: of an account's policy, of a budget, of many accounts of one operator.
/// Between processes, the policies' versions decide; a budget has none, so there the last one wins.
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
