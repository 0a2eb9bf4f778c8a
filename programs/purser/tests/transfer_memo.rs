//! What a memo costs.

use purser::AllowlistArg;

use crate::support::{Payment, World, NOON, PAYEE_OWNER};

/// Compute units of a first transfer with `memo`.
fn units(world: &World, memo: &str) -> u64 {
    let call = world.main.transfer(Payment { memo, ..Payment::default() });
    world.clone().accept(&call).compute_units
}

#[test]
fn figures() {
    let world = World::new();
    let mixed = "Счёт № 42: 支払い 🪙 café, naïve — Grüße! ".repeat(5);
    let mixed: String = mixed.chars().take(200).collect();
    let russian = "Оплата по счёту за июль, договор номер семь от мая. ".repeat(4);
    let russian: String = russian.chars().take(200).collect();
    let none = units(&world, "");
    for (name, memo) in [
        ("none", String::new()),
        ("ascii 20", "x".repeat(20)),
        ("ascii 64", "x".repeat(64)),
        ("ascii 200", "x".repeat(200)),
        ("ascii 197 + €", "x".repeat(197) + "€"),
        ("cjk 21", "支".repeat(7)),
        ("cjk 60", "支".repeat(20)),
        ("cjk 198", "支".repeat(66)),
        ("cjk 240", "支".repeat(80)),
        ("cjk 420", "支".repeat(140)),
        ("cjk 600", "支".repeat(200)),
        ("emoji 800", "🪙".repeat(200)),
        ("cyrillic 200", "ж".repeat(100)),
        ("cyrillic 400", "ж".repeat(200)),
        ("russian", russian),
        ("mixed", mixed),
    ] {
        let units = units(&world, &memo);
        let bytes = memo.len();
        let marginal = (units - none) as f64 / bytes.max(1) as f64;
        println!("CU {name:<15} {bytes:>4} bytes {units:>6} CU  {marginal:>6.2} a byte");
    }
}

/// As in `cu`'s `transfer_all_rules`: all spans taken, 20 entries, both limits, a memo of 20 characters.
#[test]
fn figures_all_rules() {
    let mut total = 0;
    for set in 0..20u8 {
        let mut world = World::new();
        world.policy(|policy| {
            policy.max_single_transfer = Some(5_000_000);
            policy.max_daily_spend = Some(1_000_000_000);
            policy.require_memo = true;
            let mut entries: Vec<[u8; 32]> = (0..19u8)
                .map(|entry| solana_sha256_hasher::hashv(&[&[set, entry]]).to_bytes())
                .chain([PAYEE_OWNER.to_bytes()])
                .collect();
            entries.sort_unstable();
            policy.allowlist = AllowlistArg::Only(entries.into_iter().map(Into::into).collect());
        });
        let main = world.main;
        let mut last = 0;
        for spend in 0..33 {
            world.set_clock(NOON + spend * 2_000 + (spend * 7 % 11) * 45);
            let payment =
                Payment { tag: 1_000 + spend as u64, memo: "invoice 2025-000042!", ..Payment::default() };
            last = world.accept(&main.transfer(payment)).compute_units;
        }
        total += last;
    }
    println!("CU all rules, mean of 20: {}", total / 20);
}
