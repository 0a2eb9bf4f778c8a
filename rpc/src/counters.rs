//! How often each RPC method was called on a node.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counted methods, by their wire names; the last stands for all others.
const METHODS: [&str; 11] = [
    "getMultipleAccounts",
    "getSignatureStatuses",
    "sendTransaction",
    "getLatestBlockhash",
    "getEpochInfo",
    "getSignaturesForAddress",
    "getTransaction",
    "getGenesisHash",
    "getBlockTime",
    "getRecentPrioritizationFees",
    "other",
];

/// Calls and failures of each RPC method since the start.
#[derive(Debug, Default)]
pub struct RpcCounters {
    methods: [MethodCounter; METHODS.len()],
}

#[derive(Debug, Default)]
struct MethodCounter {
    calls: AtomicU64,
    failures: AtomicU64,
}

/// One method's figures at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodCount {
    pub method: &'static str,
    pub calls: u64,
    pub failures: u64,
}

/// What we know of one node without asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFigures {
    pub methods: Vec<MethodCount>,
    /// The node is left alone for a while after a fault.
    pub is_resting: bool,
}

impl NodeFigures {
    /// The methods that were called, with their counts, in one line.
    pub fn summary(&self) -> String {
        let called = self.methods.iter().filter(|count| count.calls > 0);
        called.map(|count| format!("{} {}", count.method, count.calls)).collect::<Vec<_>>().join(", ")
    }
}

impl RpcCounters {
    /// All methods, in a fixed order.
    pub fn read(&self) -> Vec<MethodCount> {
        let read = |(method, counter): (&&'static str, &MethodCounter)| MethodCount {
            method,
            calls: counter.calls.load(Ordering::Relaxed),
            failures: counter.failures.load(Ordering::Relaxed),
        };
        METHODS.iter().zip(&self.methods).map(read).collect()
    }

    pub fn called(&self, method: &str) {
        self.of(method).calls.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self, method: &str) {
        self.of(method).failures.fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, method: &str) -> &MethodCounter {
        let index = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        &self.methods[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_counted_by_their_wire_names() {
        let counters = RpcCounters::default();
        for method in ["getMultipleAccounts", "sendTransaction", "getVersion"] {
            counters.called(method);
        }
        counters.failed("sendTransaction");
        let counted: Vec<_> = counters.read().into_iter().filter(|count| count.calls == 1).collect();
        let methods: Vec<_> = counted.iter().map(|count| (count.method, count.failures)).collect();
        assert_eq!(methods, [("getMultipleAccounts", 0), ("sendTransaction", 1), ("other", 0)]);
    }
}
