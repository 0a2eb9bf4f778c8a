//! The world as `stateright` walks through it, and what must hold in every state.

use purser_model::world::{Action, World};
use purser_model::{Rules, Setting};
use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model, Property};

pub const PAID_ONCE: &str = "the key is paid at most once";
pub const UNPAID_IS_TRUE: &str = "what was said to be unpaid is never paid";
pub const SETTLED_IS_TRUE: &str = "what was said to be settled was paid as asked";

pub struct Checked(pub Setting);

impl Model for Checked {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.0)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(&self.0, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        world.after(&self.0, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PAID_ONCE, |_: &Self, world: &World| world.chain.payments() <= 1),
            // A database that was put back does not know what it was about to pay.
            Property::always(UNPAID_IS_TRUE, |_: &Self, world: &World| {
                world.losses > 0 || world.told.unpaid & world.paid_transfers() == 0
            }),
            Property::always(SETTLED_IS_TRUE, |checked: &Self, world: &World| checked.is_true(world)),
            Property::sometimes("a payment succeeds", |_: &Self, world: &World| world.told.settled != 0),
            Property::sometimes("a payment succeeds after all that may be lost or die", |checked: &Self, world: &World| {
                let Setting { losses, crashes, .. } = checked.0;
                world.told.settled != 0 && (world.losses, world.crashes) == (losses, crashes)
            }),
            Property::sometimes("a payment succeeds by bytes after the first", |_: &Self, world: &World| {
                world.chain.landings.iter().any(|landing| landing.bytes.is_some_and(|bytes| bytes > 0))
                    && world.told.settled != 0
            }),
        ]
    }
}

impl Checked {
    /// Databases that do not know of each other may each take another request under the key.
    fn is_true(&self, world: &World) -> bool {
        let paid = world.chain.paid_request().map_or(0, |request| 1u8 << request);
        let told = world.told.settled;
        let one_claim = world.databases.len() == 1 && world.losses == 0;
        if one_claim { told & !paid == 0 } else { told == 0 || paid != 0 }
    }
}

/// Two relayers on one database, nothing taken away.
pub fn setting() -> Setting {
    Setting {
        rules: Rules::ALL,
        database_of: vec![0, 0],
        two_requests: false,
        others: vec![8, 8],
        blocks: 1,
        signatures: 2,
        crashes: 1,
        losses: 0,
    }
}

/// Walks through all states. Nothing may go wrong, and everything that may go well must be possible.
pub fn holds(name: &str, setting: Setting) {
    let begun = std::time::Instant::now();
    let checker = Checked(setting).checker().threads(2).spawn_bfs().join();
    eprintln!("{name}: {} states in {:?}", checker.unique_state_count(), begun.elapsed());
    checker.assert_properties();
}

/// The shortest way to where `property` does not hold.
pub fn breaks(property: &'static str, setting: Setting) -> Vec<Action> {
    let checker = Checked(setting).checker().threads(2);
    let checker = checker.finish_when(HasDiscoveries::AnyOf(BTreeSet::from([property]))).spawn_bfs().join();
    let path = checker.discovery(property).unwrap_or_else(|| panic!("{property}: nothing breaks it"));
    let actions = path.into_actions();
    eprintln!("{property} is broken by:");
    actions.iter().for_each(|action| eprintln!("  {action:?}"));
    actions
}
