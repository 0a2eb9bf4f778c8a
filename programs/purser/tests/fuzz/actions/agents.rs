//! Creates and closes agents, and withdraws as the admin.

use super::{Actions, Scene, Sight};
use crate::call::{Args, Call};
use crate::cast::{AgentPlace, CAST, MINT, MINTS, MINT_2022, OTHER_MINT, TOKEN_2022};
use crate::oracle::{Operator, Policy, DAY};
use anchor_spl::token;
use purser::Bounds;

impl Actions {
    pub(super) fn create_agent(&mut self, place: &AgentPlace, operator: &Operator) -> Call {
        let policy = if self.one_in(2) { Policy::default() } else { self.policy(&Policy::default()) };
        let signer = self.setter(operator);
        let mint = if self.one_in(30) { MINTS[self.below(MINTS.len())].0 } else { operator.mint };
        // The program's own address stands for none.
        let closed_refund = if self.one_in(6) { purser::ID } else { self.mostly(operator.admin) };
        let slots = [
            signer,
            self.person(),
            place.operator,
            place.address,
            place.source,
            mint,
            self.person(),
            closed_refund,
        ];
        Call::new(Args::CreateAgent { agent_id: place.id, policy }, slots)
    }

    pub(super) fn set_bounds(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        let spent = agent.month.as_ref().map_or(0, |month| month.spent(sight.at));
        let cap = match self.random.below(6) {
            0 => None,
            1 => agent.month.as_ref().map(|month| month.cap),
            2 => Some(spent.saturating_add(self.random.below(3))),
            3 => Some(self.random.below(2_000)),
            _ => Some(spent.saturating_add(self.random.below(60_000))),
        };
        let signer = self.setter(operator);
        let refund = self.mostly(agent.rent_refund);
        let budget = match self.random.below(8) {
            0 => None,
            1 => Some(CAST.operators[self.below(3)].budgets[0]),
            2 => Some(purser::ID),
            3..5 => agent.budget,
            _ => Some(scene.operator_place.budgets[self.below(2)]),
        };
        let by_grant_only = self.one_in(if self.calm { 10 } else { 3 });
        let shown = if self.one_in(20) {
            CAST.operators[self.below(3)].budgets[0]
        } else {
            budget.unwrap_or(purser::ID)
        };
        let slots = [signer, self.person(), place.operator, place.address, refund, shown];
        let expected = match self.random.below(12) {
            0..5 => Some(agent.bounds()),
            5 => Some(Bounds { max_30_day_spend: cap, ..agent.bounds() }),
            _ => None,
        };
        Call::new(Args::SetBounds { by_grant_only, cap, budget, expected }, slots)
    }

    /// More buckets, fewer, as many, or so many that it is refused.
    pub(super) fn set_tag_buckets(&mut self, scene: &Scene) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        let had = agent.table.0.len() as u16;
        let buckets = match self.random.below(8) {
            0 => self.below(60) as u16,
            1 => had + 53 + self.below(2) as u16,
            2 => had.saturating_sub(1 + self.below(3) as u16),
            3 => 1,
            _ => had + self.below(4) as u16,
        };
        let signer = self.setter(operator);
        let slots = [signer, self.person(), place.operator, place.address, self.mostly(agent.rent_refund)];
        Call::new(Args::SetTagBuckets(buckets.min(80)), slots)
    }

    /// Changes who gets rent back, or sends somewhere what is more than rent.
    pub(super) fn rent(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let Scene { place, agent, .. } = scene;
        if self.one_in(3) {
            let slots = [self.mostly(agent.rent_refund), place.operator, place.address, self.person()];
            return Call::new(Args::SetRentRefund, slots);
        }
        let other = &CAST.agents[self.below(CAST.agents.len())];
        let draft = sight.model.drafts.get(&place.draft);
        let (account, refund) = match (self.random.below(4), draft, sight.model.closed.get(&other.address)) {
            (0, Some(draft), _) => (place.draft, draft.rent_refund),
            (1, _, Some((refund, _))) => (other.address, *refund),
            _ => (place.address, agent.rent_refund),
        };
        Call::new(Args::ReclaimRent, [account, self.mostly(refund)])
    }

    pub(super) fn withdraw(&mut self, scene: &Scene, sight: &Sight) -> Call {
        let place = scene.place;
        let [usdc, other, token_2022] = place.others;
        let (source, mint, program) = match self.random.below(8) {
            0 => (usdc, MINT, token::ID),
            1 => (other, OTHER_MINT, token::ID),
            2 => (token_2022, MINT_2022, TOKEN_2022),
            3 => (place.source, MINTS[self.below(MINTS.len())].0, [token::ID, TOKEN_2022][self.below(2)]),
            _ => (place.source, MINT, token::ID),
        };
        let balance = sight.model.tokens.get(&source).map_or(0, |token| token.amount);
        let amount = match self.random.below(8) {
            0 => 0,
            1 => balance,
            2 => balance.saturating_add(1),
            _ => self.random.below(balance.min(500) + 1),
        };
        let of_that_mint = |token: &crate::oracle::Token| token.mint == mint;
        let matching: Vec<_> = CAST.recipients.iter().filter(|(_, token)| of_that_mint(token)).collect();
        let destination = match self.random.below(10) {
            0 => CAST.recipients[self.below(CAST.recipients.len())].0,
            1 => source,
            _ => matching.get(self.below(matching.len().max(1))).map_or(source, |(address, _)| *address),
        };
        let slots =
            [self.admin(scene.operator), place.operator, place.address, source, mint, destination, program];
        Call::new(Args::Withdraw { amount }, slots)
    }

    pub(super) fn close_agent(&mut self, scene: &Scene, sight: &mut Sight) -> Call {
        let Scene { place, operator, agent, .. } = scene;
        if self.one_in(2) {
            // From one second before the newest payment is a day old to two seconds after.
            let free = agent.window.latest + DAY - 1 + self.random.below(4) as i64;
            sight.at = sight.at.max(free);
        }
        let draft = sight.model.drafts.get(&place.draft);
        let draft_rent_refund = draft.map_or(operator.admin, |draft| draft.rent_refund);
        let among = if self.one_in(8) { 20 } else { 12 };
        let destination = match self.random.below(15) {
            0 => place.others[self.below(3)],
            _ => CAST.recipients[self.below(among)].0,
        };
        let slots = [
            self.admin(operator),
            place.operator,
            place.address,
            place.source,
            if self.one_in(20) { OTHER_MINT } else { MINT },
            destination,
            self.mostly(agent.rent_refund),
            place.draft,
            self.mostly(draft_rent_refund),
        ];
        Call::new(Args::CloseAgent, slots)
    }
}
