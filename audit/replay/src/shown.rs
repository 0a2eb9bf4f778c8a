//! Transactions as the node shows them.

use std::collections::HashSet;

use anchor_lang::prelude::Pubkey;
use purser_client::{Landed, TokenBalance, WireLanded};

use crate::AuditError;
use crate::archive::{Archive, Line};
use crate::replay::{Place, Replay, Transaction};
use crate::scope::Scope;
use crate::signed::{self, Signed};
use crate::tables::{self, Looked};

/// One of them.
pub struct Shown {
    /// Whether its signatures cover it, and what it did; `None` if that cannot be read.
    read: Option<(Signed, Landed)>,
    looked: Option<Looked>,
}

impl Shown {
    pub fn of(line: &Line, archive: &Archive, scope: &Scope) -> Result<Self, AuditError> {
        let signature = line.signature.as_str();
        let Some(saved) = archive.transaction(signature)? else {
            return Err(AuditError::Refused(format!(
                "the transaction {signature} is listed and not saved: gather again with --url and --save"
            )));
        };
        let wire = serde_json::from_value::<WireLanded>(saved).ok();
        let looked = wire.as_ref().map(|wire| tables::check(wire, archive)).transpose()?;
        let read = wire.and_then(|wire| {
            Some((signed::check(&wire), wire.read(&scope.at.program, &scope.at.usdc_mint, signature)?))
        });
        Ok(Self { read, looked })
    }

    /// What these token accounts held before and after.
    pub fn moved(&self, purses: &HashSet<Pubkey>) -> Vec<TokenBalance> {
        let Some((_, Landed::Well(landed))) = &self.read else { return Vec::new() };
        landed.balances.iter().filter(|it| purses.contains(&it.token_account)).copied().collect()
    }

    pub fn replayed(self, line: &Line, replay: &mut Replay) -> Result<(), AuditError> {
        let signature = line.signature.as_str();
        match self.read {
            Some((_, Landed::Well(landed))) if landed.slot != line.slot => Err(AuditError::Refused(format!(
                "the node lists the transaction {signature} in slot {} and shows it in slot {}: ask another node",
                line.slot, landed.slot
            ))),
            Some((signed, Landed::Well(mut landed))) if landed.keeps_inner => {
                if let Some(looked) = self.looked.filter(|_| replay.is_called(&landed)) {
                    let time = landed.block_time.unwrap_or_default();
                    let place = Place { signature: signature.to_owned(), slot: landed.slot, time };
                    replay.looked_up(&place, &looked);
                }
                landed.block_time = landed.block_time.or(line.block_time);
                if landed.block_time.is_none() && replay.concerns(&landed) {
                    return Err(AuditError::Refused(format!(
                        "the node does not know when the transaction {signature} was made, so no rule that counts time can be \
                         told: ask another node"
                    )));
                }
                replay.apply(&Transaction { signature: signature.to_owned(), landed, signed });
                Ok(())
            }
            Some((_, Landed::Failed)) => Err(AuditError::Refused(format!(
                "the node lists the transaction {signature} as done and shows it as failed: ask another node"
            ))),
            Some((_, Landed::Well(_))) | None => Err(AuditError::Refused(format!(
                "the node did not keep the transaction {signature} whole: ask one that keeps balances and inner instructions"
            ))),
        }
    }
}
