//! Metrics from what the process already holds. Asks neither database nor node.

use std::sync::Arc;

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::transfers::UNUSED_BYTES;
use super::{Services, Transfers, signers, watch};
use crate::Inside;
use purser_chain::{ChainFigures, MethodCount};
use purser_model::{DeliveryStatus, FailureCode, Network, TransferStatus};

impl Services {
    /// All metrics of the process.
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        let Inside { store, chains, metrics, .. } = &*self.inside;
        let networks: Vec<_> = chains.networks().into_iter().map(Network::as_str).collect();
        let transfers = TransferStatus::ALL.map(TransferStatus::as_str);
        let deliveries = DeliveryStatus::ALL.map(DeliveryStatus::as_str);
        let failures = FailureCode::ALL.map(FailureCode::as_str);
        let failures = [&failures[..], &[UNUSED_BYTES]].concat();
        metrics.register(&mut registry, &networks, &transfers, &failures, &deliveries);
        registry.register(
            "purser_database_wait_seconds",
            "How long calls waited for a connection, or for their turn to write",
            store.upkeep.waits().clone(),
        );
        let figures = Figures { inside: self.inside.clone(), transfers: self.transfers.clone() };
        registry.register_collector(Box::new(figures));
        registry
    }
}

/// What is counted without asking anybody.
struct Figures {
    inside: Arc<Inside>,
    transfers: Transfers,
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let networks = self.inside.chains.networks();
        let chains: Vec<(Network, ChainFigures)> = networks
            .into_iter()
            .filter_map(|network| Some((network, self.inside.chains.get(network).ok()?.chain.figures())))
            .collect();
        let encoder = &mut encoder;
        self.encode_process(encoder)?;
        self.encode_conditions(encoder)?;
        self.encode_database(encoder)?;
        self.encode_networks(encoder, &chains)?;
        encode_nodes(encoder, &chains)
    }
}

impl Figures {
    fn encode_process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let none: [(&str, &str); 0] = [];
        let about = "Idempotency keys whose transfers wait or are under way";
        gauges(encoder, "purser_transfers_pending", about, [(none, self.transfers.pending())])?;
        let tasks = self.inside.tasks.kept().into_iter();
        gauges(
            encoder,
            "purser_tasks",
            "Tasks that run and must not end before the stop",
            tasks.map(|(task, kept)| ([("task", task)], kept.running)),
        )
    }

    /// Those that no other metric tells of, as the last look found them.
    fn encode_conditions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counts = watch::counts(&self.inside).into_iter();
        let counted = counts.filter(|((condition, _), _)| condition.series().is_empty());
        let rows = counted.map(|((condition, network), count)| {
            let network = network.map(|network| ("network", network.as_str()));
            (Vec::from_iter([("condition", condition.as_str())].into_iter().chain(network)), count)
        });
        let about =
            "How many operators, accounts, budgets, webhooks, payments or parts need attention for this";
        gauges(encoder, "purser_conditions", about, rows)
    }

    fn encode_database(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let pools = self.inside.store.upkeep.figures();
        let of = |figure: fn(&purser_store::PoolFigures) -> usize| {
            pools.iter().map(move |pool| ([("pool", pool.pool)], figure(pool))).collect::<Vec<_>>()
        };
        let about = "Connections to the database that are open";
        gauges(encoder, "purser_database_connections", about, of(|pool| pool.open))?;
        let about = "Connections to the database that are in use";
        gauges(encoder, "purser_database_connections_used", about, of(|pool| pool.lent))?;
        let about = "Calls that wait for a connection, or for their turn to write";
        gauges(encoder, "purser_database_waiting", about, of(|pool| pool.waiting))
    }

    fn encode_networks(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        chains: &[(Network, ChainFigures)],
    ) -> fmt::Result {
        gauges(
            encoder,
            "purser_transactions_in_flight",
            "Transactions that are sent and not final",
            chains.iter().map(|(network, figures)| ([("network", network.as_str())], figures.in_flight)),
        )?;
        gauges(
            encoder,
            "purser_operators_rotated",
            "Operators whose account on the chain names none of this relayer's keys for something",
            chains.iter().map(|(network, _)| {
                ([("network", network.as_str())], signers::rotated(&self.inside, *network))
            }),
        )?;
        let websockets = chains.iter().filter_map(|(network, figures)| {
            let is_connected = figures.websocket_down_for?.is_zero();
            Some(([("network", network.as_str())], usize::from(is_connected)))
        });
        let about = "1 while a websocket of the network is connected";
        gauges(encoder, "purser_websocket_connected", about, websockets)?;
        let missing = chains.iter().filter_map(|(network, figures)| {
            let _configured = figures.websocket_down_for?;
            Some(([("network", network.as_str())], figures.topics_missing))
        });
        let about = "Websocket subscriptions that nodes refuse";
        gauges(encoder, "purser_websocket_topics_missing", about, missing)?;
        let now = self.inside.clock.now().unix_seconds();
        let skews = chains.iter().filter_map(|(network, figures)| {
            let skew = usize::try_from(figures.now?.abs_diff(now)).unwrap_or(usize::MAX);
            Some(([("network", network.as_str())], skew))
        });
        let about = "How far this machine's clock is from the chain's";
        gauges(encoder, "purser_clock_skew_seconds", about, skews)?;
        let wallets = chains.iter().flat_map(|(network, figures)| {
            figures.wallets.iter().filter_map(move |wallet| {
                let labels = [
                    ("network", network.as_str().to_owned()),
                    ("address", wallet.address.to_string()),
                    ("role", wallet.role.to_string()),
                ];
                Some((labels, usize::try_from(wallet.spendable?).unwrap_or(usize::MAX)))
            })
        });
        let about = "What a wallet can spend on fees and rent";
        gauges(encoder, "purser_fee_payer_spendable_lamports", about, wallets)
    }
}

/// Names nodes by their place in the configuration, because a URL may hold a provider's key.
fn encode_nodes(encoder: &mut DescriptorEncoder<'_>, chains: &[(Network, ChainFigures)]) -> fmt::Result {
    let nodes = || {
        chains.iter().flat_map(|(network, figures)| {
            figures.nodes.iter().enumerate().map(move |(place, node)| (network.as_str(), place, node))
        })
    };
    gauges(
        encoder,
        "purser_node_resting",
        "1 while a node is left alone after a fault",
        nodes().map(|(network, place, node)| {
            ([("network", network.to_owned()), ("node", place.to_string())], usize::from(node.is_resting))
        }),
    )?;
    let counts = |figure: fn(&MethodCount) -> u64| {
        nodes().flat_map(move |(network, place, node)| {
            node.methods.iter().map(move |count| {
                let labels = [
                    ("network", network.to_owned()),
                    ("node", place.to_string()),
                    ("method", count.method.to_owned()),
                ];
                (labels, figure(count))
            })
        })
    };
    counters(encoder, "purser_rpc_calls", "Calls to nodes", counts(|count| count.calls))?;
    counters(encoder, "purser_rpc_faults", "Calls to nodes that failed", counts(|count| count.failures))
}

fn gauges<S: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    about: &str,
    rows: impl IntoIterator<Item = (S, usize)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, about, None, MetricType::Gauge)?;
    for (labels, value) in rows {
        // A node may report any number; the metrics format ends at `i64::MAX`.
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        family.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn counters<S: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    about: &str,
    rows: impl IntoIterator<Item = (S, u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, about, None, MetricType::Counter)?;
    for (labels, value) in rows {
        family.encode_family(&labels)?.encode_counter::<[(&str, &str); 0], _, u64>(&value, None)?;
    }
    Ok(())
}
