//! An intruder owns the server: its transfer authority and, worse, its policy authority. How much leaves in 48 hours, compared
//! with what the policies in force at the start allowed? Run with `--nocapture` for the table.

use anchor_lang::prelude::Pubkey;
use anchor_spl::token;
use purser::state::Agent;
use purser::{GrantPayee, GrantTerms, PolicyArgs, Rules};

use crate::support::{
    only, open_policy, terms, token_account, Call, Payment, Place, Proposal, Random, TokenAccountState, Who,
    World, BALANCE, DAY, MINT, NOON, PAYEE,
};

const HOUR: i64 = 3_600;
const STEP: i64 = 2 * HOUR;
const END: i64 = 48 * HOUR;
const USDC: u64 = 1_000_000;
/// What the two agents may spend in 24 hours: the first to anyone, the second to [`PAYEE`] alone.
const CAPS: [u64; 2] = [300 * USDC, 200 * USDC];
/// The intruder's own token account.
const LOOT: Pubkey = Pubkey::new_from_array([230; 32]);

/// Who stops it, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defence {
    Nobody,
    /// Halts the operator after this many hours.
    Halts(Who, i64),
    /// Drops pending drafts each time after this many hours, and does nothing else.
    Drops(Who, i64),
}

#[derive(Clone, Copy, Debug)]
enum Strategy {
    Greedy,
    Random(u64),
}

struct Attack {
    world: World,
    random: Random,
    tag: u64,
    /// The last draft that the intruder wrote for each agent.
    drafts: [Option<Proposal>; 2],
    bought: u8,
}

/// Micro-USDC that left the two agents.
#[derive(Clone, Copy, Debug, Default)]
struct Outflow {
    /// Before any loosened policy could apply, in a world with a delay of a day.
    first_day: u64,
    at_halt: u64,
    total: u64,
}

impl Attack {
    fn new(delay: u32, seed: u64) -> Self {
        let mut world = World::new();
        world.put(
            LOOT,
            token_account(token::ID, MINT, Who::Stranger.key(), 0, TokenAccountState::Initialized),
        );
        let [first, second] = CAPS.map(Some);
        let anyone = PolicyArgs {
            rules: Rules { max_single_transfer: Some(60 * USDC), max_daily_spend: first, ..Rules::OPEN },
            ..open_policy()
        };
        let listed = PolicyArgs {
            rules: Rules { max_daily_spend: second, ..Rules::OPEN },
            allowlist: only(&[], &[PAYEE]),
        };
        // The draft that this agent has from the beginning would only be in the way.
        let theirs = PolicyArgs { allowlist: only(&[], &[PAYEE]), ..open_policy() };
        world.accept(&Proposal::new(world.sibling, 1, theirs).close());
        world.accept(&world.main.set_policy(1, anyone));
        world.accept(&world.sibling.set_policy(1, listed));
        world.delay(delay);
        Self { world, random: Random(seed), tag: 0, drafts: [None, None], bought: 0 }
    }

    fn places(&self) -> [Place; 2] {
        [self.world.main, self.world.sibling]
    }

    fn left(&self) -> u64 {
        let out = |place: Place| BALANCE - self.world.balance(&place.source).min(BALANCE);
        self.places().into_iter().map(out).sum()
    }

    fn tries(&mut self, call: &Call) -> bool {
        self.world.send(&[call.instruction()], Who::FeePayer).is_ok()
    }

    fn agent(&self, place: Place) -> Agent {
        Agent::read(&self.world.account(&place.agent).data).expect("an agent").agent
    }

    /// Pays as much as it can, trying the largest amount first.
    fn pay(&mut self, place: Place, to: Pubkey) {
        for part in [1, 5, 20, 100] {
            for amount in [self.world.balance(&place.source) / part, CAPS[0] / part] {
                self.tag += 1;
                self.tries(&place.transfer(Payment { tag: self.tag, amount, to, ..Payment::default() }));
            }
        }
    }

    /// Puts the intruder's own policy in force: at once, by a draft, or by lifting a pause.
    fn loosen(&mut self, which: usize, policy: PolicyArgs) {
        let place = self.places()[which];
        let version = self.agent(place).policy_version;
        self.tries(&place.set_policy(version, policy.clone()));
        // If nothing is paused, this would still be a change, and would void the intruder's own draft.
        if self.agent(place).policy.is_paused() {
            self.tries(&place.set_paused(false));
        }
        if let Some(draft) = self.drafts[which].clone() {
            self.tries(&draft.apply());
        }
        let version = self.agent(place).policy_version;
        let stands = self.world.svm.get_account(&place.draft).is_some_and(|draft| draft.owner == purser::ID);
        let stale = self.drafts[which].as_ref().is_some_and(|draft| draft.args.expected_version != version);
        if stands && !stale {
            return;
        }
        if let Some(old) = &self.drafts[which].clone() {
            self.tries(&old.close());
        }
        let draft = Proposal::new(place, version, policy);
        self.tries(&draft.open());
        for write in draft.writes() {
            self.tries(&write);
        }
        self.tries(&draft.apply());
        self.drafts[which] = Some(draft);
    }

    /// Lets its own wallet be paid by a grant, and pays by it.
    fn grant(&mut self, place: Place) {
        let now = self.world.now();
        let terms = GrantTerms {
            payee: GrantPayee::Wallet(Who::Stranger.key()),
            amount: BALANCE,
            expires_at: now + 30 * DAY,
            beyond_daily_limit: false,
            ..terms()
        };
        self.tries(&place.open_grant(2, terms).signed_by(Who::PolicyAuthority));
        self.tag += 1;
        let amount = CAPS[1] / 2;
        let payment = Payment { tag: self.tag, amount, to: LOOT, ..Payment::default() };
        self.tries(&place.transfer_granted(payment, 2));
    }

    /// Creates an agent with its own policy, through which the others' money could go.
    fn detour(&mut self) {
        self.bought = self.bought.wrapping_add(1);
        let id = [self.bought; 16];
        let place = Place::new(Who::Admin, 0, id);
        self.tries(&place.create_agent(id));
        for from in self.places() {
            self.pay(from, place.source);
        }
        if self.world.svm.get_account(&place.source).is_some() {
            self.pay(place, LOOT);
        }
    }

    /// Tries what the intruder may not do.
    fn overreach(&mut self) {
        let keys = vec![Who::TransferAuthority.key(), Who::Stranger.key()];
        for place in self.places() {
            for signer in [Who::TransferAuthority, Who::PolicyAuthority] {
                for call in [
                    place.withdraw(1, LOOT),
                    place.open_grant(1, terms()),
                    place.close_agent(),
                    place.resume(),
                    place.resume_operator(),
                    place.update_operator(purser::OperatorUpdate {
                        loosening_delay_seconds: Some(0),
                        transfer_authorities: Some(keys.clone()),
                        ..Default::default()
                    }),
                ] {
                    assert!(!self.tries(&call.signed_by(signer)), "{signer:?}");
                }
            }
        }
    }

    fn step(&mut self, strategy: Strategy) {
        match strategy {
            Strategy::Greedy => {
                for (which, place) in self.places().into_iter().enumerate() {
                    self.grant(place);
                    self.loosen(which, open_policy());
                    for to in [LOOT, PAYEE] {
                        self.pay(place, to);
                    }
                }
                if self.random.below(4) == 0 {
                    self.detour();
                }
            }
            Strategy::Random(_) => {
                for _ in 0..6 {
                    let which = self.random.below(2) as usize;
                    let place = self.places()[which];
                    let to = [LOOT, PAYEE, self.world.sibling.source, self.world.main.source]
                        [self.random.below(4) as usize];
                    match self.random.below(8) {
                        0 => self.loosen(which, open_policy()),
                        1 => {
                            let limit = Some(self.random.below(2 * BALANCE));
                            let [single, daily] =
                                [[limit, None], [None, limit]][self.random.below(2) as usize];
                            let allowlist = [
                                only(&[], &[LOOT]),
                                only(&[Who::Stranger.key()], &[]),
                                open_policy().allowlist,
                            ];
                            let allowlist = allowlist[self.random.below(3) as usize].clone();
                            let policy = PolicyArgs {
                                rules: Rules {
                                    max_single_transfer: single,
                                    max_daily_spend: daily,
                                    ..Rules::OPEN
                                },
                                allowlist,
                            };
                            self.loosen(which, policy);
                        }
                        2 => drop(self.tries(&place.set_paused(true))),
                        7 => self.grant(place),
                        3 => self.detour(),
                        4 => {
                            let call = self.drafts[which].as_ref().map(Proposal::close);
                            if let Some(call) = call.filter(|_| self.random.below(30) == 0) {
                                self.tries(&call);
                            }
                        }
                        _ => self.pay(place, to),
                    }
                }
            }
        }
        self.overreach();
    }
}

fn run(strategy: Strategy, delay: u32, defence: Defence) -> Outflow {
    let seed = if let Strategy::Random(seed) = strategy { seed } else { 0 };
    let mut attack = Attack::new(delay, seed);
    let mut outflow = Outflow::default();
    let mut halted = false;
    for seconds in (0..=END).step_by(STEP as usize) {
        attack.world.set_clock(NOON + seconds);
        match defence {
            Defence::Halts(who, hours) if seconds == hours * HOUR => {
                attack.world.accept(&attack.world.main.halt_operator().signed_by(who));
                outflow.at_halt = attack.left();
                halted = true;
            }
            Defence::Drops(who, hours) if seconds % (hours * HOUR) == 0 => {
                for draft in attack.drafts.clone().into_iter().flatten() {
                    attack.tries(&draft.close().signed_by(who));
                }
                for place in attack.places() {
                    attack.world.accept(&place.void_grants().signed_by(who));
                }
            }
            _ => {}
        }
        attack.step(strategy);
        assert!(
            !halted || attack.left() == outflow.at_halt,
            "{strategy:?} {delay} {defence:?}: paid while halted"
        );
        if seconds < DAY {
            outflow.first_day = attack.left();
        }
    }
    outflow.total = attack.left();
    outflow
}

#[test]
fn an_intruder_on_the_server_gets_what_the_policies_allowed_until_what_it_loosened_applies() {
    let all = 2 * BALANCE;
    let allowed: u64 = CAPS.iter().sum();
    println!(
        "{:<12} {:>8} {:<24} {:>10} {:>10} {:>10} {:>10}",
        "strategy", "delay", "defence", "24 h", "allowed", "48 h", "allowed"
    );
    let defences = [
        Defence::Nobody,
        Defence::Halts(Who::Guardian, 6),
        Defence::Halts(Who::Admin, 20),
        Defence::Drops(Who::Guardian, 12),
    ];
    for strategy in [Strategy::Greedy, Strategy::Random(1)] {
        for delay in [0, DAY as u32] {
            for defence in defences {
                let Outflow { first_day, at_halt, total } = run(strategy, delay, defence);
                println!(
                    "{:<12} {:>6} h {:<24} {:>10} {:>10} {:>10} {:>10}",
                    format!("{strategy:?}"),
                    delay / 3_600,
                    format!("{defence:?}"),
                    first_day / USDC,
                    allowed / USDC,
                    total / USDC,
                    2 * allowed / USDC
                );
                if delay > 0 {
                    // Nothing that the intruder loosened applies before the delay is over.
                    assert!(first_day <= allowed);
                }
                match defence {
                    Defence::Halts(..) => assert_eq!(total, at_halt),
                    Defence::Drops(..) if delay > 0 => assert!(total <= 2 * allowed),
                    // This is the price of having no delay, or of looking away for longer than it.
                    _ if matches!(strategy, Strategy::Greedy) => assert_eq!(total, all),
                    _ => {}
                }
                if delay == 0 && matches!(strategy, Strategy::Greedy) {
                    assert_eq!(first_day, all);
                }
            }
        }
    }
}
