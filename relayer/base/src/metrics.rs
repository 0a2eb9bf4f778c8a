//! What the process counts as it works, in memory. Figures that are stored anyway are not counted again: see
//! `service/figures.rs`. Labels only take the program's own words, so they stay few: route templates, never paths; no ids.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Labels: names, each with one of the program's own words.
pub type Labels<const N: usize> = [(&'static str, &'static str); N];
/// Histograms of one kind, distinguished by a label.
pub type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// Method; route and status.
type RequestLabels = (Labels<1>, [(&'static str, String); 2]);

/// Declares them: each with how it begins, its name and what it is.
macro_rules! metrics {
    ($($field:ident: $kind:ty = $new:expr, $name:literal, $help:literal;)*) => {
        /// The counters; clones share them.
        #[derive(Debug, Clone)]
        pub struct Metrics {
            $($field: $kind,)*
        }

        impl Default for Metrics {
            fn default() -> Self {
                Self { $($field: $new,)* }
            }
        }

        impl Metrics {
            fn register_each(&self, registry: &mut Registry) {
                $(registry.register($name, $help, self.$field.clone());)*
            }
        }
    };
}

metrics! {
    requests: Family<RequestLabels, Counter> = Family::default(), "purser_requests", "Requests that were answered";
    request_seconds: Histogram = request_seconds(), "purser_request_seconds",
        "How long answers to requests took, those that wait for settlement included";
    transfers: Family<Labels<2>, Counter> = Family::default(), "purser_transfers",
        "Transfers that this process signed or took over signed (submitted), and that came to an end in it";
    contradictions: Family<Labels<1>, Counter> = Family::default(), "purser_contradicting_payments",
        "Payments on the chain that bear the id or the tag of a transfer and are not that transfer";
    transfer_failures: Family<Labels<2>, Counter> = Family::default(), "purser_transfer_failures",
        "Transfers that failed in this process, by the reason";
    settlement_seconds: Histograms = Family::new_with_constructor(settlement_seconds), "purser_settlement_seconds",
        "From the request of a transfer until it was settled and written down";
    attempts: Family<Labels<1>, Counter> = Family::default(), "purser_webhook_attempts",
        "Attempts to deliver events, by what the delivery is afterwards";
    webhook_queues: Gauge = Gauge::default(), "purser_webhook_queues", "Webhooks that are being delivered to";
}

impl Metrics {
    /// Registers them all. Series with known labels begin at 0, because an increase from nothing would not show as one.
    pub fn register(
        &self,
        registry: &mut Registry,
        networks: &[&'static str],
        transfer_states: &[&'static str],
        failures: &[&'static str],
        delivery_states: &[&'static str],
    ) {
        for network in networks {
            drop(self.settlement_seconds.get_or_create(&[("network", *network)]));
            drop(self.contradictions.get_or_create(&[("network", *network)]));
            for state in transfer_states {
                drop(self.transfers.get_or_create(&[("network", *network), ("state", *state)]));
            }
            for reason in failures {
                drop(self.transfer_failures.get_or_create(&[("network", *network), ("reason", *reason)]));
            }
        }
        for state in delivery_states {
            drop(self.attempts.get_or_create(&[("state", *state)]));
        }
        self.register_each(registry);
    }

    /// A request was answered. `route` is a template, or `None` if no route matched.
    pub fn answered(&self, method: &str, route: Option<&str>, status: u16, seconds: f64) {
        let route = route.unwrap_or("none").to_owned();
        let labels = ([("method", known_method(method))], [("route", route), ("status", status.to_string())]);
        self.requests.get_or_create(&labels).inc();
        self.request_seconds.observe(seconds);
    }

    /// A transfer entered this state.
    pub fn count_transfer(&self, network: &'static str, state: &'static str) {
        self.transfers.get_or_create(&[("network", network), ("state", state)]).inc();
    }

    /// A payment on the chain bears the id or the tag of a transfer and is not that transfer.
    pub fn contradicted(&self, network: &'static str) {
        self.contradictions.get_or_create(&[("network", network)]).inc();
    }

    /// A transfer failed for this reason.
    pub fn count_failure(&self, network: &'static str, reason: &'static str) {
        self.transfer_failures.get_or_create(&[("network", network), ("reason", reason)]).inc();
    }

    /// How long a transfer took to settle.
    pub fn settled_after(&self, network: &'static str, seconds: f64) {
        self.settlement_seconds.get_or_create(&[("network", network)]).observe(seconds);
    }

    /// A delivery was attempted, and is in this state now.
    pub fn attempted(&self, state: &'static str) {
        self.attempts.get_or_create(&[("state", state)]).inc();
    }

    /// How many webhooks are being delivered to.
    pub fn set_webhook_queues(&self, queues: usize) {
        self.webhook_queues.set(i64::try_from(queues).unwrap_or(i64::MAX));
    }
}

/// Maps a method to a known word, because a client may send any.
pub fn known_method(method: &str) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| *known == method).unwrap_or("other")
}

fn request_seconds() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
}

fn settlement_seconds() -> Histogram {
    Histogram::new([0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_clients_make_up_are_one() {
        let metrics = Metrics::default();
        for number in 0..50 {
            metrics.answered(&format!("MADEUP{number}"), None, 405, 0.001);
        }
        metrics.answered("GET", Some("/v1/accounts/{id}"), 200, 0.001);
        let mut registry = Registry::default();
        metrics.register(&mut registry, &[], &[], &[], &[]);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        let requests: Vec<_> =
            text.lines().filter(|line| line.starts_with("purser_requests_total{")).collect();
        assert_eq!(requests.len(), 2, "{requests:?}");
        let line = r#"purser_requests_total{method="other",route="none",status="405"} 50"#;
        assert!(requests.contains(&line), "{requests:?}");
    }
}
