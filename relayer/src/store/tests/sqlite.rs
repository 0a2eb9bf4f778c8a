use super::*;

#[path = "cases/mod.rs"]
mod cases;

#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Postgres, which may be absent")]
async fn fixture() -> Option<Fixture> {
    let folder = tempfile::tempdir().expect("a folder");
    Some(Fixture::in_place(Place::Folder(folder)).await)
}
