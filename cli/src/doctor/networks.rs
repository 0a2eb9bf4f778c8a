//! One network: its nodes, program, mint and clock, the keys that operators name, and our SOL and signers.

use std::time::Duration;

use anyhow::Result;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::Findings;
use super::files::{absent_key, problem_with};
use purser_chain::{
    AgentAddresses, AgentOnChain, Authority, ChainError, KeyLook, KeyProblem, OperatorOnChain, SolanaChain,
    Wallet,
};
use purser_model::{Account, Address, Network, OpenDefence, Operator, has_no_limit};
use purser_relayer::app::chain_of;
use purser_relayer::config::{NetworkConfig, QuotasConfig};
use purser_service::{CLOCK_SKEW_SECONDS_MAX, SystemClock, Tasks};

/// What else may be wrong where the node is on this machine.
const DEV_CLOCK: &str =
    ". `purser dev advance` moves a dev network's clock alone; `purser dev --reset` sets it anew";
/// How long a question may take, for all nodes together.
const PATIENCE: Duration = Duration::from_secs(15);
const ANOTHER_NODE: &str = "check that the node runs, can be reached and takes the key in its URL, or name another in `rpc_url` and \
                            `rpc_urls`";

pub(super) async fn look_at(
    network: Network,
    (config, quotas): (&NetworkConfig, &QuotasConfig),
    (operators, accounts): (&[&Operator], &[Account]),
    denials: Option<Address>,
    findings: &mut Findings,
) -> Result<()> {
    let tasks = Tasks::default();
    let done = match chain_of(network, config, quotas, &tasks) {
        Ok(chain) => {
            look_at_denials_key(&chain, denials, findings)?;
            look_at_chain(&chain, (1 + config.rpc_urls.len(), is_local(config)), operators, findings).await?;
            look_at_limits(&chain, operators, accounts, findings).await
        }
        Err(error) => {
            let contents = "correct what this names; `purser keygen FILE` makes a key's file where there is none; docs/run/keys.md has the \
                            other places for keys, docs/run/configuration.md all settings";
            let mut sources =
                config.policy_authority_keypair.iter().chain(&config.transfer_authority_keypair);
            let unread = sources.find_map(|source| problem_with(source.file()?, &absent_key(source)));
            let mend = unread.map_or_else(|| contents.to_owned(), |(_, mend)| mend);
            findings.not_ok(format!("network {network}: keys"), error, mend)
        }
    };
    tasks.stop.cancel();
    done
}

/// Whether the node is on this machine, as that of `purser dev` is.
fn is_local(config: &NetworkConfig) -> bool {
    let url = url::Url::parse(config.rpc_url.expose_secret()).ok();
    let host = url.as_ref().and_then(url::Url::host_str);
    host.is_some_and(|host| host == "localhost" || host == "[::1]" || host.starts_with("127."))
}

/// `serve` does not start with a key that signs refusals and moves money too.
fn look_at_denials_key(chain: &SolanaChain, key: Option<Address>, findings: &mut Findings) -> Result<()> {
    match key.filter(|key| chain.signs_with(key)) {
        None => Ok(()),
        Some(key) => findings.not_ok(
            format!("network {}: denials", chain.network),
            format!("{key} signs refusals, and is a policy authority or a transfer authority too"),
            "make a key of its own, and name it in `denials.keypair`: purser keygen FILE",
        ),
    }
}

async fn look_at_chain(
    chain: &SolanaChain,
    (nodes, is_dev): (usize, bool),
    operators: &[&Operator],
    findings: &mut Findings,
) -> Result<()> {
    if !look_at_nodes(chain, nodes, findings).await? {
        return Ok(());
    }
    look_at_websockets(chain, findings).await?;
    let network = chain.network;
    let check = |what: &str| format!("network {network}: {what}");
    match within(chain.look_at_program()).await {
        Err(error) => findings.not_ok(check("program"), error, ANOTHER_NODE)?,
        Ok([program, mint]) => {
            match program {
                Ok(hash) => findings.ok(check("program"), format!("the committed build, {hash}"))?,
                Err(problem) => findings.not_ok(
                    check("program"),
                    problem,
                    "deploy the committed build (anchor run deploy), run the purser that belongs to the program, or set `program_id`",
                )?,
            }
            match mint {
                Ok(mint) => findings.ok(check("mint"), mint)?,
                Err(problem) => {
                    findings.not_ok(check("mint"), problem, "set `usdc_mint` to USDC on this cluster")?
                }
            }
        }
    }
    look_at_clock(chain, is_dev, findings).await?;
    let addresses: Vec<Address> = operators.iter().map(|operator| operator.address).collect();
    match within(chain.look_at_keys(&addresses)).await {
        Err(error) => findings.not_ok(check("authorities"), error, ANOTHER_NODE),
        Ok(KeyLook { problems, .. }) => {
            look_at_operators(chain, operators, &problems, findings).await?;
            look_at_wallets(network, &chain.figures().wallets, &problems, findings)?;
            look_at_signers(network, &problems, findings)
        }
    }
}

/// Names each node by its place, because its URL may hold a provider's key. Returns whether one of them can be used.
async fn look_at_nodes(chain: &SolanaChain, nodes: usize, findings: &mut Findings) -> Result<bool> {
    let network = chain.network;
    let mut first: Option<String> = None;
    for node in 0..nodes {
        let check = format!("network {network}: node {node}");
        match (within(chain.cluster_of(node)).await, &first) {
            (Ok(genesis), Some(first)) if genesis != *first => findings.not_ok(
                check,
                format!("is on cluster {genesis}, and the nodes before it on {first}"),
                "name nodes of one cluster",
            )?,
            (Ok(genesis), _) => {
                findings.ok(&check, format!("answers; cluster {genesis}"))?;
                first.get_or_insert(genesis);
                if let Err(error) = within(chain.check_accounts_at_once(node)).await {
                    let mend = "name a node, or a plan of the provider, that answers `getMultipleAccounts` for 100 accounts";
                    findings.not_ok(format!("{check}: accounts at once"), error, mend)?;
                }
            }
            (Err(error @ ChainError::Misconfigured(_)), _) => findings.not_ok(
                check,
                error,
                format!("name a node of the cluster that network {network} is for, or the cluster's own `genesis_hash`"),
            )?,
            (Err(error), _) => findings.not_ok(check, error, ANOTHER_NODE)?,
        }
    }
    Ok(first.is_some())
}

async fn look_at_websockets(chain: &SolanaChain, findings: &mut Findings) -> Result<()> {
    let network = chain.network;
    let websockets = chain.look_at_websockets().await;
    if websockets.is_empty() {
        let check = format!("network {network}: websocket");
        return findings.ok(check, "none is configured: the relayer polls for landings and deposits");
    }
    for (node, looked_at) in websockets {
        let check = format!("network {network}: websocket of node {node}");
        match looked_at {
            Ok(()) => findings.ok(check, "takes subscriptions")?,
            Err(problem) => {
                let setting = if node == 0 { "ws_url" } else { "ws_urls" };
                let mend = format!(
                    "name the websocket of the node in `{setting}` (a node of one's own has it at the port after its RPC's), or \
                     remove it: the relayer then polls for landings"
                );
                findings.not_ok(check, problem, mend)?
            }
        }
    }
    Ok(())
}

async fn look_at_clock(chain: &SolanaChain, is_dev: bool, findings: &mut Findings) -> Result<()> {
    let check = format!("network {}: clock", chain.network);
    let host = SystemClock::SYSTEM.now().unix_seconds();
    match within(chain.read_time()).await {
        Err(error) => findings.not_ok(check, error, ANOTHER_NODE),
        Ok(now) if now.abs_diff(host) <= CLOCK_SKEW_SECONDS_MAX => {
            findings.ok(check, format!("{} s from this machine's", now.abs_diff(host)))
        }
        Ok(now) => findings.not_ok(
            check,
            format!("the chain's is {} s {} this machine's", now.abs_diff(host), if now > host { "ahead of" } else { "behind" }),
            format!(
                "set this machine's clock (timedatectl set-ntp true), or name a node that keeps up with the cluster{}",
                if is_dev { DEV_CLOCK } else { "" }
            ),
        ),
    }
}

async fn look_at_operators(
    chain: &SolanaChain,
    operators: &[&Operator],
    problems: &[KeyProblem],
    findings: &mut Findings,
) -> Result<()> {
    for operator in operators {
        let check = format!("network {}: operator {}", chain.network, operator.id);
        let address = operator.address;
        match within(chain.read_operator(&address)).await {
            Ok(Some(found)) => {
                look_at_defences(chain, &check, &found, findings)?;
                look_at_guardian(chain, &check, &found, findings).await?;
            }
            // Nothing is there, or something of another program.
            Ok(None) | Err(ChainError::NotFound { .. }) => {
                let mend = "name the cluster and the `program_id` that it was created with";
                findings.not_ok(
                    check,
                    format!("{address} is not an operator of the program on this cluster"),
                    mend,
                )?;
                continue;
            }
            Err(error) => {
                findings.not_ok(check, error, ANOTHER_NODE)?;
                continue;
            }
        }
        let missing = problems.iter().filter_map(|problem| match problem {
            KeyProblem::AuthorityRotated { operator: of, role } if *of == operator.address => Some(*role),
            KeyProblem::AuthorityRotated { .. }
            | KeyProblem::FeePayerEmpty { .. }
            | KeyProblem::FeePayerLow { .. }
            | KeyProblem::SignerUnavailable { .. } => None,
        });
        let missing: Vec<Authority> = missing.collect();
        if missing.is_empty() {
            findings.ok(&check, "its account on the chain names our keys")?;
        }
        for role in missing {
            let option = match role {
                Authority::Policy => "--policy-authority",
                Authority::Transfer => "--add-transfer-authority",
            };
            let wallets = chain.figures().wallets;
            let ours = wallets.iter().find(|wallet| wallet.role == role);
            let ours = ours.map_or_else(|| "ADDRESS".to_owned(), |wallet| wallet.address.to_string());
            findings.not_ok(
                &check,
                format!("its account on the chain names no {role} of ours"),
                format!(
                    "configure the key that it names, or have the admin name ours: anchor run operator-update -- --operator {address} {option} {ours} \
                     --yes"
                ),
            )?;
        }
    }
    Ok(())
}

/// Names the accounts that may pay anyone any amount. Says nothing where the chain does not answer: another finding does.
async fn look_at_limits(
    chain: &SolanaChain,
    operators: &[&Operator],
    accounts: &[Account],
    findings: &mut Findings,
) -> Result<()> {
    for operator in operators {
        let accounts: Vec<&Account> =
            accounts.iter().filter(|account| account.operator_id == operator.id).collect();
        let addresses_of = |account: &&Account| AgentAddresses {
            agent: account.address,
            token_account: account.token_account,
        };
        let addresses: Vec<AgentAddresses> = accounts.iter().map(addresses_of).collect();
        let Ok(read) = within(chain.read_agents(&addresses)).await else { break };
        let is_open = |agent: &AgentOnChain| {
            let is_bound = agent.beyond.is_some() || agent.month.is_some();
            has_no_limit(&agent.policy) && !agent.policy.paused && !is_bound
        };
        let open = accounts.iter().zip(&read).filter(|(_, agent)| agent.as_ref().is_some_and(is_open));
        let names: Vec<&str> = open.map(|(account, _)| account.name.as_str()).collect();
        if let [first, ..] = &names[..] {
            let others =
                if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
            findings.weak(
                format!("network {}: operator {}: limits", chain.network, operator.id),
                format!("{first}{others} may pay anyone any amount: no limit is set"),
                "give each account a policy: its page of the dashboard, or PUT /v1/accounts/ID/policy",
            )?;
        }
    }
    Ok(())
}

/// Says if the guardian could not pay for a halt.
async fn look_at_guardian(
    chain: &SolanaChain,
    check: &str,
    operator: &OperatorOnChain,
    findings: &mut Findings,
) -> Result<()> {
    let Some(guardian) = operator.guardian else { return Ok(()) };
    if matches!(within(chain.lacks_a_fee(&guardian)).await, Ok(true)) {
        findings.weak(
            format!("{check}: SOL of guardian"),
            format!("{guardian} cannot pay the fee of a halt"),
            format!("send 0.01 SOL to {guardian}"),
        )?;
    }
    Ok(())
}

fn look_at_defences(
    chain: &SolanaChain,
    check: &str,
    operator: &OperatorOnChain,
    findings: &mut Findings,
) -> Result<()> {
    for defence in chain.open_defences(operator) {
        let mut check = format!("{check}: {}", defence.name());
        if let OpenDefence::AdminKeyHere(file) = &defence {
            check = format!("{check} {}", file.display());
        }
        findings.weak(check, defence.in_words(), defence.mend(&operator.address))?;
    }
    Ok(())
}

fn look_at_wallets(
    network: Network,
    wallets: &[Wallet],
    problems: &[KeyProblem],
    findings: &mut Findings,
) -> Result<()> {
    for Wallet { address, role, spendable } in wallets {
        let check = format!("network {network}: SOL of {role} {address}");
        let is_short = problems.iter().any(|problem| match problem {
            KeyProblem::FeePayerEmpty { address: of, .. } | KeyProblem::FeePayerLow { address: of, .. } => {
                of == address
            }
            KeyProblem::AuthorityRotated { .. } | KeyProblem::SignerUnavailable { .. } => false,
        });
        let lamports = spendable.unwrap_or(0);
        let found = format!("{}.{:09} SOL to spend", lamports / LAMPORTS, lamports % LAMPORTS);
        if is_short {
            findings.not_ok(check, found, format!("send SOL to {address}"))?;
        } else {
            findings.ok(check, found)?;
        }
    }
    Ok(())
}

/// Checks the keys that other services keep; the log beside it says what is wrong with them.
fn look_at_signers(network: Network, problems: &[KeyProblem], findings: &mut Findings) -> Result<()> {
    for problem in problems {
        if let KeyProblem::SignerUnavailable { address, role } = problem {
            findings.not_ok(
                format!("network {network}: signer of {role} {address}"),
                "does not answer, refuses us, or holds another key",
                "check that its service runs and can be reached, that its credential is valid and may read the key, and that \
                 `public_key` is the key's: docs/run/keys.md, Keys that another service keeps",
            )?;
        }
    }
    Ok(())
}

const LAMPORTS: u64 = 1_000_000_000;

async fn within<T>(asked: impl Future<Output = Result<T, ChainError>>) -> Result<T, ChainError> {
    let slow = |_| Err(ChainError::Unavailable { during: "doctor", reason: "timeout".into() });
    timeout(PATIENCE, asked).await.unwrap_or_else(slow)
}
