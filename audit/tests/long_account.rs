//! A long account, read from a node: how far it is, and what an interruption costs.

#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::fs;
use std::sync::Mutex;

use purser_audit::gather::Subject;
use purser_audit::{Request, Source, audit};
use purser_client::OnChainPolicy;
use purser_tests::saved;
use support::{Paying, TestChain};

const PAYMENTS: usize = 5_200;
/// Besides the deposit, which is read last: both creations come before the payments.
const TRANSACTIONS: usize = PAYMENTS + 2;
const LOST: usize = 2_700;

#[test]
fn long_account_tells_how_far_it_is_and_goes_on_where_it_was_interrupted() {
    let mut chain = TestChain::new(&OnChainPolicy::default(), 0);
    let pays = |_| {
        chain.now += 9;
        chain.pays(&Paying::usdc(1))
    };
    let payments: Vec<String> = (0..PAYMENTS).map(pays).collect();
    chain.saves();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let url = saved::serves(chain.folder.path()).await;
        let (saved, progress) =
            (tempfile::tempdir().expect("a temporary folder can be made"), Mutex::new(Vec::new()));
        let audits = async || {
            let source = Source::Node {
                urls: vec![url.parse().expect("a URL")],
                program: purser::ID,
                subject: Subject::Account(chain.agent),
                save: Some(saved.path().to_owned()),
            };
            let tell = |what| progress.lock().expect("nobody panics").push(what);
            let audited = audit(Request { source, api: None, explorer: None }, &tell).await;
            (audited, std::mem::take(&mut *progress.lock().expect("nobody panics")))
        };
        let lost = chain.folder.path().join("transactions").join(format!("{}.json", payments[LOST]));
        let aside = lost.with_extension("aside");
        fs::rename(&lost, &aside).expect("it was saved");
        let (interrupted, progress) = audits().await;
        let error = interrupted.expect_err("a transaction is missing").to_string();
        assert!(error.contains(&payments[LOST]) && error.contains("no longer has it"), "{error}");
        let lines = |count: usize, of: usize| -> Vec<String> {
            (1..=count / 500).map(|times| format!("read {} of {of} transactions", times * 500)).collect()
        };
        // While the one that was missing was asked for again, others were read.
        assert!(progress.starts_with(&lines(LOST, TRANSACTIONS)), "{progress:?}");
        let kept = fs::read_dir(saved.path().join("transactions")).expect("a folder").count();
        assert!((LOST - 10..TRANSACTIONS).contains(&kept), "{kept}");

        fs::rename(&aside, &lost).expect("the folder is writable");
        let (report, progress) = audits().await;
        let report = report.expect("it goes on");
        assert!(report.holds && report.complete, "{}", report.verdict);
        assert_eq!(report.accounts[0].payments, PAYMENTS as u64);
        let left = TRANSACTIONS - kept;
        let replayed = format!("replayed 5000 of {} transactions", TRANSACTIONS + 1);
        assert_eq!(progress, [lines(left, left), vec![replayed]].concat());
    });
}
