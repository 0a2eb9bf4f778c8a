//! Accounts and their policies: creation, replacement, pause, closing.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{AGENT_SEED, LAYOUT_VERSION};
use purser::events::{
    AgentClosed, AgentCreated, BoundsSet, DraftClosed, PausedSet, PolicyRecord, PolicySet, RentRefundSet,
    TagBucketsSet,
};
use purser::state::{Agent, Authority, ClosedAgent, Role, StoredPolicy, second};
use purser::{Bounds, instruction};
use purser_client::{Called, arguments, decode_event};
use purser_policy::{Policy, SpendWindow, TAG_SECONDS, TagBucket, UsdcAmount, grow, shrink};

use super::found::BoundsChange;
use super::step::Step;
use super::timeline::bound;
use super::{AgentBook, ClosedBook, MomentKind, Movement};
use crate::check::Check;

impl Step<'_> {
    pub(super) fn create_agent(&mut self, called: &Called) -> Option<()> {
        let instruction::CreateAgent { agent_id, policy: args } = arguments(&called.data)?;
        let (address, token_account, rent_refund) =
            (*called.accounts.get(3)?, *called.accounts.get(4)?, *called.accounts.get(6)?);
        let (signer, role) = self.role(called, Some(address), Authority::SetPolicy)?;
        let policy = args.policy().ok()?;
        let seeds: [&[u8]; 3] = [AGENT_SEED, self.address.as_ref(), &agent_id];
        let (derived, bump) = Pubkey::find_program_address(&seeds, &self.at.program);
        self.examine(Check::State, Some(address));
        if derived != address || token_account != self.at.token_account(&address) {
            let text = "The account was created at an address that is not its own.".to_owned();
            self.mismatch(Check::State, Some(address), text);
        }
        if self.world.agents.contains_key(&address) {
            let text = format!(
                "{signer} created the account over one that was not closed: all that bound it was forgotten."
            );
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        let closed = self.world.closed.remove(&address);
        if closed.is_some() && role != Role::Admin {
            let text = format!("{signer} created the account anew after it was closed: only the admin does.");
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        let waits = self.operator().is_some_and(|operator| operator.loosening_delay_seconds > 0);
        let held = self.balance(&token_account).map_or(UsdcAmount::ZERO, |balance| balance.before);
        if waits && role != Role::Admin && !held.is_zero() && !policy.refuses_all() {
            let text = format!(
                "The account was created over {held} USDC by {signer}, with a policy that pays: where loosened policies wait, only the \
                 admin does."
            );
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        let agent = Agent {
            version: LAYOUT_VERSION,
            bump,
            policy_version: 1,
            operator: self.address,
            agent_id,
            token_account,
            rent_refund,
            policy: StoredPolicy { tag_buckets: 1, ..StoredPolicy::from(&policy) },
            ..Agent::zeroed()
        };
        let mut book =
            AgentBook { agent, tail: tail(&policy), buckets: vec![TagBucket::EMPTY], unsure_until: None };
        book.agent.set_policy(&policy);
        book.agent.policy_updated_at = second(self.now);
        self.world.agents.remove(&address);
        let mut text = format!("Created by {signer}.");
        if let Some(ClosedBook { left, last }) = closed {
            book.agent.voided_at = left.second;
            *book.agent.window_mut() = SpendWindow::beginning(left.second.into());
            text = self.created_anew(address, &last, signer);
            // What comes into force is held against what stood there last.
            self.world.agents.insert(address, last);
        }
        self.tells(MomentKind::AccountCreated, Some(address), text);
        self.comes_into_force(address, &book, signer);
        self.world.agents.insert(address, book);
        self.found.created.push(address);
        self.examine(Check::PolicyChanges, Some(address));
        let event = AgentCreated { operator: self.address, agent: address, agent_id, token_account };
        self.expect(Some(address), &event, "AgentCreated");
        self.policy_set(address, 1, PolicyRecord::new(&policy, None), signer);
        Some(())
    }

    /// Holds the bounds of an account that begins again, which are none, against the last ones at its address. Returns what
    /// happened, in words.
    fn created_anew(&mut self, agent: Pubkey, last: &AgentBook, signer: Pubkey) -> String {
        let before = last.agent.bounds(&last.tail);
        let (after, paid) = (Bounds::default(), self.found.paid_by(&agent));
        self.found.bounds.push(BoundsChange { agent, version: 1, signer, before, after, paid });
        let counted = last
            .agent
            .month(&last.tail)
            .map_or(UsdcAmount::ZERO, |month| month.window().spent(last.agent.clock(self.now)));
        self.found.anew.push((agent, counted));
        let forgotten = match counted.is_zero() {
            true => String::new(),
            false => format!("; {counted} USDC that counted against its cap for 30 days count no longer"),
        };
        format!("Created anew by {signer} after it was closed{forgotten}.")
    }

    pub(super) fn set_policy(&mut self, called: &Called) -> Option<()> {
        let instruction::SetPolicy { expected_version, policy: args } = arguments(&called.data)?;
        let address = *called.accounts.get(3)?;
        let (signer, role) = self.role(called, Some(address), Authority::SetPolicy)?;
        let policy = args.policy().ok()?;
        let Some(book) = self.agent(address) else { return Some(()) };
        let delay = self.operator().map_or(0, |operator| operator.loosening_delay_seconds);
        if role != Role::Admin && delay > 0 && policy.loosens(&book.policy()) {
            let text = format!(
                "{signer} loosened the policy at once; the operator lets that wait for {delay} seconds."
            );
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        let version = self.replace_policy(address, book, expected_version, &policy, signer);
        self.policy_set(address, version, PolicyRecord::new(&policy, None), signer);
        Some(())
    }

    /// Puts a policy in force, over the version that it was written against.
    pub(super) fn replace_policy(
        &mut self,
        address: Pubkey,
        mut book: AgentBook,
        expected: u32,
        policy: &Policy,
        signer: Pubkey,
    ) -> u32 {
        self.examine(Check::PolicyChanges, Some(address));
        let version = book.agent.policy_version;
        if version != expected {
            let text = format!("A policy written against version {expected} replaced version {version}.");
            self.mismatch(Check::PolicyChanges, Some(address), text);
            book.agent.policy_version = expected;
        }
        book.agent.set_policy(policy);
        // Bounds stand before the list.
        book.tail.truncate(book.agent.list_at());
        book.tail.extend(tail(policy));
        let version = self.policy_changed(address, &mut book, signer);
        self.world.agents.insert(address, book);
        version
    }

    fn policy_changed(&mut self, address: Pubkey, book: &mut AgentBook, signer: Pubkey) -> u32 {
        if book.agent.policy_changed(self.now).is_err() {
            self.mismatch(Check::PolicyChanges, Some(address), "The policy's version ran over.".to_owned());
        }
        self.comes_into_force(address, book, signer);
        book.agent.policy_version
    }

    pub(super) fn policy_set(
        &mut self,
        agent: Pubkey,
        policy_version: u32,
        policy: PolicyRecord,
        signer: Pubkey,
    ) {
        let event = PolicySet { operator: self.address, agent, policy_version, policy, signer };
        self.expect(Some(agent), &event, "PolicySet");
    }

    pub(super) fn set_paused(&mut self, called: &Called) -> Option<()> {
        let instruction::SetPaused { paused } = arguments(&called.data)?;
        let address = *called.accounts.get(2)?;
        let (signer, role) = self.role(called, Some(address), Authority::SetPolicy)?;
        let Some(mut book) = self.agent(address) else { return Some(()) };
        let waits = self.operator().is_some_and(|operator| operator.loosening_delay_seconds > 0);
        self.examine(Check::PolicyChanges, Some(address));
        if book.agent.policy.is_paused() && !paused && waits && role != Role::Admin {
            let text = format!("{signer} lifted a pause at once; the operator lets that wait.");
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        book.agent.policy.set_paused(paused);
        let policy_version = self.policy_changed(address, &mut book, signer);
        self.world.agents.insert(address, book);
        let event = PausedSet { operator: self.address, agent: address, paused, policy_version, signer };
        self.expect(Some(address), &event, "PausedSet");
        Some(())
    }

    pub(super) fn set_bounds(&mut self, called: &Called) -> Option<()> {
        let instruction::SetBounds { bounds, expected } = arguments(&called.data)?;
        let address = *called.accounts.get(3)?;
        let (signer, role) = self.role(called, Some(address), Authority::SetPolicy)?;
        let Some(mut book) = self.agent(address) else { return Some(()) };
        let waits = self.operator().is_some_and(|operator| operator.loosening_delay_seconds > 0);
        self.examine(Check::PolicyChanges, Some(address));
        let before = book.agent.bounds(&book.tail);
        if expected.is_some_and(|expected| expected != before) {
            let text = format!("{signer} replaced bounds that are not those which the change names.");
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        let loosens = bounds.loosens(&before);
        if loosens && waits && role != Role::Admin {
            let text = format!(
                "{signer} loosened the account's bounds; where loosened policies wait, only the admin does."
            );
            self.mismatch(Check::PolicyChanges, Some(address), text);
        }
        book.tail = book.agent.set_bounds(&bounds, &book.tail);
        let (version, paid) = (book.agent.policy_version, self.found.paid_by(&address));
        self.found.bounds.push(BoundsChange { agent: address, version, signer, before, after: bounds, paid });
        self.world.agents.insert(address, book);
        let event = BoundsSet { operator: self.address, agent: address, bounds, signer };
        self.expect(Some(address), &event, "BoundsSet");
        let kind = if loosens { MomentKind::BoundsLoosened } else { MomentKind::BoundsSet };
        let what = bound(&bounds).join(", ");
        let what = if what.is_empty() { "nothing" } else { &what };
        self.tells(kind, Some(address), format!("Beside its policy, {what} binds the account, by {signer}."));
        Some(())
    }

    pub(super) fn set_tag_buckets(&mut self, called: &Called) -> Option<()> {
        let instruction::SetTagBuckets { buckets } = arguments(&called.data)?;
        let address = *called.accounts.get(3)?;
        self.role(called, Some(address), Authority::SetPolicy)?;
        let Some(mut book) = self.agent(address) else { return Some(()) };
        self.examine(Check::PaidOnce, Some(address));
        let (had, count) = (book.buckets.len(), usize::from(buckets));
        let fits = if count > had {
            book.buckets.resize(count, TagBucket::EMPTY);
            grow(&mut book.buckets, had);
            Some(())
        } else {
            let now = book.agent.clock(self.now);
            let fits = shrink(&mut book.buckets, count, now);
            book.buckets.truncate(count);
            fits
        };
        if fits.is_none() || count == 0 {
            let text = "The account forgot payments of the last 25 hours: it has less room than they need.";
            self.mismatch(Check::PaidOnce, Some(address), text.to_owned());
        }
        book.agent.policy.tag_buckets = buckets;
        self.world.agents.insert(address, book);
        let event = TagBucketsSet { operator: self.address, agent: address, buckets };
        self.expect(Some(address), &event, "TagBucketsSet");
        Some(())
    }

    pub(super) fn set_rent_refund(&mut self, called: &Called) -> Option<()> {
        let (address, new) = (*called.accounts.get(2)?, *called.accounts.get(3)?);
        let signer = self.signer(called, Some(address))?;
        let Some(mut book) = self.agent(address) else { return Some(()) };
        if signer != book.agent.rent_refund {
            let text =
                format!("{signer} said who gets the rent back, which the address that gets it does alone.");
            self.mismatch(Check::Signer, Some(address), text);
        }
        book.agent.rent_refund = new;
        self.world.agents.insert(address, book);
        let event = RentRefundSet { operator: self.address, agent: address, rent_refund: new };
        self.expect(Some(address), &event, "RentRefundSet");
        Some(())
    }

    pub(super) fn close_agent(&mut self, called: &Called) -> Option<()> {
        let (address, recipient) = (*called.accounts.get(2)?, *called.accounts.get(5)?);
        let (admin, _) = self.role(called, Some(address), Authority::Administer)?;
        let Some(book) = self.agent(address) else { return Some(()) };
        let Agent { agent_id, token_account, .. } = book.agent;
        let now = book.agent.clock(self.now);
        self.examine(Check::DailyLimit, Some(address));
        if book.agent.payments > 0 && now.saturating_sub(book.agent.window().latest()) < TAG_SECONDS {
            let text = "The account was closed within 25 hours of its newest payment: created anew, it begins with an \
                        empty window.";
            self.mismatch(Check::DailyLimit, Some(address), text.to_owned());
        }
        if let Some(draft) = self.world.drafts.remove(&address) {
            let hash = draft.draft.hash;
            let event = DraftClosed { operator: self.address, agent: address, hash, signer: admin };
            self.expect(Some(address), &event, "DraftClosed");
        }
        self.world.agents.remove(&address);
        let left = ClosedAgent {
            version: LAYOUT_VERSION,
            reserved: [0; 3],
            second: second(now).max(book.agent.voided_at),
            rent_refund: admin,
        };
        let payments = book.agent.payments;
        self.world.closed.insert(address, ClosedBook { left, last: book });
        self.found.closed.push(address);
        let swept = self.left_in(address, &token_account);
        let event = AgentClosed {
            operator: self.address,
            agent: address,
            agent_id,
            payments,
            swept: swept.micros(),
            recipient,
            admin,
        };
        self.expect(Some(address), &event, "AgentClosed");
        let text = format!("Closed by {admin}; {swept} USDC went to {recipient}.");
        self.tells(MomentKind::AccountClosed, Some(address), text);
        if !swept.is_zero() {
            self.has_moved(address, token_account, recipient, swept);
            self.found.recipients.push((address, recipient));
        }
        let owner = self.balance(&recipient).and_then(|balance| balance.owner);
        let withdrawal = Movement::Withdrawal { agent: address, amount: swept, recipient, owner, admin };
        self.found.movements.push(withdrawal);
        Some(())
    }

    /// The rest on a closed account: from its log or, without one, the balance before minus what left in between.
    fn left_in(&self, agent: Pubkey, token_account: &Pubkey) -> UsdcAmount {
        let logged = self.logged.front().and_then(|payload| decode_event::<AgentClosed>(payload));
        if let Some(event) = logged.filter(|event| event.agent == agent) {
            return UsdcAmount::from_micros(event.swept);
        }
        let before = self.balance(token_account).map_or(UsdcAmount::ZERO, |balance| balance.before);
        let out = self.found.movements.iter().filter_map(|movement| movement.out_of(&agent));
        out.fold(before, UsdcAmount::saturating_sub)
    }
}

impl AgentBook {
    /// The account's data.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let state = bytemuck::bytes_of(&self.agent);
        let buckets = bytemuck::cast_slice(&self.buckets);
        [Agent::DISCRIMINATOR, state, &self.tail, buckets].concat()
    }

    pub(super) fn policy(&self) -> Policy<'_> {
        self.agent.policy.with(self.agent.list(&self.tail))
    }
}

/// The allowlist in the form of an account's tail.
pub(super) fn tail(policy: &Policy) -> Vec<u8> {
    let (wallets, token_accounts) = policy.allowlist.entries();
    wallets.iter().chain(token_accounts).flatten().copied().collect()
}
