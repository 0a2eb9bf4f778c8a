//! Chooses what happens next: at random, but biased towards the edges of rules.

mod agents;
mod drafts;
mod grants;
mod operators;
mod policies;
mod transfers;

use std::collections::HashMap;

use anchor_lang::prelude::Pubkey;
use purser::BudgetCaps;

use crate::call::{Args, Call, Slot};
use crate::cast::{AgentPlace, OperatorPlace, CAST};
use crate::oracle::{Agent, Model, Operator, Policy, DAY};
use crate::random::Random;
use crate::world::{Edit, Step};

/// Average seconds between payments in a phase: from bursts to about 40, 200 and a few a day.
const TEMPOS: [u64; 8] = [1, 20, 200, 430, 430, 900, 2_000, 12_000];

/// Generates one world's history.
pub struct Actions {
    random: Random,
    /// The agent that most actions concern for a while.
    focus: usize,
    tempo: u64,
    phase_left: u64,
    /// Almost only payments, and no clock jumps: days with many payments.
    calm: bool,
    /// The phase begins with limits that its payments will reach.
    wants_limits: bool,
    next_tag: u64,
    /// The policies that drafts are to hold.
    plans: HashMap<Pubkey, Policy>,
    /// Memos of payments that grants are for, by their hashes.
    memos: HashMap<[u8; 32], Vec<u8>>,
}

impl Actions {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            focus: 0,
            tempo: 1,
            phase_left: 0,
            calm: false,
            wants_limits: false,
            next_tag: 1,
            plans: HashMap::new(),
            memos: HashMap::new(),
        }
    }

    pub fn next(&mut self, model: &Model) -> Step {
        if self.phase_left == 0 {
            self.begin_phase();
        }
        self.phase_left -= 1;
        let elsewhere = if self.calm { 40 } else { 10 };
        let number = if self.one_in(elsewhere) { self.below(CAST.agents.len()) } else { self.focus };
        let place = &CAST.agents[number];
        if let Some(edit) = self.edit(place, model) {
            return Step::Edit(edit);
        }
        let at = self.time(place, model);
        let mut model = Sight { model, at };
        let mut call = self.call(place, &mut model);
        let odds = if self.calm { 80 } else { 20 };
        if self.one_in(odds) {
            for _ in 0..1 + self.below(4) / 2 {
                self.corrupt(&mut call);
            }
        }
        Step::Call { at: model.at, call }
    }

    fn begin_phase(&mut self) {
        self.focus = self.below(CAST.agents.len());
        self.tempo = TEMPOS[self.below(TEMPOS.len())];
        self.calm = !self.one_in(3);
        self.phase_left = if self.calm { 300 + self.random.below(700) } else { 100 + self.random.below(400) };
        self.wants_limits = !self.one_in(3);
    }

    fn call(&mut self, place: &AgentPlace, sight: &mut Sight) -> Call {
        let number = CAST.operators.iter().position(|operator| operator.address == place.operator);
        let operator_place = &CAST.operators[number.expect("an agent's operator is in the cast")];
        let Some(operator) = sight.model.operators.get(&place.operator) else {
            return self.create_operator(operator_place);
        };
        let Some(agent) = sight.model.agents.get(&place.address) else {
            return self.create_agent(place, operator);
        };
        let scene = Scene { place, operator_place, operator, agent };
        if operator.halted_by.is_some() && self.one_in(5) {
            return self.budget(&scene, sight);
        }
        if agent.by_grant_only {
            let has_grants = place.grants.iter().any(|key| sight.model.grants.contains_key(key));
            if self.one_in(if has_grants { 12 } else { 2 }) {
                return self.grant(&scene, sight);
            }
            if self.one_in(40) {
                return self.set_bounds(&scene, sight);
            }
        }
        if let Some(remedy) = self.remedy(&scene, sight) {
            return remedy;
        }
        if std::mem::take(&mut self.wants_limits) {
            return self.set_limits(&scene);
        }
        let among = if self.calm { 3_000 } else { 600 };
        match self.random.below(among) {
            0..30 => self.set_policy(&scene),
            30..90 => self.draft(&scene, sight),
            90..105 => self.set_paused(&scene),
            105..118 => self.halt(&scene),
            118..128 => self.update_operator(&scene),
            128..132 => self.accept_admin(&scene),
            132..145 => self.withdraw(&scene, sight),
            145..155 => self.close_agent(&scene, sight),
            155..158 => self.create_operator(operator_place),
            158..162 => self.create_agent(place, operator),
            162..175 => self.rent(&scene, sight),
            175..225 => self.grant(&scene, sight),
            225..290 => self.transfer_extended(&scene, sight),
            290..305 => self.approver(&scene, sight),
            305..320 => self.set_bounds(&scene, sight),
            320..345 => self.budget(&scene, sight),
            345..355 => self.set_tag_buckets(&scene),
            _ => self.transfer(&scene, sight),
        }
    }

    /// Without these, a world would end up halted, paused or frozen, and refuse everything because of that.
    fn remedy(&mut self, scene: &Scene, sight: &Sight) -> Option<Call> {
        let Scene { place, operator, agent, .. } = scene;
        if operator.halted_by.is_some() && self.one_in(4) {
            return Some(self.resume(operator, place, purser::ID));
        }
        if agent.halted_by.is_some() && self.one_in(4) {
            return Some(self.resume(operator, place, place.address));
        }
        let is_bounded = agent.by_grant_only || agent.month.is_some() || agent.budget.is_some();
        // Days of many payments have no low caps.
        let (odds, more) = match (self.calm, agent.by_grant_only) {
            (true, true) => (20, 60_000),
            (true, false) => (30, 60_000),
            (false, true) => (60, 2_000),
            (false, false) => (150, 2_000),
        };
        if is_bounded && self.one_in(odds) {
            let cap = agent.month.as_ref().map(|month| month.cap.saturating_add(more));
            let budget = agent.budget.filter(|_| !self.one_in(if self.calm { 2 } else { 4 }));
            let slots = [
                operator.admin,
                self.person(),
                place.operator,
                place.address,
                agent.rent_refund,
                budget.unwrap_or(purser::ID),
            ];
            return Some(Call::new(
                Args::SetBounds { by_grant_only: false, cap, budget, expected: None },
                slots,
            ));
        }
        if agent.policy.paused && self.one_in(4) {
            return Some(self.unpause(operator, place));
        }
        let is_full = agent.table.kept(sight.at).count() * 10 >= agent.table.0.len() * 16 * 7;
        if is_full && self.one_in(4) {
            let buckets = (agent.table.0.len() + 1 + self.below(3)) as u16;
            let slots = [operator.admin, self.person(), place.operator, place.address, agent.rent_refund];
            return Some(Call::new(Args::SetTagBuckets(buckets), slots));
        }
        let closed = agent.policy.only.as_ref().is_some_and(|only| only.len() == 0);
        (closed && self.one_in(8)).then(|| self.set_limits(scene))
    }

    fn edit(&mut self, place: &AgentPlace, model: &Model) -> Option<Edit> {
        let token = model.tokens.get(&place.source);
        let agent = model.agents.contains_key(&place.address);
        let balance = token.map_or(0, |token| token.amount);
        // Some agents find USDC at their address when they are created.
        let odds = match agent {
            true if balance < 2_000 => 2,
            true => 60,
            false => 8,
        };
        if self.one_in(odds) {
            let amount = if self.one_in(40) { 1 << 62 } else { self.random.below(200_000) };
            // Keeps every balance within the total supply.
            let amount = amount.min((1 << 62) - balance.min(1 << 62));
            return Some(Edit::Deposit { to: place.source, amount });
        }
        let frozen = token.is_some_and(|token| token.frozen);
        if frozen && self.one_in(4) || self.one_in(500) {
            return Some(Edit::Freeze { account: place.source, frozen: !frozen });
        }
        if self.one_in(800) {
            let of = [place.address, place.draft, place.source, place.operator];
            return Some(Edit::Donate { to: of[self.below(4)], lamports: 1 + self.random.below(10_000_000) });
        }
        None
    }

    /// The clock's second for the next transaction.
    fn time(&mut self, place: &AgentPlace, model: &Model) -> i64 {
        let now = model.now;
        let forward = |seconds: u64| now + seconds as i64;
        let leap = self.random.below(1000);
        let agent = model.agents.get(&place.address);
        if let (Some(agent), 0..30) = (agent, leap) {
            // Around the second at which something remembered becomes a day old.
            let spans = &agent.window.spans;
            let remembered = if leap < 20 && !spans.is_empty() {
                // Mostly old spans: they expire next.
                Some(spans[self.below(spans.len().min(4))].0)
            } else {
                agent.tags.iter().rev().nth(self.below(16)).map(|(_, at)| *at)
            };
            let edge = remembered.map(|at| at + DAY - 1 + self.random.below(4) as i64);
            let far = if self.calm { 20 * self.tempo as i64 } else { DAY };
            return edge.filter(|edge| (now..now + far).contains(edge)).unwrap_or(now);
        }
        match leap {
            30..40 => now - self.random.below(1000) as i64,
            40..44 if !self.calm => forward(86_398 + self.random.below(5)),
            44..46 if !self.calm => forward(self.random.below(40 * 86_400)),
            46..250 => now,
            _ => forward(self.random.below(2 * self.tempo + 1)),
        }
    }

    /// Puts another account in a slot, the same one in two slots, or drops the signature.
    fn corrupt(&mut self, call: &mut Call) {
        let slot = self.below(call.slots.len());
        let signs = matches!(call.args.slots()[slot], Slot::Signer | Slot::Payer);
        if call.args.slots()[slot] == Slot::Refund {
            // A wallet, or what certainly is none.
            call.slots[slot] = if self.one_in(2) { self.person() } else { CAST.recipients[self.below(12)].0 };
            return;
        }
        call.slots[slot] = match self.random.below(8) {
            0 if slot == 0 => {
                call.signed = false;
                return;
            }
            // Only people can sign.
            _ if signs => self.person(),
            // The program's own address stands for nobody where a slot may be left out, and is never writable.
            0..3 => Some(call.slots[self.below(call.slots.len())])
                .filter(|key| *key != purser::ID || call.args.slots()[slot] == Slot::Read)
                .unwrap_or_else(|| self.person()),
            3..5 => {
                let place = &CAST.agents[self.below(CAST.agents.len())];
                [place.operator, place.address, place.source, place.draft][self.below(4)]
            }
            _ => CAST.everything[self.below(CAST.everything.len())],
        };
    }

    /// Makes a budget, changes or closes one.
    fn budget(&mut self, scene: &Scene, sight: &mut Sight) -> Call {
        let Scene { place, operator_place, .. } = scene;
        let id = self.below(2);
        let address = operator_place.budgets[id];
        let known = sight.model.budgets.get(&address);
        if known.is_some() && self.one_in(4) {
            if let (Some(budget), 0..2) = (known, self.random.below(3)) {
                // Around the moment at which the month is empty, or the day.
                let (day, _) = budget.month.stored();
                let free = if self.one_in(3) { (day + 31) * DAY } else { budget.day.latest + DAY + 1 };
                sight.at = sight.at.max(free - 1 + self.random.below(3) as i64);
            }
            let slots = [self.admin(scene.operator), place.operator, address];
            return Call::new(Args::CloseBudget, slots);
        }
        let spent = known.map_or(0, |budget| budget.day.spent(sight.at));
        let month = known.map_or(0, |budget| budget.month.spent(sight.at));
        let cap = |this: &mut Self, spent: u64| match this.random.below(8) {
            0 => u64::MAX,
            1 => this.random.below(3_000),
            2 => spent.saturating_add(this.random.below(3)),
            _ => spent.saturating_add(this.random.below(30_000)),
        };
        let caps = BudgetCaps {
            max_daily_spend: cap(self, spent),
            max_30_day_spend: (!self.one_in(3)).then(|| cap(self, month)),
        };
        let signer = match self.random.below(8) {
            0 => scene.operator.guardian.unwrap_or(scene.operator.admin),
            1 => self.person(),
            2..5 => scene.operator.policy_authority,
            _ => scene.operator.admin,
        };
        let in_force = known.map(|budget| budget.shown(scene.operator, sight.at));
        let expected = match self.random.below(12) {
            0..5 => in_force,
            5 => Some(BudgetCaps { max_daily_spend: self.random.below(3), max_30_day_spend: None }),
            _ => None,
        };
        Call::new(Args::SetBudget { id: id as u64, caps, expected }, [signer, place.operator, address])
    }

    fn person(&mut self) -> Pubkey {
        CAST.people[self.below(CAST.people.len())]
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn one_in(&mut self, odds: u64) -> bool {
        self.random.below(odds) == 0
    }

    /// Admin or policy authority; rarely someone else.
    fn setter(&mut self, operator: &Operator) -> Pubkey {
        match self.random.below(20) {
            0 => self.person(),
            1 => operator.guardian.unwrap_or(operator.admin),
            2..11 => operator.policy_authority,
            _ => operator.admin,
        }
    }

    fn admin(&mut self, operator: &Operator) -> Pubkey {
        match self.random.below(20) {
            0 => self.person(),
            1 => operator.policy_authority,
            _ => operator.admin,
        }
    }

    /// Almost always `right`.
    fn mostly(&mut self, right: Pubkey) -> Pubkey {
        if self.one_in(40) {
            self.person()
        } else {
            right
        }
    }
}

/// What the actions see of the world, and the time, which an action may choose.
struct Sight<'a> {
    model: &'a Model,
    at: i64,
}

/// An existing agent and its operator.
struct Scene<'a> {
    place: &'a AgentPlace,
    operator_place: &'a OperatorPlace,
    operator: &'a Operator,
    agent: &'a Agent,
}
