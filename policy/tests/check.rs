//! The decision: each rule at its boundary, and which one wins.

use proptest::prelude::*;
use purser_policy::{
    check, explain, record, AccountState, Address, Allowlist, Limit, PaidTags, Policy, Rule, SpendWindow,
    TagBucket, TransferRequest, UsdcAmount, Violation, DAY_SECONDS, MEMO_BYTES_MAX, TAG_SECONDS,
};

const NOW: i64 = 1_700_000_000;
const SHOP: Address = [7; 32];
const SHOP_WALLET: Address = [8; 32];

fn micros(amount: u64) -> UsdcAmount {
    UsdcAmount::from_micros(amount)
}

fn request(amount: u64, memo: &str) -> TransferRequest<'_> {
    TransferRequest {
        tag: 5,
        asked_at: i64::MAX,
        amount: micros(amount),
        memo: memo.as_bytes(),
        recipient: &SHOP,
        recipient_owner: &SHOP_WALLET,
    }
}

/// Tags that were paid right now.
fn paid(tags: &[u64]) -> [TagBucket; 1] {
    let mut buckets = [TagBucket::EMPTY];
    for tag in tags {
        let place = PaidTags(&buckets).place(*tag, NOW).expect("room");
        record(&mut buckets, place, *tag, NOW);
    }
    buckets
}

/// A fresh account that is not halted.
fn decide(policy: Policy, request: &TransferRequest) -> Result<u64, Violation> {
    let state = AccountState {
        halted: false,
        policy,
        window: &SpendWindow::EMPTY,
        tags: PaidTags(&[TagBucket::EMPTY]),
    };
    check(&state, request, NOW).map(|cleared| cleared.spent_after().micros())
}

#[test]
fn open_policy_allows_everything() {
    assert_eq!(decide(Policy::OPEN, &request(u64::MAX, "")), Ok(u64::MAX));
}

#[test]
fn violations_win_in_the_order_in_which_they_are_declared() {
    let mut window = SpendWindow::EMPTY;
    window.record(NOW, micros(10));
    let tags = paid(&[5]);
    let long = "x".repeat(MEMO_BYTES_MAX + 1);

    // Everything is wrong at once; mending the winner each time lets the next one win.
    let mut policy = Policy {
        max_single_transfer: Limit::AtMost(micros(3)),
        max_daily_spend: Limit::AtMost(micros(11)),
        require_memo: true,
        paused: true,
        allowlist: Allowlist::stored(&[], &[]),
    };
    let mut asked = request(4, "");
    let mut broken = Vec::new();
    let mut halted = true;
    while let Err(violation) =
        check(&AccountState { halted, policy, window: &window, tags: PaidTags(&tags) }, &asked, NOW)
    {
        broken.push(violation);
        match violation {
            Violation::DuplicateTransfer => asked.tag = 6,
            Violation::Halted => halted = false,
            Violation::Paused => policy.paused = false,
            Violation::MemoRequired => asked.memo = long.as_bytes(),
            Violation::MemoTooLong => asked.memo = b"invoice 7",
            Violation::RecipientNotAllowed => policy.allowlist = Allowlist::stored(&[SHOP_WALLET], &[]),
            Violation::SingleLimitExceeded { .. } => policy.max_single_transfer = Limit::Unlimited,
            Violation::DailyLimitExceeded { .. } => policy.max_daily_spend = Limit::Unlimited,
            Violation::PaidTagsFull => unreachable!("15 are free"),
        }
    }
    let (amount, used) = (micros(4), micros(10));
    assert_eq!(
        broken,
        [
            Violation::DuplicateTransfer,
            Violation::Halted,
            Violation::Paused,
            Violation::MemoRequired,
            Violation::MemoTooLong,
            Violation::RecipientNotAllowed,
            Violation::SingleLimitExceeded { limit: micros(3), amount },
            Violation::DailyLimitExceeded { limit: micros(11), used, amount },
        ]
    );
    assert!(broken.is_sorted(), "declared in another order than they win");
}

#[test]
fn a_halt_stops_an_agent_that_is_not_paused() {
    let state = AccountState {
        halted: true,
        policy: Policy::OPEN,
        window: &SpendWindow::EMPTY,
        tags: PaidTags(&[TagBucket::EMPTY]),
    };
    assert_eq!(check(&state, &request(1, ""), NOW), Err(Violation::Halted));
    let paused = explain(&state, &request(1, ""), NOW)[0];
    assert_eq!((paused.rule, paused.violation), (Rule::Paused, Some(Violation::Halted)));
}

#[test]
fn memo_has_room_for_200_characters_of_any_script() {
    let memo = "🪙".repeat(200);
    assert_eq!(memo.len(), MEMO_BYTES_MAX);
    assert_eq!(decide(Policy::OPEN, &request(1, &memo)), Ok(1));
    let memo = "x".repeat(MEMO_BYTES_MAX + 1);
    assert_eq!(decide(Policy::OPEN, &request(1, &memo)), Err(Violation::MemoTooLong));
}

#[test]
fn room_for_one_more_tag_is_asked_for_last() {
    let tags = paid(&(10..26).collect::<Vec<_>>());
    let state =
        |policy| AccountState { halted: false, policy, window: &SpendWindow::EMPTY, tags: PaidTags(&tags) };
    assert_eq!(check(&state(Policy::OPEN), &request(1, ""), NOW), Err(Violation::PaidTagsFull));
    let known = TransferRequest { tag: 10, ..request(1, "") };
    assert_eq!(check(&state(Policy::OPEN), &known, NOW), Err(Violation::DuplicateTransfer));
    let paused = Policy { paused: true, ..Policy::OPEN };
    assert_eq!(check(&state(paused), &request(1, ""), NOW), Err(Violation::Paused));
    assert!(check(&state(Policy::OPEN), &request(1, ""), NOW + TAG_SECONDS).is_ok());
    let none = AccountState { tags: PaidTags(&[]), ..state(Policy::OPEN) };
    assert_eq!(check(&none, &request(1, ""), NOW), Err(Violation::PaidTagsFull));
}

#[test]
fn limits_allow_exactly_themselves() {
    let single = Policy { max_single_transfer: Limit::AtMost(micros(5)), ..Policy::OPEN };
    assert_eq!(decide(single, &request(5, "")), Ok(5));
    let (limit, amount) = (micros(5), micros(6));
    assert_eq!(decide(single, &request(6, "")), Err(Violation::SingleLimitExceeded { limit, amount }));

    let daily = Policy { max_daily_spend: Limit::AtMost(micros(5)), ..Policy::OPEN };
    assert_eq!(decide(daily, &request(5, "")), Ok(5));
    let used = UsdcAmount::ZERO;
    assert_eq!(decide(daily, &request(6, "")), Err(Violation::DailyLimitExceeded { limit, used, amount }));
}

#[test]
fn zero_limits_allow_nothing() {
    for policy in [
        Policy { max_single_transfer: Limit::AtMost(UsdcAmount::ZERO), ..Policy::OPEN },
        Policy { max_daily_spend: Limit::AtMost(UsdcAmount::ZERO), ..Policy::OPEN },
    ] {
        assert!(decide(policy, &request(1, "")).is_err());
    }
}

#[test]
fn cleared_transfer_is_recorded_once() {
    let (mut window, mut tags) = (SpendWindow::EMPTY, [TagBucket::EMPTY]);
    let policy = Policy { max_daily_spend: Limit::AtMost(micros(5)), ..Policy::OPEN };
    let state = |window, tags| AccountState { halted: false, policy, window, tags: PaidTags(tags) };
    let (before, known) = (window, tags);
    let cleared = check(&state(&before, &known), &request(5, ""), NOW).expect("within the limit");
    cleared.record(&mut window, &mut tags);
    assert_eq!(check(&state(&window, &tags), &request(1, ""), NOW), Err(Violation::DuplicateTransfer));
    let other = TransferRequest { tag: 6, ..request(1, "") };
    assert!(matches!(
        check(&state(&window, &tags), &other, NOW + DAY_SECONDS),
        Err(Violation::DailyLimitExceeded { .. })
    ));
    assert!(check(&state(&window, &tags), &request(5, ""), NOW + DAY_SECONDS + 1).is_ok());
}

#[test]
fn explanation_names_every_rule_with_its_numbers() {
    let mut window = SpendWindow::EMPTY;
    window.record(NOW, micros(10));
    let policy = Policy { max_daily_spend: Limit::AtMost(micros(12)), ..Policy::OPEN };
    let state = AccountState { halted: false, policy, window: &window, tags: PaidTags(&[TagBucket::EMPTY]) };
    let outcomes = explain(&state, &request(3, ""), NOW);
    let broken: Vec<_> = outcomes.iter().filter(|outcome| !outcome.is_ok()).collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].rule, Rule::MaxDailySpend);
    assert_eq!((broken[0].used, broken[0].remaining()), (micros(10), Some(micros(2))));
}

proptest! {
    #[test]
    fn explanation_and_decision_agree(
        (single, daily) in (0u64..8, 0u64..8),
        (halted, paused, require_memo) in (any::<bool>(), any::<bool>(), any::<bool>()),
        amount in 1u64..10,
        spent in 0u64..10,
        memo in "[a-z]{0,2}",
    ) {
        let mut window = SpendWindow::EMPTY;
        window.record(NOW, micros(spent));
        let policy = Policy {
            max_single_transfer: Limit::AtMost(micros(single)),
            max_daily_spend: Limit::AtMost(micros(daily)),
            require_memo,
            paused,
            allowlist: Allowlist::Anyone,
        };
        let state = AccountState { halted, policy, window: &window, tags: PaidTags(&[TagBucket::EMPTY]) };
        let asked = request(amount, &memo);
        let first = explain(&state, &asked, NOW).iter().find_map(|outcome| outcome.violation);
        prop_assert_eq!(check(&state, &asked, NOW).err(), first);
    }
}
