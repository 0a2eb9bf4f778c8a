//! The cost of a memo.

use crate::support::{Payment, World};

/// Compute units of a first transfer with `memo`.
fn units(world: &World, memo: &str) -> u64 {
    let call = world.main.transfer(Payment { memo, ..Payment::default() });
    world.clone().accept(&call).compute_units
}

/// A memo costs copying and logging: nothing reads its bytes.
#[test]
fn a_memo_of_any_script_costs_at_most_two_units_a_byte() {
    let world = World::new();
    let none = units(&world, "");
    let russian = "Оплата по счёту за июль, договор номер семь от мая. ";
    let greek = "Πληρωμή του τιμολογίου για τον Ιούλιο, αριθμός επτά. ";
    let hindi = "जुलाई के लिए चालान का भुगतान, संख्या सात। ";
    let french = "Règlement de la facture n° 42, merci et à bientôt ! ";
    let mixed = "Счёт № 42: 支払い 🪙 café, naïve — Grüße! ";
    for text in ["x", "ж", "支", "🪙", russian, greek, hindi, french, mixed] {
        for characters in [1, 7, 20, 64, 67, 100, 101, 125, 140, 199, 200] {
            let memo: String = text.chars().cycle().take(characters).collect();
            let (units, bytes) = (units(&world, &memo) - none, memo.len() as u64);
            println!("{units:>4} units for {bytes:>3} bytes, {:.2}: {memo}", units as f64 / bytes as f64);
            // A loop copies fewer than four bytes.
            let most = if bytes < 20 { 20 + bytes } else { 2 * bytes };
            assert!(units <= most, "{units} units for {bytes} bytes: {memo}");
        }
    }
}
