//! Grants: opened, used, closed, voided.

use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{GRANT_SEED, LAYOUT_VERSION};
use purser::events::{GrantClosed, GrantOpened, GrantUsed, GrantsVoided};
use purser::state::{Authority, Grant};
use purser::{GrantPayee, GrantTerms, instruction};
use purser_client::{Called, arguments};
use purser_policy::{TransferRequest, UsdcAmount, Waived};

use super::step::Step;
use super::{AgentBook, MomentKind};
use crate::check::Check;

impl Step<'_> {
    pub(super) fn open_grant(&mut self, called: &Called) -> Option<()> {
        let instruction::OpenGrant { id, terms } = arguments(&called.data)?;
        let (agent, address, rent_refund) =
            (*called.accounts.get(3)?, *called.accounts.get(4)?, *called.accounts.get(5)?);
        let (signer, _) = self.role(called, Some(agent), Authority::Administer)?;
        let Some(book) = self.agent(agent) else { return Some(()) };
        let seeds: [&[u8]; 3] = [GRANT_SEED, agent.as_ref(), &id.to_le_bytes()];
        let (_, bump) = Pubkey::find_program_address(&seeds, &self.at.program);
        let mut grant = Grant {
            version: LAYOUT_VERSION,
            bump,
            epoch: book.agent.grant_epoch,
            id,
            operator: self.address,
            agent,
            rent_refund,
            ..Grant::zeroed()
        };
        grant.set_terms(&terms);
        self.world.grants.insert(address, grant);
        let event = GrantOpened { operator: self.address, agent, grant: address, id, terms, signer };
        self.expect(Some(agent), &event, "GrantOpened");
        self.tells(
            MomentKind::GrantOpened,
            Some(agent),
            format!("The grant {address} was opened by {signer}: {}.", words(&terms)),
        );
        Some(())
    }

    pub(super) fn close_grant(&mut self, called: &Called) -> Option<()> {
        let address = *called.accounts.get(2)?;
        let Some(grant) = self.world.grants.remove(&address) else {
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
        book.agent.grant_epoch = book.agent.grant_epoch.wrapping_add(1);
        let event =
            GrantsVoided { operator: self.address, agent, grant_epoch: book.agent.grant_epoch, signer };
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
        book: &AgentBook,
        request: &TransferRequest,
    ) -> Waived {
        let Some(address) = grant else { return Waived::NOTHING };
        let Some(grant) = self.world.grants.get(&address) else {
            self.unknown(address, Some(agent));
            return Waived::NOTHING;
        };
        let now = book.agent.window().effective(self.now);
        match grant.waives_for(agent.as_array(), &book.agent, request, now) {
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
    pub(super) fn grant_used(&mut self, address: Pubkey, agent: Pubkey, number: u64, amount: UsdcAmount) {
        let Some(grant) = self.world.grants.get_mut(&address) else { return };
        grant.left = grant.left.saturating_sub(amount.micros());
        let event = GrantUsed { agent, number, grant: address, left: grant.left };
        self.expect(Some(agent), &event, "GrantUsed");
    }

    fn unknown(&mut self, grant: Pubkey, agent: Option<Pubkey>) {
        let text = format!("The grant {grant} was used, and its opening was not read.");
        self.mismatch(Check::State, agent, text);
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
    format!(
        "{} USDC to {payee} until {}, beyond {}",
        UsdcAmount::from_micros(terms.amount),
        super::date(terms.expires_at),
        beyond.join(" and ")
    )
}
