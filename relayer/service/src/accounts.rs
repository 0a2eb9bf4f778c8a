mod halt_actions;
mod list;

pub use self::list::{count, known, list, named};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use self::halt_actions::name_halt_actions;
use super::allowlist::resolve;
use super::error::{Resource, ServiceError, after_sending};
use super::last_seen::SeenAccount;
use super::reads::{CREATED_SECONDS_MIN, addresses, find_account, read_operator, window_now};
use crate::audit_scope::AuditScope;
use crate::parts::finish;
use crate::{Inside, policies};
use purser_base::crash_point::crash_point;
use purser_chain::{AccountBounds, AgentAddresses, AgentCreation, AgentOnChain};
use purser_model::{
    Account, AccountChange, AccountId, AccountStatus, ActionId, ApprovalRule, Balance, BudgetId,
    Counterparties, CreateAccount, DuplicateRule, Halt, HaltedBy, Operator, PolicyUpdate, Principal,
    SeededRandom, SpendingPolicy, Timestamp, UsdcAmount, new_agent_id,
};
use purser_policy::Warning;
use purser_store::StoreError;

/// Rows read per batch, and the most batches read, to fill one filtered page.
const BATCH_ROWS: u32 = 100;
const BATCHES_MAX: usize = 10;
/// An account creation that has left no trace on the chain after this long can no longer land.
const PROVISIONING_TIMEOUT: Duration = Duration::from_secs(180);
/// A request may still be waiting for a creation that was asked for less than this ago.
const CREATION_SECONDS_MAX: i64 = 60;
/// How many ids an account may be tried under: something may stand at the address of one already.
const IDS_MAX: u32 = 3;
/// Most allowlist entries a new account can start with: as many as fit the transaction that creates it.
const ENTRIES_MAX: usize = 15;

/// The request parameter that holds a new account's policy.
const POLICY: &str = "policy";

/// An account with its current state on the chain.
#[derive(Debug, Clone)]
pub struct AccountView {
    pub account: Account,
    pub balance: UsdcAmount,
    /// When it held that balance.
    pub as_of: Timestamp,
    /// Paused by its policy, or halted. `None` when the chain does not answer, unless it was paused when last seen.
    pub status: Option<AccountStatus>,
    /// A halt, which is separate from the policy's pause.
    pub halt: Option<Halt>,
    /// The action on record that it was, as far as is known; `None` for agents.
    pub halt_action: Option<ActionId>,
    /// What left in the last 24 hours; `None` when the chain does not answer.
    pub spent: Option<UsdcAmount>,
    /// `None` for agents, who see their limits instead, and when the chain does not answer.
    pub policy: Option<SpendingPolicy>,
    /// The budget that it pays through, as far as the chain answers.
    pub budget: Option<BudgetId>,
    /// How this process saw it last, where the chain does not answer now.
    pub seen: Option<Arc<SeenAccount>>,
    /// Rules of the policy that can never match. Looked for when the account is created.
    pub warnings: Option<Vec<Warning>>,
}

/// Creates an account with its policy. It becomes visible only once it is on the chain. The work runs to its end
/// even when the caller leaves. With `drawn` from a request's name, repeating the call gives the same account.
/// Invalid: an allowlist that a new account cannot start with.
pub async fn create(
    inside: &Arc<Inside>,
    operator: Operator,
    asked: CreateAccount,
    drawn: Option<SeededRandom>,
    scope: &AuditScope,
) -> Result<AccountView, ServiceError> {
    let work = {
        let (inside, scope) = (inside.clone(), scope.clone());
        async move {
            let mut drawn = drawn;
            for _ in 0..IDS_MAX {
                if let Some(made) = provision(&inside, &operator, &asked, drawn.clone(), &scope).await? {
                    return Ok(warned(&inside, &operator, made).await);
                }
                drawn = drawn.map(SeededRandom::next);
            }
            Err(ServiceError::Internal)
        }
    };
    finish(&inside.tasks, work).await
}

/// Adds the warnings about the policy of a new account.
async fn warned(inside: &Arc<Inside>, operator: &Operator, view: AccountView) -> AccountView {
    let warnings = match &view.policy {
        Some(policy) => {
            policies::warnings(inside, operator, &view.account, policy, &AccountBounds::default()).await
        }
        None => Vec::new(),
    };
    AccountView { warnings: Some(warnings), ..view }
}

/// `None`: USDC lies at the address of its id, or an account was closed there. Another id may do.
async fn provision(
    inside: &Arc<Inside>,
    operator: &Operator,
    asked: &CreateAccount,
    drawn: Option<SeededRandom>,
    scope: &AuditScope,
) -> Result<Option<AccountView>, ServiceError> {
    let Inside { chains, clock, .. } = &**inside;
    let chain = &chains.get(operator.network)?.chain;
    let agent_id = match &drawn {
        Some(drawn) => new_agent_id(drawn.at, drawn.id_bits),
        None => new_agent_id(clock.now(), clock.id_bits()),
    };
    let AgentAddresses { agent, token_account } = chain.addresses_of(&operator.address, agent_id);
    let id = chain.account_id_of(&agent)?;
    scope.makes(id);
    if drawn.is_some()
        && let Some(account) = inside.store.accounts.find_account(operator.id, id).await?
    {
        return look_at(inside, operator, account).await.map(Some);
    }
    // Nothing was sent to the chain yet, so the caller may simply retry when it is unavailable.
    let on_chain = read_operator(chains, operator).await?;
    let policy = begin_with(inside, operator, &asked.policy).await?;
    let now = clock.now();
    let halt = Halt::of(on_chain.halted_by, None);
    let status = AccountStatus::from_paused(policy.paused || halt.is_some());
    let account = Account {
        id,
        operator_id: operator.id,
        name: asked.name.clone(),
        metadata: asked.metadata.clone(),
        tags: asked.tags.clone().unwrap_or_default(),
        address: agent,
        token_account,
        status,
        allowlist_entries: policy.allowlist.len() as u64,
        duplicates: DuplicateRule::AsAsked,
        approvals: ApprovalRule::On,
        create_token_accounts: false,
        created_at: now,
    };
    let is_asked_again =
        drawn.is_some() && inside.store.accounts.mark_account_asked_again(operator.id, id, now).await?;
    if is_asked_again && let Some(made) = find_made(inside, operator, &account).await? {
        return Ok(Some(made));
    }
    if !is_asked_again {
        write_down(inside, &account).await?;
    }
    let created = match chain.recorded(scope).create_agent(&on_chain, agent_id, &policy).await {
        Ok(created) => created,
        Err(error) => {
            let is_taken = error.is_address_taken();
            // Otherwise the row stays: it is invisible, and reconciling finishes or clears it.
            if (is_taken || error.is_before_anything()) && !is_asked_again {
                inside.store.accounts.delete_requested_account(operator.id, id, now).await?;
            }
            return if is_taken { Ok(None) } else { Err(after_sending(error)) };
        }
    };
    if let AgentCreation::Created(confirmed) = &created {
        scope.landed(confirmed);
    }
    crash_point!("account.created");
    inside.store.accounts.mark_account_ready(operator.id, id).await?;
    if matches!(created, AgentCreation::AlreadyThere) {
        return look_at(inside, operator, account).await.map(Some);
    }
    Ok(Some(AccountView {
        account,
        balance: UsdcAmount::ZERO,
        as_of: clock.now(),
        status: Some(status),
        halt,
        halt_action: None,
        spent: Some(UsdcAmount::ZERO),
        policy: Some(policy),
        budget: None,
        seen: None,
        warnings: None,
    }))
}

/// An account that an earlier try put on the chain; this marks it ready.
async fn find_made(
    inside: &Arc<Inside>,
    operator: &Operator,
    account: &Account,
) -> Result<Option<AccountView>, ServiceError> {
    match look_at(inside, operator, account.clone()).await {
        Ok(view) => {
            inside.store.accounts.mark_account_ready(operator.id, view.account.id).await?;
            Ok(Some(view))
        }
        Err(ServiceError::NotFound(Resource::Account)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The policy that an account is created with.
async fn begin_with(
    inside: &Arc<Inside>,
    operator: &Operator,
    asked: &PolicyUpdate,
) -> Result<SpendingPolicy, ServiceError> {
    let open = SpendingPolicy::default();
    let Some(listed) = &asked.allowed_counterparties else { return Ok(asked.merge(None, &open)) };
    let resolved = resolve(inside, operator, listed, &open.allowlist).await;
    let allowed = resolved.map_err(|error| match error {
        ServiceError::Invalid(invalid) => invalid.within(POLICY).into(),
        other => other,
    })?;
    if allowed.len() > ENTRIES_MAX {
        let message = format!(
            "may have at most {ENTRIES_MAX} entries in a new account; create it without them and PUT the policy \
             afterwards"
        );
        return Err(Counterparties::invalid(message).within(POLICY).into());
    }
    Ok(asked.merge(Some(allowed), &open))
}

async fn write_down(inside: &Arc<Inside>, account: &Account) -> Result<(), ServiceError> {
    let inserted = inside.store.accounts.insert_account_within(account, inside.quotas).await;
    if let Err(StoreError::QuotaExceeded(_)) = &inserted {
        inside.full.lock().insert(account.operator_id);
    }
    Ok(inserted?)
}

/// One account. NotFound: unknown or another operator's. Forbidden: an agent key of another account.
pub async fn get(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
) -> Result<AccountView, ServiceError> {
    let account = find_account(&inside.store.accounts, principal, id).await?;
    let view = look_at(inside, principal.operator(), account).await?;
    Ok(match principal {
        Principal::Operator { .. } => view,
        Principal::Agent { .. } => AccountView { policy: None, halt_action: None, ..view },
    })
}

async fn look_at(
    inside: &Arc<Inside>,
    operator: &Operator,
    account: Account,
) -> Result<AccountView, ServiceError> {
    let as_of = inside.clock.now();
    let (on_chain, agent, now) = tokio::try_join!(
        inside.read_limiter.read_operator(&inside.chains, operator),
        inside.read_limiter.read_agent(&inside.chains, operator, &account),
        window_now(&inside.chains, &inside.clock, operator)
    )?;
    let mut view = view(inside, (operator, on_chain.halted_by), account, agent, (as_of, now));
    name_halt_actions(inside, operator.id, std::slice::from_mut(&mut view)).await?;
    Ok(view)
}

/// Changes name, metadata, tags and rules. NotFound: unknown or another operator's. Invalid: the metadata would be too large.
pub async fn update(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    change: AccountChange,
    _: &AuditScope,
) -> Result<AccountView, ServiceError> {
    let account = inside.store.accounts.find_account(operator.id, id).await?;
    let account = account.ok_or(ServiceError::NotFound(Resource::Account))?;
    // Read before writing, so a caller who is answered that the chain is unavailable can safely repeat the request.
    let view = look_at(inside, operator, account).await?;
    let account = inside.store.accounts.update_account(&view.account, &change).await??;
    Ok(AccountView { account, ..view })
}

/// The balance of one account, read from its token account now. Errors as [`get`].
pub async fn balance(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
) -> Result<Balance, ServiceError> {
    let account = find_account(&inside.store.accounts, principal, id).await?;
    let agent = inside.read_limiter.read_agent(&inside.chains, principal.operator(), &account).await?;
    Ok(Balance {
        account_id: account.id,
        balance_usdc: agent.balance.into(),
        last_updated: inside.clock.now(),
    })
}

/// Reads and remembers these accounts, of an operator that was halted so at that time. Returns the budgets that they name.
pub(super) async fn look_at_many(
    inside: &Arc<Inside>,
    operator: &Operator,
    (halted_by, halt_read_at): (Option<HaltedBy>, Timestamp),
    accounts: Vec<Account>,
) -> Result<HashSet<BudgetId>, ServiceError> {
    let as_of = inside.clock.now().min(halt_read_at);
    let now = window_now(&inside.chains, &inside.clock, operator).await?;
    let agents = read_many(inside, operator, &accounts).await?;
    let mut budgets = HashSet::new();
    for (account, agent) in accounts.into_iter().zip(agents) {
        let id = account.id;
        match agent {
            Some(agent) => {
                budgets.extend(view(inside, (operator, halted_by), account, agent, (as_of, now)).budget)
            }
            None => inside.last_seen.forget_account(id),
        }
    }
    Ok(budgets)
}

/// An account as it was just read, which is remembered.
fn view(
    inside: &Arc<Inside>,
    (operator, halted_by): (&Operator, Option<HaltedBy>),
    account: Account,
    agent: AgentOnChain,
    (as_of, now): (Timestamp, i64),
) -> AccountView {
    let halt = Halt::of(halted_by, agent.halted_by);
    let seen = SeenAccount {
        at: as_of,
        operator_id: operator.id,
        network: operator.network,
        status: AccountStatus::from_paused(agent.policy.paused || halt.is_some()),
        halt,
        spent: agent.window.spent(now),
        budget: agent.bounds().budget,
        policy: agent.policy,
    };
    inside.last_seen.note_account(account.id, seen.clone());
    AccountView {
        account,
        balance: agent.balance,
        as_of,
        status: Some(seen.status),
        halt,
        halt_action: None,
        spent: Some(seen.spent),
        policy: Some(seen.policy),
        budget: seen.budget,
        seen: None,
        warnings: None,
    }
}

async fn read_many(
    inside: &Arc<Inside>,
    operator: &Operator,
    accounts: &[Account],
) -> Result<Vec<Option<AgentOnChain>>, ServiceError> {
    if accounts.is_empty() {
        return Ok(Vec::new());
    }
    let addresses: Vec<_> = accounts.iter().map(addresses).collect();
    let chain = inside.chain(operator.network)?;
    Ok(chain.read_agents(&addresses).await?)
}

/// Accounts that the operator's admin has closed on the chain stop counting towards its quota.
async fn find_closed(inside: &Arc<Inside>, operator: &Operator, now: Timestamp) -> Result<(), ServiceError> {
    // Nodes may not show recently created accounts yet.
    let before = Timestamp::from_unix_seconds(now.unix_seconds() - CREATED_SECONDS_MIN);
    let mut after = None;
    loop {
        let counted =
            inside.store.accounts.list_counted_accounts(operator.id, before, after, BATCH_ROWS).await?;
        let Some(last) = counted.last() else { return Ok(()) };
        after = Some(last.id);
        let agents = read_many(inside, operator, &counted).await?;
        let is_closed = counted.iter().zip(&agents).filter(|(_, agent)| agent.is_none());
        let closed: Vec<AccountId> = is_closed.map(|(account, _)| account.id).collect();
        inside.store.accounts.mark_accounts_closed(operator.id, &closed).await?;
    }
}

/// One pass: shows accounts that have reached the chain, and forgets those that can no longer get there.
pub(super) async fn reconcile(inside: &Arc<Inside>) -> Result<(), ServiceError> {
    let full = std::mem::take(&mut *inside.full.lock());
    for operator in full {
        let found = inside.store.operators.find_operator(operator).await?.ok_or(ServiceError::Internal)?;
        find_closed(inside, &found, inside.clock.now()).await?;
    }
    let now = inside.clock.now();
    let before = Timestamp::from_unix_seconds(now.unix_seconds() - CREATION_SECONDS_MAX);
    for account in inside.store.accounts.list_requested_accounts(before, BATCH_ROWS).await? {
        let operator =
            inside.store.operators.find_operator(account.operator_id).await?.ok_or(ServiceError::Internal)?;
        let Ok(network) = inside.chains.get(operator.network) else { continue };
        let on_chain = network.chain.read_agents(&[addresses(&account)]).await?;
        if on_chain.iter().any(Option::is_some) {
            inside.store.accounts.mark_account_ready(operator.id, account.id).await?;
            tracing::info!(account_id = %account.id, "finished creating an account that was interrupted");
        } else if account.created_at.after(PROVISIONING_TIMEOUT) < now {
            inside
                .store
                .accounts
                .delete_requested_account(operator.id, account.id, account.created_at)
                .await?;
            tracing::info!(account_id = %account.id, "removed an account that never reached the chain");
        }
    }
    Ok(())
}
