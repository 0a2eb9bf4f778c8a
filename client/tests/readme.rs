//! What the README shows. `tests/it/client_readme.rs` runs it against a network.

#[test]
fn the_readme_shows_the_example_word_for_word() {
    let readme = include_str!("../README.md");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    assert_eq!(shown, Some(include_str!("../examples/transfer.rs")));
}
