//! One audit from start to end, on this machine.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anchor_lang::prelude::Pubkey;
use purser_replay::archive::Archive;
use purser_replay::gather::Subject;
use purser_replay::node::Node;
use purser_replay::report::Report;
use purser_replay::{AuditError, DenialsInputs, DenialsReport, Inputs, Reading};
use reqwest::Url;
use tempfile::TempDir;

use crate::folder::{LinesOf, archive_in, saved_in};
use crate::node::node_at;
use crate::relayer::relayer_at;

/// The source of an audit's data.
pub enum Source {
    Node {
        /// One node, or several that are held against each other.
        urls: Vec<Url>,
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
    let Request { source, api, explorer } = request;
    // Lives as long as the audit.
    let mut _unsaved = None;
    let (archive, reading, read_from) = match source {
        Source::Saved(folder) => (saved_in(&folder)?, None, format!("the directory {}", folder.display())),
        Source::Node { urls, program, subject, save } => {
            let nodes = nodes_at(&urls)?;
            let (archive, folder) = kept(save)?;
            _unsaved = folder;
            (archive, Some(Reading { nodes, program, subject }), String::new())
        }
    };
    let api = api.map(|(url, key)| relayer_at(&url, key)).transpose()?;
    let inputs = Inputs { archive: &archive, reading, read_from, api, explorer, clock: &now };
    purser_replay::audit(inputs, tell).await
}

pub struct DenialsRequest {
    pub file: PathBuf,
    /// The keys whose signatures count. Empty: the key that the first good line names.
    pub keys: Vec<Pubkey>,
    /// The operator that the denials must belong to. `None`: the one that the first good line names.
    pub operator: Option<Pubkey>,
    /// Nodes with the operator's past, and the heads. Empty: the file alone is checked.
    pub nodes: Vec<Url>,
    /// Saves what was read of that past here, and goes on from it.
    pub save: Option<PathBuf>,
    /// The program that the operator belongs to.
    pub program: Pubkey,
}

/// Reads the file, asks nodes for the past if there are any, and reports.
pub async fn audit_denials(
    request: DenialsRequest,
    tell: &(dyn Fn(String) + Sync),
) -> Result<DenialsReport, AuditError> {
    let DenialsRequest { file, keys, operator, nodes, save, program } = request;
    let (archive, _unsaved) = kept(save)?;
    let nodes = nodes_at(&nodes)?;
    let inputs = DenialsInputs { file: &LinesOf(file), keys, operator, nodes, archive: &archive, program };
    purser_replay::audit_denials(inputs, tell).await
}

fn nodes_at(urls: &[Url]) -> Result<Vec<Node>, AuditError> {
    urls.iter().map(node_at).collect()
}

/// The archive of a folder, or of one that goes away with what is returned.
fn kept(save: Option<PathBuf>) -> Result<(Archive, Option<TempDir>), AuditError> {
    if let Some(folder) = save {
        return Ok((archive_in(&folder)?, None));
    }
    let failed = |cause| AuditError::File { path: std::env::temp_dir(), cause };
    let folder = tempfile::tempdir().map_err(failed)?;
    Ok((archive_in(folder.path())?, Some(folder)))
}

/// By this machine's clock.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().try_into().unwrap_or(i64::MAX)
}
