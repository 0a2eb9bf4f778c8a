//! An attestation: the verdict of an audit as an in-toto statement, in a DSSE envelope that the auditor signed.
//!
//! What is signed is the envelope's payload type and payload together (DSSE's "pre-authentication encoding"), so a signature of
//! the same key over anything else proves nothing here. Nor is an attestation a transaction: its first byte would ask for 68
//! signers and its second for 83 of them that only read.

use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::signature::{Keypair, Signature};
use solana_sdk::signer::Signer;

use purser_replay::report::{PeriodDays, Report, is_hostile, shown};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// What this predicate is, and its version.
const PREDICATE_TYPE: &str = "urn:purser:audit:v1";
/// More than any attestation needs.
const SIGNATURES_MAX: usize = 16;

/// Why an attestation proves nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttestError {
    #[error("it is no DSSE envelope: {0}")]
    NoEnvelope(String),
    #[error("its payload is of the type {0:?}, and not {PAYLOAD_TYPE}")]
    OtherPayload(String),
    #[error("none of its signatures is {0}'s over this payload")]
    NotSigned(Pubkey),
    #[error("it is about {}, and not about what you named", shown(.0))]
    OtherSubject(String),
    #[error("what was signed is no in-toto statement of an audit: {0}")]
    NoStatement(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Serialize, Deserialize)]
struct EnvelopeSignature {
    /// The key's address: a hint, of which nothing follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyid: Option<String>,
    sig: String,
}

/// An in-toto statement of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    type_: String,
    /// What was read: one archive, under its Merkle root.
    pub subject: Vec<ArchiveSubject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    pub predicate: Audited,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveSubject {
    pub name: String,
    pub digest: Sha256Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sha256Digest {
    pub sha256: String,
}

/// What was audited, by what, and the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    pub genesis_hash: String,
    pub program: String,
    pub operator: String,
    /// The one account that was audited; `None`: all of the operator's.
    pub account: Option<String>,
    pub from_time: Option<String>,
    pub until_slot: u64,
    pub until_time: Option<String>,
    /// The days of the totals and the ledger; the checks cover the whole past. `None`: an earlier version signed it, and only the
    /// report names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<PeriodDays>,
    pub transactions: u64,
    /// Over the signatures of the transactions.
    pub inputs_sha256: String,
    pub tool: String,
    pub tool_sha256: Option<String>,
    pub made_at: String,
    pub holds: bool,
    pub complete: bool,
    pub verdict: String,
    /// Of the report, as one line of JSON without its end.
    pub report_sha256: String,
}

impl Statement {
    /// `json`: the report as it is printed.
    fn of(report: &Report, json: &str) -> Self {
        let whose = report.account.as_ref().unwrap_or(&report.operator);
        Self {
            type_: STATEMENT_TYPE.to_owned(),
            subject: vec![ArchiveSubject {
                name: format!("solana:{}:{whose}", report.genesis_hash),
                digest: Sha256Digest { sha256: report.archive_sha256.clone() },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Audited {
                genesis_hash: report.genesis_hash.clone(),
                program: report.program.program.clone(),
                operator: report.operator.clone(),
                account: report.account.clone(),
                from_time: report.from_time.clone(),
                until_slot: report.until_slot,
                until_time: report.until_time.clone(),
                period: Some(report.period.days.clone()),
                transactions: report.transactions,
                inputs_sha256: report.inputs_sha256.clone(),
                tool: report.tool.to_owned(),
                tool_sha256: report.tool_sha256.clone(),
                made_at: report.made_at.clone(),
                holds: report.holds,
                complete: report.complete,
                verdict: report.verdict.clone(),
                report_sha256: hex::encode(Sha256::digest(json)),
            },
        }
    }

    /// Whether it is about the operator that you name, with all its accounts, or about the account that you name. A verdict about
    /// one account says nothing about its operator.
    pub fn is_about(&self, operator: Option<&Pubkey>, account: Option<&Pubkey>) -> Result<(), AttestError> {
        let Audited { operator: audited, account: only, .. } = &self.predicate;
        let is_operator = operator.is_none_or(|operator| *audited == operator.to_string());
        let is_account = match (operator, account) {
            (_, Some(account)) => *only == Some(account.to_string()),
            (Some(_), None) => only.is_none(),
            (None, None) => true,
        };
        if is_operator && is_account {
            return Ok(());
        }
        let whole = format!("the operator {audited}");
        let of =
            only.as_ref().map_or(whole, |only| format!("ONE account, {only}, of the operator {audited}"));
        Err(AttestError::OtherSubject(of))
    }

    /// It as one line of JSON, with escapes for what the signer chose and a terminal would obey.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(self)?;
        let mut shown = String::with_capacity(json.len());
        for letter in json.chars() {
            if is_hostile(letter) {
                let mut units = [0; 2];
                let units = letter.encode_utf16(&mut units).iter();
                shown.extend(units.map(|unit| format!("\\u{unit:04x}")));
            } else {
                shown.push(letter);
            }
        }
        Ok(shown)
    }

    /// The signed values by name, for people. The signer chose the text, so it is escaped.
    pub fn shown(&self) -> Vec<(&'static str, Value)> {
        let audited = &self.predicate;
        let text = |text: &str| json!(shown(text));
        let given = |text: &Option<String>| json!(text.as_deref().map(shown));
        let period = match &audited.period {
            Some(days) => days.words().unwrap_or_else(|| "the whole past".to_owned()),
            None => "not signed by that version: see the report".to_owned(),
        };
        vec![
            ("verdict", text(&audited.verdict)),
            ("holds", json!(audited.holds)),
            ("complete", json!(audited.complete)),
            ("operator", text(&audited.operator)),
            ("account", given(&audited.account)),
            ("program", text(&audited.program)),
            ("genesis_hash", text(&audited.genesis_hash)),
            ("from_time", given(&audited.from_time)),
            ("until_slot", json!(audited.until_slot)),
            ("until_time", given(&audited.until_time)),
            ("period", text(&period)),
            ("transactions", json!(audited.transactions)),
            ("archive_sha256", json!(self.archive_sha256().map(shown))),
            ("report_sha256", text(&audited.report_sha256)),
            ("tool", text(&audited.tool)),
            ("tool_sha256", given(&audited.tool_sha256)),
            ("made_at", text(&audited.made_at)),
        ]
    }

    /// The Merkle root of what was read.
    pub fn archive_sha256(&self) -> Option<&str> {
        self.subject.first().map(|subject| subject.digest.sha256.as_str())
    }
}

/// The envelope for a report, as a line of JSON. `json`: the report as it is printed.
pub fn attest(report: &Report, json: &str, key: &Keypair) -> Result<String, serde_json::Error> {
    let payload = serde_json::to_vec(&Statement::of(report, json))?;
    let signature = key.sign_message(&encoded(PAYLOAD_TYPE, &payload));
    serde_json::to_string(&Envelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![EnvelopeSignature {
            keyid: Some(key.pubkey().to_string()),
            sig: STANDARD.encode(signature),
        }],
    })
}

/// The statement in an envelope, if `key` signed it. Signatures of others beside it neither help nor harm.
pub fn verify(envelope: &[u8], key: &Pubkey) -> Result<Statement, AttestError> {
    let read: Result<Envelope, _> = serde_json::from_slice(envelope);
    let Envelope { payload, payload_type, signatures } =
        read.map_err(|error| AttestError::NoEnvelope(error.to_string()))?;
    if payload_type != PAYLOAD_TYPE {
        return Err(AttestError::OtherPayload(payload_type));
    }
    if signatures.len() > SIGNATURES_MAX {
        return Err(AttestError::NoEnvelope(format!("it has more than {SIGNATURES_MAX} signatures")));
    }
    let payload =
        base64(&payload).ok_or_else(|| AttestError::NoEnvelope("its payload is not base64".into()))?;
    let bytes = encoded(PAYLOAD_TYPE, &payload);
    let is_by_key = |one: &EnvelopeSignature| {
        let signature = base64(&one.sig).and_then(|sig| Signature::try_from(sig).ok());
        signature.is_some_and(|signature| signature.verify(key.as_ref(), &bytes))
    };
    if !signatures.iter().any(is_by_key) {
        return Err(AttestError::NotSigned(*key));
    }
    // Only what was signed is read.
    let statement: Statement =
        serde_json::from_slice(&payload).map_err(|error| AttestError::NoStatement(error.to_string()))?;
    let Statement { type_, predicate_type, subject, .. } = &statement;
    for (is, should) in [(type_, STATEMENT_TYPE), (predicate_type, PREDICATE_TYPE)] {
        if is != should {
            return Err(AttestError::NoStatement(format!("it is a {is:?}, and not {should}")));
        }
    }
    if subject.len() != 1 {
        return Err(AttestError::NoStatement("it is not about one archive".into()));
    }
    Ok(statement)
}

/// DSSE's pre-authentication encoding of version 1.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// DSSE allows both alphabets.
fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the DSSE specification.
    #[test]
    fn encoding_is_that_of_the_specification() {
        let expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(encoded("http://example.com/HelloWorld", b"hello world"), expected);
    }
}
