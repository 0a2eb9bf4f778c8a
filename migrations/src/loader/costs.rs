//! What a deploy costs the wallet, shown before anything is paid.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, ensure};
use serde_json::json;

use crate::effects::Effect;
use crate::report::Report;
use crate::tokens::sol;

/// All in lamports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Locked for as long as the program exists.
    pub rent: u64,
    /// For every transaction that is left to send.
    pub fees: u64,
    /// Additionally locked in the buffer until the end, and then returned.
    pub meanwhile: u64,
    /// What an interrupted run has already paid into the buffer.
    pub in_buffer: u64,
    /// What the wallet holds.
    pub balance: u64,
}

impl Costs {
    /// What the wallet must hold to complete the deploy.
    fn needed(&self) -> u64 {
        (self.rent + self.meanwhile + self.fees).saturating_sub(self.in_buffer)
    }

    /// What the wallet holds afterwards.
    fn left(&self) -> u64 {
        (self.balance + self.in_buffer).saturating_sub(self.rent + self.fees)
    }

    pub fn ensure_covered(&self, wallet: &Pubkey) -> Result<()> {
        ensure!(
            self.balance >= self.needed(),
            "the wallet {wallet} holds {} SOL and this takes {}: send it the rest and run the command again. {}",
            sol(self.balance),
            sol(self.needed()),
            self.line()
        );
        Ok(())
    }

    /// In one line.
    pub fn line(&self) -> String {
        format!(
            "costs {} SOL: rent {}, locked in the program, and fees {}; the wallet must hold {} meanwhile, and holds {}",
            sol(self.rent + self.fees),
            sol(self.rent),
            sol(self.fees),
            sol(self.needed()),
            sol(self.balance)
        )
    }

    /// Adds the costs to a report.
    pub fn add_to(&self, report: Report) -> Report {
        report
            .with("program_rent_sol", sol(self.rent))
            .with("fees_sol", sol(self.fees))
            .with("total_sol", sol(self.rent + self.fees))
            .with("in_buffer_sol", sol(self.in_buffer))
            .with("needed_sol", sol(self.needed()))
            .with("enough", self.balance >= self.needed())
    }

    pub fn effect(&self, wallet: Pubkey) -> Option<Effect> {
        let (before, after) = (json!(sol(self.balance)), json!(sol(self.left())));
        (self.balance >= self.needed()).then(|| Effect {
            kind: "wallet",
            address: wallet,
            what: "sol".to_string(),
            before,
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_an_interrupted_run_paid_are_not_paid_twice() {
        let costs = Costs { rent: 3_000, fees: 50, meanwhile: 100, in_buffer: 0, balance: 3_150 };
        assert!(costs.ensure_covered(&Pubkey::default()).is_ok());
        assert_eq!((costs.needed(), costs.left()), (3_150, 100));
        let poorer = Costs { balance: 3_149, ..costs };
        let refused = poorer.ensure_covered(&Pubkey::default()).unwrap_err().to_string();
        assert!(refused.contains("holds 0.000003149 SOL and this takes 0.000003150"), "{refused}");
        let again = Costs { in_buffer: 2_900, balance: 250, ..costs };
        assert_eq!((again.needed(), again.left()), (250, 100));
        assert!(again.ensure_covered(&Pubkey::default()).is_ok());
    }
}
