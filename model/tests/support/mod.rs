//! The world as `stateright` walks through it, and what must hold in every state.

use purser_model::world::{Action, World};
use purser_model::{Rules, Setting};
use std::collections::BTreeSet;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model, Property};

pub const PAID_ONCE: &str = "the key is paid at most once";
pub const UNPAID_IS_TRUE: &str = "what was said to be unpaid is never paid";
pub const SETTLED_IS_TRUE: &str = "what was said to be settled was paid as asked";

pub struct Checked {
    pub setting: Setting,
    /// States that differ only in which relayer is which are one.
    pub in_order: bool,
}

impl Model for Checked {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setting)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(&self.setting, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let next = world.after(&self.setting, action)?;
        Some(if self.in_order { next.in_order() } else { next })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PAID_ONCE, |_: &Self, world: &World| world.chain.payments() <= 1),
            // A database that was put back does not know what it was about to pay.
            Property::always(UNPAID_IS_TRUE, |_: &Self, world: &World| {
                world.has_forgotten() || world.answers.unpaid & world.paid_transfers() == 0
            }),
            Property::always(SETTLED_IS_TRUE, |checked: &Self, world: &World| checked.is_true(world)),
            Property::sometimes("a payment succeeds", |_: &Self, world: &World| world.answers.settled != 0),
            Property::sometimes(
                "a payment succeeds after all that may be lost or die",
                |checked: &Self, world: &World| {
                    let Setting { wipes, restores, crashes, .. } = checked.setting;
                    let met = (world.wipes, world.restores, world.crashes);
                    world.answers.settled != 0 && met == (wipes, restores, crashes)
                },
            ),
            Property::sometimes("a payment succeeds by bytes after the first", |_: &Self, world: &World| {
                world.chain.landings.iter().any(|landing| landing.bytes.is_some_and(|bytes| bytes > 0))
                    && world.answers.settled != 0
            }),
        ]
    }
}

impl Checked {
    /// Databases that do not know of each other may each take another request under the key.
    fn is_true(&self, world: &World) -> bool {
        let paid = world.chain.paid_request().map_or(0, |request| 1u8 << request);
        let answers = world.answers.settled;
        let one_claim = world.databases.len() == 1 && !world.has_forgotten();
        if one_claim { answers & !paid == 0 } else { answers == 0 || paid != 0 }
    }
}

/// Two relayers on one database, nothing taken away.
pub fn setting() -> Setting {
    Setting {
        rules: Rules::ALL,
        database_of: vec![0, 0],
        two_requests: false,
        refusals: true,
        others: vec![8, 8],
        blocks: 1,
        one_by_one: false,
        signatures: 2,
        crashes: 1,
        wipes: 0,
        restores: 0,
    }
}

/// Walks through all states. Nothing may go wrong, and everything that may go well must be possible.
#[allow(dead_code)] // Each test file uses its part of this one.
pub fn holds(name: &str, setting: Setting) {
    walks(name, setting).assert_properties();
}

/// Walks through all states for the money alone, whatever clients are answered.
#[allow(dead_code)]
pub fn pays_once(name: &str, setting: Setting) {
    walks(name, setting).assert_no_discovery(PAID_ONCE);
}

fn walks(name: &str, setting: Setting) -> impl Checker<Checked> {
    let begun = Instant::now();
    // Without this it would stop as soon as everything to be found is found.
    let never = HasDiscoveries::AllOf(BTreeSet::from(["nothing"]));
    let checked = Checked { setting, in_order: true };
    let checker = checked.checker().finish_when(never).threads(2).spawn_bfs().join();
    eprintln!("{name}: {} states, {:.1?}", checker.unique_state_count(), begun.elapsed());
    checker
}

/// The shortest way to where `property` does not hold.
#[allow(dead_code)]
pub fn breaks(property: &'static str, setting: Setting) -> Vec<Action> {
    // One thread: the same way each time.
    let found = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    let checker = Checked { setting, in_order: false }.checker().finish_when(found).spawn_bfs().join();
    let way = checker.discovery(property).unwrap_or_else(|| panic!("nothing breaks it: {property}"));
    let way = way.into_actions();
    eprintln!("{property}, unless:");
    way.iter().for_each(|action| eprintln!("  {action:?}"));
    way
}
