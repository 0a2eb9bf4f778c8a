//! Rotates the keys of two relayers on one Postgres by the steps of docs/run/keys.md as printed, with Anchor's own command line,
//! while clients pay and change a policy.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use purser::OperatorUpdate;
use purser_tests::agent::unique_key;
use purser_tests::network::path_text;
use purser_tests::process::Process;
use purser_tests::{Client, TestDatabase, anchor, page, wallet};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::read_keypair_file;
use solana_sdk::signer::Signer;

use crate::set_up::{Scene, sets_up_managed, word};

const PAGE: &str = "docs/run/keys.md";
const PAYERS: usize = 4;
/// What an answer may be that is not the last word. A refusal is not among them; on a busy machine a node may be slow.
const ASKED_AGAIN: [&str; 4] = ["no answer", "submitted", "service_unavailable", "solana_unavailable"];

/// Clients that ask the relayers in turn, as behind a load balancer that does not notice which one is away.
struct Clients {
    http: reqwest::Client,
    key: String,
    urls: Mutex<[String; 2]>,
    turn: AtomicUsize,
    is_over: AtomicBool,
    settled: AtomicU64,
    changed: AtomicU64,
    /// When a payment settled last, and the longest time between two.
    pause: Mutex<(Instant, Duration)>,
    /// Why they asked again, and how often.
    again: Mutex<BTreeMap<String, u32>>,
}

impl Clients {
    /// Asks the same again, as docs/build/api.md tells clients, until it is done.
    async fn insist(&self, method: Method, path: &str, body: &Value) -> Value {
        let begun = Instant::now();
        loop {
            let url = lock(&self.urls)[self.turn.fetch_add(1, Ordering::SeqCst) % 2].clone();
            let client = Client::over(self.http.clone(), &url, Some(&self.key));
            let why = match client.tries(client.request(method.clone(), path).json(body)).await {
                Ok(answer) if answer.status == 200 => return answer.body,
                Ok(answer) if answer.status == 202 => answer.text_of("status").to_owned(),
                Ok(answer) if answer.status == 503 => answer.text_of("error").to_owned(),
                Ok(answer) => answer.text,
                Err(_) => "no answer".to_owned(),
            };
            *lock(&self.again).entry(why).or_default() += 1;
            assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", lock(&self.again));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn pay(&self, from: &str, to: &str) {
        while !self.is_over.load(Ordering::SeqCst) {
            let key = unique_key();
            let order = json!({ "from": from, "to": to, "amount": "1", "idempotency_key": key });
            assert_eq!(self.insist(Method::POST, "/v1/transfers", &order).await["status"], "settled");
            self.settled.fetch_add(1, Ordering::SeqCst);
            let mut pause = lock(&self.pause);
            *pause = (Instant::now(), pause.1.max(pause.0.elapsed()));
        }
    }

    async fn change_the_policy(&self, account: &str) {
        let path = format!("/v1/accounts/{account}/policy");
        while !self.is_over.load(Ordering::SeqCst) {
            let limit = json!(10 + self.changed.load(Ordering::SeqCst) % 7);
            let policy = self.insist(Method::PUT, &path, &json!({ "max_single_transfer": limit })).await;
            assert_eq!(policy["max_single_transfer"], limit, "{policy}");
            self.changed.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn were_refused_nothing(&self) {
        let again = lock(&self.again);
        assert!(again.keys().all(|why| ASKED_AGAIN.contains(&why.as_str())), "{again:?}");
    }

    /// Waits until some more is paid and changed.
    async fn go_on(&self) {
        let so_far = || (self.settled.load(Ordering::SeqCst), self.changed.load(Ordering::SeqCst));
        let (begun, (settled, changed)) = (Instant::now(), so_far());
        while so_far().0 < settled + 10 || so_far().1 < changed + 3 {
            self.were_refused_nothing();
            assert!(begun.elapsed() < Duration::from_secs(120), "{:?} {:?}", so_far(), lock(&self.again));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Puts a line of the page in the place of the configuration's line for the same setting.
pub fn configures(folder: &Path, line: &str) {
    let file = folder.join("purser.toml");
    let text = fs::read_to_string(&file).expect("init made it");
    let line = line.trim();
    let (setting, _) = line.split_once(" = ").expect("a setting");
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with(setting)).collect();
    let [found] = found[..] else { panic!("{setting} once in {text}") };
    fs::write(&file, text.replace(found, line)).expect("the folder is writable");
}

/// Two relayers, and how to restart them.
struct Relayers {
    running: [Option<Process>; 2],
    clients: Arc<Clients>,
}

impl Relayers {
    /// Restarts one after the other, and waits for each until payments have gone on.
    async fn restart(&mut self, scene: &Scene) {
        for place in 0..2 {
            let running = self.running[place].take().expect("it runs");
            let stops = tokio::task::spawn_blocking(move || running.stops(Duration::from_secs(60)));
            assert!(stops.await.expect("waiting does not panic"), "it ends by itself");
            let (running, url) = scene.serves();
            self.running[place] = Some(running);
            lock(&self.clients.urls)[place] = url.trim_end_matches('/').to_owned();
            self.clients.go_on().await;
        }
    }

    /// Waits until both say that all is well.
    async fn are_well(&self) {
        let urls = lock(&self.clients.urls).clone();
        let begun = Instant::now();
        for url in urls {
            loop {
                let health = Client::new(&url, None).get("/healthz").await.has_status(200);
                if health.body == json!({ "status": "ok" }) {
                    break;
                }
                assert!(begun.elapsed() < Duration::from_secs(120), "{}", health.text);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// A key of the relayers, and the page's line by which the admin names another.
struct Role {
    setting: &'static str,
    old: &'static str,
    new: &'static str,
    update: String,
}

/// Follows the page's three steps.
async fn rotates(scene: &mut Scene, relayers: &mut Relayers, role: &Role) {
    let folder = scene.folder.path().join("purser");
    let [old, new] = [role.old, role.new].map(|name| path_text(&folder.join(name)).to_owned());
    let values = [("new.json", new.as_str()), ("old.json", old.as_str())];
    let keygen = page::blocks(PAGE, "sh rotation").swap_remove(0);
    let [both, one] = &page::blocks(PAGE, "toml rotation")[..] else { panic!("two settings") };
    let sets = |line: &str| {
        configures(&folder, &page::filled(line, &values).replace("transfer_authority_keypair", role.setting));
    };
    let was = read_keypair_file(&old).expect("init made it").pubkey().to_string();

    let made = scene.types(&page::filled(&keygen, &values));
    let is = word(&made, |word| word.parse::<Pubkey>().is_ok());
    scene.network.chain().funds(&is.parse().expect("base58"), 1).await;
    sets(both);
    relayers.restart(scene).await;

    let operator = scene.variables.iter().find(|(name, _)| *name == "OPERATOR").expect("it is set").1.clone();
    let values = [
        ("OPERATOR", operator.as_str()),
        ("NEW", is.as_str()),
        ("NEW_POLICY", is.as_str()),
        ("OLD", was.as_str()),
    ];
    scene.types(&page::filled(&role.update, &values));
    relayers.clients.go_on().await;
    let shown = scene.types(&format!("anchor run operator-show -- --operator {operator}"));
    assert!(shown.contains(&is) && !shown.contains(&was), "{shown}");

    relayers.are_well().await;
    sets(one);
    fs::remove_file(old).expect("the folder is writable");
    relayers.restart(scene).await;
    relayers.are_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rotation_by_the_page_refuses_and_loses_nothing_while_two_relayers_pay_and_change_a_policy() {
    let Some(database) = TestDatabase::create().await else { return };
    let mut scene = Scene::set().await;
    scene.variables.push(("PURSER__DATABASE__URL", database.url()));
    let key = sets_up_managed(&mut scene).await;
    let admin = scene.folder.path().join("cold/admin.json");
    anchor::is_set_up(scene.folder.path(), &scene.network.rpc_url, &admin);
    let chain = scene.network.chain();
    // Every change of the policy is in force at once, so that each answer shows it.
    let at_once = OperatorUpdate { loosening_delay_seconds: Some(0), ..Default::default() };
    let operator = scene.variables.iter().find(|(name, _)| *name == "OPERATOR").expect("it is set");
    let operator: Pubkey = operator.1.parse().expect("base58");
    chain.updates_operator(operator, at_once, &read_keypair_file(&admin).expect("init made it")).await;
    let ((first, one), (second, other)) = (scene.serves(), scene.serves());
    let client = Client::new(&one, Some(&key));
    let account = client.post("/v1/accounts", &json!({ "name": "Ada" })).await.has_status(201);
    let token_account = account.text_of("usdc_token_account").parse().expect("base58");
    wallet::mints(&chain, "100000", &token_account).await;
    let (payee, _) = chain.new_payee().await;

    let clients = Arc::new(Clients {
        http: reqwest::Client::new(),
        key,
        urls: Mutex::new([one, other].map(|url| url.trim_end_matches('/').to_owned())),
        turn: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        settled: AtomicU64::new(0),
        changed: AtomicU64::new(0),
        pause: Mutex::new((Instant::now(), Duration::ZERO)),
        again: Mutex::default(),
    });
    let id = account.text_of("account_id").to_owned();
    let mut going_on = tokio::task::JoinSet::new();
    for _ in 0..PAYERS {
        let (clients, id) = (Arc::clone(&clients), id.clone());
        going_on.spawn(async move { clients.pay(&id, &payee.to_string()).await });
    }
    let changing = Arc::clone(&clients);
    going_on.spawn(async move { changing.change_the_policy(&id).await });

    let mut relayers = Relayers { running: [Some(first), Some(second)], clients: Arc::clone(&clients) };
    let [_, update] = &page::blocks(PAGE, "sh rotation")[..] else { panic!("a key and a change") };
    let of_policy = page::blocks(PAGE, "sh rotation of the policy authority").swap_remove(0);
    for role in [
        Role {
            setting: "transfer_authority_keypair",
            old: "transfer-authority.json",
            new: "new.json",
            update: update.clone(),
        },
        Role {
            setting: "policy_authority_keypair",
            old: "policy-authority.json",
            new: "new-policy.json",
            update: of_policy,
        },
    ] {
        rotates(&mut scene, &mut relayers, &role).await;
    }
    clients.is_over.store(true, Ordering::SeqCst);
    while let Some(ended) = going_on.join_next().await {
        ended.expect("it ends well");
    }
    clients.were_refused_nothing();

    let (settled, changed) = (clients.settled.load(Ordering::SeqCst), clients.changed.load(Ordering::SeqCst));
    let longest = lock(&clients.pause).1;
    println!("{settled} payments, {longest:?} apart at most; {changed} changes; {:?}", lock(&clients.again));
    assert_eq!(chain.usdc_micros(&payee).await, settled * 1_000_000);
    let count = i64::try_from(settled).expect("a few hundred");
    assert_eq!(database.counts("transfers", "state = 'settled'").await, count);
    assert_eq!(database.counts("transfers", "TRUE").await, count, "none failed, and none was rejected");
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
