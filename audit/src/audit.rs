//! One audit from start to end.

use std::path::PathBuf;

use anchor_lang::prelude::Pubkey;
use purser_client::{Landed, WireLanded};
use reqwest::Url;

use crate::AuditError;
use crate::archive::Archive;
use crate::gather::{Subject, gather};
use crate::history::{Api, Compared};
use crate::node::Node;
use crate::order::ordered;
use crate::program::program;
use crate::replay::{Outcome, Replay, Transaction};
use crate::report::{Facts, Report, build};
use crate::scope::Scope;
use crate::signed;

/// How often progress is reported, in transactions.
const TOLD_EVERY: u64 = 5_000;

/// The source of an audit's data.
pub enum Source {
    Node {
        url: Url,
        /// The address of the program that the subject belongs to.
        program: Pubkey,
        subject: Subject,
        /// Saves what was read here, and resumes from it.
        save: Option<PathBuf>,
    },
    /// What an earlier audit saved.
    Saved(PathBuf),
}

pub struct Request {
    pub source: Source,
    /// A relayer and one of its API keys.
    pub api: Option<(Url, String)>,
    /// The URL of a transaction's page, with `{signature}` in it. `None`: Solana's own explorer, if the cluster is public.
    pub explorer: Option<String>,
}

/// Reads, replays and reports. `tell` receives progress messages.
pub async fn audit(request: Request, tell: &(dyn Fn(String) + Sync)) -> Result<Report, AuditError> {
    // Lives as long as the audit.
    let mut unsaved = None;
    let (archive, node, read_from) = match request.source {
        Source::Saved(folder) => {
            (Archive::open(&folder)?, None, format!("the directory {}", folder.display()))
        }
        Source::Node { url, program, subject, save } => {
            let folder = match save {
                Some(folder) => folder,
                None => {
                    let made = tempfile::tempdir();
                    let failed = |cause| AuditError::File { path: std::env::temp_dir(), cause };
                    unsaved.insert(made.map_err(failed)?).path().to_owned()
                }
            };
            let (archive, node) = (Archive::create(&folder)?, Node::at(url)?);
            gather(&node, &archive, program, subject, tell).await?;
            let host = node.host();
            (archive, Some(node), format!("the node {host}"))
        }
    };
    let manifest = archive.manifest()?.ok_or_else(|| AuditError::Refused("nothing was gathered".into()))?;
    let scope = Scope::of(&archive, manifest)?;
    let mut outcome = replay(&archive, &scope, tell)?;
    let newer = match request.api {
        None => None,
        Some((url, key)) => {
            let with = Compared {
                node: node.as_ref(),
                account_ids: scope.account_ids,
                until_slot: scope.manifest.until_slot,
                until_time: scope.manifest.until_time,
            };
            Some(Api::at(&url, key)?.compare(&scope.agents, &mut outcome, with).await?)
        }
    };
    let program = program(&archive, &scope.at.program)?;
    Ok(build(Facts {
        scope: &scope,
        read_from,
        outcome: &outcome,
        program: &program,
        explorer: request.explorer,
        newer,
    }))
}

fn replay(archive: &Archive, scope: &Scope, tell: &(dyn Fn(String) + Sync)) -> Result<Outcome, AuditError> {
    let purses = scope.agents.iter().map(|agent| scope.at.token_account(agent));
    let walked = std::iter::once(scope.operator).chain(scope.agents.iter().copied()).chain(purses);
    let lists = walked.map(|address| archive.signatures(&address)).collect::<Result<Vec<_>, _>>()?;
    let snapshots = scope.snapshots(archive)?;
    let mut replay = Replay::new(scope.at, scope.operator, &scope.agents, snapshots);
    let lines = ordered(&lists);
    drop(lists);
    let mut done = 0;
    let within = |slot: u64| slot <= scope.manifest.until_slot;
    for line in lines.iter().filter(|line| line.err.is_none() && within(line.slot)) {
        let signature = line.signature.as_str();
        let Some(saved) = archive.transaction(signature)? else {
            return Err(AuditError::Refused(format!(
                "the transaction {signature} is listed and not saved: gather again with --url and --save"
            )));
        };
        let wire = serde_json::from_value::<WireLanded>(saved).ok();
        let read = wire.and_then(|wire| {
            Some((signed::check(&wire), wire.read(&scope.at.program, &scope.at.usdc_mint, signature)?))
        });
        match read {
            Some((signed, Landed::Well(landed))) if landed.keeps_inner => {
                replay.apply(&Transaction { signature: signature.to_owned(), landed, signed });
            }
            Some((_, Landed::Failed)) => {}
            Some((_, Landed::Well(_))) | None => {
                return Err(AuditError::Refused(format!(
                    "the node did not keep the transaction {signature} whole: ask one that keeps balances and inner instructions"
                )));
            }
        }
        done += 1;
        if done % TOLD_EVERY == 0 {
            tell(format!("replayed {done} of {} transactions", lines.len()));
        }
    }
    Ok(replay.finish())
}
