//! The life of one operator and one agent under one set of random keys, each instruction measured on the way.

use sha2::{Digest, Sha256};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;

use crate::cu::bench::Bench;
use crate::cu::instructions::{Addresses, Allowlist, Policy};
use crate::error::{Error, Result};

const DAY_SECONDS: i64 = 86_400;
const USDC: u64 = 1_000_000;
/// Spans of the spend window, and so transfers until it is full.
const SPANS: u64 = 32;
const ALL_RULES_ENTRIES: usize = 32;
const ENTRIES_MAX: usize = 256;
/// What fits one `write_draft` transaction with room to spare.
const ENTRIES_A_WRITE: usize = 25;
/// What fits one `set_policy` transaction.
const ENTRIES_INLINE: usize = 20;
const MEMO_20_CHARACTERS: &str = "invoice 2025-000042!";
/// Where an agent account keeps its window: newest second i64, span count u64, then spans (u32, u32, amount u64).
const WINDOW_OFFSET: usize = 120;

/// Everything that is random, from a seed: the same seed gives the same figures.
pub struct Random {
    seed: u64,
    set: u64,
}

impl Random {
    pub fn new(seed: u64, set: u64) -> Self {
        Self { seed, set }
    }

    fn bytes(&self, label: &str) -> [u8; 32] {
        let hash = Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update(self.set.to_le_bytes());
        hash.chain_update(label).finalize().into()
    }

    fn keypair(&self, label: &str) -> Keypair {
        Keypair::new_from_array(self.bytes(label))
    }

    fn address(&self, label: &str) -> Pubkey {
        self.keypair(label).pubkey()
    }

    fn number(&self, label: &str) -> u64 {
        let bytes = self.bytes(label);
        bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// `count` addresses and `with`, sorted by bytes as the program wants them.
    fn allowlist(&self, count: usize, with: Pubkey) -> Vec<Pubkey> {
        let mut entries: Vec<Pubkey> =
            (1..count).map(|index| Pubkey::new_from_array(self.bytes(&format!("entry {index}")))).collect();
        entries.push(with);
        entries.sort_unstable_by_key(Pubkey::to_bytes);
        entries
    }
}

pub fn run(bench: &mut Bench, random: &Random) -> Result<()> {
    let [first_admin, admin, policy, payer, guardian] =
        ["first admin", "admin", "policy authority", "transfer authority", "guardian"]
            .map(|label| random.keypair(label));
    for keypair in [&first_admin, &admin, &policy, &payer, &guardian] {
        bench.put_wallet(keypair.pubkey())?;
    }
    let (mint, id) = (random.address("mint"), random.number("operator id"));
    bench.put_mint(mint, random.address("mint authority"))?;
    let (recipient, destination) = (random.address("recipient"), random.address("destination"));
    bench.put_token_account(destination, mint, recipient, 0)?;
    let mut agent_id = [0; 16];
    agent_id.copy_from_slice(&random.bytes("agent id")[..16]);
    let at = Addresses::new(bench.program, mint, &first_admin.pubkey(), id, agent_id);

    let keys = [policy.pubkey(), payer.pubkey()];
    let create = at.create_operator(first_admin.pubkey(), id, keys, guardian.pubkey());
    bench.measure("create_operator", create, &first_admin)?;
    let keys = [policy.pubkey(), payer.pubkey(), guardian.pubkey(), admin.pubkey()];
    bench.measure("update_operator", at.update_operator(first_admin.pubkey(), keys), &first_admin)?;
    bench.measure("accept_admin", at.accept_admin(admin.pubkey()), &admin)?;
    bench.measure("set_operator_paused", at.set_operator_paused(guardian.pubkey(), true), &guardian)?;
    bench.run(at.set_operator_paused(policy.pubkey(), false), &policy)?;

    bench.measure("create_agent", at.create_agent(policy.pubkey()), &policy)?;
    bench.put_token_account(at.token_account, mint, at.agent, 1_000_000 * USDC)?;
    let pay = |after, memo: &str| at.transfer(payer.pubkey(), destination, after, USDC, memo);
    bench.measure("transfer", pay(0, ""), &payer)?;
    bench.measure("transfer_memo_800_bytes", pay(1, &"\u{1f4b8}".repeat(200)), &payer)?;
    bench.measure("set_paused", at.set_paused(guardian.pubkey(), true), &guardian)?;
    bench.run(at.set_paused(policy.pubkey(), false), &policy)?;

    policies(bench, random, &at, &policy, recipient)?;
    // The dearer of the two ways to be listed first: the wallet is looked up after the token account.
    for (round, (name, listed)) in
        [("transfer_all_rules", recipient), ("transfer_all_rules_listed_account", destination)]
            .into_iter()
            .enumerate()
    {
        let entries = random.allowlist(ALL_RULES_ENTRIES, listed);
        set_drafted_policy(bench, &at, &policy, &entries, None)?;
        if round == 0 {
            bench.advance(2 * DAY_SECONDS);
            for spend in 0..SPANS {
                bench.run(pay(2 + spend as u32, MEMO_20_CHARACTERS), &payer)?;
                bench.advance(uneven_gap_seconds(spend));
            }
        }
        let spends = SPANS + round as u64;
        require_full_window(bench, &at, spends)?;
        bench.measure(name, pay(2 + spends as u32, MEMO_20_CHARACTERS), &payer)?;
        require_full_window(bench, &at, spends + 1)?;
        bench.advance(uneven_gap_seconds(spends));
    }

    bench.advance(DAY_SECONDS);
    let rest = 1_000_000 * USDC - (2 + SPANS + 2) * USDC;
    bench.measure("withdraw", at.withdraw(admin.pubkey(), destination, rest), &admin)?;
    bench.measure("close_agent", at.close_agent(admin.pubkey()), &admin)
}

/// The same for every set of keys, so that only keys make a difference; 34 of them stay within 24 hours.
fn uneven_gap_seconds(spend: u64) -> i64 {
    2_000 + (spend * 7 % 11) as i64 * 45
}

/// Policies of several lengths, ending with the longest and then a short one.
fn policies(
    bench: &mut Bench,
    random: &Random,
    at: &Addresses,
    policy: &Keypair,
    recipient: Pubkey,
) -> Result<()> {
    let limits = |allowlist| Policy {
        max_single_transfer: Some(5 * USDC),
        max_daily_spend: Some(1_000 * USDC),
        require_memo: true,
        allowlist,
    };
    let set = |allowlist| at.set_policy(policy.pubkey(), &limits(allowlist));
    bench.measure("set_policy", set(Allowlist::Anyone), policy)?;
    let inline = random.allowlist(ENTRIES_INLINE, recipient);
    bench.measure("set_policy_20_entries", set(Allowlist::Only(&inline)), policy)?;
    bench.run(set(Allowlist::Anyone), policy)?;

    bench.measure("open_draft", at.open_draft(policy.pubkey(), ENTRIES_MAX as u16), policy)?;
    bench.measure("close_draft", at.close_draft(policy.pubkey()), policy)?;
    let longest = random.allowlist(ENTRIES_MAX, recipient);
    set_drafted_policy(bench, at, policy, &longest, Some(["write_draft", "set_policy_256_entries"]))
}

/// Stages an allowlist in a draft and sets a policy with all five rules; `measured` names the first write and the set.
fn set_drafted_policy(
    bench: &mut Bench,
    at: &Addresses,
    policy: &Keypair,
    entries: &[Pubkey],
    measured: Option<[&'static str; 2]>,
) -> Result<()> {
    bench.run(at.open_draft(policy.pubkey(), entries.len() as u16), policy)?;
    for (index, part) in entries.chunks(ENTRIES_A_WRITE).enumerate() {
        let write = at.write_draft(policy.pubkey(), (index * ENTRIES_A_WRITE) as u16, part);
        match measured {
            Some([name, _]) if index == 0 => bench.measure(name, write, policy)?,
            _ => drop(bench.run(write, policy)?),
        }
    }
    let rules = Policy {
        max_single_transfer: Some(5 * USDC),
        max_daily_spend: Some(1_000 * USDC),
        require_memo: true,
        allowlist: Allowlist::Draft,
    };
    let set = at.set_policy(policy.pubkey(), &rules);
    match measured {
        Some([_, name]) => bench.measure(name, set, policy),
        None => bench.run(set, policy).map(drop),
    }
}

/// The window must hold all spans and the sum of `spends` payments: otherwise the next figure is not what it claims.
fn require_full_window(bench: &Bench, at: &Addresses, spends: u64) -> Result<()> {
    let data = bench.data(&at.agent);
    let number = |offset: usize| {
        let bytes = data.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_le_bytes).ok_or_else(|| Error::new("the agent account has another layout"))
    };
    let spans = number(WINDOW_OFFSET + 8)?;
    let mut spent = 0;
    for span in 0..SPANS as usize {
        spent += number(WINDOW_OFFSET + 16 + 16 * span + 8)?;
    }
    if spans == SPANS && spent == spends * USDC {
        return Ok(());
    }
    Err(Error::new(format!(
        "the window holds {spans} spans and {spent} micro-USDC, not {SPANS} and {spends} USDC"
    )))
}
