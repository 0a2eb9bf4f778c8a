//! What the relayer stands on: nodes, websocket, and the wallets that pay fees.

use std::time::Duration;

use purser_model::Network;
use purser_service::{Report, Services, signers};

pub struct System {
    /// What is checked, and how it is.
    pub parts: Vec<SystemPart>,
    pub wallets: Vec<WalletShown>,
}

pub struct SystemPart {
    pub name: String,
    pub words: String,
    pub is_well: bool,
}

pub struct WalletShown {
    pub role: String,
    pub address: String,
    /// `None`: not read yet.
    pub lamports: Option<u64>,
    pub is_low: bool,
}

impl System {
    /// As this relayer sees it, without asking anybody.
    pub fn of(services: &Services, network: Network, report: &Report) -> Self {
        let figures = signers::figures(&services.inside, network);
        let low = signers::low_on_sol(&services.inside, network);
        let of_network = report.parts.iter().filter(|part| part.network.is_none_or(|of| of == network));
        // What else is wrong is said above.
        let parts = of_network.filter(|part| ["database", "nodes"].contains(&part.name));
        let mut parts: Vec<SystemPart> = parts
            .map(|part| {
                let is_well = part.problems.is_empty();
                let words = if is_well { "working".to_owned() } else { part.problems.join("; ") };
                SystemPart { name: sentence(part.name), words, is_well }
            })
            .collect();
        let websocket = figures.as_ref().and_then(|figures| figures.websocket_down_for);
        parts.push(SystemPart {
            name: "Websocket".to_owned(),
            words: websocket_words(websocket),
            is_well: websocket.is_none_or(|down_for| down_for.is_zero()),
        });
        let wallets = figures.map(|figures| figures.wallets).unwrap_or_default().into_iter();
        let wallets = wallets.map(|wallet| WalletShown {
            role: wallet.role.to_string(),
            address: wallet.address.to_string(),
            lamports: wallet.spendable,
            is_low: wallet.spendable == Some(0) || low.iter().any(|(address, _)| *address == wallet.address),
        });
        Self { parts, wallets: wallets.collect() }
    }
}

fn websocket_words(down_for: Option<Duration>) -> String {
    match down_for {
        None => "not set up: the chain is asked at intervals".to_owned(),
        Some(Duration::ZERO) => "connected".to_owned(),
        Some(down_for) => format!("lost for {} s: the chain is asked at intervals", down_for.as_secs()),
    }
}

fn sentence(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
