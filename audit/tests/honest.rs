//! Honest pasts by seed, in which everything happens that may: none is accused, and none is incomplete.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use purser::{Bounds, GrantPayee, GrantTerms};
use purser_audit::report::{LedgerEntry, signed_usdc, text};
use purser_client::OnChainPolicy;
use purser_policy::{Limit, UsdcAmount};
use purser_tests::random::Random;
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use support::{MICROS, PAYEE, Paying, TestChain};

const SCENES: u64 = 200;
/// Longer than any spend counts.
const FORGOTTEN_SECONDS: i64 = 2 * 86_400;
/// The same of 30 days, which are counted by calendar days.
const FORGOTTEN_MONTH_SECONDS: i64 = 33 * 86_400;
const STRANGER: Pubkey = Pubkey::new_from_array([99; 32]);

/// An operator that keeps to its rules.
struct Scene {
    chain: TestChain,
    random: Random,
    policy: OnChainPolicy,
    delay: u32,
    is_halted: bool,
    keys: u8,
    paid: Vec<(i64, u64)>,
    grant: Option<Granted>,
    has_approver: bool,
    approved: Vec<(i64, u64)>,
    bounds: Bounds,
    budget: Option<u64>,
    paid_by_grants: u64,
    begun_anew: u64,
}

/// The one grant, until it is closed.
struct Granted {
    terms: GrantTerms,
    left: u64,
    /// From then on it pays.
    from: i64,
    is_void: bool,
    is_approvers: bool,
}

impl Scene {
    fn of(seed: u64) -> Self {
        let mut random = Random::from(seed);
        let policy = any_policy(&mut random);
        let delay = [0, 3_600, 86_400][random.below(3) as usize];
        let chain = TestChain::new(&policy, delay);
        Self {
            chain,
            random,
            policy,
            delay,
            is_halted: false,
            keys: 100,
            paid: Vec::new(),
            grant: None,
            has_approver: false,
            approved: Vec::new(),
            bounds: Bounds::default(),
            budget: None,
            paid_by_grants: 0,
            begun_anew: 0,
        }
    }

    fn goes_on(&mut self) {
        self.chain.now += [0, 1, 60, 3_600, 40_000, 90_000][self.random.below(6) as usize];
        match self.random.below(25) {
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
            8..=10 => self.opens_or_closes_a_grant(),
            11 if self.random.below(4) == 0 => self.voids_grants(),
            11 => self.sets_or_removes_the_approver(),
            12 => self.sets_bounds(),
            13 => self.sets_the_budget(),
            14..=17 => self.pays_by_grant(),
            18 => self.begins_anew(),
            _ => self.pays(),
        }
    }

    fn pays(&mut self) {
        if self.is_halted || self.policy.paused {
            return;
        }
        let micros = 1 + self.random.below(12 * MICROS);
        let left = sum_since(&self.paid, self.chain.now - FORGOTTEN_SECONDS);
        let fits_policy =
            fits(self.policy.max_single_transfer, micros) && fits(self.policy.max_daily_spend, left + micros);
        if fits_policy && !self.bounds.by_grant_only && self.fits_bounds(micros) {
            self.paid.push((self.chain.now, micros));
            let is_logged = self.random.below(8) > 0;
            self.chain.pays(&Paying { micros, is_logged, ..Paying::usdc(1) });
        }
    }

    /// The admin closes the account, once nothing counts any more, and creates it anew.
    fn begins_anew(&mut self) {
        if sum_since(&self.paid, self.chain.now - FORGOTTEN_SECONDS) > 0 {
            return;
        }
        self.chain.closes_agent(&PAYEE);
        self.chain.now += [0, 60, 90_000][self.random.below(3) as usize];
        let admin = self.chain.admin.insecure_clone();
        self.policy = any_policy(&mut self.random);
        self.chain.creates_agent(&self.policy, &admin);
        self.chain.deposits(1_000_000 * MICROS);
        self.bounds = Bounds::default();
        self.grant.iter_mut().for_each(|grant| grant.is_void = true);
        self.begun_anew += 1;
    }

    fn fits_bounds(&self, micros: u64) -> bool {
        let now = self.chain.now;
        let month = sum_since(&self.paid, now - FORGOTTEN_MONTH_SECONDS) + micros;
        let day = sum_since(&self.paid, now - FORGOTTEN_SECONDS) + micros;
        let budget = self.budget.filter(|_| self.bounds.budget.is_some());
        self.bounds.max_30_day_spend.is_none_or(|cap| month <= cap) && budget.is_none_or(|cap| day <= cap)
    }

    /// By the admin, the policy authority, or the approver for the next payment.
    fn opens_or_closes_a_grant(&mut self) {
        let (now, policy_key) = (self.chain.now, self.chain.policy_key.insecure_clone());
        if self.grant.is_some() && self.random.below(4) > 0 {
            return;
        }
        if let Some(grant) = self.grant.take() {
            let is_over = grant.left == 0 || now >= grant.terms.expires_at;
            let by = if is_over { Keypair::new_from_array([9; 32]) } else { policy_key };
            return self.chain.closes_grant(&by);
        }
        let mut terms = GrantTerms {
            payee: GrantPayee::Wallet(STRANGER),
            amount: 1 + self.random.below(5 * MICROS),
            expires_at: now + [3_600, 30 * 86_400, 30 * 86_400][self.random.below(3) as usize],
            beyond_allowlist: self.random.below(2) == 0,
            beyond_single_limit: self.random.below(2) == 0,
            beyond_daily_limit: false,
            tag: None,
            memo_hash: None,
            policy_version: None,
        };
        let (mut from, mut is_approvers) = (now, false);
        match self.random.below(3) {
            0 => {
                let admin = self.chain.admin.insecure_clone();
                terms.beyond_daily_limit = self.random.below(2) == 0;
                self.chain.opens_grant(terms, &admin);
            }
            _ if self.is_halted => return,
            1 => {
                from += i64::from(self.delay);
                self.chain.opens_grant(terms, &policy_key);
            }
            _ => {
                let approved = sum_since(&self.approved, now - FORGOTTEN_SECONDS);
                if !self.has_approver || approved + terms.amount > 8 * MICROS {
                    return;
                }
                is_approvers = true;
                terms.tag = Some(self.chain.next_tag());
                terms.memo_hash = Some(Sha256::digest("m").into());
                terms.policy_version = Some(self.chain.policy_version());
                self.approved.push((now, terms.amount));
                self.chain.approves(terms, &approver());
            }
        }
        self.grant = Some(Granted { terms, left: terms.amount, from, is_void: false, is_approvers });
    }

    fn pays_by_grant(&mut self) {
        let (now, tag, version) = (self.chain.now, self.chain.next_tag(), self.chain.policy_version());
        let most = 1 + self.random.below(5 * MICROS);
        let Some(Granted { terms, left, from, is_void: false, .. }) = &self.grant else { return };
        let micros = if terms.tag.is_some() { *left } else { most.min(*left) };
        let day = sum_since(&self.paid, now - FORGOTTEN_SECONDS) + micros;
        let pays = (*from..terms.expires_at).contains(&now)
            && micros > 0
            && terms.tag.is_none_or(|own| own == tag)
            && terms.policy_version.is_none_or(|own| own == version)
            && (terms.beyond_single_limit || fits(self.policy.max_single_transfer, micros))
            && (terms.beyond_daily_limit || fits(self.policy.max_daily_spend, day));
        if !pays || self.is_halted || self.policy.paused || !self.fits_bounds(micros) {
            return;
        }
        self.paid.push((now, micros));
        self.paid_by_grants += 1;
        self.grant.iter_mut().for_each(|grant| grant.left -= micros);
        let is_logged = self.random.below(8) > 0;
        self.chain.pays(&Paying { micros, to: STRANGER, by_grant: true, is_logged, ..Paying::usdc(1) });
    }

    fn voids_grants(&mut self) {
        self.chain.voids_grants();
        self.grant.iter_mut().for_each(|grant| grant.is_void = true);
    }

    fn sets_or_removes_the_approver(&mut self) {
        if self.has_approver && self.random.below(2) == 0 {
            self.chain.removes_approver(&approver().pubkey());
            self.has_approver = false;
            self.grant.iter_mut().for_each(|grant| grant.is_void |= grant.is_approvers);
            self.approved.clear();
        } else {
            self.chain.sets_approver(&approver().pubkey());
            self.has_approver = true;
        }
    }

    /// By whoever may.
    fn sets_bounds(&mut self) {
        let next = Bounds {
            by_grant_only: self.random.below(4) == 0,
            max_30_day_spend: (self.random.below(2) == 0).then(|| self.random.below(200) * MICROS),
            budget: self.budget.filter(|_| self.random.below(2) == 0).map(|_| self.chain.budget()),
        };
        let by_admin = self.delay > 0 && next.loosens(&self.bounds);
        let key = if by_admin { &self.chain.admin } else { &self.chain.policy_key }.insecure_clone();
        self.chain.sets_bounds(next, &key);
        self.bounds = next;
    }

    /// Made by the admin; a raise of the policy authority waits, and is not counted on.
    fn sets_the_budget(&mut self) {
        let is_empty = sum_since(&self.paid, self.chain.now - FORGOTTEN_MONTH_SECONDS) == 0;
        if self.budget.is_some() && self.bounds.budget.is_none() && is_empty {
            // It may be made anew, at the same address.
            self.chain.closes_budget();
            self.budget = None;
            return;
        }
        let cap = self.random.below(100) * MICROS;
        let is_admin = self.budget.is_none() || self.is_halted || self.random.below(2) == 0;
        let key = if is_admin { &self.chain.admin } else { &self.chain.policy_key }.insecure_clone();
        self.chain.sets_budget(cap, &key);
        let counted = self.budget.filter(|_| !is_admin).map_or(cap, |old| old.min(cap));
        self.budget = Some(counted);
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

fn approver() -> Keypair {
    Keypair::new_from_array([78; 32])
}

fn sum_since(paid: &[(i64, u64)], since: i64) -> u64 {
    paid.iter().filter(|(time, _)| *time > since).map(|(_, micros)| micros).sum()
}

fn fits(limit: Limit, micros: u64) -> bool {
    match limit {
        Limit::Unlimited => true,
        Limit::AtMost(limit) => micros <= limit.micros(),
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
    let (mut payments, mut by_grants, mut anew) = (0, 0, 0);
    for seed in 0..SCENES {
        let mut scene = Scene::of(seed);
        let steps = 15 + scene.random.below(45);
        (0..steps).for_each(|_| scene.goes_on());
        let report = scene.chain.audited();
        assert!(report.holds && report.complete, "seed {seed}:\n{}", text(&report));
        assert_eq!(report.accounts[0].payments, scene.paid.len() as u64, "seed {seed}");
        assert_eq!(report.created_anew, scene.begun_anew, "seed {seed}");
        // The ledger adds up to the balances of the token accounts.
        assert_eq!(report.period.all.closing_balance_usdc, report.totals.last_balance_usdc, "seed {seed}");
        assert_eq!(report.period.all.paid_usdc, report.totals.paid_usdc, "seed {seed}");
        let last = report.ledger.last().map(|entry| signed_usdc(entry.balance));
        assert_eq!(last.as_ref(), Some(&report.totals.last_balance_usdc), "seed {seed}");
        let is_named = |entry: &LedgerEntry| entry.grant.is_some() == entry.approved_by.is_some();
        assert!(report.ledger.iter().all(is_named), "seed {seed}");
        payments += scene.paid.len();
        by_grants += scene.paid_by_grants;
        anew += scene.begun_anew;
    }
    assert!(payments > 400 && by_grants > 40, "{payments} payments in all, {by_grants} by grants");
    assert!(anew > 40, "{anew} accounts began anew");
}
