use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::server::{runs, runs_apart, server};
use super::*;
use crate::with_password_file;
use futures::FutureExt;

#[path = "../../../../tests/src/postgres/server.rs"]
mod server;

#[path = "cases/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "the same rules for another database")]
mod cases;

/// `None` when no server is named: the test says so and does nothing.
pub(super) async fn fixture() -> Option<Fixture> {
    Some(Fixture::in_place(Place::Schema(Schema::create(server()?).await)).await)
}

/// A test's own schema.
pub(super) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    async fn create(server: String) -> Self {
        let schema = Self { server, name: format!("purser_test_{:032x}", rand::random::<u128>()) };
        runs(&schema.server, format!("CREATE SCHEMA {}", schema.name)).await;
        schema
    }

    pub fn url(&self) -> String {
        let mut url = url::Url::parse(&self.server).expect("a URL");
        url.query_pairs_mut().append_pair("options", &format!("-c search_path={}", self.name));
        url.into()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        runs_apart(&self.server, format!("DROP SCHEMA {} CASCADE", self.name));
    }
}

#[tokio::test]
async fn every_text_column_orders_by_bytes() {
    const SQL: &str = "SELECT c.relname || '.' || a.attname
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation l ON l.oid = a.attcollation
         WHERE c.relnamespace = current_schema::regnamespace AND c.relkind = 'r' AND a.attnum > 0
             AND c.relname <> '_sqlx_migrations' AND l.collname <> 'binary'";
    let Some(fixture) = fixture().await else { return };
    let rows: Vec<String> = query(SQL).fetch_all(fixture.store.reader()).await.expect("read");
    assert_eq!(rows, Vec::<String>::new(), "write them `TEXT COLLATE \"binary\"` in the migration");
}

#[tokio::test]
async fn many_processes_may_start_on_an_empty_database_at_once() {
    let Some(server) = server() else { return };
    let schema = Schema::create(server).await;
    let url = schema.url();
    let opened = futures::future::join_all((0..6).map(|_| Store::open(&url))).await;
    for store in opened {
        assert!(!store.expect("opened").list_migrations().await.expect("read").is_empty());
    }
}

#[tokio::test]
async fn a_server_whose_tables_are_made_needs_no_right_to_make_any() {
    let Some(fixture) = fixture().await else { return };
    let user = User::create(&fixture, "").await;
    let store = Store::open(&user.url).await.expect("opened");
    store.operators.insert_operator(&operator(40)).await.expect("inserted");
    store.close().await;
}

/// Another user of a fixture's server, who may change rows and nothing else.
struct User {
    server: String,
    role: String,
    url: String,
}

impl User {
    async fn create(fixture: &Fixture, options: &str) -> Self {
        let Place::Schema(schema) = &fixture.place else { panic!("not Postgres") };
        let role = format!("{}_user", schema.name);
        let (name, grants) = (&schema.name, "SELECT, INSERT, UPDATE, DELETE");
        let made = format!(
            "CREATE ROLE {role} LOGIN PASSWORD '{role}' {options}; GRANT USAGE ON SCHEMA {name} TO {role};
             GRANT {grants} ON ALL TABLES IN SCHEMA {name} TO {role}"
        );
        runs(&schema.server, made).await;
        let mut url = url::Url::parse(&schema.url()).expect("a URL");
        url.set_username(&role).expect("a URL with a host");
        url.set_password(Some(&role)).expect("a URL with a host");
        Self { server: schema.server.clone(), role, url: url.into() }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let role = &self.role;
        runs_apart(&self.server, format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

#[tokio::test]
async fn a_password_that_is_changed_while_the_service_runs_is_read_from_its_file() {
    let Some(fixture) = fixture().await else { return };
    let user = User::create(&fixture, "").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, format!("{}\n", user.role)).expect("written");
    let mut bare = url::Url::parse(&user.url).expect("a URL");
    bare.set_password(None).expect("a URL with a host");
    let url = with_password_file(bare.as_str(), &file).expect("a URL of Postgres");
    assert_eq!(with_password_file("sqlite:///purser.db", &file), None);
    let store = Store::open(&url).await.expect("opened");
    store.operators.insert_operator(&operator(40)).await.expect("inserted");

    let changed = format!(
        "ALTER ROLE {role} PASSWORD 'another'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'",
        role = user.role
    );
    runs(&user.server, changed).await;
    // The first calls find their connections gone, or not yet.
    let mut refused = store.operators.insert_operator(&operator(41)).await;
    for number in 42..62 {
        if matches!(&refused, Err(StoreError::Unavailable { problem, .. }) if problem.contains("password")) {
            break;
        }
        refused = store.operators.insert_operator(&operator(number)).await;
    }
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "it may let us in later: {refused:?}");
    std::fs::write(&file, "another").expect("written");
    let mut inserted = store.operators.insert_operator(&operator(70)).await;
    for _ in 0..20 {
        if inserted.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        inserted = store.operators.insert_operator(&operator(70)).await;
    }
    inserted.expect("let in by the new password");
    store.close().await;
}

#[tokio::test]
async fn a_server_without_room_for_more_connections_serves_everybody_by_those_it_gave() {
    const SLOW: &str = "SELECT 'x' FROM pg_sleep(0.02)";
    let Some(fixture) = fixture().await else { return };
    let user = User::create(&fixture, "CONNECTION LIMIT 3").await;
    let store = Store::open(&user.url).await.expect("opened");
    let on = |number: usize| if number.is_multiple_of(3) { store.lister() } else { store.reader() };
    let calls = (0..60).map(|number| query(SLOW).fetch_all::<String>(on(number)));
    for answer in futures::future::join_all(calls).await {
        answer.expect("somebody gives a connection back");
    }
    store.close().await;
}

#[tokio::test]
async fn the_servers_clock_is_read_with_connections_and_goes_on_between() {
    let Some(fixture) = fixture().await else { return };
    let clock = fixture.store.clock().expect("Postgres has one");
    let mut before = clock.now();
    for _ in 0..3 {
        fixture.reopen().await.close().await;
        let micros: i64 = query("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)")
            .fetch_optional(fixture.store.reader())
            .await
            .expect("read")
            .expect("a row");
        let now = clock.now();
        assert!(before <= now, "{before} {now}");
        let apart = now.unix_micros().abs_diff(micros);
        assert!(apart < 5_000_000, "{apart} µs apart");
        before = now;
    }
}

#[tokio::test]
async fn a_transaction_that_lost_to_another_is_contended() {
    let Some(fixture) = fixture().await else { return };
    for (code, contended) in [("40001", true), ("40P01", true), ("40002", false)] {
        let sql = format!("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$");
        let failed = query(AssertSqlSafe(sql)).execute(fixture.store.writer()).await.expect_err("raised");
        assert_eq!(matches!(failed, StoreError::Contended), contended, "{code}");
    }
}

#[tokio::test]
async fn two_transactions_that_wait_for_each_other_both_end_well() {
    let Some(fixture) = fixture().await else { return };
    let (store, others) = (&fixture.store, operator(40));
    store.operators.insert_operator(&others).await.expect("inserted");
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let met = Arc::new(AtomicUsize::new(0));
    let rename = |first: OperatorId, second: OperatorId| {
        let renaming = |operator: OperatorId| {
            sql! {"UPDATE operators SET name = name || '!' WHERE operator_id = {operator}", operator}
        };
        let (barrier, met) = (barrier.clone(), met.clone());
        store.write(move |tx| {
            async move {
                renaming(first).execute(&mut *tx).await?;
                // Only the first tries meet; a later one finds that the other has finished.
                if met.fetch_add(1, Ordering::SeqCst) < 2 {
                    barrier.wait().await;
                }
                renaming(second).execute(tx).await
            }
            .boxed()
        })
    };
    let (one, other) =
        tokio::join!(rename(fixture.operator.id, others.id), rename(others.id, fixture.operator.id));
    one.expect("done");
    other.expect("done");
    for operator in store.operators.list_operators().await.expect("read") {
        assert_eq!(operator.name.as_str(), "Acme!!");
    }
    assert!(met.load(Ordering::SeqCst) >= 3, "one of them was tried again");
}
