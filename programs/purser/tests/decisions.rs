//! The table of decisions, by the program.

#[path = "../../../policy/tests/table/mod.rs"]
mod table;

use purser::error::PurserError;
use purser::{AllowlistArg, PolicyArgs};
use table::{Listed, ROWS};

use crate::support::{only, Payment, World, PAYEE, PAYEE_OWNER};

#[test]
fn program_decides_as_the_table_says() {
    for row in ROWS {
        let mut world = World::new();
        let main = world.main;
        if row.spent > 0 {
            world.accept(&main.transfer(Payment { amount: row.spent, ..Payment::default() }));
        }
        let allowlist = match row.policy.allowlist {
            Listed::Anyone => AllowlistArg::Anyone,
            Listed::Nobody => only(&[], &[]),
            Listed::Owner => only(&[PAYEE_OWNER], &[]),
            Listed::TokenAccount => only(&[], &[PAYEE]),
        };
        world.policy(|policy| *policy = PolicyArgs { rules: (&row.policy).into(), allowlist });
        if row.halted {
            world.accept(&main.halt());
        }
        let call =
            main.transfer(Payment { tag: 77, amount: row.amount, memo: row.memo, ..Payment::default() });
        match row.refusal {
            None => drop(world.accept(&call)),
            Some(refusal) => world.refuse_as(row.name, &call, PurserError::from(refusal.violation)),
        }
    }
}
