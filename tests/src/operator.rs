//! An operator with an API key, and what operators do.

use std::sync::Arc;

use purser_client::AccountIds;
use purser_client::purser::BudgetCaps;
use reqwest::Method;
use serde_json::json;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use crate::agent::Agent;
use crate::app::TestApp;
use crate::chain::{Chain, DirectOutcome};
use crate::client::{Answer, Client};
use crate::money::micros;
use crate::network::TestNetwork;

/// An operator of one app. Cheap to clone; use it in the test that made it.
#[derive(Clone)]
pub struct Operator {
    app: Arc<TestApp>,
    network: &'static str,
    pub id: String,
    /// The operator's account on chain.
    pub address: Pubkey,
    /// Speaks with the operator's key.
    pub client: Client,
    pub chain: Chain,
}

impl Operator {
    /// A new operator on the shared relayer and the shared network. Only it uses its accounts.
    pub async fn shared() -> Operator {
        TestApp::shared().await.new_operator().await
    }

    pub(crate) fn new(
        app: Arc<TestApp>,
        network: &'static str,
        id: String,
        address: Pubkey,
        key: &str,
    ) -> Operator {
        let client = Client::new(&app.base_url(), Some(key));
        let chain = app.network(network).chain();
        Operator { app, network, id, address, client, chain }
    }

    /// The relayer.
    pub fn app(&self) -> &Arc<TestApp> {
        &self.app
    }

    /// The network that the operator's key selects.
    pub fn network(&self) -> &Arc<TestNetwork> {
        self.app.network(self.network)
    }

    /// The id of the agent account at this address, as anybody computes it.
    pub fn account_id_of(&self, agent: &Pubkey) -> String {
        let ids = AccountIds::on(&self.network().genesis_hash).expect("a network has a genesis hash");
        ids.of(agent)
    }

    /// An operator that a relayer's database knows from earlier.
    pub fn kept(app: &Arc<TestApp>, id: &str, address: Pubkey, key: &str) -> Operator {
        Operator::new(Arc::clone(app), "test", id.to_owned(), address, key)
    }

    /// The same operator on chain, under the id that a relayer gave it after losing its database.
    pub fn found_as(&self, id: &str, key: &str) -> Operator {
        Operator::new(Arc::clone(&self.app), self.network, id.to_owned(), self.address, key)
    }

    /// The same operator, for a relayer that restarted at another address.
    pub fn reconnected(&self) -> Operator {
        let key = self.client.key().to_owned();
        Operator::new(Arc::clone(&self.app), self.network, self.id.clone(), self.address, &key)
    }

    /// Creates an empty account without limits.
    pub async fn creates_account(&self, name: &str) -> Agent {
        let body = json!({ "name": name });
        let created = self.client.asks_on(Method::POST, "/v1/accounts", &body).await;
        Agent::of(self, &created.has_status(201))
    }

    /// Creates an account that holds `usdc`.
    pub async fn creates_account_with(&self, name: &str, usdc: &str) -> Agent {
        let agent = self.creates_account(name).await;
        agent.holds(usdc).await;
        agent
    }

    /// Has the admin make a budget with these caps in USDC, and returns its id.
    pub async fn makes_budget(&self, number: u64, daily: &str, month: Option<&str>) -> String {
        let (program, admin) = (self.chain.program(), self.app.admin());
        let caps = BudgetCaps { max_daily_spend: micros(daily), max_30_day_spend: month.map(micros) };
        let set = program.set_budget(admin.pubkey(), self.address, number, caps, None);
        let landing = self.chain.lands(set, admin).await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
        format!("bdg_{}", program.budget_address(&self.address, number))
    }

    /// Reads an account with the operator's key.
    pub async fn reads_account(&self, account_id: &str) -> Answer {
        self.client.get(&format!("/v1/accounts/{account_id}")).await
    }
}
