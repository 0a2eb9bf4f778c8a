//! Two concurrent policy writers: in any order of steps, the policy in force is one writer's complete policy.

use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use purser::{PolicyArgs, Rules};
use solana_transaction_error::TransactionError;

use crate::support::{assert_policy, many_keys, only, open_policy, Call, Expected, Proposal, Who, World};

/// Limits and entries show which writer a policy came from.
fn policy(writer: usize, count: usize) -> PolicyArgs {
    let all = many_keys(60);
    let own: Vec<_> = all.into_iter().skip(writer).step_by(2).take(count).collect();
    let limit = [100, 200][writer];
    PolicyArgs {
        rules: Rules { max_daily_spend: Some(limit), ..Rules::OPEN },
        allowlist: only(&own[..count - 1], &own[count - 1..]),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Close,
    Open,
    First,
    Rest,
    Apply,
    Inline,
}

use Step::{Apply, Close, First, Inline, Open, Rest};

/// The plans of a writer, each based on what it read at the beginning.
const SCRIPTS: [&[Step]; 3] = [&[Open, First, Rest, Apply], &[Close, Open, First, Rest, Apply], &[Inline]];

/// One writer at work.
struct Writer {
    who: Who,
    small: PolicyArgs,
    proposal: Proposal,
    /// The hash of the draft that existed when it began.
    found: [u8; 32],
}

impl Writer {
    fn new(world: &World, number: usize, found: [u8; 32]) -> Self {
        let proposal = world.propose(policy(number, 28));
        Self { who: [Who::PolicyAuthority, Who::Admin][number], small: policy(number, 2), proposal, found }
    }

    fn call(&self, step: Step, version: u32) -> Call {
        let call = match step {
            Close => self.proposal.place.close_draft(self.found),
            Open => self.proposal.open(),
            First => self.proposal.write(0, 25),
            Rest => self.proposal.write(25, 28),
            Apply => self.proposal.apply(),
            Inline => self.proposal.place.set_policy(version, self.small.clone()),
        };
        call.signed_by(self.who)
    }
}

/// All interleavings of `left` steps of one and `right` of the other: `true` is a step of the first.
fn orders(left: usize, right: usize) -> Vec<Vec<bool>> {
    if left == 0 || right == 0 {
        return vec![[vec![true; left], vec![false; right]].concat()];
    }
    let with = |first: bool, rest: Vec<Vec<bool>>| {
        rest.into_iter().map(move |rest| [vec![first], rest].concat()).collect::<Vec<_>>()
    };
    [with(true, orders(left - 1, right)), with(false, orders(left, right - 1))].concat()
}

/// The only refusals that a step may get.
fn known(step: Step) -> Vec<Expected> {
    let gone = ErrorCode::AccountOwnedByWrongProgram.into();
    let other = PurserError::DraftMismatch.into();
    let stale = PurserError::PolicyChanged.into();
    match step {
        Close => vec![gone, other],
        Open => vec![Expected::ALREADY_IN_USE, stale],
        First | Rest => vec![gone, other, PurserError::DraftOutOfOrder.into()],
        Apply => vec![gone, other, stale, PurserError::DraftIncomplete.into()],
        Inline => vec![stale],
    }
}

/// Runs both scripts in `order`. A refused writer goes on all the same, which is the worst it can do.
/// Returns whose policy is in force at the end, for the statistics.
fn run(start: &World, found: [u8; 32], scripts: [&[Step]; 2], order: &[bool]) -> Option<usize> {
    let mut world = start.clone();
    let writers = [0, 1].map(|number| Writer::new(&world, number, found));
    let version = world.version();
    let mut at = [0, 0];
    let mut in_force = None;
    for first in order {
        let number = usize::from(!first);
        let step = scripts[number][at[number]];
        at[number] += 1;
        let writer = &writers[number];
        let before = world.agent_view();
        match world.send(&[writer.call(step, version).instruction()], Who::FeePayer) {
            Ok(_) => match step {
                Apply => {
                    assert_policy(world.agent_view().policy(), &writer.proposal.policy);
                    in_force = Some(number);
                }
                Inline => {
                    assert_policy(world.agent_view().policy(), &writer.small);
                    in_force = Some(number);
                }
                Close | Open | First | Rest => assert_eq!(world.agent_view(), before),
            },
            Err((TransactionError::InstructionError(0, error), _)) => {
                let named = known(step).contains(&Expected(error.clone()));
                assert!(named, "{scripts:?} {order:?}: {step:?} of {number} was refused with {error:?}");
                assert_eq!(world.agent_view(), before);
            }
            Err((error, _)) => panic!("{scripts:?} {order:?}: {step:?}: {error:?}"),
        }
    }
    in_force
}

/// One world without a draft, and one in which a third draft already exists.
fn starts() -> [(World, [u8; 32]); 2] {
    let empty = World::new();
    let mut drafted = World::new();
    let waiting = drafted.propose(PolicyArgs { allowlist: only(&many_keys(3), &[]), ..open_policy() });
    drafted.accept(&waiting.open());
    [(empty, [0; 32]), (drafted, waiting.args.hash)]
}

#[test]
fn in_every_order_of_their_steps_the_policy_in_force_is_one_writers_whole_policy() {
    let mut ends = [0, 0, 0];
    for (start, found) in starts() {
        for (left, one) in SCRIPTS.into_iter().enumerate() {
            for other in &SCRIPTS[left..] {
                for order in orders(one.len(), other.len()) {
                    ends[run(&start, found, [one, other], &order).map_or(2, |number| number)] += 1;
                }
            }
        }
    }
    // Each writer must win sometimes, or the test shows nothing.
    assert!(ends[0] > 50 && ends[1] > 50, "{ends:?}");
}

#[test]
fn a_draft_that_was_swapped_under_its_writer_is_neither_written_nor_applied_by_it() {
    // How far the other writer gets with its own draft.
    for written in [0, 25, 28] {
        let mut world = World::new();
        let main = world.main;
        let [a, b] = [0, 1].map(|number| Proposal::new(main, 1, policy(number, 28)));
        world.accept(&a.open());
        world.accept(&a.write(0, 25));
        // To close it, the other writer has to name the draft.
        world.refuse(&b.close().signed_by(Who::Admin), PurserError::DraftMismatch);
        world.accept(&a.close().signed_by(Who::Admin));
        world.accept(&b.open().signed_by(Who::Admin));
        for end in [25, 28].into_iter().filter(|end| *end <= written) {
            world.accept(&b.write(if end == 25 { 0 } else { 25 }, end).signed_by(Who::Admin));
        }
        for call in [a.write(25, 28), a.write(0, 25), a.write(25, 25), a.apply(), a.close()] {
            world.refuse(&call, PurserError::DraftMismatch);
        }
        if written == 28 {
            world.accept(&b.apply().signed_by(Who::Admin));
            assert_policy(world.agent_view().policy(), &b.policy);
        }
    }
}

#[test]
fn a_draft_with_the_same_content_written_against_the_same_version_is_the_same() {
    // The content counts, not who opened it.
    let mut world = World::new();
    let proposal = world.propose(policy(0, 28));
    world.accept(&proposal.open());
    world.accept(&proposal.write(0, 25));
    world.accept(&proposal.close());
    world.accept(&proposal.open().signed_by(Who::Admin));
    world.refuse(&proposal.write(25, 28), PurserError::DraftOutOfOrder);
    world.accept(&proposal.write(0, 25).signed_by(Who::Admin));
    world.accept(&proposal.write(25, 28));
    world.accept(&proposal.apply());
    assert_policy(world.agent_view().policy(), &proposal.policy);
}
