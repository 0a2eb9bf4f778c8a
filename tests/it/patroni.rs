//! `deploy/patroni/`: three Postgres under Patroni and etcd, each in a network of its own, behind haproxy, with two relayers. While
//! agents pay, in turn the leading Postgres, the leading etcd and a relayer are killed, and the leader's network is cut.
//! `PURSER_TEST_LONG=1`, as root, with Debian's patroni, etcd-server, haproxy and postgresql; otherwise the test says so and skips.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use purser_tests::agent::unique_key;
use purser_tests::binaries::workspace;
use purser_tests::network::{free_port, path_text, temp_folder};
use purser_tests::process::Process;
use purser_tests::{Agent, AppSettings, TestApp, TestNetwork, postgres, until};
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

const BRIDGE: &str = "purser-br";
const NODES: [u8; 3] = [1, 2, 3];
const PASSWORD: &str = "of-this-test-alone";
/// How many callers pay one after the other.
const CALLERS: usize = 4;
/// How long after a fault payments have to be made again, and how long they then go on.
const BACK_WITHIN: Duration = Duration::from_secs(120);
const QUIET: Duration = Duration::from_secs(15);

fn types(line: &str) -> String {
    let output = Command::new("sh").args(["-ec", line]).output().expect("there is a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn tries(line: &str) -> bool {
    let quiet = Command::new("sh").args(["-ec", line]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn space(node: u8) -> String {
    format!("purser-db{node}")
}

fn address(node: u8) -> String {
    format!("10.0.1.2{node}")
}

struct Node {
    number: u8,
    etcd: Option<Process>,
    patroni: Option<Process>,
}

struct Cluster {
    folder: TempDir,
    nodes: Vec<Node>,
    url: String,
    _haproxy: Process,
}

impl Cluster {
    /// `None`, with a note, where something is missing.
    fn starts() -> Option<Cluster> {
        std::env::var_os("PURSER_TEST_LONG")?;
        if !tries(
            "test \"$(id -u)\" = 0; command -v patroni etcd haproxy ip setpriv; ls /usr/lib/postgresql/*/bin/initdb",
        ) {
            eprintln!("not run: there is no patroni, etcd, haproxy or postgresql, or this is not root");
            return None;
        }
        removes_networks();
        let folder = temp_folder();
        // The user of Postgres goes in and out.
        types(&format!(
            "chmod 755 '{0}' && mkdir '{0}/data' && chown postgres '{0}/data'",
            path_text(folder.path())
        ));
        types(&format!(
            "ip link add {BRIDGE} type bridge && ip addr add 10.0.1.254/24 dev {BRIDGE} && ip link set {BRIDGE} up"
        ));
        for node in NODES {
            let (space, address) = (space(node), address(node));
            types(&format!(
                "ip netns add {space}; ip link add veth-db{node} type veth peer name eth0 netns {space}
                ip link set veth-db{node} master {BRIDGE} up
                ip -n {space} addr add {address}/24 dev eth0; ip -n {space} link set eth0 up; ip -n {space} link set lo up"
            ));
        }
        let port = free_port();
        let proxy = folder.path().join("haproxy.cfg");
        let text = fs::read_to_string(deployed("haproxy.cfg")).expect("it is there");
        fs::write(&proxy, text.replace("127.0.0.1:5000", &format!("127.0.0.1:{port}"))).expect("writable");
        let log = folder.path().join("haproxy.log");
        let haproxy = Process::start(Path::new("haproxy"), &["-f", path_text(&proxy)], &log, None);
        let nodes = NODES.map(|number| Node { number, etcd: None, patroni: None }).into();
        let url = format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/purser");
        let mut cluster = Cluster { folder, nodes, url, _haproxy: haproxy };
        for node in NODES {
            cluster.starts_etcd(node, "new");
        }
        for node in NODES {
            cluster.starts_patroni(node);
        }
        Some(cluster)
    }

    fn within(
        &mut self,
        node: u8,
        log: &str,
        user: &str,
        environment: &[(&str, String)],
        command: &[&str],
    ) -> Process {
        let space = space(node);
        let mut arguments =
            vec!["netns", "exec", &space, "setpriv", "--init-groups", "--reuid", user, "--regid", user];
        arguments.extend(command);
        let log = self.folder.path().join(format!("{log}{node}.log"));
        Process::start_with(Path::new("ip"), &arguments, environment, &log, None)
    }

    fn starts_etcd(&mut self, node: u8, state: &str) {
        let own = address(node);
        let all = NODES.map(|node| format!("db{node}=http://{}:2380", address(node))).join(",");
        let data = self.folder.path().join(format!("etcd{node}"));
        let name = format!("db{node}");
        let (peers, clients) = (format!("http://{own}:2380"), format!("http://{own}:2379"));
        let command = [
            "etcd",
            "--name",
            &name,
            "--data-dir",
            path_text(&data),
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
            "--listen-client-urls",
            &clients,
            "--advertise-client-urls",
            &clients,
            "--initial-cluster",
            &all,
            "--initial-cluster-state",
            state,
        ];
        let started = self.within(node, "etcd", "root", &[], &command);
        self.node(node).etcd = Some(started);
    }

    /// With the files of `deploy/patroni/`, the addresses among them.
    fn starts_patroni(&mut self, node: u8) {
        let text = fs::read_to_string(deployed("environment")).expect("it is there");
        let data = self.folder.path().join(format!("data/{node}"));
        let bin = types("dirname $(ls /usr/lib/postgresql/*/bin/initdb | tail -n1)");
        let mut environment = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once('=').expect("a variable");
            let value = match name {
                "PATRONI_NAME" => format!("db{node}"),
                "PATRONI_POSTGRESQL_DATA_DIR" => path_text(&data).to_owned(),
                "PATRONI_POSTGRESQL_BIN_DIR" => bin.trim().to_owned(),
                "PATRONI_ETCD3_HOSTS" => value.to_owned(),
                _ if name.ends_with("_PASSWORD") => PASSWORD.to_owned(),
                _ => value.replace(&address(1), &address(node)),
            };
            environment.push((name, value));
        }
        // The three servers of a test share a machine, so their sockets have folders of their own.
        let file = self.folder.path().join(format!("patroni{node}.yml"));
        let text = fs::read_to_string(deployed("patroni.yml")).expect("it is there");
        let sockets = self.folder.path().join("data");
        fs::write(
            &file,
            text.replace("/var/run/postgresql", path_text(&sockets.join(format!("sockets{node}")))),
        )
        .expect("writable");
        let sockets = sockets.join(format!("sockets{node}"));
        types(&format!("mkdir -p '{0}' && chown postgres '{0}'", path_text(&sockets)));
        let command = ["patroni", path_text(&file)];
        let started = self.within(node, "patroni", "postgres", &environment, &command);
        self.node(node).patroni = Some(started);
    }

    fn node(&mut self, number: u8) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.number == number).expect("there are three")
    }

    /// Who leads, as its Patroni says.
    async fn leader(&self) -> Option<u8> {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().expect("a client");
        for node in NODES {
            let asked = http.get(format!("http://{}:8008/primary", address(node))).send().await;
            if asked.is_ok_and(|answer| answer.status() == 200) {
                return Some(node);
            }
        }
        None
    }

    async fn leads(&self) -> u8 {
        let leading = async || self.leader().await.is_some();
        until("one leads", leading).await;
        self.leader().await.expect("one leads")
    }

    /// How many follow and have all that is committed.
    async fn is_whole(&self) -> bool {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().expect("a client");
        let Ok(answer) = http.get(format!("http://{}:8008/cluster", address(1))).send().await else {
            return false;
        };
        let text = answer.text().await.unwrap_or_default();
        text.matches("\"state\": \"running\"").count() + text.matches("\"state\": \"streaming\"").count()
            == NODES.len()
            && text.contains("sync_standby")
    }

    /// Which etcd leads.
    fn leading_etcd(&self) -> u8 {
        let all = NODES.map(|node| format!("{}:2379", address(node))).join(",");
        let listed = types(&format!("ETCDCTL_API=3 etcdctl --endpoints {all} endpoint status"));
        let line = listed.lines().find(|line| line.contains(", true, ")).expect("one leads");
        NODES.into_iter().find(|node| line.contains(&address(*node))).expect("it is one of ours")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        removes_networks();
    }
}

/// And whatever runs in them.
fn removes_networks() {
    for node in NODES {
        let space = space(node);
        tries(&format!("ip netns pids {space} | xargs -r kill -9; sleep 0.2; ip netns del {space}"));
        tries(&format!("ip link del veth-db{node}"));
    }
    tries(&format!("ip link del {BRIDGE}"));
}

fn deployed(file: &str) -> PathBuf {
    workspace().join("deploy/patroni").join(file)
}

/// Callers that pay a cent again and again, each under a new name until it is settled, at whichever relayer answers.
struct Load {
    ends: Arc<AtomicBool>,
    settled: Arc<AtomicU64>,
    callers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn begins(apps: [Arc<TestApp>; 2], agents: &[Agent], key: &str, payee: String) -> Load {
        let (ends, settled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let callers = agents.iter().map(|agent| {
            let (ends, settled, apps) = (Arc::clone(&ends), Arc::clone(&settled), apps.clone());
            let (from, to, key) = (agent.id.clone(), payee.clone(), key.to_owned());
            tokio::spawn(async move {
                let mut asked = 0_usize;
                while !ends.load(Ordering::Relaxed) {
                    let order =
                        json!({ "from": from, "to": to, "amount": "0.01", "idempotency_key": unique_key() });
                    loop {
                        asked += 1;
                        let Some(client) = apps[asked % apps.len()].client_while_it_runs() else { continue };
                        let client = client.with_key(&key);
                        let request = client.request(Method::POST, "/v1/transfers").json(&order);
                        let answered = client.tries(request.timeout(Duration::from_secs(20))).await;
                        match answered.map(|answer| (answer.status, answer.text)) {
                            Ok((200, _)) => break,
                            // Under way, or nobody can tell: asked again under its name.
                            Ok((202 | 429 | 500..=599, _)) | Err(_) => {}
                            Ok((status, text)) => panic!("{status}: {text}"),
                        }
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    settled.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Load { callers: callers.collect(), ends, settled }
    }

    fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

    /// The longest time without a settled payment, from now until payments were made for a while.
    async fn outage(&self) -> Duration {
        let begun = Instant::now();
        let (mut last, mut at, mut longest) = (self.settled(), Instant::now(), Duration::ZERO);
        while begun.elapsed() < QUIET.max(longest + QUIET) {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = self.settled();
            longest = longest.max(at.elapsed());
            if now > last {
                (last, at) = (now, Instant::now());
            }
            assert!(at.elapsed() < BACK_WITHIN, "nothing is paid any more");
        }
        longest
    }

    /// How many names were paid.
    async fn ends(self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        for caller in self.callers {
            caller.await.expect("no caller was refused");
        }
        self.settled.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_fails_over_loses_nothing_and_every_payment_ends_once() {
    let Some(mut cluster) = Cluster::starts() else { return };
    until("three are there, one of them with every commit", async || cluster.is_whole().await).await;
    let server = cluster.url.replace("/purser", "/postgres");
    postgres::runs(&server, "CREATE DATABASE purser".to_owned()).await;
    let settings = AppSettings { database_url: Some(cluster.url.clone()), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::own(), &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let mut agents = Vec::new();
    for number in 0..CALLERS {
        agents.push(operator.creates_account_with(&format!("Agent {number}"), "10000").await);
    }
    let (payee, _) = operator.chain.new_payee().await;
    let key = operator.client.key().to_owned();
    let load = Load::begins([Arc::clone(&first), Arc::clone(&second)], &agents, &key, payee.to_string());

    let undisturbed = load.outage().await;
    println!("nothing happens: at most {:.1} s between two payments", undisturbed.as_secs_f32());

    let leader = cluster.leads().await;
    cluster.node(leader).patroni = None;
    types(&format!(
        "ip netns pids {0} | xargs -r ps -o pid=,comm= -p | awk '$2 ~ /postgres|patroni/ {{print $1}}' | xargs -r kill -9",
        space(leader)
    ));
    println!("the leading Postgres is killed: {:.1} s", load.outage().await.as_secs_f32());
    assert_ne!(cluster.leads().await, leader, "another one leads");
    cluster.starts_patroni(leader);
    until("it follows", async || cluster.is_whole().await).await;

    let etcd = cluster.leading_etcd();
    if let Some(process) = cluster.node(etcd).etcd.take() {
        process.dies();
    }
    println!("the leading etcd is killed: {:.1} s", load.outage().await.as_secs_f32());
    cluster.starts_etcd(etcd, "existing");

    second.crashes();
    println!("a relayer is killed: {:.1} s", load.outage().await.as_secs_f32());
    second.starts();

    let leader = cluster.leads().await;
    types(&format!("ip link set veth-db{leader} down"));
    println!("the leader's network is cut: {:.1} s", load.outage().await.as_secs_f32());
    assert_ne!(cluster.leads().await, leader, "another one leads");
    types(&format!("ip link set veth-db{leader} up"));
    until("it follows", async || cluster.is_whole().await).await;
    load.outage().await;

    let names = load.ends().await;
    println!("{names} payments");
    assert!(names > 100, "{names} payments");
    assert_eq!(operator.chain.usdc_micros(&payee).await, names * 10_000, "every name is paid once");
    let unsettled = operator.client.get("/v1/transfers?status=submitted").await.has_status(200);
    assert_eq!(unsettled["data"], json!([]), "none is left");
    let failed = operator.client.get("/v1/transfers?status=failed").await.has_status(200);
    assert_eq!(failed["data"], json!([]), "none that was accepted failed");
}
