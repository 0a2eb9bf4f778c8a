//! What a thief takes in 48 hours, by the keys that it holds: of a server, of an approver, of a guardian. Each tries all that
//! its keys sign, every hour and around each second at which a day ends. Run with `--nocapture` for the table.

use anchor_lang::prelude::Pubkey;
use anchor_spl::token;
use purser::error::PurserError;
use purser::state::{Agent, Budget};
use purser::{Bounds, GrantPayee, GrantTerms, OperatorUpdate, PolicyArgs, Rules};

use crate::support::{
    memo, only, open_policy, terms, token_account, Call, Payment, Place, Proposal, Random, TokenAccountState,
    Who, World, BALANCE, DAY, MINT, NOON, PAYEE,
};

const HOUR: i64 = 3_600;
const END: i64 = 2 * DAY;
const USDC: u64 = 1_000_000;
/// The thief's own token account, of the stranger's wallet.
const LOOT: Pubkey = Pubkey::new_from_array([230; 32]);
const PERSON: Who = Who::Eighth;
const BUDGET: u64 = 9;
/// Of the budget, in any 24 hours.
const SHARED: u64 = 350 * USDC;
/// Of the agent that has a cap for 30 days, in any 24 hours, and in 30 days.
const CAPPED: [u64; 2] = [100 * USDC, 150 * USDC];
/// Of the approver: for one grant, and in any 24 hours.
const APPROVED: [u64; 2] = [40 * USDC, 100 * USDC];

/// Five agents of 1,000 USDC each, of an operator with a budget and an approver.
struct House {
    world: World,
    places: [Place; 5],
    tag: u64,
    grant_id: u64,
    /// The drafts and grants of the thief, by agent; of a grant its id and the agent's epoch then.
    drafts: [Option<Proposal>; 5],
    grants: [Option<(u64, u32)>; 5],
    /// What left all five, by the seconds since the beginning.
    left: Vec<(i64, u64)>,
}

/// Each hour, and the seconds before and after those at which a day has passed.
fn instants() -> Vec<i64> {
    let mut instants: Vec<i64> = (0..=END).step_by(HOUR as usize).collect();
    instants.extend([DAY - 1, DAY + 1, END - 1]);
    instants.sort_unstable();
    instants
}

impl House {
    /// All agents may pay nobody by themselves.
    fn closed(delay: u32) -> Self {
        let world = World::new();
        let others = [*b"the third agent.", *b"the fourth agent", *b"the fifth agent."];
        let [third, fourth, fifth] = others.map(|id| Place::new(Who::Admin, 0, id));
        let places = [world.main, world.sibling, third, fourth, fifth];
        let (drafts, grants) = ([const { None }; 5], [None; 5]);
        let mut house = Self { world, places, tag: 0, grant_id: 0, drafts, grants, left: vec![] };
        let world = &mut house.world;
        let loot = token_account(token::ID, MINT, Who::Stranger.key(), 0, TokenAccountState::Initialized);
        world.put(LOOT, loot);
        for (place, id) in places[2..].iter().zip(others) {
            world.accept(&place.create_agent(id));
            world.fund(place.source, BALANCE);
        }
        // The draft that the sibling has from the beginning would only be in the way.
        let theirs = PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() };
        world.accept(&Proposal::new(world.sibling, 1, theirs).close());
        for place in places {
            house.policy(place, PolicyArgs { allowlist: only(&[], &[]), ..open_policy() });
        }
        house.world.accept(&house.world.main.set_approver(PERSON, APPROVED[0], APPROVED[1]));
        house.world.delay(delay);
        house
    }

    /// Three share a budget: one pays 60 at once and 300 a day, one 200 a day to [`PAYEE`] alone, one anything. The fourth has a cap
    /// for 30 days, and the fifth pays by grants alone.
    fn furnished(delay: u32) -> Self {
        let mut house = Self::closed(delay);
        let [first, second, third, fourth, fifth] = house.places;
        let day = |usdc| PolicyArgs {
            rules: Rules { max_daily_spend: Some(usdc), ..Rules::OPEN },
            ..open_policy()
        };
        house.policy(
            first,
            PolicyArgs {
                rules: Rules { max_single_transfer: Some(60 * USDC), ..day(300 * USDC).rules },
                ..open_policy()
            },
        );
        house.policy(second, PolicyArgs { allowlist: only(&[], &[PAYEE]), ..day(200 * USDC) });
        house.policy(third, open_policy());
        house.policy(fourth, day(CAPPED[0]));
        house.policy(fifth, open_policy());
        house.world.accept(&first.set_budget(BUDGET, SHARED, Some(1_000 * USDC)));
        let shared = Bounds { budget: Some(first.budget(BUDGET)), ..Bounds::default() };
        for place in [first, second, third] {
            house.world.accept(&place.bounds(shared));
        }
        let capped = Bounds { max_30_day_spend: Some(CAPPED[1]), ..Bounds::default() };
        house.world.accept(&fourth.bounds(capped));
        house.world.accept(&fifth.set_bounds(true));
        for place in house.places {
            house.world.accept(&place.set_tag_buckets(40));
        }
        house
    }

    /// Set by the admin.
    fn policy(&mut self, place: Place, policy: PolicyArgs) {
        let version = self.agent(place).policy_version;
        self.world.accept(&place.set_policy(version, policy).signed_by(Who::Admin));
    }

    fn agent(&self, place: Place) -> Agent {
        Agent::read(&self.world.account(&place.agent).data).expect("an agent").agent
    }

    fn bounds(&self, place: Place) -> Bounds {
        Agent::read(&self.world.account(&place.agent).data).expect("an agent").bounds()
    }

    fn budget(&self) -> Budget {
        Budget::read(&self.world.account(&self.world.main.budget(BUDGET)).data).expect("a budget")
    }

    fn tries(&mut self, call: &Call) -> bool {
        self.world.send(&[call.instruction()], Who::FeePayer).is_ok()
    }

    fn pays(&mut self, place: Place, to: Pubkey, grant: Option<u64>, amount: u64) -> bool {
        self.tag += 1;
        let payment = Payment { tag: self.tag, amount, to, ..Payment::default() };
        let budget = self.bounds(place).budget;
        self.tries(&place.transfer_through(payment, grant.map(|id| place.grant(id)), budget))
    }

    /// Pays as much as goes out, to the last micro-USDC.
    fn drain(&mut self, place: Place, to: Pubkey, grant: Option<u64>) {
        // Where this does not go out, nothing does.
        let mut amount = if self.pays(place, to, grant, 1) { 1 << 29 } else { 0 };
        while amount > 0 {
            if !self.pays(place, to, grant, amount) {
                amount /= 2;
            }
        }
    }

    /// Notes what left since it was last called.
    fn count(&mut self, seconds: i64) {
        let held: u64 = self.places.iter().map(|place| self.world.balance(&place.source)).sum();
        let all = 5 * BALANCE - held;
        let before = self.total();
        self.left.push((seconds, all - before));
    }

    fn total(&self) -> u64 {
        self.left.iter().map(|(_, amount)| amount).sum()
    }

    /// The most that left in any 24 hours which were over before this many seconds.
    fn most_in_a_day(&self, before: i64) -> u64 {
        let left: Vec<_> = self.left.iter().filter(|(at, _)| *at < before).collect();
        let until = |end: i64| left.iter().filter(move |(at, _)| (end - DAY..=end).contains(at));
        left.iter().map(|(end, _)| until(*end).map(|(_, amount)| amount).sum()).max().unwrap_or(0)
    }

    /// Tries with each of these keys what none of them may, whatever time it is.
    fn overreach(&mut self, thief: &[Who]) {
        let update = OperatorUpdate {
            loosening_delay_seconds: Some(0),
            transfer_authorities: Some(vec![Who::Stranger.key()]),
            ..OperatorUpdate::default()
        };
        for place in self.places {
            for who in thief {
                for call in [
                    place.withdraw(1, LOOT),
                    place.close_agent(),
                    place.resume(),
                    place.resume_operator(),
                    place.update_operator(update.clone()),
                    place.accept_admin(),
                    place.set_approver(Who::Stranger, BALANCE, BALANCE),
                    place.remove_approver(PERSON),
                    place.set_budget(BUDGET + 1, BALANCE, None),
                    place.close_budget(BUDGET),
                    place.open_grant(1 << 40, terms()),
                ] {
                    assert!(!self.tries(&call.signed_by(*who)), "{who:?}");
                }
            }
        }
    }
}

mod server {
    use super::*;

    /// Who stops it, and when.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Defence {
        Nobody,
        /// The guardian halts the operator after this many hours.
        Halts(i64),
        /// The guardian drops what waits, each time after this many hours.
        Drops(i64),
    }

    impl House {
        /// Puts an open policy in force: at once, or by a draft that waits.
        fn loosen(&mut self, which: usize) {
            let place = self.places[which];
            let version = self.agent(place).policy_version;
            let is_open = self.agent(place).policy.flags == 0;
            if is_open || self.tries(&place.set_policy(version, open_policy())) {
                return;
            }
            if let Some(draft) = self.drafts[which].clone() {
                if self.tries(&draft.apply()) {
                    return;
                }
                let stands =
                    self.world.svm.get_account(&place.draft).is_some_and(|at| at.owner == purser::ID);
                if stands && draft.args.expected_version == version {
                    return;
                }
                self.tries(&draft.close());
            }
            let draft = Proposal::new(place, version, open_policy());
            self.tries(&draft.open());
            self.drafts[which] = Some(draft);
        }

        /// Raises the budget, unless a raise waits: another one would wait anew.
        fn raise(&mut self) {
            let budget = self.budget();
            if budget.raised_at == 0 && budget.max_daily_spend < u64::MAX {
                self.tries(
                    &self.world.main.set_budget(BUDGET, u64::MAX, None).signed_by(Who::PolicyAuthority),
                );
            }
        }

        /// Lets its own wallet be paid by a grant of the policy authority, unless one waits already.
        fn grant(&mut self, which: usize) {
            let place = self.places[which];
            let voided_at = self.agent(place).voided_at;
            if self.grants[which].is_some_and(|(_, then)| then == voided_at) {
                return;
            }
            self.grant_id += 1;
            let terms = GrantTerms {
                payee: GrantPayee::Wallet(Who::Stranger.key()),
                amount: u64::MAX,
                expires_at: self.world.now() + 30 * DAY,
                beyond_daily_limit: false,
                ..terms()
            };
            let call = place.open_grant(self.grant_id, terms).signed_by(Who::PolicyAuthority);
            self.grants[which] = self.tries(&call).then_some((self.grant_id, voided_at));
        }

        /// Everything once, for one agent.
        fn rob(&mut self, which: usize) {
            let place = self.places[which];
            self.raise();
            self.loosen(which);
            // Out of its budget, past its month, and without grants.
            self.tries(&place.bounds(Bounds::default()));
            self.grant(which);
            let (to, other) = if which == 1 { (PAYEE, LOOT) } else { (LOOT, PAYEE) };
            self.drain(place, to, None);
            self.pays(place, other, None, 1);
            if let Some((id, _)) = self.grants[which] {
                self.drain(place, LOOT, Some(id));
            }
        }

        /// What a thief may do and gains nothing by, or less.
        fn stray(&mut self, random: &mut Random) {
            let which = random.below(5) as usize;
            let place = self.places[which];
            match random.below(7) {
                0 => {
                    let cap = Some(random.below(2 * SHARED));
                    let budget = [None, Some(place.budget(BUDGET))][random.below(2) as usize];
                    self.tries(&place.bounds(Bounds { by_grant_only: false, max_30_day_spend: cap, budget }));
                }
                1 => {
                    let call = place.set_budget(BUDGET, random.below(2 * SHARED), None);
                    self.tries(&call.signed_by(Who::PolicyAuthority));
                }
                2 => drop(self.tries(&place.void_grants().signed_by(Who::PolicyAuthority))),
                3 => {
                    let version = self.agent(place).policy_version;
                    let daily = Some(random.below(2 * SHARED));
                    let policy = PolicyArgs {
                        rules: Rules { max_daily_spend: daily, ..Rules::OPEN },
                        ..open_policy()
                    };
                    self.tries(&place.set_policy(version, policy));
                }
                4 => {
                    // A detour by another of them.
                    let to = self.places[random.below(5) as usize].source;
                    self.pays(place, to, None, random.below(SHARED));
                }
                5 => {
                    // A detour by an agent of its own.
                    let id = [random.below(200) as u8; 16];
                    let own = Place::new(Who::Admin, 0, id);
                    self.tries(&own.create_agent(id));
                    self.pays(place, own.source, None, random.below(SHARED));
                    let held = self.world.balance(&own.source);
                    self.pays(own, LOOT, None, held);
                }
                _ => {
                    let (draft, paused) = (self.drafts[which].clone(), random.below(8) == 0);
                    match draft.filter(|_| !paused) {
                        Some(draft) => drop(self.tries(&draft.close())),
                        None => drop(self.tries(&place.set_paused(paused))),
                    }
                }
            }
        }

        fn drop_what_waits(&mut self) {
            for (which, place) in self.places.into_iter().enumerate() {
                if let Some(draft) = self.drafts[which].clone() {
                    self.tries(&draft.close().signed_by(Who::Guardian));
                }
                self.world.accept(&place.void_grants());
            }
            // To what it is: lower would do too.
            let lower = self.world.main.set_budget(BUDGET, SHARED, Some(1_000 * USDC));
            self.world.accept(&lower.signed_by(Who::Guardian));
        }
    }

    fn run(delay: i64, defence: Defence, seed: Option<u64>) -> House {
        let mut house = House::furnished(delay as u32);
        let mut random = Random(seed.unwrap_or(0));
        for seconds in instants() {
            house.world.set_clock(NOON + seconds);
            match defence {
                Defence::Halts(hours) if seconds == hours * HOUR => {
                    house.world.accept(&house.world.main.halt_operator());
                }
                Defence::Drops(hours) if seconds % (hours * HOUR) == 0 => house.drop_what_waits(),
                _ => {}
            }
            match seed {
                None => (0..5).for_each(|which| house.rob(which)),
                Some(_) => {
                    house.stray(&mut random);
                    house.rob(random.below(5) as usize);
                    house.stray(&mut random);
                }
            }
            if seconds % (12 * HOUR) == 0 {
                let keys = [Who::TransferAuthority, Who::PolicyAuthority, Who::Payer, Who::DraftPayer];
                house.overreach(&keys);
            }
            house.count(seconds);
        }
        house
    }

    /// What the budget and the agents' own caps allow in any 24 hours, and of that in 48.
    const ALLOWED: [u64; 2] = [SHARED + CAPPED[0], 2 * SHARED + CAPPED[1]];

    #[test]
    fn a_thief_of_the_server_takes_what_budget_and_caps_allow_until_what_it_loosened_is_in_force() {
        println!("{:<8} {:<16} {:>16} {:>8}", "delay", "defence", "most in 24 h", "48 h");
        // What is in force after a day goes past every limit but a cap for 30 days, which is the admin's to raise.
        let after = 4 * BALANCE + CAPPED[1];
        for (delay, defence, expected) in [
            (0, Defence::Nobody, [5 * BALANCE, 5 * BALANCE]),
            (24, Defence::Nobody, [after, after]),
            (24, Defence::Halts(6), [ALLOWED[0], ALLOWED[0]]),
            (24, Defence::Drops(12), ALLOWED),
            (72, Defence::Nobody, ALLOWED),
        ] {
            let house = run(delay * HOUR, defence, None);
            let took = [house.most_in_a_day(END + 1), house.total()];
            let defence = format!("{defence:?}");
            println!("{delay:>6} h {defence:<16} {:>16} {:>8}", took[0] / USDC, took[1] / USDC);
            assert_eq!(took, expected, "{delay} {defence}");
            if delay > 0 {
                // Before anything that it loosened is in force.
                assert_eq!(house.most_in_a_day(delay * HOUR), ALLOWED[0], "{delay} {defence}");
            }
        }
    }

    #[test]
    fn a_thief_of_the_server_that_tries_things_at_random_takes_no_more() {
        for seed in 1..=3 {
            let house = run(72 * HOUR, Defence::Nobody, Some(seed));
            assert!(house.most_in_a_day(END + 1) <= ALLOWED[0], "{seed}: {:?}", house.left);
            assert!(house.total() <= ALLOWED[1], "{seed}");
        }
    }
}

mod approver {
    use super::*;

    impl House {
        /// Has its own wallet paid by one approval; returns the payment.
        fn approves(&mut self, place: Place, amount: u64) -> Option<(u64, Payment<'static>)> {
            (self.grant_id, self.tag) = (self.grant_id + 1, self.tag + 1);
            let terms = GrantTerms {
                payee: GrantPayee::Wallet(Who::Stranger.key()),
                amount,
                expires_at: self.world.now() + 30 * DAY,
                beyond_daily_limit: false,
                tag: Some(self.tag),
                memo_hash: Some(solana_sha256_hasher::hash(b"m").to_bytes()),
                policy_version: Some(self.agent(place).policy_version),
                ..terms()
            };
            // It pays for the grant itself.
            let call = place.approve(PERSON, self.grant_id, terms).with(1, PERSON.key());
            let both = [memo(&terms.approval(&place.agent)), call.instruction()];
            let is_open = self.world.send(&both, Who::FeePayer).is_ok();
            let payment = Payment { tag: self.tag, amount, memo: "m", to: LOOT, ..Payment::default() };
            is_open.then_some((self.grant_id, payment))
        }

        /// Approves as much as goes, to the last micro-USDC.
        fn approve_all(&mut self, place: Place) -> Vec<(u64, Payment<'static>)> {
            let (mut approved, mut amount) = (vec![], APPROVED[0]);
            assert!(self.approves(place, APPROVED[0] + 1).is_none());
            while amount > 0 {
                match self.approves(place, amount) {
                    Some(one) => approved.push(one),
                    None => amount /= 2,
                }
            }
            approved
        }

        /// What the approver's key does not sign.
        fn overreach_of_an_approver(&mut self, place: Place, grant: u64, payment: Payment) {
            let version = self.agent(place).policy_version;
            let past = GrantTerms { expires_at: self.world.now() + DAY, ..terms() };
            let within = GrantTerms { beyond_daily_limit: false, ..past };
            for call in [
                place.transfer_granted(payment, grant),
                place.set_policy(version, open_policy()),
                Proposal::new(place, version, open_policy()).open(),
                place.set_paused(true),
                place.bounds(Bounds::default()),
                place.set_budget(BUDGET, 1, None),
                place.halt(),
                place.halt_operator(),
                place.void_grants(),
                place.close_grant(grant),
                place.open_grant(1 << 41, within),
                place.approve(PERSON, 1 << 42, past),
                place.approve(PERSON, 1 << 43, within),
            ] {
                assert!(!self.tries(&call.signed_by(PERSON)));
            }
        }
    }

    /// The accounts of operator and agents.
    fn accounts(house: &House) -> Vec<Option<solana_account::Account>> {
        let mut keys: Vec<_> = house.places.iter().flat_map(|place| [place.agent, place.source]).collect();
        keys.push(house.world.main.operator);
        house.world.accounts(&keys)
    }

    #[test]
    fn a_thief_of_an_approver_alone_approves_its_limit_in_any_24_hours_and_pays_nothing() {
        let mut house = House::closed(0);
        let before = accounts(&house);
        let mut approved: Vec<(i64, u64)> = vec![];
        for seconds in instants() {
            house.world.set_clock(NOON + seconds);
            for place in house.places {
                let open = house.approve_all(place);
                if let Some((grant, payment)) = open.last() {
                    house.overreach_of_an_approver(place, *grant, *payment);
                }
                approved.push((seconds, open.iter().map(|(_, payment)| payment.amount).sum()));
            }
            if seconds % (12 * HOUR) == 0 {
                house.overreach(&[PERSON]);
            }
            house.count(seconds);
        }
        assert!(accounts(&house) == before);
        assert_eq!(house.total(), 0);
        house.left = approved;
        assert_eq!((house.most_in_a_day(END + 1), house.total()), (APPROVED[1], 2 * APPROVED[1]));
    }

    #[test]
    fn a_thief_of_approver_and_transfer_key_takes_the_approvers_limit_in_any_24_hours_of_approving() {
        let mut house = House::closed(0);
        for seconds in instants() {
            house.world.set_clock(NOON + seconds);
            for place in house.places {
                house.drain(place, LOOT, None);
                for (grant, payment) in house.approve_all(place) {
                    house.world.accept(&place.transfer_granted(payment, grant));
                    // Neither twice nor by another payment.
                    for again in [payment, Payment { tag: payment.tag + 1_000_000, ..payment }] {
                        assert!(!house.tries(&place.transfer_granted(again, grant)));
                    }
                }
            }
            if seconds % (12 * HOUR) == 0 {
                house.overreach(&[PERSON, Who::TransferAuthority]);
            }
            house.count(seconds);
        }
        let took = [house.most_in_a_day(END + 1), house.total()];
        println!("approver and transfer key: {} in 24 h, {} in 48 h", took[0] / USDC, took[1] / USDC);
        assert_eq!(took, [APPROVED[1], 2 * APPROVED[1]]);
    }

    /// What leaves at once of approvals that were saved, where the agent's daily limit is this.
    fn saved(daily: Option<u64>, voids: bool) -> u64 {
        let mut house = House::closed(0);
        let place = house.places[0];
        house.policy(
            place,
            PolicyArgs { rules: Rules { max_daily_spend: daily, ..Rules::OPEN }, allowlist: only(&[], &[]) },
        );
        let mut open = vec![];
        for seconds in instants() {
            house.world.set_clock(NOON + seconds);
            open.extend(house.approve_all(place));
        }
        if voids {
            house.world.accept(&place.void_grants());
        }
        for (grant, payment) in open {
            house.tries(&place.transfer_granted(payment, grant));
        }
        house.count(END);
        house.total()
    }

    #[test]
    fn approvals_that_a_thief_saves_are_paid_at_once_within_the_daily_limit_and_end_when_they_are_voided() {
        assert_eq!(saved(None, false), 2 * APPROVED[1]);
        // 40, 40, 20 and 40 are paid; what is left of the limit is less than the next.
        assert_eq!(saved(Some(150 * USDC), false), 140 * USDC);
        assert_eq!(saved(None, true), 0);
    }
}

mod guardian {
    use super::*;

    #[test]
    fn a_thief_of_the_guardian_stops_everything_takes_nothing_and_is_undone_by_the_admin() {
        let mut house = House::furnished((24 * HOUR) as u32);
        let [main, .., fourth, fifth] = house.places;
        // Something of everything that waits or is open.
        let draft = Proposal::new(main, house.agent(main).policy_version, open_policy());
        house.world.accept(&draft.open());
        house.world.accept(&main.set_budget(BUDGET, 2 * SHARED, None).signed_by(Who::PolicyAuthority));
        house.world.accept(&fifth.open_grant(1, terms()));
        house.world.accept(&fifth.open_grant(2, terms()));
        let honest = |tag, grant: Option<u64>, place: Place, budget| {
            let payment = Payment { tag, amount: 100, ..Payment::default() };
            place.transfer_through(payment, grant.map(|id| place.grant(id)), budget)
        };
        let shared = Some(main.budget(BUDGET));
        for seconds in instants() {
            house.world.set_clock(NOON + seconds);
            let signed = |call: Call| call.signed_by(Who::Guardian);
            house.tries(&signed(draft.close()));
            house.tries(&fifth.close_grant(1));
            house.world.accept(&signed(main.set_budget(BUDGET, 0, Some(0))));
            house.world.accept(&main.halt_operator());
            for place in house.places {
                house.world.accept(&place.halt());
                house.world.accept(&place.void_grants());
                let version = house.agent(place).policy_version;
                for call in [
                    place.transfer_through(Payment { to: LOOT, ..Payment::default() }, None, shared),
                    place.set_policy(version, open_policy()),
                    Proposal::new(place, version, open_policy()).open(),
                    place.set_paused(true),
                    place.bounds(Bounds::default()),
                    place.set_budget(BUDGET, 1, Some(0)),
                    place.set_budget(BUDGET, 0, None),
                ] {
                    assert!(!house.tries(&signed(call)));
                }
            }
            house.world.refuse(&honest(1, None, main, shared), PurserError::Halted);
            house.world.refuse(&honest(1, None, fourth, None), PurserError::Halted);
            if seconds % (12 * HOUR) == 0 {
                house.overreach(&[Who::Guardian]);
            }
            house.count(seconds);
        }
        assert_eq!(house.total(), 0);

        // The admin takes the key's part away and lifts all halts in one transaction, which nobody comes between.
        let other = OperatorUpdate { guardian: Some(Who::Seventh.key()), ..OperatorUpdate::default() };
        let agents = house.places.map(|place| place.agent);
        let back = [main.update_operator(other), main.resume_operator().with_agents(&agents)];
        house.world.accept_all(&back.map(|call| call.instruction()), Who::FeePayer);
        house.world.refuse(&main.halt_operator(), PurserError::Unauthorized);
        house.world.accept(&honest(1, None, fourth, None));
        // What was lowered and dropped is the admin's to set again.
        house.world.refuse(&honest(1, None, main, shared), PurserError::BudgetExceeded);
        house.world.accept(&main.set_budget(BUDGET, SHARED, None));
        house.world.accept(&honest(1, None, main, shared));
        house.world.refuse(&honest(1, Some(2), fifth, None), PurserError::GrantMismatch);
        let terms = GrantTerms { expires_at: house.world.now() + DAY, ..terms() };
        house.world.refuse(&fifth.open_grant(3, terms), PurserError::GrantTooEarly);
        house.world.set_clock(house.world.now() + 1);
        house.world.accept(&fifth.open_grant(3, terms));
        house.world.accept(&honest(1, Some(3), fifth, None));
    }
}
