use super::*;

fn room(name: &str) -> &'static Room {
    ROOMS.iter().find(|room| room.name == name).expect("a room of that name")
}

#[test]
fn imports_point_one_way() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("imports point one way");
}

#[test]
fn audit_decisions_ask_no_node_and_the_relayer_audits_nothing() {
    let replay = REPLAY.iter().find(|room| room.name == "replay").expect("a room of that name");
    assert_eq!(violations(REPLAY, replay, "use crate::node::Node;").len(), 1);
    assert!(violations(REPLAY, replay, "use crate::check::Check;").is_empty());
    for line in ["use reqwest::Url;", "use std::fs::File;", "let bytes = std::fs::read(path);"] {
        assert_eq!(violations(REPLAY_ALL, &REPLAY_ALL[0], line).len(), 1, "{line}");
    }
    assert!(violations(REPLAY_ALL, &REPLAY_ALL[0], "use std::sync::Mutex;").is_empty());
    assert_eq!(violations(ROOMS, room("service"), "use purser_audit::audit;").len(), 1);
}

#[test]
fn import_against_the_stream_is_found() {
    assert_eq!(
        violations(ROOMS, room("domain"), "\nuse crate::store::Rows;"),
        [(2, "crate::store".to_owned())]
    );
    assert_eq!(violations(ROOMS, room("store"), "use crate::{domain::Address, chain::Chain};").len(), 1);
    assert_eq!(violations(ROOMS, room("chain"), "let rows = crate::store::find();").len(), 1);
    assert_eq!(violations(ROOMS, room("http"), "use crate::app::App;").len(), 1);
}

#[test]
fn rooms_of_the_chain_use_those_before_them() {
    let text =
        "use crate::chain::read::decode;\nuse crate::chain::send::submit::Submitter; // crate::chain::solana";
    assert_eq!(against_the_stream(1, text), [(2, "send".to_owned())]);
    assert!(against_the_stream(5, text).is_empty());
}

#[test]
fn foreign_crate_in_the_wrong_room_is_found() {
    assert_eq!(violations(ROOMS, room("domain"), "use tokio::sync::Mutex;").len(), 1);
    assert_eq!(violations(ROOMS, room("service"), "fn f(key: solana_sdk::pubkey::Pubkey) {}").len(), 1);
    assert_eq!(violations(ROOMS, room("domain"), "#[derive(utoipa::ToSchema)]").len(), 1);
    assert_eq!(violations(DOOR, &DOOR[0], "use purser_relayer::http::router;").len(), 1);
    assert!(violations(DOOR, &DOOR[0], "use purser_relayer::web::ApiError;").is_empty());
}

#[test]
fn doors_are_known_by_their_folders_and_named_by_nobody() {
    let doors = doors(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("read");
    assert!(doors.iter().any(|door| door == "x402"), "{doors:?}");
    let named = crates_named(
        "use a::b;\nuse purser_x402::routes; // purser_mcp::x",
        ["purser_mcp", "purser_x402"].into_iter(),
    );
    assert_eq!(named, [(2, "purser_x402".to_owned())]);
}

#[test]
fn import_with_the_stream_is_allowed() {
    assert!(
        violations(ROOMS, room("service"), "use crate::{chain::Chain, domain::{Address, Network}};")
            .is_empty()
    );
    assert!(
        violations(ROOMS, room("domain"), "// crate::store keeps these; tokio::spawn does not").is_empty()
    );
    assert!(violations(ROOMS, room("http"), "use crate::web::error::ApiError;").is_empty());
}

#[test]
fn tests_at_the_end_of_a_file_may_use_anything() {
    let text = "use crate::service::Services;\n#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}";
    assert!(violations(ROOMS, room("http"), text).is_empty());
    assert_eq!(violations(ROOMS, room("http"), &text.replace("service", "store")).len(), 1);
}
