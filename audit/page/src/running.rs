//! One audit of a page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anchor_lang::prelude::Pubkey;
use purser_replay::archive::{Archive, Files as _, Memory};
use purser_replay::gather::Subject;
use purser_replay::node::Node;
use purser_replay::report::{html, text};
use purser_replay::turns::{Desk, Question, Turn, Turns};
use purser_replay::{
    AuditError, DenialsInputs, Inputs, Reading, audit, audit_denials, denials_text, exit_status,
};
use serde::{Deserialize, Serialize};

/// What the page was given, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The file of signed refusals among them.
const DENIALS: &str = "denials";
/// The audit could not be done.
const NOT_DONE: u8 = 2;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
struct Settings {
    /// The nodes' hosts; none: the kept files are an archive that an earlier audit saved.
    #[serde(default)]
    hosts: Vec<String>,
    operator: Option<String>,
    account: Option<String>,
    program: Option<String>,
    explorer: Option<String>,
    /// The kept files' directory, for the report.
    directory: Option<String>,
    /// Keys that sign refusals; with them, or `is_about_denials`, the kept file is checked instead.
    #[serde(default)]
    denials_keys: Vec<String>,
    #[serde(default)]
    is_about_denials: bool,
    /// Of this module.
    tool_sha256: Option<String>,
}

/// How it ended.
#[derive(Debug, Serialize)]
pub struct End {
    /// As that of the command line.
    status: u8,
    /// One line.
    verdict: String,
    text: String,
    html: String,
    json: String,
}

#[derive(Serialize)]
struct Said<'a> {
    asks: &'a [Question],
    told: &'a [String],
    end: Option<End>,
}

pub struct Running {
    desk: Desk,
    clock: Arc<AtomicI64>,
    turns: Turns<Result<End, AuditError>>,
}

impl Running {
    pub fn begin(settings: &[u8], files: Files) -> Result<Self, String> {
        let settings: Settings = serde_json::from_slice(settings).map_err(|error| error.to_string())?;
        let (desk, clock) = (Desk::default(), Arc::new(AtomicI64::new(0)));
        let turns = if settings.is_about_denials {
            Turns::new(desk.clone(), denials(settings, files, desk.clone())?)
        } else {
            Turns::new(desk.clone(), chain(settings, files, desk.clone(), clock.clone())?)
        };
        Ok(Self { desk, clock, turns })
    }

    pub fn answers(&self, question: u64, input: &[u8], is_body: bool) {
        let answer = if is_body { Ok(input) } else { Err(String::from_utf8_lossy(input).into_owned()) };
        self.desk.answers(question, answer);
    }

    /// What is to be shown and asked, in JSON, and whether the audit ended.
    pub fn step(&mut self, now: f64) -> (Vec<u8>, bool) {
        // Whole seconds of this era are whole numbers of either kind.
        #[expect(clippy::cast_possible_truncation, reason = "a fraction of a second is dropped")]
        self.clock.store(now as i64, Ordering::Relaxed);
        let Turn { asks, told, end } = self.turns.turn();
        let end = end.map(|end| end.unwrap_or_else(|error| End::without_report(&error)));
        let is_end = end.is_some();
        let said = serde_json::to_vec(&Said { asks: &asks, told: &told, end });
        (said.unwrap_or_default(), is_end)
    }
}

impl End {
    fn without_report(error: &AuditError) -> Self {
        let verdict = format!("error: {error}");
        Self { status: NOT_DONE, text: verdict.clone(), verdict, html: String::new(), json: String::new() }
    }
}

fn address(text: &str) -> Result<Pubkey, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not an address"))
}

fn program(settings: &Settings) -> Result<Pubkey, String> {
    settings.program.as_deref().map_or(Ok(purser_replay::PROGRAM), address)
}

fn nodes(settings: &Settings, desk: &Desk) -> Vec<Node> {
    let hosts = settings.hosts.iter().cloned().enumerate();
    hosts.map(|(place, host)| Node::over(desk.node(place, host))).collect()
}

/// Everything but the signed refusals.
fn kept(files: Files) -> Result<Memory, AuditError> {
    let memory = Memory::default();
    for (name, bytes) in files {
        memory.write(&name, bytes)?;
    }
    Ok(memory)
}

fn chain(
    settings: Settings,
    files: Files,
    desk: Desk,
    clock: Arc<AtomicI64>,
) -> Result<impl Future<Output = Result<End, AuditError>> + 'static, String> {
    let operator = settings.operator.as_deref().map(address).transpose()?.map(Subject::Operator);
    let account = settings.account.as_deref().map(address).transpose()?.map(Subject::Account);
    let nodes = nodes(&settings, &desk);
    let reading = match (nodes.is_empty(), operator.or(account)) {
        (true, _) => None,
        (false, None) => return Err("name an operator or an account".into()),
        (false, Some(subject)) => Some(Reading { nodes, program: program(&settings)?, subject }),
    };
    Ok(async move {
        let memory = kept(files)?;
        let archive = if reading.is_none() { Archive::saved(memory)? } else { Archive::over(memory) };
        let read_from = format!("the directory {}", settings.directory.unwrap_or_default());
        let clock = || clock.load(Ordering::Relaxed);
        let inputs = Inputs {
            archive: &archive,
            reading,
            read_from,
            api: None,
            explorer: settings.explorer,
            clock: &clock,
        };
        let mut report = audit(inputs, &|said| desk.tell(said)).await?;
        report.tool_sha256 = settings.tool_sha256;
        Ok(End {
            status: exit_status(report.holds, report.complete),
            verdict: report.verdict.clone(),
            text: text(&report),
            html: html(&report),
            json: serde_json::to_string(&report).unwrap_or_default(),
        })
    })
}

fn denials(
    settings: Settings,
    mut files: Files,
    desk: Desk,
) -> Result<impl Future<Output = Result<End, AuditError>> + 'static, String> {
    let file = files.remove(DENIALS).ok_or("give a file of signed refusals")?;
    let keys = settings.denials_keys.iter().map(|key| address(key)).collect::<Result<Vec<_>, _>>()?;
    let operator = settings.operator.as_deref().map(address).transpose()?;
    let (program, nodes) = (program(&settings)?, nodes(&settings, &desk));
    Ok(async move {
        let archive = Archive::over(Memory::default());
        let inputs = DenialsInputs { file: &file, keys, operator, nodes, archive: &archive, program };
        let report = audit_denials(inputs, &|said| desk.tell(said)).await?;
        Ok(End {
            status: exit_status(report.holds, report.complete),
            verdict: report.verdict.clone(),
            text: denials_text(&report),
            html: String::new(),
            json: serde_json::to_string(&report).unwrap_or_default(),
        })
    })
}
