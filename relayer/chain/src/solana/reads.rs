//! Reads accounts: in batches, at one slot, never older than our own last write.

use crate::history::SolanaHistory;
use crate::read::bounds;
use crate::read::decode::{self, to_address, to_pubkey};
use crate::sign::payers::{SIGNATURE_FEE, rent};
use crate::solana::SolanaChain;
use crate::{
    AddressKind, AgentAddresses, AgentOnChain, BudgetOnChain, ChainError, ChainView, Commitment,
    DraftOnChain, OperatorOnChain, SentEnd, SignatureStanding, view_of,
};
use futures::{StreamExt, TryStreamExt};
use purser_core::{BudgetState, Destination, Payer, Payment, Transfer, TransferState};
use purser_model::{AccountId, Address, SentTransaction};
use purser_policy::{PaidTags, TransferRequest};
use purser_rpc::sysvar;
use purser_rpc::wire::RawAccount;
use purser_rpc::{ACCOUNTS_MAX, STATUSES_MAX};
use solana_sdk::pubkey::Pubkey;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Account batches read concurrently.
const BATCHES_AT_ONCE: usize = 4;
/// How often an account is read until the budget that it names was read with it. One that nobody changes meanwhile: twice.
const BUDGET_READS_MAX: usize = 4;

/// What a transfer needs, or the budget that has to be read with it.
enum ViewRead {
    This(Box<ChainView>),
    Another(Option<Address>),
}

impl SolanaChain {
    /// Derives the PDA and its token account, without asking a node.
    pub fn addresses_of(&self, operator: &Address, agent_id: [u8; 16]) -> AgentAddresses {
        let (agent, token_account) = self.instructions.agent_addresses(&to_pubkey(operator), &agent_id);
        AgentAddresses { agent: to_address(&agent), token_account: to_address(&token_account) }
    }

    /// The id of an agent account. It follows from cluster and address, so that nobody can make an account with another's id.
    /// `Unavailable`: the cluster is not known yet.
    pub fn account_id_of(&self, agent: &Address) -> Result<AccountId, ChainError> {
        Ok(AccountId::from_bytes(self.account_ids()?.bytes_of(&to_pubkey(agent))))
    }

    /// `None` when nothing is there; `NotFound` when something else is. Reads our wallets' balances along with it.
    pub async fn read_operator(&self, operator: &Address) -> Result<Option<OperatorOnChain>, ChainError> {
        let key = to_pubkey(operator);
        let accounts = self.accounts_and_payers(&[key]).await?;
        match accounts.first().and_then(Option::as_ref) {
            None => Ok(None),
            // Lamports sent ahead do not create an account.
            Some(account) if account.is_blank() => Ok(None),
            Some(account) => decode::operator(&self.instructions.0.program, &key, account)
                .map(Some)
                .ok_or(ChainError::NotFound { what: "operator", address: *operator }),
        }
    }

    /// In the order asked; `None` where no agent of ours lives. Batches of 100 keys.
    pub async fn read_agents(
        &self,
        agents: &[AgentAddresses],
    ) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let batches: Vec<_> =
            agents.chunks(ACCOUNTS_MAX / 2).map(|batch| self.read_agent_batch(batch.to_vec())).collect();
        let batches: Vec<Vec<_>> =
            futures::stream::iter(batches).buffered(BATCHES_AT_ONCE).try_collect().await?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// What stands at these addresses, in the order asked.
    pub async fn read_kinds(&self, addresses: &[Address]) -> Result<Vec<AddressKind>, ChainError> {
        let keys: Vec<Pubkey> = addresses.iter().map(to_pubkey).collect();
        let mut kinds = Vec::with_capacity(keys.len());
        for keys in keys.chunks(ACCOUNTS_MAX) {
            let accounts = self.accounts(keys).await?;
            kinds
                .extend(keys.iter().zip(&accounts).map(|(key, account)| decode::kind(key, account.as_ref())));
        }
        Ok(kinds)
    }

    /// The agent's draft, complete or not.
    pub async fn read_draft(&self, agent: &Address) -> Result<Option<DraftOnChain>, ChainError> {
        self.draft_of(&to_pubkey(agent)).await
    }

    /// The budget at this address. `None`: none of this operator is.
    pub async fn read_budget(
        &self,
        operator: &Address,
        budget: &Address,
    ) -> Result<Option<BudgetOnChain>, ChainError> {
        Ok(self.budgets(operator, &[to_pubkey(budget)]).await?.into_iter().next())
    }

    /// How final a transaction of ours is that has landed. `Unknown`: a fork dropped it, or this node is behind.
    pub async fn standing(&self, signature: &str) -> Result<SignatureStanding, ChainError> {
        let standings = self.history()?.standings(&[signature.to_owned()]).await?;
        Ok(standings.each.into_iter().next().unwrap_or(SignatureStanding::Unknown))
    }

    /// How transactions ended, in the order asked. The newest of them was signed this long ago. `Unavailable`: not every node that moves
    /// answers, or none searches its history.
    pub async fn ends_of(
        &self,
        sent: &[SentTransaction],
        signed_for: Duration,
    ) -> Result<Vec<SentEnd>, ChainError> {
        // The tips are read first: a transaction that lands while we ask lands below their heights.
        let tips = self.rpc.finalized_tips().await?;
        let height = tips.lowest().block_height;
        let mut ends = Vec::with_capacity(sent.len());
        for batch in sent.chunks(STATUSES_MAX) {
            let signatures: Vec<String> = batch.iter().map(|sent| sent.signature.clone()).collect();
            let known = self.rpc.search_everywhere(&signatures, &tips).await?;
            ends.extend(batch.iter().zip(known).map(|(sent, known)| match known {
                Some((_, status)) if !status.reached(Commitment::Finalized) => SentEnd::Open,
                Some((_, status)) if status.err.is_none() => SentEnd::Landed,
                Some(_) => SentEnd::Failed,
                None if sent.last_valid_block_height < height
                    && signed_for >= self.settings.shortest_life() =>
                {
                    SentEnd::Expired
                }
                None => SentEnd::Open,
            }));
        }
        Ok(ends)
    }

    /// The mint of USDC, and an owner's token account for it. Asks no node.
    pub fn usdc_mint(&self) -> Address {
        self.settings.usdc_mint
    }

    pub fn usdc_account_of(&self, owner: &Address) -> Address {
        to_address(&self.instructions.0.token_account(&to_pubkey(owner)))
    }

    /// Returns true if a wallet cannot pay a fee and keep its rent. An address without a key signs nothing: false.
    pub async fn lacks_a_fee(&self, wallet: &Address) -> Result<bool, ChainError> {
        let key = to_pubkey(wallet);
        let found = self.rpc.accounts(&[key], 0).await?;
        let lamports = found.value.first().and_then(Option::as_ref).map_or(0, |account| account.lamports);
        Ok(key.is_on_curve() && lamports < rent(0) + SIGNATURE_FEE)
    }

    /// The history reader of the same network.
    pub fn history(&self) -> Result<SolanaHistory, ChainError> {
        Ok(SolanaHistory {
            network: self.network,
            account_ids: self.account_ids()?,
            rpc: self.rpc.clone(),
            program: self.instructions.0.program,
            usdc_mint: self.instructions.0.usdc_mint,
            commitment: self.settings.commitment,
            activity: self.activity.clone(),
            deposits: self.deposits.clone(),
        })
    }

    /// Everything needed to decide a transfer, at one slot, with the SOL of every wallet that may pay its fee, and the payment's
    /// grant, if that is asked for.
    pub async fn transfer_view(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainError> {
        let agent_key = to_pubkey(&payer.addresses.agent);
        // Which budget it names stands in the account, as it was last known or as it was read a moment ago.
        let program = &self.instructions.0.program;
        let known = self.watched.known(&agent_key);
        let agent =
            known.and_then(|account| decode::agent(program, &agent_key, &account, (&agent_key, None)));
        let mut budget = agent.and_then(|agent| agent.beyond?.budget);
        for _ in 0..BUDGET_READS_MAX {
            match self.transfer_view_through(payer, payment, with_grant, budget).await? {
                ViewRead::This(view) => return Ok(*view),
                ViewRead::Another(named) => budget = named,
            }
        }
        Err(ChainError::Unavailable { during: "transfer", reason: "the account's budget changes".into() })
    }

    /// The same, if the account pays through this budget.
    async fn transfer_view_through(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
        budget: Option<Address>,
    ) -> Result<ViewRead, ChainError> {
        let keys = transfer_keys(payer, payment);
        let [operator_key, agent_key, token_key, destination_key] = keys;
        let fixed = [operator_key, agent_key, token_key, destination_key, sysvar::CLOCK];
        let wallet_key = payment.request.to.wallet().as_ref().map(to_pubkey);
        let grant_key = with_grant.then(|| self.instructions.0.grant_address(&agent_key, payment.tag));
        let budget_key = budget.as_ref().map(to_pubkey);
        let named = fixed.iter().chain(&wallet_key).chain(&grant_key).chain(&budget_key);
        let all: Vec<Pubkey> = named.clone().chain(self.payers.keys()).copied().collect();
        let watched: Vec<Pubkey> = keys.into_iter().chain(wallet_key).collect();
        let watched = self.watched.live(&watched);
        let mut read = self.rpc.accounts(&all, self.written_slot()).await?;
        let unreadable = |reason: &str| ChainError::Unavailable { during: "transfer", reason: reason.into() };
        self.payers.saw(&read.value.split_off(named.count().min(read.value.len())));
        let budget_account = budget_key.and_then(|_| read.value.pop()).flatten();
        let grant_account = grant_key.and_then(|_| read.value.pop()).flatten();
        let wallet_account = wallet_key.and_then(|_| read.value.pop()).flatten();
        let Ok([operator_account, agent_account, token_account, destination_account, clock]) =
            <[Option<RawAccount>; 5]>::try_from(read.value)
        else {
            return Err(unreadable("unreadable answer"));
        };
        let clock_data = clock.as_ref().map(|account| account.data.as_slice());
        let now = clock_data
            .and_then(sysvar::unix_timestamp)
            .ok_or_else(|| unreadable("no clock in the answer"))?;
        self.clock.time_seen(read.slot, now);
        let accounts = [operator_account, agent_account, token_account, destination_account];
        for (key, account) in keys.iter().zip(&accounts).chain(wallet_key.iter().zip([&wallet_account])) {
            if let Some(account) = account.as_ref().filter(|_| watched.contains(key)) {
                self.watched.read(key, account.clone(), read.slot);
            }
        }
        let (operator, agent, destination) =
            self.decoded(payer, payment, accounts.each_ref().map(Option::as_ref), wallet_account.as_ref())?;
        self.note_room(&agent, 0, now);
        let named = agent.beyond.and_then(|beyond| beyond.budget);
        if named != budget {
            return Ok(ViewRead::Another(named));
        }
        let program = &self.instructions.0.program;
        let granted = grant_key.and_then(|grant_key| {
            let Destination::TokenAccount { owner } = destination else { return None };
            let [operator_account, agent_account, ..] = &accounts;
            let found = [operator_account.as_ref()?, agent_account.as_ref()?, grant_account.as_ref()?];
            let payment = TransferRequest {
                tag: payment.tag,
                asked_at: payment.asked_at.unwrap_or(now),
                amount: payment.request.amount,
                memo: payment.request.memo().as_bytes(),
                recipient: payment.destination.as_bytes(),
                recipient_owner: owner.as_bytes(),
            };
            decode::granted(program, &grant_key, found, &agent_key, &payment, now)
        });
        let budget = budget_key.map(|key| {
            let [operator_account, ..] = &accounts;
            let found =
                operator_account.as_ref().zip(budget_account.as_ref()).and_then(|(operator, account)| {
                    bounds::budget(program, &key, (&operator_key, operator), account, now)
                });
            found.map_or_else(|| BudgetState::closed(to_address(&key)), |found| found.state)
        });
        Ok(ViewRead::This(Box::new(view_of(operator, agent, destination, (granted, budget), now))))
    }

    /// For each transfer that waits for a person: whether its grant was opened, it was paid, or the account is not as it was when the person
    /// was asked.
    pub async fn changed_approvals(&self, waiting: &[(Payer, Transfer)]) -> Result<Vec<bool>, ChainError> {
        let program = &self.instructions.0.program;
        let grant_of = |payer: &Payer, transfer: &Transfer| {
            self.instructions.0.grant_address(&to_pubkey(&payer.addresses.agent), transfer.id.tag())
        };
        let payers: BTreeMap<Address, AgentAddresses> =
            waiting.iter().map(|(payer, _)| (payer.addresses.agent, payer.addresses)).collect();
        let agents: Vec<AgentAddresses> = payers.into_values().collect();
        let agents = self.read_agents(&agents).await?.into_iter().flatten();
        let agents: BTreeMap<Address, AgentOnChain> = agents.map(|agent| (agent.address, agent)).collect();
        let operators = waiting.iter().map(|(payer, _)| to_pubkey(&payer.operator));
        let grants = waiting.iter().map(|(payer, transfer)| grant_of(payer, transfer));
        let keys: Vec<Pubkey> = operators.chain(grants).collect::<BTreeSet<_>>().into_iter().collect();
        let mut found = BTreeMap::new();
        for keys in keys.chunks(ACCOUNTS_MAX) {
            found.extend(keys.iter().copied().zip(self.accounts(keys).await?));
        }
        let account = |key: &Pubkey| found.get(key).and_then(Option::as_ref);
        let is_unchanged = |payer: &Payer, transfer: &Transfer| {
            let TransferState::PendingApproval(wanted) = &transfer.state else { return Some(false) };
            let operator_key = to_pubkey(&payer.operator);
            let operator = decode::operator(program, &operator_key, account(&operator_key)?)?;
            let agent = agents.get(&payer.addresses.agent)?;
            let is_halted = operator.halted_by.or(agent.halted_by).is_some();
            // Lamports that somebody sent there are no grant.
            let grant = account(&grant_of(payer, transfer)).filter(|grant| grant.owner == *program);
            let is_paid = PaidTags(&agent.tags).entries().any(|(tag, _)| tag == transfer.id.tag());
            let holds = wanted.holds(is_halted, agent.policy.paused, agent.policy_version);
            Some(grant.is_none() && !is_paid && holds)
        };
        Ok(waiting.iter().map(|(payer, transfer)| is_unchanged(payer, transfer) != Some(true)).collect())
    }

    /// [`Self::transfer_view`] from the accounts that the websocket keeps up to date, counting our transfers in flight. Not for accounts that pay
    /// through a budget: others pay through it too.
    pub fn known_transfer_view(&self, payer: &Payer, payment: &Payment<'_>) -> Option<ChainView> {
        let accounts = self.watched.get(&transfer_keys(payer, payment))?;
        let wallet = match payment.request.to.wallet() {
            // Whether it is a wallet has to be known, too.
            Some(wallet) => self.watched.get(&[to_pubkey(&wallet)])?.into_iter().next(),
            None => None,
        };
        let now = self.clock.estimate()?;
        let accounts = accounts.each_ref().map(Some);
        let (operator, mut agent, destination) =
            self.decoded(payer, payment, accounts, wallet.as_ref()).ok()?;
        if agent.beyond.is_some_and(|beyond| beyond.budget.is_some()) {
            return None;
        }
        let in_flight = self.transfers_in_flight.count_in(&mut agent, now);
        self.note_room(&agent, in_flight, now);
        Some(view_of(operator, agent, destination, (None, None), now))
    }

    /// Operator, agent and destination, if they are what they should be.
    fn decoded(
        &self,
        payer: &Payer,
        payment: &Payment<'_>,
        accounts: [Option<&RawAccount>; 4],
        wallet_account: Option<&RawAccount>,
    ) -> Result<(OperatorOnChain, AgentOnChain, Destination), ChainError> {
        let program = &self.instructions.0.program;
        let [operator_key, agent_key, token_key, destination_key] = transfer_keys(payer, payment);
        let [operator_account, agent_account, token_account, destination_account] = accounts;
        let operator = operator_account
            .and_then(|account| decode::operator(program, &operator_key, account))
            .ok_or(ChainError::NotFound { what: "operator", address: payer.operator })?;
        let agent = agent_account
            .and_then(|account| decode::agent(program, &agent_key, account, (&token_key, token_account)))
            .filter(|found| found.operator == payer.operator)
            .ok_or(ChainError::NotFound { what: "agent", address: payer.addresses.agent })?;
        let mint = to_pubkey(&operator.usdc_mint);
        let destination = decode::destination(program, &mint, &destination_key, destination_account);
        let destination = match payment.request.to.wallet() {
            None => destination,
            Some(wallet) => {
                let wallet = (&to_pubkey(&wallet), wallet_account);
                decode::destination_of_wallet(program, &mint, wallet, destination)
            }
        };
        Ok((operator, agent, destination))
    }

    fn agent_of(
        &self,
        key: &Pubkey,
        token_key: &Pubkey,
        pair: &[Option<RawAccount>],
    ) -> Option<AgentOnChain> {
        let [Some(agent), token_account] = pair else { return None };
        decode::agent(&self.instructions.0.program, key, agent, (token_key, token_account.as_ref()))
    }

    async fn read_agent_batch(
        &self,
        agents: Vec<AgentAddresses>,
    ) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let keys: Vec<Pubkey> = agents
            .iter()
            .flat_map(|addresses| [to_pubkey(&addresses.agent), to_pubkey(&addresses.token_account)])
            .collect();
        let accounts = self.accounts(&keys).await?;
        let read = |(keys, pair): (&[Pubkey], &[Option<RawAccount>])| match keys {
            [agent, token_account] => self.agent_of(agent, token_account, pair),
            _ => None,
        };
        Ok(keys.chunks(2).zip(accounts.chunks(2)).map(read).collect())
    }
}

/// Operator, agent, source, destination.
fn transfer_keys(payer: &Payer, payment: &Payment<'_>) -> [Pubkey; 4] {
    let AgentAddresses { agent, token_account } = &payer.addresses;
    [&payer.operator, agent, token_account, &payment.destination].map(to_pubkey)
}
