use super::*;

#[path = "cases/mod.rs"]
mod cases;

/// Always there; an option as on Postgres.
async fn fixture() -> Option<Fixture> {
    let folder = tempfile::tempdir().expect("a folder");
    Some(Fixture::in_place(Place::Folder(folder)).await)
}
