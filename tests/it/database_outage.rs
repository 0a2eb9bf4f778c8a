//! The database goes away and comes back: its server hangs, fails over to another, or its disk is full. Every part of the
//! relayer recovers by itself.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, Payment, Receiver, TestApp, TestDatabase, TestNetwork, Wire, until};

use serde_json::json;

use crate::admin::with_admin;
use crate::dashboard::signed_in;
use crate::denials::file_of;
use crate::doctor::doctor;
use crate::event_stream::Stream;
use crate::webhooks::registers;

/// How long a part may take to notice that the database is back.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// A relayer that reaches its Postgres through a line, with an agent that holds 100 USDC and a webhook.
struct Scene {
    database: Arc<TestDatabase>,
    line: Wire,
    app: Arc<TestApp>,
    agent: Agent,
    receiver: Receiver,
}

impl Scene {
    /// `None` when there is no Postgres.
    async fn set() -> Option<Self> {
        Self::set_on(TestNetwork::shared().await, AppSettings::default()).await
    }

    async fn set_on(network: Arc<TestNetwork>, settings: AppSettings) -> Option<Self> {
        let database = TestDatabase::create().await?;
        let line = Wire::to_postgres(&database.url());
        let settings = AppSettings {
            database_url: Some(line.postgres_url(&database.url())),
            database: Some(database.clone()),
            ..settings
        };
        let app = TestApp::start(network, &settings).await;
        let operator = app.new_operator().await;
        let receiver = Receiver::start();
        registers(&operator, &receiver.url("/hook"), &["transfer.settled"]).await;
        let agent = operator.creates_account_with("Ada", "100").await;
        Some(Self { database, line, app, agent, receiver })
    }

    /// Payments are refused because the database is away, and the relayer misses what happens on the chain.
    async fn goes_away(&self) -> Payment {
        let chain = &self.agent.operator.chain;
        let (payee, _) = chain.new_payee().await;
        let payment = self.agent.pays("1").to(&payee);
        let refused = payment.clone().await.is_error(503, "service_unavailable");
        assert_eq!(refused["retryable"], false);
        mints(chain, "7", &chain.usdc_account_of(&self.agent.address)).await;
        payment
    }

    /// Requests, the sweeper, the indexer and the webhooks work again, without a restart of the process.
    async fn comes_back(&self, refused: Payment, pid: u32) {
        let paid = refused.insists().await;
        let id = paid.text_of("transfer_id").to_owned();
        let deadline = tokio::time::Instant::now() + BACK_WITHIN;
        let is_delivered = || {
            let received = self.receiver.received("/hook");
            received.iter().any(|delivery| delivery.event()["data"]["transfer_id"] == id.as_str())
        };
        // Whoever next uses a lost connection notices it, and gets one 503.
        let has_deposit = async || {
            let path = self.agent.path("/transactions?limit=100");
            let answer = self.agent.operator.client.get(&path).await;
            let entries = answer["data"].as_array();
            entries.is_some_and(|entries| entries.iter().any(|entry| entry["amount_usdc"] == "7.000000"))
        };
        while !is_delivered() || !has_deposit().await {
            let delivered = is_delivered();
            assert!(
                tokio::time::Instant::now() < deadline,
                "delivered: {delivered}\n{}",
                self.app.log_tail()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(self.app.pid(), pid);
    }
}

#[tokio::test]
async fn every_part_goes_on_after_postgres_was_silent() {
    let Some(scene) = Scene::set().await else { return };
    let pid = scene.app.pid();
    scene.line.swallows();
    let refused = scene.goes_away().await;
    scene.line.mends();
    scene.comes_back(refused, pid).await;
}

#[tokio::test]
async fn payment_that_becomes_final_while_postgres_is_away_is_settled_afterwards_and_made_once() {
    let settings = AppSettings { deadline_seconds: 2, commitment: "finalized", ..AppSettings::default() };
    let Some(scene) = Scene::set_on(TestNetwork::slow(), settings).await else { return };
    let (pid, chain) = (scene.app.pid(), &scene.agent.operator.chain);
    let (payee, _) = chain.new_payee().await;
    let payment = scene.agent.pays("1").to(&payee).key("once");
    let accepted = payment.clone().await.has_status(202);
    let signature = accepted.text_of("tx_signature").to_owned();
    scene.line.cuts();
    until("the payment is final", async || chain.is_finalized(&signature).await).await;
    // The relayer sees it, and can write nothing down.
    scene.agent.pays("1").to(&payee).await.is_error(503, "service_unavailable");
    scene.line.mends();
    let settled = payment.insists().await;
    assert_eq!(settled["tx_signature"], signature.as_str());
    assert_eq!(settled["transfer_id"], accepted["transfer_id"]);
    assert_eq!(chain.usdc_micros(&payee).await, 1_000_000);
    assert_eq!(scene.app.pid(), pid);
}

#[tokio::test]
async fn every_part_goes_on_after_a_failover_during_which_only_a_standby_answered() {
    let Some(scene) = Scene::set().await else { return };
    let pid = scene.app.pid();
    scene.line.cuts();
    scene.database.takes_writing(false).await;
    scene.line.mends();
    let refused = scene.goes_away().await;
    scene.database.takes_writing(true).await;
    scene.comes_back(refused, pid).await;
}

#[tokio::test]
async fn streams_signed_refusals_sessions_and_cleaning_go_on_after_a_failover() {
    let Some(scene) = Scene::set().await else { return };
    let (operator, pid) = (&scene.agent.operator, scene.app.pid());
    scene.agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let is_refused = async || {
        let refused = scene.agent.pays("3").to(&payee).await.is_error(402, "policy_violation");
        refused.text_of("transfer_id").to_owned()
    };
    let query = "?type=transfer.rejected";
    let mut stream = Stream::open(&operator.client, query, None).await;
    let browser = signed_in(operator).await;
    let hook = registers(operator, &scene.receiver.url("/other"), &["transfer.settled"]).await;
    let of_hook = format!("webhook_id = '{}'", hook.text_of("id"));
    scene.agent.pays("1").to(&payee).await.is_settled();
    let first = is_refused().await;
    assert_eq!(stream.event().await["data"]["transfer_id"], first.as_str());
    file_of(&operator.client, 1).await;
    assert_eq!(scene.database.counts("deliveries", &of_hook).await, 1);

    scene.line.cuts();
    scene.database.takes_writing(false).await;
    scene.line.mends();
    let unpaid = scene.goes_away().await;
    scene.database.takes_writing(true).await;
    scene.comes_back(unpaid, pid).await;

    let second = is_refused().await;
    assert_eq!(stream.event_over(&operator.client, query).await["data"]["transfer_id"], second.as_str());
    let signed = file_of(&operator.client, 2).await;
    assert!(signed.contains(&first) && signed.contains(&second), "{signed}");
    browser.reads("/dashboard").await.has_status(200).says("Needs attention");
    operator.client.delete(&format!("/v1/webhooks/{}", hook.text_of("id"))).await.has_status(204);
    let deadline = tokio::time::Instant::now() + BACK_WITHIN;
    while scene.database.counts("deliveries", &of_hook).await > 0 {
        assert!(tokio::time::Instant::now() < deadline, "nothing is deleted{}", scene.app.log_tail());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(scene.app.pid(), pid);
}

#[tokio::test]
async fn relayer_stops_by_itself_while_postgres_is_silent() {
    let Some(scene) = Scene::set().await else { return };
    scene.line.swallows();
    scene.goes_away().await;
    assert!(scene.app.stops(Duration::from_secs(60)).await, "the relayer ends by itself");
}

/// A file system of a few megabytes; unmounted when dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, with a note on standard error, if this user may not mount.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(folder.path());
        let mounted = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self { folder });
        }
        let _ = writeln!(std::io::stderr(), "skipped: a full disk, since nothing can be mounted here");
        None
    }

    fn place(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.place().join("ballast")
    }

    fn fills(&self) {
        let mut file = File::create(self.ballast()).expect("a file");
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn empties(&self) {
        fs::remove_file(self.ballast()).expect("removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.place()).status();
    }
}

#[tokio::test]
async fn payments_go_on_when_a_full_disk_has_room_again() {
    let Some(disk) = SmallDisk::mount() else { return };
    let url = format!("sqlite://{}/purser.db", disk.place().display());
    let settings = AppSettings { database_url: Some(url), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let pid = app.pid();
    let agent = app.new_operator().await.creates_account_with("Ada", "1000").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    disk.fills();
    let mut paid = 1;
    let refused = loop {
        let payment = agent.pays("1").to(&payee);
        let answer = payment.clone().await;
        if answer.status != 200 {
            answer.is_error(503, "service_unavailable");
            break payment;
        }
        paid += 1;
        assert!(paid < 900, "the disk never was full");
    };
    disk.empties();
    refused.insists().await;
    let log = app.log();
    assert!(log.contains("the database failed; reopening its connection"), "{log}");
    for _ in 0..5 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, (paid + 6) * 1_000_000, "each once");
    assert_eq!(app.pid(), pid);
    assert!(app.stops(Duration::from_secs(60)).await);
}

#[tokio::test]
async fn a_full_disk_of_postgres_is_named_by_health_and_doctor_until_it_has_room() {
    let Some(disk) = SmallDisk::mount() else { return };
    let Some(database) = TestDatabase::create_at(disk.place()).await else { return };
    let settings = AppSettings { database_url: Some(database.url()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &with_admin(settings)).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "1000").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    disk.fills();
    let mut paid = 1;
    let refused = loop {
        let payment = agent.pays("1").to(&payee);
        let answer = payment.clone().await;
        if answer.status != 200 {
            answer.is_error(503, "service_unavailable");
            break payment;
        }
        paid += 1;
        assert!(paid < 900, "the disk never was full");
    };
    until("health names the disk", async || {
        let ready = app.admin_client().get("/readyz").await;
        ready.status == 503 && ready.text.contains("database: takes no writes, its disk is full")
    })
    .await;
    // A server whose disk has no byte left may refuse the connection itself, with a code that does not name the disk.
    let report = doctor(&app.config());
    let checks = report["checks"].as_array().expect("checks");
    let problem = checks.iter().find(|check| check["check"] == "database" && check["ok"] == false);
    let problem = problem.unwrap_or_else(|| panic!("{report:#}")).to_string();
    assert!(problem.contains("disk is full") || problem.contains("room on its disk"), "{problem}");
    disk.empties();
    refused.insists().await;
    until("it is ready again", async || app.admin_client().get("/readyz").await.status == 200).await;
    let report = doctor(&app.config()).to_string();
    assert!(report.contains("takes writes, its tables are up to date"), "{report}");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, (paid + 1) * 1_000_000, "each once");
    assert!(app.stops(Duration::from_secs(60)).await);
    drop(database);
}
