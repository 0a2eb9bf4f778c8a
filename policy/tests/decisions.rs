//! The table of decisions, by the rule itself.

mod table;

use purser_policy::{
    check, explain, AccountState, Allowlist, PaidTags, SpendWindow, TagBucket, TransferRequest, UsdcAmount,
};
use table::{Listed, ROWS};

const NOW: i64 = 1_700_000_000;

#[test]
fn rule_decides_as_the_table_says() {
    let (payee, owner) = ([7; 32], [8; 32]);
    for row in ROWS {
        let allowlist = match row.policy.allowlist {
            Listed::Anyone => Allowlist::Anyone,
            Listed::Nobody => Allowlist::stored(&[], &[]),
            Listed::Owner => Allowlist::stored(std::slice::from_ref(&owner), &[]),
            Listed::TokenAccount => Allowlist::stored(&[], std::slice::from_ref(&payee)),
        };
        let mut window = SpendWindow::EMPTY;
        window.record(NOW, UsdcAmount::from_micros(row.spent));
        let state = AccountState {
            halted: row.halted,
            policy: row.policy.over(allowlist),
            window: &window,
            tags: PaidTags(&[TagBucket::EMPTY]),
        };
        let request = TransferRequest {
            tag: 5,
            asked_at: NOW,
            amount: UsdcAmount::from_micros(row.amount),
            memo: row.memo.as_bytes(),
            recipient: &payee,
            recipient_owner: &owner,
        };
        let refused = check(&state, &request, NOW).err();
        assert_eq!(refused, row.refusal.map(|refusal| refusal.violation), "{}", row.name);
        let first = explain(&state, &request, NOW).into_iter().find_map(|outcome| outcome.violation);
        assert_eq!(first, refused, "{}", row.name);
    }
}
