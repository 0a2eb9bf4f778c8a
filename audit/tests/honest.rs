//! Honest pasts by seed, in which everything happens that may: none is accused, and none is incomplete.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser_audit::report::text;
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use purser_tests::random::Random;
use solana_sdk::signature::Keypair;
use support::{MICROS, PAYEE, Paying, TestChain};

const SCENES: u64 = 200;
/// Longer than any spend counts.
const FORGOTTEN_SECONDS: i64 = 2 * 86_400;

/// An operator that keeps to its rules.
struct Scene {
    chain: TestChain,
    random: Random,
    policy: OnChainPolicy,
    delay: u32,
    is_halted: bool,
    keys: u8,
    paid: Vec<(i64, u64)>,
}

impl Scene {
    fn of(seed: u64) -> Self {
        let mut random = Random::from(seed);
        let policy = any_policy(&mut random);
        let delay = [0, 3_600, 86_400][random.below(3) as usize];
        let chain = TestChain::new(&policy, delay);
        Self { chain, random, policy, delay, is_halted: false, keys: 100, paid: Vec::new() }
    }

    fn goes_on(&mut self) {
        self.chain.now += [0, 1, 60, 3_600, 40_000, 90_000][self.random.below(6) as usize];
        match self.random.below(12) {
            0 => self.chain.deposits(self.random.below(1_000) * MICROS + 1),
            1 => self.sets_policy(),
            2 => self.halts_or_resumes(),
            3 => {
                self.keys += 1;
                self.chain.rotates_policy_key(&Keypair::new_from_array([self.keys; 32]));
            }
            4 => drop(self.chain.withdraws(self.random.below(50) * MICROS + 1, &PAYEE)),
            5 => drop(self.chain.mentions_operator(&Keypair::new_from_array([9; 32]))),
            6 => self.chain.offers_the_admins_place(&Keypair::new_from_array([8; 32])),
            7 => drop(self.chain.gets_an_airdrop()),
            _ => self.pays(),
        }
    }

    fn pays(&mut self) {
        if self.is_halted || self.policy.paused {
            return;
        }
        let micros = 1 + self.random.below(12 * MICROS);
        let since = self.chain.now - FORGOTTEN_SECONDS;
        let left: u64 = self.paid.iter().filter(|(time, _)| *time > since).map(|(_, micros)| micros).sum();
        let fits = |limit: Limit, micros: u64| match limit {
            Limit::Unlimited => true,
            Limit::AtMost(limit) => micros <= limit.micros(),
        };
        if fits(self.policy.max_single_transfer, micros) && fits(self.policy.max_daily_spend, left + micros) {
            self.paid.push((self.chain.now, micros));
            let is_logged = self.random.below(8) > 0;
            self.chain.pays(&Paying { micros, is_logged, ..Paying::usdc(1) });
        }
    }

    /// By whoever may: where loosened policies wait, the admin alone loosens one at once.
    fn sets_policy(&mut self) {
        let next = any_policy(&mut self.random);
        let must_be_admin = self.delay > 0 && next.as_policy().loosens(&self.policy.as_policy());
        let by_admin = must_be_admin || self.random.below(3) == 0;
        let key = if by_admin { &self.chain.admin } else { &self.chain.policy_key }.insecure_clone();
        self.chain.sets_policy(&next, &key);
        self.policy = next;
    }

    fn halts_or_resumes(&mut self) {
        if self.is_halted {
            self.chain.resumes()
        } else {
            self.chain.halts()
        }
        self.is_halted = !self.is_halted;
    }
}

fn any_policy(random: &mut Random) -> OnChainPolicy {
    let mut limit = |most: u64| match random.below(3) {
        0 => Limit::Unlimited,
        _ => Limit::AtMost(UsdcAmount::from_micros(1 + random.below(most * MICROS))),
    };
    let (max_single_transfer, max_daily_spend) = (limit(12), limit(60));
    OnChainPolicy {
        max_single_transfer,
        max_daily_spend,
        require_memo: random.below(2) == 0,
        paused: random.below(8) == 0,
        ..OnChainPolicy::default()
    }
}

#[test]
fn honest_pasts_of_two_hundred_seeds_are_not_accused() {
    let mut payments = 0;
    for seed in 0..SCENES {
        let mut scene = Scene::of(seed);
        let steps = 10 + scene.random.below(30);
        (0..steps).for_each(|_| scene.goes_on());
        let report = scene.chain.audited();
        assert!(report.holds && report.complete, "seed {seed}:\n{}", text(&report));
        assert_eq!(report.accounts[0].payments, scene.paid.len() as u64, "seed {seed}");
        payments += scene.paid.len();
    }
    assert!(payments > 400, "{payments} payments in all");
}
