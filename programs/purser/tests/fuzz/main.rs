//! Compares the program as sBPF with an oracle that was written from its documentation. Histories are random, and after each
//! transaction both must agree on the outcome, on every event, and on every account.
//!
//! As a test it runs `PURSER_FUZZ_TRANSACTIONS` (200,000) from seed 1; `cargo xtask fuzz` takes any number from any seed.

mod actions;
mod call;
mod cast;
mod chain;
mod compare;
mod oracle;
#[path = "../support/random.rs"]
mod random;
mod run;
mod shrink;
mod world;

use std::process::ExitCode;

use oracle::Refusal;
use run::{Divergence, Plan, Tally};

const USAGE: &str =
    "fuzz [--transactions N] [--seed S] [--world W] [--jobs J] [--program FILE] [--no-shrink] [--json]";
/// The length of every test run.
const TRANSACTIONS: u64 = 200_000;

fn main() -> ExitCode {
    let mut plan = plan();
    let mut json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value; {USAGE}"));
        let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{text} is no number; {USAGE}"));
        match argument.as_str() {
            "--transactions" => plan.transactions = number(value()),
            "--seed" => plan.seed = number(value()),
            "--world" => plan.world = Some(number(value())),
            "--jobs" => plan.jobs = number(value()),
            "--program" => plan.program = read(&value()),
            "--no-shrink" => plan.shrink = false,
            "--json" => json = true,
            _ => panic!("unknown argument {argument}; {USAGE}"),
        }
    }
    let begun = std::time::Instant::now();
    let (tally, divergence) = run::run(&plan);
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(divergence) = &divergence {
        eprintln!("{}", report(&plan, divergence));
    }
    if json {
        println!("{}", as_json(&tally, divergence.is_some(), seconds));
    } else {
        println!(
            "fuzz: {} transactions, {} accepted, {} divergences, {:.0} a second",
            tally.transactions,
            tally.accepted,
            u8::from(divergence.is_some()),
            tally.transactions as f64 / seconds
        );
    }
    if divergence.is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn plan() -> Plan {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../idl/purser.so").to_owned();
    Plan {
        program: read(&std::env::var("PURSER_PROGRAM_SO").unwrap_or(built)),
        transactions: TRANSACTIONS,
        seed: 1,
        world: None,
        jobs: 2,
        shrink: true,
        quiet: false,
    }
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Everything that is needed to reproduce it.
fn report(plan: &Plan, divergence: &Divergence) -> String {
    let Divergence { world, transaction, history, differences } = divergence;
    let mut text = format!(
        "divergence: seed {}, world {world}, transaction {transaction}. \
         Again: cargo xtask fuzz --seed {} --world {world}\n\n{} steps lead to it:\n",
        plan.seed,
        plan.seed,
        history.len()
    );
    let shown = history.len().saturating_sub(60);
    if shown > 0 {
        text += &format!("  ... {shown} steps\n");
    }
    for step in &history[shown..] {
        text += &format!("  {step:?}\n");
    }
    text += "\ndifferences:\n";
    for difference in differences {
        text += &format!("  {difference}\n");
    }
    cast::CAST.name(&text)
}

fn as_json(tally: &Tally, diverged: bool, seconds: f64) -> String {
    let name = |refusal: &Refusal| match refusal {
        Refusal::Code(code) => code.to_string(),
        Refusal::Other(name) => name.clone(),
    };
    let refused = tally.refused.iter().map(|(refusal, count)| format!("{:?}:{count}", name(refusal)));
    format!(
        "{{\"transactions\":{},\"divergences\":{},\"accepted\":{},\"beyond_exact\":{},\"seconds\":{seconds:.1},\
         \"refused\":{{{}}}}}",
        tally.transactions,
        u8::from(diverged),
        tally.accepted,
        tally.beyond_exact,
        refused.collect::<Vec<_>>().join(",")
    )
}

#[test]
fn program_does_what_the_oracle_says() {
    let number = std::env::var("PURSER_FUZZ_TRANSACTIONS").map(|text| text.parse().expect("a number"));
    let plan = Plan { transactions: number.unwrap_or(TRANSACTIONS), ..plan() };
    let (tally, divergence) = run::run(&plan);
    if let Some(divergence) = divergence {
        panic!("{}", report(&plan, &divergence));
    }
    assert_eq!(tally.transactions, plan.transactions);
    if plan.transactions < TRANSACTIONS {
        return;
    }
    // What every run of this length must reach.
    assert!(tally.accepted * 3 > tally.transactions, "{} accepted", tally.accepted);
    assert!(tally.beyond_exact * 20 > tally.transactions, "{} beyond exact", tally.beyond_exact);
    let codes = (6000..=6047).filter(|code| {
        ![6026, 6027, 6028, 6029].contains(code) && !tally.refused.contains_key(&Refusal::Code(*code))
    });
    assert_eq!(codes.collect::<Vec<u32>>(), [0; 0], "refusals that never came");
}
