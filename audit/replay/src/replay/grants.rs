//! Grants: opened, used, closed, voided; and approvers, who open some.

use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{APPROVER_SEED, GRANT_SECONDS_MAX, GRANT_SEED, LAYOUT_VERSION};
use purser::events::{ApproverRemoved, ApproverSet, GrantClosed, GrantOpened, GrantUsed, GrantsVoided};
use purser::state::{Approver, Authority, Grant, Operator, Role};
use purser::{GrantPayee, GrantTerms, OpenedBy, instruction};
use purser_client::{Called, arguments};
use purser_policy::{TransferRequest, UsdcAmount, Waived};
use ulid::Ulid;

use super::step::Step;
use super::{AgentBook, GrantBook, MomentKind};
use crate::check::Check;

/// Where the opening of a grant names the approver that signs it.
const APPROVER_PLACE: usize = 6;

impl Step<'_> {
    pub(super) fn open_grant(&mut self, called: &Called) -> Option<()> {
        let instruction::OpenGrant { id, terms } = arguments(&called.data)?;
        let (agent, address, rent_refund) =
            (*called.accounts.get(3)?, *called.accounts.get(4)?, *called.accounts.get(5)?);
        let approver = Some(*called.accounts.get(APPROVER_PLACE)?).filter(|key| *key != called.program);
        let (signer, opened_by) = match approver {
            Some(_) => (self.signer(called, Some(agent))?, OpenedBy::Approver),
            None => match self.role(called, Some(agent), Authority::SetPolicy)? {
                (signer, Role::Admin) => (signer, OpenedBy::Admin),
                (signer, Role::PolicyAuthority | Role::Guardian) => (signer, OpenedBy::PolicyAuthority),
            },
        };
        let (Some(operator), Some(book)) = (self.operator(), self.agent(agent)) else { return Some(()) };
        self.examine(Check::PolicyChanges, Some(agent));
        let mut refused = Vec::new();
        if opened_by != OpenedBy::Admin && terms.beyond_daily_limit {
            refused.push("past the daily limit the admin alone lets anybody");
        }
        if opened_by != OpenedBy::Admin && operator.halted_by | book.agent.halted_by != 0 {
            refused.push("in a halt the admin alone opens any");
        }
        if !is_grantable(&terms, self.now) {
            refused.push("its amount, its end or what it is for is none that the program takes");
        }
        let seeds: [&[u8]; 3] = [GRANT_SEED, agent.as_ref(), &id.to_le_bytes()];
        let (derived, bump) = Pubkey::find_program_address(&seeds, &self.at.program);
        if derived != address || self.world.grants.contains_key(&address) {
            refused.push("its address is not its own, or one that is open stands there");
        }
        if let Some(approver) = approver {
            if called.is_inner || self.memo != Some(terms.approval(&agent).as_bytes()) {
                refused
                    .push("no memo before it says what it is for, so the approver's wallet did not show it");
            }
            refused.extend(self.approved(approver, signer, (&operator, &book), &terms));
        }
        for why in refused {
            let text = format!("{signer} opened the grant {address}: {why}.");
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
        let mut grant = Grant {
            version: LAYOUT_VERSION,
            bump,
            id,
            operator: self.address,
            agent,
            rent_refund,
            ..Grant::zeroed()
        };
        let now = match approver.and_then(|key| self.world.approvers.get(&key)) {
            Some(approver) => approver.window().effective(book.agent.clock(self.now)),
            None => book.agent.clock(self.now),
        };
        grant.set_terms(&terms, opened_by, &operator, now);
        if grant.is_void(&operator, &book.agent) {
            let text =
                format!("{signer} opened the grant {address} in the second in which grants were revoked.");
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
        self.world.grants.insert(address, GrantBook { grant, opener: signer });
        let event =
            GrantOpened { operator: self.address, agent, grant: address, id, terms, opened_by, signer };
        self.expect(Some(agent), &event, "GrantOpened");
        self.tells(
            MomentKind::GrantOpened,
            Some(agent),
            format!("The grant {address} was opened by {}: {}.", opener(opened_by, signer), words(&terms)),
        );
        Some(())
    }

    /// Counts a grant against its approver's limits. Returns what it broke.
    fn approved(
        &mut self,
        address: Pubkey,
        signer: Pubkey,
        (operator, book): (&Operator, &AgentBook),
        terms: &GrantTerms,
    ) -> Vec<&'static str> {
        let now = book.agent.clock(self.now);
        let Some(approver) = self.world.approvers.get_mut(&address) else {
            return vec!["it was no approver of the operator then"];
        };
        let mut broken = Vec::new();
        if approver.key != signer || approver.is_removed() || !operator.may_approve(&signer) {
            broken.push("it was no approver of the operator then");
        }
        if !terms.is_one_payment(&book.agent) {
            broken.push("an approver's is for one payment, under the policy in force");
        }
        let now = approver.window().effective(now);
        if approver.grants(terms.amount, now).is_err() {
            broken.push("it is above the approver's limits");
        }
        broken
    }

    pub(super) fn set_approver(&mut self, called: &Called) -> Option<()> {
        let instruction::SetApprover { key, max_grant, max_daily } = arguments(&called.data)?;
        let address = *called.accounts.get(2)?;
        let (admin, _) = self.role(called, None, Authority::Administer)?;
        let Some(operator) = self.operator() else { return Some(()) };
        let seeds: [&[u8]; 3] = [APPROVER_SEED, self.address.as_ref(), key.as_ref()];
        let (derived, bump) = Pubkey::find_program_address(&seeds, &self.at.program);
        self.examine(Check::State, None);
        if derived != address || !operator.may_approve(&key) {
            let text = format!("{key} became an approver, and has another part or another address.");
            self.mismatch(Check::State, None, text);
        }
        let new =
            Approver { version: LAYOUT_VERSION, bump, operator: self.address, key, ..Approver::zeroed() };
        let approver = self.world.approvers.entry(address).or_insert(new);
        (approver.max_grant, approver.max_daily, approver.removed) = (max_grant, max_daily, 0);
        self.found.approvers.push((key, Some([max_grant, max_daily])));
        let event = ApproverSet { operator: self.address, key, max_grant, max_daily, admin };
        self.expect(None, &event, "ApproverSet");
        let [at_once, a_day] = [max_grant, max_daily].map(UsdcAmount::from_micros);
        self.tells(
            MomentKind::ApproverSet,
            None,
            format!("{key} may approve payments of up to {at_once} USDC, and {a_day} USDC in 24 hours."),
        );
        Some(())
    }

    pub(super) fn remove_approver(&mut self, called: &Called) -> Option<()> {
        let address = *called.accounts.get(2)?;
        let (admin, _) = self.role(called, None, Authority::Administer)?;
        let Some(mut operator) = self.operator() else { return Some(()) };
        let found = self.world.approvers.get_mut(&address).filter(|approver| !approver.is_removed());
        let Some(approver) = found else {
            let text = format!("The approver {address} was removed, and that it was one was not read.");
            self.mismatch(Check::State, None, text);
            return Some(());
        };
        approver.removed = 1;
        let (key, now) = (approver.key, approver.window().effective(self.now));
        operator.approvers_voided_at = operator.approvers_voided_at.max(now);
        self.world.operator = Some(operator);
        let voided_at = operator.approvers_voided_at;
        let event = ApproverRemoved { operator: self.address, key, voided_at, admin };
        self.expect(None, &event, "ApproverRemoved");
        self.found.approvers.push((key, None));
        let text = format!("{key} approves nothing any more, and all grants of approvers were voided.");
        self.tells(MomentKind::ApproverRemoved, None, text);
        Some(())
    }

    pub(super) fn close_grant(&mut self, called: &Called) -> Option<()> {
        let address = *called.accounts.get(2)?;
        let Some(GrantBook { grant, .. }) = self.world.grants.remove(&address) else {
            self.unknown(address, None);
            return Some(());
        };
        let agent = Some(grant.agent);
        let signer = match grant.is_over(self.now) {
            true => self.signer(called, agent)?,
            false => self.role(called, agent, Authority::Halt)?.0,
        };
        let event = GrantClosed {
            operator: self.address,
            agent: grant.agent,
            grant: address,
            left: grant.left,
            signer,
        };
        self.expect(agent, &event, "GrantClosed");
        self.tells(MomentKind::GrantClosed, agent, format!("The grant {address} was closed by {signer}."));
        Some(())
    }

    pub(super) fn void_grants(&mut self, called: &Called) -> Option<()> {
        let agent = *called.accounts.get(2)?;
        let (signer, _) = self.role(called, Some(agent), Authority::Halt)?;
        let Some(mut book) = self.agent(agent) else { return Some(()) };
        let voided_at = book.agent.void_grants(self.now).into();
        let event = GrantsVoided { operator: self.address, agent, voided_at, signer };
        self.world.agents.insert(agent, book);
        self.expect(Some(agent), &event, "GrantsVoided");
        self.tells(MomentKind::GrantsVoided, Some(agent), format!("All grants were voided by {signer}."));
        Some(())
    }

    /// The rules that a payment may pass, by the grant that it names.
    pub(super) fn waived(
        &mut self,
        grant: Option<Pubkey>,
        agent: Pubkey,
        (operator, book): (&Operator, &AgentBook),
        request: &TransferRequest,
    ) -> Waived {
        let Some(address) = grant else {
            if book.agent.pays_by_grant_only() {
                let text = "A payment was made without a grant; the account pays by grants alone.".to_owned();
                self.mismatch(Check::Allowlist, Some(agent), text);
            }
            return Waived::NOTHING;
        };
        let Some(GrantBook { grant, .. }) = self.world.grants.get(&address) else {
            self.unknown(address, Some(agent));
            return Waived::NOTHING;
        };
        let now = book.agent.window().effective(self.now);
        match grant.waives_for(agent.as_array(), (operator, &book.agent), request, now) {
            Ok(waived) => waived,
            Err(why) => {
                let text =
                    format!("A payment was made by the grant {address}, which did not cover it: {why}.");
                self.mismatch(Check::Allowlist, Some(agent), text);
                Waived::NOTHING
            }
        }
    }

    /// Counts a payment against the grant that let it through.
    pub(super) fn grant_used(
        &mut self,
        address: Pubkey,
        (agent, number): (Pubkey, u64),
        (transfer_id, amount): ([u8; 16], UsdcAmount),
    ) {
        let Some(GrantBook { grant, opener: key }) = self.world.grants.get_mut(&address) else { return };
        grant.left = grant.left.saturating_sub(amount.micros());
        let by = opener(grant.opened_by(), *key);
        let event = GrantUsed { agent, number, grant: address, left: grant.left };
        self.expect(Some(agent), &event, "GrantUsed");
        self.tells(
            MomentKind::PaidByGrant,
            Some(agent),
            format!(
                "Payment {number} of {amount} USDC, txn_{}, was made by the grant {address}, opened by {by}.",
                Ulid::from_bytes(transfer_id)
            ),
        );
    }

    fn unknown(&mut self, grant: Pubkey, agent: Option<Pubkey>) {
        let text = format!("The grant {grant} was used, and its opening was not read.");
        self.mismatch(Check::State, agent, text);
    }
}

/// Whether the program opens a grant of these terms.
fn is_grantable(terms: &GrantTerms, now: i64) -> bool {
    let ends = terms.expires_at > now && terms.expires_at <= now.saturating_add(GRANT_SECONDS_MAX);
    // Stored, 0 stands for none.
    let names = terms.tag != Some(0) && terms.policy_version != Some(0) && terms.memo_hash != Some([0; 32]);
    terms.amount > 0 && ends && names
}

fn opener(opened_by: OpenedBy, key: Pubkey) -> String {
    match opened_by {
        OpenedBy::Admin => format!("the admin {key}"),
        OpenedBy::PolicyAuthority => format!("the policy authority {key}"),
        OpenedBy::Approver => format!("the approver {key}"),
    }
}

/// What a grant allows, in words.
fn words(terms: &GrantTerms) -> String {
    let payee = match terms.payee {
        GrantPayee::Wallet(key) => format!("the wallet {key}"),
        GrantPayee::TokenAccount(key) => format!("the token account {key}"),
    };
    let beyond = [
        (terms.beyond_allowlist, "the allowlist"),
        (terms.beyond_single_limit, "the single limit"),
        (terms.beyond_daily_limit, "the daily limit"),
    ];
    let beyond: Vec<&str> = beyond.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    let beyond = match beyond.as_slice() {
        [] => String::new(),
        beyond => format!(", beyond {}", beyond.join(" and ")),
    };
    let (amount, end) = (UsdcAmount::from_micros(terms.amount), super::date(terms.expires_at));
    format!("{amount} USDC to {payee} until {end}{beyond}")
}
