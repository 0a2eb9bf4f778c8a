//! Who pays for rent: a tenant's admin does everything that its wallet can, and the service loses nothing but fees.

use std::sync::Arc;
use std::time::Duration;

use purser_client::{
    Deployment, DraftAccounts, OnChainPolicy, OwnedAllowlist, Proposal, RentRefunds, Staging,
};
use purser_tests::chain::DirectOutcome;
use purser_tests::{Agent, AppSettings, Operator, Proxy, TestApp, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

/// The fee for one signature.
const FEE: u64 = 5_000;

async fn own_operator() -> Operator {
    let app = TestApp::start(TestNetwork::own(), &AppSettings::default()).await;
    app.new_operator().await
}

/// The SOL in the service's wallets.
async fn purse(operator: &Operator) -> u64 {
    let app: &Arc<TestApp> = operator.app();
    let chain = &operator.chain;
    chain.lamports(&app.policy_authority().pubkey()).await
        + chain.lamports(&app.transfer_authority().pubkey()).await
}

fn wallets(count: usize) -> Value {
    (0..count).map(|_| json!({ "wallet": Keypair::new().pubkey().to_string() })).collect()
}

async fn lands(operator: &Operator, call: solana_sdk::instruction::Instruction) {
    let landing = operator.chain.lands(call, operator.app().admin()).await;
    assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
}

/// The admin closes the account with its own wallet, and sends the rent to this payer.
async fn admin_closes(agent: &Agent, rent_refund: Pubkey) {
    let (operator, program) = (&agent.operator, agent.operator.chain.program());
    let admin = operator.app().admin().pubkey();
    let draft = draft_rent_refund(agent).await.unwrap_or(rent_refund);
    let rent = RentRefunds { agent: rent_refund, draft };
    let to = agent.token_account;
    lands(operator, program.close_agent(admin, operator.address, agent.address, to, rent)).await;
}

/// What the account's address is made from.
async fn agent_id(agent: &Agent) -> [u8; 16] {
    agent.operator.chain.agent(&agent.address).await.agent.agent_id
}

/// The admin, which closed it, creates the account with this agent id again, with its own rent.
async fn admin_creates_anew(agent: &Agent, id: [u8; 16]) {
    let (operator, program) = (&agent.operator, agent.operator.chain.program());
    let admin = operator.app().admin().pubkey();
    let create = program.create_agent(admin, admin, admin, operator.address, id, &OnChainPolicy::default());
    lands(operator, Deployment::create_agent_over(create, admin)).await;
}

/// The admin removes the allowlist.
async fn admin_opens_policy(agent: &Agent, rent_refund: Pubkey) {
    let (operator, program) = (&agent.operator, agent.operator.chain.program());
    let admin = operator.app().admin().pubkey();
    let version = operator.chain.agent(&agent.address).await.agent.policy_version;
    let at = DraftAccounts { authority: admin, operator: operator.address, agent: agent.address };
    lands(operator, program.set_policy(at, admin, rent_refund, version, &OnChainPolicy::default())).await;
}

async fn draft_rent_refund(agent: &Agent) -> Option<Pubkey> {
    let address = agent.operator.chain.program().draft_address(&agent.address);
    let data = agent.operator.chain.data(&address).await.filter(|data| !data.is_empty())?;
    Some(purser::state::PolicyDraft::read(&data).expect("a draft").draft.rent_refund)
}

#[tokio::test]
async fn closing_accounts_in_a_loop_costs_the_service_no_more_than_fees() {
    let operator = own_operator().await;
    let service = operator.app().policy_authority().pubkey();
    let before = purse(&operator).await;
    for _ in 0..5 {
        let agent = operator.creates_account("Ada").await;
        agent.sets_policy(json!({ "allowed_counterparties": wallets(3) })).await;
        admin_closes(&agent, service).await;
    }
    let lost = before - purse(&operator).await;
    assert!(lost <= 5 * 2 * FEE, "the service lost {lost} lamports");
}

#[tokio::test]
async fn long_allowlists_in_a_loop_cost_the_service_no_more_than_fees() {
    let operator = own_operator().await;
    let service = operator.app().policy_authority().pubkey();
    let agent = operator.creates_account("Ada").await;
    let before = purse(&operator).await;
    for round in 0..3 {
        agent.sets_policy(json!({ "allowed_counterparties": wallets(256) })).await;
        match round {
            0 => drop(agent.sets_policy(json!({})).await),
            1 => admin_opens_policy(&agent, service).await,
            _ => admin_closes(&agent, service).await,
        }
    }
    let lost = before.saturating_sub(purse(&operator).await);
    // Opening, eleven parts, applying, and the call that removes the list.
    assert!(lost <= 3 * 14 * FEE, "the service lost {lost} lamports");
}

/// The program returns rent to the first payer: the admin, who then makes the service pay for more.
#[tokio::test]
async fn service_pays_for_no_list_whose_rent_another_gets_back() {
    let operator = own_operator().await;
    let (service, admin) = (operator.app().policy_authority().pubkey(), operator.app().admin().pubkey());
    let agent = operator.creates_account("Ada").await;
    let agent_id = agent_id(&agent).await;
    admin_closes(&agent, service).await;
    admin_creates_anew(&agent, agent_id).await;
    let before = purse(&operator).await;
    for count in [256, 10] {
        let body = json!({ "allowed_counterparties": wallets(count) });
        let answer = operator.client.put(&agent.path("/policy"), &body).await;
        if answer.status == 200 {
            admin_opens_policy(&agent, admin).await;
        } else {
            answer.blames("allowed_counterparties");
        }
    }
    let lost = before.saturating_sub(purse(&operator).await);
    assert!(lost <= 20 * FEE, "the service lost {lost} lamports to the admin");
    // Changes that cost no rent are made.
    agent.sets_policy(json!({ "max_single_transfer": 5 })).await;
    agent.sets_policy(json!({ "paused": true })).await;
}

/// The admin created this account with its own wallet, and the relayer found it.
#[tokio::test]
async fn service_pays_for_no_list_of_an_account_that_it_found() {
    let operator = own_operator().await;
    let admin = operator.app().admin().pubkey();
    let id = ulid::Ulid::generate().to_bytes();
    let program = operator.chain.program();
    let create = program.create_agent(admin, admin, admin, operator.address, id, &OnChainPolicy::default());
    lands(&operator, create).await;
    let account_id = operator.account_id_of(&program.agent_address(&operator.address, &id));
    let mut found = operator.reads_account(&account_id).await;
    for _ in 0..600 {
        if found.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        found = operator.reads_account(&account_id).await;
    }
    let agent = Agent::of(&operator, &found.has_status(200));
    let before = purse(&operator).await;
    let body = json!({ "allowed_counterparties": wallets(256) });
    let answer = operator.client.put(&agent.path("/policy"), &body).await;
    let lost = before.saturating_sub(purse(&operator).await);
    assert!(lost <= 20 * FEE, "{}: the service spent {lost} lamports on the admin's account", answer.status);
    answer.blames("allowed_counterparties");
}

/// The admin changes the policy while a long list is being written: 256 entries are opened, written in eleven parts and applied.
#[tokio::test]
async fn draft_that_was_overtaken_is_not_left_open() {
    let network = TestNetwork::own();
    let line = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(line.url()), ..AppSettings::default() };
    let operator = TestApp::start(network, &settings).await.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let admin = operator.app().admin();
    let at = DraftAccounts { authority: admin.pubkey(), operator: operator.address, agent: agent.address };
    let before = purse(&operator).await;
    for sends in [1, 6, 12] {
        line.gate().closes_after(sends);
        let body = json!({ "allowed_counterparties": wallets(256) });
        let path = agent.path("/policy");
        let (answer, ()) = tokio::join!(operator.client.patch(&path, &body), async {
            line.gate().holds_one().await;
            lands(&operator, operator.chain.program().set_paused(at, true)).await;
            line.gate().opens();
        });
        answer.is_error(409, "policy_changed");
        assert_eq!(draft_rent_refund(&agent).await, None, "a draft holds the service's rent");
    }
    let lost = before.saturating_sub(purse(&operator).await);
    assert!(lost <= 3 * 16 * FEE, "the service lost {lost} lamports");
}

#[tokio::test]
async fn admin_that_empties_an_account_and_closes_it_over_a_waiting_draft_takes_no_rent() {
    let operator = own_operator().await;
    let service = operator.app().policy_authority().pubkey();
    let admin = operator.app().admin();
    let delay = purser::OperatorUpdate { loosening_delay_seconds: Some(600), ..Default::default() };
    operator.chain.updates_operator(operator.address, delay, admin).await;
    let before = purse(&operator).await;
    for _ in 0..2 {
        let agent = operator.creates_account_with("Ada", "2").await;
        agent.sets_policy(json!({ "allowed_counterparties": wallets(2) })).await;
        let body = json!({ "allowed_counterparties": wallets(100) });
        operator.client.put(&agent.path("/policy"), &body).await.has_status(202);
        let (payee, _) = operator.chain.new_payee().await;
        purser_tests::wallet::withdraws(&agent, "2", &payee, admin).await;
        admin_closes(&agent, service).await;
    }
    let lost = before.saturating_sub(purse(&operator).await);
    assert!(lost <= 2 * 8 * FEE, "the service lost {lost} lamports");
}

/// A long list is pending. The admin closes the account, creates it again with its own wallet, and puts the same list into
/// its own draft for the relayer to apply.
#[tokio::test]
async fn waiting_list_is_not_applied_to_an_account_that_the_admin_made_anew() {
    let operator = own_operator().await;
    let (service, admin) = (operator.app().policy_authority().pubkey(), operator.app().admin());
    let delay = purser::OperatorUpdate { loosening_delay_seconds: Some(4), ..Default::default() };
    operator.chain.updates_operator(operator.address, delay, admin).await;
    let nobody =
        OnChainPolicy { allowlist: OwnedAllowlist::only(Vec::new(), Vec::new()), ..OnChainPolicy::default() };
    let begun = json!({ "name": "Ada", "policy": { "allowed_counterparties": [] } });
    let created = operator.client.post("/v1/accounts", &begun).await.has_status(201);
    let agent = Agent::of(&operator, &created);
    let before = purse(&operator).await;
    let keys: Vec<Pubkey> = (0..100).map(|_| Keypair::new().pubkey()).collect();
    let list: Value = keys.iter().map(|key| json!({ "wallet": key.to_string() })).collect();
    let path = agent.path("/policy");
    operator.client.put(&path, &json!({ "allowed_counterparties": list })).await.has_status(202);

    let agent_id = agent_id(&agent).await;
    admin_closes(&agent, service).await;
    let (program, by) = (operator.chain.program(), admin.pubkey());
    let create = program.create_agent(by, by, by, operator.address, agent_id, &nobody);
    lands(&operator, Deployment::create_agent_over(create, by)).await;
    let allowlist = OwnedAllowlist::only(keys.iter().map(Pubkey::to_bytes).collect(), Vec::new());
    let policy = OnChainPolicy { allowlist, ..OnChainPolicy::default() };
    let proposal = Proposal { agent: agent.address, expected_version: 1, policy };
    let staging = Staging {
        deployment: program,
        authority: by,
        payer: by,
        rent_refund: by,
        operator: operator.address,
        proposal: &proposal,
    };
    for step in staging.steps(None) {
        lands(&operator, step.instruction).await;
    }
    assert_eq!(draft_rent_refund(&agent).await, Some(by));
    for _ in 0..300 {
        if draft_rent_refund(&agent).await.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(draft_rent_refund(&agent).await, None, "the relayer saw it");
    let lost = before.saturating_sub(purse(&operator).await);
    // The service got the account's own rent back.
    assert!(lost <= 20 * FEE, "the service lost {lost} lamports");
    assert_eq!(operator.chain.agent(&agent.address).await.policy().allowlist.entries().0.len(), 0);
}
