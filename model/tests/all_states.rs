//! Everything that may happen, in every order: the key is paid once, and what clients are answered is true.

mod support;

use purser_model::Setting;
use support::{holds, setting};

#[test]
fn two_relayers_on_one_database() {
    let one_by_one = Setting { two_requests: true, one_by_one: true, ..setting() };
    holds("one database", one_by_one);
    holds("one database, bytes that expire twice", Setting { blocks: 2, signatures: 3, ..setting() });
}

#[test]
fn two_relayers_with_databases_of_their_own() {
    let apart = Setting { database_of: vec![0, 1], ..setting() };
    holds("two databases", apart.clone());
    holds("two databases, three signatures", Setting { crashes: 0, signatures: 3, ..apart });
}

/// As many others come in between as an account remembers, and one less.
#[test]
fn others_one_by_one_at_the_end_of_what_is_remembered() {
    let apart = Setting { database_of: vec![0, 1], others: vec![15, 1], crashes: 0, ..setting() };
    holds("two databases, 15 others and one", apart);
}

#[test]
fn database_that_is_wiped() {
    holds("a wipe under two relayers", Setting { wipes: 1, ..setting() });
    let alone = Setting { database_of: vec![0], wipes: 2, crashes: 2, signatures: 3, ..setting() };
    holds("two wipes under one relayer", alone);
    let apart = Setting { database_of: vec![0, 1], wipes: 1, crashes: 0, refusals: false, ..setting() };
    holds("a wipe of one of two databases", apart);
}

#[test]
fn database_that_is_put_back_as_it_was() {
    holds("a restore under two relayers", Setting { restores: 1, crashes: 0, ..setting() });
    let alone = Setting { database_of: vec![0], restores: 1, signatures: 3, ..setting() };
    holds("a restore under one relayer", alone);
}
