//! The life of one operator and one agent with one set of random keys, measuring each instruction.

use anchor_lang::prelude::Pubkey;
use purser::state::{Agent, Operator};
use purser::{OperatorKeys, OperatorUpdate};
use purser_client::{
    Deployment, DraftAccounts, OnChainPolicy, OwnedAllowlist, Proposal, RentRefunds, Staging,
};
use purser_policy::{Limit, PaidTags, TagBucket, UsdcAmount};
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::bench::Bench;
use crate::keys::Keys;
use crate::transfers;
use crate::Result;

pub const DAY_SECONDS: i64 = 86_400;
pub const USDC: u64 = 1_000_000;
const ENTRIES_MAX: usize = 256;
/// The longer list that is measured in `set_policy` and `create_agent`.
const ENTRIES_INLINE: usize = 15;

/// One operator with one agent, and all of its keys.
pub struct Fixture {
    pub at: Deployment,
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub source: Pubkey,
    pub admin: Keypair,
    pub policy: Keypair,
    /// The first and the last of eight transfer authorities.
    pub payers: [Keypair; 2],
    /// A wallet, and its token account, which gets the payments.
    pub recipient: Pubkey,
    pub destination: Pubkey,
}

pub fn run(bench: &mut Bench, keys: &Keys) -> Result<()> {
    let fixture = begin(bench, keys)?;
    bench.put_token_account(fixture.source, fixture.at.usdc_mint, fixture.agent, 1_000_000 * USDC)?;
    fixture.give_buckets(bench)?;
    let mut paid = transfers::memos(bench, &fixture)?;
    bench.measure("set_paused", fixture.at.set_paused(fixture.accounts(), true), &fixture.policy)?;
    let as_admin = DraftAccounts { authority: fixture.admin.pubkey(), ..fixture.accounts() };
    bench.run(fixture.at.set_paused(as_admin, false), &fixture.admin)?;
    policies(bench, keys, &fixture)?;
    let no_delay = OperatorUpdate { loosening_delay_seconds: Some(0), ..OperatorUpdate::default() };
    bench.run(
        fixture.at.update_operator(fixture.admin.pubkey(), fixture.operator, no_delay),
        &fixture.admin,
    )?;
    paid += transfers::rules_on(bench, keys, &fixture, paid)?;
    bench.advance(2 * DAY_SECONDS);
    let rest = 1_000_000 * USDC - u64::from(paid) * USDC;
    let withdraw = fixture.at.withdraw(
        fixture.admin.pubkey(),
        fixture.operator,
        fixture.agent,
        fixture.at.usdc_of(&fixture.agent),
        fixture.destination,
        rest,
    );
    bench.measure("withdraw", withdraw, &fixture.admin)?;
    let rent_refunds = RentRefunds { agent: fixture.policy.pubkey(), draft: fixture.policy.pubkey() };
    let close = fixture.at.close_agent(
        fixture.admin.pubkey(),
        fixture.operator,
        fixture.agent,
        fixture.destination,
        rent_refunds,
    );
    bench.measure("close_agent", close, &fixture.admin)
}

/// Operator and agent, created and halted once.
fn begin(bench: &mut Bench, keys: &Keys) -> Result<Fixture> {
    let [first_admin, admin, policy, guardian] =
        ["first admin", "admin", "policy authority", "guardian"].map(|label| keys.keypair(label));
    let payers: Vec<Keypair> =
        (0..8).map(|index| keys.keypair(&format!("transfer authority {index}"))).collect();
    for keypair in [&first_admin, &admin, &policy, &guardian].into_iter().chain(&payers) {
        bench.put_wallet(keypair.pubkey())?;
    }
    let at = Deployment { program: purser::ID, usdc_mint: keys.address("mint") };
    bench.put_mint(at.usdc_mint)?;
    let (recipient, destination) = (keys.address("recipient"), keys.address("destination"));
    bench.put_token_account(destination, at.usdc_mint, recipient, 0)?;

    let transfer_authorities: Vec<Pubkey> = payers.iter().map(Keypair::pubkey).collect();
    let handed_out = OperatorKeys {
        policy_authority: policy.pubkey(),
        transfer_authorities: transfer_authorities[..1].to_vec(),
        guardian: Some(guardian.pubkey()),
        loosening_delay_seconds: 3_600,
    };
    let id = keys.number("operator id");
    let operator = at.operator_address(&first_admin.pubkey(), id);
    let create = at.create_operator(first_admin.pubkey(), id, handed_out);
    bench.measure("create_operator", create, &first_admin)?;
    let update = OperatorUpdate {
        transfer_authorities: Some(transfer_authorities),
        pending_admin: Some(admin.pubkey()),
        ..OperatorUpdate::default()
    };
    bench.measure(
        "update_operator",
        at.update_operator(first_admin.pubkey(), operator, update),
        &first_admin,
    )?;
    bench.measure("accept_admin", at.accept_admin(admin.pubkey(), operator), &admin)?;
    bench.measure("halt", at.halt(guardian.pubkey(), operator, None), &guardian)?;
    bench.measure("resume", at.resume(admin.pubkey(), operator, None), &admin)?;

    let mut agent_id = [0; 16];
    agent_id.copy_from_slice(&keys.bytes("agent id")[..16]);
    let agent = at.agent_address(&operator, &agent_id);
    let create = |agent_id, policy_of: &OnChainPolicy| {
        at.create_agent(policy.pubkey(), policy.pubkey(), policy.pubkey(), operator, agent_id, policy_of)
    };
    bench.measure("create_agent", create(agent_id, &OnChainPolicy::default()), &policy)?;
    let listed = rules(OwnedAllowlist::only(keys.entries(ENTRIES_INLINE, recipient), Vec::new()));
    bench.measure("create_agent_15_entries", create([7; 16], &listed), &policy)?;
    let mut payers = payers.into_iter();
    let (Some(first), Some(last)) = (payers.next(), payers.next_back()) else {
        return Err("no transfer authorities".into());
    };
    Ok(Fixture {
        source: at.token_account(&agent),
        payers: [first, last],
        at,
        operator,
        agent,
        admin,
        policy,
        recipient,
        destination,
    })
}

/// All five rules.
pub fn rules(allowlist: OwnedAllowlist) -> OnChainPolicy {
    OnChainPolicy {
        max_single_transfer: Limit::AtMost(UsdcAmount::from_micros(5 * USDC)),
        max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(1_000 * USDC)),
        require_memo: true,
        allowlist,
        ..OnChainPolicy::default()
    }
}

/// Policies of several lengths. The last one is the longest, and is compared with another of that length.
fn policies(bench: &mut Bench, keys: &Keys, fixture: &Fixture) -> Result<()> {
    let payer = fixture.policy.pubkey();
    let set = |version, policy: &OnChainPolicy| {
        fixture.at.set_policy(fixture.accounts(), payer, payer, version, policy)
    };
    let version = fixture.version(bench)?;
    bench.measure("set_policy", set(version, &rules(OwnedAllowlist::Anyone)), &fixture.policy)?;
    let some = OwnedAllowlist::only(keys.entries(ENTRIES_INLINE, fixture.recipient), Vec::new());
    bench.measure("set_policy_15_entries", set(version + 1, &rules(some)), &fixture.policy)?;

    let longest = rules(OwnedAllowlist::only(keys.entries(ENTRIES_MAX, fixture.recipient), Vec::new()));
    let proposal = fixture.proposal(bench, &longest)?;
    bench.measure(
        "open_draft",
        fixture.at.open_draft(payer, payer, payer, fixture.operator, &proposal),
        &fixture.policy,
    )?;
    let close = fixture.at.close_draft(fixture.accounts(), payer, proposal.hash());
    bench.measure("close_draft", close, &fixture.policy)?;
    fixture.apply(
        bench,
        &longest,
        Some(["write_draft", "write_draft_that_seals", "apply_draft_256_entries"]),
    )?;
    // The most expensive comparison: nothing is loosened, so every entry is looked up, and the delay has not passed.
    let tighter = OnChainPolicy { max_daily_spend: Limit::AtMost(UsdcAmount::from_micros(USDC)), ..longest };
    fixture.apply(
        bench,
        &tighter,
        Some(["write_draft", "write_draft_that_seals", "apply_draft_256_over_256"]),
    )
}

/// How many buckets of tags the agent gets, and how much of them others fill, in percent.
pub fn buckets() -> (u16, usize) {
    let number = |name, or| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or);
    (number("PURSER_CU_BUCKETS", 4), number("PURSER_CU_LOAD", 50) as usize)
}

impl Fixture {
    /// As many as are asked for, 53 at a time.
    fn give_buckets(&self, bench: &mut Bench) -> Result<()> {
        const STEP: u16 = 53;
        let (buckets, _) = buckets();
        let payer = self.policy.pubkey();
        let mut has = 1;
        while has < buckets {
            self.fill_tags(bench)?;
            let (name, more) = match (has, buckets - has) {
                (1, _) => ("set_tag_buckets_1_more", 1),
                (_, more) if more >= STEP => ("set_tag_buckets_53_more", STEP),
                (_, more) => ("set_tag_buckets_rest", more),
            };
            has += more;
            let grow = self.at.set_tag_buckets(self.accounts(), payer, payer, has);
            bench.measure(name, grow, &self.policy)?;
        }
        bench.agent_bytes = bench.data(&self.agent).len() as u64;
        Ok(())
    }

    /// Forgets what was paid, and fills the buckets with other tags up to the load that is asked for.
    pub fn fill_tags(&self, bench: &mut Bench) -> Result<()> {
        let (_, load) = buckets();
        let now = bench.now();
        bench.edit(&self.agent, |data| {
            let view = purser::state::Agent::read(data).ok_or("the agent has another layout")?;
            let at = data.len() - view.agent.tags_bytes();
            let mut buckets = vec![TagBucket::EMPTY; usize::from(view.agent.policy.tag_buckets)];
            let mut seed = 1 << 63 | view.agent.payments << 32;
            for _ in 0..buckets.len() * purser_policy::BUCKET_SLOTS * load / 100 {
                seed += 1;
                let tag = crate::transfers::mixed(seed);
                if let Some(place) = PaidTags(&buckets).place(tag, now) {
                    purser_policy::record(&mut buckets, place, tag, now);
                }
            }
            for (bucket, place) in buckets.iter().zip(data[at..].chunks_exact_mut(size_of::<TagBucket>())) {
                place.copy_from_slice(bucket.as_bytes());
            }
            Ok(())
        })
    }

    pub fn accounts(&self) -> DraftAccounts {
        DraftAccounts { authority: self.policy.pubkey(), operator: self.operator, agent: self.agent }
    }

    pub fn version(&self, bench: &Bench) -> Result<u32> {
        let view = Agent::read(&bench.data(&self.agent)).ok_or("the agent has another layout")?;
        Ok(view.agent.policy_version)
    }

    fn proposal(&self, bench: &Bench, policy: &OnChainPolicy) -> Result<Proposal> {
        Ok(Proposal { agent: self.agent, expected_version: self.version(bench)?, policy: policy.clone() })
    }

    /// Sets a policy through a draft; `measured` names the first write, the last write and the apply.
    pub fn apply(
        &self,
        bench: &mut Bench,
        policy: &OnChainPolicy,
        measured: Option<[&'static str; 3]>,
    ) -> Result<()> {
        let (payer, proposal) = (self.policy.pubkey(), self.proposal(bench, policy)?);
        let DraftAccounts { authority, operator, .. } = self.accounts();
        let staging = Staging {
            deployment: self.at,
            authority,
            payer,
            rent_refund: payer,
            operator,
            proposal: &proposal,
        };
        let mut steps = staging.steps(None).into_iter().map(|step| step.instruction);
        bench.run(steps.next().ok_or("nothing opens a draft")?, &self.policy)?;
        let writes = steps.len();
        for (index, write) in steps.enumerate() {
            match measured {
                Some([first, ..]) if index == 0 => bench.measure(first, write, &self.policy)?,
                Some([_, last, _]) if index + 1 == writes => bench.measure(last, write, &self.policy)?,
                _ => drop(bench.run(write, &self.policy)?),
            }
        }
        let view = Agent::read(&bench.data(&self.agent)).ok_or("the agent has another layout")?;
        if policy.as_policy().loosens(&view.policy()) {
            let operator =
                Operator::read(&bench.data(&self.operator)).ok_or("the operator has another layout")?;
            bench.advance(i64::from(operator.loosening_delay_seconds));
        }
        let apply = staging.apply(RentRefunds { agent: payer, draft: payer });
        match measured {
            Some([_, _, name]) => bench.measure(name, apply, &self.policy),
            None => bench.run(apply, &self.policy).map(drop),
        }
    }
}
