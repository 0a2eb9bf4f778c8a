//! Everything that may happen, in every order: the key is paid once, and what clients are told is true.

mod support;

use purser_model::Setting;
use support::{holds, setting};

#[test]
fn two_relayers_on_one_database() {
    holds("one database", Setting { two_requests: true, ..setting() });
}

#[test]
fn two_relayers_with_databases_of_their_own() {
    holds("two databases", Setting { database_of: vec![0, 1], ..setting() });
}

#[test]
fn database_that_is_wiped_or_put_back() {
    holds("a loss", Setting { losses: 1, ..setting() });
}
