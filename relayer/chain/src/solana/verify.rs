//! Checks, before we send anything, that cluster, program and mint are those of the configuration.

use crate::read::decode::{TOKEN_PROGRAM, to_pubkey};
use crate::solana::SolanaChain;
use crate::{ChainError, ProgramCheck};
use purser_client::{AccountIds, Comparison, ProgramData, committed_sha256, compare, program_data_address};
use purser_model::Network;
use purser_rpc::wire::RawAccount;
use solana_sdk::pubkey::Pubkey;

/// The most accounts that one call names.
const ACCOUNTS_AT_ONCE: u8 = 100;

/// Genesis hashes of the public clusters.
const MAINNET_GENESIS: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
const DEVNET_GENESIS: &str = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";
const TESTNET_GENESIS: &str = "4uhcVJyU9pJkvQyS88uRDiswHScSCKY3XQsseRfwrTj2";

/// Length of a mint, and the offsets of its decimals and its initialised flag.
const MINT_BYTES: usize = 82;
const MINT_DECIMALS: usize = 44;
const MINT_INITIALIZED: usize = 45;

impl SolanaChain {
    /// Checks the cluster's genesis, that the program exists and which build it is, and that the mint is like USDC;
    /// logs what it found, one line each.
    pub async fn verify(&self) -> Result<(), ChainError> {
        let network = self.network;
        let genesis = self.verify_cluster().await?;
        tracing::info!(%network, genesis, rpc_nodes = self.rpc.nodes(), "cluster");

        let mint_key = to_pubkey(&self.settings.usdc_mint);
        let program_key = to_pubkey(&self.settings.program_id);
        let accounts = self.accounts_and_payers(&[program_key, mint_key]).await?;
        let [program, mint] = &accounts[..] else {
            return Err(ChainError::Unavailable { during: "verify", reason: "unreadable answer".into() });
        };
        let wrong = |what: String| Err(ChainError::Misconfigured(what));
        match program {
            None => return wrong(format!("program {program_key} is not deployed on this cluster")),
            Some(program) if !program.executable => return wrong(format!("{program_key} is not a program")),
            Some(program) => self.verify_program(program).await?,
        }
        if !mint.as_ref().is_some_and(is_usdc_kind) {
            return wrong(not_usdc(&mint_key));
        }
        for payer in self.payers.keys() {
            tracing::info!(%network, address = %payer, spendable = self.payers.spendable(payer), "fee payer");
        }
        Ok(())
    }

    /// The genesis hash that all answering nodes agree on; the others are checked before use.
    async fn verify_cluster(&self) -> Result<String, ChainError> {
        let asked =
            futures::future::join_all((0..self.rpc.nodes()).map(|node| self.rpc.genesis_hash(node))).await;
        let mut agreed: Option<String> = None;
        let mut failed = None;
        for answer in asked {
            match (answer, &agreed) {
                (Ok(genesis), None) => {
                    check_cluster(self.network, self.settings.genesis_hash.as_deref(), &genesis)?;
                    agreed = Some(genesis);
                }
                (Ok(genesis), Some(agreed)) if genesis != *agreed => {
                    let what = format!("the RPC nodes are on different clusters: {agreed} and {genesis}");
                    return Err(ChainError::Misconfigured(what));
                }
                (Ok(_), Some(_)) => {}
                (Err(error), _) => failed = Some(error),
            }
        }
        let unanswered = || ChainError::Unavailable { during: "verify", reason: "no RPC node".into() };
        let genesis = agreed.ok_or_else(|| failed.map_or_else(unanswered, ChainError::from))?;
        self.rpc.require_genesis(&genesis);
        Ok(genesis)
    }

    /// Whether the node at this place answers for as many accounts at once as the service asks for: some plans of providers allow five.
    pub async fn check_accounts_at_once(&self, node: usize) -> Result<(), ChainError> {
        let keys: Vec<Pubkey> =
            (0..ACCOUNTS_AT_ONCE).map(|number| Pubkey::new_from_array([number; 32])).collect();
        let answered = self.rpc.counted_accounts(node, &keys).await?;
        if answered == keys.len() {
            return Ok(());
        }
        Err(ChainError::Misconfigured(format!("answers {answered} of {} accounts", keys.len())))
    }

    /// The genesis hash of the node at this place, if it is the expected one.
    pub async fn cluster_of(&self, node: usize) -> Result<String, ChainError> {
        let genesis = self.rpc.genesis_hash(node).await?;
        check_cluster(self.network, self.settings.genesis_hash.as_deref(), &genesis)?;
        Ok(genesis)
    }

    /// Compares the program on chain with the committed build, then checks the mint: `Err` says in words what is wrong.
    pub async fn look_at_program(&self) -> Result<[Result<String, String>; 2], ChainError> {
        let mint_key = to_pubkey(&self.settings.usdc_mint);
        let program_key = to_pubkey(&self.settings.program_id);
        let accounts = self.accounts_and_payers(&[program_key, mint_key]).await?;
        let program = match accounts.first().and_then(Option::as_ref) {
            None => Err(format!("program {program_key} is not deployed on this cluster")),
            Some(program) => self.compare_program(program).await?,
        };
        let is_usdc = accounts.get(1).and_then(Option::as_ref).is_some_and(is_usdc_kind);
        let mint = if is_usdc { Ok(mint_key.to_string()) } else { Err(not_usdc(&mint_key)) };
        Ok([program, mint])
    }

    /// The committed build's hash if the program is that build, otherwise what it is.
    async fn compare_program(&self, program: &RawAccount) -> Result<Result<String, String>, ChainError> {
        let id = &self.settings.program_id;
        let bytes = match program_data_address(&program.owner, &program.data) {
            Some(address) => self.rpc.whole_account(&address).await?,
            None => None,
        };
        let committed = committed_sha256();
        let problem = match bytes.as_ref().and_then(|account| ProgramData::read(&account.data)) {
            Some(program_data) => match compare(program_data.bytes, &committed) {
                Comparison::Same => return Ok(Ok(committed)),
                Comparison::Other(found) => format!("has hash {found}"),
            },
            None => "cannot be read".to_owned(),
        };
        Ok(Err(format!("program {id} {problem}, the build that belongs to this relayer has {committed}")))
    }

    async fn verify_program(&self, program: &RawAccount) -> Result<(), ChainError> {
        let (network, id) = (self.network, &self.settings.program_id);
        if self.settings.program_check == ProgramCheck::Off {
            tracing::info!(%network, program = %id, "program; not comparing its hash");
            return Ok(());
        }
        let problem = match self.compare_program(program).await? {
            Ok(committed) => {
                tracing::info!(%network, program = %id, sha256 = committed, "program");
                return Ok(());
            }
            Err(problem) => problem,
        };
        match self.settings.program_check {
            ProgramCheck::Refuse => Err(ChainError::Misconfigured(problem)),
            ProgramCheck::Warn | ProgramCheck::Off => {
                tracing::warn!(%network, "{problem}");
                Ok(())
            }
        }
    }
}

/// A test key must never reach real money, and a live key must not use play money by mistake.
fn check_cluster(network: Network, expected: Option<&str>, genesis: &str) -> Result<(), ChainError> {
    let wrong = |what: String| Err(ChainError::Misconfigured(what));
    match (network, genesis) {
        (Network::Test, MAINNET_GENESIS) => return wrong("the RPC node is on mainnet".into()),
        (Network::Live, DEVNET_GENESIS) => return wrong("the RPC node is on devnet".into()),
        (Network::Live, TESTNET_GENESIS) => return wrong("the RPC node is on testnet".into()),
        (Network::Test | Network::Live, _) => {}
    }
    if AccountIds::on(genesis).is_none() {
        return wrong(format!("the RPC node's genesis hash is {genesis}, which is not a hash"));
    }
    match expected {
        Some(expected) if expected != genesis => {
            wrong(format!("the RPC node's genesis hash is {genesis}, configured is {expected}"))
        }
        Some(_) | None => Ok(()),
    }
}

fn not_usdc(mint: &Pubkey) -> String {
    format!("{mint} is not a legacy SPL Token mint with six decimals")
}

fn is_usdc_kind(mint: &RawAccount) -> bool {
    mint.owner == TOKEN_PROGRAM
        && mint.data.len() == MINT_BYTES
        && mint.data.get(MINT_DECIMALS) == Some(&purser::constants::USDC_DECIMALS)
        && mint.data.get(MINT_INITIALIZED) == Some(&1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_on_the_wrong_cluster_is_refused() {
        assert!(check_cluster(Network::Test, None, MAINNET_GENESIS).is_err());
        assert!(check_cluster(Network::Live, None, DEVNET_GENESIS).is_err());
        assert!(check_cluster(Network::Live, None, TESTNET_GENESIS).is_err());
        assert!(check_cluster(Network::Test, Some(DEVNET_GENESIS), TESTNET_GENESIS).is_err());
        assert!(check_cluster(Network::Test, None, "ours").is_err());
    }

    #[test]
    fn its_own_cluster_and_a_private_one_are_accepted() {
        for (network, genesis) in [
            (Network::Live, MAINNET_GENESIS),
            (Network::Test, DEVNET_GENESIS),
            (Network::Test, "11111111111111111111111111111111"),
            (Network::Live, "11111111111111111111111111111111"),
        ] {
            check_cluster(network, None, genesis).unwrap();
            check_cluster(network, Some(genesis), genesis).unwrap();
        }
    }

    #[test]
    fn only_an_initialised_legacy_mint_with_six_decimals_is_usdc() {
        let mut data = vec![0; MINT_BYTES];
        data[MINT_DECIMALS] = 6;
        data[MINT_INITIALIZED] = 1;
        let mint = RawAccount { owner: TOKEN_PROGRAM, executable: false, lamports: 1, data };
        assert!(is_usdc_kind(&mint));
        let mut nine = mint.clone();
        nine.data[MINT_DECIMALS] = 9;
        let mut blank = mint.clone();
        blank.data[MINT_INITIALIZED] = 0;
        let mut other = mint.clone();
        other.owner = solana_sdk::pubkey::Pubkey::default();
        let mut longer = mint;
        longer.data.push(0);
        for wrong in [nine, blank, other, longer] {
            assert!(!is_usdc_kind(&wrong), "{wrong:?}");
        }
    }
}
