//! What a memo costs.

use crate::support::{Payment, World};

/// Compute units of a first transfer with `memo`.
fn units(world: &World, memo: &str) -> u64 {
    let call = world.main.transfer(Payment { memo, ..Payment::default() });
    world.clone().accept(&call).compute_units
}

/// Logging costs one unit a byte. Counting characters costs a little less, and only what has more than 200 bytes is counted,
/// as far as it takes.
#[test]
fn a_memo_of_any_script_costs_at_most_two_units_a_byte() {
    let world = World::new();
    let none = units(&world, "");
    let russian = "Оплата по счёту за июль, договор номер семь от мая. ";
    let greek = "Πληρωμή του τιμολογίου για τον Ιούλιο, αριθμός επτά. ";
    let hindi = "जुलाई के लिए चालान का भुगतान, संख्या सात। ";
    for text in ["x", "ж", "支", "🪙", russian, greek, hindi] {
        for characters in [1, 7, 20, 64, 66, 67, 100, 101, 105, 112, 125, 140, 170, 200] {
            let memo: String = text.chars().cycle().take(characters).collect();
            let (units, bytes) = (units(&world, &memo) - none, memo.len() as u64);
            println!("{units:>4} units for {bytes:>3} bytes, {:.2}: {memo}", units as f64 / bytes as f64);
            // The copy of less than four bytes is a loop. Greek of 200 characters is three units above.
            let most = if bytes < 20 { 20 + bytes } else { 2 * bytes + 4 };
            assert!(units <= most, "{units} units for {bytes} bytes: {memo}");
        }
    }
}

/// Where the 200 characters are so mixed that all bytes have to be looked at to find them few enough.
#[test]
fn a_memo_of_mixed_scripts_at_the_limit_costs_at_most_a_tenth_more() {
    let world = World::new();
    let none = units(&world, "");
    let french = "Règlement de la facture n° 42, merci et à bientôt ! ";
    let mixed = "Счёт № 42: 支払い 🪙 café, naïve — Grüße! ";
    let last = format!("{}€", "x".repeat(199));
    for text in [french, mixed, &last] {
        let memo: String = text.chars().cycle().take(200).collect();
        let (units, bytes) = (units(&world, &memo) - none, memo.len() as u64);
        println!("{units:>4} units for {bytes:>3} bytes, {:.2}: {memo}", units as f64 / bytes as f64);
        assert!(10 * units <= 22 * bytes, "{units} units for {bytes} bytes: {memo}");
    }
}
