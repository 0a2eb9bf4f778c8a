//! One order for transactions from several lists. Each list follows the chain's order, and slots order the lists among each
//! other. Within a slot, the result keeps every list's order, unless the balances say another one.

use std::collections::{BTreeMap, HashMap, HashSet};

use anchor_lang::prelude::Pubkey;
use purser_client::TokenBalance;
use purser_policy::UsdcAmount;

use crate::archive::Line;

/// Every line once, oldest first. `lists`: each newest first, as nodes return them.
pub fn ordered(lists: &[Vec<Line>]) -> Vec<Line> {
    let mut slots: BTreeMap<u64, Vec<Vec<&Line>>> = BTreeMap::new();
    for list in lists {
        let mut parts: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
        for line in list.iter().rev() {
            parts.entry(line.slot).or_default().push(line);
        }
        for (slot, part) in parts {
            slots.entry(slot).or_default().push(part);
        }
    }
    slots.into_values().flat_map(within_slot).collect()
}

/// Merges the parts of one slot. If they contradict each other, the first list wins.
fn within_slot(mut parts: Vec<Vec<&Line>>) -> Vec<Line> {
    let (mut merged, mut taken) = (Vec::new(), HashSet::new());
    loop {
        parts.retain(|part| !part.is_empty());
        let heads: Vec<&Line> = parts.iter().filter_map(|part| part.first().copied()).collect();
        let is_free = |line: &&&Line| {
            parts.iter().all(|part| part.iter().skip(1).all(|other| other.signature != line.signature))
        };
        let Some(next) = heads.iter().find(is_free).or(heads.first()).copied() else { return merged };
        for part in &mut parts {
            part.retain(|line| line.signature != next.signature);
        }
        if taken.insert(next.signature.as_str()) {
            merged.push(next.clone());
        }
    }
}

/// The places of a slot's transactions in an order in which each finds the balances that were left: the listed one, if it is such an
/// order, as every validator's is. The embedded network lists transactions that it got at once in any order. Where no order
/// fits, the listed one stays. `held`: what token accounts held before; none are empty. `moved`: what each transaction moved.
pub fn by_balances(held: &HashMap<Pubkey, UsdcAmount>, moved: &[Vec<TokenBalance>]) -> Vec<usize> {
    let (mut held, mut order) = (held.clone(), Vec::new());
    let mut left: Vec<(usize, &Vec<TokenBalance>)> = moved.iter().enumerate().collect();
    while !left.is_empty() {
        let holds = |it: &TokenBalance| held.get(&it.token_account).copied().unwrap_or_default();
        let fits = left.iter().position(|(_, moved)| moved.iter().all(|it| holds(it) == it.before));
        let (place, moved) = left.remove(fits.unwrap_or(0));
        held.extend(moved.iter().map(|it| (it.token_account, it.after)));
        order.push(place);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A payment out of the first account: what it held before, and after.
    fn pays(before: u64, after: u64) -> Vec<TokenBalance> {
        let [before, after] = [before, after].map(UsdcAmount::from_micros);
        vec![TokenBalance { token_account: Pubkey::new_from_array([1; 32]), owner: None, before, after }]
    }

    #[test]
    fn transactions_of_a_slot_stand_as_their_balances_follow_from_each_other() {
        let held = HashMap::from([(Pubkey::new_from_array([1; 32]), UsdcAmount::from_micros(10))]);
        let listed = [pays(10, 9), Vec::new(), pays(9, 7)];
        assert_eq!(by_balances(&held, &listed), [0, 1, 2], "as it is listed");
        assert_eq!(by_balances(&held, &[pays(7, 4), pays(9, 7), pays(10, 9)]), [2, 1, 0]);
        // One is missing: nothing is moved that need not be.
        assert_eq!(by_balances(&held, &[pays(8, 7), pays(7, 4)]), [0, 1]);
        assert_eq!(
            by_balances(&HashMap::new(), &[pays(5, 4), pays(0, 5)]),
            [1, 0],
            "a new account holds nothing"
        );
    }

    fn list(lines: &[(&str, u64)]) -> Vec<Line> {
        let line = |(signature, slot): &(&str, u64)| Line {
            signature: (*signature).into(),
            slot: *slot,
            block_time: None,
            err: None,
            memo: None,
        };
        lines.iter().map(line).collect()
    }

    fn merged(lists: &[Vec<Line>]) -> String {
        ordered(lists).iter().map(|line| line.signature.as_str()).collect()
    }

    #[test]
    fn each_line_comes_once_and_in_the_order_of_every_list() {
        assert_eq!(merged(&[list(&[("c", 2), ("a", 1)]), list(&[("d", 3), ("b", 1)])]), "abcd");
        // Newest first within a slot too.
        let (one, other) = (list(&[("c", 7), ("b", 7)]), list(&[("d", 7), ("c", 7), ("a", 7)]));
        for lists in [[one.clone(), other.clone()], [other, one]] {
            let order = merged(&lists);
            let at = |letter: &str| order.find(letter).expect("each is there");
            assert_eq!(order.len(), 4);
            assert!(at("b") < at("c") && at("c") < at("d") && at("a") < at("c"), "{order}");
        }
    }

    #[test]
    fn lists_that_contradict_each_other_lose_nothing() {
        assert_eq!(merged(&[list(&[("b", 7), ("a", 7)]), list(&[("a", 7), ("b", 7)])]).len(), 2);
    }
}
