//! What loosens a policy: whatever lets a transfer pass that was refused before.

use proptest::prelude::*;
use purser_policy::{
    check, AccountState, Address, Allowlist, Limit, PaidTags, Policy, SpendWindow, TagBucket,
    TransferRequest, UsdcAmount,
};

const NOW: i64 = 1_700_000_000;

fn at_most(micros: u64) -> Limit {
    Limit::AtMost(UsdcAmount::from_micros(micros))
}

/// From the tightest limit to the loosest.
const LIMITS: [Limit; 5] = [
    Limit::AtMost(UsdcAmount::ZERO),
    Limit::AtMost(UsdcAmount::from_micros(1)),
    Limit::AtMost(UsdcAmount::from_micros(2)),
    Limit::AtMost(UsdcAmount::MAX),
    Limit::Unlimited,
];

#[test]
fn a_higher_limit_loosens_and_a_lower_or_equal_one_does_not() {
    for (low, lower) in LIMITS.into_iter().enumerate() {
        for (high, higher) in LIMITS.into_iter().enumerate() {
            let single = |limit| Policy { max_single_transfer: limit, ..Policy::OPEN };
            let daily = |limit| Policy { max_daily_spend: limit, ..Policy::OPEN };
            assert_eq!(single(higher).loosens(&single(lower)), high > low);
            assert_eq!(daily(higher).loosens(&daily(lower)), high > low);
        }
    }
}

#[test]
fn dropping_the_memo_rule_or_the_pause_loosens() {
    for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
        let memo = |require_memo| Policy { require_memo, ..Policy::OPEN };
        let pause = |paused| Policy { paused, ..Policy::OPEN };
        assert_eq!(memo(after).loosens(&memo(before)), before && !after);
        assert_eq!(pause(after).loosens(&pause(before)), before && !after);
    }
}

#[test]
fn change_that_also_tightens_still_loosens() {
    let before = Policy { max_single_transfer: at_most(5), require_memo: true, ..Policy::OPEN };
    let after = Policy {
        max_single_transfer: at_most(6),
        max_daily_spend: at_most(0),
        paused: true,
        allowlist: Allowlist::stored(&[], &[]),
        ..before
    };
    assert!(after.loosens(&before));
    assert!(!Policy { max_single_transfer: at_most(5), ..after }.loosens(&before));
}

const ADDRESSES: [Address; 3] = [[1; 32], [2; 32], [3; 32]];

/// Fields of a policy, small enough that pairs are often in order.
type Fields = (usize, usize, bool, bool, Option<(u8, u8)>);

fn fields() -> impl Strategy<Value = Fields> {
    let list = prop::option::of((0u8..8, 0u8..8));
    (0usize..5, 0usize..5, any::<bool>(), any::<bool>(), list)
}

fn members(set: u8) -> Vec<Address> {
    ADDRESSES
        .into_iter()
        .enumerate()
        .filter(|(bit, _)| set >> bit & 1 == 1)
        .map(|(_, address)| address)
        .collect()
}

fn policy<'a>(fields: &Fields, lists: &'a [Vec<Address>; 2]) -> Policy<'a> {
    Policy {
        max_single_transfer: LIMITS[fields.0],
        max_daily_spend: LIMITS[fields.1],
        require_memo: fields.2,
        paused: fields.3,
        allowlist: fields.4.map_or(Allowlist::Anyone, |_| Allowlist::stored(&lists[0], &lists[1])),
    }
}

fn lists(fields: &Fields) -> [Vec<Address>; 2] {
    let (wallets, token_accounts) = fields.4.unwrap_or_default();
    [members(wallets), members(token_accounts)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16_384))]

    // Of so many pairs, some two thousand loosen nothing.
    #[test]
    fn a_policy_that_loosens_nothing_lets_nothing_pass_that_was_refused(
        (old, new) in (fields(), fields()),
        (amount, spent) in (1u64..4, 0u64..3),
        memo in prop::bool::ANY,
        (recipient, owner) in (0usize..3, 0usize..3),
    ) {
        let (old_lists, new_lists) = (lists(&old), lists(&new));
        let (old, new) = (policy(&old, &old_lists), policy(&new, &new_lists));
        if new.loosens(&old) {
            return Ok(());
        }
        let mut window = SpendWindow::EMPTY;
        window.record(NOW, UsdcAmount::from_micros(spent));
        let state = |policy| AccountState { halted: false, policy, window: &window, tags: PaidTags(&[TagBucket::EMPTY]) };
        let request = TransferRequest {
            tag: 1,
            asked_at: NOW,
            amount: UsdcAmount::from_micros(amount),
            memo: if memo { b"m" as &[u8] } else { b"" },
            recipient: &ADDRESSES[recipient],
            recipient_owner: &ADDRESSES[owner],
        };
        prop_assert!(check(&state(old), &request, NOW).is_ok() || check(&state(new), &request, NOW).is_err());
    }

    /// Steps that each loosen nothing add up to nothing.
    #[test]
    fn no_chain_of_tightenings_loosens((a, b, c) in (fields(), fields(), fields())) {
        let all = [lists(&a), lists(&b), lists(&c)];
        let (a, b, c) = (policy(&a, &all[0]), policy(&b, &all[1]), policy(&c, &all[2]));
        prop_assert!(!a.loosens(&a));
        prop_assert!(b.loosens(&a) || c.loosens(&b) || !c.loosens(&a));
    }
}
