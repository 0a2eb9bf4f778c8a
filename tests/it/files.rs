//! Only the service's own user can read files that hold secrets.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use purser_tests::{AppSettings, TestApp, TestNetwork};

#[tokio::test]
async fn database_is_made_for_its_owner_alone() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.new_operator().await;
    let files = fs::read_dir(app.folder()).expect("the folder is there").map_while(Result::ok);
    let mut seen = Vec::new();
    for file in files.filter(|file| file.file_name().to_string_lossy().starts_with("purser.db")) {
        let mode = file.metadata().expect("it is there").mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?} has mode {mode:o}", file.file_name());
        seen.push(file.file_name());
    }
    assert_eq!(seen.len(), 3, "the file, its -wal and its -shm: {seen:?}");
}

#[tokio::test]
async fn key_file_that_others_can_read_is_refused_with_the_command_that_mends_it() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    assert!(app.stops(Duration::from_secs(60)).await);
    for (name, mode) in [("policy-authority", 0o640), ("transfer-authority", 0o604)] {
        let file = app.folder().join(format!("{name}.json"));
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("own file");
        let said = app.refuses_to_start();
        let mend = format!("chmod 600 {}", file.display());
        assert!(said.contains(&mend) && said.contains(&format!("{mode:04o}")), "{said}");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("own file");
    }
    app.starts();
}
