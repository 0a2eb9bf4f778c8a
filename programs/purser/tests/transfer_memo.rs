//! What a memo costs.

use crate::support::{Payment, World};

/// Compute units of a first transfer with `memo`.
fn units(world: &World, memo: &str) -> u64 {
    let call = world.main.transfer(Payment { memo, ..Payment::default() });
    world.clone().accept(&call).compute_units
}

/// Logging costs one unit a byte, counting characters a little less.
#[test]
fn a_memo_of_any_script_costs_at_most_two_units_a_byte_and_a_little() {
    let world = World::new();
    let none = units(&world, "");
    let mixed = "Счёт № 42: 支払い 🪙 café, naïve — Grüße! ".repeat(5);
    let russian = "Оплата по счёту за июль, договор номер семь от мая. ".repeat(4);
    for text in ["x", "ж", "支", "🪙", &mixed, &russian] {
        for characters in [1, 7, 20, 64, 66, 67, 100, 140, 200] {
            let memo: String = text.chars().cycle().take(characters).collect();
            let (units, bytes) = (units(&world, &memo), memo.len() as u64);
            println!("{units:>6} units, {bytes:>3} bytes: {memo}");
            assert!(units <= none + 150 + 2 * bytes, "{units} units for {memo}, and {none} for none");
        }
    }
}
