//! A chain of the test's own, as an audit would have saved it: transactions signed for real, logs, balances and accounts as a
//! program leaves them that lets everything pass. So whatever breaks a rule is consistent in all but the rule.
//!
//! | Room | What it is for |
//! |---|---|
//! | `keys`, `policies`, `payments`, `beside` | what happens on it |
//! | `lands` | what a node keeps of a transaction |
//! | `cheats` | what a node hides, or a directory's maker changes |
//! | [`auditor`], `page` | others who audit the same directory, and come to the same |

pub mod auditor;
mod beside;
mod cheats;
mod keys;
mod lands;
pub mod page;
mod payments;
mod policies;

use std::collections::BTreeMap;
use std::path::Path;

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytemuck::Zeroable;
use purser::state::{Agent, Approver, Budget, ClosedAgent, Grant, Operator};
use purser_audit::archive::{Archive, Line, Manifest, SavedAccount, Snapshot};
use purser_audit::check::Check;
use purser_audit::folder::archive_in;
use purser_audit::report::{Report, Verdict};
use purser_audit::{AuditError, Request, Source, audit};
use purser_client::{Deployment, OnChainPolicy, OwnedAllowlist, UPGRADEABLE_LOADER};
use purser_policy::{Limit, TagBucket, UsdcAmount};
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tempfile::TempDir;

pub use payments::Paying;

pub const MICROS: u64 = 1_000_000;
const MINT: Pubkey = Pubkey::new_from_array([77; 32]);
const CLOCK: Pubkey = Pubkey::from_str_const("SysvarC1ock11111111111111111111111111111111");
const SYSVARS: Pubkey = Pubkey::from_str_const("Sysvar1111111111111111111111111111111111111");
/// A wallet that is paid.
pub const PAYEE: Pubkey = Pubkey::new_from_array([88; 32]);
/// Later than any clock that runs this test.
pub const BEGIN: i64 = 4_000_000_000;
/// The committed build.
const PROGRAM: &[u8] = include_bytes!("../../../programs/purser/idl/purser.so");

pub struct TestChain {
    pub folder: TempDir,
    archive: Archive,
    at: Deployment,
    pub admin: Keypair,
    pub policy_key: Keypair,
    pub transfer_key: Keypair,
    pub operator: Pubkey,
    pub agent: Pubkey,
    operator_state: Operator,
    agent_state: Agent,
    tail: Vec<u8>,
    buckets: Vec<TagBucket>,
    /// What stands at its address after it was closed.
    closed: Option<ClosedAgent>,
    pub now: i64,
    slot: u64,
    balance: u64,
    of_operator: Vec<Line>,
    of_agent: Vec<Line>,
    of_purse: Vec<Line>,
    /// Heads of refusals, by the key that signed them.
    of_keys: BTreeMap<Pubkey, Vec<Line>>,
    next_tag: u64,
    /// The one budget.
    budget: Budget,
    /// Whether it was made.
    has_budget: bool,
    /// Token accounts of wallets that are paid elsewhere than at their associated ones.
    elsewhere: BTreeMap<Pubkey, Pubkey>,
    /// The one grant.
    grant: Option<Grant>,
    approver: Option<Approver>,
}

impl TestChain {
    /// An operator with one account under this policy, that holds 1,000,000 USDC. Loosened policies wait `delay` seconds.
    pub fn new(policy: &OnChainPolicy, delay: u32) -> Self {
        Self::begun_at(BEGIN, policy, delay)
    }

    /// Such a chain that begins at this Unix second.
    pub fn begun_at(now: i64, policy: &OnChainPolicy, delay: u32) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let archive = archive_in(folder.path()).expect("the folder is writable");
        let at = Deployment { program: purser::ID, usdc_mint: MINT };
        let [admin, policy_key, transfer_key] = [1, 2, 3].map(|byte| Keypair::new_from_array([byte; 32]));
        let operator = at.operator_address(&admin.pubkey(), 1);
        let mut chain = Self {
            folder,
            archive,
            at,
            operator,
            agent: at.agent_address(&operator, &[9; 16]),
            admin,
            policy_key,
            transfer_key,
            operator_state: Operator::zeroed(),
            agent_state: Agent::zeroed(),
            tail: Vec::new(),
            buckets: Vec::new(),
            closed: None,
            now,
            slot: 100,
            balance: 0,
            of_operator: Vec::new(),
            of_agent: Vec::new(),
            of_purse: Vec::new(),
            of_keys: BTreeMap::new(),
            next_tag: 1,
            has_budget: false,
            elsewhere: BTreeMap::new(),
            grant: None,
            approver: None,
            budget: Budget::zeroed(),
        };
        chain.creates_operator(delay);
        let key = chain.policy_key.insecure_clone();
        chain.creates_agent(policy, &key);
        chain.deposits(1_000_000 * MICROS);
        chain
    }

    /// The newest slot.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    pub fn mint(&self) -> Pubkey {
        MINT
    }

    /// The USDC account of a wallet that is paid.
    pub fn purse_of(&self, owner: &Pubkey) -> Pubkey {
        self.elsewhere.get(owner).copied().unwrap_or_else(|| self.at.token_account(owner))
    }

    /// From now on a wallet is paid in another token account of its own.
    pub fn moves_to(&mut self, owner: Pubkey, token_account: Pubkey) {
        self.elsewhere.insert(owner, token_account);
    }

    /// Audits it all. The report says which checks do not hold.
    pub fn audited(&self) -> Report {
        self.saves();
        audited(self.folder.path())
    }

    /// Writes down lists and accounts, as an audit would have saved them.
    pub fn saves(&self) {
        let account = |data: Vec<u8>, owner: Pubkey| Snapshot {
            slot: self.slot,
            account: Some(SavedAccount { owner: owner.to_string(), data: STANDARD.encode(data) }),
        };
        let save = |address: Pubkey, snapshot: Snapshot| {
            self.archive.save_account(&address, &snapshot).expect("the folder is writable");
        };
        let operator = [Operator::DISCRIMINATOR, bytemuck::bytes_of(&self.operator_state)].concat();
        assert!(Operator::read(&operator).is_some(), "in the program's layout");
        let (agent, buckets) = (bytemuck::bytes_of(&self.agent_state), bytemuck::cast_slice(&self.buckets));
        let agent = [Agent::DISCRIMINATOR, agent, &self.tail, buckets].concat();
        let purse = self.at.token_account(&self.agent);
        let mut token =
            [MINT.as_array().as_slice(), self.agent.as_array(), &self.balance.to_le_bytes()].concat();
        token.resize(165, 0);
        // Initialised.
        token[108] = 1;
        save(self.operator, account(operator, purser::ID));
        let closed =
            self.closed.as_ref().map(|it| [ClosedAgent::DISCRIMINATOR, bytemuck::bytes_of(it)].concat());
        let is_closed = closed.is_some();
        save(self.agent, account(closed.unwrap_or(agent), purser::ID));
        let purse_stands = account(token, anchor_spl_token());
        // One that is closed holds nothing until somebody makes it anew.
        let none = Snapshot { slot: self.slot, account: None };
        save(purse, if is_closed && self.balance == 0 { none } else { purse_stands });
        let data_at = Pubkey::find_program_address(&[purser::ID.as_ref()], &UPGRADEABLE_LOADER).0;
        let program = [&2_u32.to_le_bytes(), data_at.as_array().as_slice()].concat();
        save(purser::ID, account(program, UPGRADEABLE_LOADER));
        // In slot 0, and nobody may replace it.
        let header = [&3_u32.to_le_bytes()[..], &[0; 41]].concat();
        save(data_at, account([&header, PROGRAM].concat(), UPGRADEABLE_LOADER));
        self.archive.save_signatures(&data_at, &[]).expect("the folder is writable");
        let clock = [&self.slot.to_le_bytes()[..], &[0; 24], &self.now.to_le_bytes()].concat();
        save(CLOCK, account(clock, SYSVARS));
        save(self.at.draft_address(&self.agent), Snapshot { slot: self.slot, account: None });
        let beside = self.beside();
        for (address, data) in &beside {
            save(*address, account(data.clone(), purser::ID));
        }
        let newest_first = |lines: &[Line]| lines.iter().rev().cloned().collect::<Vec<_>>();
        for (address, lines) in
            [(self.operator, &self.of_operator), (self.agent, &self.of_agent), (purse, &self.of_purse)]
        {
            self.archive.save_signatures(&address, &newest_first(lines)).expect("the folder is writable");
        }
        for (address, lines) in &self.of_keys {
            self.archive.save_signatures(address, &newest_first(lines)).expect("the folder is writable");
        }
        let manifest = Manifest {
            version: 0,
            genesis_hash: Pubkey::default().to_string(),
            program: purser::ID.to_string(),
            operator: self.operator.to_string(),
            account: None,
            until_slot: self.slot,
            until_time: Some(self.now),
            agents: vec![self.agent.to_string()],
            standing: Some(vec![self.agent.to_string()]),
            beside: beside.iter().map(|(address, _)| address.to_string()).collect(),
            is_within_slot: false,
            contradictions: None,
            is_whole: true,
        };
        self.archive.finish(manifest).expect("the folder is writable");
    }
}

/// Audits a directory.
pub fn audited(folder: &Path) -> Report {
    tried(folder).expect("it can be done")
}

/// Audits a directory, if that can be done. The page says the same, and so does an auditor of somebody else's hands.
pub fn tried(folder: &Path) -> Result<Report, AuditError> {
    let request = Request { source: Source::Saved(folder.to_owned()), api: None, explorer: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let audited = runtime.block_on(audit(request, &|_| {}));
    auditor::says_the_same(folder, &audited);
    page::says_the_same(folder, &audited);
    audited
}

fn anchor_spl_token() -> Pubkey {
    Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
}

/// At most 10 USDC at once, 30 in a day, to the payee alone, with a memo.
pub fn strict() -> OnChainPolicy {
    let usdc = |amount: u64| Limit::AtMost(UsdcAmount::from_micros(amount * MICROS));
    OnChainPolicy {
        max_single_transfer: usdc(10),
        max_daily_spend: usdc(30),
        require_memo: true,
        allowlist: OwnedAllowlist::only(vec![PAYEE.to_bytes()], Vec::new()),
        ..OnChainPolicy::default()
    }
}

/// The checks that do not hold.
pub fn broken(report: &Report) -> Vec<Check> {
    let fails = report.checks.iter().filter(|check| check.result == Verdict::DoesNotHold);
    assert_eq!(report.holds, fails.clone().count() == 0);
    fails.map(|check| check.check).collect()
}

/// What a check found.
pub fn found(report: &Report, check: Check) -> String {
    let check = report.checks.iter().find(|it| it.check == check).expect("every check is reported");
    check.findings.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join("\n")
}
