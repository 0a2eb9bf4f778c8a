use super::*;

fn room(name: &str) -> &'static Room {
    API.iter().chain(CHAIN).find(|room| room.name == name).expect("a room of that name")
}

#[test]
fn imports_point_one_way() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("imports point one way");
}

#[test]
fn a_crate_beyond_its_wall_is_found() {
    let text = "[package]\nname = \"x\"\n\n[dependencies]\npurser-model.workspace = true\npurser-chain = { workspace = true }\n\
                solana-sdk.workspace = true\ntime.workspace = true\n\n[dev-dependencies]\npurser-api.workspace = true\n";
    let found = forbidden(text, "purser-chain purser solana- sqlx");
    assert_eq!(found, ["purser-chain", "solana-sdk"]);
    assert_eq!(forbidden(text, "purser-").len(), 2);
    let for_tests = format!("[features]\ntesting = [\"dep:purser-chain\"]\n{text}");
    assert_eq!(forbidden(&for_tests, "purser-chain"), [""; 0]);
}

#[test]
fn audit_decisions_ask_no_node_and_audit_nothing() {
    let replay = REPLAY.iter().find(|room| room.name == "replay").expect("a room of that name");
    assert_eq!(violations(REPLAY, replay, "use crate::node::Node;").len(), 1);
    assert!(violations(REPLAY, replay, "use crate::check::Check;").is_empty());
    for line in ["use reqwest::Url;", "use std::fs::File;", "let bytes = std::fs::read(path);"] {
        assert_eq!(violations(REPLAY_ALL, &REPLAY_ALL[0], line).len(), 1, "{line}");
    }
    assert!(violations(REPLAY_ALL, &REPLAY_ALL[0], "use std::sync::Mutex;").is_empty());
    assert_eq!(violations(API, room("http"), "use purser_audit::audit;").len(), 1);
}

#[test]
fn import_against_the_stream_is_found() {
    assert_eq!(violations(API, room("web"), "\nuse crate::http::router;"), [(2, "crate::http".to_owned())]);
    assert_eq!(violations(CHAIN, room("read"), "use crate::{types::X, solana::Chain};").len(), 1);
    assert_eq!(violations(CHAIN, room("live"), "let rows = crate::send::find();").len(), 1);
    assert_eq!(violations(EXTENSION, &EXTENSION[0], "use purser_api::http::router;").len(), 1);
    assert!(violations(EXTENSION, &EXTENSION[0], "use purser_api::web::ApiError;").is_empty());
}

#[test]
fn import_with_the_stream_is_allowed() {
    assert!(
        violations(CHAIN, room("solana"), "use crate::{read::Chain, sign::{Address, Network}};").is_empty()
    );
    assert!(violations(API, room("web"), "// crate::http keeps these").is_empty());
    assert!(violations(API, room("http"), "use crate::web::error::ApiError;").is_empty());
}

#[test]
fn extensions_are_known_by_their_folders_and_crates_by_their_names() {
    let extensions = extensions(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("read");
    assert!(extensions.iter().any(|extension| extension == "x402"), "{extensions:?}");
    let named = crates_named(
        "use a::b;\nuse purser_x402::routes; // purser_mcp::x",
        ["purser_mcp", "purser_x402"].into_iter(),
    );
    assert_eq!(named, [(2, "purser_x402".to_owned())]);
}

#[test]
fn tests_at_the_end_of_a_file_may_use_anything() {
    let text = "use crate::web::Id;\n#[cfg(test)]\nmod tests {\n    use crate::app::Store;\n}";
    assert!(violations(API, room("http"), text).is_empty());
    assert_eq!(violations(API, room("web"), &text.replace("web::Id", "http::Id")).len(), 1);
}
