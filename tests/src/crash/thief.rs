//! Another operator: it makes accounts from what the round's accounts were made from, and asks for those under their ids.

use std::sync::Arc;
use std::time::Duration;

use purser_client::OnChainPolicy;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;
use tokio::time::sleep;

use super::patience::Deadline;
use super::relayer::Relayer;
use crate::agent::Agent;
use crate::chain::DirectOutcome;
use crate::operator::Operator;

const PAUSE: Duration = Duration::from_millis(150);
/// How often a copy is made again.
const CREATED_AGAIN_MAX: usize = 20;
const PATIENCE: Duration = Duration::from_secs(5);

/// The operator, and what it copies.
pub(super) struct Thief {
    operator: Operator,
    http: reqwest::Client,
    victims: Vec<Victim>,
}

struct Victim {
    /// The account's id in the API.
    id: String,
    /// What it was made from.
    agent_id: [u8; 16],
    /// The address of the copy.
    copy: Pubkey,
}

impl Thief {
    pub async fn of(operator: Operator, agents: &[Agent]) -> Thief {
        let mut victims = Vec::new();
        for agent in agents {
            let agent_id = operator.chain.agent(&agent.address).await.agent.agent_id;
            let copy = operator.chain.program().agent_address(&operator.address, &agent_id);
            victims.push(Victim { id: agent.id.clone(), agent_id, copy });
        }
        let http =
            reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client can be made");
        Thief { operator, http, victims }
    }

    /// Makes the copies that are not there yet.
    pub async fn copies(&self) {
        let Thief { operator, victims, .. } = self;
        let admin = operator.app().admin();
        for victim in victims {
            let (by, policy) = (admin.pubkey(), OnChainPolicy::default());
            let (mut is_made, mut refused) = (false, None);
            for _ in 0..CREATED_AGAIN_MAX {
                is_made = operator.chain.data(&victim.copy).await.is_some();
                if is_made {
                    break;
                }
                let program = operator.chain.program();
                let create = program.create_agent(by, by, by, operator.address, victim.agent_id, &policy);
                let landing = operator.chain.lands(create, admin).await;
                is_made = matches!(landing, DirectOutcome::Settled(_));
                if is_made {
                    break;
                }
                // The node knows bytes that a fork dropped. With the next blockhash they are others.
                refused = Some(landing);
                sleep(PAUSE).await;
            }
            assert!(is_made, "{refused:?}");
        }
    }

    /// Reads the victims' accounts and pays from them, again and again, until it is dropped.
    pub async fn tries(&self, relayers: &[Arc<Relayer>], took: &mut Vec<String>) {
        loop {
            for relayer in relayers {
                self.tries_once(relayer, took).await;
            }
            sleep(PAUSE).await;
        }
    }

    /// In the calm: each relayer finds the copies, and none under the id of a victim.
    pub async fn concludes(&self, relayers: &[Arc<Relayer>], deadline: &Deadline) -> Vec<String> {
        let mut took = Vec::new();
        for relayer in relayers {
            self.tries_once(relayer, &mut took).await;
            let mut listed = self.lists(relayer).await;
            while listed.len() < self.victims.len() && !deadline.has_passed() {
                sleep(PAUSE).await;
                listed = self.lists(relayer).await;
            }
            let expected: Vec<String> =
                self.victims.iter().map(|victim| self.operator.account_id_of(&victim.copy)).collect();
            if listed.len() != expected.len() || expected.iter().any(|id| !listed.contains(id)) {
                took.push(format!("the copies {expected:?} are listed as {listed:?}"));
            }
        }
        took
    }

    async fn lists(&self, relayer: &Relayer) -> Vec<String> {
        let listed = self.asks(relayer, "/v1/accounts?limit=100", None).await;
        let listed = listed.map(|(_, body)| body["data"].as_array().cloned().unwrap_or_default());
        let ids = listed.into_iter().flatten();
        ids.filter_map(|account| account["account_id"].as_str().map(str::to_owned)).collect()
    }

    async fn tries_once(&self, relayer: &Relayer, took: &mut Vec<String>) {
        for victim in &self.victims {
            let payment = json!({ "from": victim.id, "to": self.operator.account_id_of(&victim.copy),
                "amount": "1", "idempotency_key": "stolen", "memo": "stolen" });
            let path = format!("/v1/accounts/{}", victim.id);
            for (path, body) in [(&path[..], None), ("/v1/transfers", Some(&payment))] {
                match self.asks(relayer, path, body).await {
                    None | Some((404 | 429 | 500.., _)) => {}
                    Some((status, body)) => took.push(format!("{path} of {}: {status} {body}", victim.id)),
                }
            }
        }
    }

    /// `None`: no answer.
    async fn asks(&self, relayer: &Relayer, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let url = format!("{}{path}", relayer.url()?);
        let request = match body {
            None => self.http.get(url),
            Some(body) => self.http.post(url).json(body),
        };
        let asking = async {
            let answer = request.bearer_auth(self.operator.client.key()).send().await.ok()?;
            Some((answer.status().as_u16(), answer.json().await.ok()?))
        };
        tokio::time::timeout(PATIENCE, asking).await.ok()?
    }
}
