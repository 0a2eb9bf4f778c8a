use std::path::Path;

use super::Relayer;
use crate::http::testing::bad_requests_are_answered;

#[tokio::test]
async fn bad_requests_are_answered_as_listed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/tests/bad_requests.txt");
    bad_requests_are_answered(&Relayer::start().await, &file).await;
}
