//! Changes of the operator: keys, delay, halts.

use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{LAYOUT_VERSION, OPERATOR_SEED};
use purser::events::{HaltSet, OperatorCreated, OperatorUpdated};
use purser::state::{Authority, Operator, Role};
use purser::{OperatorUpdate, instruction};
use purser_client::{Called, arguments};

use super::MomentKind;
use super::step::Step;
use super::timeline::keys_of;
use crate::check::Check;

impl Step<'_> {
    pub(super) fn create_operator(&mut self, called: &Called) -> Option<()> {
        let instruction::CreateOperator { id, keys } = arguments(&called.data)?;
        let admin = self.signer(called, None)?;
        let usdc_mint = *called.accounts.get(2)?;
        let (address, bump) = Pubkey::find_program_address(
            &[OPERATOR_SEED, admin.as_ref(), &id.to_le_bytes()],
            &self.at.program,
        );
        self.examine(Check::State, None);
        if address != self.address || self.world.operator.is_some() {
            let text = "The operator was created at an address that is not its own, or once more.".to_owned();
            self.mismatch(Check::State, None, text);
        }
        let mut operator = Operator {
            version: LAYOUT_VERSION,
            bump,
            loosening_delay_seconds: keys.loosening_delay_seconds,
            id,
            created_by: admin,
            admin,
            policy_authority: keys.policy_authority,
            guardian: keys.guardian.unwrap_or_default(),
            usdc_mint,
            ..Operator::zeroed()
        };
        let set = operator.set_transfer_authorities(&keys.transfer_authorities);
        self.keys_fit(set.is_ok() && operator.check().is_ok());
        self.tells(
            MomentKind::OperatorCreated,
            None,
            format!("The operator was created by {admin}: {}.", keys_of(&operator)),
        );
        self.world.operator = Some(operator);
        self.found.operators.push(operator);
        self.found.created_operator = true;
        let event = OperatorCreated { operator: self.address, id, usdc_mint, keys: (&operator).into() };
        self.expect(None, &event, "OperatorCreated");
        Some(())
    }

    pub(super) fn update_operator(&mut self, called: &Called) -> Option<()> {
        let instruction::UpdateOperator { update } = arguments(&called.data)?;
        self.role(called, None, Authority::Administer)?;
        let Some(mut operator) = self.operator() else { return Some(()) };
        let OperatorUpdate {
            policy_authority,
            transfer_authorities,
            guardian,
            pending_admin,
            loosening_delay_seconds,
        } = update;
        operator.policy_authority = policy_authority.unwrap_or(operator.policy_authority);
        operator.guardian = guardian.unwrap_or(operator.guardian);
        operator.pending_admin = pending_admin.unwrap_or(operator.pending_admin);
        operator.loosening_delay_seconds =
            loosening_delay_seconds.unwrap_or(operator.loosening_delay_seconds);
        let set = transfer_authorities.map_or(Ok(()), |keys| operator.set_transfer_authorities(&keys));
        self.updated(operator, set.is_ok());
        Some(())
    }

    pub(super) fn accept_admin(&mut self, called: &Called) -> Option<()> {
        let signer = self.signer(called, None)?;
        let Some(mut operator) = self.operator() else { return Some(()) };
        if signer != operator.pending_admin {
            let text = format!("{signer} took the admin's place, and nobody had offered it.");
            self.mismatch(Check::Signer, None, text);
        }
        (operator.admin, operator.pending_admin) = (signer, Pubkey::default());
        self.updated(operator, true);
        Some(())
    }

    fn updated(&mut self, operator: Operator, could_be_set: bool) {
        self.tells(
            MomentKind::KeysSet,
            None,
            format!("Keys and delay were set anew: {}.", keys_of(&operator)),
        );
        self.keys_fit(could_be_set && operator.check().is_ok());
        self.world.operator = Some(operator);
        self.found.operators.push(operator);
        let event = OperatorUpdated { operator: self.address, keys: (&operator).into() };
        self.expect(None, &event, "OperatorUpdated");
    }

    fn keys_fit(&mut self, fit: bool) {
        self.examine(Check::State, None);
        if !fit {
            let text =
                "The operator got keys or a delay that the program refuses: a key with two roles, none or \
                        more than eight transfer authorities, or more than 30 days."
                    .to_owned();
            self.mismatch(Check::State, None, text);
        }
    }

    /// Halts or resumes the operator or one account.
    pub(super) fn halt(&mut self, called: &Called, halts: bool) -> Option<()> {
        let agent = *called.accounts.get(2)?;
        // Without an account, the program's own address stands in its place.
        let agent = (agent != called.program).then_some(agent);
        let what = if halts { Authority::Halt } else { Authority::Administer };
        let (signer, role) = self.role(called, agent, what)?;
        self.set_halt(agent, (signer, role), halts);
        // More accounts to resume follow.
        let more = called.accounts.get(3..).filter(|_| !halts).unwrap_or_default();
        for agent in more {
            self.set_halt(Some(*agent), (signer, role), halts);
        }
        Some(())
    }

    fn set_halt(&mut self, agent: Option<Pubkey>, (signer, role): (Pubkey, Role), halts: bool) {
        let change = |halted_by: &mut u8| match (halts, *halted_by) {
            (true, 0) => *halted_by = role.halt_number(),
            (true, _) => {}
            (false, _) => *halted_by = 0,
        };
        let halted_by = match agent {
            Some(agent) => {
                let Some(mut book) = self.agent(agent) else { return };
                change(&mut book.agent.halted_by);
                let number = book.agent.halted_by;
                self.world.agents.insert(agent, book);
                number
            }
            None => {
                let Some(mut operator) = self.operator() else { return };
                change(&mut operator.halted_by);
                self.world.operator = Some(operator);
                operator.halted_by
            }
        };
        self.found.halts.push((agent, halts, signer));
        let (kind, what) =
            if halts { (MomentKind::Halted, "Halted") } else { (MomentKind::Resumed, "Resumed") };
        self.tells(kind, agent, format!("{what} by {signer}."));
        let event = HaltSet { operator: self.address, agent, halted_by: Role::of_halt(halted_by), signer };
        self.expect(agent, &event, "HaltSet");
    }
}
